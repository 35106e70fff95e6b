/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams for lib/nat's tests, built and checked by plain sums of their own. They lie in heap
 * blocks of their exact size, so that a sanitizer sees any access beside them.
 */
#ifndef TEST_NAT_PACKET_H
#define TEST_NAT_PACKET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "nat.h"

#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define PSH 0x08
#define ACK 0x10

/* ---- numbers ---- */

static inline uint32_t ip4(const char *s)
{
	struct in_addr a;

	if (inet_pton(AF_INET, s, &a) != 1)
		fail_msg("bad address %s", s);
	return a.s_addr;
}

static inline struct nat_prefix net4(const char *s)
{
	char buf[32];
	char *slash;

	snprintf(buf, sizeof(buf), "%s", s);
	slash = strchr(buf, '/');
	if (slash != NULL)
		*slash = '\0';
	return (struct nat_prefix){ip4(buf), slash != NULL ? (uint8_t)atoi(slash + 1) : 32};
}

static inline uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static inline void set16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void set32(uint8_t *p, uint32_t v)
{
	set16(p, v >> 16);
	set16(p + 2, v & 0xffff);
}

/* The plainest one's complement sum: big-endian words, carries folded at each step. */
static inline uint32_t plain_sum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i += 2) {
		sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static inline uint32_t lab_rand(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}

/* ---- packets ---- */

struct packet {
	uint8_t *b; /* the datagram */
	unsigned len;
};

static inline unsigned packet_ihl(const uint8_t *b)
{
	return (b[0] & 0xf) * 4u;
}

/* What the transport checksum of the datagram should be, from scratch; at: its offset in the
 * transport header, 0: the protocol has none. len: bytes of the datagram. */
static inline uint16_t right_l4(const uint8_t *b, unsigned len, unsigned *at)
{
	unsigned ihl = packet_ihl(b), l4_len = len - ihl;
	uint8_t *copy = malloc(l4_len + 1);
	uint32_t sum = 0;
	uint16_t check;

	switch (b[9]) {
	case IPPROTO_TCP:
		*at = 16;
		break;
	case IPPROTO_UDP:
	case 136:
	case 33:
		*at = 6;
		break;
	case IPPROTO_ICMP:
		*at = 2;
		break;
	default:
		*at = 0;
		free(copy);
		return 0;
	}
	memcpy(copy, b + ihl, l4_len);
	set16(copy + *at, 0);
	if (b[9] != IPPROTO_ICMP) {
		sum = plain_sum(b + 12, 8, sum);
		sum += b[9];
		sum += l4_len;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	check = (uint16_t)~plain_sum(copy, l4_len, sum);
	free(copy);
	if (check == 0 && (b[9] == IPPROTO_UDP || b[9] == 136))
		check = 0xffff;
	return check;
}

static inline uint16_t right_ip(const uint8_t *b)
{
	uint8_t h[60];

	memcpy(h, b, packet_ihl(b));
	set16(h + 10, 0);
	return (uint16_t)~plain_sum(h, packet_ihl(b), 0);
}

static inline void packet_seal_l4(struct packet p)
{
	unsigned at;
	uint16_t check = right_l4(p.b, p.len, &at);

	if (at != 0)
		set16(p.b + packet_ihl(p.b) + at, check);
}

static inline void packet_seal(struct packet p)
{
	set16(p.b + 10, right_ip(p.b));
	packet_seal_l4(p);
}

/* An IPv4 datagram without a transport header yet; ihl in bytes, options are NOPs. */
static inline struct packet packet_ip(uint8_t proto, const char *src, const char *dst, unsigned ihl,
				      unsigned l4_len)
{
	struct packet p = {malloc(ihl + l4_len), ihl + l4_len};
	uint32_t s = ip4(src), d = ip4(dst);

	memset(p.b, 1, ihl);
	memset(p.b + ihl, 0, l4_len);
	p.b[0] = (uint8_t)(0x40 | ihl / 4);
	p.b[1] = 0;
	set16(p.b + 2, p.len);
	set16(p.b + 4, 0x1234);
	set16(p.b + 6, 0x4000);
	p.b[8] = 64;
	p.b[9] = proto;
	memcpy(p.b + 12, &s, 4);
	memcpy(p.b + 16, &d, 4);
	return p;
}

static inline struct packet packet_udp(const char *src, unsigned sport, const char *dst,
				       unsigned dport, const char *data)
{
	unsigned n = (unsigned)strlen(data);
	struct packet p = packet_ip(IPPROTO_UDP, src, dst, 20, 8 + n);
	uint8_t *l4 = p.b + 20;

	set16(l4, sport);
	set16(l4 + 2, dport);
	set16(l4 + 4, 8 + n);
	memcpy(l4 + 8, data, n);
	packet_seal(p);
	return p;
}

static inline struct packet packet_tcp(const char *src, unsigned sport, const char *dst,
				       unsigned dport, unsigned flags, uint32_t seq, uint32_t ack,
				       const char *data)
{
	unsigned n = (unsigned)strlen(data);
	struct packet p = packet_ip(IPPROTO_TCP, src, dst, 20, 20 + n);
	uint8_t *l4 = p.b + 20;

	set16(l4, sport);
	set16(l4 + 2, dport);
	set32(l4 + 4, seq);
	set32(l4 + 8, ack);
	l4[12] = 0x50;
	l4[13] = (uint8_t)flags;
	set16(l4 + 14, 0xfaf0);
	memcpy(l4 + 20, data, n);
	packet_seal(p);
	return p;
}

static inline struct packet packet_icmp(const char *src, const char *dst, unsigned type,
					unsigned id, unsigned seq, const char *data)
{
	unsigned n = (unsigned)strlen(data);
	struct packet p = packet_ip(IPPROTO_ICMP, src, dst, 20, 8 + n);
	uint8_t *l4 = p.b + 20;

	l4[0] = (uint8_t)type;
	set16(l4 + 4, id);
	set16(l4 + 6, seq);
	memcpy(l4 + 8, data, n);
	packet_seal(p);
	return p;
}

/* An ICMP error from src to dst about the datagram q, quoting its first `quoted` bytes. */
static inline struct packet packet_error(const char *src, const char *dst, unsigned type,
					 unsigned code, struct packet q, unsigned quoted)
{
	struct packet p = packet_ip(IPPROTO_ICMP, src, dst, 20, 8 + quoted);

	p.b[20] = (uint8_t)type;
	p.b[21] = (uint8_t)code;
	memcpy(p.b + 28, q.b, quoted);
	packet_seal(p);
	return p;
}

static inline struct packet packet_copy(struct packet p)
{
	struct packet c = {malloc(p.len), p.len};

	memcpy(c.b, p.b, p.len);
	return c;
}

static inline const char *packet_src(struct packet p)
{
	static char buf[4][INET_ADDRSTRLEN];
	static unsigned n;

	n = (n + 1) % 4;
	return inet_ntop(AF_INET, p.b + 12, buf[n], sizeof(buf[n]));
}

static inline const char *packet_dst(struct packet p)
{
	static char buf[4][INET_ADDRSTRLEN];
	static unsigned n;

	n = (n + 1) % 4;
	return inet_ntop(AF_INET, p.b + 16, buf[n], sizeof(buf[n]));
}

static inline unsigned packet_sport(struct packet p)
{
	return get16(p.b + packet_ihl(p.b));
}

static inline unsigned packet_dport(struct packet p)
{
	return get16(p.b + packet_ihl(p.b) + 2);
}

static inline unsigned packet_id(struct packet p)
{
	return get16(p.b + packet_ihl(p.b) + 4);
}

/* All checksums are what a computation from scratch gives (UDP without one: stays without). */
static inline void assert_sums(struct packet p)
{
	unsigned at;
	uint16_t want = right_l4(p.b, p.len, &at);

	assert_int_equal(get16(p.b + 10), right_ip(p.b));
	if (at == 0)
		return;
	if (p.b[9] == IPPROTO_UDP && get16(p.b + packet_ihl(p.b) + at) == 0)
		return;
	assert_int_equal(get16(p.b + packet_ihl(p.b) + at), want);
}

#define assert_from(p, addr, port)                                                                 \
	do {                                                                                       \
		assert_string_equal(packet_src(p), addr);                                          \
		assert_int_equal(packet_sport(p), port);                                           \
	} while (0)

#define assert_to(p, addr, port)                                                                   \
	do {                                                                                       \
		assert_string_equal(packet_dst(p), addr);                                          \
		assert_int_equal(packet_dport(p), port);                                           \
	} while (0)

#endif /* TEST_NAT_PACKET_H */
