/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of the stages of lib/fwd: a router with two ports that give back what is sent
 * (net_ring) and two workers, of which the first one sends. Or with other ports, or one worker:
 * what a test brings itself.
 *
 *	10.0.0.2 -- 10.0.0.1 LAN, WAN 203.0.113.1 -- 203.0.113.254: 198.51.100.0/24, 198.18.0.0/15
 *						  -- 203.0.113.253: 198.18.0.0/15
 */
#ifndef TEST_FWD_ROUTER_H
#define TEST_FWD_ROUTER_H

#include "fwd_fixture.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_malloc.h>

#include "worker.h"

enum { LAN, WAN }; /* interfaces, 10.0.0.1/24 and 203.0.113.1/24, and the ports under them */
enum { ROUTER_WORKERS = 2 };

enum {
	NH_ME = 1,
	NH_LAN_HOST,
	NH_WAN_GW,
	NH_WAN_GW2,
	NH_ECMP,
	NH_LAN_GLEAN,
	NH_WAN_GLEAN,
	NH_BCAST,
	NH_OWN /* the test's own, from here on */
};

static const uint8_t LAN_MAC[6] = {2, 0, 0, 0, 0, 1}, WAN_MAC[6] = {2, 0, 0, 0, 0, 2};
static const uint8_t HOST_MAC[6] = {2, 0, 0, 0, 0, 0xaa}, GW_MAC[6] = {2, 0, 0, 0, 0, 0xbb},
		     GW2_MAC[6] = {2, 0, 0, 0, 0, 0xcc};
static struct fwd_snapshot *snap;

static inline void router_neighbour(unsigned nh, uint16_t iface, rte_be32_t addr,
				    const uint8_t mac[6])
{
	union nh_adj adj = {.usable = 1};

	memcpy(adj.mac, mac, sizeof(adj.mac));
	dp.nexthops[nh] =
		(struct fwd_nexthop){.type = NH_NEIGHBOUR, .iface = iface, .addr_be = addr};
	atomic_store(&dp.nexthops[nh].adj, adj.word);
}

static inline void router_route(rte_be32_t prefix, uint8_t len, uint64_t nh)
{
	assert_int_equal(rte_fib_add(snap->fib, rte_be_to_cpu_32(prefix), len, nh), 0);
}

static inline uint16_t router_port(const char *name)
{
	struct rte_eth_conf conf = {0};
	uint16_t port;

	assert_int_equal(rte_eal_hotplug_add("vdev", name, ""), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(name, &port), 0);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port, 0, 2048, 0, NULL, dp.pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port, 0, 2048, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
	return port;
}

/* The port's untagged interface, which worker 0 sends by. */
static inline void router_native(uint16_t id, uint16_t port)
{
	snap->ports[port].native_iface = id;
	snap->ports[port].n_txq = 1;
	snap->ports[port].multi_seg_tx = true;
	for (unsigned w = 1; w < dp.n_workers; w++)
		snap->workers[w].txq[port] = UINT16_MAX;
}

static inline void router_iface(uint16_t id, uint16_t port, const uint8_t mac[6], rte_be32_t addr)
{
	struct dp_iface *i = &snap->ifaces[id];

	i->flags = IFACE_PRESENT;
	i->port = port;
	i->mtu = 1500;
	memcpy(&i->mac, mac, 6);
	i->n_addrs = 1;
	i->addrs[0] = (struct dp_addr){addr, IP(255, 255, 255, 0), 24};
}

