/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The histogram of times against all values sorted: what it says of a rank is never below the value
 * of that rank, and at most 1 / HIST_SUB above it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hist.h"

#define VALUES 20011

static uint64_t seed;

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 11 ^ seed >> 40;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static const uint32_t parts[] = {0, 1, 100, 1000, 25000, 50000, 90000, 99000, 99900, 99999, 100000};

static void compare(uint64_t *v, unsigned n, const struct hist *h)
{
	qsort(v, n, sizeof(*v), ascending);
	assert_int_equal(h->n, n);
	assert_int_equal(h->min, v[0]);
	assert_int_equal(h->max, v[n - 1]);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint64_t rank = ((uint64_t)n * parts[i] + 99999) / 100000;
		uint64_t want = v[rank == 0 ? 0 : rank - 1], got = hist_quantile(h, parts[i]);

		assert_true(got >= want);
		assert_true(got - want <= want / HIST_SUB);
		assert_true(got <= h->max);
	}
}

static void test_quantiles_are_those_of_the_sorted_values(void **state)
{
	static uint64_t v[VALUES];
	static struct hist h;

	(void)state;
	/* values of up to so many bits: dense ones, where ranks share buckets, and sparse ones */
	for (unsigned bits = 1; bits <= HIST_BITS; bits++) {
		for (unsigned n = 1; n <= VALUES; n = n * 10 + 1) {
			hist_clear(&h);
			seed = bits * 1000 + n;
			for (unsigned i = 0; i < n; i++) {
				v[i] = next_random() & ((1ull << bits) - 1);
				hist_add(&h, v[i]);
			}
			compare(v, n, &h);
		}
	}
}

static void test_every_value_is_in_a_bucket_of_its_own_size(void **state)
{
	unsigned before = 0;

	(void)state;
	for (uint64_t v = 0; v >> HIST_BITS == 0; v += 1 + v / 1000) {
		static struct hist h;
		unsigned i = hist_bucket(v);

		assert_true(i < HIST_BUCKETS);
		assert_true(i == before || i == before + 1); /* none is left out */
		before = i;
		/* alone in there, so that its quantile is the bucket's end, or the greatest */
		h.n = 2;
		h.min = 0;
		h.max = UINT64_MAX;
		h.count[i] = 1;
		assert_true(i == HIST_BUCKETS - 1 || hist_quantile(&h, 50000) >= v);
		assert_true(i == HIST_BUCKETS - 1 || hist_quantile(&h, 50000) - v <= v / HIST_SUB);
		h.count[i] = 0;
	}
	assert_int_equal(before, HIST_BUCKETS - 1);
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

static void test_merged_is_as_added_to_one(void **state)
{
	static struct hist one, two, both;
	static uint64_t v[2000];

	(void)state;
	hist_clear(&one);
	hist_clear(&two);
	seed = 7;
	for (unsigned i = 0; i < 2000; i++) {
		v[i] = next_random() % 1000000;
		hist_add(i % 3 == 0 ? &one : &two, v[i]);
	}
	hist_clear(&both);
	hist_merge(&both, &one);
	hist_merge(&both, &two);
	compare(v, 2000, &both);
	assert_true(hist_mean(&both) > 400000 && hist_mean(&both) < 600000);
}

static void test_none_is_nothing(void **state)
{
	static struct hist h;

	(void)state;
	hist_clear(&h);
	assert_int_equal(hist_quantile(&h, 50000), 0);
	assert_true(hist_mean(&h) == 0);
	hist_add_n(&h, 5, 0);
	assert_int_equal(h.n, 0);
	hist_add_n(&h, 5, 3);
	assert_int_equal(h.n, 3);
	assert_int_equal(hist_quantile(&h, 100000), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles_are_those_of_the_sorted_values),
		cmocka_unit_test(test_every_value_is_in_a_bucket_of_its_own_size),
		cmocka_unit_test(test_merged_is_as_added_to_one),
		cmocka_unit_test(test_none_is_nothing),
	};

	return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
