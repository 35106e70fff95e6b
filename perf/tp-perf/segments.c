/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_tcp.h>

#include "csum.h"
#include "segments.h"

#define TABLE 4096 /* segments, or one of each flow */
#define HEAD  (SEGMENTS_HEADERS - RTE_ETHER_HDR_LEN)

/* IPv4 and TCP headers. */
struct head {
	uint8_t bytes[HEAD];
};

/* What a port receives: once, or over and over. */
struct feed {
	const struct head *heads;
	uint32_t n, at;
	bool once;
};

static struct {
	uint32_t flows, n, answers;
	uint64_t rx_flags; /* the device's word */
	struct head *heads, *back;
	struct feed feed[2];
	/* buffers in the order in which they come again; NULL: the lane's pile */
	struct rte_mbuf **cold;
	uint32_t cold_get, cold_put;
} s;

/* Both checksums; the payload is the pattern that all buffers hold from here on. */
static void fill_checksums(struct head *h, unsigned payload)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)h->bytes;
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);
	static uint8_t pattern[FRAME_MAX];

	if (pattern[FRAME_MAX - 1] == 0)
		frames_pattern(pattern);
	ip->total_length = rte_cpu_to_be_16((uint16_t)(HEAD + payload));
	ip->hdr_checksum = csum_ipv4_header(ip, sizeof(*ip));
	tcp->cksum = 0;
	tcp->cksum = csum_fold(
		csum_partial(pattern + SEGMENTS_HEADERS, payload,
			     csum_partial(tcp, sizeof(*tcp),
					  csum_pseudo_v4(ip->src_addr, ip->dst_addr, IPPROTO_TCP,
							 (uint16_t)(sizeof(*tcp) + payload)))));
}

static void put_head(struct head *h, const struct flow *f, uint32_t number, unsigned payload)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)h->bytes;
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);

	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.packet_id = rte_cpu_to_be_16((uint16_t)number),
		.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 64,
		.next_proto_id = IPPROTO_TCP,
		.src_addr = f->src_be,
		.dst_addr = f->dst_be,
	};
	*tcp = (struct rte_tcp_hdr){
		.src_port = f->sport_be,
		.dst_port = f->dport_be,
		.sent_seq = rte_cpu_to_be_32(1 + number * payload),
		.recv_ack = RTE_BE32(1),
		.data_off = 5 << 4,
		.tcp_flags = RTE_TCP_ACK_FLAG,
		.rx_win = RTE_BE16(65535),
	};
	fill_checksums(h, payload);
}

static bool take_cold(struct rte_mempool *pool)
{
	uint64_t seed = 1;

	s.cold = rte_malloc("cold", SEGMENTS_COLD * sizeof(struct rte_mbuf *), RTE_CACHE_LINE_SIZE);
	if (s.cold == NULL || rte_mempool_get_bulk(pool, (void **)s.cold, SEGMENTS_COLD) != 0)
		return false;
	for (uint32_t i = SEGMENTS_COLD; i > 1; i--) {
		struct rte_mbuf *m = s.cold[i - 1];
		uint32_t j;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		j = (uint32_t)(((seed >> 32) * i) >> 32);
		s.cold[i - 1] = s.cold[j];
		s.cold[j] = m;
	}
	return true;
}

bool segments_build(const struct options *o, struct rte_mempool *pool)
{
	uint32_t flows = o->flows;

	segments_free();
	s.flows = flows;
	s.n = flows * RTE_MAX(1u, TABLE / flows);
	s.rx_flags = o->rx_csum ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0;
	s.heads = rte_malloc("segments", s.n * sizeof(*s.heads), RTE_CACHE_LINE_SIZE);
	s.back = rte_malloc("answers", flows * sizeof(*s.back), RTE_CACHE_LINE_SIZE);
	if (s.heads == NULL || s.back == NULL || (o->payload_cold && !take_cold(pool))) {
		fprintf(stderr,
			"tp-perf: no memory for the segments of %u flows: reserve more huge "
			"pages\n",
			flows);
		return false;
	}
	for (uint32_t i = 0; i < s.n; i++) {
		struct flow f = frames_flow(o, i % flows);

		put_head(&s.heads[i], &f, i / flows, (unsigned)(o->frame - SEGMENTS_HEADERS));
	}
	return true;
}

