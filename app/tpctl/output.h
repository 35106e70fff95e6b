/* SPDX-License-Identifier: BSD-3-Clause */
/* What people and programs see: tables or JSON on stdout (through a pager on a terminal), errors on
 * stderr. */
#ifndef TPCTL_OUTPUT_H
#define TPCTL_OUTPUT_H

#include <jansson.h>

#include "cli/render.h"
#include "cli/table.h"
#include "cli/words.h"

/* Where a command came from, for messages. */
struct origin {
	const char *file; /* NULL: the command line or the shell */
	unsigned line;
};

/* One answer, as its lines arrive. */
struct output {
	bool json, pager;
	const struct cli_command *def;
	struct render_table table;
	unsigned rows;
	bool list;	 /* JSON: an array has been opened */
	struct buf text; /* waits to be written */
	int fd;		 /* stdout, or the pager's standard input */
	int pager_pid;
	bool broken; /* nobody reads any more */
	int error;   /* errno value: it can't be written, which somebody misses */
};

void output_start(struct output *o, const struct cli_command *def, bool json, bool pager);
void output_items(struct output *o, const json_t *items);
void output_last(struct output *o, const json_t *answer); /* one with "ok": true */
/* False: not everything could be written; says so. */
bool output_end(struct output *o);
void output_text(struct output *o, const char *text, size_t len); /* help and the like */

void output_error(const struct origin *from, const struct cli_error *e);
/* An answer with "ok": false; returns its status. */
int output_refusal(const struct origin *from, const json_t *answer);

#endif /* TPCTL_OUTPUT_H */
