/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes: the table against a plain oracle, the two copies, the reader that must never see another
 * prefix's group, full tables, and what is refused.
 */
#include "control_fixture.h"
#include "nat_shared.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static uint64_t seed = 0x9e3779b97f4a7c15ull;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> 16;
}

static uint32_t mask(uint8_t len)
{
	return len ? UINT32_MAX << (32 - len) : 0;
}

/* lan 10.0.0.1/24, wan 192.0.2.1/24 */
static uint16_t lan, wan;

static void up_with(uint32_t max_routes)
{
	control_up(max_routes, 1000);
	lan = add_iface("lan");
	wan = add_iface("wan");
	assert_int_equal(add_address(lan, IP(10, 0, 0, 1), 24), 0);
	assert_int_equal(add_address(wan, IP(192, 0, 2, 1), 24), 0);
	commit();
}

static int up(void **state)
{
	(void)state;
	up_with(10000);
	return 0;
}

static int down(void **state)
{
	(void)state;
	control_down();
	return 0;
}

/* ---- against an oracle ----------------------------------------------------------------------- */

struct plain {
	uint32_t ip;
	uint8_t len, n;
	rte_be32_t gw[2];
};

static struct plain plain[4096];
static unsigned n_plain;

static struct plain *plain_exact(uint32_t ip, uint8_t len)
{
	for (unsigned i = 0; i < n_plain; i++) {
		if (plain[i].ip == ip && plain[i].len == len)
			return &plain[i];
	}
	return NULL;
}

static const struct plain *plain_match(uint32_t ip)
{
	const struct plain *best = NULL;

	for (unsigned i = 0; i < n_plain; i++) {
		if (((ip ^ plain[i].ip) & mask(plain[i].len)) == 0 &&
		    (!best || plain[i].len > best->len))
			best = &plain[i];
	}
	return best;
}

static bool has_gateway(const struct plain *p, rte_be32_t gw)
{
	return p->gw[0] == gw || (p->n == 2 && p->gw[1] == gw);
}

static void check_one(uint32_t ip)
{
	const struct fwd_nexthop *nh = worker_lookup(rte_cpu_to_be_32(ip));
	const struct plain *p = plain_match(ip);
	struct fwd_route r;

	if (!p) {
		assert_int_equal(nh->type, NH_NONE);
		assert_int_equal(fwd_route_lookup(rte_cpu_to_be_32(ip), &r), -ENOENT);
		return;
	}
	if (p->n == 2) {
		assert_int_equal(nh->type, NH_GROUP);
		assert_int_equal(nh->n_members, 2);
		assert_true(has_gateway(p, dp.nexthops[nh->members[0]].addr_be));
		assert_true(has_gateway(p, dp.nexthops[nh->members[1]].addr_be));
	} else {
		assert_int_equal(nh->type, NH_NEIGHBOUR);
		assert_int_equal(nh->addr_be, p->gw[0]);
	}
	assert_int_equal(fwd_route_lookup(rte_cpu_to_be_32(ip), &r), 0);
	assert_int_equal(r.prefix.len, p->len);
	assert_int_equal(r.prefix.addr_be, rte_cpu_to_be_32(p->ip));
	assert_int_equal(r.n_via, p->n);
}

struct order {
	struct fwd_route last;
	unsigned n_static, n;
};

static bool check_order(void *arg, const struct fwd_route *r)
{
	struct order *o = arg;
	uint32_t a = rte_be_to_cpu_32(o->last.prefix.addr_be),
		 b = rte_be_to_cpu_32(r->prefix.addr_be);

	if (o->n++)
		assert_true(a < b || (a == b && o->last.prefix.len < r->prefix.len));
	if (r->type == FWD_ROUTE_STATIC) {
		o->n_static++;
		assert_non_null(plain_exact(b, r->prefix.len));
	}
	o->last = *r;
	return true;
}

static struct fwd_route random_route(void)
{
	static const uint8_t favourites[] = { 8, 16, 20, 23, 24, 24, 25, 26, 28, 30, 31, 32, 32 };
	struct fwd_route r = { .n_via = rnd() % 4 ? 1 : 2 };
	uint8_t len = rnd() % 8 ? favourites[rnd() % RTE_DIM(favourites)] : rnd() % 33;
	/* few networks, so that prefixes nest, fill each other up, and meet again */
	uint32_t ip = (64u + rnd() % 3) << 24 | (rnd() & 0x0003) << 16 | (rnd() & 0x0007) << 8 |
		      (rnd() & 0xff);

	r.prefix = (struct fwd_prefix){ rte_cpu_to_be_32(ip & mask(len)), len };
	r.via[0] = (struct fwd_via){ IP(10, 0, 0, 2 + rnd() % 5), FWD_IFACE_NONE };
	r.via[1] = (struct fwd_via){ IP(192, 0, 2, 2 + rnd() % 5), FWD_IFACE_NONE };
	return r;
}

