/* SPDX-License-Identifier: BSD-3-Clause */
/* From what the running router is to what a file describes. See transition.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

#include "transition.h"

#define NET(r, op, ...) ((r)->net.ops->op((r)->net.ctx, __VA_ARGS__))

/* What becomes of a running interface. */
enum fate { NONE, KEEP, REPLACE, CLOSE };

struct plan {
	struct router *live;
	const struct router *want;
	enum fate fate[FWD_MAX_IFACES]; /* by the running router's ids */
	bool in_use[FWD_MAX_IFACES]; /* closing before the rest: its device is wanted elsewhere */
	bool opened[FWD_MAX_IFACES]; /* by want's ids */
	int live_of[FWD_MAX_IFACES]; /* the running router's ids by want's, where there is one */
	struct cli_error *e;
	struct fwd_err err;
	/* routes to take away, found while the running ones are walked */
	struct fwd_prefix *route;
	size_t n_routes, cap_routes;
	uint32_t n_wanted; /* routes; n_nets: /24 networks with longer ones among them */
	uint32_t n_nets, last_net;
	/* prefixes of addresses that go: routes by gateways in them go first and come back */
	struct fwd_address *leaving;
	unsigned n_leaving;
	bool failed;
};

static bool give_up(struct plan *p, int ret, const char *what)
{
	cli_error_set(p->e, 1, 0, "%s%s%s", what, what[0] != '\0' ? ": " : "",
		      p->err.msg[0] != '\0' ? p->err.msg : strerror(-ret));
	return false;
}

static int want_id(const struct plan *p, const char *name)
{
	return NET(p->want, iface_find, name);
}

static int live_id(const struct plan *p, const char *name)
{
	return NET(p->live, iface_find, name);
}

/* The running router's id for an interface of want's. */
static int live_id_of(const struct plan *p, uint16_t id)
{
	struct net_iface iface;

	if (NET(p->want, iface_get, id, &iface) != 0)
		return -ENOENT;
	return live_id(p, iface.conf.name);
}

/* ---- interfaces ------------------------------------------------------------------------------ */

static bool same_device(const struct fwd_iface_conf *a, const struct fwd_iface_conf *b)
{
	return a->vlan == b->vlan && strcmp(a->devargs, b->devargs) == 0 &&
	       strcmp(a->parent, b->parent) == 0;
}

static bool carries_vlans(const struct router *r, const char *name)
{
	struct net_iface iface;

	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		if (NET(r, iface_get, (uint16_t)i, &iface) == 0 &&
		    strcmp(iface.conf.parent, name) == 0)
			return true;
	}
	return false;
}

/* An MTU goes back to the device's own in flight, too; but what that is nobody knows before, and
 * VLANs must change between those that rise and those that sink. */
static bool mtu_can_follow(const struct plan *p, const struct net_iface *live,
			   const struct net_iface *want)
{
	return want->conf.mtu > 0 || live->conf.mtu == 0 ||
	       (!carries_vlans(p->live, live->conf.name) &&
		!carries_vlans(p->want, want->conf.name));
}

static void plan_ifaces(struct plan *p)
{
	struct net_iface live, want, other;

	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		int id;

		p->fate[i] = NONE;
		if (NET(p->live, iface_get, (uint16_t)i, &live) != 0)
			continue;
		id = want_id(p, live.conf.name);
		if (id < 0 || NET(p->want, iface_get, (uint16_t)id, &want) != 0)
			p->fate[i] = CLOSE;
		else if (same_device(&live.conf, &want.conf) && live.conf.rxqs == want.conf.rxqs &&
			 live.conf.rss == want.conf.rss && mtu_can_follow(p, &live, &want))
			p->fate[i] = KEEP;
		else
			p->fate[i] = REPLACE;
	}
	/* A VLAN goes with what carries it; a device can only be opened again once it is closed. */
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		if (p->fate[i] == NONE || NET(p->live, iface_get, (uint16_t)i, &live) != 0)
			continue;
		if (live.conf.vlan > 0) {
			int parent = live_id(p, live.conf.parent);

			if (p->fate[i] == KEEP && parent >= 0 && p->fate[parent] != KEEP)
				p->fate[i] = REPLACE;
		}
		if (p->fate[i] != CLOSE)
			continue;
		for (unsigned k = 0; k < FWD_MAX_IFACES; k++) {
			if (NET(p->want, iface_get, (uint16_t)k, &other) == 0 &&
			    same_device(&other.conf, &live.conf))
				p->in_use[i] = true;
		}
	}
	/* What lies on one that closes early closes early too. */
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		int parent;

		if (p->fate[i] != CLOSE || NET(p->live, iface_get, (uint16_t)i, &live) != 0 ||
		    live.conf.vlan == 0)
			continue;
		parent = live_id(p, live.conf.parent);
		if (parent >= 0 && (p->fate[parent] == REPLACE || p->in_use[parent]))
			p->in_use[i] = true;
	}
}

