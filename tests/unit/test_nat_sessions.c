/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of sessions and mappings: timers, exhaustion, listing and clearing, memory. The clock is
 * injected.
 */
#include "test_nat_flows.h"

#include <sys/mman.h>

/* ---- timers ---------------------------------------------------------------------------------- */

static void test_udp_lives_300_s_from_the_last_outbound_packet_C38_M6_M7(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	/* an answer after 110 s */
	udp_out(&lab, "10.0.0.2", 5000, R1, 53);
	lab_wait(&lab, 110);
	assert_int_equal(udp_in(&lab, R1, 53, 5000), NAT_TRANSLATE);
	/* only outbound, every 100 s for 10 min */
	for (unsigned i = 0; i < 6; i++) {
		lab_wait(&lab, 100);
		assert_int_equal(udp_out(&lab, "10.0.0.2", 5000, R1, 53), NAT_TRANSLATE);
		assert_int_equal(lab_stats(&lab).sessions_created, 1);
	}
	/* only inbound: does not prolong */
	for (unsigned i = 0; i < 2; i++) {
		lab_wait(&lab, 100);
		assert_int_equal(udp_in(&lab, R1, 53, 5000), NAT_TRANSLATE);
	}
	lab_wait(&lab, 99);
	assert_int_equal(udp_in(&lab, R1, 53, 5000), NAT_TRANSLATE);
	lab_wait(&lab, 1);
	assert_int_equal(udp_in(&lab, R1, 53, 5000), NAT_DROP);
	assert_int_equal(lab_sessions(&lab), 0);
	/* unless configured */
	lab.conf.inbound_refresh = true;
	lab_load(&lab);
	udp_out(&lab, "10.0.0.2", 5000, R1, 53);
	for (unsigned i = 0; i < 10; i++) {
		lab_wait(&lab, 299);
		assert_int_equal(udp_in(&lab, R1, 53, 5000), NAT_TRANSLATE);
	}
	lab_end(&lab);
}

static void test_icmp_query_lives_60_s_I1(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_start(&lab);
	p = packet_icmp("10.0.0.2", R1, 8, 77, 1, "x");
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	lab_wait(&lab, 59);
	p = packet_icmp(R1, EXT, 0, 77, 1, "x");
	assert_translates(&lab, OUTSIDE, p);
	free(p.b);
	lab_wait(&lab, 1);
	assert_int_equal(lab_sessions(&lab), 0);
	lab_end(&lab);
}

static void test_inbound_sessions_do_not_keep_a_mapping_M7(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	lab.conf.filtering = NAT_ENDPOINT_INDEPENDENT;
	lab_load(&lab);
	udp_out(&lab, "10.0.0.2", 5000, R1, 53);
	for (unsigned i = 0; i < 3; i++) {
		/* a stranger sends all the time */
		for (unsigned s = 0; s < 99; s++) {
			assert_int_equal(udp_in(&lab, R2, 1000 + i * 100 + s, 5000), NAT_TRANSLATE);
			lab_wait(&lab, 1);
		}
	}
	assert_int_equal(lab_stats(&lab).sessions, 1 + 297);
	lab_wait(&lab, 4);
	assert_int_equal(lab_sessions(&lab), 0);
	assert_int_equal(udp_in(&lab, R2, 1000, 5000), NAT_DROP);
	assert_reason(&lab, nat_no_mapping);
	lab_drain(&lab);

	/* an answer makes it a session like others */
	udp_out(&lab, "10.0.0.2", 5000, R1, 53);
	assert_int_equal(udp_in(&lab, R2, 999, 5000), NAT_TRANSLATE);
	lab_wait(&lab, 200);
	assert_int_equal(udp_out(&lab, "10.0.0.2", 5000, R2, 999), NAT_TRANSLATE);
	assert_int_equal(lab_sessions(&lab), 2);
	lab_wait(&lab, 200);
	assert_int_equal(lab_sessions(&lab), 1);
	assert_int_equal(udp_in(&lab, R2, 999, 5000), NAT_TRANSLATE);
	lab_end(&lab);
}

