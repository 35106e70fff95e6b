/* SPDX-License-Identifier: BSD-3-Clause */
/* The grammar: every command of the table right and wrong, abbreviation, messages, meanings. */
#include "test_cli_line.h"

/* Refused as not understood, at a column, with these pieces in message and hint. */
static void wrong(const char *text, unsigned column, const char *message, const char *hint)
{
	int ret = parse(text);

	if (ret != -1)
		fail_msg("'%s' was understood", text);
	if (err.column != column || strstr(err.message, message) == NULL ||
	    strstr(err.hint, hint) == NULL)
		fail_msg("'%s': column %u, '%s'; '%s'", text, err.column, err.message, err.hint);
	assert_int_equal(err.status, 2);
}

/* ---- lines and words ------------------------------------------------------------------------- */

static void test_line_is_cut_at_spaces_outside_quotes(void **state)
{
	struct buf b = {0};

	(void)state;
	snprintf(line, sizeof(line), "  a \"b c\"  d\"e f\"g \"x\\\"y\\\\\" \"\" # comment \"");
	assert_true(cli_words_split(&words, line, strlen(line), false, &err));
	assert_int_equal(words.n, 5);
	assert_string_equal(words.word[0], "a");
	assert_string_equal(words.word[1], "b c");
	assert_string_equal(words.word[2], "de fg");
	assert_string_equal(words.word[3], "x\"y\\");
	assert_string_equal(words.word[4], "");
	assert_int_equal(words.column[0], 3);
	assert_int_equal(words.column[1], 5);
	for (unsigned i = 0; i < words.n; i++)
		cli_words_put(&b, words.word[i]);
	assert_string_equal(b.s, "a \"b c\" \"de fg\" \"x\\\"y\\\\\" \"\"");
	buf_free(&b);
}

static void test_hash_inside_a_word_is_no_comment(void **state)
{
	(void)state;
	snprintf(line, sizeof(line), "a#b #c");
	assert_true(cli_words_split(&words, line, strlen(line), false, &err));
	assert_int_equal(words.n, 1);
	assert_string_equal(words.word[0], "a#b");
}

static void test_open_quote_control_bytes_and_long_lines_are_refused(void **state)
{
	(void)state;
	wrong("interface add \"lan", 15, "quote is not closed", "");
	wrong("interface\x01 show", 10, "byte 0x01", "printable");
	memset(line, 'a', CLI_MAX_LINE);
	line[CLI_MAX_LINE] = '\0';
	assert_false(cli_words_split(&words, line, CLI_MAX_LINE, false, &err));
	assert_non_null(strstr(err.message, "longer"));
	memcpy(line, "route\0show", 10);
	assert_int_equal(cli_parse(&words, line, 10, 0, &cmd, &err), -1);
	assert_int_equal(err.column, 6);
	for (unsigned i = 0; i < 2 * (CLI_MAX_WORDS + 1); i++)
		line[i] = i % 2 ? ' ' : 'a';
	assert_false(cli_words_split(&words, line, 2 * (CLI_MAX_WORDS + 1), false, &err));
	assert_non_null(strstr(err.message, "words"));
}

static void test_empty_lines_and_comments_are_nothing(void **state)
{
	(void)state;
	assert_int_equal(parse(""), 0);
	assert_int_equal(parse("  \t "), 0);
	assert_int_equal(parse("# interface add"), 0);
	assert_int_equal(parse("\r\n"), 0);
}

/* ---- every command, from the table ----------------------------------------------------------- */

static void test_every_example_is_understood_and_written_back(void **state)
{
	(void)state;
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];
		struct buf first = {0}, second = {0};

		if (parse(c->example) != 1)
			fail_msg("'%s': %s; %s", c->example, err.message, err.hint);
		assert_int_equal(cmd.def->id, c->id);
		assert_int_equal(cmd.def->variant, c->variant);
		cli_put(&first, &cmd);
		assert_int_equal(parse(first.s), 1);
		assert_ptr_equal(cmd.def, c);
		cli_put(&second, &cmd);
		assert_string_equal(first.s, second.s);
		buf_free(&first);
		buf_free(&second);
	}
}

