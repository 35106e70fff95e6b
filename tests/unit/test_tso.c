/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merged packets that leave whole by a device that cuts them: a real driver takes them (virtio,
 * whose TSO is the host's), and what the host cuts are the frames of the router without merging.
 */
#include "fwd_router.h"

#include "port.h"

enum { SEGMENTS = 20, PAYLOAD = 1460, FRAME = 14 + 40 + PAYLOAD };

static char dir[] = "/tmp/test-tso-XXXXXX";

static int setup(void **state)
{
	struct fwd_err err;

	(void)state;
	fixture_eal("0");
	dp.pool = port_pool_create("packets", 8192, 0, sizeof(struct fwd_mbuf_priv), FWD_MBUF_ROOM,
				   &err);
	assert_non_null(dp.pool);
	assert_non_null(mkdtemp(dir));
	router_begin(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	router_teardown();
	rmdir(dir);
	return 0;
}

static struct port open_port(const char *devargs)
{
	struct fwd_err err = {0};
	struct port p;

	if (port_open(devargs, 0, 1, FWD_RSS_FLOW, 1, dp.pool, &p, &err) != 0)
		fail_msg("%s", err.msg);
	return p;
}

static void set_iface(uint16_t id, const struct port *p, uint16_t vlan)
{
	struct dp_iface *i = &snap->ifaces[id];

	*i = (struct dp_iface){
		.flags = IFACE_PRESENT, .port = p->port_id, .vlan = vlan, .mtu = 1500};
	memcpy(&i->mac, id == LAN ? LAN_MAC : p->mac, sizeof(i->mac));
	snap->ports[p->port_id].native_iface = id;
	snap->ports[p->port_id].multi_seg_tx = p->multi_seg_tx;
	snap->ports[p->port_id].tso_segs = p->tso_segs;
	snap->ports[p->port_id].tso_ip_csum = p->tso_ip_csum;
}

/* Segments of one flow, the last one shorter and with PSH. */
static unsigned segment(unsigned i, uint8_t *frame)
{
	static const struct flow fl = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 5000, 80, IPPROTO_TCP};
	unsigned len = fixture_frame(frame, LAN_MAC, &fl, i == SEGMENTS - 1 ? 333 : PAYLOAD, 0, 64);
	uint8_t *ip = frame + 14, *tcp = ip + 20;

	put16(ip + 4, 0xfff8 + i); /* goes round */
	put16(tcp + 6, i * PAYLOAD);
	tcp[13] = i == SEGMENTS - 1 ? 0x18 : 0x10;
	tcp[20] = (uint8_t)i;
	plain_fill(ip);
	return len;
}

struct frames {
	unsigned n, packets; /* frames, and what they came in */
	unsigned len[SEGMENTS];
	uint8_t bytes[SEGMENTS][FRAME + 4];
};

/* What arrives, cut where the sender's device left that to us. */
static void receive(const struct port *p, struct frames *f)
{
	static uint8_t whole[70000];
	struct rte_mbuf *m;

	memset(f, 0, sizeof(*f));
	for (unsigned tries = 0; f->n < SEGMENTS; tries++) {
		unsigned len;
		uint8_t *ip;

		assert_true(tries < 5000);
		if (rte_eth_rx_burst(p->port_id, 0, &m, 1) == 0) {
			usleep(1000);
			continue;
		}
		f->packets++;
		if (!(m->ol_flags & RTE_MBUF_F_RX_LRO)) {
			f->len[f->n] = m->pkt_len;
			memcpy(f->bytes[f->n++], rte_pktmbuf_read(m, 0, m->pkt_len, whole),
			       m->pkt_len);
			rte_pktmbuf_free(m);
			continue;
		}
		m->ol_flags = RTE_MBUF_F_TX_IPV4;
		m->l2_len = rte_pktmbuf_mtod(m, uint8_t *)[12] == 0x81 ? 18 : 14;
		m->l3_len = 20;
		m->l4_len = 20;
		/* the driver made the seed that virtio wants, with the length, of ethdev's */
		ip = rte_pktmbuf_mtod_offset(m, uint8_t *, m->l2_len);
		assert_int_equal(ip[36] << 8 | ip[37],
				 plain_pseudo(ip, m->pkt_len - m->l2_len - 20));
		put16(ip + 36, plain_pseudo(ip, 0));
		for (unsigned i = 0; (len = the_device_cuts(m, i, whole, f->bytes[f->n])) > 0; i++)
			f->len[f->n++] = len;
		rte_pktmbuf_free(m);
	}
}

/* All segments, in one burst, with what the interface they come in by has in flags. */
static void forward(uint8_t flags, uint16_t lan_port)
{
	struct rte_mbuf *m[SEGMENTS];
	uint8_t frame[FRAME];

	snap->ifaces[LAN].flags = IFACE_PRESENT | flags;
	snap->ports[lan_port].gro = flags != 0;
	for (unsigned i = 0; i < SEGMENTS; i++)
		m[i] = fixture_mbuf(frame, segment(i, frame));
	memset(dp.counters[0], 0, sizeof(*dp.counters[0]));
	worker_turn_begin(dp.workers[0]);
	worker_frames(dp.workers[0], m, SEGMENTS, lan_port);
	worker_turn(dp.workers[0]);
}

/* A port whose other end the router does not have, until both are ready. */
static void wait_for_rings(const struct port *from, const struct port *to)
{
	uint8_t frame[FRAME];
	struct rte_mbuf *m = fixture_mbuf(frame, segment(0, frame));
	unsigned tries = 0;
	uint32_t speed;
	bool up = false;

	for (; !up; tries++) {
		assert_true(tries < 5000);
		port_link(from, &up, &speed);
		usleep(1000);
	}
	while (rte_eth_tx_burst(from->port_id, 0, &m, 1) == 0) {
		assert_true(tries++ < 10000);
		usleep(1000);
	}
	while (rte_eth_rx_burst(to->port_id, 0, &m, 1) == 0) {
		assert_true(tries++ < 20000);
		usleep(1000);
	}
	rte_pktmbuf_free(m);
}

static void through(struct port *lan, struct port *out, struct port *peer, uint16_t vlan)
{
	static struct frames plain, whole;
	const struct dp_iface_counters *c = &dp.counters[0]->iface[WAN];
	uint64_t packets, bytes;

	assert_true(out->tso_segs >= SEGMENTS);
	set_iface(LAN, lan, 0);
	set_iface(WAN, out, vlan);
	forward(0, lan->port_id);
	receive(peer, &plain);
	assert_int_equal(plain.packets, SEGMENTS);
	packets = c->tx_packets;
	bytes = c->tx_bytes;
	forward(IFACE_GRO, lan->port_id);
	receive(peer, &whole);
	assert_int_equal(whole.packets, 1);
	assert_int_equal(dp.counters[0]->events[FWD_E_tso_packets], 1);
	assert_int_equal(dp.counters[0]->events[FWD_E_cut_segments], 0);
	assert_int_equal(c->tx_packets, packets);
	assert_int_equal(c->tx_bytes, bytes);
	assert_memory_equal(whole.len, plain.len, sizeof(plain.len));
	assert_memory_equal(whole.bytes, plain.bytes, sizeof(plain.bytes));
}

static void test_a_merged_packet_leaves_whole_by_a_device_that_cuts(void **state)
{
	struct port lan = open_port("net_null0"), host, guest;
	char args[128];

	(void)state;
	snprintf(args, sizeof(args), "net_vhost0,iface=%s/vhost", dir);
	host = open_port(args);
	snprintf(args, sizeof(args), "net_virtio_user0,path=%s/vhost", dir);
	guest = open_port(args);
	wait_for_rings(&host, &guest);
	wait_for_rings(&guest, &host);
	through(&lan, &guest, &host, 0);
	through(&lan, &guest, &host, 7);
	port_close(&guest);
	port_close(&host);
	port_close(&lan);
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_merged_packet_leaves_whole_by_a_device_that_cuts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
