/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_find.h"

#include <stdlib.h>

uint32_t nat_config_rule(const struct nat_config *cfg, uint32_t id)
{
	struct nat_rule_id want = {id, 0}, *found;

	found = bsearch(&want, cfg->ids, cfg->n_rules, sizeof(want), nat_by_u32);
	return found != NULL ? found->rule : NAT_NONE;
}

uint32_t nat_index_find(const struct nat_index *ix, uint32_t addr_be,
			bool (*is)(const void *ctx, uint32_t rule), const void *ctx)
{
	uint32_t addr_h = ntohl(addr_be), best = NAT_NONE;

	for (uint64_t lengths = ix->lengths; lengths != 0; lengths &= lengths - 1) {
		unsigned len = (unsigned)__builtin_ctzll(lengths);
		uint32_t lo = ix->start[len], end = ix->start[len + 1], hi = end;
		uint32_t want = len == 0 ? 0 : addr_h & (UINT32_MAX << (32 - len));

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (ix->entries[mid].addr_h < want)
				lo = mid + 1;
			else
				hi = mid;
		}
		for (; lo < end && ix->entries[lo].addr_h == want && ix->entries[lo].rule < best;
		     lo++) {
			if (is(ctx, ix->entries[lo].rule)) {
				best = ix->entries[lo].rule;
				break;
			}
		}
	}
	return best;
}

uint32_t nat_config_static(const struct nat_config *cfg, uint32_t addr_be)
{
	uint32_t addr_h = ntohl(addr_be);
	unsigned lo = 0, hi = cfg->n_statics;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (cfg->statics[mid].span.last_h < addr_h)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < cfg->n_statics && cfg->statics[lo].span.first_h <= addr_h)
		return cfg->statics[lo].rule;
	return NAT_NONE;
}

static uint32_t find_dnat(const struct nat_config *cfg, uint32_t addr_h, uint8_t proto,
			  uint16_t port)
{
	unsigned lo = 0, hi = cfg->n_dnats;

	/* the last entry that starts at or before (address, protocol, port) */
	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;
		const struct nat_dnat_entry *e = &cfg->dnats[mid];

		if (e->addr_h < addr_h ||
		    (e->addr_h == addr_h &&
		     (e->protocol < proto || (e->protocol == proto && e->lo <= port))))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo > 0) {
		const struct nat_dnat_entry *e = &cfg->dnats[lo - 1];

		if (e->addr_h == addr_h && e->protocol == proto && port >= e->lo && port <= e->hi)
			return e->rule;
	}
	return NAT_NONE;
}

uint32_t nat_config_dnat(const struct nat_config *cfg, uint32_t addr_be, uint8_t proto,
			 uint16_t port)
{
	uint32_t rule = find_dnat(cfg, ntohl(addr_be), proto, port);

	return rule != NAT_NONE ? rule : find_dnat(cfg, ntohl(addr_be), 0, port);
}

static const struct nat_segment *find_segment(const struct nat_config *cfg, uint32_t addr_be)
{
	uint32_t addr_h = ntohl(addr_be);
	unsigned lo = 0, hi = cfg->n_segments;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (cfg->segments[mid].span.last_h < addr_h)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < cfg->n_segments && cfg->segments[lo].span.first_h <= addr_h)
		return &cfg->segments[lo];
	return NULL;
}

bool nat_config_is_external(const struct nat_config *cfg, uint32_t addr_be)
{
	return find_segment(cfg, addr_be) != NULL;
}

uint16_t nat_config_own(const struct nat_config *cfg, uint32_t addr_be)
{
	for (unsigned i = 0; i < cfg->n_addrs; i++)
		if (cfg->addrs[i].addr_be == addr_be)
			return cfg->addrs[i].iface;
	return NAT_IFACE_ANY;
}