/* A value that fits. n makes it one of several. */
static const char *good(const struct cli_arg *a)
{
	static char text[32];

	switch (a->type) {
	case CLI_WORD:
		return a->choices[0].word;
	case CLI_NAME:
		return "lan";
	case CLI_NUMBER:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)a->min);
		return text;
	case CLI_PORT:
		return "80";
	case CLI_ADDR:
	case CLI_ADDRS:
	case CLI_RANGES:
	case CLI_MATCH:
	case CLI_TARGET:
		return "192.0.2.1";
	case CLI_PREFIX:
		return "192.0.2.0/24";
	case CLI_IFADDR:
		return "192.0.2.1/24";
	case CLI_MAC:
		return "02:00:00:00:00:01";
	case CLI_PROTO:
	case CLI_L4PROTO:
		return "tcp";
	case CLI_PORTS:
		return "1-2";
	case CLI_TEXT:
	case CLI_PATH:
	case CLI_REST:
		return "text";
	case CLI_FLAG:
		break;
	}
	return NULL;
}

static const char *bad(const struct cli_arg *a)
{
	static char text[2100];

	switch (a->type) {
	case CLI_NAME:
	case CLI_TEXT:
		memset(text, 'x', a->max + 1);
		text[a->max + 1] = '\0';
		return text;
	case CLI_PATH:
		memset(text, 'x', 2000);
		text[2000] = '\0';
		return text;
	case CLI_NUMBER:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)a->max + 1);
		return text;
	case CLI_PREFIX:
		return "192.0.2.1/24";
	case CLI_IFADDR:
		return "192.0.2.1";
	case CLI_MAC:
		return "03:00:00:00:00:01";
	case CLI_PORT:
		return "0";
	case CLI_PORTS:
		return "9-3";
	case CLI_TARGET:
	case CLI_MATCH:
		return "192.0.2.1:65536";
	case CLI_RANGES:
		return "192.0.2.9-192.0.2.1";
	default:
		return "300.0.0.1";
	}
}

/* The command with the arguments for which pick() says so. */
static void put_args(struct buf *b, const struct cli_command *c, const char *without,
		     const char *spoil)
{
	bool group_done = false;

	put_name(b, c);
	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		const struct cli_arg *a = &c->args[i];
		const char *name = a->key != NULL ? a->key : a->what;
		bool wanted = a->required ||
			      (a->grouped && c->at_least > 0 && !group_done && a->needs == NULL);

		if (spoil != NULL && strcmp(spoil, name) == 0)
			wanted = true;
		if (!wanted || a->type == CLI_REST ||
		    (without != NULL && strcmp(without, name) == 0))
			continue;
		group_done = group_done || a->grouped;
		if (a->key != NULL)
			cli_words_put(b, a->key);
		if (a->type != CLI_FLAG)
			cli_words_put(b,
				      spoil != NULL && strcmp(spoil, name) == 0 ? bad(a) : good(a));
	}
}

static void test_every_required_argument_is_missed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];
		struct buf b = {0};

		put_args(&b, c, NULL, NULL);
		if (parse(b.s) != 1)
			fail_msg("'%s': %s; %s", b.s, err.message, err.hint);
		for (unsigned k = 0; is_arg(&c->args[k]); k++) {
			const struct cli_arg *a = &c->args[k];

			if (!a->required)
				continue;
			b.len = 0;
			put_args(&b, c, a->key != NULL ? a->key : a->what, NULL);
			if (parse(b.s) != -1)
				fail_msg("'%s' was understood", b.s);
			assert_true(err.column > 0);
			assert_true(err.hint[0] != '\0');
		}
		buf_free(&b);
	}
}

static void test_every_value_is_checked(void **state)
{
	(void)state;
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];

		for (unsigned k = 0; is_arg(&c->args[k]); k++) {
			const struct cli_arg *a = &c->args[k];
			const char *name = a->key != NULL ? a->key : a->what;
			struct buf b = {0};

			if (a->type == CLI_FLAG || a->type == CLI_REST)
				continue;
			put_args(&b, c, NULL, name);
			if (parse(b.s) != -1)
				fail_msg("'%s' was understood", b.s);
			/* A noun's bare value may be taken for an unknown word instead. */
			if (strstr(err.message, name) == NULL || err.hint[0] == '\0')
				fail_msg("'%.80s': '%s'; '%s'", b.s, err.message, err.hint);
			assert_int_equal(err.status, 2);
			buf_free(&b);
		}
	}
}

static void test_every_key_stands_once_and_needs_its_value(void **state)
{
	(void)state;
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];

		for (unsigned k = 0; is_arg(&c->args[k]); k++) {
			const struct cli_arg *a = &c->args[k];
			struct buf b = {0};

			if (a->key == NULL)
				continue;
			put_args(&b, c, a->key, NULL);
			for (unsigned n = 0; n < 2; n++) {
				cli_words_put(&b, a->key);
				if (a->type != CLI_FLAG)
					cli_words_put(&b, good(a));
			}
			assert_int_equal(parse(b.s), -1);
			if (strstr(err.message, "twice") == NULL)
				fail_msg("'%s': %s", b.s, err.message);
			b.len = 0;
			put_args(&b, c, a->key, NULL);
			cli_words_put(&b, a->key);
			if (a->type != CLI_FLAG) {
				assert_int_equal(parse(b.s), -1);
				if (strstr(err.message, "value is missing") == NULL)
					fail_msg("'%s': %s", b.s, err.message);
				assert_int_equal(err.column, b.len + 1);
			}
			buf_free(&b);
		}
	}
}

