/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "nat_check.h"
#include "nat_find.h"

struct builder {
	struct nat_config *cfg;
	const struct nat_conf *conf;
	char *err;
	size_t err_len;
};

static void *array(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

static int by_preference(const void *a, const void *b)
{
	const struct nat_rule *x = &((const struct nat_rule_c *)a)->r;
	const struct nat_rule *y = &((const struct nat_rule_c *)b)->r;
	/* snat and masquerade are one class */
	int cx = x->type == NAT_RULE_MASQUERADE ? NAT_RULE_SNAT : (int)x->type;
	int cy = y->type == NAT_RULE_MASQUERADE ? NAT_RULE_SNAT : (int)y->type;

	if (cx != cy)
		return cx - cy;
	return (x->id > y->id) - (x->id < y->id);
}

static int build_pools(struct builder *b)
{
	struct nat_config *cfg = b->cfg;
	const struct nat_conf *conf = b->conf;
	struct nat_pool_c *p;

	cfg->n_pools = conf->n_pools + conf->n_addrs;
	cfg->pools = array(cfg->n_pools, sizeof(*cfg->pools));
	cfg->addrs = array(conf->n_addrs, sizeof(*cfg->addrs));
	cfg->n_addrs = conf->n_addrs;
	if (cfg->pools == NULL || cfg->addrs == NULL)
		return -ENOMEM;
	if (conf->n_addrs > 0)
		memcpy(cfg->addrs, conf->addrs, conf->n_addrs * sizeof(*conf->addrs));
	for (unsigned i = 0; i < cfg->n_pools; i++) {
		const struct nat_pool *from = i < conf->n_pools ? &conf->pools[i] : NULL;

		p = &cfg->pools[i];
		p->n_spans = from ? from->n_ranges : 1;
		p->spans = array(p->n_spans, sizeof(*p->spans));
		if (p->spans == NULL)
			return -ENOMEM;
		p->port_lo = from && from->port_lo ? from->port_lo : 1;
		p->port_hi = from && from->port_hi ? from->port_hi : UINT16_MAX;
		p->all_ids = from == NULL || from->port_lo == 0;
		p->id = from ? from->id : NAT_NONE;
		for (unsigned j = 0; j < p->n_spans; j++) {
			uint32_t own = from ? 0 : ntohl(conf->addrs[i - conf->n_pools].addr_be);

			p->spans[j].first_h = from ? ntohl(from->ranges[j].first_be) : own;
			p->spans[j].last_h = from ? ntohl(from->ranges[j].last_be) : own;
			p->n_addrs += p->spans[j].last_h - p->spans[j].first_h + 1;
		}
		qsort(p->spans, p->n_spans, sizeof(*p->spans), nat_by_u32);
	}
	return 0;
}

static uint64_t fnv(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	return h;
}

static uint64_t fnv_prefix(uint64_t h, const struct nat_prefix *p)
{
	h = fnv(h, &p->addr_be, sizeof(p->addr_be));
	return fnv(h, &p->len, sizeof(p->len));
}

/* Everything a translation by this rule depends on; not the name. */
static uint64_t fingerprint(const struct nat_rule_c *c)
{
	const struct nat_rule *r = &c->r;
	uint64_t h = 0xcbf29ce484222325ULL;
	uint32_t words[] = {(uint32_t)r->type, r->iface, r->protocol, r->dport_lo,
			    r->dport_hi,       r->to_be, r->to_port};

	h = fnv(h, words, sizeof(words));
	h = fnv_prefix(h, &r->source);
	h = fnv_prefix(h, &r->destination);
	h = fnv_prefix(h, &r->external);
	h = fnv_prefix(h, &r->internal);
	if (c->pool != NULL) {
		uint32_t ports[] = {c->pool->id, c->pool->port_lo, c->pool->port_hi,
				    c->pool->all_ids};

		h = fnv(h, ports, sizeof(ports));
		h = fnv(h, c->pool->spans, c->pool->n_spans * sizeof(*c->pool->spans));
	}
	return h;
}

static int build_rules(struct builder *b)
{
	struct nat_config *cfg = b->cfg;
	const struct nat_conf *conf = b->conf;
	char name[64 + NAT_NAME_LEN];

	cfg->n_rules = conf->n_rules;
	cfg->rules = array(conf->n_rules, sizeof(*cfg->rules));
	cfg->ids = array(conf->n_rules, sizeof(*cfg->ids));
	if (cfg->rules == NULL || cfg->ids == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < conf->n_rules; i++) {
		struct nat_rule_c *c = &cfg->rules[i];

		c->r = conf->rules[i];
		c->r.name[NAT_NAME_LEN - 1] = '\0';
		if (c->r.type == NAT_RULE_SNAT)
			c->pool = &cfg->pools[c->r.pool];
		for (unsigned j = conf->n_addrs; c->r.type == NAT_RULE_MASQUERADE && j-- > 0;)
			if (conf->addrs[j].iface == c->r.iface)
				c->pool = &cfg->pools[conf->n_pools + j];
		c->print = fingerprint(c);
	}
	qsort(cfg->rules, cfg->n_rules, sizeof(*cfg->rules), by_preference);
	for (unsigned i = 0; i < cfg->n_rules; i++)
		cfg->ids[i] = (struct nat_rule_id){cfg->rules[i].r.id, i};
	qsort(cfg->ids, cfg->n_rules, sizeof(*cfg->ids), nat_by_u32);
	for (unsigned i = 1; i < cfg->n_rules; i++)
		if (cfg->ids[i - 1].id == cfg->ids[i].id)
			return nat_check_fail(b->err, b->err_len,
					      "%s: its id %u is taken by another rule",
					      nat_check_rule_name(&cfg->rules[cfg->ids[i].rule].r,
								  name, sizeof(name)),
					      cfg->ids[i].id);
	return 0;
}

struct sort_entry {
	struct nat_index_entry e;
	uint8_t len;
};

static int by_prefix(const void *a, const void *b)
{
	const struct sort_entry *x = a, *y = b;

	if (x->len != y->len)
		return x->len - y->len;
	if (x->e.addr_h != y->e.addr_h)
		return x->e.addr_h < y->e.addr_h ? -1 : 1;
	return (x->e.rule > y->e.rule) - (x->e.rule < y->e.rule);
}

/* An index of the rules of the types in mask, by the prefix at offset of struct nat_rule. */
static int build_index(struct builder *b, struct nat_index *ix, unsigned mask, size_t offset)
{
	const struct nat_config *cfg = b->cfg;
	struct sort_entry *s = array(cfg->n_rules, sizeof(*s));
	uint32_t n = 0;

	ix->entries = array(cfg->n_rules, sizeof(*ix->entries));
	if (s == NULL || ix->entries == NULL) {
		free(s);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < cfg->n_rules; i++) {
		const struct nat_rule *r = &cfg->rules[i].r;
		const struct nat_prefix *p = (const void *)((const char *)r + offset);

		if (mask & 1u << r->type)
			s[n++] = (struct sort_entry){{ntohl(p->addr_be), i}, p->len};
	}
	qsort(s, n, sizeof(*s), by_prefix);
	for (uint32_t i = 0; i < n; i++) {
		ix->entries[i] = s[i].e;
		ix->start[s[i].len + 1]++;
		ix->lengths |= UINT64_C(1) << s[i].len;
	}
	for (unsigned len = 1; len < 34; len++)
		ix->start[len] += ix->start[len - 1];
	free(s);
	return 0;
}

static int overlap(struct builder *b, uint32_t x, uint32_t y, const char *what)
{
	char nx[64 + NAT_NAME_LEN], ny[64 + NAT_NAME_LEN];

	return nat_check_fail(b->err, b->err_len, "%s and %s: %s",
			      nat_check_rule_name(&b->cfg->rules[x].r, nx, sizeof(nx)),
			      nat_check_rule_name(&b->cfg->rules[y].r, ny, sizeof(ny)), what);
}

static int by_internal(const void *a, const void *b)
{
	const struct nat_span_rule *x = a, *y = b;

	return (x->span.first_h > y->span.first_h) - (x->span.first_h < y->span.first_h);
}

static int build_statics(struct builder *b)
{
	struct nat_config *cfg = b->cfg;
	struct nat_span_rule *in = array(cfg->n_rules, sizeof(*in));
	unsigned n = 0;
	int rc = 0;

	cfg->statics = array(cfg->n_rules, sizeof(*cfg->statics));
	if (in == NULL || cfg->statics == NULL) {
		free(in);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < cfg->n_rules; i++) {
		const struct nat_rule *r = &cfg->rules[i].r;

		if (r->type != NAT_RULE_STATIC)
			continue;
		in[n].span.first_h = ntohl(r->internal.addr_be);
		in[n].span.last_h = nat_prefix_last(&r->internal);
		in[n].rule = i;
		cfg->statics[n].span.first_h = ntohl(r->external.addr_be);
		cfg->statics[n].span.last_h = nat_prefix_last(&r->external);
		cfg->statics[n++].rule = i;
	}
	cfg->n_statics = n;
	qsort(cfg->statics, n, sizeof(*cfg->statics), by_internal);
	qsort(in, n, sizeof(*in), by_internal);
	for (unsigned i = 1; i < n && rc == 0; i++)
		if (cfg->statics[i].span.first_h <= cfg->statics[i - 1].span.last_h)
			rc = overlap(b, cfg->statics[i - 1].rule, cfg->statics[i].rule,
				     "their external addresses overlap; each needs its own");
	/* prefixes either nest or are disjoint: whatever starts inside another overlaps it */
	for (unsigned i = 0; i < n && rc == 0; i++)
		for (unsigned j = i + 1;
		     j < n && in[j].span.first_h <= in[i].span.last_h && rc == 0; j++) {
			uint16_t x = cfg->rules[in[i].rule].r.iface,
				 y = cfg->rules[in[j].rule].r.iface;

			if (x == y || x == NAT_IFACE_ANY || y == NAT_IFACE_ANY)
				rc = overlap(
					b, in[i].rule, in[j].rule,
					"their internal addresses overlap; give them different "
					"outside interfaces or addresses");
		}
	free(in);
	return rc;
}

static int by_dnat(const void *a, const void *b)
{
	const struct nat_dnat_entry *x = a, *y = b;

	if (x->addr_h != y->addr_h)
		return x->addr_h < y->addr_h ? -1 : 1;
	if (x->protocol != y->protocol)
		return x->protocol - y->protocol;
	if (x->lo != y->lo)
		return x->lo - y->lo;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

static int build_dnats(struct builder *b)
{
	struct nat_config *cfg = b->cfg;
	unsigned n = 0;
	uint32_t any = NAT_NONE;

	cfg->dnats = array(cfg->n_rules, sizeof(*cfg->dnats));
	cfg->targets_h = array(cfg->n_rules, sizeof(*cfg->targets_h));
	if (cfg->dnats == NULL || cfg->targets_h == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < cfg->n_rules; i++) {
		const struct nat_rule *r = &cfg->rules[i].r;
		uint32_t taken;

		if (r->type != NAT_RULE_DNAT)
			continue;
		taken = nat_config_static(cfg, r->destination.addr_be);
		if (taken != NAT_NONE)
			return overlap(b, taken, i,
				       "the static rule goes first, so the dnat rule "
				       "would never apply to that address");
		cfg->targets_h[n] = ntohl(r->to_be);
		cfg->dnats[n].addr_h = ntohl(r->destination.addr_be);
		cfg->dnats[n].protocol = r->protocol;
		cfg->dnats[n].lo = r->dport_lo;
		cfg->dnats[n].hi = r->dport_lo ? r->dport_hi : UINT16_MAX;
		cfg->dnats[n++].rule = i;
	}
	cfg->n_dnats = cfg->n_targets = n;
	qsort(cfg->targets_h, n, sizeof(*cfg->targets_h), nat_by_u32);
	qsort(cfg->dnats, n, sizeof(*cfg->dnats), by_dnat);
	for (unsigned i = 0; i < n; i++) {
		const struct nat_dnat_entry *e = &cfg->dnats[i],
					    *p = i > 0 ? &cfg->dnats[i - 1] : NULL;

		if (p == NULL || p->addr_h != e->addr_h)
			any = NAT_NONE;
		if (any != NAT_NONE || (p != NULL && p->addr_h == e->addr_h &&
					p->protocol == e->protocol && e->lo <= p->hi))
			return overlap(b, any != NAT_NONE ? any : p->rule, e->rule,
				       "they forward the same external address, protocol and port");
		if (e->protocol == 0)
			any = e->rule;
	}
	return 0;
}

static int by_held(const void *a, const void *b)
{
	const struct nat_held *x = a, *y = b;

	if (x->addr_h != y->addr_h)
		return x->addr_h < y->addr_h ? -1 : 1;
	if (x->space != y->space)
		return x->space - y->space;
	if (x->lo != y->lo)
		return x->lo - y->lo;
	return x->hi - y->hi;
}

static int build_held(struct builder *b)
{
	struct nat_config *cfg = b->cfg;
	const struct nat_conf *conf = b->conf;
	unsigned n = 0;

	cfg->held = array(conf->n_reserved + (size_t)cfg->n_dnats * NAT_SPACES, sizeof(*cfg->held));
	if (cfg->held == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < conf->n_reserved; i++) {
		const struct nat_reserved *r = &conf->reserved[i];

		cfg->held[n++] = (struct nat_held){ntohl(r->addr_be), r->port, r->port,
						   (uint8_t)nat_proto_space(r->protocol)};
	}
	for (unsigned i = 0; i < cfg->n_dnats; i++) {
		const struct nat_dnat_entry *d = &cfg->dnats[i];

		for (uint8_t s = 0; s < NAT_SPACES; s++)
			if (d->protocol == 0 || nat_proto_space(d->protocol) == (enum nat_space)s)
				cfg->held[n++] = (struct nat_held){d->addr_h, d->lo, d->hi, s};
	}
	cfg->n_held = n;
	qsort(cfg->held, n, sizeof(*cfg->held), by_held);
	return 0;
}

struct edge_span {
	struct nat_span span;
	uint16_t iface;
};

static int by_edge(const void *a, const void *b)
{
	const struct edge_span *x = a, *y = b;

	if (x->span.first_h != y->span.first_h)
		return x->span.first_h < y->span.first_h ? -1 : 1;
	if (x->span.last_h != y->span.last_h)
		return x->span.last_h < y->span.last_h ? -1 : 1;
	return x->iface - y->iface;
}

static int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* All external spans with their rules' interfaces, without repetition. */
static unsigned external_spans(const struct nat_config *cfg, struct edge_span *out)
{
	unsigned n = 0, kept = 0;

	for (unsigned i = 0; i < cfg->n_rules; i++) {
		const struct nat_rule_c *c = &cfg->rules[i];
		struct nat_span s = {0, 0};

		if (c->r.type == NAT_RULE_STATIC)
			s = (struct nat_span){ntohl(c->r.external.addr_be),
					      nat_prefix_last(&c->r.external)};
		else if (c->r.type == NAT_RULE_DNAT)
			s = (struct nat_span){ntohl(c->r.destination.addr_be),
					      ntohl(c->r.destination.addr_be)};
		if (s.first_h != 0 && out != NULL)
			out[n] = (struct edge_span){s, c->r.iface};
		n += s.first_h != 0;
		for (unsigned j = 0; c->pool != NULL && j < c->pool->n_spans; j++, n++)
			if (out != NULL)
				out[n] = (struct edge_span){c->pool->spans[j], c->r.iface};
	}
	if (out == NULL)
		return n;
	qsort(out, n, sizeof(*out), by_edge);
	for (unsigned i = 0; i < n; i++)
		if (i == 0 || by_edge(&out[i], &out[kept - 1]) != 0)
			out[kept++] = out[i];
	return kept;
}

/* Cuts overlapping spans at each other's ends, so that a search finds one segment for an address.
 */
static int build_segments(struct builder *b)
{
	struct nat_config *cfg = b->cfg;
	unsigned max = external_spans(cfg, NULL), n, n_cuts = 0, open = 0, next = 0;
	struct edge_span *spans = array(max, sizeof(*spans));
	uint64_t *cuts = array((size_t)max * 2, sizeof(*cuts));
	unsigned *active = array(max, sizeof(*active));
	size_t room = 0, used = 0;
	int rc = -ENOMEM;

	cfg->segments = array((size_t)max * 2, sizeof(*cfg->segments));
	if (spans == NULL || cuts == NULL || active == NULL || cfg->segments == NULL)
		goto out;
	n = external_spans(cfg, spans);
	for (unsigned i = 0; i < n; i++) {
		cuts[n_cuts++] = spans[i].span.first_h;
		cuts[n_cuts++] = (uint64_t)spans[i].span.last_h + 1;
	}
	qsort(cuts, n_cuts, sizeof(*cuts), by_u64);
	for (unsigned i = 0; i + 1 < n_cuts; i++) {
		struct nat_segment *seg = &cfg->segments[cfg->n_segments];
		unsigned kept = 0;

		if (cuts[i] == cuts[i + 1])
			continue;
		while (next < n && spans[next].span.first_h <= cuts[i])
			active[open++] = next++;
		for (unsigned j = 0; j < open; j++)
			if (spans[active[j]].span.last_h >= cuts[i])
				active[kept++] = active[j];
		open = kept;
		if (open == 0)
			continue;
		if (used + open > room) {
			uint16_t *more = realloc(cfg->seg_ifaces,
						 (room = (used + open) * 2) * sizeof(*more));

			if (more == NULL)
				goto out;
			cfg->seg_ifaces = more;
		}
		seg->span.first_h = (uint32_t)cuts[i];
		seg->span.last_h = (uint32_t)(cuts[i + 1] - 1);
		seg->first = (uint32_t)used;
		for (unsigned j = 0; j < open; j++) {
			uint16_t iface = spans[active[j]].iface;
			size_t k = seg->first;

			while (k < used && cfg->seg_ifaces[k] != iface)
				k++;
			if (k == used)
				cfg->seg_ifaces[used++] = iface;
		}
		seg->count = (uint32_t)used - seg->first;
		cfg->n_segments++;
	}
	rc = 0;
out:
	free(spans);
	free(cuts);
	free(active);
	return rc;
}

void nat_conf_defaults(struct nat_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->mapping = NAT_ENDPOINT_INDEPENDENT;
	conf->filtering = NAT_ADDRESS_DEPENDENT;
	conf->port_preservation = true;
	conf->hairpin = true;
	for (unsigned i = 0; i < NAT_TIMEOUT_COUNT; i++)
		conf->timeout_s[i] = nat_timeout_info[i].def_s;
}

struct nat_config *nat_config_build(const struct nat_conf *conf, char *err, size_t err_len)
{
	struct nat_config *cfg = calloc(1, sizeof(*cfg));
	struct builder b = {cfg, conf, err, err_len};
	int rc = cfg == NULL ? -ENOMEM : nat_check_conf(conf, err, err_len);

	if (rc == 0 && (rc = build_pools(&b)) == 0 && (rc = build_rules(&b)) == 0 &&
	    (rc = build_index(&b, &cfg->exempt, 1u << NAT_RULE_EXEMPT,
			      offsetof(struct nat_rule, source))) == 0 &&
	    (rc = build_index(&b, &cfg->inside, 1u << NAT_RULE_STATIC,
			      offsetof(struct nat_rule, internal))) == 0 &&
	    (rc = build_index(&b, &cfg->source, 1u << NAT_RULE_SNAT | 1u << NAT_RULE_MASQUERADE,
			      offsetof(struct nat_rule, source))) == 0 &&
	    (rc = build_statics(&b)) == 0 && (rc = build_dnats(&b)) == 0 &&
	    (rc = build_held(&b)) == 0)
		rc = build_segments(&b);
	if (rc != 0) {
		if (rc == -ENOMEM)
			nat_check_fail(err, err_len, "out of memory");
		nat_config_free(cfg);
		errno = -rc;
		return NULL;
	}
	cfg->mapping = conf->mapping;
	cfg->filtering = conf->filtering;
	cfg->port_preservation = conf->port_preservation;
	cfg->hairpin = conf->hairpin;
	cfg->inbound_refresh = conf->inbound_refresh;
	cfg->tcp_loose = conf->tcp_loose;
	cfg->refuse_icmp = conf->refuse_icmp;
	for (unsigned i = 0; i < NAT_TIMEOUT_COUNT; i++)
		cfg->timeout_ms[i] = conf->timeout_s[i] * 1000;
	return cfg;
}

void nat_config_free(struct nat_config *cfg)
{
	if (cfg == NULL)
		return;
	for (unsigned i = 0; cfg->pools != NULL && i < cfg->n_pools; i++)
		free(cfg->pools[i].spans);
	free(cfg->pools);
	free(cfg->rules);
	free(cfg->ids);
	free(cfg->addrs);
	free(cfg->exempt.entries);
	free(cfg->inside.entries);
	free(cfg->source.entries);
	free(cfg->statics);
	free(cfg->dnats);
	free(cfg->targets_h);
	free(cfg->held);
	free(cfg->segments);
	free(cfg->seg_ifaces);
	free(cfg);
}
