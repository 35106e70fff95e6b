/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: each state and what leads to the next, packets that wait, bounds against floods, and
 * the neighbour's own prefix beside static routes.
 */
#include "control_fixture.h"

#include <rte_ip.h>

static const uint8_t mac_a[6] = { 2, 0, 0, 0, 1, 1 }, mac_b[6] = { 2, 0, 0, 0, 1, 2 };
static uint16_t lan, wan;

static int up_with(uint32_t max)
{
	control_up(10000, max);
	lan = add_iface("lan");
	wan = add_iface("wan");
	assert_int_equal(add_address(lan, IP(10, 0, 0, 1), 16), 0);
	assert_int_equal(add_address(wan, IP(192, 0, 2, 1), 24), 0);
	commit();
	control_flush(dp.inject[0]);
	return 0;
}

static int up(void **state)
{
	(void)state;
	return up_with(8192);
}

static int up_small(void **state)
{
	(void)state;
	return up_with(100);
}

static int down(void **state)
{
	(void)state;
	control_down();
	return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* A worker punts a datagram to dst, which came in by wan; n tells it from others. False: the ring
 * is full. */
static bool punt(rte_be32_t dst_be, uint8_t n)
{
	uint32_t ip = rte_be_to_cpu_32(dst_be);
	struct rte_mbuf *m = rte_pktmbuf_alloc(dp.pool);
	struct rte_ipv4_hdr *h;
	uint64_t nh;

	assert_non_null(m);
	rte_fib_lookup_bulk(dp.snapshot->fib, &ip, &nh, 1);
	h = (struct rte_ipv4_hdr *)rte_pktmbuf_append(m, 60);
	if (!h)
		abort();
	memset(h, 0, 60);
	h->version_ihl = 0x45;
	h->packet_id = n;
	h->dst_addr = dst_be;
	*fwd_priv(m) =
		(struct fwd_mbuf_priv){.iface = wan, .kind = PUNT_HOLD, .nh = nh, .dst_be = dst_be};
	if (rte_ring_mp_enqueue(dp.punt, m)) {
		rte_pktmbuf_free(m);
		return false;
	}
	return true;
}

/* What an ARP packet with these words does. */
static void hear(uint16_t iface, uint8_t op, const uint8_t mac[6], rte_be32_t sender_be,
		 rte_be32_t target_be)
{
	uint8_t f[60] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	memcpy(f + 6, mac, 6);
	memcpy(f + 12, (const uint8_t[]){ 8, 6, 0, 1, 8, 0, 6, 4, 0, op }, 10);
	memcpy(f + 22, mac, 6);
	memcpy(f + 28, &sender_be, 4);
	memcpy(f + 38, &target_be, 4);
	control_arp_input(iface, f, sizeof(f));
}

static void answer(const uint8_t mac[6], rte_be32_t sender_be)
{
	hear(lan, ARP_REPLY, mac, sender_be, IP(10, 0, 0, 1));
}

static struct fwd_neigh_info found;

static bool find_one(void *arg, const struct fwd_neigh_info *n)
{
	if (n->addr_be != *(rte_be32_t *)arg)
		return true;
	found = *n;
	return false;
}

/* The state of a neighbour, -1: there is none. Sets found. */
static int state_of(rte_be32_t addr_be)
{
	found = (struct fwd_neigh_info){ .iface = FWD_IFACE_NONE };
	fwd_neigh_each(find_one, &addr_be);
	return found.iface == FWD_IFACE_NONE ? -1 : (int)found.state;
}

/* The next frame sent must be a request for addr: to everyone, or to one. */
static void expect_request(rte_be32_t addr_be, const uint8_t *to)
{
	struct rte_mbuf *m = sent();
	struct arp a;

	assert_non_null(m);
	assert_int_equal(m->pkt_len, 60);
	assert_true(arp_parse(rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len, &a));
	assert_int_equal(a.op, ARP_REQUEST);
	assert_int_equal(a.target_be, addr_be);
	assert_int_equal(a.sender_be, IP(10, 0, 0, 1));
	assert_memory_equal(a.eth_dst, to ? to : arp_broadcast_mac, 6);
	assert_int_equal(fwd_priv(m)->iface, lan);
	rte_pktmbuf_free(m);
}

/* The next frame sent must be the datagram n, to that MAC address. */
static void expect_datagram(uint8_t n, const uint8_t mac[6])
{
	struct rte_mbuf *m = sent();
	const uint8_t *f;

	assert_non_null(m);
	f = rte_pktmbuf_mtod(m, uint8_t *);
	assert_int_equal(m->pkt_len, 74);
	assert_memory_equal(f, mac, 6);
	assert_memory_equal(f + 6, ((const uint8_t[]){ 2, 0, 0, 0, 0, 1 }), 6);
	assert_int_equal(f[12] << 8 | f[13], 0x0800);
	assert_int_equal(f[14], 0x45);
	assert_int_equal(f[18], n);
	rte_pktmbuf_free(m);
}

static void expect_silence(void)
{
	assert_null(sent());
}

static void wait_ms(unsigned ms)
{
	fake_now_ms += ms;
	fwd_poll();
}

/* ---- a host on the network ------------------------------------------------------------------- */

#define HOST IP(10, 0, 0, 9)

static void test_packets_wait_for_the_answer_in_order(void **state)
{
	(void)state;
	punt(HOST, 1);
	punt(HOST, 2);
	fwd_poll();
	assert_int_equal(state_of(HOST), FWD_NEIGH_INCOMPLETE);
	assert_int_equal(found.queued, 2);
	expect_request(HOST, NULL);
	expect_silence();
	assert_int_equal(worker_lookup(HOST)->type, NH_GLEAN);
	answer(mac_a, HOST);
	expect_datagram(1, mac_a);
	expect_datagram(2, mac_a);
	expect_silence();
	assert_int_equal(state_of(HOST), FWD_NEIGH_REACHABLE);
	assert_memory_equal(found.mac, mac_a, 6);
	assert_int_equal(neigh_held(), 0);
	fwd_poll();	/* publishes its own prefix */
	assert_true(fib_copies_equal());
	assert_int_equal(worker_lookup(HOST)->type, NH_NEIGHBOUR);
	{
		union nh_adj adj = { .word = worker_lookup(HOST)->adj };

		assert_int_equal(adj.usable, 1);
		assert_memory_equal(adj.mac, mac_a, 6);
	}
	/* one that a worker sent our way before it knew */
	punt(HOST, 3);
	fwd_poll();
	expect_datagram(3, mac_a);
}

static void test_host_that_does_not_answer_fails_and_is_not_asked_for_a_while(void **state)
{
	(void)state;
	punt(HOST, 1);
	fwd_poll();
	for (unsigned i = 0; i < 3; i++) {
		expect_request(HOST, NULL);
		expect_silence();
		wait_ms(999);
		expect_silence();
		assert_int_equal(fake_unreachable, 0);
		wait_ms(1);
	}
	assert_int_equal(fake_unreachable, 1);
	assert_int_equal(state_of(HOST), FWD_NEIGH_FAILED);
	punt(HOST, 2);
	wait_ms(2990);
	assert_int_equal(fake_unreachable, 2);
	expect_silence();
	wait_ms(10);
	assert_int_equal(state_of(HOST), -1);
	punt(HOST, 3);
	fwd_poll();
	expect_request(HOST, NULL);
	answer(mac_a, HOST);
	expect_datagram(3, mac_a);
}

static void test_eight_packets_wait_and_no_more(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++)
		punt(HOST, i);
	fwd_poll();
	expect_request(HOST, NULL);
	assert_int_equal(state_of(HOST), FWD_NEIGH_INCOMPLETE);
	assert_int_equal(found.queued, 8);
	assert_int_equal(drop_count(wan, FWD_D_neighbour_queue_full), 12);
	answer(mac_a, HOST);
	for (unsigned i = 0; i < 8; i++)	/* the oldest */
		expect_datagram(i, mac_a);
	expect_silence();
}

