/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions for people: listing and clearing by filter, in bounded slices.
 */
#include "nat_session.h"

/* Was the destination translated: is the inside host the one that answers? */
static bool goes_inside(const struct nat_session_cold *c)
{
	return c->dst_slot != NAT_NO_SLOT;
}

static uint32_t rule_of(const struct nat_worker *nat, uint16_t slot)
{
	return slot == NAT_NO_SLOT ? 0 : nat->slots[slot].rule_id;
}

static bool matches(const struct nat_worker *nat, const struct nat_filter *f,
		    const struct nat_session *s)
{
	const struct nat_session_cold *c = &nat->cold[s - nat->sessions];
	const struct nat_key *k = s->key;
	uint16_t port_be = htons(f->port);

	if (!(s->flags & NAT_S_USED))
		return false;
	if (f->protocol != 0 && k[0].proto != f->protocol)
		return false;
	if (!nat_prefix_has(&f->source, k[0].src_be) &&
	    !(goes_inside(c) && nat_prefix_has(&f->source, k[1].src_be)))
		return false;
	if (!nat_prefix_has(&f->destination, k[0].dst_be))
		return false;
	if (f->port != 0 && k[0].sport_be != port_be && k[0].dport_be != port_be &&
	    k[1].sport_be != port_be && k[1].dport_be != port_be)
		return false;
	return f->rule_id == 0 || rule_of(nat, c->src_slot) == f->rule_id ||
	       rule_of(nat, c->dst_slot) == f->rule_id;
}

/* The next matching session from *cursor on, within the budget, or NAT_NONE. */
static uint32_t next_match(const struct nat_worker *nat, const struct nat_filter *f,
			   uint32_t *cursor, unsigned *budget)
{
	while (*cursor<nat->sessions_high && * budget> 0) {
		uint32_t s = (*cursor)++;

		(*budget)--;
		if (matches(nat, f, &nat->sessions[s]))
			return s;
	}
	return NAT_NONE;
}

static void end_cursor(const struct nat_worker *nat, uint32_t *cursor)
{
	if (*cursor >= nat->sessions_high)
		*cursor = NAT_NONE;
}

unsigned nat_session_list(struct nat_worker *nat, const struct nat_filter *f, uint64_t now_ms,
			  uint32_t *cursor, unsigned budget, struct nat_session_info *out,
			  unsigned max)
{
	unsigned n = 0;

	while (n < max) {
		uint32_t i = next_match(nat, f, cursor, &budget), left;
		const struct nat_session_cold *c = &nat->cold[i];
		const struct nat_session *s = &nat->sessions[i];

		if (i == NAT_NONE)
			break;
		left = nat_session_left(nat, s, now_ms);
		out[n++] = (struct nat_session_info){
			.index = i,
			.orig = s->key[0],
			.reply = s->key[1],
			.rule_id = rule_of(nat, c->src_slot) ? rule_of(nat, c->src_slot)
							     : rule_of(nat, c->dst_slot),
			.tcp_state = s->tcp_state,
			.age_ms = now_ms - c->created_s * 1000ull,
			.idle_ms = left > 0 ? nat->timeout_ms[s->timeout] - left
					    : (uint32_t)now_ms - s->seen_ms,
			.timeout_s = nat->timeout_ms[s->timeout] / 1000,
		};
	}
	end_cursor(nat, cursor);
	return n;
}

unsigned nat_session_clear(struct nat_worker *nat, const struct nat_filter *f, uint32_t *cursor,
			   unsigned budget)
{
	unsigned n = 0;
	uint32_t i;

	while ((i = next_match(nat, f, cursor, &budget)) != NAT_NONE) {
		nat_session_remove(nat, i, true, true);
		nat->cleared++;
		n++;
	}
	end_cursor(nat, cursor);
	return n;
}
