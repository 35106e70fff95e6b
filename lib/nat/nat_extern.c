/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_extern.h"

#define PORT_SPLIT 1024 /* below and above are kept apart (M4) */

/* ---- addresses ------------------------------------------------------------------------------ */

#define INDEX_GONE UINT32_MAX /* was used once: a search goes on behind it */

static uint32_t home_of(const struct nat_shared *sh, uint32_t addr_be)
{
	return nat_hash(&sh->seed, addr_be, 0) & sh->index_mask;
}

static uint32_t index_get(const struct nat_shared *sh, uint32_t slot)
{
	return atomic_load_explicit(&sh->index[slot], memory_order_acquire);
}

static void index_set(struct nat_shared *sh, uint32_t slot, uint32_t value)
{
	atomic_store_explicit(&sh->index[slot], value, memory_order_release);
}

static uint32_t addr_of(const struct nat_shared *sh, uint32_t ext)
{
	return atomic_load_explicit(&sh->externs[ext].addr_be, memory_order_acquire);
}

uint32_t nat_extern_find(const struct nat_shared *sh, uint32_t addr_be)
{
	uint32_t slot = home_of(sh, addr_be);

	for (uint32_t n = 0; n <= sh->index_mask; n++) {
		uint32_t value = index_get(sh, slot);

		if (value == 0)
			break;
		if (value != INDEX_GONE && addr_of(sh, value - 1) == addr_be)
			return value - 1;
		slot = (slot + 1) & sh->index_mask;
	}
	return NAT_NONE;
}

static void index_insert(struct nat_shared *sh, uint32_t addr_be, uint32_t ext)
{
	uint32_t slot = home_of(sh, addr_be), value;

	/* twice as many slots as records: there is one */
	while ((value = index_get(sh, slot)) != 0 && value != INDEX_GONE)
		slot = (slot + 1) & sh->index_mask;
	index_set(sh, slot, ext + 1);
}

static void index_remove(struct nat_shared *sh, uint32_t addr_be, uint32_t ext)
{
	uint32_t slot = home_of(sh, addr_be);

	while (index_get(sh, slot) != ext + 1)
		slot = (slot + 1) & sh->index_mask;
	/* at the end of a chain nothing needs to be found behind it, nor behind those gone before
	 */
	if (index_get(sh, (slot + 1) & sh->index_mask) != 0) {
		index_set(sh, slot, INDEX_GONE);
		return;
	}
	do {
		index_set(sh, slot, 0);
		slot = (slot - 1) & sh->index_mask;
	} while (index_get(sh, slot) == INDEX_GONE);
}

static struct nat_ports *ports_of(const struct nat_shared *sh, uint32_t ext, enum nat_space space)
{
	return &sh->ports[(size_t)ext * NAT_SPACES + space];
}

static _Atomic uint8_t *owners_of(const struct nat_shared *sh, uint32_t ext)
{
	return &sh->owners[(size_t)ext * NAT_OWNERS];
}

/* Takes the ports that the newest snapshot holds at this address. */
static void hold(struct nat_shared *sh, uint32_t ext, const struct nat_config *cfg)
{
	const struct nat_held *h;
	unsigned n = cfg != NULL ? nat_config_held(cfg, addr_of(sh, ext), &h) : 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned port = h[i].lo; port <= h[i].hi; port++)
			nat_ports_take(ports_of(sh, ext, h[i].space), (uint16_t)port, sh->alone);
}

/* One more mapping at the address, if it is still there and has one. */
static bool join(struct nat_shared *sh, uint32_t ext, uint32_t addr_be)
{
	_Atomic uint32_t *at = &sh->externs[ext].n_mappings;
	uint32_t n = atomic_load_explicit(at, memory_order_relaxed);

	if (sh->alone) {
		atomic_store_explicit(at, n + 1, memory_order_relaxed);
		return true;
	}
	do {
		if (n == 0)
			return false;
	} while (!atomic_compare_exchange_weak(at, &n, n + 1));
	if (addr_of(sh, ext) == addr_be)
		return true;
	nat_extern_leave(sh, ext); /* another address has the record by now */
	return false;
}

static uint32_t record_take(struct nat_shared *sh)
{
	uint32_t ext = sh->extern_free, high;

	if (ext != NAT_NONE) {
		sh->extern_free = sh->externs[ext].next_free;
		return ext;
	}
	high = atomic_load_explicit(&sh->externs_high, memory_order_relaxed);
	if (high == sh->max_externs)
		return NAT_NONE;
	atomic_store_explicit(&sh->externs_high, high + 1, memory_order_relaxed);
	return high;
}

