/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a datagram that is ready to leave to its next hop: ECMP choice, adjacency, or the way to
 * control that resolves the neighbour. Worker thread.
 */
#ifndef FWD_OUTPUT_H
#define FWD_OUTPUT_H

#include "worker_ctx.h"

/* Index of the next hop for dst_be (longest match); 0: no route. */
uint32_t output_lookup(const struct fwd_snapshot *snap, rte_be32_t dst_be);

/* A member of the group by flow hash; any other index as it is. */
static inline uint32_t output_member(uint32_t nh, const struct nat_key *key)
{
	const struct fwd_nexthop *n = &dp.nexthops[nh];
	uint64_t h;

	if (likely(n->type != NH_GROUP))
		return nh;
	h = ((uint64_t)key->src_be << 32 | key->dst_be) * 0x9e3779b97f4a7c15ull;
	h ^= ((uint64_t)key->sport_be << 32 | (uint32_t)key->dport_be << 8 | key->proto) *
	     0xc2b2ae3d27d4eb4full;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return n->members[((h >> 32) * n->n_members) >> 32];
}

/* What routing says of a next hop, in lib/nat's words. */
static inline int output_egress(uint32_t nh)
{
	const struct fwd_nexthop *n = &dp.nexthops[nh];

	switch (n->type) {
	case NH_LOCAL:
		return NAT_EGRESS_LOCAL;
	case NH_GLEAN:
	case NH_NEIGHBOUR:
		return n->iface;
	case NH_GROUP:
		return dp.nexthops[n->members[0]].iface;
	default:
		return -1;
	}
}

/* Sends m (at its IPv4 header, TTL and translation done) to next hop nh, which is of type NH_GLEAN
 * or NH_NEIGHBOUR; ingress is for the counters, dst_be for NH_GLEAN. Takes the mbuf. */
void output_send(struct worker *w, struct rte_mbuf *m, uint32_t nh, rte_be32_t dst_be,
		 uint16_t ingress);

/* Routes and sends a datagram that the router itself made. Takes the mbuf. */
void output_own(struct worker *w, struct rte_mbuf *m, uint16_t ingress);

/* Hands m to the control thread. Takes the mbuf. */
void output_punt(struct worker *w, struct rte_mbuf *m, enum punt_kind kind, uint16_t ingress);

#endif /* FWD_OUTPUT_H */
