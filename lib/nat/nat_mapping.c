/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_mapping.h"

#include "nat_extern.h"
#include "nat_slot.h"

#define HOST_CHOICES 8 /* addresses that a new host's address is chosen from */

/* ---- finding -------------------------------------------------------------------------------- */

struct find {
	const struct nat_worker *nat;
	struct nat_key key; /* inside */
	uint32_t addr_be;   /* outside: external address; host: inside address */
	uint32_t pool_id;
	uint16_t port_be;
	uint8_t proto;
};

static bool is_inside(const void *ctx, uint32_t m)
{
	const struct find *f = ctx;

	return nat_key_equal(&f->nat->mappings[m].key, &f->key);
}

static bool is_outside(const void *ctx, uint32_t m)
{
	const struct find *f = ctx;
	const struct nat_mapping *p = &f->nat->mappings[m];

	return p->ext_be == f->addr_be && p->ext_port_be == f->port_be && p->key.proto == f->proto;
}

static bool is_host(const void *ctx, uint32_t m)
{
	const struct find *f = ctx;
	const struct nat_mapping *p = &f->nat->mappings[m];

	return p->key.src_be == f->addr_be && f->nat->slots[p->slot].pool_id == f->pool_id;
}

static uint32_t find_inside(const struct nat_worker *nat, const struct nat_key *key, uint32_t hash)
{
	struct find f = {.nat = nat, .key = *key};

	return nat_table_find(&nat->inside_table, hash, is_inside, &f);
}

static uint32_t find_outside(const struct nat_worker *nat, uint32_t addr_be, uint16_t port_be,
			     uint8_t proto)
{
	struct find f = {.nat = nat, .addr_be = addr_be, .port_be = port_be, .proto = proto};

	return nat_table_find(&nat->outside_table,
			      nat_mapping_hash_outside(nat, addr_be, port_be, proto), is_outside,
			      &f);
}

static uint32_t find_host(const struct nat_worker *nat, uint32_t addr_be, uint32_t pool_id)
{
	struct find f = {.nat = nat, .addr_be = addr_be, .pool_id = pool_id};

	return nat_table_find(&nat->host_table, nat_mapping_hash_host(nat, addr_be, pool_id),
			      is_host, &f);
}

uint32_t nat_mapping_find_outside(const struct nat_worker *nat, const struct nat_key *key)
{
	uint32_t m;

	/* echo requests from outside belong to no query mapping */
	if (key->kind == NAT_KIND_ICMP_REQUEST)
		return NAT_NONE;
	m = find_outside(nat, key->dst_be, key->dport_be, key->proto);
	if (m == NAT_NONE || nat->mappings[m].n_out == 0 ||
	    !nat_slot_alive(nat, nat->mappings[m].slot))
		return NAT_NONE;
	return m;
}

bool nat_mapping_has_port(const struct nat_worker *nat, uint32_t addr_be, enum nat_space space,
			  uint16_t port)
{
	static const uint8_t protos[NAT_SPACES][2] = {
		[NAT_SPACE_TCP] = {IPPROTO_TCP, NAT_PROTO_DCCP},
		[NAT_SPACE_UDP] = {IPPROTO_UDP, NAT_PROTO_UDPLITE},
		[NAT_SPACE_ICMP] = {IPPROTO_ICMP, IPPROTO_ICMP},
	};

	return find_outside(nat, addr_be, htons(port), protos[space][0]) != NAT_NONE ||
	       find_outside(nat, addr_be, htons(port), protos[space][1]) != NAT_NONE;
}

/* ---- the host's address --------------------------------------------------------------------- */

static bool has_paired_address(const struct nat_pool_c *pool)
{
	return pool->n_addrs > 1;
}

static void host_link(struct nat_worker *nat, uint32_t m, uint32_t head)
{
	struct nat_mapping *p = &nat->mappings[m];

	p->host.next = head;
	p->host.prev = NAT_NONE;
	if (head != NAT_NONE)
		nat->mappings[head].host.prev = m;
}

