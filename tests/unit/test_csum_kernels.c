/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every kernel that this CPU runs, not only the preferred one, against a byte-at-a-time oracle.
 * CSUM_TEST_SMALL in the environment shortens the long tests (emulators, valgrind).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test_csum_oracle.h"

#include <csum.h>

#include <errno.h>

static int small(void)
{
	return getenv("CSUM_TEST_SMALL") != NULL;
}

/* What a constructor that runs before the library's own gets: it sums with some kernel, too. */
static unsigned early_sum, early_copy_sum;
static const unsigned char early_bytes[5] = {1, 2, 3, 4, 5};
static unsigned char early_copy[5];

static __attribute__((constructor(101))) void sum_early(void)
{
	early_sum = csum_fold_sum(csum_partial(early_bytes, 5, 0));
	early_copy_sum = csum_fold_sum(csum_partial_copy(early_copy, early_bytes, 5, 0));
}

static void test_sums_before_the_constructor_has_chosen(void **state)
{
	(void)state;
	assert_int_equal(early_sum, be16(0x0906));
	assert_int_equal(early_copy_sum, be16(0x0906));
	assert_memory_equal(early_copy, early_bytes, 5);
}

/* Runs a check for each kernel; a failure names it. */
static const struct csum_impl *now;

static void for_each_kernel(void (*check)(const struct csum_impl *))
{
	const struct csum_impl *const *i;
	unsigned n = 0;

	for (i = csum_implementations(); *i; i++) {
		if (!(*i)->supported())
			continue;
		now = *i;
		n++;
		check(*i);
	}
	assert_true(n > 0);
}

#define EXPECT(got, want, ...)                                                                     \
	do {                                                                                       \
		unsigned got_ = (got), want_ = (want);                                             \
		if (got_ != want_) {                                                               \
			print_error("%s: %04x, not %04x: ", now->name, got_, want_);               \
			fail_msg(__VA_ARGS__);                                                     \
		}                                                                                  \
	} while (0)

static unsigned fold_num(uint64_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (unsigned)s;
}

/* The oracle for all lengths of one buffer in turn: sums of bytes at even and odd places. */
struct running {
	uint64_t place[2];
	size_t len;
};

static unsigned running_sum(struct running *r, const unsigned char *p, size_t len)
{
	for (; r->len < len; r->len++)
		r->place[r->len & 1] += p[r->len];
	return be16(fold_num((r->place[0] << 8) + r->place[1]));
}

static void lengths_and_alignments(const struct csum_impl *k)
{
	size_t max = small() ? 700 : 4096, len, align;
	unsigned char *buf = malloc(max + 64);
	int how;

	for (how = 0; how < FILL_N; how++) {
		for (align = 0; align < 64; align++) {
			struct running r = {{0, 0}, 0};

			fill(buf, max + 64, (enum fill)how);
			for (len = 0; len <= max; len++)
				EXPECT(csum_fold_sum(k->partial(buf + align, len, 0)),
				       running_sum(&r, buf + align, len),
				       "fill %d align %zu len %zu", how, align, len);
		}
	}
	free(buf);
}

static void test_every_kernel_every_length_and_alignment_K6(void **state)
{
	(void)state;
	for_each_kernel(lengths_and_alignments);
}

/* Where chunks end and 32-bit lanes would wrap. */
static void around_limits(const struct csum_impl *k)
{
	static const size_t around[] = {65536, 131072, 262144, 524288, 1048576};
	size_t i, len, align, room = 1100032 + 64;
	unsigned char *buf = aligned_alloc(64, room);
	int how;

	for (how = 0; how < FILL_N; how++) {
		if (small() && how != FILL_ONES)
			continue;
		for (align = 0; align < 64; align += align < 2 ? 1 : 31) {
			struct running r = {{0, 0}, 0};

			fill(buf, room, (enum fill)how);
			for (i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
				size_t step = small() || i > 1 ? 37 : 1;

				for (len = around[i] - 700; len < around[i] + 700; len += step)
					EXPECT(csum_fold_sum(k->partial(buf + align, len, 0)),
					       running_sum(&r, buf + align, len),
					       "fill %d align %zu len %zu", how, align, len);
			}
		}
	}
	free(buf);
}

