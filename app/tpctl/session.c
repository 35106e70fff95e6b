/* SPDX-License-Identifier: BSD-3-Clause */
/* Running commands. See session.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"

#include "session.h"

#define QUEUE	 8192	      /* commands under way; a power of two */
#define UNSENT	 (256u << 10) /* bytes that may wait to be sent */
#define FILE_MAX ((size_t)1 << 28)

void session_init(struct session *s, const char *socket)
{
	memset(s, 0, sizeof(*s));
	s->socket = socket;
	s->conn.fd = -1;
	s->queue = calloc(QUEUE, sizeof(*s->queue));
	if (s->queue == NULL) {
		fprintf(stderr, "tpctl: out of memory\n");
		exit(EXIT_REFUSED);
	}
}

static void fail(struct session *s, int status)
{
	if (s->status == EXIT_DONE)
		s->status = status;
}

static void drop_queue(struct session *s)
{
	for (; s->n > 0; s->n--) {
		free(s->queue[s->head].echo);
		s->queue[s->head].echo = NULL;
		s->head = (s->head + 1) % QUEUE;
	}
	if (s->out_open && !output_end(&s->out))
		fail(s, EXIT_REFUSED);
	s->out_open = false;
}

void session_free(struct session *s)
{
	drop_queue(s);
	conn_close(&s->conn);
	free(s->queue);
}

static bool connected(struct session *s)
{
	/* A daemon that was restarted while nothing was asked of it is no loss. */
	if (s->conn.fd >= 0 && s->n == 0 && s->conn.out.len == 0 && conn_closed(&s->conn))
		conn_close(&s->conn);
	if (s->conn.fd >= 0)
		return true;
	if (s->lost)
		return false;
	if (conn_open(&s->conn, s->socket))
		return true;
	fprintf(stderr,
		"tpctl: no daemon on %s: %s; is turnpike running, and may you use its socket?\n",
		s->socket, strerror(errno));
	fail(s, EXIT_NO_DAEMON);
	s->lost = true;
	return false;
}

