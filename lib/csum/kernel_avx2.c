/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#ifdef CSUM_X86_64

#include <immintrin.h>

#define TARGET	__attribute__((target("avx2")))
#define TINLINE static inline __attribute__((always_inline)) TARGET

typedef __m256i vec;
#define VEC		    32
#define SECOND		    s
#define SHORT_MAX	    32
#define IMPL		    csum_impl_avx2
#define IMPL_NAME	    "avx2"
#define IMPL_CROSSOVER	    0
#define IMPL_COPY_CROSSOVER 192 /* csum-perf --copy */
#define IMPL_PREFETCH	    0	/* none is fastest on Zen 5, warm and cold (csum-perf --tune) */

TINLINE vec load(const unsigned char *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

TINLINE void store(unsigned char *p, vec x)
{
	_mm256_storeu_si256((__m256i *)(void *)p, x);
}

TINLINE vec zero(void)
{
	return _mm256_setzero_si256();
}

TINLINE vec both(vec a, vec b)
{
	return _mm256_and_si256(a, b);
}

TINLINE vec biased(vec x)
{
	return _mm256_xor_si256(x, _mm256_set1_epi16((short)0x8000));
}

TINLINE vec add_lanes(vec a, vec b)
{
	return _mm256_add_epi32(a, b);
}

TINLINE vec add_words(vec acc, vec x)
{
	return _mm256_add_epi32(acc, _mm256_madd_epi16(x, _mm256_set1_epi16(1)));
}

TINLINE uint32_t lanes_sum(vec x)
{
	__m128i z = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

	z = _mm_add_epi32(z, _mm_unpackhi_epi64(z, z));
	z = _mm_add_epi32(z, _mm_shuffle_epi32(z, 1));
	return (uint32_t)_mm_cvtsi128_si32(z);
}

static bool impl_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2");
}

#include "kernel_vector_body.h"

#else
typedef int csum_avx2_not_built; /* an empty file is no C */
#endif
