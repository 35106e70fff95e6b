/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP errors and the packets they quote, in every direction, and what arrives damaged or made up.
 */
#include "test_nat_lab.h"

/* The quoted IPv4 header's checksum is right for what it says. */
static void assert_quote_sum(struct packet e)
{
	assert_int_equal(get16(e.b + 28 + 10), right_ip(e.b + 28));
}

/* Sends a packet out, has a hop on the way report it with `quoted` bytes (0: all), and checks that
 * the inside gets the error about exactly what it sent. */
static void error_round(struct lab *lab, struct packet p, unsigned quoted, const char *from)
{
	struct packet before = packet_copy(p), e;
	char inside[INET_ADDRSTRLEN];

	snprintf(inside, sizeof(inside), "%s", packet_src(p));
	assert_translates(lab, INSIDE, p);
	if (quoted == 0 || quoted > p.len)
		quoted = p.len;
	e = packet_error(from, packet_src(p), 11, 0, p, quoted);
	assert_translates(lab, OUTSIDE, e);
	assert_string_equal(packet_src(e), from);
	assert_string_equal(packet_dst(e), inside);
	assert_int_equal(e.b[8], 63);
	assert_sums(e);
	assert_quote_sum(e);
	/* the quote is what was sent, but for TTL and its sum */
	before.b[8] = e.b[28 + 8];
	set16(before.b + 10, right_ip(before.b));
	assert_memory_equal(e.b + 28, before.b, quoted);
	free(e.b);
	free(before.b);
	free(p.b);
}

static void test_error_about_udp_keeps_hop_and_mapping_C19_I2_I3_I6(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_start_static(&lab);
	error_round(&lab, packet_udp("10.0.0.2", 33000, R1, 33434, "probe"), 0, HOP);
	p = packet_udp("10.0.0.2", 33000, R1, 33434, "next");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 33000);
	free(p.b);
	assert_int_equal(lab_sessions(&lab), 1);
	lab_end(&lab);
}

static void test_error_quotes_of_every_protocol_and_length_C21_I2(void **state)
{
	struct lab lab;

	(void)state;
	lab_start_static(&lab);
	for (unsigned k = 0; k < 2; k++) {
		/* the second host's ports and identifiers are changed */
		const char *host = k ? "10.0.0.3" : "10.0.0.2";

		for (unsigned q = 28; q <= 48; q += 4) {
			error_round(&lab, packet_udp(host, 5000, R1, 53, "question"), q, HOP);
			error_round(&lab, packet_tcp(host, 5000, R1, 80, SYN, 77, 0, "data"), q,
				    R1);
			error_round(&lab, packet_icmp(host, R1, 8, 5000, 3, "ping"), q, HOP);
		}
		error_round(&lab, packet_udp("10.0.0.50", 5000 + k, R1, 53, "static"), 28, HOP);
		error_round(&lab, packet_icmp("10.0.0.50", R1, 8, 9 + k, 3, "static"), 0, HOP);
	}
	lab_end(&lab);
}

static void test_error_quote_with_odd_length_and_options_I2(void **state)
{
	struct lab lab;
	struct packet p = packet_ip(IPPROTO_UDP, "10.0.0.2", R1, 32, 13);

	(void)state;
	lab_start_static(&lab);
	set16(p.b + 32, 5001);
	set16(p.b + 34, 53);
	set16(p.b + 36, 13);
	memcpy(p.b + 40, "12345", 5);
	packet_seal(p);
	error_round(&lab, p, 0, HOP);
	lab_free(&lab);
}

static void test_error_about_gre_by_address_only_I2(void **state)
{
	struct lab lab;
	struct packet p = packet_ip(47, "10.0.0.2", R1, 20, 8);

	(void)state;
	lab_start_static(&lab);
	memset(p.b + 20, 0x5a, 8);
	packet_seal(p);
	error_round(&lab, p, 0, HOP);
	lab_free(&lab);
}

static void test_quoted_udp_without_checksum_stays_without_I2_K2(void **state)
{
	struct lab lab;
	struct packet p = packet_udp("10.0.0.2", 5000, R1, 53, "x");

	(void)state;
	lab_start_static(&lab);
	set16(p.b + 26, 0);
	error_round(&lab, p, 0, HOP);
	lab_free(&lab);
}

