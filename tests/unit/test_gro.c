/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merging and cutting: what merges and what must not, that a merged header is right, that every
 * payload byte is summed at most once; and, over random traffic, that the frames that leave are
 * those of the router without merging, byte for byte and in each flow's order, with the same
 * counters and the same sessions behind them.
 */
#include "fwd_fixture.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_malloc.h>

#include "gro.h"
#include "worker.h"

enum { LAN, WAN, TAGGED }; /* TAGGED: VLAN 7 at LAN's port */
enum {
	NH_ME = 1,
	NH_LAN_HOST,
	NH_WAN_GW,
	NH_LAN_GLEAN,
	NH_WAN_GLEAN,
	NH_WAN_GW2,
	NH_ECMP,
	NH_TAGGED_HOST
};
enum { VLAN = 7, FRAME_MAX = 2048 };

static const uint8_t MACS[3][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {2, 0, 0, 0, 0, 1}};
static struct fwd_snapshot *snap;
static struct nat_config *nat_conf;
static uint16_t vlan_table[4096];

/* ---- the router ------------------------------------------------------------------------------ */

static void neighbour(unsigned nh, uint16_t iface, uint8_t mac_last)
{
	union nh_adj adj = {.mac = {2, 0, 0, 0, 1, mac_last}, .usable = 1};

	dp.nexthops[nh] = (struct fwd_nexthop){.type = NH_NEIGHBOUR, .iface = iface};
	atomic_store(&dp.nexthops[nh].adj, adj.word);
}

static void route(unsigned a, unsigned b, unsigned c, unsigned d, uint8_t len, uint64_t nh)
{
	assert_int_equal(rte_fib_add(snap->fib, a << 24 | b << 16 | c << 8 | d, len, nh), 0);
}

static uint16_t ring_port(const char *name)
{
	struct rte_eth_conf conf = {0};
	uint16_t port;

	assert_int_equal(rte_eal_hotplug_add("vdev", name, ""), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(name, &port), 0);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port, 0, 512, 0, NULL, dp.pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port, 0, 512, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
	return port;
}

static void iface(uint16_t id, uint16_t port, rte_be32_t addr)
{
	struct dp_iface *i = &snap->ifaces[id];

	i->flags = IFACE_PRESENT;
	i->port = port;
	i->mtu = 1500;
	memcpy(&i->mac, MACS[id], 6);
	i->n_addrs = 1;
	i->addrs[0] = (struct dp_addr){addr, IP(255, 255, 255, 0), 24};
}

static struct nat_config *nat_base(void)
{
	static const struct nat_range range = {IP(203, 0, 113, 10), IP(203, 0, 113, 10)};
	static const struct nat_pool pool = {
		.id = 1, .name = "office", .ranges = &range, .n_ranges = 1};
	static const struct nat_rule rules[] = {
		{.id = 1,
		 .type = NAT_RULE_SNAT,
		 .name = "out",
		 .iface = WAN,
		 .source = {IP(10, 0, 0, 0), 24}},
	};
	struct nat_conf conf;
	struct nat_config *cfg;
	char err[256] = "";

	nat_conf_defaults(&conf);
	conf.rules = rules;
	conf.n_rules = RTE_DIM(rules);
	conf.pools = &pool;
	conf.n_pools = 1;
	cfg = nat_config_build(&conf, err, sizeof(err));
	if (cfg == NULL)
		fail_msg("%s", err);
	return cfg;
}

