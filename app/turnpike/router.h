/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A router as it is configured: the running one, or one that only a file describes. Commands change
 * it through its net, which for the running router is a journal over lib/fwd, so that a refused
 * command, a failed commit and a failed load leave it as it was.
 *
 * Running router: any number of changes, then router_commit().
 */
#ifndef TURNPIKE_ROUTER_H
#define TURNPIKE_ROUTER_H

#include "cli/words.h"

#include "journal.h"
#include "natconf.h"
#include "net.h"

#define ROUTER_MAX_SESSIONS 1000000u /* defaults, as lib/fwd has them */
#define ROUTER_MAX_ROUTES   1048576u
#define ROUTER_BUFFERS	    32768u
#define ROUTER_LOG_LEVEL    FWD_LOG_INFO

struct router {
	struct net net;
	struct natconf nat;
	uint32_t max_sessions, max_routes, packet_buffers; /* settled at start */
	int log_level;
	unsigned line; /* of the configuration file that is being read */

	/* the running router only */
	bool running;
	struct journal journal;
	void (*publish)(struct nat_config *cfg); /* takes the snapshot over: fwd_nat_set */
	struct nat_config *staged;		 /* translation as configured, not published yet */
	bool changed;				 /* since the last commit */
	struct natconf before; /* translation at the last commit, while has_before */
	bool has_before;
	int log_level_before;
};

/* A description without a router. net: of a shadow. */
void router_init_plain(struct router *r, struct net net);
/* The running one, over live_net(). */
int router_init_running(struct router *r, struct net below,
			void (*publish)(struct nat_config *cfg));
void router_free(struct router *r);

/* To be called before translation is changed; -ENOMEM. */
int router_nat_touch(struct router *r);
/* Compiles translation anew, after it or an address or a pass list changed. -EINVAL etc. with err.
 */
int router_nat_compile(struct router *r, struct fwd_err *err);

/* A point to which router_undo() can return before the next commit. It takes translation back only
 * where the caller hands over the copy that it made. */
unsigned router_mark(const struct router *r);
void router_undo(struct router *r, unsigned mark);

/* Publishes all that changed. When that fails everything since the last commit is taken back. */
int router_commit(struct router *r, struct fwd_err *err);

/* Name of an interface by id, in a buffer of FWD_NAME_LEN. */
const char *router_iface_name(const struct router *r, uint16_t id, char *out);

#endif /* TURNPIKE_ROUTER_H */