static void test_every_command_refuses_a_word_too_many(void **state)
{
	(void)state;
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];
		struct buf b = {0};

		if (c->args[0].type == CLI_REST && is_arg(&c->args[0]))
			continue;
		put_args(&b, c, NULL, NULL);
		for (unsigned k = 0; is_arg(&c->args[k]); k++) { /* places that may be left out */
			if (c->args[k].key == NULL && !c->args[k].required)
				cli_words_put(&b, good(&c->args[k]));
		}
		cli_words_put(&b, "zzzzzz");
		if (parse(b.s) != -1)
			fail_msg("'%s' was understood", b.s);
		assert_int_equal(err.column, b.len - 5);
		buf_free(&b);
	}
}

/* Every letter of every word, changed: refused, or by chance another command - never a crash,
 * always a hint. */
static void test_every_word_mistyped_is_refused_with_a_hint(void **state)
{
	(void)state;
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];

		for (unsigned d = 0; c->words[d] != NULL; d++) {
			struct buf b = {0};

			for (unsigned k = 0; c->words[k] != NULL; k++) {
				char typo[48];

				snprintf(typo, sizeof(typo), "%s", c->words[k]);
				if (k == d)
					typo[strlen(typo) - 1] = 'q';
				cli_words_put(&b, typo);
			}
			if (parse(b.s) == -1)
				assert_true(err.hint[0] != '\0');
			buf_free(&b);
		}
	}
}

/* ---- messages -------------------------------------------------------------------------------- */

static void test_hints_name_the_nearest_word(void **state)
{
	(void)state;
	wrong("interfce show", 1, "unknown word 'interfce'", "did you mean 'interface'?");
	wrong("nat ruel show", 5, "unknown word 'ruel'", "did you mean 'rule'?");
	wrong("interface dle lan", 11, "unknown word 'dle'", "did you mean 'del'?");
	wrong("nat rule add masqurade x", 14, "unknown word", "did you mean 'masquerade'?");
	wrong("route add 10.0.0.0/8 vai 10.0.0.1", 22, "'vai' is not expected",
	      "did you mean 'via'?");
	wrong("nat set mapping endpoint-indepndent", 17, "mapping",
	      "did you mean 'endpoint-independent'?");
	wrong("route ad 10.0.0.0/8", 7, "unknown word 'ad'", "did you mean 'add'?");
	wrong("xyzzy", 1, "unknown word 'xyzzy'", "accepted: interface, address");
}

static void test_hints_name_ranges_and_shapes(void **state)
{
	(void)state;
	wrong("interface set lan mtu 67", 23, "mtu: 67 is out of range", "from 68 to 9600 bytes");
	wrong("interface set lan mtu 9601", 23, "out of range", "68 to 9600");
	wrong("interface set lan mtu -1", 23, "mtu: '-1' does not fit", "number from 68");
	wrong("nat timeout set udp 0", 21, "udp", "from 1 to 86400 seconds");
	wrong("nat timeout set udp 99999999999999999999999", 21, "udp", "1 to 86400");
	wrong("address add 10.0.0.1 interface lan", 13, "ADDRESS/LENGTH", "like 192.0.2.1/24");
	wrong("address add 10.0.0.1/33 interface lan", 13, "does not fit", "");
	wrong("address add 2001:db8::1/64 interface lan", 13, "does not fit", "IPv4 only");
	wrong("route add 10.0.0.1/8 via 10.0.0.1", 11, "bits set", "10.0.0.0/8");
	wrong("route add 10.0.0.0/8 via 10.0.0.1,,10.0.0.2", 35, "via", "");
	wrong("nat rule add dnat w destination 1.2.3.4:0 to 10.0.0.1", 41, "'0' is no port",
	      "1 to 65535");
	wrong("interface set lan pass protocol icmp port 1", 33, "protocol", "tcp or udp");
	wrong("neighbour add 10.0.0.1 lladdr 02:0:0:0:0:1 interface lan", 31, "lladdr",
	      "02:00:00:00:00:09");
	wrong("log set level loud", 15, "level", "one of error, warning, info, debug");
}

