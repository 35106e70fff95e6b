/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A configuration that changes under sessions.
 */
#include "test_nat_flows.h"

static void test_reload_keeps_sessions_of_unchanged_rules(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_start(&lab);
	handshake(&lab, "10.0.0.2", 4000);
	p = packet_tcp(R2, 4000, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, OUTSIDE, p);
	free(p.b);
	/* names, order, other rules and other settings may change */
	{
		struct nat_rule t = lab.rules[0];

		lab.rules[0] = lab.rules[1];
		lab.rules[1] = t;
	}
	lab_static(&lab);
	snprintf(lab.rules[0].name, sizeof(lab.rules[0].name), "renamed");
	lab.conf.filtering = NAT_ENDPOINT_INDEPENDENT;
	lab_load(&lab);
	assert_true(lab_swept(&lab));
	assert_int_equal(lab_sessions(&lab), 2);
	assert_int_equal(tcp_in(&lab, 4000, ACK, 5001, 1001, "data"), NAT_TRANSLATE);
	/* the same mapping still */
	p = packet_tcp("10.0.0.2", 4000, R2, 443, SYN, 1, 0, "");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 4000);
	free(p.b);
	assert_int_equal(lab_stats(&lab).mappings, 1);
	lab_end(&lab);
}

static void test_sessions_of_changed_rules_match_no_longer_and_go(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_start(&lab);
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(udp_out(&lab, "10.0.0.2", 2000 + i, R1, 53), NAT_TRANSLATE);
	p = packet_tcp(R2, 4000, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, OUTSIDE, p);
	free(p.b);
	/* the pool moves: before any sweep, neither direction is translated the old way */
	lab.ranges[0] = (struct nat_range){ip4("203.0.113.11"), ip4("203.0.113.11")};
	lab_load(&lab);
	assert_false(lab_swept(&lab));
	assert_int_equal(udp_in(&lab, R1, 53, 2000), NAT_DROP);
	assert_reason(&lab, nat_no_mapping);
	p = packet_udp("10.0.0.2", 2000, R1, 53, "x");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, "203.0.113.11", 2000);
	free(p.b);
	/* the forwarded port's session lives */
	p = packet_tcp("10.0.0.80", 80, R2, 4000, SYN | ACK, 7, 2, "");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 8080);
	free(p.b);
	for (unsigned i = 0; !lab_swept(&lab); i++) {
		assert_true(i < 1000);
		lab_tick(&lab, 10);
	}
	assert_int_equal(lab_sessions(&lab), 2);
	assert_int_equal(lab_stats(&lab).mappings, 1);
	assert_int_equal(lab_stats(&lab).external_addresses, 1);
	/* all rules go */
	lab.conf.n_rules = 0;
	lab_load(&lab);
	p = packet_udp("10.0.0.2", 2000, R1, 53, "x");
	assert_int_equal(lab_send(&lab, INSIDE, p), NAT_PASS);
	free(p.b);
	lab_wait(&lab, 2);
	assert_int_equal(lab_sessions(&lab), 0);
	assert_true(lab_swept(&lab));
	lab_end(&lab);
}

static void test_held_port_of_a_rule_that_is_gone_is_freed_by_the_sweep(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	udp_out(&lab, "10.0.0.2", 5000, R1, 53);
	lab_wait(&lab, 300);
	assert_int_equal(lab_stats(&lab).mappings, 1);
	lab.ranges[0] = (struct nat_range){ip4("203.0.113.11"), ip4("203.0.113.11")};
	lab_load(&lab);
	lab_tick(&lab, 1000);
	assert_true(lab_swept(&lab));
	assert_int_equal(lab_stats(&lab).mappings, 0);
	assert_int_equal(lab_stats(&lab).external_addresses, 0);
	lab_free(&lab);
}

static void test_random_reloads_under_traffic_leak_nothing(void **state)
{
	struct lab lab;
	uint64_t seed = 31;

	(void)state;
	lab_start(&lab);
	lab_static(&lab);
	for (unsigned i = 0; i < 30000; i++) {
		char src[32], dst[32];
		struct packet p;
		unsigned what = lab_rand(&seed) % 100;

		if (what == 0) {
			lab.ranges[0].first_be = htonl(0xcb00710a + lab_rand(&seed) % 3);
			lab.ranges[0].last_be = htonl(0xcb00710a + 3 + lab_rand(&seed) % 3);
			lab.pools[0].port_lo = lab_rand(&seed) % 2 ? 0 : 3000;
			lab.pools[0].port_hi = lab.pools[0].port_lo ? 3100 : 0;
			lab.rules[1].to_port = (uint16_t)(80 + lab_rand(&seed) % 2);
			lab.conf.n_rules = 1 + lab_rand(&seed) % 3;
			lab.conf.mapping = lab_rand(&seed) % 3;
			lab.conf.filtering = lab_rand(&seed) % 3;
			lab.conf.tcp_loose = lab_rand(&seed) % 2;
			lab.reserved[0] =
				(struct nat_reserved){lab.ranges[0].first_be, IPPROTO_UDP,
						      (uint16_t)(2000 + lab_rand(&seed) % 100)};
			lab.conf.n_reserved = lab_rand(&seed) % 2;
			lab_load(&lab);
		} else if (what == 1) {
			struct nat_filter f = {.port = (uint16_t)(2000 + lab_rand(&seed) % 30)};

			lab_clear(&lab, &f, 10000);
		} else if (what < 10) {
			lab.now += lab_rand(&seed) % 20000;
			lab_tick(&lab, lab_rand(&seed) % 40);
		}
		snprintf(src, sizeof(src), "10.0.0.%u", 40 + lab_rand(&seed) % 20);
		snprintf(dst, sizeof(dst), "203.0.113.%u", 10 + lab_rand(&seed) % 7);
		if (lab_rand(&seed) % 3 == 0)
			snprintf(dst, sizeof(dst), "203.0.113.50");
		switch (lab_rand(&seed) % 5) {
		case 0:
			p = packet_udp(src, 2000 + lab_rand(&seed) % 30, R1,
				       53 + lab_rand(&seed) % 3, "x");
			lab_send(&lab, INSIDE, p);
			break;
		case 1:
			p = packet_udp(R1, 53 + lab_rand(&seed) % 3, dst,
				       2000 + lab_rand(&seed) % 30, "x");
			lab_send(&lab, OUTSIDE, p);
			break;
		case 2:
			p = packet_udp(src, 2000 + lab_rand(&seed) % 30, dst,
				       2000 + lab_rand(&seed) % 30, "x");
			lab_send(&lab, INSIDE, p);
			break;
		case 3:
			p = packet_tcp(R1, 900, dst, 8080, lab_rand(&seed) & 0x1f, lab_rand(&seed),
				       0, "x");
			lab_send(&lab, OUTSIDE, p);
			break;
		default:
			p = packet_icmp(src, R1, 8, lab_rand(&seed) % 50, 1, "x");
			lab_send(&lab, INSIDE, p);
		}
		if (lab.last.verdict == NAT_TRANSLATE)
			assert_sums(p);
		free(p.b);
	}
	assert_true(lab_stats(&lab).sessions_created > 3000);
	lab_end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reload_keeps_sessions_of_unchanged_rules),
		cmocka_unit_test(test_sessions_of_changed_rules_match_no_longer_and_go),
		cmocka_unit_test(test_held_port_of_a_rule_that_is_gone_is_freed_by_the_sweep),
		cmocka_unit_test(test_random_reloads_under_traffic_leak_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