static void random_edit(void)
{
	struct fwd_route r = random_route();
	uint32_t ip = rte_be_to_cpu_32(r.prefix.addr_be);
	struct plain *p = plain_exact(ip, r.prefix.len);
	int rc;

	if (p && rnd() % 2) {
		assert_int_equal(fwd_route_del(r.prefix, NULL), 0);
		*p = plain[--n_plain];
		return;
	}
	if (!p && rnd() % 2 && n_plain) {	/* one that is surely there */
		p = &plain[rnd() % n_plain];
		r.prefix = (struct fwd_prefix){ rte_cpu_to_be_32(p->ip), p->len };
		assert_int_equal(fwd_route_del(r.prefix, NULL), 0);
		*p = plain[--n_plain];
		return;
	}
	rc = fwd_route_add(&r, NULL);
	if (p) {
		bool same = p->n == r.n_via && has_gateway(p, r.via[0].gw_be) &&
			    (p->n == 1 || has_gateway(p, r.via[1].gw_be));

		assert_int_equal(rc, same ? -EEXIST : -EADDRINUSE);
		return;
	}
	assert_int_equal(rc, 0);
	plain[n_plain++] =
		(struct plain){ip, r.prefix.len, r.n_via, {r.via[0].gw_be, r.via[1].gw_be}};
}

static void test_table_is_what_a_plain_list_says(void **state)
{
	unsigned in_use;

	(void)state;
	n_plain = 0;
	in_use = nexthop_in_use();
	for (unsigned round = 0; round < 1000; round++) {
		struct order o = { .n = 0 };

		for (unsigned i = rnd() % 20; i; i--)
			random_edit();
		if (rnd() % 8 == 0 &&
		    n_plain > 100) { /* empty it, so that every group is freed and reused */
			while (n_plain) {
				struct plain *p = &plain[--n_plain];

				assert_int_equal(del_route(rte_cpu_to_be_32(p->ip), p->len), 0);
			}
		}
		assert_int_equal(fwd_route_count(), n_plain);
		commit();
		for (unsigned i = 0; i < 100; i++) {
			uint32_t ip = (63u + rnd() % 5) << 24 | (rnd() & 0x0003) << 16 |
				      (rnd() & 0x0007) << 8;

			check_one(ip | (rnd() & 0xff));
		}
		if (n_plain)
			check_one(plain[rnd() % n_plain].ip);
		fwd_route_each(check_order, &o);
		assert_int_equal(o.n_static, n_plain);
	}
	while (n_plain) {
		struct plain *p = &plain[--n_plain];

		assert_int_equal(del_route(rte_cpu_to_be_32(p->ip), p->len), 0);
	}
	commit();
	fake_now_ms += 10000;	/* gateways that nobody uses, and that do not answer, go */
	for (unsigned i = 0; i < 20; i++) {
		fwd_poll();
		fake_now_ms += 1000;
		control_flush(dp.inject[0]);
	}
	commit();
	assert_int_equal(nexthop_in_use(), in_use);
}

/* ---- readers --------------------------------------------------------------------------------- */

#define BLOCKS 64	/* /24 networks, each with prefixes of its own gateway */

static atomic_bool stop_reader;
static uint64_t reader_bursts;
static uint32_t reader_bad_ip;
static uint32_t reader_bad_nh;

/* Block b has the default route (10.0.0.2) or longer prefixes by 192.0.2.(2+b), nothing else. */
static void *reader(void *arg)
{
	uint32_t state = 1;
	cpu_set_t all;

	(void)arg;
	CPU_ZERO(&all);	/* any core but, if there is one, EAL's */
	for (unsigned cpu = 1; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &all);
	pthread_setaffinity_np(pthread_self(), sizeof(all),
			       &all); /* refused where there is just one core */
	rte_rcu_qsbr_thread_register(dp.qsbr, 0);
	rte_rcu_qsbr_thread_online(dp.qsbr, 0);
	while (!atomic_load(&stop_reader)) {
		const struct fwd_snapshot *s;
		uint32_t ips[64];
		uint64_t nhs[64];

		rte_rcu_qsbr_quiescent(dp.qsbr, 0);
		s = atomic_load_explicit(&dp.snapshot, memory_order_acquire);
		for (unsigned i = 0; i < 64; i++) {
			state = state * 1664525 + 1013904223;
			ips[i] = 0x40000000u | ((state >> 8) % BLOCKS) << 8 | state >> 24;
		}
		rte_fib_lookup_bulk(s->fib, ips, nhs, 64);
		for (unsigned i = 0; i < 64; i++) {
			uint32_t own =
				rte_be_to_cpu_32(IP(192, 0, 2, 2)) + ((ips[i] >> 8) % BLOCKS);
			uint32_t gw = nhs[i] < FWD_MAX_NH
					      ? rte_be_to_cpu_32(dp.nexthops[nhs[i]].addr_be)
					      : 0;

			if (gw != own && gw != rte_be_to_cpu_32(IP(10, 0, 0, 2)) &&
			    !reader_bad_ip) {
				reader_bad_ip = ips[i];
				reader_bad_nh = nhs[i];
			}
		}
		reader_bursts++;
	}
	rte_rcu_qsbr_thread_offline(dp.qsbr, 0);
	rte_rcu_qsbr_thread_unregister(dp.qsbr, 0);
	return NULL;
}

