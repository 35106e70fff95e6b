/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments that wait for those that follow: for how long, and what ends it. (That order and bytes
 * stay what they are, over random traffic: test_gro_random.c.)
 */
#include "gro_lab.h"

#include <rte_cycles.h>

#include "hold.h"
#include "tx.h"

enum { LONG = 60000 }; /* microseconds: no test takes so long between two calls */

static void feed(const struct segment *s, unsigned n)
{
	struct rte_mbuf *m[FWD_BURST];

	for (unsigned i = 0; i < n; i++)
		m[i] = segment_mbuf(&s[i]);
	worker_frames(dp.workers[0], m, n, snap->ifaces[s[0].iface].port);
}

static unsigned held(void)
{
	return dp.workers[0]->hold->n;
}

/* Frames that left by the outside, after what the worker does at the end of a turn. */
static unsigned left(void)
{
	struct rte_mbuf *m;
	unsigned n = 0;

	tx_flush(dp.workers[0]);
	for (; rte_eth_rx_burst(snap->ifaces[WAN].port, 0, &m, 1) == 1; n++)
		rte_pktmbuf_free(m);
	return n;
}

static void test_segments_of_two_bursts_merge(void **state)
{
	struct segment s[6] = {PLAIN};

	(void)state;
	for (unsigned i = 1; i < 6; i++)
		s[i] = behind(&s[i - 1]);
	set_wait(LONG);
	feed(s, 2);
	assert_int_equal(left(), 0);
	assert_int_equal(held(), 2);
	feed(s + 2, 1);
	assert_int_equal(held(), 3);
	s[5].flags |= 0x08; /* PSH ends it */
	feed(s + 3, 3);
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 6);
	assert_int_equal(router_events(FWD_E_gro_merged), 1);
	assert_int_equal(router_events(FWD_E_gro_held), 3);
	assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed), 6 * s[0].payload);
}

static void test_datagrams_of_two_bursts_merge(void **state)
{
	struct segment s[4] = {PLAIN};

	(void)state;
	s[0].flow.proto = IPPROTO_UDP;
	for (unsigned i = 1; i < 4; i++)
		s[i] = behind(&s[i - 1]);
	set_wait(LONG);
	feed(s, 1); /* do not merge, so do not wait */
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 1);
	set_gro(IFACE_GRO | IFACE_GRO_UDP);
	feed(s, 2);
	assert_int_equal(held(), 2);
	s[2].payload--; /* the last */
	feed(s + 2, 1);
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 3);
	assert_int_equal(router_events(FWD_E_gro_merged), 1);
	feed(s, 1);
	assert_int_equal(held(), 1);
	s[3].unsummed = true; /* may not merge */
	feed(s + 3, 1);
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 2);
}

static void test_nothing_waits_by_itself(void **state)
{
	struct segment s[2] = {PLAIN};

	(void)state;
	s[1] = behind(&s[0]);
	feed(s, 2);
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 2);
	assert_int_equal(router_events(FWD_E_gro_held), 0);
}

static void test_an_idle_worker_lets_go(void **state)
{
	struct segment s = PLAIN;

	(void)state;
	set_wait(LONG);
	feed(&s, 1);
	assert_int_equal(held(), 1);
	worker_turn(dp.workers[0]); /* finds nothing */
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 1);
}

static void test_a_busy_worker_lets_go_when_the_time_is_over(void **state)
{
	struct segment s[3] = {PLAIN}, other = PLAIN;

	(void)state;
	s[1] = behind(&s[0]);
	s[2] = behind(&s[1]);
	other.flow.sport++;
	other.flags |= 0x08;
	set_wait(1);
	feed(s, 1);
	rte_delay_us(5);
	feed(&other, 1); /* of which nothing waits */
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 2);
	feed(s + 1, 1);
	rte_delay_us(5);
	feed(s + 2, 1); /* merges with what waited too long, and does not wait anew */
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 2);
	assert_int_equal(router_events(FWD_E_gro_merged), 1);
}