static void test_every_kernel_around_lane_limits(void **state)
{
	(void)state;
	for_each_kernel(around_limits);
}

#if SIZE_MAX > 0xffffffff
static unsigned char *five;
static const size_t five_len = (5ull << 30) - 5;
static uint64_t five_sum;

static void five_gib(const struct csum_impl *k)
{
	EXPECT(csum_fold_sum(k->partial(five, five_len, 0)), be16(fold_num(five_sum)), "5 GiB");
}
#endif

static void test_every_kernel_exact_at_5_GiB(void **state)
{
#if SIZE_MAX > 0xffffffff
	/* Nearly all ones, in one file of 64 MiB that is mapped eighty times. */
	const size_t part = 64u << 20;
	int fd = memfd_create("csum", 0);
	unsigned char *one;
	uint64_t sum = 0;
	size_t i;

	(void)state;
	if (small() || fd < 0 || ftruncate(fd, (off_t)part))
		skip();
	five = mmap(NULL, 80 * part, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (five == MAP_FAILED)
		skip();
	for (i = 0; i < 80; i++)
		assert_true(mmap(five + i * part, part, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
	close(fd);
	one = five;
	memset(one, 0xff, part);
	for (i = 0; i < 1000; i++)
		one[rnd_below(part)] = (unsigned char)rnd();
	for (i = 0; i < part; i += 2)
		sum += (unsigned)one[i] << 8 | one[i + 1];
	five_sum = 80 * sum;
	for (i = part - 5; i < part; i++)
		five_sum -= i & 1 ? one[i] : (unsigned)one[i] << 8;
	for_each_kernel(five_gib);
	munmap(five, 80 * part);
#else
	(void)state;
	skip();
#endif
}

static void guard_pages(const struct csum_impl *k)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), span = 2 * page, len;
	unsigned char *m = guarded(span), *d = guarded(span);
	size_t max = small() ? 700 : 4200;

	fill(m, span, FILL_RANDOM);
	for (len = 0; len <= max && len <= span; len++) {
		unsigned char *end = m + span - len, *dend = d + span - len;
		size_t at;

		EXPECT(csum_fold_sum(k->partial(m, len, 0)), oracle_sum(m, len), "start %zu", len);
		EXPECT(csum_fold_sum(k->partial(end, len, 0)), oracle_sum(end, len), "end %zu",
		       len);
		EXPECT(csum_fold_sum(k->partial_copy(dend, m, len, 0)), oracle_sum(m, len),
		       "copy to the end %zu", len);
		assert_memory_equal(dend, m, len);
		EXPECT(csum_fold_sum(k->partial_copy(d, end, len, 0)), oracle_sum(end, len),
		       "copy from the end %zu", len);
		assert_memory_equal(d, end, len);
		/* Near an end, and across from one page into the next. */
		for (at = 1; at < 70; at += 7) {
			if (len + at > span)
				break;
			EXPECT(csum_fold_sum(k->partial(end - at, len, 0)),
			       oracle_sum(end - at, len), "end - %zu: %zu", at, len);
			EXPECT(csum_fold_sum(k->partial(m + at, len, 0)), oracle_sum(m + at, len),
			       "start + %zu: %zu", at, len);
			EXPECT(csum_fold_sum(
				       k->partial(m + page - at, len <= page ? len : page, 0)),
			       oracle_sum(m + page - at, len <= page ? len : page),
			       "across %zu: %zu", at, len);
		}
	}
	guarded_free(m, span);
	guarded_free(d, span);
}

static void test_every_kernel_stays_inside_the_buffer_C08(void **state)
{
	(void)state;
	for_each_kernel(guard_pages);
}

static void copies(const struct csum_impl *k)
{
	size_t room = 200000;
	unsigned char *src = malloc(room), *dst = malloc(room), *was = malloc(room);
	int i, rounds = small() ? 300 : 4000;

	for (i = 0; i < rounds; i++) {
		size_t max = i % 50 == 0 ? 140000 : i & 1 ? 3000 : 150;
		size_t len = rnd_below(max), so = rnd_below(64), d = 1 + rnd_below(64);
		uint32_t start = (uint32_t)rnd();

		fill(src + so, len, i % 3 ? FILL_RANDOM : FILL_NEARLY_ONES);
		fill(was, d + len + 200, i % 3 ? FILL_ZERO : FILL_RANDOM);
		memcpy(dst, was, d + len + 200);
		EXPECT(csum_fold_sum(k->partial_copy(dst + d, src + so, len, start)),
		       fold_num((uint64_t)oracle_sum(src + so, len) + start), "len %zu", len);
		assert_memory_equal(dst + d, src + so, len);
		assert_memory_equal(dst, was, d);
		assert_memory_equal(dst + d + len, was + d + len, 200);
	}
	free(src);
	free(dst);
	free(was);
}

static void test_every_kernel_copies_exactly(void **state)
{
	(void)state;
	for_each_kernel(copies);
}

static void splits(const struct csum_impl *k)
{
	size_t room = 300000;
	unsigned char *buf = malloc(room);
	int i, rounds = small() ? 200 : 3000;

	for (i = 0; i < rounds; i++) {
		size_t len = rnd_below(i % 100 ? 5000 : room), pos = 0,
		       max = 1 + rnd_below(len / 2 + 2);
		csum_sum_t sum = 0;

		fill(buf, len, i % 3 ? FILL_RANDOM : i % 2 ? FILL_NEARLY_ONES : FILL_ONES);
		while (pos < len) {
			size_t n = rnd_below(max + 1);

			if (n > len - pos)
				n = len - pos;
			sum = csum_block_add(sum, k->partial(buf + pos, n, 0), pos);
			pos += n;
		}
		EXPECT(csum_fold_sum(sum), oracle_sum(buf, len), "split of %zu", len);
	}
	free(buf);
}

static void test_every_kernel_any_split_gives_the_same_sum_K6(void **state)
{
	(void)state;
	for_each_kernel(splits);
}

static void starting_sums(const struct csum_impl *k)
{
	static const uint32_t edge[] = {0,	    1,		0xffff,	    0x10000,
					0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
	unsigned char buf[2100];
	size_t i, len;
	int how;

	for (how = 0; how < FILL_N; how++) {
		fill(buf, sizeof(buf), (enum fill)how);
		for (i = 0; i < 8; i++)
			for (len = 0; len < sizeof(buf) - 1; len += len < 300 ? 1 : 37) {
				uint64_t want = (uint64_t)oracle_sum(buf + 1, len) + edge[i];

				EXPECT(csum_fold_sum(k->partial(buf + 1, len, edge[i])),
				       fold_num(want), "start %x len %zu", edge[i], len);
				EXPECT(k->partial(buf + 1, len, edge[i]) == 0, want == 0,
				       "zero only for zeros, start %x len %zu", edge[i], len);
			}
	}
}

static void test_every_kernel_from_every_starting_sum(void **state)
{
	(void)state;
	for_each_kernel(starting_sums);
}

static void prefetch_distances(const struct csum_impl *k)
{
	static const unsigned dist[] = {1,   63,  64,	96,   128,	160,
					256, 512, 1024, 4096, 1u << 30, ~0u};
	unsigned was = *k->prefetch;
	unsigned char *buf = malloc(9000);
	size_t i, len;

	fill(buf, 9000, FILL_RANDOM);
	for (i = 0; i < sizeof(dist) / sizeof(dist[0]); i++) {
		*k->prefetch = dist[i];
		for (len = 0; len <= 9000; len += len < 700 ? 1 : 61)
			EXPECT(csum_fold_sum(k->partial(buf, len, 0)), oracle_sum(buf, len),
			       "prefetch %u len %zu", dist[i], len);
	}
	*k->prefetch = was;
	free(buf);
}

static void test_every_kernel_with_every_prefetch_distance(void **state)
{
	(void)state;
	for_each_kernel(prefetch_distances);
}

static void select_one(const struct csum_impl *k)
{
	unsigned char buf[3000], dst[3000];
	size_t len;

	assert_int_equal(csum_select(k->name), 0);
	assert_ptr_equal(csum_selected(), k);
	fill(buf, sizeof(buf), FILL_RANDOM);
	for (len = 0; len <= sizeof(buf); len += 1 + len / 100) {
		EXPECT(csum_fold_sum(csum_partial(buf, len, 0)), oracle_sum(buf, len), "%zu", len);
		EXPECT(csum_fold_sum(csum_partial_copy(dst, buf, len, 0)), oracle_sum(buf, len),
		       "%zu", len);
		assert_memory_equal(dst, buf, len);
	}
}

static void test_select_forces_a_kernel(void **state)
{
	const struct csum_impl *best = csum_selected();
	const char *env = getenv("TURNPIKE_CSUM");

	(void)state;
	for_each_kernel(select_one);
	assert_int_equal(csum_select("no-such-kernel"), -ENOENT);
	assert_int_equal(csum_select(""), -ENOENT);
	assert_int_equal(csum_select(NULL), 0);
	assert_true(csum_selected()->supported());
	if (!env || !*env)
		assert_ptr_equal(csum_selected(), best);
}

static void test_batch_sums_each_buffer(void **state)
{
	unsigned char *buf = malloc(64 * 3000);
	struct csum_iov v[64];
	csum_sum_t sums[64], seed[64];
	int round;
	unsigned i;

	(void)state;
	for (round = 0; round < (small() ? 20 : 300); round++) {
		unsigned n = (unsigned)rnd_below(65);

		for (i = 0; i < n; i++) {
			v[i].len = rnd() & 7 ? rnd_below(2900) : 0;
			v[i].base = v[i].len ? buf + i * 3000 + rnd_below(64) : NULL;
			if (v[i].len)
				fill((void *)(uintptr_t)v[i].base, v[i].len, FILL_RANDOM);
			seed[i] = sums[i] = (csum_sum_t)rnd();
		}
		csum_partial_batch(v, sums, n);
		for (i = 0; i < n; i++)
			assert_int_equal(
				csum_fold_sum(sums[i]),
				fold_num((uint64_t)oracle_sum(v[i].base, v[i].len) + seed[i]));
	}
	free(buf);
}

static int setup(void **state)
{
	const struct csum_impl *const *i;

	(void)state;
	rnd_seed();
	for (i = csum_implementations(); *i; i++)
		print_message("  %s%s%s\n", (*i)->name,
			      (*i)->supported() ? "" : " (not on this CPU)",
			      *i == csum_selected() ? " (selected)" : "");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kernel_every_length_and_alignment_K6),
		cmocka_unit_test(test_every_kernel_around_lane_limits),
		cmocka_unit_test(test_every_kernel_exact_at_5_GiB),
		cmocka_unit_test(test_every_kernel_stays_inside_the_buffer_C08),
		cmocka_unit_test(test_every_kernel_copies_exactly),
		cmocka_unit_test(test_every_kernel_any_split_gives_the_same_sum_K6),
		cmocka_unit_test(test_every_kernel_from_every_starting_sum),
		cmocka_unit_test(test_every_kernel_with_every_prefetch_distance),
		cmocka_unit_test(test_sums_before_the_constructor_has_chosen),
		cmocka_unit_test(test_select_forces_a_kernel),
		cmocka_unit_test(test_batch_sums_each_buffer),
	};

	return cmocka_run_group_tests_name("csum_kernels", tests, setup, NULL);
}
