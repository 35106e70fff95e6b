/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of lib/fwd: an EAL without huge pages or devices, buffers from frames, and frames from
 * a few words.
 */
#ifndef TEST_FWD_FIXTURE_H
#define TEST_FWD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "dp.h"

#define IP(a, b, c, d) RTE_BE32((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static inline void fixture_eal(const char *lcores)
{
	char *argv[] = {(char *)"test",
			(char *)"--no-huge",
			(char *)"--no-pci",
			(char *)"--no-shconf",
			(char *)"-m",
			(char *)"512",
			(char *)"--no-telemetry",
			(char *)"--log-level=4",
			(char *)"--lcores",
			(char *)lcores};

	assert_true(rte_eal_init(RTE_DIM(argv), argv) >= 0);
}

static inline void fixture_pool(unsigned n)
{
	dp.pool = rte_pktmbuf_pool_create("packets", n, 0, sizeof(struct fwd_mbuf_priv),
					  FWD_MBUF_ROOM, SOCKET_ID_ANY);
	assert_non_null(dp.pool);
}

/* An mbuf with these bytes in one segment. */
static inline struct rte_mbuf *fixture_mbuf(const void *bytes, unsigned len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(dp.pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), bytes, len);
	return m;
}

/* The same bytes cut at the given offsets (ascending, n of them), a segment each. */
static inline struct rte_mbuf *fixture_chain(const void *bytes, unsigned len, const unsigned *cuts,
					     unsigned n)
{
	struct rte_mbuf *head = NULL;
	unsigned from = 0;

	for (unsigned i = 0; i <= n; i++) {
		unsigned to = i < n ? cuts[i] : len;
		struct rte_mbuf *m = fixture_mbuf((const char *)bytes + from, to - from);

		if (head == NULL)
			head = m;
		else
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
		from = to;
	}
	return head;
}

