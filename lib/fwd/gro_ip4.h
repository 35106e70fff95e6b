/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that merging (gro.c), cutting (cut.c) and leaving whole (tso.c) know of the network header,
 * which is IPv4's: what is a flow, what has to be the same, how ids go on, length, header checksum,
 * pseudo-header. IPv6 goes in here, beside each of these functions, and nowhere else in them.
 * Worker thread.
 */
#ifndef FWD_GRO_IP4_H
#define FWD_GRO_IP4_H

#include <string.h>

#include <rte_ip.h>
#include <rte_mbuf.h>

#include "parse.h"

enum { IP4_LEN = 2, IP4_ID = 4, IP4_FLAGS = 6, IP4_TTL = 8, IP4_CHECK = 10, IP4_ADDRS = 12 };

static inline uint64_t load8(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load4(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint16_t load2(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store2(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* ---- flows ----------------------------------------------------------------------------------- */

/* 64 bits, of which the upper ones tell flows apart. */
static inline uint64_t ip4_flow_hash(const struct nat_key *key)
{
	uint64_t a, b;

	memcpy(&a, key, sizeof(a));
	memcpy(&b, (const uint8_t *)key + sizeof(a), sizeof(b));
	return (a ^ b * 0x9e3779b97f4a7c15ull) * 0xc2b2ae3d27d4eb4full;
}

/* 0: the same flow. */
static inline uint64_t ip4_flow_differs(const struct nat_key *a, const struct nat_key *b)
{
	const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;

	return (load8(x) ^ load8(y)) | (load8(x + 8) ^ load8(y + 8));
}

/* Where p's header differs from that of a datagram of its flow in what has to be the same: what
 * Linux's GRO compares. 0: nowhere. */
static inline uint64_t ip4_differs(const uint8_t *first, const struct pkt *p)
{
	/* all but length and id */
	static const uint8_t ip_0[8] = {0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff};
	/* TTL and protocol; addresses are the flow's */
	static const uint8_t ip_8[8] = {0xff, 0xff};
	const uint8_t *ip = p->nat.ip;
	uint64_t d;

	d = (load8(ip) ^ load8(first)) & load8(ip_0);
	d |= (load8(ip + 8) ^ load8(first + 8)) & load8(ip_8);
	if (likely(d == 0)) /* their lengths are the same */
		for (unsigned i = sizeof(struct rte_ipv4_hdr); unlikely(i < p->ihl); i += 4)
			d |= load4(ip + i) ^ load4(first + i);
	return d;
}

/* How ids go on from one datagram of a run to the next: by 1, by 0 (with DF), or -1 while there is
 * only one. */
struct ip4_ids {
	uint16_t next; /* if they rise */
	int8_t step;
};

static inline void ip4_ids_begin(struct ip4_ids *ids, const uint8_t *ip)
{
	ids->next = (uint16_t)(rte_be_to_cpu_16(load2(ip + IP4_ID)) + 1);
	ids->step = -1;
}

static inline uint16_t ip4_step(const struct ip4_ids *ids, const uint8_t *ip)
{
	return (uint16_t)(rte_be_to_cpu_16(load2(ip + IP4_ID)) - ids->next + 1);
}

/* 0: it goes on with this one. */
static inline unsigned ip4_ids_differ(const struct ip4_ids *ids, const uint8_t *ip)
{
	uint16_t step = ip4_step(ids, ip);
	bool df = ip[IP4_FLAGS] & (RTE_IPV4_HDR_DF_FLAG >> 8);

	return (step > 1) | ((step == 0) & !df) | ((ids->step >= 0) & (step != ids->step));
}

static inline void ip4_ids_go_on(struct ip4_ids *ids, const uint8_t *ip)
{
	uint16_t step = ip4_step(ids, ip);

	ids->step = (int8_t)step;
	ids->next = (uint16_t)(ids->next + step);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Of the pseudo-header of p, not folded. */
static inline uint64_t ip4_pseudo_acc(const struct pkt *p)
{
	return (uint64_t)p->nat.key.src_be + p->nat.key.dst_be +
	       csum_host_word((uint64_t)p->nat.key.proto + p->nat.l4_len);
}

/* ---- the header of the whole ----------------------------------------------------------------- */

/* Header checksums: of the first segment, and of the whole. */
struct ip4_checks {
	csum_be_t first, whole;
};

/* Bytes of the datagram at ip. */
static inline uint16_t ip4_len(const uint8_t *ip)
{
	return rte_be_to_cpu_16(load2(ip + IP4_LEN));
}

/* The header at ip becomes that of a datagram of len bytes. */
static inline void ip4_lengthen(uint8_t *ip, uint16_t len, struct ip4_checks *c)
{
	rte_be16_t len_be = rte_cpu_to_be_16(len);

	c->first = c->whole = load2(ip + IP4_CHECK);
	csum_replace2(&c->whole, load2(ip + IP4_LEN), len_be);
	store2(ip + IP4_LEN, len_be);
	store2(ip + IP4_CHECK, c->whole);
}

/* And again that of the first segment. */
static inline void ip4_shorten(uint8_t *ip, uint16_t len, const struct ip4_checks *c)
{
	store2(ip + IP4_LEN, rte_cpu_to_be_16(len));
	store2(ip + IP4_CHECK, c->first);
}

/* Does a device that cuts the whole make the ids and the header of each segment? Drivers differ
 * about options. */
static inline bool ip4_like_tso(const struct ip4_ids *ids, const struct pkt *p)
{
	return ids->step == 1 && p->ihl == sizeof(struct rte_ipv4_hdr);
}

/* ---- the segments' headers ------------------------------------------------------------------- */

/* What rewriting did to the header of the whole. */
struct ip4_change {
	uint64_t addrs;
	csum_delta_t delta;
	uint8_t ttl;
};

/* What changing a checksum field from old to new tells of the sum under it, its complement. */
static inline csum_delta_t delta_of(csum_be_t old, csum_be_t now)
{
	return csum_delta2(now, old);
}

static inline struct ip4_change ip4_change_of(const uint8_t *ip, const struct ip4_checks *c)
{
	return (struct ip4_change){
		.addrs = load8(ip + IP4_ADDRS),
		.delta = delta_of(c->whole, load2(ip + IP4_CHECK)),
		.ttl = ip[IP4_TTL],
	};
}

/* The same for a segment's, whose addresses change only where it is translated. */
static inline void ip4_change(uint8_t *ip, const struct ip4_change *c, bool translated)
{
	ip[IP4_TTL] = c->ttl;
	store2(ip + IP4_CHECK, csum_apply(load2(ip + IP4_CHECK), c->delta));
	if (translated)
		memcpy(ip + IP4_ADDRS, &c->addrs, sizeof(c->addrs));
}

/* ---- a device that cuts ---------------------------------------------------------------------- */

/* Tells the device that m begins with this header, and that its checksum is its to make, if so.
 * Returns the sum that it goes on from in the transport header: without a length, since that
 * differs. */
static inline uint16_t ip4_tso(struct rte_mbuf *m, uint8_t ihl, bool ip_csum)
{
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *);

	m->ol_flags |= RTE_MBUF_F_TX_IPV4;
	m->l3_len = ihl;
	if (ip_csum) {
		m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
		ip->hdr_checksum = 0;
	}
	return csum_fold_sum(csum_pseudo_v4(ip->src_addr, ip->dst_addr, ip->next_proto_id, 0));
}

#endif /* FWD_GRO_IP4_H */