static void test_reachable_is_probed_and_goes_when_silent(void **state)
{
	(void)state;
	punt(HOST, 1);
	fwd_poll();
	answer(mac_a, HOST);
	control_flush(dp.inject[0]);
	fwd_poll();
	wait_ms(200000);
	hear(lan, ARP_REQUEST, mac_a, HOST, IP(10, 0, 0, 77));	/* any ARP of it confirms */
	wait_ms(299000);
	expect_silence();
	assert_int_equal(state_of(HOST), FWD_NEIGH_REACHABLE);
	wait_ms(1000);
	assert_int_equal(state_of(HOST), FWD_NEIGH_PROBE);
	for (unsigned i = 0; i < 3; i++) {
		expect_request(HOST, mac_a);
		expect_silence();
		assert_int_equal(((union nh_adj){ .word = worker_lookup(HOST)->adj }).usable, 1);
		wait_ms(1000);
	}
	for (unsigned i = 0; i < 3; i++) {
		expect_request(HOST, NULL);
		expect_silence();
		assert_int_equal(state_of(HOST), FWD_NEIGH_PROBE);
		wait_ms(1000);
	}
	assert_int_equal(state_of(HOST), -1);
	expect_silence();
	assert_true(fib_copies_equal());
	assert_int_equal(worker_lookup(HOST)->type, NH_GLEAN);
}

