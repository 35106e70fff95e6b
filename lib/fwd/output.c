/* SPDX-License-Identifier: BSD-3-Clause */
#include <unistd.h>

#include <rte_ip.h>

#include "output.h"
#include "tx.h"

uint32_t output_lookup(const struct fwd_snapshot *snap, rte_be32_t dst_be)
{
	uint32_t ip = rte_be_to_cpu_32(dst_be);
	uint64_t nh = 0;

	rte_fib_lookup_bulk(snap->fib, &ip, &nh, 1);
	return (uint32_t)nh;
}

void output_punt(struct worker *w, struct rte_mbuf *m, enum punt_kind kind, uint16_t ingress)
{
	struct fwd_mbuf_priv *priv = fwd_priv(m);
	uint64_t one = 1;

	priv->iface = ingress;
	priv->kind = kind;
	priv->worker = (uint8_t)w->id;
	if (unlikely(rte_ring_mp_enqueue(dp.punt, m) != 0)) {
		worker_drop(w, m, ingress, FWD_D_punt_full);
		return;
	}
	w->counters->events[FWD_E_punts]++;
	/* one write wakes control, however many are enqueued until it looks */
	if (!atomic_exchange(&dp.punt_signalled, true)) {
		ssize_t n = write(dp.punt_event_fd, &one, sizeof(one));

		RTE_SET_USED(
			n); /* an eventfd can only fail by being full, and then it is readable */
	}
}

void output_send(struct worker *w, struct rte_mbuf *m, uint32_t nh, rte_be32_t dst_be,
		 uint16_t ingress)
{
	struct fwd_nexthop *n = &dp.nexthops[nh];
	union nh_adj adj = {.word = atomic_load_explicit(&n->adj, memory_order_relaxed)};

	if (likely(adj.usable)) {
		tx_datagram(w, m, n->iface, adj);
		return;
	}
	fwd_priv(m)->nh = nh;
	fwd_priv(m)->dst_be = dst_be;
	output_punt(w, m, PUNT_HOLD, ingress);
}

void output_own(struct worker *w, struct rte_mbuf *m, uint16_t ingress)
{
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, const struct rte_ipv4_hdr *);
	struct nat_key key = {
		.src_be = ip->src_addr, .dst_be = ip->dst_addr, .proto = ip->next_proto_id};
	uint32_t nh = output_member(output_lookup(w->snap, ip->dst_addr), &key);

	switch (dp.nexthops[nh].type) {
	case NH_GLEAN:
	case NH_NEIGHBOUR:
		output_send(w, m, nh, ip->dst_addr, ingress);
		return;
	case NH_LOCAL:
	case NH_BROADCAST:
		worker_drop(w, m, ingress, FWD_D_local_unhandled);
		return;
	default:
		worker_drop(w, m, ingress, FWD_D_no_route);
	}
}
