/* SPDX-License-Identifier: BSD-3-Clause */
/* Help and the manual, written from the table of commands. See help.h. */
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "value.h"

#include "help.h"

static bool is_arg(const struct cli_arg *arg)
{
	return arg->what != NULL;
}

static void put_arg(struct buf *b, const struct cli_arg *arg)
{
	if (arg->key != NULL)
		buf_puts(b, arg->key);
	if (arg->key != NULL && arg->what[0] != '\0')
		buf_putc(b, ' ');
	buf_puts(b, arg->what);
}

static bool needs_key(const struct cli_arg *arg, const char *key)
{
	const char *p = arg->needs;

	while (p != NULL && *p != '\0') {
		size_t n = strcspn(p, ",|");

		if (strncmp(p, key, n) == 0 && key[n] == '\0')
			return true;
		p += n + (p[n] != '\0');
	}
	return false;
}

/* Keys that belong to a grouped key stand right behind it. */
static bool belongs(const struct cli_command *c, const struct cli_arg *arg)
{
	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		if (c->args[i].grouped && c->args[i].key != NULL && arg->key != NULL &&
		    !arg->grouped && needs_key(&c->args[i], arg->key))
			return true;
	}
	return false;
}

static void put_group(struct buf *b, const struct cli_command *c)
{
	bool one = c->at_most == 1, first = true;
	unsigned n = 0;

	for (unsigned i = 0; is_arg(&c->args[i]); i++)
		n += c->args[i].grouped;
	if (n == 0)
		return;
	if (one) {
		buf_puts(b, c->at_least == 0 ? " [" : n > 1 ? " (" : " ");
	} else if (c->at_least > 0 && n == 1) {
		buf_putc(b, ' ');
	}
	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		const struct cli_arg *arg = &c->args[i];

		if (!arg->grouped)
			continue;
		if (one && !first)
			buf_puts(b, " | ");
		if (!one && n > 1)
			buf_puts(b, " [");
		put_arg(b, arg);
		for (unsigned k = 0; is_arg(&c->args[k]); k++) {
			if (c->args[k].key != NULL && !c->args[k].grouped &&
			    needs_key(arg, c->args[k].key)) {
				buf_putc(b, ' ');
				put_arg(b, &c->args[k]);
			}
		}
		if (!one && n > 1)
			buf_putc(b, ']');
		first = false;
	}
	if (one)
		buf_puts(b, c->at_least == 0 ? "]" : n > 1 ? ")" : "");
}

void cli_help_usage(struct buf *b, const struct cli_command *c)
{
	bool group_done = false;

	for (unsigned d = 0; c->words[d] != NULL; d++) {
		bool optional =
			d > 0 && c->words[d + 1] == NULL && strcmp(c->words[d], "show") == 0;

		buf_printf(b, "%s%s%s%s", d > 0 ? " " : "", optional ? "[" : "", c->words[d],
			   optional ? "]" : "");
	}
	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		const struct cli_arg *arg = &c->args[i];

		if (arg->hidden || belongs(c, arg))
			continue;
		if (arg->grouped) {
			if (!group_done)
				put_group(b, c);
			group_done = true;
			continue;
		}
		buf_puts(b, arg->required ? " " : " [");
		put_arg(b, arg);
		if (!arg->required)
			buf_putc(b, ']');
	}
}

/* Whether a command's words from the from-th on begin like these. */
static bool matches(const struct cli_command *c, unsigned from, const char *const *words,
		    unsigned n, bool exactly)
{
	unsigned depth = 0;

	while (depth < CLI_MAX_DEPTH && c->words[depth] != NULL)
		depth++;
	if (from + n > depth)
		return false;
	for (unsigned i = 0; i < n; i++) {
		const char *word = cli_alias(words[i]), *own = c->words[from + i];

		if (*word == '\0' ||
		    (exactly ? strcmp(own, word) : strncmp(own, word, strlen(word))) != 0)
			return false;
	}
	return true;
}

static unsigned count(unsigned from, const char *const *words, unsigned n, bool exactly)
{
	unsigned found = 0;

	for (unsigned i = 0; i < cli_n_commands; i++)
		found += matches(&cli_commands[i], from, words, n, exactly);
	return found;
}

