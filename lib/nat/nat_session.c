/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_session.h"

#include "nat_mapping.h"
#include "nat_slot.h"

#define KNOCKS_MAX 64 /* sessions looked at for one remote endpoint (nat_filter_allows) */

/* ---- the filter ----------------------------------------------------------------------------- */

/* The remote end as the inside host addresses it. */
static const struct nat_key *outbound_key(const struct nat_session *s)
{
	return &s->key[!!(s->flags & NAT_S_OUT1)];
}

static uint32_t remote_of(const struct nat_worker *nat, uint32_t session)
{
	return outbound_key(&nat->sessions[session])->dst_be;
}

struct find {
	const struct nat_worker *nat;
	uint32_t mapping, remote_be;
};

static bool is_filter(const void *ctx, uint32_t session)
{
	const struct find *f = ctx;

	return f->nat->cold[session].mapping == f->mapping &&
	       remote_of(f->nat, session) == f->remote_be;
}

uint32_t nat_filter_find(const struct nat_worker *nat, uint32_t mapping, uint32_t remote_be)
{
	struct find f = {nat, mapping, remote_be};

	return nat_table_find(&nat->filter_table, nat_filter_hash(nat, mapping, remote_be),
			      is_filter, &f);
}

bool nat_filter_allows(const struct nat_worker *nat, uint32_t mapping, uint32_t remote_be,
		       uint16_t remote_port_be)
{
	uint32_t s;

	if (nat->cfg->filtering == NAT_ENDPOINT_INDEPENDENT)
		return true;
	s = nat_filter_find(nat, mapping, remote_be);
	if (s == NAT_NONE || nat->cfg->filtering == NAT_ADDRESS_DEPENDENT)
		return s != NAT_NONE;
	/* the endpoint itself: an exact session would have been found by its key, so only knocks
	 * count, and those come first among the sessions to an address */
	for (unsigned i = 0; i < KNOCKS_MAX && s != NAT_NONE && remote_of(nat, s) == remote_be;
	     i++) {
		if (nat->sessions[s].flags & NAT_S_KNOCK &&
		    outbound_key(&nat->sessions[s])->dport_be == remote_port_be)
			return true;
		s = nat->cold[s].list.next;
	}
	return false;
}

/* ---- a mapping's lists ---------------------------------------------------------------------- */

static void list_push(struct nat_worker *nat, uint32_t *head, uint32_t s)
{
	nat->cold[s].list = (struct nat_link){*head, NAT_NONE};
	if (*head != NAT_NONE)
		nat->cold[*head].list.prev = s;
	*head = s;
}

static void list_after(struct nat_worker *nat, uint32_t at, uint32_t s)
{
	uint32_t next = nat->cold[at].list.next;

	nat->cold[s].list = (struct nat_link){next, at};
	nat->cold[at].list.next = s;
	if (next != NAT_NONE)
		nat->cold[next].list.prev = s;
}

static void list_before(struct nat_worker *nat, uint32_t *head, uint32_t at, uint32_t s)
{
	uint32_t prev = nat->cold[at].list.prev;

	if (prev == NAT_NONE)
		list_push(nat, head, s);
	else
		list_after(nat, prev, s);
}

static void list_remove(struct nat_worker *nat, uint32_t *head, uint32_t s)
{
	struct nat_link l = nat->cold[s].list;

	if (l.prev == NAT_NONE)
		*head = l.next;
	else
		nat->cold[l.prev].list.next = l.next;
	if (l.next != NAT_NONE)
		nat->cold[l.next].list.prev = l.prev;
}

/* Among the outbound sessions, beside those to the same address; false: the filter table is full.
 */
static bool out_add(struct nat_worker *nat, uint32_t s)
{
	uint32_t mapping = nat->cold[s].mapping, remote = remote_of(nat, s);
	uint32_t first = nat_filter_find(nat, mapping, remote);
	uint32_t hash = nat_filter_hash(nat, mapping, remote);
	uint32_t *head;

	if (first == NAT_NONE && !nat_table_insert(&nat->filter_table, hash, s))
		return false;
	nat_mapping_hold(nat, mapping);
	head = &nat->mappings[mapping].out_head;
	if (first == NAT_NONE) {
		list_push(nat, head, s);
	} else if (nat->sessions[s].flags & NAT_S_KNOCK) {
		list_before(nat, head, first, s);
		nat_table_replace(&nat->filter_table, hash, first, s);
	} else {
		list_after(nat, first, s);
	}
	return true;
}

