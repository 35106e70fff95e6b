/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a configuration file: its lines, as they come, build a router in memory; every error is
 * noted with its place. The running router has no part in it.
 */
#ifndef TURNPIKE_LOAD_H
#define TURNPIKE_LOAD_H

#include "router.h"
#include "shadow.h"

#define LOAD_MAX_ERRORS 20

struct load_error {
	unsigned line; /* 0: of the whole file */
	struct cli_error e;
};

struct load {
	char name[256]; /* of the file, for messages */
	struct shadow *shadow;
	struct router router; /* what the file describes so far */
	struct buf partial;   /* a line whose end has not come yet */
	bool skipping;	      /* a line that is too long */
	unsigned line;
	unsigned n_errors; /* all, noted or not */
	struct load_error errors[LOAD_MAX_ERRORS];
};

struct load *load_start(const char *name);
void load_feed(struct load *l, const char *bytes, size_t len);
/* After the last byte. True: l->router is what the file says. */
bool load_finish(struct load *l);
void load_free(struct load *l);

/* All of it, from a file. NULL with *err set when the file can't be read. */
struct load *load_file(const char *path, struct fwd_err *err);

#endif /* TURNPIKE_LOAD_H */
