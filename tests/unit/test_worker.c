/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker's stages on two ports that give back what is sent (net_ring): routing, ICMP,
 * translation, hand-over between workers, and that no packet disappears without a counter.
 */
#include "fwd_router.h"

#include "output.h"

static struct nat_config *nat_conf;

static struct nat_config *nat_base(void)
{
	static const struct nat_rule rules[] = {
		{.id = 1,
		 .type = NAT_RULE_DNAT,
		 .name = "web",
		 .iface = WAN,
		 .protocol = IPPROTO_TCP,
		 .destination = {IP(203, 0, 113, 10), 32},
		 .dport_lo = 8080,
		 .dport_hi = 8080,
		 .to_be = IP(10, 0, 0, 2),
		 .to_port = 80},
		{.id = 2,
		 .type = NAT_RULE_SNAT,
		 .name = "out",
		 .iface = WAN,
		 .source = {IP(10, 0, 0, 0), 24},
		 .pool = 0},
		{.id = 3,
		 .type = NAT_RULE_MASQUERADE,
		 .name = "guests",
		 .iface = WAN,
		 .source = {IP(172, 16, 0, 0), 16}},
	};

	return router_nat(rules, RTE_DIM(rules), false);
}

static int setup(void **state)
{
	(void)state;
	router_setup();
	nat_conf = nat_base();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nat_config_free(nat_conf);
	router_teardown();
	return 0;
}

/* Before each test. */
static int fresh(void **state)
{
	(void)state;
	router_fresh(NULL);
	snap->ifaces[WAN].mtu = 1500;
	return 0;
}

static int fresh_nat(void **state)
{
	(void)state;
	router_fresh(nat_conf);
	return 0;
}

static void feed_chain(unsigned w, uint16_t port, struct rte_mbuf *m)
{
	router_feed(w, port, &m, 1);
}

static void feed(unsigned w, uint16_t port, const uint8_t *f, unsigned len)
{
	feed_chain(w, port, fixture_mbuf(f, len));
}

static uint32_t sessions(void)
{
	return nat_worker_sessions(dp.workers[0]->nat) + nat_worker_sessions(dp.workers[1]->nat);
}

static const struct flow OUT = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 5000, 53, IPPROTO_UDP};

static void test_routed_datagram_changes_only_ttl_and_macs_K4(void **state)
{
	uint8_t f[2000], want[2000], got[2000];

	(void)state;
	for (unsigned opt = 0; opt <= 10; opt += 5) {
		unsigned len = fixture_frame(f, LAN_MAC, &OUT, 700, opt, 64);

		memcpy(want, f, len);
		memcpy(want, GW_MAC, 6);
		memcpy(want + 6, WAN_MAC, 6);
		want[14 + 8]--;
		plain_fill(want + 14);
		for (unsigned w = 0; w < 2; w++) {
			feed(w, LAN, f, len);
			assert_int_equal(router_left(WAN, got), len);
			assert_memory_equal(got, want, len);
		}
	}
	assert_int_equal(router_left(LAN, got), 0);
}

/* Checks an error about `about` (an Ethernet frame) that left by port. */
static void expect_icmp(uint16_t port, const uint8_t *about, uint8_t type, uint8_t code,
			unsigned mtu, rte_be32_t from)
{
	unsigned total = (unsigned)(about[16] << 8 | about[17]);
	uint8_t got[2000];
	unsigned len = router_left(port, got);

	assert_int_equal(len, 14 + 28 + RTE_MIN(total, 576u - 28));
	assert_int_equal(got[14 + 9], IPPROTO_ICMP);
	assert_memory_equal(got + 14 + 12, &from, 4);
	assert_memory_equal(got + 14 + 16, about + 14 + 12, 4);
	assert_int_equal(got[34], type);
	assert_int_equal(got[35], code);
	assert_int_equal(got[40] << 8 | got[41], mtu);
	assert_memory_equal(got + 42, about + 14,
			    len - 42); /* the quote is the packet as it came in */
}

static void test_ttl_expiry_is_answered_from_the_ingress_address_I6_C27(void **state)
{
	uint8_t f[200];
	unsigned len = fixture_frame(f, LAN_MAC, &OUT, 60, 0, 1);

	(void)state;
	feed(0, LAN, f, len);
	expect_icmp(LAN, f, 11, 0, 0, IP(10, 0, 0, 1));
	fixture_frame(f, LAN_MAC, &OUT, 60, 0, 0);
	feed(1, LAN, f, len);
	expect_icmp(LAN, f, 11, 0, 0, IP(10, 0, 0, 1));
	assert_int_equal(router_drops(FWD_D_ttl_expired), 2);
}