static void test_probe_is_answered(void **state)
{
	(void)state;
	punt(HOST, 1);
	fwd_poll();
	answer(mac_a, HOST);
	control_flush(dp.inject[0]);
	wait_ms(300000);
	expect_request(HOST, mac_a);
	wait_ms(1000);
	expect_request(HOST, mac_a);
	answer(mac_a, HOST);
	assert_int_equal(state_of(HOST), FWD_NEIGH_REACHABLE);
	wait_ms(299999);
	expect_silence();
	wait_ms(1);
	expect_request(HOST, mac_a);
}

/* ---- who says what --------------------------------------------------------------------------- */

static void test_new_entries_come_only_from_requests_to_us(void **state)
{
	(void)state;
	hear(lan, ARP_REQUEST, mac_a, HOST, IP(10, 0, 0, 77));	/* to another */
	assert_int_equal(state_of(HOST), -1);
	hear(lan, ARP_REQUEST, mac_a, HOST, HOST);		/* gratuitous */
	assert_int_equal(state_of(HOST), -1);
	answer(mac_a, HOST);					/* unasked */
	assert_int_equal(state_of(HOST), -1);
	hear(lan, ARP_REQUEST, mac_a, IP(10, 1, 0, 9), IP(10, 0, 0, 1)); /* from another network */
	assert_int_equal(state_of(IP(10, 1, 0, 9)), -1);
	hear(lan, ARP_REQUEST, mac_a, IP(10, 0, 255, 255),
	     IP(10, 0, 0, 1)); /* from a broadcast address */
	assert_int_equal(state_of(IP(10, 0, 255, 255)), -1);
	hear(wan, ARP_REQUEST, mac_a, HOST, IP(192, 0, 2, 1));	/* on the wrong side */
	assert_int_equal(state_of(HOST), -1);
	assert_int_equal(neigh_count(), 0);
	control_flush(dp.inject[0]);
	hear(lan, ARP_REQUEST, mac_a, HOST, IP(10, 0, 0, 1));
	assert_int_equal(state_of(HOST), FWD_NEIGH_REACHABLE);
}

static void test_changed_mac_is_taken_from_who_may_say_so(void **state)
{
	(void)state;
	hear(lan, ARP_REQUEST, mac_a, HOST, IP(10, 0, 0, 1));
	fwd_poll();
	hear(lan, ARP_REQUEST, mac_b, HOST, IP(10, 0, 0, 77));	/* said to another */
	assert_int_equal(state_of(HOST), FWD_NEIGH_REACHABLE);
	assert_memory_equal(found.mac, mac_a, 6);
	hear(lan, ARP_REQUEST, mac_b, HOST, HOST);
	state_of(HOST);
	assert_memory_equal(found.mac, mac_b, 6);
	assert_memory_equal(((union nh_adj){ .word = worker_lookup(HOST)->adj }).mac, mac_b, 6);
	answer(mac_a, HOST);
	state_of(HOST);
	assert_memory_equal(found.mac, mac_a, 6);
	hear(lan, ARP_REQUEST, mac_b, HOST, IP(10, 0, 0, 1));
	state_of(HOST);
	assert_memory_equal(found.mac, mac_b, 6);
	hear(lan, ARP_REPLY, mac_a, HOST, HOST);	/* gratuitous replies exist, too */
	state_of(HOST);
	assert_memory_equal(found.mac, mac_a, 6);
}