/* No command has these words. Names what could stand in place of the first that does not fit. */
static void set_unknown(const char *const *words, unsigned n, struct cli_error *e)
{
	char quoted[TEXT_QUOTE_LEN];
	unsigned good = 0, best = TEXT_FAR;
	const char *near = NULL;

	while (good + 1 < n && count(0, words, good + 1, false) > 0)
		good++;
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];

		if (matches(c, 0, words, good, false) && good < CLI_MAX_DEPTH &&
		    c->words[good] != NULL && text_nearer(words[good], c->words[good], &best))
			near = c->words[good];
	}
	cli_error_set(e, 2, 0, "no command has %s%s", text_quote(quoted, words[good]),
		      good > 0 ? " there" : "");
	cli_error_hint(e, near != NULL ? "did you mean '%s'?" : "%s",
		       near != NULL ? near : "'help' lists all commands");
}

static void put_details(struct buf *b, const struct cli_command *c)
{
	char shape[240];

	buf_puts(b, "\n    ");
	buf_puts(b, c->help);
	if (c->more != NULL)
		buf_printf(b, "\n    %s", c->more);
	buf_putc(b, '\n');
	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		const struct cli_arg *arg = &c->args[i];
		size_t start = b->len;

		if (arg->hidden)
			continue;
		buf_puts(b, "    ");
		put_arg(b, arg);
		if (b->len - start < 34)
			buf_pad(b, 34 - (b->len - start));
		buf_printf(b, "  %s", arg->help);
		if (arg->type != CLI_FLAG && arg->type != CLI_REST)
			buf_printf(b, " (%s)", cli_value_shape(arg, shape, sizeof(shape)));
		buf_putc(b, '\n');
	}
	buf_printf(b, "    for example: %s\n", c->example);
}

bool cli_help(struct buf *b, const char *const *words, unsigned n, struct cli_error *e)
{
	unsigned found = 0, from = 0;
	bool exactly = false;

	/* 'help rule' is as good as 'help nat rule' */
	for (; from < CLI_MAX_DEPTH; from++) {
		exactly = count(from, words, n, true) > 0;
		found = count(from, words, n, exactly);
		if (found > 0)
			break;
	}
	if (found == 0) {
		set_unknown(words, n, e);
		return false;
	}
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];
		size_t start = b->len;

		if (!matches(c, from, words, n, exactly))
			continue;
		cli_help_usage(b, c);
		if (found == 1) {
			put_details(b, c);
			continue;
		}
		if (b->len - start < 44)
			buf_pad(b, 44 - (b->len - start));
		else
			buf_printf(b, "\n%44s", "");
		buf_printf(b, "  %s\n", c->help);
	}
	return true;
}

/* scdoc takes _ and * for emphasis, and lines that begin with some signs for structure. */
static void put_escaped(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("_*\\#<>[]|.~-", *text) != NULL)
			buf_putc(b, '\\');
		buf_putc(b, *text);
	}
}

void cli_help_manual(struct buf *b)
{
	struct buf usage = {0};
	char shape[240];

	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];

		usage.len = 0;
		cli_help_usage(&usage, c);
		buf_putc(b, '*');
		put_escaped(b, usage.s);
		buf_puts(b, "*\n\t");
		put_escaped(b, c->help);
		buf_putc(b, '\n');
		if (c->more != NULL) {
			buf_puts(b, "\n\t");
			put_escaped(b, c->more);
			buf_putc(b, '\n');
		}
		for (unsigned k = 0; is_arg(&c->args[k]); k++) {
			const struct cli_arg *arg = &c->args[k];

			if (arg->hidden || arg->type == CLI_FLAG || arg->type == CLI_REST)
				continue;
			buf_puts(b, "\n\t_");
			put_escaped(b, arg->key != NULL ? arg->key : arg->what);
			buf_puts(b, "_: ");
			put_escaped(b, arg->help);
			buf_puts(b, " (");
			put_escaped(b, cli_value_shape(arg, shape, sizeof(shape)));
			buf_puts(b, ")\n");
		}
		buf_puts(b, "\n\tExample: ");
		put_escaped(b, c->example);
		buf_puts(b, "\n\n");
	}
	buf_free(&usage);
}
