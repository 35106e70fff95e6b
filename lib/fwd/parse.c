/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_ip.h>
#include <rte_prefetch.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "csum.h"
#include "parse.h"

#define ETH_TYPE_8021Q	0x8100
#define ETH_TYPE_8021AD 0x88a8
#define ETH_TYPE_IPV4	0x0800
#define ETH_TYPE_ARP	0x0806
#define ETH_MAX_TAGS	3

#define PREFETCH_AHEAD 4 /* frames */

/* What a parsed packet keeps of its buffer's flags: whose memory it is, what the device says of the
 * L4 checksum, and that it is a large one. */
#define RX_KEPT                                                                                    \
	(RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_RX_L4_CKSUM_MASK |                 \
	 RTE_MBUF_F_RX_LRO)

/* No sender cuts its payload finer: Linux stops at an MSS of 48, of which options take some. A
 * guest that asks for less wants to flood. */
#define SEGMENT_MIN 32

/* Bytes that later stages read in one piece: IPv4 with options, ICMP, a quoted IPv4 header with
 * options and the start of what it carries. */
#define HEADERS_MAX (60 + 8 + 60 + 20)

bool parse_ethernet(const uint8_t *frame, uint32_t len, struct eth_l3 *out)
{
	uint32_t off = 12;

	memset(out, 0, sizeof(*out));
	for (;;) {
		uint16_t type;

		if (len < off + 2)
			return false;
		type = (uint16_t)(frame[off] << 8 | frame[off + 1]);
		off += 2;
		if ((type != ETH_TYPE_8021Q && type != ETH_TYPE_8021AD) ||
		    out->n_tags == ETH_MAX_TAGS) {
			out->type = type;
			out->offset = (uint16_t)off;
			return true;
		}
		if (len < off + 4)
			return false;
		if (out->n_tags++ == 0)
			out->vlan = (uint16_t)((frame[off] << 8 | frame[off + 1]) & 0xfff);
		off += 2;
	}
}

/* Makes the first `need` bytes of a chain contiguous in a new head. NULL: no buffer; m is still the
 * caller's. */
static struct rte_mbuf *pull_up(struct rte_mbuf *m, uint16_t need)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(dp.pool);
	struct rte_mbuf *rest = m;
	uint32_t total = m->pkt_len;
	uint64_t flags = m->ol_flags & ~(RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL);
	const void *bytes;
	char *to;

	if (head == NULL)
		return NULL;
	to = rte_pktmbuf_append(head, need);
	if (to == NULL) {
		rte_pktmbuf_free(head);
		return NULL;
	}
	bytes = rte_pktmbuf_read(m, 0, need, to);
	if (bytes != to)
		memcpy(to, bytes, need);
	*fwd_priv(head) = *fwd_priv(m);
	head->port = m->port;
	head->vlan_tci = m->vlan_tci;
	head->ol_flags = flags;
	head->tx_offload = m->tx_offload; /* tso_segsz */

	/* drop what was copied from the front of the old chain */
	for (uint16_t left = need; rest != NULL && left >= rest->data_len;) {
		struct rte_mbuf *next = rest->next;

		left -= rest->data_len;
		rte_pktmbuf_free_seg(rest);
		rest = next;
		need = left;
	}
	if (rest != NULL) {
		rest->data_off += need;
		rest->data_len -= need;
		head->next = rest;
	}
	head->nb_segs = 1;
	for (struct rte_mbuf *s = rest; s != NULL; s = s->next)
		head->nb_segs++;
	head->pkt_len = total;
	return head;
}

/* Cuts the chain to len bytes (RFC 894: what follows the datagram is padding). */
static void cut_to(struct rte_mbuf *m, uint32_t len)
{
	struct rte_mbuf *s = m;
	uint16_t segs = 1;

	m->pkt_len = len;
	while (len > s->data_len) {
		len -= s->data_len;
		s = s->next;
		segs++;
	}
	s->data_len = (uint16_t)len;
	if (s->next != NULL) {
		rte_pktmbuf_free(s->next);
		s->next = NULL;
	}
	m->nb_segs = segs;
}

