/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checksum library against oracles that go byte by byte, and the vectors of public bug reports
 * (C01, C06, C08). CSUM_TEST_SMALL in the environment shortens the long ones (emulators, valgrind).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test_csum_oracle.h"
#include "test_csum_vectors.h"

#include <csum.h>

#include <errno.h>

static int small(void)
{
	return getenv("CSUM_TEST_SMALL") != NULL;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void test_vectors_of_flat_buffers_C08(void **state)
{
	unsigned char hex[512], at[600];
	size_t i, off;

	(void)state;
	for (i = 0; i < sizeof(vec_raw) / sizeof(vec_raw[0]); i++) {
		const struct vec_raw *v = &vec_raw[i];
		size_t n = unhex(v->hex, hex, sizeof(hex));
		size_t len = v->len < 0 ? n : (size_t)v->len;

		for (off = 0; off < 64; off++) {
			memcpy(at + off, hex + v->start, len);
			assert_int_equal(csum_fold(csum_partial(at + off, len, 0)), be16(v->want));
		}
	}
}

static void test_every_length_and_alignment_K6(void **state)
{
	size_t max = small() ? 600 : 4096, len, align;
	unsigned char *buf = malloc(max + 64);
	int how;

	(void)state;
	for (how = 0; how < FILL_N; how++) {
		for (align = 0; align < 64; align++) {
			unsigned char *p = buf + align;
			unsigned num[2] = {0, 0}; /* sums of bytes at even and at odd places */

			fill(buf, max + 64, (enum fill)how);
			for (len = 0; len <= max; len++) {
				uint64_t s = ((uint64_t)num[0] << 8) + num[1];

				while (s >> 16)
					s = (s & 0xffff) + (s >> 16);
				assert_int_equal(csum_fold_sum(csum_partial(p, len, 0)),
						 be16((unsigned)s));
				if (len < max)
					num[len & 1] += p[len];
			}
		}
	}
	free(buf);
}

static void test_random_lengths_with_a_starting_sum(void **state)
{
	unsigned char *buf = malloc(70000 + 64);
	int i;

	(void)state;
	for (i = 0; i < (small() ? 200 : 2000); i++) {
		size_t len = rnd_below(i & 1 ? 70000 : 300), align = rnd_below(64);
		uint32_t start = (uint32_t)rnd() | (i % 7 ? 0 : 0xffff0000);
		uint64_t want;

		fill(buf + align, len, i % 5 ? FILL_RANDOM : FILL_ONES);
		want = (uint64_t)oracle_sum(buf + align, len) + start;
		while (want >> 16)
			want = (want & 0xffff) + (want >> 16);
		assert_int_equal(csum_fold_sum(csum_partial(buf + align, len, start)), want);
	}
	free(buf);
}

static void test_no_read_outside_the_buffer_C08(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), span = 2 * page, len;
	unsigned char *m = guarded(span), *dst = guarded(span);

	(void)state;
	fill(m, span, FILL_RANDOM);
	for (len = 0; len <= 4096 && len <= span; len++) {
		unsigned char *end = m + span - len;

		assert_int_equal(csum_fold_sum(csum_partial(m, len, 0)), oracle_sum(m, len));
		assert_int_equal(csum_fold_sum(csum_partial(end, len, 0)), oracle_sum(end, len));
		assert_int_equal(csum_fold_sum(csum_partial_copy(dst, end, len, 0)),
				 oracle_sum(end, len));
		assert_memory_equal(dst, end, len);
		assert_int_equal(csum_fold_sum(csum_partial_copy(dst + span - len, m, len, 0)),
				 oracle_sum(m, len));
		assert_memory_equal(dst + span - len, m, len);
	}
	guarded_free(m, span);
	guarded_free(dst, span);
}

