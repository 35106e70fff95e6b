/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast way through the parser takes nothing that the whole parser would drop, sees in a frame
 * what that one sees, and leaves what it does not take as it was.
 */
#include "fwd_fixture.h"

#include "parse.h"

#define FRAMES 300000

static const uint8_t MAC[6] = {2, 0, 0, 0, 0, 1};
static struct fwd_snapshot *snap;

static int setup(void **state)
{
	struct dp_iface *i;

	(void)state;
	fixture_eal("0");
	fixture_pool(1024);
	snap = calloc(1, sizeof(*snap));
	i = &snap->ifaces[7];
	i->flags = IFACE_PRESENT;
	i->mtu = 1500;
	memcpy(&i->mac, MAC, 6);
	i->n_addrs = 2;
	i->addrs[0] = (struct dp_addr){IP(10, 0, 0, 1), IP(255, 255, 255, 0), 24};
	i->addrs[1] = (struct dp_addr){IP(10, 9, 9, 2), IP(255, 255, 255, 254), 31};
	snap->ports[0].native_iface = 7;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(snap);
	return 0;
}

static uint64_t rnd(void)
{
	static uint64_t s = 88172645463325252ull;

	s ^= s << 13;
	s ^= s >> 7;
	return s ^= s << 17;
}

static rte_be32_t any_address(void)
{
	static const rte_be32_t some[] = {
		IP(10, 0, 0, 1),	IP(10, 0, 0, 255), IP(10, 9, 9, 2),  IP(10, 9, 9, 3),
		IP(127, 0, 0, 1),	IP(0, 1, 2, 3),	   IP(224, 0, 0, 5), IP(255, 255, 255, 255),
		IP(223, 255, 255, 255), IP(126, 0, 0, 1),  IP(128, 0, 0, 1), IP(1, 2, 3, 4)};

	return rnd() % 4 == 0 ? some[rnd() % RTE_DIM(some)] : (rte_be32_t)(rnd() | 8);
}

/* A frame that is right, and then, by chance, is not: a byte changed, cut short, or padded. */
static unsigned any_frame(uint8_t *f, uint64_t *flags)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_TCP,
					 IPPROTO_ICMP};
	static const uint64_t some[] = {RTE_MBUF_F_RX_VLAN_STRIPPED, RTE_MBUF_F_RX_IP_CKSUM_BAD,
					RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_NONE,
					RTE_MBUF_F_RX_L4_CKSUM_GOOD};
	struct flow flow = {any_address(), any_address(), (uint16_t)rnd(), (uint16_t)rnd(),
			    protos[rnd() % 5]};
	unsigned len = fixture_frame(f, MAC, &flow, (unsigned)(rnd() % 100), rnd() % 8 == 0,
				     (uint8_t)(rnd() % 4));
	uint8_t *ip = f + 14;

	*flags = rnd() % 8 == 0 ? some[rnd() % RTE_DIM(some)] : 0;
	switch (rnd() % 8) {
	case 0: /* any byte, and the checksum is found wrong */
		f[rnd() % RTE_MIN(len, 60u)] = (uint8_t)rnd();
		break;
	case 1: /* any byte of the headers, and the IPv4 checksum right again */
	case 2:
		f[rnd() % RTE_MIN(len, 60u)] = (uint8_t)rnd();
		put16(ip + 10, 0);
		put16(ip + 10, ~plain_sum(ip, 20, 0) & 0xffff);
		break;
	case 3: /* lengths close to the edges */
		put16(ip + 2, (unsigned)(len - 14 + rnd() % 5 - 2));
		put16(ip + 10, 0);
		put16(ip + 10, ~plain_sum(ip, 20, 0) & 0xffff);
		break;
	case 4:
		put16(ip + 24, (unsigned)(len - 34 + rnd() % 5 - 2));
		break;
	case 5:
		len -= (unsigned)(rnd() % len);
		break;
	default:
		break;
	}
	if (rnd() % 2 == 0 && len < 60) { /* padding */
		memset(f + len, 0xa5, 60 - len);
		len = 60;
	}
	return len;
}