static csum_sum_t chain_sum(const struct rte_mbuf *m, uint32_t off, uint32_t len)
{
	csum_sum_t sum = 0;
	uint32_t done = 0;

	for (; m != NULL && len > 0; m = m->next) {
		uint32_t n;

		if (off >= m->data_len) {
			off -= m->data_len;
			continue;
		}
		n = RTE_MIN(m->data_len - off, len);
		sum = csum_block_add(
			sum, csum_partial(rte_pktmbuf_mtod_offset(m, void *, off), n, 0), done);
		done += n;
		len -= n;
		off = 0;
	}
	return sum;
}

csum_sum_t parse_l4_sum(const struct pkt *p)
{
	return chain_sum(p->m, p->ihl, p->nat.l4_len);
}

/* A kernel or guest leaves the pseudo-header's sum in the checksum field for its hardware to
 * finish. certain: the device says so. Else the field is compared with that sum: a datagram that is
 * right as it stands stays what it is, since a recomputation gives the same value. */
static bool complete_checksum(struct pkt *p, const struct rte_ipv4_hdr *ip, bool certain)
{
	uint16_t at = ip->next_proto_id == IPPROTO_TCP ? 16 : 6;
	csum_sum_t pseudo =
		csum_pseudo_v4(ip->src_addr, ip->dst_addr, ip->next_proto_id, p->nat.l4_len);
	uint16_t field, sum;

	memcpy(&field, p->nat.l4 + at, 2);
	if (!certain && field != csum_fold_sum(pseudo))
		return false;
	/* the field itself holds the pseudo-header's sum: summing it with the rest adds the
	 * pseudo-header */
	field = csum_fold_sum(pseudo);
	memcpy(p->nat.l4 + at, &field, 2);
	sum = csum_fold(parse_l4_sum(p));
	if (ip->next_proto_id == IPPROTO_UDP)
		sum = csum_udp_zero(sum);
	memcpy(p->nat.l4 + at, &sum, 2);
	return true;
}

/* The transport header: fills ports, and l4_drop where the header contradicts itself. Returns
 * whether it has a checksum with a pseudo-header at a place that is there. */
static bool parse_l4(struct pkt *p, uint8_t proto)
{
	struct nat_pkt *n = &p->nat;
	const uint8_t *l4 = n->l4;

	switch (proto) {
	case IPPROTO_TCP:
		if (n->l4_len < sizeof(struct rte_tcp_hdr)) {
			p->l4_drop = FWD_D_l4_truncated;
			return false;
		}
		if ((l4[12] >> 4) < 5 || (l4[12] >> 4) * 4 > n->l4_len) {
			p->l4_drop = FWD_D_tcp_bad_offset;
			return false;
		}
		n->tcp_flags = l4[13];
		break;
	case IPPROTO_UDP: {
		uint16_t ulen;

		if (n->l4_len < sizeof(struct rte_udp_hdr)) {
			p->l4_drop = FWD_D_l4_truncated;
			return false;
		}
		ulen = (uint16_t)(l4[4] << 8 | l4[5]);
		if (ulen < sizeof(struct rte_udp_hdr) || ulen > n->l4_len) {
			p->l4_drop = FWD_D_udp_bad_length;
			return false;
		}
		break;
	}
	case IPPROTO_UDPLITE:
	case IPPROTO_DCCP:
		if (n->l4_len < (proto == IPPROTO_DCCP ? 12 : 8)) {
			p->l4_drop = FWD_D_l4_truncated;
			return false;
		}
		memcpy(&n->key.sport_be, l4, 2);
		memcpy(&n->key.dport_be, l4 + 2, 2);
		return false;
	case IPPROTO_ICMP:
		if (n->l4_len < 8) {
			p->l4_drop = FWD_D_l4_truncated;
			return false;
		}
		switch (l4[0]) {
		case 8:
		case 13:
		case 15:
		case 17: /* echo, timestamp, information, mask: requests */
			n->key.kind = NAT_KIND_ICMP_REQUEST;
			memcpy(&n->key.sport_be, l4 + 4, 2);
			break;
		case 0:
		case 14:
		case 16:
		case 18: /* and their replies */
			n->key.kind = NAT_KIND_ICMP_REPLY;
			memcpy(&n->key.dport_be, l4 + 4, 2);
			break;
		case 3:
		case 4:
		case 5:
		case 11:
		case 12:
			n->flags |= NAT_PKT_ICMP_ERROR;
			break;
		default:
			n->flags |= NAT_PKT_NO_KEY;
		}
		return false;
	default:
		return false;
	}
	memcpy(&n->key.sport_be, l4, 2);
	memcpy(&n->key.dport_be, l4 + 2, 2);
	return true;
}

