/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which external endpoint an inside one gets, and whom that lets in.
 */
#include "test_nat_flows.h"

/* ---- mapping --------------------------------------------------------------------------------- */

static void test_one_external_endpoint_whatever_the_destination_M1(void **state)
{
	struct lab lab;
	unsigned a, b;

	(void)state;
	lab_start(&lab);
	/* another host has the port already, so it can't be preserved */
	assert_int_equal(mapped_udp(&lab, "10.0.0.3", 5000, R1, 53), 5000);
	a = mapped_udp(&lab, "10.0.0.2", 5000, R1, 53);
	b = mapped_udp(&lab, "10.0.0.2", 5000, R2, 54);
	assert_int_not_equal(a, 5000);
	assert_int_equal(a, b);
	assert_int_equal(lab_stats(&lab).mappings, 2);
	assert_int_equal(lab_stats(&lab).sessions, 3);
	lab_end(&lab);
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
	a = mapped_udp(&lab, "10.0.0.2", 5000, R1, 53);
	b = mapped_udp(&lab, "10.0.0.2", 5000, R1, 54);
	c = mapped_udp(&lab, "10.0.0.2", 5000, R2, 53);
	assert_int_equal(a, b);
	assert_int_not_equal(a, c);
	lab_drain(&lab);

	lab.conf.mapping = NAT_ADDRESS_AND_PORT_DEPENDENT;
	lab_load(&lab);
	a = mapped_udp(&lab, "10.0.0.2", 5000, R1, 53);
	b = mapped_udp(&lab, "10.0.0.2", 5000, R1, 54);
	assert_int_not_equal(a, b);
	lab_end(&lab);
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
	lab_end(&lab);
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
	mapped_udp(&lab, "10.0.0.2", 5000, R1, 53);
	mapped_udp(&lab, "10.0.0.2", 5001, R1, 53);
	p = packet_udp("10.0.0.2", 5002, R1, 53, "x");
	assert_drops(&lab, INSIDE, p, nat_pool_exhausted);
	free(p.b);
	/* the other address is free for another host */
	mapped_udp(&lab, "10.0.0.3", 5000, R1, 53);
	mapped_udp(&lab, "10.0.0.3", 5001, R1, 53);
	p = packet_udp("10.0.0.4", 5002, R1, 53, "x");
	assert_drops(&lab, INSIDE, p, nat_pool_exhausted);
	free(p.b);
	lab_end(&lab);
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
	lab_end(&lab);
}

static void test_two_hosts_with_one_source_port_C26_M3(void **state)
{
	struct lab lab;
	struct packet p, q;
	unsigned a, b;

	(void)state;
	lab_start(&lab);
	assert_int_equal(mapped_udp(&lab, "10.0.0.2", 5000, R1, 53), 5000);
	a = mapped_udp(&lab, "10.0.0.3", 5000, R1, 53);
	assert_in_range(a, 1024, 65535);
	assert_int_equal(a % 2, 0);
	assert_int_equal(udp_answer(&lab, R1, 53, EXT, 5000, "10.0.0.2", 5000), NAT_TRANSLATE);
	assert_int_equal(udp_answer(&lab, R1, 53, EXT, a, "10.0.0.3", 5000), NAT_TRANSLATE);

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
	lab_end(&lab);
}

