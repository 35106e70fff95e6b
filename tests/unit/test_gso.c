/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large packets of guests: cut to what their sender would have sent without TSO, whatever buffers
 * they came in; by the plain way, not by the router's code, is made what is due.
 */
#include "fwd_router.h"

enum { LARGE_MAX = 65535 + 14 };

static struct nat_config *nat_conf;
static uint8_t due[LARGE_MAX], got[LARGE_MAX], frame[LARGE_MAX];

static int setup(void **state)
{
	(void)state;
	router_setup();
	nat_conf = router_nat(&ROUTER_SNAT, 1, true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nat_config_free(nat_conf);
	router_teardown();
	return 0;
}

static int fresh(void **state)
{
	(void)state;
	router_fresh(NULL);
	snap->ifaces[WAN].mtu = 1500;
	snap->ports[snap->ifaces[WAN].port].multi_seg_tx = true;
	snap->ports[snap->ifaces[WAN].port].tso_segs = 0;
	snap->ifaces[LAN].flags = IFACE_PRESENT;
	snap->ports[snap->ifaces[LAN].port].gro = false;
	return 0;
}

struct large {
	rte_be32_t dst;
	unsigned payload;
	uint16_t segment, id;
	uint32_t seq;
	uint8_t ip_words, tcp_words; /* of options */
	uint8_t flags, ttl;
	bool df;
	unsigned n_cuts, cuts[40]; /* into buffers */
};

static const struct large PLAIN = {
	.dst = IP(198, 51, 100, 7),
	.payload = 10000,
	.segment = 1460,
	.id = 0xfffe,
	.seq = 0xffffff00,
	.flags = 0x18,
	.ttl = 64,
	.df = true,
};

/* The frame as a guest hands it over: right but for the TCP checksum, which is that of the
 * pseudo-header. Its length. */
static unsigned build(const struct large *g, uint8_t *f)
{
	unsigned ihl = 20 + g->ip_words * 4u, thl = 20 + g->tcp_words * 4u;
	unsigned total = ihl + thl + g->payload;
	uint8_t *ip = f + 14, *t = ip + ihl;
	const rte_be32_t src = IP(10, 0, 0, 2);

	assert_true(total <= UINT16_MAX);
	memcpy(f, LAN_MAC, 6);
	memcpy(f + 6, "\x02\0\0\0\0\xaa", 6);
	put16(f + 12, 0x0800);
	memset(ip, 0, ihl + thl);
	ip[0] = (uint8_t)(0x40 | ihl / 4);
	put16(ip + 2, total);
	put16(ip + 4, g->id);
	put16(ip + 6, g->df ? 0x4000 : 0);
	ip[8] = g->ttl;
	ip[9] = IPPROTO_TCP;
	memcpy(ip + 12, &src, 4);
	memcpy(ip + 16, &g->dst, 4);
	memset(ip + 20, 1, ihl - 20);
	put16(ip + 10, ~plain_sum(ip, ihl, 0) & 0xffff);
	put16(t, 5000);
	put16(t + 2, 80);
	put16(t + 4, g->seq >> 16);
	put16(t + 6, g->seq & 0xffff);
	put16(t + 10, 77); /* acknowledgement */
	t[12] = (uint8_t)(thl / 4 << 4);
	t[13] = g->flags;
	put16(t + 14, 500);
	memset(t + 20, 1, thl - 20);
	put16(t + 16, plain_pseudo(ip, total - ihl));
	for (unsigned i = 0; i < g->payload; i++)
		t[thl + i] = (uint8_t)(i * 37 + i / 256);
	return 14 + total;
}

/* Segment `number` of the frame that build() made, as it has to leave: its length, 0: there is
 * none. */
static unsigned segment(const struct large *g, unsigned number, bool translated, uint8_t *f)
{
	unsigned hlen = 14 + 40 + 4u * (g->ip_words + g->tcp_words), at = number * g->segment, len;
	uint8_t *ip = f + 14, *t = ip + 20 + 4 * g->ip_words;
	uint32_t seq = g->seq + at;
	const rte_be32_t pooled = IP(203, 0, 113, 10);

	if (at >= g->payload)
		return 0;
	len = RTE_MIN(g->payload - at, (unsigned)g->segment);
	memcpy(f, frame, hlen);
	memcpy(f + hlen, frame + hlen + at, len);
	memcpy(f, "\x02\0\0\0\0\xbb", 6);
	memcpy(f + 6, WAN_MAC, 6);
	put16(ip + 2, hlen - 14 + len);
	put16(ip + 4, (g->id + number) & 0xffff);
	ip[8]--;
	if (translated)
		memcpy(ip + 12, &pooled, 4);
	put16(t + 4, seq >> 16);
	put16(t + 6, seq & 0xffff);
	if (at + len < g->payload)
		t[13] &= (uint8_t)~0x09;
	if (number > 0)
		t[13] &= (uint8_t)~0x80;
	plain_fill(ip);
	return hlen + len;
}

/* An mbuf of it, cut to buffers no larger than the pool's. */
static struct rte_mbuf *large_mbuf(const struct large *g, unsigned len)
{
	unsigned cuts[80], n = 0, from = 0, next = 0;
	struct rte_mbuf *m;

	for (;;) {
		unsigned to = next < g->n_cuts ? g->cuts[next] : len;

		if (to > from + 2048) {
			to = from + 2048;
		} else if (next++ == g->n_cuts) {
			break;
		}
		assert_true(n < RTE_DIM(cuts));
		cuts[n++] = from = to;
	}
	m = fixture_chain(frame, len, cuts, n);
	m->ol_flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_NONE;
	m->tso_segsz = g->segment;
	return m;
}

static void feed(unsigned worker, const struct large *g)
{
	struct rte_mbuf *m = large_mbuf(g, build(g, frame));

	router_feed(worker, snap->ifaces[LAN].port, &m, 1);
}

/* Exactly what is due leaves. Returns how many segments. */
static unsigned expect_segments(const struct large *g, bool translated)
{
	unsigned n, len;

	for (n = 0; (len = segment(g, n, translated, due)) > 0; n++) {
		assert_int_equal(router_left(snap->ifaces[WAN].port, got), len);
		assert_memory_equal(got, due, len);
	}
	assert_int_equal(router_left(snap->ifaces[WAN].port, got), 0);
	assert_int_equal(router_left(snap->ifaces[LAN].port, got), 0);
	return n;
}

static void test_cut_to_what_the_sender_would_have_sent(void **state)
{
	unsigned n;

	(void)state;
	feed(0, &PLAIN);
	n = expect_segments(&PLAIN, false);
	assert_int_equal(n, 7);
	assert_int_equal(router_events(FWD_E_gso_segments), 7);
	assert_int_equal(dp.counters[0]->iface[LAN].rx_packets, 1);
	assert_int_equal(dp.counters[0]->iface[WAN].tx_packets, 7);
}

static void test_random_packets_in_random_buffers(void **state)
{
	unsigned segments = 0;

	(void)state;
	srand(5);
	for (unsigned i = 0; i < 3000; i++) {
		bool nat = rand() % 2, chains = rand() % 2;
		struct large g = PLAIN;
		unsigned worker = (unsigned)rand() % 2, len, at = 0;

		g.ip_words = rand() % 3 == 0 ? (uint8_t)(rand() % 11) : 0;
		g.tcp_words = rand() % 2 ? 3 : (uint8_t)(rand() % 11);
		g.segment = rand() % 4 == 0 ? (uint16_t)(32 + rand() % 200)
					    : (uint16_t)(536 + rand() % 840);
		g.payload = 1 + (unsigned)rand() % RTE_MIN(g.segment * 60u, 65000u);
		g.id = (uint16_t)rand();
		g.seq = (uint32_t)rand() * 3u;
		g.flags = (uint8_t)(0x10 | (rand() & 0xc8));
		g.df = rand() % 2;
		len = 14 + 40 + 4u * (g.ip_words + g.tcp_words) + g.payload;
		while (g.n_cuts < RTE_DIM(g.cuts) && rand() % 8 > 0) {
			at += 1 + (unsigned)rand() % (rand() % 3 ? 3000 : 60);
			if (at >= len)
				break;
			g.cuts[g.n_cuts++] = at;
		}
		snap->ports[snap->ifaces[WAN].port].multi_seg_tx = chains;
		snap->nat = nat ? nat_conf : NULL;
		feed(worker, &g);
		segments += expect_segments(&g, nat);
		assert_int_equal(router_drops(FWD_D_not_linear), 0);
	}
	assert_true(segments > 30000);
	assert_true(router_events(FWD_E_handovers) > 100);
}

/* One buffer, less than the MTU: still not one frame. */
static void test_small_large_packet_is_cut_too(void **state)
{
	struct large g = PLAIN;

	(void)state;
	g.payload = 1000;
	g.segment = 400;
	feed(0, &g);
	assert_int_equal(expect_segments(&g, false), 3);
	g.payload = 400; /* no more than one: an ordinary packet with an unfinished checksum */
	feed(0, &g);
	assert_int_equal(expect_segments(&g, false), 1);
	assert_int_equal(router_events(FWD_E_checksums_completed), 1);
	assert_int_equal(router_events(FWD_E_gso_segments), 3);
}

static void test_segments_above_the_mtu_I5(void **state)
{
	struct large g = PLAIN;
	uint16_t lan = snap->ifaces[LAN].port, wan = snap->ifaces[WAN].port;
	unsigned n = 0, len;

	(void)state;
	snap->ifaces[WAN].mtu = 1000;
	feed(0, &g);
	assert_true(router_left(lan, got) > 0);
	assert_int_equal(got[34] << 8 | got[35], 0x0304);
	assert_int_equal(got[40] << 8 | got[41], 1000);
	assert_int_equal(router_left(lan, got), 0);
	assert_int_equal(router_left(wan, got), 0);
	assert_int_equal(router_drops(FWD_D_mtu_exceeded), 1);

	g.segment = 960; /* the packet is above it, its segments are not */
	feed(0, &g);
	assert_int_equal(expect_segments(&g, false), 11);

	g.segment = 1460;
	g.df = false;
	feed(0, &g);
	while ((len = router_left(wan, got)) > 0) {
		assert_true(len <= 14 + 1000);
		n++;
	}
	assert_int_equal(n, 6 * 2 + 2);
	assert_int_equal(router_events(FWD_E_fragments_out), n);
}

static void test_too_small_segments_are_refused(void **state)
{
	struct large g = PLAIN;

	(void)state;
	for (g.segment = 0; g.segment < 32; g.segment++)
		feed(0, &g);
	assert_int_equal(router_left(snap->ifaces[WAN].port, got), 0);
	assert_int_equal(router_drops(FWD_D_tcp_bad_segment_size), 32);
}

/* UDP that is to be fragmented by the device, and whatever else has no segments: as if it had come
 * by wire, with its checksum completed. */
static void test_what_is_no_tcp_is_an_ordinary_packet(void **state)
{
	static const struct flow fl = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 5000, 53, IPPROTO_UDP};
	unsigned len = fixture_frame(frame, LAN_MAC, &fl, 3000, 0, 64), n = 0;
	const struct large g = {.segment = 1480};
	struct rte_mbuf *m;

	(void)state;
	put16(frame + 34 + 6, plain_pseudo(frame + 14, 3008));
	m = large_mbuf(&g, len);
	router_feed(0, snap->ifaces[LAN].port, &m, 1);
	while (router_left(snap->ifaces[WAN].port, got) > 0)
		n++;
	assert_int_equal(n, 3);
	assert_int_equal(router_events(FWD_E_checksums_completed), 1);
}