static void test_copy_writes_only_its_bytes(void **state)
{
	unsigned char src[400], dst[400], was[400];
	int i;

	(void)state;
	for (i = 0; i < 5000; i++) {
		size_t len = rnd_below(260), so = rnd_below(64), d = 1 + rnd_below(64);

		fill(src, sizeof(src), FILL_RANDOM);
		fill(was, sizeof(was), FILL_RANDOM);
		memcpy(dst, was, sizeof(dst));
		assert_int_equal(csum_fold_sum(csum_partial_copy(dst + d, src + so, len, 0)),
				 oracle_sum(src + so, len));
		assert_memory_equal(dst + d, src + so, len);
		assert_memory_equal(dst, was, d);
		assert_memory_equal(dst + d + len, was + d + len, sizeof(dst) - d - len);
	}
}

static void test_any_split_gives_the_same_sum_K6(void **state)
{
	unsigned char buf[1500];
	int i;

	(void)state;
	for (i = 0; i < (small() ? 300 : 20000); i++) {
		size_t len = rnd_below(sizeof(buf) + 1), pos = 0, max = 1 + rnd_below(200);
		csum_sum_t sum = 0;

		fill(buf, len, i % 3 ? FILL_RANDOM : FILL_NEARLY_ONES);
		while (pos < len) {
			size_t n = rnd_below(max + 1);

			if (n > len - pos)
				n = len - pos;
			sum = csum_block_add(sum, csum_partial(buf + pos, n, 0), pos);
			pos += n;
		}
		assert_int_equal(csum_fold_sum(sum), oracle_sum(buf, len));
	}
}

static void test_block_sub_takes_off_what_block_add_put_in_K6(void **state)
{
	unsigned char buf[300];
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		size_t at = rnd_below(150), n = rnd_below(100);
		csum_sum_t all, part;

		fill(buf, sizeof(buf), FILL_RANDOM);
		all = csum_partial(buf, sizeof(buf), 0);
		part = csum_partial(buf + at, n, 0);
		memset(buf + at, 0, n);
		assert_int_equal(csum_fold_sum(csum_block_sub(all, part, at)) % 0xffff,
				 oracle_sum(buf, sizeof(buf)) % 0xffff);
		assert_int_equal(
			csum_fold_sum(csum_block_add(csum_partial(buf, sizeof(buf), 0), part, at)),
			csum_fold_sum(all));
	}
}

static void test_add_and_sub_are_ones_complement(void **state)
{
	static const uint32_t edge[] = {0,	    1,		0xffff,	    0x10000,
					0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
	size_t i, j;

	(void)state;
	for (i = 0; i < 8; i++) {
		for (j = 0; j < 8; j++) {
			uint64_t a = edge[i], b = edge[j];

			assert_int_equal(csum_add(edge[i], edge[j]) % 0xffffffffu,
					 (a + b) % 0xffffffffu);
			assert_int_equal(csum_sub(edge[i], edge[j]) % 0xffffffffu,
					 (a + 0xffffffffu - b) % 0xffffffffu);
			assert_int_equal(csum_add(edge[i], edge[j]) == 0, a + b == 0);
			assert_int_equal(csum_fold_sum(edge[i]) == 0, a == 0);
		}
	}
	assert_int_equal(csum_fold(0), 0xffff);
	assert_int_equal(csum_fold(0xffffffff), 0);
	assert_int_equal(csum_fold64(0), 0);
	assert_int_equal(csum_fold64(UINT64_MAX), 0xffffffff);
	assert_int_equal(csum_fold64(0xffffffff00000001u), 1);
}

static void test_sum_is_exact_beyond_4_GiB(void **state)
{
#if SIZE_MAX > 0xffffffff
	/* Sparse: one page of ones mapped from a file over and over would need many mappings, so
	 * zeros with marks beyond the limits that matter. */
	const size_t len = (5ull << 30) + 3;
	static const size_t mark[] = {0,	   1,		0x7fffffff,  0x80000000, 0xffffffff,
				      0x100000000, 0x13ffffffe, 0x140000001, 0x140000002};
	unsigned char *m;
	unsigned want = 0;
	size_t i;

	(void)state;
	if (small())
		skip();
	m = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	if (m == MAP_FAILED)
		skip();
	for (i = 0; i < sizeof(mark) / sizeof(mark[0]); i++) {
		unsigned char v = (unsigned char)(0x91 + 7 * i);

		m[mark[i]] = v;
		want += mark[i] & 1 ? v : (unsigned)v << 8;
	}
	want = (want & 0xffff) + (want >> 16);
	assert_int_equal(csum_fold_sum(csum_partial(m, len, 0)), be16(want));
	munmap(m, len);
#else
	(void)state;
	skip();
#endif
}

/* ---- pseudo-headers, IPv4 header
 * ----------------------------------------------------------------- */

static void test_pseudo_headers_are_the_bytes_of_the_rfc_K7(void **state)
{
	unsigned char h4[12], h6[40];
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		enum fill how = i % 4 ? FILL_RANDOM : i % 8 ? FILL_ONES : FILL_ZERO;
		unsigned proto = i % 4 ? rnd_below(256) : i % 8 ? 255 : 0;
		uint32_t len = i % 4 ? (uint32_t)rnd() : i % 8 ? 0xffffffff : 0;
		uint32_t src, dst;

		fill(h4, 8, how);
		h4[8] = 0;
		h4[9] = (unsigned char)proto;
		h4[10] = (unsigned char)(len >> 8);
		h4[11] = (unsigned char)len;
		memcpy(&src, h4, 4);
		memcpy(&dst, h4 + 4, 4);
		assert_int_equal(
			csum_fold_sum(csum_pseudo_v4(src, dst, (uint8_t)proto, (uint16_t)len)),
			oracle_sum(h4, 12));
		fill(h6, 32, how);
		h6[32] = (unsigned char)(len >> 24);
		h6[33] = (unsigned char)(len >> 16);
		h6[34] = (unsigned char)(len >> 8);
		h6[35] = (unsigned char)len;
		h6[36] = h6[37] = h6[38] = 0;
		h6[39] = (unsigned char)proto;
		assert_int_equal(csum_fold_sum(csum_pseudo_v6(h6, h6 + 16, (uint8_t)proto, len)),
				 oracle_sum(h6, 40));
	}
}

