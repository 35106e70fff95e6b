/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merging: what merges and what must not, that a merged header is right, that every payload byte is
 * summed at most once. (That what leaves is right, over random traffic: test_gro_random.c.)
 */
#include "gro_lab.h"

/* ---- what merges ----------------------------------------------------------------------------- */

/* Of two packets, the second behind the first but for what is said: do they merge? */
#define TRY_PAIR(base, want, ...)                                                                  \
	do {                                                                                       \
		s[0] = base;                                                                       \
		s[1] = behind(&s[0]);                                                              \
		__VA_ARGS__;                                                                       \
		if (packets_of(s, 2) != ((want) ? 1u : 2u))                                        \
			fail_msg("%s: %s", #__VA_ARGS__,                                           \
				 (want) ? "must merge" : "must not merge");                        \
		tried++;                                                                           \
	} while (0)

static void test_a_pair_merges_or_not_by_one_difference_C41(void **state)
{
	struct segment s[2];
	unsigned tried = 0;

	(void)state;
#define TRY(want, ...) TRY_PAIR(PLAIN, want, __VA_ARGS__)
	TRY(true, (void)0);
	TRY(false, s[1].ttl--);
	TRY(false, s[1].tos = 0x02); /* ECT(0) */
	TRY(false, s[1].tos = 0x03); /* CE */
	TRY(false, s[1].tos = 0x28);
	TRY(true, s[0].tos = s[1].tos = 0x03);
	TRY(false, s[1].df = false);
	TRY(true, s[0].df = s[1].df = false);
	TRY(true, s[1].id = s[0].id);
	TRY(false, s[0].df = s[1].df = false; s[1].id = s[0].id);
	TRY(false, s[1].id += 1);
	TRY(false, s[1].id = s[0].id - 1);
	TRY(true, s[0].id = 0xffff; s[1].id = 0);
	TRY(false, s[1].ack++);
	TRY(false, s[1].window++);
	TRY(false, s[1].flags |= 0x40); /* ECE */
	TRY(true, s[0].flags |= 0x40; s[1].flags |= 0x40);
	TRY(false, s[1].flags |= 0x80); /* CWR is only the first's */
	TRY(true, s[0].flags |= 0x80);
	TRY(false, s[0].flags |= 0x80; s[1].flags |= 0x80);
	TRY(false, s[1].flags |= 0x20; s[1].urgent = 5);
	TRY(false, s[1].urgent = 5);
	TRY(true, s[1].flags |= 0x08); /* PSH and FIN end */
	TRY(true, s[1].flags |= 0x01);
	TRY(false, s[0].flags |= 0x08);
	TRY(false, s[0].flags |= 0x01);
	TRY(false, s[1].flags |= 0x02);
	TRY(false, s[0].flags |= 0x02);
	TRY(false, s[1].flags |= 0x04);
	TRY(false, s[0].flags = s[1].flags = 0); /* no ACK */
	TRY(false, s[1].seq++);
	TRY(false, s[1].seq--);
	TRY(false, s[1].seq = s[0].seq); /* sent again */
	TRY(true, s[0].seq = 0xffffffce; s[1].seq = 0x32);
	TRY(true, s[0].payload = 99; s[1].seq--; s[1].payload = 99);
	TRY(true, s[1].payload = 1);
	TRY(false, s[1].payload++);
	TRY(false, s[1].payload = 0);
	TRY(false, s[0].payload = s[1].payload = 0; s[1].seq = s[0].seq);
	TRY(true, s[0].tcp_options = s[1].tcp_options = 3);
	TRY(false, s[0].tcp_options = s[1].tcp_options = 3; s[1].timestamp++);
	TRY(false, s[1].tcp_options = 3);
	TRY(true, s[0].tcp_options = s[1].tcp_options = 10);
	TRY(true, s[0].ip_options = s[1].ip_options = 10);
	TRY(false, s[1].ip_options = 1);
	TRY(false, s[0].ip_options = s[1].ip_options = 1; s[1].ip_option_byte = 1);
	TRY(true, s[0].iface = s[1].iface = TAGGED);
	TRY(false, s[1].iface = TAGGED);
	TRY(false, s[1].flow.sport++);
	TRY(false, s[1].flow.dport++);
	TRY(false, s[1].flow.src = IP(10, 0, 0, 3));
	TRY(false, s[1].flow.dst = IP(198, 51, 100, 8));
	TRY(false, s[0].frag_words = s[1].frag_words = 0x2000);
	TRY(false, s[1].frag_words = 0x2000);
	TRY(false, s[1].flip = 0);
	TRY(false, s[0].flip = 801);
	TRY(true, s[0].padding = 6; s[1].padding = 2); /* C39: padding is no payload */
	TRY(true, s[0].ol_flags = s[1].ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	TRY(false, s[1].ol_flags = RTE_MBUF_F_RX_L4_CKSUM_BAD);
	TRY(true, s[1].n_cuts = 2; s[1].cuts[0] = 20; s[1].cuts[1] = 101);
	assert_true(tried > 50);
#undef TRY
}

static const struct segment DATAGRAM = {
	.flow = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 5000, 443, IPPROTO_UDP},
	.iface = LAN,
	.id = 1,
	.payload = 100,
	.ttl = 64,
	.df = true,
	.flip = UINT_MAX,
};

