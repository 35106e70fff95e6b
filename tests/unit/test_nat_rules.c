/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rules do: mapping, filtering, static, dnat, exempt, masquerade, hairpin.
 */
#include "test_nat_lab.h"

#define R1  "198.51.100.7"
#define R2  "198.51.100.8"
#define EXT "203.0.113.10"

/* Sends a UDP datagram out and returns the external port it got. */
static unsigned out_udp(struct lab *lab, const char *src, unsigned sport, const char *dst,
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

static enum nat_verdict in_udp(struct lab *lab, const char *src, unsigned sport, const char *dst,
			       unsigned dport, const char *to, unsigned to_port)
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

/* ---- mapping ---- */

static void test_one_external_endpoint_whatever_the_destination_M1(void **state)
{
	struct lab lab;
	unsigned a, b;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_load(&lab);
	/* another host has the port already, so it can't be preserved */
	assert_int_equal(out_udp(&lab, "10.0.0.3", 5000, R1, 53), 5000);
	a = out_udp(&lab, "10.0.0.2", 5000, R1, 53);
	b = out_udp(&lab, "10.0.0.2", 5000, R2, 54);
	assert_int_not_equal(a, 5000);
	assert_int_equal(a, b);
	assert_int_equal(lab_stats(&lab).mappings, 2);
	assert_int_equal(lab_stats(&lab).sessions, 3);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_mapping_depends_on_address_or_endpoint_when_told_so(void **state)
{
	struct lab lab;
	unsigned a, b, c;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab.conf.mapping = NAT_ADDRESS_DEPENDENT;
	lab_load(&lab);
	a = out_udp(&lab, "10.0.0.2", 5000, R1, 53);
	b = out_udp(&lab, "10.0.0.2", 5000, R1, 54);
	c = out_udp(&lab, "10.0.0.2", 5000, R2, 53);
	assert_int_equal(a, b);
	assert_int_not_equal(a, c);
	lab_drain(&lab);

	lab.conf.mapping = NAT_ADDRESS_AND_PORT_DEPENDENT;
	lab_load(&lab);
	a = out_udp(&lab, "10.0.0.2", 5000, R1, 53);
	b = out_udp(&lab, "10.0.0.2", 5000, R1, 54);
	assert_int_not_equal(a, b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_host_keeps_its_paired_address_M2(void **state)
{
	struct lab lab;
	char addr[32], seen[32];
	unsigned distinct[8] = {0};

	(void)state;
	lab_init(&lab);
	lab_pool(&lab, "203.0.113.16", "203.0.113.23", 0, 0);
	lab_rule(&lab, NAT_RULE_SNAT, 1)->source = net4("10.0.0.0/8");
	lab_load(&lab);
	for (unsigned host = 1; host < 100; host++) {
		snprintf(addr, sizeof(addr), "10.0.1.%u", host);
		for (unsigned i = 0; i < 6; i++) {
			struct packet p = i % 2 ? packet_tcp(addr, 2000 + i, R1, 80, SYN, 1, 0, "")
						: packet_udp(addr, 3000 + i, R2, 53 + i, "x");

			assert_translates(&lab, INSIDE, p);
			if (i == 0)
				snprintf(seen, sizeof(seen), "%s", packet_src(p));
			assert_string_equal(packet_src(p), seen);
			free(p.b);
		}
		distinct[atoi(seen + 10) - 16]++;
	}
	/* and hosts are spread over the pool */
	for (unsigned i = 0; i < 8; i++)
		assert_in_range(distinct[i], 10, 15);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_full_paired_address_refuses_M2_M10(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_pool(&lab, "203.0.113.16", "203.0.113.17", 2000, 2001);
	lab_rule(&lab, NAT_RULE_SNAT, 1)->source = net4("10.0.0.0/8");
	lab_load(&lab);
	out_udp(&lab, "10.0.0.2", 5000, R1, 53);
	out_udp(&lab, "10.0.0.2", 5001, R1, 53);
	p = packet_udp("10.0.0.2", 5002, R1, 53, "x");
	assert_drops(&lab, INSIDE, p, nat_pool_exhausted);
	free(p.b);
	/* the other address is free for another host */
	out_udp(&lab, "10.0.0.3", 5000, R1, 53);
	out_udp(&lab, "10.0.0.3", 5001, R1, 53);
	p = packet_udp("10.0.0.4", 5002, R1, 53, "x");
	assert_drops(&lab, INSIDE, p, nat_pool_exhausted);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_no_two_inside_endpoints_share_an_external_one_M3(void **state)
{
	/* two rules with overlapping pools, and a masquerade on an address of both */
	struct lab lab;
	static uint8_t seen[8][65536];
	uint64_t seed = 5;

	(void)state;
	memset(seen, 0, sizeof(seen));
	lab_init(&lab);
	lab_addr(&lab, OUTSIDE, "203.0.113.17");
	lab_pool(&lab, "203.0.113.16", "203.0.113.18", 5000, 5400);
	lab_pool(&lab, "203.0.113.17", "203.0.113.19", 5200, 5600);
	lab_rule(&lab, NAT_RULE_SNAT, 1)->source = net4("10.0.0.0/16");
	lab.rules[0].pool = 0;
	lab_rule(&lab, NAT_RULE_SNAT, 2)->source = net4("10.1.0.0/16");
	lab.rules[1].pool = 1;
	lab_rule(&lab, NAT_RULE_MASQUERADE, 3)->source = net4("10.2.0.0/16");
	lab_load(&lab);
	for (unsigned i = 0; i < 3000; i++) {
		struct packet p;
		char src[32];

		snprintf(src, sizeof(src), "10.%u.0.%u", i % 3, 1 + lab_rand(&seed) % 200);
		p = packet_udp(src, 5000 + lab_rand(&seed) % 700, R1, 53, "x");
		if (lab_send(&lab, INSIDE, p) == NAT_TRANSLATE && lab.last.dir == 0) {
			unsigned a = (unsigned)p.b[15] - 16, port = packet_sport(p);
			uint32_t created = (uint32_t)lab_stats(&lab).sessions_created;
			static uint32_t last;

			assert_true(a < 4);
			if (created != last)
				assert_int_equal(seen[a][port]++, 0);
			last = created;
		}
		free(p.b);
	}
	assert_true(lab_stats(&lab).mappings > 1000);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_two_hosts_with_one_source_port_C26_M3(void **state)
{
	struct lab lab;
	struct packet p, q;
	unsigned a, b;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_load(&lab);
	assert_int_equal(out_udp(&lab, "10.0.0.2", 5000, R1, 53), 5000);
	a = out_udp(&lab, "10.0.0.3", 5000, R1, 53);
	assert_in_range(a, 1024, 65535);
	assert_int_equal(a % 2, 0);
	assert_int_equal(in_udp(&lab, R1, 53, EXT, 5000, "10.0.0.2", 5000), NAT_TRANSLATE);
	assert_int_equal(in_udp(&lab, R1, 53, EXT, a, "10.0.0.3", 5000), NAT_TRANSLATE);

	p = packet_tcp("10.0.0.2", 5000, R1, 80, SYN, 1, 0, "");
	q = packet_tcp("10.0.0.3", 5000, R1, 80, SYN, 1, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_translates(&lab, INSIDE, q);
	assert_from(p, EXT, 5000);
	assert_int_not_equal(packet_sport(q), 5000);
	assert_true(packet_sport(q) >= 1024);
	free(p.b);
	free(q.b);

	p = packet_icmp("10.0.0.2", R1, 8, 5000, 1, "ping");
	q = packet_icmp("10.0.0.3", R1, 8, 5000, 1, "ping");
	assert_translates(&lab, INSIDE, p);
	assert_translates(&lab, INSIDE, q);
	assert_sums(p);
	assert_sums(q);
	a = packet_id(p);
	b = packet_id(q);
	assert_int_equal(a, 5000);
	assert_int_not_equal(b, 5000);
	free(p.b);
	free(q.b);
	p = packet_icmp(R1, EXT, 0, b, 1, "ping");
	assert_translates(&lab, OUTSIDE, p);
	assert_string_equal(packet_dst(p), "10.0.0.3");
	assert_int_equal(packet_id(p), 5000);
	assert_sums(p);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_port_range_and_parity_are_preserved_M4_M5(void **state)
{
	struct lab lab;
	char src[32];

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_load(&lab);
	for (unsigned i = 0; i < 100; i++) {
		unsigned low, odd, even;

		snprintf(src, sizeof(src), "10.0.0.%u", 100 + i);
		low = out_udp(&lab, src, 500, R1, 500);
		odd = out_udp(&lab, src, 40001, R1, 53);
		even = out_udp(&lab, src, 40000, R1, 53);
		assert_in_range(low, 1, 1023);
		assert_int_equal(low % 2, 0);
		assert_in_range(odd, 1024, 65535);
		assert_int_equal(odd % 2, 1);
		assert_in_range(even, 1024, 65535);
		assert_int_equal(even % 2, 0);
		if (i == 0) {
			assert_int_equal(low, 500);
			assert_int_equal(odd, 40001);
			assert_int_equal(even, 40000);
		}
	}
	/* port 0 is not one that could be preserved */
	assert_in_range(out_udp(&lab, "10.0.0.99", 0, R1, 53), 1, 1023);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_reserved_and_forwarded_ports_are_never_allocated(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab.reserved[0] = (struct nat_reserved){ip4(EXT), IPPROTO_UDP, 4500};
	lab.conf.n_reserved = 1;
	lab_load(&lab);
	assert_int_not_equal(out_udp(&lab, "10.0.0.2", 4500, R1, 4500), 4500);
	p = packet_tcp("10.0.0.2", 8080, R1, 80, SYN, 1, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_int_not_equal(packet_sport(p), 8080);
	free(p.b);
	/* UDP 8080 is not forwarded */
	assert_int_equal(out_udp(&lab, "10.0.0.2", 8080, R1, 53), 8080);

	/* the port is given up by the configuration, and a port in use becomes reserved */
	lab.reserved[0].port = 8080;
	lab_load(&lab);
	assert_int_equal(out_udp(&lab, "10.0.0.3", 4500, R1, 4500), 4500);
	assert_int_equal(out_udp(&lab, "10.0.0.2", 8080, R2, 53), 8080);
	lab_drain(&lab);
	assert_int_not_equal(out_udp(&lab, "10.0.0.2", 8080, R1, 53), 8080);
	lab_drain(&lab);

	/* it becomes reserved while a mapping has it, which then goes while the address stays in
	 * use */
	lab.reserved[0].port = 4500;
	lab_load(&lab);
	assert_int_equal(out_udp(&lab, "10.0.0.2", 8080, R1, 53), 8080);
	lab.reserved[0].port = 8080;
	lab_load(&lab);
	for (unsigned i = 0; i < 5; i++) {
		lab_wait(&lab, 100);
		out_udp(&lab, "10.0.0.9", 999, R1, 53);
	}
	assert_int_equal(lab_stats(&lab).mappings, 1);
	assert_int_not_equal(out_udp(&lab, "10.0.0.2", 8080, R1, 53), 8080);
	lab.conf.n_reserved = 0;
	lab_load(&lab);
	assert_int_equal(out_udp(&lab, "10.0.0.4", 8080, R1, 53), 8080);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_new_ports_are_random_M12(void **state)
{
	unsigned first[2][50], differ = 0, ascending = 0;

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct lab lab;
		char src[32];

		lab_init_sized(&lab, (struct nat_limits){.max_sessions = 4096,
							 .max_external = 4,
							 .seed = 1000 + k});
		lab_base(&lab);
		lab_load(&lab);
		out_udp(&lab, "10.0.0.2", 5000, R1, 53);
		for (unsigned i = 0; i < 50; i++) {
			snprintf(src, sizeof(src), "10.0.0.%u", 3 + i);
			first[k][i] = out_udp(&lab, src, 5000, R1, 53);
		}
		lab_free(&lab);
	}
	for (unsigned i = 0; i < 50; i++) {
		differ += first[0][i] != first[1][i];
		ascending += i > 0 && first[0][i] > first[0][i - 1];
	}
	assert_true(differ > 40);
	assert_in_range(ascending, 12, 38);
}

static void test_icmp_identifiers_0_1_80_65535_are_kept_C25(void **state)
{
	static const unsigned ids[] = {0, 1, 80, 65535};
	struct lab lab;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_load(&lab);
	for (unsigned i = 0; i < 4; i++) {
		struct packet p = packet_icmp("10.0.0.2", R1, 8, ids[i], i, "data");
		struct packet q = packet_icmp(R1, EXT, 0, ids[i], i, "data");

		assert_translates(&lab, INSIDE, p);
		assert_int_equal(packet_id(p), ids[i]);
		assert_string_equal(packet_src(p), EXT);
		assert_sums(p);
		assert_translates(&lab, OUTSIDE, q);
		assert_int_equal(packet_id(q), ids[i]);
		assert_string_equal(packet_dst(q), "10.0.0.2");
		assert_sums(q);
		free(p.b);
		free(q.b);
	}
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_limited_pool_limits_icmp_identifiers_too(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab.pools[0].port_lo = 50000;
	lab.pools[0].port_hi = 50001;
	lab_load(&lab);
	for (unsigned i = 0; i < 3; i++) {
		p = packet_icmp("10.0.0.2", R1, 8, 7 + i, 1, "");
		if (i < 2) {
			assert_translates(&lab, INSIDE, p);
			assert_in_range(packet_id(p), 50000, 50001);
		} else {
			assert_drops(&lab, INSIDE, p, nat_pool_exhausted);
		}
		free(p.b);
	}
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_protocol_without_ports_one_host_each_C29(void **state)
{
	struct lab lab;
	struct packet p = packet_ip(47, "10.0.0.2", R1, 20, 16), q;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_load(&lab);
	memset(p.b + 20, 0xa5, 16);
	packet_seal(p);
	q = packet_copy(p);
	assert_translates(&lab, INSIDE, p);
	assert_string_equal(packet_src(p), EXT);
	assert_sums(p);
	assert_memory_equal(p.b + 20, q.b + 20, 16);
	free(q.b);
	/* the same host to another peer: the same mapping */
	q = packet_ip(47, "10.0.0.2", R2, 20, 16);
	packet_seal(q);
	assert_translates(&lab, INSIDE, q);
	free(q.b);
	/* back */
	q = packet_ip(47, R1, EXT, 20, 16);
	packet_seal(q);
	assert_translates(&lab, OUTSIDE, q);
	assert_string_equal(packet_dst(q), "10.0.0.2");
	assert_sums(q);
	free(q.b);
	/* another host: refused; another protocol: taken */
	q = packet_ip(47, "10.0.0.3", R1, 20, 16);
	packet_seal(q);
	assert_drops(&lab, INSIDE, q, nat_protocol_in_use);
	free(q.b);
	q = packet_ip(50, "10.0.0.3", R1, 20, 16);
	packet_seal(q);
	assert_translates(&lab, INSIDE, q);
	free(q.b);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

/* ---- filtering ---- */

static void test_filtering_behaviours_M8(void **state)
{
	static const bool allowed[3][3] = {
		/* same endpoint, same address, stranger */
		[NAT_ENDPOINT_INDEPENDENT] = {true, true, true},
		[NAT_ADDRESS_DEPENDENT] = {true, true, false},
		[NAT_ADDRESS_AND_PORT_DEPENDENT] = {true, false, false},
	};

	(void)state;
	for (unsigned f = 0; f < 3; f++) {
		struct lab lab;

		lab_init(&lab);
		lab_base(&lab);
		lab.conf.filtering = f;
		lab_load(&lab);
		out_udp(&lab, "10.0.0.2", 5000, R1, 53);
		assert_int_equal(in_udp(&lab, R1, 53, EXT, 5000, "10.0.0.2", 5000) == NAT_TRANSLATE,
				 allowed[f][0]);
		assert_int_equal(in_udp(&lab, R1, 54, EXT, 5000, "10.0.0.2", 5000) == NAT_TRANSLATE,
				 allowed[f][1]);
		if (!allowed[f][1])
			assert_reason(&lab, nat_filtered);
		assert_int_equal(in_udp(&lab, R2, 53, EXT, 5000, "10.0.0.2", 5000) == NAT_TRANSLATE,
				 allowed[f][2]);
		if (!allowed[f][2])
			assert_reason(&lab, nat_filtered);
		assert_int_equal(in_udp(&lab, R1, 53, EXT, 5001, "", 0), NAT_DROP);
		assert_reason(&lab, nat_no_mapping);
		lab_drain(&lab);
		lab_free(&lab);
	}
}

static void test_unsolicited_syn_is_dropped_T3(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_load(&lab);
	p = packet_tcp("10.0.0.2", 5000, R1, 80, SYN, 1, 0, "");
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	p = packet_tcp(R2, 80, EXT, 5000, SYN, 1, 0, "");
	assert_drops(&lab, OUTSIDE, p, nat_filtered);
	free(p.b);
	p = packet_tcp(R2, 80, EXT, 5001, SYN, 1, 0, "");
	assert_drops(&lab, OUTSIDE, p, nat_no_mapping);
	free(p.b);
	assert_int_equal(lab_sessions(&lab), 1);
	lab_drain(&lab);
	lab_free(&lab);
}

/* ---- static ---- */

static void test_static_keeps_host_parts_both_ways_M13_C15(void **state)
{
	struct lab lab;
	struct nat_rule *r;
	struct packet p;

	(void)state;
	lab_init(&lab);
	r = lab_rule(&lab, NAT_RULE_STATIC, 9);
	r->external = net4("203.0.113.64/28");
	r->internal = net4("10.5.5.16/28");
	lab_load(&lab);

	p = packet_tcp("10.5.5.19", 7000, R1, 80, SYN, 1, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, "203.0.113.67", 7000);
	assert_sums(p);
	free(p.b);
	p = packet_udp(R2, 7100, "203.0.113.79", 161, "get");
	assert_translates(&lab, OUTSIDE, p);
	assert_to(p, "10.5.5.31", 161);
	assert_from(p, R2, 7100);
	assert_sums(p);
	free(p.b);
	/* ICMP has no pseudo-header: its checksum stays */
	p = packet_icmp(R2, "203.0.113.70", 8, 9, 9, "abc");
	{
		unsigned before = get16(p.b + 22);

		assert_translates(&lab, OUTSIDE, p);
		assert_string_equal(packet_dst(p), "10.5.5.22");
		assert_int_equal(get16(p.b + 22), before);
		assert_sums(p);
	}
	free(p.b);
	/* a stray reply opens nothing (C23) */
	p = packet_icmp(R2, "203.0.113.70", 0, 10, 9, "abc");
	assert_drops(&lab, OUTSIDE, p, nat_no_mapping);
	free(p.b);
	/* neighbours of the prefix are not concerned */
	p = packet_udp("10.5.5.32", 1, R1, 2, "x");
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	free(p.b);
	p = packet_udp("10.5.5.19", 1, "10.9.9.9", 2, "x");
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_static_goes_before_snat_and_its_address_is_not_in_the_pool_C15_C29(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_static(&lab);
	/* the pool contains the static address */
	lab.ranges[0] = (struct nat_range){ip4("203.0.113.50"), ip4("203.0.113.51")};
	lab.rules[1].destination = net4("203.0.113.51");
	lab_load(&lab);
	for (unsigned i = 0; i < 3; i++) {
		p = packet_ip(47, "10.0.0.50", "198.51.100.30", 20, 30);
		packet_seal(p);
		assert_translates(&lab, INSIDE, p);
		assert_string_equal(packet_src(p), "203.0.113.50");
		assert_sums(p);
		free(p.b);
	}
	p = packet_ip(47, "198.51.100.30", "203.0.113.50", 20, 30);
	packet_seal(p);
	assert_translates(&lab, OUTSIDE, p);
	assert_string_equal(packet_dst(p), "10.0.0.50");
	assert_sums(p);
	free(p.b);
	for (unsigned i = 0; i < 30; i++) {
		char src[32];

		snprintf(src, sizeof(src), "10.0.0.%u", 100 + i);
		p = packet_udp(src, 5, R1, 53, "x");
		assert_translates(&lab, INSIDE, p);
		assert_string_equal(packet_src(p), "203.0.113.51");
		free(p.b);
	}
	lab_drain(&lab);
	lab_free(&lab);
}

/* ---- dnat ---- */

static void test_dnat_forwards_a_range_and_answers_come_from_outside(void **state)
{
	struct lab lab;
	struct nat_rule *r;
	struct packet p, q;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	r = lab_rule(&lab, NAT_RULE_DNAT, 7);
	r->protocol = IPPROTO_UDP;
	r->destination = net4("203.0.113.1"); /* the router's own address */
	r->dport_lo = 6000;
	r->dport_hi = 6009;
	r->to_be = ip4("10.0.0.90");
	r->to_port = 7000;
	lab_load(&lab);
	p = packet_udp(R1, 999, "203.0.113.1", 6003, "x");
	assert_translates(&lab, OUTSIDE, p);
	assert_to(p, "10.0.0.90", 7003);
	assert_from(p, R1, 999);
	assert_sums(p);
	free(p.b);
	q = packet_udp("10.0.0.90", 7003, R1, 999, "y");
	assert_translates(&lab, INSIDE, q);
	assert_from(q, "203.0.113.1", 6003);
	assert_sums(q);
	free(q.b);
	/* beside the range: to the router itself */
	p = packet_udp(R1, 999, "203.0.113.1", 6010, "x");
	assert_int_equal(lab_send(&lab, OUTSIDE, p), NAT_PASS);
	free(p.b);
	p = packet_tcp(R1, 999, "203.0.113.1", 6003, SYN, 1, 0, "");
	assert_int_equal(lab_send(&lab, OUTSIDE, p), NAT_PASS);
	free(p.b);
	/* TCP, other port */
	p = packet_tcp(R1, 4000, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, OUTSIDE, p);
	assert_to(p, "10.0.0.80", 80);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_dnat_of_a_whole_address_keeps_ports_and_takes_all_protocols(void **state)
{
	struct lab lab;
	struct nat_rule *r;
	struct packet p;

	(void)state;
	lab_init(&lab);
	r = lab_rule(&lab, NAT_RULE_DNAT, 7);
	r->destination = net4("203.0.113.30");
	r->to_be = ip4("10.0.0.30");
	lab_load(&lab);
	p = packet_udp(R1, 999, "203.0.113.30", 6003, "x");
	assert_translates(&lab, OUTSIDE, p);
	assert_to(p, "10.0.0.30", 6003);
	free(p.b);
	p = packet_icmp(R1, "203.0.113.30", 8, 1, 1, "x");
	assert_translates(&lab, OUTSIDE, p);
	assert_sums(p);
	free(p.b);
	p = packet_icmp("10.0.0.30", R1, 0, 1, 1, "x");
	assert_translates(&lab, INSIDE, p);
	assert_string_equal(packet_src(p), "203.0.113.30");
	free(p.b);
	p = packet_ip(132, R1, "203.0.113.30", 20, 12);
	packet_seal(p);
	assert_translates(&lab, OUTSIDE, p);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_two_forwards_to_one_server_conflict_only_for_one_client(void **state)
{
	struct lab lab;
	struct nat_rule *r;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	r = lab_rule(&lab, NAT_RULE_DNAT, 7);
	*r = lab.rules[1];
	r->id = 7;
	r->dport_lo = r->dport_hi = 8081;
	lab_load(&lab);
	p = packet_tcp(R1, 4000, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, OUTSIDE, p);
	free(p.b);
	p = packet_tcp(R1, 4000, EXT, 8081, SYN, 1, 0, "");
	assert_drops(&lab, OUTSIDE, p, nat_conflict);
	free(p.b);
	p = packet_tcp(R1, 4001, EXT, 8081, SYN, 1, 0, "");
	assert_translates(&lab, OUTSIDE, p);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

/* ---- masquerade, own addresses ---- */

static void test_masquerade_leaves_the_router_its_own_traffic(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_addr(&lab, INSIDE, "10.0.0.1");
	lab_addr(&lab, OUTSIDE, "203.0.113.1");
	lab_addr(&lab, OUTSIDE, "203.0.113.2");
	lab_rule(&lab, NAT_RULE_MASQUERADE, 4)->source = net4("10.0.0.0/8");
	lab_load(&lab);
	assert_int_equal(out_udp(&lab, "10.0.0.2", 5000, R1, 53), 5000);
	assert_int_equal(in_udp(&lab, R1, 53, "203.0.113.1", 5000, "10.0.0.2", 5000),
			 NAT_TRANSLATE);
	/* an echo request, and a port that nobody has, are for the router */
	p = packet_icmp(R1, "203.0.113.1", 8, 5000, 1, "");
	assert_int_equal(lab_send(&lab, OUTSIDE, p), NAT_PASS);
	free(p.b);
	assert_int_equal(in_udp(&lab, R1, 53, "203.0.113.1", 5001, "", 0), NAT_PASS);
	/* from the inside too (C36) */
	p = packet_icmp("10.0.0.2", "203.0.113.1", 8, 1, 1, "");
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	free(p.b);
	p = packet_icmp("10.0.0.2", "10.0.0.1", 8, 1, 1, "");
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	free(p.b);
	/* towards another interface: not concerned */
	p = packet_udp("10.0.0.2", 5000, "172.16.0.9", 53, "x");
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	free(p.b);
	/* the interface loses its address: refused, never untranslated (C4) */
	lab.conf.n_addrs = 1;
	lab_load(&lab);
	lab_wait(&lab, 2);
	assert_int_equal(lab_sessions(&lab), 0);
	p = packet_udp("10.0.0.2", 5000, R1, 53, "x");
	assert_drops(&lab, INSIDE, p, nat_no_address);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

/* ---- exempt ---- */

static void test_exempt_by_source_destination_protocol_and_port_C5(void **state)
{
	struct lab lab;
	struct nat_rule *r;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	r = lab_rule(&lab, NAT_RULE_EXEMPT, 20);
	r->source = net4("10.0.0.0/24");
	r->destination = net4("198.51.100.0/28");
	r->protocol = IPPROTO_UDP;
	r->dport_lo = 500;
	r->dport_hi = 510;
	r->iface = OUTSIDE;
	lab_load(&lab);
	p = packet_udp("10.0.0.2", 5000, R1, 505, "x");
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	assert_from(p, "10.0.0.2", 5000);
	free(p.b);
	out_udp(&lab, "10.0.0.2", 5000, R1, 511);
	out_udp(&lab, "10.0.0.2", 5000, "198.51.100.77", 505);
	p = packet_tcp("10.0.0.2", 5000, R1, 505, SYN, 0, 0, "");
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	/* a fragment whose ports are unknown might not be exempt: it doesn't leave untranslated */
	p = packet_udp("10.0.0.2", 5000, R1, 505, "x");
	set16(p.b + 6, 0x2000);
	packet_seal(p);
	assert_drops(&lab, INSIDE, p, nat_fragment);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_exempt_holds_for_destination_translation_too_C5(void **state)
{
	struct lab lab;
	struct nat_rule *r;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	r = lab_rule(&lab, NAT_RULE_EXEMPT, 20);
	r->source = net4(R1);
	lab_load(&lab);
	p = packet_tcp(R1, 5000, EXT, 8080, SYN, 1, 0, "");
	assert_int_equal(lab_send(&lab, OUTSIDE, p), NAT_PASS);
	free(p.b);
	p = packet_tcp(R2, 5000, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, OUTSIDE, p);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

/* ---- hairpin ---- */

static void test_hairpin_to_a_forwarded_port_changes_both_addresses_C31_M9(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_load(&lab);
	p = packet_tcp("10.0.0.2", 50000, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 50000);
	assert_to(p, "10.0.0.80", 80);
	assert_sums(p);
	free(p.b);
	p = packet_tcp("10.0.0.80", 80, EXT, 50000, SYN | ACK, 9, 2, "");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 8080);
	assert_to(p, "10.0.0.2", 50000);
	assert_sums(p);
	free(p.b);
	p = packet_tcp("10.0.0.2", 50000, EXT, 8080, ACK, 2, 10, "");
	assert_translates(&lab, INSIDE, p);
	free(p.b);

	lab.conf.hairpin = false;
	lab_load(&lab);
	p = packet_tcp("10.0.0.2", 50001, EXT, 8080, SYN, 1, 0, "");
	assert_drops(&lab, INSIDE, p, nat_no_mapping);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

/* A port forward whose clients get an inside address, as in front of servers with another way out:
 * the server has no source rule of its own. */
static void test_source_and_destination_at_once_for_many_clients(void **state)
{
	struct nat_rule *r;
	struct lab lab;

	(void)state;
	lab_init(&lab);
	lab_pool(&lab, "10.0.0.9", "10.0.0.9", 0, 0);
	r = lab_rule(&lab, NAT_RULE_SNAT, 1);
	r->iface = INSIDE;
	r = lab_rule(&lab, NAT_RULE_DNAT, 2);
	r->protocol = IPPROTO_UDP;
	r->destination = net4(EXT);
	r->dport_lo = r->dport_hi = 8080;
	r->to_be = ip4("10.0.0.80");
	r->to_port = 80;
	lab_load(&lab);
	for (unsigned i = 0; i < 32; i++) {
		char client[32];
		struct packet p;

		snprintf(client, sizeof(client), "198.51.100.%u", 1 + i);
		for (unsigned again = 0; again < 2; again++) {
			p = packet_udp(client, 5000 + i, EXT, 8080, "ask");
			assert_translates(&lab, OUTSIDE, p);
			assert_from(p, "10.0.0.9", 5000 + i);
			assert_to(p, "10.0.0.80", 80);
			assert_sums(p);
			free(p.b);
			p = packet_udp("10.0.0.80", 80, "10.0.0.9", 5000 + i, "answer");
			assert_translates(&lab, INSIDE, p);
			assert_from(p, EXT, 8080);
			assert_to(p, client, 5000 + i);
			assert_sums(p);
			free(p.b);
		}
	}
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_hairpin_between_mappings_obeys_the_filter_and_opens_by_knocking_M9(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	for (unsigned f = NAT_ADDRESS_DEPENDENT; f <= NAT_ADDRESS_AND_PORT_DEPENDENT; f++) {
		lab_init(&lab);
		lab_base(&lab);
		lab.conf.filtering = f;
		lab_load(&lab);
		/* both learn their external endpoints from a server */
		out_udp(&lab, "10.0.0.2", 5000, R1, 3478);
		out_udp(&lab, "10.0.0.3", 6000, R1, 3478);
		/* 2 sends to 3's endpoint: 3 never sent to 2's, so it is refused */
		p = packet_udp("10.0.0.2", 5000, EXT, 6000, "punch");
		assert_drops(&lab, INSIDE, p, nat_filtered);
		free(p.b);
		p = packet_udp("10.0.0.2", 5000, EXT, 6000, "punch");
		assert_drops(&lab, INSIDE, p, nat_filtered);
		free(p.b);
		assert_int_equal(lab_sessions(&lab), 3);
		/* 3 sends to 2's endpoint: 2 did send, so it arrives, and from now on both ways */
		p = packet_udp("10.0.0.3", 6000, EXT, 5000, "punch");
		assert_translates(&lab, INSIDE, p);
		assert_from(p, EXT, 6000);
		assert_to(p, "10.0.0.2", 5000);
		assert_sums(p);
		free(p.b);
		/* either side's packets keep it alive */
		for (unsigned i = 0; i < 4; i++) {
			lab_wait(&lab, 200);
			p = i < 2 ? packet_udp("10.0.0.3", 6000, EXT, 5000, "keep")
				  : packet_udp("10.0.0.2", 5000, EXT, 6000, "keep");
			assert_translates(&lab, INSIDE, p);
			free(p.b);
		}
		assert_int_equal(lab_sessions(&lab), 2); /* it and its knock */
		p = packet_udp("10.0.0.2", 5000, EXT, 6000, "through");
		assert_translates(&lab, INSIDE, p);
		assert_from(p, EXT, 5000);
		assert_to(p, "10.0.0.3", 6000);
		assert_sums(p);
		free(p.b);
		/* another endpoint of 3's */
		p = packet_udp("10.0.0.3", 6001, EXT, 5000, "other port");
		if (f == NAT_ADDRESS_DEPENDENT)
			assert_translates(&lab, INSIDE, p);
		else
			assert_drops(&lab, INSIDE, p, nat_filtered);
		free(p.b);
		lab_drain(&lab);
		lab_free(&lab);
	}
}

static void test_each_knock_opens_for_its_own_endpoint(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab.conf.filtering = NAT_ADDRESS_AND_PORT_DEPENDENT;
	lab_load(&lab);
	out_udp(&lab, "10.0.0.2", 5000, R1, 53);
	out_udp(&lab, "10.0.0.3", 6000, R1, 53);
	out_udp(&lab, "10.0.0.4", 7000, R1, 53);
	out_udp(&lab, "10.0.0.4", 8000, R1, 53);
	for (unsigned port = 6000; port <= 7000; port += 1000) {
		p = packet_udp("10.0.0.2", 5000, EXT, port, "punch");
		assert_drops(&lab, INSIDE, p, nat_filtered);
		free(p.b);
	}
	p = packet_udp("10.0.0.3", 6000, EXT, 5000, "x");
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	p = packet_udp("10.0.0.4", 7000, EXT, 5000, "x");
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	p = packet_udp("10.0.0.4", 8000, EXT, 5000, "x");
	assert_drops(&lab, INSIDE, p, nat_filtered);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_packets_from_outside_are_no_hairpin(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab.rules[0].source = net4("0.0.0.0/0");
	lab.conf.hairpin = false;
	lab_load(&lab);
	p = packet_tcp(R1, 4000, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, OUTSIDE, p);
	assert_from(p, R1, 4000);
	assert_to(p, "10.0.0.80", 80);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_hairpin_by_the_routers_own_address_with_a_rule_for_any_interface_M9(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab.rules[1].destination = net4("203.0.113.1");
	lab.rules[1].iface = NAT_IFACE_ANY;
	lab_load(&lab);
	p = packet_tcp("10.0.0.2", 50000, "203.0.113.1", 8080, SYN, 1, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 50000);
	assert_to(p, "10.0.0.80", 80);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_hairpin_from_static_and_to_static_M9(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_static(&lab);
	lab_load(&lab);
	p = packet_udp("10.0.0.2", 5000, "203.0.113.50", 53, "x");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 5000);
	assert_to(p, "10.0.0.50", 53);
	free(p.b);
	p = packet_tcp("10.0.0.50", 5000, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, "203.0.113.50", 5000);
	assert_to(p, "10.0.0.80", 80);
	free(p.b);
	/* to a mapping: its filter decides by the sender's external address */
	out_udp(&lab, "10.0.0.3", 6000, R1, 53);
	p = packet_udp("10.0.0.50", 7000, EXT, 6000, "x");
	assert_drops(&lab, INSIDE, p, nat_filtered);
	free(p.b);
	p = packet_udp("10.0.0.3", 6000, "203.0.113.50", 7000, "x");
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	p = packet_udp("10.0.0.50", 7001, EXT, 6000, "x");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, "203.0.113.50", 7001);
	assert_to(p, "10.0.0.3", 6000);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_hairpin_to_oneself_M9(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab.conf.filtering = NAT_ENDPOINT_INDEPENDENT;
	lab_load(&lab);
	out_udp(&lab, "10.0.0.2", 5000, R1, 53);
	/* from another socket of the same host, as NAT discovery does */
	p = packet_udp("10.0.0.2", 5001, EXT, 5000, "x");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 5001);
	assert_to(p, "10.0.0.2", 5000);
	free(p.b);
	/* from the very same one both keys would be equal */
	p = packet_udp("10.0.0.2", 5000, EXT, 5000, "x");
	assert_drops(&lab, INSIDE, p, nat_conflict);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_third_interface_reaches_forwarded_ports_untranslated_source(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_load(&lab);
	p = packet_tcp("172.16.0.9", 1234, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, DMZ, p);
	assert_from(p, "172.16.0.9", 1234);
	assert_to(p, "10.0.0.80", 80);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

/* ---- what is not translated ---- */

static void test_fragments_and_odd_icmp_never_leave_untranslated(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_static(&lab);
	lab_load(&lab);
	out_udp(&lab, "10.0.0.2", 5000, R1, 53);
	p = packet_udp("10.0.0.2", 5000, R1, 53, "first fragment");
	set16(p.b + 6, 0x2000);
	assert_drops(&lab, INSIDE, p, nat_fragment);
	free(p.b);
	p = packet_udp(R1, 53, EXT, 5000, "later fragment");
	set16(p.b + 6, 0x0010);
	assert_drops(&lab, OUTSIDE, p, nat_fragment);
	free(p.b);
	p = packet_udp("10.0.9.2", 5000, R1, 53, "not concerned");
	set16(p.b + 6, 0x2000);
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	free(p.b);
	p = packet_udp(R1, 5000, "203.0.113.1", 53, "to the router");
	set16(p.b + 6, 0x2000);
	assert_int_equal(lab_send(&lab, OUTSIDE, p), NAT_PASS);
	free(p.b);
	p = packet_icmp("10.0.0.2", R1, 9, 0, 0, "");
	assert_drops(&lab, INSIDE, p, nat_icmp_unknown);
	free(p.b);
	p = packet_icmp(R1, "203.0.113.50", 10, 0, 0, "");
	assert_drops(&lab, OUTSIDE, p, nat_icmp_unknown);
	free(p.b);
	p = packet_icmp("10.0.9.2", R1, 9, 0, 0, "");
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	free(p.b);
	/* a reply to nothing */
	p = packet_icmp("10.0.0.2", R1, 0, 3, 0, "");
	assert_drops(&lab, INSIDE, p, nat_no_session);
	free(p.b);
	/* short transport headers */
	p = packet_ip(IPPROTO_UDP, "10.0.0.2", R1, 20, 7);
	assert_drops(&lab, INSIDE, p, nat_bad_l4);
	free(p.b);
	p = packet_ip(IPPROTO_TCP, "10.0.0.2", R1, 20, 19);
	p.b[33] = SYN;
	assert_drops(&lab, INSIDE, p, nat_bad_l4);
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

static void test_translated_destination_without_a_route_is_dropped(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab.rules[1].to_be = ip4("192.168.5.5"); /* no route in the lab */
	lab_load(&lab);
	p = packet_tcp(R1, 4000, EXT, 8080, SYN, 1, 0, "");
	assert_drops(&lab, OUTSIDE, p, nat_no_route);
	free(p.b);
	/* an untranslated one without a route is the router's business */
	p = packet_udp("10.0.0.2", 4000, "192.168.5.5", 80, "x");
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	free(p.b);
	assert_int_equal(lab_sessions(&lab), 0);
	lab_free(&lab);
}

static void test_snat_rules_go_by_id_interface_destination_and_protocol(void **state)
{
	struct lab lab;
	struct nat_rule *r;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_pool(&lab, "203.0.113.10", "203.0.113.10", 0, 0);
	lab_pool(&lab, "203.0.113.11", "203.0.113.11", 0, 0);
	lab_pool(&lab, "203.0.113.12", "203.0.113.12", 0, 0);
	r = lab_rule(&lab, NAT_RULE_SNAT, 30); /* the catch-all, last by id */
	r->iface = NAT_IFACE_ANY;
	r->pool = 2;
	r = lab_rule(&lab, NAT_RULE_SNAT, 10);
	r->source = net4("10.0.0.0/8");
	r->destination = net4("198.51.100.0/24");
	r->protocol = IPPROTO_TCP;
	r = lab_rule(&lab, NAT_RULE_SNAT, 20);
	r->source = net4("10.0.0.0/24");
	r->pool = 1;
	lab_load(&lab);
	p = packet_tcp("10.0.0.2", 1000, R1, 80, SYN, 0, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_string_equal(packet_src(p), "203.0.113.10");
	free(p.b);
	p = packet_udp("10.0.0.2", 1000, R1, 80, "");
	assert_translates(&lab, INSIDE, p);
	assert_string_equal(packet_src(p), "203.0.113.11");
	free(p.b);
	p = packet_udp("10.1.0.2", 1000, R1, 80, "");
	assert_translates(&lab, INSIDE, p);
	assert_string_equal(packet_src(p), "203.0.113.12");
	free(p.b);
	p = packet_tcp("10.0.0.2", 1000, "172.16.0.1", 80, SYN, 0, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_string_equal(packet_src(p), "203.0.113.12");
	free(p.b);
	lab_drain(&lab);
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_external_endpoint_whatever_the_destination_M1),
		cmocka_unit_test(test_mapping_depends_on_address_or_endpoint_when_told_so),
		cmocka_unit_test(test_host_keeps_its_paired_address_M2),
		cmocka_unit_test(test_full_paired_address_refuses_M2_M10),
		cmocka_unit_test(test_no_two_inside_endpoints_share_an_external_one_M3),
		cmocka_unit_test(test_two_hosts_with_one_source_port_C26_M3),
		cmocka_unit_test(test_port_range_and_parity_are_preserved_M4_M5),
		cmocka_unit_test(test_reserved_and_forwarded_ports_are_never_allocated),
		cmocka_unit_test(test_new_ports_are_random_M12),
		cmocka_unit_test(test_icmp_identifiers_0_1_80_65535_are_kept_C25),
		cmocka_unit_test(test_limited_pool_limits_icmp_identifiers_too),
		cmocka_unit_test(test_protocol_without_ports_one_host_each_C29),
		cmocka_unit_test(test_filtering_behaviours_M8),
		cmocka_unit_test(test_unsolicited_syn_is_dropped_T3),
		cmocka_unit_test(test_static_keeps_host_parts_both_ways_M13_C15),
		cmocka_unit_test(
			test_static_goes_before_snat_and_its_address_is_not_in_the_pool_C15_C29),
		cmocka_unit_test(test_dnat_forwards_a_range_and_answers_come_from_outside),
		cmocka_unit_test(test_dnat_of_a_whole_address_keeps_ports_and_takes_all_protocols),
		cmocka_unit_test(test_two_forwards_to_one_server_conflict_only_for_one_client),
		cmocka_unit_test(test_masquerade_leaves_the_router_its_own_traffic),
		cmocka_unit_test(test_exempt_by_source_destination_protocol_and_port_C5),
		cmocka_unit_test(test_exempt_holds_for_destination_translation_too_C5),
		cmocka_unit_test(test_hairpin_to_a_forwarded_port_changes_both_addresses_C31_M9),
		cmocka_unit_test(test_source_and_destination_at_once_for_many_clients),
		cmocka_unit_test(
			test_hairpin_between_mappings_obeys_the_filter_and_opens_by_knocking_M9),
		cmocka_unit_test(test_each_knock_opens_for_its_own_endpoint),
		cmocka_unit_test(test_packets_from_outside_are_no_hairpin),
		cmocka_unit_test(
			test_hairpin_by_the_routers_own_address_with_a_rule_for_any_interface_M9),
		cmocka_unit_test(test_hairpin_from_static_and_to_static_M9),
		cmocka_unit_test(test_hairpin_to_oneself_M9),
		cmocka_unit_test(test_third_interface_reaches_forwarded_ports_untranslated_source),
		cmocka_unit_test(test_fragments_and_odd_icmp_never_leave_untranslated),
		cmocka_unit_test(test_translated_destination_without_a_route_is_dropped),
		cmocka_unit_test(test_snat_rules_go_by_id_interface_destination_and_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
