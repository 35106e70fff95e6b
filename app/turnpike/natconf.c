/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration of translation as commands made it. See natconf.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "natconf.h"

/* Rule ids grow in the order in which rules are tried. The gap lets a reload put new rules between
 * old ones. */
#define ID_STEP 1024u

void natconf_init(struct natconf *c)
{
	struct nat_conf d;

	memset(c, 0, sizeof(*c));
	memset(&d, 0, sizeof(d));
	nat_conf_defaults(&d);
	c->mapping = d.mapping;
	c->filtering = d.filtering;
	c->port_preservation = d.port_preservation;
	c->hairpin = d.hairpin;
	c->inbound_refresh = d.inbound_refresh;
	c->tcp_loose = d.tcp_loose;
	c->refuse_icmp = d.refuse_icmp;
	memcpy(c->timeout_s, d.timeout_s, sizeof(c->timeout_s));
}

void natconf_free(struct natconf *c)
{
	free(c->rules);
	free(c->pools);
	memset(c, 0, sizeof(*c));
}

static void *copy_of(const void *p, size_t size)
{
	void *q = malloc(size > 0 ? size : 1);

	if (q != NULL && size > 0)
		memcpy(q, p, size);
	return q;
}

int natconf_copy(struct natconf *to, const struct natconf *from)
{
	*to = *from;
	to->rules = copy_of(from->rules, from->n_rules * sizeof(*from->rules));
	to->pools = copy_of(from->pools, from->n_pools * sizeof(*from->pools));
	if (to->rules == NULL || to->pools == NULL) {
		natconf_free(to);
		return -ENOMEM;
	}
	return 0;
}

struct natconf_rule *natconf_rule(const struct natconf *c, const char *name)
{
	for (unsigned i = 0; i < c->n_rules; i++) {
		if (strcmp(c->rules[i].r.name, name) == 0)
			return &c->rules[i];
	}
	return NULL;
}

const struct natconf_rule *natconf_rule_by_id(const struct natconf *c, uint32_t id)
{
	for (unsigned i = 0; i < c->n_rules; i++) {
		if (c->rules[i].r.id == id)
			return &c->rules[i];
	}
	return NULL;
}

struct natconf_pool *natconf_pool(const struct natconf *c, const char *name)
{
	for (unsigned i = 0; i < c->n_pools; i++) {
		if (strcmp(c->pools[i].name, name) == 0)
			return &c->pools[i];
	}
	return NULL;
}

int natconf_add_rule(struct natconf *c, const struct natconf_rule *rule)
{
	struct natconf_rule *rules;

	if (c->n_rules >= NAT_MAX_RULES)
		return -ENOSPC;
	if (c->last_rule_id > UINT32_MAX - 2 * ID_STEP)
		return -EOVERFLOW;
	rules = realloc(c->rules, (c->n_rules + 1) * sizeof(*rules));
	if (rules == NULL)
		return -ENOMEM;
	c->rules = rules;
	rules[c->n_rules] = *rule;
	c->last_rule_id = c->last_rule_id / ID_STEP * ID_STEP + ID_STEP;
	rules[c->n_rules++].r.id = c->last_rule_id;
	return 0;
}

int natconf_add_pool(struct natconf *c, const struct natconf_pool *pool)
{
	struct natconf_pool *pools;

	if (c->n_pools >= NAT_MAX_POOLS)
		return -ENOSPC;
	pools = realloc(c->pools, (c->n_pools + 1) * sizeof(*pools));
	if (pools == NULL)
		return -ENOMEM;
	c->pools = pools;
	pools[c->n_pools] = *pool;
	pools[c->n_pools++].id = ++c->last_pool_id;
	return 0;
}

void natconf_del_rule(struct natconf *c, const char *name)
{
	struct natconf_rule *r = natconf_rule(c, name);

	if (r == NULL)
		return;
	memmove(r, r + 1, (size_t)(c->rules + c->n_rules - (r + 1)) * sizeof(*r));
	c->n_rules--;
}

void natconf_del_pool(struct natconf *c, const char *name)
{
	struct natconf_pool *p = natconf_pool(c, name);

	if (p == NULL)
		return;
	memmove(p, p + 1, (size_t)(c->pools + c->n_pools - (p + 1)) * sizeof(*p));
	c->n_pools--;
}

static bool same_prefix(struct nat_prefix a, struct nat_prefix b)
{
	return a.addr_be == b.addr_be && a.len == b.len;
}

