/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the tests of merging: a router of two ports and a VLAN, and TCP segments and UDP datagrams
 * from a few words.
 */
#ifndef TEST_GRO_LAB_H
#define TEST_GRO_LAB_H

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

static inline void neighbour(unsigned nh, uint16_t iface, uint8_t mac_last)
{
	union nh_adj adj = {.mac = {2, 0, 0, 0, 1, mac_last}, .usable = 1};

	dp.nexthops[nh] = (struct fwd_nexthop){.type = NH_NEIGHBOUR, .iface = iface};
	atomic_store(&dp.nexthops[nh].adj, adj.word);
}

static inline void route(unsigned a, unsigned b, unsigned c, unsigned d, uint8_t len, uint64_t nh)
{
	assert_int_equal(rte_fib_add(snap->fib, a << 24 | b << 16 | c << 8 | d, len, nh), 0);
}

static inline uint16_t ring_port(const char *name)
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

static inline void iface(uint16_t id, uint16_t port, rte_be32_t addr)
{
	struct dp_iface *i = &snap->ifaces[id];

	i->flags = IFACE_PRESENT;
	i->port = port;
	i->mtu = 1500;
	memcpy(&i->mac, MACS[id], 6);
	i->n_addrs = 1;
	i->addrs[0] = (struct dp_addr){addr, IP(255, 255, 255, 0), 24};
}

static inline struct nat_config *nat_base(void)
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

static inline int setup(void **state)
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

static inline int teardown(void **state)
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
static inline void set_gro(uint8_t flags)
{
	for (unsigned i = 0; i < 3; i++) {
		snap->ifaces[i].flags = IFACE_PRESENT | flags;
		snap->ports[snap->ifaces[i].port].gro = flags != 0;
	}
}

/* How long segments may wait for those that follow, by all interfaces. */
static inline void set_wait(uint16_t us)
{
	for (unsigned i = 0; i < 3; i++)
		snap->ifaces[i].gro_us = us;
	snap->gro_waits = us > 0;
}

static inline void set_tso(uint16_t segs, bool ip_csum)
{
	for (unsigned i = 0; i < 3; i++) {
		snap->ports[snap->ifaces[i].port].tso_segs = segs;
		snap->ports[snap->ifaces[i].port].tso_ip_csum = ip_csum;
	}
}

static inline void drain(void)
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
static inline void reset_router(bool nat)
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
static inline void settle(void)
{
	while (worker_turn(dp.workers[1]) + worker_turn(dp.workers[0]) > 0)
		;
}

/* Sessions of both workers. */
static inline unsigned sessions(struct nat_session_info *out, unsigned max)
{
	unsigned n = 0;

	for (unsigned k = 0; k < 2; k++) {
		uint32_t cursor = 0;

		n += nat_session_list(dp.workers[k]->nat, &(struct nat_filter){0}, 0, &cursor, 4096,
				      out + n, max - n);
	}
	return n;
}

static inline int fresh(void **state)
{
	(void)state;
	set_gro(IFACE_GRO);
	set_wait(0);
	snap->ifaces[WAN].mtu = 1500;
	reset_router(false);
	return 0;
}

static inline int no_leak(void **state)
{
	(void)state;
	drain();
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
	return 0;
}

static inline uint64_t events(unsigned e)
{
	return dp.counters[0]->events[e] + dp.counters[1]->events[e];
}

/* ---- segments -------------------------------------------------------------------------------- */

struct segment {
	struct flow flow; /* of TCP, or of UDP, where all that is TCP's alone says nothing */
	uint16_t iface;
	uint32_t seq, ack;
	uint16_t id, window, urgent, payload, padding;
	uint8_t ttl, tos, flags;
	bool df;
	uint8_t ip_options, tcp_options; /* 32-bit words */
	uint8_t ip_option_byte;
	uint32_t timestamp;    /* in the options, if there are at least 3 words */
	uint16_t frag_words;   /* fragment offset field but for DF, host order */
	uint8_t doff;	       /* 0: as it should be */
	bool unsummed;	       /* UDP: without a checksum */
	int8_t udp_len;	       /* UDP: its length, less that of what there is */
	uint16_t payload_word; /* added to the first two bytes of payload */
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

/* All but the ports of a TCP header of thl bytes. */
static inline void build_tcp(const struct segment *s, uint8_t *t, unsigned thl)
{
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
}

/* The Ethernet frame of s, its length. */
static inline unsigned build(const struct segment *s, uint8_t *f)
{
	bool udp = s->flow.proto == IPPROTO_UDP;
	unsigned ihl = 20 + s->ip_options * 4u, thl = udp ? 8 : 20 + s->tcp_options * 4u,
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
	if (udp)
		put16(t + 4, thl + s->payload + (unsigned)s->udp_len);
	else
		build_tcp(s, t, thl);
	for (unsigned i = 0; i < s->payload; i++)
		t[thl + i] = (uint8_t)((s->seq + i) * 37 + ((s->seq + i) >> 7));
	if (s->payload_word != 0 && s->payload >= 2)
		put16(t + thl, plain_sum((const uint8_t[]){(uint8_t)(s->payload_word >> 8),
							   (uint8_t)s->payload_word},
					 2, (uint32_t)(t[thl] << 8 | t[thl + 1])));
	plain_fill(ip);
	if (udp && s->unsummed)
		put16(t + 6, 0);
	if (s->flip != UINT_MAX && s->payload > 0)
		t[thl + s->flip / 8 % s->payload] ^= (uint8_t)(1 << s->flip % 8);
	for (unsigned i = 0; i < s->padding; i++)
		ip[total + i] = 0xa5;
	return l2 + total + s->padding;
}

static inline struct rte_mbuf *segment_mbuf(const struct segment *s)
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
static inline unsigned merge(const struct segment *s, unsigned n, struct pkt *pkts, struct gro *g)
{
	uint64_t completed = 0;

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(parse_frame(snap, segment_mbuf(&s[i]),
					     snap->ifaces[s[i].iface].port, &pkts[i], &completed),
				 PARSE_IP4);
	return gro_burst(dp.workers[0], pkts, n, g);
}

static inline void free_merged(const struct pkt *pkts, unsigned n, const struct gro *g)
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
static inline unsigned packets_of(const struct segment *s, unsigned n)
{
	struct pkt pkts[FWD_BURST];
	struct gro g;

	n = merge(s, n, pkts, &g);
	free_merged(pkts, n, &g);
	return n;
}

/* As s, with UDP's 0xffff for a checksum that computes to 0. */
static inline struct segment summed_to_zero(struct segment s)
{
	uint8_t f[FRAME_MAX];
	const uint8_t *check = f + (s.iface == TAGGED ? 18 : 14) + 20 + s.ip_options * 4u + 6;

	s.payload_word = 0;
	build(&s, f);
	s.payload_word = (uint16_t)(check[0] << 8 | check[1]);
	return s;
}

/* b, made to follow a. */
static inline struct segment behind(const struct segment *a)
{
	struct segment b = *a;

	b.seq += a->payload;
	b.id++;
	return b;
}

#endif /* TEST_GRO_LAB_H */