static void test_datagrams_merge_or_not_by_one_difference(void **state)
{
	struct segment s[2];
	unsigned tried = 0;

	(void)state;
#define TRY(want, ...) TRY_PAIR(DATAGRAM, want, __VA_ARGS__)
	TRY(false, (void)0); /* by choice */
	set_gro(IFACE_GRO | IFACE_GRO_UDP);
	TRY(true, (void)0);
	TRY(true, s[0] = PLAIN; s[1] = behind(&s[0]));
	TRY(false, s[1].flow.proto = IPPROTO_TCP; s[1].flags = 0x10);
	TRY(false, s[1].ttl--);
	TRY(false, s[1].tos = 0x03);
	TRY(true, s[0].tos = s[1].tos = 0x03);
	TRY(false, s[1].df = false);
	TRY(true, s[0].df = s[1].df = false);
	TRY(true, s[1].id = s[0].id);
	TRY(false, s[0].df = s[1].df = false; s[1].id = s[0].id);
	TRY(false, s[1].id += 1);
	TRY(false, s[1].id = s[0].id - 1);
	TRY(true, s[0].id = 0xffff; s[1].id = 0);
	TRY(true, s[0].payload = s[1].payload = 1);
	TRY(true, s[1].payload = 1);
	TRY(false, s[1].payload++);
	TRY(false, s[1].payload = 0);
	TRY(false, s[0].payload = s[1].payload = 0);
	TRY(true, s[0].ip_options = s[1].ip_options = 10);
	TRY(false, s[1].ip_options = 1);
	TRY(false, s[0].ip_options = s[1].ip_options = 1; s[1].ip_option_byte = 1);
	TRY(true, s[0].iface = s[1].iface = TAGGED);
	TRY(false, s[1].iface = TAGGED);
	TRY(false, s[1].flow.sport++);
	TRY(false, s[1].flow.dport++);
	TRY(false, s[1].flow.src = IP(10, 0, 0, 3));
	TRY(false, s[1].flow.dst = IP(198, 51, 100, 8));
	TRY(false, s[0].frag_words = s[1].frag_words = 0x2000);
	TRY(false, s[1].frag_words = 0x2000);
	TRY(false, s[1].flip = 0);
	TRY(false, s[0].flip = 799);
	TRY(false, s[0].unsummed = true);
	TRY(false, s[1].unsummed = true);
	TRY(false, s[0].unsummed = s[1].unsummed = true);
	TRY(false, s[0].unsummed = s[1].unsummed = true;
	    s[0].ol_flags = s[1].ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	TRY(true, s[0] = summed_to_zero(s[0]); s[1] = summed_to_zero(s[1]));
	TRY(false, s[1].udp_len = -1);
	TRY(false, s[0].udp_len = s[1].udp_len = -1;
	    s[0].ol_flags = s[1].ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	TRY(false, s[1].udp_len = 1);
	TRY(true, s[0].padding = 6; s[1].padding = 2);
	TRY(true, s[0].ol_flags = s[1].ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	TRY(false, s[1].ol_flags = RTE_MBUF_F_RX_L4_CKSUM_BAD);
	TRY(true, s[1].n_cuts = 2; s[1].cuts[0] = 20; s[1].cuts[1] = 101);
	assert_true(tried > 40);
#undef TRY
}

static void test_whatever_is_between_two_datagrams_of_a_flow_parts_them(void **state)
{
	struct segment s[3] = {DATAGRAM};

	(void)state;
	set_gro(IFACE_GRO | IFACE_GRO_UDP);
	s[2] = behind(&s[0]);
	s[1] = s[2];
	s[1].flow.sport++;
	assert_int_equal(packets_of(s, 3), 2); /* another flow does not */
	s[1] = s[2];
	s[1].flow.proto = IPPROTO_TCP;
	s[1].flags = 0x10;
	assert_int_equal(packets_of(s, 3), 2);
	s[1] = s[0];
	s[1].payload = 0;
	assert_int_equal(packets_of(s, 3), 3);
	s[1] = s[0];
	s[1].unsummed = true;
	assert_int_equal(packets_of(s, 3), 3);
	s[1] = s[0];
	s[1].frag_words = 0x2000; /* a fragment, of whose flow nobody knows */
	assert_int_equal(packets_of(s, 3), 3);
	s[1] = s[0];
	s[1].udp_len = 1; /* a header that contradicts itself */
	assert_int_equal(packets_of(s, 3), 3);
	s[1] = s[2];
	s[1].payload--; /* the last of a run is shorter */
	s[2].id++;
	assert_int_equal(packets_of(s, 3), 2);
}

static void test_whatever_is_between_two_segments_of_a_flow_parts_them(void **state)
{
	struct segment s[3] = {PLAIN};

	(void)state;
	s[2] = behind(&s[0]);
	s[1] = s[2];
	s[1].flow.sport++;
	assert_int_equal(packets_of(s, 3), 2); /* another flow does not */
	s[1] = s[0];
	s[1].payload = 0; /* a pure ACK */
	assert_int_equal(packets_of(s, 3), 3);
	s[1] = s[0];
	s[1].flags = 0x14; /* a reset */
	assert_int_equal(packets_of(s, 3), 3);
	s[1] = s[0];
	s[1].frag_words = 0x2000; /* a fragment, of whose flow nobody knows */
	assert_int_equal(packets_of(s, 3), 3);
	s[1].frag_words = 0;
	s[1].doff = 4; /* a header that contradicts itself */
	assert_int_equal(packets_of(s, 3), 3);
}

static void test_merged_header_is_right_over_all_bytes(void **state)
{
	(void)state;
	set_gro(IFACE_GRO | IFACE_GRO_UDP);
	for (unsigned round = 0; round < 600; round++) {
		unsigned n = 2 + (unsigned)rand() % 43, len, left, head;
		bool udp = round % 5 < 2;
		struct segment s[FWD_BURST] = {udp ? DATAGRAM : PLAIN};
		static uint8_t whole[70000];
		struct pkt pkts[FWD_BURST];
		struct gro g;

		s[0].payload = (uint16_t)(1 + rand() % 1400);
		s[0].tcp_options = (uint8_t)(rand() % 11);
		s[0].ip_options = (uint8_t)(rand() % 11);
		s[0].seq = (uint32_t)rand() * 3;
		s[0].iface = round % 3 == 0 ? TAGGED : LAN;
		s[0].flags |= round % 2 ? 0x80 : 0;
		for (unsigned i = 1; i < n; i++) {
			s[i] = behind(&s[i - 1]);
			s[i].flags &= 0x7f;
			s[i].ol_flags = rand() % 3 == 0 ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0;
			if (rand() % 4 == 0) {
				s[i].n_cuts = 1;
				s[i].cuts[0] = 15 + (unsigned)rand() % 200;
			}
		}
		s[n - 1].payload = (uint16_t)(1 + rand() % s[0].payload);
		s[n - 1].flags |= 0x08;
		left = merge(s, n, pkts, &g);
		if (round % 5 == 0 && s[0].payload > 1) { /* UDP, and its sum is 0 */
			memcpy(whole, pkts[0].nat.l4, 8);
			free_merged(pkts, left, &g);
			s[0].payload_word = (uint16_t)(whole[6] << 8 | whole[7]);
			left = merge(s, n, pkts, &g);
			assert_memory_equal(pkts[0].nat.l4 + 6, "\xff\xff", 2);
		}
		assert_int_equal(left, 1);
		assert_int_equal(g.n, 1);
		assert_int_equal(g.merged[0].n, n);
		assert_ptr_equal(g.merged[0].segments[0], pkts[0].m);
		len = head = pkts[0].ihl + (udp ? 8u : 20u + s[0].tcp_options * 4u);
		memcpy(whole, pkts[0].nat.ip, len);
		for (unsigned i = 0; i < n; i++) {
			struct rte_mbuf *m = g.merged[0].segments[i];
			unsigned bytes = m->pkt_len - head;
			const void *at = rte_pktmbuf_read(m, head, bytes, whole + len);

			assert_int_equal(bytes, s[i].payload);
			if (at != whole + len)
				memcpy(whole + len, at, bytes);
			len += bytes;
		}
		assert_int_equal(whole[2] << 8 | whole[3], len);
		assert_int_equal(pkts[0].len, len);
		assert_int_equal(pkts[0].nat.l4_len, len - pkts[0].ihl);
		if (udp) {
			assert_int_equal(whole[pkts[0].ihl + 4u] << 8 | whole[pkts[0].ihl + 5u],
					 len - pkts[0].ihl);
			assert_int_equal(pkts[0].nat.tcp_flags, 0);
			assert_false(g.merged[0].like_tso);
		} else {
			assert_int_equal(whole[pkts[0].ihl + 13u], s[0].flags | 0x08);
			assert_int_equal(pkts[0].nat.tcp_flags, s[0].flags | 0x08);
		}
		assert_true(plain_good(whole));
		free_merged(pkts, left, &g);
	}
}

static void test_no_merged_packet_is_longer_than_65535_C43(void **state)
{
	struct segment s[FWD_BURST] = {PLAIN};
	struct pkt pkts[FWD_BURST];
	struct gro g;
	unsigned n;

	(void)state;
	s[0].payload = 1460;
	for (unsigned i = 1; i < FWD_BURST; i++)
		s[i] = behind(&s[i - 1]);
	n = merge(s, FWD_BURST, pkts, &g);
	assert_int_equal(n, 2);
	assert_int_equal(g.merged[0].n, 44);
	assert_int_equal(pkts[0].len, 40 + 44 * 1460);
	assert_int_equal(g.merged[1].n, 20);
	free_merged(pkts, n, &g);
	s[0].payload = 9;
	for (unsigned i = 1; i < FWD_BURST; i++)
		s[i] = behind(&s[i - 1]);
	assert_int_equal(packets_of(s, FWD_BURST), 1);
	s[0].payload = 40; /* the last byte that fits, and one more */
	for (unsigned i = 1; i < 48; i++) {
		s[i] = behind(&s[i - 1]);
		s[i].payload = 1364 + (i == 47 ? 1 : 0);
	}
	s[0].payload = 1395;
	s[1].seq = s[0].seq + 1395;
	for (unsigned i = 1; i < 47; i++) {
		s[i].payload = 1395;
		s[i + 1].seq = s[i].seq + 1395;
	}
	s[46].payload = (uint16_t)(65535 - 40 - 46 * 1395);
	n = merge(s, 47, pkts, &g);
	assert_int_equal(n, 1);
	assert_int_equal(pkts[0].len, 65535);
	free_merged(pkts, n, &g);
	s[46].payload++;
	assert_int_equal(packets_of(s, 47), 2);
}

/* ---- validation ------------------------------------------------------------------------------ */

static void test_each_payload_byte_is_summed_once(void **state)
{
	struct segment s[FWD_BURST] = {PLAIN};
	uint64_t received = 0;

	(void)state;
	s[0].payload = 1447;
	for (unsigned i = 0; i < FWD_BURST; i++) {
		if (i >= 4)
			s[i] = behind(&s[i - 4]);
		else
			s[i] = s[0], s[i].flow.sport = (uint16_t)(6000 + i);
		received += s[i].payload;
	}
	set_gro(IFACE_GRO | IFACE_GRO_UDP);
	for (unsigned pass = 0; pass < 2; pass++) { /* through the whole router, TCP and UDP */
		struct rte_mbuf *m[FWD_BURST];

		reset_router(false);
		snap->nat = NULL;
		worker_turn_begin(dp.workers[0]);
		for (unsigned i = 0; i < FWD_BURST; i++) {
			s[i].flow.proto = pass == 0 ? IPPROTO_TCP : IPPROTO_UDP;
			m[i] = segment_mbuf(&s[i]);
		}
		worker_frames(dp.workers[0], m, FWD_BURST, snap->ifaces[LAN].port);
		worker_turn(dp.workers[0]);
		assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed), received);
		assert_int_equal(router_events(FWD_E_gro_merged), 4);
		assert_int_equal(router_events(FWD_E_cut_segments), FWD_BURST);
		assert_int_equal(dp.counters[0]->iface[WAN].tx_packets, FWD_BURST);
		router_drain();
	}
	/* where the device vouches, nothing is read, unless that is asked for */
	for (unsigned i = 0; i < FWD_BURST; i++)
		s[i].ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	reset_router(false);
	assert_int_equal(packets_of(s, FWD_BURST), 4);
	assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed), 0);
	set_gro(IFACE_GRO | IFACE_GRO_UDP | IFACE_GRO_ALWAYS);
	assert_int_equal(packets_of(s, FWD_BURST), 4);
	assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed), received);
}

