/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of the grammar: a line and what became of it. */
#ifndef TEST_CLI_LINE_H
#define TEST_CLI_LINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/parse.h"
#include "cli/text.h"

static struct cli_words words;
static struct cli_cmd cmd;
static struct cli_error err;
static char line[CLI_MAX_LINE + 64];

static inline int parse_flags(const char *text, unsigned flags)
{
	snprintf(line, sizeof(line), "%s", text);
	memset(&err, 0, sizeof(err));
	return cli_parse(&words, line, strlen(line), flags, &cmd, &err);
}

static inline int parse(const char *text)
{
	return parse_flags(text, 0);
}

static inline bool is_arg(const struct cli_arg *a)
{
	return a->what != NULL;
}

/* A command's words. */
static inline void put_name(struct buf *b, const struct cli_command *c)
{
	for (unsigned d = 0; c->words[d] != NULL; d++)
		cli_words_put(b, c->words[d]);
}

#endif /* TEST_CLI_LINE_H */
