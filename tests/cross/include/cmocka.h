/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As much of cmocka's interface as the checksum tests use, in one header: so that they run on
 * machines for which no cmocka is installed. The real one is used everywhere else.
 */
#ifndef TEST_CROSS_CMOCKA_H
#define TEST_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*test)(void **state);
};

#define cmocka_unit_test(f) { #f, f }
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
	cross_run(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

enum { CROSS_FAILED = 1, CROSS_SKIPPED = 2 };

static jmp_buf cross_jump;

#define print_message(...) printf(__VA_ARGS__)
#define print_error(...) fprintf(stderr, __VA_ARGS__)
#define skip() longjmp(cross_jump, CROSS_SKIPPED)
#define fail_msg(...)                                        \
	do {                                                 \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
		fprintf(stderr, __VA_ARGS__);                \
		fputc('\n', stderr);                         \
		longjmp(cross_jump, CROSS_FAILED);           \
	} while (0)
#define assert_true(x)                    \
	do {                              \
		if (!(x))                 \
			fail_msg("%s", #x); \
	} while (0)
#define assert_false(x) assert_true(!(x))
#define assert_int_equal(a, b)                                                          \
	do {                                                                            \
		unsigned long long a_ = (unsigned long long)(a);                        \
		unsigned long long b_ = (unsigned long long)(b);                        \
		if (a_ != b_)                                                           \
			fail_msg("%s is %#llx, %s is %#llx", #a, a_, #b, b_);           \
	} while (0)
#define assert_int_not_equal(a, b) assert_true((a) != (b))
#define assert_ptr_equal(a, b) assert_true((a) == (b))
#define assert_string_equal(a, b) assert_true(!strcmp(a, b))
#define assert_memory_equal(a, b, n) assert_true(!memcmp(a, b, n))

static inline int cross_run(const char *group, const struct CMUnitTest *tests, size_t n,
			    int (*setup)(void **), int (*teardown)(void **))
{
	volatile unsigned failed = 0, skipped = 0;
	volatile size_t i;
	void *state = NULL;

	if (setup && setup(&state))
		return 1;
	for (i = 0; i < n; i++) {
		int how = setjmp(cross_jump);

		if (!how) {
			tests[i].test(&state);
			continue;
		}
		if (how == CROSS_FAILED) {
			fprintf(stderr, "FAILED: %s\n", tests[i].name);
			failed++;
		} else {
			skipped++;
		}
	}
	if (teardown)
		teardown(&state);
	printf("%s: %u of %u passed, %u skipped\n", group, (unsigned)n - failed - skipped,
	       (unsigned)n, skipped);
	return failed != 0;
}

#endif
