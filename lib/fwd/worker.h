/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker's loop: receive, parse, translate, route, send, in bursts. fwd.c creates workers and
 * launches them.
 */
#ifndef FWD_WORKER_H
#define FWD_WORKER_H

#include "worker_ctx.h"

/* What n_workers that translate share, sized by dp.params; before they are created. NULL: no
 * memory. Control thread. */
struct nat_shared *worker_shared_nat(unsigned n_workers);

/* Takes the memory of worker id on lcore; with_nat: it translates, alone or with the others that
 * share dp.nat_shared, sized by dp.params. Control thread. */
struct worker *worker_create(unsigned id, unsigned lcore, bool with_nat, struct fwd_err *err);
void worker_destroy(struct worker *w);

/* The loop, an lcore_function_t; arg is the struct worker. Returns when w->stop is set. */
int worker_loop(void *arg);

/* One turn over one burst of frames received on port, for the loop and for tests. Takes the mbufs.
 */
void worker_frames(struct worker *w, struct rte_mbuf **m, unsigned n, uint16_t port);

/* The stages that worker_frames() consists of, in their order. */
enum worker_stage {
	WORKER_PARSE,
	WORKER_MERGE,
	WORKER_LOOKUP,
	WORKER_ROUTE,
	WORKER_FORWARD,
	WORKER_STAGES
};

/* As worker_frames(), and adds what each stage took to cycles[] (TSC ticks). For measuring. */
void worker_frames_timed(struct worker *w, struct rte_mbuf **m, unsigned n, uint16_t port,
			 uint64_t cycles[WORKER_STAGES]);

/* Frames of a receive queue, up to FWD_BURST; returns how many. */
unsigned worker_receive(uint16_t port, uint16_t queue, struct rte_mbuf **m);

/* The start of a turn: takes up the current snapshot and the time. */
void worker_turn_begin(struct worker *w);

/* One whole turn: all receive queues, what other threads handed over, then transmit. Returns the
 * packets seen. */
unsigned worker_turn(struct worker *w);

#endif /* FWD_WORKER_H */
