/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * x86-64 with add-with-carry: one instruction for 8 bytes, the carry passed on by the flag. Two
 * chains of four in a 64-byte block, each closed by adding its last carry, so that neither waits
 * for the other or for the block before.
 */
#include "kernel.h"

#ifdef CSUM_X86_64

static unsigned prefetch_bytes = 512; /* csum-perf --tune on Zen 5: no cost warm, 10 % gain cold */

struct acc {
	uint64_t a, b;
};

/* The "m" operand tells the compiler that these 64 bytes are read. */
CSUM_INLINE struct acc add_block(struct acc s, const unsigned char *p)
{
	__asm__("addq 0(%[p]), %[a]\n\t"
		"adcq 8(%[p]), %[a]\n\t"
		"adcq 16(%[p]), %[a]\n\t"
		"adcq 24(%[p]), %[a]\n\t"
		"adcq $0, %[a]\n\t"
		"addq 32(%[p]), %[b]\n\t"
		"adcq 40(%[p]), %[b]\n\t"
		"adcq 48(%[p]), %[b]\n\t"
		"adcq 56(%[p]), %[b]\n\t"
		"adcq $0, %[b]"
		: [a] "+&r"(s.a), [b] "+&r"(s.b)
		: [p] "r"(p), "m"(*(const unsigned char(*)[64])p)
		: "cc");
	return s;
}

static csum_sum_t adc_partial(const void *buf, size_t len, csum_sum_t sum)
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

static csum_sum_t adc_partial_copy(void *restrict dst, const void *restrict src, size_t len,
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

static bool adc_supported(void)
{
	return true;
}

const struct csum_impl csum_impl_adc = {
	.name = "adc",
	.supported = adc_supported,
	.partial = adc_partial,
	.partial_copy = adc_partial_copy,
	.prefetch = &prefetch_bytes,
};

#else
typedef int csum_adc_not_built; /* an empty file is no C */
#endif