static int setup(void **state)
{
	struct rte_fib_conf fib = {.type = RTE_FIB_DIR24_8,
				   .max_routes = 1024,
				   .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 64}};

	(void)state;
	fixture_eal("0");
	fixture_pool(8192);
	dp.n_workers = 2;
	dp.params.max_sessions = 1024;
	dp.nexthops = calloc(FWD_MAX_NH, sizeof(*dp.nexthops));
	dp.qsbr = rte_zmalloc(NULL, rte_rcu_qsbr_get_memsize(4), 64);
	rte_rcu_qsbr_init(dp.qsbr, 4);
	dp.punt = rte_ring_create("punt", 4096, SOCKET_ID_ANY, RING_F_SC_DEQ);
	dp.punt_event_fd = eventfd(0, EFD_NONBLOCK);
	for (unsigned i = 0; i <= dp.n_workers; i++)
		dp.counters[i] = rte_zmalloc(NULL, sizeof(*dp.counters[i]), 64);
	for (unsigned i = 0; i < dp.n_workers; i++) {
		char name[32];

		snprintf(name, sizeof(name), "inject%u", i);
		dp.inject[i] = rte_ring_create(name, 4096, SOCKET_ID_ANY, RING_F_SC_DEQ);
		snprintf(name, sizeof(name), "handover%u", i);
		dp.handover[i] = rte_ring_create(name, 4096, SOCKET_ID_ANY, RING_F_SC_DEQ);
	}

	snap = calloc(1, sizeof(*snap));
	snap->n_workers = 2;
	for (unsigned p = 0; p < FWD_MAX_PORTS; p++)
		snap->ports[p].native_iface = FWD_IFACE_NONE;
	memset(vlan_table, 0xff, sizeof(vlan_table));
	vlan_table[VLAN] = TAGGED;
	for (uint16_t id = LAN; id <= WAN; id++) {
		uint16_t port = ring_port(id == LAN ? "net_ring0" : "net_ring1");

		iface(id, port, id == LAN ? IP(10, 0, 0, 1) : IP(203, 0, 113, 1));
		snap->ports[port].native_iface = id;
		snap->ports[port].n_txq = 1;
		snap->ports[port].multi_seg_tx = true;
		snap->workers[1].txq[port] = UINT16_MAX; /* worker 1 sends through worker 0 */
	}
	iface(TAGGED, snap->ifaces[LAN].port, IP(10, 0, 7, 1));
	snap->ifaces[TAGGED].vlan = VLAN;
	snap->ports[snap->ifaces[LAN].port].vlan_iface = vlan_table;

	dp.nexthops[NH_ME] = (struct fwd_nexthop){.type = NH_LOCAL};
	dp.nexthops[NH_LAN_GLEAN] = (struct fwd_nexthop){.type = NH_GLEAN, .iface = LAN};
	dp.nexthops[NH_WAN_GLEAN] = (struct fwd_nexthop){.type = NH_GLEAN, .iface = WAN};
	dp.nexthops[NH_ECMP] = (struct fwd_nexthop){
		.type = NH_GROUP, .n_members = 2, .members = {NH_WAN_GW, NH_WAN_GW2}};
	neighbour(NH_LAN_HOST, LAN, 1);
	neighbour(NH_WAN_GW, WAN, 2);
	neighbour(NH_WAN_GW2, WAN, 3);
	neighbour(NH_TAGGED_HOST, TAGGED, 4);
	snap->fib = rte_fib_create("test", SOCKET_ID_ANY, &fib);
	assert_non_null(snap->fib);
	route(10, 0, 0, 0, 24, NH_LAN_HOST);
	route(10, 0, 0, 1, 32, NH_ME);
	route(10, 0, 7, 0, 24, NH_TAGGED_HOST);
	route(203, 0, 113, 0, 24, NH_WAN_GLEAN);
	route(203, 0, 113, 1, 32, NH_ME);
	route(198, 51, 100, 0, 24, NH_WAN_GW);
	route(198, 18, 0, 0, 15, NH_ECMP);
	atomic_store(&dp.snapshot, snap);
	dp.nat_shared = worker_shared_nat(2);
	assert_non_null(dp.nat_shared);
	for (unsigned i = 0; i < 2; i++) {
		struct fwd_err err = {""};

		dp.workers[i] = worker_create(i, 0, true, &err);
		if (dp.workers[i] == NULL)
			fail_msg("%s", err.msg);
		rte_rcu_qsbr_thread_register(dp.qsbr, i);
		rte_rcu_qsbr_thread_online(dp.qsbr, i);
	}
	nat_conf = nat_base();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rte_rcu_qsbr_thread_offline(dp.qsbr, i);
		worker_destroy(dp.workers[i]);
		rte_ring_free(dp.inject[i]);
		rte_ring_free(dp.handover[i]);
	}
	nat_shared_destroy(dp.nat_shared);
	nat_config_free(nat_conf);
	rte_fib_free(snap->fib);
	free(snap);
	free(dp.nexthops);
	close(dp.punt_event_fd);
	return 0;
}

/* flags: IFACE_GRO and what goes with it, 0: off. */
static void set_gro(uint8_t flags)
{
	for (unsigned i = 0; i < 3; i++) {
		snap->ifaces[i].flags = IFACE_PRESENT | flags;
		snap->ports[snap->ifaces[i].port].gro = flags != 0;
	}
}

static void set_tso(uint16_t segs, bool ip_csum)
{
	for (unsigned i = 0; i < 3; i++) {
		snap->ports[snap->ifaces[i].port].tso_segs = segs;
		snap->ports[snap->ifaces[i].port].tso_ip_csum = ip_csum;
	}
}

static void drain(void)
{
	struct rte_mbuf *m;

	for (uint16_t port = 0; port < 2; port++) {
		while (rte_eth_rx_burst(port, 0, &m, 1) == 1)
			rte_pktmbuf_free(m);
	}
	while (rte_ring_sc_dequeue(dp.punt, (void **)&m) == 0)
		rte_pktmbuf_free(m);
}

/* No sessions, counters at zero, full token buckets. */
static void reset_router(bool nat)
{
	struct nat_filter all = {0};

	drain();
	snap->nat = nat ? nat_conf : NULL;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t cursor = 0;

		worker_turn_begin(dp.workers[i]);
		while (cursor != NAT_NONE)
			nat_session_clear(dp.workers[i]->nat, &all, &cursor, 4096);
		dp.workers[i]->icmp_bucket.tokens = 100000;
		dp.workers[i]->ip_id = 0;
	}
	for (unsigned i = 0; i <= dp.n_workers; i++)
		memset(dp.counters[i], 0, sizeof(*dp.counters[i]));
}

/* Turns of both workers, until nothing is left to hand over or to send. */
static void settle(void)
{
	while (worker_turn(dp.workers[1]) + worker_turn(dp.workers[0]) > 0)
		;
}

