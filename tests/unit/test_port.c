/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports over DPDK's virtual devices: what works, what is refused and how it says so, and that
 * nothing stays behind. AF_XDP and AF_PACKET ports are tested live (tests/live/test_xdp.py). TAP
 * ports need root and /dev/net/tun.
 */
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fwd_fixture.h"
#include "port.h"

#define WORKERS 3

static char dir[] = "/tmp/tp-port-XXXXXX";

static int setup(void **state)
{
	struct fwd_err err;

	(void)state;
	fixture_eal("0@0");
	dp.pool = port_pool_create("packets", 8192, 64, sizeof(struct fwd_mbuf_priv), FWD_MBUF_ROOM,
				   &err);
	assert_non_null(dp.pool);
	assert_non_null(mkdtemp(dir));
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	rte_mempool_free(dp.pool);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static unsigned open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static struct port open_port(const char *devargs)
{
	struct fwd_err err = {0};
	struct port p;

	if (port_open(devargs, 0, 0, FWD_RSS_FLOW, WORKERS, dp.pool, &p, &err))
		fail_msg("%s: %s", devargs, err.msg);
	return p;
}

/* Refused with rc and a message that has these words. */
static void refused(const char *devargs, uint16_t mtu, uint16_t rxqs, int rc, const char *words)
{
	struct fwd_err err = {0};
	struct port p;
	int got = port_open(devargs, mtu, rxqs, FWD_RSS_FLOW, WORKERS, dp.pool, &p, &err);

	if (got != rc || !strstr(err.msg, words))
		fail_msg("%s: %d '%s' where %d with '%s' was due", devargs, got, err.msg, rc,
			 words);
}

/* A capture file with n frames of 60 bytes, numbered in their last byte. */
static void write_pcap(const char *path, unsigned n)
{
	const uint32_t head[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 1};
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(head, sizeof(head), 1, f), 1);
	for (unsigned i = 0; i < n; i++) {
		const uint32_t record[] = {i, 0, 60, 60};
		uint8_t frame[60] = {2, [12] = 8, [59] = (uint8_t)i};

		assert_int_equal(fwrite(record, sizeof(record), 1, f), 1);
		assert_int_equal(fwrite(frame, sizeof(frame), 1, f), 1);
	}
	fclose(f);
}

/* Fifty rounds of open and close leave no descriptor and no buffer behind. */
static void many_times(const char *devargs)
{
	unsigned files = 0;

	for (unsigned i = 0; i < 50; i++) {
		struct rte_mbuf *burst[32];
		struct port p = open_port(devargs);
		unsigned n = rte_eth_rx_burst(p.port_id, 0, burst, RTE_DIM(burst));

		rte_pktmbuf_free_bulk(burst, n);
		port_close(&p);
		assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
		if (i == 4) /* what drivers open once and for all is open by now */
			files = open_files();
	}
	assert_int_equal(open_files(), files);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void note(struct rte_mempool *mp, void *arg, void *obj, unsigned i)
{
	uintptr_t *range = arg;

	(void)mp;
	(void)i;
	range[0] = RTE_MIN(range[0], (uintptr_t)obj);
	range[1] = RTE_MAX(range[1], (uintptr_t)obj);
}

/* The AF_XDP driver takes the pool for one piece without gaps. */
static void test_pool_is_packed(void **state)
{
	uintptr_t range[2] = {UINTPTR_MAX, 0};
	const struct rte_mempool *mp = dp.pool;
	struct rte_mbuf *m;

	(void)state;
	rte_mempool_obj_iter(dp.pool, note, range);
	assert_int_equal(mp->nb_mem_chunks, 1);
	assert_int_equal((range[1] - range[0]) /
				 (mp->header_size + mp->elt_size + mp->trailer_size),
			 mp->size - 1);
	m = rte_pktmbuf_alloc(dp.pool);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_tailroom(m), 2048);
	assert_int_equal(rte_pktmbuf_priv_size(dp.pool), sizeof(struct fwd_mbuf_priv));
	assert_true(rte_mbuf_iova_get(m) != RTE_BAD_IOVA);
	rte_pktmbuf_free(m);
}

