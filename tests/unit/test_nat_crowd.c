/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A million sessions that end at once: their time, their ports' time, and their rule. Each slice of
 * housekeeping looks at no more than its budget, and nothing is left over.
 */
#include "test_nat_lab.h"

#ifdef __SANITIZE_ADDRESS__
#define CROWD 262144u
#else
#define CROWD 1000000u
#endif
#define SLICE	      16
#define PORTS_OF_HOST 16

/* The i-th flow's packet goes out. Returns the verdict of its look-up. */
static enum nat_verdict send_flow(struct lab *lab, uint32_t i)
{
	uint8_t datagram[28] = {0x45, [8] = 64};
	struct nat_pkt p = {
		.key = {.src_be = htonl(0x0a000102u + i / PORTS_OF_HOST),
			.dst_be = ip4("198.51.100.7"),
			.sport_be = htons((uint16_t)(1024 + i % PORTS_OF_HOST * 4000)),
			.dport_be = htons(53),
			.proto = IPPROTO_UDP},
		.ip = datagram,
		.l4 = datagram + 20,
		.l4_len = 8,
		.l4_avail = 8,
		.iface = INSIDE,
		.flags = NAT_PKT_PLAIN,
	};
	struct nat_pkt *one = &p;
	enum nat_verdict found;

	nat_lookup_burst(lab->nat, &one, 1);
	found = p.verdict;
	if (found == NAT_PASS)
		assert_int_equal(nat_miss(lab->nat, &p, OUTSIDE, lab->now), NAT_TRANSLATE);
	assert_int_equal(nat_rewrite(lab->nat, &p, lab->now), NAT_TRANSLATE);
	return found;
}

/* Sessions with a mapping each, all of the same moment. */
static void crowd(struct lab *lab)
{
	lab_init_sized(lab, (struct nat_limits){.max_sessions = CROWD, .seed = 1});
	lab_pool(lab, "203.0.113.2", "203.0.113.250", 0, 0);
	lab_rule(lab, NAT_RULE_SNAT, 1)->source = net4("10.0.0.0/8");
	lab_load(lab);
	for (uint32_t i = 0; i < CROWD; i++)
		assert_int_equal(send_flow(lab, i), NAT_PASS);
	assert_int_equal(lab_stats(lab).sessions, CROWD);
	assert_int_equal(lab_stats(lab).mappings, CROWD);
}

/* Slices, while the clock stands, until there is nothing more to do. Returns how many. */
static unsigned slices(struct lab *lab)
{
	struct nat_stats was = lab_stats(lab), is;
	unsigned n = 0;
	bool more;

	do {
		more = nat_worker_tick(lab->nat, lab->now, SLICE);
		is = lab_stats(lab);
		assert_true(was.sessions - is.sessions <= SLICE);
		assert_true(was.mappings - is.mappings <= SLICE);
		was = is;
		n++;
	} while (more);
	return n;
}

/* The last one may look at less than a budget, and find that nothing is left. */
static void assert_slices_for(unsigned n, uint32_t records)
{
	assert_in_range(n, records / SLICE, records / SLICE + 2);
}

static void test_all_that_is_due_in_a_second_goes_in_it_slice_by_slice(void **state)
{
	struct lab lab;

	(void)state;
	crowd(&lab);
	lab.now += 299000;
	assert_slices_for(slices(&lab), 0);
	assert_int_equal(lab_sessions(&lab), CROWD);
	lab.now += 1000;
	/* a look at each session and at each mapping, whose ports are held from now on */
	assert_slices_for(slices(&lab), 2 * CROWD);
	assert_int_equal(lab_sessions(&lab), 0);
	assert_int_equal(lab_stats(&lab).sessions_expired, CROWD);
	assert_int_equal(lab_stats(&lab).mappings, CROWD);
	lab.now += 119000;
	assert_slices_for(slices(&lab), 0);
	assert_int_equal(lab_stats(&lab).mappings, CROWD);
	lab.now += 1000;
	assert_slices_for(slices(&lab), CROWD);
	assert_int_equal(lab_stats(&lab).mappings, 0);
	assert_int_equal(lab_stats(&lab).external_addresses, 0);
	lab_free(&lab);
}

