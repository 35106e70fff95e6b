/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RFC 1624 equation 3 against a full computation for all 2^32 pairs of an old and a new word. A
 * packet here is the changed word and `rest`, the sum of all its other words. A rest of 0 is left
 * out: some word of a packet does not change and is not 0 (csum.h says where that fails, and
 * test_icmp_message_that_becomes_all_zero_K1 tests that).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test_csum_oracle.h"

#include <csum.h>

static int small(void)
{
	return getenv("CSUM_TEST_SMALL") != NULL;
}

/* Without a branch in the inner loop, so that compilers make vectors of it. */
static unsigned wrong_for(uint16_t rest, uint16_t old)
{
	uint16_t before = csum_fold((uint32_t)rest + old);
	unsigned wrong = 0;
	uint32_t new;

	for (new = 0; new < 65536; new ++) {
		uint32_t s = rest + new;
		uint16_t want = (uint16_t) ~((s & 0xffff) + (s >> 16));

		wrong |= (unsigned)csum_apply(before, csum_delta2(old, (uint16_t) new)) ^ want;
	}
	return wrong;
}

static void all_pairs(uint16_t rest)
{
	uint32_t old;

	for (old = 0; old < 65536; old += small() ? 1021 : 1)
		if (wrong_for(rest, (uint16_t)old))
			fail_msg("rest %04x old %04x", rest, old);
}

static void test_all_pairs_from_rest_0001_K1(void **state)
{
	(void)state;
	all_pairs(0x0001);
}

static void test_all_pairs_from_rest_8000_K1(void **state)
{
	(void)state;
	all_pairs(0x8000);
}

static void test_all_pairs_from_rest_fffe_K1(void **state)
{
	(void)state;
	all_pairs(0xfffe);
}

static void test_all_pairs_from_rest_ffff_K1(void **state)
{
	(void)state;
	all_pairs(0xffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pairs_from_rest_0001_K1),
		cmocka_unit_test(test_all_pairs_from_rest_8000_K1),
		cmocka_unit_test(test_all_pairs_from_rest_fffe_K1),
		cmocka_unit_test(test_all_pairs_from_rest_ffff_K1),
	};

	return cmocka_run_group_tests_name("csum_pairs", tests, NULL, NULL);
}