static void test_permanent_stays(void **state)
{
	(void)state;
	assert_int_equal(fwd_neigh_add(lan, HOST, mac_a, &the_err), 0);
	assert_int_equal(fwd_neigh_add(lan, HOST, mac_a, &the_err), -EEXIST);
	assert_int_equal(fwd_neigh_add(lan, HOST, mac_b, &the_err), -EADDRINUSE);
	commit();
	assert_int_equal(worker_lookup(HOST)->type, NH_NEIGHBOUR);
	answer(mac_b, HOST);
	wait_ms(1000000);
	assert_int_equal(state_of(HOST), FWD_NEIGH_PERMANENT);
	assert_memory_equal(found.mac, mac_a, 6);
	expect_silence();
	assert_int_equal(fwd_neigh_flush(FWD_IFACE_NONE), 0);
	assert_int_equal(fwd_neigh_del(lan, HOST, &the_err), 0);
	assert_int_equal(fwd_neigh_del(lan, HOST, &the_err), -ENOENT);
	commit();
	assert_int_equal(worker_lookup(HOST)->type, NH_GLEAN);
}

static void test_bad_neighbours_are_refused(void **state)
{
	static const uint8_t zero[6], group[6] = { 1, 0, 0, 0, 0, 1 };

	(void)state;
	assert_int_equal(fwd_neigh_add(lan, HOST, zero, &the_err), -EINVAL);
	assert_int_equal(fwd_neigh_add(lan, HOST, group, &the_err), -EINVAL);
	assert_int_equal(fwd_neigh_add(lan, IP(10, 0, 0, 1), mac_a, &the_err), -EINVAL);
	assert_int_equal(fwd_neigh_add(lan, IP(10, 0, 255, 255), mac_a, &the_err), -EINVAL);
	assert_int_equal(fwd_neigh_add(lan, IP(10, 1, 0, 1), mac_a, &the_err), -EINVAL);
	assert_int_equal(fwd_neigh_add(99, HOST, mac_a, &the_err), -ENOENT);
	assert_int_equal(neigh_count(), 0);
}

/* ---- gateways -------------------------------------------------------------------------------- */

#define GATEWAY IP(10, 0, 0, 254)

static void test_gateway_is_asked_for_at_once_and_again_by_need(void **state)
{
	const struct fwd_nexthop *nh;

	(void)state;
	assert_int_equal(add_route(IP(64, 0, 0, 0), 8, GATEWAY), 0);
	expect_silence();	/* not before the route is published */
	commit();
	expect_request(GATEWAY, NULL);
	wait_ms(1000);
	expect_request(GATEWAY, NULL);
	wait_ms(1000);
	expect_request(GATEWAY, NULL);
	wait_ms(1000);
	assert_int_equal(state_of(GATEWAY), FWD_NEIGH_FAILED);
	wait_ms(100000);
	assert_int_equal(state_of(GATEWAY), FWD_NEIGH_FAILED);
	expect_silence();
	punt(IP(64, 1, 2, 3), 1);
	fwd_poll();
	assert_int_equal(state_of(GATEWAY), FWD_NEIGH_INCOMPLETE);
	expect_request(GATEWAY, NULL);
	answer(mac_a, GATEWAY);
	expect_datagram(1, mac_a);
	nh = worker_lookup(IP(64, 1, 2, 3));
	assert_int_equal(((union nh_adj){ .word = nh->adj }).usable, 1);

	/* when it falls silent, it is asked for from the start: a route needs it */
	wait_ms(300000);
	for (unsigned i = 0; i < 6; i++) {
		control_flush(dp.inject[0]);
		wait_ms(1000);
	}
	assert_int_equal(state_of(GATEWAY), FWD_NEIGH_INCOMPLETE);
	assert_int_equal(((union nh_adj){ .word = nh->adj }).usable, 0);
	expect_request(GATEWAY, NULL);
	for (unsigned i = 0; i < 3; i++)
		wait_ms(1000);
	assert_int_equal(state_of(GATEWAY), FWD_NEIGH_FAILED);
	assert_int_equal(del_route(IP(64, 0, 0, 0), 8), 0);
	commit();
	wait_ms(3000);
	assert_int_equal(state_of(GATEWAY), -1);
	control_flush(dp.inject[0]);
}

