/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_resolve.h"

#include "nat_mapping.h"

/* ---- interfaces ----------------------------------------------------------------------------- */

static uint16_t as_iface(int egress)
{
	return egress >= 0 ? (uint16_t)egress : NAT_IFACE_ANY;
}

/* The interface on which a rule's external address lives; NAT_IFACE_ANY: unknown. */
static uint16_t outside_of(const struct nat_worker *nat, const struct nat_rule *rule,
			   uint32_t external_be, uint16_t table)
{
	uint16_t own;

	if (rule->iface != NAT_IFACE_ANY)
		return rule->iface;
	own = nat_config_own(nat->cfg, external_be);
	return own != NAT_IFACE_ANY ? own
				    : as_iface(nat->ops.egress(nat->ops.ctx, external_be, table));
}

/* ---- exemptions ----------------------------------------------------------------------------- */

struct exempt {
	const struct nat_config *cfg;
	uint16_t in, out; /* interfaces */
	uint32_t dst_be;
	uint16_t dport; /* host order */
	uint8_t proto;
	bool has_ports;
};

static bool is_exempt(const void *ctx, uint32_t rule)
{
	const struct exempt *e = ctx;
	const struct nat_rule *r = &e->cfg->rules[rule].r;

	if (r->iface != NAT_IFACE_ANY && r->iface != e->in && r->iface != e->out)
		return false;
	if (!nat_prefix_has(&r->destination, e->dst_be) ||
	    (r->protocol != 0 && r->protocol != e->proto))
		return false;
	return r->dport_lo == 0 ||
	       (e->has_ports && e->dport >= r->dport_lo && e->dport <= r->dport_hi);
}

static bool exempted(const struct nat_worker *nat, const struct nat_pkt *pkt, uint32_t dst_be,
		     uint16_t dport_be, uint16_t out)
{
	struct exempt e = {
		.cfg = nat->cfg,
		.in = pkt->iface,
		.out = out,
		.dst_be = dst_be,
		.dport = ntohs(dport_be),
		.proto = pkt->key.proto,
		.has_ports = !(pkt->flags & NAT_PKT_FRAGMENT),
	};

	return nat_index_find(&nat->cfg->exempt, pkt->key.src_be, is_exempt, &e) != NAT_NONE;
}

/* ---- source --------------------------------------------------------------------------------- */

struct source {
	const struct nat_worker *nat;
	uint32_t src_be, dst_be;
	uint16_t outside, table;
	uint8_t proto;
};

static bool is_static_source(const void *ctx, uint32_t rule)
{
	const struct source *s = ctx;
	const struct nat_rule *r = &s->nat->cfg->rules[rule].r;
	uint16_t outside =
		outside_of(s->nat, r, nat_prefix_move(&r->external, s->src_be), s->table);

	return outside == NAT_IFACE_ANY || outside == s->outside;
}

static bool is_source(const void *ctx, uint32_t rule)
{
	const struct source *s = ctx;
	const struct nat_rule *r = &s->nat->cfg->rules[rule].r;

	return (r->iface == NAT_IFACE_ANY || r->iface == s->outside) &&
	       (r->protocol == 0 || r->protocol == s->proto) &&
	       nat_prefix_has(&r->destination, s->dst_be);
}

/* The rule that translates the source of packets to dst_be that leave by outside. */
static uint32_t source_rule(const struct nat_worker *nat, const struct nat_key *key,
			    uint32_t dst_be, uint16_t outside)
{
	struct source s = {nat, key->src_be, dst_be, outside, nat_key_table(key), key->proto};
	uint32_t rule = nat_index_find(&nat->cfg->inside, key->src_be, is_static_source, &s);

	return rule != NAT_NONE ? rule
				: nat_index_find(&nat->cfg->source, key->src_be, is_source, &s);
}

/* ---- destination ---------------------------------------------------------------------------- */

/* The dnat rule that takes the packet, from its own interface or by hairpin. */
uint32_t nat_resolve_dnat(const struct nat_config *cfg, const struct nat_key *k, uint16_t in)
{
	bool ports = k->proto == IPPROTO_TCP || k->proto == IPPROTO_UDP;
	uint32_t rule = nat_config_dnat(cfg, k->dst_be, k->proto, ports ? ntohs(k->dport_be) : 0);
	uint16_t iface;

	if (rule == NAT_NONE)
		return rule;
	iface = cfg->rules[rule].r.iface;
	return iface == NAT_IFACE_ANY || iface == in || cfg->hairpin ? rule : NAT_NONE;
}

/* Finds what translates the destination; false: nothing. *outside: where its external address
 * lives. */
static bool resolve_destination(const struct nat_worker *nat, const struct nat_pkt *pkt,
				struct nat_resolution *r, uint16_t *outside)
{
	const struct nat_config *cfg = nat->cfg;
	const struct nat_key *k = &pkt->key;
	const struct nat_rule *rule;

