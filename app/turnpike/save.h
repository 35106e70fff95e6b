/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole configuration as text: commands in an order in which they load on an empty router. */
#ifndef TURNPIKE_SAVE_H
#define TURNPIKE_SAVE_H

#include "cli/buf.h"

#include "router.h"

void save_text(struct buf *b, const struct router *r);
/* Writes it to path, whole or not at all. 0 or a negative errno value. */
int save_file(const char *path, const struct router *r);

#endif /* TURNPIKE_SAVE_H */