static void test_fragmentation_needed_keeps_its_mtu_C21(void **state)
{
	struct lab lab;
	struct packet p = packet_tcp("10.0.0.2", 42100, R1, 443, SYN, 1, 0, "long segment"), e;

	(void)state;
	lab_start_static(&lab);
	assert_translates(&lab, INSIDE, p);
	set16(p.b + 2, 1500); /* more than is quoted */
	set16(p.b + 10, right_ip(p.b));
	e = packet_error(HOP, EXT, 3, 4, p, 28);
	set16(e.b + 26, 1400);
	packet_seal(e);
	assert_translates(&lab, OUTSIDE, e);
	assert_int_equal(get16(e.b + 26), 1400);
	assert_string_equal(packet_dst(e), "10.0.0.2");
	assert_int_equal(get32(e.b + 28 + 12), 0x0a000002);
	assert_sums(e);
	assert_quote_sum(e);
	free(e.b);
	free(p.b);
	lab_free(&lab);
}

static void test_bytes_behind_the_quoted_datagram_are_not_its_own(void **state)
{
	struct lab lab;
	struct packet p = packet_tcp("10.0.0.2", 42100, R1, 443, SYN, 1, 0, "0123456789"), e;

	(void)state;
	lab_start_static(&lab);
	assert_translates(&lab, INSIDE, p);
	/* a datagram of 8 bytes, it says; what follows may be an extension (RFC 4884) */
	set16(p.b + 2, 28);
	set16(p.b + 10, right_ip(p.b));
	e = packet_error(HOP, EXT, 11, 0, p, p.len);
	assert_translates(&lab, OUTSIDE, e);
	assert_memory_equal(e.b + 28 + 24, p.b + 24, p.len - 24);
	assert_sums(e);
	free(e.b);
	free(p.b);
	lab_free(&lab);
}

/* An error that an inside host or router sends about a packet that came in. */
static void test_error_from_inside_hides_inside_addresses_I2(void **state)
{
	static const char *const from[] = {"10.0.0.50", "10.0.0.254"};
	struct lab lab;
	struct packet p, q, before;

	(void)state;
	lab_start_static(&lab);
	for (unsigned k = 0; k < 2; k++) {
		/* to a static host, to a forwarded port, and an answer to a mapping */
		p = packet_udp(R1, 700, "203.0.113.50", 53, "x");
		before = packet_copy(p);
		assert_translates(&lab, OUTSIDE, p);
		q = packet_error(from[k], R1, 3, 3, p, p.len);
		assert_translates(&lab, INSIDE, q);
		assert_string_equal(packet_src(q), "203.0.113.50");
		assert_string_equal(packet_dst(q), R1);
		assert_sums(q);
		assert_quote_sum(q);
		assert_memory_equal(q.b + 28 + 12, before.b + 12, before.len - 12);
		free(p.b);
		free(q.b);
		free(before.b);
	}
	p = packet_tcp(R1, 700, EXT, 8080, SYN, 9, 0, "");
	before = packet_copy(p);
	assert_translates(&lab, OUTSIDE, p);
	q = packet_error("10.0.0.80", R1, 3, 3, p, 28);
	assert_translates(&lab, INSIDE, q);
	assert_string_equal(packet_src(q), EXT);
	assert_sums(q);
	assert_memory_equal(q.b + 28 + 12, before.b + 12, 16);
	free(p.b);
	free(q.b);
	free(before.b);

	p = packet_udp("10.0.0.3", 5000, R1, 53, "x");
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	p = packet_udp(R1, 53, EXT, 5000, "answer");
	before = packet_copy(p);
	assert_translates(&lab, OUTSIDE, p);
	q = packet_error("10.0.0.3", R1, 3, 3, p, p.len);
	assert_translates(&lab, INSIDE, q);
	assert_string_equal(packet_src(q), EXT);
	assert_memory_equal(q.b + 28 + 12, before.b + 12, before.len - 12);
	assert_sums(q);
	free(p.b);
	free(q.b);
	free(before.b);
	lab_free(&lab);
}

