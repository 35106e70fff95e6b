/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running commands: each line is understood here first, sent, and its answer printed. Commands may
 * be queued up, so that a long file does not wait for each answer before the next command goes out.
 */
#ifndef TPCTL_SESSION_H
#define TPCTL_SESSION_H

#include <stdbool.h>

#include "cli/parse.h"

#include "conn.h"
#include "output.h"

enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_NO_DAEMON = 3 };

struct pending {
	const struct cli_command *def;
	unsigned line;
	bool no_column; /* it was sent in other words than the user's */
	char *echo;
};

struct session {
	const char *socket;
	struct conn conn;
	bool json, echo, pager;
	unsigned flags;	       /* CLI_ABBREVIATE */
	const char *file;      /* that commands come from, or NULL */
	bool stdin_taken;      /* commands come from standard input */
	struct pending *queue; /* a ring */
	unsigned head, n;
	struct output out; /* of the command at the head */
	bool out_open;
	int status; /* of the first command that failed */
	bool lost;  /* the daemon is gone */
	bool quit;  /* "exit" */
};

void session_init(struct session *s, const char *socket);
/* One line of commands, which is cut up. Answers may still be under way. */
void session_run(struct session *s, char *line, size_t len, unsigned number);
/* Waits for all answers. */
void session_drain(struct session *s);
void session_free(struct session *s);

#endif /* TPCTL_SESSION_H */
