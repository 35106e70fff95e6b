/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers as text for people: tables whose columns the table of commands lays out. */
#ifndef TURNPIKE_CLI_RENDER_H
#define TURNPIKE_CLI_RENDER_H

#include <jansson.h>

#include "buf.h"
#include "table.h"

#define RENDER_MAX_COLUMNS 16

/* A table that comes in slices: the first one settles the columns' widths. */
struct render_table {
	const struct cli_column *columns;
	unsigned n;
	unsigned width[RENDER_MAX_COLUMNS];
	bool used[RENDER_MAX_COLUMNS]; /* has any value in the first slice, or a width of its own */
	bool started;
};

void render_table_start(struct render_table *t, const struct cli_column *columns);
void render_table_rows(struct render_table *t, struct buf *b, const json_t *rows);

/* A final object, by the command's sections. */
void render_object(struct buf *b, const struct cli_command *c, const json_t *answer);

#endif /* TURNPIKE_CLI_RENDER_H */
