/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AArch64 SVE, any vector length: udot multiplies 16-bit words by one and adds four of them to a
 * lane of 64 bits, in which no buffer overflows; predicates take care of the end. Tested under
 * emulation only, so NEON is preferred to it.
 */
#include "kernel.h"

#if defined(CSUM_AARCH64) && defined(__linux__)

#include <arm_sve.h>
#include <sys/auxv.h>

#ifndef HWCAP_SVE
#define HWCAP_SVE (1 << 22)
#endif

#define TARGET __attribute__((target("+sve")))

static unsigned prefetch_bytes;

static inline __attribute__((always_inline)) TARGET svuint64_t add_vec(svuint64_t acc, svbool_t pg,
								       const unsigned char *p,
								       unsigned char *d, bool copy)
{
	svuint8_t x = svld1_u8(pg, p); /* bytes outside pg are not read, and 0 */

	if (copy)
		svst1_u8(pg, d, x);
	return svdot_u64(acc, svreinterpret_u16_u8(x), svdup_n_u16(1));
}

static inline __attribute__((always_inline)) TARGET csum_sum_t sum_all(const unsigned char *p,
								       size_t len, unsigned char *d,
								       bool copy, csum_sum_t sum)
{
	size_t v = svcntb(), step = 4 * v, ahead = prefetch_bytes;
	svuint64_t a = svdup_n_u64(0), b = a, c = a, e = a;
	svbool_t all = svptrue_b8();

	for (; len >= step; len -= step, p += step, d = csum_after(d, step, copy)) {
		if (ahead && len > ahead)
			csum_prefetch_line(p + ahead);
		a = add_vec(a, all, p, d, copy);
		b = add_vec(b, all, p + v, csum_after(d, v, copy), copy);
		c = add_vec(c, all, p + 2 * v, csum_after(d, 2 * v, copy), copy);
		e = add_vec(e, all, p + 3 * v, csum_after(d, 3 * v, copy), copy);
	}
	for (; len; p += v, d = csum_after(d, v, copy)) {
		size_t n = len < v ? len : v;

		a = add_vec(a, svwhilelt_b8_u64(0, n), p, d, copy);
		len -= n;
	}
	a = svadd_u64_x(all, svadd_u64_x(all, a, b), svadd_u64_x(all, c, e));
	/* Each is below 2^64 / 2^16 for any buffer below 2^48 bytes. */
	return csum_fold64(svaddv_u64(all, a) + sum);
}

static TARGET csum_sum_t sve_partial(const void *buf, size_t len, csum_sum_t sum)
{
	return sum_all(buf, len, NULL, false, sum);
}

static TARGET csum_sum_t sve_partial_copy(void *restrict dst, const void *restrict src, size_t len,
					  csum_sum_t sum)
{
	return sum_all(src, len, dst, true, sum);
}

static bool sve_supported(void)
{
	return getauxval(AT_HWCAP) & HWCAP_SVE;
}

const struct csum_impl csum_impl_sve = {
	.name = "sve",
	.supported = sve_supported,
	.partial = sve_partial,
	.partial_copy = sve_partial_copy,
	.prefetch = &prefetch_bytes,
};

#else
typedef int csum_sve_not_built; /* an empty file is no C */
#endif
