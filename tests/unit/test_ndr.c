/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for the highest rate without loss, on devices whose rate is known: it is found from
 * below, within the resolution, from any guess; and what is no rate without loss is not taken for
 * one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ndr.h"

struct device {
	double loses_above, source;
	unsigned flaky;	     /* each so many trials one near its rate loses as well; 0: never */
	unsigned stop_after; /* trials; 0: never */
	unsigned trials;
	double last;	       /* the rate tried last */
	unsigned passed_there; /* without a loss between */
};

static enum ndr_verdict try_device(void *arg, double rate)
{
	struct device *d = arg;
	enum ndr_verdict v = NDR_CLEAN;

	assert_true(rate > 0);
	d->trials++;
	if (d->stop_after > 0 && d->trials >= d->stop_after)
		return NDR_STOP;
	if (rate > d->loses_above)
		v = NDR_LOSS;
	else if (rate > d->source)
		v = NDR_BEHIND;
	else if (d->flaky > 0 && rate > 0.9 * d->loses_above && d->trials % d->flaky == 0)
		v = NDR_LOSS;
	if (rate != d->last || v != NDR_CLEAN)
		d->passed_there = 0;
	d->passed_there += v == NDR_CLEAN;
	d->last = rate;
	return v;
}

static struct ndr_found find(struct device *d, double first, double resolution, unsigned confirm)
{
	struct ndr_search s = {.first = first,
			       .resolution = resolution,
			       .confirm = confirm,
			       .trial = try_device,
			       .arg = d};
	struct ndr_found f;

	ndr_find(&s, &f);
	assert_int_equal(f.trials, d->trials);
	return f;
}

static void test_finds_where_loss_begins(void **state)
{
	static const double guesses[] = {0.1, 1, 9.99, 10, 10.01, 17, 300};
	static const double resolutions[] = {0.1, 0.01, 0.001};

	(void)state;
	for (unsigned g = 0; g < 7; g++) {
		for (unsigned r = 0; r < 3; r++) {
			struct device d = {.loses_above = 10, .source = 1e9};
			struct ndr_found f = find(&d, guesses[g], resolutions[r], 2);

			assert_true(f.rate <= 10);
			assert_true(f.rate >= 10 * (1 - resolutions[r]));
			assert_false(f.source_is_limit);
			assert_int_equal(f.confirmed, 3);
			assert_true(d.passed_there >= 2 && d.last == f.rate);
		}
	}
}

static void test_says_when_the_source_is_the_limit(void **state)
{
	struct device d = {.loses_above = 10, .source = 7};
	struct ndr_found f = find(&d, 8, 0.01, 2);

	(void)state;
	assert_true(f.source_is_limit);
	assert_true(f.rate <= 7 && f.rate >= 6.93);
}

static void test_a_rate_that_loses_now_and_then_is_none(void **state)
{
	(void)state;
	for (unsigned flaky = 2; flaky < 6; flaky++) {
		struct device d = {.loses_above = 10, .source = 1e9, .flaky = flaky};
		struct ndr_found f = find(&d, 10, 0.005, 6);

		assert_int_equal(f.confirmed, 7);
		assert_true(d.passed_there >= 6);
		/* below where it fails by itself, but not far */
		assert_true(f.rate <= 9 && f.rate > 6);
	}
}

/* Passes while it is searched, and then no more: the rate is still one that was confirmed. */
static enum ndr_verdict try_tiring(void *arg, double rate)
{
	struct device *d = arg;

	if (d->trials > 12)
		d->loses_above = 0.01;
	return try_device(arg, rate);
}

static void test_goes_down_as_far_as_it_takes(void **state)
{
	static const double resolutions[] = {0.2, 0.01};

	(void)state;
	for (unsigned r = 0; r < 2; r++) {
		struct device d = {.loses_above = 10, .source = 1e9};
		struct ndr_search s = {.first = 9,
				       .resolution = resolutions[r],
				       .confirm = 20,
				       .trial = try_tiring,
				       .arg = &d};
		struct ndr_found f;

		ndr_find(&s, &f);
		assert_int_equal(f.confirmed, 21);
		assert_true(f.rate <= 0.01 && f.rate >= 0.004);
	}
}

static void test_without_a_rate_there_is_none(void **state)
{
	struct device d = {.loses_above = 0, .source = 1e9};
	struct ndr_found f = find(&d, 10, 0.01, 2);

	(void)state;
	assert_true(f.rate == 0);
	assert_true(f.trials < 100);
}

static void test_stops_when_told(void **state)
{
	(void)state;
	for (unsigned after = 1; after < 12; after++) {
		struct device d = {.loses_above = 10, .source = 1e9, .stop_after = after};
		struct ndr_found f = find(&d, 3, 0.001, 2);

		assert_true(f.stopped);
		assert_true(f.rate == 0);
		assert_int_equal(d.trials, after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_where_loss_begins),
		cmocka_unit_test(test_says_when_the_source_is_the_limit),
		cmocka_unit_test(test_a_rate_that_loses_now_and_then_is_none),
		cmocka_unit_test(test_goes_down_as_far_as_it_takes),
		cmocka_unit_test(test_without_a_rate_there_is_none),
		cmocka_unit_test(test_stops_when_told),
	};

	return cmocka_run_group_tests_name("ndr", tests, NULL, NULL);
}
