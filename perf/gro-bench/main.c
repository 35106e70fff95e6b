/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What merging and cutting cost: cycles (TSC ticks) of the router's own worker for each original
 * segment of 1,460 bytes, with GRO off, on, and on where the device vouches for checksums, for 1, 8
 * and 64 interleaved TCP flows, payloads in the cache and not, routed and translated. Merged
 * packets are cut again, as net_null does no TSO.
 *
 *     gro-bench [EAL options] [-- --json --rounds N]
 *
 * Segments are buffers that stay: the sink (net_null) gives back only the reference that sending
 * takes, and headers are put back between bursts, off the clock. The three take turns, burst by
 * burst; the figures are medians over rounds of the median and the minimum of a round's bursts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_tcp.h>

#include "csum.h"
#include "port.h"
#include "tx.h"
#include "worker.h"

#define IP4(a, b, c, d) RTE_BE32((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))
#define PAYLOAD		1460
#define HEADERS		(14 + 20 + 20)
#define COLD_BURSTS	1024 /* 96 MiB: comes from memory; a single one stays in the second cache */
#define ROUND_TURNS	512  /* bursts of each kind in a round */
#define ROUNDS_MAX	101

enum { LAN, WAN };
enum { NH_GW = 1 };
enum kind { OFF, SUMMED, VOUCHED, KINDS };

static struct fwd_snapshot *snap;
static struct nat_config *nat;

/* A buffer and what its headers are to say whenever it comes in. */
struct segment {
	struct rte_mbuf *m;
	uint8_t head[HEADERS];
};

static struct segment *segments;    /* COLD_BURSTS bursts */
static unsigned order[COLD_BURSTS]; /* bursts, as they are visited when cold */

static void die(const char *what)
{
	fprintf(stderr, "gro-bench: %s\n", what);
	exit(1);
}

/* ---- the router ------------------------------------------------------------------------------ */

static void add_port(uint16_t id, const char *name, rte_be32_t addr)
{
	struct rte_eth_conf conf = {0};
	struct dp_iface *i = &snap->ifaces[id];
	uint16_t port = 0;

	if (rte_eal_hotplug_add("vdev", name, "") != 0 ||
	    rte_eth_dev_get_port_by_name(name, &port) != 0 ||
	    rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
	    rte_eth_rx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL, dp.pool) != 0 ||
	    rte_eth_tx_queue_setup(port, 0, 64, SOCKET_ID_ANY, NULL) != 0 ||
	    rte_eth_dev_start(port) != 0)
		die("no net_null port");
	i->flags = IFACE_PRESENT;
	i->port = port;
	i->mtu = 1500;
	i->mac = (struct rte_ether_addr){{2, 0, 0, 0, 0, (uint8_t)id}};
	i->n_addrs = 1;
	i->addrs[0] = (struct dp_addr){addr, IP4(255, 255, 255, 0), 24};
	snap->ports[port].native_iface = id;
	snap->ports[port].n_txq = 1;
}

static void set_nat(void)
{
	static const struct nat_range range = {IP4(203, 0, 113, 10), IP4(203, 0, 113, 10)};
	static const struct nat_pool pool = {
		.id = 1, .name = "pool", .ranges = &range, .n_ranges = 1};
	static const struct nat_rule rule = {.id = 1,
					     .type = NAT_RULE_SNAT,
					     .name = "out",
					     .iface = WAN,
					     .source = {IP4(10, 0, 0, 0), 8}};
	struct nat_conf conf;
	char err[256];

	nat_conf_defaults(&conf);
	conf.rules = &rule;
	conf.n_rules = 1;
	conf.pools = &pool;
	conf.n_pools = 1;
	conf.tcp_loose = true;
	nat = nat_config_build(&conf, err, sizeof(err));
	if (nat == NULL)
		die(err);
}

