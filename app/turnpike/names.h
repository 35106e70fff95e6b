/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in commands: what they stand for, or a message with the nearest one that exists. */
#ifndef TURNPIKE_NAMES_H
#define TURNPIKE_NAMES_H

#include "cli/parse.h"

#include "router.h"

/* The interface that the value of key names. False with e set; *id is left alone where the key was
 * not given. */
bool names_iface(const struct router *r, const struct cli_cmd *cmd, const char *key, uint16_t *id,
		 struct cli_error *e);
const struct natconf_rule *names_rule(const struct router *r, const struct cli_cmd *cmd,
				      const char *key, struct cli_error *e);
const struct natconf_pool *names_pool(const struct router *r, const struct cli_cmd *cmd,
				      const char *key, struct cli_error *e);

#endif /* TURNPIKE_NAMES_H */