static void test_port_is_held_for_its_host_for_120_s_T5(void **state)
{
	struct lab lab;
	struct packet p;

	(void)state;
	lab_start(&lab);
	lab.pools[0].port_lo = lab.pools[0].port_hi = 50000;
	lab_load(&lab);
	assert_int_equal(udp_out(&lab, "10.0.0.2", 5000, R1, 53), NAT_TRANSLATE);
	lab_wait(&lab, 300);
	assert_int_equal(lab_sessions(&lab), 0);
	assert_int_equal(lab_stats(&lab).mappings, 1);
	/* not for another endpoint, nor for packets from outside */
	assert_int_equal(udp_out(&lab, "10.0.0.3", 5000, R1, 53), NAT_DROP);
	assert_reason(&lab, nat_pool_exhausted);
	assert_int_equal(udp_in(&lab, R1, 53, 50000), NAT_DROP);
	assert_reason(&lab, nat_no_mapping);
	/* but for its own, with the same port */
	lab_wait(&lab, 100);
	p = packet_udp("10.0.0.2", 5000, R2, 53, "x");
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 50000);
	free(p.b);
	lab_wait(&lab, 300 + 119);
	assert_int_equal(udp_out(&lab, "10.0.0.3", 5000, R1, 53), NAT_DROP);
	lab_wait(&lab, 1);
	assert_int_equal(udp_out(&lab, "10.0.0.3", 5000, R1, 53), NAT_TRANSLATE);
	/* clearing frees at once */
	{
		struct nat_filter all = {0};

		assert_int_equal(lab_clear(&lab, &all, 1000), 1);
	}
	assert_int_equal(udp_out(&lab, "10.0.0.4", 5000, R1, 53), NAT_TRANSLATE);
	/* no hold configured */
	lab.conf.timeout_s[NAT_TIMEOUT_port_hold] = 0;
	lab_load(&lab);
	lab_wait(&lab, 300);
	assert_int_equal(udp_out(&lab, "10.0.0.5", 5000, R1, 53), NAT_TRANSLATE);
	lab_end(&lab);
}

static void test_cleared_port_is_free_though_strangers_had_sessions_T5(void **state)
{
	struct lab lab;
	struct nat_filter f = {.destination = net4(R1)};

	(void)state;
	lab_start(&lab);
	lab.conf.filtering = NAT_ENDPOINT_INDEPENDENT;
	lab.pools[0].port_lo = lab.pools[0].port_hi = 50000;
	lab_load(&lab);
	assert_int_equal(udp_out(&lab, "10.0.0.2", 5000, R1, 53), NAT_TRANSLATE);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(udp_in(&lab, R2, 900 + i, 50000), NAT_TRANSLATE);
	assert_int_equal(lab_clear(&lab, &f, 1000), 1);
	assert_int_equal(udp_in(&lab, R2, 999, 50000), NAT_DROP);
	lab_tick(&lab, 100);
	assert_int_equal(lab_sessions(&lab), 0);
	assert_int_equal(udp_out(&lab, "10.0.0.3", 5000, R1, 53), NAT_TRANSLATE);
	lab_end(&lab);
}

static void test_mapping_taken_up_again_while_it_is_being_cleared_lives_on(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	lab.conf.filtering = NAT_ENDPOINT_INDEPENDENT;
	lab_load(&lab);
	udp_out(&lab, "10.0.0.2", 5000, R1, 53);
	lab_wait(&lab, 100);
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(udp_in(&lab, R2, 900 + i, 5000), NAT_TRANSLATE);
	/* the only outbound session expires; the slice ends amid the others */
	lab.now += 200000;
	lab_tick(&lab, 10);
	assert_in_range(lab_sessions(&lab), 30, 49);
	assert_int_equal(udp_out(&lab, "10.0.0.2", 5000, R1, 54), NAT_TRANSLATE);
	lab_wait(&lab, 1);
	assert_in_range(lab_sessions(&lab), 30, 50);
	assert_int_equal(udp_in(&lab, R1, 54, 5000), NAT_TRANSLATE);
	assert_int_equal(lab_stats(&lab).mappings, 1);
	lab_end(&lab);
}

static void test_tick_works_in_slices(void **state)
{
	struct lab lab;
	unsigned left, ticks = 0;

	(void)state;
	lab_start(&lab);
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(udp_out(&lab, "10.0.0.2", 2000 + i, R1, 53), NAT_TRANSLATE);
	lab.now += 300000;
	for (left = 3000; left > 0; left = lab_sessions(&lab), ticks++) {
		lab_tick(&lab, 10);
		assert_true(left - lab_sessions(&lab) <= 10);
		assert_true(ticks < 1000);
	}
	assert_true(ticks >= 300);
	lab_end(&lab);
}

