/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slow path: a packet without a session gets one, or passes, or is refused with its reason.
 */
#include "nat_lookup.h"
#include "nat_mapping.h"
#include "nat_owner.h"
#include "nat_quote.h"
#include "nat_resolve.h"
#include "nat_session.h"
#include "nat_slot.h"
#include "nat_tcp.h"

static enum nat_verdict set_verdict(struct nat_pkt *pkt, enum nat_verdict v, enum nat_reason reason)
{
	pkt->verdict = (uint8_t)v;
	pkt->reason = (uint8_t)reason;
	return v;
}

static enum nat_verdict drop(struct nat_pkt *pkt, enum nat_reason reason)
{
	return set_verdict(pkt, NAT_DROP, reason);
}

/* An error about a packet that two workers translate, each its half: whose it is now. */
static bool hand_over_error(struct nat_worker *nat, struct nat_pkt *pkt, int egress)
{
	struct nat_resolution r;
	struct nat_pkt against = *pkt; /* a packet that goes the error's way */
	struct nat_quote q;

	if (nat->shared->alone || !nat_quote_parse(pkt, &q))
		return false;
	against.key = nat_key_reverse(&q.key);
	against.flags &= (uint8_t)~NAT_PKT_ICMP_ERROR;
	return nat_resolve(nat, &against, egress, &r) == NAT_TRANSLATE &&
	       nat_owner_hand_over(nat, &against.key, &r, pkt);
}

/* Packets that get no session of their own. */
static enum nat_verdict miss_keyless(struct nat_worker *nat, struct nat_pkt *pkt, int egress)
{
	bool half = pkt->flags & (NAT_PKT_SOURCE | NAT_PKT_DESTINATION);
	struct nat_quote q;

	if (!(pkt->flags & NAT_PKT_FRAGMENT) && pkt->flags & NAT_PKT_ICMP_ERROR) {
		if (nat_lookup_error(nat, pkt))
			return NAT_TRANSLATE;
		if (!half && nat_config_active(nat->cfg) && hand_over_error(nat, pkt, egress))
			return set_verdict(pkt, NAT_HANDOVER, NAT_REASON_NONE);
	}
	if (!half && (!nat_config_active(nat->cfg) || !nat_resolve_concerns(nat, pkt, egress)))
		return set_verdict(pkt, NAT_PASS, NAT_REASON_NONE);
	if (pkt->flags & NAT_PKT_FRAGMENT)
		return drop(pkt, NAT_R_nat_fragment);
	if (pkt->flags & NAT_PKT_NO_KEY)
		return drop(pkt, NAT_R_nat_icmp_unknown);
	return drop(pkt, nat_quote_parse(pkt, &q) ? NAT_R_nat_icmp_no_session
						  : NAT_R_nat_icmp_bad_quote);
}

/* May this packet open a session at all? */
static enum nat_reason may_open(const struct nat_worker *nat, const struct nat_pkt *pkt,
				const struct nat_resolution *r)
{
	if (pkt->l4_avail < nat_proto_min_len(pkt->key.proto))
		return NAT_R_nat_bad_l4;
	if (pkt->key.proto == IPPROTO_TCP && !nat_tcp_opens(pkt->tcp_flags) &&
	    (!nat->cfg->tcp_loose || pkt->tcp_flags & NAT_TCP_RST))
		return NAT_R_nat_no_session;
	/* a reply to a query that nobody sent; only a mapping may know of the query (from another
	 * destination), which its filter decides */
	if (pkt->key.kind == NAT_KIND_ICMP_REPLY && r->dst_mapping == NAT_NONE)
		return r->dst_rule != NAT_NONE ? NAT_R_nat_no_mapping : NAT_R_nat_no_session;
	if (pkt->key.kind == NAT_KIND_ICMP_REPLY && r->src_rule != NAT_NONE)
		return NAT_R_nat_no_session;
	return NAT_REASON_NONE;
}

/* The source after translation. Takes a mapping where the rule is a dynamic one. */
static enum nat_reason translate_source(struct nat_worker *nat, const struct nat_pkt *pkt,
					const struct nat_resolution *r,
					struct nat_session_plan *plan, struct nat_key *to)
{
	const struct nat_rule *rule;
	enum nat_reason reason;

	if (r->src_rule == NAT_NONE)
		return NAT_REASON_NONE;
	rule = &nat->cfg->rules[r->src_rule].r;
	plan->src_slot = nat_slot_get(nat, r->src_rule);
	if (plan->src_slot == NAT_NO_SLOT)
		return NAT_R_nat_sessions_full;
	if (rule->type == NAT_RULE_STATIC) {
		to->src_be = nat_prefix_move(&rule->external, pkt->key.src_be);
		return NAT_REASON_NONE;
	}
	reason = nat_mapping_get(nat, &pkt->key, r->src_rule, plan->src_slot, &plan->mapping);
	if (reason != NAT_REASON_NONE)
		return reason;
	to->src_be = nat->mappings[plan->mapping].ext_be;
	to->sport_be = nat->mappings[plan->mapping].ext_port_be;
	return NAT_REASON_NONE;
}