static void test_reader_never_sees_another_prefixes_group(void **state)
{
	struct timespec t0, t;
	uint8_t has[BLOCKS][256 / 4] = { 0 };	/* /30s */
	unsigned commits = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(add_route(0, 0, IP(10, 0, 0, 2)), 0);
	commit();
	stop_reader = false;
	reader_bad_ip = 0;
	assert_int_equal(pthread_create(&thread, NULL, reader, NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &t0);
	do {
		for (unsigned i = 0; i < 16; i++) {
			unsigned b = rnd() % BLOCKS,
				 p = rnd() % 4; /* few, so that groups come and go */
			rte_be32_t net = rte_cpu_to_be_32(0x40000000u | b << 8 | p << 2);

			if (has[b][p])
				assert_int_equal(del_route(net, 30), 0);
			else
				assert_int_equal(
					add_route(net, 30, rte_cpu_to_be_32(0xc0000202u + b)), 0);
			has[b][p] ^= 1;
		}
		assert_int_equal(fwd_commit(NULL), 0);
		commits++;
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while (t.tv_sec < t0.tv_sec + 2 && !reader_bad_ip);
	atomic_store(&stop_reader, true);
	pthread_join(thread, NULL);
	if (reader_bad_ip)
		fail_msg("%08x had next hop %u", reader_bad_ip, reader_bad_nh);
	assert_true(fib_copies_equal());
	print_message("%u commits, %lu bursts read\n", commits, reader_bursts);
	assert_true(commits > 10 && reader_bursts > 10);
}

/* ---- full tables ----------------------------------------------------------------------------- */

static void test_too_many_routes_are_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10000; i++)
		assert_int_equal(add_route(rte_cpu_to_be_32(0x40000000u + (i << 8)), 24,
					   IP(10, 0, 0, 2)),
				 0);
	assert_int_equal(add_route(IP(80, 0, 0, 0), 24, IP(10, 0, 0, 2)), -ENOSPC);
	assert_non_null(strstr(the_err.msg, "10000"));
	commit();
	assert_int_equal(add_route(IP(80, 0, 0, 0), 24, IP(10, 0, 0, 3)), -ENOSPC);
	assert_int_equal(fwd_route_count(), 10000);
	commit();
	assert_int_equal(worker_lookup(IP(80, 0, 0, 1))->type, NH_NONE);
	assert_int_equal(del_route(IP(64, 0, 0, 0), 24), 0);
	assert_int_equal(add_route(IP(80, 0, 0, 0), 24, IP(10, 0, 0, 2)), 0);
	commit();
	assert_int_equal(worker_lookup(IP(80, 0, 0, 1))->addr_be, IP(10, 0, 0, 2));
}

static int up_large(void **state)
{
	(void)state;
	up_with(200000);
	return 0;
}

static void test_too_many_long_prefixes_are_refused(void **state)
{
	unsigned n = 0;
	int rc;

	(void)state;
	/* like their parent: rte_fib of 22.11 forgets to count these */
	assert_int_equal(add_route(0, 0, IP(10, 0, 0, 2)), 0);
	for (;; n++) {
		rc = add_route(rte_cpu_to_be_32(0x40000000u + (n << 8) + 7), 32,
			       IP(10, 0, 0, 2 + n % 2));
		if (rc)
			break;
		if (n % 1000 == 0)
			commit();
	}
	assert_int_equal(rc, -ENOSPC);
	assert_in_range(n, FIB_TBL8 - 10, FIB_TBL8);
	assert_non_null(strstr(the_err.msg, "/24"));
	commit();
	/* in a network that has one already, there is room; and an edit of all of them at once
	 * works */
	assert_int_equal(add_route(IP(64, 0, 0, 9), 32, IP(10, 0, 0, 4)), 0);
	assert_int_equal(add_route(IP(64, 0, 0, 0), 7, IP(10, 0, 0, 4)), 0);
	commit();
	assert_int_equal(worker_lookup(IP(64, 0, 1, 6))->addr_be, IP(10, 0, 0, 4));
	assert_int_equal(worker_lookup(IP(64, 0, 1, 7))->addr_be, IP(10, 0, 0, 3));
	assert_int_equal(del_route(IP(64, 0, 0, 0), 7), 0);
	assert_int_equal(del_route(0, 0), 0);
	assert_int_equal(del_route(IP(64, 0, 3, 7), 32), 0);
	assert_int_equal(add_route(IP(127, 255, 0, 0), 28, IP(10, 0, 0, 2)), -EINVAL);
	assert_int_equal(add_route(IP(99, 255, 0, 0), 28, IP(10, 0, 0, 2)), 0);
	assert_int_equal(add_route(IP(99, 255, 1, 0), 28, IP(10, 0, 0, 2)), -ENOSPC);
	commit();
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(del_route(rte_cpu_to_be_32(0x40000000u + (i << 8) + 7), 32),
				 i == 3 ? -ENOENT : 0);
	commit();
	/* the count has come back to where it was */
	for (unsigned i = 0; i < FIB_TBL8 - 10; i++)
		assert_int_equal(add_route(rte_cpu_to_be_32(0x50000000u + (i << 8)), 30,
					   IP(10, 0, 0, 2)),
				 0);
	commit();
}

