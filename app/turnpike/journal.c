/* SPDX-License-Identifier: BSD-3-Clause */
/* A journal between commands and a net. See journal.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journal.h"

enum what {
	IFACE_ADDED,
	IFACE_DELETED,
	MTU_SET,
	GRO_SET,
	PASS_ADDED,
	PASS_DELETED,
	ADDRESS_ADDED,
	ADDRESS_DELETED,
	NEIGH_ADDED,
	NEIGH_DELETED,
	ROUTE_ADDED,
	ROUTE_DELETED
};

/* Interfaces are named, as a number does not survive that an interface is closed and opened again.
 */
struct journal_entry {
	enum what what;
	char iface[FWD_NAME_LEN];
	union {
		struct net_iface *deleted;
		struct {
			uint16_t conf, in_force;
		} mtu;
		struct fwd_gro gro;
		struct fwd_pass pass;
		struct fwd_address address;
		struct net_neigh neigh;
		struct fwd_prefix prefix;
		struct fwd_route *route;
	};
	char (*via)[FWD_NAME_LEN]; /* route deleted: names of its interfaces */
};

static void drop(struct journal_entry *e)
{
	if (e->what == IFACE_DELETED)
		free(e->deleted);
	if (e->what == ROUTE_DELETED) {
		free(e->route);
		free(e->via);
	}
}

/* Room for one more entry, before the change: a change that can't be noted is not made. */
static struct journal_entry *prepare(struct journal *j, enum what what, struct fwd_err *err)
{
	struct journal_entry *e;

	if (j->n == j->cap) {
		unsigned cap = j->cap > 0 ? j->cap * 2 : 64;

		e = realloc(j->entry, cap * sizeof(*e));
		if (e == NULL) {
			if (err != NULL)
				snprintf(err->msg, sizeof(err->msg), "out of memory");
			return NULL;
		}
		j->entry = e;
		j->cap = cap;
	}
	e = &j->entry[j->n];
	memset(e, 0, sizeof(*e));
	e->what = what;
	return e;
}

static int note(struct journal *j, int ret)
{
	if (ret == 0)
		j->n++;
	else
		drop(&j->entry[j->n]);
	return ret;
}

static void name_of(struct journal *j, uint16_t id, char out[FWD_NAME_LEN])
{
	struct net_iface iface;

	out[0] = '\0';
	if (j->below.ops->iface_get(j->below.ctx, id, &iface) == 0)
		memcpy(out, iface.conf.name, FWD_NAME_LEN);
}

#define BELOW(j, op, ...) ((j)->below.ops->op((j)->below.ctx, __VA_ARGS__))

static int j_iface_add(void *ctx, const struct fwd_iface_conf *conf, struct fwd_err *err)
{
	struct journal *j = ctx;
	struct journal_entry *e = prepare(j, IFACE_ADDED, err);

	if (e == NULL)
		return -ENOMEM;
	memcpy(e->iface, conf->name, sizeof(e->iface));
	return note(j, BELOW(j, iface_add, conf, err));
}

static int j_iface_set_mtu(void *ctx, const char *name, uint16_t mtu, struct fwd_err *err)
{
	struct journal *j = ctx;
	struct journal_entry *e = prepare(j, MTU_SET, err);
	struct net_iface iface;
	int id = BELOW(j, iface_find, name);

	if (e == NULL)
		return -ENOMEM;
	if (id >= 0 && BELOW(j, iface_get, (uint16_t)id, &iface) == 0) {
		e->mtu.conf = iface.conf.mtu;
		e->mtu.in_force = iface.mtu;
	}
	snprintf(e->iface, sizeof(e->iface), "%s", name);
	return note(j, BELOW(j, iface_set_mtu, name, mtu, err));
}

static int j_iface_set_gro(void *ctx, const char *name, struct fwd_gro gro, struct fwd_err *err)
{
	struct journal *j = ctx;
	struct journal_entry *e = prepare(j, GRO_SET, err);
	struct net_iface iface;
	int id = BELOW(j, iface_find, name);

	if (e == NULL)
		return -ENOMEM;
	if (id >= 0 && BELOW(j, iface_get, (uint16_t)id, &iface) == 0)
		e->gro = iface.conf.gro;
	snprintf(e->iface, sizeof(e->iface), "%s", name);
	return note(j, BELOW(j, iface_set_gro, name, gro, err));
}

static int j_iface_pass(void *ctx, const char *name, struct fwd_pass pass, bool add,
			struct fwd_err *err)
{
	struct journal *j = ctx;
	struct journal_entry *e = prepare(j, add ? PASS_ADDED : PASS_DELETED, err);

	if (e == NULL)
		return -ENOMEM;
	e->pass = pass;
	snprintf(e->iface, sizeof(e->iface), "%s", name);
	return note(j, BELOW(j, iface_pass, name, pass, add, err));
}

static int j_address_add(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	struct journal *j = ctx;
	struct journal_entry *e = prepare(j, ADDRESS_ADDED, err);

	if (e == NULL)
		return -ENOMEM;
	e->address = *a;
	name_of(j, a->iface, e->iface);
	return note(j, BELOW(j, address_add, a, err));
}

