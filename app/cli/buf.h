/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A text that grows. When memory runs out it keeps what it has and sets failed, so that a caller
 * checks once, at the end.
 */
#ifndef TURNPIKE_CLI_BUF_H
#define TURNPIKE_CLI_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *s; /* ends with a NUL that len does not count; NULL while nothing was added */
	size_t len, cap;
	bool failed;
};

bool buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_pad(struct buf *b, size_t n);	   /* n spaces */
void buf_consume(struct buf *b, size_t n); /* takes n bytes off the front */
void buf_free(struct buf *b);

#endif /* TURNPIKE_CLI_BUF_H */