static bool is_leaving(const struct plan *p, uint16_t id)
{
	return p->fate[id] == REPLACE || p->fate[id] == CLOSE;
}

static bool open_iface(struct plan *p, uint16_t id, const struct net_iface *want)
{
	int ret = NET(p->live, iface_add, &want->conf, &p->err);

	if (ret != 0)
		return give_up(p, ret, want->conf.name);
	p->opened[id] = true;
	return true;
}

/* Opens what is not there. early: only what is new in every way, so that a device that can't be
 * opened is found out before anything else has changed. */
static bool open_ifaces(struct plan *p, bool early)
{
	for (unsigned vlan = 0; vlan < 2; vlan++) {
		for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
			struct net_iface want, live;
			bool blocked = false;

			if (NET(p->want, iface_get, (uint16_t)i, &want) != 0 ||
			    (want.conf.vlan > 0) != (vlan > 0) || p->opened[i] ||
			    live_id(p, want.conf.name) >= 0)
				continue;
			for (unsigned k = 0; early && k < FWD_MAX_IFACES; k++) {
				if (p->fate[k] == NONE ||
				    NET(p->live, iface_get, (uint16_t)k, &live) != 0)
					continue;
				blocked = blocked || same_device(&live.conf, &want.conf);
			}
			if (early && vlan > 0) {
				int parent = live_id(p, want.conf.parent);

				blocked = blocked || parent < 0 || p->fate[parent] == REPLACE;
			}
			if (!blocked && !open_iface(p, (uint16_t)i, &want))
				return false;
		}
	}
	return true;
}

/* VLANs first, then what carries them. early: only those whose device or name is wanted again. */
static bool close_ifaces(struct plan *p, bool early, bool *any)
{
	for (unsigned vlan = 2; vlan-- > 0;) {
		for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
			struct net_iface live;
			int ret;

			if (!is_leaving(p, (uint16_t)i) ||
			    (early && p->fate[i] != REPLACE && !p->in_use[i]) ||
			    NET(p->live, iface_get, (uint16_t)i, &live) != 0 ||
			    (live.conf.vlan > 0) != (vlan > 0))
				continue;
			ret = NET(p->live, iface_del, live.conf.name, &p->err);
			if (ret != 0)
				return give_up(p, ret, live.conf.name);
			p->fate[i] = NONE;
			*any = true;
		}
	}
	return true;
}

static bool has_pass(const struct net_iface *iface, struct fwd_pass pass)
{
	for (unsigned i = 0; i < iface->n_pass; i++) {
		if (iface->pass[i].protocol == pass.protocol && iface->pass[i].port == pass.port)
			return true;
	}
	return false;
}

/* A VLAN's MTU is never above that of what carries it: carriers rise before VLANs change, and sink
 * after. */
static bool set_mtus(struct plan *p, bool vlans, bool rise)
{
	struct net_iface want, live;

	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		int id, ret;

		if (NET(p->want, iface_get, (uint16_t)i, &want) != 0 ||
		    (want.conf.vlan > 0) != vlans)
			continue;
		id = live_id(p, want.conf.name);
		if (id < 0 || NET(p->live, iface_get, (uint16_t)id, &live) != 0 ||
		    p->fate[id] == REPLACE || p->fate[id] == CLOSE ||
		    live.conf.mtu == want.conf.mtu ||
		    (!vlans && (want.conf.mtu > live.mtu) != rise))
			continue;
		ret = NET(p->live, iface_set_mtu, want.conf.name, want.conf.mtu, &p->err);
		if (ret != 0)
			return give_up(p, ret, want.conf.name);
	}
	return true;
}

static bool set_passes(struct plan *p)
{
	struct net_iface want, live;
	int ret = 0;

	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		int id;

		if (NET(p->want, iface_get, (uint16_t)i, &want) != 0)
			continue;
		id = live_id(p, want.conf.name);
		if (id < 0 || NET(p->live, iface_get, (uint16_t)id, &live) != 0)
			continue;
		for (unsigned k = 0; ret == 0 && k < live.n_pass; k++) {
			if (!has_pass(&want, live.pass[k]))
				ret = NET(p->live, iface_pass, want.conf.name, live.pass[k], false,
					  &p->err);
		}
		for (unsigned k = 0; ret == 0 && k < want.n_pass; k++) {
			if (!has_pass(&live, want.pass[k]))
				ret = NET(p->live, iface_pass, want.conf.name, want.pass[k], true,
					  &p->err);
		}
		if (ret != 0)
			return give_up(p, ret, want.conf.name);
	}
	return true;
}

