/* SPDX-License-Identifier: BSD-3-Clause */
/* The verification helpers: what they call good, what bad, and that they read no byte too many. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test_csum_oracle.h"
#include "test_csum_vectors.h"

#include <csum.h>

static unsigned char *room; /* two pages between unreadable ones */
static size_t room_len;

static void put16(unsigned char *p, unsigned v)
{
	p[0] = (unsigned char)(v >> 8);
	p[1] = (unsigned char)v;
}

/* Sums pseudo-header and upper layer byte by byte and stores the checksum at l4 + field. */
static void seal(unsigned char *l4, size_t len, unsigned field, const unsigned char *src,
		 const unsigned char *dst, size_t alen, unsigned proto)
{
	static unsigned char flat[70000];
	size_t n = 0;
	uint16_t c;

	if (alen) {
		memcpy(flat, src, alen);
		memcpy(flat + alen, dst, alen);
		n = 2 * alen;
		memset(flat + n, 0, 8);
		put16(flat + n + 2, (unsigned)len);
		flat[n + 7] = (unsigned char)proto;
		n += 8;
	}
	l4[field] = l4[field + 1] = 0;
	memcpy(flat + n, l4, len);
	c = oracle_check(flat, n + len);
	if (proto == 17 && !c)
		c = 0xffff;
	memcpy(l4 + field, &c, 2);
}

static const unsigned fields[256] = {[1] = 2, [6] = 16, [17] = 6, [58] = 2};

static void finish_v4(unsigned char *ip)
{
	unsigned ihl = (ip[0] & 15) * 4u;
	uint16_t c;

	ip[10] = ip[11] = 0;
	c = oracle_check(ip, ihl);
	memcpy(ip + 10, &c, 2);
}

/* An IPv4 datagram with `pay` bytes of payload; returns its length. */
static size_t make_v4(unsigned char *ip, unsigned proto, unsigned options, size_t pay)
{
	unsigned ihl = 20 + options, hdr = proto == 6 ? 20 : 8;
	size_t len = ihl + hdr + pay;

	fill(ip, len, FILL_RANDOM);
	ip[0] = (unsigned char)(0x40 | ihl / 4);
	put16(ip + 2, (unsigned)len);
	put16(ip + 6, 0x4000);
	ip[9] = (unsigned char)proto;
	if (proto == 17)
		put16(ip + ihl + 4, (unsigned)(8 + pay));
	seal(ip + ihl, hdr + pay, fields[proto], ip + 12, ip + 16, proto == 1 ? 0 : 4, proto);
	finish_v4(ip);
	return len;
}

/* An IPv6 datagram with extension headers ext (their first next-header value comes last). */
static size_t make_v6(unsigned char *ip, unsigned proto, unsigned first, const unsigned char *ext,
		      size_t ext_len, const unsigned char *final, size_t pay)
{
	unsigned hdr = proto == 6 ? 20 : 8;
	size_t len = 40 + ext_len + hdr + pay;

	fill(ip, len, FILL_RANDOM);
	ip[0] = 0x60;
	put16(ip + 4, (unsigned)(len - 40));
	ip[6] = (unsigned char)(ext_len ? first : proto);
	if (ext_len)
		memcpy(ip + 40, ext, ext_len);
	if (proto == 17)
		put16(ip + 40 + ext_len + 4, (unsigned)(8 + pay));
	seal(ip + 40 + ext_len, hdr + pay, fields[proto], ip + 8, final ? final : ip + 24, 16,
	     proto);
	return len;
}

#define EXPECT(got, want)                                                                          \
	do {                                                                                       \
		enum csum_verdict got_ = (got), want_ = (want);                                    \
		if (got_ != want_)                                                                 \
			fail_msg("%s, not %s", csum_verdict_name(got_), csum_verdict_name(want_)); \
	} while (0)

static void test_vectors_of_tagged_frames_C13(void **state)
{
	unsigned char f[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(vec_frame) / sizeof(vec_frame[0]); i++) {
		const struct vec_frame *v = &vec_frame[i];
		size_t n = unhex(v->hex, f, sizeof(f));

		EXPECT(csum_verify_ipv4(f + v->l3, n - (size_t)v->l3),
		       strcmp(v->want, "good") ? CSUM_BAD_L4_SUM : CSUM_GOOD);
	}
}