static void test_fixed_sizes_without_a_call(void **state)
{
	unsigned char buf[164];
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		unsigned char *p = buf + rnd_below(64);

		fill(buf, sizeof(buf), (enum fill)(i % FILL_N));
		assert_int_equal(csum_fold_sum(csum_20(p)), oracle_sum(p, 20));
		assert_int_equal(csum_fold_sum(csum_40(p)), oracle_sum(p, 40));
	}
}

static void test_ipv4_header_has_two_zeros_C01(void **state)
{
	unsigned char h[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(vec_ipv4) / sizeof(vec_ipv4[0]); i++) {
		assert_int_equal(unhex(vec_ipv4[i].hex, h, sizeof(h)), 20);
		if (vec_ipv4[i].want >= 0)
			assert_int_equal(csum_ipv4_header(h, 20), be16((unsigned)vec_ipv4[i].want));
		else
			assert_true(csum_ipv4_header_ok(h, 20));
	}
}

static void test_ipv4_header_with_options_K4(void **state)
{
	unsigned char buf[64 + 60], z[60];
	uint16_t c;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		unsigned ihl = 20 + 4 * (unsigned)rnd_below(11);
		unsigned char *h = buf + rnd_below(64);

		fill(h, ihl, i % 3 ? FILL_RANDOM : FILL_NEARLY_ONES);
		h[0] = (unsigned char)(0x40 | ihl / 4);
		assert_int_equal(csum_fold_sum(csum_ipv4_header_sum(h, ihl)), oracle_sum(h, ihl));
		memcpy(z, h, ihl);
		z[10] = z[11] = 0;
		c = oracle_check(z, ihl);
		assert_int_equal(csum_ipv4_header(h, ihl), c);
		assert_int_not_equal(c, 0xffff);
		memcpy(h + 10, &c, 2);
		assert_true(csum_ipv4_header_ok(h, ihl));
		h[rnd_below(ihl)] ^= (unsigned char)(1u << rnd_below(8));
		assert_false(csum_ipv4_header_ok(h, ihl));
	}
}