static void test_table_grows(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 80000; i++) {
		/* spread, so that the tree needs nodes between them */
		uint32_t ip = 0x40000000u + (i * 2654435761u & 0x1fffffu) * 0x100;

		if (add_route(rte_cpu_to_be_32(ip), 24, IP(10, 0, 0, 2 + i % 7)))
			assert_int_equal(the_err.msg[0],
					 't'); /* "the route ... is there already" */
		if (i % 25000 == 7)
			commit();
	}
	assert_true(fwd_route_count() > 70000);
	commit();
	assert_int_equal(del_route(IP(64, 0, 0, 0), 24), 0);
	commit();
	assert_int_equal(worker_lookup(IP(64, 0, 0, 9))->type, NH_NONE);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_bad_routes_are_refused_with_a_reason(void **state)
{
	struct fwd_route r = { .prefix = { IP(64, 0, 0, 0), 24 }, .n_via = 2 };

	(void)state;
	assert_int_equal(add_route(IP(64, 0, 0, 1), 24, IP(10, 0, 0, 2)), -EINVAL);
	assert_non_null(strstr(the_err.msg, "64.0.0.0/24"));
	assert_int_equal(add_route(IP(64, 0, 0, 0), 33, IP(10, 0, 0, 2)), -EINVAL);
	assert_int_equal(add_route(IP(64, 0, 0, 0), 24, IP(10, 0, 1, 2)), -ENETUNREACH);
	assert_int_equal(add_route(IP(64, 0, 0, 0), 24, IP(10, 0, 0, 1)), -EINVAL);
	assert_int_equal(add_route(IP(64, 0, 0, 0), 24, IP(10, 0, 0, 0)), -EINVAL);
	assert_int_equal(add_route(IP(64, 0, 0, 0), 24, IP(10, 0, 0, 255)), -EINVAL);
	assert_int_equal(add_route(IP(10, 0, 0, 0), 24, IP(192, 0, 2, 2)), -EADDRINUSE);
	assert_int_equal(add_route(IP(10, 0, 0, 1), 32, IP(192, 0, 2, 2)), -EADDRINUSE);
	assert_int_equal(add_route(IP(10, 0, 0, 255), 32, IP(192, 0, 2, 2)), -EADDRINUSE);
	assert_int_equal(add_route(IP(224, 0, 0, 0), 24, IP(192, 0, 2, 2)), -EINVAL);
	assert_int_equal(add_route(IP(127, 0, 0, 0), 8, IP(192, 0, 2, 2)), -EINVAL);
	r.via[0] = (struct fwd_via){ IP(10, 0, 0, 2), wan };
	r.via[1] = (struct fwd_via){ IP(192, 0, 2, 2), wan };
	assert_int_equal(fwd_route_add(&r, &the_err), -ENETUNREACH);
	r.via[0] = r.via[1];
	assert_int_equal(fwd_route_add(&r, &the_err), -EINVAL);
	r.n_via = 0;
	assert_int_equal(fwd_route_add(&r, &the_err), -EINVAL);
	r.n_via = FWD_MAX_VIA + 1;
	assert_int_equal(fwd_route_add(&r, &the_err), -EINVAL);
	assert_int_equal(del_route(IP(64, 0, 0, 0), 24), -ENOENT);
	assert_int_equal(del_route(IP(10, 0, 0, 0), 24), -ENOENT);
	assert_int_equal(del_route(IP(10, 0, 0, 1), 32), -ENOENT);
	assert_int_equal(fwd_route_count(), 0);
}

static void test_order_of_gateways_does_not_matter(void **state)
{
	struct fwd_route r = {.prefix = {IP(64, 0, 0, 0), 24},
			      .n_via = 2,
			      .via = {{IP(192, 0, 2, 2), FWD_IFACE_NONE},
				      {IP(10, 0, 0, 2), FWD_IFACE_NONE}}};
	struct fwd_via swap;
	struct fwd_route got;
	uint32_t first;

	(void)state;
	assert_int_equal(fwd_route_add(&r, &the_err), 0);
	swap = r.via[0];
	r.via[0] = r.via[1];
	r.via[1] = swap;
	assert_int_equal(fwd_route_add(&r, &the_err), -EEXIST);
	first = fib_get(0x40000000, 24);
	r.prefix.addr_be = IP(65, 0, 0, 0);
	assert_int_equal(fwd_route_add(&r, &the_err), 0);
	assert_int_equal(fib_get(0x41000000, 24), first);	/* shared */
	assert_int_equal(fwd_route_get(r.prefix, &got), 0);
	assert_int_equal(got.n_via, 2);
	assert_int_equal(got.via[0].gw_be, IP(10, 0, 0, 2));
	assert_int_equal(got.via[0].iface, lan);
	assert_int_equal(got.via[1].iface, wan);
	assert_int_equal(del_route(IP(64, 0, 0, 0), 24), 0);
	commit();
	assert_int_equal(worker_lookup(IP(65, 0, 0, 1))->type, NH_GROUP);
	assert_int_equal(del_route(IP(65, 0, 0, 0), 24), 0);
	commit();
	assert_int_equal(nexthop_refs(first), 0);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void test_addresses_make_their_prefixes(void **state)
{
	struct fwd_address a;
	struct fwd_route r;

	(void)state;
	assert_int_equal(worker_lookup(IP(10, 0, 0, 1))->type, NH_LOCAL);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 0))->type, NH_BROADCAST);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 255))->type, NH_BROADCAST);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 9))->type, NH_GLEAN);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 9))->iface, lan);
	assert_int_equal(worker_lookup(IP(10, 0, 1, 9))->type, NH_NONE);
	assert_int_equal(fwd_route_get((struct fwd_prefix){ IP(10, 0, 0, 0), 24 }, &r), 0);
	assert_int_equal(r.type, FWD_ROUTE_CONNECTED);
	assert_int_equal(r.iface, lan);
	assert_int_equal(dp.snapshot->ifaces[lan].n_addrs, 1);
	assert_int_equal(dp.snapshot->ifaces[lan].addrs[0].mask_be, IP(255, 255, 255, 0));
	assert_int_equal(fake_locals, 2);

	/* the same prefix again on this interface: shared; on another: refused */
	assert_int_equal(add_address(lan, IP(10, 0, 0, 2), 24), 0);
	assert_int_equal(add_address(lan, IP(10, 0, 0, 2), 24), -EEXIST);
	assert_int_equal(add_address(lan, IP(10, 0, 0, 2), 25), -EADDRINUSE);
	assert_int_equal(add_address(wan, IP(10, 0, 0, 3), 24), -EADDRINUSE);
	assert_int_equal(add_address(wan, IP(10, 0, 0, 2), 32), -EADDRINUSE);
	assert_int_equal(fwd_address_get(2, &a), 0);
	assert_int_equal(a.addr_be, IP(10, 0, 0, 2));
	assert_int_equal(fwd_address_get(3, &a), -ENOENT);
	assert_int_equal(del_address(lan, IP(10, 0, 0, 1), 24), 0);
	commit();
	assert_int_equal(worker_lookup(IP(10, 0, 0, 1))->type, NH_GLEAN);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 0))->type, NH_BROADCAST);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 2))->type, NH_LOCAL);
	assert_int_equal(del_address(lan, IP(10, 0, 0, 2), 24), 0);
	commit();
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(worker_lookup(rte_cpu_to_be_32(0x0a000000 + i))->type, NH_NONE);
	assert_int_equal(fake_locals, 1);
}

