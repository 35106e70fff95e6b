/* SPDX-License-Identifier: BSD-3-Clause */
/* The parser against frames made by hand, cut anywhere, and at random. */
#include "fwd_fixture.h"

#include "parse.h"

static struct fwd_snapshot *snap;
static const uint8_t MAC[6] = {2, 0, 0, 0, 0, 1};
static const struct flow UDP = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 5000, 53, IPPROTO_UDP};
static const struct flow TCP = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 5000, 80, IPPROTO_TCP};
static const struct flow PING = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 77, 0, IPPROTO_ICMP};

static int setup(void **state)
{
	static uint16_t vlans[4096];
	struct dp_iface *i;

	(void)state;
	fixture_eal("0");
	fixture_pool(4096);
	snap = calloc(1, sizeof(*snap));
	for (unsigned p = 0; p < FWD_MAX_PORTS; p++)
		snap->ports[p].native_iface = FWD_IFACE_NONE;
	memset(vlans, 0xff, sizeof(vlans));
	vlans[10] = 1;
	snap->ports[0].native_iface = 0;
	snap->ports[0].vlan_iface = vlans;
	for (unsigned n = 0; n < 2; n++) {
		i = &snap->ifaces[n];
		i->flags = IFACE_PRESENT;
		i->mtu = 1500;
		i->vlan = n == 1 ? 10 : 0;
		memcpy(&i->mac, MAC, 6);
		i->n_addrs = 1;
		i->addrs[0].addr_be = n == 0 ? IP(10, 0, 0, 1) : IP(10, 1, 0, 1);
		i->addrs[0].mask_be = IP(255, 255, 255, 0);
		i->addrs[0].len = 24;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
	free(snap);
	return 0;
}

/* Parses and frees; the packet's pointers are void afterwards. */
static enum parse_result parse(const uint8_t *f, unsigned len, struct pkt *p)
{
	struct rte_mbuf *m = fixture_mbuf(f, len);
	uint64_t completed = 0;
	enum parse_result r;

	memset(p, 0, sizeof(*p));
	r = parse_frame(snap, m, 0, p, &completed);
	rte_pktmbuf_free(p->m);
	return r;
}

static void expect_drop(const uint8_t *f, unsigned len, enum fwd_drop why)
{
	struct pkt p;
	enum parse_result r = parse(f, len, &p);

	if (r != PARSE_DROP || p.drop != why)
		fail_msg("expected a drop by %u, got result %d reason %u", why, r, p.drop);
}

static void test_good_datagram_is_parsed_whole(void **state)
{
	const struct flow flows[] = {UDP, TCP, PING};
	uint8_t f[256];

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(flows); i++) {
		for (unsigned opt = 0; opt <= 10; opt++) {
			unsigned len = fixture_frame(f, MAC, &flows[i], 11, opt, 64);
			struct rte_mbuf *m;
			uint64_t completed = 0;
			struct pkt p;

			memset(f + len, 0xee, 20); /* padding that must go */
			m = fixture_mbuf(f, len + 20);
			assert_int_equal(parse_frame(snap, m, 0, &p, &completed), PARSE_IP4);
			assert_int_equal(p.ihl, 20 + 4 * opt);
			assert_int_equal(p.len, len - 14);
			assert_int_equal(p.m->pkt_len, len - 14);
			assert_int_equal(p.m->data_len, len - 14);
			assert_int_equal(p.nat.l4_len, len - 14 - p.ihl);
			assert_int_equal(p.nat.l4_avail, p.nat.l4_len);
			assert_int_equal(p.l4_drop, 0);
			assert_int_equal(p.nat.key.src_be, flows[i].src);
			assert_int_equal(p.nat.key.dst_be, flows[i].dst);
			assert_int_equal(p.nat.key.sport_be, rte_cpu_to_be_16(flows[i].sport));
			assert_int_equal(p.nat.key.dport_be, rte_cpu_to_be_16(flows[i].dport));
			assert_int_equal(p.nat.key.kind, flows[i].proto == IPPROTO_ICMP
								 ? NAT_KIND_ICMP_REQUEST
								 : NAT_KIND_FLOW);
			assert_int_equal(completed, 0);
			rte_pktmbuf_free(p.m);
		}
	}
}

