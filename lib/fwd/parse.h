/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser: proves lengths and the checks of RFC 1812 section 5.2.2 once, into struct pkt, which
 * the later stages use. Knows frames and snapshots; sends and counts nothing itself.
 */
#ifndef FWD_PARSE_H
#define FWD_PARSE_H

#include "csum.h"
#include "dp.h"

/* One packet in a worker's burst. */
struct pkt {
	struct nat_pkt nat; /* headers and tuple; nat.iface is the ingress interface */
	struct rte_mbuf *m; /* begins at the IPv4 header, ends at the datagram's end */
	uint32_t nh;	    /* next hop index */
	uint16_t len;	    /* IPv4 total length */
	uint8_t ihl;	    /* IPv4 header bytes */
	uint8_t drop;	    /* enum fwd_drop, with PARSE_DROP */
	uint8_t l4_drop; /* what is wrong with the transport header (enum fwd_drop), 0: nothing */
};

static inline bool pkt_is_udp(const struct pkt *p)
{
	return p->nat.key.proto == IPPROTO_UDP;
}

enum parse_result {
	PARSE_IP4,
	PARSE_ARP,  /* left at its Ethernet header; pkt.nat.iface is set */
	PARSE_DROP, /* pkt.drop says why, pkt.nat.iface is set or FWD_IFACE_NONE; the mbuf is the
		       caller's */
};

/* Where the network header of an Ethernet II frame lies, behind any number of 802.1Q and 802.1ad
 * tags (at most 3). */
struct eth_l3 {
	uint16_t offset; /* bytes */
	uint16_t type;	 /* EtherType, host order */
	uint16_t vlan;	 /* id of the outermost tag, 0: none */
	uint8_t n_tags;
};

/* False when len bytes do not hold the headers. */
bool parse_ethernet(const uint8_t *frame, uint32_t len, struct eth_l3 *out);

/* Parses the frame m received on port. May replace p->m (headers spread over segments are pulled
 * together into a new head from dp.pool). Worker thread. */
enum parse_result parse_frame(const struct fwd_snapshot *snap, struct rte_mbuf *m, uint16_t port,
			      struct pkt *p, uint64_t *completed);

/* The fast way for what most frames are: untagged, to us, whole in one buffer, IPv4 without options
 * that is no fragment, UDP or TCP, and nothing wrong with it. Parses such frames from the first one
 * on, as parse_frame() would, until one is something else, which it leaves as it was; returns how
 * many. *bytes grows by their lengths. */
unsigned parse_plain(const struct fwd_snapshot *snap, struct rte_mbuf **m, unsigned n,
		     uint16_t port, struct pkt *pkts, uint64_t *bytes);

/* Is the parsed packet m a large one, whose segments it is on us to make (gso.h)? Then it is TCP
 * with more payload than the m->tso_segsz bytes of a segment, its headers lie in its first buffer,
 * and the payload ends in another one. */
static inline bool parse_large(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_RX_LRO) != 0;
}

/* Parses a datagram that begins at m's first byte and came in by iface. trusted: it passed the
 * address checks on another thread, or was made by the router itself. */
enum parse_result parse_ip4(const struct dp_iface *iface, uint16_t iface_id, struct rte_mbuf *m,
			    bool trusted, struct pkt *p, uint64_t *completed);

/* Sum over the transport header and payload of a parsed packet, over all segments, without a
 * pseudo-header. */
csum_sum_t parse_l4_sum(const struct pkt *p);

#endif /* FWD_PARSE_H */