static void set_up(void)
{
	struct rte_fib_conf fib = {.type = RTE_FIB_DIR24_8,
				   .max_routes = 16,
				   .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 8}};
	union nh_adj adj = {.mac = {2, 0, 0, 0, 1, 1}, .usable = 1};
	struct fwd_err err;

	dp.pool = port_pool_create("packets", (COLD_BURSTS + 2) * FWD_BURST, 0,
				   sizeof(struct fwd_mbuf_priv), FWD_MBUF_ROOM, &err);
	snap = calloc(1, sizeof(*snap));
	dp.n_workers = 1;
	dp.params.max_sessions = 4096;
	dp.nexthops = rte_zmalloc(NULL, FWD_MAX_NH * sizeof(*dp.nexthops), RTE_CACHE_LINE_SIZE);
	dp.qsbr = rte_zmalloc(NULL, rte_rcu_qsbr_get_memsize(2), RTE_CACHE_LINE_SIZE);
	dp.punt = rte_ring_create("punt", 4096, SOCKET_ID_ANY, RING_F_SC_DEQ);
	dp.punt_event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	dp.inject[0] = rte_ring_create("inject0", 4096, SOCKET_ID_ANY, RING_F_SC_DEQ);
	dp.handover[0] = rte_ring_create("handover0", 4096, SOCKET_ID_ANY, RING_F_SC_DEQ);
	dp.counters[0] = rte_zmalloc(NULL, sizeof(*dp.counters[0]), RTE_CACHE_LINE_SIZE);
	dp.counters[1] = rte_zmalloc(NULL, sizeof(*dp.counters[1]), RTE_CACHE_LINE_SIZE);
	if (dp.pool == NULL || snap == NULL || dp.nexthops == NULL || dp.qsbr == NULL ||
	    dp.counters[1] == NULL || dp.handover[0] == NULL)
		die("no memory");
	rte_rcu_qsbr_init(dp.qsbr, 2);
	for (unsigned p = 0; p < FWD_MAX_PORTS; p++)
		snap->ports[p].native_iface = FWD_IFACE_NONE;
	snap->n_workers = 1;
	add_port(LAN, "net_null0", IP4(10, 0, 0, 1));
	add_port(WAN, "net_null1", IP4(203, 0, 113, 1));
	dp.nexthops[NH_GW] = (struct fwd_nexthop){.type = NH_NEIGHBOUR, .iface = WAN};
	atomic_store(&dp.nexthops[NH_GW].adj, adj.word);
	snap->fib = rte_fib_create("bench", SOCKET_ID_ANY, &fib);
	if (snap->fib == NULL || rte_fib_add(snap->fib, 0, 0, NH_GW) != 0)
		die("no memory for routes");
	atomic_store(&dp.snapshot, snap);
	set_nat();
	dp.workers[0] = worker_create(0, 0, true, &err);
	if (dp.workers[0] == NULL)
		die(err.msg);
	rte_rcu_qsbr_thread_register(dp.qsbr, 0);
	rte_rcu_qsbr_thread_online(dp.qsbr, 0);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Buffers with payloads, once; the first reference is kept for good. */
static void make_buffers(void)
{
	segments = calloc(COLD_BURSTS * FWD_BURST, sizeof(*segments));
	if (segments == NULL)
		die("no memory");
	for (unsigned i = 0; i < COLD_BURSTS * FWD_BURST; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(dp.pool);
		uint64_t *at;

		if (m == NULL)
			die("no buffers");
		segments[i].m = m;
		at = rte_pktmbuf_mtod_offset(m, uint64_t *, HEADERS + 2);
		for (unsigned k = 0; k < PAYLOAD / 8; k++)
			at[k] = (i + 1) * 0x9e3779b97f4a7c15ull + k * 0xc2b2ae3d27d4eb4full;
	}
	for (unsigned i = 0; i < COLD_BURSTS; i++)
		order[i] = i;
	for (unsigned i = COLD_BURSTS - 1; i > 0; i--) {
		unsigned k = (unsigned)rand() % (i + 1), t = order[i];

		order[i] = order[k];
		order[k] = t;
	}
}

