/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Internet checksum (RFC 1071, 1141, 1624): sums, copies, chains, incremental updates.
 *
 * Builds with nothing but a C11 compiler, on either byte order. Every function may be called from
 * any thread; the only state is the choice of implementation, see csum_select.
 *
 * Representation. A "sum" is a 32-bit one's complement accumulator, not yet folded and not
 * complemented, of 16-bit words taken in memory order (csum_sum_t). Because one's complement
 * addition does not care about byte order (RFC 1071 section 2(B)), no word is ever swapped: the
 * folded result, stored as it is, is right on both byte orders. A "checksum" (csum_be_t) is the
 * 16-bit value of a header field, as it lies in memory (network order).
 *
 * The two zeros. A sum is 0 only when every byte that went in was 0; any other sum that is a
 * multiple of 0xffff folds to 0xffff. All functions here keep that apart, so a checksum of 0xffff
 * is made only over bytes that are all zero, as a full computation would.
 */
#ifndef TURNPIKE_CSUM_H
#define TURNPIKE_CSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of a shared library, these names are public and no others. */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#define CSUM_RESTRICT
#else
#define CSUM_RESTRICT restrict
#endif

typedef uint32_t csum_sum_t;   /* unfolded, uncomplemented partial sum, memory order */
typedef uint16_t csum_be_t;    /* a checksum field as it lies in the packet */
typedef uint16_t csum_delta_t; /* what a change of bytes adds to a folded sum; not 0 */

/* Sum of len bytes at buf (any alignment, any length) added to sum. An odd last byte counts as the
 * first byte of a word whose second byte is zero. */
csum_sum_t csum_partial(const void *buf, size_t len, csum_sum_t sum);

/* As csum_partial over src, copying len bytes to dst as well; the ranges must not overlap. */
csum_sum_t csum_partial_copy(void *CSUM_RESTRICT dst, const void *CSUM_RESTRICT src, size_t len,
			     csum_sum_t sum);

/* ---- sums ----------------------------------------------------------------------------------- */

/* One's complement a + b and a - b of two sums. */
static inline csum_sum_t csum_add(csum_sum_t a, csum_sum_t b)
{
	csum_sum_t s = a + b;

	return s + (s < b);
}

static inline csum_sum_t csum_sub(csum_sum_t a, csum_sum_t b)
{
	return csum_add(a, ~b);
}

/* Folds a 64-bit one's complement accumulator to a sum. */
static inline csum_sum_t csum_fold64(uint64_t acc)
{
	acc = (acc & 0xffffffff) + (acc >> 32);
	acc = (acc & 0xffffffff) + (acc >> 32);
	return (csum_sum_t)acc;
}

