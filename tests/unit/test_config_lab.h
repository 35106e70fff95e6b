/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of the configuration model without a router: a running router that is a shadow under a
 * journal, every change of which can be made to fail, and commands for it.
 */
#ifndef TEST_CONFIG_LAB_H
#define TEST_CONFIG_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/parse.h"
#include "cli/text.h"

#include "configure.h"
#include "load.h"
#include "save.h"
#include "transition.h"

/* ---- a router whose changes can be made to fail ---------------------------------------------- */

static struct net below;
static int fuse = -1; /* changes that still succeed; -1: all */

static inline bool burnt(struct fwd_err *err)
{
	if (fuse != 0) {
		fuse -= fuse > 0;
		return false;
	}
	fuse = -1; /* once */
	if (err != NULL)
		snprintf(err->msg, sizeof(err->msg), "fuse");
	return true;
}

#define BELOW(op, ...) below.ops->op(below.ctx, __VA_ARGS__)

static inline int f_iface_add(void *ctx, const struct fwd_iface_conf *conf, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_add, conf, err);
}

static inline int f_iface_set_mtu(void *ctx, const char *name, uint16_t mtu, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_set_mtu, name, mtu, err);
}

static inline int f_iface_del(void *ctx, const char *name, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_del, name, err);
}

static inline int f_iface_pass(void *ctx, const char *name, struct fwd_pass pass, bool add,
			       struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_pass, name, pass, add, err);
}

static inline int f_iface_set_gro(void *ctx, const char *name, struct fwd_gro gro,
				  struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_set_gro, name, gro, err);
}

static inline int f_address_add(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(address_add, a, err);
}

static inline int f_address_del(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(address_del, a, err);
}

static inline int f_neigh_add(void *ctx, const struct net_neigh *n, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(neigh_add, n, err);
}

static inline int f_neigh_del(void *ctx, uint16_t iface, uint32_t addr_be, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(neigh_del, iface, addr_be, err);
}

#define ADDED_MAX 16

static struct fwd_prefix added[ADDED_MAX]; /* in the order in which routes were added */
static unsigned n_added;
static uint32_t expected[2]; /* routes and networks, by the last route_expect() */

static inline int f_route_add(void *ctx, const struct fwd_route *r, struct fwd_err *err)
{
	(void)ctx;
	if (n_added < ADDED_MAX)
		added[n_added++] = r->prefix;
	return burnt(err) ? -5 : BELOW(route_add, r, err);
}

static inline void f_route_expect(void *ctx, uint32_t routes, uint32_t nets)
{
	(void)ctx;
	expected[0] = routes;
	expected[1] = nets;
}

static inline int f_route_del(void *ctx, struct fwd_prefix prefix, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(route_del, prefix, err);
}

static inline int f_commit(void *ctx, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : 0;
}

static struct net_ops failing;

static struct nat_config *published;
static unsigned n_published;

static inline void publish(struct nat_config *cfg)
{
	if (published != NULL)
		nat_config_free(published);
	published = cfg;
	n_published++;
}

static struct shadow *under;
static struct router live;

static inline void start(void)
{
	under = shadow_create();
	assert_non_null(under);
	below = shadow_net(under);
	failing = *below.ops;
	failing.iface_add = f_iface_add;
	failing.iface_set_mtu = f_iface_set_mtu;
	failing.iface_del = f_iface_del;
	failing.iface_pass = f_iface_pass;
	failing.iface_set_gro = f_iface_set_gro;
	failing.address_add = f_address_add;
	failing.address_del = f_address_del;
	failing.neigh_add = f_neigh_add;
	failing.neigh_del = f_neigh_del;
	failing.route_add = f_route_add;
	failing.route_del = f_route_del;
	failing.route_expect = f_route_expect;
	failing.commit = f_commit;
	fuse = -1;
	assert_int_equal(router_init_running(&live, (struct net){&failing, below.ctx}, publish), 0);
}

static inline void stop(void)
{
	router_free(&live);
	shadow_destroy(under);
	publish(NULL);
}

/* ---- commands -------------------------------------------------------------------------------- */

static struct cli_error err;

static inline bool run_on(struct router *r, const char *text)
{
	static struct cli_words words;
	static struct cli_cmd cmd;
	char line[1024];

	snprintf(line, sizeof(line), "%s", text);
	memset(&err, 0, sizeof(err));
	if (cli_parse(&words, line, strlen(line), 0, &cmd, &err) != 1)
		return false;
	return configure_run(r, &cmd, &err);
}

static inline void commit(void)
{
	struct fwd_err e;

	assert_int_equal(router_commit(&live, &e), 0);
}

static inline char *text_of(const struct router *r)
{
	struct buf b = {0};

	buf_puts(&b, "");
	save_text(&b, r);
	assert_false(b.failed);
	return b.s;
}

static inline void does(const char *text)
{
	if (!run_on(&live, text))
		fail_msg("'%s': %s; %s", text, err.message, err.hint);
	commit();
}

/* Refused, with these pieces in message and hint, and nothing has changed. */
static inline void refuses(const char *text, const char *message, const char *hint)
{
	char *before = text_of(&live), *after;

	if (run_on(&live, text))
		fail_msg("'%s' was done", text);
	if (strstr(err.message, message) == NULL || strstr(err.hint, hint) == NULL)
		fail_msg("'%s': '%s'; '%s'", text, err.message, err.hint);
	commit();
	after = text_of(&live);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static inline void is(const char *text)
{
	char *now = text_of(&live);

	assert_string_equal(now, text);
	free(now);
}

static inline void two_ports(void)
{
	does("interface add lan devargs net_null0");
	does("interface add wan devargs net_null1,no-rx=1 mtu 1400");
	does("address add 10.0.0.1/24 interface lan");
	does("address add 203.0.113.1/24 interface wan");
}

static inline struct load *load_text(const char *text)
{
	struct load *l = load_start("test.conf");

	assert_non_null(l);
	load_feed(l, text, strlen(text));
	return l;
}

#endif /* TEST_CONFIG_LAB_H */