/* Headers for `flows` flows that take turns. */
static void make_headers(unsigned flows)
{
	for (unsigned i = 0; i < COLD_BURSTS * FWD_BURST; i++) {
		struct segment *s = &segments[i];
		unsigned flow = i % flows, n = i / flows;
		struct rte_ether_hdr *eth = (struct rte_ether_hdr *)s->head;
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
		struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);

		eth->dst_addr = snap->ifaces[LAN].mac;
		eth->src_addr = (struct rte_ether_addr){{2, 0, 0, 0, 0, 0xaa}};
		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
		*ip = (struct rte_ipv4_hdr){
			.version_ihl = RTE_IPV4_VHL_DEF,
			.total_length = RTE_BE16(40 + PAYLOAD),
			.packet_id = rte_cpu_to_be_16((uint16_t)n),
			.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
			.time_to_live = 64,
			.next_proto_id = IPPROTO_TCP,
			.src_addr = rte_cpu_to_be_32(0x0a000002u + flow),
			.dst_addr = IP4(198, 51, 100, 7),
		};
		ip->hdr_checksum = csum_ipv4_header(ip, sizeof(*ip));
		*tcp = (struct rte_tcp_hdr){
			.src_port = rte_cpu_to_be_16((uint16_t)(20000 + flow)),
			.dst_port = RTE_BE16(443),
			.sent_seq = rte_cpu_to_be_32(n * PAYLOAD),
			.recv_ack = RTE_BE32(1),
			.data_off = 5 << 4,
			.tcp_flags = RTE_TCP_ACK_FLAG,
			.rx_win = RTE_BE16(65535),
		};
		tcp->cksum = csum_fold(csum_block_add(
			csum_partial(tcp, sizeof(*tcp),
				     csum_pseudo_v4(ip->src_addr, ip->dst_addr, IPPROTO_TCP,
						    sizeof(*tcp) + PAYLOAD)),
			csum_partial(rte_pktmbuf_mtod_offset(s->m, void *, HEADERS), PAYLOAD, 0),
			sizeof(*tcp)));
	}
}

/* The burst as it comes from a driver. */
static void arm(struct segment *s, struct rte_mbuf **m, uint64_t flags)
{
	for (unsigned i = 0; i < FWD_BURST; i++) {
		m[i] = s[i].m;
		m[i]->data_off = RTE_PKTMBUF_HEADROOM;
		m[i]->data_len = HEADERS + PAYLOAD;
		m[i]->pkt_len = HEADERS + PAYLOAD;
		m[i]->ol_flags = flags;
		rte_mbuf_refcnt_set(m[i], 2);
		memcpy(rte_pktmbuf_mtod(m[i], void *), s[i].head, HEADERS);
	}
}

/* ---- measuring ------------------------------------------------------------------------------- */

static uint64_t turn(unsigned burst, enum kind kind)
{
	struct worker *w = dp.workers[0];
	struct rte_mbuf *m[FWD_BURST];
	uint64_t t;

	arm(segments + burst * FWD_BURST, m, kind == VOUCHED ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0);
	snap->ifaces[LAN].flags = IFACE_PRESENT | (kind != OFF ? IFACE_GRO : 0);
	snap->ports[snap->ifaces[LAN].port].gro = kind != OFF;
	t = rte_rdtsc();
	worker_frames(w, m, FWD_BURST, snap->ifaces[LAN].port);
	tx_flush(w);
	return rte_rdtsc() - t;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct figures {
	double min, median; /* cycles a segment */
};

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), ascending);
	return v[n / 2];
}