static void test_deleted_gateway_is_asked_for_anew(void **state)
{
	(void)state;
	assert_int_equal(fwd_neigh_add(lan, GATEWAY, mac_a, &the_err), 0);
	assert_int_equal(add_route(IP(64, 0, 0, 0), 8, GATEWAY), 0);
	commit();
	expect_silence();
	assert_int_equal(((union nh_adj){ .word = worker_lookup(IP(64, 1, 2, 3))->adj }).usable, 1);
	assert_int_equal(fwd_neigh_del(lan, GATEWAY, &the_err), 0);
	commit();
	assert_int_equal(state_of(GATEWAY), FWD_NEIGH_INCOMPLETE);
	assert_int_equal(((union nh_adj){ .word = worker_lookup(IP(64, 1, 2, 3))->adj }).usable, 0);
	expect_request(GATEWAY, NULL);
	answer(mac_b, GATEWAY);
	assert_int_equal(fwd_neigh_flush(lan), 1);
	assert_int_equal(state_of(GATEWAY), FWD_NEIGH_INCOMPLETE);
}

/* ---- beside static routes -------------------------------------------------------------------- */

static void test_static_host_route_wins_and_gives_way(void **state)
{
	struct fwd_route r;

	(void)state;
	hear(lan, ARP_REQUEST, mac_a, HOST, IP(10, 0, 0, 1));
	fwd_poll();
	assert_int_equal(fwd_route_lookup(HOST, &r), 0);
	assert_int_equal(r.type, FWD_ROUTE_NEIGHBOUR);
	assert_int_equal(r.iface, lan);
	assert_int_equal(fwd_route_get(r.prefix, &r), -ENOENT);
	assert_int_equal(del_route(HOST, 32), -ENOENT);

	assert_int_equal(add_route(HOST, 32, GATEWAY), 0);
	commit();
	assert_int_equal(worker_lookup(HOST)->addr_be, GATEWAY);
	answer(mac_b, HOST);
	fwd_poll();
	assert_int_equal(worker_lookup(HOST)->addr_be, GATEWAY);
	assert_int_equal(del_route(HOST, 32), 0);
	commit();
	assert_int_equal(worker_lookup(HOST)->addr_be, HOST);
	assert_int_equal(fwd_route_lookup(HOST, &r), 0);
	assert_int_equal(r.type, FWD_ROUTE_NEIGHBOUR);

	/* by the neighbour itself: the same next hop, but static */
	assert_int_equal(add_route(HOST, 32, HOST), 0);
	assert_int_equal(add_route(HOST, 32, HOST), -EEXIST);
	assert_int_equal(add_route(HOST, 32, GATEWAY), -EADDRINUSE);
	commit();
	assert_int_equal(fwd_route_get((struct fwd_prefix){ HOST, 32 }, &r), 0);
	assert_int_equal(r.type, FWD_ROUTE_STATIC);
	assert_int_equal(r.via[0].gw_be, HOST);
	assert_int_equal(fwd_neigh_del(lan, HOST, &the_err), 0); /* stays: a route needs it */
	commit();
	assert_int_equal(worker_lookup(HOST)->addr_be, HOST);
	assert_int_equal(del_route(HOST, 32), 0);
	assert_int_equal(fwd_route_count(), 0);
	commit();
	assert_int_equal(worker_lookup(HOST)->type, NH_GLEAN);	/* it is INCOMPLETE */
	answer(mac_a, HOST);
	fwd_poll();
	assert_int_equal(worker_lookup(HOST)->type, NH_NEIGHBOUR);
	control_flush(dp.inject[0]);
}