static void out_remove(struct nat_worker *nat, uint32_t s)
{
	uint32_t mapping = nat->cold[s].mapping, remote = remote_of(nat, s);
	uint32_t prev = nat->cold[s].list.prev, next = nat->cold[s].list.next;

	if (prev == NAT_NONE || remote_of(nat, prev) != remote) {
		uint32_t hash = nat_filter_hash(nat, mapping, remote);

		if (next != NAT_NONE && remote_of(nat, next) == remote)
			nat_table_replace(&nat->filter_table, hash, s, next);
		else
			nat_table_delete(&nat->filter_table, hash, s);
	}
	list_remove(nat, &nat->mappings[mapping].out_head, s);
}

void nat_session_went_out(struct nat_worker *nat, uint32_t session)
{
	struct nat_session *s = &nat->sessions[session];
	uint32_t mapping = nat->cold[session].mapping;

	list_remove(nat, &nat->mappings[mapping].in_head, session);
	if (out_add(nat, session))
		s->flags &= (uint8_t)~NAT_S_INBOUND;
	else
		list_push(nat, &nat->mappings[mapping].in_head, session);
}

/* ---- time ----------------------------------------------------------------------------------- */

uint32_t nat_session_left(const struct nat_worker *nat, const struct nat_session *s,
			  uint64_t now_ms)
{
	int32_t idle = (int32_t)((uint32_t)now_ms - s->seen_ms);
	uint32_t timeout = nat->timeout_ms[s->timeout];

	if (idle < 0)
		idle = 0;
	return (uint32_t)idle < timeout ? timeout - (uint32_t)idle : 0;
}

void nat_session_arm(struct nat_worker *nat, uint32_t session, uint64_t now_ms)
{
	uint32_t left = nat_session_left(nat, &nat->sessions[session], now_ms);

	nat_wheel_arm(&nat->session_wheel, session, (now_ms + left + 999) / 1000);
}

void nat_session_rearm(struct nat_worker *nat, uint32_t session, uint64_t now_ms)
{
	nat_wheel_disarm(&nat->session_wheel, session);
	nat_session_arm(nat, session, now_ms);
}

/* ---- life ----------------------------------------------------------------------------------- */

static uint32_t record_take(struct nat_worker *nat)
{
	uint32_t s = nat->session_free;

	if (s != NAT_NONE)
		nat->session_free = nat->cold[s].wheel.next;
	else if (nat->sessions_high < nat->max_sessions)
		s = nat->sessions_high++;
	return s;
}

static void record_give(struct nat_worker *nat, uint32_t s)
{
	nat->sessions[s].flags = 0;
	nat->cold[s].wheel.next = nat->session_free;
	nat->session_free = s;
}

static uint8_t first_timeout(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		return NAT_TIMEOUT_tcp_transitory;
	case IPPROTO_UDP:
	case NAT_PROTO_UDPLITE:
	case NAT_PROTO_DCCP:
		return NAT_TIMEOUT_udp;
	case IPPROTO_ICMP:
		return NAT_TIMEOUT_icmp;
	default:
		return NAT_TIMEOUT_other;
	}
}

/* What the translation of direction 0 adds to the checksums. */
static void set_deltas(struct nat_session *s)
{
	const struct nat_key *from = &s->key[0];
	struct nat_key to = nat_key_reverse(&s->key[1]);
	csum_delta_t addrs = csum_delta_add(csum_delta4(from->src_be, to.src_be),
					    csum_delta4(from->dst_be, to.dst_be));
	csum_delta_t ports = csum_delta_add(csum_delta2(from->sport_be, to.sport_be),
					    csum_delta2(from->dport_be, to.dport_be));
	bool ports_change = from->sport_be != to.sport_be || from->dport_be != to.dport_be;

	s->l3_delta = addrs;
	/* ICMP has no pseudo-header (K7); protocols without ports stay as they are (K9) */
	if (from->proto == IPPROTO_ICMP) {
		s->l4_delta = ports;
		if (ports_change)
			s->flags |= NAT_S_L4;
	} else if (nat_proto_space(from->proto) != NAT_SPACE_NONE) {
		s->l4_delta = csum_delta_add(addrs, ports);
		s->flags |= NAT_S_L4;
	}
}