static void test_pool_comes_and_goes(void **state)
{
	struct fwd_err err;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct rte_mempool *mp =
			port_pool_create("other", 4096, 64, 16, FWD_MBUF_ROOM, &err);

		assert_non_null(mp);
		rte_mempool_free(mp);
	}
	assert_null(port_pool_create("huge", 100000000, 64, 16, FWD_MBUF_ROOM, &err));
	assert_non_null(strstr(err.msg, "packet buffers"));
}

/* ---- devices --------------------------------------------------------------------------------- */

static void test_null(void **state)
{
	struct port p = open_port("net_null0,size=64");
	struct rte_mbuf *burst[32];
	uint64_t missed, errors, nombuf, tx_errors;
	uint32_t speed;
	bool up;

	(void)state;
	assert_string_equal(p.name, "net_null0");
	assert_string_equal(p.driver, "net_null");
	assert_string_equal(p.devargs, "net_null0,size=64");
	assert_string_equal(p.netdev, "");
	assert_int_equal(p.mtu, 1500);
	assert_int_equal(p.max_mtu, FWD_MTU_MAX);
	assert_int_equal(p.rxqs, 1);
	assert_int_equal(p.txqs, WORKERS);
	assert_false(p.xdp || p.kernel_arp || p.complete_csum);
	assert_int_equal(p.arp_fd, -1);
	assert_int_equal(rte_eth_rx_burst(p.port_id, 0, burst, 32), 32);
	assert_int_equal(rte_eth_tx_burst(p.port_id, WORKERS - 1, burst, 32), 32);
	port_link(&p, &up, &speed);
	assert_true(up);
	port_device_stats(&p, &missed, &errors, &nombuf, &tx_errors);
	assert_int_equal(missed + errors + nombuf + tx_errors, 0);
	assert_int_equal(port_local_address(&p, ~0u, true), 0);
	port_refresh(&p);
	port_close(&p);
	many_times("net_null0");
}