static void test_ipv4_good_and_every_flipped_bit_bad_K4_K7(void **state)
{
	static const unsigned protos[] = {1, 6, 17};
	unsigned i, options;
	size_t pay, bit;

	(void)state;
	for (i = 0; i < 3; i++)
		for (options = 0; options <= 40; options += 20)
			for (pay = 0; pay < 40; pay += 13) {
				size_t len = make_v4(room, protos[i], options, pay);

				EXPECT(csum_verify_ipv4_header(room, len), CSUM_GOOD);
				EXPECT(csum_verify_ipv4(room, len), CSUM_GOOD);
				for (bit = 0; bit < 8 * len; bit++) {
					enum csum_verdict v;

					room[bit / 8] ^= (unsigned char)(1u << bit % 8);
					v = csum_verify_ipv4(room, len);
					/* One flip is never good; in a UDP checksum field it may
					 * leave 0 only if one bit was set. */
					assert_int_not_equal(v, CSUM_GOOD);
					assert_int_not_equal(v, CSUM_OTHER);
					room[bit / 8] ^= (unsigned char)(1u << bit % 8);
				}
			}
}

static void test_padding_is_in_no_sum_K5(void **state)
{
	size_t len = make_v4(room, 6, 0, 0), len6;

	(void)state;
	memset(room + len, 0xa5, 64);
	EXPECT(csum_verify_ipv4(room, len + 6), CSUM_GOOD);
	EXPECT(csum_verify_ipv4(room, len + 64), CSUM_GOOD);
	len6 = make_v6(room, 6, 0, NULL, 0, NULL, 3);
	memset(room + len6, 0xa5, 64);
	EXPECT(csum_verify_ipv6(room, len6 + 7), CSUM_GOOD);
	/* A UDP length shorter than the datagram: only its own bytes count. */
	len = make_v4(room, 17, 0, 10);
	put16(room + 2, (unsigned)len + 20);
	finish_v4(room);
	memset(room + len, 0xa5, 20);
	EXPECT(csum_verify_ipv4(room, len + 20), CSUM_GOOD);
}

static void test_udp_without_checksum_K2_C04(void **state)
{
	size_t len = make_v4(room, 17, 0, 10);

	(void)state;
	put16(room + 26, 0);
	EXPECT(csum_verify_ipv4(room, len), CSUM_NONE);
	len = make_v6(room, 17, 0, NULL, 0, NULL, 10);
	put16(room + 46, 0);
	EXPECT(csum_verify_ipv6(room, len), CSUM_ILLEGAL_NONE);
}

static void test_both_zeros_are_good_C01_C03(void **state)
{
	unsigned word;
	size_t len;
	int field;

	(void)state;
	/* A first payload word for which the checksum is zero, for TCP and UDP. */
	for (field = 0; field < 2; field++) {
		unsigned proto = field ? 17 : 6, l4 = 20, at = field ? 28 : 40;
		unsigned f = l4 + fields[proto];
		unsigned found = 0;

		len = make_v4(room, proto, 0, 2);
		for (word = 0; word < 65536; word++) {
			unsigned c;

			put16(room + at, word);
			seal(room + l4, len - l4, fields[proto], room + 12, room + 16, 4, proto);
			c = (unsigned)room[f] << 8 | room[f + 1];
			if (c != 0 && c != 0xffff)
				continue;
			found++;
			put16(room + f, 0xffff);
			EXPECT(csum_verify_ipv4(room, len), CSUM_GOOD);
			put16(room + f, 0);
			EXPECT(csum_verify_ipv4(room, len), proto == 17 ? CSUM_NONE : CSUM_GOOD);
		}
		assert_true(found > 0);
	}
}

