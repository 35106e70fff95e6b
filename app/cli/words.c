/* SPDX-License-Identifier: BSD-3-Clause */
/* A line cut into words. See words.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

void cli_error_set(struct cli_error *e, int status, unsigned column, const char *fmt, ...)
{
	va_list ap;

	e->status = status;
	e->column = column;
	e->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(e->message, sizeof(e->message), fmt, ap);
	va_end(ap);
}

void cli_error_hint(struct cli_error *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

bool cli_words_split(struct cli_words *w, char *line, size_t len, bool lenient, struct cli_error *e)
{
	size_t i = 0;

	w->n = 0;
	w->end = 1;
	w->open_quote = false;
	w->gap = true;
	if (len >= CLI_MAX_LINE) {
		cli_error_set(e, 2, CLI_MAX_LINE, "line is longer than %d bytes", CLI_MAX_LINE - 1);
		return false;
	}
	while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	for (size_t k = 0; k < len; k++) {
		unsigned char c = (unsigned char)line[k];

		if ((c < 0x20 && c != '\t') || c == 0x7f) {
			cli_error_set(e, 2, (unsigned)k + 1,
				      "byte 0x%02x does not belong in a command", c);
			cli_error_hint(e, "a command is one line of printable text");
			return false;
		}
	}
	for (;;) {
		size_t out;
		bool quoted = false;

		while (i < len && is_space(line[i]))
			i++;
		if (i >= len || line[i] == '#')
			break;
		if (w->n == CLI_MAX_WORDS) {
			cli_error_set(e, 2, (unsigned)i + 1, "more than %d words", CLI_MAX_WORDS);
			return false;
		}
		w->column[w->n] = (unsigned)i + 1;
		w->word[w->n++] = line + i;
		out = i;
		while (i < len && (quoted || !is_space(line[i]))) {
			if (line[i] == '"') {
				quoted = !quoted;
				i++;
				continue;
			}
			if (quoted && line[i] == '\\' && i + 1 < len)
				i++;
			line[out++] = line[i++];
		}
		if (quoted && !lenient) {
			cli_error_set(e, 2, w->column[w->n - 1], "quote is not closed");
			cli_error_hint(e, "end the word with \"");
			return false;
		}
		w->open_quote = quoted;
		w->end = (unsigned)i + 1;
		w->gap = i < len;
		if (i < len)
			i++;
		line[out] = '\0'; /* out <= i - 1, or the NUL's or newline's place at the end */
	}
	return true;
}

void cli_words_put(struct buf *b, const char *word)
{
	if (b->len > 0 && b->s[b->len - 1] != '\n')
		buf_putc(b, ' ');
	if (*word != '\0' && *word != '#' && strpbrk(word, " \t\"\\") == NULL) {
		buf_puts(b, word);
		return;
	}
	buf_putc(b, '"');
	for (; *word != '\0'; word++) {
		if (*word == '"' || *word == '\\')
			buf_putc(b, '\\');
		buf_putc(b, *word);
	}
	buf_putc(b, '"');
}