/* RFC 1812 5.2.2 and 5.3.7: each check alone, by its own counter. */
static void test_each_check_has_its_reason_C10(void **state)
{
	uint8_t f[256];
	unsigned len;

	(void)state;
	len = fixture_frame(f, MAC, &UDP, 20, 0, 64);
	expect_drop(f, 0, FWD_D_eth_runt);
	expect_drop(f, 13, FWD_D_eth_runt);
	expect_drop(f, 14, FWD_D_ip4_truncated);
	expect_drop(f, 33, FWD_D_ip4_truncated);
	expect_drop(f, len - 1, FWD_D_ip4_bad_total_length);
	f[0] ^= 4;
	expect_drop(f, len, FWD_D_eth_not_for_us);
	f[0] |= 1;
	expect_drop(f, len, FWD_D_eth_broadcast);
	len = fixture_frame(f, MAC, &UDP, 20, 0, 64);
	put16(f + 12, 0x86dd);
	expect_drop(f, len, FWD_D_eth_unknown_type);
	len = fixture_frame(f, MAC, &UDP, 20, 0, 64);
	f[14] = 0x55;
	expect_drop(f, len, FWD_D_ip4_bad_version);
	f[14] = 0x44;
	expect_drop(f, len, FWD_D_ip4_bad_header_length);
	len = fixture_frame(f, MAC, &UDP, 0, 0, 64);
	f[14] = 0x4f; /* 60 bytes of header in a datagram of 28 */
	expect_drop(f, len, FWD_D_ip4_bad_header_length);
	len = fixture_frame(f, MAC, &UDP, 0, 0, 64);
	put16(f + 16, 19);
	expect_drop(f, len, FWD_D_ip4_bad_total_length);
	len = fixture_frame(f, MAC, &UDP, 0, 0, 64);
	f[24] ^= 1;
	expect_drop(f, len, FWD_D_ip4_bad_checksum);

	const rte_be32_t bad_src[] = {IP(0, 1, 2, 3),	      IP(127, 0, 0, 1), IP(224, 0, 0, 1),
				      IP(255, 255, 255, 255), IP(240, 0, 0, 1), IP(10, 0, 0, 255)};
	for (unsigned i = 0; i < RTE_DIM(bad_src); i++) {
		struct flow fl = UDP;

		fl.src = bad_src[i];
		len = fixture_frame(f, MAC, &fl, 0, 0, 64);
		expect_drop(f, len, FWD_D_ip4_bad_source);
	}
	const struct {
		rte_be32_t dst;
		enum fwd_drop why;
	} bad_dst[] = {
		{IP(0, 0, 0, 0), FWD_D_ip4_bad_destination},
		{IP(127, 0, 0, 1), FWD_D_ip4_bad_destination},
		{IP(240, 0, 0, 1), FWD_D_ip4_bad_destination},
		{IP(224, 0, 0, 5), FWD_D_ip4_multicast},
		{IP(255, 255, 255, 255), FWD_D_ip4_broadcast},
	};
	for (unsigned i = 0; i < RTE_DIM(bad_dst); i++) {
		struct flow fl = UDP;

		fl.dst = bad_dst[i].dst;
		len = fixture_frame(f, MAC, &fl, 0, 0, 64);
		expect_drop(f, len, bad_dst[i].why);
	}
	struct flow own = UDP;

	own.src = IP(10, 0, 0, 1);
	len = fixture_frame(f, MAC, &own, 0, 0, 64);
	expect_drop(f, len, FWD_D_ip4_own_source);
}

static void expect_l4(const uint8_t *f, unsigned len, unsigned why)
{
	struct pkt p;

	assert_int_equal(parse(f, len, &p), PARSE_IP4);
	assert_int_equal(p.l4_drop, why);
}

static void test_transport_header_that_contradicts_itself_is_marked_C10(void **state)
{
	uint8_t f[256];
	unsigned len;

	(void)state;
	for (unsigned ulen = 0; ulen < 8; ulen++) {
		len = fixture_frame(f, MAC, &UDP, 4, 0, 64);
		put16(f + 38, ulen);
		expect_l4(f, len, FWD_D_udp_bad_length);
	}
	len = fixture_frame(f, MAC, &UDP, 4, 0, 64);
	put16(f + 38, 13);
	expect_l4(f, len, FWD_D_udp_bad_length);
	for (unsigned doff = 0; doff < 16; doff++) {
		len = fixture_frame(f, MAC, &TCP, 4, 0, 64);
		f[46] = (uint8_t)(doff << 4);
		expect_l4(f, len, doff == 5 || doff == 6 ? 0 : FWD_D_tcp_bad_offset);
	}
	const struct {
		const struct flow *fl;
		unsigned need;
	} cut[] = {{&TCP, 20}, {&UDP, 8}, {&PING, 8}};
	for (unsigned i = 0; i < RTE_DIM(cut); i++) {
		for (unsigned l4 = 0; l4 <= cut[i].need; l4++) {
			fixture_frame(f, MAC, cut[i].fl, 0, 0, 64);
			put16(f + 16, 20 + l4);
			put16(f + 24, 0);
			put16(f + 24, ~plain_sum(f + 14, 20, 0) & 0xffff);
			expect_l4(f, 34 + l4, l4 == cut[i].need ? 0 : FWD_D_l4_truncated);
		}
	}
}