static enum nat_reason translate_destination(struct nat_worker *nat, const struct nat_resolution *r,
					     struct nat_session_plan *plan, struct nat_key *to)
{
	to->dst_be = r->new_dst_be;
	to->dport_be = r->new_dport_be;
	if (r->dst_mapping != NAT_NONE) {
		plan->dst_slot = nat->mappings[r->dst_mapping].slot;
	} else if (r->dst_rule != NAT_NONE) {
		plan->dst_slot = nat_slot_get(nat, r->dst_rule);
		if (plan->dst_slot == NAT_NO_SLOT)
			return NAT_R_nat_sessions_full;
	}
	return NAT_REASON_NONE;
}

/* Which directions prolong the session (M7). */
static uint8_t refresh_flags(const struct nat_worker *nat, const struct nat_session_plan *plan)
{
	bool hairpin = plan->dst_mapping != NAT_NONE || plan->key[0].table & NAT_TABLE_HALF;

	if (plan->key[0].proto == IPPROTO_TCP || plan->mapping == NAT_NONE || hairpin ||
	    nat->cfg->inbound_refresh)
		return NAT_S_REFRESH0 | NAT_S_REFRESH1;
	return plan->flags & NAT_S_OUT1 ? NAT_S_REFRESH1 : NAT_S_REFRESH0;
}

/* A hairpin packet that the receiver's filter refuses has still been sent: it opens the sender's
 * filter for the receiver, as it would have beyond two translators. */
static void knock(struct nat_worker *nat, struct nat_session_plan *plan, uint64_t now_ms)
{
	uint32_t remote = plan->key[0].dst_be;
	uint32_t s = nat_filter_find(nat, plan->mapping, remote);
	uint32_t ignored;

	if (s != NAT_NONE &&
	    (nat->cfg->filtering != NAT_ADDRESS_AND_PORT_DEPENDENT ||
	     nat_filter_allows(nat, plan->mapping, remote, plan->key[0].dport_be))) {
		if (nat->sessions[s].flags & NAT_S_KNOCK)
			nat->sessions[s].seen_ms = (uint32_t)now_ms;
		return;
	}
	plan->flags = NAT_S_KNOCK;
	plan->dst_mapping = NAT_NONE;
	plan->dst_slot = NAT_NO_SLOT;
	nat_session_create(nat, plan, now_ms, &ignored);
}

/* Removes a dead rule's session with this key, if there is one; false: a living one is there. */
static bool make_way(struct nat_worker *nat, const struct nat_key *key, uint32_t hash)
{
	uint32_t value = nat_session_find(nat, key, hash);

	if (value == NAT_NONE)
		return true;
	if (nat_session_alive(nat, &nat->sessions[value >> 1]))
		return false;
	/* not at once: the new session may be about to take up the old one's mapping */
	nat_session_remove(nat, value >> 1, true, false);
	nat->cleared++;
	return true;
}

static enum nat_reason open_session(struct nat_worker *nat, struct nat_pkt *pkt,
				    const struct nat_resolution *r, uint64_t now_ms,
				    struct nat_session_plan *plan)
{
	struct nat_key to = pkt->key;
	uint32_t session;
	enum nat_reason reason;

	/* without a sender's mapping, the receiver's filter can be asked before anything is taken
	 */
	bool inbound =
		r->dst_mapping != NAT_NONE &&
		(r->src_rule == NAT_NONE || nat->cfg->rules[r->src_rule].r.type == NAT_RULE_STATIC);

	if (nat->n_sessions == nat->max_sessions)
		return NAT_R_nat_sessions_full;
	if ((reason = translate_source(nat, pkt, r, plan, &to)) != NAT_REASON_NONE ||
	    (reason = translate_destination(nat, r, plan, &to)) != NAT_REASON_NONE)
		return reason;
	plan->key[0] = pkt->key;
	plan->key[1] = nat_key_reverse(&to);
	plan->hash[0] = pkt->hash;
	plan->hash[1] = nat_key_hash(&nat->seed, &plan->key[1]);
	if (pkt->key.proto == IPPROTO_TCP && !nat_tcp_opens(pkt->tcp_flags))
		plan->flags |= NAT_S_LOOSE;
	if (inbound) {
		plan->mapping = r->dst_mapping;
		plan->flags |= NAT_S_INBOUND | NAT_S_OUT1;
	} else {
		plan->dst_mapping = r->dst_mapping;
	}
	plan->flags |= refresh_flags(nat, plan);
	nat_session_prefetch(nat, plan);

