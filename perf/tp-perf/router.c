/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_thash.h>

#include "frames.h"
#include "ports.h"
#include "router.h"
#include "rss.h"

#define IP4(a, b, c, d) RTE_BE32((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

enum { NH_ME = 1, NH_INSIDE, NH_OUTSIDE }; /* and from NH_OUTSIDE on the gateways */
#define GATEWAYS 64

/* What mode mixed may have open at once of its new sessions. */
#define FRESH_ROOM 2000000

/* In mode nat44-setup a table ends up four fifths full: one that fills to its last slot costs a
 * quarter more, and nobody plans for it. (In the others it is just full.) */
#define SETUP_SPARE 4

/* Several workers share the sessions by host, and so not evenly: none of a host may find its
 * worker's table full, or there is no rate without loss. */
#define SHARE_SPARE 4
#define SHARE_ROOM  1024

static struct fwd_snapshot *snap;

static void *zalloc(size_t size)
{
	void *p = rte_zmalloc(NULL, size, RTE_CACHE_LINE_SIZE);

	if (p == NULL)
		fprintf(stderr, "tp-perf: no memory: reserve more huge pages\n");
	return p;
}

bool router_init(unsigned n_workers)
{
	dp.n_workers = n_workers;
	dp.nexthops = zalloc(FWD_MAX_NH * sizeof(*dp.nexthops));
	dp.qsbr = zalloc(rte_rcu_qsbr_get_memsize(FWD_MAX_WORKERS));
	dp.punt = rte_ring_create("punt", FWD_RING_SIZE, SOCKET_ID_ANY, RING_F_SC_DEQ);
	dp.punt_event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (dp.nexthops == NULL || dp.qsbr == NULL || dp.punt == NULL || dp.punt_event_fd < 0)
		return false;
	rte_rcu_qsbr_init(dp.qsbr, FWD_MAX_WORKERS);
	for (unsigned i = 0; i <= n_workers; i++) {
		dp.counters[i] = zalloc(sizeof(*dp.counters[i]));
		if (dp.counters[i] == NULL)
			return false;
	}
	for (unsigned i = 0; i < n_workers; i++) {
		char name[RTE_RING_NAMESIZE];

		snprintf(name, sizeof(name), "inject%u", i);
		dp.inject[i] = rte_ring_create(name, FWD_RING_SIZE, SOCKET_ID_ANY, RING_F_SC_DEQ);
		snprintf(name, sizeof(name), "handover%u", i);
		dp.handover[i] = rte_ring_create(name, FWD_RING_SIZE, SOCKET_ID_ANY, RING_F_SC_DEQ);
		if (dp.inject[i] == NULL || dp.handover[i] == NULL)
			return false;
		rte_rcu_qsbr_thread_register(dp.qsbr, i);
		rte_rcu_qsbr_thread_online(dp.qsbr, i);
	}
	return true;
}

static void set_neighbour(unsigned nh, uint16_t iface, uint8_t last)
{
	union nh_adj adj = {.mac = {0x02, 0, 0, 1, (uint8_t)iface, last}, .usable = 1};

	dp.nexthops[nh] = (struct fwd_nexthop){.type = NH_NEIGHBOUR, .iface = iface};
	atomic_store(&dp.nexthops[nh].adj, adj.word);
}

static void set_iface(uint16_t id, rte_be32_t addr)
{
	struct dp_iface *i = &snap->ifaces[id];
	uint16_t port = ports.ids[id];

	i->flags = IFACE_PRESENT;
	i->port = port;
	i->mtu = 1500;
	i->mac = ports.macs[id];
	i->n_addrs = 1;
	i->addrs[0] =
		(struct dp_addr){.addr_be = addr, .mask_be = IP4(255, 255, 255, 0), .len = 24};
	snap->ports[port].native_iface = id;
	snap->ports[port].multi_seg_tx = true;
	snap->ports[port].n_txq = ports.n_txq;
	for (unsigned w = 0; w < dp.n_workers; w++)
		snap->workers[w].txq[port] = w < ports.n_txq ? (uint16_t)w : UINT16_MAX;
	for (uint16_t q = 0; q < ports.n_rxq; q++) {
		struct dp_worker_conf *c = &snap->workers[q % dp.n_workers];

		c->rxq[c->n_rxq++] = (struct dp_rxq){.port = port, .queue = q};
	}
}