static void test_ttl_decrement_for_every_ttl_and_id_C01_K1(void **state)
{
	static const unsigned char base[20] = {0x45, 0, 0,   40, 0, 0, 0x40, 0,	 0,   6,
					       0,    0, 192, 0,	 2, 1, 198,  51, 100, 9};
	unsigned ttl, id, step = small() ? 4099 : 1;
	unsigned char h[20];

	(void)state;
	memcpy(h, base, 20);
	for (ttl = 2; ttl <= 255; ttl++) {
		csum_delta_t d = csum_delta2(word_of(ttl, 6), word_of(ttl - 1, 6));

		for (id = 0; id < 65536; id += step) {
			uint16_t c, want;

			h[4] = (unsigned char)(id >> 8);
			h[5] = (unsigned char)id;
			h[8] = (unsigned char)ttl;
			h[10] = h[11] = 0;
			c = oracle_check(h, 20);
			h[8] = (unsigned char)(ttl - 1);
			want = oracle_check(h, 20);
			if (csum_apply(c, d) != want || want == 0xffff ||
			    (!c && csum_apply(0xffff, d) != want))
				fail_msg("ttl %u id %u", ttl, id);
		}
	}
}

/* ---- chains ------------------------------------------------------------------------------------
 */

static void test_vectors_of_chains_C06(void **state)
{
	struct csum_iov v[100];
	unsigned char hex[256];
	size_t i;
	int j;

	(void)state;
	for (i = 0; i < sizeof(vec_chain) / sizeof(vec_chain[0]); i++) {
		const struct vec_chain *c = &vec_chain[i];
		unsigned char *p = hex;
		csum_sum_t sum = 0x12345678;
		int rc;

		unhex(c->hex, hex, sizeof(hex));
		for (j = 0; j < c->n; j++) {
			v[j].base = c->segments[j] ? p : NULL;
			v[j].len = (size_t)c->segments[j];
			p += c->segments[j];
		}
		rc = csum_iov(v, (unsigned)c->n, (size_t)c->off, (size_t)c->len, &sum);
		if (c->want < 0) {
			assert_int_equal(rc, -ERANGE);
			assert_int_equal(sum, 0x12345678);
		} else {
			assert_int_equal(rc, 0);
			assert_int_equal(csum_fold(sum), be16((unsigned)c->want));
		}
	}
}

static void test_chains_cut_at_random_C06_K6(void **state)
{
	unsigned char flat[2048], *piece[16];
	struct csum_iov v[16];
	int round;

	(void)state;
	for (round = 0; round < (small() ? 500 : 20000); round++) {
		unsigned n = (unsigned)rnd_below(17), i;
		size_t total = 0, skip, len;
		csum_sum_t sum;

		for (i = 0; i < n; i++) {
			v[i].len = rnd() & 3 ? rnd_below(128) : rnd_below(3);
			piece[i] = malloc(v[i].len ? v[i].len : 1); /* ASan sees over-reads */
			fill(piece[i], v[i].len, FILL_RANDOM);
			memcpy(flat + total, piece[i], v[i].len);
			v[i].base = piece[i];
			total += v[i].len;
		}
		skip = rnd_below(total + 1);
		len = rnd_below(total - skip + 1);
		if (round % 5 == 0)
			len = total - skip;
		assert_int_equal(csum_iov(v, n, skip, len, &sum), 0);
		assert_int_equal(csum_fold_sum(sum), oracle_sum(flat + skip, len));
		sum = 77;
		assert_int_equal(csum_iov(v, n, skip, total - skip + 1, &sum), -ERANGE);
		assert_int_equal(csum_iov(v, n, total + 1, 0, &sum), -ERANGE);
		assert_int_equal(csum_iov(v, n, total + 1, SIZE_MAX, &sum), -ERANGE);
		assert_int_equal(csum_iov(v, n, SIZE_MAX, SIZE_MAX, &sum), -ERANGE);
		assert_int_equal(sum, 77);
		for (i = 0; i < n; i++)
			free(piece[i]);
	}
}