	if (r->dst_mapping != NAT_NONE &&
	    !nat_filter_allows(nat, r->dst_mapping, to.src_be, to.sport_be)) {
		if (!inbound)
			knock(nat, plan, now_ms);
		return NAT_R_nat_filtered;
	}
	if (nat_key_equal(&plan->key[0], &plan->key[1]) ||
	    !make_way(nat, &plan->key[1], plan->hash[1]))
		return NAT_R_nat_conflict;
	reason = nat_session_create(nat, plan, now_ms, &session);
	if (reason == NAT_REASON_NONE)
		nat_lookup_fill(nat, pkt, session, 0);
	return reason;
}

/* What there is to do for a packet without a session. The worker that hands a packet over for its
 * source has asked the rules already. */
static enum nat_verdict resolve(struct nat_worker *nat, struct nat_pkt *pkt, int egress,
				struct nat_resolution *r)
{
	if (!(pkt->flags & NAT_PKT_SOURCE))
		return nat_resolve(nat, pkt, egress, r);
	*r = (struct nat_resolution){
		.reason = NAT_R_nat_no_mapping, /* the rule is gone */
		.dst_rule = NAT_NONE,
		.dst_mapping = NAT_NONE,
		.new_dst_be = pkt->key.dst_be,
		.new_dport_be = pkt->key.dport_be,
		.src_rule = nat_config_rule(nat->cfg, pkt->rule_id),
	};
	return r->src_rule != NAT_NONE ? NAT_TRANSLATE : NAT_DROP;
}

void nat_half(struct nat_pkt *pkt, enum nat_pkt_flags half, uint32_t rule_id)
{
	pkt->flags = (uint8_t)((pkt->flags & ~NAT_PKT_PLAIN) | half);
	pkt->key.table |= NAT_TABLE_HALF;
	pkt->rule_id = rule_id;
}

enum nat_verdict nat_miss(struct nat_worker *nat, struct nat_pkt *pkt, int egress, uint64_t now_ms)
{
	struct nat_session_plan plan = {
		.mapping = NAT_NONE,
		.dst_mapping = NAT_NONE,
		.src_slot = NAT_NO_SLOT,
		.dst_slot = NAT_NO_SLOT,
	};
	struct nat_resolution r;
	enum nat_reason reason;
	enum nat_verdict v;
	uint32_t value;

	pkt->session = NAT_NONE;
	pkt->new_src_be = pkt->key.src_be;
	pkt->new_dst_be = pkt->key.dst_be;
	if (pkt->flags & (NAT_PKT_FRAGMENT | NAT_PKT_ICMP_ERROR | NAT_PKT_NO_KEY))
		return miss_keyless(nat, pkt, egress);
	if (!nat_config_active(nat->cfg))
		return pkt->flags & (NAT_PKT_SOURCE | NAT_PKT_DESTINATION)
			       ? drop(pkt, NAT_R_nat_no_mapping)
			       : set_verdict(pkt, NAT_PASS, NAT_REASON_NONE);

	/* an earlier packet of the same burst may have opened the session */
	pkt->hash = nat_key_hash(&nat->seed, &pkt->key);
	value = nat_session_find(nat, &pkt->key, pkt->hash);
	if (value != NAT_NONE && nat_session_alive(nat, &nat->sessions[value >> 1])) {
		nat_lookup_fill(nat, pkt, value >> 1, value & 1);
		return NAT_TRANSLATE;
	}
	if (value != NAT_NONE) {
		nat_session_remove(nat, value >> 1, true, true);
		nat->cleared++;
	}

	v = resolve(nat, pkt, egress, &r);
	if (v != NAT_TRANSLATE)
		return set_verdict(pkt, v, v == NAT_DROP ? r.reason : NAT_REASON_NONE);
	if (nat_unlikely(!nat->shared->alone) &&
	    !(pkt->flags & (NAT_PKT_SOURCE | NAT_PKT_DESTINATION)) &&
	    nat_owner_hand_over(nat, &pkt->key, &r, pkt))
		return set_verdict(pkt, NAT_HANDOVER, NAT_REASON_NONE);
	reason = may_open(nat, pkt, &r);
	if (reason == NAT_REASON_NONE)
		reason = open_session(nat, pkt, &r, now_ms, &plan);
	if (reason == NAT_REASON_NONE)
		return NAT_TRANSLATE;
	/* a mapping made for this packet goes again */
	if (plan.mapping != NAT_NONE && nat->mappings[plan.mapping].used &&
	    nat->mappings[plan.mapping].n_out == 0)
		nat_mapping_settle(nat, plan.mapping);
	return drop(pkt, reason);
}