static void test_lengths_that_contradict_each_other_C10(void **state)
{
	size_t len = make_v4(room, 6, 0, 20);

	(void)state;
	room[0] = 0x44;
	EXPECT(csum_verify_ipv4(room, len), CSUM_BAD_HEADER_LENGTH);
	room[0] = 0x55;
	EXPECT(csum_verify_ipv4(room, len), CSUM_BAD_VERSION);
	EXPECT(csum_verify_ipv6(room, len), CSUM_BAD_VERSION);
	len = make_v4(room, 6, 0, 20);
	put16(room + 2, 19);
	EXPECT(csum_verify_ipv4(room, len), CSUM_BAD_HEADER_LENGTH);
	room[0] = 0x4f; /* beyond the datagram */
	put16(room + 2, 59);
	EXPECT(csum_verify_ipv4(room, len), CSUM_BAD_HEADER_LENGTH);
	len = make_v4(room, 6, 0, 20);
	EXPECT(csum_verify_ipv4(room, len - 1), CSUM_TRUNCATED);
	EXPECT(csum_verify_ipv4(room, 19), CSUM_TRUNCATED);
	put16(room + 2, 24); /* four bytes of TCP */
	finish_v4(room);
	EXPECT(csum_verify_ipv4(room, len), CSUM_TRUNCATED);
	len = make_v4(room, 17, 0, 20);
	put16(room + 24, 0);
	EXPECT(csum_verify_ipv4(room, len), CSUM_BAD_LENGTH);
	put16(room + 24, 7);
	EXPECT(csum_verify_ipv4(room, len), CSUM_BAD_LENGTH);
	put16(room + 24, 29);
	EXPECT(csum_verify_ipv4(room, len), CSUM_BAD_LENGTH);
	put16(room + 24, 65535);
	EXPECT(csum_verify_ipv4(room, len), CSUM_BAD_LENGTH);
	len = make_v4(room, 17, 0, 0); /* empty UDP is good */
	EXPECT(csum_verify_ipv4(room, len), CSUM_GOOD);
	room[10] ^= 1;
	EXPECT(csum_verify_ipv4(room, len), CSUM_BAD_HEADER_SUM);
}

static void test_fragments_and_other_protocols_are_told_apart(void **state)
{
	size_t len = make_v4(room, 6, 0, 20);

	(void)state;
	put16(room + 6, 0x2000);
	finish_v4(room);
	EXPECT(csum_verify_ipv4(room, len), CSUM_FRAGMENT);
	put16(room + 6, 0x0001);
	finish_v4(room);
	EXPECT(csum_verify_ipv4(room, len), CSUM_FRAGMENT);
	put16(room + 6, 0x4000);
	room[9] = 132;
	finish_v4(room);
	EXPECT(csum_verify_ipv4(room, len), CSUM_OTHER);
	assert_string_equal(csum_verdict_name(CSUM_GOOD), "good");
	assert_string_equal(csum_verdict_name(CSUM_ILLEGAL_NONE), "no checksum over IPv6");
	assert_string_equal(csum_verdict_name((enum csum_verdict)99), "unknown");
}

