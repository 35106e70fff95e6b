/* SPDX-License-Identifier: BSD-3-Clause */
/* What people and programs see. See output.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output.h"

#define WRITE_AT 32768

static unsigned screen_lines(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) != 0 || ws.ws_row == 0)
		return 24;
	return ws.ws_row;
}

static unsigned count_lines(const struct buf *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->s[i] == '\n';
	return n;
}

static void start_pager(struct output *o)
{
	const char *pager = getenv("PAGER");
	int p[2];
	pid_t pid;

	if (pager == NULL || *pager == '\0')
		pager = "less -FRX";
	if (pipe(p) != 0)
		return;
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		close(p[0]);
		close(p[1]);
		return;
	}
	if (pid == 0) {
		dup2(p[0], STDIN_FILENO);
		close(p[0]);
		close(p[1]);
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(127);
	}
	close(p[0]);
	o->fd = p[1];
	o->pager_pid = pid;
}

static void write_out(struct output *o)
{
	size_t at = 0;

	while (at < o->text.len && !o->broken) {
		ssize_t n = write(o->fd, o->text.s + at, o->text.len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			o->broken = true;
			o->error = errno == EPIPE ? 0 : errno;
			break;
		}
		at += (size_t)n;
	}
	o->text.len = 0;
}

/* A terminal gets its text through the pager as soon as it is longer than the screen. */
static void maybe_write(struct output *o, bool end)
{
	if (o->pager && o->pager_pid == 0) {
		if (count_lines(&o->text) + 1 > screen_lines()) {
			start_pager(o);
			o->pager = o->pager_pid != 0;
		} else if (!end) {
			return;
		}
	}
	if (end || o->text.len >= WRITE_AT)
		write_out(o);
}

void output_start(struct output *o, const struct cli_command *def, bool json, bool pager)
{
	memset(o, 0, sizeof(*o));
	o->def = def;
	o->json = json;
	o->pager = pager && isatty(STDOUT_FILENO);
	o->fd = STDOUT_FILENO;
	if (def != NULL && def->view == CLI_VIEW_LIST)
		render_table_start(&o->table, def->sections[0].columns);
}

static int put_bytes(const char *bytes, size_t n, void *out)
{
	buf_add(out, bytes, n);
	return 0;
}

static void items_json(struct output *o, const json_t *items)
{
	for (size_t i = 0; i < json_array_size(items); i++) {
		buf_puts(&o->text, o->rows++ == 0 ? "[\n" : ",\n");
		json_dump_callback(json_array_get(items, i), put_bytes, &o->text,
				   JSON_COMPACT | JSON_ENCODE_ANY);
	}
	o->list = true;
}

void output_items(struct output *o, const json_t *items)
{
	if (o->json) {
		items_json(o, items);
	} else if (o->def->view == CLI_VIEW_LINES) {
		for (size_t i = 0; i < json_array_size(items); i++) {
			buf_puts(&o->text, json_string_value(json_array_get(items, i)));
			buf_putc(&o->text, '\n');
		}
	} else if (o->def->view == CLI_VIEW_LIST) {
		render_table_rows(&o->table, &o->text, items);
	}
	maybe_write(o, false);
}

static void last_json(struct output *o, const json_t *answer)
{
	json_t *copy;

	if (o->def->view == CLI_VIEW_LIST || o->def->view == CLI_VIEW_LINES) {
		buf_puts(&o->text, o->rows == 0 ? "[]\n" : "\n]\n");
		return;
	}
	copy = json_copy((json_t *)answer);
	json_object_del(copy, "ok");
	if (json_object_size(copy) > 0) {
		json_dump_callback(copy, put_bytes, &o->text, JSON_INDENT(2));
		buf_putc(&o->text, '\n');
	}
	json_decref(copy);
}

static void put_count(struct output *o, json_int_t n, const char *what, const char *became)
{
	buf_printf(&o->text, "%lld %s%s %s\n", (long long)n, what, n == 1 ? "" : "s", became);
}

static void count_text(struct output *o, const json_t *answer)
{
	const json_t *n;

	n = json_object_get(answer, "sessions_cleared");
	if (n != NULL)
		put_count(o, json_integer_value(n), "session", "cleared");
	n = json_object_get(answer, "neighbours_flushed");
	if (n != NULL)
		put_count(o, json_integer_value(n), "neighbour", "flushed");
	n = json_object_get(answer, "checked");
	if (n != NULL)
		buf_printf(&o->text, "%s: no errors\n", json_string_value(n));
	n = json_object_get(answer, "file");
	if (n != NULL)
		buf_printf(&o->text, "written to %s\n", json_string_value(n));
}

void output_last(struct output *o, const json_t *answer)
{
	if (o->json)
		last_json(o, answer);
	else if (o->def->view == CLI_VIEW_OBJECT)
		render_object(&o->text, o->def, answer);
	else if (o->def->view == CLI_VIEW_NONE)
		count_text(o, answer);
}

void output_text(struct output *o, const char *text, size_t len)
{
	buf_add(&o->text, text, len);
	maybe_write(o, false);
}

bool output_end(struct output *o)
{
	maybe_write(o, true);
	if (o->pager_pid > 0) {
		close(o->fd);
		while (waitpid(o->pager_pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	buf_free(&o->text);
	if (o->error != 0)
		fprintf(stderr, "tpctl: the answer can't be written: %s\n", strerror(o->error));
	return o->error == 0;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void put_error(const char *file, unsigned line, unsigned column, const char *message,
		      const char *hint)
{
	fflush(stdout);
	if (file != NULL)
		fprintf(stderr, "%s:", file);
	else
		fprintf(stderr, "tpctl:");
	if (file != NULL && line > 0)
		fprintf(stderr, "%u:", line);
	if (file != NULL && line > 0 && column > 0)
		fprintf(stderr, "%u:", column);
	else if (file == NULL && column > 0)
		fprintf(stderr, " column %u:", column);
	fprintf(stderr, " %s%s%s\n", message, hint[0] != '\0' ? "; " : "", hint);
}

void output_error(const struct origin *from, const struct cli_error *e)
{
	put_error(from->file, from->line, e->column, e->message, e->hint);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

int output_refusal(const struct origin *from, const json_t *answer)
{
	const json_t *error = json_object_get(answer, "error"),
		     *list = json_object_get(answer, "errors");
	int status = (int)json_integer_value(json_object_get(answer, "status"));

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);

		put_error(text_of(one, "file"),
			  (unsigned)json_integer_value(json_object_get(one, "line")),
			  (unsigned)json_integer_value(json_object_get(one, "column")),
			  text_of(one, "message"), text_of(one, "hint"));
	}
	put_error(from->file, from->line,
		  (unsigned)json_integer_value(json_object_get(error, "column")),
		  text_of(error, "message"), text_of(error, "hint"));
	return status == 1 || status == 2 ? status : 1;
}
