/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#ifdef CSUM_X86_64

#include <immintrin.h>

#define TARGET	__attribute__((target("avx2")))
#define TINLINE static inline __attribute__((always_inline)) TARGET

typedef __m256i vec;
#define VEC		    32
#define IMPL		    csum_impl_avx2
#define IMPL_NAME	    "avx2"
#define IMPL_CROSSOVER	    0
#define IMPL_COPY_CROSSOVER 192 /* csum-perf --copy */

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

TINLINE vec add(vec a, vec b)
{
	return _mm256_add_epi32(a, b);
}

TINLINE vec average(vec a, vec b)
{
	return _mm256_avg_epu16(a, b);
}

TINLINE vec shift(vec x, int bits)
{
	return _mm256_srli_epi32(x, bits);
}

TINLINE uint64_t sums_of_lanes(vec a, vec b)
{
	vec x = add(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
	__m128i y = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

	y = _mm_add_epi32(y, _mm_unpackhi_epi64(y, y));
	return (uint64_t)_mm_cvtsi128_si64(y);
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