static void test_chain_arguments_are_checked(void **state)
{
	struct csum_iov v[2] = {{"abcd", 4}, {NULL, 4}};
	csum_sum_t sum = 5;

	(void)state;
	assert_int_equal(csum_iov(NULL, 1, 0, 1, &sum), -EINVAL);
	assert_int_equal(csum_iov(v, 2, 0, 4, NULL), -EINVAL);
	assert_int_equal(csum_iov(v, 2, 0, 5, &sum), -EINVAL);
	assert_int_equal(sum, 5);
	assert_int_equal(csum_iov(v, 2, 0, 4, &sum), 0);
	assert_int_equal(csum_iov(NULL, 0, 0, 0, &sum), 0);
	assert_int_equal(sum, 0);
	assert_int_equal(csum_iov(NULL, 0, 0, 1, &sum), -ERANGE);
	assert_int_equal(csum_iov(v, 2, 2, 0, &sum), 0);
	assert_int_equal(sum, 0);
}

/* ---- incremental updates -----------------------------------------------------------------------
 */

static void test_vectors_of_updates_C01_K1(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(vec_update) / sizeof(vec_update[0]); i++) {
		const struct vec_update *v = &vec_update[i];
		csum_be_t c = be16(v->hc);

		csum_replace2(&c, be16(v->old), be16(v->new));
		assert_int_equal(c, be16(v->want));
		assert_int_not_equal(c, be16(v->never));
	}
}

/* A packet here is the changed word and `rest`, the sum of all other words (not 0: some word of a
 * packet never changes, the version of an IPv4 header, or a protocol number). */
static void test_update_equals_recomputation_over_word_pairs_K1(void **state)
{
	static const uint16_t rests[] = {1, 0x00ff, 0x7fff, 0x8000, 0xfffe, 0xffff};
	uint32_t old, new, step = small() ? 4001 : 61;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rests) / sizeof(rests[0]); i++) {
		for (old = 0; old < 65536; old += old < 65530 && old > 5 ? step : 1) {
			csum_be_t before = csum_fold(csum_add(rests[i], old));

			for (new = 0; new < 65536; new ++) {
				csum_be_t want = (uint16_t)~csum_fold_sum(rests[i] + new);

				if (csum_apply(before,
					       csum_delta2((uint16_t)old, (uint16_t) new)) != want)
					fail_msg("rest %x old %x new %x", rests[i], old, new);
			}
		}
	}
}

static void test_updates_of_2_4_16_and_spans_equal_recomputation_K1_K6(void **state)
{
	unsigned char b[96], n[96];
	int i;

	(void)state;
	for (i = 0; i < 300000; i++) {
		static const size_t sizes[] = {2, 4, 16, 0};
		size_t len = sizes[i & 3], off = 2 * rnd_below(20);
		csum_be_t c, want, got;

		if (!len) {
			len = rnd_below(50);
			off = rnd_below(40);
		}
		fill(b, sizeof(b), i % 7 ? FILL_RANDOM : FILL_NEARLY_ONES);
		b[95] |= 1; /* some byte that does not change and is not zero */
		memcpy(n, b, sizeof(n));
		fill(n + off, len, (enum fill)(i / 4 % FILL_N));
		c = oracle_check(b, sizeof(b));
		want = oracle_check(n, sizeof(n));
		got = c;
		if ((i & 3) == 0) {
			uint16_t x, y;

			memcpy(&x, b + off, 2);
			memcpy(&y, n + off, 2);
			csum_replace2(&got, x, y);
		} else if ((i & 3) == 1) {
			uint32_t x, y;

			memcpy(&x, b + off, 4);
			memcpy(&y, n + off, 4);
			csum_replace4(&got, x, y);
		} else if ((i & 3) == 2) {
			csum_replace16(&got, b + off, n + off);
		} else {
			got = csum_apply(got, csum_delta_span(b + off, n + off, len, off));
		}
		assert_int_equal(got, want);
	}
}

