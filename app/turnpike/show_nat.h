/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that show translation: rules, pools, settings, sessions. Called by show.c, and the
 * filters by what clears sessions. */
#ifndef TURNPIKE_SHOW_NAT_H
#define TURNPIKE_SHOW_NAT_H

#include "cli/parse.h"

#include "answer.h"
#include "router.h"

/* Rows; NULL with e set where a name is not known. */
json_t *show_pools(const struct router *r, const struct cli_cmd *cmd, struct cli_error *e);
json_t *show_rules(const struct router *r, const struct cli_cmd *cmd, struct cli_error *e);
json_t *show_timeouts(const struct router *r);

/* Settings and what is in use. */
json_t *show_nat(const struct router *r);

/* False with e set. */
bool show_sessions(const struct router *r, const struct cli_cmd *cmd, struct stream **out,
		   struct cli_error *e);

/* The filters of "nat session". */
bool show_session_filter(const struct router *r, const struct cli_cmd *cmd, struct nat_filter *f,
			 struct cli_error *e);

#endif /* TURNPIKE_SHOW_NAT_H */
