/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_cycles.h>
#include <rte_ip.h>
#include <rte_prefetch.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "csum.h"
#include "forward.h"
#include "tx.h"

#define PREFETCH_AHEAD 4

static const char *const stage_names[STAGES] = {
	[STAGE_RECEIVE] = "receive",   [STAGE_PARSE] = "parse", [STAGE_MERGE] = "merge",
	[STAGE_LOOKUP] = "lookup",     [STAGE_ROUTE] = "route", [STAGE_FORWARD] = "forward",
	[STAGE_TRANSMIT] = "transmit",
};

const char *stage_name(enum stage s)
{
	return stage_names[s];
}

/* ---- testpmd's engines ----------------------------------------------------------------------- */

static inline void swap_macs(struct rte_ether_hdr *eth)
{
	struct rte_ether_addr a = eth->dst_addr;

	eth->dst_addr = eth->src_addr;
	eth->src_addr = a;
}

static inline void edit_none(struct lane *l, struct rte_mbuf *m, unsigned to)
{
	RTE_SET_USED(l);
	RTE_SET_USED(m);
	RTE_SET_USED(to);
}

static inline void edit_mac(struct lane *l, struct rte_mbuf *m, unsigned to)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);

	RTE_SET_USED(l);
	eth->dst_addr = (struct rte_ether_addr){{0x02, 0, 0, 0, 0, (uint8_t)to}};
	eth->src_addr = ports.macs[to];
}

/* The IPv4 header of an untagged frame with at least min bytes behind it, or NULL. */
static inline struct rte_ipv4_hdr *ip4_of(struct rte_mbuf *m, unsigned min)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, sizeof(*eth));

	if (unlikely(m->data_len < sizeof(*eth) + sizeof(*ip) ||
		     eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4) ||
		     ip->version_ihl >> 4 != 4 || (ip->version_ihl & 0xf) < 5))
		return NULL;
	return m->data_len < sizeof(*eth) + (ip->version_ihl & 0xfu) * 4 + min ? NULL : ip;
}

static inline void edit_5tswap(struct lane *l, struct rte_mbuf *m, unsigned to)
{
	struct rte_ipv4_hdr *ip = ip4_of(m, sizeof(struct rte_udp_hdr));
	rte_be32_t addr;

	RTE_SET_USED(l);
	RTE_SET_USED(to);
	swap_macs(rte_pktmbuf_mtod(m, struct rte_ether_hdr *));
	if (unlikely(ip == NULL))
		return;
	addr = ip->src_addr;
	ip->src_addr = ip->dst_addr;
	ip->dst_addr = addr;
	if (likely(ip->next_proto_id == IPPROTO_UDP || ip->next_proto_id == IPPROTO_TCP)) {
		struct rte_udp_hdr *udp =
			(struct rte_udp_hdr *)((uint8_t *)ip + (ip->version_ihl & 0xf) * 4);
		rte_be16_t port = udp->src_port;

		udp->src_port = udp->dst_port;
		udp->dst_port = port;
	}
}

/* Validates both checksums and computes them anew; the payload is read once. */
static inline void edit_csum(struct lane *l, struct rte_mbuf *m, unsigned to)
{
	struct rte_ipv4_hdr *ip = ip4_of(m, sizeof(struct rte_udp_hdr));
	unsigned ihl, l4_len, at;
	uint8_t *l4;
	csum_sum_t sum;
	csum_be_t check;

	edit_mac(l, m, to);
	if (unlikely(ip == NULL))
		return;
	ihl = (ip->version_ihl & 0xf) * 4;
	l4_len = rte_be_to_cpu_16(ip->total_length);
	if (unlikely(!csum_ipv4_header_ok(ip, ihl) || l4_len < ihl + sizeof(struct rte_udp_hdr) ||
		     l4_len + sizeof(struct rte_ether_hdr) > m->data_len)) {
		l->bad_checksums++;
		return;
	}
	ip->hdr_checksum = csum_ipv4_header(ip, ihl);
	l4_len -= ihl;
	l4 = (uint8_t *)ip + ihl;
	if (ip->next_proto_id == IPPROTO_UDP)
		at = offsetof(struct rte_udp_hdr, dgram_cksum);
	else if (ip->next_proto_id == IPPROTO_TCP && l4_len >= sizeof(struct rte_tcp_hdr))
		at = offsetof(struct rte_tcp_hdr, cksum);
	else
		return;
	sum = csum_partial(l4, l4_len,
			   csum_pseudo_v4(ip->src_addr, ip->dst_addr, ip->next_proto_id,
					  (uint16_t)l4_len));
	l->bad_checksums += csum_fold_sum(sum) != 0xffff;
	memcpy(&check, l4 + at, sizeof(check));
	check = csum_udp_zero(csum_fold(csum_sub(sum, check)));
	memcpy(l4 + at, &check, sizeof(check));
	l->payload_received += l4_len;
	l->payload_summed += l4_len;
}

