/* SPDX-License-Identifier: BSD-3-Clause */
/* What helps whoever types: completion, help, tables, and values as text. */
#include "test_cli_line.h"

#include <jansson.h>

#include "cli/complete.h"
#include "cli/help.h"
#include "cli/render.h"

/* ---- completion ------------------------------------------------------------------------------ */

static bool offers(const struct cli_completion *c, const char *word)
{
	for (unsigned i = 0; i < c->n; i++) {
		if (c->c[i].word != NULL && strcmp(c->c[i].word, word) == 0)
			return true;
	}
	return false;
}

static struct cli_completion completion;

static const struct cli_completion *complete(const char *text)
{
	cli_complete_free(&completion);
	cli_complete(text, false, &completion);
	return &completion;
}

static void test_completion_offers_words_keys_and_choices(void **state)
{
	const struct cli_completion *c;

	(void)state;
	c = complete("");
	assert_true(offers(c, "interface") && offers(c, "nat") && offers(c, "exit"));
	c = complete("na");
	assert_int_equal(c->n, 1);
	assert_int_equal(c->start, 0);
	c = complete("nat rule add ");
	assert_int_equal(c->n, 5);
	c = complete("nat r");
	assert_true(offers(c, "rule"));
	assert_int_equal(c->start, 4);
	c = complete("interface add lan ");
	assert_true(offers(c, "devargs") && offers(c, "vlan") && !offers(c, "parent"));
	c = complete("interface add lan vlan 3 ");
	assert_true(offers(c, "parent") && !offers(c, "devargs") && !offers(c, "rxqs"));
	c = complete("interface add lan devargs x rxqs 2 ");
	assert_true(offers(c, "rss"));
	c = complete("interface add lan devargs x rxqs 2 rss ");
	assert_true(offers(c, "flow") && offers(c, "source") && offers(c, "destination-port"));
	assert_int_equal(c->n, 3);
	c = complete("interface set lan pass ");
	assert_true(offers(c, "protocol") && offers(c, "port") && !offers(c, "mtu"));
	c = complete("nat set mapping ");
	assert_int_equal(c->n, 3);
	c = complete("nat set hairpin o");
	assert_int_equal(c->n, 2);
	c = complete("nat session clear ");
	assert_true(offers(c, "all"));
	c = complete("nat session clear port 3 ");
	assert_false(offers(c, "all"));
	assert_true(c->complete);
	c = complete("help nat ru");
	assert_true(offers(c, "rule"));
	c = complete("bogus word ");
	assert_true(c->failed);
	assert_int_equal(c->n, 0);
	c = complete("config check x ");
	assert_false(offers(c, "bytes"));
	cli_complete_free(&completion);
}

static void test_completion_knows_where_names_come_from(void **state)
{
	(void)state;
	assert_int_equal(complete("interface del ")->source, CLI_IFACES);
	assert_int_equal(complete("address add 10.0.0.1/8 interface ")->source, CLI_IFACES);
	assert_int_equal(complete("nat rule del w")->source, CLI_RULES);
	assert_int_equal(complete("nat rule add snat x pool ")->source, CLI_POOLS);
	assert_int_equal(complete("route del ")->source, CLI_ROUTES);
	assert_int_equal(complete("config load ")->source, CLI_FILES);
	assert_int_equal(complete("interface ")->source, CLI_IFACES);
	cli_complete_add(&completion, "lan", "");
	cli_complete_add(&completion, "lan", "");
	assert_true(offers(&completion, "lan") && offers(&completion, "add"));
	cli_complete_free(&completion);
}

/* ---- help ------------------------------------------------------------------------------------ */

static void test_help_and_manual_know_every_command(void **state)
{
	struct buf manual = {0};

	(void)state;
	cli_help_manual(&manual);
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];
		struct buf b = {0};
		unsigned n = 0;

		while (c->words[n] != NULL)
			n++;
		assert_true(cli_help(&b, c->words, n, &err));
		assert_non_null(strstr(b.s, c->help));
		assert_non_null(strstr(b.s, c->example));
		for (unsigned k = 0; is_arg(&c->args[k]); k++) {
			if (!c->args[k].hidden && strstr(b.s, c->args[k].help) == NULL)
				fail_msg("help of '%s' lacks %s", c->example, c->args[k].what);
		}
		buf_free(&b);
	}
	assert_true(manual.len > 5000);
	assert_null(strstr(manual.s, "bytes N"));
	buf_free(&manual);
}

static void test_usage_shows_what_belongs_together(void **state)
{
	struct buf b = {0};

	(void)state;
	assert_int_equal(parse("interface set lan mtu 1500"), 1);
	cli_help_usage(&b, cmd.def);
	assert_string_equal(b.s, "interface set NAME (mtu BYTES | gro on|off | "
				 "gro-validate always|offload|counted | gro-timeout MICROSECONDS | "
				 "gro-udp on|off | pass protocol tcp|udp port PORT | "
				 "no-pass protocol tcp|udp port PORT)");
	b.len = 0;
	assert_int_equal(parse("route"), 1);
	cli_help_usage(&b, cmd.def);
	assert_string_equal(b.s, "route [show] [PREFIX]");
	b.len = 0;
	assert_int_equal(parse("stats"), 1);
	cli_help_usage(&b, cmd.def);
	assert_string_equal(b.s, "stats [show] [interface NAME | worker N | drops]");
	buf_free(&b);
}

