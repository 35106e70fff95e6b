/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one worker owns: its counters, its translation state, its transmit buffers and its clock.
 * The stages of the worker's loop (parse, icmp, local, tx, ...) take it as their first argument;
 * only the worker's own thread does.
 */
#ifndef FWD_WORKER_CTX_H
#define FWD_WORKER_CTX_H

#include "dp.h"

/* Frames for one port, sent at the end of a turn or when full. */
struct tx_buffer {
	uint16_t n;
	bool listed;		   /* in tx_ports[] */
	uint16_t iface[FWD_BURST]; /* egress interface of each, for the counters */
	struct rte_mbuf *m[FWD_BURST];
};

/* Packets for one other worker, passed on at the end of a burst or when full. */
struct steer_buffer {
	uint16_t n;
	bool listed; /* in steer_to[] */
	struct rte_mbuf *m[FWD_BURST];
};

/* Tokens in thousandths; RFC 1812 4.3.2.8. */
struct token_bucket {
	uint64_t tokens;
	uint64_t last_ms;
	uint32_t rate_s, burst;
};

struct worker {
	unsigned id;
	unsigned lcore;
	struct fwd_snapshot *snap;   /* as loaded at the start of this turn */
	uint64_t serial;	     /* of the snapshot for which sessions remember next hops */
	struct nat_config *nat_conf; /* the snapshot that nat has taken up */
	struct nat_worker *nat;	     /* NULL: this dataplane translates nothing */
	bool nat_behind;	     /* its housekeeping has more to do than a turn's share */
	struct dp_counters *counters;
	struct rte_ring *requests; /* struct worker_request *, from control */
	uint64_t now_ms;
	uint64_t tsc_per_ms, tsc_base;
	struct hold *hold;    /* segments that wait (hold.h) */
	struct gro_work *gro; /* runs of segments (gro.h) */
	struct token_bucket icmp_bucket;
	uint16_t ip_id;	     /* of datagrams made here */
	uint16_t n_tx_ports; /* ports that may have frames in tx[] */
	uint16_t tx_ports[FWD_MAX_PORTS];
	struct tx_buffer tx[FWD_MAX_PORTS];
	uint8_t n_steer_to; /* workers that may have packets in steer[] */
	uint8_t steer_to[FWD_MAX_WORKERS];
	struct steer_buffer steer[FWD_MAX_WORKERS];
	/* read by control without synchronization, for people */
	_Atomic uint64_t busy_tsc, total_tsc, bursts, packets;
	_Atomic bool stop;
} __rte_cache_aligned;

static inline void worker_drop(struct worker *w, struct rte_mbuf *m, uint16_t iface, unsigned why)
{
	dp_drop_count(w->counters, iface, why);
	rte_pktmbuf_free(m);
}

static inline bool token_take(struct token_bucket *b, uint64_t now_ms)
{
	uint64_t max = (uint64_t)b->burst * 1000;

	b->tokens += (now_ms - b->last_ms) * b->rate_s;
	b->last_ms = now_ms;
	if (b->tokens > max)
		b->tokens = max;
	if (b->tokens < 1000)
		return false;
	b->tokens -= 1000;
	return true;
}

#endif /* FWD_WORKER_CTX_H */
