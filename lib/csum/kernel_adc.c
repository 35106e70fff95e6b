/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * x86-64 with add-with-carry: one instruction for 8 bytes, the carry passed on by the flag. Two
 * chains of four in a 64-byte block, each closed by adding its last carry, so that neither waits
 * for the other or for the block before.
 */
#include "kernel.h"

#ifdef CSUM_X86_64

#define IMPL	  csum_impl_adc
#define IMPL_NAME "adc"

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

#include "kernel_scalar_body.h"

#else
typedef int csum_adc_not_built; /* an empty file is no C */
#endif