static void test_vlan_frames_go_to_their_interface_C13(void **state)
{
	uint8_t f[256], t[256];
	unsigned len = fixture_frame(f, MAC, &UDP, 9, 0, 64);
	struct rte_mbuf *m;
	uint64_t completed = 0;
	struct pkt p;

	(void)state;
	memcpy(t, f, 12);
	memcpy(t + 12, "\x81\x00\xa0\x0a", 4); /* priority 5, id 10 */
	memcpy(t + 16, f + 12, len - 12);
	m = fixture_mbuf(t, len + 4);
	assert_int_equal(parse_frame(snap, m, 0, &p, &completed), PARSE_IP4);
	assert_int_equal(p.nat.iface, 1);
	assert_int_equal(p.m->pkt_len, len - 14);
	assert_memory_equal(rte_pktmbuf_mtod(p.m, void *), f + 14, len - 14);
	rte_pktmbuf_free(p.m);

	put16(t + 14, 11); /* of no interface */
	expect_drop(t, len + 4, FWD_D_vlan_unknown);
	put16(t + 14, 0); /* a priority tag */
	assert_int_equal(parse(t, len + 4, &p), PARSE_IP4);
	assert_int_equal(p.nat.iface, 0);

	m = fixture_mbuf(f, len); /* a tag that the device took off */
	m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->vlan_tci = 10;
	assert_int_equal(parse_frame(snap, m, 0, &p, &completed), PARSE_IP4);
	assert_int_equal(p.nat.iface, 1);
	rte_pktmbuf_free(p.m);
}

static void test_network_header_is_found_behind_any_tags_C13(void **state)
{
	static const struct {
		const char *tags;
		unsigned n, off;
	} cases[] = {
		{"", 0, 14},
		{"\x81\0\0\x0a", 4, 18},
		{"\x88\xa8\0\x0a\x81\0\0\x14", 8, 22},
		{"\x81\0\0\x0a\x81\0\0\x14", 8, 22},
		{"\x88\xa8\0\x0a\x88\xa8\0\x0b\x81\0\0\x14", 12, 26},
	};
	uint8_t f[64];
	struct eth_l3 l3;

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		uint8_t *exact;

		memset(f, 0, sizeof(f));
		memcpy(f + 12, cases[i].tags, cases[i].n);
		put16(f + 12 + cases[i].n, 0x0800);
		for (unsigned len = 0; len <= cases[i].off; len++) {
			exact = malloc(len + 1); /* a sanitizer sees a read past len + 1 */
			memcpy(exact, f, len);
			assert_int_equal(parse_ethernet(exact, len, &l3), len == cases[i].off);
			free(exact);
		}
		assert_int_equal(l3.offset, cases[i].off);
		assert_int_equal(l3.type, 0x0800);
		assert_int_equal(l3.n_tags, cases[i].n / 4);
	}
}

static void test_any_segmentation_parses_like_the_flat_frame_K6(void **state)
{
	const struct flow flows[] = {UDP, TCP, PING};
	uint8_t f[600], got[600];
	unsigned seed = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		const struct flow *fl = &flows[rand_r(&seed) % 3];
		unsigned len = fixture_frame(f, MAC, fl, (unsigned)rand_r(&seed) % 400,
					     (unsigned)rand_r(&seed) % 11, 64);
		unsigned pad = (unsigned)rand_r(&seed) % 30, n = (unsigned)rand_r(&seed) % 5,
			 cuts[5];
		struct rte_mbuf *m;
		uint64_t completed = 0;
		struct pkt p;

		memset(f + len, 0xee, pad);
		for (unsigned i = 0, at = 0; i < n; i++) { /* empty segments too */
			at += (unsigned)rand_r(&seed) % (len + pad - at + 1) /
			      (rand_r(&seed) % 2 ? 1 : 8);
			cuts[i] = at;
		}
		m = fixture_chain(f, len + pad, cuts, n);
		assert_int_equal(parse_frame(snap, m, 0, &p, &completed), PARSE_IP4);
		assert_int_equal(p.m->pkt_len, len - 14);
		assert_int_equal(p.l4_drop, 0);
		assert_int_equal(p.nat.key.sport_be, rte_cpu_to_be_16(fl->sport));
		assert_true(p.nat.l4_avail >= RTE_MIN(p.nat.l4_len, 20));
		assert_memory_equal(rte_pktmbuf_read(p.m, 0, len - 14, got), f + 14, len - 14);
		rte_mbuf_sanity_check(p.m, 1);
		rte_pktmbuf_free(p.m);
	}
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
}

