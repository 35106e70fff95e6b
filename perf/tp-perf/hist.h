/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of times with a bounded relative error: buckets of equal width inside each power of
 * two, so that a value is known to 1 part in HIST_SUB wherever it lies. Fixed size, nothing is
 * allocated. Knows nothing of DPDK.
 */
#ifndef TP_PERF_HIST_H
#define TP_PERF_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS 7
#define HIST_SUB      (1u << HIST_SUB_BITS)
#define HIST_BITS     44 /* larger values count as the largest of so many bits */
#define HIST_BUCKETS  ((HIST_BITS - HIST_SUB_BITS + 1) * HIST_SUB)

struct hist {
	uint64_t n, min, max, sum;
	uint64_t count[HIST_BUCKETS];
};

void hist_clear(struct hist *h);
void hist_merge(struct hist *to, const struct hist *from);

/* The smallest value that at least parts of 100,000 of all values don't exceed (nearest rank), not
 * less than it and at most 1 / HIST_SUB above it. 0 when there are none. */
uint64_t hist_quantile(const struct hist *h, uint32_t parts);
double hist_mean(const struct hist *h);

static inline unsigned hist_bucket(uint64_t v)
{
	unsigned shift;

	if (v < 2 * HIST_SUB)
		return (unsigned)v;
	if (v >> HIST_BITS != 0)
		return HIST_BUCKETS - 1;
	shift = 63 - HIST_SUB_BITS - (unsigned)__builtin_clzll(v);
	return (shift << HIST_SUB_BITS) + (unsigned)(v >> shift);
}

/* The same value n times. */
static inline void hist_add_n(struct hist *h, uint64_t v, uint64_t n)
{
	h->n += n;
	h->sum += v * n;
	h->min = v < h->min ? v : h->min;
	h->max = v > h->max ? v : h->max;
	h->count[hist_bucket(v)] += n;
}

static inline void hist_add(struct hist *h, uint64_t v)
{
	hist_add_n(h, v, 1);
}

#endif /* TP_PERF_HIST_H */
