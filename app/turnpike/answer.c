/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers on the control socket. See answer.h. */
#include <stdlib.h>
#include <string.h>

#include "answer.h"

json_t *answer_text(const char *s)
{
	json_t *t = json_string(s);
	char *copy;

	if (t != NULL)
		return t;
	copy = strdup(s); /* not UTF-8 */
	for (char *p = copy; p != NULL && *p != '\0'; p++) {
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	}
	t = json_string(copy != NULL ? copy : "");
	free(copy);
	return t;
}

static int put_bytes(const char *bytes, size_t n, void *out)
{
	buf_add(out, bytes, n);
	return ((struct buf *)out)->failed ? -1 : 0;
}

void answer_put(struct buf *out, json_t *object)
{
	if (object == NULL || json_dump_callback(object, put_bytes, out, JSON_COMPACT) != 0)
		out->failed = true;
	buf_putc(out, '\n');
	json_decref(object);
}

void answer_items(struct buf *out, json_t *items)
{
	if (json_array_size(items) == 0) {
		json_decref(items);
		return;
	}
	answer_put(out, json_pack("{s:o}", "items", items));
}

json_t *answer_error_object(const struct cli_error *e)
{
	return json_pack("{s:o, s:i, s:o}", "message", answer_text(e->message), "column",
			 (int)e->column, "hint", answer_text(e->hint));
}

void answer_error(struct buf *out, const struct cli_error *e)
{
	answer_put(out, json_pack("{s:b, s:i, s:o}", "ok", 0, "status", e->status, "error",
				  answer_error_object(e)));
}

struct array_stream {
	struct stream s;
	json_t *array;
	size_t next;
};

static bool more_of_array(struct stream *s, json_t *items)
{
	struct array_stream *a = (struct array_stream *)s;
	size_t n = json_array_size(a->array);

	for (unsigned i = 0; i < ANSWER_SLICE && a->next < n; i++)
		json_array_append(items, json_array_get(a->array, a->next++));
	return a->next < n;
}

static void free_array(struct stream *s)
{
	json_decref(((struct array_stream *)s)->array);
	free(s);
}

struct stream *answer_array(json_t *array)
{
	struct array_stream *a = calloc(1, sizeof(*a));

	if (a == NULL || array == NULL) {
		json_decref(array);
		free(a);
		return NULL;
	}
	a->s.more = more_of_array;
	a->s.free = free_array;
	a->array = array;
	return &a->s;
}

struct line_stream {
	struct stream s;
	struct buf text;
	size_t next;
};

static bool more_of_lines(struct stream *s, json_t *items)
{
	struct line_stream *l = (struct line_stream *)s;

	for (unsigned i = 0; i < ANSWER_SLICE && l->next < l->text.len; i++) {
		char *line = l->text.s + l->next;
		size_t n = strcspn(line, "\n");

		l->next += n + (line[n] == '\n');
		line[n] = '\0';
		json_array_append_new(items, answer_text(line));
	}
	return l->next < l->text.len;
}

static void free_lines(struct stream *s)
{
	buf_free(&((struct line_stream *)s)->text);
	free(s);
}

struct stream *answer_lines(struct buf *text)
{
	struct line_stream *l = calloc(1, sizeof(*l));

	if (l == NULL || text->failed) {
		buf_free(text);
		free(l);
		return NULL;
	}
	l->s.more = more_of_lines;
	l->s.free = free_lines;
	l->text = *text;
	memset(text, 0, sizeof(*text));
	return &l->s;
}