static void test_shorter_timeout_applies_to_sessions_that_exist(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	handshake(&lab, "10.0.0.2", 4000);
	udp_out(&lab, "10.0.0.2", 5000, R1, 53);
	lab_wait(&lab, 50);
	lab.conf.timeout_s[NAT_TIMEOUT_tcp_established] = 100;
	lab.conf.timeout_s[NAT_TIMEOUT_udp] = 60;
	lab_load(&lab);
	lab_wait(&lab, 9);
	assert_int_equal(lab_sessions(&lab), 2);
	lab_wait(&lab, 1);
	assert_int_equal(lab_sessions(&lab), 1);
	lab_wait(&lab, 40);
	assert_int_equal(lab_sessions(&lab), 0);
	lab_end(&lab);
}

/* ---- exhaustion ------------------------------------------------------------------------------ */

static void test_exhausted_pool_refuses_new_and_keeps_old_C33_C4(void **state)
{
	struct lab lab;
	struct nat_filter f = {.source = {ip4("10.0.0.2"), 32}};

	(void)state;
	lab_start(&lab);
	lab.pools[0].port_lo = 50000;
	lab.pools[0].port_hi = 50001;
	lab_load(&lab);
	assert_int_equal(udp_out(&lab, "10.0.0.2", 5000, R1, 53), NAT_TRANSLATE);
	assert_int_equal(udp_out(&lab, "10.0.0.3", 5000, R1, 53), NAT_TRANSLATE);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(udp_out(&lab, "10.0.0.4", 5000 + i, R1, 53), NAT_DROP);
		assert_reason(&lab, nat_pool_exhausted);
	}
	assert_int_equal(udp_out(&lab, "10.0.0.2", 5000, R1, 53), NAT_TRANSLATE);
	assert_int_equal(udp_out(&lab, "10.0.0.2", 5000, R2, 53), NAT_TRANSLATE);
	assert_int_equal(lab_sessions(&lab), 3);
	assert_int_equal(lab_stats(&lab).mappings, 2);
	assert_int_equal(udp_in(&lab, R1, 53, 50000), NAT_TRANSLATE);
	assert_int_equal(udp_in(&lab, R1, 53, 50001), NAT_TRANSLATE);
	assert_int_equal(lab_clear(&lab, &f, 1000), 2);
	assert_int_equal(udp_out(&lab, "10.0.0.4", 5000, R1, 53), NAT_TRANSLATE);
	lab_end(&lab);
}

static void test_full_tables_refuse_and_leak_nothing_C4(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		struct lab lab;
		struct nat_limits limits = {.max_sessions = k == 1 ? 300 : 100,
					    .max_mappings = k == 1 ? 100 : 0,
					    .max_external = 2,
					    .seed = 5};

		lab_init_sized(&lab, limits);
		lab_base(&lab);
		lab_load(&lab);
		for (unsigned round = 0; round < 5; round++) {
			unsigned made = 0, refused = 0;

			for (unsigned i = 0; i < 400; i++) {
				/* k == 2: one mapping, many sessions */
				enum nat_verdict v = udp_out(&lab, "10.0.0.2",
							     k == 2 ? 5000 : 1024 + i, R1, 1 + i);

				made += v == NAT_TRANSLATE;
				refused += v == NAT_DROP;
				if (v == NAT_DROP)
					assert_string_equal(nat_reason_name(lab.last.reason),
							    k == 1 ? "nat_mappings_full"
								   : "nat_sessions_full");
			}
			assert_int_equal(made, 100);
			assert_int_equal(refused, 300);
			/* existing ones carry on */
			assert_int_equal(udp_in(&lab, R1, 1, k == 2 ? 5000 : 1024), NAT_TRANSLATE);
			lab_drain(&lab);
		}
		lab_free(&lab);
	}
}

