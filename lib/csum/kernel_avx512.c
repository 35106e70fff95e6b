/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#ifdef CSUM_X86_64

#include <immintrin.h>

#define TARGET	  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,bmi2")))
#define IMPL	  csum_impl_avx512
#define IMPL_NAME "avx512"

/* _mm512_dpwssd_epi32(acc, x, ones). With the intrinsic gcc 12 copies accumulators between
 * registers in the loop, which costs a quarter of its speed; clang does not. */
static inline __attribute__((always_inline)) TARGET __m512i add_words(__m512i acc, __m512i x,
								      __m512i ones)
{
	__asm__("vpdpwssd %[ones], %[x], %[acc]" : [acc] "+v"(acc) : [x] "v"(x), [ones] "v"(ones));
	return acc;
}

static bool impl_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") &&
	       __builtin_cpu_supports("bmi2");
}

#include "kernel_avx512_body.h"

#else
typedef int csum_avx512_not_built; /* an empty file is no C */
#endif