static void test_a_lone_segment_is_not_read_unless_all_are_counted(void **state)
{
	struct segment s[3] = {PLAIN, PLAIN, PLAIN};

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		s[i].flow.sport = (uint16_t)(7000 + i);
	s[1].flip = 3;
	s[2].payload = 0;
	assert_int_equal(packets_of(s, 3), 3);
	assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed), 0);
	assert_int_equal(router_events(FWD_E_gro_bad_checksum), 0);
	set_gro(IFACE_GRO | IFACE_GRO_COUNTED);
	assert_int_equal(packets_of(s, 3), 3);
	assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed), 200);
	assert_int_equal(router_events(FWD_E_gro_bad_checksum), 1);
	assert_int_equal(dp.counters[0]->iface[LAN].bad_checksums, 1);
}

static void test_a_lone_datagram_is_read_only_where_all_are_counted(void **state)
{
	struct segment s[4] = {DATAGRAM, DATAGRAM, DATAGRAM, DATAGRAM};

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		s[i].flow.sport = (uint16_t)(7000 + i);
	s[1].flip = s[2].flip = s[3].flip = 3;
	s[2].unsummed = true; /* says nothing, so nothing is wrong */
	s[3].udp_len = -4;    /* its checksum is not over all that is there */
	for (unsigned counted = 0; counted < 2; counted++) {
		set_gro(IFACE_GRO | IFACE_GRO_UDP | (counted ? IFACE_GRO_COUNTED : 0));
		assert_int_equal(packets_of(s, 4), 4);
		assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed), counted ? 200 : 0);
		assert_int_equal(router_events(FWD_E_gro_bad_checksum), counted);
		assert_int_equal(dp.counters[0]->iface[LAN].bad_checksums, counted);
	}
	reset_router(false);
	set_gro(IFACE_GRO | IFACE_GRO_COUNTED);
	assert_int_equal(packets_of(s, 4), 4);
	assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed), 0);
}