static int fresh(void **state)
{
	(void)state;
	set_gro(IFACE_GRO);
	snap->ifaces[WAN].mtu = 1500;
	reset_router(false);
	return 0;
}

static int no_leak(void **state)
{
	(void)state;
	drain();
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
	return 0;
}

static uint64_t events(unsigned e)
{
	return dp.counters[0]->events[e] + dp.counters[1]->events[e];
}

/* ---- segments -------------------------------------------------------------------------------- */

struct segment {
	struct flow flow; /* of TCP */
	uint16_t iface;
	uint32_t seq, ack;
	uint16_t id, window, urgent, payload, padding;
	uint8_t ttl, tos, flags;
	bool df;
	uint8_t ip_options, tcp_options; /* 32-bit words */
	uint8_t ip_option_byte;
	uint32_t timestamp;  /* in the options, if there are at least 3 words */
	uint16_t frag_words; /* fragment offset field but for DF, host order */
	uint8_t doff;	     /* 0: as it should be */
	unsigned flip; /* bit of the payload to flip behind the checksum's back; UINT_MAX: none */
	uint64_t ol_flags;
	unsigned n_cuts, cuts[3]; /* into buffers */
};

static const struct segment PLAIN = {
	.flow = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 5000, 80, IPPROTO_TCP},
	.iface = LAN,
	.seq = 1000,
	.ack = 77,
	.id = 1,
	.window = 500,
	.payload = 100,
	.ttl = 64,
	.flags = 0x10,
	.df = true,
	.flip = UINT_MAX,
};

/* The Ethernet frame of s, its length. */
static unsigned build(const struct segment *s, uint8_t *f)
{
	unsigned ihl = 20 + s->ip_options * 4u, thl = 20 + s->tcp_options * 4u,
		 total = ihl + thl + s->payload, l2 = 14;
	uint8_t *ip, *t;

	memset(f, 0, FRAME_MAX);
	memcpy(f, MACS[s->iface], 6);
	memcpy(f + 6, "\x02\0\0\0\0\xaa", 6);
	if (s->iface == TAGGED) {
		put16(f + 12, 0x8100);
		put16(f + 14, VLAN);
		l2 = 18;
	}
	put16(f + l2 - 2, 0x0800);
	ip = f + l2;
	t = ip + ihl;
	ip[0] = (uint8_t)(0x40 | ihl / 4);
	ip[1] = s->tos;
	put16(ip + 2, total);
	put16(ip + 4, s->id);
	put16(ip + 6, (s->df ? 0x4000u : 0) | s->frag_words);
	ip[8] = s->ttl;
	ip[9] = s->flow.proto;
	memcpy(ip + 12, &s->flow.src, 4);
	memcpy(ip + 16, &s->flow.dst, 4);
	memset(ip + 20, 1, ihl - 20);
	if (s->ip_options > 0)
		ip[20] = s->ip_option_byte ? 0x94 : 1,
		ip[21] = s->ip_option_byte ? 4 : 1; /* router alert */
	put16(t, s->flow.sport);
	put16(t + 2, s->flow.dport);
	put16(t + 4, s->seq >> 16);
	put16(t + 6, s->seq);
	put16(t + 8, s->ack >> 16);
	put16(t + 10, s->ack);
	t[12] = (uint8_t)((s->doff != 0 ? s->doff : thl / 4) << 4);
	t[13] = s->flags;
	put16(t + 14, s->window);
	put16(t + 18, s->urgent);
	memset(t + 20, 1, thl - 20);
	if (s->tcp_options >= 3) {
		t[22] = 8;
		t[23] = 10;
		put16(t + 24, s->timestamp >> 16);
		put16(t + 26, s->timestamp);
	}
	for (unsigned i = 0; i < s->payload; i++)
		t[thl + i] = (uint8_t)((s->seq + i) * 37 + ((s->seq + i) >> 7));
	plain_fill(ip);
	if (s->flip != UINT_MAX && s->payload > 0)
		t[thl + s->flip / 8 % s->payload] ^= (uint8_t)(1 << s->flip % 8);
	for (unsigned i = 0; i < s->padding; i++)
		ip[total + i] = 0xa5;
	return l2 + total + s->padding;
}

static struct rte_mbuf *segment_mbuf(const struct segment *s)
{
	uint8_t f[FRAME_MAX];
	unsigned len = build(s, f);
	struct rte_mbuf *m;

	m = s->n_cuts > 0 && s->cuts[s->n_cuts - 1] < len
		    ? fixture_chain(f, len, s->cuts, s->n_cuts)
		    : fixture_mbuf(f, len);
	m->ol_flags |= s->ol_flags;
	return m;
}

/* Parses n segments and merges them; the packets that are left. */
static unsigned merge(const struct segment *s, unsigned n, struct pkt *pkts, struct gro *g)
{
	uint64_t completed = 0;

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(parse_frame(snap, segment_mbuf(&s[i]),
					     snap->ifaces[s[i].iface].port, &pkts[i], &completed),
				 PARSE_IP4);
	return gro_burst(dp.workers[0], pkts, n, g);
}