/* A word at a time, no short cuts: the tests' own RFC 1071. */
static inline uint32_t plain_sum(const uint8_t *p, unsigned len, uint32_t sum)
{
	for (unsigned i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static inline void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline uint32_t plain_pseudo(const uint8_t *ip, unsigned l4_len)
{
	uint32_t sum = plain_sum(ip + 12, 8, 0);

	return plain_sum((const uint8_t[]){0, ip[9], (uint8_t)(l4_len >> 8), (uint8_t)l4_len}, 4,
			 sum);
}

/* Where the transport checksum lies, 0: none that has a pseudo-header. */
static inline unsigned plain_l4_at(uint8_t proto)
{
	return proto == IPPROTO_TCP ? 16 : proto == IPPROTO_UDP ? 6 : 0;
}

/* Fills both checksums of the datagram at ip (total length is in it). */
static inline void plain_fill(uint8_t *ip)
{
	unsigned ihl = (ip[0] & 0xfu) * 4, len = (unsigned)(ip[2] << 8 | ip[3]), l4 = len - ihl;
	unsigned at = plain_l4_at(ip[9]);

	put16(ip + 10, 0);
	put16(ip + 10, ~plain_sum(ip, ihl, 0) & 0xffff);
	if (at != 0) {
		unsigned sum;

		put16(ip + ihl + at, 0);
		sum = ~plain_sum(ip + ihl, l4, plain_pseudo(ip, l4)) & 0xffff;
		put16(ip + ihl + at, ip[9] == IPPROTO_UDP && sum == 0 ? 0xffff : sum);
	} else if (ip[9] == IPPROTO_ICMP) {
		put16(ip + ihl + 2, 0);
		put16(ip + ihl + 2, ~plain_sum(ip + ihl, l4, 0) & 0xffff);
	}
}

/* Are all checksums of the datagram right? (UDP without one is) */
static inline bool plain_good(const uint8_t *ip)
{
	unsigned ihl = (ip[0] & 0xfu) * 4, len = (unsigned)(ip[2] << 8 | ip[3]), l4 = len - ihl;
	unsigned at = plain_l4_at(ip[9]);

	if (plain_sum(ip, ihl, 0) != 0xffff)
		return false;
	if (ip[9] == IPPROTO_ICMP)
		return plain_sum(ip + ihl, l4, 0) == 0xffff;
	if (at == 0 || (ip[9] == IPPROTO_UDP && ip[ihl + 6] == 0 && ip[ihl + 7] == 0))
		return true;
	return plain_sum(ip + ihl, l4, plain_pseudo(ip, l4)) == 0xffff;
}

struct flow {
	rte_be32_t src, dst;
	uint16_t sport, dport; /* host order; ICMP echo: the identifier is sport */
	uint8_t proto;
};

/* An Ethernet frame (14 + options_words*4 + ...) with `payload` bytes of data; returns its length.
 */
static inline unsigned fixture_frame(uint8_t *f, const uint8_t dst_mac[6], const struct flow *fl,
				     unsigned payload, unsigned option_words, uint8_t ttl)
{
	unsigned ihl = 20 + 4 * option_words;
	unsigned l4 = fl->proto == IPPROTO_TCP ? 20 : 8;
	unsigned total = ihl + l4 + payload;
	uint8_t *ip = f + 14, *t = ip + ihl;

	memset(f, 0, 14 + total);
	memcpy(f, dst_mac, 6);
	memcpy(f + 6, "\x02\0\0\0\0\xaa", 6);
	put16(f + 12, 0x0800);
	ip[0] = (uint8_t)(0x40 | ihl / 4);
	put16(ip + 2, total);
	put16(ip + 4, 0x1234);
	ip[8] = ttl;
	ip[9] = fl->proto;
	memcpy(ip + 12, &fl->src, 4);
	memcpy(ip + 16, &fl->dst, 4);
	memset(ip + 20, 1, 4 * option_words); /* no-operation options */
	if (fl->proto == IPPROTO_ICMP) {
		t[0] = 8;
		put16(t + 4, fl->sport);
	} else {
		put16(t, fl->sport);
		put16(t + 2, fl->dport);
	}
	if (fl->proto == IPPROTO_TCP) {
		t[12] = 0x50;
		t[13] = 0x02;
	} else if (fl->proto == IPPROTO_UDP) {
		put16(t + 4, 8 + payload);
	}
	for (unsigned i = 0; i < payload; i++)
		t[l4 + i] = (uint8_t)(i * 37 + 11);
	plain_fill(ip);
	return 14 + total;
}

/*
 * A device with TSO, by rte_mbuf's description of it: frame i that it makes of m, into frame (NULL:
 * only how long it is), with the bytes of m put together in whole (70,000 bytes). Returns the
 * frame's length, 0 when there is none of this number. What the device does not do for IPv4 header
 * checksums, the receiver's side does.
 */
static inline unsigned the_device_cuts(const struct rte_mbuf *m, unsigned i, uint8_t *whole,
				       uint8_t *frame)
{
	unsigned head = (unsigned)(m->l2_len + m->l3_len + m->l4_len), size = m->tso_segsz;
	unsigned at = RTE_MIN(head + i * size, m->pkt_len), bytes = RTE_MIN(size, m->pkt_len - at);
	uint8_t *ip = whole + m->l2_len, *tcp = ip + m->l3_len;
	const void *from = rte_pktmbuf_read(m, 0, m->pkt_len, whole);
	uint32_t seq;

	assert_non_null(from);
	if (from != whole)
		memcpy(whole, from, m->pkt_len);
	assert_true(m->ol_flags & RTE_MBUF_F_TX_IPV4);
	assert_true(m->data_len >= head && size > 0);
	assert_int_equal(ip[2] << 8 | ip[3], m->pkt_len - m->l2_len);
	/* the seed: the pseudo-header's sum, as if there were no length */
	assert_int_equal(tcp[16] << 8 | tcp[17], plain_pseudo(ip, 0));
	assert_true((m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) ? (ip[10] | ip[11]) == 0
							   : plain_sum(ip, 20, 0) == 0xffff);
	if (bytes == 0)
		return 0;
	if (frame == NULL)
		return head + bytes;
	memcpy(frame, whole, head);
	memcpy(frame + head, whole + at, bytes);
	ip = frame + m->l2_len;
	tcp = ip + m->l3_len;
	put16(ip + 2, m->l3_len + m->l4_len + bytes);
	put16(ip + 4, (unsigned)(ip[4] << 8 | ip[5]) + i);
	memcpy(&seq, tcp + 4, sizeof(seq));
	seq = rte_cpu_to_be_32(rte_be_to_cpu_32(seq) + i * size);
	memcpy(tcp + 4, &seq, sizeof(seq));
	if (at + bytes < m->pkt_len)
		tcp[13] &= (uint8_t)~0x09; /* FIN and PSH: on the last */
	if (i > 0)
		tcp[13] &= 0x7f; /* CWR: on the first */
	plain_fill(ip);
	return head + bytes;
}

#endif /* TEST_FWD_FIXTURE_H */
