/* SPDX-License-Identifier: BSD-3-Clause */
/* Random input never confuses the parser, completion or help. */
#include "test_cli_line.h"

#include "cli/complete.h"

static struct cli_completion completion;
static uint64_t seed = 0x7475726e70696b65;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 11);
}

static void random_word(struct buf *b)
{
	static const char *const others[] = {
		"10.0.0.1",
		"10.0.0.0/8",
		"1.2.3.4:80",
		"1.2.3.4:80-90",
		"lan",
		"\"",
		"\"\"",
		"a\\",
		"#",
		"-1",
		"99999999999",
		"02:00:00:00:00:01",
		"on",
		"tcp",
		"1.1.1.1-1.1.1.9,2.2.2.2",
		"1.1.1.1,2.2.2.2",
		"::1",
		"[::1]:80",
		"\x80\xff",
	};
	const struct cli_command *c = &cli_commands[rnd() % cli_n_commands];
	unsigned n = 0;

	switch (rnd() % 4) {
	case 0:
		while (c->words[n] != NULL)
			n++;
		buf_puts(b, c->words[rnd() % n]);
		break;
	case 1:
		while (is_arg(&c->args[n]))
			n++;
		if (n > 0 && c->args[n = rnd() % n].key != NULL)
			buf_puts(b, c->args[n].key);
		break;
	case 2:
		buf_puts(b, others[rnd() % (sizeof(others) / sizeof(others[0]))]);
		break;
	default:
		for (n = rnd() % 12; n > 0; n--)
			buf_putc(b, (char)(rnd() % 255 + 1));
		break;
	}
}

static void check_any_line(struct buf *b)
{
	unsigned flags = rnd() % 2 ? CLI_ABBREVIATE : 0;
	struct buf out = {0};
	int ret;

	snprintf(line, sizeof(line), "%s", b->s);
	cli_complete_free(&completion);
	cli_complete(line, rnd() % 2, &completion);
	ret = cli_parse(&words, line, strlen(line), flags, &cmd, &err);
	if (ret < 0) {
		assert_int_equal(err.status, 2);
		assert_true(err.message[0] != '\0' && err.column > 0);
		for (const char *p = err.message; *p != '\0'; p++)
			assert_true(*p >= 0x20 && *p < 0x7f);
	} else if (ret > 0) {
		/* What was understood is understood the same when written out. */
		const struct cli_command *def = cmd.def;

		cli_put(&out, &cmd);
		snprintf(line, sizeof(line), "%s", out.s);
		assert_int_equal(cli_parse(&words, line, strlen(line), 0, &cmd, &err), 1);
		assert_ptr_equal(cmd.def, def);
	}
	buf_free(&out);
}

static void test_random_words_never_confuse_the_parser(void **state)
{
	struct buf b = {0};

	(void)state;
	for (unsigned i = 0; i < 60000; i++) {
		b.len = 0;
		buf_puts(&b, "");
		if (rnd() % 2)
			put_name(&b, &cli_commands[rnd() % cli_n_commands]);
		for (unsigned n = rnd() % 10; n > 0; n--) {
			buf_putc(&b, ' ');
			random_word(&b);
		}
		check_any_line(&b);
	}
	cli_complete_free(&completion);
	buf_free(&b);
}

static void test_random_bytes_never_confuse_the_parser(void **state)
{
	struct buf b = {0};

	(void)state;
	for (unsigned i = 0; i < 60000; i++) {
		b.len = 0;
		buf_puts(&b, "");
		for (unsigned n = rnd() % 80; n > 0; n--)
			buf_putc(&b, (char)(rnd() % 255 + 1));
		check_any_line(&b);
	}
	cli_complete_free(&completion);
	buf_free(&b);
}

/* Every good line with a byte changed, added or taken away. */
static void test_examples_with_an_edit_never_confuse_the_parser(void **state)
{
	struct buf b = {0};

	(void)state;
	for (unsigned i = 0; i < cli_n_commands * 600; i++) {
		const char *text = cli_commands[i % cli_n_commands].example;
		size_t at = rnd() % (strlen(text) + 1);

		b.len = 0;
		buf_add(&b, text, at);
		if (rnd() % 3)
			buf_putc(&b, (char)(rnd() % 255 + 1));
		buf_puts(&b, text + at + (text[at] != '\0' && rnd() % 3 != 0));
		check_any_line(&b);
	}
	cli_complete_free(&completion);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_words_never_confuse_the_parser),
		cmocka_unit_test(test_random_bytes_never_confuse_the_parser),
		cmocka_unit_test(test_examples_with_an_edit_never_confuse_the_parser),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