void segments_free(void)
{
	rte_free(s.heads);
	rte_free(s.back);
	for (uint32_t i = 0; s.cold != NULL && i < SEGMENTS_COLD; i++)
		rte_mempool_put(s.cold[i]->pool, s.cold[i]);
	rte_free(s.cold);
	memset(&s, 0, sizeof(s));
}

static uint16_t receive(struct queue *q, struct rte_mbuf **m, uint16_t n)
{
	struct feed *f = q->own_arg;
	struct pile *p = q->pile;

	n = RTE_MIN(n, q->burst);
	if (f->once)
		n = (uint16_t)RTE_MIN(n, f->n - f->at);
	if (s.cold == NULL) {
		if (unlikely(p->n < n))
			ports_pile_fill(p, n);
		n = (uint16_t)RTE_MIN(n, p->n);
	}
	for (uint16_t i = 0; i < n; i++) {
		const struct head *h = &f->heads[f->at++];
		uint32_t len = RTE_ETHER_HDR_LEN + (uint32_t)(h->bytes[2] << 8 | h->bytes[3]);
		uint8_t *frame;

		if (f->at == f->n && !f->once)
			f->at = 0;
		m[i] = s.cold != NULL ? s.cold[s.cold_get++ % SEGMENTS_COLD] : p->m[--p->n];
		frame = (uint8_t *)m[i]->buf_addr + RTE_PKTMBUF_HEADROOM;
		memcpy(&m[i]->rearm_data, &q->rearm, sizeof(q->rearm));
		m[i]->ol_flags = s.rx_flags;
		m[i]->pkt_len = len;
		m[i]->data_len = (uint16_t)len;
		memcpy(frame, &q->eth, sizeof(q->eth));
		memcpy(frame + sizeof(q->eth), h, sizeof(*h));
	}
	return n;
}

static void sent(struct queue *q, struct rte_mbuf **m, uint16_t n)
{
	struct pile *p = q->pile;

	for (uint16_t i = 0; i < n; i++) {
		for (struct rte_mbuf *at = m[i], *next; at != NULL; at = next) {
			next = at->next;
			at->next = NULL;
			if (s.cold != NULL)
				s.cold[s.cold_put++ % SEGMENTS_COLD] = at;
			else
				p->m[p->n++] = at;
		}
	}
}

static void answer(void *arg, struct rte_mbuf *m)
{
	const struct rte_ipv4_hdr *ip =
		rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN);
	const struct rte_tcp_hdr *tcp = (const struct rte_tcp_hdr *)(ip + 1);
	struct flow f = {ip->dst_addr, ip->src_addr, tcp->dst_port, tcp->src_port};

	RTE_SET_USED(arg);
	if (s.answers < s.flows)
		put_head(&s.back[s.answers++], &f, 0, 0);
}

static void feed(unsigned port, const struct head *heads, uint32_t n, bool once)
{
	s.feed[port] = (struct feed){.heads = heads, .n = n, .once = once};
	ports_own(port, receive, sent, &s.feed[port]);
}

void segments_establish(void (*turn)(void))
{
	/* a queue's packets are of a burst at most, so the pile holds enough for both */
	feed(1, NULL, 0, true);
	feed(0, s.heads, s.flows, true);
	ports_watch(1, answer, NULL);
	turn();
	ports_watch(1, NULL, NULL);
	feed(1, s.back, s.answers, true);
	turn();
}

void segments_feed(void)
{
	feed(1, NULL, 0, true);
	feed(0, s.heads, s.n, false);
}