static void test_unfinished_checksums_are_completed_and_not_summed_again_C45(void **state)
{
	struct segment s[4] = {PLAIN};
	struct rte_mbuf *m[4];
	uint8_t f[FRAME_MAX];

	(void)state;
	for (unsigned pass = 0; pass < 2;
	     pass++) { /* found by looking, then by the device's word */
		reset_router(false);
		worker_turn_begin(dp.workers[0]);
		snap->ifaces[LAN].flags |= pass == 0 ? IFACE_COMPLETE_CSUM : 0;
		for (unsigned i = 0; i < 4; i++) {
			unsigned len;

			if (i > 0)
				s[i] = behind(&s[i - 1]);
			len = build(&s[i], f);
			put16(f + 14 + 20 + 16, plain_pseudo(f + 14, len - 34));
			m[i] = fixture_mbuf(f, len);
			m[i]->ol_flags |= pass == 0 ? 0 : RTE_MBUF_F_RX_L4_CKSUM_NONE;
		}
		worker_frames(dp.workers[0], m, 4, snap->ifaces[LAN].port);
		worker_turn(dp.workers[0]);
		snap->ifaces[LAN].flags &= (uint8_t)~IFACE_COMPLETE_CSUM;
		assert_int_equal(router_events(FWD_E_checksums_completed), 4);
		assert_int_equal(router_events(FWD_E_gro_merged), 1);
		assert_int_equal(router_events(FWD_E_cut_segments), 4);
		assert_int_equal(router_events(FWD_E_gro_payload_bytes_summed), 0);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(rte_eth_rx_burst(snap->ifaces[WAN].port, 0, m, 1), 1);
			assert_true(plain_good(rte_pktmbuf_mtod_offset(m[0], uint8_t *, 14)));
			rte_pktmbuf_free(m[0]);
		}
	}
}

