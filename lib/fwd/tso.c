/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_ip.h>
#include <rte_tcp.h>

#include "tso.h"

void tso_send(struct worker *w, const struct pkt *p, const struct gro_merged *d, struct tx_way *way,
	      union nh_adj adj)
{
	const struct dp_iface *out = &w->snap->ifaces[way->iface];
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)p->nat.ip;
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)p->nat.l4;
	uint16_t thl = (uint16_t)((tcp->data_off >> 4) * 4), hlen = (uint16_t)(p->ihl + thl);
	struct rte_mbuf *head = d->segments[0], *last = head;
	uint64_t flags = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IPV4;

	for (unsigned i = 1; i < d->n; i++) {
		struct rte_mbuf *m = d->segments[i];

		m->data_off += hlen;
		m->data_len -= hlen;
		last->next = m;
		last = m;
	}
	if (w->snap->ports[out->port].tso_ip_csum) {
		flags |= RTE_MBUF_F_TX_IP_CKSUM;
		ip->hdr_checksum = 0;
	}
	/* the sum that the device goes on from: without a length, since that differs */
	tcp->cksum = csum_fold_sum(csum_pseudo_v4(ip->src_addr, ip->dst_addr, IPPROTO_TCP, 0));
	head->nb_segs = d->n;
	head->pkt_len = p->len;
	head->ol_flags = flags;
	head->tx_offload = 0;
	head->l2_len =
		sizeof(struct rte_ether_hdr) + (out->vlan != 0 ? sizeof(struct rte_vlan_hdr) : 0);
	head->l3_len = p->ihl;
	head->l4_len = thl;
	head->tso_segsz = (uint16_t)(d->len - hlen);
	w->counters->events[FWD_E_tso_packets]++;
	if (likely(way->mtu != 0)) {
		way->packets += d->n - 1u;
		way->bytes += (d->n - 1u) * (head->l2_len + hlen);
		tx_way_send(w, way, head, adj);
	} else {
		tx_datagram(w, head, way->iface, adj);
	}
}