static void test_delta_is_canonical_K1(void **state)
{
	static const unsigned char zero[16], ones[16] = {255, 255, 255, 255, 255, 255, 255, 255,
							 255, 255, 255, 255, 255, 255, 255, 255};
	uint32_t a, b;

	(void)state;
	for (a = 0; a < 65536; a++) {
		csum_delta_t d = csum_delta2(0, (uint16_t)a);

		assert_int_equal(csum_delta2((uint16_t)a, (uint16_t)a), 0xffff);
		assert_int_not_equal(d, 0);
		assert_int_not_equal(csum_delta_neg(d), 0);
		assert_int_equal(csum_delta_neg(csum_delta_neg(d)), d);
		assert_int_equal(csum_delta_neg(d), csum_delta2((uint16_t)a, 0));
		assert_int_equal(csum_delta_add(d, csum_delta_neg(d)), 0xffff);
		assert_int_equal(csum_delta_add(d, 0xffff), d);
		assert_int_equal(csum_delta_add(d, 0), d);
		b = (uint32_t)rnd();
		assert_int_equal(csum_delta4(b, b), 0xffff);
		assert_int_not_equal(csum_delta4(b, a), 0);
	}
	assert_int_equal(csum_delta_add(0, 0), 0xffff);
	assert_int_equal(csum_delta_neg(0), 0xffff);
	assert_int_equal(csum_delta2(0xffff, 0), 0xffff);
	assert_int_equal(csum_delta2(0, 0xffff), 0xffff);
	assert_int_equal(csum_delta4(0xffffffff, 0), 0xffff);
	assert_int_equal(csum_delta4(0, 0xffffffff), 0xffff);
	assert_int_equal(csum_delta16(zero, ones), 0xffff);
	assert_int_equal(csum_delta16(ones, zero), 0xffff);
	assert_int_equal(csum_delta16(ones, ones), 0xffff);
	assert_int_equal(csum_delta16(zero, zero), 0xffff);
	assert_int_equal(csum_delta_span(zero, ones, 0, 0), 0xffff);
}

static void test_apply_never_gives_ffff_K1(void **state)
{
	uint32_t c, d;

	(void)state;
	for (c = 0; c < 65536; c += small() ? 257 : 1)
		for (d = 1; d < 65536; d += c && c < 65535 ? 251 : 1)
			if (csum_apply((uint16_t)c, (uint16_t)d) == 0xffff)
				fail_msg("check %x delta %x", c, d);
	for (c = 0; c < 65536; c++) { /* 0: no change at all */
		assert_int_equal(csum_apply((uint16_t)c, 0), c);
		assert_int_equal(csum_apply((uint16_t)c, 0xffff), c == 0xffff ? 0 : c);
	}
}

static void test_deltas_added_equal_deltas_in_turn_and_undo_K1(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 500000; i++) {
		csum_delta_t a = csum_delta4((uint32_t)rnd(), (uint32_t)rnd());
		csum_delta_t b = csum_delta2((uint16_t)rnd(), (uint16_t)rnd());
		csum_be_t c = (csum_be_t)rnd();
		csum_be_t one = csum_apply(csum_apply(c, a), b);

		assert_int_equal(csum_apply(c, csum_delta_add(a, b)), one);
		assert_int_equal(csum_apply(one, csum_delta_neg(csum_delta_add(a, b))),
				 c == 0xffff ? 0 : c);
	}
}

static void test_a_corrupt_checksum_stays_corrupt_by_the_same_amount_K3_C16(void **state)
{
	unsigned char p[40];
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		csum_be_t c, wrong;
		uint32_t old, new = (uint32_t)rnd();
		unsigned before, after;

		fill(p, sizeof(p), FILL_RANDOM);
		memcpy(&old, p + 12, 4);
		c = oracle_check(p, sizeof(p));
		wrong = (csum_be_t)rnd();
		before = ((unsigned)wrong + 0xffff - c) % 0xffff;
		csum_replace4(&wrong, old, new);
		memcpy(p + 12, &new, 4);
		c = oracle_check(p, sizeof(p));
		after = ((unsigned)wrong + 0xffff - c) % 0xffff;
		assert_int_equal(before, after);
	}
}