static void test_unfinished_checksum_is_completed_and_no_other_K8_C45(void **state)
{
	const struct flow flows[] = {UDP, TCP};
	uint8_t f[600];
	unsigned seed = 7;

	(void)state;
	snap->ifaces[0].flags |= IFACE_COMPLETE_CSUM;
	for (unsigned round = 0; round < 4000; round++) {
		const struct flow *fl = &flows[rand_r(&seed) % 2];
		unsigned payload = (unsigned)rand_r(&seed) % 400;
		unsigned len = fixture_frame(f, MAC, fl, payload, 0, 64);
		unsigned at = 34 + plain_l4_at(fl->proto),
			 cut = 14 + (unsigned)rand_r(&seed) % (len - 14);
		unsigned what = (unsigned)rand_r(&seed) % 3;
		uint8_t want[600], got[600];
		struct rte_mbuf *m;
		uint64_t completed = 0;
		struct pkt p;

		memcpy(want, f, len);
		if (what == 0) { /* left to hardware: the pseudo-header's sum */
			put16(f + at, plain_pseudo(f + 14, len - 34));
		} else if (what == 1) { /* damaged: stays as damaged as it is */
			f[len - 1] ^= 0x10;
			memcpy(want, f, len);
		}
		m = fixture_chain(f, len, &cut, 1);
		assert_int_equal(parse_frame(snap, m, 0, &p, &completed), PARSE_IP4);
		assert_int_equal(completed, what == 0);
		assert_memory_equal(rte_pktmbuf_read(p.m, 0, len - 14, got), want + 14, len - 14);
		rte_pktmbuf_free(p.m);
	}
	snap->ifaces[0].flags &= (uint8_t)~IFACE_COMPLETE_CSUM;
}

static void test_device_says_checksum_is_bad_or_unfinished_K8(void **state)
{
	uint8_t f[256], got[256];
	unsigned len = fixture_frame(f, MAC, &UDP, 33, 0, 64);
	struct rte_mbuf *m = fixture_mbuf(f, len);
	uint64_t completed = 0;
	struct pkt p;

	(void)state;
	m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_BAD;
	assert_int_equal(parse_frame(snap, m, 0, &p, &completed), PARSE_DROP);
	assert_int_equal(p.drop, FWD_D_ip4_bad_checksum);
	rte_pktmbuf_free(p.m);

	uint8_t unfinished[256];

	memcpy(unfinished, f, len);
	put16(unfinished + 40, plain_pseudo(f + 14, len - 34));
	m = fixture_mbuf(unfinished, len);
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	assert_int_equal(parse_frame(snap, m, 0, &p, &completed), PARSE_IP4);
	assert_int_equal(completed, 1);
	assert_memory_equal(rte_pktmbuf_read(p.m, 0, len - 14, got), f + 14, len - 14);
	rte_pktmbuf_free(p.m);
}

static void test_random_frames_never_break_the_parser(void **state)
{
	uint8_t f[300];
	unsigned seed = 99;

	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		unsigned len = fixture_frame(f, MAC, rand_r(&seed) % 2 ? &UDP : &TCP, 40, 0, 64),
			 cut;
		struct rte_mbuf *m;
		uint64_t completed = 0;
		struct pkt p;

		for (unsigned i = (unsigned)rand_r(&seed) % 6; i > 0; i--)
			f[(unsigned)rand_r(&seed) % 60] = (uint8_t)rand_r(&seed);
		if (rand_r(&seed) % 2) { /* let more of them past the checksum */
			put16(f + 24, 0);
			put16(f + 24, ~plain_sum(f + 14, (f[14] & 0xfu) * 4, 0) & 0xffff);
		}
		len = rand_r(&seed) % 4 ? len : (unsigned)rand_r(&seed) % (len + 1);
		cut = (unsigned)rand_r(&seed) % (len + 1);
		m = fixture_chain(f, len, &cut, rand_r(&seed) % 2);
		switch (parse_frame(snap, m, 0, &p, &completed)) {
		case PARSE_IP4:
			assert_true(p.len >= p.ihl && p.ihl >= 20 && p.m->pkt_len == p.len);
			assert_true(p.nat.l4_avail <= p.nat.l4_len &&
				    p.ihl + p.nat.l4_avail <= p.m->data_len);
			break;
		case PARSE_DROP:
			assert_true(p.drop < FWD_D_NAT);
			break;
		default:
			break;
		}
		rte_pktmbuf_free(p.m);
	}
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_datagram_is_parsed_whole),
		cmocka_unit_test(test_each_check_has_its_reason_C10),
		cmocka_unit_test(test_transport_header_that_contradicts_itself_is_marked_C10),
		cmocka_unit_test(test_vlan_frames_go_to_their_interface_C13),
		cmocka_unit_test(test_network_header_is_found_behind_any_tags_C13),
		cmocka_unit_test(test_any_segmentation_parses_like_the_flat_frame_K6),
		cmocka_unit_test(test_unfinished_checksum_is_completed_and_no_other_K8_C45),
		cmocka_unit_test(test_device_says_checksum_is_bad_or_unfinished_K8),
		cmocka_unit_test(test_random_frames_never_break_the_parser),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
