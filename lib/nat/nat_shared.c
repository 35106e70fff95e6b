/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_shared.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "nat_extern.h"
#include "nat_random.h"

#define SESSIONS_DEFAULT    1000000u
#define SESSIONS_PER_EXTERN 8192u /* default: an eighth of the ports of each protocol */
#define EXTERNS_MIN	    8u
#define EXTERNS_MAX	    1024u
#define HUGE_PAGE	    (2u << 20)
#define SPINS		    1000

/* ---- memory --------------------------------------------------------------------------------- */

static void *default_alloc(void *ctx, size_t size)
{
	size_t align = size >= HUGE_PAGE ? HUGE_PAGE : 64;
	void *p;

	(void)ctx;
	size = (size + align - 1) & ~(align - 1);
	p = aligned_alloc(align, size);
	if (p == NULL)
		return NULL;
#ifdef MADV_HUGEPAGE
	if (align == HUGE_PAGE)
		(void)madvise(p, size, MADV_HUGEPAGE); /* only a wish */
#endif
	return memset(p, 0, size);
}

static void default_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

void nat_ops_complete(struct nat_ops *ops)
{
	if (ops->alloc != NULL)
		return;
	ops->alloc = default_alloc;
	ops->free = default_free;
}

static void *take(struct nat_shared *sh, size_t size)
{
	void *p = sh->ops.alloc(sh->ops.ctx, size);

	if (p != NULL) {
		sh->blocks[sh->n_blocks++] = p;
		sh->memory += size;
	}
	return p;
}

/* ---- life ----------------------------------------------------------------------------------- */

static uint32_t default_externs(uint32_t sessions)
{
	uint32_t n = (sessions ? sessions : SESSIONS_DEFAULT) / SESSIONS_PER_EXTERN;

	return n < EXTERNS_MIN ? EXTERNS_MIN : n > EXTERNS_MAX ? EXTERNS_MAX : n;
}

static void set_bit(uint8_t *key, unsigned bit, unsigned to)
{
	key[bit / 8] = (uint8_t)((key[bit / 8] & ~(0x80u >> bit % 8)) | to << (7 - bit % 8));
}

/* Toeplitz: each bit i of the input adds the 32 bits of the key from i on. The input's bits are the
 * source 0-31, the destination 32-63, the source port 64-79, the destination port 80-95. Of the sum
 * the last n bits are the share, which input i adds the key's bits i + 32 - n to i + 31 to.
 *
 * By source: what the key has after bit 63 - n is zero, so only the source gets there. That bit is
 * set: each of the last n bits of an address then moves a bit of its own, and 2^n neighbours are in
 * as many shares.
 *
 * By destination port: bit 121 - n alone. It moves the sum's bit i - 90 + n for input i: port bits
 * 5 + n to 6 become bits 0 to n - 1. */
static void fill_keys(struct nat_shared *sh, struct nat_random *random)
{
	uint8_t *by_source = sh->rss_key[NAT_RSS_SOURCE];

	for (unsigned bit = 0; bit < 63 - sh->share_bits; bit++)
		set_bit(by_source, bit, nat_random_u32(random) & 1);
	set_bit(by_source, 63 - sh->share_bits, 1);
	set_bit(sh->rss_key[NAT_RSS_DESTINATION_PORT], 121 - sh->share_bits, 1);
}

/* The hash is linear: what each byte of an address adds. */
static void fill_host_shares(struct nat_shared *sh)
{
	const uint8_t *key = sh->rss_key[NAT_RSS_SOURCE];

	for (unsigned byte = 0; byte < 4; byte++) {
		for (unsigned v = 0; v < 256; v++) {
			uint64_t h = 0;

			for (unsigned bit = 0; bit < 8; bit++) {
				uint64_t window = 0;

				for (unsigned i = 0; i < 5; i++)
					window = window << 8 | key[byte + i];
				h ^= v & 0x80 >> bit ? window >> (8 - bit) : 0;
			}
			sh->host_share[byte][v] = (uint8_t)(h % nat_shared_shares(sh));
		}
	}
}