static inline void router_routes(void)
{
	struct rte_fib_conf fib = {.type = RTE_FIB_DIR24_8,
				   .max_routes = 1024,
				   .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 64}};

	dp.nexthops[NH_ME] = (struct fwd_nexthop){.type = NH_LOCAL};
	dp.nexthops[NH_BCAST] = (struct fwd_nexthop){.type = NH_BROADCAST};
	dp.nexthops[NH_LAN_GLEAN] = (struct fwd_nexthop){.type = NH_GLEAN, .iface = LAN};
	dp.nexthops[NH_WAN_GLEAN] = (struct fwd_nexthop){.type = NH_GLEAN, .iface = WAN};
	dp.nexthops[NH_ECMP] = (struct fwd_nexthop){
		.type = NH_GROUP, .n_members = 2, .members = {NH_WAN_GW, NH_WAN_GW2}};
	router_neighbour(NH_LAN_HOST, LAN, IP(10, 0, 0, 2), HOST_MAC);
	router_neighbour(NH_WAN_GW, WAN, IP(203, 0, 113, 254), GW_MAC);
	router_neighbour(NH_WAN_GW2, WAN, IP(203, 0, 113, 253), GW2_MAC);
	snap->fib = rte_fib_create("test", SOCKET_ID_ANY, &fib);
	assert_non_null(snap->fib);
	router_route(IP(10, 0, 0, 0), 24, NH_LAN_GLEAN);
	router_route(IP(10, 0, 0, 1), 32, NH_ME);
	router_route(IP(10, 0, 0, 2), 32, NH_LAN_HOST);
	router_route(IP(10, 0, 0, 255), 32, NH_BCAST);
	router_route(IP(203, 0, 113, 0), 24, NH_WAN_GLEAN);
	router_route(IP(203, 0, 113, 1), 32, NH_ME);
	router_route(IP(198, 51, 100, 0), 24, NH_WAN_GW);
	router_route(IP(198, 18, 0, 0), 15, NH_ECMP);
}

/* All but the ports and interfaces; needs dp.pool. */
static inline void router_begin(unsigned n_workers)
{
	dp.n_workers = n_workers;
	dp.params.max_sessions = 1024;
	dp.nexthops = calloc(FWD_MAX_NH, sizeof(*dp.nexthops));
	dp.qsbr = rte_zmalloc(NULL, rte_rcu_qsbr_get_memsize(4), 64);
	rte_rcu_qsbr_init(dp.qsbr, 4);
	dp.punt = rte_ring_create("punt", 4096, SOCKET_ID_ANY, RING_F_SC_DEQ);
	dp.punt_event_fd = eventfd(0, EFD_NONBLOCK);
	for (unsigned i = 0; i <= n_workers; i++)
		dp.counters[i] = rte_zmalloc(NULL, sizeof(*dp.counters[i]), 64);
	snap = calloc(1, sizeof(*snap));
	snap->n_workers = n_workers;
	for (unsigned p = 0; p < FWD_MAX_PORTS; p++)
		snap->ports[p].native_iface = FWD_IFACE_NONE;
	router_routes();
	atomic_store(&dp.snapshot, snap);
	dp.nat_shared = worker_shared_nat(n_workers);
	assert_non_null(dp.nat_shared);
	for (unsigned i = 0; i < n_workers; i++) {
		struct fwd_err err = {""};
		char name[32];

		snprintf(name, sizeof(name), "inject%u", i);
		dp.inject[i] = rte_ring_create(name, 4096, SOCKET_ID_ANY, RING_F_SC_DEQ);
		snprintf(name, sizeof(name), "handover%u", i);
		dp.handover[i] = rte_ring_create(name, 4096, SOCKET_ID_ANY, RING_F_SC_DEQ);
		dp.workers[i] = worker_create(i, 0, true, &err);
		if (dp.workers[i] == NULL)
			fail_msg("%s", err.msg);
		rte_rcu_qsbr_thread_register(dp.qsbr, i);
		rte_rcu_qsbr_thread_online(dp.qsbr, i);
	}
}

static inline void router_setup(void)
{
	fixture_eal("0");
	fixture_pool(8192);
	router_begin(ROUTER_WORKERS);
	router_iface(LAN, router_port("net_ring0"), LAN_MAC, IP(10, 0, 0, 1));
	router_iface(WAN, router_port("net_ring1"), WAN_MAC, IP(203, 0, 113, 1));
	router_native(LAN, snap->ifaces[LAN].port);
	router_native(WAN, snap->ifaces[WAN].port);
}

static inline void router_teardown(void)
{
	for (unsigned i = 0; i < dp.n_workers; i++) {
		rte_rcu_qsbr_thread_offline(dp.qsbr, i);
		worker_destroy(dp.workers[i]);
		rte_ring_free(dp.inject[i]);
		rte_ring_free(dp.handover[i]);
	}
	nat_shared_destroy(dp.nat_shared);
	rte_fib_free(snap->fib);
	free(snap);
	free(dp.nexthops);
	close(dp.punt_event_fd);
}

static const struct nat_rule ROUTER_SNAT = {.id = 1,
					    .type = NAT_RULE_SNAT,
					    .name = "out",
					    .iface = WAN,
					    .source = {IP(10, 0, 0, 0), 24}};