bool natconf_rule_same(const struct natconf_rule *a, const struct natconf_rule *b)
{
	return a->r.type == b->r.type && strcmp(a->r.name, b->r.name) == 0 &&
	       strcmp(a->iface, b->iface) == 0 && strcmp(a->pool, b->pool) == 0 &&
	       a->r.protocol == b->r.protocol && same_prefix(a->r.source, b->r.source) &&
	       same_prefix(a->r.destination, b->r.destination) && a->r.dport_lo == b->r.dport_lo &&
	       a->r.dport_hi == b->r.dport_hi && a->r.to_be == b->r.to_be &&
	       a->r.to_port == b->r.to_port && same_prefix(a->r.external, b->r.external) &&
	       same_prefix(a->r.internal, b->r.internal);
}

bool natconf_pool_same(const struct natconf_pool *a, const struct natconf_pool *b)
{
	return strcmp(a->name, b->name) == 0 && a->n_ranges == b->n_ranges &&
	       memcmp(a->range, b->range, a->n_ranges * sizeof(a->range[0])) == 0 &&
	       a->port_lo == b->port_lo && a->port_hi == b->port_hi;
}

/* ---- ids over a reload ----------------------------------------------------------------------- */

/* Of want's rules of one type, marks the most that can keep their old ids with ids growing: the
 * longest growing subsequence. old[i]: the id that rule i has in have, or 0. */
static int keep_most(const struct natconf *want, enum nat_rule_type type, const uint32_t *old,
		     bool *keep)
{
	unsigned n = want->n_rules, best = n;
	unsigned *len = calloc(n + 1, sizeof(*len)), *from = calloc(n + 1, sizeof(*from));

	if (len == NULL || from == NULL) {
		free(len);
		free(from);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n; i++) {
		if (want->rules[i].r.type != type || old[i] == 0)
			continue;
		len[i] = 1;
		from[i] = n;
		for (unsigned k = 0; k < i; k++) {
			if (len[k] > 0 && old[k] < old[i] && len[k] + 1 > len[i]) {
				len[i] = len[k] + 1;
				from[i] = k;
			}
		}
		if (best == n || len[i] > len[best])
			best = i;
	}
	for (; best < n; best = from[best])
		keep[best] = true;
	free(len);
	free(from);
	return 0;
}

/* Numbers the rules of one type that do not keep their ids: between those that do, or at the end.
 */
static void number_type(struct natconf *want, const struct natconf *have, enum nat_rule_type type,
			const uint32_t *old, bool *keep, uint32_t *last)
{
	uint32_t before = 0;

	for (unsigned i = 0; i < want->n_rules; i++) {
		unsigned run = 0, next = i;
		uint32_t gap;

		if (want->rules[i].r.type != type)
			continue;
		if (keep[i]) {
			before = want->rules[i].r.id = old[i];
			continue;
		}
		for (; next < want->n_rules; next++) {
			if (want->rules[next].r.type != type)
				continue;
			if (keep[next])
				break;
			run++;
		}
		if (next < want->n_rules && old[next] - before <= run) {
			keep[next] = false; /* no room before it: it is numbered anew too */
			i--;
			continue;
		}
		if (next == want->n_rules) { /* at the end: above every id ever given */
			*last = *last / ID_STEP * ID_STEP + ID_STEP;
			before = want->rules[i].r.id = *last;
			continue;
		}
		gap = (old[next] - before) / (run + 1);
		before += gap > 0 ? gap : 1;
		/* Not the id of a rule that goes: its sessions are not the new one's. */
		while (before + run < old[next] && natconf_rule_by_id(have, before) != NULL)
			before++;
		want->rules[i].r.id = before;
	}
}

