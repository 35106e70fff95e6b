/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces, addresses, neighbours and routes in memory only. See shadow.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

#include "shadow.h"

/* A route as kept: most have one gateway. A route that was removed stays as a grave (n_via 0),
 * which the next one of the same prefix takes over. */
struct entry {
	struct fwd_prefix prefix;
	uint8_t n_via;
	struct fwd_via first;
	struct fwd_via *more; /* n_via - 1 */
};

struct shadow {
	struct net_iface iface[FWD_MAX_IFACES];
	bool used[FWD_MAX_IFACES];
	struct fwd_address *address;
	unsigned n_addresses;
	struct net_neigh *neigh;
	unsigned n_neigh;
	struct entry *route;
	uint32_t n_routes, cap_routes; /* graves included */
	bool sorted;		       /* routes stand as s_route_each() gives them */
	uint32_t *slot;		       /* hash of prefix -> route + 1; a power of two */
	uint32_t n_slots;
};

static int fail(struct fwd_err *err, int ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct fwd_err *err, int ret, const char *fmt, ...)
{
	va_list ap;

	if (err == NULL)
		return ret;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return ret;
}

static bool in_prefix(uint32_t addr_be, const struct fwd_address *a)
{
	return ((addr_be ^ a->addr_be) & text_mask_be(a->len)) == 0;
}

/* Is it the address itself, or its prefix's network or broadcast address? */
static bool is_taken(const struct fwd_address *a, uint32_t addr_be)
{
	uint32_t mask = text_mask_be(a->len);

	return addr_be == a->addr_be || (a->len <= 30 && (addr_be == (a->addr_be & mask) ||
							  addr_be == (a->addr_be | ~mask)));
}

/* ---- routes: the table ----------------------------------------------------------------------- */

static uint32_t hash_prefix(struct fwd_prefix p)
{
	uint64_t h = ((uint64_t)p.addr_be << 8 | p.len) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 32);
}

static struct entry *find_route(const struct shadow *s, struct fwd_prefix p)
{
	if (s->n_slots == 0)
		return NULL;
	for (uint32_t i = hash_prefix(p);; i++) {
		uint32_t r = s->slot[i & (s->n_slots - 1)];

		if (r == 0)
			return NULL;
		if (s->route[r - 1].prefix.addr_be == p.addr_be &&
		    s->route[r - 1].prefix.len == p.len)
			return &s->route[r - 1];
	}
}

static void put_slot(struct shadow *s, uint32_t r)
{
	uint32_t i = hash_prefix(s->route[r].prefix);

	while (s->slot[i & (s->n_slots - 1)] != 0)
		i++;
	s->slot[i & (s->n_slots - 1)] = r + 1;
}

static int by_prefix(const void *a, const void *b)
{
	const struct fwd_prefix *x = &((const struct entry *)a)->prefix;
	const struct fwd_prefix *y = &((const struct entry *)b)->prefix;

	if (x->addr_be != y->addr_be)
		return ntohl(x->addr_be) < ntohl(y->addr_be) ? -1 : 1;
	return (int)x->len - (int)y->len;
}

static void sort_routes(struct shadow *s)
{
	qsort(s->route, s->n_routes, sizeof(*s->route), by_prefix);
	memset(s->slot, 0, s->n_slots * sizeof(*s->slot));
	for (uint32_t r = 0; r < s->n_routes; r++)
		put_slot(s, r);
	s->sorted = true;
}

static struct entry *new_route(struct shadow *s, struct fwd_prefix p)
{
	s->sorted = false;
	if (s->n_routes == s->cap_routes) {
		uint32_t cap = s->cap_routes > 0 ? s->cap_routes * 2 : 64;
		struct entry *routes = realloc(s->route, cap * sizeof(*routes));

		if (routes == NULL)
			return NULL;
		s->route = routes;
		s->cap_routes = cap;
	}
	if ((s->n_routes + 1) * 2 > s->n_slots) {
		uint32_t n = s->n_slots > 0 ? s->n_slots * 2 : 128;
		uint32_t *slots = calloc(n, sizeof(*slots));

		if (slots == NULL)
			return NULL;
		free(s->slot);
		s->slot = slots;
		s->n_slots = n;
		for (uint32_t r = 0; r < s->n_routes; r++)
			put_slot(s, r);
	}
	memset(&s->route[s->n_routes], 0, sizeof(struct entry));
	s->route[s->n_routes].prefix = p;
	put_slot(s, s->n_routes);
	return &s->route[s->n_routes++];
}

