/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_pause.h>
#include <sched.h>

#include "call.h"

void call_worker(unsigned worker, void (*fn)(void *arg, unsigned worker), void *arg)
{
	struct worker_request r = {.fn = fn, .arg = arg};
	struct worker *w = dp.workers[worker];

	while (rte_ring_sp_enqueue(w->requests, &r) != 0)
		sched_yield();
	for (unsigned spins = 0; !atomic_load_explicit(&r.done, memory_order_acquire); spins++) {
		if (spins < 1000)
			rte_pause();
		else /* the worker may need this core */
			sched_yield();
	}
}

void call_serve(struct worker *w)
{
	void *p;

	while (rte_ring_sc_dequeue(w->requests, &p) == 0) {
		struct worker_request *r = p;

		r->fn(r->arg, w->id);
		atomic_store_explicit(&r->done, true, memory_order_release);
	}
}