static bool set_gro(struct plan *p)
{
	struct net_iface want, live;

	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		int id, ret;

		if (NET(p->want, iface_get, (uint16_t)i, &want) != 0)
			continue;
		id = live_id(p, want.conf.name);
		if (id < 0 || NET(p->live, iface_get, (uint16_t)id, &live) != 0 ||
		    (live.conf.gro.on == want.conf.gro.on &&
		     live.conf.gro.validate == want.conf.gro.validate &&
		     live.conf.gro.timeout_us == want.conf.gro.timeout_us &&
		     live.conf.gro.udp == want.conf.gro.udp))
			continue;
		ret = NET(p->live, iface_set_gro, want.conf.name, want.conf.gro, &p->err);
		if (ret != 0)
			return give_up(p, ret, want.conf.name);
	}
	return true;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* The n-th address of an interface. */
static bool nth_address(const struct router *r, int iface, unsigned n, struct fwd_address *a)
{
	for (unsigned i = 0; iface >= 0 && NET(r, address_get, i, a) == 0; i++) {
		if (a->iface == iface && n-- == 0)
			return true;
	}
	return false;
}

/* How many addresses, from the first one on, are the same: their order tells which one masquerade
 * uses. */
static unsigned common_addresses(const struct plan *p, int live_iface, int want_iface)
{
	struct fwd_address a, b;
	unsigned n = 0;

	while (nth_address(p->live, live_iface, n, &a) && nth_address(p->want, want_iface, n, &b) &&
	       a.addr_be == b.addr_be && a.len == b.len)
		n++;
	return n;
}

static bool plan_addresses(struct plan *p)
{
	struct net_iface live;
	struct fwd_address a;

	p->leaving = calloc(FWD_MAX_IFACES * FWD_IFACE_ADDRS, sizeof(*p->leaving));
	if (p->leaving == NULL)
		return give_up(p, -ENOMEM, "");
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		unsigned n = 0;

		if (p->fate[i] == NONE || NET(p->live, iface_get, (uint16_t)i, &live) != 0)
			continue;
		if (p->fate[i] == KEEP)
			n = common_addresses(p, (int)i, want_id(p, live.conf.name));
		while (p->n_leaving < FWD_MAX_IFACES * FWD_IFACE_ADDRS &&
		       nth_address(p->live, (int)i, n++, &a))
			p->leaving[p->n_leaving++] = a;
	}
	return true;
}

/* Does an address that goes have this one in its prefix? */
static bool in_leaving_prefix(const struct plan *p, uint16_t iface, uint32_t addr_be)
{
	for (unsigned i = 0; i < p->n_leaving; i++) {
		const struct fwd_address *a = &p->leaving[i];

		if (a->iface == iface && ((a->addr_be ^ addr_be) & text_mask_be(a->len)) == 0)
			return true;
	}
	return false;
}

static bool remove_addresses(struct plan *p)
{
	for (unsigned i = p->n_leaving; i-- > 0;) {
		int ret = NET(p->live, address_del, &p->leaving[i], &p->err);

		if (ret != 0)
			return give_up(p, ret, "");
	}
	return true;
}

static bool add_addresses(struct plan *p)
{
	struct fwd_address a;

	for (unsigned i = 0; NET(p->want, address_get, i, &a) == 0; i++) {
		int id = live_id_of(p, a.iface), ret;

		if (id < 0)
			return give_up(p, id, "");
		a.iface = (uint16_t)id;
		ret = NET(p->live, address_add, &a, &p->err);
		if (ret != 0 && ret != -EEXIST)
			return give_up(p, ret, "");
	}
	return true;
}

/* ---- neighbours ------------------------------------------------------------------------------ */

struct find_neigh {
	const struct net_neigh *n;
	uint16_t iface;
	bool found;
};

static bool same_neigh(void *arg, const struct net_neigh *n)
{
	struct find_neigh *f = arg;

	f->found = n->iface == f->iface && n->addr_be == f->n->addr_be &&
		   memcmp(n->mac, f->n->mac, sizeof(n->mac)) == 0;
	return !f->found;
}

