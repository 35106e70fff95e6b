/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion with what the running router knows: names, addresses. */
#ifndef TPCTL_CANDIDATES_H
#define TPCTL_CANDIDATES_H

#include "cli/complete.h"

/* cli_complete(), and then what the daemon or the file system adds. */
void candidates_find(const char *socket, const char *line, bool for_help,
		     struct cli_completion *out);

#endif /* TPCTL_CANDIDATES_H */
