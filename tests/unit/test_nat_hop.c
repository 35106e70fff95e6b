/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sessions remember of routing: until it is forgotten, and never longer, however often routes
 * change.
 */
#include "test_nat_lab.h"

#define FLOWS	50
#define CHANGES 2000

/* Flow i's packet, outwards or back, as its look-up leaves it. */
static struct nat_pkt look(struct lab *lab, unsigned i, bool back)
{
	static uint8_t datagram[28];
	struct nat_pkt p = {
		.key = {.src_be = ip4("10.0.0.2"),
			.dst_be = ip4("198.51.100.7"),
			.sport_be = htons((uint16_t)(2000 + i)),
			.dport_be = htons(53),
			.proto = IPPROTO_UDP},
		.ip = datagram,
		.l4 = datagram + 20,
		.l4_len = 8,
		.l4_avail = 8,
		.iface = back ? OUTSIDE : INSIDE,
		.flags = NAT_PKT_PLAIN,
	};
	struct nat_pkt *one = &p;

	if (back) {
		p.key.dst_be = ip4("203.0.113.10");
		p.key.src_be = ip4("198.51.100.7");
		p.key.dport_be = htons((uint16_t)(2000 + i));
		p.key.sport_be = htons(53);
	}
	nat_lookup_burst(lab->nat, &one, 1);
	return p;
}

static void begin(struct lab *lab, unsigned i)
{
	struct nat_pkt p = look(lab, i, false);

	assert_int_equal(nat_miss(lab->nat, &p, OUTSIDE, lab->now), NAT_TRANSLATE);
}

static unsigned hop(struct lab *lab, unsigned i, bool back)
{
	struct nat_pkt p = look(lab, i, back);

	assert_int_equal(p.verdict, NAT_TRANSLATE);
	return p.hop;
}

static void keep(struct lab *lab, unsigned i, bool back, unsigned hop)
{
	struct nat_pkt p = look(lab, i, back);

	nat_hop_keep(lab->nat, &p, (uint16_t)hop);
}

static void test_each_direction_keeps_its_own(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	begin(&lab, 0);
	begin(&lab, 1);
	assert_int_equal(hop(&lab, 0, false), 0);
	assert_int_equal(hop(&lab, 0, true), 0);
	keep(&lab, 0, false, 7);
	assert_int_equal(hop(&lab, 0, false), 7);
	assert_int_equal(hop(&lab, 0, true), 0);
	keep(&lab, 0, true, 32767);
	assert_int_equal(hop(&lab, 0, false), 7);
	assert_int_equal(hop(&lab, 0, true), 32767);
	assert_int_equal(hop(&lab, 1, false), 0);
	lab_end(&lab);
}

static void test_forgetting_takes_both_directions(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	begin(&lab, 0);
	keep(&lab, 0, false, 7);
	keep(&lab, 0, true, 8);
	nat_hop_forget(lab.nat);
	assert_int_equal(hop(&lab, 0, false), 0);
	assert_int_equal(hop(&lab, 0, true), 0);
	/* what the other direction kept before does not come back with the new one */
	keep(&lab, 0, false, 9);
	assert_int_equal(hop(&lab, 0, false), 9);
	assert_int_equal(hop(&lab, 0, true), 0);
	lab_end(&lab);
}

static void test_a_session_in_an_old_ones_record_keeps_nothing_of_it(void **state)
{
	struct nat_filter all = {0};
	uint32_t cursor = 0;
	struct lab lab;

	(void)state;
	lab_start(&lab);
	begin(&lab, 0);
	keep(&lab, 0, false, 7);
	assert_int_equal(nat_session_clear(lab.nat, &all, &cursor, 1000), 1);
	begin(&lab, 0);
	assert_int_equal(hop(&lab, 0, false), 0);
	lab_end(&lab);
}

/* Against an oracle, through many times as many changes as there are generations; some sessions
 * keep a hop for long and are not asked for it meanwhile. Housekeeping gets little time, or much.
 */
static void test_no_hop_outlives_a_change_of_routes_however_many_there_are(void **state)
{
	unsigned kept[FLOWS][2] = {{0}}, n_found = 0;
	uint64_t seed = 9;
	struct lab lab;

	(void)state;
	lab_start(&lab);
	for (unsigned i = 0; i < FLOWS; i++)
		begin(&lab, i);
	for (unsigned c = 1; c <= CHANGES; c++) {
		for (unsigned k = lab_rand(&seed) % 20; k > 0; k--) {
			unsigned i = lab_rand(&seed) % FLOWS, back = lab_rand(&seed) % 2;
			unsigned found = hop(&lab, i, back);

			/* forgotten too early is allowed, another one or an old one is not */
			if (found != 0) {
				assert_int_equal(found, kept[i][back]);
				n_found++;
			}
			if (lab_rand(&seed) % 2) {
				kept[i][back] = 1 + lab_rand(&seed) % 1000;
				keep(&lab, i, back, kept[i][back]);
			}
		}
		nat_worker_tick(lab.nat, lab.now, c / 500 % 2 ? 100 : 7);
		nat_hop_forget(lab.nat);
		memset(kept, 0, sizeof(kept));
	}
	assert_true(n_found > CHANGES / 10);
	/* and when changes cease, hops are kept again */
	for (unsigned k = 0; k < 20; k++)
		nat_worker_tick(lab.nat, lab.now, 7);
	keep(&lab, 3, true, 77);
	assert_int_equal(hop(&lab, 3, true), 77);
	lab_end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_direction_keeps_its_own),
		cmocka_unit_test(test_forgetting_takes_both_directions),
		cmocka_unit_test(test_a_session_in_an_old_ones_record_keeps_nothing_of_it),
		cmocka_unit_test(test_no_hop_outlives_a_change_of_routes_however_many_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
