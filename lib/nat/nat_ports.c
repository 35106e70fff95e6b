/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_ports.h"

#define EVEN UINT64_C(0x5555555555555555)

static uint64_t parity_mask(int parity)
{
	return parity < 0 ? ~UINT64_C(0) : EVEN << parity;
}

static void summarize(struct nat_ports *p, unsigned word)
{
	for (int parity = 0; parity < 2; parity++) {
		uint64_t bit = UINT64_C(1) << (word & 63);

		if ((~p->taken[word] & parity_mask(parity)) == 0)
			p->full[parity][word >> 6] |= bit;
		else
			p->full[parity][word >> 6] &= ~bit;
	}
}

void nat_ports_take(struct nat_ports *p, uint16_t port)
{
	p->taken[port >> 6] |= UINT64_C(1) << (port & 63);
	summarize(p, port >> 6);
}

void nat_ports_give(struct nat_ports *p, uint16_t port)
{
	p->taken[port >> 6] &= ~(UINT64_C(1) << (port & 63));
	summarize(p, port >> 6);
}

/* First word in [from, to] that has a free port of the parity, or -1. */
static int free_word(const struct nat_ports *p, unsigned from, unsigned to, int parity)
{
	for (unsigned s = from >> 6; s <= to >> 6; s++) {
		uint64_t open = parity < 0 ? ~(p->full[0][s] & p->full[1][s]) : ~p->full[parity][s];

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
static int find_up(const struct nat_ports *p, unsigned lo, unsigned hi, int parity)
{
	unsigned first = lo >> 6, last = hi >> 6;

	for (;;) {
		int word = free_word(p, first, last, parity);
		uint64_t open;

		if (word < 0)
			return -1;
		open = ~p->taken[word] & parity_mask(parity);
		if ((unsigned)word == lo >> 6)
			open &= ~UINT64_C(0) << (lo & 63);
		if ((unsigned)word == last && (hi & 63) != 63)
			open &= (UINT64_C(1) << ((hi & 63) + 1)) - 1;
		if (open != 0)
			return word * 64 + __builtin_ctzll(open);
		/* only the ends can disappoint: the first word once, the last for good */
		if ((unsigned)word == last)
			return -1;
		first = (unsigned)word + 1;
	}
}

int nat_ports_find(const struct nat_ports *p, uint16_t lo, uint16_t hi, uint16_t start, int parity)
{
	int port = find_up(p, start, hi, parity);

	if (port < 0 && start > lo)
		port = find_up(p, lo, start - 1u, parity);
	return port;
}