/* Folds a sum to 16 bits WITHOUT complementing it. */
static inline uint16_t csum_fold_sum(csum_sum_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Folds and complements: the value to store in a checksum field. */
static inline csum_be_t csum_fold(csum_sum_t sum)
{
	return (csum_be_t)~csum_fold_sum(sum);
}

/* The sum of a block that was added up on its own, as it counts at byte `offset` of the whole: at
 * an odd offset its bytes change places in their words, which a rotation by 8 does to the sum
 * (256 * s modulo 2^32 - 1, a multiple of 0xffff). */
static inline csum_sum_t csum_block_shift(csum_sum_t block, size_t offset)
{
	return offset & 1 ? block << 8 | block >> 24 : block;
}

/* Adds to sum (takes off sum) a block that lies at byte `offset` of the whole. */
static inline csum_sum_t csum_block_add(csum_sum_t sum, csum_sum_t block, size_t offset)
{
	return csum_add(sum, csum_block_shift(block, offset));
}

static inline csum_sum_t csum_block_sub(csum_sum_t sum, csum_sum_t block, size_t offset)
{
	return csum_sub(sum, csum_block_shift(block, offset));
}

/* ---- sums of constant sizes ----------------------------------------------------------------- */

/* Four bytes at any alignment, as they lie in memory. (Copying more at once into an array makes gcc
 * go through the stack.) */
static inline uint64_t csum_load(const unsigned char *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* 16 and 20 bytes, not folded: a load and an addition for each 4. */
static inline uint64_t csum_16_acc(const void *buf)
{
	const unsigned char *p = (const unsigned char *)buf;

	return csum_load(p) + csum_load(p + 4) + csum_load(p + 8) + csum_load(p + 12);
}

static inline uint64_t csum_20_acc(const void *buf)
{
	return csum_16_acc(buf) + csum_load((const unsigned char *)buf + 16);
}

/* Sums of constant sizes without a call: 20 bytes, an IPv4 or TCP header without options, and 40,
 * an IPv6 header. */
static inline csum_sum_t csum_20(const void *p)
{
	return csum_fold64(csum_20_acc(p));
}

static inline csum_sum_t csum_40(const void *p)
{
	return csum_fold64(csum_20_acc(p) + csum_20_acc((const unsigned char *)p + 20));
}

/* ---- pseudo-headers and the IPv4 header ----------------------------------------------------- */

/* The value v (below 2^56), to be added as a big-endian number, in memory order. */
static inline uint64_t csum_host_word(uint64_t v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return v;
#else
	return v << 8; /* 2^8 swaps the bytes of a word modulo 0xffff */
#endif
}

/* Pseudo-header of TCP and UDP over IPv4 (RFC 9293 section 3.1, RFC 768). Addresses in network
 * order, the upper-layer length (header and payload) in host order. */
static inline csum_sum_t csum_pseudo_v4(uint32_t src_be, uint32_t dst_be, uint8_t proto,
					uint16_t l4_len_host)
{
	return csum_fold64((uint64_t)src_be + dst_be +
			   csum_host_word((uint32_t)proto + l4_len_host));
}

/* Pseudo-header over IPv6 (RFC 8200 section 8.1): 16-byte addresses as they lie in the packet at
 * any alignment, the upper-layer protocol (not an extension header), its length in host order. */
static inline csum_sum_t csum_pseudo_v6(const void *src16, const void *dst16, uint8_t next,
					uint32_t l4_len_host)
{
	return csum_fold64(csum_16_acc(src16) + csum_16_acc(dst16) +
			   csum_host_word((uint64_t)l4_len_host + next));
}

/* Unfolded sum of an IPv4 header; see csum_ipv4_header_sum. */
static inline uint64_t csum_ipv4_header_acc(const void *hdr, unsigned ihl_bytes)
{
	const unsigned char *p = (const unsigned char *)hdr;
	uint64_t acc = csum_20_acc(p);
	unsigned i;

	for (i = 20; i < ihl_bytes; i += 4)
		acc += csum_load(p + i);
	return acc;
}

/* Sum of an IPv4 header of ihl_bytes (20 to 60, a multiple of 4, already proven to be there), its
 * checksum field included. */
static inline csum_sum_t csum_ipv4_header_sum(const void *hdr, unsigned ihl_bytes)
{
	return csum_fold64(csum_ipv4_header_acc(hdr, ihl_bytes));
}

/* The checksum to store in that header; the field's present value counts as zero. Never 0xffff. */
static inline csum_be_t csum_ipv4_header(const void *hdr, unsigned ihl_bytes)
{
	csum_be_t check;

	memcpy(&check, (const unsigned char *)hdr + 10, sizeof(check));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return csum_fold(csum_fold64(csum_ipv4_header_acc(hdr, ihl_bytes) - check));
#else
	return csum_fold(
		csum_fold64(csum_ipv4_header_acc(hdr, ihl_bytes) - ((uint64_t)check << 16)));
#endif
}

/* Whether the header's checksum is right: by summing, so that both spellings of zero in the field
 * pass (RFC 1624 section 5), never by comparing with a recomputed value. */
static inline bool csum_ipv4_header_ok(const void *hdr, unsigned ihl_bytes)
{
	uint64_t acc = csum_ipv4_header_acc(hdr, ihl_bytes);

	/* It folds to 0xffff when it is a multiple of 0xffff other than 0. Multiplying by the
	 * inverse of 0xffff modulo 2^64 maps the multiples, and only those, to their quotients: one
	 * multiplication for the folds. */
	return acc != 0 && acc * 0xfffefffefffeffffu <= UINT64_MAX / 0xffff;
}

/* ---- chains --------------------------------------------------------------------------------- */

struct csum_iov {
	const void *base; /* may be NULL when len is 0 */
	size_t len;
};

/* Sum of `len` bytes that begin `skip` bytes into the chain of n segments; odd and empty segments
 * are exact. Stores the sum in *sum (it does not add to what was there) and returns 0; returns
 * -ERANGE when the span ends past the chain and -EINVAL for a NULL argument or segment, *sum left
 * as it was. */
int csum_iov(const struct csum_iov *v, unsigned n, size_t skip, size_t len, csum_sum_t *sum);

/* Sums n buffers that have nothing to do with each other, such as the packets of a burst:
 * sums[i] = csum_partial(v[i].base, v[i].len, sums[i]). While one is summed, the next are already
 * on their way from memory, so it pays wherever the bytes may be cold. */
void csum_partial_batch(const struct csum_iov *v, csum_sum_t *sums, unsigned n);

/* ---- incremental updates -------------------------------------------------------------------- */

/*
 * A delta is what replacing bytes m by m' adds to a folded sum: ~m + m' (RFC 1624 section 3). It
 * can be made once and applied to any number of checksums. The representation of "no change" is
 * 0xffff, never 0: so ~HC + delta is never 0, and equation 3 never gives 0xffff where a full
 * computation gives 0 (RFC 1624 section 4). A 0 taken as an argument, as in a zeroed struct, means
 * "no change" too.
 *
 * One thing it cannot know: when all the bytes covered by a checksum are zero after the change,
 * a full computation gives 0xffff, and an update 0. Of all protocols here that can only happen in
 * an ICMPv4 echo reply (type, code, identifier, sequence and data all zero): see csum_apply_icmp.
 */
static inline csum_delta_t csum_delta_from_sum(csum_sum_t sum)
{
	uint16_t d = csum_fold_sum(sum);

	return d ? d : 0xffff;
}

/* Deltas of replacing one 16-bit, 32-bit or 128-bit field at an even offset; values as they lie in
 * the packet. */
static inline csum_delta_t csum_delta2(uint16_t old_be, uint16_t new_be)
{
	return csum_delta_from_sum((uint32_t)(uint16_t)~old_be + new_be);
}

static inline csum_delta_t csum_delta4(uint32_t old_be, uint32_t new_be)
{
	return csum_delta_from_sum(csum_sub(new_be, old_be));
}

static inline csum_delta_t csum_delta16(const void *old16, const void *new16)
{
	/* ~m of four words of 32 bits is 2^32 - 1 - m four times. */
	return csum_delta_from_sum(
		csum_fold64(csum_16_acc(new16) + 4 * (uint64_t)0xffffffff - csum_16_acc(old16)));
}

/* Delta of replacing len bytes at byte `offset` (odd ones too) of what the checksum covers. */
static inline csum_delta_t csum_delta_span(const void *old_bytes, const void *new_bytes, size_t len,
					   size_t offset)
{
	csum_sum_t sum = csum_sub(csum_partial(new_bytes, len, 0), csum_partial(old_bytes, len, 0));

	return csum_delta_from_sum(csum_block_shift(sum, offset));
}

/* Both changes, and a change undone. */
static inline csum_delta_t csum_delta_add(csum_delta_t a, csum_delta_t b)
{
	return csum_delta_from_sum((uint32_t)a + b);
}

static inline csum_delta_t csum_delta_neg(csum_delta_t d)
{
	return csum_delta_from_sum((uint16_t)~d);
}

/* HC' = ~(~HC + ~m + m'), RFC 1624 equation 3. */
static inline csum_be_t csum_apply(csum_be_t check, csum_delta_t d)
{
	uint32_t s = (uint32_t)(uint16_t)~check + d;

	return (csum_be_t) ~(s + (s >> 16));
}

/* What UDP sends for a checksum that computes to zero (RFC 768; RFC 8200 section 8.1). */
static inline csum_be_t csum_udp_zero(csum_be_t check)
{
	return check ? check : 0xffff;
}

/* As csum_apply for UDP over IPv4: no checksum (0) stays none, and none is ever made. */
static inline csum_be_t csum_apply_udp(csum_be_t check, csum_delta_t d)
{
	return check ? csum_udp_zero(csum_apply(check, d)) : 0;
}

/* As csum_apply for an ICMPv4 message already rewritten (len bytes, whatever its checksum field
 * holds): tells apart the two zeros of a message that became all zero. */
csum_be_t csum_apply_icmp(csum_be_t check, csum_delta_t d, const void *msg, size_t len);

/* Updates a checksum field in place for one changed field. */
static inline void csum_replace2(csum_be_t *check, uint16_t old_be, uint16_t new_be)
{
	*check = csum_apply(*check, csum_delta2(old_be, new_be));
}

static inline void csum_replace4(csum_be_t *check, uint32_t old_be, uint32_t new_be)
{
	*check = csum_apply(*check, csum_delta4(old_be, new_be));
}

static inline void csum_replace16(csum_be_t *check, const void *old16, const void *new16)
{
	*check = csum_apply(*check, csum_delta16(old16, new16));
}

/* ---- verification --------------------------------------------------------------------------- */

/* What a check found. The first two are no faults; CSUM_FRAGMENT and CSUM_OTHER say that there is
 * no checksum that these bytes alone could prove right or wrong. */
enum csum_verdict {
	CSUM_GOOD,
	CSUM_NONE,		/* UDP over IPv4 sent without a checksum */
	CSUM_FRAGMENT,		/* part of a datagram: to be checked when it is whole */
	CSUM_OTHER,		/* a protocol, or a routing header, that is not known here */
	CSUM_TRUNCATED,		/* fewer bytes than the headers say, or than a header needs */
	CSUM_BAD_VERSION,	/* not IPv4, or not IPv6 */
	CSUM_BAD_HEADER_LENGTH, /* IHL below 5, or a header longer than its datagram */
	CSUM_BAD_LENGTH,	/* a UDP length below 8 or beyond the datagram */
	CSUM_BAD_HEADER_SUM,	/* the IPv4 header checksum */
	CSUM_BAD_L4_SUM,	/* the checksum of TCP, UDP, ICMP or ICMPv6 */
	CSUM_ILLEGAL_NONE,	/* UDP over IPv6 without a checksum (RFC 8200 section 8.1) */
};

/* A word for people and counters: "good", "none", "fragment", ... */
const char *csum_verdict_name(enum csum_verdict verdict);

/* The IPv4 header at ip, of which len bytes are there. */
enum csum_verdict csum_verify_ipv4_header(const void *ip, size_t len);

/* An IPv4 or IPv6 datagram in one piece: its headers, then its TCP, UDP, ICMP or ICMPv6 checksum.
 * len may be more than the datagram's own length (Ethernet padding), never less. */
enum csum_verdict csum_verify_ipv4(const void *ip, size_t len);
enum csum_verdict csum_verify_ipv6(const void *ip, size_t len);

/*
 * The upper layer alone: len bytes at l4, as the IP header's lengths give them. `addresses` is the
 * sum of source and destination, csum_pseudo_v4(src, dst, 0, 0) or csum_pseudo_v6(src, dst, 0, 0);
 * under an IPv6 routing header the destination is the final one.
 */
enum csum_verdict csum_verify_tcp(const void *l4, size_t len, csum_sum_t addresses);
enum csum_verdict csum_verify_udp(const void *l4, size_t len, csum_sum_t addresses, bool ipv6);
enum csum_verdict csum_verify_icmp(const void *l4, size_t len);
enum csum_verdict csum_verify_icmpv6(const void *l4, size_t len, csum_sum_t addresses);

/* ---- choice of implementation --------------------------------------------------------------- */

/*
 * One kernel. The fastest one that the CPU runs is chosen when the program starts; the environment
 * variable TURNPIKE_CSUM or csum_select() name another. All of them give the same folded sums for
 * all buffers of all lengths.
 */
struct csum_impl {
	const char *name;
	bool (*supported)(void); /* by this CPU and operating system */
	csum_sum_t (*partial)(const void *buf, size_t len, csum_sum_t sum);
	csum_sum_t (*partial_copy)(void *CSUM_RESTRICT dst, const void *CSUM_RESTRICT src,
				   size_t len, csum_sum_t sum);
	size_t crossover;      /* csum_partial leaves shorter buffers to the scalar kernel */
	size_t copy_crossover; /* csum_partial_copy as well */
	unsigned *prefetch;    /* bytes that the loop prefetches ahead, 0: none; may be set */
};

/* All that were built for this architecture, in ascending order of preference; NULL at the end. */
const struct csum_impl *const *csum_implementations(void);

/* The one in use. */
const struct csum_impl *csum_selected(void);

/* Makes csum_partial, csum_partial_copy and all that calls them use the kernel of that name, or the
 * best one for NULL. 0, -ENOENT, or -ENOTSUP when the CPU does not run it. Control thread, while no
 * other sums. */
int csum_select(const char *name);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* TURNPIKE_CSUM_H */