static void test_longer_static_route_hides_the_neighbours_in_it(void **state)
{
	(void)state;
	hear(lan, ARP_REQUEST, mac_a, IP(10, 0, 3, 9), IP(10, 0, 0, 1));
	hear(lan, ARP_REQUEST, mac_a, IP(10, 0, 4, 9), IP(10, 0, 0, 1));
	fwd_poll();
	assert_int_equal(worker_lookup(IP(10, 0, 3, 9))->addr_be, IP(10, 0, 3, 9));
	assert_int_equal(add_route(IP(10, 0, 3, 0), 24, GATEWAY), 0);
	commit();
	assert_int_equal(worker_lookup(IP(10, 0, 3, 9))->addr_be, GATEWAY);
	assert_int_equal(worker_lookup(IP(10, 0, 4, 9))->addr_be, IP(10, 0, 4, 9));
	hear(lan, ARP_REQUEST, mac_b, IP(10, 0, 3, 10),
	     IP(10, 0, 0, 1)); /* learned, but not preferred */
	fwd_poll();
	assert_int_equal(worker_lookup(IP(10, 0, 3, 10))->addr_be, GATEWAY);
	assert_int_equal(del_route(IP(10, 0, 3, 0), 24), 0);
	commit();
	assert_int_equal(worker_lookup(IP(10, 0, 3, 9))->addr_be, IP(10, 0, 3, 9));
	assert_int_equal(worker_lookup(IP(10, 0, 3, 10))->addr_be, IP(10, 0, 3, 10));
	/* a connected network of another interface in it hides them, too */
	assert_int_equal(add_address(wan, IP(10, 0, 3, 1), 24), 0);
	commit();
	assert_int_equal(worker_lookup(IP(10, 0, 3, 9))->type, NH_GLEAN);
	assert_int_equal(worker_lookup(IP(10, 0, 3, 9))->iface, wan);
	assert_int_equal(del_address(wan, IP(10, 0, 3, 1), 24), 0);
	commit();
	assert_int_equal(worker_lookup(IP(10, 0, 3, 9))->addr_be, IP(10, 0, 3, 9));
	control_flush(dp.inject[0]);
}

/* ---- what goes with what --------------------------------------------------------------------- */

static void test_neighbours_go_with_their_address_and_interface(void **state)
{
	unsigned before = nexthop_in_use();

	(void)state;
	hear(lan, ARP_REQUEST, mac_a, HOST, IP(10, 0, 0, 1));
	assert_int_equal(fwd_neigh_add(wan, IP(192, 0, 2, 9), mac_b, &the_err), 0);
	punt(IP(10, 0, 0, 50), 1);
	fwd_poll();
	assert_int_equal(neigh_held(), 1);
	control_flush(dp.inject[0]);
	/* its address becomes the router's own: a learned one goes, a configured one stands in the
	 * way */
	assert_int_equal(add_address(lan, HOST, 16), 0);
	assert_int_equal(state_of(HOST), -1);
	assert_int_equal(add_address(wan, IP(192, 0, 2, 9), 24), -EADDRINUSE);
	assert_int_equal(del_address(lan, HOST, 16), 0);
	assert_int_equal(state_of(IP(10, 0, 0, 50)), FWD_NEIGH_INCOMPLETE);
	assert_int_equal(del_address(lan, IP(10, 0, 0, 1), 16), 0);
	assert_int_equal(state_of(IP(10, 0, 0, 50)), -1);
	assert_int_equal(drop_count(wan, FWD_D_neighbour_removed), 1);
	assert_int_equal(neigh_held(), 0);
	commit();
	control_flush(dp.inject[0]);
	assert_int_equal(fwd_iface_del("wan", &the_err), 0);
	assert_int_equal(neigh_count(), 0);
	assert_int_equal(fwd_iface_del("lan", &the_err), 0);
	assert_true(fib_copies_equal());
	assert_int_equal(nexthop_in_use(), before - 6);	/* two own, two networks, two broadcast */
}

static void test_packet_for_a_next_hop_that_was_freed_goes_nowhere_else(void **state)
{
	const struct fwd_nexthop *old;

	(void)state;
	hear(lan, ARP_REQUEST, mac_a, HOST, IP(10, 0, 0, 1));
	fwd_poll();
	control_flush(dp.inject[0]);
	old = worker_lookup(HOST);
	punt(HOST, 1);	/* with the next hop of HOST, and still in the ring when that goes */
	assert_int_equal(fwd_neigh_del(lan, HOST, &the_err), 0);
	commit();
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(
			fwd_neigh_add(lan, rte_cpu_to_be_32(0x0a000100 + i), mac_b, &the_err), 0);
	commit();
	for (unsigned i = 0; i < 100; i++)
		assert_ptr_not_equal(worker_lookup(rte_cpu_to_be_32(0x0a000100 + i)), old);
	fwd_poll();
	expect_silence();
	assert_int_equal(drop_count(wan, FWD_D_neighbour_removed), 1);
	commit();	/* now it may be used again */
	assert_int_equal(fwd_neigh_add(lan, HOST, mac_b, &the_err), 0);
	commit();
	assert_ptr_equal(worker_lookup(HOST), old);
}

