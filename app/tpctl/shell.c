/* SPDX-License-Identifier: BSD-3-Clause */
/* The interactive shell. See shell.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <histedit.h>

#include "candidates.h"

#include "shell.h"

#define HISTORY_LINES 1000

static struct session *session; /* libedit's functions have no argument for it */

static const char *prompt(EditLine *el)
{
	(void)el;
	return "turnpike> ";
}

static void up_to_cursor(EditLine *el, char *out, size_t size)
{
	const LineInfo *info = el_line(el);

	snprintf(out, size, "%.*s", (int)(info->cursor - info->buffer), info->buffer);
}

static void list_words(const struct cli_completion *c)
{
	struct winsize ws;
	unsigned width = 0, columns, screen = 80;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		screen = ws.ws_col;
	for (unsigned i = 0; i < c->n; i++) {
		if (c->c[i].word != NULL && strlen(c->c[i].word) > width)
			width = (unsigned)strlen(c->c[i].word);
	}
	columns = screen / (width + 2) > 0 ? screen / (width + 2) : 1;
	printf("\n");
	for (unsigned i = 0, n = 0; i < c->n; i++) {
		if (c->c[i].word == NULL)
			continue;
		printf("%-*s%s", (int)width, c->c[i].word,
		       ++n % columns == 0 || i + 1 == c->n ? "\n" : "  ");
	}
}

/* How many bytes all candidates begin with alike. */
static size_t common(const struct cli_completion *c)
{
	size_t n = strlen(c->c[0].word);

	for (unsigned i = 1; i < c->n; i++) {
		size_t k = 0;

		while (k < n && c->c[i].word[k] == c->c[0].word[k])
			k++;
		n = k;
	}
	return n;
}

static unsigned char complete(EditLine *el, int ch)
{
	static struct cli_completion c;
	static char line[4096], more[512];
	unsigned char ret = CC_ERROR;
	size_t typed, all;

	(void)ch;
	up_to_cursor(el, line, sizeof(line));
	candidates_find(session->socket, line, false, &c);
	typed = strlen(c.word);
	if (c.n > 0) {
		all = common(&c);
		snprintf(more, sizeof(more), "%.*s%s", (int)(all - typed), c.c[0].word + typed,
			 c.n == 1 && c.c[0].word[all - 1] != '/' ? " " : "");
		if (more[0] != '\0' && el_insertstr(el, more) == 0) {
			ret = CC_REFRESH;
		} else {
			list_words(&c);
			ret = CC_REDISPLAY;
		}
	}
	cli_complete_free(&c);
	return ret;
}

static bool in_quotes(const char *line)
{
	bool quoted = false;

	for (; *line != '\0'; line++) {
		if (*line == '"')
			quoted = !quoted;
		else if (quoted && *line == '\\' && line[1] != '\0')
			line++;
	}
	return quoted;
}

static unsigned char explain(EditLine *el, int ch)
{
	static struct cli_completion c;
	static char line[4096];

	(void)ch;
	up_to_cursor(el, line, sizeof(line));
	if (in_quotes(line))
		return el_insertstr(el, "?") == 0 ? CC_REFRESH : CC_ERROR;
	candidates_find(session->socket, line, true, &c);
	printf("?\n");
	if (c.failed)
		printf("  what stands before is not understood\n");
	for (unsigned i = 0; i < c.n; i++)
		printf("  %-24s  %s\n", c.c[i].what, c.c[i].help);
	if (c.complete && c.word[0] == '\0')
		printf("  %-24s  %s\n", "Enter", "the command is complete");
	cli_complete_free(&c);
	return CC_REDISPLAY;
}

static void history_path(char *out, size_t size)
{
	const char *home = getenv("HOME");

	out[0] = '\0';
	if (home != NULL && *home != '\0')
		snprintf(out, size, "%s/.tpctl_history", home);
}

static void interrupt(int signal)
{
	(void)signal;
	conn_interrupted = 1;
}

/* The next line, after any number of ones that Ctrl-C threw away. */
static const char *next_line(EditLine *el, int *n)
{
	for (;;) {
		const char *typed;

		conn_interrupted = 0;
		typed = el_gets(el, n);
		if (typed != NULL || !conn_interrupted)
			return typed;
		printf("^C\n");
		el_reset(el);
	}
}

void shell_run(struct session *s)
{
	struct sigaction on_interrupt = {.sa_handler = interrupt};
	EditLine *el = el_init("tpctl", stdin, stdout, stderr);
	History *hist = history_init();
	HistEvent ev;
	char path[512];
	const char *typed;
	int n;

	session = s;
	history_path(path, sizeof(path));
	if (el == NULL || hist == NULL) {
		fprintf(stderr, "tpctl: no line editing on this terminal\n");
		s->status = EXIT_REFUSED;
		return;
	}
	history(hist, &ev, H_SETSIZE, HISTORY_LINES);
	history(hist, &ev, H_SETUNIQUE, 1);
	if (path[0] != '\0')
		history(hist, &ev, H_LOAD, path);
	el_set(el, EL_HIST, history, hist);
	el_set(el, EL_PROMPT, prompt);
	el_set(el, EL_EDITOR, "emacs");
	el_set(el, EL_ADDFN, "tp-complete", "complete the word", complete);
	el_set(el, EL_ADDFN, "tp-explain", "explain the next word", explain);
	el_set(el, EL_BIND, "^I", "tp-complete", NULL);
	el_set(el, EL_BIND, "?", "tp-explain", NULL);
	el_set(el, EL_BIND, "^R", "em-inc-search-prev", NULL);
	sigaction(SIGINT, &on_interrupt, NULL);
	while (!s->quit && (typed = next_line(el, &n)) != NULL && n > 0) {
		char *line = strdup(typed);

		if (line == NULL)
			break;
		if (strspn(line, " \t\r\n") < strlen(line))
			history(hist, &ev, H_ENTER, typed);
		session_run(s, line, strlen(line), 0);
		session_drain(s);
		free(line);
		s->lost = false; /* the daemon may be back for the next one */
	}
	if (!s->quit)
		printf("\n");
	if (path[0] != '\0' && history(hist, &ev, H_SAVE, path) >= 0)
		chmod(path, 0600);
	history_end(hist);
	el_end(el);
	s->status = EXIT_DONE;
}