static struct fwd_via via_of(const struct entry *e, unsigned i)
{
	return i == 0 ? e->first : e->more[i - 1];
}

static void bury(struct entry *e)
{
	free(e->more);
	e->more = NULL;
	e->n_via = 0;
}

static void unpack(const struct entry *e, struct fwd_route *out)
{
	memset(out, 0, sizeof(*out));
	out->prefix = e->prefix;
	out->type = FWD_ROUTE_STATIC;
	out->iface = FWD_IFACE_NONE;
	out->n_via = e->n_via;
	for (unsigned i = 0; i < e->n_via; i++)
		out->via[i] = via_of(e, i);
}

/* ---- interfaces ------------------------------------------------------------------------------ */

static int s_iface_find(void *ctx, const char *name)
{
	struct shadow *s = ctx;

	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		if (s->used[i] && strcmp(s->iface[i].conf.name, name) == 0)
			return (int)i;
	}
	return -ENOENT;
}

static int s_iface_get(void *ctx, uint16_t id, struct net_iface *out)
{
	struct shadow *s = ctx;

	if (id >= FWD_MAX_IFACES || !s->used[id])
		return -ENOENT;
	*out = s->iface[id];
	return 0;
}

static int s_iface_add(void *ctx, const struct fwd_iface_conf *conf, struct fwd_err *err)
{
	struct shadow *s = ctx;
	unsigned id = 0;

	if (s_iface_find(s, conf->name) >= 0)
		return fail(err, -EEXIST, "interface '%s' exists", conf->name);
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		const struct fwd_iface_conf *c = &s->iface[i].conf;

		if (!s->used[i])
			continue;
		if (conf->vlan == 0 && c->vlan == 0 && strcmp(c->devargs, conf->devargs) == 0)
			return fail(err, -EEXIST, "device '%s' is interface '%s' already",
				    conf->devargs, c->name);
		if (conf->vlan > 0 && c->vlan == conf->vlan && strcmp(c->parent, conf->parent) == 0)
			return fail(err, -EEXIST, "VLAN %u of '%s' is interface '%s' already",
				    c->vlan, c->parent, c->name);
	}
	if (conf->rss != FWD_RSS_FLOW && conf->rxqs < 2)
		return fail(err, -EINVAL,
			    "rss other than flow takes 2 receive queues or more (rxqs N)");
	if (conf->vlan > 0) {
		int parent = s_iface_find(s, conf->parent);

		if (parent < 0)
			return fail(err, -ENOENT, "no interface '%s'", conf->parent);
		if (s->iface[parent].conf.vlan > 0)
			return fail(err, -EINVAL, "'%s' is a VLAN interface itself", conf->parent);
		if (s->iface[parent].conf.mtu > 0 && conf->mtu > s->iface[parent].conf.mtu)
			return fail(err, -EINVAL, "MTU %u is above that of '%s', %u", conf->mtu,
				    conf->parent, s->iface[parent].conf.mtu);
	}
	while (id < FWD_MAX_IFACES && s->used[id])
		id++;
	if (id == FWD_MAX_IFACES)
		return fail(err, -ENOSPC, "more than %u interfaces", FWD_MAX_IFACES);
	memset(&s->iface[id], 0, sizeof(s->iface[id]));
	s->iface[id].id = (uint16_t)id;
	s->iface[id].conf = *conf;
	s->iface[id].mtu = conf->mtu > 0 ? conf->mtu : 1500;
	s->used[id] = true;
	return 0;
}