/* With the lock. */
static uint32_t come(struct nat_shared *sh, uint32_t addr_be)
{
	uint32_t ext = nat_extern_find(sh, addr_be);

	if (ext != NAT_NONE) {
		atomic_fetch_add(&sh->externs[ext].n_mappings, 1);
		return ext;
	}
	ext = record_take(sh);
	if (ext == NAT_NONE)
		return NAT_NONE;
	memset(ports_of(sh, ext, 0), 0, NAT_SPACES * sizeof(struct nat_ports));
	atomic_store_explicit(&sh->externs[ext].addr_be, addr_be, memory_order_release);
	hold(sh, ext, atomic_load_explicit(&sh->cfg, memory_order_relaxed));
	atomic_store(&sh->externs[ext].n_mappings, 1);
	index_insert(sh, addr_be, ext);
	atomic_fetch_add_explicit(&sh->n_externs, 1, memory_order_relaxed);
	return ext;
}

uint32_t nat_extern_join(struct nat_shared *sh, uint32_t addr_be)
{
	uint32_t ext = nat_extern_find(sh, addr_be);

	if (ext != NAT_NONE && join(sh, ext, addr_be))
		return ext;
	nat_shared_lock(sh);
	ext = come(sh, addr_be);
	nat_shared_unlock(sh);
	return ext;
}

static uint32_t one_less(struct nat_shared *sh, uint32_t ext)
{
	_Atomic uint32_t *at = &sh->externs[ext].n_mappings;
	uint32_t n;

	if (!sh->alone)
		return atomic_fetch_sub(at, 1) - 1;
	n = atomic_load_explicit(at, memory_order_relaxed) - 1;
	atomic_store_explicit(at, n, memory_order_relaxed);
	return n;
}

void nat_extern_leave(struct nat_shared *sh, uint32_t ext)
{
	struct nat_extern *e = &sh->externs[ext];
	uint32_t addr_be;

	if (one_less(sh, ext) > 0)
		return;
	nat_shared_lock(sh);
	addr_be = addr_of(sh, ext);
	/* not taken up again, and not given back by somebody else, meanwhile */
	if (atomic_load(&e->n_mappings) == 0 && addr_be != 0) {
		index_remove(sh, addr_be, ext);
		atomic_store_explicit(&e->addr_be, 0, memory_order_release);
		e->next_free = sh->extern_free;
		sh->extern_free = ext;
		atomic_fetch_sub_explicit(&sh->n_externs, 1, memory_order_relaxed);
	}
	nat_shared_unlock(sh);
}

void nat_extern_prefetch(const struct nat_shared *sh, uint32_t addr_be, enum nat_space space,
			 uint16_t port)
{
	uint32_t ext = nat_extern_find(sh, addr_be);

	if (ext != NAT_NONE)
		__builtin_prefetch(&ports_of(sh, ext, space)->taken[port >> 6], 1);
}

/* ---- ports ---------------------------------------------------------------------------------- */

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

static void own(const struct nat_shared *sh, uint32_t ext, unsigned at, unsigned owner)
{
	if (!sh->alone)
		atomic_store_explicit(&owners_of(sh, ext)[at], (uint8_t)owner,
				      memory_order_release);
}

static unsigned at_port(enum nat_space space, uint16_t port)
{
	return space * 65536u + port;
}

/* The same place in a group that the worker prefers, as a port at random in its groups. */
static uint32_t move_into(const struct nat_worker *nat, uint32_t port, const struct choice *c)
{
	const struct nat_shared *sh = nat->shared;
	uint32_t preferrer = nat_port_preferrer(sh, port), moved;

	moved = port + (nat->id << 6) - (preferrer << 6);
	if (nat_port_preferrer(sh, moved) != nat->id) /* the last ones are less than a round */
		moved -= sh->n_workers << 6;
	return moved >= c->lo && moved <= c->hi ? moved : port;
}

/* A free port of a choice, taken; or -1. */
static int take_random(struct nat_worker *nat, struct nat_ports *p, const struct choice *c,
		       const struct nat_port_groups *groups)
{
	uint32_t start = c->lo + nat_random_below(&nat->random, c->hi - c->lo + 1u);

	if (groups != NULL)
		start = move_into(nat, start, c);
	for (;;) {
		int port = nat_ports_find(p, c->lo, c->hi, (uint16_t)start, c->parity, groups);

		/* another worker may be faster */
		if (port < 0 || nat_ports_take(p, (uint16_t)port, nat->shared->alone))
			return port;
	}
}