static enum parse_result drop(struct pkt *p, enum fwd_drop why)
{
	p->drop = (uint8_t)why;
	return PARSE_DROP;
}

/* A packet of which the device says that it is a large one: is it, and as parse_large() promises?
 * tcp: it is TCP with a sound header. */
static enum parse_result check_large(struct pkt *p, bool tcp)
{
	struct nat_pkt *n = &p->nat;
	uint16_t thl = tcp ? (uint16_t)((n->l4[12] >> 4) * 4) : 0;

	if (!tcp || n->l4_len - thl <= p->m->tso_segsz) {
		p->m->ol_flags &= ~RTE_MBUF_F_RX_LRO;
		return PARSE_IP4;
	}
	if (p->m->tso_segsz < SEGMENT_MIN)
		return drop(p, FWD_D_tcp_bad_segment_size);
	if (p->m->nb_segs == 1) {
		struct rte_mbuf *head = pull_up(p->m, (uint16_t)(p->ihl + thl));

		if (head == NULL)
			return drop(p, FWD_D_not_linear);
		p->m = head;
		n->ip = rte_pktmbuf_mtod(head, uint8_t *);
		n->l4 = n->ip + p->ihl;
		n->l4_avail = thl;
	}
	/* each segment gets a checksum that is right: nobody needs to look at this one */
	p->m->ol_flags &= ~RTE_MBUF_F_RX_L4_CKSUM_MASK;
	p->m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	return PARSE_IP4;
}

/* Addresses that never are a source or destination on a link (RFC 1812 5.3.7, RFC 1122 3.2.1.3, RFC
 * 6890). */
static int check_addresses(const struct dp_iface *iface, rte_be32_t src_be, rte_be32_t dst_be)
{
	uint32_t src = rte_be_to_cpu_32(src_be), dst = rte_be_to_cpu_32(dst_be);

	if (unlikely(src >> 24 == 0 || src >> 24 == 127 || src >= IP4_MULTICAST))
		return FWD_D_ip4_bad_source;
	for (unsigned i = 0; i < iface->n_addrs; i++) {
		const struct dp_addr *a = &iface->addrs[i];

		if (unlikely(src_be == a->addr_be))
			return FWD_D_ip4_own_source;
		if (unlikely(a->len < 31 && src_be == (a->addr_be | ~a->mask_be)))
			return FWD_D_ip4_bad_source;
	}
	if (unlikely(dst >= IP4_MULTICAST)) {
		if (dst < IP4_RESERVED)
			return FWD_D_ip4_multicast;
		return dst == UINT32_MAX ? FWD_D_ip4_broadcast : FWD_D_ip4_bad_destination;
	}
	if (unlikely(dst >> 24 == 0 || dst >> 24 == 127))
		return FWD_D_ip4_bad_destination;
	return -1;
}

