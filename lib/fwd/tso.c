/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_tcp.h>

#include "cut.h"
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

/* n of the segments, behind the header of the first, which is that of them all: len bytes. */
static void send_chain(struct worker *w, const struct pkt *p, const struct gro_merged *d,
		       struct rte_mbuf *const *segments, uint8_t n, uint16_t len,
		       struct tx_way *way, union nh_adj adj)
{
	uint16_t thl = (uint16_t)((p->nat.l4[12] >> 4) * 4), hlen = (uint16_t)(p->ihl + thl);
	struct rte_mbuf *head = segments[0], *last = head;

	for (unsigned i = 1; i < n; i++) {
		struct rte_mbuf *m = segments[i];

		m->data_off += hlen;
		m->data_len -= hlen;
		last->next = m;
		last = m;
	}
	head->nb_segs = n;
	head->pkt_len = len;
	tso_mark(w, head, way->iface, p->ihl, thl, (uint16_t)(d->len - hlen));
	w->counters->events[FWD_E_tso_packets]++;
	if (likely(way->mtu != 0)) {
		way->packets += n - 1u;
		way->bytes += (n - 1u) * (head->l2_len + hlen);
		tx_way_send(w, way, head, adj);
	} else {
		tx_datagram(w, head, way->iface, adj);
	}
}

/* In parts of about the same size, each behind its first segment's own header, to which rewriting
 * did what it did to that of the whole. */
static void send_parts(struct worker *w, struct pkt *p, const struct gro_merged *d, unsigned parts,
		       struct tx_way *way, union nh_adj adj)
{
	struct ip4_change change = ip4_change_of(p->nat.ip, &d->checks);
	bool translated = p->nat.verdict == NAT_TRANSLATE;
	uint16_t len = p->len, hlen = (uint16_t)(p->ihl + (p->nat.l4[12] >> 4) * 4);
	uint8_t end = p->nat.l4[13];
	uint32_t ports = load4(p->nat.l4);

	cut_undo(p, d);
	for (unsigned part = 0, i = 0, to; part < parts; part++, i = to) {
		uint8_t *ip = rte_pktmbuf_mtod(d->segments[i], uint8_t *), *l4 = ip + p->ihl;
		uint32_t size = d->len - hlen; /* of a payload; the last one's is what is left */
		struct ip4_checks checks;

		to = d->n * (part + 1) / parts;
		ip4_change(ip, &change, translated);
		memcpy(l4, &ports, sizeof(ports));
		if (to == d->n)
			l4[13] = end;
		ip4_lengthen(ip, (uint16_t)(to == d->n ? len - i * size : hlen + (to - i) * size),
			     &checks);
		send_chain(w, p, d, d->segments + i, (uint8_t)(to - i), ip4_len(ip), way, adj);
	}
}

void tso_send(struct worker *w, struct pkt *p, const struct gro_merged *d, struct tx_way *way,
	      union nh_adj adj)
{
	unsigned most = w->snap->ports[w->snap->ifaces[way->iface].port].tso_segs;

	if (likely(d->n <= most))
		send_chain(w, p, d, d->segments, d->n, p->len, way, adj);
	else
		send_parts(w, p, d, (d->n + most - 1) / most, way, adj);
}