/* Five segments like this one, of which the third is damaged and, if so, found out: all leave as
 * they came, the third damaged. */
static void check_damaged(const struct segment *first, bool found)
{
	struct segment s[5] = {*first};
	struct rte_mbuf *m[5];
	uint8_t want[FRAME_MAX], got[FRAME_MAX];
	unsigned good = 0;

	reset_router(false);
	for (unsigned i = 1; i < 5; i++)
		s[i] = behind(&s[i - 1]);
	s[2].flip = 77;
	for (unsigned i = 0; i < 5; i++)
		m[i] = segment_mbuf(&s[i]);
	worker_turn_begin(dp.workers[0]);
	worker_frames(dp.workers[0], m, 5, snap->ifaces[LAN].port);
	worker_turn(dp.workers[0]);
	assert_int_equal(router_events(FWD_E_gro_merged), found ? 2 : 1);
	assert_int_equal(router_events(FWD_E_gro_bad_checksum), found);
	assert_int_equal(dp.counters[0]->iface[LAN].bad_checksums, found);
	for (unsigned i = 0; i < 5; i++) {
		unsigned len = build(&s[i], want);

		assert_int_equal(rte_eth_rx_burst(snap->ifaces[WAN].port, 0, m, 1), 1);
		assert_int_equal(m[0]->pkt_len, len);
		memcpy(got, rte_pktmbuf_mtod(m[0], void *), len);
		rte_pktmbuf_free(m[0]);
		assert_memory_equal(got + 14 + 20, want + 14 + 20, len - 34);
		good += plain_good(got + 14);
		assert_int_equal(plain_good(got + 14), i != 2);
	}
	assert_int_equal(good, 4);
}

