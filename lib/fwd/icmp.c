/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_cycles.h>
#include <rte_icmp.h>
#include <rte_ip.h>

#include "csum.h"
#include "icmp.h"
#include "output.h"
#include "steer.h"

#define ICMP_DATAGRAM_MAX 576 /* RFC 1812 4.3.2.3 */
#define ICMP_TTL	  64
#define ICMP_TOS	  0xc0 /* internetwork control, RFC 1812 4.3.2.5 */

rte_be32_t icmp_source(const struct dp_iface *iface, rte_be32_t peer_be)
{
	for (unsigned i = 0; i < iface->n_addrs; i++) {
		if (((iface->addrs[i].addr_be ^ peer_be) & iface->addrs[i].mask_be) == 0)
			return iface->addrs[i].addr_be;
	}
	return iface->n_addrs > 0 ? iface->addrs[0].addr_be : 0;
}

/* RFC 1812 4.3.2.7: never about ICMP errors, later fragments, or what came from no single host.
 * Broadcast and multicast were dropped before. */
static bool may_answer(const struct rte_ipv4_hdr *ip, uint32_t contiguous)
{
	uint32_t ihl = (ip->version_ihl & 0xfu) * 4;
	uint32_t src = rte_be_to_cpu_32(ip->src_addr);

	if (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK))
		return false;
	if (src >> 24 == 0 || src >> 24 == 127 || src >= IP4_MULTICAST)
		return false;
	if (ip->next_proto_id == IPPROTO_ICMP) {
		if (contiguous <= ihl)
			return false;
		switch (*((const uint8_t *)ip + ihl)) {
		case 0:
		case 8:
		case 13:
		case 14:
		case 15:
		case 16:
		case 17:
		case 18:
			break; /* queries and replies only: unknown types may be errors */
		default:
			return false;
		}
	}
	return true;
}

struct rte_mbuf *icmp_build(const struct rte_mbuf *m, rte_be32_t src_be, uint8_t type, uint8_t code,
			    uint16_t mtu, uint16_t ip_id)
{
	const struct rte_ipv4_hdr *in = rte_pktmbuf_mtod(m, const struct rte_ipv4_hdr *);
	const uint16_t headers = sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_icmp_hdr);
	uint16_t quote = (uint16_t)RTE_MIN(m->pkt_len, (uint32_t)(ICMP_DATAGRAM_MAX - headers));
	struct rte_ipv4_hdr *ip;
	struct rte_icmp_hdr *icmp;
	struct rte_mbuf *e;
	const void *bytes;

	if (src_be == 0 || !may_answer(in, m->data_len))
		return NULL;
	e = rte_pktmbuf_alloc(dp.pool);
	if (e == NULL)
		return NULL;
	ip = (struct rte_ipv4_hdr *)rte_pktmbuf_append(e, headers + quote);
	if (ip == NULL) {
		rte_pktmbuf_free(e);
		return NULL;
	}
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = ICMP_TOS,
		.total_length = rte_cpu_to_be_16(headers + quote),
		.packet_id = rte_cpu_to_be_16(ip_id),
		.time_to_live = ICMP_TTL,
		.next_proto_id = IPPROTO_ICMP,
		.src_addr = src_be,
		.dst_addr = in->src_addr,
	};
	ip->hdr_checksum = csum_ipv4_header(ip, sizeof(*ip));
	icmp = (struct rte_icmp_hdr *)(ip + 1);
	*icmp = (struct rte_icmp_hdr){
		.icmp_type = type,
		.icmp_code = code,
		.icmp_seq_nb = rte_cpu_to_be_16(mtu), /* RFC 1191: the next hop's MTU is here */
	};
	bytes = rte_pktmbuf_read(m, 0, quote, icmp + 1);
	if (bytes != (const void *)(icmp + 1))
		memcpy(icmp + 1, bytes, quote);
	icmp->icmp_cksum = csum_fold(csum_partial(icmp, sizeof(*icmp) + quote, 0));
	return e;
}

void icmp_error(struct worker *w, const struct pkt *p, uint8_t type, uint8_t code, uint16_t mtu)
{
	const struct dp_iface *iface;
	struct rte_mbuf *e;

	if (p->nat.iface >= FWD_MAX_IFACES)
		return;
	iface = &w->snap->ifaces[p->nat.iface];
	if (!may_answer(rte_pktmbuf_mtod(p->m, const struct rte_ipv4_hdr *), p->m->data_len))
		return;
	if (!token_take(&w->icmp_bucket, w->now_ms)) {
		w->counters->events[FWD_E_icmp_errors_limited]++;
		return;
	}
	e = icmp_build(p->m, icmp_source(iface, p->nat.key.src_be), type, code, mtu, w->ip_id++);
	if (e == NULL)
		return;
	w->counters->events[FWD_E_icmp_errors_out]++;
	if (unlikely(p->nat.flags & NAT_PKT_DESTINATION))
		steer_error(w, e, p->nat.iface);
	else
		output_own(w, e, p->nat.iface);
}

void icmp_nat_refused(struct worker *w, struct pkt *p)
{
	switch (p->nat.reason) {
	case NAT_R_nat_sessions_full:
	case NAT_R_nat_mappings_full:
	case NAT_R_nat_pool_exhausted:
	case NAT_R_nat_no_address:
	case NAT_R_nat_protocol_in_use:
		if (nat_config_refuse_icmp(w->snap->nat))
			icmp_error(w, p, ICMP_UNREACHABLE, ICMP_ADMIN_PROHIBITED, 0);
		break;
	default:
		break;
	}
	worker_drop(w, p->m, p->nat.iface, FWD_D_NAT + p->nat.reason - 1);
}

void icmp_host_unreachable(struct rte_mbuf *m)
{
	static struct token_bucket bucket = {.rate_s = 100, .burst = 50};
	static uint16_t ip_id;
	const struct fwd_snapshot *snap = atomic_load(&dp.snapshot);
	struct dp_counters *c = dp.counters[dp.n_workers];
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, const struct rte_ipv4_hdr *);
	uint16_t ingress = fwd_priv(m)->iface;
	struct rte_mbuf *e = NULL;

	dp_drop_count(c, ingress, FWD_D_host_unreachable);
	if (ingress < FWD_MAX_IFACES && (snap->ifaces[ingress].flags & IFACE_PRESENT)) {
		if (token_take(&bucket, rte_get_timer_cycles() * 1000 / rte_get_timer_hz()))
			e = icmp_build(m, icmp_source(&snap->ifaces[ingress], ip->src_addr),
				       ICMP_UNREACHABLE, ICMP_HOST_UNREACHABLE, 0, ip_id++);
		else
			c->events[FWD_E_icmp_errors_limited]++;
	}
	rte_pktmbuf_free(m);
	if (e == NULL)
		return;
	/* the datagram was translated before it was held: its error goes the way of one from
	 * outside, so that the quote and the address that it goes to are translated back */
	fwd_priv(e)->iface = ingress;
	fwd_priv(e)->kind = HANDOVER_ANY;
	if (rte_ring_mp_enqueue(dp.handover[0], e) != 0)
		rte_pktmbuf_free(e);
	else
		c->events[FWD_E_icmp_errors_out]++;
}
