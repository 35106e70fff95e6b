/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of lib/fwd's control side: the whole of it (control_start()) over ports that are not
 * there, a clock that the test turns, and the frames that would be sent.
 */
#ifndef TEST_CONTROL_FIXTURE_H
#define TEST_CONTROL_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "address.h"
#include "arp.h"
#include "call.h"
#include "control.h"
#include "fib.h"
#include "icmp.h"
#include "neigh.h"
#include "nexthop.h"
#include "snapshot.h"

#define IP(a, b, c, d) RTE_BE32((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

/* ---- what lies below, in place of the real thing --------------------------------------------- */

static unsigned fake_workers = 1;
static uint16_t fake_txqs = 64;	/* as many as a port may have */
static uint16_t fake_next_port;
static unsigned fake_locals;	/* addresses that ports know */

int port_open(const char *devargs, uint16_t mtu, uint16_t rxqs, enum fwd_rss rss,
	      unsigned n_workers, struct rte_mempool *pool, struct port *out, struct fwd_err *err)
{
	(void)pool;
	(void)rss;
	if (!strcmp(devargs, "refused"))
		return dp_err(err, -ENODEV, "no such device");
	memset(out, 0, sizeof(*out));
	out->port_id = fake_next_port++;
	memcpy(out->mac, (const uint8_t[]){ 2, 0, 0, 0, 0, (uint8_t)(out->port_id + 1) }, 6);
	out->mtu = mtu ? mtu : 1500;
	out->rxqs = rxqs;
	out->txqs = RTE_MIN(n_workers, (unsigned)fake_txqs);
	out->own_mtu = 1500;
	out->arp_fd = -1;
	return 0;
}

void port_close(struct port *p)
{
	(void)p;
}

/* The port restarts for it, so no worker may use it then, and routes still lead to it. */
int port_set_mtu(struct port *p, uint16_t mtu, struct fwd_err *err)
{
	const struct fwd_snapshot *s = dp.snapshot;

	(void)err;
	assert_int_equal(s->ports[p->port_id].native_iface, FWD_IFACE_NONE);
	assert_null(s->ports[p->port_id].vlan_iface);
	for (unsigned q = 0; q < s->workers[0].n_rxq; q++)
		assert_int_not_equal(s->workers[0].rxq[q].port, p->port_id);
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		if (!iface_get(i) || iface_get(i)->port != p)
			continue;
		assert_int_equal(s->ifaces[i].flags & IFACE_PRESENT, 0);
		assert_int_equal(s->ifaces[i].mtu, iface_get(i)->mtu);
	}
	p->mtu = mtu;
	return 0;
}

bool port_mtu_needs_stop(const struct port *p)
{
	(void)p;
	return true;
}

int port_vlan(struct port *p, uint16_t id, bool add, struct fwd_err *err)
{
	(void)p;
	(void)id;
	(void)add;
	(void)err;
	return 0;
}

int port_pass(struct port *p, struct fwd_pass pass, bool add, struct fwd_err *err)
{
	(void)p;
	(void)pass;
	(void)add;
	(void)err;
	return 0;
}

int port_local_address(struct port *p, uint32_t addr_be, bool add)
{
	(void)p;
	(void)addr_be;
	fake_locals += add ? 1 : -1;
	return 0;
}

void port_refresh(struct port *p)
{
	(void)p;
}

int port_arp_receive(const struct port *p, void *frame, size_t size, uint16_t *vlan)
{
	(void)p;
	(void)frame;
	(void)size;
	(void)vlan;
	return -EAGAIN;
}

static unsigned fake_link_asked;

void port_link(const struct port *p, bool *up, uint32_t *speed_mbps)
{
	(void)p;
	fake_link_asked++;
	*up = true;
	*speed_mbps = 0;
}

void port_device_stats(const struct port *p, uint64_t *missed, uint64_t *errors, uint64_t *nombuf,
		       uint64_t *tx_errors)
{
	(void)p;
	*missed = *errors = *nombuf = *tx_errors = 0;
}

void call_worker(unsigned worker, void (*fn)(void *arg, unsigned worker), void *arg)
{
	fn(arg, worker);	/* nobody runs there */
}

static unsigned fake_unreachable;	/* datagrams given up */

void icmp_host_unreachable(struct rte_mbuf *m)
{
	fake_unreachable++;
	rte_pktmbuf_free(m);
}

static uint64_t fake_now_ms;

static uint64_t fake_clock(void)
{
	return fake_now_ms;
}

/* ---- bringing it up -------------------------------------------------------------------------- */

static inline void control_eal(const char *megabytes)
{
	char *argv[] = {(char *)"test",
			(char *)"--no-huge",
			(char *)"--no-pci",
			(char *)"--no-shconf",
			(char *)"-m",
			(char *)megabytes,
			(char *)"--no-telemetry",
			(char *)"--log-level=4",
			(char *)"--lcores",
			(char *)"0@0"};

	assert_true(rte_eal_init(RTE_DIM(argv), argv) >= 0);
}

