/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "csum.h"
#include "segments.h"

#define TABLE 4096 /* segments, or a train of each flow */

/* IPv4 and TCP headers; or those of UDP and the first bytes of its payload. */
#define HEAD (sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_tcp_hdr))

struct head {
	uint8_t bytes[HEAD];
};

/* What a port receives, every step-th: once, or over and over. */
struct feed {
	const struct head *heads;
	uint32_t n, at, step;
	bool once;
};

static struct {
	uint32_t flows, train, n, answers;
	bool udp, stopped;
	uint64_t rx_flags; /* the device's word */
	struct head *heads, *back;
	struct feed feed[2];
	/* buffers in the order in which they come again; NULL: the lane's pile */
	struct rte_mbuf **cold;
	uint32_t cold_get, cold_put;
} s;

static unsigned header_len(void)
{
	return s.udp ? sizeof(struct rte_udp_hdr) : sizeof(struct rte_tcp_hdr);
}

/* A frame whose payload is what all buffers hold. */
static const uint8_t *pattern(void)
{
	static uint8_t frame[FRAME_MAX];

	if (frame[FRAME_MAX - 1] == 0)
		frames_pattern(frame);
	return frame;
}

/* Of the transport header behind ip, whose own is 0, and of this much of the pattern. */
static csum_be_t l4_checksum(const struct rte_ipv4_hdr *ip, unsigned payload)
{
	unsigned hlen = header_len(), at = RTE_ETHER_HDR_LEN + sizeof(*ip) + hlen;

	return csum_fold(csum_partial(pattern() + at, payload,
				      csum_partial(ip + 1, hlen,
						   csum_pseudo_v4(ip->src_addr, ip->dst_addr,
								  ip->next_proto_id,
								  (uint16_t)(hlen + payload)))));
}

static void put_udp(const struct rte_ipv4_hdr *ip, struct rte_udp_hdr *udp, const struct flow *f,
		    unsigned payload)
{
	*udp = (struct rte_udp_hdr){
		.src_port = f->sport_be,
		.dst_port = f->dport_be,
		.dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(*udp) + payload)),
	};
	udp->dgram_cksum = csum_udp_zero(l4_checksum(ip, payload));
}

static void put_tcp(const struct rte_ipv4_hdr *ip, struct rte_tcp_hdr *tcp, const struct flow *f,
		    uint32_t number, unsigned payload)
{
	*tcp = (struct rte_tcp_hdr){
		.src_port = f->sport_be,
		.dst_port = f->dport_be,
		.sent_seq = rte_cpu_to_be_32(1 + number * payload),
		.recv_ack = RTE_BE32(1),
		.data_off = 5 << 4,
		.tcp_flags = RTE_TCP_ACK_FLAG,
		.rx_win = RTE_BE16(65535),
	};
	tcp->cksum = l4_checksum(ip, payload);
}

static void put_head(struct head *h, const struct flow *f, uint32_t number, unsigned payload)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)h->bytes;

	memcpy(h->bytes, pattern() + RTE_ETHER_HDR_LEN, sizeof(h->bytes));
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + header_len() + payload)),
		.packet_id = rte_cpu_to_be_16((uint16_t)number),
		.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 64,
		.next_proto_id = s.udp ? IPPROTO_UDP : IPPROTO_TCP,
		.src_addr = f->src_be,
		.dst_addr = f->dst_be,
	};
	ip->hdr_checksum = csum_ipv4_header(ip, sizeof(*ip));
	if (s.udp)
		put_udp(ip, (struct rte_udp_hdr *)(ip + 1), f, payload);
	else
		put_tcp(ip, (struct rte_tcp_hdr *)(ip + 1), f, number, payload);
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

unsigned segments_payload(const struct options *o)
{
	return (unsigned)(o->frame - RTE_ETHER_HDR_LEN - sizeof(struct rte_ipv4_hdr) -
			  (o->udp ? sizeof(struct rte_udp_hdr) : sizeof(struct rte_tcp_hdr)));
}

bool segments_build(const struct options *o, struct rte_mempool *pool)
{
	uint32_t flows = o->flows, round = flows * o->train;

	segments_free();
	s.flows = flows;
	s.train = o->train;
	s.udp = o->udp;
	s.n = round * RTE_MAX(1u, TABLE / round);
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
		struct flow f = frames_flow(o, i % round / s.train);

		put_head(&s.heads[i], &f, i / round * s.train + i % s.train, segments_payload(o));
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

	if (s.stopped)
		return 0;
	n = RTE_MIN(n, q->burst);
	if (f->once)
		n = (uint16_t)RTE_MIN(n, (f->n - f->at) / f->step);
	if (s.cold == NULL) {
		if (unlikely(p->n < n))
			ports_pile_fill(p, n);
		n = (uint16_t)RTE_MIN(n, p->n);
	}
	for (uint16_t i = 0; i < n; i++) {
		const struct head *h = &f->heads[f->at];
		uint32_t len = RTE_ETHER_HDR_LEN + (uint32_t)(h->bytes[2] << 8 | h->bytes[3]);
		uint8_t *frame;

		f->at += f->step;
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
			else if (unlikely(p->n == PILE_ROOM))
				rte_mempool_put(p->pool, at);
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

static void feed(unsigned port, const struct head *heads, uint32_t n, uint32_t step, bool once)
{
	s.feed[port] = (struct feed){.heads = heads, .n = n, .step = step, .once = once};
	ports_own(port, receive, sent, &s.feed[port]);
}

void segments_establish(void (*turn)(void))
{
	/* a queue's packets are of a burst at most, so the pile holds enough for both */
	feed(1, NULL, 0, 1, true);
	feed(0, s.heads, s.flows * s.train, s.train, true);
	ports_watch(1, answer, NULL);
	turn();
	ports_watch(1, NULL, NULL);
	feed(1, s.back, s.answers, 1, true);
	turn();
	feed(1, NULL, 0, 1, true);
	feed(0, s.heads, s.n, 1, false);
}

void segments_feed(bool on)
{
	s.stopped = !on;
}
