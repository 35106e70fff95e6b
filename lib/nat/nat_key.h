/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys: comparing, reversing and hashing struct nat_key, and what each IP protocol carries.
 * Inline functions without state.
 */
#ifndef TURNPIKE_NAT_KEY_H
#define TURNPIKE_NAT_KEY_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "nat.h"

_Static_assert(sizeof(struct nat_key) == 16, "a key is two words");

#define NAT_PROTO_UDPLITE 136
#define NAT_PROTO_DCCP	  33

#define nat_likely(x)	__builtin_expect(!!(x), 1)
#define nat_unlikely(x) __builtin_expect(!!(x), 0)

/* Unaligned 16, 32 and 64-bit access. */
static inline uint16_t nat_load2(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t nat_load4(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t nat_load8(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void nat_store2(void *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void nat_store4(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void nat_store8(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline bool nat_key_equal(const struct nat_key *a, const struct nat_key *b)
{
	uint64_t x[2], y[2];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

static inline struct nat_key nat_key_reverse(const struct nat_key *k)
{
	struct nat_key r = *k;

	r.src_be = k->dst_be;
	r.dst_be = k->src_be;
	r.sport_be = k->dport_be;
	r.dport_be = k->sport_be;
	if (k->kind != NAT_KIND_FLOW)
		r.kind = k->kind ^ NAT_KIND_ICMP_REQUEST ^ NAT_KIND_ICMP_REPLY;
	return r;
}

static inline uint16_t nat_key_table(const struct nat_key *k)
{
	return k->table & (uint16_t)~NAT_TABLE_HALF;
}

/* Seed of the hashes: three secret words. */
struct nat_seed {
	uint64_t a, b, c;
};

/* High and low half of the product, mixed. */
static inline uint64_t nat_mum(uint64_t x, uint64_t y)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 p = (unsigned __int128)x * y;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
#else
	uint64_t ll = (x & 0xffffffff) * (y & 0xffffffff), hh = (x >> 32) * (y >> 32);
	uint64_t lh = (x & 0xffffffff) * (y >> 32), hl = (x >> 32) * (y & 0xffffffff);
	uint64_t mid = (ll >> 32) + (lh & 0xffffffff) + (hl & 0xffffffff);

	return ((ll & 0xffffffff) | (mid << 32)) ^ (hh + (lh >> 32) + (hl >> 32) + (mid >> 32));
#endif
}

/* 32 well mixed bits of two words; whoever doesn't know the seed can't choose collisions. */
static inline uint32_t nat_hash(const struct nat_seed *seed, uint64_t x, uint64_t y)
{
	uint64_t h = nat_mum(x ^ seed->a, y ^ seed->b);

	return (uint32_t)(((h ^ seed->c) * 0x9e3779b97f4a7c15ULL) >> 32);
}

static inline uint32_t nat_key_hash(const struct nat_seed *seed, const struct nat_key *k)
{
	uint64_t w[2];

	memcpy(w, k, sizeof(w));
	return nat_hash(seed, w[0], w[1]);
}

/* Port spaces of an external address. UDP-Lite shares UDP's and DCCP shares TCP's. */
enum nat_space {
	NAT_SPACE_TCP,
	NAT_SPACE_UDP,
	NAT_SPACE_ICMP,
	NAT_SPACES,
	NAT_SPACE_NONE = NAT_SPACES, /* a protocol without ports */
};

static inline enum nat_space nat_proto_space(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
	case NAT_PROTO_DCCP:
		return NAT_SPACE_TCP;
	case IPPROTO_UDP:
	case NAT_PROTO_UDPLITE:
		return NAT_SPACE_UDP;
	case IPPROTO_ICMP:
		return NAT_SPACE_ICMP;
	default:
		return NAT_SPACE_NONE;
	}
}

/* Bytes of transport header that must be there to translate. */
static inline unsigned nat_proto_min_len(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		return 20;
	case NAT_PROTO_DCCP:
		return 12;
	case IPPROTO_UDP:
	case NAT_PROTO_UDPLITE:
	case IPPROTO_ICMP:
		return 8;
	default:
		return 0;
	}
}

static inline bool nat_prefix_has(const struct nat_prefix *p, uint32_t addr_be)
{
	return p->len == 0 || ((ntohl(addr_be) ^ ntohl(p->addr_be)) >> (32 - p->len)) == 0;
}

static inline uint32_t nat_prefix_last(const struct nat_prefix *p)
{
	return p->len == 0 ? UINT32_MAX
			   : ntohl(p->addr_be) | (uint32_t)(UINT64_C(0xffffffff) >> p->len);
}

/* addr_be's host part put into another prefix of the same length. */
static inline uint32_t nat_prefix_move(const struct nat_prefix *to, uint32_t addr_be)
{
	uint32_t host = to->len == 0 ? UINT32_MAX : (uint32_t)(UINT64_C(0xffffffff) >> to->len);

	return to->addr_be | (addr_be & htonl(host));
}

#endif /* TURNPIKE_NAT_KEY_H */
