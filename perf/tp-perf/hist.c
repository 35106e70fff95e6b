/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "hist.h"

void hist_clear(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	to->n += from->n;
	to->sum += from->sum;
	to->min = from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		to->count[i] += from->count[i];
}

/* The largest value of a bucket. */
static uint64_t bucket_end(unsigned i)
{
	unsigned shift;

	if (i < 2 * HIST_SUB)
		return i;
	shift = (i >> HIST_SUB_BITS) - 1;
	return (((uint64_t)i - ((uint64_t)shift << HIST_SUB_BITS) + 1) << shift) - 1;
}

uint64_t hist_quantile(const struct hist *h, uint32_t parts)
{
	uint64_t rank = h->n / 100000 * parts + (h->n % 100000 * parts + 99999) / 100000;
	uint64_t seen = 0;

	if (h->n == 0)
		return 0;
	if (rank == 0)
		return h->min;
	for (unsigned i = 0; i < HIST_BUCKETS - 1; i++) {
		seen += h->count[i];
		if (seen >= rank)
			return bucket_end(i) < h->max ? bucket_end(i) : h->max;
	}
	return h->max;
}

double hist_mean(const struct hist *h)
{
	return h->n == 0 ? 0 : (double)h->sum / (double)h->n;
}