enum parse_result parse_ip4(const struct dp_iface *iface, uint16_t iface_id, struct rte_mbuf *m,
			    bool trusted, struct pkt *p, uint64_t *completed)
{
	struct nat_pkt *n = &p->nat;
	struct rte_ipv4_hdr *ip;
	uint16_t frag, total;
	bool has_csum = false;
	uint8_t ihl;
	int why;

	p->m = m;
	p->l4_drop = 0;
	n->iface = iface_id;
	n->flags = 0;
	n->tcp_flags = 0;
	n->verdict = NAT_PASS;
	n->session = NAT_NONE;

	/* RFC 1812 5.2.2: (1) long enough, (2) checksum, (3) version, (4) header length, (5) total
	 * length; the checksum is read last, since it depends on the header length */
	if (unlikely(m->pkt_len < sizeof(*ip)))
		return drop(p, FWD_D_ip4_truncated);
	if (unlikely(m->data_len < m->pkt_len && m->data_len < HEADERS_MAX)) {
		struct rte_mbuf *head =
			pull_up(m, (uint16_t)RTE_MIN(m->pkt_len, (uint32_t)HEADERS_MAX));

		if (head == NULL)
			return drop(p, FWD_D_not_linear);
		p->m = m = head;
	}
	ip = rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *);
	if (unlikely(ip->version_ihl >> 4 != 4))
		return drop(p, FWD_D_ip4_bad_version);
	ihl = (uint8_t)((ip->version_ihl & 0xf) * 4);
	total = rte_be_to_cpu_16(ip->total_length);
	if (unlikely(ihl < sizeof(*ip)))
		return drop(p, FWD_D_ip4_bad_header_length);
	if (unlikely(total > m->pkt_len))
		return drop(p, FWD_D_ip4_bad_total_length);
	if (unlikely(ihl > total))
		return drop(p, total < sizeof(*ip) ? FWD_D_ip4_bad_total_length
						   : FWD_D_ip4_bad_header_length);
	switch (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) {
	case RTE_MBUF_F_RX_IP_CKSUM_GOOD:
		break;
	case RTE_MBUF_F_RX_IP_CKSUM_BAD:
		return drop(p, FWD_D_ip4_bad_checksum);
	default:
		if (unlikely(!csum_ipv4_header_ok(ip, ihl)))
			return drop(p, FWD_D_ip4_bad_checksum);
	}
	if (!trusted) {
		why = check_addresses(iface, ip->src_addr, ip->dst_addr);
		if (unlikely(why >= 0))
			return drop(p, (enum fwd_drop)why);
	}
	if (m->pkt_len != total)
		cut_to(m, total);

	p->len = total;
	p->ihl = ihl;
	n->key.src_be = ip->src_addr;
	n->key.dst_be = ip->dst_addr;
	n->key.sport_be = n->key.dport_be = 0;
	n->key.proto = ip->next_proto_id;
	n->key.kind = NAT_KIND_FLOW;
	n->key.table = 0;
	n->ip = (uint8_t *)ip;
	n->l4 = (uint8_t *)ip + ihl;
	n->l4_len = total - ihl;
	n->l4_avail = RTE_MIN(n->l4_len, (uint16_t)(m->data_len - ihl));
	n->new_src_be = ip->src_addr;
	n->new_dst_be = ip->dst_addr;

	frag = rte_be_to_cpu_16(ip->fragment_offset);
	if (unlikely(frag & (RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)))
		n->flags |= NAT_PKT_FRAGMENT;
	else
		has_csum = parse_l4(p, ip->next_proto_id);

	if (unlikely(parse_large(m))) {
		if (check_large(p, has_csum && p->l4_drop == 0 &&
					   ip->next_proto_id == IPPROTO_TCP) == PARSE_DROP)
			return PARSE_DROP;
		m = p->m;
		ip = (struct rte_ipv4_hdr *)n->ip;
	}
	if (has_csum && p->l4_drop == 0 && !trusted && !parse_large(m)) {
		bool none =
			(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE;

		if (unlikely(none || (iface->flags & IFACE_COMPLETE_CSUM)) &&
		    complete_checksum(p, ip, none)) {
			(*completed)++;
			/* right by how it was made: nobody needs to sum it again */
			m->ol_flags &= ~RTE_MBUF_F_RX_L4_CKSUM_MASK;
			m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		}
	}
	m->ol_flags &= RX_KEPT;
	return PARSE_IP4;
}

