/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_tcp.h>
#include <rte_udp.h>

#include "cut.h"

/* Offsets in the TCP and UDP headers. */
#define OFF_PORTS     0
#define OFF_TCP_FLAGS 13
#define OFF_TCP_CHECK 16
#define OFF_UDP_LEN   4
#define OFF_UDP_CHECK 6

static inline unsigned off_check(const struct pkt *p)
{
	return pkt_is_udp(p) ? OFF_UDP_CHECK : OFF_TCP_CHECK;
}

/* The first segment's own lengths, flags and checksums, into the header of the whole. */
static void restore_first(const struct pkt *p, const struct gro_merged *d)
{
	uint8_t *l4 = p->nat.l4;

	ip4_shorten(p->nat.ip, d->len, &d->checks);
	store2(l4 + off_check(p), d->l4_check);
	if (unlikely(pkt_is_udp(p)))
		store2(l4 + OFF_UDP_LEN, rte_cpu_to_be_16(d->len - p->ihl));
	else
		l4[OFF_TCP_FLAGS] = d->tcp_flags;
}

void cut_send(struct worker *w, const struct pkt *p, const struct gro_merged *d, struct tx_way *way,
	      union nh_adj adj)
{
	struct ip4_change change = ip4_change_of(p->nat.ip, &d->checks);
	unsigned at = off_check(p);
	csum_delta_t l4_delta = delta_of(d->merged_l4_check, load2(p->nat.l4 + at));
	csum_be_t l4_zero = pkt_is_udp(p) ? csum_udp_zero(0) : 0; /* what 0 is written as */
	bool translated = p->nat.verdict == NAT_TRANSLATE;
	uint32_t ports = load4(p->nat.l4 + OFF_PORTS);

	restore_first(p, d);
	for (unsigned i = 0; i < d->n; i++) {
		struct rte_mbuf *m = d->segments[i];
		uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *);

		ip4_change(ip, &change, translated);
		if (translated) {
			uint8_t *l4 = ip + p->ihl;
			csum_be_t check = csum_apply(load2(l4 + at), l4_delta);

			memcpy(l4 + OFF_PORTS, &ports, sizeof(ports));
			store2(l4 + at, likely(check != 0) ? check : l4_zero);
		}
		if (likely(way->mtu != 0 && m->nb_segs == 1))
			tx_way_send(w, way, m, adj);
		else
			tx_datagram(w, m, way->iface, adj);
	}
	w->counters->events[FWD_E_cut_segments] += d->n;
}

void cut_undo(struct pkt *p, const struct gro_merged *d)
{
	restore_first(p, d);
	p->len = d->len;
	p->nat.l4_len = (uint16_t)(d->len - p->ihl);
	p->nat.tcp_flags = d->tcp_flags;
}

void cut_segment(const struct pkt *p, const struct gro_merged *d, unsigned i, struct pkt *out)
{
	struct rte_mbuf *m = d->segments[i];
	struct nat_pkt *n = &out->nat;

	*out = *p;
	out->m = m;
	n->ip = rte_pktmbuf_mtod(m, uint8_t *);
	n->l4 = n->ip + p->ihl;
	out->len = ip4_len(n->ip);
	n->l4_len = (uint16_t)(out->len - p->ihl);
	n->l4_avail = RTE_MIN(n->l4_len, (uint16_t)(m->data_len - p->ihl));
	n->tcp_flags = pkt_is_udp(p) ? 0 : n->l4[OFF_TCP_FLAGS];
}
