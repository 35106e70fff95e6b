/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#ifdef CSUM_X86_64

#include <emmintrin.h>

#define TARGET	__attribute__((target("sse2")))
#define TINLINE static inline __attribute__((always_inline)) TARGET

typedef __m128i vec;
#define VEC		    16
#define SECOND		    s
#define SHORT_MAX	    16
#define IMPL		    csum_impl_sse2
#define IMPL_NAME	    "sse2"
#define IMPL_CROSSOVER	    0
#define IMPL_COPY_CROSSOVER 256 /* csum-perf --copy */
#define IMPL_PREFETCH	    512

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

TINLINE vec biased(vec x)
{
	return _mm_xor_si128(x, _mm_set1_epi16((short)0x8000));
}

TINLINE vec add_lanes(vec a, vec b)
{
	return _mm_add_epi32(a, b);
}

TINLINE vec add_words(vec acc, vec x)
{
	return _mm_add_epi32(acc, _mm_madd_epi16(x, _mm_set1_epi16(1)));
}

TINLINE uint32_t lanes_sum(vec z)
{
	z = _mm_add_epi32(z, _mm_unpackhi_epi64(z, z));
	z = _mm_add_epi32(z, _mm_shuffle_epi32(z, 1));
	return (uint32_t)_mm_cvtsi128_si32(z);
}

static bool impl_supported(void)
{
	return true;
}

#include "kernel_vector_body.h"

#else
typedef int csum_sse2_not_built; /* an empty file is no C */
#endif