static void test_port_range_and_parity_are_preserved_M4_M5(void **state)
{
	struct lab lab;
	char src[32];

	(void)state;
	lab_start(&lab);
	for (unsigned i = 0; i < 100; i++) {
		unsigned low, odd, even;

		snprintf(src, sizeof(src), "10.0.0.%u", 100 + i);
		low = mapped_udp(&lab, src, 500, R1, 500);
		odd = mapped_udp(&lab, src, 40001, R1, 53);
		even = mapped_udp(&lab, src, 40000, R1, 53);
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
	assert_in_range(mapped_udp(&lab, "10.0.0.99", 0, R1, 53), 1, 1023);
	lab_end(&lab);
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
	assert_int_not_equal(mapped_udp(&lab, "10.0.0.2", 4500, R1, 4500), 4500);
	p = packet_tcp("10.0.0.2", 8080, R1, 80, SYN, 1, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_int_not_equal(packet_sport(p), 8080);
	free(p.b);
	/* UDP 8080 is not forwarded */
	assert_int_equal(mapped_udp(&lab, "10.0.0.2", 8080, R1, 53), 8080);

	/* the port is given up by the configuration, and a port in use becomes reserved */
	lab.reserved[0].port = 8080;
	lab_load(&lab);
	assert_int_equal(mapped_udp(&lab, "10.0.0.3", 4500, R1, 4500), 4500);
	assert_int_equal(mapped_udp(&lab, "10.0.0.2", 8080, R2, 53), 8080);
	lab_drain(&lab);
	assert_int_not_equal(mapped_udp(&lab, "10.0.0.2", 8080, R1, 53), 8080);
	lab_drain(&lab);

	/* it becomes reserved while a mapping has it, which then goes while the address stays in
	 * use */
	lab.reserved[0].port = 4500;
	lab_load(&lab);
	assert_int_equal(mapped_udp(&lab, "10.0.0.2", 8080, R1, 53), 8080);
	lab.reserved[0].port = 8080;
	lab_load(&lab);
	for (unsigned i = 0; i < 5; i++) {
		lab_wait(&lab, 100);
		mapped_udp(&lab, "10.0.0.9", 999, R1, 53);
	}
	assert_int_equal(lab_stats(&lab).mappings, 1);
	assert_int_not_equal(mapped_udp(&lab, "10.0.0.2", 8080, R1, 53), 8080);
	lab.conf.n_reserved = 0;
	lab_load(&lab);
	assert_int_equal(mapped_udp(&lab, "10.0.0.4", 8080, R1, 53), 8080);
	lab_end(&lab);
}

/* Records of external addresses are few beside the addresses of a large pool: it shares those that it
 * has got among its hosts, and leaves some to the pools that come later. */
static void test_large_pool_leaves_other_pools_an_address_C4(void **state)
{
	struct nat_rule *r;
	struct packet p;
	struct lab lab;
	char src[32];

	(void)state;
	lab_init_sized(&lab,
		       (struct nat_limits){.max_sessions = 4096, .max_external = 16, .seed = 42});
	lab_addr(&lab, INSIDE, "10.0.0.1");
	lab_addr(&lab, OUTSIDE, "203.0.113.1");
	lab_pool(&lab, "198.18.0.0", "198.18.0.255", 0, 0);
	lab_pool(&lab, "203.0.113.20", "203.0.113.23", 0, 0);
	r = lab_rule(&lab, NAT_RULE_SNAT, 1);
	r->source = net4("10.0.0.0/24");
	r = lab_rule(&lab, NAT_RULE_SNAT, 2);
	r->source = net4("10.0.1.0/24");
	r->pool = 1;
	r = lab_rule(&lab, NAT_RULE_MASQUERADE, 3);
	r->source = net4("10.0.2.0/24");
	lab_load(&lab);
	for (unsigned i = 2; i < 250; i++) {
		snprintf(src, sizeof(src), "10.0.0.%u", i);
		(void)mapped_udp(&lab, src, 5000, R1, 53);
	}
	assert_int_equal(lab_stats(&lab).external_addresses, 14);
	for (unsigned i = 2; i < 250; i++) {
		snprintf(src, sizeof(src), "10.0.1.%u", i);
		p = packet_udp(src, 5000, R1, 53, "x");
		assert_translates(&lab, INSIDE, p);
		assert_int_equal(get32(p.b + 12) >> 8, ntohl(ip4("203.0.113.0")) >> 8);
		free(p.b);
	}
	assert_int_equal(lab_stats(&lab).external_addresses, 15);
	p = packet_udp("10.0.2.2", 5000, R1, 53, "x");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, "203.0.113.1", 5000);
	free(p.b);
	assert_int_equal(lab_stats(&lab).external_addresses, 16);
	lab_end(&lab);
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
		mapped_udp(&lab, "10.0.0.2", 5000, R1, 53);
		for (unsigned i = 0; i < 50; i++) {
			snprintf(src, sizeof(src), "10.0.0.%u", 3 + i);
			first[k][i] = mapped_udp(&lab, src, 5000, R1, 53);
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
	lab_start(&lab);
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
	lab_end(&lab);
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
	lab_end(&lab);
}

static void test_protocol_without_ports_one_host_each_C29(void **state)
{
	struct lab lab;
	struct packet p = packet_ip(47, "10.0.0.2", R1, 20, 16), q;

	(void)state;
	lab_start(&lab);
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
	lab_end(&lab);
}

/* ---- filtering ------------------------------------------------------------------------------- */

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
		mapped_udp(&lab, "10.0.0.2", 5000, R1, 53);
		assert_int_equal(udp_answer(&lab, R1, 53, EXT, 5000, "10.0.0.2", 5000) ==
					 NAT_TRANSLATE,
				 allowed[f][0]);
		assert_int_equal(udp_answer(&lab, R1, 54, EXT, 5000, "10.0.0.2", 5000) ==
					 NAT_TRANSLATE,
				 allowed[f][1]);
		if (!allowed[f][1])
			assert_reason(&lab, nat_filtered);
		assert_int_equal(udp_answer(&lab, R2, 53, EXT, 5000, "10.0.0.2", 5000) ==
					 NAT_TRANSLATE,
				 allowed[f][2]);
		if (!allowed[f][2])
			assert_reason(&lab, nat_filtered);
		assert_int_equal(udp_answer(&lab, R1, 53, EXT, 5001, "", 0), NAT_DROP);
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
	lab_start(&lab);
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
	lab_end(&lab);
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
		cmocka_unit_test(test_large_pool_leaves_other_pools_an_address_C4),
		cmocka_unit_test(test_new_ports_are_random_M12),
		cmocka_unit_test(test_icmp_identifiers_0_1_80_65535_are_kept_C25),
		cmocka_unit_test(test_limited_pool_limits_icmp_identifiers_too),
		cmocka_unit_test(test_protocol_without_ports_one_host_each_C29),
		cmocka_unit_test(test_filtering_behaviours_M8),
		cmocka_unit_test(test_unsolicited_syn_is_dropped_T3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