static void measure(bool cold, unsigned rounds, struct figures out[KINDS])
{
	static double cost[KINDS][ROUND_TURNS], min[KINDS][ROUNDS_MAX], mid[KINDS][ROUNDS_MAX];

	for (unsigned r = 0; r < rounds; r++) {
		worker_turn_begin(dp.workers[0]);
		for (unsigned i = 0; i < ROUND_TURNS * KINDS; i++)
			cost[i % KINDS][i / KINDS] =
				(double)turn(cold ? order[i % COLD_BURSTS] : 0, i % KINDS) /
				FWD_BURST;
		for (unsigned k = 0; k < KINDS; k++) {
			mid[k][r] = median(cost[k], ROUND_TURNS);
			min[k][r] = cost[k][0];
		}
	}
	for (unsigned k = 0; k < KINDS; k++)
		out[k] = (struct figures){median(min[k], rounds), median(mid[k], rounds)};
}

static void run(unsigned flows, bool translated, bool cold, unsigned rounds, bool json)
{
	uint64_t *ev = dp.counters[0]->events, hz = rte_get_tsc_hz();
	static const char *const words[] = {"off", "on", "on, device vouches"};
	struct figures f[KINDS];

	snap->nat = translated ? nat : NULL;
	worker_turn_begin(dp.workers[0]);
	for (unsigned i = 0; i < 8; i++)
		turn(i, i % KINDS);
	memset(dp.counters[0], 0, sizeof(*dp.counters[0]));
	measure(cold, rounds, f);
	for (unsigned g = 0; g < KINDS; g++) {
		uint64_t received = (uint64_t)rounds * ROUND_TURNS * FWD_BURST * PAYLOAD;

		if (json)
			printf("{\"bench\":\"forward\",\"mode\":\"gro\",\"flows\":%u,\"frame\":%u,"
			       "\"direction\":\"out\","
			       "\"burst\":%u,\"workers\":1,\"nat\":%s,\"cold\":%s,\"gro\":\"%s\","
			       "\"device_csum\":%s,"
			       "\"payload_bytes_received\":%" PRIu64
			       ",\"payload_bytes_summed\":%" PRIu64 ","
			       "\"mpps\":%.2f,\"cycles_per_packet\":%.1f,\"cycles_per_packet_min\":"
			       "%.1f}\n",
			       flows, HEADERS + PAYLOAD, FWD_BURST, translated ? "true" : "false",
			       cold ? "true" : "false", g ? "cut" : "off",
			       g == VOUCHED ? "true" : "false", received,
			       g == SUMMED ? ev[FWD_E_gro_payload_bytes_summed] : 0,
			       (double)hz / f[g].median / 1e6, f[g].median, f[g].min);
		else
			printf("%-10s %-5s %2u flows, gro %-18s %6.1f cycles a segment (least "
			       "%6.1f)%s\n",
			       translated ? "translated" : "routed", cold ? "cold" : "warm", flows,
			       words[g], f[g].median, f[g].min,
			       g != SUMMED ? ""
			       : ev[FWD_E_gro_payload_bytes_summed] == received
				       ? ", each byte summed once"
			       : ev[FWD_E_gro_payload_bytes_summed] == 0 ? ", nothing to merge"
									 : "");
	}
	fflush(stdout);
	if (dp.counters[0]->iface[LAN].rx_packets != dp.counters[0]->iface[WAN].tx_packets)
		die("segments were dropped");
}

int main(int argc, char **argv)
{
	static const unsigned flows[] = {1, 8, 64};
	int used = rte_eal_init(argc, argv);
	unsigned rounds = 11;
	bool json = false;

	if (used < 0)
		die("EAL does not start");
	for (int i = used + 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
			rounds = RTE_MIN((unsigned)atoi(argv[++i]), (unsigned)ROUNDS_MAX);
		else
			die("usage: gro-bench [EAL options] [-- --json --rounds N]");
	}
	set_up();
	make_buffers();
	for (unsigned i = 0; i < RTE_DIM(flows); i++) {
		make_headers(flows[i]);
		for (unsigned k = 0; k < 4; k++)
			run(flows[i], k / 2, k % 2, rounds, json);
	}
	return 0;
}
