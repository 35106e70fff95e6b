/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports: those given by EAL, or two of tp-perf's own whose receive queues make packets from a table
 * and whose transmit queues take them back. In front of every queue stands a struct queue, which
 * limits bursts and counts.
 */
#ifndef TP_PERF_PORTS_H
#define TP_PERF_PORTS_H

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "frames.h"

#define PORTS_MAX  RTE_MAX_ETHPORTS
#define QUEUES_MAX 64
#define PILE_ROOM  4096

/* Buffers that a lane's own queues pass to and fro; the last one in is the first out, as in a
 * pool's cache. */
struct pile {
	unsigned n;
	struct rte_mempool *pool;
	struct rte_mbuf *m[PILE_ROOM];
} __rte_cache_aligned;

/* One receive and one transmit queue of the same number. One writer. */
struct queue {
	uint64_t rx_packets, rx_bursts, tx_packets;
	uint64_t hist[BURST_MAX + 1]; /* receive bursts by packets, empty ones left out */
	uint16_t burst;
	/* a port given by EAL: what is behind */
	eth_rx_burst_t rx;
	eth_tx_burst_t tx;
	void *rxq, *txq;
	/* one of our own */
	struct pile *pile;
	const struct frames *frames; /* NULL: receives nothing */
	uint32_t at, step,
		first; /* the next frame of the table; every step-th from the first is ours */
	bool once;     /* stops at the table's end */
	const struct options *fresh; /* mode mixed: 1 % of all packets open sessions */
	uint32_t fresh_at, fresh_in;
	struct rte_ether_hdr eth;
	uint64_t rearm;
	/* NULL, or makes and takes back packets instead (ports_own()) */
	uint16_t (*own_rx)(struct queue *q, struct rte_mbuf **m, uint16_t n);
	void (*own_tx)(struct queue *q, struct rte_mbuf **m, uint16_t n);
	void *own_arg;
	void (*sent)(void *arg, struct rte_mbuf *m); /* NULL, or sees each packet */
	void *sent_arg;
} __rte_cache_aligned;

struct ports {
	unsigned n; /* the router's */
	unsigned
		n_testers; /* given besides, for trials: cabled each to the router's of its order */
	uint16_t ids[PORTS_MAX];
	struct rte_ether_addr macs[PORTS_MAX]; /* by index, not id */
	bool own;
	uint16_t n_rxq, n_txq;
	struct queue queues[PORTS_MAX][QUEUES_MAX];
};

extern struct ports ports;

/* After EAL: opens and starts them, with packet buffers from pool. False with a message. */
bool ports_start(const struct options *o, struct rte_mempool *pool);
void ports_stop(void);

/* Where port index i forwards what it receives: as testpmd pairs ports. */
static inline unsigned ports_peer(unsigned i)
{
	return (i ^ 1) < ports.n ? i ^ 1 : i;
}

void ports_set_burst(uint16_t burst);
/* What our own port index i receives from now on: the table from its start, by each of n queues
 * every n-th. */
void ports_feed(unsigned i, const struct frames *frames, unsigned n, bool once,
		const struct options *fresh);
/* As ports_feed(), each of n queues from a table of its own; NULL: none. */
void ports_feed_each(unsigned i, const struct frames *frames, unsigned n, bool once);
/* Our own port index i gets its packets from rx and gives them to tx, until ports_feed(). One
 * queue. */
void ports_own(unsigned i, uint16_t (*rx)(struct queue *q, struct rte_mbuf **m, uint16_t n),
	       void (*tx)(struct queue *q, struct rte_mbuf **m, uint16_t n), void *arg);
/* The buffers that the pile lacks to n, as far as there are any. */
void ports_pile_fill(struct pile *p, unsigned n);
/* All frames of all tables fed once are out. */
bool ports_fed(void);
void ports_watch(unsigned i, void (*sent)(void *arg, struct rte_mbuf *m), void *arg);
void ports_pile(unsigned queue, struct pile *pile);
/* What the worker does by rte_eth_rx_burst() and rte_eth_tx_burst(), for whoever stands between it
 * and an own port: makes up to n frames of port index i's table, and takes frames back. */
uint16_t ports_make(unsigned i, unsigned queue, struct rte_mbuf **m, uint16_t n);
void ports_take(unsigned i, unsigned queue, struct rte_mbuf **m, uint16_t n);
void ports_clear_counters(void);

#endif /* TP_PERF_PORTS_H */