static void test_keys_that_belong_together_or_exclude_each_other(void **state)
{
	(void)state;
	wrong("interface add lan mtu 1500", 27, "something is missing",
	      "wants one of devargs, vlan");
	wrong("interface add lan devargs x vlan 3 parent p", 29, "do not go together",
	      "devargs, vlan");
	wrong("interface add lan vlan 3", 19, "'vlan' goes only with 'parent'", "parent");
	wrong("interface add lan devargs x parent p", 29, "'parent' goes only with 'vlan'", "");
	wrong("interface add lan vlan 3 parent p rxqs 2", 35, "'rxqs' goes only with 'devargs'",
	      "");
	wrong("interface add lan devargs x rss source", 29, "'rss' goes only with 'rxqs'", "rxqs");
	wrong("interface set lan pass protocol tcp", 19, "'pass' goes only with 'port'", "port");
	wrong("interface set lan mtu 1500 port 3", 28, "'port' goes only with", "");
	wrong("interface set lan", 18, "something is missing",
	      "mtu, gro, gro-validate, gro-timeout, gro-udp, pass, no-pass");
	wrong("nat session clear", 18, "something is missing", "at least one of");
	wrong("nat session clear all port 3", 19, "'all' stands alone", "");
	wrong("stats interface lan drops", 21, "do not go together", "");
	wrong("nat set", 8, "something is missing", "mapping, filtering");
	wrong("nat rule add exempt none", 25, "something is missing", "source, destination");
}

static void test_incomplete_commands_say_what_comes_next(void **state)
{
	(void)state;
	wrong("nat rule add", 13, "not complete", "snat, masquerade, dnat, static, exempt");
	wrong("log", 4, "not complete", "set");
	wrong("route add", 10, "PREFIX is missing", "IPv4 prefix");
	wrong("route add 10.0.0.0/8", 21, "via is missing", "GATEWAY");
	wrong("interface add", 14, "NAME is missing", "1 to 15");
}

static void test_what_was_typed_is_shown_printable_and_short(void **state)
{
	char text[400] = "interface show ";

	(void)state;
	memset(text + 15, 'y', 300);
	assert_int_equal(parse(text), -1);
	assert_true(strlen(err.message) < 120);
	assert_int_equal(parse("nat \xff\xfe\x80"), -1);
	for (const char *p = err.message; *p != '\0'; p++)
		assert_true(*p >= 0x20 && *p < 0x7f);
}

/* ---- meanings -------------------------------------------------------------------------------- */

static void test_keys_come_in_any_order(void **state)
{
	(void)state;
	assert_int_equal(parse("nat rule add dnat web to 10.0.0.80:80 protocol tcp destination "
			       "203.0.113.10:8080-8089 interface wan"),
			 1);
	assert_int_equal(cmd.def->variant, CLI_RULE_DNAT);
	assert_string_equal(cli_get(&cmd, "NAME")->text, "web");
	assert_int_equal(cli_get(&cmd, "protocol")->number, 6);
	assert_int_equal(cli_get(&cmd, "destination")->port_lo, 8080);
	assert_int_equal(cli_get(&cmd, "destination")->port_hi, 8089);
	assert_int_equal(cli_get(&cmd, "to")->port_lo, 80);
	assert_null(cli_get(&cmd, "source"));
}

static void test_values_mean_what_they_say(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0xaa, 0xBB, 0, 9};

	(void)state;
	assert_int_equal(parse("neighbor add 10.0.0.9 lladdr 02:00:Aa:bB:00:09 interface lan"), 1);
	assert_int_equal(cmd.def->id, CLI_NEIGHBOUR_ADD);
	assert_memory_equal(cli_get(&cmd, "lladdr")->mac, mac, 6);
	assert_int_equal(parse("route add default via 203.0.113.254"), 1);
	assert_int_equal(cli_get(&cmd, "PREFIX")->addr_be, 0);
	assert_int_equal(cli_get(&cmd, "PREFIX")->len, 0);
	assert_int_equal(
		parse("nat pool add p addresses 10.0.0.1-10.0.0.3,10.0.1.1 ports 1024-65535"), 1);
	assert_int_equal(cmd.list.n, 2);
	assert_true(cmd.list.range[1].first_be == cmd.list.range[1].last_be);
	assert_int_equal(cli_get(&cmd, "ports")->port_hi, 65535);
	assert_int_equal(parse("nat rule add exempt x destination 10.8.0.0/16:53"), 1);
	assert_int_equal(cli_get(&cmd, "destination")->len, 16);
	assert_int_equal(cli_get(&cmd, "destination")->port_lo, 53);
	assert_int_equal(parse("nat rule add snat x pool p protocol 47"), 1);
	assert_int_equal(cli_get(&cmd, "protocol")->number, 47);
	assert_int_equal(parse("nat session protocol GRE"), 1);
	assert_int_equal(cli_get(&cmd, "protocol")->number, 47);
}

