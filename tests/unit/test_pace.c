/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pacer over a clock of the test's: as many frames as the rate has in the time, each due at its
 * own time however late it is taken; and the stamp that carries that time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pace.h"
#include "stamp.h"

#define HZ 2600000000.0

static void test_offers_what_the_rate_has_in_the_time(void **state)
{
	static const double rates[] = {1, 3, 1000, 333333.3, 1e6, 14880952.38, 41234567.8, 1e9};

	(void)state;
	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t start = 123456789012345ull, end = start + (uint64_t)(10 * HZ), n = 0;
		struct pace p;

		pace_start(&p, start, HZ / rates[i]);
		assert_int_equal(pace_due(&p, start), 0);
		/* looked at now and then, by steps that have nothing to do with the period */
		for (uint64_t now = start; now < end; now += 7777777) {
			uint64_t due = pace_due(&p, now);

			n += due;
			pace_take(&p, due);
			assert_int_equal(pace_due(&p, now), 0);
			assert_true(pace_next(&p) >= now);
		}
		n += pace_due(&p, end);
		/* a period of whole 65,536ths of a tick is off by half of one at most */
		assert_true((double)n >= rates[i] * 10 * (1 - rates[i] / HZ / 65536) - 1);
		assert_true((double)n <= rates[i] * 10 * (1 + rates[i] / HZ / 65536) + 1);
	}
}

static void test_is_due_when_it_is_due_however_late_it_is_taken(void **state)
{
	struct pace p;

	(void)state;
	pace_start(&p, 1000, 2.5);
	/* nobody came until long after: the dues are still those of the schedule */
	assert_int_equal(pace_due(&p, 1000 + 25), 10);
	for (unsigned k = 0; k < 10; k++) {
		assert_int_equal(pace_next(&p), 1000 + k * 5 / 2);
		pace_take(&p, 1);
	}
	assert_int_equal(pace_due(&p, 1000 + 25), 0);
	assert_int_equal(pace_due(&p, 1000 + 26), 1);
	assert_int_equal(pace_due(&p, 0), 0);
}

/* RFC 1071's sum, by bytes. */
static uint32_t plain_sum(const uint8_t *p, unsigned len)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < len; i++)
		sum += i % 2 == 0 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return sum % 0xffff;
}

static void test_stamp_changes_no_checksum(void **state)
{
	uint8_t frame[1514];
	struct stamp s;

	(void)state;
	for (unsigned len = 60; len <= sizeof(frame); len += len < 80 ? 1 : 101) {
		for (unsigned i = 0; i < 1000; i++) {
			uint64_t due = i == 0	? 0
				       : i == 1 ? UINT64_MAX
						: (uint64_t)i << 33 ^ i * 77777;
			uint8_t *at = frame + stamp_at(len);
			uint32_t before;

			for (unsigned k = 0; k < len; k++)
				frame[k] = (uint8_t)(k * 37 + i);
			before = plain_sum(frame, len);
			stamp_put(at, due, stamp_tag(i), stamp_sum(at));
			memcpy(&s, at, sizeof(s));
			assert_int_equal(s.due, due);
			assert_int_equal(s.tag, stamp_tag(i));
			assert_int_equal(plain_sum(frame, len), before);
			/* and once more, over the stamp of another frame */
			stamp_put(at, ~due, stamp_tag(i + 1), stamp_sum(at));
			assert_int_equal(plain_sum(frame, len), before);
		}
		assert_true(stamp_at(len) >= 14 + 32); /* behind what frames differ by */
		assert_true(stamp_at(len) + STAMP_LEN <= len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offers_what_the_rate_has_in_the_time),
		cmocka_unit_test(test_is_due_when_it_is_due_however_late_it_is_taken),
		cmocka_unit_test(test_stamp_changes_no_checksum),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