static void test_a_damaged_segment_parts_its_run_and_leaves_as_damaged_C40(void **state)
{
	(void)state;
	set_gro(IFACE_GRO | IFACE_GRO_UDP);
	check_damaged(&PLAIN, true);
	check_damaged(&DATAGRAM, true);
}

static void test_damage_that_a_device_vouches_for_stays_damage(void **state)
{
	struct segment tcp = PLAIN, udp = DATAGRAM;

	(void)state;
	tcp.ol_flags = udp.ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	set_gro(IFACE_GRO | IFACE_GRO_UDP);
	check_damaged(&tcp, false);
	check_damaged(&udp, false);
	set_gro(IFACE_GRO | IFACE_GRO_UDP | IFACE_GRO_ALWAYS);
	check_damaged(&tcp, true);
	check_damaged(&udp, true);
}

static void test_damage_is_never_left_to_a_device_to_make_good_where_all_is_validated(void **state)
{
	struct segment s[4] = {PLAIN};
	struct rte_mbuf *m[4];
	unsigned whole = 0, n = 0;

	(void)state;
	set_gro(IFACE_GRO | IFACE_GRO_ALWAYS);
	set_tso(UINT16_MAX, true);
	reset_router(false);
	s[0].ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	for (unsigned i = 1; i < 4; i++)
		s[i] = behind(&s[i - 1]);
	s[3].flip = 77;
	for (unsigned i = 0; i < 4; i++)
		m[i] = segment_mbuf(&s[i]);
	worker_turn_begin(dp.workers[0]);
	worker_frames(dp.workers[0], m, 4, snap->ifaces[LAN].port);
	worker_turn(dp.workers[0]);
	for (; rte_eth_rx_burst(snap->ifaces[WAN].port, 0, m, 1) == 1; n++) {
		if (m[0]->ol_flags & RTE_MBUF_F_TX_TCP_SEG)
			whole += m[0]->nb_segs;
		else
			assert_false(plain_good(rte_pktmbuf_mtod_offset(m[0], uint8_t *, 14)));
		rte_pktmbuf_free(m[0]);
	}
	set_tso(0, false);
	assert_int_equal(n, 2);
	assert_int_equal(whole, 3);
}