static bool enter_table(struct nat_worker *nat, uint32_t s, const uint32_t hash[2])
{
	if (!nat_table_insert(&nat->session_table, hash[0], s * 2))
		return false;
	if (nat_table_insert(&nat->session_table, hash[1], s * 2 + 1))
		return true;
	nat_table_delete(&nat->session_table, hash[0], s * 2);
	return false;
}

static void leave_table(struct nat_worker *nat, uint32_t s)
{
	for (uint32_t d = 0; d < 2; d++)
		nat_table_delete(&nat->session_table,
				 nat_key_hash(&nat->seed, &nat->sessions[s].key[d]), s * 2 + d);
}

void nat_session_prefetch(const struct nat_worker *nat, const struct nat_session_plan *plan)
{
	nat_table_prefetch(&nat->session_table, plan->hash[1]);
	if (plan->mapping != NAT_NONE)
		nat_table_prefetch(&nat->filter_table,
				   nat_filter_hash(nat, plan->mapping,
						   plan->key[!!(plan->flags & NAT_S_OUT1)].dst_be));
}

enum nat_reason nat_session_create(struct nat_worker *nat, const struct nat_session_plan *plan,
				   uint64_t now_ms, uint32_t *session)
{
	uint32_t i = record_take(nat);
	struct nat_session *s = &nat->sessions[i];

	if (i == NAT_NONE)
		return NAT_R_nat_sessions_full;
	*s = (struct nat_session){
		.key = {plan->key[0], plan->key[1]},
		.seen_ms = (uint32_t)now_ms,
		.flags = plan->flags | NAT_S_USED,
		.timeout = first_timeout(plan->key[0].proto),
	};
	set_deltas(s);
	nat->cold[i].src_slot = plan->src_slot;
	nat->cold[i].dst_slot = plan->dst_slot;
	nat->cold[i].mapping = plan->mapping;
	nat->cold[i].dst_mapping = plan->dst_mapping;
	nat->cold[i].created_s = (uint32_t)(now_ms / 1000);
	if (!(s->flags & NAT_S_KNOCK) && !enter_table(nat, i, plan->hash)) {
		record_give(nat, i);
		return NAT_R_nat_sessions_full;
	}
	if (s->flags & NAT_S_INBOUND) {
		list_push(nat, &nat->mappings[plan->mapping].in_head, i);
	} else if (plan->mapping != NAT_NONE && !out_add(nat, i)) {
		leave_table(nat, i);
		record_give(nat, i);
		return NAT_R_nat_sessions_full;
	}
	if (plan->dst_mapping != NAT_NONE)
		nat_mapping_hold(nat, plan->dst_mapping);
	nat_slot_ref(nat, plan->src_slot);
	nat_slot_ref(nat, plan->dst_slot);
	nat_session_arm(nat, i, now_ms);
	nat->n_sessions++;
	nat->created++;
	*session = i;
	return NAT_REASON_NONE;
}

void nat_session_fetch(const struct nat_worker *nat, uint32_t session)
{
	const struct nat_session *s = &nat->sessions[session];
	const struct nat_session_cold *c = &nat->cold[session];

	for (unsigned d = 0; d < 2; d++)
		nat_table_prefetch(&nat->session_table, nat_key_hash(&nat->seed, &s->key[d]));
	if (c->mapping == NAT_NONE)
		return;
	__builtin_prefetch(&nat->mappings[c->mapping], 1);
	nat_table_prefetch(&nat->filter_table,
			   nat_filter_hash(nat, c->mapping, outbound_key(s)->dst_be));
}

void nat_session_remove(struct nat_worker *nat, uint32_t session, bool armed, bool at_once)
{
	struct nat_session *s = &nat->sessions[session];
	uint32_t mapping = nat->cold[session].mapping, dst_mapping = nat->cold[session].dst_mapping;

	if (armed)
		nat_wheel_disarm(&nat->session_wheel, session);
	if (!(s->flags & NAT_S_KNOCK))
		leave_table(nat, session);
	if (s->flags & NAT_S_INBOUND) {
		list_remove(nat, &nat->mappings[mapping].in_head, session);
	} else if (mapping != NAT_NONE) {
		out_remove(nat, session);
		nat_mapping_drop(nat, mapping, at_once);
	}
	if (dst_mapping != NAT_NONE)
		nat_mapping_drop(nat, dst_mapping, at_once);
	nat_slot_unref(nat, nat->cold[session].src_slot);
	nat_slot_unref(nat, nat->cold[session].dst_slot);
	record_give(nat, session);
	nat->n_sessions--;
}