static void test_bad_addresses_are_refused(void **state)
{
	(void)state;
	assert_int_equal(add_address(lan, IP(10, 1, 0, 0), 24), -EINVAL);
	assert_int_equal(add_address(lan, IP(10, 1, 0, 255), 24), -EINVAL);
	assert_int_equal(add_address(lan, IP(127, 0, 0, 1), 8), -EINVAL);
	assert_int_equal(add_address(lan, IP(224, 0, 0, 1), 24), -EINVAL);
	assert_int_equal(add_address(lan, IP(0, 1, 2, 3), 24), -EINVAL);
	assert_int_equal(add_address(lan, IP(10, 1, 0, 1), 0), -EINVAL);
	assert_int_equal(add_address(lan, IP(10, 1, 0, 1), 33), -EINVAL);
	assert_int_equal(add_address(77, IP(10, 1, 0, 1), 24), -ENOENT);
	assert_int_equal(del_address(lan, IP(10, 0, 0, 1), 25), -ENOENT);
	assert_int_equal(del_address(wan, IP(10, 0, 0, 1), 24), -ENOENT);
	/* a point-to-point network has no broadcast address, RFC 3021 */
	assert_int_equal(add_address(lan, IP(10, 1, 0, 0), 31), 0);
	commit();
	assert_int_equal(worker_lookup(IP(10, 1, 0, 0))->type, NH_LOCAL);
	assert_int_equal(worker_lookup(IP(10, 1, 0, 1))->type, NH_GLEAN);
	for (unsigned i = 2; i < FWD_IFACE_ADDRS; i++)
		assert_int_equal(add_address(lan, rte_cpu_to_be_32(0x0a020001 + (i << 8)), 24), 0);
	assert_int_equal(add_address(lan, IP(10, 3, 0, 1), 24), -ENOSPC);
}

static void test_prefixes_that_overlap_keep_apart(void **state)
{
	(void)state;
	/* .127 is a host of the /24 and a broadcast address of the /25 */
	assert_int_equal(add_address(lan, IP(10, 0, 0, 127), 24), 0);
	assert_int_equal(add_address(wan, IP(10, 0, 0, 5), 25), 0);
	commit();
	assert_int_equal(worker_lookup(IP(10, 0, 0, 127))->type, NH_LOCAL);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 0))->type, NH_BROADCAST);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 9))->iface, wan);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 200))->iface, lan);
	assert_int_equal(del_address(lan, IP(10, 0, 0, 127), 24), 0);
	commit();
	assert_int_equal(worker_lookup(IP(10, 0, 0, 127))->type, NH_BROADCAST);
	assert_int_equal(del_address(wan, IP(10, 0, 0, 5), 25), 0);
	commit();
	assert_int_equal(worker_lookup(IP(10, 0, 0, 127))->type, NH_GLEAN);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 0))->type, NH_BROADCAST);
	assert_int_equal(worker_lookup(IP(10, 0, 0, 0))->iface, lan);
}

static void test_what_a_route_needs_stays(void **state)
{
	(void)state;
	assert_int_equal(add_route(IP(64, 0, 0, 0), 8, IP(192, 0, 2, 254)), 0);
	assert_int_equal(del_address(wan, IP(192, 0, 2, 1), 24), -EBUSY);
	assert_non_null(strstr(the_err.msg, "192.0.2.254"));
	assert_int_equal(fwd_iface_del("wan", &the_err), -EBUSY);
	assert_int_equal(add_address(wan, IP(192, 0, 2, 254), 24), -EADDRINUSE);
	/* with another address in the prefix, this one may go */
	assert_int_equal(add_address(wan, IP(192, 0, 2, 2), 24), 0);
	assert_int_equal(del_address(wan, IP(192, 0, 2, 1), 24), 0);
	assert_int_equal(del_address(wan, IP(192, 0, 2, 2), 24), -EBUSY);
	commit();
	assert_int_equal(worker_lookup(IP(64, 1, 1, 1))->addr_be, IP(192, 0, 2, 254));
	/* a route that an address's own prefixes would hide */
	assert_int_equal(add_route(IP(172, 16, 0, 0), 24, IP(10, 0, 0, 9)), 0);
	assert_int_equal(add_address(wan, IP(172, 16, 0, 1), 24), -EADDRINUSE);
	assert_int_equal(add_route(IP(172, 17, 0, 1), 32, IP(10, 0, 0, 9)), 0);
	assert_int_equal(add_address(wan, IP(172, 17, 0, 1), 24), -EADDRINUSE);
	assert_int_equal(del_route(IP(64, 0, 0, 0), 8), 0);
	assert_int_equal(fwd_iface_del("wan", &the_err), 0);
	assert_int_equal(fwd_iface_find("wan"), -ENOENT);
	commit();
	assert_int_equal(worker_lookup(IP(192, 0, 2, 254))->type, NH_NONE);
	assert_int_equal(dp.snapshot->ifaces[wan].flags & IFACE_PRESENT, 0);
	assert_int_equal(fake_locals, 1);
}

