/* SPDX-License-Identifier: BSD-3-Clause */
/* The parser: a line against the table of commands. See parse.h. */
#include <stdio.h>
#include <string.h>

#include "text.h"

#include "parse.h"

/* ---- the words of a command's name ----------------------------------------------------------- */

static bool begins(const struct cli_command *c, const struct cli_walk *w)
{
	for (unsigned d = 0; d < w->depth; d++) {
		if (c->words[d] == NULL || strcmp(c->words[d], w->name[d]) != 0)
			return false;
	}
	return true;
}

/* The "show" that a bare noun stands for. */
static const struct cli_command *implied_show(const struct cli_walk *w)
{
	if (w->depth == 0)
		return NULL;
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];

		if (begins(c, w) && c->words[w->depth] != NULL && c->words[w->depth + 1] == NULL &&
		    strcmp(c->words[w->depth], "show") == 0)
			return c;
	}
	return NULL;
}

static bool has_value(const struct cli_arg *arg)
{
	return arg->type != CLI_FLAG;
}

static bool is_arg(const struct cli_arg *arg)
{
	return arg->what != NULL;
}

/* The place that the next word without a key goes to, or CLI_MAX_ARGS. */
static unsigned next_place(const struct cli_cmd *cmd)
{
	const struct cli_arg *args = cmd->def->args;

	for (unsigned i = 0; is_arg(&args[i]); i++) {
		if (args[i].key == NULL && !cmd->v[i].given)
			return i;
	}
	return CLI_MAX_ARGS;
}

static bool name_listed(const char *list, const char *name, size_t n)
{
	return strncmp(list, name, n) == 0 && list[n] == '\0';
}

static unsigned find_key(const struct cli_command *c, const char *name, size_t n)
{
	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		if (c->args[i].key != NULL && name_listed(c->args[i].key, name, n))
			return i;
	}
	return CLI_MAX_ARGS;
}

/* Are the keys that an argument needs given? The first that is not goes to missing. */
static bool needs_met(const struct cli_cmd *cmd, const struct cli_arg *arg, const char **missing)
{
	const char *p = arg->needs;

	while (p != NULL && *p != '\0') {
		const char *group = p;
		bool any = false;

		for (;;) {
			size_t n = strcspn(p, ",|");
			unsigned k = find_key(cmd->def, p, n);
			bool more = p[n] == '|';

			if (k < CLI_MAX_ARGS && cmd->v[k].given)
				any = true;
			p += n + (p[n] != '\0');
			if (!more)
				break;
		}
		if (!any) {
			*missing = group;
			return false;
		}
	}
	return true;
}

static unsigned n_grouped(const struct cli_cmd *cmd)
{
	unsigned n = 0;

	for (unsigned i = 0; is_arg(&cmd->def->args[i]); i++) {
		if (cmd->def->args[i].grouped && cmd->v[i].given)
			n++;
	}
	return n;
}

static unsigned n_keys(const struct cli_cmd *cmd)
{
	unsigned n = 0;

	for (unsigned i = 0; is_arg(&cmd->def->args[i]); i++) {
		if (cmd->def->args[i].key != NULL && cmd->v[i].given)
			n++;
	}
	return n;
}

/* ---- what may come next ---------------------------------------------------------------------- */

static void next_value(const struct cli_arg *arg, cli_next_fn *fn, void *ctx)
{
	if (arg->type == CLI_WORD) {
		for (const struct cli_choice *c = arg->choices; c->word != NULL; c++)
			fn(ctx, c->word, c->help != NULL ? c->help : arg->help, arg);
	} else if (has_value(arg)) {
		fn(ctx, NULL, arg->help, arg);
	}
}