/* Makes m the first of its host's mappings, before head; false: the table is full. */
static bool host_add(struct nat_worker *nat, uint32_t m, uint32_t head)
{
	struct nat_mapping *p = &nat->mappings[m];
	uint32_t hash = nat_mapping_hash_host(nat, p->key.src_be, nat->slots[p->slot].pool_id);

	if (head != NAT_NONE)
		nat_table_replace(&nat->host_table, hash, head, m);
	else if (!nat_table_insert(&nat->host_table, hash, m))
		return false;
	host_link(nat, m, head);
	return true;
}

static void host_remove(struct nat_worker *nat, uint32_t m)
{
	struct nat_mapping *p = &nat->mappings[m];
	uint32_t hash = nat_mapping_hash_host(nat, p->key.src_be, nat->slots[p->slot].pool_id);

	if (p->host.next != NAT_NONE)
		nat->mappings[p->host.next].host.prev = p->host.prev;
	if (p->host.prev != NAT_NONE)
		nat->mappings[p->host.prev].host.next = p->host.next;
	else if (p->host.next != NAT_NONE)
		nat_table_replace(&nat->host_table, hash, m, p->host.next);
	else
		nat_table_delete(&nat->host_table, hash, m);
}

/* Is the address one that a pool may give out? Static translations keep theirs. */
static bool is_usable(const struct nat_worker *nat, uint32_t addr_be)
{
	return nat_config_static(nat->cfg, addr_be) == NAT_NONE;
}

static uint32_t load_of(const struct nat_worker *nat, uint32_t addr_be)
{
	uint32_t ext = nat_extern_find(nat->shared, addr_be);

	return ext == NAT_NONE ? 0 : nat_extern_load(nat->shared, ext);
}

/* A port for mapping p, or the protocol where it has none. */
static enum nat_reason take_port(struct nat_worker *nat, const struct nat_mapping *p, uint32_t ext,
				 const struct nat_pool_c *pool, int *port)
{
	enum nat_space space = nat_proto_space(p->key.proto);

	*port = 0;
	if (space == NAT_SPACE_NONE)
		return nat_extern_take_protocol(nat, ext, p->key.proto) ? NAT_REASON_NONE
									: NAT_R_nat_protocol_in_use;
	*port = nat_extern_take(nat, ext, space, pool, ntohs(p->key.sport_be));
	return *port >= 0 ? NAT_REASON_NONE : NAT_R_nat_pool_exhausted;
}

/* Takes an external endpoint at addr_be for mapping p. */
static enum nat_reason take_endpoint(struct nat_worker *nat, struct nat_mapping *p,
				     uint32_t addr_be, const struct nat_pool_c *pool)
{
	enum nat_reason reason;
	uint32_t ext;
	int port;

	if (nat_proto_space(p->key.proto) == NAT_SPACE_NONE) {
		if (find_outside(nat, addr_be, 0, p->key.proto) != NAT_NONE ||
		    nat_config_dnat(nat->cfg, addr_be, p->key.proto, 0) != NAT_NONE)
			return NAT_R_nat_protocol_in_use;
	}
	ext = nat_extern_join(nat->shared, addr_be);
	if (ext == NAT_NONE)
		return NAT_R_nat_no_address;
	reason = take_port(nat, p, ext, pool, &port);
	if (reason != NAT_REASON_NONE) {
		nat_extern_leave(nat->shared, ext);
		return reason;
	}
	p->ext_be = addr_be;
	p->ext_port_be = htons((uint16_t)port);
	nat_table_prefetch(&nat->outside_table,
			   nat_mapping_hash_outside(nat, p->ext_be, p->ext_port_be, p->key.proto));
	return NAT_REASON_NONE;
}

static void give_endpoint(struct nat_worker *nat, const struct nat_mapping *p)
{
	enum nat_space space = nat_proto_space(p->key.proto);
	uint32_t ext = nat_extern_find(nat->shared, p->ext_be);

	if (space != NAT_SPACE_NONE)
		nat_extern_give(nat->shared, ext, space, ntohs(p->ext_port_be));
	else
		nat_extern_give_protocol(nat->shared, ext, p->key.proto);
	nat_extern_leave(nat->shared, ext);
}

