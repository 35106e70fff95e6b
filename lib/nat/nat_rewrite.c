/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applying a translation to a packet: addresses, ports, TTL, checksums; and what the session learns
 * from it. The second half of the fast path.
 */
#include "nat_lookup.h"
#include "nat_mapping.h"
#include "nat_quote.h"
#include "nat_session.h"
#include "nat_tcp.h"

/* TTL is the high byte of the word at offset 8. */
#define TTL_DELTA htons(0xfeff) /* ~m + m' for m' = m - 0x0100 */

void nat_ttl_decrement(uint8_t *ip)
{
	ip[8]--;
	nat_store2(ip + 10, csum_apply(nat_load2(ip + 10), TTL_DELTA));
}

static enum nat_verdict drop(struct nat_pkt *pkt, enum nat_reason reason)
{
	pkt->verdict = NAT_DROP;
	pkt->reason = (uint8_t)reason;
	return NAT_DROP;
}

/* New addresses and TTL in one update (K4). A packet that another worker goes on with keeps its TTL
 * until then. */
static inline void rewrite_ip(const struct nat_pkt *pkt, csum_delta_t delta)
{
	bool last = !(pkt->flags & NAT_PKT_SOURCE);
	uint8_t *ip = pkt->ip;

	nat_store2(ip + 10,
		   csum_apply(nat_load2(ip + 10), last ? csum_delta_add(delta, TTL_DELTA) : delta));
	ip[8] -= last;
	nat_store4(ip + 12, pkt->new_src_be);
	nat_store4(ip + 16, pkt->new_dst_be);
}

/* A session's delta is that of direction 0; the other's is its complement (0, which that may be, is
 * no change either). Without a branch: directions alternate. */
static inline csum_delta_t of_direction(csum_delta_t delta, unsigned d)
{
	return (csum_delta_t)(delta ^ (0u - d));
}

static inline void rewrite_ports(uint8_t *l4, const struct nat_key *reverse)
{
	nat_store2(l4, reverse->dport_be);
	nat_store2(l4 + 2, reverse->sport_be);
}

static void rewrite_id(struct nat_pkt *pkt, const struct nat_key *reverse, csum_delta_t delta)
{
	/* the reverse of a reply is a request and has the identifier as its source port */
	nat_store2(pkt->l4 + 4,
		   reverse->kind == NAT_KIND_ICMP_REQUEST ? reverse->sport_be : reverse->dport_be);
	if (pkt->l4_avail == pkt->l4_len)
		nat_store2(pkt->l4 + 2,
			   csum_apply_icmp(nat_load2(pkt->l4 + 2), delta, pkt->l4, pkt->l4_len));
	else
		nat_store2(pkt->l4 + 2, csum_apply(nat_load2(pkt->l4 + 2), delta));
}

static inline void rewrite_l4(struct nat_pkt *pkt, const struct nat_session *s, unsigned d)
{
	const struct nat_key *reverse = &s->key[!d];
	csum_delta_t delta = of_direction(s->l4_delta, d);
	uint8_t *l4 = pkt->l4;

	switch (pkt->key.proto) {
	case IPPROTO_TCP:
		rewrite_ports(l4, reverse);
		nat_store2(l4 + 16, csum_apply(nat_load2(l4 + 16), delta));
		break;
	case IPPROTO_UDP:
	case NAT_PROTO_UDPLITE: /* RFC 3828 section 3.1: never sends 0 either */
		rewrite_ports(l4, reverse);
		nat_store2(l4 + 6, csum_apply_udp(nat_load2(l4 + 6), delta));
		break;
	case NAT_PROTO_DCCP:
		rewrite_ports(l4, reverse);
		nat_store2(l4 + 6, csum_apply(nat_load2(l4 + 6), delta));
		break;
	case IPPROTO_ICMP:
		rewrite_id(pkt, reverse, delta);
		break;
	}
}

/* An error about a session's packet: the outer header, and the quote back to what its sender sent.
 */
static enum nat_verdict rewrite_error(struct nat_worker *nat, struct nat_pkt *pkt)
{
	const struct nat_session *s = &nat->sessions[pkt->session];
	enum nat_reason reason;
	struct nat_quote q;

	if (!nat_quote_parse(pkt, &q))
		return drop(pkt, NAT_R_nat_icmp_bad_quote);
	reason = nat_quote_check(pkt, &q);
	if (reason != NAT_REASON_NONE)
		return drop(pkt, reason);
	nat_quote_rewrite(pkt, &q, &s->key[!pkt->dir]);
	rewrite_ip(pkt, csum_delta_add(csum_delta4(pkt->key.src_be, pkt->new_src_be),
				       csum_delta4(pkt->key.dst_be, pkt->new_dst_be)));
	return NAT_TRANSLATE;
}