static __rte_always_inline unsigned turn(struct lane *l,
					 void (*edit)(struct lane *l, struct rte_mbuf *m,
						      unsigned to))
{
	unsigned got = 0;

	for (unsigned i = 0; i < ports.n; i++) {
		unsigned to = ports_peer(i);

		for (uint16_t q = (uint16_t)l->id; q < ports.n_rxq; q += (uint16_t)dp.n_workers) {
			uint16_t txq = (uint16_t)(l->id % ports.n_txq);
			struct rte_mbuf *m[BURST_MAX];
			uint16_t n = rte_eth_rx_burst(ports.ids[i], q, m, BURST_MAX), sent;

			if (n == 0)
				continue;
			got += n;
			if (edit != edit_none) {
				for (uint16_t k = 0; k < n && k < PREFETCH_AHEAD; k++)
					rte_prefetch0(rte_pktmbuf_mtod(m[k], void *));
				for (uint16_t k = 0; k < n; k++) {
					if (k + PREFETCH_AHEAD < n)
						rte_prefetch0(rte_pktmbuf_mtod(
							m[k + PREFETCH_AHEAD], void *));
					edit(l, m[k], to);
				}
			}
			sent = rte_eth_tx_burst(ports.ids[to], txq, m, n);
			if (unlikely(sent < n)) {
				l->tx_dropped[to] += n - sent;
				rte_pktmbuf_free_bulk(m + sent, n - sent);
			}
		}
	}
	return got;
}

static unsigned turn_io(struct lane *l)
{
	return turn(l, edit_none);
}

static unsigned turn_mac(struct lane *l)
{
	return turn(l, edit_mac);
}

static unsigned turn_5tswap(struct lane *l)
{
	return turn(l, edit_5tswap);
}

static unsigned turn_csum(struct lane *l)
{
	return turn(l, edit_csum);
}

/* ---- the router ------------------------------------------------------------------------------ */

static unsigned turn_router(struct lane *l)
{
	return worker_turn(dp.workers[l->id]);
}

/* As worker_turn(), without what other threads hand over. */
unsigned forward_turn_timed(struct lane *l)
{
	struct worker *w = dp.workers[l->id];
	const struct dp_worker_conf *conf;
	uint64_t stages[WORKER_STAGES] = {0}, t, last = rte_rdtsc();
	unsigned got = 0;

	worker_turn_begin(w);
	conf = &w->snap->workers[w->id];
	for (unsigned q = 0; q < conf->n_rxq; q++) {
		struct rte_mbuf *m[FWD_BURST];
		unsigned n = worker_receive(conf->rxq[q].port, conf->rxq[q].queue, m);

		t = rte_rdtsc();
		l->stages[STAGE_RECEIVE] += t - last;
		if (n > 0)
			worker_frames_timed(w, m, n, conf->rxq[q].port, stages);
		got += n;
		last = rte_rdtsc();
	}
	tx_flush(w);
	t = rte_rdtsc();
	l->stages[STAGE_TRANSMIT] += t - last;
	for (unsigned i = 0; i < WORKER_STAGES; i++)
		l->stages[STAGE_PARSE + i] += stages[i];
	return got;
}

turn_fn forward_turn(enum mode mode)
{
	switch (mode) {
	case MODE_IO:
		return turn_io;
	case MODE_MAC:
		return turn_mac;
	case MODE_5TSWAP:
		return turn_5tswap;
	case MODE_CSUM:
		return turn_csum;
	default:
		return turn_router;
	}
}