static void test_ipv6_with_every_kind_of_extension_header_K7(void **state)
{
	static const unsigned protos[] = {6, 17, 58};
	unsigned char ext[128], final[16];
	size_t pay, len;
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++)
		for (pay = 0; pay < 30; pay++) {
			unsigned p = protos[i];

			len = make_v6(room, p, 0, NULL, 0, NULL, pay);
			EXPECT(csum_verify_ipv6(room, len), CSUM_GOOD);
			room[len - 1] ^= 0x10;
			EXPECT(csum_verify_ipv6(room, len), CSUM_BAD_L4_SUM);

			/* hop-by-hop, destination options, AH, an atomic fragment */
			memset(ext, 0, sizeof(ext));
			ext[0] = 60;
			ext[8] = 51;
			ext[9] = 1; /* 16 bytes */
			ext[24] = 44;
			ext[25] = 4; /* AH counts in words: 24 bytes */
			ext[48] = (unsigned char)p;
			len = make_v6(room, p, 0, ext, 56, NULL, pay);
			EXPECT(csum_verify_ipv6(room, len), CSUM_GOOD);
			room[40 + 51] = 8; /* offset 1 */
			EXPECT(csum_verify_ipv6(room, len), CSUM_FRAGMENT);
			room[40 + 51] = 1; /* more */
			EXPECT(csum_verify_ipv6(room, len), CSUM_FRAGMENT);
			room[40 + 51] = 0;
			room[40 + 9] = 200;
			EXPECT(csum_verify_ipv6(room, len), CSUM_BAD_HEADER_LENGTH);

			/* a routing header with a segment left */
			fill(final, 16, FILL_RANDOM);
			memset(ext, 0, sizeof(ext));
			ext[0] = (unsigned char)p;
			ext[1] = 4;
			ext[3] = 1;
			memcpy(ext + 24, final, 16);
			len = make_v6(room, p, 43, ext, 40, final, pay);
			EXPECT(csum_verify_ipv6(room, len), CSUM_GOOD);
			room[42] = 4; /* segment routing: in reverse */
			memcpy(room + 48, final, 16);
			EXPECT(csum_verify_ipv6(room, len), CSUM_GOOD);
			room[42] = 77;
			EXPECT(csum_verify_ipv6(room, len), CSUM_OTHER);
			room[43] = 0; /* none left: the header's destination counts */
			memcpy(room + 24, final, 16);
			EXPECT(csum_verify_ipv6(room, len), CSUM_GOOD);
		}
	len = make_v6(room, 6, 0, NULL, 0, NULL, 0);
	room[6] = 59;
	EXPECT(csum_verify_ipv6(room, len), CSUM_OTHER);
	room[6] = 6;
	EXPECT(csum_verify_ipv6(room, len - 1), CSUM_TRUNCATED);
	EXPECT(csum_verify_ipv6(room, 39), CSUM_TRUNCATED);
}

static void test_no_byte_behind_the_given_length_is_read_C08(void **state)
{
	static const unsigned protos[] = {1, 6, 17, 58};
	unsigned char pkt[400], ext[64];
	unsigned i, round;
	size_t len, n;

	(void)state;
	for (round = 0; round < 40; round++)
		for (i = 0; i < 4; i++) {
			bool v6 = protos[i] != 1 && (round & 1 || protos[i] == 58);

			memset(ext, 0, sizeof(ext));
			ext[0] = (unsigned char)protos[i];
			ext[1] = 2;
			ext[3] = 1;
			if (v6)
				len = make_v6(pkt, protos[i], round & 2 ? 43 : 60, ext, 24, NULL,
					      rnd_below(100));
			else
				len = make_v4(pkt, protos[i], 4 * (unsigned)rnd_below(11),
					      rnd_below(100));
			if (round > 5) /* nonsense, too */
				pkt[rnd_below(len)] = (unsigned char)rnd();
			for (n = 0; n <= len; n++) {
				unsigned char *p = room + room_len - n;

				memcpy(p, pkt, n);
				csum_verify_ipv4(p, n);
				csum_verify_ipv6(p, n);
				csum_verify_ipv4_header(p, n);
				csum_verify_tcp(p, n, 0);
				csum_verify_udp(p, n, 0, v6);
				csum_verify_icmp(p, n);
				csum_verify_icmpv6(p, n, 0);
			}
		}
}

static int setup(void **state)
{
	(void)state;
	rnd_seed();
	room_len = 2 * (size_t)sysconf(_SC_PAGESIZE);
	room = guarded(room_len);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	guarded_free(room, room_len);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors_of_tagged_frames_C13),
		cmocka_unit_test(test_ipv4_good_and_every_flipped_bit_bad_K4_K7),
		cmocka_unit_test(test_padding_is_in_no_sum_K5),
		cmocka_unit_test(test_udp_without_checksum_K2_C04),
		cmocka_unit_test(test_both_zeros_are_good_C01_C03),
		cmocka_unit_test(test_lengths_that_contradict_each_other_C10),
		cmocka_unit_test(test_fragments_and_other_protocols_are_told_apart),
		cmocka_unit_test(test_ipv6_with_every_kind_of_extension_header_K7),
		cmocka_unit_test(test_no_byte_behind_the_given_length_is_read_C08),
	};

	return cmocka_run_group_tests_name("csum_verify", tests, setup, teardown);
}