enum parse_result parse_frame(const struct fwd_snapshot *snap, struct rte_mbuf *m, uint16_t port,
			      struct pkt *p, uint64_t *completed)
{
	const struct dp_port *dport = &snap->ports[port];
	const struct rte_ether_hdr *eth;
	const struct dp_iface *iface;
	struct eth_l3 l3;
	uint16_t id = dport->native_iface;

	p->m = m;
	p->nat.iface = id;
	if (unlikely(m->data_len < sizeof(*eth) + 2 * sizeof(struct rte_vlan_hdr) &&
		     m->nb_segs > 1)) {
		struct rte_mbuf *head =
			pull_up(m, (uint16_t)RTE_MIN(m->pkt_len, (uint32_t)HEADERS_MAX));

		if (head == NULL)
			return drop(p, FWD_D_not_linear);
		p->m = m = head;
	}
	if (unlikely(m->data_len < sizeof(*eth)))
		return drop(p, FWD_D_eth_runt);
	eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);

	if (likely(eth->ether_type == RTE_BE16(ETH_TYPE_IPV4) &&
		   !(m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED))) {
		l3 = (struct eth_l3){.offset = sizeof(*eth), .type = ETH_TYPE_IPV4};
	} else {
		if (!parse_ethernet((const uint8_t *)eth, m->data_len, &l3))
			return drop(p, FWD_D_eth_runt);
		if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) && (m->vlan_tci & 0xfff) != 0) {
			l3.vlan = m->vlan_tci & 0xfff;
			l3.n_tags++;
		}
		if (l3.n_tags > 1) /* stacked tags: of no interface */
			return drop(p, FWD_D_vlan_unknown);
		if (l3.vlan != 0) { /* VLAN id 0 is a priority tag: the native interface */
			id = dport->vlan_iface != NULL ? dport->vlan_iface[l3.vlan]
						       : FWD_IFACE_NONE;
			p->nat.iface = id;
		}
	}
	if (unlikely(id >= FWD_MAX_IFACES || !(snap->ifaces[id].flags & IFACE_PRESENT)))
		return drop(p, FWD_D_vlan_unknown);
	iface = &snap->ifaces[id];

	if (unlikely(!rte_is_same_ether_addr(&eth->dst_addr, &iface->mac))) {
		if (!rte_is_multicast_ether_addr(&eth->dst_addr))
			return drop(p, FWD_D_eth_not_for_us);
		if (l3.type == ETH_TYPE_ARP)
			return PARSE_ARP;
		if (l3.type != ETH_TYPE_IPV4)
			return drop(p, FWD_D_eth_unknown_type);
		/* the datagram itself says which drop: checks first, then RFC 1812 5.3.4 */
		if (rte_pktmbuf_adj(m, l3.offset) == NULL)
			return drop(p, FWD_D_ip4_truncated);
		if (parse_ip4(iface, id, m, false, p, completed) == PARSE_DROP)
			return PARSE_DROP;
		return drop(p, FWD_D_eth_broadcast);
	}
	if (unlikely(l3.type != ETH_TYPE_IPV4))
		return l3.type == ETH_TYPE_ARP ? PARSE_ARP : drop(p, FWD_D_eth_unknown_type);
	if (unlikely(rte_pktmbuf_adj(m, l3.offset) == NULL))
		return drop(p, FWD_D_ip4_truncated);
	return parse_ip4(iface, id, m, false, p, completed);
}

/* ---- the fast way ---------------------------------------------------------------------------- */

/* First octets that neither a source nor a destination has on a link: check_addresses() says which
 * drop that is. */
static const bool never[256] = {[0] = true, [127] = true, [IP4_MULTICAST >> 24 ... 255] = true};

/* Device flags by which a frame is none for the fast way: BAD is a part of NONE, too. */
#define RX_NOT_PLAIN                                                                               \
	(RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_BAD |   \
	 RTE_MBUF_F_RX_LRO)

/* All bytes that are read here, whatever the protocol. */
#define PLAIN_MIN                                                                                  \
	(sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_tcp_hdr))