static void test_help_for_an_unknown_word_hints(void **state)
{
	static const char *const typo[] = {"interfce"}, *const deep[] = {"nat", "ruel"};
	static const char *const last[] = {"nat", "foo", "bar"};
	struct buf b = {0};

	(void)state;
	assert_false(cli_help(&b, typo, 1, &err));
	assert_non_null(strstr(err.hint, "interface"));
	assert_false(cli_help(&b, deep, 2, &err));
	assert_string_equal(err.message, "no command has 'ruel' there");
	assert_string_equal(err.hint, "did you mean 'rule'?");
	assert_false(cli_help(&b, last, 3, &err));
	assert_string_equal(err.message, "no command has 'foo' there");
	buf_free(&b);
}

static void test_help_finds_words_below_the_first(void **state)
{
	static const char *const rule[] = {"rule"}, *const clear[] = {"session", "clear"};
	struct buf b = {0};

	(void)state;
	assert_true(cli_help(&b, rule, 1, &err));
	assert_non_null(strstr(b.s, "nat rule del NAME"));
	assert_null(strstr(b.s, "nat pool"));
	b.len = 0;
	assert_true(cli_help(&b, clear, 2, &err));
	assert_non_null(strstr(b.s, "for example: nat session clear"));
	buf_free(&b);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void test_tables_align_and_numbers_stand_right(void **state)
{
	static const struct cli_column columns[] = {
		{"NAME", "name", 0, false},    {"N", "n", 0, true},
		{"VIA", "via[].gw", 0, false}, {"NONE", "none", 0, false},
		{"EITHER", "a|b.c", 0, false}, {0},
	};
	json_t *rows = json_loads("[{\"name\":\"x\",\"n\":5,\"via\":[{\"gw\":\"g1\"},{\"gw\":"
				  "\"g2\"}],\"b\":{\"c\":true}},"
				  "{\"name\":\"longer\",\"n\":1234,\"a\":\"q\"}]",
				  0, NULL);
	struct render_table t;
	struct buf b = {0};

	(void)state;
	render_table_start(&t, columns);
	render_table_rows(&t, &b, rows);
	render_table_rows(&t, &b, rows);
	assert_string_equal(b.s, "NAME       N  VIA    EITHER\n"
				 "x          5  g1,g2  yes\n"
				 "longer  1234  -      q\n"
				 "x          5  g1,g2  yes\n"
				 "longer  1234  -      q\n");
	json_decref(rows);
	buf_free(&b);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void test_text_parsers_take_all_or_nothing(void **state)
{
	uint64_t n;
	uint32_t a;
	uint16_t lo, hi;
	int len;

	(void)state;
	assert_true(text_number("0", &n) && n == 0);
	assert_true(text_number("9999999999999999999", &n));
	assert_false(text_number("", &n));
	assert_false(text_number("+1", &n));
	assert_false(text_number("1 ", &n));
	assert_false(text_number("99999999999999999999", &n));
	assert_false(text_ip4("1.2.3", &a));
	assert_false(text_ip4("1.2.3.4.5", &a));
	assert_false(text_ip4("1.2.3.256", &a));
	assert_false(text_ip4_len("1.2.3.4/", &a, &len));
	assert_false(text_ip4_len("1.2.3.4/33", &a, &len));
	assert_true(text_ip4_len("1.2.3.4/0", &a, &len) && len == 0);
	assert_false(text_ports("0", &lo, &hi));
	assert_false(text_ports("5-4", &lo, &hi));
	assert_false(text_ports("5-", &lo, &hi));
	assert_false(text_ports("-5", &lo, &hi));
	assert_true(text_ports("5-65535", &lo, &hi) && lo == 5 && hi == 65535);
	assert_true(text_name("a.B_c-9", 15));
	assert_false(text_name("-a", 15));
	assert_false(text_name("a/b", 15));
	assert_false(text_name("", 15));
	assert_false(text_name("1234567890123456", 15));
}

static void test_distance_counts_edits_and_swaps(void **state)
{
	(void)state;
	assert_int_equal(text_distance("route", "route", 9), 0);
	assert_int_equal(text_distance("ruote", "route", 9), 1);
	assert_int_equal(text_distance("rote", "route", 9), 1);
	assert_int_equal(text_distance("routes", "route", 9), 1);
	assert_int_equal(text_distance("kitten", "sitting", 9), 3);
	assert_int_equal(text_distance("", "abc", 9), 3);
	assert_int_equal(text_distance("abcdef", "uvwxyz", 2), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_completion_offers_words_keys_and_choices),
		cmocka_unit_test(test_completion_knows_where_names_come_from),
		cmocka_unit_test(test_help_and_manual_know_every_command),
		cmocka_unit_test(test_usage_shows_what_belongs_together),
		cmocka_unit_test(test_help_for_an_unknown_word_hints),
		cmocka_unit_test(test_help_finds_words_below_the_first),
		cmocka_unit_test(test_tables_align_and_numbers_stand_right),
		cmocka_unit_test(test_text_parsers_take_all_or_nothing),
		cmocka_unit_test(test_distance_counts_edits_and_swaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