static void test_no_route_is_answered_by_net_unreachable(void **state)
{
	struct flow fl = OUT;
	uint8_t f[200];
	unsigned len;

	(void)state;
	fl.dst = IP(9, 9, 9, 9);
	len = fixture_frame(f, LAN_MAC, &fl, 60, 0, 64);
	feed(0, LAN, f, len);
	expect_icmp(LAN, f, 3, 0, 0, IP(10, 0, 0, 1));
	assert_int_equal(router_drops(FWD_D_no_route), 1);
}

static void test_too_big_with_df_gets_the_mtu_without_is_fragmented_I5_C28(void **state)
{
	uint8_t f[2000], got[2000], whole[2000] = {0};
	unsigned len = fixture_frame(f, LAN_MAC, &OUT, 1472, 0, 64), seen = 0, pieces = 0, n;

	(void)state;
	snap->ifaces[WAN].mtu = 1400;
	f[20] = 0x40;
	plain_fill(f + 14);
	feed(0, LAN, f, len);
	expect_icmp(LAN, f, 3, 4, 1400, IP(10, 0, 0, 1));
	assert_int_equal(router_drops(FWD_D_mtu_exceeded), 1);
	assert_int_equal(router_left(WAN, got), 0);

	f[20] = 0;
	plain_fill(f + 14);
	feed(0, LAN, f, len);
	while (true) {
		struct rte_mbuf *m;
		unsigned off, data;

		if (rte_eth_rx_burst(WAN, 0, &m, 1) != 1)
			break;
		n = m->pkt_len;
		assert_true(n <= 1414);
		memcpy(got, rte_pktmbuf_read(m, 0, n, got), n);
		rte_pktmbuf_free(m);
		assert_int_equal(plain_sum(got + 14, 20, 0), 0xffff);
		off = (unsigned)((got[20] << 8 | got[21]) & 0x1fff) * 8;
		data = n - 34;
		memcpy(whole + off, got + 34, data);
		seen += data;
		pieces++;
	}
	assert_int_equal(pieces, 2);
	assert_int_equal(seen, len - 34);
	assert_memory_equal(whole, f + 34, len - 34);
	assert_int_equal(router_events(FWD_E_fragments_out), 2);
}

static void test_echo_to_own_addresses_is_answered_from_them_C36(void **state)
{
	const rte_be32_t own[] = {IP(10, 0, 0, 1), IP(203, 0, 113, 1)};
	uint8_t f[1600], got[1600];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct flow fl = {IP(10, 0, 0, 2), own[i], 7, 0, IPPROTO_ICMP};
		unsigned len = fixture_frame(f, LAN_MAC, &fl, 1401, 0,
					     1); /* a TTL of 1 is enough to get here */
		unsigned cut = 500;

		feed_chain(0, LAN, fixture_chain(f, len, &cut, 1));
		assert_int_equal(router_left(LAN, got), len);
		assert_memory_equal(got + 26, &own[i], 4);
		assert_memory_equal(got + 30, &fl.src, 4);
		assert_int_equal(got[34], 0);
		assert_memory_equal(got + 38, f + 38, len - 38);
		f[len - 1] ^= 1;
		feed(0, LAN, f, len);
		assert_int_equal(router_left(LAN, got), 0);
	}
	assert_int_equal(router_drops(FWD_D_icmp_bad_checksum), 2);
	assert_int_equal(router_events(FWD_E_icmp_echo_replies), 2);
}

static void test_other_datagrams_to_the_router_are_refused(void **state)
{
	struct flow fl = {IP(10, 0, 0, 2), IP(10, 0, 0, 1), 5000, 161, IPPROTO_UDP};
	uint8_t f[200];
	unsigned len = fixture_frame(f, LAN_MAC, &fl, 10, 0, 64);

	(void)state;
	feed(0, LAN, f, len);
	expect_icmp(LAN, f, 3, 3, 0, IP(10, 0, 0, 1));
	fl.proto = IPPROTO_TCP;
	len = fixture_frame(f, LAN_MAC, &fl, 0, 0, 64);
	feed(0, LAN, f, len);
	expect_icmp(LAN, f, 3, 2, 0, IP(10, 0, 0, 1));
	assert_int_equal(router_drops(FWD_D_local_unreachable), 2);
}