static void test_held_for_a_neighbour_in_segments(void **state)
{
	struct large g = PLAIN;
	void *m;
	unsigned n = 0;

	(void)state;
	g.dst = IP(203, 0, 113, 77);
	feed(0, &g);
	while (rte_ring_sc_dequeue(dp.punt, &m) == 0) {
		const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod((struct rte_mbuf *)m, void *);

		assert_int_equal(rte_be_to_cpu_16(ip->packet_id), (g.id + n++) & 0xffff);
		assert_int_equal(((struct rte_mbuf *)m)->pkt_len,
				 n < 7 ? 1500 : 40 + 10000 - 6 * 1460);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(n, 7);
}

/* By a device that cuts: whole, and what that makes of it is what would have left otherwise. */
static void test_left_to_a_device_with_tso(void **state)
{
	static uint8_t whole[70000];
	struct dp_port *wan = &snap->ports[snap->ifaces[WAN].port];
	struct large g = PLAIN;
	struct rte_mbuf *m;

	(void)state;
	wan->tso_segs = 6; /* 5 buffers as it comes */
	for (unsigned trial = 0; trial < 4; trial++) {
		unsigned n = 0, len;

		wan->tso_ip_csum = trial % 2;
		snap->nat = trial / 2 ? nat_conf : NULL;
		feed(trial / 2, &g);
		assert_int_equal(rte_eth_rx_burst(snap->ifaces[WAN].port, 0, &m, 1), 1);
		for (; (len = segment(&g, n, trial / 2, due)) > 0; n++) {
			assert_int_equal(the_device_cuts(m, n, whole, got), len);
			assert_memory_equal(got, due, len);
		}
		assert_int_equal(the_device_cuts(m, n, whole, got), 0);
		assert_int_equal(router_events(FWD_E_tso_packets), trial + 1);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(router_events(FWD_E_gso_segments), 0);
	assert_int_equal(dp.counters[0]->iface[WAN].tx_packets, 4 * 7);

	wan->tso_segs = 3; /* more buffers than it takes: cut here */
	feed(0, &g);
	assert_int_equal(expect_segments(&g, true), 7);
	wan->tso_segs = 6;
	g.dst = IP(203, 0, 113, 77); /* nobody knows where to */
	feed(0, &g);
	assert_int_equal(rte_ring_count(dp.punt), 7);
	snap->ifaces[WAN].mtu = 1000;
	g = PLAIN;
	g.df = false; /* a device makes no fragments */
	feed(0, &g);
	assert_int_equal(router_events(FWD_E_fragments_out), 14);
}

/* 802.1Q on the way out, cut here and by the device: the same frames with a tag in them. */
static void test_tagged(void **state)
{
	static uint8_t whole[70000];
	struct dp_port *wan = &snap->ports[snap->ifaces[WAN].port];
	struct rte_mbuf *m;
	unsigned len;

	(void)state;
	snap->ifaces[WAN].vlan = 7;
	for (unsigned trial = 0; trial < 2; trial++) {
		wan->tso_segs = trial == 0 ? 0 : 64;
		feed(0, &PLAIN);
		for (unsigned n = 0; (len = segment(&PLAIN, n, false, due)) > 0; n++) {
			if (trial == 0 || n == 0)
				assert_int_equal(rte_eth_rx_burst(snap->ifaces[WAN].port, 0, &m, 1),
						 1);
			if (trial == 0) {
				assert_int_equal(m->pkt_len, len + 4);
				assert_non_null(rte_pktmbuf_read(m, 0, len + 4, got));
				if (m->nb_segs == 1)
					memcpy(got, rte_pktmbuf_mtod(m, void *), len + 4);
				rte_pktmbuf_free(m);
			} else {
				assert_int_equal(the_device_cuts(m, n, whole, got), len + 4);
			}
			assert_memory_equal(got, due, 12);
			assert_memory_equal(got + 12, "\x81\x00\x00\x07", 4);
			assert_memory_equal(got + 16, due + 12, len - 12);
		}
	}
	rte_pktmbuf_free(m);
	snap->ifaces[WAN].vlan = 0;
}

static void test_no_buffers_left(void **state)
{
	static struct rte_mbuf *taken[8192];
	struct rte_mbuf *m = large_mbuf(&PLAIN, build(&PLAIN, frame));
	unsigned free = rte_mempool_avail_count(dp.pool) - 5;

	(void)state;
	assert_int_equal(rte_pktmbuf_alloc_bulk(dp.pool, taken, free), 0);
	router_feed(0, snap->ifaces[LAN].port, &m, 1);
	rte_pktmbuf_free_bulk(taken, free);
	assert_int_equal(router_drops(FWD_D_no_buffer), 1);
	/* what could be made of it left */
	assert_int_equal(segment(&PLAIN, 0, false, due), router_left(snap->ifaces[WAN].port, got));
	assert_memory_equal(got, due, 14 + 1500);
}

static void test_gro_leaves_them_alone_and_in_their_place(void **state)
{
	struct rte_mbuf *m[5];
	struct large g[5];
	unsigned seq = 1000, len;

	(void)state;
	snap->ifaces[LAN].flags |= IFACE_GRO;
	snap->ports[snap->ifaces[LAN].port].gro = true;
	for (unsigned i = 0; i < 5; i++) {
		g[i] = PLAIN;
		g[i].segment = 100;
		g[i].payload = i == 2 ? 450 : 100;
		g[i].seq = seq;
		g[i].flags = 0x10;
		g[i].id = (uint16_t)(10 * i);
		g[i].df = true;
		seq += g[i].payload;
		m[i] = large_mbuf(&g[i], build(&g[i], frame));
	}
	router_feed(0, snap->ifaces[LAN].port, m, 5);
	for (unsigned i = 0; i < 5; i++) {
		build(&g[i], frame);
		for (unsigned k = 0; (len = segment(&g[i], k, false, due)) > 0; k++) {
			assert_int_equal(router_left(snap->ifaces[WAN].port, got), len);
			assert_memory_equal(got, due, len);
		}
	}
	assert_int_equal(router_left(snap->ifaces[WAN].port, got), 0);
	assert_int_equal(router_events(FWD_E_gro_bad_checksum), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, fresh, router_no_leak)
		T(test_cut_to_what_the_sender_would_have_sent),
		T(test_random_packets_in_random_buffers),
		T(test_small_large_packet_is_cut_too),
		T(test_segments_above_the_mtu_I5),
		T(test_too_small_segments_are_refused),
		T(test_what_is_no_tcp_is_an_ordinary_packet),
		T(test_held_for_a_neighbour_in_segments),
		T(test_left_to_a_device_with_tso),
		T(test_tagged),
		T(test_no_buffers_left),
		T(test_gro_leaves_them_alone_and_in_their_place),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
