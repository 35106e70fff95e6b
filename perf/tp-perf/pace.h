/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When frames are due: one each period, from a start on, whatever became of those before (an open
 * loop). Times are ticks of any clock. Knows nothing of DPDK.
 */
#ifndef TP_PERF_PACE_H
#define TP_PERF_PACE_H

#include <stdint.h>

#define PACE_SHIFT 16 /* fractions of a tick, so that no rate drifts */

struct pace {
	uint64_t start;	 /* when the first frame is due */
	uint64_t period; /* in 1 / 65,536 of a tick */
	uint64_t next;	 /* after start, as fine: the first frame that was not taken */
};

static inline void pace_start(struct pace *p, uint64_t start, double ticks_per_frame)
{
	uint64_t period = (uint64_t)(ticks_per_frame * (1 << PACE_SHIFT) + 0.5);

	*p = (struct pace){.start = start, .period = period > 0 ? period : 1};
}

/* How many frames are due before the time end, and were not taken yet. */
static inline uint64_t pace_due(const struct pace *p, uint64_t end)
{
	uint64_t upto = (end - p->start) << PACE_SHIFT;

	return end <= p->start || upto <= p->next ? 0 : (upto - p->next - 1) / p->period + 1;
}

/* When the next one is due. */
static inline uint64_t pace_next(const struct pace *p)
{
	return p->start + (p->next >> PACE_SHIFT);
}

static inline void pace_take(struct pace *p, uint64_t n)
{
	p->next += n * p->period;
}

#endif /* TP_PERF_PACE_H */
