/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One trial: frames offered at a rate for a time, stamped with when they were due, and taken back
 * behind the router. Own ports have a bounded queue on each side of the worker meanwhile; ports
 * given by EAL are reached through the tester's, or through a loop behind each.
 */
#ifndef TP_PERF_TRIAL_H
#define TP_PERF_TRIAL_H

#include "bench.h"
#include "hist.h"

struct trial_result {
	uint64_t offered;    /* frames that were due and that there was a buffer for */
	uint64_t refused;    /* of them: the queue before the worker, or the port, had no room */
	uint64_t received;   /* of them: came back */
	uint64_t skipped;    /* due, but the generator was too late to offer them */
	double seconds;	     /* of those that count */
	bool disturbed;	     /* the kernel took a core away meanwhile */
	struct hist latency; /* of those received: TSC ticks from when a frame was due */
	struct hist late;    /* by how much the generator was late with those offered, at most */
};

/* After bench_prepare(): puts the queues in their places. False with a message. */
bool trial_open(const struct options *o);
void trial_close(void);
/* Who offers and takes back: an "lcore" of its own, the "main" one, or the "worker" besides. */
const char *trial_generator(void);

/* Nanoseconds, a median, for a cache line from the generator's core to the worker's: what every
 * frame pays a few times, and where virtual CPUs are moved, not the same from one minute to the
 * next. 0: they are one, or share a CPU so that it can't be told. */
double trial_core_to_core_ns(void);

/* Tables fed once are sent through, slowly; bench_prepare()'s watcher sees what comes back. */
void trial_learn(void);
/* Offers mpps for warm_ms, which does not count, and for ms. In mode nat44-setup it begins without
 * sessions, and ends when each flow has made its own, if that comes first. */
void trial_run(double mpps, unsigned warm_ms, unsigned ms, struct trial_result *r);

static inline uint64_t trial_lost(const struct trial_result *r)
{
	return r->offered - r->received;
}

#endif /* TP_PERF_TRIAL_H */