/* One default route or networks at random, over as many gateways as there may be. */
static bool set_routes(const struct options *o)
{
	struct rte_fib_conf conf = {
		.type = RTE_FIB_DIR24_8,
		.max_routes = o->routes + 1024,
		.dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 64},
	};
	int rc;

	snap->fib = rte_fib_create("tp-perf", SOCKET_ID_ANY, &conf);
	if (snap->fib == NULL) {
		fprintf(stderr, "tp-perf: no memory for %u routes: reserve more huge pages (%s)\n",
			o->routes, rte_strerror(rte_errno));
		return false;
	}
	rc = rte_fib_add(snap->fib, 0, 0, NH_OUTSIDE);
	if (rc == 0)
		rc = rte_fib_add(snap->fib, 10u << 24, 8, NH_INSIDE);
	if (rc == 0)
		rc = rte_fib_add(snap->fib, rte_be_to_cpu_32(snap->ifaces[0].addrs[0].addr_be), 32,
				 NH_ME);
	for (uint32_t r = 1; rc == 0 && r < o->routes; r++)
		rc = rte_fib_add(snap->fib, frames_route(r), 24, NH_OUTSIDE + r % GATEWAYS);
	if (rc != 0)
		fprintf(stderr, "tp-perf: routes: %s\n", rte_strerror(-rc));
	return rc == 0;
}

/* --rules of them, of which the last one translates the inside hosts. */
static bool set_rules(const struct options *o, uint16_t outside)
{
	uint32_t addresses =
		o->flows / 20000 + (o->mode == MODE_MIXED ? FRESH_ROOM / 20000 : 0) + 4;
	struct nat_range range = {IP4(100, 64, 0, 1),
				  rte_cpu_to_be_32(0x64400001u + addresses - 1)};
	struct nat_pool pool = {.id = 1, .name = "pool", .ranges = &range, .n_ranges = 1};
	struct nat_rule *rules = calloc(o->rules, sizeof(*rules));
	struct nat_conf conf;
	char err[256] = "";

	if (rules == NULL)
		return false;
	for (uint32_t i = 0; i < o->rules; i++) {
		bool last = i == o->rules - 1;
		struct nat_rule *r = &rules[i];

		r->id = i + 1;
		snprintf(r->name, sizeof(r->name), "rule%u", i + 1);
		r->iface = outside;
		if (o->mode == MODE_STATIC) {
			r->type = NAT_RULE_STATIC;
			r->internal =
				last ? (struct nat_prefix){IP4(10, 0, 0, 0), 8}
				     : (struct nat_prefix){rte_cpu_to_be_32(0xac100000u + i), 32};
			r->external =
				last ? (struct nat_prefix){IP4(100, 0, 0, 0), 8}
				     : (struct nat_prefix){rte_cpu_to_be_32(0x65000000u + i), 32};
		} else {
			r->type = NAT_RULE_SNAT;
			r->source =
				last ? (struct nat_prefix){IP4(10, 0, 0, 0), 8}
				     : (struct nat_prefix){rte_cpu_to_be_32(0xac100000u + i), 32};
		}
	}
	nat_conf_defaults(&conf);
	conf.rules = rules;
	conf.n_rules = o->rules;
	conf.tcp_loose = o->mode == MODE_GRO;
	conf.port_preservation = !o->steer;
	if (o->mode != MODE_STATIC) {
		conf.pools = &pool;
		conf.n_pools = 1;
	}
	if (o->mode == MODE_MIXED)
		conf.timeout_s[NAT_TIMEOUT_udp] =
			o->nat_timeout_s + o->flows / 2000000; /* longer than a round of them */
	snap->nat = nat_config_build(&conf, err, sizeof(err));
	free(rules);
	if (snap->nat == NULL)
		fprintf(stderr, "tp-perf: translation rules: %s\n", err);
	return snap->nat != NULL;
}