static void free_merged(const struct pkt *pkts, unsigned n, const struct gro *g)
{
	for (unsigned i = 0; i < n; i++) {
		const struct gro_merged *d = g->n > 0 && g->of[i] ? &g->merged[g->of[i] - 1] : NULL;

		if (d == NULL)
			rte_pktmbuf_free(pkts[i].m);
		for (unsigned k = 0; d != NULL && k < d->n; k++)
			rte_pktmbuf_free(d->segments[k]);
	}
}

/* How many packets two or more segments become. */
static unsigned packets_of(const struct segment *s, unsigned n)
{
	struct pkt pkts[FWD_BURST];
	struct gro g;

	n = merge(s, n, pkts, &g);
	free_merged(pkts, n, &g);
	return n;
}

/* b, made to follow a. */
static struct segment behind(const struct segment *a)
{
	struct segment b = *a;

	b.seq += a->payload;
	b.id++;
	return b;
}

/* ---- what merges ----------------------------------------------------------------------------- */

static void test_a_pair_merges_or_not_by_one_difference_C41(void **state)
{
	struct segment s[2];
	unsigned tried = 0;

	(void)state;
#define TRY(want, ...)                                                                             \
	do {                                                                                       \
		s[0] = PLAIN;                                                                      \
		s[1] = behind(&s[0]);                                                              \
		__VA_ARGS__;                                                                       \
		if (packets_of(s, 2) != ((want) ? 1u : 2u))                                        \
			fail_msg("%s: %s", #__VA_ARGS__,                                           \
				 (want) ? "must merge" : "must not merge");                        \
		tried++;                                                                           \
	} while (0)
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
	for (unsigned round = 0; round < 300; round++) {
		unsigned n = 2 + (unsigned)rand() % 43, len, left;
		struct segment s[FWD_BURST] = {PLAIN};
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
		assert_int_equal(left, 1);
		assert_int_equal(g.n, 1);
		assert_int_equal(g.merged[0].n, n);
		assert_ptr_equal(g.merged[0].segments[0], pkts[0].m);
		len = pkts[0].ihl + 20u + s[0].tcp_options * 4u;
		memcpy(whole, pkts[0].nat.ip, len);
		for (unsigned i = 0; i < n; i++) {
			struct rte_mbuf *m = g.merged[0].segments[i];
			unsigned head = pkts[0].ihl + 20u + s[0].tcp_options * 4u,
				 bytes = m->pkt_len - head;
			const void *at = rte_pktmbuf_read(m, head, bytes, whole + len);

			assert_int_equal(bytes, s[i].payload);
			if (at != whole + len)
				memcpy(whole + len, at, bytes);
			len += bytes;
		}
		assert_int_equal(whole[2] << 8 | whole[3], len);
		assert_int_equal(pkts[0].len, len);
		assert_int_equal(pkts[0].nat.l4_len, len - pkts[0].ihl);
		assert_int_equal(whole[pkts[0].ihl + 13u], s[0].flags | 0x08);
		assert_int_equal(pkts[0].nat.tcp_flags, s[0].flags | 0x08);
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
	for (unsigned pass = 0; pass < 2;
	     pass++) { /* through the whole router, translated or not */
		struct rte_mbuf *m[FWD_BURST];

		reset_router(false);
		snap->nat = NULL;
		worker_turn_begin(dp.workers[0]);
		for (unsigned i = 0; i < FWD_BURST; i++)
			m[i] = segment_mbuf(&s[i]);
		worker_frames(dp.workers[0], m, FWD_BURST, snap->ifaces[LAN].port);
		worker_turn(dp.workers[0]);
		assert_int_equal(events(FWD_E_gro_payload_bytes_summed), received);
		assert_int_equal(events(FWD_E_gro_merged), 4);
		assert_int_equal(events(FWD_E_cut_segments), FWD_BURST);
		assert_int_equal(dp.counters[0]->iface[WAN].tx_packets, FWD_BURST);
		drain();
	}
	/* where the device vouches, nothing is read, unless that is asked for */
	for (unsigned i = 0; i < FWD_BURST; i++)
		s[i].ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	reset_router(false);
	assert_int_equal(packets_of(s, FWD_BURST), 4);
	assert_int_equal(events(FWD_E_gro_payload_bytes_summed), 0);
	set_gro(IFACE_GRO | IFACE_GRO_ALWAYS);
	assert_int_equal(packets_of(s, FWD_BURST), 4);
	assert_int_equal(events(FWD_E_gro_payload_bytes_summed), received);
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
	assert_int_equal(events(FWD_E_gro_payload_bytes_summed), 0);
	assert_int_equal(events(FWD_E_gro_bad_checksum), 0);
	set_gro(IFACE_GRO | IFACE_GRO_COUNTED);
	assert_int_equal(packets_of(s, 3), 3);
	assert_int_equal(events(FWD_E_gro_payload_bytes_summed), 200);
	assert_int_equal(events(FWD_E_gro_bad_checksum), 1);
	assert_int_equal(dp.counters[0]->iface[LAN].bad_checksums, 1);
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
		assert_int_equal(events(FWD_E_checksums_completed), 4);
		assert_int_equal(events(FWD_E_gro_merged), 1);
		assert_int_equal(events(FWD_E_cut_segments), 4);
		assert_int_equal(events(FWD_E_gro_payload_bytes_summed), 0);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(rte_eth_rx_burst(snap->ifaces[WAN].port, 0, m, 1), 1);
			assert_true(plain_good(rte_pktmbuf_mtod_offset(m[0], uint8_t *, 14)));
			rte_pktmbuf_free(m[0]);
		}
	}
}