/* What the session learns from a packet of direction d. By a mask: directions alternate, and a
 * branch would be mispredicted half the time. */
static inline void refresh(struct nat_session *s, unsigned d, uint64_t now_ms)
{
	uint32_t take = 0u - (((unsigned)s->flags / NAT_S_REFRESH0 >> d) & 1);

	s->seen_ms ^= (s->seen_ms ^ (uint32_t)now_ms) & take;
}

/* All that is not plain, and what happens once in a session's life. */
static __attribute__((noinline)) enum nat_verdict rewrite_other(struct nat_worker *nat,
								struct nat_pkt *pkt,
								uint64_t now_ms)
{
	struct nat_session *s = &nat->sessions[pkt->session];
	unsigned d = pkt->dir;

	if (pkt->flags & NAT_PKT_ICMP_ERROR)
		return rewrite_error(nat, pkt);
	if (nat_unlikely(pkt->l4_avail < nat_proto_min_len(pkt->key.proto)))
		return drop(pkt, NAT_R_nat_bad_l4);
	refresh(s, d, now_ms);
	if (pkt->key.proto == IPPROTO_TCP && nat_tcp_track(s, d, pkt->l4, pkt->l4_len))
		nat_session_rearm(nat, pkt->session, now_ms);
	if (s->flags & NAT_S_INBOUND && d == 1)
		nat_session_went_out(nat, pkt->session);
	rewrite_ip(pkt, of_direction(s->l3_delta, d));
	if (s->flags & NAT_S_L4)
		rewrite_l4(pkt, s, d);
	return NAT_TRANSLATE;
}

/* Both halves of a word of addresses or ports change places: a reply's become the request's. */
static inline uint64_t swap_addresses(uint64_t v)
{
	return v << 32 | v >> 32;
}

static inline uint32_t swap_ports(uint32_t v)
{
	return v << 16 | v >> 16;
}

_Static_assert(offsetof(struct nat_key, dst_be) == offsetof(struct nat_key, src_be) + 4 &&
		       offsetof(struct nat_key, dport_be) == offsetof(struct nat_key, sport_be) + 2,
	       "a key holds addresses and ports side by side, as packets do");

/* The header of IPv4, and the ports. */
static inline void rewrite_plain(const struct nat_pkt *pkt, const struct nat_session *s, unsigned d)
{
	const uint8_t *reverse = (const uint8_t *)&s->key[!d];
	csum_delta_t delta = of_direction(s->l3_delta, d);
	uint8_t *ip = pkt->ip;

	nat_store2(ip + 10, csum_apply(csum_apply(nat_load2(ip + 10), delta), TTL_DELTA));
	ip[8]--;
	nat_store8(ip + 12, swap_addresses(nat_load8(reverse)));
	nat_store4(pkt->l4, swap_ports(nat_load4(reverse + offsetof(struct nat_key, sport_be))));
}

/* A segment of an established connection. */
static __attribute__((noinline)) enum nat_verdict rewrite_tcp(struct nat_worker *nat,
							      struct nat_pkt *pkt, uint64_t now_ms)
{
	struct nat_session *s = &nat->sessions[pkt->session];
	unsigned d = pkt->dir;
	uint8_t *l4 = pkt->l4;

	if (nat_unlikely(!nat_tcp_is_usual(s, l4)))
		return rewrite_other(nat, pkt, now_ms);
	refresh(s, d, now_ms);
	nat_tcp_track(s, d, l4, pkt->l4_len);
	nat_store2(l4 + 16, csum_apply(nat_load2(l4 + 16), of_direction(s->l4_delta, d)));
	rewrite_plain(pkt, s, d);
	return NAT_TRANSLATE;
}

/* TCP and UDP, which is nearly all there is, in as few steps as there can be: nothing is called but
 * at the end, so no register is saved. Their sessions always have NAT_S_L4. */
enum nat_verdict nat_rewrite(struct nat_worker *nat, struct nat_pkt *pkt, uint64_t now_ms)
{
	struct nat_session *s = &nat->sessions[pkt->session];
	unsigned d = pkt->dir;
	uint8_t *l4 = pkt->l4;

	if (nat_unlikely(!(pkt->flags & NAT_PKT_PLAIN) || s->flags & NAT_S_INBOUND))
		return rewrite_other(nat, pkt, now_ms);
	if (pkt->key.proto == IPPROTO_TCP)
		return rewrite_tcp(nat, pkt, now_ms);
	refresh(s, d, now_ms);
	nat_store2(l4 + 6, csum_apply_udp(nat_load2(l4 + 6), of_direction(s->l4_delta, d)));
	rewrite_plain(pkt, s, d);
	return NAT_TRANSLATE;
}