/* Record ext's address, if it is one of the pool's that it may give out, else 0. */
static uint32_t usable_at(const struct nat_worker *nat, const struct nat_pool_c *pool, uint32_t ext)
{
	uint32_t addr_be = nat_extern_addr(nat->shared, ext);

	return addr_be != 0 && nat_pool_has(pool, addr_be) && is_usable(nat, addr_be) ? addr_be : 0;
}

/* The least loaded of a few of the pool's addresses in use, or else any that has room. */
static enum nat_reason take_used_address(struct nat_worker *nat, struct nat_mapping *p,
					 const struct nat_pool_c *pool, enum nat_reason reason)
{
	const struct nat_shared *sh = nat->shared;
	uint32_t n = atomic_load_explicit(&sh->externs_high, memory_order_relaxed);
	uint32_t start = n > 0 ? nat_random_below(&nat->random, n) : 0, best = NAT_NONE;

	for (uint32_t i = 0, seen = 0; i < n && seen < HOST_CHOICES; i++) {
		uint32_t ext = (start + i) % n;

		if (usable_at(nat, pool, ext) == 0)
			continue;
		seen++;
		if (best == NAT_NONE || nat_extern_load(sh, ext) < nat_extern_load(sh, best))
			best = ext;
	}
	for (uint32_t i = 0; i < n && best != NAT_NONE; i++) {
		uint32_t addr_be = usable_at(nat, pool, (best + i) % n);

		if (addr_be == 0)
			continue;
		reason = take_endpoint(nat, p, addr_be, pool);
		if (reason == NAT_REASON_NONE)
			break;
	}
	return reason;
}

/* The last eighth of the records is for pools of which no address is in use yet, so that a large
 * one leaves the others theirs. */
static bool is_scarce(const struct nat_shared *sh)
{
	return atomic_load_explicit(&sh->n_externs, memory_order_relaxed) >=
	       sh->max_externs - sh->max_externs / 8;
}

/* A host without an address gets the least loaded of a few that its own address points at; when
 * those have no room, the next one that has. */
static enum nat_reason take_new_address(struct nat_worker *nat, struct nat_mapping *p,
					const struct nat_pool_c *pool)
{
	uint32_t n = pool->n_addrs, tries = n < HOST_CHOICES ? n : HOST_CHOICES;
	uint32_t start =
		(uint32_t)(((uint64_t)nat_hash(&nat->seed, p->key.src_be, pool->id) * n) >> 32);
	uint32_t best = 0, best_load = UINT32_MAX;
	enum nat_reason reason = NAT_R_nat_no_address, r;

	if (is_scarce(nat->shared) && take_used_address(nat, p, pool, reason) == NAT_REASON_NONE)
		return NAT_REASON_NONE;
	for (uint32_t i = 0; i < tries; i++) {
		uint32_t addr_be = nat_pool_at(pool, (start + i) % n);
		uint32_t load = is_usable(nat, addr_be) ? load_of(nat, addr_be) : UINT32_MAX;

		if (load < best_load) {
			best = addr_be;
			best_load = load;
		}
	}
	if (best_load != UINT32_MAX) {
		reason = take_endpoint(nat, p, best, pool);
		if (reason == NAT_REASON_NONE)
			return reason;
	}
	for (uint32_t i = 0; i < n && reason != NAT_R_nat_no_address; i++) {
		uint32_t addr_be = nat_pool_at(pool, (start + i) % n);

		if (!is_usable(nat, addr_be))
			continue;
		r = take_endpoint(nat, p, addr_be, pool);
		if (r == NAT_REASON_NONE)
			return r;
		if (r == NAT_R_nat_no_address)
			break;
	}
	/* no record is left for another address: those in use may still have room */
	return atomic_load_explicit(&nat->shared->n_externs, memory_order_relaxed) ==
			       nat->shared->max_externs
		       ? take_used_address(nat, p, pool, reason)
		       : reason;
}