/* Sixteen bytes at once, by whatever the CPU has for it. */
typedef uint32_t vector __attribute__((vector_size(16)));

/* What each frame of an interface is compared with, laid out once for a burst. */
struct plain {
	vector head, head_mask; /* of the frame's first 16 bytes: own MAC address, IPv4, version 4,
				   header of 20 bytes */
	uint16_t iface;
	unsigned n_own; /* vectors of four */
	vector own[FWD_IFACE_ADDRS /
		   2]; /* no sources: own addresses and broadcast addresses; the rest is 0 */
};

/* Where a transport header says how long it is, or what it heads: the 16 bits at byte `at`, shifted
 * and masked. A row instead of a branch, which TCP and UDP mixed would mispredict. Other protocols'
 * lengths are 0, which is too short. */
static const struct l4_shape {
	uint8_t at, shift;
	uint8_t short_of;   /* a length up to this one is too short */
	uint8_t flags_mask; /* of byte 13 */
	uint16_t mask;
	uint16_t pad; /* 8 bytes: to be indexed without a multiplication */
} l4_shapes[256] = {
	[IPPROTO_UDP] = {.at = 4, .short_of = sizeof(struct rte_udp_hdr) - 1, .mask = 0xffff},
	[IPPROTO_TCP] = {.at = 12,
			 .shift = 10,
			 .short_of = sizeof(struct rte_tcp_hdr) - 1,
			 .mask = 0xf << 2,
			 .flags_mask = 0xff},
};

_Static_assert(
	offsetof(struct nat_key, dst_be) == 4 && offsetof(struct nat_key, sport_be) == 8 &&
		offsetof(struct nat_key, dport_be) == 10 && offsetof(struct nat_key, proto) == 12 &&
		offsetof(struct nat_key, kind) == 13 && offsetof(struct nat_key, table) == 14 &&
		NAT_KIND_FLOW == 0,
	"a key begins as addresses and ports lie in a packet, and ends as its protocol and zeros");
_Static_assert(offsetof(struct nat_pkt, l4_avail) == offsetof(struct nat_pkt, l4_len) + 2,
	       "stored as one word");

static inline unsigned load_be16(const uint8_t *p)
{
	return (unsigned)(p[0] << 8 | p[1]);
}

static void plain_init(struct plain *f, const struct dp_iface *iface, uint16_t id)
{
	static const uint8_t mask[16] = {0xff, 0xff,	    0xff, 0xff, 0xff,
					 0xff, [12] = 0xff, 0xff, 0xff};
	uint8_t head[16] = {[12] = ETH_TYPE_IPV4 >> 8, ETH_TYPE_IPV4 & 0xff, RTE_IPV4_VHL_DEF};

	memcpy(head, &iface->mac, sizeof(iface->mac));
	memcpy(&f->head, head, sizeof(f->head));
	memcpy(&f->head_mask, mask, sizeof(f->head_mask));
	f->iface = id;
	memset(f->own, 0, sizeof(f->own));
	for (unsigned i = 0; i < iface->n_addrs; i++) {
		const struct dp_addr *a = &iface->addrs[i];

		f->own[i / 2][i % 2 * 2] = a->addr_be;
		if (a->len < 31)
			f->own[i / 2][i % 2 * 2 + 1] = a->addr_be | ~a->mask_be;
	}
	f->n_own = (iface->n_addrs + 1) / 2;
}

/* 0: to the interface's address, IPv4 without options, and from none of its own addresses. */
static __rte_always_inline uint64_t plain_vectors(const struct plain *f, const uint8_t *eth,
						  uint32_t src)
{
	vector all = {src, src, src, src}, bad = (vector)(all == f->own[0]), head;
	uint64_t half[2];

	for (unsigned i = 1; unlikely(i < f->n_own); i++)
		bad |= (vector)(all == f->own[i]);
	memcpy(&head, eth, sizeof(head));
	bad |= (head ^ f->head) & f->head_mask;
	memcpy(half, &bad, sizeof(half));
	return half[0] | half[1];
}