static int s_iface_set_mtu(void *ctx, const char *name, uint16_t mtu, struct fwd_err *err)
{
	struct shadow *s = ctx;
	int id = s_iface_find(s, name);

	if (id < 0)
		return fail(err, id, "no interface '%s'", name);
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		const struct fwd_iface_conf *c = &s->iface[i].conf, *m = &s->iface[id].conf;

		if (!s->used[i] || mtu == 0)
			continue;
		if (c->vlan > 0 && strcmp(c->parent, name) == 0 && c->mtu > mtu)
			return fail(err, -EBUSY,
				    "VLAN interface '%s' has an MTU of %u: lower that first",
				    c->name, c->mtu);
		if (m->vlan > 0 && strcmp(m->parent, c->name) == 0 && c->mtu > 0 && mtu > c->mtu)
			return fail(err, -EINVAL, "MTU %u is above that of '%s', %u", mtu, c->name,
				    c->mtu);
	}
	s->iface[id].conf.mtu = mtu;
	s->iface[id].mtu = mtu > 0 ? mtu : 1500;
	return 0;
}

static int s_iface_set_gro(void *ctx, const char *name, struct fwd_gro gro, struct fwd_err *err)
{
	struct shadow *s = ctx;
	int id = s_iface_find(s, name);

	if (id < 0)
		return fail(err, id, "no interface '%s'", name);
	s->iface[id].conf.gro = gro;
	return 0;
}

static int s_iface_del(void *ctx, const char *name, struct fwd_err *err)
{
	struct shadow *s = ctx;
	int id = s_iface_find(s, name);
	unsigned n = 0;

	if (id < 0)
		return fail(err, id, "no interface '%s'", name);
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		if (s->used[i] && s->iface[i].conf.vlan > 0 &&
		    strcmp(s->iface[i].conf.parent, name) == 0)
			return fail(err, -EBUSY, "VLAN interface '%s' lies on '%s'",
				    s->iface[i].conf.name, name);
	}
	for (uint32_t r = 0; r < s->n_routes; r++) {
		for (unsigned v = 0; v < s->route[r].n_via; v++) {
			char p[20];

			if (via_of(&s->route[r], v).iface == id)
				return fail(err, -EBUSY, "route %s goes by '%s'",
					    text_put_prefix(p, s->route[r].prefix.addr_be,
							    s->route[r].prefix.len),
					    name);
		}
	}
	for (unsigned i = 0; i < s->n_addresses; i++) {
		if (s->address[i].iface != id)
			s->address[n++] = s->address[i];
	}
	s->n_addresses = n;
	n = 0;
	for (unsigned i = 0; i < s->n_neigh; i++) {
		if (s->neigh[i].iface != id)
			s->neigh[n++] = s->neigh[i];
	}
	s->n_neigh = n;
	s->used[id] = false;
	return 0;
}

static int s_iface_pass(void *ctx, const char *name, struct fwd_pass pass, bool add,
			struct fwd_err *err)
{
	struct shadow *s = ctx;
	int id = s_iface_find(s, name);
	struct net_iface *f;

	if (id < 0)
		return fail(err, id, "no interface '%s'", name);
	f = &s->iface[id];
	if (f->conf.vlan > 0)
		return fail(err, -EINVAL, "'%s' is a VLAN interface: set it on '%s'", name,
			    f->conf.parent);
	for (unsigned i = 0; i < f->n_pass; i++) {
		if (f->pass[i].protocol != pass.protocol || f->pass[i].port != pass.port)
			continue;
		if (add)
			return 0;
		f->pass[i] = f->pass[--f->n_pass];
		return 0;
	}
	if (!add)
		return 0;
	if (f->n_pass == FWD_IFACE_PASS)
		return fail(err, -ENOSPC, "more than %u ports passed", FWD_IFACE_PASS);
	f->pass[f->n_pass++] = pass;
	return 0;
}

