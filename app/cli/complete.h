/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion: what may stand at the end of half a line. */
#ifndef TURNPIKE_CLI_COMPLETE_H
#define TURNPIKE_CLI_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "table.h"

#define CLI_MAX_CANDIDATES 1024

struct cli_candidate {
	char *word; /* NULL: a value that only the user knows */
	char *what; /* the word, or the value's placeholder and shape */
	char *help;
};

struct cli_completion {
	unsigned n;
	struct cli_candidate c[CLI_MAX_CANDIDATES];
	size_t start;		/* offset in the line of the word that is completed */
	enum cli_source source; /* where more words come from; CLI_NO_SOURCE: nowhere */
	bool complete;		/* the line without its last word is a whole command */
	bool failed;		/* what stands before is not understood */
	char word[256];		/* as typed so far */
};

/* line: up to the cursor. Candidates that begin with the word at its end; for help all. */
void cli_complete(const char *line, bool for_help, struct cli_completion *out);
/* Adds a word from a source, when it fits what was typed. */
void cli_complete_add(struct cli_completion *out, const char *word, const char *help);
void cli_complete_free(struct cli_completion *out);

#endif /* TURNPIKE_CLI_COMPLETE_H */