unsigned nat_config_held(const struct nat_config *cfg, uint32_t addr_be,
			 const struct nat_held **first)
{
	uint32_t addr_h = ntohl(addr_be);
	unsigned lo = 0, hi = cfg->n_held, n = 0;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (cfg->held[mid].addr_h < addr_h)
			lo = mid + 1;
		else
			hi = mid;
	}
	*first = &cfg->held[lo];
	while (lo + n < cfg->n_held && cfg->held[lo + n].addr_h == addr_h)
		n++;
	return n;
}

uint32_t nat_pool_at(const struct nat_pool_c *pool, uint32_t n)
{
	unsigned i = 0;

	while (n > pool->spans[i].last_h - pool->spans[i].first_h) {
		n -= pool->spans[i].last_h - pool->spans[i].first_h + 1;
		i++;
	}
	return htonl(pool->spans[i].first_h + n);
}

bool nat_pool_has(const struct nat_pool_c *pool, uint32_t addr_be)
{
	uint32_t addr_h = ntohl(addr_be);

	for (unsigned i = 0; i < pool->n_spans; i++)
		if (addr_h >= pool->spans[i].first_h && addr_h <= pool->spans[i].last_h)
			return true;
	return false;
}

/* ---- what others ask ------------------------------------------------------------------------ */

bool nat_config_active(const struct nat_config *cfg)
{
	return cfg != NULL && cfg->n_rules > 0;
}

bool nat_config_refuse_icmp(const struct nat_config *cfg)
{
	return cfg != NULL && cfg->refuse_icmp;
}

int nat_config_external(const struct nat_config *cfg, uint32_t addr_be, uint16_t iface)
{
	const struct nat_segment *seg = cfg != NULL ? find_segment(cfg, addr_be) : NULL;
	int answer = 0;

	for (uint32_t i = 0; seg != NULL && i < seg->count; i++) {
		if (cfg->seg_ifaces[seg->first + i] == iface)
			return 1;
		if (cfg->seg_ifaces[seg->first + i] == NAT_IFACE_ANY)
			answer = 2;
	}
	return answer;
}

void nat_config_externals(const struct nat_config *cfg,
			  void (*fn)(void *arg, struct nat_range range, uint16_t iface), void *arg)
{
	for (unsigned i = 0; cfg != NULL && i < cfg->n_segments; i++) {
		const struct nat_segment *seg = &cfg->segments[i];
		struct nat_range range = {htonl(seg->span.first_h), htonl(seg->span.last_h)};

		for (uint32_t j = 0; j < seg->count; j++)
			fn(arg, range, cfg->seg_ifaces[seg->first + j]);
	}
}

struct leaving {
	const struct nat_config *cfg;
	uint16_t egress;
};

static bool any_rule(const void *ctx, uint32_t rule)
{
	(void)ctx;
	(void)rule;
	return true;
}

static bool leaves_by(const void *ctx, uint32_t rule)
{
	const struct leaving *l = ctx;
	uint16_t iface = l->cfg->rules[rule].r.iface;

	return iface == NAT_IFACE_ANY || iface == l->egress;
}

bool nat_config_is_target(const struct nat_config *cfg, uint32_t addr_be)
{
	uint32_t addr_h = ntohl(addr_be);

	return bsearch(&addr_h, cfg->targets_h, cfg->n_targets, sizeof(addr_h), nat_by_u32) != NULL;
}

bool nat_config_candidate(const struct nat_config *cfg, const struct nat_key *key, uint16_t egress)
{
	struct leaving l = {cfg, egress};

	if (cfg == NULL || cfg->n_rules == 0)
		return false;
	/* an ICMP error may come from any router about a translated flow */
	if (key->proto == IPPROTO_ICMP && key->kind == NAT_KIND_FLOW)
		return true;
	if (nat_config_is_external(cfg, key->dst_be))
		return true;
	if (nat_config_is_target(cfg, key->src_be))
		return true;
	if (nat_index_find(&cfg->inside, key->src_be, any_rule, NULL) != NAT_NONE)
		return true;
	return nat_index_find(&cfg->source, key->src_be, leaves_by, &l) != NAT_NONE;
}
