/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP as a translator sees it: how far a connection has come, and whether a reset or an end is
 * credible (T1, T2, T4; RFC 5382, RFC 7857 section 2, RFC 5961). Works on one session record.
 */
#ifndef TURNPIKE_NAT_TCP_H
#define TURNPIKE_NAT_TCP_H

#include "nat_worker.h"

#define NAT_TCP_FIN 0x01
#define NAT_TCP_SYN 0x02
#define NAT_TCP_RST 0x04
#define NAT_TCP_ACK 0x10

/* Everything but plain segments of an established connection. True when the session's timeout
 * became shorter. */
bool nat_tcp_track_slow(struct nat_session *s, unsigned d, const uint8_t *tcp, unsigned len);

/* A plain segment of an established connection: nat_tcp_track() has little to do. */
static inline bool nat_tcp_is_usual(const struct nat_session *s, const uint8_t *tcp)
{
	return s->tcp_state == NAT_TCP_ESTABLISHED &&
	       (tcp[13] & (NAT_TCP_FIN | NAT_TCP_SYN | NAT_TCP_RST | NAT_TCP_ACK)) == NAT_TCP_ACK;
}

/* Takes in a segment of direction d with its TCP header (20 bytes or more) at tcp, len bytes of
 * segment. True when the session's timeout became shorter. */
static inline bool nat_tcp_track(struct nat_session *s, unsigned d, const uint8_t *tcp,
				 unsigned len)
{
	uint32_t end, ack, gain;

	if (nat_unlikely(!nat_tcp_is_usual(s, tcp)))
		return nat_tcp_track_slow(s, d, tcp, len);
	/* both ends only move on, and by no more than a burst lost before us explains: so that a
	 * forged segment can't prepare a forged reset */
	end = ntohl(nat_load4(tcp + 4)) + len - (uint32_t)(tcp[12] >> 4) * 4;
	gain = end - s->end[d];
	if (gain < 1u << 20)
		s->end[d] = end;
	ack = ntohl(nat_load4(tcp + 8));
	if (ack - s->una[!d] <= s->end[!d] - s->una[!d])
		s->una[!d] = ack;
	return false;
}

/* May a segment with these flags begin a session? */
static inline bool nat_tcp_opens(uint8_t flags)
{
	return (flags & (NAT_TCP_SYN | NAT_TCP_ACK | NAT_TCP_RST | NAT_TCP_FIN)) == NAT_TCP_SYN;
}

#endif /* TURNPIKE_NAT_TCP_H */
