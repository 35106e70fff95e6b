/* SPDX-License-Identifier: BSD-3-Clause */
/* A text that grows. See buf.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

bool buf_reserve(struct buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 256;
	char *s;

	if (b->failed)
		return false;
	if (more >= (size_t)1 << 40) {
		b->failed = true;
		return false;
	}
	while (cap < b->len + more + 1)
		cap *= 2;
	if (cap == b->cap)
		return true;
	s = realloc(b->s, cap);
	if (s == NULL) {
		b->failed = true;
		return false;
	}
	s[b->len] = '\0';
	b->s = s;
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (!buf_reserve(b, len))
		return;
	if (len > 0)
		memcpy(b->s + b->len, bytes, len);
	b->len += len;
	b->s[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !buf_reserve(b, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

void buf_pad(struct buf *b, size_t n)
{
	if (!buf_reserve(b, n))
		return;
	memset(b->s + b->len, ' ', n);
	b->len += n;
	b->s[b->len] = '\0';
}

void buf_consume(struct buf *b, size_t n)
{
	if (n >= b->len) {
		b->len = 0;
		if (b->s != NULL)
			b->s[0] = '\0';
		return;
	}
	memmove(b->s, b->s + n, b->len - n + 1);
	b->len -= n;
}

void buf_free(struct buf *b)
{
	free(b->s);
	memset(b, 0, sizeof(*b));
}