static void test_plain_sees_what_the_parser_sees(void **state)
{
	unsigned n_plain = 0, n_not = 0;

	(void)state;
	for (unsigned i = 0; i < FRAMES; i++) {
		uint8_t frame[256] = {0};
		uint64_t flags, completed = 0, bytes = 0;
		unsigned len = any_frame(frame, &flags);
		struct rte_mbuf *a = fixture_mbuf(frame, len), *b = fixture_mbuf(frame, len);
		struct pkt pa, pb;

		memset(&pa, 0xee, sizeof(pa));
		memset(&pb, 0xee, sizeof(pb));
		a->ol_flags = b->ol_flags = flags;
		if (parse_plain(snap, &a, 1, 0, &pa, &bytes) == 0) {
			n_not++;
			assert_int_equal(bytes, 0);
			assert_int_equal(a->data_len, len);
			assert_int_equal(a->ol_flags, flags);
			assert_memory_equal(rte_pktmbuf_mtod(a, void *), frame, len);
		} else {
			n_plain++;
			assert_int_equal(bytes, len);
			assert_int_equal(parse_frame(snap, b, 0, &pb, &completed), PARSE_IP4);
			assert_int_equal(completed, 0);
			assert_memory_equal(&pa.nat.key, &pb.nat.key, sizeof(pa.nat.key));
			assert_int_equal(pa.nat.ip - (uint8_t *)a->buf_addr,
					 pb.nat.ip - (uint8_t *)b->buf_addr);
			assert_int_equal(pa.nat.l4 - pa.nat.ip, pb.nat.l4 - pb.nat.ip);
			assert_int_equal(pa.nat.l4_len, pb.nat.l4_len);
			assert_int_equal(pa.nat.l4_avail, pb.nat.l4_avail);
			assert_int_equal(pa.nat.iface, pb.nat.iface);
			assert_int_equal(pa.nat.flags, pb.nat.flags | NAT_PKT_PLAIN);
			assert_int_equal(pa.nat.tcp_flags, pb.nat.tcp_flags);
			assert_int_equal(pa.nat.verdict, pb.nat.verdict);
			assert_int_equal(pa.nat.session, pb.nat.session);
			assert_int_equal(pa.nat.new_src_be, pb.nat.new_src_be);
			assert_int_equal(pa.nat.new_dst_be, pb.nat.new_dst_be);
			assert_int_equal(pa.len, pb.len);
			assert_int_equal(pa.ihl, pb.ihl);
			assert_int_equal(pa.l4_drop, pb.l4_drop);
			assert_ptr_equal(pa.m, a);
			assert_int_equal(a->ol_flags, b->ol_flags);
			assert_int_equal(a->data_off, b->data_off);
			assert_int_equal(a->data_len, b->data_len);
			assert_int_equal(a->pkt_len, b->pkt_len);
		}
		rte_pktmbuf_free(a);
		rte_pktmbuf_free(b);
	}
	/* the generator makes enough of both */
	assert_true(n_plain > FRAMES / 10);
	assert_true(n_not > FRAMES / 10);
}

/* An ordinary frame is plain: it had better be. */
static void test_plain_takes_ordinary_frames(void **state)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(protos); i++) {
		struct flow flow = {IP(10, 0, 0, 7), IP(198, 51, 100, 9), 1234, 443, protos[i]};
		uint8_t frame[256];
		unsigned len = fixture_frame(frame, MAC, &flow, 18, 0, 64);
		struct rte_mbuf *m[3];
		struct pkt pkts[3];
		uint64_t bytes = 0;

		for (unsigned k = 0; k < 3; k++)
			m[k] = fixture_mbuf(frame, len);
		assert_int_equal(parse_plain(snap, m, 3, 0, pkts, &bytes), 3);
		assert_int_equal(bytes, 3 * len);
		/* a frame in the middle that is none ends it there */
		for (unsigned k = 0; k < 3; k++) {
			rte_pktmbuf_free(m[k]);
			m[k] = fixture_mbuf(frame, len);
		}
		rte_pktmbuf_mtod(m[1], uint8_t *)[12] = 0x86;
		assert_int_equal(parse_plain(snap, m, 3, 0, pkts, &bytes), 1);
		for (unsigned k = 0; k < 3; k++)
			rte_pktmbuf_free(m[k]);
	}
}

static void test_plain_nowhere_without_an_interface(void **state)
{
	struct flow flow = {IP(10, 0, 0, 7), IP(198, 51, 100, 9), 1234, 443, IPPROTO_UDP};
	uint8_t frame[256];
	unsigned len = fixture_frame(frame, MAC, &flow, 18, 0, 64);
	struct rte_mbuf *m = fixture_mbuf(frame, len);
	uint64_t bytes = 0;
	struct pkt p;

	(void)state;
	snap->ports[0].native_iface = FWD_IFACE_NONE;
	assert_int_equal(parse_plain(snap, &m, 1, 0, &p, &bytes), 0);
	snap->ports[0].native_iface = 7;
	snap->ifaces[7].flags = IFACE_PRESENT | IFACE_COMPLETE_CSUM;
	assert_int_equal(parse_plain(snap, &m, 1, 0, &p, &bytes), 0);
	snap->ifaces[7].flags = 0;
	assert_int_equal(parse_plain(snap, &m, 1, 0, &p, &bytes), 0);
	snap->ifaces[7].flags = IFACE_PRESENT;
	assert_int_equal(parse_plain(snap, &m, 1, 0, &p, &bytes), 1);
	rte_pktmbuf_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_sees_what_the_parser_sees),
		cmocka_unit_test(test_plain_takes_ordinary_frames),
		cmocka_unit_test(test_plain_nowhere_without_an_interface),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