/* An external endpoint for p; *host: the first of its host's other mappings. */
static enum nat_reason take_address(struct nat_worker *nat, struct nat_mapping *p,
				    const struct nat_pool_c *pool, uint32_t *host)
{
	uint32_t first;

	*host = NAT_NONE;
	if (!has_paired_address(pool)) {
		first = nat_pool_at(pool, 0);
		return is_usable(nat, first) ? take_endpoint(nat, p, first, pool)
					     : NAT_R_nat_no_address;
	}
	*host = find_host(nat, p->key.src_be, pool->id);
	if (*host != NAT_NONE && nat_pool_has(pool, nat->mappings[*host].ext_be) &&
	    is_usable(nat, nat->mappings[*host].ext_be))
		return take_endpoint(nat, p, nat->mappings[*host].ext_be, pool);
	return take_new_address(nat, p, pool);
}

/* ---- life ----------------------------------------------------------------------------------- */

static uint32_t record_take(struct nat_worker *nat)
{
	uint32_t m = nat->mapping_free;

	if (m != NAT_NONE)
		nat->mapping_free = nat->mappings[m].free.next;
	else if (nat->mappings_high < nat->max_mappings)
		m = nat->mappings_high++;
	return m;
}

static void record_give(struct nat_worker *nat, uint32_t m)
{
	nat->mappings[m].used = 0;
	nat->mappings[m].free.next = nat->mapping_free;
	nat->mapping_free = m;
}

static bool is_paired(const struct nat_worker *nat, const struct nat_mapping *p)
{
	/* where a pool has one address, there is nothing to remember */
	return nat->slots[p->slot].pool_id != NAT_NONE;
}

static bool enter_tables(struct nat_worker *nat, uint32_t m, uint32_t in, uint32_t host)
{
	struct nat_mapping *p = &nat->mappings[m];
	uint32_t out = nat_mapping_hash_outside(nat, p->ext_be, p->ext_port_be, p->key.proto);

	if (!nat_table_insert(&nat->inside_table, in, m))
		return false;
	if (nat_table_insert(&nat->outside_table, out, m)) {
		if (!is_paired(nat, p) || host_add(nat, m, host))
			return true;
		nat_table_delete(&nat->outside_table, out, m);
	}
	nat_table_delete(&nat->inside_table, in, m);
	return false;
}

enum nat_reason nat_mapping_get(struct nat_worker *nat, const struct nat_key *key, uint32_t rule,
				uint16_t slot, uint32_t *mapping)
{
	const struct nat_pool_c *pool = nat->cfg->rules[rule].pool;
	const struct nat_key in = nat_mapping_inside_key(nat, key, slot);
	uint32_t hash = nat_key_hash(&nat->seed, &in), m, host;
	enum nat_reason reason;
	struct nat_mapping *p;

	nat_table_prefetch(&nat->inside_table, hash);
	if (nat->slots[slot].pool_id != NAT_NONE)
		nat_table_prefetch(&nat->host_table,
				   nat_mapping_hash_host(nat, in.src_be, nat->slots[slot].pool_id));
	m = find_inside(nat, &in, hash);
	if (m != NAT_NONE) {
		*mapping = m;
		return NAT_REASON_NONE;
	}
	if (pool == NULL)
		return NAT_R_nat_no_address;
	m = record_take(nat);
	if (m == NAT_NONE)
		return NAT_R_nat_mappings_full;
	p = &nat->mappings[m];
	*p = (struct nat_mapping){
		.key = in,
		.slot = slot,
		.out_head = NAT_NONE,
		.in_head = NAT_NONE,
		.used = 1,
		.at_once = 1, /* until a session holds it */
	};
	reason = take_address(nat, p, pool, &host);
	if (reason != NAT_REASON_NONE) {
		record_give(nat, m);
		return reason;
	}
	if (!enter_tables(nat, m, hash, host)) {
		give_endpoint(nat, p);
		record_give(nat, m);
		return NAT_R_nat_mappings_full;
	}
	nat_slot_ref(nat, slot);
	nat->n_mappings++;
	nat->last_slot = slot;
	*mapping = m;
	return NAT_REASON_NONE;
}