static void test_error_about_a_hairpin_packet_I2_M9(void **state)
{
	struct lab lab;
	struct packet p, e, before;

	(void)state;
	lab_start_static(&lab);
	p = packet_tcp("10.0.0.2", 50000, EXT, 8080, SYN, 1, 0, "");
	before = packet_copy(p);
	assert_translates(&lab, INSIDE, p);
	/* the server refuses it by ICMP: the client sees the error from the external address */
	e = packet_error("10.0.0.80", EXT, 3, 3, p, 28);
	assert_translates(&lab, INSIDE, e);
	assert_string_equal(packet_src(e), EXT);
	assert_string_equal(packet_dst(e), "10.0.0.2");
	assert_memory_equal(e.b + 28 + 12, before.b + 12, 16);
	assert_sums(e);
	assert_quote_sum(e);
	free(p.b);
	free(e.b);
	free(before.b);
	lab_free(&lab);
}

static void test_which_errors_to_trust_C23_I4(void **state)
{
	struct lab lab;
	struct packet p = packet_udp("10.0.0.2", 7230, R1, 33600, "probe"), e,
		      original = packet_copy(p);

	(void)state;
	lab_start_static(&lab);
	assert_translates(&lab, INSIDE, p);
	/* bad ICMP sum */
	e = packet_error(HOP, EXT, 3, 3, p, p.len);
	set16(e.b + 22, get16(e.b + 22) ^ 0x0101);
	assert_drops(&lab, OUTSIDE, e, nat_icmp_bad_checksum);
	free(e.b);
	/* bad quoted IPv4 sum */
	e = packet_error(HOP, EXT, 3, 3, p, p.len);
	set16(e.b + 38, get16(e.b + 38) ^ 0x0101);
	packet_seal(e);
	assert_drops(&lab, OUTSIDE, e, nat_icmp_bad_quote);
	free(e.b);
	/* a flow that doesn't exist */
	{
		struct packet q = packet_udp(EXT, 7231, R1, 33600, "probe");

		e = packet_error(HOP, EXT, 3, 3, q, q.len);
		assert_drops(&lab, OUTSIDE, e, nat_icmp_no_session);
		free(e.b);
		free(q.b);
	}
	/* a stray reply */
	e = packet_icmp(R1, EXT, 0, 7230, 1, "x");
	assert_drops(&lab, OUTSIDE, e, nat_no_mapping);
	free(e.b);
	assert_int_equal(lab_sessions(&lab), 1);
	/* the quoted UDP sum is not checked, and its error preserved */
	set16(p.b + 26, get16(p.b + 26) ^ 0x00f0);
	e = packet_error(HOP, EXT, 3, 3, p, p.len);
	assert_translates(&lab, OUTSIDE, e);
	assert_sums(e);
	assert_quote_sum(e);
	assert_int_not_equal(get16(e.b + 28 + 26), get16(original.b + 26));
	free(e.b);
	free(p.b);
	free(original.b);
	lab_free(&lab);
}

static void test_malformed_quotes_are_refused(void **state)
{
	struct lab lab;
	struct packet p = packet_udp("10.0.0.2", 7230, R1, 33600, "probe"), e;

	(void)state;
	lab_start_static(&lab);
	assert_translates(&lab, INSIDE, p);
	/* too short: no header, no ports, 7 bytes of transport header */
	for (unsigned n = 0; n < 28; n++) {
		e = packet_error(HOP, EXT, 3, 3, p, n);
		assert_drops(&lab, OUTSIDE, e, nat_icmp_bad_quote);
		free(e.b);
	}
	/* version, header length, later fragment */
	for (unsigned k = 0; k < 3; k++) {
		e = packet_error(HOP, EXT, 3, 3, p, p.len);
		if (k == 0)
			e.b[28] = 0x65;
		else if (k == 1)
			e.b[28] = 0x4f;
		else
			set16(e.b + 28 + 6, 1);
		packet_seal(e);
		assert_drops(&lab, OUTSIDE, e, nat_icmp_bad_quote);
		free(e.b);
	}
	/* an error about an error */
	{
		struct packet q = packet_error(EXT, R1, 3, 3, p, 28);

		e = packet_error(HOP, EXT, 3, 3, q, q.len);
		assert_drops(&lab, OUTSIDE, e, nat_icmp_bad_quote);
		free(e.b);
		free(q.b);
	}
	free(p.b);
	lab_free(&lab);
}