/* Packets in between prolonged half of the sessions: those are looked at, and stay. */
static void test_sessions_that_live_on_take_a_slice_as_well(void **state)
{
	struct lab lab;

	(void)state;
	crowd(&lab);
	lab.now += 200000;
	for (uint32_t i = 0; i < CROWD; i += 2)
		assert_int_equal(send_flow(&lab, i), NAT_TRANSLATE);
	lab.now += 100000;
	assert_slices_for(slices(&lab), CROWD + CROWD / 2);
	assert_int_equal(lab_sessions(&lab), CROWD / 2);
	lab.now += 200000;
	slices(&lab);
	assert_int_equal(lab_sessions(&lab), 0);
	lab_free(&lab);
}

static void test_a_rule_that_is_deleted_takes_its_sessions_slice_by_slice(void **state)
{
	struct lab lab;

	(void)state;
	crowd(&lab);
	lab.conf.n_rules = lab.conf.n_pools = 0;
	lab_load(&lab);
	assert_int_equal(lab_sessions(&lab), CROWD);
	assert_false(nat_worker_swept(lab.nat));
	assert_slices_for(slices(&lab), 2 * CROWD);
	assert_true(nat_worker_swept(lab.nat));
	assert_int_equal(lab_sessions(&lab), 0);
	assert_int_equal(lab_stats(&lab).sessions_cleared, CROWD);
	assert_int_equal(lab_stats(&lab).mappings, 0);
	assert_int_equal(lab_stats(&lab).external_addresses, 0);
	lab_free(&lab);
}

static void test_a_rule_that_is_deleted_takes_its_held_ports_slice_by_slice(void **state)
{
	struct lab lab;

	(void)state;
	crowd(&lab);
	lab.now += 300000;
	slices(&lab);
	assert_int_equal(lab_stats(&lab).mappings, CROWD);
	lab.conf.n_rules = lab.conf.n_pools = 0;
	lab_load(&lab);
	assert_slices_for(slices(&lab), 2 * CROWD);
	assert_true(nat_worker_swept(lab.nat));
	assert_int_equal(lab_stats(&lab).mappings, 0);
	assert_int_equal(lab_stats(&lab).external_addresses, 0);
	lab_free(&lab);
}

/* The rule stays, but its pool has other addresses. */
static void test_a_pool_that_is_replaced_takes_its_sessions_slice_by_slice(void **state)
{
	struct lab lab;

	(void)state;
	crowd(&lab);
	lab.conf.n_pools = 0;
	lab_pool(&lab, "198.51.100.2", "198.51.100.250", 0, 0);
	lab_load(&lab);
	assert_int_equal(lab_sessions(&lab), CROWD);
	assert_slices_for(slices(&lab), 2 * CROWD);
	assert_true(nat_worker_swept(lab.nat));
	assert_int_equal(lab_sessions(&lab), 0);
	assert_int_equal(lab_stats(&lab).external_addresses, 0);
	lab_free(&lab);
}

/* ---- what they take ---------------------------------------------------------------------------- */

static void *untouched(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void let_go(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

static void test_a_session_takes_192_bytes_at_most(void **state)
{
	static const uint32_t sizes[] = {65536, 1u << 20, 10000000};
	static const struct nat_ops ops = {.alloc = untouched, .free = let_go};

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct nat_limits limits = {.max_sessions = sizes[i], .seed = 1};
		struct nat_worker *nat = nat_worker_create(&limits, &ops);
		struct nat_shared *shared;

		assert_non_null(nat);
		assert_true(nat_worker_memory(nat) <= UINT64_C(192) * sizes[i]);
		nat_worker_destroy(nat);
		/* what several workers share, ports' owners above all */
		shared = nat_shared_create(&limits, &ops, 2);
		assert_non_null(shared);
		assert_true(nat_shared_memory(shared) <= UINT64_C(28) * sizes[i]);
		nat_shared_destroy(shared);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_is_due_in_a_second_goes_in_it_slice_by_slice),
		cmocka_unit_test(test_sessions_that_live_on_take_a_slice_as_well),
		cmocka_unit_test(test_a_rule_that_is_deleted_takes_its_sessions_slice_by_slice),
		cmocka_unit_test(test_a_rule_that_is_deleted_takes_its_held_ports_slice_by_slice),
		cmocka_unit_test(test_a_pool_that_is_replaced_takes_its_sessions_slice_by_slice),
		cmocka_unit_test(test_a_session_takes_192_bytes_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
