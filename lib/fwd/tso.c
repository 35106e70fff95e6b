/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_tcp.h>

#include "tso.h"

void tso_mark(const struct worker *w, struct rte_mbuf *m, uint16_t iface, uint8_t ihl, uint16_t thl,
	      uint16_t segment)
{
	const struct dp_iface *out = &w->snap->ifaces[iface];
	struct rte_tcp_hdr *tcp = rte_pktmbuf_mtod_offset(m, struct rte_tcp_hdr *, ihl);

	m->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM;
	m->tx_offload = 0;
	tcp->cksum = ip4_tso(m, ihl, w->snap->ports[out->port].tso_ip_csum);
	m->l2_len =
		sizeof(struct rte_ether_hdr) + (out->vlan != 0 ? sizeof(struct rte_vlan_hdr) : 0);
	m->l4_len = thl;
	m->tso_segsz = segment;
}

void tso_send(struct worker *w, const struct pkt *p, const struct gro_merged *d, struct tx_way *way,
	      union nh_adj adj)
{
	uint16_t thl = (uint16_t)((p->nat.l4[12] >> 4) * 4), hlen = (uint16_t)(p->ihl + thl);
	struct rte_mbuf *head = d->segments[0], *last = head;

	for (unsigned i = 1; i < d->n; i++) {
		struct rte_mbuf *m = d->segments[i];

		m->data_off += hlen;
		m->data_len -= hlen;
		last->next = m;
		last = m;
	}
	head->nb_segs = d->n;
	head->pkt_len = p->len;
	tso_mark(w, head, way->iface, p->ihl, thl, (uint16_t)(d->len - hlen));
	w->counters->events[FWD_E_tso_packets]++;
	if (likely(way->mtu != 0)) {
		way->packets += d->n - 1u;
		way->bytes += (d->n - 1u) * (head->l2_len + hlen);
		tx_way_send(w, way, head, adj);
	} else {
		tx_datagram(w, head, way->iface, adj);
	}
}
