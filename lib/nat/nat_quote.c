/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_quote.h"

#include "csum.h"

#define ICMP_HEADER 8
#define L4_QUOTED   8 /* 64 bits of the original datagram (RFC 792) */

/* Kind of an ICMP message by its type; FLOW: no query. */
static enum nat_kind query_kind(uint8_t type)
{
	switch (type) {
	case 8:
	case 13:
	case 15:
	case 17:
		return NAT_KIND_ICMP_REQUEST;
	case 0:
	case 14:
	case 16:
	case 18:
		return NAT_KIND_ICMP_REPLY;
	default:
		return NAT_KIND_FLOW;
	}
}

bool nat_quote_parse(const struct nat_pkt *pkt, struct nat_quote *q)
{
	unsigned have = pkt->l4_avail, total;
	uint16_t id;

	memset(q, 0, sizeof(*q));
	if (have < ICMP_HEADER + 20)
		return false;
	have -= ICMP_HEADER;
	q->ip = pkt->l4 + ICMP_HEADER;
	q->ihl = (q->ip[0] & 0xf) * 4u;
	if (q->ip[0] >> 4 != 4 || q->ihl < 20 || q->ihl > have)
		return false;
	/* a fragment other than the first has no ports to go by */
	if ((nat_load2(q->ip + 6) & htons(0x1fff)) != 0)
		return false;
	q->l4 = q->ip + q->ihl;
	q->l4_len = have - q->ihl;
	/* bytes behind the quoted datagram are not its own; some hosts quote the length in their
	 * own byte order, so a length that can't be is no length */
	total = ntohs(nat_load2(q->ip + 2));
	if (total >= q->ihl + L4_QUOTED && total - q->ihl < q->l4_len)
		q->l4_len = total - q->ihl;

	q->key.src_be = nat_load4(q->ip + 12);
	q->key.dst_be = nat_load4(q->ip + 16);
	q->key.proto = q->ip[9];
	q->key.table = pkt->key.table;
	if (nat_proto_space(q->key.proto) == NAT_SPACE_NONE)
		return true;
	if (q->l4_len < L4_QUOTED)
		return false;
	if (q->key.proto != IPPROTO_ICMP) {
		q->key.sport_be = nat_load2(q->l4);
		q->key.dport_be = nat_load2(q->l4 + 2);
		return true;
	}
	q->key.kind = (uint8_t)query_kind(q->l4[0]);
	id = nat_load2(q->l4 + 4);
	if (q->key.kind == NAT_KIND_ICMP_REQUEST)
		q->key.sport_be = id;
	else
		q->key.dport_be = id;
	return q->key.kind != NAT_KIND_FLOW;
}

enum nat_reason nat_quote_check(const struct nat_pkt *pkt, const struct nat_quote *q)
{
	if (pkt->l4_avail == pkt->l4_len &&
	    csum_fold_sum(csum_partial(pkt->l4, pkt->l4_len, 0)) != 0xffff)
		return NAT_R_nat_icmp_bad_checksum;
	if (!csum_ipv4_header_ok(q->ip, q->ihl))
		return NAT_R_nat_icmp_bad_quote;
	return NAT_REASON_NONE;
}

/* Stores a word of the quote; returns total plus what that adds to the ICMP checksum. */
static csum_delta_t set2(uint8_t *p, uint16_t v, csum_delta_t total)
{
	csum_delta_t d = csum_delta2(nat_load2(p), v);

	nat_store2(p, v);
	return csum_delta_add(total, d);
}

static csum_delta_t set4(uint8_t *p, uint32_t v, csum_delta_t total)
{
	csum_delta_t d = csum_delta4(nat_load4(p), v);

	nat_store4(p, v);
	return csum_delta_add(total, d);
}

static csum_delta_t rewrite_icmp(const struct nat_quote *q, const struct nat_key *to,
				 csum_delta_t total)
{
	uint16_t was = nat_load2(q->l4 + 4);
	uint16_t id = to->kind == NAT_KIND_ICMP_REQUEST ? to->sport_be : to->dport_be;

	if (id == was)
		return total;
	total = set2(q->l4 + 4, id, total);
	return set2(q->l4 + 2,
		    csum_apply_icmp(nat_load2(q->l4 + 2), csum_delta2(was, id), q->l4, q->l4_len),
		    total);
}

static csum_delta_t rewrite_ports(const struct nat_quote *q, const struct nat_key *to,
				  csum_delta_t addrs, csum_delta_t total)
{
	csum_delta_t l4 = csum_delta_add(
		addrs, csum_delta_add(csum_delta2(nat_load2(q->l4), to->sport_be),
				      csum_delta2(nat_load2(q->l4 + 2), to->dport_be)));
	unsigned at = q->key.proto == IPPROTO_TCP ? 16 : 6;
	uint16_t check;

	total = set2(q->l4, to->sport_be, total);
	total = set2(q->l4 + 2, to->dport_be, total);
	if (at + 2 > q->l4_len)
		return total;
	check = nat_load2(q->l4 + at);
	if (q->key.proto == IPPROTO_UDP || q->key.proto == NAT_PROTO_UDPLITE)
		check = csum_apply_udp(check, l4);
	else
		check = csum_apply(check, l4);
	return set2(q->l4 + at, check, total);
}

void nat_quote_rewrite(struct nat_pkt *pkt, const struct nat_quote *q, const struct nat_key *to)
{
	csum_delta_t addrs = csum_delta_add(csum_delta4(nat_load4(q->ip + 12), to->src_be),
					    csum_delta4(nat_load4(q->ip + 16), to->dst_be));
	csum_delta_t total = csum_delta2(0, 0);

	total = set2(q->ip + 10, csum_apply(nat_load2(q->ip + 10), addrs), total);
	total = set4(q->ip + 12, to->src_be, total);
	total = set4(q->ip + 16, to->dst_be, total);
	if (q->key.proto == IPPROTO_ICMP)
		total = rewrite_icmp(q, to, total);
	else if (nat_proto_space(q->key.proto) != NAT_SPACE_NONE)
		total = rewrite_ports(q, to, addrs, total);
	nat_store2(pkt->l4 + 2, csum_apply(nat_load2(pkt->l4 + 2), total));
}
