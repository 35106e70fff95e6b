/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The portable kernel: C11 alone, 64 bytes an iteration in 64-bit words, at any alignment and in
 * either byte order. It is what CPUs without a kernel of their own use, and the peer of all others
 * in the tests.
 */
#include "kernel.h"

#define IMPL	  csum_impl_portable
#define IMPL_NAME "portable"

/* Two accumulators; the words of a block are added as trees before they meet one, so no carry waits
 * for that of the block before. Every carry is added back at once ("s < b" becomes an add with
 * carry), so there is no length at which anything wraps. */
struct acc {
	uint64_t a, b;
};

CSUM_INLINE struct acc add_block(struct acc s, const unsigned char *p)
{
	uint64_t w0 = csum_load64(p), w1 = csum_load64(p + 8);
	uint64_t w2 = csum_load64(p + 16), w3 = csum_load64(p + 24);
	uint64_t w4 = csum_load64(p + 32), w5 = csum_load64(p + 40);
	uint64_t w6 = csum_load64(p + 48), w7 = csum_load64(p + 56);

	s.a = csum_add64(s.a, csum_add64(csum_add64(w0, w1), csum_add64(w2, w3)));
	s.b = csum_add64(s.b, csum_add64(csum_add64(w4, w5), csum_add64(w6, w7)));
	return s;
}

#include "kernel_scalar_body.h"
