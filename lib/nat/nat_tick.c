/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Housekeeping in bounded slices: sessions whose time is over, mappings that nothing holds, held
 * ports, and after a change of configuration the sweep over all records. Each step stops when the
 * budget is spent and goes on where it stopped. Mappings that a slice of sessions left idle come
 * first in the next, while they are in the cache: so their list grows no longer than a slice.
 *
 * A record's end touches a dozen lines all over memory. Records are taken a batch at a time, and
 * those lines fetched for all of them, before the first one ends.
 */
#include "nat_mapping.h"
#include "nat_session.h"

#define BATCH 16

static unsigned batch_of(unsigned budget)
{
	return budget < BATCH ? budget : BATCH;
}

/* A knock lives as long as the session that the other side then opened to the same endpoints: its
 * packets keep the filter open, as they would have without a hairpin. */
static void follow_answer(struct nat_worker *nat, struct nat_session *knock)
{
	uint32_t hash = nat_key_hash(&nat->seed, &knock->key[0]);
	uint32_t value = nat_session_find(nat, &knock->key[0], hash);

	if (value != NAT_NONE)
		knock->seen_ms = nat->sessions[value >> 1].seen_ms;
}

static void expire_session(struct nat_worker *nat, uint32_t s, uint64_t now_ms)
{
	if (nat->sessions[s].flags & NAT_S_KNOCK)
		follow_answer(nat, &nat->sessions[s]);
	if (nat_session_left(nat, &nat->sessions[s], now_ms) > 0) {
		nat_session_arm(nat, s, now_ms);
	} else {
		nat_session_remove(nat, s, false, false);
		nat->expired++;
	}
}

/* Removing a session ends no other, so all of a batch are there until their turn comes. */
static void expire_sessions(struct nat_worker *nat, uint64_t now_ms, unsigned *budget)
{
	while (*budget > 0) {
		unsigned want = batch_of(*budget), n = 0;
		uint32_t due[BATCH];

		while (n < want &&
		       (due[n] = nat_wheel_next(&nat->session_wheel, now_ms / 1000)) != NAT_NONE)
			__builtin_prefetch(&nat->sessions[due[n++]], 1);
		for (unsigned i = 0; i < n; i++) {
			if (nat_session_left(nat, &nat->sessions[due[i]], now_ms) == 0)
				nat_session_fetch(nat, due[i]);
		}
		for (unsigned i = 0; i < n; i++)
			expire_session(nat, due[i], now_ms);
		*budget -= n;
		if (n < want)
			return;
	}
}

/* Mappings without outbound sessions: those that outside hosts began go too. */
static void clear_idle_mappings(struct nat_worker *nat, uint64_t now_ms, unsigned *budget)
{
	uint32_t m;

	while ((m = nat_mapping_idle(nat, budget)) != NAT_NONE) {
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
		unsigned want = batch_of(*budget), n = 0;
		uint32_t due[BATCH];

		while (n < want &&
		       (due[n] = nat_wheel_next(&nat->mapping_wheel, now_ms / 1000)) != NAT_NONE)
			nat_mapping_fetch(nat, due[n++]);
		for (unsigned i = 0; i < n; i++) {
			nat->mappings[due[i]].held = 0; /* it is off the wheel */
			nat_mapping_free(nat, due[i]);
		}
		*budget -= n;
		if (n < want)
			return;
	}
}

static void sweep_session(struct nat_worker *nat, uint32_t s, uint64_t now_ms)
{
	if (!(nat->sessions[s].flags & NAT_S_USED))
		return;
	if (nat_session_alive(nat, &nat->sessions[s])) {
		nat_session_rearm(nat, s, now_ms);
	} else {
		nat_session_remove(nat, s, true, true);
		nat->cleared++;
	}
}

static void sweep_mapping(struct nat_worker *nat, uint32_t m)
{
	const struct nat_mapping *p = &nat->mappings[m];

	if (p->used && p->held && !nat_slot_alive(nat, p->slot))
		nat_mapping_free(nat, m);
}

static bool must_go(const struct nat_worker *nat, uint32_t s)
{
	return nat->sessions[s].flags & NAT_S_USED && !nat_session_alive(nat, &nat->sessions[s]);
}

/* Records in their order, which the CPU foresees; what they lead to it doesn't. */
static void sweep(struct nat_worker *nat, uint64_t now_ms, unsigned *budget)
{
	while (*budget > 0 && nat->sweep_session < nat->sessions_high) {
		uint32_t at = nat->sweep_session, left = nat->sessions_high - at;
		unsigned n = batch_of(left < *budget ? left : *budget);

		for (unsigned i = 0; i < n; i++) {
			if (must_go(nat, at + i))
				nat_session_fetch(nat, at + i);
		}
		for (unsigned i = 0; i < n; i++) {
			if (must_go(nat, at + i) && nat->cold[at + i].mapping != NAT_NONE)
				nat_mapping_fetch(nat, nat->cold[at + i].mapping);
		}
		for (unsigned i = 0; i < n; i++)
			sweep_session(nat, at + i, now_ms);
		nat->sweep_session += n;
		*budget -= n;
	}
	for (; *budget > 0 && nat->sweep_mapping < nat->mappings_high; nat->sweep_mapping++) {
		sweep_mapping(nat, nat->sweep_mapping);
		(*budget)--;
	}
	if (*budget > 0)
		nat->sweep_due = nat->sweeping = false;
}

/* Generations of hops have come to their end: no session may keep one of them. */
static void sweep_hops(struct nat_worker *nat, unsigned *budget)
{
	for (; *budget > 0 && nat->sweep_hop < nat->sessions_high; nat->sweep_hop++) {
		struct nat_session *s = &nat->sessions[nat->sweep_hop];

		s->hop_gen = 0;
		s->hop[0] = s->hop[1] = 0;
		(*budget)--;
	}
	if (nat->sweep_hop >= nat->sessions_high)
		nat->hop_gen = 1;
}

bool nat_worker_tick(struct nat_worker *nat, uint64_t now_ms, unsigned budget)
{
	clear_idle_mappings(nat, now_ms, &budget); /* that the last slice left */
	expire_sessions(nat, now_ms, &budget);
	clear_idle_mappings(nat, now_ms, &budget);
	free_held_ports(nat, now_ms, &budget);
	if (nat->sweep_due)
		sweep(nat, now_ms, &budget);
	if (nat->hop_gen == 0)
		sweep_hops(nat, &budget);
	return budget == 0 || nat->mapping_idle != NAT_NONE;
}
