/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_extern.h"

#define PORT_SPLIT 1024 /* below and above are kept apart (M4) */

static uint32_t hash_addr(const struct nat_worker *nat, uint32_t addr_be)
{
	return nat_hash(&nat->seed, addr_be, 0);
}

struct find {
	const struct nat_worker *nat;
	uint32_t addr_be;
};

static bool is_addr(const void *ctx, uint32_t ext)
{
	const struct find *f = ctx;

	return f->nat->externs[ext].addr_be == f->addr_be;
}

uint32_t nat_extern_find(const struct nat_worker *nat, uint32_t addr_be)
{
	struct find f = {nat, addr_be};

	return nat_table_find(&nat->extern_table, hash_addr(nat, addr_be), is_addr, &f);
}

static struct nat_ports *ports_of(const struct nat_worker *nat, uint32_t ext, enum nat_space space)
{
	return &nat->ports[(size_t)ext * NAT_SPACES + space];
}

/* Takes the ports that the snapshot holds at this address. */
static void hold(struct nat_worker *nat, uint32_t ext, const struct nat_config *cfg)
{
	const struct nat_held *h;
	unsigned n = cfg != NULL ? nat_config_held(cfg, nat->externs[ext].addr_be, &h) : 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned port = h[i].lo; port <= h[i].hi; port++)
			nat_ports_take(ports_of(nat, ext, h[i].space), (uint16_t)port);
}

uint32_t nat_extern_attach(struct nat_worker *nat, uint32_t addr_be)
{
	uint32_t ext = nat_extern_find(nat, addr_be);

	if (ext != NAT_NONE)
		return ext;
	if (nat->extern_free != NAT_NONE) {
		ext = nat->extern_free;
		nat->extern_free = nat->externs[ext].next_free;
	} else if (nat->externs_high < nat->max_externs) {
		ext = nat->externs_high++;
	} else {
		return NAT_NONE;
	}
	if (!nat_table_insert(&nat->extern_table, hash_addr(nat, addr_be), ext)) {
		nat->externs[ext].next_free = nat->extern_free;
		nat->extern_free = ext;
		return NAT_NONE;
	}
	nat->externs[ext].addr_be = addr_be;
	nat->externs[ext].n_mappings = 0;
	memset(ports_of(nat, ext, 0), 0, NAT_SPACES * sizeof(struct nat_ports));
	hold(nat, ext, nat->cfg);
	nat->n_externs++;
	return ext;
}

void nat_extern_release(struct nat_worker *nat, uint32_t ext)
{
	struct nat_extern *e = &nat->externs[ext];

	if (e->n_mappings > 0)
		return;
	nat_table_delete(&nat->extern_table, hash_addr(nat, e->addr_be), ext);
	e->addr_be = 0;
	e->next_free = nat->extern_free;
	nat->extern_free = ext;
	nat->n_externs--;
}

void nat_extern_prefetch(const struct nat_worker *nat, uint32_t addr_be, enum nat_space space,
			 uint16_t port)
{
	uint32_t ext = nat_extern_find(nat, addr_be);

	if (ext != NAT_NONE)
		__builtin_prefetch(&ports_of(nat, ext, space)->taken[port >> 6], 1);
}

/* The ranges to look in, one after the other: {lo, hi, parity}. */
struct choice {
	uint16_t lo, hi;
	int8_t parity;
};

static unsigned add_choice(struct choice *c, unsigned n, unsigned lo, unsigned hi, int parity)
{
	if (lo <= hi)
		c[n++] = (struct choice){(uint16_t)lo, (uint16_t)hi, (int8_t)parity};
	return n;
}

