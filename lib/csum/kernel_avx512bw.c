/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#ifdef CSUM_X86_64

#include <immintrin.h>

#define TARGET	  __attribute__((target("avx512f,avx512bw,avx512vl,bmi2")))
#define IMPL	  csum_impl_avx512bw
#define IMPL_NAME "avx512bw"

static inline __attribute__((always_inline)) TARGET __m512i add_words(__m512i acc, __m512i x,
								      __m512i ones)
{
	return _mm512_add_epi32(acc, _mm512_madd_epi16(x, ones));
}

static bool impl_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
}

#include "kernel_avx512_body.h"

#else
typedef int csum_avx512bw_not_built; /* an empty file is no C */
#endif