	r->dst_rule = nat_config_static(cfg, k->dst_be);
	if (r->dst_rule != NAT_NONE) {
		rule = &cfg->rules[r->dst_rule].r;
		r->new_dst_be = nat_prefix_move(&rule->internal, k->dst_be);
		*outside = outside_of(nat, rule, k->dst_be, nat_key_table(k));
		return true;
	}
	r->dst_rule = nat_resolve_dnat(cfg, k, pkt->iface);
	if (r->dst_rule != NAT_NONE) {
		rule = &cfg->rules[r->dst_rule].r;
		r->new_dst_be = rule->to_be;
		if (rule->to_port != 0)
			r->new_dport_be = htons(
				(uint16_t)(rule->to_port + ntohs(k->dport_be) - rule->dport_lo));
		*outside = outside_of(nat, rule, k->dst_be, nat_key_table(k));
		return true;
	}
	r->dst_mapping = nat_mapping_find_outside(nat, k);
	if (r->dst_mapping != NAT_NONE) {
		const struct nat_mapping *m = &nat->mappings[r->dst_mapping];

		rule = &cfg->rules[nat->slots[m->slot].rule].r;
		r->new_dst_be = m->key.src_be;
		if (k->kind == NAT_KIND_FLOW && nat_proto_space(k->proto) != NAT_SPACE_NONE)
			r->new_dport_be = m->key.sport_be;
		else if (k->kind == NAT_KIND_ICMP_REPLY)
			r->new_dport_be = m->key.sport_be;
		*outside = outside_of(nat, rule, k->dst_be, nat_key_table(k));
		return true;
	}
	return false;
}

enum nat_verdict nat_resolve(const struct nat_worker *nat, const struct nat_pkt *pkt, int egress,
			     struct nat_resolution *r)
{
	const struct nat_config *cfg = nat->cfg;
	const struct nat_key *k = &pkt->key;
	uint16_t outside = NAT_IFACE_ANY;
	/* the worker that translated the source has asked already */
	bool translated = false, half = pkt->flags & NAT_PKT_DESTINATION;

	*r = (struct nat_resolution){
		.dst_rule = NAT_NONE,
		.dst_mapping = NAT_NONE,
		.new_dst_be = k->dst_be,
		.new_dport_be = k->dport_be,
		.src_rule = NAT_NONE,
	};

	/* 1. destination */
	if (nat_config_is_external(cfg, k->dst_be) &&
	    (half || !exempted(nat, pkt, k->dst_be, k->dport_be, as_iface(egress)))) {
		translated = resolve_destination(nat, pkt, r, &outside);
		if (!translated && !(pkt->flags & NAT_PKT_LOCAL)) {
			r->reason = NAT_R_nat_no_mapping;
			return NAT_DROP;
		}
	}

	/* 2. the way out */
	if (translated) {
		egress = nat->ops.egress(nat->ops.ctx, r->new_dst_be, nat_key_table(k));
		if (egress < 0) {
			r->reason = NAT_R_nat_no_route;
			return NAT_DROP;
		}
		/* REQ-9: neither came from outside nor goes there */
		r->hairpin = outside != NAT_IFACE_ANY
				     ? pkt->iface != outside && (uint16_t)egress != outside
				     : pkt->iface == (uint16_t)egress;
		if (r->hairpin && !cfg->hairpin) {
			r->reason = NAT_R_nat_no_mapping;
			return NAT_DROP;
		}
	} else if (half) {
		r->reason = NAT_R_nat_no_mapping;
		return NAT_DROP;
	} else if (egress < 0) {
		return NAT_PASS;
	}

	/* 3. source; a hairpin's as if it went out where the destination's external address lives,
	 * so that the receiver sees the sender's external endpoint (REQ-9a) */
	if (!half && !exempted(nat, pkt, r->new_dst_be, r->new_dport_be, as_iface(egress))) {
		if (r->hairpin)
			r->src_rule = source_rule(nat, k, k->dst_be, outside);
		if (r->src_rule == NAT_NONE)
			r->src_rule = source_rule(nat, k, r->new_dst_be, as_iface(egress));
	}
	return translated || r->src_rule != NAT_NONE ? NAT_TRANSLATE : NAT_PASS;
}

bool nat_resolve_concerns(const struct nat_worker *nat, const struct nat_pkt *pkt, int egress)
{
	const struct nat_key *k = &pkt->key;

	if (pkt->flags & NAT_PKT_LOCAL ||
	    exempted(nat, pkt, k->dst_be, k->dport_be, as_iface(egress)))
		return false;
	if (nat_config_is_external(nat->cfg, k->dst_be))
		return true;
	return egress >= 0 && source_rule(nat, k, k->dst_be, as_iface(egress)) != NAT_NONE;
}