static void next_args(const struct cli_cmd *cmd, cli_next_fn *fn, void *ctx)
{
	const struct cli_command *c = cmd->def;
	unsigned place = next_place(cmd);

	if (place < CLI_MAX_ARGS) {
		next_value(&c->args[place], fn, ctx);
		if (c->args[place].required)
			return;
	}
	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		const struct cli_arg *arg = &c->args[i];
		const char *missing;

		if (arg->key == NULL || cmd->v[i].given || arg->hidden)
			continue;
		if (arg->grouped && c->at_most > 0 && n_grouped(cmd) >= c->at_most)
			continue;
		if (arg->alone && n_keys(cmd) > 0)
			continue;
		if (!arg->grouped && !needs_met(cmd, arg, &missing))
			continue;
		fn(ctx, arg->key, arg->help, NULL);
	}
}

static void next_words(const struct cli_walk *w, cli_next_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i], *text = c;
		const char *word = c->words[w->depth];
		bool seen = false;

		if (!begins(c, w) || word == NULL)
			continue;
		for (unsigned k = 0; k < i && !seen; k++) {
			seen = begins(&cli_commands[k], w) &&
			       cli_commands[k].words[w->depth] != NULL &&
			       strcmp(cli_commands[k].words[w->depth], word) == 0;
		}
		if (seen)
			continue;
		/* A noun is explained by what its "show" shows. */
		for (unsigned k = i; c->words[w->depth + 1] != NULL && k < cli_n_commands; k++) {
			const struct cli_command *s = &cli_commands[k];

			if (begins(s, w) && s->words[w->depth] != NULL &&
			    strcmp(s->words[w->depth], word) == 0 &&
			    s->words[w->depth + 1] != NULL &&
			    strcmp(s->words[w->depth + 1], "show") == 0)
				text = s;
		}
		fn(ctx, word, text->help, NULL);
	}
}

void cli_walk_next(const struct cli_walk *w, cli_next_fn *fn, void *arg)
{
	const struct cli_command *show;

	switch (w->phase) {
	case CLI_IN_WORDS:
		next_words(w, fn, arg);
		show = implied_show(w);
		if (show != NULL) {
			struct cli_cmd cmd = {.def = show};

			next_args(&cmd, fn, arg);
		}
		break;
	case CLI_IN_ARGS:
		next_args(w->cmd, fn, arg);
		break;
	case CLI_IN_VALUE:
		next_value(&w->cmd->def->args[w->arg], fn, arg);
		break;
	}
}

/* ---- messages -------------------------------------------------------------------------------- */

struct accepted {
	const char *typed;
	const char *near;
	unsigned best;
	size_t len;
	char list[240];
};

static void accept(void *ctx, const char *word, const char *help, const struct cli_arg *value)
{
	struct accepted *a = ctx;
	const char *text = word != NULL ? word : value->what;

	(void)help;
	if (word != NULL && a->typed != NULL && text_nearer(a->typed, word, &a->best))
		a->near = word;
	if (a->len < sizeof(a->list))
		a->len += (size_t)snprintf(a->list + a->len, sizeof(a->list) - a->len, "%s%s",
					   a->len > 0 ? ", " : "", text);
}

static bool not_understood(const struct cli_walk *w, const char *word, unsigned column,
			   struct cli_error *e)
{
	struct accepted a = {.typed = word, .best = TEXT_FAR};
	char quoted[TEXT_QUOTE_LEN];

	cli_walk_next(w, accept, &a);
	cli_error_set(e, 2, column, "%s is not expected here", text_quote(quoted, word));
	if (w->phase == CLI_IN_WORDS)
		cli_error_set(e, 2, column, "unknown word %s", quoted);
	if (a.len == 0)
		cli_error_hint(e, "the command ends before it");
	else if (a.near != NULL)
		cli_error_hint(e, "did you mean '%s'? Accepted: %s", a.near, a.list);
	else
		cli_error_hint(e, "accepted: %s", a.list);
	return false;
}

/* ---- the walk -------------------------------------------------------------------------------- */

