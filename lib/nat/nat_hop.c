/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sessions remember of routing, by generations: a session's numbers count while its generation
 * is the worker's. Generations are 8 bits, so before one comes again the sessions are swept
 * (nat_tick.c), and while that lasts nothing is kept.
 */
#include "nat_worker.h"

void nat_hop_keep(struct nat_worker *nat, const struct nat_pkt *pkt, uint16_t hop)
{
	struct nat_session *s = &nat->sessions[pkt->session];
	unsigned d = pkt->dir;

	if (nat_unlikely(nat->hop_gen == 0))
		return;
	if (s->hop_gen != nat->hop_gen) {
		s->hop_gen = nat->hop_gen;
		s->hop[!d] = 0;
	}
	s->hop[d] = hop;
}

void nat_hop_forget(struct nat_worker *nat)
{
	if (nat->hop_gen == 0)
		return; /* what the sweep has not reached yet is of another generation */
	nat->hop_gen++;
	nat->sweep_hop = 0;
}