static int j_address_del(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	struct journal *j = ctx;
	struct journal_entry *e = prepare(j, ADDRESS_DELETED, err);

	if (e == NULL)
		return -ENOMEM;
	e->address = *a;
	name_of(j, a->iface, e->iface);
	return note(j, BELOW(j, address_del, a, err));
}

struct find_neigh {
	uint16_t iface;
	uint32_t addr_be;
	struct net_neigh found;
	bool any;
};

static bool same_neigh(void *arg, const struct net_neigh *n)
{
	struct find_neigh *f = arg;

	if (n->iface != f->iface || (f->addr_be != 0 && n->addr_be != f->addr_be))
		return true;
	f->found = *n;
	f->any = true;
	return false;
}

static int j_neigh_del(void *ctx, uint16_t iface, uint32_t addr_be, struct fwd_err *err)
{
	struct journal *j = ctx;
	struct find_neigh f = {.iface = iface, .addr_be = addr_be};
	struct journal_entry *e;

	BELOW(j, neigh_each, same_neigh, &f);
	if (!f.any) /* a learned one: it comes back by itself */
		return BELOW(j, neigh_del, iface, addr_be, err);
	e = prepare(j, NEIGH_DELETED, err);
	if (e == NULL)
		return -ENOMEM;
	e->neigh = f.found;
	name_of(j, iface, e->iface);
	return note(j, BELOW(j, neigh_del, iface, addr_be, err));
}

static int j_neigh_add(void *ctx, const struct net_neigh *n, struct fwd_err *err)
{
	struct journal *j = ctx;
	struct journal_entry *e = prepare(j, NEIGH_ADDED, err);

	if (e == NULL)
		return -ENOMEM;
	e->neigh = *n;
	name_of(j, n->iface, e->iface);
	return note(j, BELOW(j, neigh_add, n, err));
}

static int j_route_add(void *ctx, const struct fwd_route *r, struct fwd_err *err)
{
	struct journal *j = ctx;
	struct journal_entry *e = prepare(j, ROUTE_ADDED, err);

	if (e == NULL)
		return -ENOMEM;
	e->prefix = r->prefix;
	return note(j, BELOW(j, route_add, r, err));
}

static int j_route_del(void *ctx, struct fwd_prefix prefix, struct fwd_err *err)
{
	struct journal *j = ctx;
	struct journal_entry *e;
	struct fwd_route route;

	if (BELOW(j, route_get, prefix, &route) != 0)
		return BELOW(j, route_del, prefix, err);
	e = prepare(j, ROUTE_DELETED, err);
	if (e == NULL)
		return -ENOMEM;
	e->route = malloc(sizeof(route));
	e->via = calloc(route.n_via + 1, sizeof(*e->via));
	if (e->route == NULL || e->via == NULL) {
		drop(e);
		return -ENOMEM;
	}
	*e->route = route;
	for (unsigned i = 0; i < route.n_via; i++)
		name_of(j, route.via[i].iface, e->via[i]);
	return note(j, BELOW(j, route_del, prefix, err));
}

/* An interface takes its addresses and neighbours with it: they are taken away first, one by one.
 */
static int j_iface_del(void *ctx, const char *name, struct fwd_err *err)
{
	struct journal *j = ctx;
	int id = BELOW(j, iface_find, name);
	struct journal_entry *e;
	struct fwd_address a;
	unsigned n = 0;
	int ret;

	if (id < 0)
		return BELOW(j, iface_del, name, err);
	for (;;) {
		struct find_neigh f = {.iface = (uint16_t)id};

		BELOW(j, neigh_each, same_neigh, &f);
		if (!f.any)
			break;
		ret = j_neigh_del(j, f.iface, f.found.addr_be, err);
		if (ret != 0)
			return ret;
	}
	while (BELOW(j, address_get, n, &a) == 0)
		n++;
	while (n-- > 0) { /* backwards, so that they come back in their order */
		if (BELOW(j, address_get, n, &a) != 0 || a.iface != id)
			continue;
		ret = j_address_del(j, &a, err);
		if (ret != 0)
			return ret;
	}
	e = prepare(j, IFACE_DELETED, err);
	if (e == NULL)
		return -ENOMEM;
	e->deleted = malloc(sizeof(*e->deleted));
	if (e->deleted == NULL)
		return -ENOMEM;
	BELOW(j, iface_get, (uint16_t)id, e->deleted);
	memcpy(e->iface, e->deleted->conf.name, sizeof(e->iface));
	return note(j, BELOW(j, iface_del, name, err));
}

static int j_iface_find(void *ctx, const char *name)
{
	return BELOW((struct journal *)ctx, iface_find, name);
}

static int j_iface_get(void *ctx, uint16_t id, struct net_iface *out)
{
	return BELOW((struct journal *)ctx, iface_get, id, out);
}

static int j_address_get(void *ctx, unsigned i, struct fwd_address *a)
{
	return BELOW((struct journal *)ctx, address_get, i, a);
}

