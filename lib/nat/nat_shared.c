/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_shared.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "nat_extern.h"
#include "nat_random.h"

#define SESSIONS_DEFAULT    1000000u
#define SESSIONS_PER_EXTERN 4096u /* default */
#define EXTERNS_MIN	    16u
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

/* The hash is linear: what each byte of an address adds, of the key's first eight bytes. */
static void fill_rss_table(struct nat_shared *sh)
{
	for (unsigned byte = 0; byte < 4; byte++) {
		for (unsigned v = 0; v < 256; v++) {
			uint32_t h = 0;

			for (unsigned bit = 0; bit < 8; bit++) {
				uint64_t window = 0;

				if (!(v & 0x80 >> bit))
					continue;
				for (unsigned i = 0; i < 5; i++)
					window = window << 8 | sh->rss_key[byte + i];
				h ^= (uint32_t)(window >> (8 - bit));
			}
			sh->rss_table[byte][v] = h;
		}
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
	for (unsigned i = 0; i < NAT_RSS_KEY; i++)
		sh->rss_key[i] = (uint8_t)nat_random_u32(&random);
	fill_rss_table(sh);
	for (unsigned i = 0; i < NAT_HOST_SHARES; i++)
		sh->share_owner[i] = (uint8_t)(i % n_workers);
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

const uint8_t *nat_shared_rss_key(const struct nat_shared *sh, unsigned *bytes)
{
	*bytes = NAT_RSS_KEY;
	return sh->rss_key;
}

unsigned nat_shared_share_owner(const struct nat_shared *sh, unsigned share)
{
	return sh->share_owner[share];
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