static void test_no_error_about_an_error_or_a_later_fragment_I7(void **state)
{
	struct flow fl = {IP(10, 0, 0, 2), IP(9, 9, 9, 9), 7, 0, IPPROTO_ICMP};
	uint8_t f[200], got[200];
	unsigned len = fixture_frame(f, LAN_MAC, &fl, 40, 0, 64);

	(void)state;
	f[34] = 3;
	plain_fill(f + 14);
	feed(0, LAN, f, len);
	f[34] = 200; /* of no known type */
	plain_fill(f + 14);
	feed(0, LAN, f, len);
	fl.proto = IPPROTO_UDP;
	len = fixture_frame(f, LAN_MAC, &fl, 40, 0, 64);
	f[21] = 5; /* offset 40 */
	put16(f + 24, 0);
	put16(f + 24, ~plain_sum(f + 14, 20, 0) & 0xffff);
	feed(0, LAN, f, len);
	assert_int_equal(router_left(LAN, got), 0);
	assert_int_equal(router_drops(FWD_D_no_route), 3);
	assert_int_equal(router_events(FWD_E_icmp_errors_out), 0);
}

static void test_icmp_errors_are_limited_in_rate_I7(void **state)
{
	struct flow fl = OUT;
	uint8_t f[200], got[200];
	unsigned len, n = 0;

	(void)state;
	fl.dst = IP(9, 9, 9, 9);
	len = fixture_frame(f, LAN_MAC, &fl, 0, 0, 64);
	for (unsigned i = 0; i < 400; i++) {
		feed(0, LAN, f, len);
		n += router_left(LAN, got) != 0;
	}
	assert_true(n >= 100 && n < 400);
	assert_int_equal(router_events(FWD_E_icmp_errors_limited), 400 - n);
	assert_int_equal(router_drops(FWD_D_no_route), 400);
}

static void test_unresolved_next_hop_goes_to_control_ready_to_leave(void **state)
{
	struct flow fl = OUT;
	uint8_t f[200];
	struct rte_mbuf *m = NULL;
	unsigned len;

	(void)state;
	fl.dst = IP(203, 0, 113, 77);
	len = fixture_frame(f, LAN_MAC, &fl, 20, 0, 64);
	feed(0, LAN, f, len);
	assert_int_equal(rte_ring_sc_dequeue(dp.punt, (void **)&m), 0);
	assert_int_equal(fwd_priv(m)->kind, PUNT_HOLD);
	assert_int_equal(fwd_priv(m)->nh, NH_WAN_GLEAN);
	assert_int_equal(fwd_priv(m)->dst_be, fl.dst);
	assert_int_equal(fwd_priv(m)->iface, LAN);
	assert_int_equal(rte_pktmbuf_mtod(m, uint8_t *)[8], 63);
	assert_true(plain_good(rte_pktmbuf_mtod(m, uint8_t *)));
	rte_pktmbuf_free(m);
}

static void test_arp_goes_to_control_as_it_came(void **state)
{
	uint8_t f[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0xaa, 8, 6};
	struct rte_mbuf *m = NULL;

	(void)state;
	feed(1, WAN, f, sizeof(f));
	assert_int_equal(rte_ring_sc_dequeue(dp.punt, (void **)&m), 0);
	assert_int_equal(fwd_priv(m)->kind, PUNT_ARP);
	assert_int_equal(fwd_priv(m)->iface, WAN);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), f, sizeof(f));
	rte_pktmbuf_free(m);
}

static void test_flows_spread_over_equal_routes_and_each_keeps_its_way(void **state)
{
	uint8_t f[200], got[200];
	unsigned first = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct flow fl = {IP(10, 0, 0, 2), IP(198, 18, 3, 4), (uint16_t)(1024 + i), 53,
				  IPPROTO_UDP};
		unsigned len = fixture_frame(f, LAN_MAC, &fl, 4, 0, 64);
		uint8_t way = 0;

		for (unsigned again = 0; again < 3; again++) {
			feed(again % 2, LAN, f, len);
			assert_int_equal(router_left(WAN, got), len);
			if (again > 0)
				assert_int_equal(got[5], way);
			way = got[5];
		}
		first += way == GW_MAC[5];
	}
	assert_true(first > 400 && first < 600);
}

/* Out by source translation, back by the session, whichever worker receives; checksums right by
 * plain sums. */
