/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser: a line against the table of commands. cli_walk takes words one by one and knows at
 * every point what may come next; parser, completion and messages are built on it.
 */
#ifndef TURNPIKE_CLI_PARSE_H
#define TURNPIKE_CLI_PARSE_H

#include "table.h"
#include "value.h"
#include "words.h"

enum cli_parse_flags {
	CLI_ABBREVIATE = 1 << 0, /* words may be shortened while unambiguous */
};

/* A command that has been understood. Texts point into the line that was parsed. */
struct cli_cmd {
	const struct cli_command *def;
	bool implied; /* "show" was left out */
	unsigned n_rest;
	const char *const *rest;	  /* words of a CLI_REST argument */
	struct cli_value v[CLI_MAX_ARGS]; /* as def->args */
	struct cli_list list;		  /* of the CLI_ADDRS or CLI_RANGES argument */
};

enum cli_phase { CLI_IN_WORDS, CLI_IN_ARGS, CLI_IN_VALUE };

struct cli_walk {
	unsigned flags;
	enum cli_phase phase;
	unsigned depth;			 /* words of the command's name so far */
	const char *name[CLI_MAX_DEPTH]; /* they, in full */
	unsigned arg;			 /* CLI_IN_VALUE: whose */
	struct cli_cmd *cmd;
};

void cli_walk_start(struct cli_walk *w, struct cli_cmd *cmd, unsigned flags);
bool cli_walk_word(struct cli_walk *w, const char *word, unsigned column, struct cli_error *e);
/* At the end of the line: is the command complete? */
bool cli_walk_end(struct cli_walk *w, unsigned column, struct cli_error *e);

/* What may come next. word: a fixed word, or NULL for a value of arg. */
typedef void cli_next_fn(void *arg, const char *word, const char *help,
			 const struct cli_arg *value);
void cli_walk_next(const struct cli_walk *w, cli_next_fn *fn, void *arg);

/* The whole of it. line is cut up, and must live as long as cmd. 1: cmd is set. 0: nothing on the
 * line. -1: e is set. */
int cli_parse(struct cli_words *words, char *line, size_t len, unsigned flags, struct cli_cmd *cmd,
	      struct cli_error *e);

/* The value of a key, or by its placeholder when it has none; NULL when it was not given. */
const struct cli_value *cli_get(const struct cli_cmd *cmd, const char *key);

/* The command with every word in full. */
void cli_put(struct buf *b, const struct cli_cmd *cmd);

#endif /* TURNPIKE_CLI_PARSE_H */
