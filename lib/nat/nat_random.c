/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_random.h"

#include <string.h>

static inline uint32_t rotl(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static inline void quarter(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	*a += *b;
	*d = rotl(*d ^ *a, 16);
	*c += *d;
	*b = rotl(*b ^ *c, 12);
	*a += *b;
	*d = rotl(*d ^ *a, 8);
	*c += *d;
	*b = rotl(*b ^ *c, 7);
}

static void refill(struct nat_random *r)
{
	uint32_t x[16];

	memcpy(x, r->key, sizeof(x));
	for (unsigned round = 0; round < 4; round++) {
		quarter(&x[0], &x[4], &x[8], &x[12]);
		quarter(&x[1], &x[5], &x[9], &x[13]);
		quarter(&x[2], &x[6], &x[10], &x[14]);
		quarter(&x[3], &x[7], &x[11], &x[15]);
		quarter(&x[0], &x[5], &x[10], &x[15]);
		quarter(&x[1], &x[6], &x[11], &x[12]);
		quarter(&x[2], &x[7], &x[8], &x[13]);
		quarter(&x[3], &x[4], &x[9], &x[14]);
	}
	for (unsigned i = 0; i < 16; i++)
		r->out[i] = x[i] + r->key[i];
	if (++r->key[12] == 0)
		r->key[13]++;
	r->used = 0;
}

void nat_random_seed(struct nat_random *r, uint64_t seed)
{
	static const uint32_t sigma[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

	memset(r, 0, sizeof(*r));
	memcpy(r->key, sigma, sizeof(sigma));
	for (unsigned i = 0; i < 4; i++) {
		r->key[4 + 2 * i] = (uint32_t)seed;
		r->key[5 + 2 * i] = (uint32_t)(seed >> 32);
	}
	r->used = 16;
}

uint32_t nat_random_u32(struct nat_random *r)
{
	if (r->used == 16)
		refill(r);
	return r->out[r->used++];
}