static void test_a_damaged_segment_parts_its_run_and_leaves_as_damaged_C40(void **state)
{
	struct segment s[5] = {PLAIN};
	struct rte_mbuf *m[5];
	uint8_t want[FRAME_MAX], got[FRAME_MAX];
	unsigned good = 0;

	(void)state;
	for (unsigned i = 1; i < 5; i++)
		s[i] = behind(&s[i - 1]);
	s[2].flip = 77;
	for (unsigned i = 0; i < 5; i++)
		m[i] = segment_mbuf(&s[i]);
	worker_turn_begin(dp.workers[0]);
	worker_frames(dp.workers[0], m, 5, snap->ifaces[LAN].port);
	worker_turn(dp.workers[0]);
	assert_int_equal(events(FWD_E_gro_merged), 2);
	assert_int_equal(events(FWD_E_gro_bad_checksum), 1);
	assert_int_equal(dp.counters[0]->iface[LAN].bad_checksums, 1);
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

/* ---- with and without ------------------------------------------------------------------------ */

enum { FLOWS = 8, LOG_MAX = 512 };

static unsigned chance(unsigned in)
{
	return (unsigned)rand() % in == 0;
}

/* A flow to draw segments from: its next one, were nothing to happen. */
static struct segment random_flow(unsigned i)
{
	static const rte_be32_t far[] = {
		IP(198, 51, 100, 7), IP(198, 51, 100, 7), IP(198, 51, 100, 7),
		IP(198, 18, 3, 4),   IP(203, 0, 113, 77), /* a neighbour that is not known yet */
		IP(192, 0, 2, 1),			  /* no route */
		IP(10, 0, 0, 1),			  /* the router */
	};
	struct segment s = PLAIN;

	s.flow.src = IP(10, 0, 0, 2);
	s.flow.sport = (uint16_t)(40000 + i);
	s.flow.dst = far[(unsigned)rand() % (chance(3) ? RTE_DIM(far) : 4)];
	if (chance(4)) { /* not translated */
		s.iface = TAGGED;
		s.flow.src = IP(10, 0, 7, 2);
		if (chance(3))
			s.flow.dst = IP(10, 0, 0, 9);
	} else if (chance(4)) { /* an answer */
		s.iface = WAN;
		s.flow.src = IP(198, 51, 100, 7);
		s.flow.dst = chance(4) ? IP(10, 0, 7, 2) : IP(203, 0, 113, 10);
		s.flow.sport = 80;
		s.flow.dport = (uint16_t)(40000 + i);
	}
	s.seq = chance(3) ? (uint32_t)-2000 : (uint32_t)rand();
	s.ack = (uint32_t)rand();
	s.payload = (uint16_t)(chance(3) ? 1 + rand() % 1448 : chance(2) ? 1448 : 100);
	s.df = !chance(4);
	s.ttl = chance(12) ? 1 : 64;
	s.tcp_options = chance(2) ? 3 : 0;
	s.ip_options = chance(10) ? 1 : 0;
	s.ol_flags = chance(3) ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0;
	return s;
}

/* The flow's next segment with, seldom enough, something about it. */
static struct segment draw(struct segment *flow)
{
	struct segment s = *flow;

	if (chance(6))
		s.flags |= 0x08;
	if (chance(12)) {
		switch (rand() % 28) {
		case 0:
			s.ttl = 1;
			break;
		case 1:
			s.ttl--;
			break;
		case 2:
			s.tos = (uint8_t)rand();
			break;
		case 3:
			s.df = !s.df;
			break;
		case 4:
			s.id += (uint16_t)rand();
			break;
		case 5:
			s.window++;
			flow->window++;
			break;
		case 6:
			s.ack++;
			flow->ack++;
			break;
		case 7:
			s.flags |= 0x80;
			break;
		case 8:
			s.flags |= 0x40;
			flow->flags ^= 0x40;
			break;
		case 9:
			s.flags |= 0x20;
			s.urgent = 1;
			break;
		case 10:
			s.flags |= 0x01;
			break;
		case 11:
			s.flags = 0x02;
			break;
		case 12:
			s.flags |= 0x04;
			break;
		case 13:
			s.flags = 0x08;
			break;
		case 14:
			s.payload = 0;
			break;
		case 15:
			s.payload = (uint16_t)(1 + rand() % s.payload);
			break;
		case 16:
			s.payload = (uint16_t)RTE_MIN(s.payload + 1, 1460);
			break;
		case 17:
			s.timestamp++;
			flow->timestamp++;
			break;
		case 18:
			s.tcp_options = (uint8_t)(rand() % 11);
			break;
		case 19:
			s.ip_options = (uint8_t)(rand() % 4);
			s.ip_option_byte = chance(2);
			break;
		case 20:
			s.frag_words = chance(2) ? 0x2000 : 0x0010;
			break;
		case 21:
			s.flip = (unsigned)rand();
			break;
		case 22:
			s.padding = (uint16_t)(rand() % 20);
			break;
		case 23:
			s.doff = (uint8_t)(1 + rand() % 15);
			break;
		case 24:
			s.flow.proto = chance(2) ? IPPROTO_UDP : IPPROTO_ICMP;
			break;
		case 25:
			flow->seq += 1448;
			break; /* lost */
		case 26:
			s.seq -= s.payload;
			break; /* sent again */
		default:
			s.ol_flags = RTE_MBUF_F_RX_L4_CKSUM_BAD;
			break;
		}
	}
	if (chance(8)) {
		s.n_cuts = 1 + (unsigned)rand() % 3;
		s.cuts[0] = 14 + (unsigned)rand() % 30;
		for (unsigned i = 1; i < s.n_cuts; i++)
			s.cuts[i] = s.cuts[i - 1] + 1 + (unsigned)rand() % 100;
	}
	flow->seq = s.seq + s.payload;
	if (!s.df || chance(20) || flow->id != 1)
		flow->id = (uint16_t)(s.id + 1);
	return s;
}

/* What left: frames of both ports, then what control is asked to hold. */
struct record {
	unsigned where;
	unsigned len;
	uint32_t nh;
	uint8_t bytes[FRAME_MAX];
};

struct outcome {
	unsigned n;
	struct record log[LOG_MAX];
	struct dp_iface_counters counters[FWD_MAX_IFACES + 1];
	uint64_t events[FWD_EVENT_COUNT];
	unsigned n_sessions;
	struct nat_session_info sessions[64];
};

/* The frames that a device cuts m into, by a test's own words (the_device_cuts()). */
static void take_cut(struct outcome *o, struct rte_mbuf *m, unsigned where)
{
	static uint8_t whole[70000];
	struct record *r;

	for (unsigned i = 0; the_device_cuts(m, i, whole, NULL) > 0; i++) {
		r = &o->log[o->n++];
		assert_true(o->n < LOG_MAX);
		memset(r, 0, sizeof(*r));
		r->where = where;
		r->len = the_device_cuts(m, i, whole, r->bytes);
	}
	rte_pktmbuf_free(m);
}

static void take(struct outcome *o, struct rte_mbuf *m, unsigned where)
{
	struct record *r = &o->log[o->n++];
	const void *at;

	if (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) {
		o->n--;
		take_cut(o, m, where);
		return;
	}
	assert_true(o->n < LOG_MAX && m->pkt_len <= FRAME_MAX);
	memset(r, 0, sizeof(*r));
	r->where = where;
	r->len = m->pkt_len;
	r->nh = where == 2 ? fwd_priv(m)->nh : 0;
	at = rte_pktmbuf_read(m, 0, r->len, r->bytes);
	if (at != r->bytes)
		memcpy(r->bytes, at, r->len);
	rte_pktmbuf_free(m);
}

/* Feeds a SYN of each flow that may make a session, then the burst. */
static void play(const struct segment *s, unsigned n, const struct segment *flows, bool nat,
		 unsigned w, struct outcome *o)
{
	struct rte_mbuf *m[FWD_BURST];

	memset(o, 0, sizeof(*o));
	reset_router(nat);
	for (unsigned i = 0; i < FLOWS;
	     i++) { /* SYN, SYN with ACK, ACK: from inside, whatever side the data come from */
		struct segment open[3];
		bool in = flows[i].iface == WAN;

		open[0] = PLAIN;
		open[0].flow = flows[i].flow;
		open[0].iface = in ? LAN : flows[i].iface;
		if (in)
			open[0].flow = (struct flow){IP(10, 0, 0, 2), flows[i].flow.src,
						     flows[i].flow.dport, flows[i].flow.sport,
						     IPPROTO_TCP};
		open[0].payload = 0;
		open[0].flags = 0x02;
		open[0].seq = (in ? flows[i].ack : flows[i].seq) - 1;
		open[1] = open[0];
		open[1].flow = (struct flow){open[0].flow.dst, IP(203, 0, 113, 10),
					     open[0].flow.dport, open[0].flow.sport, IPPROTO_TCP};
		open[1].iface = WAN;
		open[1].flags = 0x12;
		open[1].seq = (in ? flows[i].seq : flows[i].ack) - 1;
		open[1].ack = open[0].seq + 1;
		open[2] = open[0];
		open[2].flags = 0x10;
		open[2].seq++;
		open[2].ack = open[1].seq + 1;
		for (unsigned k = 0; k < 3 && nat && i % 4 != 3; k++) {
			m[0] = segment_mbuf(&open[k]);
			worker_frames(dp.workers[0], m, 1, snap->ifaces[open[k].iface].port);
			settle();
		}
	}
	settle();
	drain();
	for (unsigned i = 0; i <= dp.n_workers; i++)
		memset(dp.counters[i], 0, sizeof(*dp.counters[i]));

	for (unsigned i = 0, from = 0; i <= n; i++) { /* a burst is of one port */
		if (i < n)
			m[i] = segment_mbuf(&s[i]);
		if (i > from &&
		    (i == n || snap->ifaces[s[i].iface].port != snap->ifaces[s[from].iface].port)) {
			worker_frames(dp.workers[w], m + from, i - from,
				      snap->ifaces[s[from].iface].port);
			from = i;
		}
	}
	settle();
	for (uint16_t port = 0; port < 2; port++) {
		while (rte_eth_rx_burst(port, 0, m, 1) == 1)
			take(o, m[0], port);
	}
	while (rte_ring_sc_dequeue(dp.punt, (void **)m) == 0)
		take(o, m[0], 2);
	for (unsigned k = 0; k <= dp.n_workers; k++) {
		for (unsigned i = 0; i <= FWD_MAX_IFACES; i++) {
			const uint64_t *from = (const uint64_t *)&dp.counters[k]->iface[i];

			for (unsigned j = 0; j < sizeof(o->counters[i]) / 8; j++)
				((uint64_t *)&o->counters[i])[j] += from[j];
			o->counters[i].bad_checksums = 0;
		}
		for (unsigned e = 0; e < FWD_EVENT_COUNT; e++)
			o->events[e] += dp.counters[k]->events[e];
	}
	for (unsigned k = 0; k < 2; k++) {
		uint32_t cursor = 0;

		o->n_sessions +=
			nat_session_list(dp.workers[k]->nat, &(struct nat_filter){0}, 0, &cursor,
					 4096, o->sessions + o->n_sessions, 64 - o->n_sessions);
	}
	for (unsigned i = 0; i < o->n_sessions; i++)
		o->sessions[i].index = 0, o->sessions[i].age_ms = 0, o->sessions[i].idle_ms = 0;
}

static const uint8_t *datagram(const struct record *r)
{
	return r->bytes + (r->where == 2 ? 0 : r->bytes[12] == 0x81 ? 18 : 14);
}

/* Errors that the router makes and pieces that it cuts too large a datagram into do not say which
 * flow they are of. */
static bool of_no_flow(const struct record *r)
{
	const uint8_t *ip = datagram(r);

	return ip[9] == IPPROTO_ICMP || (ip[6] & 0x3f) || ip[7];
}

static uint32_t ports_of(const struct record *r)
{
	const uint8_t *ip = datagram(r);
	uint32_t ports;

	if (ip[9] != IPPROTO_TCP || of_no_flow(r))
		return 0;
	memcpy(&ports, ip + (ip[0] & 15) * 4, sizeof(ports));
	return ports;
}

/* By flow, and within it in the order in which they left: of a flow, that has to be the same. */
static int by_flow(const void *pa, const void *pb)
{
	const struct record *a = *(struct record *const *)pa, *b = *(struct record *const *)pb;
	const uint8_t *ia = datagram(a), *ib = datagram(b);
	int d = (int)a->where - (int)b->where;

	if (d == 0)
		d = ia[9] - ib[9];
	if (d == 0)
		d = memcmp(ia + 12, ib + 12, 8);
	if (d == 0)
		d = (ports_of(a) > ports_of(b)) - (ports_of(a) < ports_of(b));
	return d != 0 ? d : (a > b) - (a < b);
}

/* Errors that the router makes are numbered in the order of making, which across flows may be
 * another one. */
static void normalize(struct outcome *o, struct record **order)
{
	for (unsigned i = 0; i < o->n; i++) {
		struct record *r = &o->log[i];
		uint8_t *ip = r->bytes + (datagram(r) - r->bytes);

		order[i] = r;
		if (ip[9] == IPPROTO_ICMP && (ip[20] == 3 || ip[20] == 11))
			memset(ip + 4, 0, 2), memset(ip + 10, 0, 2);
	}
	qsort(order, o->n, sizeof(*order), by_flow);
}

static int by_bytes(const void *pa, const void *pb)
{
	const struct record *a = *(struct record *const *)pa, *b = *(struct record *const *)pb;

	return memcmp(a, b, sizeof(*a));
}

static int session_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct nat_session_info));
}

