/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of lib/nat that are about many packets of a few flows: a packet from a few words, and
 * what became of it.
 */
#ifndef TEST_NAT_FLOWS_H
#define TEST_NAT_FLOWS_H

#include "test_nat_lab.h"

/* Sends a UDP datagram out, which has to be translated, and returns the external port it got. */
static inline unsigned mapped_udp(struct lab *lab, const char *src, unsigned sport, const char *dst,
				  unsigned dport)
{
	struct packet p = packet_udp(src, sport, dst, dport, "hello");
	unsigned port;

	assert_translates(lab, INSIDE, p);
	assert_sums(p);
	port = packet_sport(p);
	free(p.b);
	return port;
}

/* Whatever comes of it, where it is let in it reaches this host. */
static inline enum nat_verdict udp_answer(struct lab *lab, const char *src, unsigned sport,
					  const char *dst, unsigned dport, const char *to,
					  unsigned to_port)
{
	struct packet p = packet_udp(src, sport, dst, dport, "answer");
	enum nat_verdict v = lab_send(lab, OUTSIDE, p);

	if (v == NAT_TRANSLATE) {
		assert_to(p, to, to_port);
		assert_from(p, src, sport);
		assert_sums(p);
	}
	free(p.b);
	return v;
}

static inline enum nat_verdict tcp_out(struct lab *lab, const char *src, unsigned sport,
				       unsigned flags, uint32_t seq, uint32_t ack, const char *data)
{
	struct packet p = packet_tcp(src, sport, R1, 443, flags, seq, ack, data);
	enum nat_verdict v = lab_send(lab, INSIDE, p);

	if (v == NAT_TRANSLATE)
		assert_sums(p);
	free(p.b);
	return v;
}

/* To the port that the inside host preserved. */
static inline enum nat_verdict tcp_in(struct lab *lab, unsigned dport, unsigned flags, uint32_t seq,
				      uint32_t ack, const char *data)
{
	struct packet p = packet_tcp(R1, 443, EXT, dport, flags, seq, ack, data);
	enum nat_verdict v = lab_send(lab, OUTSIDE, p);

	if (v == NAT_TRANSLATE)
		assert_sums(p);
	free(p.b);
	return v;
}

static inline enum nat_verdict udp_out(struct lab *lab, const char *src, unsigned sport,
				       const char *dst, unsigned dport)
{
	struct packet p = packet_udp(src, sport, dst, dport, "x");
	enum nat_verdict v = lab_send(lab, INSIDE, p);

	free(p.b);
	return v;
}

static inline enum nat_verdict udp_in(struct lab *lab, const char *src, unsigned sport,
				      unsigned dport)
{
	struct packet p = packet_udp(src, sport, EXT, dport, "x");
	enum nat_verdict v = lab_send(lab, OUTSIDE, p);

	free(p.b);
	return v;
}

static inline struct nat_session_info only_session(struct lab *lab)
{
	struct nat_session_info info[2];
	struct nat_filter any = {0};

	assert_int_equal(lab_list(lab, &any, 100000, info, 2), 1);
	return info[0];
}

static inline enum nat_tcp_state tcp_state(struct lab *lab)
{
	return only_session(lab).tcp_state;
}

static inline void handshake(struct lab *lab, const char *src, unsigned sport)
{
	assert_int_equal(tcp_out(lab, src, sport, SYN, 1000, 0, ""), NAT_TRANSLATE);
	assert_int_equal(tcp_in(lab, sport, SYN | ACK, 5000, 1001, ""), NAT_TRANSLATE);
	assert_int_equal(tcp_out(lab, src, sport, ACK, 1001, 5001, ""), NAT_TRANSLATE);
}

#endif /* TEST_NAT_FLOWS_H */