static void test_external_addresses_run_out_without_harm_C4(void **state)
{
	struct lab lab;
	char src[32];

	(void)state;
	lab_init_sized(&lab,
		       (struct nat_limits){.max_sessions = 1000, .max_external = 2, .seed = 1});
	lab_pool(&lab, "203.0.113.16", "203.0.113.31", 4000, 4009);
	lab_rule(&lab, NAT_RULE_SNAT, 1)->source = net4("10.0.0.0/8");
	lab_load(&lab);
	/* two of sixteen addresses can be in use: hosts share those */
	for (unsigned i = 0; i < 30; i++) {
		snprintf(src, sizeof(src), "10.0.0.%u", 10 + i);
		assert_int_equal(udp_out(&lab, src, 5000, R1, 53),
				 i < 20 ? NAT_TRANSLATE : NAT_DROP);
	}
	assert_int_equal(lab_stats(&lab).external_addresses, 2);
	lab_end(&lab);
}

static void test_refused_packets_leave_no_trace(void **state)
{
	struct lab lab;
	struct nat_stats s;

	(void)state;
	lab_alone = true;
	lab_init_sized(&lab, (struct nat_limits){.max_sessions = 10, .max_external = 4, .seed = 1});
	lab_base(&lab);
	lab_load(&lab);
	/* no session for the mapping, many times */
	for (unsigned i = 0; i < 10; i++)
		udp_out(&lab, "10.0.0.2", 5000, R1, 1 + i);
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(udp_out(&lab, "10.0.0.3", 1024 + i, R1, 53), NAT_DROP);
		assert_int_equal(udp_in(&lab, R2, i, 1024 + i), NAT_DROP);
	}
	s = lab_stats(&lab);
	assert_int_equal(s.sessions, 10);
	assert_int_equal(s.mappings, 1);
	assert_int_equal(s.sessions_created, 10);
	lab_end(&lab);
	lab_alone = false;
}

/* ---- listing and clearing -------------------------------------------------------------------- */

static unsigned count(struct lab *lab, struct nat_filter f)
{
	return lab_list(lab, &f, 13, NULL, 0);
}

static void test_sessions_are_listed_and_cleared_by_filter(void **state)
{
	struct lab lab;
	struct packet p;
	struct nat_session_info info;
	struct nat_filter f;

	(void)state;
	lab_start(&lab);
	for (unsigned i = 0; i < 40; i++)
		udp_out(&lab, i % 2 ? "10.0.0.2" : "10.0.0.3", 2000 + i, i % 4 < 2 ? R1 : R2,
			100 + i % 5);
	p = packet_tcp(R2, 4000, EXT, 8080, SYN, 1, 0, "");
	assert_translates(&lab, OUTSIDE, p);
	free(p.b);
	lab_wait(&lab, 7);

	assert_int_equal(count(&lab, (struct nat_filter){0}), 41);
	assert_int_equal(count(&lab, (struct nat_filter){.source = net4("10.0.0.2")}), 20);
	assert_int_equal(count(&lab, (struct nat_filter){.source = net4("10.0.0.0/24")}), 41);
	assert_int_equal(count(&lab, (struct nat_filter){.source = net4("10.0.0.80")}), 1);
	assert_int_equal(count(&lab, (struct nat_filter){.destination = net4(R1)}), 20);
	assert_int_equal(count(&lab, (struct nat_filter){.protocol = IPPROTO_TCP}), 1);
	assert_int_equal(count(&lab, (struct nat_filter){.port = 2007}), 1);
	assert_int_equal(count(&lab, (struct nat_filter){.port = 103}), 8);
	assert_int_equal(count(&lab, (struct nat_filter){.port = 8080}), 1);
	assert_int_equal(count(&lab, (struct nat_filter){.rule_id = 1}), 40);
	assert_int_equal(count(&lab, (struct nat_filter){.rule_id = 2}), 1);
	assert_int_equal(count(&lab, (struct nat_filter){.rule_id = 3}), 0);
	assert_int_equal(count(&lab, (struct nat_filter){.source = net4("10.0.0.2"), .port = 103}),
			 4);

	f = (struct nat_filter){.rule_id = 2};
	assert_int_equal(lab_list(&lab, &f, 1000, &info, 1), 1);
	assert_int_equal(info.orig.src_be, ip4(R2));
	assert_int_equal(info.orig.dst_be, ip4(EXT));
	assert_int_equal(info.orig.dport_be, htons(8080));
	assert_int_equal(info.reply.src_be, ip4("10.0.0.80"));
	assert_int_equal(info.reply.sport_be, htons(80));
	assert_int_equal(info.reply.dst_be, ip4(R2));
	assert_int_equal(info.rule_id, 2);
	assert_int_equal(info.tcp_state, NAT_TCP_SYN_SENT);
	assert_int_equal(info.age_ms, 7000);
	assert_int_equal(info.idle_ms, 7000);
	assert_int_equal(info.timeout_s, 240);

	f = (struct nat_filter){.source = net4("10.0.0.2"), .destination = net4(R1)};
	assert_int_equal(lab_clear(&lab, &f, 3), 10);
	assert_int_equal(lab_sessions(&lab), 31);
	assert_int_equal(lab_stats(&lab).sessions_cleared, 10);
	assert_int_equal(udp_in(&lab, R1, 101, 2001), NAT_DROP);
	lab_end(&lab);
}