static unsigned choices(struct choice *c, enum nat_space space, const struct nat_pool_c *pool,
			uint16_t inside_port)
{
	unsigned lo = pool->port_lo, hi = pool->port_hi, n = 0;
	unsigned low_hi = hi < PORT_SPLIT ? hi : PORT_SPLIT - 1,
		 high_lo = lo < PORT_SPLIT ? PORT_SPLIT : lo;
	int parity = space == NAT_SPACE_UDP ? inside_port & 1 : -1;

	if (space == NAT_SPACE_ICMP)
		return add_choice(c, 0, pool->all_ids ? 0 : lo, hi, -1);
	/* a low port may end up high when all low ones are taken; a high one turns low only in a
	 * pool that has nothing else */
	if (inside_port < PORT_SPLIT) {
		n = add_choice(c, n, lo, low_hi, parity);
		if (parity >= 0)
			n = add_choice(c, n, lo, low_hi, !parity);
	}
	if (inside_port < PORT_SPLIT || high_lo <= hi) {
		n = add_choice(c, n, high_lo, hi, parity);
		if (parity >= 0)
			n = add_choice(c, n, high_lo, hi, !parity);
		return n;
	}
	n = add_choice(c, n, lo, low_hi, parity);
	return parity >= 0 ? add_choice(c, n, lo, low_hi, !parity) : n;
}

int nat_extern_take(struct nat_worker *nat, uint32_t ext, enum nat_space space,
		    const struct nat_pool_c *pool, uint16_t inside_port)
{
	struct nat_ports *p = ports_of(nat, ext, space);
	struct choice c[4];
	unsigned n = choices(c, space, pool, inside_port);
	int port = -1;

	for (unsigned i = 0; i < n; i++)
		if (inside_port >= c[i].lo && inside_port <= c[i].hi &&
		    !nat_ports_taken(p, inside_port)) {
			nat_ports_take(p, inside_port);
			return inside_port;
		}
	for (unsigned i = 0; i < n && port < 0; i++) {
		uint32_t start = c[i].lo + nat_random_below(&nat->random, c[i].hi - c[i].lo + 1u);

		port = nat_ports_find(p, c[i].lo, c[i].hi, (uint16_t)start, c[i].parity);
	}
	if (port >= 0)
		nat_ports_take(p, (uint16_t)port);
	return port;
}

static bool is_held(const struct nat_config *cfg, uint32_t addr_be, enum nat_space space,
		    uint16_t port)
{
	const struct nat_held *h;
	unsigned n = cfg != NULL ? nat_config_held(cfg, addr_be, &h) : 0;

	for (unsigned i = 0; i < n; i++)
		if (h[i].space == space && port >= h[i].lo && port <= h[i].hi)
			return true;
	return false;
}

void nat_extern_give(struct nat_worker *nat, uint32_t ext, enum nat_space space, uint16_t port)
{
	if (!is_held(nat->cfg, nat->externs[ext].addr_be, space, port))
		nat_ports_give(ports_of(nat, ext, space), port);
}

static bool same_held(const struct nat_held *a, const struct nat_held *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (a[i].lo != b[i].lo || a[i].hi != b[i].hi || a[i].space != b[i].space)
			return false;
	return true;
}

void nat_extern_config(struct nat_worker *nat, const struct nat_config *to,
		       bool (*is_mapped)(const struct nat_worker *nat, uint32_t addr_be,
					 enum nat_space space, uint16_t port))
{
	for (uint32_t ext = 0; ext < nat->externs_high; ext++) {
		uint32_t addr_be = nat->externs[ext].addr_be;
		const struct nat_held *was = NULL, *will = NULL;
		unsigned n = 0, m = 0;

		if (addr_be == 0)
			continue;
		if (nat->cfg != NULL)
			n = nat_config_held(nat->cfg, addr_be, &was);
		if (to != NULL)
			m = nat_config_held(to, addr_be, &will);
		if (n == m && same_held(was, will, n))
			continue;
		for (unsigned i = 0; i < n; i++)
			for (unsigned port = was[i].lo; port <= was[i].hi; port++)
				if (!is_mapped(nat, addr_be, was[i].space, (uint16_t)port))
					nat_ports_give(ports_of(nat, ext, was[i].space),
						       (uint16_t)port);
		hold(nat, ext, to);
	}
}