static void test_bare_noun_shows(void **state)
{
	static const struct {
		const char *text;
		enum cli_id id;
	} nouns[] = {
		{"interface", CLI_INTERFACE_SHOW},
		{"interface lan", CLI_INTERFACE_SHOW},
		{"address", CLI_ADDRESS_SHOW},
		{"neighbor", CLI_NEIGHBOUR_SHOW},
		{"route", CLI_ROUTE_SHOW},
		{"route 10.0.0.0/8", CLI_ROUTE_SHOW},
		{"nat", CLI_NAT_SHOW},
		{"nat pool", CLI_POOL_SHOW},
		{"nat rule web", CLI_RULE_SHOW},
		{"nat timeout", CLI_TIMEOUT_SHOW},
		{"nat session port 80", CLI_SESSION_SHOW},
		{"stats drops", CLI_STATS_SHOW},
		{"config", CLI_CONFIG_SHOW},
		{"worker", CLI_WORKER_SHOW},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(nouns) / sizeof(nouns[0]); i++) {
		if (parse(nouns[i].text) != 1)
			fail_msg("'%s': %s", nouns[i].text, err.message);
		assert_int_equal(cmd.def->id, nouns[i].id);
		assert_true(cmd.implied);
	}
}

static void test_words_may_be_shortened_only_where_allowed(void **state)
{
	struct buf b = {0};

	(void)state;
	assert_int_equal(parse("int add lan dev x"), -1);
	assert_int_equal(parse_flags("int a lan dev net_null0 mt 1500", CLI_ABBREVIATE), 1);
	cli_put(&b, &cmd);
	assert_string_equal(b.s, "interface add lan devargs net_null0 mtu 1500");
	b.len = 0;
	assert_int_equal(parse_flags("n r a d web dest 1.2.3.4 to 10.0.0.1", CLI_ABBREVIATE), -1);
	assert_int_equal(parse_flags("nat r a d web dest 1.2.3.4 to 10.0.0.1", CLI_ABBREVIATE), 1);
	cli_put(&b, &cmd);
	assert_string_equal(b.s, "nat rule add dnat web destination 1.2.3.4 to 10.0.0.1");
	b.len = 0;
	assert_int_equal(parse_flags("nat set m e", CLI_ABBREVIATE), -1);
	assert_non_null(strstr(err.message, "ambiguous"));
	assert_int_equal(parse_flags("nat set map e", CLI_ABBREVIATE), 1);
	cli_put(&b, &cmd);
	assert_string_equal(b.s, "nat set mapping endpoint-independent");
	buf_free(&b);
	assert_int_equal(parse_flags("nat s", CLI_ABBREVIATE), -1);
	assert_non_null(strstr(err.message, "ambiguous"));
	assert_int_equal(parse_flags("nat set mapping address", CLI_ABBREVIATE), -1);
	assert_int_equal(parse_flags("", CLI_ABBREVIATE), 0);
	assert_int_equal(parse_flags("\"\"", CLI_ABBREVIATE), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_is_cut_at_spaces_outside_quotes),
		cmocka_unit_test(test_hash_inside_a_word_is_no_comment),
		cmocka_unit_test(test_open_quote_control_bytes_and_long_lines_are_refused),
		cmocka_unit_test(test_empty_lines_and_comments_are_nothing),
		cmocka_unit_test(test_every_example_is_understood_and_written_back),
		cmocka_unit_test(test_every_required_argument_is_missed),
		cmocka_unit_test(test_every_value_is_checked),
		cmocka_unit_test(test_every_key_stands_once_and_needs_its_value),
		cmocka_unit_test(test_every_command_refuses_a_word_too_many),
		cmocka_unit_test(test_every_word_mistyped_is_refused_with_a_hint),
		cmocka_unit_test(test_hints_name_the_nearest_word),
		cmocka_unit_test(test_hints_name_ranges_and_shapes),
		cmocka_unit_test(test_keys_that_belong_together_or_exclude_each_other),
		cmocka_unit_test(test_incomplete_commands_say_what_comes_next),
		cmocka_unit_test(test_what_was_typed_is_shown_printable_and_short),
		cmocka_unit_test(test_keys_come_in_any_order),
		cmocka_unit_test(test_values_mean_what_they_say),
		cmocka_unit_test(test_bare_noun_shows),
		cmocka_unit_test(test_words_may_be_shortened_only_where_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