static void test_translated_flow_works_through_every_worker_M1(void **state)
{
	const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};
	const rte_be32_t external = IP(203, 0, 113, 10);
	uint8_t f[600], got[600], back[600];

	(void)state;
	for (unsigned i = 0; i < 3 * 4; i++) {
		struct flow fl = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), (uint16_t)(6000 + i), 443,
				  protos[i % 3]};
		unsigned len = fixture_frame(f, LAN_MAC, &fl, 100 + i, 0, 64);
		unsigned out_w = i / 3 % 2, in_w = i / 6;

		feed(out_w, LAN, f, len);
		assert_int_equal(router_left(WAN, got), len);
		assert_memory_equal(got + 26, &external, 4);
		assert_memory_equal(got + 42, f + 42,
				    len - 42 > 8 && fl.proto == IPPROTO_UDP ? len - 42 : 0);

		/* the answer: what left, turned round */
		memcpy(back, got, len);
		memcpy(back, WAN_MAC, 6);
		memcpy(back + 26, got + 30, 4);
		memcpy(back + 30, got + 26, 4);
		if (fl.proto == IPPROTO_ICMP) {
			back[34] = 0;
		} else {
			memcpy(back + 34, got + 36, 2);
			memcpy(back + 36, got + 34, 2);
		}
		if (fl.proto == IPPROTO_TCP)
			back[47] = 0x12;
		plain_fill(back + 14);
		feed(in_w, WAN, back, len);
		assert_int_equal(router_left(LAN, got), len);
		assert_memory_equal(got + 30, &fl.src, 4);
		assert_memory_equal(got + 26, &fl.dst, 4);
		assert_memory_equal(got, HOST_MAC, 6);
	}
	assert_int_equal(sessions(), 12);
	assert_true(router_events(FWD_E_handovers) > 0);
}

static void test_expired_ttl_makes_no_session_C27(void **state)
{
	struct flow in = {IP(198, 51, 100, 20), IP(203, 0, 113, 10), 4000, 8080, IPPROTO_TCP};
	uint8_t f[200], about[200];
	unsigned len = fixture_frame(f, LAN_MAC, &OUT, 10, 0, 1);

	(void)state;
	feed(0, LAN, f, len);
	expect_icmp(LAN, f, 11, 0, 0, IP(10, 0, 0, 1));
	len = fixture_frame(about, WAN_MAC, &in, 0, 0, 1);
	feed(1, WAN, about, len);
	expect_icmp(WAN, about, 11, 0, 0, IP(203, 0, 113, 1));
	assert_int_equal(sessions(), 0);
}

/* The router's own address that masquerade uses: a SYN is dropped in silence, UDP is refused as
 * ever. */
static void test_unsolicited_syn_to_a_masquerade_address_is_not_answered_T3(void **state)
{
	struct flow in = {IP(198, 51, 100, 20), IP(203, 0, 113, 1), 4000, 81, IPPROTO_TCP};
	uint8_t f[200], got[200];
	unsigned len = fixture_frame(f, WAN_MAC, &in, 0, 0, 64);

	(void)state;
	for (unsigned w = 0; w < 2; w++) {
		feed(w, WAN, f, len);
		assert_int_equal(router_left(WAN, got), 0);
		assert_int_equal(router_drops(FWD_D_local_unhandled), w + 1);
	}
	in.proto = IPPROTO_UDP;
	len = fixture_frame(f, WAN_MAC, &in, 10, 0, 64);
	feed(0, WAN, f, len);
	expect_icmp(WAN, f, 3, 3, 0, IP(203, 0, 113, 1));
}

static void test_bad_transport_header_never_leaves_untranslated_C10(void **state)
{
	uint8_t f[200], got[200];
	unsigned len = fixture_frame(f, LAN_MAC, &OUT, 10, 0, 64);

	(void)state;
	put16(f + 38, 7);
	for (unsigned w = 0; w < 2; w++) {
		feed(w, LAN, f, len);
		assert_int_equal(router_left(WAN, got), 0);
	}
	assert_int_equal(router_drops(FWD_D_udp_bad_length), 2);
	f[20] = 0x20; /* a first fragment */
	put16(f + 24, 0);
	put16(f + 24, ~plain_sum(f + 14, 20, 0) & 0xffff);
	feed(0, LAN, f, len);
	assert_int_equal(router_left(WAN, got), 0);
	assert_int_equal(router_drops(FWD_D_NAT + NAT_R_nat_fragment - 1), 1);
	assert_int_equal(sessions(), 0);
}

