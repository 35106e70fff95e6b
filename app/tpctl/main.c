/* SPDX-License-Identifier: BSD-3-Clause */
/* tpctl, the router's command line. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"

#include "candidates.h"
#include "session.h"
#include "shell.h"

struct options {
	const char *socket, *file;
	bool json, echo, stop;
};

static void usage(FILE *to)
{
	fprintf(to, "usage: tpctl [-s SOCKET] [-j] [-x] [-e] [-f FILE | COMMAND...]\n"
		    "  -s SOCKET  control socket (default $TURNPIKE_SOCKET, or " CONN_DEFAULT ")\n"
		    "  -j         answers as JSON\n"
		    "  -f FILE    commands from a file, - for standard input\n"
		    "  -x         print each command before its answer\n"
		    "  -e         stop at the first command that fails\n"
		    "  -h, -V     this text, the version\n"
		    "Without a command: a shell on a terminal, else commands from standard input.\n"
		    "Exit status: 0 done, 1 refused, 2 not understood, 3 no daemon. 'tpctl help' "
		    "lists the commands.\n");
}

static int complete(const struct options *o, const char *line)
{
	static struct cli_completion c;

	candidates_find(o->socket, line, false, &c);
	for (unsigned i = 0; i < c.n; i++)
		printf("%s\n", c.c[i].word);
	cli_complete_free(&c);
	return 0;
}

static int manual(void)
{
	struct buf text = {0};

	cli_help_manual(&text);
	fwrite(text.s, 1, text.len, stdout);
	buf_free(&text);
	return fflush(stdout) == 0 ? 0 : 1;
}

/* Lines of a file or of standard input, read ahead in chunks. */
struct reader {
	int fd;
	struct buf in;
	size_t at;
	bool end;
};

/* The next line, which may be cut up until the next call; NULL at the end. While it has to wait for
 * input, answers to what was sent are taken in first: whoever writes our input may be waiting for
 * them. */
static char *next_line(struct reader *r, struct session *s, size_t *len)
{
	for (;;) {
		size_t have = r->in.len - r->at;
		char *line = r->in.s != NULL ? r->in.s + r->at : NULL;
		char *nl = have > 0 ? memchr(line, '\n', have) : NULL;
		ssize_t n;

		if (nl != NULL || (r->end && have > 0)) {
			*len = nl != NULL ? (size_t)(nl - line) : have;
			line[*len] = '\0';
			r->at += *len + (nl != NULL);
			return line;
		}
		if (r->end)
			return NULL;
		buf_consume(&r->in, r->at);
		r->at = 0;
		session_drain(s);
		if (!buf_reserve(&r->in, 1 << 20))
			return NULL;
		n = read(r->fd, r->in.s + r->in.len, 1 << 20);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			r->end = true;
		else
			r->in.len += (size_t)n;
	}
}

static void run_file(struct session *s, const struct options *o)
{
	bool from_stdin = o->file == NULL || strcmp(o->file, "-") == 0;
	struct reader r = {.fd = from_stdin ? STDIN_FILENO : open(o->file, O_RDONLY | O_CLOEXEC)};
	unsigned number = 0;
	char *line;
	size_t len;

	if (r.fd < 0) {
		fprintf(stderr, "tpctl: %s: %s\n", o->file, strerror(errno));
		s->status = EXIT_REFUSED;
		return;
	}
	s->file = from_stdin ? "stdin" : o->file;
	s->stdin_taken = from_stdin;
	while (!s->quit && !s->lost && (line = next_line(&r, s, &len)) != NULL) {
		session_run(s, line, len, ++number);
		if (o->stop)
			session_drain(s);
		if (o->stop && s->status != EXIT_DONE)
			break;
	}
	session_drain(s);
	buf_free(&r.in);
	if (!from_stdin)
		close(r.fd);
}

/* The command line's words as one line. A single argument may be a whole line already. */
static void run_words(struct session *s, int n, char **words)
{
	struct buf line = {0};

	if (n == 1)
		buf_puts(&line, words[0]);
	for (int i = 0; n > 1 && i < n; i++)
		cli_words_put(&line, words[i]);
	if (line.len > 0)
		session_run(s, line.s, line.len, 0);
	session_drain(s);
	buf_free(&line);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"man", no_argument, NULL, 'M'},
		{"complete", required_argument, NULL, 'C'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	const char *env = getenv("TURNPIKE_SOCKET"), *line = NULL;
	struct options o = {.socket = env != NULL && *env != '\0' ? env : CONN_DEFAULT};
	struct session s;
	int c, status;

	while ((c = getopt_long(argc, argv, "s:jf:xehV", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			o.socket = optarg;
			break;
		case 'j':
			o.json = true;
			break;
		case 'f':
			o.file = optarg;
			break;
		case 'x':
			o.echo = true;
			break;
		case 'e':
			o.stop = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		case 'V':
			printf("tpctl %s\n", TURNPIKE_VERSION);
			return 0;
		case 'M':
			return manual();
		case 'C':
			line = optarg;
			break;
		default:
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	signal(SIGPIPE, SIG_IGN);
	if (line != NULL)
		return complete(&o, line);
	if (o.file != NULL && optind < argc) {
		fprintf(stderr, "tpctl: either -f FILE or a command\n");
		return EXIT_USAGE;
	}
	session_init(&s, o.socket);
	s.json = o.json;
	s.echo = o.echo;
	if (optind < argc) {
		s.flags = CLI_ABBREVIATE;
		s.pager = true;
		run_words(&s, argc - optind, argv + optind);
	} else if (o.file == NULL && isatty(STDIN_FILENO)) {
		s.flags = CLI_ABBREVIATE;
		s.pager = true;
		shell_run(&s);
	} else {
		run_file(&s, &o);
	}
	status = s.status;
	session_free(&s);
	return status;
}