static inline void control_up(uint32_t max_routes, uint32_t max_neighbours)
{
	struct fwd_params params = { .max_routes = max_routes, .max_neighbours = max_neighbours };
	struct fwd_err err = { "" };

	dp = (struct fwd_dp){ .n_workers = fake_workers, .params = params };
	dp.nexthops =
		rte_zmalloc("nexthops", FWD_MAX_NH * sizeof(*dp.nexthops), RTE_CACHE_LINE_SIZE);
	dp.qsbr =
		rte_zmalloc("qsbr", rte_rcu_qsbr_get_memsize(FWD_MAX_WORKERS), RTE_CACHE_LINE_SIZE);
	assert_non_null(dp.nexthops);
	assert_non_null(dp.qsbr);
	rte_rcu_qsbr_init(dp.qsbr, FWD_MAX_WORKERS);
	dp.pool = rte_pktmbuf_pool_create("packets", 4096, 0, sizeof(struct fwd_mbuf_priv),
					  FWD_MBUF_ROOM, SOCKET_ID_ANY);
	assert_non_null(dp.pool);
	dp.punt = rte_ring_create("punt", FWD_RING_SIZE, SOCKET_ID_ANY, RING_F_SC_DEQ);
	dp.inject[0] = rte_ring_create("inject0", FWD_RING_SIZE, SOCKET_ID_ANY, RING_F_SC_DEQ);
	dp.punt_event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (unsigned i = 0; i <= fake_workers; i++) {
		dp.counters[i] =
			rte_zmalloc("counters", sizeof(*dp.counters[i]), RTE_CACHE_LINE_SIZE);
		assert_non_null(dp.counters[i]);
	}
	neigh_clock_ms = fake_clock;
	fake_now_ms = 1000000;
	fake_next_port = 0;
	fake_locals = 0;
	fake_unreachable = 0;
	if (control_start(&params, &err))
		fail_msg("control_start: %s", err.msg);
}

static inline void control_flush(struct rte_ring *r)
{
	void *m;

	while (rte_ring_sc_dequeue(r, &m) == 0)
		rte_pktmbuf_free(m);
}

/* Every buffer must have come back by now. */
static inline void control_down(void)
{
	control_stop();
	control_flush(dp.punt);
	control_flush(dp.inject[0]);
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
	rte_ring_free(dp.punt);
	rte_ring_free(dp.inject[0]);
	close(dp.punt_event_fd);
	for (unsigned i = 0; i <= fake_workers; i++)
		rte_free(dp.counters[i]);
	rte_free(dp.qsbr);
	rte_free(dp.nexthops);
	rte_mempool_free(dp.pool);
	memset(&dp, 0, sizeof(dp));
}

/* ---- short words ----------------------------------------------------------------------------- */

static struct fwd_err the_err;	/* of the last of these */

static inline uint16_t add_iface(const char *name)
{
	struct fwd_iface_conf conf = { .devargs = "fake" };

	strcpy(conf.name, name);
	assert_int_equal(fwd_iface_add(&conf, &the_err), 0);
	return fwd_iface_find(name);
}

static inline uint16_t add_vlan(const char *name, const char *parent, uint16_t vlan)
{
	struct fwd_iface_conf conf = { .vlan = vlan };

	strcpy(conf.name, name);
	strcpy(conf.parent, parent);
	assert_int_equal(fwd_iface_add(&conf, &the_err), 0);
	return fwd_iface_find(name);
}

static inline int add_address(uint16_t iface, rte_be32_t addr_be, uint8_t len)
{
	struct fwd_address a = { .iface = iface, .addr_be = addr_be, .len = len };

	return fwd_address_add(&a, &the_err);
}

static inline int del_address(uint16_t iface, rte_be32_t addr_be, uint8_t len)
{
	struct fwd_address a = { .iface = iface, .addr_be = addr_be, .len = len };

	return fwd_address_del(&a, &the_err);
}

static inline int add_route(rte_be32_t net_be, uint8_t len, rte_be32_t gw_be)
{
	struct fwd_route r = {
		.prefix = {net_be, len}, .n_via = 1, .via = {{gw_be, FWD_IFACE_NONE}}};

	return fwd_route_add(&r, &the_err);
}

static inline int del_route(rte_be32_t net_be, uint8_t len)
{
	return fwd_route_del((struct fwd_prefix){ net_be, len }, &the_err);
}

static inline void commit(void)
{
	assert_int_equal(fwd_commit(&the_err), 0);
	assert_true(fib_copies_equal());
}

/* What a worker would find now. */
static inline const struct fwd_nexthop *worker_lookup(rte_be32_t addr_be)
{
	uint32_t ip = rte_be_to_cpu_32(addr_be);
	uint64_t nh;

	rte_fib_lookup_bulk(dp.snapshot->fib, &ip, &nh, 1);
	assert_in_range(nh, 0, FWD_MAX_NH - 1);
	return &dp.nexthops[nh];
}

/* The oldest frame that waits to be sent, NULL: none. The caller frees it. */
static inline struct rte_mbuf *sent(void)
{
	void *m;

	return rte_ring_sc_dequeue(dp.inject[0], &m) == 0 ? m : NULL;
}

static inline uint64_t event_count(enum fwd_event e)
{
	return dp.counters[dp.n_workers]->events[e];
}

static inline uint64_t drop_count(uint16_t iface, enum fwd_drop d)
{
	return dp.counters[dp.n_workers]->iface[iface].drops[d];
}

#endif /* TEST_CONTROL_FIXTURE_H */
