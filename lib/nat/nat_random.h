/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unguessable numbers (M12, RFC 6056): ChaCha with 8 rounds as a generator. Who sees the ports it
 * chose can't tell the next ones. One owner, no lock.
 */
#ifndef TURNPIKE_NAT_RANDOM_H
#define TURNPIKE_NAT_RANDOM_H

#include <stdint.h>

struct nat_random {
	uint32_t key[16]; /* ChaCha's input block */
	uint32_t out[16];
	unsigned used; /* words of out handed out */
};

void nat_random_seed(struct nat_random *r, uint64_t seed);
uint32_t nat_random_u32(struct nat_random *r);

static inline uint64_t nat_random_u64(struct nat_random *r)
{
	uint64_t hi = nat_random_u32(r);

	return hi << 32 | nat_random_u32(r);
}

/* Uniform enough in [0, n): the bias is below n / 2^32. n > 0. */
static inline uint32_t nat_random_below(struct nat_random *r, uint32_t n)
{
	return (uint32_t)(((uint64_t)nat_random_u32(r) * n) >> 32);
}

#endif /* TURNPIKE_NAT_RANDOM_H */