static void test_errors_that_concern_no_translation_pass(void **state)
{
	struct lab lab;
	struct packet q = packet_udp("203.0.113.1", 5, R1, 6, "from the router itself"), e;

	(void)state;
	lab_start_static(&lab);
	e = packet_error(HOP, "203.0.113.1", 3, 3, q, q.len);
	assert_int_equal(lab_send(&lab, OUTSIDE, e), NAT_PASS);
	free(e.b);
	free(q.b);
	q = packet_udp("10.7.7.7", 5, R1, 6, "from a host without a rule");
	e = packet_error(HOP, "10.7.7.7", 3, 3, q, q.len);
	assert_int_equal(lab_send(&lab, OUTSIDE, e), NAT_PASS);
	free(e.b);
	/* but one that would leave with an inside address doesn't */
	e = packet_error("10.0.0.9", R1, 3, 3, q, q.len);
	assert_drops(&lab, INSIDE, e, nat_icmp_no_session);
	free(e.b);
	free(q.b);
	lab_free(&lab);
}

static void test_error_neither_prolongs_nor_ends_a_session_I3(void **state)
{
	struct lab lab;
	struct packet p = packet_udp("10.0.0.2", 5000, R1, 53, "x"), e;

	(void)state;
	lab_start_static(&lab);
	assert_translates(&lab, INSIDE, p);
	lab_wait(&lab, 200);
	e = packet_error(HOP, EXT, 3, 1, p, 28);
	assert_translates(&lab, OUTSIDE, e);
	free(e.b);
	lab_wait(&lab, 99);
	assert_int_equal(lab_sessions(&lab), 1);
	lab_wait(&lab, 1);
	assert_int_equal(lab_sessions(&lab), 0);
	free(p.b);
	lab_free(&lab);
}

static void test_message_cut_by_a_segment_boundary(void **state)
{
	/* only part of the message is contiguous: its checksum can't be verified, but is updated
	 * right */
	struct lab lab;
	struct packet p = packet_udp("10.0.0.3", 5000, R1, 53,
				     "a longer payload than is contiguous"),
		      e;
	struct nat_pkt k, *one = &k;

	(void)state;
	lab_alone = true;
	lab_start_static(&lab);
	assert_translates(&lab, INSIDE, p);
	e = packet_error(HOP, EXT, 3, 3, p, p.len);
	k = lab_parse(&lab, OUTSIDE, e);
	k.l4_avail = 8 + 20 + 8;
	nat_lookup_burst(lab.nat, &one, 1);
	assert_int_equal(k.verdict, NAT_TRANSLATE);
	assert_int_equal(nat_rewrite(lab.nat, one, lab.now), NAT_TRANSLATE);
	assert_sums(e);
	assert_quote_sum(e);
	free(e.b);
	free(p.b);
	/* an echo request with a changed identifier likewise */
	p = packet_icmp("10.0.0.2", R1, 8, 7, 1, "some data");
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	p = packet_icmp("10.0.0.3", R1, 8, 7, 1, "some data");
	k = lab_parse(&lab, INSIDE, p);
	k.l4_avail = 8;
	nat_lookup_burst(lab.nat, &one, 1);
	assert_int_equal(nat_miss(lab.nat, one, OUTSIDE, lab.now), NAT_TRANSLATE);
	assert_int_equal(nat_rewrite(lab.nat, one, lab.now), NAT_TRANSLATE);
	assert_int_not_equal(packet_id(p), 7);
	assert_sums(p);
	free(p.b);
	lab_free(&lab);
	lab_alone = false;
}

