/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations from files and to them. */
#include "test_config_lab.h"

static void has_error(const struct load *l, unsigned i, unsigned line, unsigned column,
		      const char *message)
{
	assert_true(i < l->n_errors);
	if (l->errors[i].line != line || l->errors[i].e.column != column ||
	    strstr(l->errors[i].e.message, message) == NULL)
		fail_msg("error %u: %u:%u: %s", i, l->errors[i].line, l->errors[i].e.column,
			 l->errors[i].e.message);
}

static void test_load_lists_all_errors_with_their_places(void **state)
{
	struct load *l = load_text("# comment\n"
				   "interface add lan devargs net_null0\n"
				   "interfac add wan devargs net_null1\n"
				   "\n"
				   "address add 10.0.0.1/24 interface lna\n"
				   "  route add 0.0.0.0/0 vai 10.0.0.2\n"
				   "interface show\n"
				   "int add x devargs net_null2\n"
				   "address add 10.0.0.1/24 interface lan mtu 5");

	(void)state;
	assert_false(load_finish(l));
	assert_int_equal(l->n_errors, 6);
	has_error(l, 0, 3, 1, "unknown word 'interfac'");
	has_error(l, 1, 5, 35, "no interface 'lna'");
	has_error(l, 2, 6, 23, "'vai' is not expected");
	has_error(l, 3, 7, 1, "configures nothing");
	has_error(l, 4, 8, 1, "unknown word 'int'");
	has_error(l, 5, 9, 39, "'mtu' is not expected");
	load_free(l);
}

static void test_load_counts_errors_beyond_those_it_lists(void **state)
{
	struct load *l = load_start("x");

	(void)state;
	for (unsigned i = 0; i < 50; i++)
		load_feed(l, "bogus\n", 6);
	assert_false(load_finish(l));
	assert_int_equal(l->n_errors, 50);
	has_error(l, LOAD_MAX_ERRORS - 1, LOAD_MAX_ERRORS, 1, "bogus");
	load_free(l);
}

static void test_load_takes_any_pieces_of_lines(void **state)
{
	static const char text[] =
		"interface add lan devargs net_null0\r\naddress add 10.0.0.1/24 interface lan\n"
		"route add 0.0.0.0/0 via 10.0.0.254";
	char *whole = NULL;

	(void)state;
	for (size_t step = 1; step < sizeof(text); step += 3) {
		struct load *l = load_start("x");
		char *now;

		for (size_t at = 0; at < sizeof(text) - 1; at += step)
			load_feed(l, text + at,
				  at + step < sizeof(text) - 1 ? step : sizeof(text) - 1 - at);
		assert_true(load_finish(l));
		now = text_of(&l->router);
		if (whole != NULL)
			assert_string_equal(whole, now);
		free(whole);
		whole = now;
		load_free(l);
	}
	free(whole);
}

static void test_load_refuses_an_endless_line_and_goes_on(void **state)
{
	struct load *l = load_start("x");

	(void)state;
	for (unsigned i = 0; i < 3 * CLI_MAX_LINE / 16; i++)
		load_feed(l, "interface        ", 16);
	load_feed(l, "\nbogus\n", 7);
	assert_false(load_finish(l));
	assert_int_equal(l->n_errors, 2);
	has_error(l, 0, 1, CLI_MAX_LINE, "longer");
	has_error(l, 1, 2, 1, "bogus");
	load_free(l);
}

static void test_load_names_the_line_of_a_rule_that_contradicts(void **state)
{
	struct load *l = load_text(
		"interface add wan devargs net_null0\n"
		"nat rule add dnat a protocol tcp destination 203.0.113.9:80 to 10.0.0.80\n"
		"nat rule add dnat b protocol udp destination 203.0.113.9:80 to 10.0.0.80\n"
		"nat rule add dnat c protocol tcp destination 203.0.113.9:80 to 10.0.0.81\n"
		"nat rule add dnat d protocol tcp destination 203.0.113.9:81 to 10.0.0.81\n");

	(void)state;
	assert_false(load_finish(l));
	assert_int_equal(l->n_errors, 1);
	has_error(l, 0, 4, 0, "c");
	load_free(l);
}

static void test_load_takes_sizes_that_are_settled_at_start(void **state)
{
	struct load *l = load_text("nat set max-sessions 2048\nroute set max-routes 4096\n");
	char *text;

	(void)state;
	assert_true(load_finish(l));
	assert_int_equal(l->router.max_sessions, 2048);
	assert_int_equal(l->router.max_routes, 4096);
	text = text_of(&l->router);
	assert_string_equal(text, "route set max-routes 4096\nnat set max-sessions 2048\n");
	free(text);
	start();
	assert_false(transition(&live, &l->router, &err));
	assert_non_null(strstr(err.message, "takes effect at start"));
	stop();
	load_free(l);
}

static void test_example_configurations_load_and_round_trip(void **state)
{
	static const char *const files[] = {"home-gateway.conf", "server-edge.conf",
					    "carrier-small.conf"};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		char path[512];
		struct fwd_err e;
		struct load *l, *again;
		char *text, *text_again;

		snprintf(path, sizeof(path), "%s/config/%s", SOURCE_ROOT, files[i]);
		l = load_file(path, &e);
		assert_non_null(l);
		if (!load_finish(l))
			fail_msg("%s:%u: %s", files[i], l->errors[0].line, l->errors[0].e.message);
		text = text_of(&l->router);
		again = load_text(text);
		assert_true(load_finish(again));
		text_again = text_of(&again->router);
		assert_string_equal(text, text_again);
		free(text);
		free(text_again);
		load_free(l);
		load_free(again);
	}
}

static void test_save_writes_all_or_nothing(void **state)
{
	struct load *l = load_text("interface add lan devargs \"net_x0,a b\"\n"), *again;
	char path[] = "/tmp/test_config_model.XXXXXX", *text, *text_again;
	struct fwd_err e;

	(void)state;
	assert_true(load_finish(l));
	assert_int_equal(save_file("/nonexistent/dir/x.conf", &l->router), -2);
	close(mkstemp(path));
	assert_int_equal(save_file(path, &l->router), 0);
	again = load_file(path, &e);
	assert_non_null(again);
	assert_true(load_finish(again));
	text = text_of(&l->router);
	text_again = text_of(&again->router);
	assert_string_equal(text, text_again);
	assert_string_equal(text, "interface add lan devargs \"net_x0,a b\"\n");
	free(text);
	free(text_again);
	remove(path);
	load_free(l);
	load_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load_lists_all_errors_with_their_places),
		cmocka_unit_test(test_load_counts_errors_beyond_those_it_lists),
		cmocka_unit_test(test_load_takes_any_pieces_of_lines),
		cmocka_unit_test(test_load_refuses_an_endless_line_and_goes_on),
		cmocka_unit_test(test_load_names_the_line_of_a_rule_that_contradicts),
		cmocka_unit_test(test_load_takes_sizes_that_are_settled_at_start),
		cmocka_unit_test(test_example_configurations_load_and_round_trip),
		cmocka_unit_test(test_save_writes_all_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