/* rx + made here == tx + drops + to control, whatever comes in; and no buffer is lost. */
static void test_no_packet_disappears_without_a_counter(void **state)
{
	const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP, 47};
	const rte_be32_t addrs[] = {IP(10, 0, 0, 2),	    IP(10, 0, 0, 1),	IP(198, 51, 100, 7),
				    IP(203, 0, 113, 10),    IP(203, 0, 113, 1), IP(198, 18, 0, 9),
				    IP(9, 9, 9, 9),	    IP(10, 0, 0, 77),	IP(10, 0, 0, 255),
				    IP(255, 255, 255, 255), IP(224, 0, 0, 9)};
	uint64_t rx = 0, tx = 0, dropped = 0, made;
	unsigned seed = 5;
	uint8_t f[2000];

	(void)state;
	snap->ifaces[WAN].mtu = 600;
	for (unsigned round = 0; round < 60000; round++) {
		struct flow fl = {addrs[(unsigned)rand_r(&seed) % RTE_DIM(addrs)],
				  addrs[(unsigned)rand_r(&seed) % RTE_DIM(addrs)],
				  (uint16_t)(5000 + rand_r(&seed) % 20),
				  (uint16_t)(rand_r(&seed) % 2 ? 8080 : 53),
				  protos[rand_r(&seed) % 4]};
		uint16_t port = (uint16_t)(rand_r(&seed) % 2);
		unsigned len = fixture_frame(f, port == LAN ? LAN_MAC : WAN_MAC, &fl,
					     (unsigned)rand_r(&seed) % 1000,
					     (unsigned)rand_r(&seed) % 3,
					     rand_r(&seed) % 8 ? 64 : (uint8_t)(rand_r(&seed) % 2)),
			 cut;

		if (fl.proto == IPPROTO_ICMP) {
			f[34 + (f[14] & 0xf) * 4 - 20] = (uint8_t)(rand_r(&seed) % 16);
			plain_fill(f + 14);
		}
		for (unsigned i = (unsigned)rand_r(&seed) % 4 == 0 ? 3 : 0; i > 0; i--)
			f[(unsigned)rand_r(&seed) % 60] ^= (uint8_t)(1 << rand_r(&seed) % 8);
		cut = (unsigned)rand_r(&seed) % (len + 1);
		feed_chain((unsigned)rand_r(&seed) % 2, port,
			   fixture_chain(f, len, &cut, rand_r(&seed) % 2));
		if (round % 16 == 0)
			router_drain();
	}
	for (unsigned w = 0; w <= dp.n_workers; w++) {
		for (unsigned i = 0; i <= FWD_MAX_IFACES; i++) {
			rx += dp.counters[w]->iface[i].rx_packets;
			tx += dp.counters[w]->iface[i].tx_packets;
			for (unsigned d = 0; d < FWD_DROP_COUNT; d++)
				dropped += dp.counters[w]->iface[i].drops[d];
		}
	}
	/* fragments are at least two of one */
	made = router_events(FWD_E_icmp_errors_out) + router_events(FWD_E_fragments_out);
	assert_int_equal(rx, 60000);
	assert_true(tx + dropped + router_events(FWD_E_punts) <= rx + made);
	assert_true(tx + dropped + router_events(FWD_E_punts) >=
		    rx + router_events(FWD_E_icmp_errors_out));
	assert_true(tx > 1000 && router_events(FWD_E_punts) > 1000);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fresh, router_no_leak)
#define N(f) cmocka_unit_test_setup_teardown(f, fresh_nat, router_no_leak)
	const struct CMUnitTest tests[] = {
		T(test_routed_datagram_changes_only_ttl_and_macs_K4),
		T(test_ttl_expiry_is_answered_from_the_ingress_address_I6_C27),
		T(test_no_route_is_answered_by_net_unreachable),
		T(test_too_big_with_df_gets_the_mtu_without_is_fragmented_I5_C28),
		T(test_echo_to_own_addresses_is_answered_from_them_C36),
		T(test_other_datagrams_to_the_router_are_refused),
		T(test_no_error_about_an_error_or_a_later_fragment_I7),
		T(test_icmp_errors_are_limited_in_rate_I7),
		T(test_unresolved_next_hop_goes_to_control_ready_to_leave),
		T(test_arp_goes_to_control_as_it_came),
		T(test_flows_spread_over_equal_routes_and_each_keeps_its_way),
		N(test_translated_flow_works_through_every_worker_M1),
		N(test_expired_ttl_makes_no_session_C27),
		N(test_unsolicited_syn_to_a_masquerade_address_is_not_answered_T3),
		N(test_bad_transport_header_never_leaves_untranslated_C10),
		N(test_no_packet_disappears_without_a_counter),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