static void test_random_quotes_do_no_harm(void **state)
{
	struct lab lab;
	struct packet sent[3];
	uint64_t seed = 77;
	unsigned translated = 0;

	(void)state;
	lab_start_static(&lab);
	sent[0] = packet_udp("10.0.0.2", 5000, R1, 53, "x");
	sent[1] = packet_tcp("10.0.0.2", 5000, R1, 80, SYN, 1, 0, "payload");
	sent[2] = packet_icmp("10.0.0.2", R1, 8, 5000, 1, "ping");
	for (unsigned k = 0; k < 3; k++)
		assert_translates(&lab, INSIDE, sent[k]);
	for (unsigned i = 0; i < 60000; i++) {
		static const uint8_t types[] = {3, 4, 5, 11, 12};
		struct packet q = sent[lab_rand(&seed) % 3], e;
		unsigned n = lab_rand(&seed) % (q.len + 1), flips = lab_rand(&seed) % 4;

		e = packet_error(HOP, EXT, types[lab_rand(&seed) % 5], 0, q, n);
		if (i % 4 == 0) {
			for (unsigned b = 28; b < e.len; b++)
				e.b[b] = (uint8_t)lab_rand(&seed);
		}
		while (e.len > 28 && flips-- > 0)
			e.b[28 + lab_rand(&seed) % (e.len - 28)] = (uint8_t)lab_rand(&seed);
		if (n >= 20 && lab_rand(&seed) % 2 && packet_ihl(e.b + 28) <= n &&
		    packet_ihl(e.b + 28) >= 20)
			set16(e.b + 38, right_ip(e.b + 28));
		packet_seal(e);
		if (lab_send(&lab, OUTSIDE, e) == NAT_TRANSLATE) {
			translated++;
			assert_sums(e);
			assert_quote_sum(e);
			assert_string_equal(packet_dst(e), "10.0.0.2");
		}
		free(e.b);
	}
	assert_true(translated > 1000);
	assert_int_equal(lab_sessions(&lab), 3);
	for (unsigned k = 0; k < 3; k++)
		free(sent[k].b);
	lab_end(&lab);
}

static void test_random_transport_headers_do_no_harm(void **state)
{
	static const uint8_t protos[] = {6, 17, 1, 136, 33, 47, 132};
	struct lab lab;
	uint64_t seed = 99;

	(void)state;
	lab_start_static(&lab);
	for (unsigned i = 0; i < 60000; i++) {
		unsigned n = lab_rand(&seed) % 40, from_outside = lab_rand(&seed) % 2;
		struct packet p =
			packet_ip(protos[lab_rand(&seed) % 7], from_outside ? R1 : "10.0.0.2",
				  from_outside ? EXT : R1, 20 + 4 * (lab_rand(&seed) % 4), n);

		for (unsigned b = p.len - n; b < p.len; b++)
			p.b[b] = (uint8_t)lab_rand(&seed);
		if (lab_rand(&seed) % 10 == 0)
			set16(p.b + 6, lab_rand(&seed));
		set16(p.b + 10, right_ip(p.b));
		lab_send(&lab, from_outside ? OUTSIDE : INSIDE, p);
		assert_int_equal(get16(p.b + 10), right_ip(p.b));
		free(p.b);
	}
	lab_end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_about_udp_keeps_hop_and_mapping_C19_I2_I3_I6),
		cmocka_unit_test(test_error_quotes_of_every_protocol_and_length_C21_I2),
		cmocka_unit_test(test_error_quote_with_odd_length_and_options_I2),
		cmocka_unit_test(test_error_about_gre_by_address_only_I2),
		cmocka_unit_test(test_quoted_udp_without_checksum_stays_without_I2_K2),
		cmocka_unit_test(test_fragmentation_needed_keeps_its_mtu_C21),
		cmocka_unit_test(test_bytes_behind_the_quoted_datagram_are_not_its_own),
		cmocka_unit_test(test_error_from_inside_hides_inside_addresses_I2),
		cmocka_unit_test(test_error_about_a_hairpin_packet_I2_M9),
		cmocka_unit_test(test_which_errors_to_trust_C23_I4),
		cmocka_unit_test(test_malformed_quotes_are_refused),
		cmocka_unit_test(test_errors_that_concern_no_translation_pass),
		cmocka_unit_test(test_error_neither_prolongs_nor_ends_a_session_I3),
		cmocka_unit_test(test_message_cut_by_a_segment_boundary),
		cmocka_unit_test(test_random_quotes_do_no_harm),
		cmocka_unit_test(test_random_transport_headers_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