static bool make_workers(const struct options *o, const unsigned *lcores)
{
	struct fwd_err err = {""};

	dp.params.max_sessions = o->flows + (o->mode == MODE_MIXED ? FRESH_ROOM : 0);
	if (o->mode == MODE_NAT44_SETUP)
		dp.params.max_sessions += o->flows / SETUP_SPARE;
	if (dp.n_workers > 1)
		dp.params.max_sessions += o->flows / SHARE_SPARE + SHARE_ROOM;
	if (dp.n_workers > 1 && mode_translates(o->mode) && o->rules > 0) {
		dp.nat_shared = worker_shared_nat(dp.n_workers);
		if (dp.nat_shared == NULL) {
			fprintf(stderr, "tp-perf: no memory for the NAT ports of %u workers\n",
				dp.n_workers);
			return false;
		}
		nat_shared_prefer_ports(dp.nat_shared, o->steer);
	}
	for (unsigned i = 0; i < dp.n_workers; i++) {
		dp.workers[i] =
			worker_create(i, lcores[i], mode_translates(o->mode) && o->rules > 0, &err);
		if (dp.workers[i] == NULL) {
			fprintf(stderr, "tp-perf: %s\n", err.msg);
			return false;
		}
	}
	return true;
}

bool router_build(const struct options *o, const unsigned *lcores)
{
	uint16_t outside = ports.n > 1 ? 1 : 0;

	snap = calloc(1, sizeof(*snap));
	if (snap == NULL)
		return false;
	snap->n_workers = dp.n_workers;
	for (unsigned p = 0; p < FWD_MAX_PORTS; p++) {
		snap->ports[p].native_iface = FWD_IFACE_NONE;
		for (unsigned w = 0; w < FWD_MAX_WORKERS; w++)
			snap->workers[w].txq[p] = UINT16_MAX;
	}
	set_iface(0, IP4(172, 31, 0, 1));
	if (outside != 0)
		set_iface(outside, IP4(192, 0, 2, 1));
	dp.nexthops[NH_ME] = (struct fwd_nexthop){.type = NH_LOCAL};
	set_neighbour(NH_INSIDE, 0, 0xaa);
	for (unsigned i = 0; i < GATEWAYS; i++)
		set_neighbour(NH_OUTSIDE + i, outside, (uint8_t)i);
	if (!set_routes(o) ||
	    (mode_translates(o->mode) && o->rules > 0 && !set_rules(o, outside)) ||
	    !make_workers(o, lcores))
		return false;
	atomic_store(&dp.snapshot, snap);
	return true;
}

void router_rss(bool inside, unsigned queues, struct router_rss *rss)
{
	enum nat_rss by = inside ? NAT_RSS_SOURCE : NAT_RSS_DESTINATION_PORT;

	rss->key = nat_shared_rss_key(dp.nat_shared, by);
	rss_fill(dp.nat_shared, dp.n_workers, (uint16_t)queues, rss->queue, RTE_DIM(rss->queue));
}

unsigned router_queue(const struct router_rss *rss, const struct frame_head *h)
{
	uint32_t tuple[3]; /* addresses and ports as they lie in the datagram */

	memcpy(tuple, h->bytes + 12, sizeof(tuple));
	for (unsigned i = 0; i < RTE_DIM(tuple); i++)
		tuple[i] = rte_be_to_cpu_32(tuple[i]);
	return rss->queue[rte_softrss(tuple, RTE_DIM(tuple), rss->key) % RTE_DIM(rss->queue)];
}