/* The last bit of an address, or of a port's number of 64, moves a share's first bit, the last two
 * the first two. In the other order 2^k neighbours are numbers in a row, which workers share
 * evenly.
 */
static void fill_share_owners(struct nat_shared *sh)
{
	for (unsigned share = 0; share < nat_shared_shares(sh); share++) {
		unsigned reversed = 0;

		for (unsigned bit = 0; bit < sh->share_bits; bit++)
			reversed = reversed << 1 | (share >> bit & 1);
		sh->share_owner[share] = (uint8_t)(reversed % sh->n_workers);
	}
}

struct nat_shared *nat_shared_create(const struct nat_limits *limits, const struct nat_ops *ops,
				     unsigned n_workers)
{
	struct nat_shared *sh;
	struct nat_random random;
	uint32_t slots = 2;

	if (n_workers == 0 || n_workers > NAT_MAX_WORKERS)
		return NULL;
	sh = calloc(1, sizeof(*sh));
	if (sh == NULL)
		return NULL;
	sh->ops = *ops;
	nat_ops_complete(&sh->ops);
	sh->n_workers = n_workers;
	sh->alone = n_workers == 1;
	sh->memory = sizeof(*sh);
	sh->max_externs =
		limits->max_external ? limits->max_external : default_externs(limits->max_sessions);
	sh->extern_free = NAT_NONE;
	while (slots < 2 * sh->max_externs)
		slots *= 2;
	sh->index_mask = slots - 1;
	atomic_flag_clear(&sh->lock);
	sh->externs = take(sh, sh->max_externs * sizeof(*sh->externs));
	sh->index = take(sh, slots * sizeof(*sh->index));
	sh->ports = take(sh, (size_t)sh->max_externs * NAT_SPACES * sizeof(*sh->ports));
	if (!sh->alone)
		sh->owners = take(sh, (size_t)sh->max_externs * NAT_OWNERS);
	if (sh->externs == NULL || sh->index == NULL || sh->ports == NULL ||
	    (!sh->alone && sh->owners == NULL)) {
		nat_shared_destroy(sh);
		return NULL;
	}
	nat_random_seed(&random, ~limits->seed); /* not the numbers that a worker draws */
	sh->seed.a = nat_random_u64(&random);
	sh->seed.b = nat_random_u64(&random);
	sh->seed.c = nat_random_u64(&random);
	sh->share_bits = n_workers <= 8 || 64 % n_workers == 0 ? 6 : 7;
	fill_keys(sh, &random);
	fill_host_shares(sh);
	fill_share_owners(sh);
	return sh;
}

void nat_shared_destroy(struct nat_shared *sh)
{
	if (sh == NULL)
		return;
	while (sh->n_blocks > 0)
		sh->ops.free(sh->ops.ctx, sh->blocks[--sh->n_blocks]);
	free(sh);
}

size_t nat_shared_memory(const struct nat_shared *sh)
{
	return sh->memory;
}

const uint8_t *nat_shared_rss_key(const struct nat_shared *sh, enum nat_rss by)
{
	return sh->rss_key[by];
}

unsigned nat_shared_shares(const struct nat_shared *sh)
{
	return 1u << sh->share_bits;
}

unsigned nat_shared_share_owner(const struct nat_shared *sh, unsigned share)
{
	return sh->share_owner[share];
}

void nat_shared_prefer_ports(struct nat_shared *sh, bool on)
{
	atomic_store_explicit(&sh->prefer_ports, on, memory_order_relaxed);
}

/* ---- the lock ------------------------------------------------------------------------------- */

void nat_shared_lock(struct nat_shared *sh)
{
	/* held for microseconds; where workers share a core, the holder must get it to go on */
	for (unsigned spins = 0; atomic_flag_test_and_set_explicit(&sh->lock, memory_order_acquire);
	     spins++) {
		if (spins >= SPINS)
			sched_yield();
	}
}

void nat_shared_unlock(struct nat_shared *sh)
{
	atomic_flag_clear_explicit(&sh->lock, memory_order_release);
}
