/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts behind one NAT that talk to each other through it, and sources and destinations that are
 * both translated.
 */
#include "test_nat_flows.h"

static void test_hairpin_to_a_forwarded_port_changes_both_addresses_C31_M9(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_start(&lab);
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
	lab_end(&lab);
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
	lab_end(&lab);
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
		mapped_udp(&lab, "10.0.0.2", 5000, R1, 3478);
		mapped_udp(&lab, "10.0.0.3", 6000, R1, 3478);
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
	mapped_udp(&lab, "10.0.0.2", 5000, R1, 53);
	mapped_udp(&lab, "10.0.0.3", 6000, R1, 53);
	mapped_udp(&lab, "10.0.0.4", 7000, R1, 53);
	mapped_udp(&lab, "10.0.0.4", 8000, R1, 53);
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
	lab_end(&lab);
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
	lab_end(&lab);
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
	lab_end(&lab);
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
	mapped_udp(&lab, "10.0.0.3", 6000, R1, 53);
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
	lab_end(&lab);
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
	mapped_udp(&lab, "10.0.0.2", 5000, R1, 53);
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
	lab_end(&lab);
}

static void test_third_interface_reaches_forwarded_ports_untranslated_source(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_start(&lab);
	p = packet_tcp("172.16.0.9", 1234, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, DMZ, p);
	assert_from(p, "172.16.0.9", 1234);
	assert_to(p, "10.0.0.80", 80);
	free(p.b);
	lab_end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