int natconf_adopt_ids(struct natconf *want, const struct natconf *have)
{
	uint32_t *old = calloc(want->n_rules + 1, sizeof(*old));
	bool *keep = calloc(want->n_rules + 1, sizeof(*keep));
	uint32_t last = have->last_rule_id;
	int ret = 0;

	if (old == NULL || keep == NULL) {
		ret = -ENOMEM;
		goto out;
	}
	for (unsigned i = 0; i < want->n_rules; i++) {
		const struct natconf_rule *r = natconf_rule(have, want->rules[i].r.name);

		if (r != NULL && natconf_rule_same(r, &want->rules[i]))
			old[i] = r->r.id;
	}
	for (unsigned t = NAT_RULE_EXEMPT; t <= NAT_RULE_MASQUERADE && ret == 0; t++) {
		ret = keep_most(want, t, old, keep);
		if (ret == 0)
			number_type(want, have, t, old, keep, &last);
	}
	want->last_rule_id = last;
	want->last_pool_id = have->last_pool_id;
	for (unsigned i = 0; i < want->n_pools; i++) {
		const struct natconf_pool *p = natconf_pool(have, want->pools[i].name);

		want->pools[i].id = p != NULL ? p->id : ++want->last_pool_id;
	}
out:
	free(old);
	free(keep);
	return ret;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static unsigned collect_addresses(const struct net *net, struct nat_iface_addr **out)
{
	struct nat_iface_addr *list = NULL;
	struct fwd_address a;
	unsigned n = 0;

	while (net->ops->address_get(net->ctx, n, &a) == 0) {
		struct nat_iface_addr *more = realloc(list, (n + 1) * sizeof(*list));

		if (more == NULL)
			break;
		list = more;
		list[n].iface = a.iface;
		list[n++].addr_be = a.addr_be;
	}
	*out = list;
	return n;
}

/* Ports that pass lists leave to the kernel are nobody's external ports. */
static unsigned collect_reserved(const struct net *net, const struct nat_iface_addr *addrs,
				 unsigned n_addrs, struct nat_reserved **out)
{
	struct nat_reserved *list = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < n_addrs; i++) {
		struct net_iface iface;
		struct nat_reserved *more;

		if (net->ops->iface_get(net->ctx, addrs[i].iface, &iface) != 0 || iface.n_pass == 0)
			continue;
		more = realloc(list, (n + iface.n_pass) * sizeof(*list));
		if (more == NULL)
			break;
		list = more;
		for (unsigned k = 0; k < iface.n_pass; k++) {
			list[n].addr_be = addrs[i].addr_be;
			list[n].protocol = iface.pass[k].protocol;
			list[n++].port = iface.pass[k].port;
		}
	}
	*out = list;
	return n;
}

static int resolve(const struct natconf *c, const struct natconf_rule *from, const struct net *net,
		   struct nat_rule *to, char *err, size_t err_len)
{
	*to = from->r;
	to->iface = NAT_IFACE_ANY;
	if (from->iface[0] != '\0') {
		int id = net->ops->iface_find(net->ctx, from->iface);

		if (id < 0) {
			snprintf(err, err_len, "rule '%s': no interface '%s'", from->r.name,
				 from->iface);
			return -ENOENT;
		}
		to->iface = (uint16_t)id;
	}
	if (from->r.type == NAT_RULE_SNAT) {
		const struct natconf_pool *p = natconf_pool(c, from->pool);

		if (p == NULL) {
			snprintf(err, err_len, "rule '%s': no pool '%s'", from->r.name, from->pool);
			return -ENOENT;
		}
		to->pool = (uint32_t)(p - c->pools);
	}
	return 0;
}

struct nat_config *natconf_build(const struct natconf *c, unsigned n_rules, const struct net *net,
				 char *err, size_t err_len)
{
	struct nat_rule *rules = calloc(n_rules + 1, sizeof(*rules));
	struct nat_pool *pools = calloc(c->n_pools + 1, sizeof(*pools));
	struct nat_iface_addr *addrs = NULL;
	struct nat_reserved *reserved = NULL;
	struct nat_config *cfg = NULL;
	struct nat_conf conf;
	int ret = -ENOMEM;

	snprintf(err, err_len, "out of memory");
	if (rules == NULL || pools == NULL)
		goto out;
	for (unsigned i = 0; i < n_rules; i++) {
		ret = resolve(c, &c->rules[i], net, &rules[i], err, err_len);
		if (ret != 0)
			goto out;
	}
	for (unsigned i = 0; i < c->n_pools; i++) {
		const struct natconf_pool *p = &c->pools[i];

		pools[i].id = p->id;
		memcpy(pools[i].name, p->name, sizeof(pools[i].name));
		pools[i].ranges = p->range;
		pools[i].n_ranges = p->n_ranges;
		pools[i].port_lo = p->port_lo;
		pools[i].port_hi = p->port_hi;
	}
	memset(&conf, 0, sizeof(conf));
	nat_conf_defaults(&conf);
	conf.rules = rules;
	conf.n_rules = n_rules;
	conf.pools = pools;
	conf.n_pools = c->n_pools;
	conf.n_addrs = collect_addresses(net, &addrs);
	conf.addrs = addrs;
	conf.n_reserved = collect_reserved(net, addrs, conf.n_addrs, &reserved);
	conf.reserved = reserved;
	conf.mapping = c->mapping;
	conf.filtering = c->filtering;
	conf.port_preservation = c->port_preservation;
	conf.hairpin = c->hairpin;
	conf.inbound_refresh = c->inbound_refresh;
	conf.tcp_loose = c->tcp_loose;
	conf.refuse_icmp = c->refuse_icmp;
	memcpy(conf.timeout_s, c->timeout_s, sizeof(conf.timeout_s));
	err[0] = '\0';
	cfg = nat_config_build(&conf, err, err_len);
	ret = -errno;
out:
	free(rules);
	free(pools);
	free(addrs);
	free(reserved);
	if (cfg == NULL)
		errno = -ret;
	return cfg;
}
