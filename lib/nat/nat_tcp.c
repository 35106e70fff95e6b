/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_tcp.h"

#define BURST	(1u << 20) /* how far a side's end may jump */
#define REORDER 65535u	   /* how far behind a hole a FIN may lie */

#define SEEN(flag, side) ((uint8_t)((flag) << (side)))
#define BOTH(flag)	 ((uint8_t)((flag)*3))

static uint8_t timeout_of(uint8_t state)
{
	return state == NAT_TCP_ESTABLISHED ? NAT_TIMEOUT_tcp_established
					    : NAT_TIMEOUT_tcp_transitory;
}

/* True when the timeout became shorter. */
static bool enter(struct nat_session *s, enum nat_tcp_state state)
{
	bool was_long = s->timeout == NAT_TIMEOUT_tcp_established;

	s->tcp_state = (uint8_t)state;
	s->timeout = timeout_of((uint8_t)state);
	return was_long && s->timeout != NAT_TIMEOUT_tcp_established;
}

/* The state that follows from what was seen. */
static enum nat_tcp_state state_of(const struct nat_session *s)
{
	if ((s->tcp_seen & BOTH(NAT_T_FIN0)) == BOTH(NAT_T_FIN0))
		return NAT_TCP_CLOSED;
	if (s->tcp_seen & BOTH(NAT_T_FIN0))
		return NAT_TCP_CLOSING;
	if ((s->tcp_seen & BOTH(NAT_T_ACKED0)) == BOTH(NAT_T_ACKED0))
		return NAT_TCP_ESTABLISHED;
	if ((s->tcp_seen & BOTH(NAT_T_SYN0)) == BOTH(NAT_T_SYN0))
		return NAT_TCP_SYN_RECEIVED;
	return NAT_TCP_SYN_SENT;
}

static void begin(struct nat_session *s, unsigned d, uint32_t seq, uint32_t end)
{
	s->una[d] = seq;
	s->end[d] = end;
	s->tcp_seen |= SEEN(NAT_T_SYN0, d);
}

static bool reset(struct nat_session *s, unsigned d, uint8_t flags, uint32_t seq, uint32_t ack)
{
	bool fits;

	if (s->tcp_seen & SEEN(NAT_T_SYN0, d))
		fits = seq - s->una[d] <= s->end[d] - s->una[d];
	else /* refuses a connection: acknowledges exactly the SYN */
		fits = flags & NAT_TCP_ACK && ack == s->end[!d];
	if (!fits)
		return false;
	s->tcp_seen &= (uint8_t)~BOTH(NAT_T_CONT0);
	return enter(s, NAT_TCP_RESET);
}

bool nat_tcp_track_slow(struct nat_session *s, unsigned d, const uint8_t *tcp, unsigned len)
{
	uint8_t flags = tcp[13];
	uint32_t seq = ntohl(nat_load4(tcp + 4)), ack = ntohl(nat_load4(tcp + 8));
	uint32_t header = (uint32_t)(tcp[12] >> 4) * 4;
	uint32_t end = seq + (len > header ? len - header : 0) + !!(flags & NAT_TCP_SYN) +
		       !!(flags & NAT_TCP_FIN);
	bool opens = nat_tcp_opens(flags);

	if (flags & NAT_TCP_RST)
		return reset(s, d, flags, seq, ack);

	if (opens &&
	    (s->tcp_state == NAT_TCP_CLOSED || s->tcp_state == NAT_TCP_RESET ||
	     (s->tcp_state == NAT_TCP_SYN_SENT && !(s->tcp_seen & SEEN(NAT_T_SYN0, !d))))) {
		/* a new connection on the old one's ports, or a new attempt */
		s->tcp_seen = 0;
		begin(s, d, seq, end);
		return enter(s, NAT_TCP_SYN_SENT);
	}

	if (!(s->tcp_seen & SEEN(NAT_T_SYN0, d))) {
		/* first segment of this side: its SYN, unless we came late */
		if (!(flags & NAT_TCP_SYN) && !(s->flags & NAT_S_LOOSE) &&
		    s->tcp_state != NAT_TCP_NONE)
			return false;
		/* an answer has to be one to what the other side sent; a SYN without ACK is a
		 * simultaneous open (T1) */
		if (flags & NAT_TCP_ACK && s->tcp_seen & SEEN(NAT_T_SYN0, !d) &&
		    ack - s->una[!d] > s->end[!d] - s->una[!d])
			return false;
		begin(s, d, seq, end);
		if (s->flags & NAT_S_LOOSE && !(flags & NAT_TCP_SYN) &&
		    s->tcp_seen & SEEN(NAT_T_SYN0, !d))
			s->tcp_seen |= BOTH(NAT_T_ACKED0);
	} else if (!(flags & NAT_TCP_SYN) && end - s->end[d] < BURST) {
		s->end[d] = end;
	}

	if (flags & NAT_TCP_ACK && s->tcp_seen & SEEN(NAT_T_SYN0, !d) &&
	    ack - s->una[!d] <= s->end[!d] - s->una[!d]) {
		if (ack != s->una[!d])
			s->tcp_seen |= SEEN(NAT_T_ACKED0, !d);
		s->una[!d] = ack;
	}
	if (flags & NAT_TCP_FIN && seq - s->una[d] <= s->end[d] - s->una[d] + REORDER)
		s->tcp_seen |= SEEN(NAT_T_FIN0, d);

	if (s->tcp_state == NAT_TCP_RESET) {
		/* whoever was said to be gone goes on: the reset was not for real */
		s->tcp_seen |= SEEN(NAT_T_CONT0, d);
		if ((s->tcp_seen & BOTH(NAT_T_CONT0)) != BOTH(NAT_T_CONT0))
			return false;
		s->tcp_seen &= (uint8_t)~BOTH(NAT_T_CONT0);
	}
	return enter(s, state_of(s));
}
