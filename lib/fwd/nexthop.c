/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nexthop.h"

#define GROUP_BUCKETS 1024

static struct {
	uint32_t *refs;	      /* of each entry */
	uint16_t *group_next; /* chains of groups with one hash, 0 ends */
	uint16_t groups[GROUP_BUCKETS];
	/* Entries not in use, on their way: workers may read them until the next commit (pending),
	 * then packets in the punt ring name them (limbo; committed waits for its turn there), then
	 * free. Each index is in one list at most. */
	uint16_t *free, *pending, *committed, *limbo;
	unsigned n_free, n_pending, n_committed, n_limbo;
	unsigned limbo_wait; /* packets of the punt ring that may still name an entry in limbo */
} nhs;

int nexthop_init(struct fwd_err *err)
{
	memset(&nhs, 0, sizeof(nhs));
	nhs.refs = calloc(FWD_MAX_NH, sizeof(*nhs.refs));
	nhs.group_next = calloc(FWD_MAX_NH, sizeof(*nhs.group_next));
	nhs.free = calloc(FWD_MAX_NH, sizeof(*nhs.free));
	nhs.pending = calloc(FWD_MAX_NH, sizeof(*nhs.pending));
	nhs.committed = calloc(FWD_MAX_NH, sizeof(*nhs.committed));
	nhs.limbo = calloc(FWD_MAX_NH, sizeof(*nhs.limbo));
	if (!nhs.refs || !nhs.group_next || !nhs.free || !nhs.pending || !nhs.committed ||
	    !nhs.limbo) {
		nexthop_fini();
		return dp_err(err, -ENOMEM, "no memory for next hops");
	}
	for (unsigned nh = FWD_MAX_NH - 1; nh > 0; nh--) /* 0 is NH_NONE */
		nhs.free[nhs.n_free++] = nh;
	return 0;
}

void nexthop_fini(void)
{
	free(nhs.refs);
	free(nhs.group_next);
	free(nhs.free);
	free(nhs.pending);
	free(nhs.committed);
	free(nhs.limbo);
	memset(&nhs, 0, sizeof(nhs));
}

int nexthop_alloc(enum nh_type type, uint16_t iface, rte_be32_t addr_be)
{
	struct fwd_nexthop *e;
	unsigned nh;

	if (nhs.n_free == 0)
		return -ENOSPC;
	nh = nhs.free[--nhs.n_free];
	e = &dp.nexthops[nh];
	memset(e, 0, sizeof(*e));
	e->type = type;
	e->iface = iface;
	e->addr_be = addr_be;
	nhs.refs[nh] = 0;
	return nh;
}

void nexthop_free(unsigned nh)
{
	nhs.pending[nhs.n_pending++] = nh;
}

static void move(uint16_t *to, unsigned *n_to, const uint16_t *from, unsigned *n_from)
{
	memcpy(to + *n_to, from, *n_from * sizeof(*to));
	*n_to += *n_from;
	*n_from = 0;
}

/* Lets the next ones into limbo, which is empty, and through it where no packet waits. */
static void advance(void)
{
	move(nhs.limbo, &nhs.n_limbo, nhs.committed, &nhs.n_committed);
	nhs.limbo_wait = rte_ring_count(dp.punt); /* whatever named them is among these */
	if (nhs.limbo_wait == 0)
		move(nhs.free, &nhs.n_free, nhs.limbo, &nhs.n_limbo);
}

void nexthop_committed(void)
{
	move(nhs.committed, &nhs.n_committed, nhs.pending, &nhs.n_pending);
	if (nhs.n_limbo == 0)
		advance();
}

void nexthop_drained(unsigned n)
{
	if (nhs.n_limbo == 0)
		return;
	if (n < nhs.limbo_wait) {
		nhs.limbo_wait -= n;
		return;
	}
	move(nhs.free, &nhs.n_free, nhs.limbo, &nhs.n_limbo);
	advance();
}

void nexthop_ref(unsigned nh)
{
	nhs.refs[nh]++;
}

uint32_t nexthop_unref(unsigned nh)
{
	return --nhs.refs[nh];
}

uint32_t nexthop_refs(unsigned nh)
{
	return nhs.refs[nh];
}

static unsigned group_bucket(const uint16_t *members, unsigned n)
{
	uint32_t h = n;

	for (unsigned i = 0; i < n; i++)
		h = (h ^ members[i]) * 0x9e3779b1u;
	return h >> 22; /* 10 bits: GROUP_BUCKETS */
}

int nexthop_group(const uint16_t *members, unsigned n)
{
	uint16_t *bucket = &nhs.groups[group_bucket(members, n)];
	struct fwd_nexthop *e;
	int nh;

	for (unsigned i = *bucket; i; i = nhs.group_next[i]) {
		e = &dp.nexthops[i];
		if (e->n_members == n && !memcmp(e->members, members, n * sizeof(*members)))
			return i;
	}
	nh = nexthop_alloc(NH_GROUP, FWD_IFACE_NONE, 0);
	if (nh < 0)
		return nh;
	e = &dp.nexthops[nh];
	e->n_members = n;
	memcpy(e->members, members, n * sizeof(*members));
	for (unsigned i = 0; i < n; i++)
		nexthop_ref(members[i]);
	nhs.group_next[nh] = *bucket;
	*bucket = nh;
	return nh;
}

void nexthop_group_free(unsigned nh)
{
	struct fwd_nexthop *e = &dp.nexthops[nh];
	uint16_t *p = &nhs.groups[group_bucket(e->members, e->n_members)];

	while (*p != nh)
		p = &nhs.group_next[*p];
	*p = nhs.group_next[nh];
	for (unsigned i = 0; i < e->n_members; i++)
		nexthop_unref(e->members[i]);
	nexthop_free(nh);
}

unsigned nexthop_in_use(void)
{
	return FWD_MAX_NH - 1 - nhs.n_free - nhs.n_pending - nhs.n_committed - nhs.n_limbo;
}