static void test_freed_next_hops_come_back_under_a_flood(void **state)
{
	unsigned before = nexthop_in_use();

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		punt(IP(10, 0, 0, 200), i);
	for (unsigned round = 0; round < 50000; round++) {	/* more than there are next hops */
		rte_be32_t addr = rte_cpu_to_be_32(0x0a000100 + round % 1000);

		if (fwd_neigh_add(lan, addr, mac_a, &the_err))
			fail_msg("round %u: %s", round, the_err.msg);
		assert_int_equal(fwd_neigh_del(lan, addr, &the_err), 0);
		if (round % 100 == 0) {
			fwd_poll();
			while (rte_ring_count(dp.punt) < 3000)	/* never empty */
				punt(IP(10, 0, 0, 200), round);
			control_flush(dp.inject[0]);
		}
	}
	while (rte_ring_count(dp.punt))
		fwd_poll();
	commit();
	assert_int_equal(nexthop_in_use(), before + 1);	/* the one that is asked for */
	control_flush(dp.inject[0]);
}

static void test_frames_for_an_interface_that_goes_are_dropped(void **state)
{
	struct rte_mbuf *m;

	(void)state;
	hear(wan, ARP_REQUEST, mac_a, IP(192, 0, 2, 9),
	     IP(192, 0, 2, 1)); /* answered: a frame waits */
	hear(lan, ARP_REQUEST, mac_a, HOST, IP(10, 0, 0, 1));
	assert_int_equal(fwd_iface_del("wan", &the_err), 0);
	m = sent();
	assert_non_null(m);
	assert_int_equal(fwd_priv(m)->iface, lan);
	rte_pktmbuf_free(m);
	expect_silence();
	assert_int_equal(event_count(FWD_E_arp_out), 4);	/* two at the start */
}

/* ---- floods ---------------------------------------------------------------------------------- */

static void test_scan_of_a_network_does_not_push_good_neighbours_out(void **state)
{
	unsigned asked = 0, i;
	struct rte_mbuf *m;

	(void)state;
	hear(lan, ARP_REQUEST, mac_a, HOST, IP(10, 0, 0, 1));
	fwd_poll();
	control_flush(dp.inject[0]);
	for (i = 0; i < 20000; i++) {
		punt(rte_cpu_to_be_32(0x0a001000 + i), i);
		if (i % 256 == 255) {
			fwd_poll();
			while ((m = sent())) {
				rte_pktmbuf_free(m);
				asked++;
			}
			fake_now_ms += 50;
		}
	}
	assert_in_range(asked, 1024, 20000);
	assert_in_range(neigh_count(), 1000, 2049);
	assert_in_range(neigh_held(), 1, 4096 / 8);
	assert_true(drop_count(wan, FWD_D_neighbour_table_full) > 10000);
	assert_int_equal(state_of(HOST), FWD_NEIGH_REACHABLE);
	for (i = 0; i < 20; i++) {
		wait_ms(1000);
		control_flush(dp.inject[0]);
	}
	assert_int_equal(neigh_count(), 1);
	assert_int_equal(neigh_held(), 0);
	assert_int_equal(rte_mempool_in_use_count(dp.pool), rte_ring_count(dp.punt));
}

static void test_invented_senders_do_not_take_the_whole_table(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		hear(lan, ARP_REQUEST, mac_a, rte_cpu_to_be_32(0x0a001000 + i), IP(10, 0, 0, 1));
		control_flush(dp.inject[0]);
	}
	assert_int_equal(neigh_count(), 75);
	punt(HOST, 1);
	fwd_poll();
	expect_request(HOST, NULL);
	answer(mac_b, HOST);
	expect_datagram(1, mac_b);
	for (unsigned i = 0; i < 100; i++)
		punt(rte_cpu_to_be_32(0x0a002000 + i), i);
	fwd_poll();
	assert_int_equal(neigh_count(), 100);
	assert_true(drop_count(wan, FWD_D_neighbour_table_full) > 0);
	assert_int_equal(add_route(IP(64, 0, 0, 0), 8, IP(10, 0, 77, 77)), -ENOSPC);
	control_flush(dp.inject[0]);
}

static void test_poll_does_a_bounded_share(void **state)
{
	unsigned n = 0;

	(void)state;
	while (n < 2000 && punt(HOST, n))
		n++;
	assert_int_equal(fwd_poll(), 0);	/* at once again */
	assert_int_equal(rte_ring_count(dp.punt), 2000 - 512);
	while (fwd_poll() == 0)
		;
	assert_int_equal(rte_ring_count(dp.punt), 0);
	control_flush(dp.inject[0]);
}

