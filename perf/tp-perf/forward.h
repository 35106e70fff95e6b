/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One turn of each forward mode over the queues of a lane: io, mac, 5tswap and csum are written
 * here after testpmd's engines of the same names; all others are the router's worker_turn().
 */
#ifndef TP_PERF_FORWARD_H
#define TP_PERF_FORWARD_H

#include "ports.h"
#include "worker.h"

enum stage {
	STAGE_RECEIVE,
	STAGE_PARSE,
	STAGE_MERGE,
	STAGE_LOOKUP,
	STAGE_ROUTE,
	STAGE_FORWARD,
	STAGE_TRANSMIT,
	STAGES
};

/* What one lcore has. One writer; others read packets and the like while it runs, for people. */
struct lane {
	unsigned id, lcore;
	struct pile pile;
	uint64_t tx_dropped[PORTS_MAX];
	uint64_t payload_received, payload_summed, bad_checksums; /* mode csum */
	uint64_t stages[STAGES];				  /* TSC ticks, by turn_timed() */
} __rte_cache_aligned;

/* Receives on all queues of the lane, forwards, sends. Returns the packets received. */
typedef unsigned (*turn_fn)(struct lane *l);

turn_fn forward_turn(enum mode mode);
/* The router's turn with the clock read between its stages. */
unsigned forward_turn_timed(struct lane *l);

const char *stage_name(enum stage s);

#endif /* TP_PERF_FORWARD_H */
