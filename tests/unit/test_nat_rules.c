/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kinds of rules do, and in what order: static, dnat, masquerade, exempt, snat.
 */
#include "test_nat_flows.h"

/* ---- static ---------------------------------------------------------------------------------- */

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
	lab_end(&lab);
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
	lab_end(&lab);
}

/* ---- dnat ------------------------------------------------------------------------------------ */

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
	lab_end(&lab);
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
	lab_end(&lab);
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
	lab_end(&lab);
}

/* ---- masquerade, own addresses --------------------------------------------------------------- */

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
	assert_int_equal(mapped_udp(&lab, "10.0.0.2", 5000, R1, 53), 5000);
	assert_int_equal(udp_answer(&lab, R1, 53, "203.0.113.1", 5000, "10.0.0.2", 5000),
			 NAT_TRANSLATE);
	/* an echo request, and a port that nobody has, are for the router */
	p = packet_icmp(R1, "203.0.113.1", 8, 5000, 1, "");
	assert_int_equal(lab_send(&lab, OUTSIDE, p), NAT_PASS);
	free(p.b);
	assert_int_equal(udp_answer(&lab, R1, 53, "203.0.113.1", 5001, "", 0), NAT_PASS);
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
	lab_end(&lab);
}

/* ---- exempt ---------------------------------------------------------------------------------- */

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
	mapped_udp(&lab, "10.0.0.2", 5000, R1, 511);
	mapped_udp(&lab, "10.0.0.2", 5000, "198.51.100.77", 505);
	p = packet_tcp("10.0.0.2", 5000, R1, 505, SYN, 0, 0, "");
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	/* a fragment whose ports are unknown might not be exempt: it doesn't leave untranslated */
	p = packet_udp("10.0.0.2", 5000, R1, 505, "x");
	set16(p.b + 6, 0x2000);
	packet_seal(p);
	assert_drops(&lab, INSIDE, p, nat_fragment);
	free(p.b);
	lab_end(&lab);
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
	lab_end(&lab);
}

/* ---- what is not translated ------------------------------------------------------------------ */

static void test_fragments_and_odd_icmp_never_leave_untranslated(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_static(&lab);
	lab_load(&lab);
	mapped_udp(&lab, "10.0.0.2", 5000, R1, 53);
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
	lab_end(&lab);
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
	lab_end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static_keeps_host_parts_both_ways_M13_C15),
		cmocka_unit_test(
			test_static_goes_before_snat_and_its_address_is_not_in_the_pool_C15_C29),
		cmocka_unit_test(test_dnat_forwards_a_range_and_answers_come_from_outside),
		cmocka_unit_test(test_dnat_of_a_whole_address_keeps_ports_and_takes_all_protocols),
		cmocka_unit_test(test_two_forwards_to_one_server_conflict_only_for_one_client),
		cmocka_unit_test(test_masquerade_leaves_the_router_its_own_traffic),
		cmocka_unit_test(test_exempt_by_source_destination_protocol_and_port_C5),
		cmocka_unit_test(test_exempt_holds_for_destination_translation_too_C5),
		cmocka_unit_test(test_fragments_and_odd_icmp_never_leave_untranslated),
		cmocka_unit_test(test_translated_destination_without_a_route_is_dropped),
		cmocka_unit_test(test_snat_rules_go_by_id_interface_destination_and_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