/* These rules, with a pool "office" of 203.0.113.10. */
static inline struct nat_config *router_nat(const struct nat_rule *rules, unsigned n,
					    bool tcp_loose)
{
	static const struct nat_range range = {IP(203, 0, 113, 10), IP(203, 0, 113, 10)};
	static const struct nat_pool pool = {
		.id = 1, .name = "office", .ranges = &range, .n_ranges = 1};
	static const struct nat_iface_addr own = {.iface = WAN, .addr_be = IP(203, 0, 113, 1)};
	struct nat_conf conf;
	struct nat_config *cfg;
	char err[256] = "";

	nat_conf_defaults(&conf);
	conf.rules = rules;
	conf.n_rules = n;
	conf.pools = &pool;
	conf.n_pools = 1;
	conf.addrs = &own;
	conf.n_addrs = 1;
	conf.tcp_loose = tcp_loose;
	cfg = nat_config_build(&conf, err, sizeof(err));
	if (cfg == NULL)
		fail_msg("%s", err);
	return cfg;
}

/* Whatever left or waits is forgotten. */
static inline void router_drain(void)
{
	struct rte_mbuf *m;

	for (uint16_t port = 0; port < 2; port++) {
		while (rte_eth_rx_burst(port, 0, &m, 1) == 1)
			rte_pktmbuf_free(m);
	}
	while (rte_ring_sc_dequeue(dp.punt, (void **)&m) == 0)
		rte_pktmbuf_free(m);
}

/* After a test. */
static inline int router_no_leak(void **state)
{
	(void)state;
	router_drain();
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
	return 0;
}

/* Counters at zero, full token buckets, this translation and no session. */
static inline void router_fresh(struct nat_config *nat)
{
	struct nat_filter all = {0};

	router_drain();
	snap->nat = nat;
	for (unsigned i = 0; i < dp.n_workers; i++) {
		uint32_t cursor = 0;

		worker_turn_begin(dp.workers[i]);
		dp.workers[i]->icmp_bucket.tokens = 100000;
		dp.workers[i]->ip_id = 0;
		while (cursor != NAT_NONE)
			nat_session_clear(dp.workers[i]->nat, &all, &cursor, 4096);
	}
	for (unsigned i = 0; i <= dp.n_workers; i++)
		memset(dp.counters[i], 0, sizeof(*dp.counters[i]));
}

/* Turns of both workers, until nothing is left to hand over or to send. */
static inline void router_settle(void)
{
	while (worker_turn(dp.workers[1]) + worker_turn(dp.workers[0]) > 0)
		;
}

/* Worker w receives these frames on port; then turns of both, until all is done. */
static inline void router_feed(unsigned w, uint16_t port, struct rte_mbuf **m, unsigned n)
{
	worker_turn_begin(dp.workers[w]);
	worker_frames(dp.workers[w], m, n, port);
	router_settle();
}

/* The next frame that left by port, copied; its length, 0: none. Whatever leaves has right sums; of
 * a fragment there is only the header's. */
static inline unsigned router_left(uint16_t port, uint8_t *f)
{
	struct rte_mbuf *m;
	const void *p;
	unsigned len;

	if (rte_eth_rx_burst(port, 0, &m, 1) != 1)
		return 0;
	len = m->pkt_len;
	p = rte_pktmbuf_read(m, 0, len, f);
	if (p != f)
		memcpy(f, p, len);
	rte_pktmbuf_free(m);
	assert_true(len >= 34);
	if (((f[20] << 8 | f[21]) & 0x3fff) != 0)
		assert_int_equal(plain_sum(f + 14, (f[14] & 0xfu) * 4, 0), 0xffff);
	else
		assert_true(plain_good(f + 14));
	return len;
}

static inline uint64_t router_drops(unsigned why)
{
	uint64_t n = 0;

	for (unsigned w = 0; w <= dp.n_workers; w++) {
		for (unsigned i = 0; i <= FWD_MAX_IFACES; i++)
			n += dp.counters[w]->iface[i].drops[why];
	}
	return n;
}

static inline uint64_t router_events(unsigned e)
{
	uint64_t n = 0;

	for (unsigned w = 0; w <= dp.n_workers; w++)
		n += dp.counters[w]->events[e];
	return n;
}

#endif /* TEST_FWD_ROUTER_H */
