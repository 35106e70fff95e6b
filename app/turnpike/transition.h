/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From what the running router is to what a file describes, by their difference: what is the same
 * in both is not touched. All of it happens, or nothing.
 */
#ifndef TURNPIKE_TRANSITION_H
#define TURNPIKE_TRANSITION_H

#include "router.h"

/* Commits too. False with e set: the running router is as before. */
bool transition(struct router *live, const struct router *want, struct cli_error *e);

#endif /* TURNPIKE_TRANSITION_H */