static void test_udp_zero_rule_K2_C03_C04(void **state)
{
	uint32_t c, d;

	(void)state;
	assert_int_equal(csum_udp_zero(0), 0xffff);
	assert_int_equal(csum_udp_zero(0xffff), 0xffff);
	assert_int_equal(csum_udp_zero(0x1234), 0x1234);
	for (d = 0; d < 65536; d++) {
		assert_int_equal(csum_apply_udp(0, (uint16_t)d), 0);
		for (c = 1; c < 65536; c += c < 65530 && c > 5 ? 4093 : 1) {
			csum_be_t plain = csum_apply((uint16_t)c, (uint16_t)d);
			csum_be_t got = csum_apply_udp((uint16_t)c, (uint16_t)d);

			if (!got || got != (plain ? plain : 0xffff))
				fail_msg("check %x delta %x", c, d);
		}
	}
}

static void test_tcp_zero_is_an_ordinary_value_C05(void **state)
{
	csum_delta_t d = csum_delta4(0x0200000a, 0x0a7100cb);

	(void)state;
	assert_int_not_equal(csum_apply(0, d), 0);
	assert_int_equal(csum_apply(csum_apply(0, d), csum_delta_neg(d)), 0);
}

static void test_icmp_message_that_becomes_all_zero_K1(void **state)
{
	unsigned char m[64];
	int i;

	(void)state;
	for (i = 0; i < 65536; i++) { /* echo reply, identifier i -> 0 */
		csum_delta_t d = csum_delta2((uint16_t)i, 0);
		size_t len = 8 + rnd_below(57);
		uint16_t id = (uint16_t)i;
		csum_be_t c, want;

		memset(m, 0, sizeof(m));
		if (i & 1)
			m[4 + rnd_below(len - 4)] = 0xff;
		memcpy(m + 4, &id, 2);
		c = oracle_check(m, len);
		memset(m + 4, 0, 2);
		want = oracle_check(m, len);
		memcpy(m + 2, &c, 2); /* whatever the field holds */
		assert_int_equal(csum_apply_icmp(c, d, m, len), want);
	}
}

static int setup(void **state)
{
	(void)state;
	rnd_seed();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors_of_flat_buffers_C08),
		cmocka_unit_test(test_every_length_and_alignment_K6),
		cmocka_unit_test(test_random_lengths_with_a_starting_sum),
		cmocka_unit_test(test_no_read_outside_the_buffer_C08),
		cmocka_unit_test(test_copy_writes_only_its_bytes),
		cmocka_unit_test(test_any_split_gives_the_same_sum_K6),
		cmocka_unit_test(test_block_sub_takes_off_what_block_add_put_in_K6),
		cmocka_unit_test(test_add_and_sub_are_ones_complement),
		cmocka_unit_test(test_sum_is_exact_beyond_4_GiB),
		cmocka_unit_test(test_pseudo_headers_are_the_bytes_of_the_rfc_K7),
		cmocka_unit_test(test_fixed_sizes_without_a_call),
		cmocka_unit_test(test_ipv4_header_has_two_zeros_C01),
		cmocka_unit_test(test_ipv4_header_with_options_K4),
		cmocka_unit_test(test_ttl_decrement_for_every_ttl_and_id_C01_K1),
		cmocka_unit_test(test_vectors_of_chains_C06),
		cmocka_unit_test(test_chains_cut_at_random_C06_K6),
		cmocka_unit_test(test_chain_arguments_are_checked),
		cmocka_unit_test(test_vectors_of_updates_C01_K1),
		cmocka_unit_test(test_update_equals_recomputation_over_word_pairs_K1),
		cmocka_unit_test(test_updates_of_2_4_16_and_spans_equal_recomputation_K1_K6),
		cmocka_unit_test(test_delta_is_canonical_K1),
		cmocka_unit_test(test_apply_never_gives_ffff_K1),
		cmocka_unit_test(test_deltas_added_equal_deltas_in_turn_and_undo_K1),
		cmocka_unit_test(test_a_corrupt_checksum_stays_corrupt_by_the_same_amount_K3_C16),
		cmocka_unit_test(test_udp_zero_rule_K2_C03_C04),
		cmocka_unit_test(test_tcp_zero_is_an_ordinary_value_C05),
		cmocka_unit_test(test_icmp_message_that_becomes_all_zero_K1),
	};

	return cmocka_run_group_tests_name("csum", tests, setup, NULL);
}