struct neighs {
	struct plan *p;
	struct net_neigh *list;
	size_t n;
};

static bool collect_neigh(void *arg, const struct net_neigh *n)
{
	struct neighs *all = arg;
	struct net_neigh *list = realloc(all->list, (all->n + 1) * sizeof(*list));

	if (list == NULL) {
		all->p->failed = true;
		return false;
	}
	all->list = list;
	list[all->n++] = *n;
	return true;
}

static bool remove_neighs(struct plan *p)
{
	struct neighs all = {.p = p};
	struct net_iface live;
	bool ok = true;

	NET(p->live, neigh_each, collect_neigh, &all);
	for (size_t i = 0; ok && !p->failed && i < all.n; i++) {
		struct find_neigh f = {.n = &all.list[i]};
		int id = NET(p->live, iface_get, all.list[i].iface, &live) == 0
				 ? want_id(p, live.conf.name)
				 : -ENOENT;
		int ret;

		if (id >= 0 && !is_leaving(p, all.list[i].iface) &&
		    !in_leaving_prefix(p, all.list[i].iface, all.list[i].addr_be)) {
			f.iface = (uint16_t)id;
			NET(p->want, neigh_each, same_neigh, &f);
		}
		if (f.found)
			continue;
		ret = NET(p->live, neigh_del, all.list[i].iface, all.list[i].addr_be, &p->err);
		ok = ret == 0 || give_up(p, ret, "");
	}
	free(all.list);
	return p->failed ? give_up(p, -ENOMEM, "") : ok;
}

static bool add_neighs(struct plan *p)
{
	struct neighs all = {.p = p};
	bool ok = true;

	NET(p->want, neigh_each, collect_neigh, &all);
	for (size_t i = 0; ok && !p->failed && i < all.n; i++) {
		struct find_neigh f = {.n = &all.list[i]};
		int id = live_id_of(p, all.list[i].iface), ret;

		if (id < 0) {
			ok = give_up(p, id, "");
			break;
		}
		f.iface = (uint16_t)id;
		NET(p->live, neigh_each, same_neigh, &f);
		if (f.found)
			continue;
		all.list[i].iface = (uint16_t)id;
		ret = NET(p->live, neigh_add, &all.list[i], &p->err);
		ok = ret == 0 || give_up(p, ret, "");
	}
	free(all.list);
	return p->failed ? give_up(p, -ENOMEM, "") : ok;
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* There may be a million routes: their interfaces are found by name once. */
static void map_ifaces(struct plan *p)
{
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++)
		p->live_of[i] = live_id_of(p, (uint16_t)i);
}

static bool same_route(const struct plan *p, const struct fwd_route *live,
		       const struct fwd_route *want)
{
	if (live->n_via != want->n_via)
		return false;
	for (unsigned i = 0; i < live->n_via; i++) {
		if (live->via[i].gw_be != want->via[i].gw_be ||
		    live->via[i].iface != p->live_of[want->via[i].iface])
			return false;
	}
	return true;
}

static bool by_leaving(const struct plan *p, const struct fwd_route *r)
{
	for (unsigned v = 0; v < r->n_via; v++) {
		if (is_leaving(p, r->via[v].iface) ||
		    in_leaving_prefix(p, r->via[v].iface, r->via[v].gw_be))
			return true;
	}
	return false;
}

static bool find_route_to_remove(void *arg, const struct fwd_route *r)
{
	struct plan *p = arg;
	struct fwd_route want;

	if (!by_leaving(p, r) && NET(p->want, route_get, r->prefix, &want) == 0 &&
	    same_route(p, r, &want))
		return true;
	if (p->n_routes == p->cap_routes) {
		size_t cap = p->cap_routes > 0 ? p->cap_routes * 2 : 256;
		struct fwd_prefix *list = realloc(p->route, cap * sizeof(*list));

		if (list == NULL) {
			p->failed = true;
			return false;
		}
		p->route = list;
		p->cap_routes = cap;
	}
	p->route[p->n_routes++] = r->prefix;
	return true;
}

static bool count_route(void *arg, const struct fwd_route *want)
{
	struct plan *p = arg;
	uint32_t net = ntohl(want->prefix.addr_be) >> 8;

	p->n_wanted++;
	if (want->prefix.len > 24 && (p->n_nets == 0 || net != p->last_net)) {
		p->n_nets++;
		p->last_net = net;
	}
	return true;
}