int nat_extern_take(struct nat_worker *nat, uint32_t ext, enum nat_space space,
		    const struct nat_pool_c *pool, uint16_t inside_port)
{
	struct nat_shared *sh = nat->shared;
	struct nat_ports *p = ports_of(sh, ext, space);
	struct choice c[4];
	unsigned n = choices(c, space, pool, inside_port);
	int port = -1;

	for (unsigned i = 0; nat->cfg->port_preservation && i < n && port < 0; i++)
		if (inside_port >= c[i].lo && inside_port <= c[i].hi &&
		    nat_ports_take(p, inside_port, sh->alone))
			port = inside_port;
	for (unsigned i = 0; i < n && port < 0; i++) {
		if (space != NAT_SPACE_ICMP && /* no port that a device could hash */
		    atomic_load_explicit(&sh->prefer_ports, memory_order_relaxed))
			port = take_random(nat, p, &c[i], &nat->port_groups);
		if (port < 0)
			port = take_random(nat, p, &c[i], NULL);
	}
	if (port >= 0)
		own(sh, ext, at_port(space, (uint16_t)port), nat->id + 1);
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

void nat_extern_give(struct nat_shared *sh, uint32_t ext, enum nat_space space, uint16_t port)
{
	struct nat_ports *p = ports_of(sh, ext, space);
	uint32_t addr_be = addr_of(sh, ext);
	bool held = is_held(atomic_load(&sh->cfg), addr_be, space, port);

	/* Nobody frees the snapshot meanwhile: control waits for this worker. One that another
	 * worker takes up at this moment either sees that the port is no mapping's any more, or is
	 * seen below. */
	if (sh->alone) {
		if (!held)
			nat_ports_give(p, port, true);
	} else if (held || atomic_load(&sh->changing)) {
		nat_shared_lock(sh);
		own(sh, ext, at_port(space, port), 0);
		if (!is_held(atomic_load(&sh->cfg), addr_be, space, port))
			nat_ports_give(p, port, false);
		nat_shared_unlock(sh);
	} else {
		own(sh, ext, at_port(space, port), 0);
		nat_ports_give(p, port, false);
		if (is_held(atomic_load(&sh->cfg), addr_be, space, port))
			nat_ports_take(p, port, false);
	}
}

bool nat_extern_take_protocol(struct nat_worker *nat, uint32_t ext, uint8_t proto)
{
	uint8_t nobody = 0;

	return nat->shared->alone ||
	       atomic_compare_exchange_strong(&owners_of(nat->shared,
							 ext)[NAT_SPACES * 65536u + proto],
					      &nobody, (uint8_t)(nat->id + 1));
}

void nat_extern_give_protocol(struct nat_shared *sh, uint32_t ext, uint8_t proto)
{
	own(sh, ext, NAT_SPACES * 65536u + proto, 0);
}

const _Atomic uint8_t *nat_extern_owner(const struct nat_shared *sh, uint32_t ext, uint8_t proto,
					uint16_t port)
{
	enum nat_space space = nat_proto_space(proto);

	return &owners_of(
		sh,
		ext)[space == NAT_SPACE_NONE ? NAT_SPACES * 65536u + proto : at_port(space, port)];
}

/* ---- a new snapshot ------------------------------------------------------------------------- */

static bool same_held(const struct nat_held *a, const struct nat_held *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (a[i].lo != b[i].lo || a[i].hi != b[i].hi || a[i].space != b[i].space)
			return false;
	return true;
}

struct change {
	struct nat_worker *nat;
	nat_extern_is_mapped *is_mapped;
	uint32_t ext, addr_be;
};

static bool is_mapped(const struct change *c, enum nat_space space, uint16_t port)
{
	const struct nat_shared *sh = c->nat->shared;

	if (sh->alone)
		return c->is_mapped(c->nat, c->addr_be, space, port);
	return atomic_load(&owners_of(sh, c->ext)[at_port(space, port)]) != 0;
}

static void free_held(const struct change *c, const struct nat_held *h, unsigned n)
{
	struct nat_shared *sh = c->nat->shared;

	for (unsigned i = 0; i < n; i++)
		for (unsigned port = h[i].lo; port <= h[i].hi; port++)
			if (!is_mapped(c, h[i].space, (uint16_t)port))
				nat_ports_give(ports_of(sh, c->ext, h[i].space), (uint16_t)port,
					       sh->alone);
}

static void change_held(struct nat_worker *nat, const struct nat_config *from,
			const struct nat_config *to, nat_extern_is_mapped *mapped)
{
	struct nat_shared *sh = nat->shared;
	struct change c = {.nat = nat, .is_mapped = mapped};

	for (c.ext = 0; c.ext < sh->externs_high; c.ext++) {
		const struct nat_held *was = NULL, *will = NULL;
		unsigned n = 0, m = 0;

		c.addr_be = addr_of(sh, c.ext);
		if (c.addr_be == 0)
			continue;
		if (from != NULL)
			n = nat_config_held(from, c.addr_be, &was);
		if (to != NULL)
			m = nat_config_held(to, c.addr_be, &will);
		if (n == m && same_held(was, will, n))
			continue;
		free_held(&c, was, n);
		hold(sh, c.ext, to);
	}
}

void nat_extern_config(struct nat_worker *nat, const struct nat_config *to,
		       nat_extern_is_mapped *mapped)
{
	struct nat_shared *sh = nat->shared;
	const struct nat_config *from;

	nat_shared_lock(sh);
	from = atomic_load(&sh->cfg);
	if (from != to) {
		atomic_store(&sh->changing, true);
		atomic_store(&sh->cfg, to);
		change_held(nat, from, to, mapped);
		atomic_store(&sh->changing, false);
	}
	nat_shared_unlock(sh);
}
