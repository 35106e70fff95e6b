/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that show counters: of interfaces, drops, events, workers. Called by show.c. */
#ifndef TURNPIKE_SHOW_STATS_H
#define TURNPIKE_SHOW_STATS_H

#include "cli/parse.h"

#include "answer.h"
#include "router.h"

/* False with e set. */
bool show_stats(const struct router *r, const struct cli_cmd *cmd, json_t **out,
		struct cli_error *e);

/* Rows. */
json_t *show_workers(void);

#endif /* TURNPIKE_SHOW_STATS_H */