void router_clear(void)
{
	for (unsigned i = 0; i < dp.n_workers; i++) {
		struct rte_mbuf *m;

		worker_destroy(dp.workers[i]);
		dp.workers[i] = NULL;
		memset(dp.counters[i], 0, sizeof(*dp.counters[i]));
		while (rte_ring_sc_dequeue(dp.inject[i], (void **)&m) == 0 ||
		       rte_ring_sc_dequeue(dp.handover[i], (void **)&m) == 0 ||
		       rte_ring_sc_dequeue(dp.punt, (void **)&m) == 0)
			rte_pktmbuf_free(m);
	}
	nat_shared_destroy(dp.nat_shared);
	dp.nat_shared = NULL;
	atomic_store(&dp.snapshot, NULL);
	if (snap == NULL)
		return;
	if (snap->nat != NULL)
		nat_config_free(snap->nat);
	rte_fib_free(snap->fib);
	free(snap);
	snap = NULL;
}

void router_gro(const struct options *o, enum gro gro)
{
	struct dp_iface *in = &snap->ifaces[0];
	struct dp_port *out = &snap->ports[snap->ifaces[ports.n > 1 ? 1 : 0].port];

	in->flags = IFACE_PRESENT;
	if (gro != GRO_OFF)
		in->flags |= IFACE_GRO | (o->udp ? IFACE_GRO_UDP : 0);
	in->gro_us = (uint16_t)o->gro_timeout_us;
	snap->gro_waits = gro != GRO_OFF && o->gro_timeout_us > 0;
	snap->ports[in->port].gro = gro != GRO_OFF;
	out->tso_segs = gro == GRO_TSO ? UINT16_MAX : 0;
	out->tso_ip_csum = gro == GRO_TSO;
}

uint64_t router_received(void)
{
	uint64_t n = 0;

	for (unsigned w = 0; w < dp.n_workers; w++)
		for (unsigned i = 0; i < FWD_MAX_IFACES; i++)
			n += dp.counters[w]->iface[i].rx_packets;
	return n;
}

static uint64_t events_of(unsigned what)
{
	uint64_t n = 0;

	for (unsigned w = 0; w < dp.n_workers; w++)
		n += dp.counters[w]->events[what];
	return n;
}

uint64_t router_handed_over(void)
{
	return events_of(FWD_E_handovers);
}

uint64_t router_summed(void)
{
	return events_of(FWD_E_gro_payload_bytes_summed);
}

uint64_t router_merged(void)
{
	return events_of(FWD_E_gro_merged);
}

void router_end_sessions(void)
{
	struct nat_filter all = {0};

	for (unsigned i = 0; i < dp.n_workers; i++) {
		struct worker *w = dp.workers[i];
		uint32_t cursor = 0;

		if (w == NULL || w->nat == NULL)
			continue;
		while (cursor != NAT_NONE)
			nat_session_clear(w->nat, &all, &cursor, 1u << 20);
		/* mappings left without a session go with the clock */
		nat_worker_tick(w->nat, w->now_ms, UINT32_MAX);
	}
}

void router_stats(struct nat_stats *out)
{
	*out = (struct nat_stats){0};
	for (unsigned i = 0; i < dp.n_workers; i++) {
		const struct worker *w = dp.workers[i];
		struct nat_stats one;

		if (w == NULL || w->nat == NULL)
			continue;
		nat_worker_stats(w->nat, &one);
		out->sessions += one.sessions;
		out->max_sessions += one.max_sessions;
		out->sessions_created += one.sessions_created;
		out->memory_bytes += one.memory_bytes;
	}
	if (dp.nat_shared != NULL)
		out->memory_bytes += nat_shared_memory(dp.nat_shared);
}

static uint64_t drops_of(unsigned why)
{
	uint64_t n = 0;

	for (unsigned w = 0; w < dp.n_workers; w++) {
		for (unsigned i = 0; i <= FWD_MAX_IFACES; i++)
			n += dp.counters[w]->iface[i].drops[why];
	}
	return n;
}

uint64_t router_drops(void)
{
	uint64_t n = 0;

	for (unsigned why = 0; why < FWD_DROP_COUNT; why++)
		n += drops_of(why);
	return n;
}

void router_each_drop(void (*fn)(void *arg, const char *name, uint64_t n), void *arg)
{
	for (unsigned why = 0; why < FWD_DROP_COUNT; why++) {
		uint64_t n = drops_of(why);

		if (n > 0)
			fn(arg, fwd_drop_name(why), n);
	}
}
