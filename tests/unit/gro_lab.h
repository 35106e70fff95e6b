/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the tests of merging: a router of two ports and a VLAN, and TCP segments and UDP datagrams
 * from a few words.
 */
#ifndef TEST_GRO_LAB_H
#define TEST_GRO_LAB_H

#include "fwd_router.h"

#include <time.h>

#include "gro.h"

enum { TAGGED = WAN + 1, N_IFACES }; /* 10.0.7.1/24, VLAN 7 at LAN's port */
enum { NH_TAGGED_HOST = NH_OWN };
enum { VLAN = 7, FRAME_MAX = 2048 };

static const uint8_t MACS[N_IFACES][6] = {
	{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {2, 0, 0, 0, 0, 1}};
static struct nat_config *nat_conf;
static uint16_t vlan_table[4096];

/* ---- the router ------------------------------------------------------------------------------ */

static inline int setup(void **state)
{
	static const uint8_t host[6] = {2, 0, 0, 0, 0, 0xdd};
	uint16_t lan;

	(void)state;
	router_setup();
	lan = snap->ifaces[LAN].port;
	router_iface(TAGGED, lan, MACS[TAGGED], IP(10, 0, 7, 1));
	snap->ifaces[TAGGED].vlan = VLAN;
	memset(vlan_table, 0xff, sizeof(vlan_table));
	vlan_table[VLAN] = TAGGED;
	snap->ports[lan].vlan_iface = vlan_table;
	router_neighbour(NH_TAGGED_HOST, TAGGED, IP(10, 0, 7, 2), host);
	router_route(IP(10, 0, 7, 0), 24, NH_TAGGED_HOST);
	nat_conf = router_nat(&ROUTER_SNAT, 1, false);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	nat_config_free(nat_conf);
	router_teardown();
	return 0;
}

/* flags: IFACE_GRO and what goes with it, 0: off. */
static inline void set_gro(uint8_t flags)
{
	for (unsigned i = 0; i < N_IFACES; i++) {
		snap->ifaces[i].flags = IFACE_PRESENT | flags;
		snap->ports[snap->ifaces[i].port].gro = flags != 0;
	}
}

/* How long segments may wait for those that follow, by all interfaces. */
static inline void set_wait(uint16_t us)
{
	for (unsigned i = 0; i < N_IFACES; i++)
		snap->ifaces[i].gro_us = us;
	snap->gro_waits = us > 0;
}

static inline void set_tso(uint16_t segs, bool ip_csum)
{
	for (unsigned i = 0; i < N_IFACES; i++) {
		snap->ports[snap->ifaces[i].port].tso_segs = segs;
		snap->ports[snap->ifaces[i].port].tso_ip_csum = ip_csum;
	}
}

static inline void reset_router(bool nat)
{
	router_fresh(nat ? nat_conf : NULL);
}

/* Sessions of both workers. */
static inline unsigned sessions(struct nat_session_info *out, unsigned max)
{
	unsigned n = 0;

	for (unsigned k = 0; k < dp.n_workers; k++) {
		uint32_t cursor = 0;

		n += nat_session_list(dp.workers[k]->nat, &(struct nat_filter){0}, 0, &cursor, 4096,
				      out + n, max - n);
	}
	return n;
}

static inline int fresh(void **state)
{
	(void)state;
	set_gro(IFACE_GRO);
	set_wait(0);
	snap->ifaces[WAN].mtu = 1500;
	reset_router(false);
	return 0;
}

/* ---- segments -------------------------------------------------------------------------------- */

struct segment {
	struct flow flow; /* of TCP, or of UDP, where all that is TCP's alone says nothing */
	uint16_t iface;
	uint32_t seq, ack;
	uint16_t id, window, urgent, payload, padding;
	uint8_t ttl, tos, flags;
	bool df;
	uint8_t ip_options, tcp_options; /* 32-bit words */
	uint8_t ip_option_byte;
	uint32_t timestamp;    /* in the options, if there are at least 3 words */
	uint16_t frag_words;   /* fragment offset field but for DF, host order */
	uint8_t doff;	       /* 0: as it should be */
	bool unsummed;	       /* UDP: without a checksum */
	int8_t udp_len;	       /* UDP: its length, less that of what there is */
	uint16_t payload_word; /* added to the first two bytes of payload */
	unsigned flip; /* bit of the payload to flip behind the checksum's back; UINT_MAX: none */
	uint64_t ol_flags;
	unsigned n_cuts, cuts[3]; /* into buffers */
};

static const struct segment PLAIN = {
	.flow = {IP(10, 0, 0, 2), IP(198, 51, 100, 7), 5000, 80, IPPROTO_TCP},
	.iface = LAN,
	.seq = 1000,
	.ack = 77,
	.id = 1,
	.window = 500,
	.payload = 100,
	.ttl = 64,
	.flags = 0x10,
	.df = true,
	.flip = UINT_MAX,
};

/* All but the ports of a TCP header of thl bytes. */
static inline void build_tcp(const struct segment *s, uint8_t *t, unsigned thl)
{
	put16(t + 4, s->seq >> 16);
	put16(t + 6, s->seq);
	put16(t + 8, s->ack >> 16);
	put16(t + 10, s->ack);
	t[12] = (uint8_t)((s->doff != 0 ? s->doff : thl / 4) << 4);
	t[13] = s->flags;
	put16(t + 14, s->window);
	put16(t + 18, s->urgent);
	memset(t + 20, 1, thl - 20);
	if (s->tcp_options >= 3) {
		t[22] = 8;
		t[23] = 10;
		put16(t + 24, s->timestamp >> 16);
		put16(t + 26, s->timestamp);
	}
}

/* The Ethernet frame of s, its length. */
static inline unsigned build(const struct segment *s, uint8_t *f)
{
	bool udp = s->flow.proto == IPPROTO_UDP;
	unsigned ihl = 20 + s->ip_options * 4u, thl = udp ? 8 : 20 + s->tcp_options * 4u,
		 total = ihl + thl + s->payload, l2 = 14;
	uint8_t *ip, *t;

	memset(f, 0, FRAME_MAX);
	memcpy(f, MACS[s->iface], 6);
	memcpy(f + 6, "\x02\0\0\0\0\xaa", 6);
	if (s->iface == TAGGED) {
		put16(f + 12, 0x8100);
		put16(f + 14, VLAN);
		l2 = 18;
	}
	put16(f + l2 - 2, 0x0800);
	ip = f + l2;
	t = ip + ihl;
	ip[0] = (uint8_t)(0x40 | ihl / 4);
	ip[1] = s->tos;
	put16(ip + 2, total);
	put16(ip + 4, s->id);
	put16(ip + 6, (s->df ? 0x4000u : 0) | s->frag_words);
	ip[8] = s->ttl;
	ip[9] = s->flow.proto;
	memcpy(ip + 12, &s->flow.src, 4);
	memcpy(ip + 16, &s->flow.dst, 4);
	memset(ip + 20, 1, ihl - 20);
	if (s->ip_options > 0)
		ip[20] = s->ip_option_byte ? 0x94 : 1,
		ip[21] = s->ip_option_byte ? 4 : 1; /* router alert */
	put16(t, s->flow.sport);
	put16(t + 2, s->flow.dport);
	if (udp)
		put16(t + 4, thl + s->payload + (unsigned)s->udp_len);
	else
		build_tcp(s, t, thl);
	for (unsigned i = 0; i < s->payload; i++)
		t[thl + i] = (uint8_t)((s->seq + i) * 37 + ((s->seq + i) >> 7));
	if (s->payload_word != 0 && s->payload >= 2)
		put16(t + thl, plain_sum((const uint8_t[]){(uint8_t)(s->payload_word >> 8),
							   (uint8_t)s->payload_word},
					 2, (uint32_t)(t[thl] << 8 | t[thl + 1])));
	plain_fill(ip);
	if (udp && s->unsummed)
		put16(t + 6, 0);
	if (s->flip != UINT_MAX && s->payload > 0)
		t[thl + s->flip / 8 % s->payload] ^= (uint8_t)(1 << s->flip % 8);
	for (unsigned i = 0; i < s->padding; i++)
		ip[total + i] = 0xa5;
	return l2 + total + s->padding;
}

static inline struct rte_mbuf *segment_mbuf(const struct segment *s)
{
	uint8_t f[FRAME_MAX];
	unsigned len = build(s, f);
	struct rte_mbuf *m;

	m = s->n_cuts > 0 && s->cuts[s->n_cuts - 1] < len
		    ? fixture_chain(f, len, s->cuts, s->n_cuts)
		    : fixture_mbuf(f, len);
	m->ol_flags |= s->ol_flags;
	return m;
}

/* Parses n segments and merges them; the packets that are left. */
static inline unsigned merge(const struct segment *s, unsigned n, struct pkt *pkts, struct gro *g)
{
	uint64_t completed = 0;

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(parse_frame(snap, segment_mbuf(&s[i]),
					     snap->ifaces[s[i].iface].port, &pkts[i], &completed),
				 PARSE_IP4);
	return gro_burst(dp.workers[0], pkts, n, g);
}

static inline void free_merged(const struct pkt *pkts, unsigned n, const struct gro *g)
{
	for (unsigned i = 0; i < n; i++) {
		const struct gro_merged *d = g->n > 0 && g->of[i] ? &g->merged[g->of[i] - 1] : NULL;

		if (d == NULL)
			rte_pktmbuf_free(pkts[i].m);
		for (unsigned k = 0; d != NULL && k < d->n; k++)
			rte_pktmbuf_free(d->segments[k]);
	}
}

/* How many packets two or more segments become. */
static inline unsigned packets_of(const struct segment *s, unsigned n)
{
	struct pkt pkts[FWD_BURST];
	struct gro g;

	n = merge(s, n, pkts, &g);
	free_merged(pkts, n, &g);
	return n;
}

/* As s, with UDP's 0xffff for a checksum that computes to 0. */
static inline struct segment summed_to_zero(struct segment s)
{
	uint8_t f[FRAME_MAX];
	const uint8_t *check = f + (s.iface == TAGGED ? 18 : 14) + 20 + s.ip_options * 4u + 6;

	s.payload_word = 0;
	build(&s, f);
	s.payload_word = (uint16_t)(check[0] << 8 | check[1]);
	return s;
}

/* b, made to follow a. */
static inline struct segment behind(const struct segment *a)
{
	struct segment b = *a;

	b.seq += a->payload;
	b.id++;
	return b;
}

#endif /* TEST_GRO_LAB_H */
