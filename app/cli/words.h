/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line cut into words. Words stand between spaces or tabs; double quotes hold spaces together,
 * and inside them a backslash takes the next character as it is. '#' at the start of a word begins
 * a comment.
 */
#ifndef TURNPIKE_CLI_WORDS_H
#define TURNPIKE_CLI_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

#define CLI_MAX_LINE  65536 /* bytes, newline included */
#define CLI_MAX_WORDS 64

/* What is wrong: status 1 refused, 2 not understood. column counts from 1; 0: of the whole command.
 */
struct cli_error {
	int status;
	unsigned column;
	char message[320];
	char hint[320]; /* what would be right; may be empty */
};

void cli_error_set(struct cli_error *e, int status, unsigned column, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void cli_error_hint(struct cli_error *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct cli_words {
	unsigned n;
	const char *word[CLI_MAX_WORDS];
	unsigned column[CLI_MAX_WORDS]; /* where it starts, from 1 */
	unsigned end;			/* column after the last word */
	bool open_quote;		/* only when lenient: the last word's quote is not closed */
	bool gap;			/* space after the last word, or no word at all */
};

/* Cuts line in place: words point into it. len: its bytes, so that a NUL inside is noticed.
 * lenient: an open quote is no error (completion of half a line). False with e set. */
bool cli_words_split(struct cli_words *w, char *line, size_t len, bool lenient,
		     struct cli_error *e);

/* Adds a word to a line, after a space unless it is the first; in quotes where it needs them. */
void cli_words_put(struct buf *b, const char *word);

#endif /* TURNPIKE_CLI_WORDS_H */
