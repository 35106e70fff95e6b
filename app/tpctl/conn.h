/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection to the daemon: lines out, lines in, any number of requests under way. */
#ifndef TPCTL_CONN_H
#define TPCTL_CONN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/buf.h"

#define CONN_DEFAULT "/run/turnpike/turnpike.sock"

struct conn {
	int fd; /* -1: not connected */
	const char *path;
	struct buf out, in;
	size_t in_at; /* start of the next line in in */
};

/* Set by a signal handler: nothing is waited for any more, as if the connection were gone. */
extern volatile sig_atomic_t conn_interrupted;

/* False with errno set. */
bool conn_open(struct conn *c, const char *path);
void conn_close(struct conn *c);
bool conn_closed(const struct conn *c); /* by the daemon, with nothing left to read */

/* Queues bytes; conn_line() and conn_flush() send them. */
void conn_put(struct conn *c, const char *bytes, size_t len);
/* Sends what is queued while taking in what comes, until no more than most bytes are left to send.
 * False: the connection is gone. */
bool conn_flush(struct conn *c, size_t most);
/* The next line, without its newline, which stays good until the next call; NULL: none there yet
 * (wait false), or the connection is gone. */
char *conn_line(struct conn *c, bool wait, size_t *len);

#endif /* TPCTL_CONN_H */