/* Feeds the n segments in one burst. */
static void feed(const struct segment *s, unsigned n)
{
	struct rte_mbuf *m[FWD_BURST];

	for (unsigned i = 0; i < n; i++)
		m[i] = segment_mbuf(&s[i]);
	worker_frames(dp.workers[0], m, n, snap->ifaces[s[0].iface].port);
	router_settle();
	router_drain();
}

/* The frames that n segments leave in by a device that cuts packets of so many buffers, all from
 * the same port. */
static unsigned frames_of(const struct segment *s, unsigned n, uint16_t limit, unsigned *most,
			  uint16_t *sport)
{
	struct rte_mbuf *m[FWD_BURST];
	unsigned frames = 0;

	set_tso(limit, true);
	for (unsigned i = 0; i < n; i++)
		m[i] = segment_mbuf(&s[i]);
	worker_turn_begin(dp.workers[0]);
	worker_frames(dp.workers[0], m, n, snap->ifaces[LAN].port);
	router_settle();
	set_tso(0, false);
	*most = 0;
	for (; rte_eth_rx_burst(snap->ifaces[WAN].port, 0, m, 1) == 1; frames++) {
		const uint8_t *tcp = rte_pktmbuf_mtod_offset(m[0], uint8_t *, 14 + 20);
		uint16_t from = (uint16_t)(tcp[0] << 8 | tcp[1]);

		assert_true(frames == 0 || from == *sport);
		*sport = from;
		*most = RTE_MAX(*most, m[0]->nb_segs);
		rte_pktmbuf_free(m[0]);
	}
	return frames;
}

static void test_no_more_buffers_leave_in_a_packet_than_the_device_takes(void **state)
{
	struct segment s[9] = {PLAIN}, syn = PLAIN;
	uint16_t sport;
	unsigned most;

	(void)state;
	for (unsigned i = 1; i < 9; i++)
		s[i] = behind(&s[i - 1]);
	assert_int_equal(frames_of(s, 9, 9, &most, &sport), 1);
	assert_int_equal(most, 9);
	assert_int_equal(frames_of(s, 9, 8, &most, &sport), 2);
	assert_int_equal(most, 5);
	assert_int_equal(frames_of(s, 9, 4, &most, &sport), 3);
	assert_int_equal(most, 3);
	assert_int_equal(router_events(FWD_E_cut_segments), 0);
	assert_int_equal(router_events(FWD_E_tso_packets), 6);
	assert_int_equal(dp.counters[0]->iface[WAN].tx_packets, 3 * 9);
	assert_int_equal(frames_of(s, 9, 3, &most, &sport),
			 9); /* of one, parts might be of one segment */
	assert_int_equal(frames_of(s, 3, 3, &most, &sport), 1);

	/* translated to another port, since the one it has is taken */
	reset_router(true);
	syn.flags = 0x02;
	syn.payload = 0;
	syn.flow.src = IP(10, 0, 0, 3);
	feed(&syn, 1);
	syn.flow.src = s[0].flow.src;
	feed(&syn, 1);
	assert_int_equal(frames_of(s, 9, 4, &most, &sport), 3);
	assert_int_equal(router_events(FWD_E_tso_packets), 3);
	assert_int_not_equal(sport, s[0].flow.sport);
}

/* What translation makes of a connection that sends {old data again, new data and FIN}. */
static enum nat_tcp_state ends_behind_old_data(uint8_t gro)
{
	struct segment s[2] = {PLAIN}, answer = PLAIN, data[2];
	struct nat_session_info info;

