/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AVX2 and AVX-VNNI, for CPUs that have vpdpwssd but not AVX-512.
 */
#include "kernel.h"

#ifdef CSUM_X86_64

#include <cpuid.h>
#include <immintrin.h>

#define TARGET	__attribute__((target("avx2")))
#define TINLINE static inline __attribute__((always_inline)) TARGET

typedef __m256i vec;
#define VEC		    32
#define SECOND		    t
#define SHORT_MAX	    32
#define IMPL		    csum_impl_avxvnni
#define IMPL_NAME	    "avxvnni"
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

/* With the intrinsic, compilers want AVX-512 or a target name that clang 14's headers do not know.
 */
TINLINE vec add_words(vec acc, vec x)
{
	__asm__("%{vex%} vpdpwssd %[ones], %[x], %[acc]"
		: [acc] "+x"(acc)
		: [x] "x"(x), [ones] "x"(_mm256_set1_epi16(1)));
	return acc;
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
	unsigned a, b, c, d;

	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2")) /* and so the system saves its registers */
		return false;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !a)
		return false;
	return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4);
}

#include "kernel_vector_body.h"

#else
typedef int csum_avxvnni_not_built; /* an empty file is no C */
#endif