static void test_ring(void **state)
{
	struct port p = open_port("net_ring0");
	struct rte_mbuf *m = rte_pktmbuf_alloc(dp.pool), *back;

	(void)state;
	assert_non_null(rte_pktmbuf_append(m, 60));
	assert_true(p.multi_seg_tx);
	assert_int_equal(rte_eth_tx_burst(p.port_id, 0, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(p.port_id, 0, &back, 1), 1);
	assert_ptr_equal(back, m);
	rte_pktmbuf_free(m);
	assert_true(p.mac[0] | p.mac[1] | p.mac[2] | p.mac[3] | p.mac[4] | p.mac[5]);
	assert_false(p.mac[0] & 1);
	port_close(&p);
	many_times("net_ring0");
}

static void test_pcap(void **state)
{
	char in[64], args[256];
	struct rte_mbuf *burst[32];
	struct port p;
	unsigned n;

	(void)state;
	snprintf(in, sizeof(in), "%s/in.pcap", dir);
	write_pcap(in, 20);
	snprintf(args, sizeof(args), "net_pcap0,rx_pcap=%s,tx_pcap=%s/out.pcap", in, dir);
	p = open_port(args);
	assert_int_equal(p.txqs, 1);
	n = rte_eth_rx_burst(p.port_id, 0, burst, RTE_DIM(burst));
	assert_int_equal(n, 20);
	assert_int_equal(*rte_pktmbuf_mtod_offset(burst[19], uint8_t *, 59), 19);
	assert_int_equal(rte_eth_tx_burst(p.port_id, 0, burst, n), n);
	port_close(&p);
	many_times(args);

	snprintf(args, sizeof(args), "net_pcap0,rx_pcap=%s,tx_drop=1,infinite_rx=1", in);
	refused(args, 0, 0, -EINVAL, "net_pcap0"); /* tx_drop is no argument */
	snprintf(args, sizeof(args), "net_pcap0,rx_pcap=%s,infinite_rx=1", in);
	p = open_port(args);
	for (unsigned i = 0; i < 10; i++) {
		n = rte_eth_rx_burst(p.port_id, 0, burst, RTE_DIM(burst));
		assert_int_equal(n, RTE_DIM(burst));
		rte_pktmbuf_free_bulk(burst, n);
	}
	port_close(&p);
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
}

static void test_tap(void **state)
{
	struct ifreq ifr = {0};
	struct port p;
	int fd;
	uint32_t speed;
	bool up;

	(void)state;
	if (access("/dev/net/tun", R_OK | W_OK)) {
		print_message("net_tap: no /dev/net/tun here\n");
		skip();
	}
	p = open_port("net_tap0,iface=tp-port-tap");
	assert_string_equal(p.driver, "net_tap");
	assert_string_equal(p.netdev, "tp-port-tap");
	assert_int_equal(if_nametoindex("tp-port-tap"), p.ifindex);
	assert_true(p.complete_csum);
	assert_true(p.multi_seg_tx);
	assert_int_equal(p.txqs, 1); /* as many as receive queues */
	port_link(&p, &up, &speed);
	assert_true(up);
	/* The kernel's end is another station. */
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	strcpy(ifr.ifr_name, "tp-port-tap");
	assert_int_equal(ioctl(fd, SIOCGIFHWADDR, &ifr), 0);
	close(fd);
	assert_memory_not_equal(ifr.ifr_hwaddr.sa_data, p.mac, sizeof(p.mac));
	port_close(&p);
	assert_int_equal(if_nametoindex("tp-port-tap"), 0);
	many_times("net_tap0,iface=tp-port-tap");
}

static void test_memif(void **state)
{
	char args[128];
	struct port p;
	uint32_t speed;
	bool up;

	(void)state;
	snprintf(args, sizeof(args), "net_memif0,role=server,socket-abstract=no,socket=%s/memif",
		 dir);
	/* Descriptors aren't counted: DPDK's server (22.11) keeps its listening socket for good. */
	for (unsigned i = 0; i < 10; i++) {
		p = open_port(args);
		port_link(&p, &up, &speed);
		assert_false(up); /* nobody at the other end */
		port_close(&p);
		assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
	}
	snprintf(args, sizeof(args), "net_memif0,role=client,socket-abstract=no,socket=%s/nobody",
		 dir);
	refused(args, 0, 0, -EINVAL, "Failed to connect socket");
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

/* A packet to be cut to segments, as rte_ethdev wants it from a sender: 3 buffers, TCP/IPv4. */
static struct rte_mbuf *large_packet(uint16_t segment)
{
	static const struct flow fl = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 5000, 80, IPPROTO_TCP};
	static const unsigned cuts[] = {1500, 3000};
	uint8_t frame[5000];
	unsigned len = fixture_frame(frame, (const uint8_t[6]){2, 0, 0, 0, 0, 1}, &fl, 4000, 0, 64);
	struct rte_mbuf *m = fixture_chain(frame, len, cuts, RTE_DIM(cuts));

	m->ol_flags = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
	m->l2_len = 14;
	m->l3_len = 20;
	m->l4_len = 20;
	m->tso_segsz = segment;
	return m;
}

/* A guest's port, and that of a guest: what either leaves undone is told with the packet. (That the
 * host is told is shown by tests/pcap/test_guest.py.) */
static void test_large_packets_of_vhost_and_virtio_user(void **state)
{
	struct port host, guest;
	struct rte_mbuf *m;
	bool up = false;
	uint32_t speed;
	char args[128];

	(void)state;
	snprintf(args, sizeof(args), "net_vhost0,iface=%s/vhost", dir);
	host = open_port(args);
	snprintf(args, sizeof(args), "net_virtio_user0,path=%s/vhost", dir);
	guest = open_port(args);
	assert_true(host.complete_csum && guest.complete_csum);
	for (unsigned tries = 0; tries < 5000 && !up; tries++) {
		usleep(1000);
		port_link(&host, &up, &speed);
	}
	assert_true(up);

	m = large_packet(1000);
	for (unsigned tries = 0; rte_eth_tx_burst(host.port_id, 0, &m, 1) == 0; tries++) {
		assert_true(tries < 5000); /* its rings are enabled a moment later */
		usleep(1000);
	}
	for (unsigned tries = 0; rte_eth_rx_burst(guest.port_id, 0, &m, 1) == 0; tries++) {
		assert_true(tries < 5000);
		usleep(1000);
	}
	assert_int_equal(m->pkt_len, 4054);
	assert_true(m->ol_flags & RTE_MBUF_F_RX_LRO);
	assert_int_equal(m->tso_segsz, 1000);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_NONE);
	rte_pktmbuf_free(m);
	port_close(&guest);
	port_close(&host);
	assert_int_equal(rte_mempool_in_use_count(dp.pool), 0);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

/* Several at a time, closed in another order. */
static void test_several(void **state)
{
	struct port a = open_port("net_null0"), b = open_port("net_null1"),
		    c = open_port("net_ring0");

	(void)state;
	assert_true(a.port_id != b.port_id && b.port_id != c.port_id && a.port_id != c.port_id);
	assert_true(memcmp(a.mac, b.mac, 6));
	port_close(&b);
	refused("net_null0", 0, 0, -EEXIST, "exists already");
	b = open_port("net_null1");
	port_close(&a);
	port_close(&c);
	port_close(&b);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void test_refused_text(void **state)
{
	char longest[FWD_DEVARGS_LEN + 1], name[RTE_DEV_NAME_MAX_LEN + 10];

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	snprintf(name, sizeof(name), "net_null%0*d", RTE_DEV_NAME_MAX_LEN, 0);
	refused("", 0, 0, -EINVAL, "missing");
	refused(longest, 0, 0, -EINVAL, "at most 255");
	refused(name, 0, 0, -EINVAL, "characters");
	refused(",iface=x", 0, 0, -EINVAL, "characters");
	refused("net null0", 0, 0, -EINVAL, "position 4");
	refused("net_null0\n", 0, 0, -EINVAL, "position 10");
	refused("net_null0,\x1b[2J", 0, 0, -EINVAL, "position 11");
	refused("net_null0,\xc3\xa4", 0, 0, -EINVAL, "position 11");
}

static void test_refused_devices(void **state)
{
	(void)state;
	refused("net_nothing0", 0, 0, -ENODEV, "no DPDK driver for net_nothing0");
	refused("eth0", 0, 0, -ENODEV, "no DPDK driver for eth0");
	refused("0000:ff:1f.7", 0, 0, -ENODEV, "no such PCI device");
	refused("net_null0,bad=1", 0, 0, -EINVAL, "net_null0");
	refused("net_null0,=,=", 0, 0, -EINVAL, "net_null0");
	refused("net_pcap0,rx_pcap=/nowhere/x.pcap", 0, 0, -EINVAL,
		"/nowhere/x.pcap: No such file");
	refused("net_af_xdp0", 0, 0, -EINVAL, "which network interface");
	refused("net_af_xdp0,iface=tp-nowhere", 0, 0, -ENODEV, "no network interface 'tp-nowhere'");
	refused("net_af_packet0,iface=tp-nowhere", 0, 0, -ENODEV,
		"no network interface 'tp-nowhere'");
	refused("net_af_packet0,iface=a-name-too-long-for-it", 0, 0, -ENODEV,
		"no network interface");
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

/* A name that failed works with better arguments. */
static void test_second_try(void **state)
{
	char args[128], in[64];
	struct port p;

	(void)state;
	snprintf(in, sizeof(in), "%s/late.pcap", dir);
	snprintf(args, sizeof(args), "net_pcap7,rx_pcap=%s", in);
	for (unsigned i = 0; i < 3; i++) {
		unlink(in);
		refused(args, 0, 0, -EINVAL, "No such file");
		write_pcap(in, 1);
		p = open_port(args);
		port_close(&p);
	}
	refused("net_null3,bad=1", 0, 0, -EINVAL, "net_null3");
	p = open_port("net_null3");
	port_close(&p);
}

static void test_refused_queues(void **state)
{
	char in[64], args[128];

	(void)state;
	snprintf(in, sizeof(in), "%s/queues.pcap", dir);
	write_pcap(in, 1);
	snprintf(args, sizeof(args), "net_pcap0,rx_pcap=%s", in);
	refused(args, 0, 2, -EINVAL, "has 1 receive queue, not 2");
	refused("net_null0", 0, FWD_MAX_QUEUES + 1, -EINVAL, "at most 16 receive queues");
}

static void test_queues(void **state)
{
	struct fwd_err err = {0};
	struct port p;

	(void)state;
	assert_int_equal(port_open("net_null0", 0, 4, FWD_RSS_FLOW, 2, dp.pool, &p, &err), 0);
	assert_int_equal(p.rxqs, 4);
	assert_int_equal(p.txqs, 2);
	port_close(&p);
}

/* ---- MTU ------------------------------------------------------------------------------------- */

static void test_mtu(void **state)
{
	struct fwd_err err = {0};
	struct port p;

	(void)state;
	refused("net_null0", FWD_MTU_MAX + 1, 0, -EINVAL, "9600");
	assert_int_equal(port_open("net_null0", 9000, 0, FWD_RSS_FLOW, 1, dp.pool, &p, &err), 0);
	assert_int_equal(p.mtu, 9000);
	assert_int_equal(p.own_mtu, 1500);
	assert_false(port_mtu_needs_stop(&p));
	assert_int_equal(port_set_mtu(&p, 1280, &err), 0);
	assert_int_equal(p.mtu, 1280);
	assert_int_equal(port_set_mtu(&p, FWD_MTU_MAX + 1, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "68 to 9600"));
	assert_int_equal(port_set_mtu(&p, 67, &err), -EINVAL);
	assert_int_equal(p.mtu, 1280);
	port_close(&p);

	/* No MTU of its own. */
	p = open_port("net_ring0");
	assert_int_equal(port_set_mtu(&p, 4000, &err), 0);
	assert_int_equal(p.mtu, 4000);
	port_close(&p);
}

static void test_tap_mtu(void **state)
{
	struct fwd_err err = {0};
	struct port p;

	(void)state;
	if (access("/dev/net/tun", R_OK | W_OK)) {
		print_message("net_tap: no /dev/net/tun here\n");
		skip();
	}
	refused("net_tap0,iface=tp-port-tap", 9000, 0, -EINVAL, "too large: 68 to 1504");
	p = open_port("net_tap0,iface=tp-port-tap");
	assert_int_equal(p.max_mtu, 1504);
	assert_int_equal(port_set_mtu(&p, 1400, &err), 0);
	assert_int_equal(port_set_mtu(&p, 9000, &err), -EINVAL);
	assert_int_equal(p.mtu, 1400);
	port_close(&p);
}

/* ---- what only XDP can ----------------------------------------------------------------------- */

static void test_pass_needs_xdp(void **state)
{
	struct port p = open_port("net_null0");
	struct fwd_err err = {0};
	uint8_t frame[64];
	uint16_t vlan;

	(void)state;
	assert_int_equal(port_pass(&p, (struct fwd_pass){IPPROTO_TCP, 22}, true, &err),
			 -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "net_af_xdp"));
	assert_int_equal(port_arp_receive(&p, frame, sizeof(frame), &vlan), -EAGAIN);
	port_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_is_packed),
		cmocka_unit_test(test_pool_comes_and_goes),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_pcap),
		cmocka_unit_test(test_tap),
		cmocka_unit_test(test_memif),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_refused_text),
		cmocka_unit_test(test_refused_devices),
		cmocka_unit_test(test_second_try),
		cmocka_unit_test(test_refused_queues),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_mtu),
		cmocka_unit_test(test_tap_mtu),
		cmocka_unit_test(test_pass_needs_xdp),
		cmocka_unit_test(test_large_packets_of_vhost_and_virtio_user),
	};

	return cmocka_run_group_tests_name("port", tests, setup, teardown);
}