static void same_outcome(struct outcome *off, struct outcome *on, unsigned trial)
{
	struct record *a[LOG_MAX], *b[LOG_MAX];

	if (off->n != on->n)
		fail_msg("trial %u: %u frames, %u without merging", trial, on->n, off->n);
	normalize(off, a);
	normalize(on, b);
	for (unsigned i = 0, to; i < off->n; i = to) { /* those of no flow: as a set */
		for (to = i + 1; to < off->n && of_no_flow(a[i]) && of_no_flow(a[to]); to++)
			;
		if (to - i > 1) {
			qsort(a + i, to - i, sizeof(*a), by_bytes);
			qsort(b + i, to - i, sizeof(*b), by_bytes);
		}
	}
	for (unsigned i = 0; i < off->n; i++) {
		if (memcmp(a[i], b[i], sizeof(*a[i])) == 0)
			continue;
		for (unsigned k = 0; k < a[i]->len || k < b[i]->len; k++) {
			if (a[i]->bytes[k] != b[i]->bytes[k])
				fail_msg("trial %u: frame %u of %u bytes differs at byte %u: %02x, "
					 "%02x without merging",
					 trial, i, a[i]->len, k, b[i]->bytes[k], a[i]->bytes[k]);
		}
		fail_msg("trial %u: frame %u: at %u with %u bytes to %u, without merging at %u "
			 "with %u to %u",
			 trial, i, b[i]->where, b[i]->len, b[i]->nh, a[i]->where, a[i]->len,
			 a[i]->nh);
	}
	assert_memory_equal(off->counters, on->counters, sizeof(off->counters));
	for (unsigned e = 0; e < FWD_E_gro_merged; e++) {
		if (e == FWD_E_handovers && on->events[FWD_E_tso_packets] > 0)
			assert_true(on->events[e] <= off->events[e]); /* a whole one is one */
		else
			assert_int_equal(off->events[e], on->events[e]);
	}
	assert_int_equal(off->n_sessions, on->n_sessions);
	qsort(off->sessions, off->n_sessions, sizeof(off->sessions[0]), session_order);
	qsort(on->sessions, on->n_sessions, sizeof(on->sessions[0]), session_order);
	assert_memory_equal(off->sessions, on->sessions, sizeof(off->sessions));
}