/* Conditions are joined without branches: that they all hold is the only thing to predict. */
static __rte_always_inline bool plain_one(const struct plain *f, struct rte_mbuf *m, struct pkt *p)
{
	uint8_t *eth = rte_pktmbuf_mtod(m, uint8_t *), *l4;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + sizeof(struct rte_ether_hdr));
	const struct l4_shape *shape = &l4_shapes[ip->next_proto_id];
	struct nat_pkt *n = &p->nat;
	int data_len = m->data_len, total, l4_len, l4_head;
	uint32_t proto, both;
	uint64_t bad;

	if (unlikely(data_len < (int)PLAIN_MIN || m->nb_segs != 1))
		return false;
	l4 = (uint8_t *)(ip + 1);
	total = (int)load_be16((const uint8_t *)&ip->total_length);
	l4_len = total - (int)sizeof(*ip);
	l4_head = (int)((load_be16(l4 + shape->at) >> shape->shift) & shape->mask);

	bad = plain_vectors(f, eth, ip->src_addr);
	bad |= m->ol_flags & RX_NOT_PLAIN;
	bad |= ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK);
	bad |= never[*(const uint8_t *)&ip->src_addr] | never[*(const uint8_t *)&ip->dst_addr];
	/* negative where it is not so: the frame holds the datagram, that its transport header,
	 * which is long enough */
	bad |= (uint32_t)((data_len - (int)sizeof(struct rte_ether_hdr) - total) |
			  (l4_len - l4_head) | (l4_head - shape->short_of - 1)) >>
	       31;
	if (unlikely(bad != 0) || unlikely(!csum_ipv4_header_ok(ip, sizeof(*ip))))
		return false;

	m->data_off += sizeof(struct rte_ether_hdr);
	m->data_len = (uint16_t)total;
	m->pkt_len = (uint32_t)total;
	m->ol_flags &= RX_KEPT;

	memcpy(&n->key, (const uint8_t *)ip + offsetof(struct rte_ipv4_hdr, src_addr),
	       8);				     /* both addresses, */
	memcpy((uint8_t *)&n->key + 8, l4, 4);	     /* both ports, */
	proto = rte_cpu_to_le_32(ip->next_proto_id); /* and the protocol */
	memcpy((uint8_t *)&n->key + 12, &proto, 4);
	n->ip = (uint8_t *)ip;
	n->l4 = l4;
	both = (uint32_t)l4_len * 0x10001u;
	memcpy((uint8_t *)n + offsetof(struct nat_pkt, l4_len), &both, 4); /* and l4_avail */
	n->iface = f->iface;
	n->flags = NAT_PKT_PLAIN;
	n->tcp_flags = l4[13] & shape->flags_mask;
	n->verdict = NAT_PASS;
	n->session = NAT_NONE;
	n->new_src_be = ip->src_addr;
	n->new_dst_be = ip->dst_addr;
	p->m = m;
	p->len = (uint16_t)total;
	p->ihl = sizeof(*ip);
	p->l4_drop = 0;
	return true;
}

unsigned parse_plain(const struct fwd_snapshot *snap, struct rte_mbuf **m, unsigned n,
		     uint16_t port, struct pkt *pkts, uint64_t *bytes)
{
	uint16_t id = snap->ports[port].native_iface;
	const struct dp_iface *iface = &snap->ifaces[id < FWD_MAX_IFACES ? id : 0];
	struct plain f;
	uint64_t sum = 0;
	unsigned i;

	if (unlikely(id >= FWD_MAX_IFACES ||
		     (iface->flags & (IFACE_PRESENT | IFACE_COMPLETE_CSUM)) != IFACE_PRESENT))
		return 0;
	plain_init(&f, iface, id);
	for (i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
	for (i = 0; i < n; i++) {
		uint32_t len = m[i]->data_len; /* a plain frame is in one segment */

		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(m[i + PREFETCH_AHEAD], void *));
		if (!plain_one(&f, m[i], &pkts[i]))
			break;
		sum += len;
	}
	*bytes += sum;
	return i;
}