/* ---- interfaces ------------------------------------------------------------------------------ */

static void test_vlan_interfaces_lie_on_ports(void **state)
{
	struct fwd_iface_conf conf = { .name = "v", .parent = "lan", .vlan = 7 };
	struct fwd_iface_info info;
	uint32_t speed;
	bool up;
	uint16_t v;

	(void)state;
	v = add_vlan("lan.100", "lan", 100);
	assert_int_equal(fwd_iface_add(&conf, &the_err), 0);
	assert_int_equal(fwd_iface_add(&conf, &the_err), -EEXIST);
	strcpy(conf.name, "w");
	assert_int_equal(fwd_iface_add(&conf, &the_err), -EADDRINUSE);
	strcpy(conf.parent, "lan.100");
	assert_int_equal(fwd_iface_add(&conf, &the_err), -EINVAL);
	strcpy(conf.parent, "none");
	assert_int_equal(fwd_iface_add(&conf, &the_err), -ENOENT);
	strcpy(conf.parent, "lan");
	conf.vlan = 4095;
	assert_int_equal(fwd_iface_add(&conf, &the_err), -EINVAL);
	conf.vlan = 8;
	conf.mtu = 1501;
	assert_int_equal(fwd_iface_add(&conf, &the_err), -EINVAL);
	commit();
	assert_int_equal(dp.snapshot->ports[0].native_iface, lan);
	assert_int_equal(dp.snapshot->ports[0].vlan_iface[100], v);
	assert_int_equal(dp.snapshot->ports[0].vlan_iface[101], FWD_IFACE_NONE);
	assert_int_equal(dp.snapshot->ifaces[v].vlan, 100);
	assert_int_equal(dp.snapshot->ifaces[v].port, 0);
	assert_null(dp.snapshot->ports[1].vlan_iface);
	assert_int_equal(fwd_iface_set_mtu("lan", 9000, &the_err), 0);
	assert_int_equal(fwd_iface_set_mtu("lan.100", 4000, &the_err), 0);
	assert_int_equal(fwd_iface_set_mtu("lan.100", 9001, &the_err), -EINVAL);
	assert_int_equal(fwd_iface_set_mtu("lan", 1500, &the_err), -EBUSY);
	assert_int_equal(fwd_iface_info(v, &info), 0);
	assert_int_equal(info.conf.mtu, 4000);
	assert_int_equal(fake_link_asked, 0); /* each route that is listed has its interface's name */
	assert_int_equal(fwd_iface_link(v, &up, &speed), 0);
	assert_int_equal(fake_link_asked, 1);
	assert_int_equal(fwd_iface_link(FWD_MAX_IFACES - 1, &up, &speed), -ENOENT);
	commit();
	assert_int_equal(dp.snapshot->ifaces[lan].mtu, 9000);
	assert_int_equal(dp.snapshot->ifaces[v].mtu, 4000);
	/* 0: what carries it, and the device's own */
	assert_int_equal(fwd_iface_set_mtu("lan.100", 0, &the_err), 0);
	commit();
	assert_int_equal(dp.snapshot->ifaces[v].mtu, 9000);
	assert_int_equal(fwd_iface_set_mtu("lan", 0, &the_err), 0);
	assert_int_equal(fwd_iface_info(v, &info), 0);
	assert_int_equal(info.conf_mtu, 0);
	commit();
	assert_int_equal(dp.snapshot->ifaces[lan].mtu, 1500);
	assert_int_equal(dp.snapshot->ifaces[v].mtu, 1500);
	assert_int_equal(fwd_iface_del("lan", &the_err), -EBUSY);
	assert_int_equal(fwd_iface_del("lan.100", &the_err), 0);
	assert_int_equal(fwd_iface_del("v", &the_err), 0);
	assert_int_equal(fwd_iface_del("lan", &the_err), 0);
	assert_int_equal(fwd_iface_info(v, &info), -ENOENT);
	assert_int_equal(dp.snapshot->ports[0].native_iface, FWD_IFACE_NONE);
	assert_int_equal(dp.snapshot->workers[0].n_rxq, 1);	/* wan's */
}

static void test_interface_that_does_not_open_leaves_nothing(void **state)
{
	struct fwd_iface_conf conf = { .name = "x", .devargs = "refused" };

	(void)state;
	assert_int_equal(fwd_iface_add(&conf, &the_err), -ENODEV);
	assert_int_equal(fwd_iface_find("x"), -ENOENT);
	strcpy(conf.devargs, "");
	assert_int_equal(fwd_iface_add(&conf, &the_err), -EINVAL);
	strcpy(conf.devargs, "fake");
	conf.rxqs = FWD_MAX_QUEUES + 1;
	assert_int_equal(fwd_iface_add(&conf, &the_err), -EINVAL);
	conf.rxqs = 0;
	conf.mtu = 67;
	assert_int_equal(fwd_iface_add(&conf, &the_err), -EINVAL);
	conf.mtu = 0;
	assert_int_equal(fwd_iface_add(&conf, &the_err), 0);
}

