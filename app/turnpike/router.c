/* SPDX-License-Identifier: BSD-3-Clause */
/* A router as it is configured. See router.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "router.h"

void router_init_plain(struct router *r, struct net net)
{
	memset(r, 0, sizeof(*r));
	r->net = net;
	r->max_sessions = ROUTER_MAX_SESSIONS;
	r->max_routes = ROUTER_MAX_ROUTES;
	r->packet_buffers = ROUTER_BUFFERS;
	r->log_level = ROUTER_LOG_LEVEL;
	natconf_init(&r->nat);
}

int router_init_running(struct router *r, struct net below, void (*publish)(struct nat_config *cfg))
{
	struct fwd_err err;

	router_init_plain(r, below);
	journal_init(&r->journal, below);
	r->net = journal_net(&r->journal);
	r->running = true;
	r->publish = publish;
	r->log_level_before = r->log_level;
	return router_nat_compile(r, &err);
}

void router_free(struct router *r)
{
	if (r->running) {
		journal_free(&r->journal);
		if (r->staged != NULL)
			nat_config_free(r->staged);
		if (r->has_before)
			natconf_free(&r->before);
	}
	natconf_free(&r->nat);
	memset(r, 0, sizeof(*r));
}

int router_nat_touch(struct router *r)
{
	if (!r->running || r->has_before)
		return 0;
	if (natconf_copy(&r->before, &r->nat) != 0)
		return -ENOMEM;
	r->has_before = true;
	return 0;
}

int router_nat_compile(struct router *r, struct fwd_err *err)
{
	struct nat_config *cfg =
		natconf_build(&r->nat, r->nat.n_rules, &r->net, err->msg, sizeof(err->msg));

	if (cfg == NULL) {
		int ret = errno > 0 ? -errno : -EINVAL;

		if (err->msg[0] == '\0')
			snprintf(err->msg, sizeof(err->msg), "translation: %s", strerror(-ret));
		return ret;
	}
	if (!r->running) {
		nat_config_free(cfg);
		return 0;
	}
	if (r->staged != NULL)
		nat_config_free(r->staged);
	r->staged = cfg;
	r->changed = true;
	return 0;
}

unsigned router_mark(const struct router *r)
{
	return r->running ? r->journal.n : 0;
}

void router_undo(struct router *r, unsigned mark)
{
	if (r->running)
		journal_undo(&r->journal, mark);
}

static int publish_all(struct router *r, struct fwd_err *err)
{
	if (r->staged != NULL) {
		r->publish(r->staged);
		r->staged = NULL;
	}
	return r->net.ops->commit(r->net.ctx, err);
}

static void settle(struct router *r)
{
	journal_forget(&r->journal);
	if (r->has_before)
		natconf_free(&r->before);
	r->has_before = false;
	r->changed = false;
	r->log_level_before = r->log_level;
}

int router_commit(struct router *r, struct fwd_err *err)
{
	struct fwd_err second;
	int ret;

	if (!r->running || (!r->changed && r->journal.n == 0))
		return 0;
	ret = publish_all(r, err);
	if (ret != 0) {
		journal_undo(&r->journal, 0);
		if (r->has_before) {
			natconf_free(&r->nat);
			r->nat = r->before;
			r->has_before = false;
		}
		r->log_level = r->log_level_before;
		if (router_nat_compile(r, &second) == 0)
			publish_all(r, &second);
	}
	settle(r);
	return ret;
}

const char *router_iface_name(const struct router *r, uint16_t id, char *out)
{
	struct net_iface iface;

	snprintf(out, FWD_NAME_LEN, "?");
	if (r->net.ops->iface_get(r->net.ctx, id, &iface) == 0)
		snprintf(out, FWD_NAME_LEN, "%s", iface.conf.name);
	return out;
}
