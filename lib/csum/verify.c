/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the checksums of a datagram are right, and if not, what is wrong. Every length is proven
 * before the bytes behind it are read. A checksum is proven by summing over everything, itself
 * included: right is 0xffff, which takes both spellings of zero (RFC 1624 section 5).
 */
#include "csum.h"

enum {
	PROTO_HOP_BY_HOP = 0,
	PROTO_ICMP = 1,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AH = 51,
	PROTO_ICMPV6 = 58,
	PROTO_DEST_OPTIONS = 60,
};

static unsigned get16(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

const char *csum_verdict_name(enum csum_verdict verdict)
{
	static const char *const names[] = {
		[CSUM_GOOD] = "good",
		[CSUM_NONE] = "none",
		[CSUM_FRAGMENT] = "fragment",
		[CSUM_OTHER] = "other protocol",
		[CSUM_TRUNCATED] = "truncated",
		[CSUM_BAD_VERSION] = "bad version",
		[CSUM_BAD_HEADER_LENGTH] = "bad header length",
		[CSUM_BAD_LENGTH] = "bad length",
		[CSUM_BAD_HEADER_SUM] = "bad header checksum",
		[CSUM_BAD_L4_SUM] = "bad checksum",
		[CSUM_ILLEGAL_NONE] = "no checksum over IPv6",
	};

	if ((unsigned)verdict >= sizeof(names) / sizeof(names[0]))
		return "unknown";
	return names[verdict];
}

static enum csum_verdict verdict_of(csum_sum_t sum)
{
	return csum_fold_sum(sum) == 0xffff ? CSUM_GOOD : CSUM_BAD_L4_SUM;
}

/* What protocol and length add to a pseudo-header (RFC 8200 section 8.1; RFC 768 has 16 bits). */
static csum_sum_t with_pseudo(csum_sum_t addresses, unsigned proto, size_t len)
{
	return csum_add(addresses, csum_fold64(csum_host_word((uint64_t)len + proto)));
}

enum csum_verdict csum_verify_tcp(const void *l4, size_t len, csum_sum_t addresses)
{
	if (len < 20)
		return CSUM_TRUNCATED;
	return verdict_of(csum_partial(l4, len, with_pseudo(addresses, PROTO_TCP, len)));
}

enum csum_verdict csum_verify_udp(const void *l4, size_t len, csum_sum_t addresses, bool ipv6)
{
	const unsigned char *p = l4;
	size_t own;

	if (len < 8)
		return CSUM_TRUNCATED;
	own = get16(p + 4);
	if (own < 8 || own > len)
		return CSUM_BAD_LENGTH;
	if (!get16(p + 6))
		return ipv6 ? CSUM_ILLEGAL_NONE : CSUM_NONE;
	return verdict_of(csum_partial(p, own, with_pseudo(addresses, PROTO_UDP, own)));
}

enum csum_verdict csum_verify_icmp(const void *l4, size_t len)
{
	if (len < 8)
		return CSUM_TRUNCATED;
	return verdict_of(csum_partial(l4, len, 0));
}

enum csum_verdict csum_verify_icmpv6(const void *l4, size_t len, csum_sum_t addresses)
{
	if (len < 4)
		return CSUM_TRUNCATED;
	return verdict_of(csum_partial(l4, len, with_pseudo(addresses, PROTO_ICMPV6, len)));
}

enum csum_verdict csum_verify_ipv4_header(const void *ip, size_t len)
{
	const unsigned char *p = ip;
	unsigned ihl;

	if (len < 20)
		return CSUM_TRUNCATED;
	if (p[0] >> 4 != 4)
		return CSUM_BAD_VERSION;
	ihl = (p[0] & 15) * 4u;
	if (ihl < 20 || get16(p + 2) < ihl)
		return CSUM_BAD_HEADER_LENGTH;
	if (ihl > len)
		return CSUM_TRUNCATED;
	return csum_ipv4_header_ok(p, ihl) ? CSUM_GOOD : CSUM_BAD_HEADER_SUM;
}

enum csum_verdict csum_verify_ipv4(const void *ip, size_t len)
{
	const unsigned char *p = ip;
	enum csum_verdict v = csum_verify_ipv4_header(p, len);
	uint32_t src, dst;
	csum_sum_t addresses;
	unsigned ihl;

	if (v != CSUM_GOOD)
		return v;
	ihl = (p[0] & 15) * 4u;
	if (get16(p + 2) > len)
		return CSUM_TRUNCATED;
	len = get16(p + 2) - ihl; /* what is behind it, padding, is in no sum */
	if (get16(p + 6) & 0x3fff)
		return CSUM_FRAGMENT;
	memcpy(&src, p + 12, 4);
	memcpy(&dst, p + 16, 4);
	addresses = csum_pseudo_v4(src, dst, 0, 0);
	switch (p[9]) {
	case PROTO_TCP:
		return csum_verify_tcp(p + ihl, len, addresses);
	case PROTO_UDP:
		return csum_verify_udp(p + ihl, len, addresses, false);
	case PROTO_ICMP:
		return csum_verify_icmp(p + ihl, len);
	default:
		return CSUM_OTHER;
	}
}

/* The final destination below a routing header of n bytes, NULL when it is not known. */
static const unsigned char *final_destination(const unsigned char *h, size_t n,
					      const unsigned char *dst)
{
	if (!h[3]) /* no segments left: the header's destination is the last */
		return dst;
	if (n < 24)
		return NULL;
	switch (h[2]) {
	case 0: /* RFC 2460 */
	case 2: /* RFC 6275 section 6.4 */
		return h + 8 + (n - 8) / 16 * 16 - 16;
	case 4: /* RFC 8754: the list is in reverse */
		return h + 8;
	default:
		return NULL;
	}
}

enum csum_verdict csum_verify_ipv6(const void *ip, size_t len)
{
	const unsigned char *p = ip, *dst;
	csum_sum_t addresses;
	size_t at = 40, n;
	unsigned next;

	if (len < 40)
		return CSUM_TRUNCATED;
	if (p[0] >> 4 != 6)
		return CSUM_BAD_VERSION;
	if (40 + (size_t)get16(p + 4) > len)
		return CSUM_TRUNCATED;
	len = 40 + (size_t)get16(p + 4);
	dst = p + 24;
	for (next = p[6];; next = p[at], at += n) {
		switch (next) {
		case PROTO_HOP_BY_HOP:
		case PROTO_ROUTING:
		case PROTO_DEST_OPTIONS:
		case PROTO_FRAGMENT:
		case PROTO_AH:
			break;
		case PROTO_TCP:
		case PROTO_UDP:
		case PROTO_ICMPV6:
			addresses = csum_pseudo_v6(p + 8, dst, 0, 0);
			p += at;
			len -= at;
			return next == PROTO_TCP   ? csum_verify_tcp(p, len, addresses)
			       : next == PROTO_UDP ? csum_verify_udp(p, len, addresses, true)
						   : csum_verify_icmpv6(p, len, addresses);
		default:
			return CSUM_OTHER;
		}
		if (len - at < 8)
			return CSUM_TRUNCATED;
		if (next == PROTO_FRAGMENT)
			n = 8;
		else if (next == PROTO_AH)
			n = 4 * ((size_t)p[at + 1] + 2);
		else
			n = 8 * ((size_t)p[at + 1] + 1);
		if (n > len - at)
			return CSUM_BAD_HEADER_LENGTH;
		if (next == PROTO_FRAGMENT && (get16(p + at + 2) & 0xfff9))
			return CSUM_FRAGMENT;
		if (next == PROTO_ROUTING) {
			dst = final_destination(p + at, n, dst);
			if (!dst)
				return CSUM_OTHER;
		}
	}
}