static void test_whatever_of_the_flow_does_not_continue_it_lets_it_go(void **state)
{
	struct segment s = PLAIN, next;

	(void)state;
	set_wait(LONG);
	for (unsigned i = 0; i < 4; i++) {
		next = behind(&s);
		if (i == 0)
			next.payload = 0; /* a pure ACK */
		if (i == 1)
			next.flags |= 0x04; /* a reset */
		if (i == 2)
			next.frag_words = 0x2000; /* a fragment, of whose flow nobody knows */
		if (i == 3)
			next.seq++; /* a hole: begins a train of its own */
		feed(&s, 1);
		assert_int_equal(held(), 1);
		feed(&next, 1);
		assert_int_equal(held(), i == 3);
		worker_turn(dp.workers[0]);
		assert_int_equal(left(), 2);
	}
}

static void test_what_waits_goes_on_beside_what_does_not(void **state)
{
	struct segment s[4] = {PLAIN, PLAIN, PLAIN, PLAIN};

	(void)state;
	set_wait(LONG);
	s[1].flow.sport++;
	s[1].flags |= 0x08; /* complete by itself */
	s[2] = behind(&s[0]);
	for (unsigned first = 0; first < 2; first++) { /* the one that waits comes first, or last */
		struct segment swapped[2] = {s[1], s[0]};

		feed(first == 0 ? s : swapped, 2);
		assert_int_equal(held(), 1);
		assert_int_equal(left(), 1);
		s[3] = behind(&s[2]);
		feed(&s[2], 1);
		feed(&s[1], 1);
		assert_int_equal(held(), 2);
		assert_int_equal(left(), 1);
		feed(&s[3], 1);
		assert_int_equal(held(), 3);
		worker_turn(dp.workers[0]);
		assert_int_equal(left(), 3);
		assert_int_equal(router_events(FWD_E_gro_merged), first + 1);
		assert_int_equal(router_events(FWD_E_cut_segments), 3 * (first + 1));
		assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed),
				 3 * s[0].payload * (first + 1));
	}
}

static void test_a_burst_that_needs_the_room_lets_all_go(void **state)
{
	struct segment s[FWD_BURST + 1] = {PLAIN};

	(void)state;
	for (unsigned i = 1; i <= FWD_BURST; i++)
		s[i] = behind(&s[i - 1]);
	set_wait(LONG);
	feed(s, 1);
	assert_int_equal(held(), 1);
	feed(s + 1, FWD_BURST);
	assert_int_equal(held(), 0);
	assert_int_equal(left(), FWD_BURST + 1);
}

static void test_a_new_configuration_lets_go(void **state)
{
	static struct fwd_snapshot other;
	struct segment s = PLAIN;

	(void)state;
	set_wait(LONG);
	feed(&s, 1);
	other = *snap;
	other.ifaces[LAN].flags = IFACE_PRESENT; /* no longer merges */
	atomic_store(&dp.snapshot, &other);
	worker_turn_begin(dp.workers[0]);
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 1);
	atomic_store(&dp.snapshot, snap);
	worker_turn_begin(dp.workers[0]);

	feed(&s, 1);
	assert_int_equal(held(), 1);
	other.ifaces[LAN].flags = 0; /* is gone */
	atomic_store(&dp.snapshot, &other);
	worker_turn_begin(dp.workers[0]);
	assert_int_equal(held(), 0);
	assert_int_equal(left(), 0);
	assert_int_equal(dp.counters[0]->iface[LAN].drops[FWD_D_iface_gone], 1);
	atomic_store(&dp.snapshot, snap);
	worker_turn_begin(dp.workers[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, fresh, router_no_leak)
		T(test_segments_of_two_bursts_merge),
		T(test_datagrams_of_two_bursts_merge),
		T(test_nothing_waits_by_itself),
		T(test_an_idle_worker_lets_go),
		T(test_a_busy_worker_lets_go_when_the_time_is_over),
		T(test_whatever_of_the_flow_does_not_continue_it_lets_it_go),
		T(test_what_waits_goes_on_beside_what_does_not),
		T(test_a_burst_that_needs_the_room_lets_all_go),
		T(test_a_new_configuration_lets_go),
#undef T
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
