/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of the control thread that run on a worker's thread, between two turns of its loop.
 */
#ifndef FWD_CALL_H
#define FWD_CALL_H

#include "worker_ctx.h"

/* Runs fn(arg, worker) on that worker and waits for it. fn must be short: a slice. Control thread.
 */
void call_worker(unsigned worker, void (*fn)(void *arg, unsigned worker), void *arg);

/* Serves what is waiting. Worker thread. */
void call_serve(struct worker *w);

#endif /* FWD_CALL_H */
