/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The router around the measured worker: the shared state, snapshots, routes, neighbours and
 * translation rules that lib/fwd's control thread makes for the daemon, made here for tp-perf's
 * ports. The first port is the inside, the second one the outside.
 */
#ifndef TP_PERF_ROUTER_H
#define TP_PERF_ROUTER_H

#include "frames.h"
#include "worker.h"

/* Once, after EAL: rings, counters, RCU, for n workers; dp.pool is there. False with a message. */
bool router_init(unsigned n_workers);

/* Builds for the mode of o: table of routes, snapshot, rules, and workers on these lcores. False
 * with a message. */
bool router_build(const struct options *o, const unsigned *lcores);
void router_clear(void);

/* What a NIC with rss source (inside) or destination-port (outside) goes by. With several workers,
 * after router_build(). */
struct router_rss {
	const uint8_t *key;
	uint16_t queue[NAT_SHARES_MAX];
};
void router_rss(bool inside, unsigned queues, struct router_rss *rss);
unsigned router_queue(const struct router_rss *rss, const struct frame_head *h);

/* What is done with segments that come in by the inside. */
enum gro { GRO_OFF, GRO_TSO, GRO_CUT, GRO_KINDS };

/* While no worker runs; what waits for more by what was set before is still there. */
void router_gro(const struct options *o, enum gro gro);
/* Packets received and handed over, payload bytes summed, and packets made of several, so far, by
 * all workers. */
uint64_t router_received(void);
uint64_t router_handed_over(void);
uint64_t router_summed(void);
uint64_t router_merged(void);

/* Ends all sessions, on the calling thread, while no worker runs. */
void router_end_sessions(void);
void router_stats(struct nat_stats *out);
/* Sum over all workers and reasons. */
uint64_t router_drops(void);
/* Calls fn for each reason that dropped anything. */
void router_each_drop(void (*fn)(void *arg, const char *name, uint64_t n), void *arg);

#endif /* TP_PERF_ROUTER_H */
