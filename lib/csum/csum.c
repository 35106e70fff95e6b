/* SPDX-License-Identifier: BSD-3-Clause */
#include "csum.h"

#include "kernel.h"
#include "select.h"

#include <errno.h>

csum_sum_t csum_partial(const void *buf, size_t len, csum_sum_t sum)
{
	if (__builtin_expect(len < csum_choice.impl.crossover, 0))
		return csum_choice.small.partial(buf, len, sum);
	return csum_choice.impl.partial(buf, len, sum);
}

csum_sum_t csum_partial_copy(void *restrict dst, const void *restrict src, size_t len,
			     csum_sum_t sum)
{
	if (__builtin_expect(len < csum_choice.impl.copy_crossover, 0))
		return csum_choice.small.partial_copy(dst, src, len, sum);
	return csum_choice.impl.partial_copy(dst, src, len, sum);
}

/* The lines of a buffer, all of them when it is a packet; longer ones stream by themselves.
 * (Inlined, since gcc takes a function that only prefetches for one without effect, and drops it.)
 */
CSUM_INLINE void prefetch_buffer(const struct csum_iov *v)
{
	const unsigned char *p = v->base;
	size_t i, len = v->len < 2048 ? v->len : 2048;

	for (i = 0; i + 256 <= len; i += 256) {
		csum_prefetch_line(p + i);
		csum_prefetch_line(p + i + 64);
		csum_prefetch_line(p + i + 128);
		csum_prefetch_line(p + i + 192);
	}
	for (; i < len; i += 64)
		csum_prefetch_line(p + i);
	if (len)
		csum_prefetch_line(p + len - 1);
}

/* How much is on its way while a buffer is summed: measured on Zen 5, where half as much leaves the
 * memory idle and twice as much falls out of the first-level cache again. */
#define BATCH_BYTES   4500
#define BATCH_BUFFERS 16

void csum_partial_batch(const struct csum_iov *v, csum_sum_t *sums, unsigned n)
{
	size_t flight = 0;
	unsigned i, next = 1; /* buffers from i + 1 to next - 1 are on their way */

	for (i = 0; i < n; i++) {
		for (; next < n && next <= i + BATCH_BUFFERS && flight < BATCH_BYTES; next++) {
			prefetch_buffer(&v[next]);
			flight += v[next].len;
		}
		sums[i] = csum_partial(v[i].base, v[i].len, sums[i]);
		if (i + 1 < next)
			flight -= v[i + 1].len;
		else
			next = i + 2;
	}
}

int csum_iov(const struct csum_iov *v, unsigned n, size_t skip, size_t len, csum_sum_t *sum)
{
	csum_sum_t total = 0;
	size_t done = 0;
	unsigned i;

	if (!sum || (n && !v))
		return -EINVAL;
	for (i = 0; i < n; i++) {
		size_t take = v[i].len;
		const unsigned char *p = v[i].base;

		if (skip >= take) {
			skip -= take;
			continue;
		}
		take -= skip;
		if (take > len - done)
			take = len - done;
		if (take) {
			if (!p)
				return -EINVAL;
			total = csum_block_add(total, csum_partial(p + skip, take, 0), done);
			done += take;
		}
		skip = 0;
		if (done == len)
			break;
	}
	if (skip || done < len)
		return -ERANGE;
	*sum = total;
	return 0;
}

csum_be_t csum_apply_icmp(csum_be_t check, csum_delta_t d, const void *msg, size_t len)
{
	const unsigned char *p = msg;
	csum_be_t c = csum_apply(check, d);

	if (c)
		return c;
	/* One in 65536: a message whose words add up to a multiple of 0xffff. Are they all 0? */
	if (len < 4 || csum_partial(p, 2, 0) || csum_partial(p + 4, len - 4, 0))
		return 0;
	return 0xffff;
}