static void test_timers_wake_the_loop(void **state)
{
	int ms;

	(void)state;
	punt(HOST, 1);
	ms = fwd_poll();
	assert_in_range(ms, 1, 1000);
	wait_ms(990);
	assert_int_equal(fwd_poll(), 10);
	control_flush(dp.inject[0]);
}

/* Anything at all, for a while: the bounds hold, the copies agree, no buffer is lost. */
static void test_random_events(void **state)
{
	uint64_t s = 12345;

	(void)state;
	for (unsigned i = 0; i < 60000; i++) {
		uint32_t r, a;
		rte_be32_t addr;

		s = s * 6364136223846793005ull + 1442695040888963407ull;
		r = s >> 33;
		a = 0x0a000000 + (r >> 8) % 200;
		addr = rte_cpu_to_be_32(a);
		switch (r % 16) {
		case 0 ... 3:
			punt(addr, i);
			break;
		case 4 ... 5:
			answer(r & 64 ? mac_a : mac_b, addr);
			break;
		case 6:
			hear(lan, ARP_REQUEST, mac_a, addr, IP(10, 0, 0, 1));
			break;
		case 7:
			hear(lan, ARP_REQUEST, mac_b, addr, addr);
			break;
		case 8:
			fwd_neigh_add(lan, addr, mac_a, NULL);
			break;
		case 9:
			fwd_neigh_del(lan, addr, NULL);
			break;
		case 10:
			add_route(rte_cpu_to_be_32(a), 32,
				  rte_cpu_to_be_32(0x0a000000 + (r >> 16) % 200));
			break;
		case 11:
			del_route(rte_cpu_to_be_32(a), 32);
			break;
		case 12:
			if (r & 64)
				add_route(rte_cpu_to_be_32(a & ~7u), 29, GATEWAY);
			else
				del_route(rte_cpu_to_be_32(a & ~7u), 29);
			break;
		case 13:
			if (r & 64)
				add_address(lan, rte_cpu_to_be_32(a), 24 + (r >> 20) % 8);
			else
				for (unsigned len = 24; len < 32; len++)
					del_address(lan, rte_cpu_to_be_32(a), len);
			break;
		case 14:
			fake_now_ms += (r >> 8) % 3000;
			break;
		case 15:
			if (fwd_commit(NULL))
				fail();
			break;
		}
		if (i % 16 == 0)
			fwd_poll();
		if (i % 64 == 0)
			control_flush(dp.inject[0]);
		if (i % 1024 == 0) {
			commit();
			assert_true(neigh_held() <= 4096 / 8);
		}
	}
	for (unsigned i = 0; i < 30; i++) {
		wait_ms(1000);
		control_flush(dp.inject[0]);
	}
	assert_int_equal(neigh_held(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
		T(test_packets_wait_for_the_answer_in_order),
		T(test_host_that_does_not_answer_fails_and_is_not_asked_for_a_while),
		T(test_eight_packets_wait_and_no_more),
		T(test_reachable_is_probed_and_goes_when_silent),
		T(test_probe_is_answered),
		T(test_new_entries_come_only_from_requests_to_us),
		T(test_changed_mac_is_taken_from_who_may_say_so),
		T(test_permanent_stays),
		T(test_bad_neighbours_are_refused),
		T(test_gateway_is_asked_for_at_once_and_again_by_need),
		T(test_deleted_gateway_is_asked_for_anew),
		T(test_static_host_route_wins_and_gives_way),
		T(test_longer_static_route_hides_the_neighbours_in_it),
		T(test_neighbours_go_with_their_address_and_interface),
		T(test_packet_for_a_next_hop_that_was_freed_goes_nowhere_else),
		T(test_freed_next_hops_come_back_under_a_flood),
		T(test_frames_for_an_interface_that_goes_are_dropped),
		T(test_scan_of_a_network_does_not_push_good_neighbours_out),
		T(test_poll_does_a_bounded_share),
		T(test_timers_wake_the_loop),
		T(test_random_events),
#undef T
		cmocka_unit_test_setup_teardown(test_invented_senders_do_not_take_the_whole_table,
						up_small, down),
	};

	control_eal("512");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