void cli_walk_start(struct cli_walk *w, struct cli_cmd *cmd, unsigned flags)
{
	memset(w, 0, sizeof(*w));
	memset(cmd->v, 0, sizeof(cmd->v));
	cmd->def = NULL;
	cmd->implied = false;
	cmd->n_rest = 0;
	cmd->rest = NULL;
	cmd->list.n = 0;
	w->flags = flags;
	w->cmd = cmd;
}

static bool take_place(struct cli_walk *w, unsigned place, const char *word, unsigned column,
		       struct cli_error *e)
{
	return cli_value_parse(&w->cmd->def->args[place], word, column,
			       (w->flags & CLI_ABBREVIATE) != 0, &w->cmd->v[place], &w->cmd->list,
			       e);
}

/* The key that a word names: its index, CLI_MAX_ARGS: none, CLI_MAX_ARGS + 1: several. */
static unsigned match_key(const struct cli_walk *w, const char *word)
{
	const struct cli_command *c = w->cmd->def;
	size_t len = strlen(word);
	unsigned found = find_key(c, word, len), n = 0;

	if (found < CLI_MAX_ARGS || (w->flags & CLI_ABBREVIATE) == 0 || len == 0)
		return found;
	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		if (c->args[i].key != NULL && !c->args[i].hidden &&
		    strncmp(c->args[i].key, word, len) == 0) {
			found = i;
			n++;
		}
	}
	return n > 1 ? CLI_MAX_ARGS + 1 : found;
}

static bool walk_arg(struct cli_walk *w, const char *word, unsigned column, struct cli_error *e)
{
	const struct cli_arg *args = w->cmd->def->args;
	unsigned place = next_place(w->cmd), key;
	char quoted[TEXT_QUOTE_LEN];

	if (place < CLI_MAX_ARGS)
		return take_place(w, place, word, column, e);
	key = match_key(w, word);
	if (key > CLI_MAX_ARGS) {
		not_understood(w, word, column, e);
		snprintf(e->message, sizeof(e->message), "%s is ambiguous",
			 text_quote(quoted, word));
		return false;
	}
	if (key == CLI_MAX_ARGS)
		return not_understood(w, word, column, e);
	if (w->cmd->v[key].given) {
		cli_error_set(e, 2, column, "'%s' is given twice", args[key].key);
		cli_error_hint(e, "each key stands once");
		return false;
	}
	w->cmd->v[key].given = true;
	w->cmd->v[key].column = column;
	w->cmd->v[key].key_column = column;
	w->cmd->v[key].text = args[key].key;
	if (has_value(&args[key])) {
		w->phase = CLI_IN_VALUE;
		w->arg = key;
	}
	return true;
}

static bool walk_implied(struct cli_walk *w, const struct cli_command *show, const char *word,
			 unsigned column, struct cli_error *e)
{
	struct cli_walk before = *w;
	unsigned key;

	w->cmd->def = show;
	w->cmd->implied = true;
	w->phase = CLI_IN_ARGS;
	key = match_key(w, word);
	if ((next_place(w->cmd) < CLI_MAX_ARGS || key < CLI_MAX_ARGS) &&
	    walk_arg(w, word, column, e))
		return true;
	*w = before;
	w->cmd->def = NULL;
	w->cmd->implied = false;
	memset(w->cmd->v, 0, sizeof(w->cmd->v));
	return not_understood(w, word, column, e);
}