static int up_two_workers(void **state)
{
	(void)state;
	fake_workers = 2;
	fake_txqs = 1;
	up_with(10000);
	return 0;
}

static int down_two_workers(void **state)
{
	control_flush(dp.inject[1]);
	rte_ring_free(dp.inject[1]);
	fake_workers = 1;
	fake_txqs = 64;
	return down(state);
}

static void test_queues_go_round_the_workers(void **state)
{
	struct fwd_iface_conf conf = { .name = "x", .devargs = "fake", .rxqs = 3 };
	const struct dp_worker_conf *w;

	(void)state;
	dp.inject[1] = rte_ring_create("inject1", 64, SOCKET_ID_ANY, RING_F_SC_DEQ);
	fake_txqs = 64;
	assert_int_equal(fwd_iface_add(&conf, &the_err), 0);
	commit();
	w = dp.snapshot->workers;
	assert_int_equal(dp.snapshot->n_workers, 2);
	/* lan 0, wan 0, x 0, 1, 2 */
	assert_int_equal(w[0].n_rxq, 3);
	assert_int_equal(w[1].n_rxq, 2);
	assert_int_equal(w[0].rxq[1].port, 2);
	assert_int_equal(w[0].rxq[1].queue, 0);
	assert_int_equal(w[1].rxq[1].port, 2);
	assert_int_equal(w[1].rxq[1].queue, 1);
	assert_int_equal(w[0].rxq[2].queue, 2);
	/* lan and wan have one transmit queue, x has two */
	assert_int_equal(w[0].txq[0], 0);
	assert_int_equal(w[1].txq[0], UINT16_MAX);
	assert_int_equal(w[0].txq[2], 0);
	assert_int_equal(w[1].txq[2], 1);
	assert_int_equal(w[0].txq[3], UINT16_MAX);
	assert_int_equal(dp.snapshot->txq_owner[0], 0);
	conf = (struct fwd_iface_conf){ .devargs = "fake", .rxqs = FWD_MAX_QUEUES };
	for (unsigned i = 0; i < 7; i++) {
		snprintf(conf.name, sizeof(conf.name), "p%u", i);
		assert_int_equal(fwd_iface_add(&conf, &the_err), 0);
	}
	strcpy(conf.name, "q");
	assert_int_equal(fwd_iface_add(&conf, &the_err), -ENOSPC);
	conf.rxqs = 11;	/* the last that two workers can poll */
	assert_int_equal(fwd_iface_add(&conf, &the_err), 0);
	commit();
	w = dp.snapshot->workers;
	assert_int_equal(w[0].n_rxq, FWD_WORKER_RXQ);
	assert_int_equal(w[1].n_rxq, FWD_WORKER_RXQ);
	assert_int_equal(fwd_iface_del("x", &the_err), 0);
}

/* A device that steers counts on it, whichever ports come before or between. One that steers by port
 * wants ports chosen for it. */
static void test_steered_queues_are_polled_by_the_owners(void **state)
{
	struct fwd_iface_conf conf = {
		.name = "x", .devargs = "fake", .rxqs = 3, .rss = FWD_RSS_SOURCE};
	struct nat_limits limits = {.max_sessions = 1000, .max_external = 2, .seed = 7};
	struct nat_ops none = {0};
	struct nat_shared *shared = nat_shared_create(&limits, &none, 2);
	uint16_t port[2], queue[2][512];

	(void)state;
	assert_non_null(shared);
	dp.inject[1] = rte_ring_create("inject1", 64, SOCKET_ID_ANY, RING_F_SC_DEQ);
	fake_txqs = 64;
	add_iface("odd");
	assert_int_equal(fwd_iface_add(&conf, &the_err), 0);
	dp.nat_shared = shared;
	commit();
	assert_false(shared->prefer_ports);
	strcpy(conf.name, "y");
	conf.rxqs = 4;
	conf.rss = FWD_RSS_DESTINATION_PORT;
	assert_int_equal(fwd_iface_add(&conf, &the_err), 0);
	assert_int_equal(fwd_iface_add(&(struct fwd_iface_conf){.name = "v",
								.parent = "y",
								.vlan = 3,
								.rss = FWD_RSS_SOURCE},
				       &the_err),
			 -EINVAL);
	commit();
	assert_true(shared->prefer_ports);
	for (unsigned i = 0; i < 2; i++)
		port[i] = iface_get(fwd_iface_find(i ? "y" : "x"))->port->port_id;
	rss_fill(shared, 2, 3, queue[0], 512);
	rss_fill(shared, 2, 4, queue[1], 512);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned entry = 0; entry < 512 * 2; entry++) {
			uint16_t q = queue[entry % 2][entry / 2];
			unsigned owner = nat_shared_share_owner(shared, entry / 2 % 64);
			const struct dp_worker_conf *w = &dp.snapshot->workers[owner];
			unsigned k = 0;

			while (k < w->n_rxq &&
			       (w->rxq[k].port != port[entry % 2] || w->rxq[k].queue != q))
				k++;
			assert_true(k < w->n_rxq);
		}
		/* each queue once */
		assert_int_equal(dp.snapshot->workers[0].n_rxq + dp.snapshot->workers[1].n_rxq,
				 3 + 4 + 3 - turn);
		if (turn == 0) {
			assert_int_equal(fwd_iface_del("odd", &the_err), 0);
			commit();
		}
	}
	assert_int_equal(fwd_iface_del("y", &the_err), 0);
	commit();
	assert_false(shared->prefer_ports);
	dp.nat_shared = NULL;
	nat_shared_destroy(shared);
}

