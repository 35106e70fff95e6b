/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers as text for people. See render.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "render.h"

static void put_value(struct buf *b, const json_t *v)
{
	switch (v == NULL ? JSON_NULL : json_typeof(v)) {
	case JSON_STRING:
		buf_puts(b, json_string_value(v));
		break;
	case JSON_INTEGER:
		buf_printf(b, "%" PRId64, (int64_t)json_integer_value(v));
		break;
	case JSON_REAL:
		buf_printf(b, "%.1f", json_real_value(v));
		break;
	case JSON_TRUE:
		buf_puts(b, "yes");
		break;
	case JSON_FALSE:
		buf_puts(b, "no");
		break;
	case JSON_ARRAY:
		for (size_t i = 0; i < json_array_size(v); i++) {
			if (i > 0)
				buf_puts(b, ", ");
			put_value(b, json_array_get(v, i));
		}
		break;
	case JSON_OBJECT: {
		const char *key;
		json_t *member;
		bool first = true;

		json_object_foreach((json_t *)v, key, member)
		{
			buf_printf(b, "%s%s ", first ? "" : " ", key);
			put_value(b, member);
			first = false;
		}
		break;
	}
	case JSON_NULL:
		break;
	}
}

/* One path without '|'. True when it led to something. */
static bool put_path(struct buf *b, const json_t *row, const char *path, size_t len)
{
	while (len > 0) {
		size_t n = strcspn(path, ".");
		char key[48];
		bool list;

		if (n > len)
			n = len;
		list = n >= 2 && strncmp(path + n - 2, "[]", 2) == 0;
		snprintf(key, sizeof(key), "%.*s", (int)(list ? n - 2 : n), path);
		row = json_object_get(row, key);
		if (row == NULL)
			return false;
		path += n;
		len -= n;
		if (len > 0) {
			path++;
			len--;
		}
		if (!list)
			continue;
		if (json_array_size(row) == 0)
			return false;
		for (size_t i = 0; i < json_array_size(row); i++) {
			if (i > 0)
				buf_putc(b, ',');
			if (len > 0)
				put_path(b, json_array_get(row, i), path, len);
			else
				put_value(b, json_array_get(row, i));
		}
		return true;
	}
	put_value(b, row);
	return true;
}

static void put_cell(struct buf *b, const json_t *row, const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "|");

		if (put_path(b, row, path, n) || path[n] == '\0')
			return;
		path += n + 1;
	}
}

void render_table_start(struct render_table *t, const struct cli_column *columns)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	while (columns[t->n].title != NULL && t->n < RENDER_MAX_COLUMNS)
		t->n++;
}

static void settle(struct render_table *t, const json_t *rows)
{
	struct buf cell = {0};

	for (unsigned c = 0; c < t->n; c++) {
		size_t title = strlen(t->columns[c].title);

		t->width[c] = (unsigned)(title > t->columns[c].width ? title : t->columns[c].width);
		t->used[c] = t->columns[c].width > 0;
		for (size_t i = 0; i < json_array_size(rows); i++) {
			cell.len = 0;
			put_cell(&cell, json_array_get(rows, i), t->columns[c].path);
			if (cell.len > 0)
				t->used[c] = true;
			if (cell.len > t->width[c])
				t->width[c] = (unsigned)cell.len;
		}
	}
	buf_free(&cell);
}

static void put_aligned(struct render_table *t, struct buf *b, unsigned c, const char *text,
			size_t len, bool first)
{
	size_t pad = len < t->width[c] ? t->width[c] - len : 0;

	if (!first)
		buf_puts(b, "  ");
	if (t->columns[c].right)
		buf_pad(b, pad);
	buf_add(b, text, len);
	if (!t->columns[c].right)
		buf_pad(b, pad);
}

static void end_line(struct buf *b)
{
	while (b->len > 0 && b->s[b->len - 1] == ' ')
		b->len--;
	buf_putc(b, '\n');
}

void render_table_rows(struct render_table *t, struct buf *b, const json_t *rows)
{
	struct buf cell = {0};

	if (!t->started) {
		bool first = true;

		settle(t, rows);
		t->started = true;
		for (unsigned c = 0; c < t->n; c++) {
			if (!t->used[c])
				continue;
			put_aligned(t, b, c, t->columns[c].title, strlen(t->columns[c].title),
				    first);
			first = false;
		}
		end_line(b);
	}
	for (size_t i = 0; i < json_array_size(rows); i++) {
		bool first = true;

		for (unsigned c = 0; c < t->n; c++) {
			if (!t->used[c])
				continue;
			cell.len = 0;
			put_cell(&cell, json_array_get(rows, i), t->columns[c].path);
			if (cell.len == 0)
				buf_putc(&cell, '-');
			put_aligned(t, b, c, cell.s != NULL ? cell.s : "", cell.len, first);
			first = false;
		}
		end_line(b);
	}
	buf_free(&cell);
}

static void put_members(struct buf *b, const json_t *object)
{
	size_t width = 0;
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)object, key, v)
	{
		if (strcmp(key, "ok") != 0 && strlen(key) > width)
			width = strlen(key);
	}
	json_object_foreach((json_t *)object, key, v)
	{
		if (strcmp(key, "ok") == 0)
			continue;
		buf_puts(b, key);
		buf_pad(b, width - strlen(key) + 2);
		put_value(b, v);
		end_line(b);
	}
}

void render_object(struct buf *b, const struct cli_command *c, const json_t *answer)
{
	bool first = true;

	for (const struct cli_section *s = c->sections;
	     s != NULL && (s == c->sections || s->path != NULL); s++) {
		const json_t *part = s->path != NULL ? json_object_get(answer, s->path) : answer;

		if (part == NULL || (json_is_array(part) && json_array_size(part) == 0))
			continue;
		if (!first)
			buf_putc(b, '\n');
		first = false;
		if (s->title != NULL)
			buf_printf(b, "%s\n", s->title);
		if (s->columns != NULL) {
			struct render_table t;

			render_table_start(&t, s->columns);
			render_table_rows(&t, b, part);
		} else {
			put_members(b, part);
		}
	}
}