/* ---- memory ---------------------------------------------------------------------------------- */
/* Zeroed memory that is there only where it is touched. */
static void *lazy_alloc(void *ctx, size_t size)
{
	size_t *p = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)ctx;
	assert_ptr_not_equal(p, MAP_FAILED);
	*p = size;
	return (char *)p + 4096;
}

static void lazy_free(void *ctx, void *p)
{
	size_t *start = (size_t *)(void *)((char *)p - 4096);

	(void)ctx;
	munmap(start, *start + 4096);
}

static void test_memory_per_session_is_at_most_192_bytes(void **state)
{
	static const uint32_t sizes[] = {1000000, 10000000, 64000000};
	struct nat_ops ops = {.egress = lab_egress, .alloc = lazy_alloc, .free = lazy_free};

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct nat_limits limits = {.max_sessions = sizes[i], .seed = 1};
		struct nat_worker *nat = nat_worker_create(&limits, &ops);
		struct nat_stats stats;
		size_t memory;

		assert_non_null(nat);
		memory = nat_worker_memory(nat);
		nat_worker_stats(nat, &stats);
		print_message("%.1f bytes for each of %u sessions, all tables included\n",
			      (double)memory / sizes[i], sizes[i]);
		assert_true(memory <= sizes[i] * 192ull);
		assert_int_equal(stats.memory_bytes, memory);
		assert_int_equal(stats.max_sessions, sizes[i]);
		nat_worker_destroy(nat);
	}
}

static size_t taken;

static void *counting_alloc(void *ctx, size_t size)
{
	(void)ctx;
	/* the fifth request fails */
	if (++taken == 5)
		return NULL;
	return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void counting_free(void *ctx, void *p)
{
	(void)ctx;
	taken--;
	free(p);
}

static void test_create_gives_all_back_when_memory_runs_out(void **state)
{
	struct nat_ops ops = {.egress = lab_egress, .alloc = counting_alloc, .free = counting_free};
	struct nat_limits limits = {.max_sessions = 10, .seed = 1};

	(void)state;
	taken = 0;
	assert_null(nat_worker_create(&limits, &ops));
	assert_int_equal(taken, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_udp_lives_300_s_from_the_last_outbound_packet_C38_M6_M7),
		cmocka_unit_test(test_icmp_query_lives_60_s_I1),
		cmocka_unit_test(test_inbound_sessions_do_not_keep_a_mapping_M7),
		cmocka_unit_test(test_port_is_held_for_its_host_for_120_s_T5),
		cmocka_unit_test(test_cleared_port_is_free_though_strangers_had_sessions_T5),
		cmocka_unit_test(test_mapping_taken_up_again_while_it_is_being_cleared_lives_on),
		cmocka_unit_test(test_tick_works_in_slices),
		cmocka_unit_test(test_shorter_timeout_applies_to_sessions_that_exist),
		cmocka_unit_test(test_exhausted_pool_refuses_new_and_keeps_old_C33_C4),
		cmocka_unit_test(test_full_tables_refuse_and_leak_nothing_C4),
		cmocka_unit_test(test_external_addresses_run_out_without_harm_C4),
		cmocka_unit_test(test_refused_packets_leave_no_trace),
		cmocka_unit_test(test_sessions_are_listed_and_cleared_by_filter),
		cmocka_unit_test(test_memory_per_session_is_at_most_192_bytes),
		cmocka_unit_test(test_create_gives_all_back_when_memory_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