static void lose(struct session *s)
{
	if (conn_interrupted)
		fprintf(stderr, "tpctl: interrupted\n");
	else
		fprintf(stderr, "tpctl: the daemon closed the connection\n");
	fail(s, EXIT_NO_DAEMON);
	s->lost = true;
	drop_queue(s);
	conn_close(&s->conn);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void pop(struct session *s)
{
	free(s->queue[s->head].echo);
	s->queue[s->head].echo = NULL;
	s->head = (s->head + 1) % QUEUE;
	s->n--;
	if (s->out_open && !output_end(&s->out))
		fail(s, EXIT_REFUSED);
	s->out_open = false;
}

static void open_output(struct session *s)
{
	const struct pending *p = &s->queue[s->head];

	if (s->out_open)
		return;
	if (p->echo != NULL) {
		printf("> %s\n", p->echo);
		fflush(stdout);
	}
	output_start(&s->out, p->def, s->json, s->pager);
	s->out_open = true;
}

static void take_json(struct session *s, const char *line, size_t len)
{
	const struct pending *p = &s->queue[s->head];
	struct origin from = {s->file, p->line};
	json_error_t jerr;
	json_t *answer = json_loadb(line, len, 0, &jerr), *items;

	if (!json_is_object(answer)) {
		fprintf(stderr, "tpctl: an answer that is not understood: %.80s\n", line);
		json_decref(answer);
		fail(s, EXIT_NO_DAEMON);
		pop(s);
		return;
	}
	open_output(s);
	items = json_object_get(answer, "items");
	if (items != NULL) {
		output_items(&s->out, items);
		if (s->out.broken) { /* the pager has gone: nobody wants the rest */
			conn_close(&s->conn);
			drop_queue(s);
		}
	} else if (json_is_true(json_object_get(answer, "ok"))) {
		output_last(&s->out, answer);
		pop(s);
	} else {
		if (p->no_column)
			json_object_del(json_object_get(answer, "error"), "column");
		fail(s, output_refusal(&from, answer));
		pop(s);
	}
	json_decref(answer);
}

static void take_answer(struct session *s, const char *line, size_t len)
{
	static const char done[] = "{\"ok\":true}";

	if (s->n == 0) { /* the daemon has something to say before it closes the connection */
		struct origin from = {NULL, 0};
		json_t *answer = json_loadb(line, len, 0, NULL);

		fail(s, output_refusal(&from, answer));
		json_decref(answer);
		return;
	}
	if (len == sizeof(done) - 1 && memcmp(line, done, len) == 0 && !s->out_open) {
		if (s->echo)
			open_output(s);
		pop(s);
		return;
	}
	take_json(s, line, len);
}

/* Takes answers until no more than most commands are under way, and all that are there already. */
static void take_answers(struct session *s, unsigned most)
{
	size_t len;
	char *line;

	for (;;) {
		bool wait = s->n > most;

		line = conn_line(&s->conn, wait, &len);
		if (line == NULL) {
			if (wait && s->conn.fd >= 0)
				lose(s);
			return;
		}
		take_answer(s, line, len);
		if (s->conn.fd < 0)
			return;
	}
}

void session_drain(struct session *s)
{
	if (s->conn.fd < 0)
		return;
	if (!conn_flush(&s->conn, 0)) {
		/* what came before the end still counts */
		take_answers(s, s->n);
		if (s->conn.fd >= 0)
			lose(s);
		return;
	}
	take_answers(s, 0);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void request(struct session *s, const struct cli_command *def, unsigned number,
		    bool no_column, const char *echo)
{
	struct pending *p;

	p = &s->queue[(s->head + s->n++) % QUEUE];
	p->def = def;
	p->line = number;
	p->no_column = no_column;
	p->echo = s->echo ? strdup(echo) : NULL;
	if (s->conn.out.len > UNSENT && !conn_flush(&s->conn, UNSENT / 2)) {
		take_answers(s, s->n);
		if (s->conn.fd >= 0)
			lose(s);
		return;
	}
	take_answers(s, s->n);
}

/* Standard input for "-". */
static bool read_file(const struct session *s, const char *path, struct buf *out,
		      struct cli_error *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	FILE *f = is_stdin ? stdin : fopen(path, "re");
	size_t n;

	if (is_stdin && s->stdin_taken) {
		cli_error_set(e, 1, 0, "standard input is where the commands come from");
		return false;
	}
	if (f == NULL) {
		cli_error_set(e, 1, 0, "%.200s: %s", path, strerror(errno));
		return false;
	}
	do {
		if (!buf_reserve(out, 65536))
			break;
		n = fread(out->s + out->len, 1, 65536, f);
		out->len += n;
	} while (n > 0 && out->len <= FILE_MAX);
	if (ferror(f) || out->failed)
		cli_error_set(e, 1, 0, "%.200s: %s", path, strerror(out->failed ? ENOMEM : errno));
	else if (out->len > FILE_MAX)
		cli_error_set(e, 1, 0, "%.200s: is larger than %zu MiB", path, FILE_MAX >> 20);
	else
		e->status = 0;
	if (!is_stdin)
		fclose(f);
	return e->status == 0;
}

static bool put_file(struct session *s, const struct cli_cmd *cmd, struct cli_error *e)
{
	const char *path = cli_get(cmd, "FILE")->text;
	struct buf content = {0}, line = {0};
	bool ok = read_file(s, path, &content, e);

	if (ok) {
		for (unsigned d = 0; cmd->def->words[d] != NULL; d++)
			cli_words_put(&line, cmd->def->words[d]);
		cli_words_put(&line, path);
		buf_printf(&line, " bytes %zu\n", content.len);
		conn_put(&s->conn, line.s, line.len);
		conn_put(&s->conn, content.s, content.len);
	} else {
		e->column = cli_get(cmd, "FILE")->column;
	}
	buf_free(&content);
	buf_free(&line);
	return ok;
}

static bool put_save(struct session *s, const struct cli_cmd *cmd, struct cli_error *e)
{
	const char *path = cli_get(cmd, "FILE")->text;
	char cwd[4096];
	struct buf full = {0}, line = {0};

	if (path[0] != '/') {
		if (getcwd(cwd, sizeof(cwd)) == NULL) {
			cli_error_set(e, 1, cli_get(cmd, "FILE")->column, "%s", strerror(errno));
			return false;
		}
		buf_printf(&full, "%s/", cwd);
	}
	buf_puts(&full, path);
	buf_puts(&line, "config save");
	cli_words_put(&line, full.s);
	buf_putc(&line, '\n');
	conn_put(&s->conn, line.s, line.len);
	buf_free(&full);
	buf_free(&line);
	return true;
}

static bool help(struct session *s, const struct cli_cmd *cmd, struct cli_error *e)
{
	struct buf text = {0};
	struct output o;
	bool ok;

	session_drain(s);
	ok = cli_help(&text, cmd->rest, cmd->n_rest, e);
	if (ok) {
		output_start(&o, NULL, false, s->pager);
		output_text(&o, text.s, text.len);
		if (!output_end(&o))
			fail(s, EXIT_REFUSED);
	}
	buf_free(&text);
	return ok;
}

/* The request for a command that was understood. raw: as the user wrote it; NULL: has to be written
 * out. */
static bool send_command(struct session *s, const struct cli_cmd *cmd, const char *raw,
			 size_t raw_len, unsigned number, struct cli_error *e)
{
	struct buf line = {0};
	bool ok = true;

	/* Room for what waits for its answer, before anything of it is sent. */
	if (s->n == QUEUE)
		take_answers(s, QUEUE / 2);
	if (!connected(s))
		return true; /* said already */
	if (cmd->def->id == CLI_CONFIG_LOAD || cmd->def->id == CLI_CONFIG_CHECK) {
		ok = put_file(s, cmd, e);
	} else if (cmd->def->id == CLI_CONFIG_SAVE && cli_get(cmd, "FILE") != NULL) {
		ok = put_save(s, cmd, e);
	} else if (raw != NULL) {
		conn_put(&s->conn, raw, raw_len);
		conn_put(&s->conn, "\n", 1);
	} else {
		cli_put(&line, cmd);
		buf_putc(&line, '\n');
		conn_put(&s->conn, line.s, line.len);
	}
	if (ok) {
		cli_put(&line, cmd);
		request(s, cmd->def, number, raw == NULL, line.s != NULL ? line.s : "");
	}
	buf_free(&line);
	return ok;
}

void session_run(struct session *s, char *text, size_t len, unsigned number)
{
	static struct cli_words words;
	static struct cli_cmd cmd;
	static char raw[CLI_MAX_LINE + 1];
	struct origin from = {s->file, number};
	struct cli_error e;
	bool as_is = true, ok = true;
	int ret;

	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	if (len < CLI_MAX_LINE) {
		memcpy(raw, text, len);
		raw[len] = '\0';
	}
	ret = cli_parse(&words, text, len, 0, &cmd, &e);
	if (ret < 0 && (s->flags & CLI_ABBREVIATE) != 0 && len < CLI_MAX_LINE) {
		memcpy(text, raw, len + 1);
		ret = cli_parse(&words, text, len, s->flags, &cmd, &e);
		as_is = false;
	}
	if (ret == 0)
		return;
	if (ret > 0 && cmd.def->id == CLI_EXIT)
		s->quit = true;
	else if (ret > 0 && cmd.def->id == CLI_HELP)
		ok = help(s, &cmd, &e);
	else if (ret > 0)
		ok = send_command(s, &cmd, as_is ? raw : NULL, len, number, &e);
	if (ret < 0 || !ok) {
		/* What was printed before belongs to commands before it. */
		if (s->n < 64 || s->echo)
			session_drain(s);
		output_error(&from, &e);
		fail(s, e.status);
	}
}
