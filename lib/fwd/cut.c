/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "cut.h"

/* Offsets in the IPv4, TCP and UDP headers. */
#define OFF_IP_LEN    2
#define OFF_IP_TTL    8
#define OFF_IP_CHECK  10
#define OFF_IP_ADDRS  12
#define OFF_PORTS     0
#define OFF_TCP_FLAGS 13
#define OFF_TCP_CHECK 16
#define OFF_UDP_LEN   4
#define OFF_UDP_CHECK 6

static inline unsigned off_check(const struct pkt *p)
{
	return pkt_is_udp(p) ? OFF_UDP_CHECK : OFF_TCP_CHECK;
}

/* zero: what a checksum of 0 is written as. */
static inline void update_check(uint8_t *at, csum_delta_t delta, csum_be_t zero)
{
	csum_be_t check;

	memcpy(&check, at, sizeof(check));
	check = csum_apply(check, delta);
	if (unlikely(check == 0))
		check = zero;
	memcpy(at, &check, sizeof(check));
}

/* What a field changing from old to new tells of the sum under it: a checksum is that sum's
 * complement. */
static inline csum_delta_t delta_of(csum_be_t old, const uint8_t *at)
{
	csum_be_t now;

	memcpy(&now, at, sizeof(now));
	return csum_delta2(now, old);
}

/* The first segment's own lengths, flags and checksums, into the header of the whole. */
static void restore_first(const struct pkt *p, const struct gro_merged *d)
{
	uint8_t *ip = p->nat.ip, *l4 = p->nat.l4;
	rte_be16_t len_be = rte_cpu_to_be_16(d->len);
	rte_be16_t l4_len_be = rte_cpu_to_be_16(d->len - p->ihl);

	memcpy(ip + OFF_IP_LEN, &len_be, sizeof(len_be));
	memcpy(ip + OFF_IP_CHECK, &d->ip_check, sizeof(d->ip_check));
	memcpy(l4 + off_check(p), &d->l4_check, sizeof(d->l4_check));
	if (unlikely(pkt_is_udp(p)))
		memcpy(l4 + OFF_UDP_LEN, &l4_len_be, sizeof(l4_len_be));
	else
		l4[OFF_TCP_FLAGS] = d->tcp_flags;
}

void cut_send(struct worker *w, const struct pkt *p, const struct gro_merged *d, struct tx_way *way,
	      union nh_adj adj)
{
	csum_delta_t ip_delta = delta_of(d->merged_ip_check, p->nat.ip + OFF_IP_CHECK);
	unsigned at = off_check(p);
	csum_delta_t l4_delta = delta_of(d->merged_l4_check, p->nat.l4 + at);
	csum_be_t l4_zero = pkt_is_udp(p) ? csum_udp_zero(0) : 0;
	bool translated = p->nat.verdict == NAT_TRANSLATE;
	uint64_t addrs;
	uint32_t ports;
	uint8_t ttl = p->nat.ip[OFF_IP_TTL];

	memcpy(&addrs, p->nat.ip + OFF_IP_ADDRS, sizeof(addrs));
	memcpy(&ports, p->nat.l4 + OFF_PORTS, sizeof(ports));
	restore_first(p, d);
	for (unsigned i = 0; i < d->n; i++) {
		struct rte_mbuf *m = d->segments[i];
		uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *);

		ip[OFF_IP_TTL] = ttl;
		update_check(ip + OFF_IP_CHECK, ip_delta, 0);
		if (translated) {
			uint8_t *l4 = ip + p->ihl;

			memcpy(ip + OFF_IP_ADDRS, &addrs, sizeof(addrs));
			memcpy(l4 + OFF_PORTS, &ports, sizeof(ports));
			update_check(l4 + at, l4_delta, l4_zero);
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
	rte_be16_t len_be;

	*out = *p;
	out->m = m;
	n->ip = rte_pktmbuf_mtod(m, uint8_t *);
	n->l4 = n->ip + p->ihl;
	memcpy(&len_be, n->ip + OFF_IP_LEN, sizeof(len_be));
	out->len = rte_be_to_cpu_16(len_be);
	n->l4_len = (uint16_t)(out->len - p->ihl);
	n->l4_avail = RTE_MIN(n->l4_len, (uint16_t)(m->data_len - p->ihl));
	n->tcp_flags = pkt_is_udp(p) ? 0 : n->l4[OFF_TCP_FLAGS];
}
