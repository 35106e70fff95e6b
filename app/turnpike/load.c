/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a configuration file. See load.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/parse.h"

#include "configure.h"

#include "load.h"

struct load *load_start(const char *name)
{
	struct load *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->shadow = shadow_create();
	if (l->shadow == NULL) {
		free(l);
		return NULL;
	}
	router_init_plain(&l->router, shadow_net(l->shadow));
	return l;
}

void load_free(struct load *l)
{
	if (l == NULL)
		return;
	router_free(&l->router);
	shadow_destroy(l->shadow);
	buf_free(&l->partial);
	free(l);
}

static void note(struct load *l, unsigned line, const struct cli_error *e)
{
	if (l->n_errors < LOAD_MAX_ERRORS) {
		l->errors[l->n_errors].line = line;
		l->errors[l->n_errors].e = *e;
	}
	l->n_errors++;
}

static void one_line(struct load *l, char *line, size_t len)
{
	static struct cli_words words;
	static struct cli_cmd cmd;
	struct cli_error e;
	int ret;

	l->router.line = l->line;
	ret = cli_parse(&words, line, len, 0, &cmd, &e);
	if (ret < 0) {
		note(l, l->line, &e);
	} else if (ret > 0 && (cmd.def->flags & CLI_CONFIG) == 0) {
		cli_error_set(&e, 1, words.column[0], "this command configures nothing");
		cli_error_hint(&e, "a configuration file takes only commands that add, set or del");
		note(l, l->line, &e);
	} else if (ret > 0 && !configure_run(&l->router, &cmd, &e)) {
		note(l, l->line, &e);
	}
}

static void end_line(struct load *l)
{
	struct cli_error e;

	l->line++;
	if (l->skipping || l->partial.failed) {
		cli_error_set(&e, 2, CLI_MAX_LINE, "line is longer than %d bytes",
			      CLI_MAX_LINE - 1);
		note(l, l->line, &e);
	} else if (l->partial.len > 0) {
		one_line(l, l->partial.s, l->partial.len);
	}
	l->skipping = false;
	l->partial.len = 0;
}

void load_feed(struct load *l, const char *bytes, size_t len)
{
	while (len > 0) {
		const char *nl = memchr(bytes, '\n', len);
		size_t n = nl != NULL ? (size_t)(nl - bytes) : len;

		if (l->skipping || l->partial.len + n >= CLI_MAX_LINE) {
			l->skipping = true;
			l->partial.len = 0;
		} else {
			buf_add(&l->partial, bytes, n);
		}
		if (nl == NULL)
			return;
		end_line(l);
		bytes += n + 1;
		len -= n + 1;
	}
}

bool load_finish(struct load *l)
{
	struct cli_error e;
	unsigned line;

	if (l->partial.len > 0 || l->skipping)
		end_line(l);
	l->router.line = 0;
	if (l->n_errors == 0 && !configure_check_nat(&l->router, &e, &line))
		note(l, line, &e);
	return l->n_errors == 0;
}

struct load *load_file(const char *path, struct fwd_err *err)
{
	static char chunk[65536];
	struct load *l;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		snprintf(err->msg, sizeof(err->msg), "%.200s: %s", path, strerror(errno));
		return NULL;
	}
	l = load_start(path);
	if (l == NULL) {
		snprintf(err->msg, sizeof(err->msg), "out of memory");
		close(fd);
		return NULL;
	}
	do {
		n = read(fd, chunk, sizeof(chunk));
		if (n > 0)
			load_feed(l, chunk, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0) {
		snprintf(err->msg, sizeof(err->msg), "%.200s: %s", path, strerror(errno));
		load_free(l);
		l = NULL;
	}
	close(fd);
	return l;
}
