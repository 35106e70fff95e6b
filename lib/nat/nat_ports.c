/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_ports.h"

#include <stddef.h>

#define EVEN UINT64_C(0x5555555555555555)

static uint64_t parity_mask(int parity)
{
	return parity < 0 ? ~UINT64_C(0) : EVEN << parity;
}

static uint64_t get(const _Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

/* Sets or clears a bit; returns the word as it was. */
static uint64_t set(_Atomic uint64_t *at, uint64_t bit, bool alone)
{
	uint64_t was;

	if (!alone)
		return atomic_fetch_or(at, bit);
	was = get(at);
	atomic_store_explicit(at, was | bit, memory_order_relaxed);
	return was;
}

static uint64_t clear(_Atomic uint64_t *at, uint64_t bit, bool alone)
{
	uint64_t was;

	if (!alone)
		return atomic_fetch_and(at, ~bit);
	was = get(at);
	atomic_store_explicit(at, was & ~bit, memory_order_relaxed);
	return was;
}

static bool is_full(uint64_t taken, int parity)
{
	return (~taken & parity_mask(parity)) == 0;
}

bool nat_ports_take(struct nat_ports *p, uint16_t port, bool alone)
{
	uint64_t bit = UINT64_C(1) << (port & 63), was;
	unsigned word = port >> 6;
	int parity = port & 1;

	was = set(&p->taken[word], bit, alone);
	if (was & bit)
		return false;
	if (is_full(was | bit, parity)) {
		uint64_t mark = UINT64_C(1) << (word & 63);

		set(&p->full[parity][word >> 6], mark, alone);
		/* whoever gave a port back meanwhile may have unmarked the word too early */
		if (!is_full(atomic_load(&p->taken[word]), parity))
			clear(&p->full[parity][word >> 6], mark, alone);
	}
	return true;
}

void nat_ports_give(struct nat_ports *p, uint16_t port, bool alone)
{
	unsigned word = port >> 6;
	int parity = port & 1;

	/* where somebody else took the last port a moment ago and has yet to mark the word, the
	 * word is not full any more when it does */
	if (is_full(clear(&p->taken[word], UINT64_C(1) << (port & 63), alone), parity))
		clear(&p->full[parity][word >> 6], UINT64_C(1) << (word & 63), alone);
}

/* First word in [from, to] that has a free port of the parity and is in groups, or -1. */
static int free_word(const struct nat_ports *p, unsigned from, unsigned to, int parity,
		     const struct nat_port_groups *groups)
{
	for (unsigned s = from >> 6; s <= to >> 6; s++) {
		uint64_t open = parity < 0 ? ~(get(&p->full[0][s]) & get(&p->full[1][s]))
					   : ~get(&p->full[parity][s]);

		if (groups != NULL)
			open &= groups->in[s & 1];
		if (s == from >> 6)
			open &= ~UINT64_C(0) << (from & 63);
		if (s == to >> 6 && (to & 63) != 63)
			open &= (UINT64_C(1) << ((to & 63) + 1)) - 1;
		if (open != 0)
			return (int)(s << 6) + __builtin_ctzll(open);
	}
	return -1;
}

/* First free port in [lo, hi], not going round. */
static int find_up(const struct nat_ports *p, unsigned lo, unsigned hi, int parity,
		   const struct nat_port_groups *groups)
{
	unsigned first = lo >> 6, last = hi >> 6;

	for (;;) {
		int word = free_word(p, first, last, parity, groups);
		uint64_t open;

		if (word < 0)
			return -1;
		open = ~get(&p->taken[word]) & parity_mask(parity);
		if ((unsigned)word == lo >> 6)
			open &= ~UINT64_C(0) << (lo & 63);
		if ((unsigned)word == last && (hi & 63) != 63)
			open &= (UINT64_C(1) << ((hi & 63) + 1)) - 1;
		if (open != 0)
			return word * 64 + __builtin_ctzll(open);
		/* only the ends can disappoint, or a word that is being filled at this moment */
		if ((unsigned)word == last)
			return -1;
		first = (unsigned)word + 1;
	}
}

int nat_ports_find(const struct nat_ports *p, uint16_t lo, uint16_t hi, uint16_t start, int parity,
		   const struct nat_port_groups *groups)
{
	int port = find_up(p, start, hi, parity, groups);

	if (port < 0 && start > lo)
		port = find_up(p, lo, start - 1u, parity, groups);
	return port;
}
