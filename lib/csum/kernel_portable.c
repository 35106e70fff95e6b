/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The portable kernel: C11 alone, 64 bytes an iteration in 64-bit words, at any alignment and in
 * either byte order. It is what CPUs without a kernel of their own use, and the peer of all others
 * in the tests.
 */
#include "kernel.h"

static unsigned prefetch_bytes = 512; /* csum-perf --tune on Zen 5: no cost warm, 10 % gain cold */

/* Two accumulators; the words of a block are added as trees before they meet one, so no carry waits
 * for that of the block before. Every carry is added back at once ("s < b" becomes an add with
 * carry), so there is no length at which anything wraps. */
struct acc {
	uint64_t a, b;
};

CSUM_INLINE struct acc add_block(struct acc s, const unsigned char *p)
{
	uint64_t w0 = csum_load64(p), w1 = csum_load64(p + 8);
	uint64_t w2 = csum_load64(p + 16), w3 = csum_load64(p + 24);
	uint64_t w4 = csum_load64(p + 32), w5 = csum_load64(p + 40);
	uint64_t w6 = csum_load64(p + 48), w7 = csum_load64(p + 56);

	s.a = csum_add64(s.a, csum_add64(csum_add64(w0, w1), csum_add64(w2, w3)));
	s.b = csum_add64(s.b, csum_add64(csum_add64(w4, w5), csum_add64(w6, w7)));
	return s;
}

static csum_sum_t portable_partial(const void *buf, size_t len, csum_sum_t sum)
{
	const unsigned char *p = buf;
	struct acc s = {sum, 0};

	if (len >= 64) {
		unsigned ahead = prefetch_bytes;
		size_t n = len / 64, pf = csum_prefetched(len, n, 64, ahead);

		len -= n * 64;
		n -= pf;
		for (; pf; pf--, p += 64) {
			csum_prefetch_line(p + ahead);
			s = add_block(s, p);
		}
		for (; n; n--, p += 64)
			s = add_block(s, p);
	}
	return csum_fold64(csum_add64(csum_add64(s.a, s.b), csum_short(p, len)));
}

static csum_sum_t portable_partial_copy(void *restrict dst, const void *restrict src, size_t len,
					csum_sum_t sum)
{
	unsigned char *d = dst;
	const unsigned char *p = src;
	struct acc s = {sum, 0};

	for (; len >= 64; p += 64, d += 64, len -= 64) {
		memcpy(d, p, 64);
		s = add_block(s, p);
	}
	if (len)
		memcpy(d, p, len);
	return csum_fold64(csum_add64(csum_add64(s.a, s.b), csum_short(p, len)));
}

static bool portable_supported(void)
{
	return true;
}

const struct csum_impl csum_impl_portable = {
	.name = "portable",
	.supported = portable_supported,
	.partial = portable_partial,
	.partial_copy = portable_partial_copy,
	.prefetch = &prefetch_bytes,
};
