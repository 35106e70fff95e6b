/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP: what is a frame and what is none, who is answered (C32), the frames that are sent,
 * conflicts, and rubbish.
 */
#include "control_fixture.h"

static const uint8_t peer[6] = { 2, 0, 0, 0, 0, 0xaa };
static uint16_t lan, wan, vlan;

static int up(void **state)
{
	(void)state;
	control_up(10000, 1000);
	lan = add_iface("lan");
	wan = add_iface("wan");
	vlan = add_vlan("wan.100", "wan", 100);
	assert_int_equal(add_address(lan, IP(10, 0, 0, 1), 24), 0);
	assert_int_equal(add_address(wan, IP(203, 0, 113, 1), 24), 0);
	assert_int_equal(add_address(vlan, IP(198, 51, 100, 1), 24), 0);
	commit();
	control_flush(dp.inject[0]);
	return 0;
}

static int down(void **state)
{
	(void)state;
	control_down();
	return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

struct frame {
	uint8_t bytes[64];
	unsigned len;
};

static struct frame frame(uint8_t op, rte_be32_t sender_be, rte_be32_t target_be)
{
	struct frame f = { .bytes = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, .len = 42 };

	memcpy(f.bytes + 6, peer, 6);
	memcpy(f.bytes + 12, (const uint8_t[]){ 8, 6, 0, 1, 8, 0, 6, 4, 0, op }, 10);
	memcpy(f.bytes + 22, peer, 6);
	memcpy(f.bytes + 28, &sender_be, 4);
	memcpy(f.bytes + 38, &target_be, 4);
	return f;
}

static struct frame tagged(struct frame f, uint16_t tci)
{
	struct frame t = { .len = f.len + 4 };

	memcpy(t.bytes, f.bytes, 12);
	memcpy(t.bytes + 12, (const uint8_t[]){ 0x81, 0, (uint8_t)(tci >> 8), (uint8_t)tci }, 4);
	memcpy(t.bytes + 16, f.bytes + 12, f.len - 12);
	return t;
}

/* In a buffer of just that size, so that a sanitizer sees a byte too many. */
static bool parse(const uint8_t *bytes, unsigned len, struct arp *out)
{
	uint8_t *copy = malloc(len ? len : 1);
	bool good;

	memcpy(copy, bytes, len);
	good = arp_parse(copy, len, out);
	free(copy);
	return good;
}

static void hear(uint16_t iface, struct frame f)
{
	uint8_t *copy = malloc(f.len ? f.len : 1);

	memcpy(copy, f.bytes, f.len);
	control_arp_input(iface, copy, f.len);
	free(copy);
}

/* Does the router answer a request for target on iface? */
static bool answered(uint16_t iface, rte_be32_t sender_be, rte_be32_t target_be)
{
	struct rte_mbuf *m;
	struct arp a;

	control_flush(dp.inject[0]);
	hear(iface, frame(ARP_REQUEST, sender_be, target_be));
	m = sent();
	if (!m)
		return false;
	assert_null(sent());
	assert_int_equal(fwd_priv(m)->iface, iface);
	assert_true(parse(rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len, &a));
	assert_int_equal(a.op, ARP_REPLY);
	assert_memory_equal(a.eth_dst, peer, 6);
	assert_memory_equal(a.target_mac, peer, 6);
	assert_memory_equal(a.sender_mac, iface_get(iface)->port->mac, 6);
	assert_int_equal(a.sender_be, target_be);
	assert_int_equal(a.target_be, sender_be);
	rte_pktmbuf_free(m);
	return true;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void test_only_arp_of_ethernet_and_ipv4_is_read(void **state)
{
	struct frame good = frame(ARP_REQUEST, IP(10, 0, 0, 9), IP(10, 0, 0, 1)), f;
	struct arp a;

	(void)state;
	assert_true(parse(good.bytes, good.len, &a));
	assert_int_equal(a.op, ARP_REQUEST);
	assert_memory_equal(a.sender_mac, peer, 6);
	assert_int_equal(a.sender_be, IP(10, 0, 0, 9));
	assert_int_equal(a.target_be, IP(10, 0, 0, 1));
	for (unsigned len = 0; len < good.len; len++)
		assert_false(parse(good.bytes, len, &a));
	f = tagged(good, 100);
	assert_true(parse(f.bytes, f.len, &a));
	assert_int_equal(a.target_be, IP(10, 0, 0, 1));
	for (unsigned len = 0; len < f.len; len++)
		assert_false(parse(f.bytes, len, &a));
	for (unsigned at = 12; at < 22; at++) {	/* the type, and each fixed field of RFC 826 */
		for (unsigned bit = 0; bit < 8; bit++) {
			f = good;
			f.bytes[at] ^= 1 << bit;
			if (at == 21 && f.bytes[at] == ARP_REPLY)
				continue;
			assert_false(parse(f.bytes, f.len, &a));
		}
	}
	f = good;
	f.bytes[21] = ARP_REPLY;
	assert_true(parse(f.bytes, f.len, &a));
	f = good;
	f.bytes[22] |= 1;	/* a group's address is no sender's */
	assert_false(parse(f.bytes, f.len, &a));
	f = good;
	memset(f.bytes + 22, 0, 6);
	assert_false(parse(f.bytes, f.len, &a));
	f = tagged(tagged(good, 1), 2);	/* two tags */
	assert_false(parse(f.bytes, f.len, &a));
}

static void test_malformed_frames_are_counted(void **state)
{
	struct frame f = frame(ARP_REQUEST, IP(10, 0, 0, 9), IP(10, 0, 0, 1));

	(void)state;
	f.len = 41;
	hear(lan, f);
	assert_int_equal(drop_count(lan, FWD_D_arp_malformed), 1);
	assert_null(sent());
	hear(77, f);
	assert_int_equal(drop_count(77, FWD_D_iface_gone), 1);
	assert_int_equal(event_count(FWD_E_arp_requests_in), 0);
}

static void test_frames_are_complete_and_padded(void **state)
{
	static const uint8_t zero[18];
	struct rte_mbuf *m;
	const uint8_t *b;

	(void)state;
	hear(lan, frame(ARP_REQUEST, IP(10, 0, 0, 9), IP(10, 0, 0, 1)));
	m = sent();
	assert_non_null(m);
	assert_int_equal(m->pkt_len, 60);
	assert_int_equal(m->nb_segs, 1);
	b = rte_pktmbuf_mtod(m, uint8_t *);
	assert_memory_equal(b, peer, 6);
	assert_memory_equal(b + 6, ((const uint8_t[]){ 2, 0, 0, 0, 0, 1 }), 6);
	assert_memory_equal(b + 12, ((const uint8_t[]){ 8, 6, 0, 1, 8, 0, 6, 4, 0, 2 }), 10);
	assert_memory_equal(b + 42, zero, 18);
	rte_pktmbuf_free(m);

	hear(vlan, tagged(frame(ARP_REQUEST, IP(198, 51, 100, 9), IP(198, 51, 100, 1)), 100));
	m = sent();
	assert_non_null(m);
	assert_int_equal(m->pkt_len, 60);
	b = rte_pktmbuf_mtod(m, uint8_t *);
	assert_memory_equal(b, peer, 6);
	assert_memory_equal(b + 6, ((const uint8_t[]){ 2, 0, 0, 0, 0, 2 }), 6);
	assert_memory_equal(b + 12,
			    ((const uint8_t[]){0x81, 0, 0, 100, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2}), 14);
	assert_memory_equal(b + 46, zero, 14);
	rte_pktmbuf_free(m);
}

/* A tap for what the punt ring gives: the same frame in one buffer, and cut into two. */
static void test_frames_come_by_the_punt_ring(void **state)
{
	struct frame f = frame(ARP_REQUEST, IP(10, 0, 0, 9), IP(10, 0, 0, 1));

	(void)state;
	for (unsigned cut = 0; cut < f.len; cut++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(dp.pool), *tail;
		char *p;

		p = rte_pktmbuf_append(m, cut ? cut : f.len);
		assert_non_null(p);
		memcpy(p, f.bytes, cut ? cut : f.len);
		if (cut) {
			tail = rte_pktmbuf_alloc(dp.pool);
			memcpy(rte_pktmbuf_append(tail, f.len - cut), f.bytes + cut, f.len - cut);
			assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
		}
		*fwd_priv(m) = (struct fwd_mbuf_priv){ .iface = lan, .kind = PUNT_ARP };
		assert_int_equal(rte_ring_mp_enqueue(dp.punt, m), 0);
		fwd_poll();
		m = sent();
		assert_non_null(m);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(event_count(FWD_E_arp_requests_in), f.len);
}

/* ---- who is answered ------------------------------------------------------------------------- */

static void test_own_addresses_are_answered_on_their_interface(void **state)
{
	(void)state;
	assert_true(answered(lan, IP(10, 0, 0, 9), IP(10, 0, 0, 1)));
	assert_true(answered(lan, 0, IP(10, 0, 0, 1)));	/* a probe, RFC 5227 */
	assert_int_equal(neigh_count(), 1);			/* which teaches nothing */
	assert_false(answered(lan, IP(10, 0, 0, 9), IP(203, 0, 113, 1)));
	assert_false(answered(wan, IP(203, 0, 113, 9), IP(10, 0, 0, 1)));
	assert_false(answered(wan, IP(203, 0, 113, 9), IP(198, 51, 100, 1)));
	assert_true(answered(vlan, IP(198, 51, 100, 9), IP(198, 51, 100, 1)));
	assert_false(answered(lan, IP(10, 0, 0, 9), IP(10, 0, 0, 0)));
	assert_false(answered(lan, IP(10, 0, 0, 9), IP(10, 0, 0, 255)));
	assert_false(answered(lan, IP(10, 0, 0, 9), 0));
}

static void test_frames_to_other_stations_are_not_heard(void **state)
{
	struct frame f = frame(ARP_REQUEST, IP(10, 0, 0, 9), IP(10, 0, 0, 1));

	(void)state;
	memcpy(f.bytes, ((const uint8_t[]){ 2, 0, 0, 0, 0, 0x99 }), 6);
	hear(lan, f);
	assert_null(sent());
	memcpy(f.bytes, iface_get(lan)->port->mac, 6);
	f.bytes[21] = ARP_REPLY;
	hear(lan, f);	/* a reply is not answered */
	assert_null(sent());
	f.bytes[21] = ARP_REQUEST;
	memcpy(f.bytes + 22, iface_get(lan)->port->mac, 6);	/* our own, come round */
	hear(lan, f);
	assert_null(sent());
	assert_int_equal(neigh_count(), 0);
	memcpy(f.bytes + 22, peer, 6);
	hear(lan, f);	/* asked by unicast */
	control_flush(dp.inject[0]);
	assert_int_equal(neigh_count(), 1);
}

static struct nat_config *c32_config(uint16_t snat_iface, uint16_t static_iface)
{
	struct nat_range range = { IP(203, 0, 113, 10), IP(203, 0, 113, 10) };
	struct nat_pool pool = { .id = 1, .name = "p", .ranges = &range, .n_ranges = 1 };
	struct nat_rule rules[] = {
		{ .id = 1, .type = NAT_RULE_STATIC, .name = "s", .iface = static_iface,
		  .external = { IP(203, 0, 113, 50), 32 }, .internal = { IP(10, 0, 0, 50), 32 } },
		{ .id = 2, .type = NAT_RULE_SNAT, .name = "n", .iface = snat_iface,
		  .source = { IP(10, 0, 0, 0), 24 } },
	};
	struct nat_conf conf;
	struct nat_config *cfg;
	char msg[256];

	nat_conf_defaults(&conf);
	conf.rules = rules;
	conf.n_rules = 2;
	conf.pools = &pool;
	conf.n_pools = 1;
	cfg = nat_config_build(&conf, msg, sizeof(msg));
	if (!cfg)
		fail_msg("%s", msg);
	return cfg;
}

static void test_translated_addresses_are_answered_outside_only_C32(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		/* rules that name the interface, and rules that name none */
		fwd_nat_set(c32_config(round ? NAT_IFACE_ANY : wan, round ? NAT_IFACE_ANY : wan));
		assert_false(answered(wan, IP(203, 0, 113, 254),
				      IP(203, 0, 113, 50))); /* not yet published */
		commit();
		assert_true(answered(wan, IP(203, 0, 113, 254), IP(203, 0, 113, 10)));
		assert_true(answered(wan, IP(203, 0, 113, 254), IP(203, 0, 113, 50)));
		assert_true(answered(wan, IP(203, 0, 113, 254), IP(203, 0, 113, 1)));
		assert_true(answered(wan, 0, IP(203, 0, 113, 10)));
		assert_false(answered(wan, IP(203, 0, 113, 254), IP(203, 0, 113, 77)));
		assert_false(answered(lan, IP(10, 0, 0, 9), IP(203, 0, 113, 10)));
		assert_false(answered(lan, IP(10, 0, 0, 9), IP(203, 0, 113, 50)));
		assert_false(answered(lan, IP(10, 0, 0, 9), IP(203, 0, 113, 77)));
		assert_false(answered(lan, IP(10, 0, 0, 9), IP(203, 0, 113, 1)));
		fwd_nat_set(NULL);
		commit();
		assert_false(answered(wan, IP(203, 0, 113, 254), IP(203, 0, 113, 10)));
		assert_false(answered(wan, IP(203, 0, 113, 254), IP(203, 0, 113, 50)));
	}
}

/* ---- announcements --------------------------------------------------------------------------- */

static unsigned announced(uint16_t iface, rte_be32_t addr_be)
{
	struct rte_mbuf *m;
	struct arp a;
	unsigned n = 0;

	while ((m = sent())) {
		assert_true(parse(rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len, &a));
		assert_int_equal(a.op, ARP_REQUEST);
		assert_int_equal(a.sender_be, a.target_be);
		assert_memory_equal(a.eth_dst, arp_broadcast_mac, 6);
		assert_memory_equal(a.sender_mac, iface_get(fwd_priv(m)->iface)->port->mac, 6);
		n += fwd_priv(m)->iface == iface && a.sender_be == addr_be;
		rte_pktmbuf_free(m);
	}
	return n;
}

static void test_new_addresses_are_announced_once(void **state)
{
	(void)state;
	assert_int_equal(add_address(lan, IP(10, 0, 0, 2), 24), 0);
	assert_null(sent());
	commit();
	assert_int_equal(announced(lan, IP(10, 0, 0, 2)), 1);
	commit();
	assert_null(sent());
	fwd_nat_set(c32_config(wan, NAT_IFACE_ANY));
	commit();
	assert_int_equal(rte_ring_count(dp.inject[0]), 2);
	assert_int_equal(announced(wan, IP(203, 0, 113, 50)), 1);
	fwd_nat_set(c32_config(wan, wan));	/* the same addresses again */
	commit();
	assert_null(sent());
}

static void test_use_of_our_address_is_defended_now_and_then(void **state)
{
	(void)state;
	hear(lan, frame(ARP_REQUEST, IP(10, 0, 0, 1), IP(10, 0, 0, 9)));
	assert_int_equal(announced(lan, IP(10, 0, 0, 1)), 1);
	for (unsigned i = 0; i < 100; i++)
		hear(lan, frame(ARP_REQUEST, IP(10, 0, 0, 1), IP(10, 0, 0, 1)));
	assert_null(sent());
	fake_now_ms += 9999;
	hear(lan, frame(ARP_REPLY, IP(10, 0, 0, 1), IP(10, 0, 0, 9)));
	assert_null(sent());
	fake_now_ms += 1;
	hear(lan, frame(ARP_REPLY, IP(10, 0, 0, 1), IP(10, 0, 0, 9)));
	assert_int_equal(announced(lan, IP(10, 0, 0, 1)), 1);
	assert_int_equal(neigh_count(), 0);
}

/* ---- rubbish --------------------------------------------------------------------------------- */

static void test_random_frames_do_no_harm(void **state)
{
	uint64_t s = 4711;

	(void)state;
	for (unsigned i = 0; i < 300000; i++) {
		struct frame f = frame(1 + i % 2, IP(10, 0, 0, i % 256), IP(10, 0, 0, 1));

		if (i % 3 == 0)
			f = tagged(f, i);
		for (unsigned k = i % 5; k; k--) {
			s = s * 6364136223846793005ull + 1442695040888963407ull;
			f.bytes[(s >> 40) % f.len] = s >> 32;
		}
		if (i % 7 == 0)
			f.len = (s >> 50) % (f.len + 1);
		hear(i % 11 ? lan : vlan, f);
		if (i % 64 == 0)
			control_flush(dp.inject[0]);
	}
	control_flush(dp.inject[0]);
	assert_in_range(neigh_count(), 1, 300);
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, up, down)
		T(test_only_arp_of_ethernet_and_ipv4_is_read),
		T(test_malformed_frames_are_counted),
		T(test_frames_are_complete_and_padded),
		T(test_frames_come_by_the_punt_ring),
		T(test_own_addresses_are_answered_on_their_interface),
		T(test_frames_to_other_stations_are_not_heard),
		T(test_translated_addresses_are_answered_outside_only_C32),
		T(test_new_addresses_are_announced_once),
		T(test_use_of_our_address_is_defended_now_and_then),
		T(test_random_frames_do_no_harm),
#undef T
	};

	control_eal("512");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
