/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket: listening, clients, and their commands. Nothing that a client sends or leaves
 * undone stops the daemon: input, output, lines, clients and the time for one turn are all bounded.
 *
 * A request is one line of the grammar; see answer.h for what comes back. "config load NAME bytes
 * N" and "config check NAME bytes N" are followed by the N bytes of the file.
 */
#ifndef TURNPIKE_SERVER_H
#define TURNPIKE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "router.h"

#define SERVER_CLIENTS 64

struct server;

/* Takes the place of a daemon that is gone; refuses (-EBUSY) where one is alive. Makes the
 * directory. The lock is held from here on. */
int server_lock(const char *path, int *lock_fd, struct fwd_err *err);
void server_unlock(const char *path, int lock_fd);

/* Listens on path, whose lock the caller holds. config_path: where "config save" writes, or NULL.
 * epoll events carry first_tag (listening), first_tag + 1 + i (client i) in data.u64. */
struct server *server_open(const char *path, struct router *r, const char *config_path,
			   int epoll_fd, uint64_t first_tag, struct fwd_err *err);
void server_close(struct server *s);

void server_event(struct server *s, uint64_t tag, uint32_t events);
/* One turn: runs what has come, commits once, sends answers. True: call again at once, there is
 * more to do. */
bool server_turn(struct server *s);
/* Milliseconds until server_turn() must be called though nothing happens, or -1. */
int server_timeout(const struct server *s);

#endif /* TURNPIKE_SERVER_H */
