/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending: the Ethernet header, a buffer for each port, transmit bursts, and frames for ports whose
 * transmit queues other workers own. Worker thread.
 */
#ifndef FWD_TX_H
#define FWD_TX_H

#include <string.h>

#include "worker_ctx.h"

/* Prepends the Ethernet header of iface (with its tag) to a datagram and queues it. Takes the mbuf.
 */
void tx_datagram(struct worker *w, struct rte_mbuf *m, uint16_t iface, union nh_adj adj);

/* The way out by one interface, looked up once for all datagrams of a burst that take it. */
struct tx_way {
	uint16_t iface; /* FWD_IFACE_NONE: none yet */
	uint16_t port;
	uint16_t mtu;  /* 0: datagrams can't take it, but need tx_datagram() */
	uint64_t head; /* bytes 6 to 13 of the Ethernet header */
	struct tx_buffer *buffer;
	struct dp_iface_counters *counters;
	uint64_t packets, bytes; /* not counted yet */
};

/* Changes *way to iface (any number), after the present one. At last: to FWD_IFACE_NONE. */
void tx_way_to(struct worker *w, struct tx_way *way, uint16_t iface);

/* The port's buffer is full: sends it. */
void tx_full(struct worker *w, uint16_t port);

/* As tx_datagram(), for a datagram in one segment, of at most way->mtu bytes, that came in with an
 * Ethernet header. */
static inline void tx_way_send(struct worker *w, struct tx_way *way, struct rte_mbuf *m,
			       union nh_adj adj)
{
	struct tx_buffer *b = way->buffer;
	uint8_t *eth;

	m->data_off -= RTE_ETHER_HDR_LEN;
	m->data_len += RTE_ETHER_HDR_LEN;
	m->pkt_len += RTE_ETHER_HDR_LEN;
	eth = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(eth, &adj.word,
	       sizeof(adj.word)); /* the second store covers what is no address of the first */
	memcpy(eth + RTE_ETHER_ADDR_LEN, &way->head, sizeof(way->head));
	way->packets++;
	way->bytes += m->pkt_len;
	b->m[b->n] = m;
	b->iface[b->n] = way->iface;
	if (unlikely(++b->n == FWD_BURST))
		tx_full(w, way->port);
}

/* Queues a complete frame for iface. Takes the mbuf. */
void tx_frame(struct worker *w, struct rte_mbuf *m, uint16_t iface);

/* Sends the frames that control and other workers made ready for ports whose queues this worker
 * owns. Returns how many there were. */
unsigned tx_injected(struct worker *w);

/* Sends what is queued. */
void tx_flush(struct worker *w);

#endif /* FWD_TX_H */