static bool walk_name(struct cli_walk *w, const char *word, unsigned column, struct cli_error *e)
{
	const struct cli_command *exact = NULL, *show;
	const char *part = NULL;
	bool several = false;
	size_t len;

	word = cli_alias(word);
	len = strlen(word);
	for (unsigned i = 0; i < cli_n_commands; i++) {
		const struct cli_command *c = &cli_commands[i];
		const char *lit = c->words[w->depth];

		if (!begins(c, w) || lit == NULL)
			continue;
		if (strcmp(lit, word) == 0) {
			exact = c;
			part = lit;
			break;
		}
		if ((w->flags & CLI_ABBREVIATE) != 0 && len > 0 && strncmp(lit, word, len) == 0) {
			if (part != NULL && strcmp(part, lit) != 0)
				several = true;
			if (part == NULL || strcmp(part, lit) != 0)
				part = lit;
			exact = c;
		}
	}
	if (exact != NULL && strcmp(part, word) != 0 && several) {
		char quoted[TEXT_QUOTE_LEN];

		not_understood(w, word, column, e);
		snprintf(e->message, sizeof(e->message), "%s is ambiguous",
			 text_quote(quoted, word));
		return false;
	}
	if (exact == NULL) {
		show = implied_show(w);
		if (show != NULL)
			return walk_implied(w, show, word, column, e);
		return not_understood(w, word, column, e);
	}
	w->name[w->depth++] = part;
	if (exact->words[w->depth] == NULL) {
		w->cmd->def = exact;
		w->phase = CLI_IN_ARGS;
	}
	return true;
}

bool cli_walk_word(struct cli_walk *w, const char *word, unsigned column, struct cli_error *e)
{
	switch (w->phase) {
	case CLI_IN_WORDS:
		return walk_name(w, word, column, e);
	case CLI_IN_ARGS:
		return walk_arg(w, word, column, e);
	case CLI_IN_VALUE:
		w->phase = CLI_IN_ARGS;
		return cli_value_parse(&w->cmd->def->args[w->arg], word, column,
				       (w->flags & CLI_ABBREVIATE) != 0, &w->cmd->v[w->arg],
				       &w->cmd->list, e);
	}
	return false;
}

/* ---- the end of a line ----------------------------------------------------------------------- */

static void list_grouped(const struct cli_command *c, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (unsigned i = 0; is_arg(&c->args[i]) && n < size; i++) {
		if (c->args[i].grouped)
			n += (size_t)snprintf(out + n, size - n, "%s%s", n > 0 ? ", " : "",
					      c->args[i].key);
	}
}

static bool end_groups(const struct cli_cmd *cmd, unsigned column, struct cli_error *e)
{
	const struct cli_command *c = cmd->def;
	unsigned n = n_grouped(cmd);
	char list[240];

	list_grouped(c, list, sizeof(list));
	if (n < c->at_least) {
		cli_error_set(e, 2, column, "something is missing");
		cli_error_hint(e, "wants %s of %s", c->at_most == 1 ? "one" : "at least one", list);
		return false;
	}
	if (c->at_most > 0 && n > c->at_most) {
		unsigned last = 0;

		for (unsigned i = 0; is_arg(&c->args[i]); i++) {
			if (c->args[i].grouped && cmd->v[i].given && cmd->v[i].key_column > last)
				last = cmd->v[i].key_column;
		}
		cli_error_set(e, 2, last, "these keys do not go together");
		cli_error_hint(e, "wants one of %s", list);
		return false;
	}
	return true;
}

static bool end_args(const struct cli_cmd *cmd, unsigned column, struct cli_error *e)
{
	const struct cli_command *c = cmd->def;
	char shape[240];

	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		const struct cli_arg *arg = &c->args[i];
		const char *missing;

		if (arg->required && !cmd->v[i].given) {
			cli_error_set(e, 2, column, "%s is missing",
				      arg->key != NULL ? arg->key : arg->what);
			cli_error_hint(e, "wants %s%s%s: %s", arg->key != NULL ? arg->key : "",
				       arg->key != NULL ? " " : "", arg->what,
				       cli_value_shape(arg, shape, sizeof(shape)));
			return false;
		}
		if (!cmd->v[i].given)
			continue;
		if (!needs_met(cmd, arg, &missing)) {
			int n = (int)strcspn(missing, ",");

			cli_error_set(e, 2, cmd->v[i].key_column, "'%s' goes only with '%.*s'",
				      arg->key, n, missing);
			cli_error_hint(e, "give %.*s too", n, missing);
			return false;
		}
		if (arg->alone && n_keys(cmd) > 1) {
			cli_error_set(e, 2, cmd->v[i].key_column, "'%s' stands alone", arg->key);
			cli_error_hint(e, "give either '%s' or other keys", arg->key);
			return false;
		}
	}
	return end_groups(cmd, column, e);
}

