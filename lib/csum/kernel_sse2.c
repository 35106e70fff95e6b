/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#ifdef CSUM_X86_64

#include <emmintrin.h>

#define TARGET	__attribute__((target("sse2")))
#define TINLINE static inline __attribute__((always_inline)) TARGET

typedef __m128i vec;
#define VEC		    16
#define IMPL		    csum_impl_sse2
#define IMPL_NAME	    "sse2"
#define IMPL_CROSSOVER	    0
#define IMPL_COPY_CROSSOVER 256 /* csum-perf --copy */

TINLINE vec load(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

TINLINE void store(unsigned char *p, vec x)
{
	_mm_storeu_si128((__m128i *)(void *)p, x);
}

TINLINE vec zero(void)
{
	return _mm_setzero_si128();
}

TINLINE vec both(vec a, vec b)
{
	return _mm_and_si128(a, b);
}

TINLINE vec add(vec a, vec b)
{
	return _mm_add_epi32(a, b);
}

TINLINE vec average(vec a, vec b)
{
	return _mm_avg_epu16(a, b);
}

TINLINE vec shift(vec x, int bits)
{
	return _mm_srli_epi32(x, bits);
}

TINLINE uint64_t sums_of_lanes(vec a, vec b)
{
	vec y = add(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));

	y = _mm_add_epi32(y, _mm_unpackhi_epi64(y, y));
	return (uint64_t)_mm_cvtsi128_si64(y);
}

static bool impl_supported(void)
{
	return true;
}

#include "kernel_vector_body.h"

#else
typedef int csum_sse2_not_built; /* an empty file is no C */
#endif