	set_gro(gro);
	reset_router(true);
	s[0].payload = 0;
	s[0].flags = 0x02;
	answer.flow = (struct flow){s[0].flow.dst, IP(203, 0, 113, 10), 80, 5000, IPPROTO_TCP};
	answer.iface = WAN;
	answer.payload = 0;
	answer.flags = 0x12;
	answer.seq = s[0].ack - 1;
	answer.ack = s[0].seq + 1;
	feed(s, 1);
	feed(&answer, 1);
	data[0] = PLAIN;
	data[0].seq = s[0].seq + 1;
	data[1] = behind(&data[0]);
	data[1].flags |= 0x01;
	feed(data, 1);
	answer.flags = 0x10;
	answer.seq++;
	answer.ack = data[1].seq; /* the first is acknowledged: from before here no FIN comes */
	feed(&answer, 1);
	feed(data, 2);
	assert_int_equal(router_events(FWD_E_gro_merged), gro != 0);
	assert_int_equal(sessions(&info, 1), 1);
	return info.tcp_state;
}

static void test_a_fin_counts_by_its_own_sequence_number(void **state)
{
	(void)state;
	assert_int_equal(ends_behind_old_data(0), NAT_TCP_CLOSING);
	assert_int_equal(ends_behind_old_data(IFACE_GRO), NAT_TCP_CLOSING);
}

/* Three datagrams of a translated flow in one burst; the checksums that they leave with. */
static void translated_checks(const struct segment *s, uint16_t *checks)
{
	struct rte_mbuf *m[3];

	for (unsigned i = 0; i < 3; i++)
		m[i] = segment_mbuf(&s[i]);
	worker_frames(dp.workers[0], m, 3, snap->ifaces[LAN].port);
	router_settle();
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *ip;

		assert_int_equal(rte_eth_rx_burst(snap->ifaces[WAN].port, 0, m, 1), 1);
		ip = rte_pktmbuf_mtod_offset(m[0], const uint8_t *, 14);
		assert_memory_equal(ip + 12, "\xcb\x00\x71\x0a", 4); /* 203.0.113.10 */
		assert_true(plain_good(ip));
		checks[i] = (uint16_t)(ip[26] << 8 | ip[27]);
		rte_pktmbuf_free(m[0]);
	}
}

static void test_a_checksum_of_0_after_translation_leaves_as_ffff_K2(void **state)
{
	static const uint8_t modes[] = {0, IFACE_GRO | IFACE_GRO_UDP};
	struct segment s[3] = {DATAGRAM};
	uint16_t checks[3];

	(void)state;
	s[1] = behind(&s[0]);
	s[2] = behind(&s[1]);
	for (unsigned k = 0; k < RTE_DIM(modes); k++) {
		set_gro(modes[k]);
		reset_router(true);
		for (unsigned i = 0; i < 3; i++)
			s[i].payload_word = 0;
		feed(s, 1); /* makes the session */
		translated_checks(s, checks);
		for (unsigned i = 0; i < 3; i++)
			s[i].payload_word = checks[i];
		translated_checks(s, checks);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(checks[i], 0xffff);
		assert_int_equal(router_events(FWD_E_gro_merged), 2 * k);
		assert_int_equal(router_events(FWD_E_cut_segments), 6 * k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, fresh, router_no_leak)
		T(test_a_pair_merges_or_not_by_one_difference_C41),
		T(test_whatever_is_between_two_segments_of_a_flow_parts_them),
		T(test_datagrams_merge_or_not_by_one_difference),
		T(test_whatever_is_between_two_datagrams_of_a_flow_parts_them),
		T(test_merged_header_is_right_over_all_bytes),
		T(test_no_merged_packet_is_longer_than_65535_C43),
		T(test_each_payload_byte_is_summed_once),
		T(test_a_lone_segment_is_not_read_unless_all_are_counted),
		T(test_a_lone_datagram_is_read_only_where_all_are_counted),
		T(test_unfinished_checksums_are_completed_and_not_summed_again_C45),
		T(test_a_damaged_segment_parts_its_run_and_leaves_as_damaged_C40),
		T(test_damage_that_a_device_vouches_for_stays_damage),
		T(test_damage_is_never_left_to_a_device_to_make_good_where_all_is_validated),
		T(test_no_more_buffers_leave_in_a_packet_than_the_device_takes),
		T(test_a_fin_counts_by_its_own_sequence_number),
		T(test_a_checksum_of_0_after_translation_leaves_as_ffff_K2),
#undef T
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
