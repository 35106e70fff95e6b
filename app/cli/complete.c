/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion. See complete.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

#include "complete.h"

static bool wanted(const struct cli_completion *out, const char *word)
{
	return strncmp(word, out->word, strlen(out->word)) == 0;
}

static void add(struct cli_completion *out, const char *word, const char *what, const char *help)
{
	struct cli_candidate *c = &out->c[out->n];

	if (out->n == CLI_MAX_CANDIDATES)
		return;
	c->word = word != NULL ? strdup(word) : NULL;
	c->what = strdup(what);
	c->help = strdup(help != NULL ? help : "");
	out->n++;
}

void cli_complete_add(struct cli_completion *out, const char *word, const char *help)
{
	if (!wanted(out, word))
		return;
	for (unsigned i = 0; i < out->n; i++) {
		if (out->c[i].word != NULL && strcmp(out->c[i].word, word) == 0)
			return;
	}
	add(out, word, word, help);
}

struct collect {
	struct cli_completion *out;
	bool for_help;
};

static void collect(void *ctx, const char *word, const char *help, const struct cli_arg *value)
{
	struct collect *c = ctx;
	char shape[240], what[320];

	if (word != NULL) {
		if (wanted(c->out, word))
			add(c->out, word, word, help);
		return;
	}
	if (value->source != CLI_NO_SOURCE)
		c->out->source = value->source;
	if (c->for_help) {
		snprintf(what, sizeof(what), "%s", value->what);
		cli_value_shape(value, shape, sizeof(shape));
		snprintf(what, sizeof(what), "%s (%s)", help, shape);
		add(c->out, NULL, value->what, what);
		return;
	}
	/* Protocols are many, but known. */
	if (value->type == CLI_L4PROTO || value->type == CLI_PROTO) {
		static const char *const names[] = {"tcp", "udp", "icmp", "gre", "esp"};

		for (unsigned i = 0; i < (value->type == CLI_PROTO ? 5u : 2u); i++)
			cli_complete_add(c->out, names[i], help);
	}
}

void cli_complete(const char *line, bool for_help, struct cli_completion *out)
{
	static struct cli_words words;
	struct cli_cmd cmd;
	struct cli_walk w;
	struct cli_error e;
	struct collect ctx = {out, for_help};
	char *copy = strdup(line);
	unsigned full;

	memset(out, 0, sizeof(*out));
	out->failed = true;
	if (copy == NULL || !cli_words_split(&words, copy, strlen(copy), true, &e))
		goto out;
	full = words.n;
	out->start = strlen(line);
	if (full > 0 && !words.gap) {
		full--;
		out->start = words.column[full] - 1;
		snprintf(out->word, sizeof(out->word), "%s", words.word[full]);
	}
	cli_walk_start(&w, &cmd, CLI_ABBREVIATE);
	for (unsigned i = 0; i < full; i++) {
		if (w.phase == CLI_IN_ARGS && cmd.def->args[0].type == CLI_REST &&
		    cmd.def->id == CLI_HELP) {
			/* What follows help is the beginning of another command. */
			cli_walk_start(&w, &cmd, CLI_ABBREVIATE);
		}
		if (!cli_walk_word(&w, words.word[i], words.column[i], &e))
			goto out;
	}
	if (w.phase == CLI_IN_ARGS && cmd.def->id == CLI_HELP && !for_help)
		cli_walk_start(&w, &cmd, CLI_ABBREVIATE);
	out->failed = false;
	cli_walk_next(&w, collect, &ctx);
	out->complete = full > 0 && cli_walk_end(&w, words.end, &e);
out:
	free(copy);
}

void cli_complete_free(struct cli_completion *out)
{
	for (unsigned i = 0; i < out->n; i++) {
		free(out->c[i].word);
		free(out->c[i].what);
		free(out->c[i].help);
	}
	out->n = 0;
}