static void test_random_traffic_leaves_as_without_merging(void **state)
{
	static const uint8_t modes[] = {IFACE_GRO, IFACE_GRO | IFACE_GRO_ALWAYS,
					IFACE_GRO | IFACE_GRO_COUNTED};
	static const uint16_t mtus[] = {1500, 1500, 1400, 600};
	static struct outcome off, on, tso;
	const char *wish = getenv("GRO_TRIALS"), *seed = getenv("GRO_SEED");
	unsigned trials = wish != NULL ? (unsigned)atoi(wish) : 2000;
	unsigned first = seed != NULL ? (unsigned)atoi(seed) : (unsigned)time(NULL);
	uint64_t merged = 0, cut = 0, sent = 0, bad = 0, whole = 0;

	(void)state;
	print_message("seed %u\n", first);
	for (unsigned t = 0; t < trials; t++) {
		struct segment flows[FLOWS], now[FLOWS], s[FWD_BURST];
		unsigned n = 1 + (unsigned)rand() % FWD_BURST, n_flows, w;
		uint64_t received = 0;
		bool nat;

		srand(first + t);
		n = 1 + (unsigned)rand() % FWD_BURST;
		n_flows = 1 + (unsigned)rand() % FLOWS;
		nat = !chance(4);
		w = chance(4);
		for (unsigned i = 0; i < FLOWS; i++)
			flows[i] = now[i] = random_flow(i);
		for (unsigned i = 0; i < n; i++) {
			struct segment *from = &now[(unsigned)rand() % n_flows];

			if (i > 0 && !chance(3)) /* trains, as senders make them */
				from = &now[s[i - 1].flow.proto == IPPROTO_TCP &&
							    s[i - 1].iface == WAN
						    ? s[i - 1].flow.dport % FLOWS
						    : s[i - 1].flow.sport % FLOWS];
			s[i] = draw(from);
			received += s[i].payload +
				    s[i].tcp_options *
					    4u; /* whose length may be wrong, so they are payload */
		}
		snap->ifaces[WAN].mtu = mtus[(unsigned)rand() % RTE_DIM(mtus)];
		set_gro(0);
		play(s, n, flows, nat, w, &off);
		set_gro(modes[t % RTE_DIM(modes)]);
		play(s, n, flows, nat, w, &on);
		same_outcome(&off, &on, first + t);
		assert_true(on.events[FWD_E_gro_payload_bytes_summed] <= received);
		/* A device that vouches for what is damaged makes damage good where another one
		 * makes the checksums: it is not believed here. */
		set_gro(modes[t % RTE_DIM(modes)] | IFACE_GRO_ALWAYS);
		set_tso(t % 2 ? UINT16_MAX : 20, t % 4 < 2);
		play(s, n, flows, nat, w, &tso);
		same_outcome(&off, &tso, first + t);
		assert_true(tso.events[FWD_E_gro_payload_bytes_summed] <= received);
		set_tso(0, false);
		whole += tso.events[FWD_E_tso_packets];
		merged += on.events[FWD_E_gro_merged];
		cut += on.events[FWD_E_cut_segments];
		bad += on.events[FWD_E_gro_bad_checksum];
		sent += on.n;
	}
	print_message("%lu packets merged of %lu segments, %lu bad, %lu frames left; %lu of them "
		      "left whole with TSO\n",
		      merged, cut, bad, sent, whole);
	assert_true(merged > trials && cut > 2 * merged && bad > 0 && whole > trials);
	snap->ifaces[WAN].mtu = 1500;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, fresh, no_leak)
		T(test_a_pair_merges_or_not_by_one_difference_C41),
		T(test_whatever_is_between_two_segments_of_a_flow_parts_them),
		T(test_merged_header_is_right_over_all_bytes),
		T(test_no_merged_packet_is_longer_than_65535_C43),
		T(test_each_payload_byte_is_summed_once),
		T(test_a_lone_segment_is_not_read_unless_all_are_counted),
		T(test_unfinished_checksums_are_completed_and_not_summed_again_C45),
		T(test_a_damaged_segment_parts_its_run_and_leaves_as_damaged_C40),
		T(test_random_traffic_leaves_as_without_merging),
#undef T
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
