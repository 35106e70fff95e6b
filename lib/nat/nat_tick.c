/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Housekeeping in bounded slices: sessions whose time is over, mappings that nothing holds, held
 * ports, and after a change of configuration the sweep over all records. Each step stops when the
 * budget is spent and goes on where it stopped.
 */
#include "nat_mapping.h"
#include "nat_session.h"

/* A knock lives as long as the session that the other side then opened to the same endpoints: its
 * packets keep the filter open, as they would have without a hairpin. */
static void follow_answer(struct nat_worker *nat, struct nat_session *knock)
{
	uint32_t hash = nat_key_hash(&nat->seed, &knock->key[0]);
	uint32_t value = nat_session_find(nat, &knock->key[0], hash);

	if (value != NAT_NONE)
		knock->seen_ms = nat->sessions[value >> 1].seen_ms;
}

static void expire_sessions(struct nat_worker *nat, uint64_t now_ms, unsigned *budget)
{
	while (*budget > 0) {
		uint32_t s = nat_wheel_next(&nat->session_wheel, now_ms / 1000);

		if (s == NAT_NONE)
			return;
		(*budget)--;
		if (nat->sessions[s].flags & NAT_S_KNOCK)
			follow_answer(nat, &nat->sessions[s]);
		if (nat_session_left(nat, &nat->sessions[s], now_ms) > 0) {
			nat_session_arm(nat, s, now_ms);
		} else {
			nat_session_remove(nat, s, false, false);
			nat->expired++;
		}
	}
}

/* Mappings without outbound sessions: those that outside hosts began go too. */
static void clear_idle_mappings(struct nat_worker *nat, uint64_t now_ms, unsigned *budget)
{
	while (*budget > 0) {
		uint32_t m = nat_mapping_idle(nat);

		if (m == NAT_NONE)
			return;
		(*budget)--;
		if (nat->mappings[m].in_head != NAT_NONE) {
			nat_session_remove(nat, nat->mappings[m].in_head, true, false);
			nat->expired++;
		} else {
			nat_mapping_finish(nat, now_ms);
		}
	}
}

static void free_held_ports(struct nat_worker *nat, uint64_t now_ms, unsigned *budget)
{
	while (*budget > 0) {
		uint32_t m = nat_wheel_next(&nat->mapping_wheel, now_ms / 1000);

		if (m == NAT_NONE)
			return;
		(*budget)--;
		nat->mappings[m].held = 0; /* it is off the wheel */
		nat_mapping_free(nat, m);
	}
}

static void sweep(struct nat_worker *nat, uint64_t now_ms, unsigned *budget)
{
	for (; nat->sweep_session < nat->sessions_high; nat->sweep_session++) {
		const struct nat_session *s = &nat->sessions[nat->sweep_session];

		if (*budget == 0)
			return;
		(*budget)--;
		if (!(s->flags & NAT_S_USED))
			continue;
		if (nat_session_alive(nat, s)) {
			nat_session_rearm(nat, nat->sweep_session, now_ms);
		} else {
			nat_session_remove(nat, nat->sweep_session, true, true);
			nat->cleared++;
		}
	}
	for (; nat->sweep_mapping < nat->mappings_high; nat->sweep_mapping++) {
		const struct nat_mapping *m = &nat->mappings[nat->sweep_mapping];

		if (*budget == 0)
			return;
		(*budget)--;
		if (m->used && m->held && !nat_slot_alive(nat, m->slot))
			nat_mapping_free(nat, nat->sweep_mapping);
	}
	nat->sweep_due = nat->sweeping = false;
}

void nat_worker_tick(struct nat_worker *nat, uint64_t now_ms, unsigned budget)
{
	expire_sessions(nat, now_ms, &budget);
	clear_idle_mappings(nat, now_ms, &budget);
	free_held_ports(nat, now_ms, &budget);
	if (nat->sweep_due)
		sweep(nat, now_ms, &budget);
}