bool cli_walk_end(struct cli_walk *w, unsigned column, struct cli_error *e)
{
	const struct cli_arg *arg;
	char shape[240];

	switch (w->phase) {
	case CLI_IN_WORDS:
		w->cmd->def = implied_show(w);
		w->cmd->implied = true;
		if (w->cmd->def == NULL) {
			struct accepted a = {0};

			cli_walk_next(w, accept, &a);
			cli_error_set(e, 2, column, "the command is not complete");
			cli_error_hint(e, "wants one of %s", a.list);
			return false;
		}
		break;
	case CLI_IN_VALUE:
		arg = &w->cmd->def->args[w->arg];
		cli_error_set(e, 2, column, "%s: its value is missing", arg->key);
		cli_error_hint(e, "wants %s", cli_value_shape(arg, shape, sizeof(shape)));
		return false;
	case CLI_IN_ARGS:
		break;
	}
	return end_args(w->cmd, column, e);
}

int cli_parse(struct cli_words *words, char *line, size_t len, unsigned flags, struct cli_cmd *cmd,
	      struct cli_error *e)
{
	struct cli_walk w;

	cli_walk_start(&w, cmd, flags);
	if (!cli_words_split(words, line, len, false, e))
		return -1;
	if (words->n == 0)
		return 0;
	for (unsigned i = 0; i < words->n; i++) {
		if (w.phase == CLI_IN_ARGS && cmd->def->args[0].type == CLI_REST &&
		    is_arg(&cmd->def->args[0])) {
			cmd->rest = &words->word[i];
			cmd->n_rest = words->n - i;
			cmd->v[0].given = true;
			cmd->v[0].column = words->column[i];
			cmd->v[0].text = words->word[i];
			break;
		}
		if (cli_walk_word(&w, words->word[i], words->column[i], e))
			continue;
		/* A noun's bare name was taken for a show, and more follows: then it was a verb
		 * mistyped. */
		if (cmd->implied && cmd->def != NULL && next_place(cmd) == CLI_MAX_ARGS && i > 0 &&
		    n_keys(cmd) == 0) {
			struct cli_walk again;
			struct cli_cmd scratch;

			cli_walk_start(&again, &scratch, flags);
			for (unsigned k = 0; k + 1 < i; k++)
				cli_walk_word(&again, words->word[k], words->column[k], e);
			not_understood(&again, words->word[i - 1], words->column[i - 1], e);
		}
		return -1;
	}
	return cli_walk_end(&w, words->end, e) ? 1 : -1;
}

const struct cli_value *cli_get(const struct cli_cmd *cmd, const char *key)
{
	const struct cli_arg *args = cmd->def->args;

	for (unsigned i = 0; is_arg(&args[i]); i++) {
		if (strcmp(args[i].key != NULL ? args[i].key : args[i].what, key) == 0)
			return cmd->v[i].given ? &cmd->v[i] : NULL;
	}
	return NULL;
}

void cli_put(struct buf *b, const struct cli_cmd *cmd)
{
	const struct cli_command *c = cmd->def;

	for (unsigned d = 0; c->words[d] != NULL; d++)
		cli_words_put(b, c->words[d]);
	for (unsigned i = 0; is_arg(&c->args[i]); i++) {
		if (!cmd->v[i].given)
			continue;
		if (c->args[i].key != NULL)
			cli_words_put(b, c->args[i].key);
		if (c->args[i].type == CLI_REST) {
			for (unsigned k = 0; k < cmd->n_rest; k++)
				cli_words_put(b, cmd->rest[k]);
		} else if (has_value(&c->args[i])) {
			cli_words_put(b, cmd->v[i].text);
		}
	}
}
