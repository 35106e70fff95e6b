/* SPDX-License-Identifier: BSD-3-Clause */
/* Help and the manual, written from the table of commands. */
#ifndef TURNPIKE_CLI_HELP_H
#define TURNPIKE_CLI_HELP_H

#include "table.h"
#include "words.h"

/* "interface del NAME" */
void cli_help_usage(struct buf *b, const struct cli_command *c);
/* Lines about all commands that begin with these words (which may be shortened), or else have them
 * further on: one line each, or everything about it when it is only one. False with e set when
 * there is none. */
bool cli_help(struct buf *b, const char *const *words, unsigned n, struct cli_error *e);
/* The COMMANDS section of tpctl(1), in scdoc's notation. */
void cli_help_manual(struct buf *b);

#endif /* TURNPIKE_CLI_HELP_H */