static bool remove_routes(struct plan *p)
{
	map_ifaces(p);
	NET(p->want, route_each, count_route, p);
	NET(p->live, route_each, find_route_to_remove, p);
	if (p->failed)
		return give_up(p, -ENOMEM, "");
	for (size_t i = 0; i < p->n_routes; i++) {
		int ret = NET(p->live, route_del, p->route[i], &p->err);

		if (ret != 0)
			return give_up(p, ret, "");
	}
	return true;
}

static bool add_route(void *arg, const struct fwd_route *want)
{
	struct plan *p = arg;
	struct fwd_route r = *want, there;
	char text[20];
	int ret;

	for (unsigned i = 0; i < r.n_via; i++) {
		int id = p->live_of[want->via[i].iface];

		if (id < 0) {
			p->failed = true;
			return give_up(p, id, "");
		}
		r.via[i].iface = (uint16_t)id;
	}
	if (NET(p->live, route_get, r.prefix, &there) == 0)
		return true; /* those that differ were removed */
	ret = NET(p->live, route_add, &r, &p->err);
	if (ret == 0 || ret == -EEXIST)
		return true;
	p->failed = true;
	return give_up(p, ret, text_put_prefix(text, r.prefix.addr_be, r.prefix.len));
}

static bool add_routes(struct plan *p)
{
	map_ifaces(p);
	NET(p->live, route_expect, p->n_wanted, p->n_nets);
	NET(p->want, route_each, add_route, p);
	return !p->failed;
}

/* ---- translation ----------------------------------------------------------------------------- */

static bool change_nat(struct plan *p)
{
	struct natconf nat;
	int ret;

	if (router_nat_touch(p->live) != 0 || natconf_copy(&nat, &p->want->nat) != 0)
		return give_up(p, -ENOMEM, "");
	ret = natconf_adopt_ids(&nat, &p->live->nat);
	if (ret != 0) {
		natconf_free(&nat);
		return give_up(p, ret, "");
	}
	natconf_free(&p->live->nat);
	p->live->nat = nat;
	ret = router_nat_compile(p->live, &p->err);
	return ret == 0 || give_up(p, ret, "");
}

static bool sizes_fit(const struct plan *p)
{
	const char *key = NULL;
	uint32_t is = 0;

	if (p->want->max_sessions != p->live->max_sessions) {
		key = "max-sessions";
		is = p->live->max_sessions;
	} else if (p->want->max_routes != p->live->max_routes) {
		key = "max-routes";
		is = p->live->max_routes;
	} else if (p->want->packet_buffers != p->live->packet_buffers) {
		key = "packet-buffers";
		is = p->live->packet_buffers;
	}
	if (key == NULL)
		return true;
	cli_error_set(p->e, 1, 0, "%s is %u and takes effect at start", key, is);
	cli_error_hint(p->e, "start the daemon with this file, or leave it out of the file");
	return false;
}

static bool run(struct plan *p)
{
	bool closed = false;
	int ret;

	plan_ifaces(p);
	if (!plan_addresses(p) || !set_mtus(p, false, true) || !open_ifaces(p, true) ||
	    !remove_routes(p) || !remove_neighs(p) || !remove_addresses(p) ||
	    !close_ifaces(p, true, &closed))
		return false;
	/* Workers must let go of a device before it can be opened again. */
	if (closed) {
		ret = p->live->net.ops->commit(p->live->net.ctx, &p->err);
		if (ret != 0)
			return give_up(p, ret, "");
	}
	return open_ifaces(p, false) && set_mtus(p, true, true) && set_mtus(p, false, false) &&
	       set_passes(p) && set_gro(p) && add_addresses(p) && add_neighs(p) && add_routes(p) &&
	       change_nat(p) && close_ifaces(p, false, &closed);
}

bool transition(struct router *live, const struct router *want, struct cli_error *e)
{
	struct plan p = {.live = live, .want = want, .e = e};
	struct natconf before;
	struct fwd_err err = {0};
	unsigned mark = router_mark(live);
	int ret;

	if (!sizes_fit(&p))
		return false;
	if (natconf_copy(&before, &live->nat) != 0)
		return give_up(&p, -ENOMEM, "");
	if (!run(&p)) {
		router_undo(live, mark);
		natconf_free(&live->nat);
		live->nat = before;
		router_nat_compile(live, &err);
		router_commit(live, &err);
		free(p.route);
		free(p.leaving);
		return false;
	}
	natconf_free(&before);
	free(p.route);
	free(p.leaving);
	live->log_level = want->log_level;
	live->changed = true;
	ret = router_commit(live, &err);
	p.err = err;
	return ret == 0 || give_up(&p, ret, "");
}
