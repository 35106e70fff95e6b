/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bench: lanes (an lcore each) that forward in slices of time, the mode that is measured and io
 * by turns.
 */
#ifndef TP_PERF_BENCH_H
#define TP_PERF_BENCH_H

#include "forward.h"
#include "router.h"

/* Medians over the slices of one run. Cycles are TSC ticks. */
struct result {
	double mpps, cycles,
		cycles_min; /* cycles: without io where the packets are tp-perf's own */
	double io_mpps, io_cycles;
	double stages[STAGES];
	bool has_stages;
	uint64_t drops;
	double handed_over; /* to another worker, of the packets received */
	uint32_t sessions;
	double bytes_per_session;
	uint64_t payload_received, payload_summed;
	uint64_t merged; /* mode gro: packets made of several segments */
	enum gro gro;
	unsigned slices,
		disturbed; /* of the measured mode; disturbed: the kernel took the core meanwhile */
};

/* What all lanes did since bench_clear(); may be asked for while they run. */
struct totals {
	uint64_t packets, busy_tsc;
};

/* Once, after EAL: packet buffers, ports, lanes. False with a message. */
bool bench_init(const struct options *o);
void bench_fini(void);
unsigned bench_lanes(void);

/* Makes tables, frames and sessions for the mode. False with a message. For trials over ports given
 * by EAL it leaves the tables to be fed once, which makes the sessions, and bench_learned() after
 * that. */
bool bench_prepare(const struct options *o);
bool bench_learned(const struct options *o);
/* While nothing runs: ends all sessions, and feeds the table anew; once: to its end. */
void bench_begin_again(const struct options *o, bool once);

/* Measures for o->duration_s, or until bench_interrupt(). Calls period(), if not NULL, each
 * o->stats_period_s. */
void bench_measure(const struct options *o, struct result *r,
		   void (*period)(const struct options *o));
void bench_interrupt(void);
bool bench_interrupted(void);
/* As bench_measure(), for mode gro, with all kinds by turns. */
void bench_measure_gro(const struct options *o, struct result r[GRO_KINDS]);

/* Forwards in the background, by turns of the mode or others, until bench_stop(). That returns
 * whether the kernel took a core away meanwhile. */
void bench_start(const struct options *o);
void bench_run(turn_fn turn);
bool bench_stop(void);
bool bench_running(void);
/* io of the same ports, for a moment, while nothing else runs. */
void bench_measure_io(double *mpps, double *cycles);

void bench_totals(struct totals *t);
void bench_stages(double cycles[STAGES]); /* a packet, as far as measured */
uint64_t bench_tx_dropped(unsigned port);
void bench_clear(void);

#endif /* TP_PERF_BENCH_H */
