/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that configure, run on a router: each is done whole or refused with a message. */
#ifndef TURNPIKE_CONFIGURE_H
#define TURNPIKE_CONFIGURE_H

#include "cli/parse.h"

#include "router.h"

/* cmd->def->flags has CLI_CONFIG. False with e set, and nothing has changed. Running router: takes
 * effect with router_commit(). Otherwise translation is not compiled: configure_check_nat() does
 * that at the end. */
bool configure_run(struct router *r, const struct cli_cmd *cmd, struct cli_error *e);

/* A plain router: is its translation sound? *line: of the rule that is wrong, or 0. */
bool configure_check_nat(struct router *r, struct cli_error *e, unsigned *line);

#endif /* TURNPIKE_CONFIGURE_H */