static void j_neigh_each(void *ctx, bool (*fn)(void *arg, const struct net_neigh *n), void *arg)
{
	BELOW((struct journal *)ctx, neigh_each, fn, arg);
}

static int j_route_get(void *ctx, struct fwd_prefix prefix, struct fwd_route *out)
{
	return BELOW((struct journal *)ctx, route_get, prefix, out);
}

static void j_route_each(void *ctx, bool (*fn)(void *arg, const struct fwd_route *r), void *arg)
{
	BELOW((struct journal *)ctx, route_each, fn, arg);
}

static void j_route_expect(void *ctx, uint32_t routes, uint32_t nets)
{
	BELOW((struct journal *)ctx, route_expect, routes, nets);
}

static int j_commit(void *ctx, struct fwd_err *err)
{
	return BELOW((struct journal *)ctx, commit, err);
}

static const struct net_ops journal_ops = {
	.iface_add = j_iface_add,
	.iface_set_mtu = j_iface_set_mtu,
	.iface_set_gro = j_iface_set_gro,
	.iface_del = j_iface_del,
	.iface_pass = j_iface_pass,
	.iface_find = j_iface_find,
	.iface_get = j_iface_get,
	.address_add = j_address_add,
	.address_del = j_address_del,
	.address_get = j_address_get,
	.neigh_add = j_neigh_add,
	.neigh_del = j_neigh_del,
	.neigh_each = j_neigh_each,
	.route_add = j_route_add,
	.route_del = j_route_del,
	.route_get = j_route_get,
	.route_each = j_route_each,
	.route_expect = j_route_expect,
	.commit = j_commit,
};

/* ---- taking back ----------------------------------------------------------------------------- */

static int reopen(struct journal *j, const struct net_iface *iface)
{
	int ret = BELOW(j, iface_add, &iface->conf, NULL);

	for (unsigned i = 0; ret == 0 && i < iface->n_pass; i++)
		ret = BELOW(j, iface_pass, iface->conf.name, iface->pass[i], true, NULL);
	return ret;
}

static int restore_route(struct journal *j, struct journal_entry *e)
{
	for (unsigned i = 0; i < e->route->n_via; i++) {
		int id = BELOW(j, iface_find, e->via[i]);

		e->route->via[i].iface = id >= 0 ? (uint16_t)id : FWD_IFACE_NONE;
	}
	return BELOW(j, route_add, e->route, NULL);
}

static int take_back(struct journal *j, struct journal_entry *e)
{
	int id = e->iface[0] != '\0' ? BELOW(j, iface_find, e->iface) : -ENOENT;

	switch (e->what) {
	case IFACE_ADDED:
		return BELOW(j, iface_del, e->iface, NULL);
	case IFACE_DELETED:
		return reopen(j, e->deleted);
	case MTU_SET:
		/* Back to the device's own default, or at least to what that was. */
		if (BELOW(j, iface_set_mtu, e->iface, e->mtu.conf, NULL) == 0)
			return 0;
		return BELOW(j, iface_set_mtu, e->iface, e->mtu.in_force, NULL);
	case GRO_SET:
		return BELOW(j, iface_set_gro, e->iface, e->gro, NULL);
	case PASS_ADDED:
	case PASS_DELETED:
		return BELOW(j, iface_pass, e->iface, e->pass, e->what == PASS_DELETED, NULL);
	case ADDRESS_ADDED:
	case ADDRESS_DELETED:
		if (id < 0)
			return id;
		e->address.iface = (uint16_t)id;
		return e->what == ADDRESS_ADDED ? BELOW(j, address_del, &e->address, NULL)
						: BELOW(j, address_add, &e->address, NULL);
	case NEIGH_ADDED:
		return id < 0 ? id : BELOW(j, neigh_del, (uint16_t)id, e->neigh.addr_be, NULL);
	case NEIGH_DELETED:
		if (id < 0)
			return id;
		e->neigh.iface = (uint16_t)id;
		return BELOW(j, neigh_add, &e->neigh, NULL);
	case ROUTE_ADDED:
		return BELOW(j, route_del, e->prefix, NULL);
	case ROUTE_DELETED:
		return restore_route(j, e);
	}
	return 0;
}

unsigned journal_undo(struct journal *j, unsigned mark)
{
	unsigned failed = 0;

	while (j->n > mark) {
		struct journal_entry *e = &j->entry[--j->n];

		if (take_back(j, e) != 0)
			failed++;
		drop(e);
	}
	return failed;
}

void journal_forget(struct journal *j)
{
	for (unsigned i = 0; i < j->n; i++)
		drop(&j->entry[i]);
	j->n = 0;
	if (j->cap > 65536) {
		free(j->entry);
		j->entry = NULL;
		j->cap = 0;
	}
}

void journal_init(struct journal *j, struct net below)
{
	memset(j, 0, sizeof(*j));
	j->below = below;
}

void journal_free(struct journal *j)
{
	journal_forget(j);
	free(j->entry);
	memset(j, 0, sizeof(*j));
}

struct net journal_net(struct journal *j)
{
	return (struct net){.ops = &journal_ops, .ctx = j};
}