static bool has_route(const struct shadow *s, uint32_t addr_be, uint8_t len)
{
	const struct entry *e = find_route(s, (struct fwd_prefix){addr_be, len});

	return e != NULL && e->n_via > 0;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static int s_address_get(void *ctx, unsigned i, struct fwd_address *a)
{
	struct shadow *s = ctx;

	if (i >= s->n_addresses)
		return -ENOENT;
	*a = s->address[i];
	return 0;
}

static int s_address_add(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	struct shadow *s = ctx;
	struct fwd_address *list;
	unsigned n = 0;
	char text[20];

	for (unsigned i = 0; i < s->n_addresses; i++) {
		const struct fwd_address *b = &s->address[i];

		n += b->iface == a->iface;
		if (b->iface != a->iface && b->len == a->len && in_prefix(b->addr_be, a))
			return fail(err, -EADDRINUSE, "%s is connected to '%s' already",
				    text_put_prefix(text, a->addr_be & text_mask_be(a->len),
						    a->len),
				    s->iface[b->iface].conf.name);
		if (b->addr_be != a->addr_be)
			continue;
		return fail(err, b->iface == a->iface && b->len == a->len ? -EEXIST : -EADDRINUSE,
			    "address %s is on interface '%s' already",
			    text_put_prefix(text, b->addr_be, b->len),
			    s->iface[b->iface].conf.name);
	}
	if (n == FWD_IFACE_ADDRS)
		return fail(err, -ENOSPC, "more than %u addresses on '%s'", FWD_IFACE_ADDRS,
			    s->iface[a->iface].conf.name);
	if (has_route(s, a->addr_be & text_mask_be(a->len), a->len) ||
	    has_route(s, a->addr_be, 32) ||
	    (a->len <= 30 && (has_route(s, a->addr_be & text_mask_be(a->len), 32) ||
			      has_route(s, a->addr_be | ~text_mask_be(a->len), 32))))
		return fail(err, -EADDRINUSE,
			    "there is a static route to %s, or to an address of it",
			    text_put_prefix(text, a->addr_be & text_mask_be(a->len), a->len));
	list = realloc(s->address, (s->n_addresses + 1) * sizeof(*list));
	if (list == NULL)
		return fail(err, -ENOMEM, "out of memory");
	s->address = list;
	list[s->n_addresses++] = *a;
	return 0;
}

static int s_address_del(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	struct shadow *s = ctx;
	unsigned at = 0;
	char p[20], text[20];

	while (at < s->n_addresses &&
	       (s->address[at].iface != a->iface || s->address[at].addr_be != a->addr_be ||
		s->address[at].len != a->len))
		at++;
	text_put_prefix(text, a->addr_be, a->len);
	if (at == s->n_addresses)
		return fail(err, -ENOENT, "no address %s on '%s'", text,
			    s->iface[a->iface].conf.name);
	for (uint32_t r = 0; r < s->n_routes; r++) {
		for (unsigned v = 0; v < s->route[r].n_via; v++) {
			struct fwd_via via = via_of(&s->route[r], v);
			bool other = false;

			if (via.iface != a->iface || !in_prefix(via.gw_be, a))
				continue;
			for (unsigned i = 0; i < s->n_addresses; i++)
				other = other || (i != at && s->address[i].iface == via.iface &&
						  in_prefix(via.gw_be, &s->address[i]));
			if (!other)
				return fail(err, -EBUSY, "the gateway of route %s lies in %s",
					    text_put_prefix(p, s->route[r].prefix.addr_be,
							    s->route[r].prefix.len),
					    text);
		}
	}
	memmove(&s->address[at], &s->address[at + 1],
		(s->n_addresses - at - 1) * sizeof(s->address[0]));
	s->n_addresses--;
	return 0;
}

/* ---- neighbours ------------------------------------------------------------------------------ */

static int s_neigh_del(void *ctx, uint16_t iface, uint32_t addr_be, struct fwd_err *err)
{
	struct shadow *s = ctx;
	char text[16];

	for (unsigned i = 0; i < s->n_neigh; i++) {
		if (s->neigh[i].iface == iface && s->neigh[i].addr_be == addr_be) {
			s->neigh[i] = s->neigh[--s->n_neigh];
			return 0;
		}
	}
	return fail(err, -ENOENT, "no neighbour %s on '%s'", text_put_ip4(text, addr_be),
		    s->iface[iface].conf.name);
}

static int s_neigh_add(void *ctx, const struct net_neigh *n, struct fwd_err *err)
{
	struct shadow *s = ctx;
	struct net_neigh *list;
	bool on_link = false;
	char text[16];

	text_put_ip4(text, n->addr_be);
	for (unsigned i = 0; i < s->n_addresses; i++) {
		const struct fwd_address *a = &s->address[i];

		on_link = on_link || (a->iface == n->iface && in_prefix(n->addr_be, a) &&
				      !is_taken(a, n->addr_be));
	}
	if (!on_link)
		return fail(err, -EINVAL,
			    "%s is no neighbour's address on '%s': it lies in no connected prefix "
			    "there, "
			    "or is the router's own",
			    text, s->iface[n->iface].conf.name);
	for (unsigned i = 0; i < s->n_neigh; i++) {
		if (s->neigh[i].iface != n->iface || s->neigh[i].addr_be != n->addr_be)
			continue;
		if (memcmp(s->neigh[i].mac, n->mac, sizeof(n->mac)) == 0)
			return fail(err, -EEXIST, "neighbour %s is there already", text);
		return fail(err, -EADDRINUSE,
			    "neighbour %s is there already with another MAC address", text);
	}
	list = realloc(s->neigh, (s->n_neigh + 1) * sizeof(*list));
	if (list == NULL)
		return fail(err, -ENOMEM, "out of memory");
	s->neigh = list;
	list[s->n_neigh++] = *n;
	return 0;
}

static void s_neigh_each(void *ctx, bool (*fn)(void *arg, const struct net_neigh *n), void *arg)
{
	struct shadow *s = ctx;

	for (unsigned i = 0; i < s->n_neigh; i++) {
		if (!fn(arg, &s->neigh[i]))
			return;
	}
}

/* ---- routes ---------------------------------------------------------------------------------- */

static int resolve_via(const struct shadow *s, struct fwd_via *via, struct fwd_err *err)
{
	int best = -1;
	char gw[16];

	for (unsigned i = 0; i < s->n_addresses; i++) {
		const struct fwd_address *a = &s->address[i];

		if (is_taken(a, via->gw_be))
			return fail(err, -EINVAL,
				    "gateway %s is the router itself, or no host's address",
				    text_put_ip4(gw, via->gw_be));
		if (!in_prefix(via->gw_be, a) ||
		    (via->iface != FWD_IFACE_NONE && a->iface != via->iface))
			continue;
		if (best < 0 || a->len > s->address[best].len)
			best = (int)i;
	}
	if (best < 0)
		return fail(err, -ENETUNREACH, "gateway %s is in no connected prefix",
			    text_put_ip4(gw, via->gw_be));
	via->iface = s->address[best].iface;
	return 0;
}

static int s_route_add(void *ctx, const struct fwd_route *r, struct fwd_err *err)
{
	struct shadow *s = ctx;
	struct fwd_via via[FWD_MAX_VIA];
	struct entry *e = find_route(s, r->prefix);
	char p[20];

	for (unsigned i = 0; i < r->n_via; i++) {
		int ret;

		via[i] = r->via[i];
		ret = resolve_via(s, &via[i], err);
		if (ret != 0)
			return ret;
	}
	for (unsigned i = 0; i < s->n_addresses; i++) {
		const struct fwd_address *a = &s->address[i];

		if (a->len == r->prefix.len && in_prefix(r->prefix.addr_be, a))
			return fail(err, -EADDRINUSE, "%s is connected to '%s'",
				    text_put_prefix(p, r->prefix.addr_be, r->prefix.len),
				    s->iface[a->iface].conf.name);
		if (r->prefix.len == 32 && is_taken(a, r->prefix.addr_be))
			return fail(err, -EADDRINUSE, "%s is the router's own, on '%s'",
				    text_put_prefix(p, r->prefix.addr_be, r->prefix.len),
				    s->iface[a->iface].conf.name);
	}
	if (e != NULL && e->n_via > 0) {
		bool same = e->n_via == r->n_via;

		for (unsigned i = 0; same && i < e->n_via; i++) {
			struct fwd_via v = via_of(e, i);

			same = v.gw_be == via[i].gw_be && v.iface == via[i].iface;
		}
		return fail(err, same ? -EEXIST : -EADDRINUSE, "route %s exists",
			    text_put_prefix(p, r->prefix.addr_be, r->prefix.len));
	}
	if (e == NULL)
		e = new_route(s, r->prefix);
	if (e == NULL)
		return fail(err, -ENOMEM, "out of memory");
	if (r->n_via > 1) {
		e->more = calloc(r->n_via - 1, sizeof(*e->more));
		if (e->more == NULL)
			return fail(err, -ENOMEM, "out of memory");
		memcpy(e->more, via + 1, (r->n_via - 1) * sizeof(via[0]));
	}
	e->first = via[0];
	e->n_via = (uint8_t)r->n_via;
	return 0;
}

static int s_route_del(void *ctx, struct fwd_prefix prefix, struct fwd_err *err)
{
	struct entry *e = find_route(ctx, prefix);
	char p[20];

	if (e == NULL || e->n_via == 0)
		return fail(err, -ENOENT, "no route %s",
			    text_put_prefix(p, prefix.addr_be, prefix.len));
	bury(e);
	return 0;
}

static int s_route_get(void *ctx, struct fwd_prefix prefix, struct fwd_route *out)
{
	const struct entry *e = find_route(ctx, prefix);

	if (e == NULL || e->n_via == 0)
		return -ENOENT;
	unpack(e, out);
	return 0;
}

static void s_route_each(void *ctx, bool (*fn)(void *arg, const struct fwd_route *r), void *arg)
{
	struct shadow *s = ctx;
	struct fwd_route out;

	if (!s->sorted && s->n_routes > 0)
		sort_routes(s);
	for (uint32_t r = 0; r < s->n_routes; r++) {
		if (s->route[r].n_via == 0)
			continue;
		unpack(&s->route[r], &out);
		if (!fn(arg, &out))
			return;
	}
}

static void s_route_expect(void *ctx, uint32_t routes, uint32_t nets)
{
	(void)ctx;
	(void)routes;
	(void)nets;
}

static int s_commit(void *ctx, struct fwd_err *err)
{
	(void)ctx;
	(void)err;
	return 0;
}

static const struct net_ops shadow_ops = {
	.iface_add = s_iface_add,
	.iface_set_mtu = s_iface_set_mtu,
	.iface_set_gro = s_iface_set_gro,
	.iface_del = s_iface_del,
	.iface_pass = s_iface_pass,
	.iface_find = s_iface_find,
	.iface_get = s_iface_get,
	.address_add = s_address_add,
	.address_del = s_address_del,
	.address_get = s_address_get,
	.neigh_add = s_neigh_add,
	.neigh_del = s_neigh_del,
	.neigh_each = s_neigh_each,
	.route_add = s_route_add,
	.route_del = s_route_del,
	.route_get = s_route_get,
	.route_each = s_route_each,
	.route_expect = s_route_expect,
	.commit = s_commit,
};

struct shadow *shadow_create(void)
{
	return calloc(1, sizeof(struct shadow));
}

void shadow_destroy(struct shadow *s)
{
	if (s == NULL)
		return;
	for (uint32_t r = 0; r < s->n_routes; r++)
		free(s->route[r].more);
	free(s->route);
	free(s->slot);
	free(s->address);
	free(s->neigh);
	free(s);
}

struct net shadow_net(struct shadow *s)
{
	return (struct net){.ops = &shadow_ops, .ctx = s};
}