void nat_mapping_hold(struct nat_worker *nat, uint32_t mapping)
{
	struct nat_mapping *p = &nat->mappings[mapping];

	if (p->held) {
		nat_wheel_disarm(&nat->mapping_wheel, mapping);
		p->held = 0;
		p->out_head = p->in_head = NAT_NONE;
	}
	p->at_once = 0;
	p->n_out++;
}

void nat_mapping_drop(struct nat_worker *nat, uint32_t mapping, bool at_once)
{
	struct nat_mapping *p = &nat->mappings[mapping];

	p->n_out--;
	if (p->n_out == 0) {
		p->at_once = at_once;
		nat_mapping_settle(nat, mapping);
	}
}

void nat_mapping_settle(struct nat_worker *nat, uint32_t mapping)
{
	struct nat_mapping *p = &nat->mappings[mapping];

	if (p->n_out > 0 || p->held || p->queued)
		return;
	if (p->at_once && p->in_head == NAT_NONE) {
		nat_mapping_free(nat, mapping);
		return;
	}
	p->queued = 1;
	p->next_idle = nat->mapping_idle;
	nat->mapping_idle = mapping;
}

uint32_t nat_mapping_idle(struct nat_worker *nat, unsigned *budget)
{
	while (nat->mapping_idle != NAT_NONE && *budget > 0) {
		struct nat_mapping *p = &nat->mappings[nat->mapping_idle];

		(*budget)--;
		if (p->n_out == 0)
			return nat->mapping_idle;
		/* taken up again meanwhile */
		p->queued = 0;
		nat->mapping_idle = p->next_idle;
	}
	return NAT_NONE;
}

void nat_mapping_finish(struct nat_worker *nat, uint64_t now_ms)
{
	uint32_t m = nat->mapping_idle;
	struct nat_mapping *p = &nat->mappings[m];
	uint32_t hold_ms = nat->timeout_ms[NAT_TIMEOUT_port_hold];

	p->queued = 0;
	nat->mapping_idle = p->next_idle;
	if (p->at_once || hold_ms == 0 || !nat_slot_alive(nat, p->slot)) {
		nat_mapping_free(nat, m);
		return;
	}
	p->held = 1;
	nat_wheel_arm(&nat->mapping_wheel, m, (now_ms + hold_ms + 999) / 1000);
}

void nat_mapping_fetch(const struct nat_worker *nat, uint32_t mapping)
{
	const struct nat_mapping *p = &nat->mappings[mapping];
	enum nat_space space = nat_proto_space(p->key.proto);

	nat_table_prefetch(&nat->inside_table, nat_key_hash(&nat->seed, &p->key));
	nat_table_prefetch(&nat->outside_table,
			   nat_mapping_hash_outside(nat, p->ext_be, p->ext_port_be, p->key.proto));
	if (space != NAT_SPACE_NONE)
		nat_extern_prefetch(nat->shared, p->ext_be, space, ntohs(p->ext_port_be));
	if (!is_paired(nat, p))
		return;
	if (p->host.next != NAT_NONE)
		__builtin_prefetch(&nat->mappings[p->host.next], 1);
	if (p->host.prev != NAT_NONE)
		__builtin_prefetch(&nat->mappings[p->host.prev], 1);
	else
		nat_table_prefetch(&nat->host_table,
				   nat_mapping_hash_host(nat, p->key.src_be,
							 nat->slots[p->slot].pool_id));
}

void nat_mapping_free(struct nat_worker *nat, uint32_t mapping)
{
	struct nat_mapping *p = &nat->mappings[mapping];

	if (p->held)
		nat_wheel_disarm(&nat->mapping_wheel, mapping);
	nat_table_delete(&nat->inside_table, nat_key_hash(&nat->seed, &p->key), mapping);
	nat_table_delete(&nat->outside_table,
			 nat_mapping_hash_outside(nat, p->ext_be, p->ext_port_be, p->key.proto),
			 mapping);
	if (is_paired(nat, p))
		host_remove(nat, mapping);
	give_endpoint(nat, p);
	nat_slot_unref(nat, p->slot);
	record_give(nat, mapping);
	nat->n_mappings--;
}