static int up_huge(void **state)
{
	(void)state;
	up_with(1000000);
	return 0;
}

static void test_no_memory_for_more_routes(void **state)
{
	void *hog[64];
	unsigned n = 0, n_hogs = 0;
	int rc;

	(void)state;
	while (n_hogs < RTE_DIM(hog) && (hog[n_hogs] = rte_malloc("hog", 32 << 20, 0)))
		n_hogs++;
	do
		rc = add_route(rte_cpu_to_be_32(0x40000000u + (n++ << 9)), 24, IP(10, 0, 0, 2));
	while (rc == 0);
	assert_int_equal(rc, -ENOSPC);
	assert_non_null(strstr(the_err.msg, "memory"));
	assert_in_range(n, 10000, 100000);
	assert_int_equal(fwd_route_count(), n - 1);
	commit();
	assert_int_equal(add_route(IP(63, 0, 0, 0), 24, IP(10, 0, 0, 2)), -ENOSPC);
	assert_int_equal(del_route(IP(64, 0, 2, 0), 24), 0);
	assert_int_equal(add_route(IP(64, 0, 2, 0), 25, IP(10, 0, 0, 2)), 0);
	commit();
	assert_int_equal(worker_lookup(IP(64, 0, 2, 1))->addr_be, IP(10, 0, 0, 2));
	assert_int_equal(worker_lookup(IP(64, 0, 2, 129))->type, NH_NONE);
	assert_int_equal(worker_lookup(IP(63, 0, 0, 1))->type, NH_NONE);
	/* with memory it goes on */
	while (n_hogs)
		rte_free(hog[--n_hogs]);
	assert_int_equal(add_route(IP(63, 0, 0, 0), 24, IP(10, 0, 0, 2)), 0);
	commit();
	assert_int_equal(worker_lookup(IP(63, 0, 0, 1))->addr_be, IP(10, 0, 0, 2));
	assert_int_equal(worker_lookup(IP(64, 0, 4, 1))->addr_be, IP(10, 0, 0, 2));
}

/* What was expected has its room, whatever becomes of memory afterwards; more than there is memory
 * for is not expected in vain. */
static void test_expected_routes_have_their_room(void **state)
{
	void *hog[64];
	unsigned n_hogs = 0;

	(void)state;
	fwd_route_expect(60000, 5000);
	while (n_hogs < RTE_DIM(hog) && (hog[n_hogs] = rte_malloc("hog", 32 << 20, 0)))
		n_hogs++;
	fwd_route_expect(1000000, FIB_TBL8);
	for (unsigned n = 0; n < 60000; n++) {
		uint32_t ip = 0x40000000u + (n << 9) + (n % 12 ? 0 : 128);

		assert_int_equal(add_route(rte_cpu_to_be_32(ip), n % 12 ? 24 : 25, IP(10, 0, 0, 2)),
				 0);
	}
	commit();
	assert_true(fib_copies_equal());
	assert_int_equal(worker_lookup(rte_cpu_to_be_32(0x40000000u + (59999u << 9)))->addr_be,
			 IP(10, 0, 0, 2));
	assert_int_equal(worker_lookup(rte_cpu_to_be_32(0x40000000u + 128))->addr_be,
			 IP(10, 0, 0, 2));
	assert_int_equal(worker_lookup(rte_cpu_to_be_32(0x40000000u))->type, NH_NONE);
	while (n_hogs)
		rte_free(hog[--n_hogs]);
	/* fewer change nothing, and what there is stays in it when room is made for more */
	fwd_route_expect(10, 0);
	fwd_route_expect(100000, 6000);
	commit();
	assert_true(fib_copies_equal());
	assert_int_equal(worker_lookup(rte_cpu_to_be_32(0x40000000u + 128))->addr_be,
			 IP(10, 0, 0, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
		T(test_table_is_what_a_plain_list_says),
		T(test_reader_never_sees_another_prefixes_group),
		T(test_too_many_routes_are_refused),
		T(test_bad_routes_are_refused_with_a_reason),
		T(test_order_of_gateways_does_not_matter),
		T(test_addresses_make_their_prefixes),
		T(test_bad_addresses_are_refused),
		T(test_prefixes_that_overlap_keep_apart),
		T(test_what_a_route_needs_stays),
		T(test_vlan_interfaces_lie_on_ports),
		T(test_interface_that_does_not_open_leaves_nothing),
#undef T
		cmocka_unit_test_setup_teardown(test_too_many_long_prefixes_are_refused, up_large,
						down),
		cmocka_unit_test_setup_teardown(test_table_grows, up_large, down),
		cmocka_unit_test_setup_teardown(test_no_memory_for_more_routes, up_huge, down),
		cmocka_unit_test_setup_teardown(test_expected_routes_have_their_room, up_huge,
						down),
		cmocka_unit_test_setup_teardown(test_steered_queues_are_polled_by_the_owners,
						up_two_workers, down_two_workers),
		cmocka_unit_test_setup_teardown(test_queues_go_round_the_workers, up_two_workers,
						down_two_workers),
	};

	control_eal("1024");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
