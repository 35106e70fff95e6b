/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that show what the running router is and does. */
#ifndef TURNPIKE_SHOW_H
#define TURNPIKE_SHOW_H

#include "cli/parse.h"

#include "answer.h"
#include "router.h"

/* Runs a command that only shows. True: *stream gives a list, or *object is the last line without
 * its "ok" (the caller owns either). False with e set. */
bool show_run(const struct router *r, const struct cli_cmd *cmd, struct stream **stream,
	      json_t **object, struct cli_error *e);

#endif /* TURNPIKE_SHOW_H */
