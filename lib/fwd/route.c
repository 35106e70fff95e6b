/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "fib.h"
#include "neigh.h"
#include "nexthop.h"
#include "route.h"

static uint32_t max_static, n_static;

void route_init(uint32_t max)
{
	max_static = max;
	n_static = 0;
}

const char *fwd_route_type_name(enum fwd_route_type t)
{
	static const char *const names[] = {
		[FWD_ROUTE_STATIC] = "static",	     [FWD_ROUTE_CONNECTED] = "connected",
		[FWD_ROUTE_LOCAL] = "local",	     [FWD_ROUTE_BROADCAST] = "broadcast",
		[FWD_ROUTE_NEIGHBOUR] = "neighbour",
	};

	return (unsigned)t < RTE_DIM(names) ? names[t] : "unknown";
}

uint32_t fwd_route_count(void)
{
	return n_static;
}

void fwd_route_expect(uint32_t routes, uint32_t nets)
{
	fib_expect(RTE_MIN(routes, max_static), nets);
}

/* ---- what a prefix is ------------------------------------------------------------------------ */

static enum fwd_route_type type_of(uint32_t ip, uint8_t len, uint32_t nh)
{
	const struct fwd_nexthop *e = &dp.nexthops[nh];

	switch (e->type) {
	case NH_LOCAL:
		return FWD_ROUTE_LOCAL;
	case NH_BROADCAST:
		return FWD_ROUTE_BROADCAST;
	case NH_GLEAN:
		return FWD_ROUTE_CONNECTED;
	case NH_NEIGHBOUR:
		if (len == 32 && e->addr_be == rte_cpu_to_be_32(ip) && !neigh_is_static(nh))
			return FWD_ROUTE_NEIGHBOUR;
		return FWD_ROUTE_STATIC;
	default:
		return FWD_ROUTE_STATIC;
	}
}

static int by_gateway(const void *a, const void *b)
{
	const struct fwd_via *x = a, *y = b;
	uint32_t gx = rte_be_to_cpu_32(x->gw_be), gy = rte_be_to_cpu_32(y->gw_be);

	if (gx != gy)
		return gx < gy ? -1 : 1;
	return (int)x->iface - (int)y->iface;
}

static void describe(uint32_t ip, uint8_t len, uint32_t nh, struct fwd_route *out)
{
	const struct fwd_nexthop *e = &dp.nexthops[nh];

	memset(out, 0, sizeof(*out));
	out->prefix = (struct fwd_prefix){.addr_be = rte_cpu_to_be_32(ip), .len = len};
	out->type = type_of(ip, len, nh);
	out->iface = e->iface;
	if (out->type != FWD_ROUTE_STATIC)
		return;
	if (e->type == NH_GROUP) {
		out->n_via = e->n_members;
		for (unsigned i = 0; i < e->n_members; i++) {
			const struct fwd_nexthop *m = &dp.nexthops[e->members[i]];

			out->via[i] = (struct fwd_via){.gw_be = m->addr_be, .iface = m->iface};
		}
		qsort(out->via, out->n_via, sizeof(*out->via), by_gateway);
	} else {
		out->n_via = 1;
		out->via[0] = (struct fwd_via){.gw_be = e->addr_be, .iface = e->iface};
	}
}

int fwd_route_get(struct fwd_prefix prefix, struct fwd_route *out)
{
	uint32_t ip = rte_be_to_cpu_32(prefix.addr_be), nh;

	if (prefix.len > 32 || (ip & ~prefix_mask(prefix.len)))
		return -ENOENT;
	nh = fib_get(ip, prefix.len);
	if (!nh)
		return -ENOENT;
	describe(ip, prefix.len, nh, out);
	return out->type == FWD_ROUTE_STATIC || out->type == FWD_ROUTE_CONNECTED ? 0 : -ENOENT;
}

int fwd_route_lookup(uint32_t addr_be, struct fwd_route *out)
{
	uint32_t ip = rte_be_to_cpu_32(addr_be), nh;
	uint8_t len;

	nh = fib_match(ip, 32, &len);
	if (!nh)
		return -ENOENT;
	describe(ip & prefix_mask(len), len, nh, out);
	return 0;
}

struct listing {
	bool (*fn)(void *arg, const struct fwd_route *r);
	void *arg;
};

static bool list_one(void *arg, uint32_t ip, uint8_t len, uint32_t nh)
{
	const struct listing *l = arg;
	struct fwd_route r;

	describe(ip, len, nh, &r);
	return l->fn(l->arg, &r);
}

void fwd_route_each(bool (*fn)(void *arg, const struct fwd_route *r), void *arg)
{
	struct listing l = {.fn = fn, .arg = arg};

	fib_walk(list_one, &l);
}

/* ---- next hops ------------------------------------------------------------------------------- */

static void give_up(uint32_t nh)
{
	const struct fwd_nexthop *e = &dp.nexthops[nh];
	uint16_t members[FWD_MAX_VIA];
	unsigned n;

	if (nexthop_unref(nh))
		return;
	if (e->type != NH_GROUP) {
		neigh_released(nh);
		return;
	}
	n = e->n_members;
	memcpy(members, e->members, sizeof(members));
	nexthop_group_free(nh);
	for (unsigned i = 0; i < n; i++)
		neigh_released(members[i]);
}

static int by_index(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

/* The next hop for these gateways, with a reference for the route. */
static int take(const struct fwd_via *via, unsigned n, struct fwd_err *err)
{
	uint16_t members[FWD_MAX_VIA];
	unsigned got;
	int nh = 0;

	for (got = 0; got < n; got++) {
		nh = neigh_acquire(via[got].iface, via[got].gw_be, err);
		if (nh < 0)
			break;
		members[got] = nh;
	}
	if (n == 1)
		return nh;
	if (got == n) {
		qsort(members, n, sizeof(*members), by_index);
		nh = nexthop_group(members, n);
		if (nh < 0)
			dp_err(err, -ENOSPC, "all %d next hops are in use", FWD_MAX_NH);
		else
			nexthop_ref(nh);
	}
	while (got) /* the group has its own references */
		give_up(members[--got]);
	return nh;
}

/* Finds the gateways' interfaces, and sorts them. */
static int check_gateways(struct fwd_via *via, unsigned n, struct fwd_err *err)
{
	for (unsigned i = 0; i < n; i++) {
		rte_be32_t gw = via[i].gw_be;
		uint8_t len;

		switch (dp.nexthops[fib_get(rte_be_to_cpu_32(gw), 32)].type) {
		case NH_LOCAL:
			return dp_err(err, -EINVAL, "gateway %s is the router itself",
				      ip_text(gw).s);
		case NH_BROADCAST:
			return dp_err(err, -EINVAL, "gateway %s is a network's broadcast address",
				      ip_text(gw).s);
		default:
			break;
		}
		if (via[i].iface == FWD_IFACE_NONE)
			via[i].iface = address_connected(gw, &len);
		else if (!iface_get(via[i].iface))
			return dp_err(err, -ENOENT, "no such interface");
		if (via[i].iface == FWD_IFACE_NONE)
			return dp_err(err, -ENETUNREACH, "gateway %s lies in no connected prefix",
				      ip_text(gw).s);
		if (!address_on_link(via[i].iface, gw))
			return dp_err(err, -ENETUNREACH,
				      "gateway %s lies in no connected prefix of '%s'",
				      ip_text(gw).s, iface_get(via[i].iface)->conf.name);
	}
	qsort(via, n, sizeof(*via), by_gateway);
	for (unsigned i = 1; i < n; i++) {
		if (via[i].gw_be == via[i - 1].gw_be && via[i].iface == via[i - 1].iface)
			return dp_err(err, -EINVAL, "gateway %s is given twice",
				      ip_text(via[i].gw_be).s);
	}
	return 0;
}

/* ---- adding and deleting --------------------------------------------------------------------- */

static int check_prefix(struct fwd_prefix p, struct fwd_err *err)
{
	uint32_t ip = rte_be_to_cpu_32(p.addr_be);

	if (p.len > 32)
		return dp_err(err, -EINVAL, "prefix length %u: 0 to 32 are possible", p.len);
	if (ip & ~prefix_mask(p.len))
		return dp_err(err, -EINVAL, "%s/%u has host bits set: the prefix is %s/%u",
			      ip_text(p.addr_be).s, p.len,
			      ip_text(rte_cpu_to_be_32(ip & prefix_mask(p.len))).s, p.len);
	if (p.len >= 8 && (ip >> 24 == 0 || ip >> 24 == 127))
		return dp_err(err, -EINVAL, "%s/%u is never routed (RFC 1122 3.2.1.3)",
			      ip_text(p.addr_be).s, p.len);
	if (p.len >= 3 && ip >> 29 == 7)
		return dp_err(err, -EINVAL, "%s/%u holds no unicast addresses",
			      ip_text(p.addr_be).s, p.len);
	return 0;
}

/* There is something at the prefix: an error of the right kind. */
static int refuse(const struct fwd_route *is, const struct fwd_via *via, unsigned n,
		  struct fwd_err *err)
{
	struct ip_text net = ip_text(is->prefix.addr_be);

	if (is->type != FWD_ROUTE_STATIC)
		return dp_err(err, -EADDRINUSE, "%s/%u is a %s prefix of '%s'", net.s,
			      is->prefix.len, fwd_route_type_name(is->type),
			      iface_get(is->iface)->conf.name);
	if (is->n_via == n) {
		unsigned i;

		for (i = 0;
		     i < n && is->via[i].gw_be == via[i].gw_be && is->via[i].iface == via[i].iface;
		     i++)
			;
		if (i == n)
			return dp_err(err, -EEXIST, "the route to %s/%u is there already", net.s,
				      is->prefix.len);
	}
	return dp_err(err, -EADDRINUSE,
		      "there is a route to %s/%u by %s%s already: delete it first", net.s,
		      is->prefix.len, ip_text(is->via[0].gw_be).s,
		      is->n_via > 1 ? " and others" : "");
}

/* Does the prefix lie in a connected one, so that its neighbours' own prefixes depend on it? */
static bool in_connected(struct fwd_prefix p)
{
	uint8_t len;

	return address_connected(p.addr_be, &len) != FWD_IFACE_NONE && len < p.len;
}

int fwd_route_add(const struct fwd_route *r, struct fwd_err *err)
{
	uint32_t ip = rte_be_to_cpu_32(r->prefix.addr_be), was;
	struct fwd_via via[FWD_MAX_VIA];
	uint8_t len = r->prefix.len;
	int rc, nh;

	if (r->type != FWD_ROUTE_STATIC)
		return dp_err(err, -EINVAL,
			      "only static routes are added: the others come with addresses");
	if (r->n_via < 1 || r->n_via > FWD_MAX_VIA)
		return dp_err(err, -EINVAL, "%u gateways: 1 to %d are possible", r->n_via,
			      FWD_MAX_VIA);
	rc = check_prefix(r->prefix, err);
	if (rc)
		return rc;
	memcpy(via, r->via, r->n_via * sizeof(*via));
	rc = check_gateways(via, r->n_via, err);
	if (rc)
		return rc;
	was = fib_get(ip, len);
	if (was && type_of(ip, len, was) != FWD_ROUTE_NEIGHBOUR) {
		struct fwd_route is;

		describe(ip, len, was, &is);
		return refuse(&is, via, r->n_via, err);
	}
	if (n_static >= max_static)
		return dp_err(err, -ENOSPC, "the table is full: %u routes are the most",
			      max_static);
	nh = take(via, r->n_via, err);
	if (nh < 0)
		return nh;
	rc = fib_set(ip, len, nh);
	if (rc) {
		give_up(nh);
		return dp_err(err, rc, "%s", fib_full_reason());
	}
	if (len == 32 && dp.nexthops[nh].type == NH_NEIGHBOUR &&
	    dp.nexthops[nh].addr_be == r->prefix.addr_be)
		neigh_set_static(nh, true);
	n_static++;
	if (len < 32 && in_connected(r->prefix))
		neigh_settle(r->prefix.addr_be, len);
	return 0;
}

int fwd_route_del(struct fwd_prefix prefix, struct fwd_err *err)
{
	uint32_t ip = rte_be_to_cpu_32(prefix.addr_be), nh;
	int rc = check_prefix(prefix, err);

	if (rc)
		return rc;
	nh = fib_get(ip, prefix.len);
	if (!nh || type_of(ip, prefix.len, nh) == FWD_ROUTE_NEIGHBOUR)
		return dp_err(err, -ENOENT, "no route to %s/%u", ip_text(prefix.addr_be).s,
			      prefix.len);
	if (type_of(ip, prefix.len, nh) != FWD_ROUTE_STATIC)
		return dp_err(err, -ENOENT, "%s/%u is a %s prefix: it goes with the address",
			      ip_text(prefix.addr_be).s, prefix.len,
			      fwd_route_type_name(type_of(ip, prefix.len, nh)));
	rc = fib_unset(ip, prefix.len);
	if (rc)
		return dp_err(err, rc, "no memory to change the table");
	if (prefix.len == 32 && dp.nexthops[nh].type == NH_NEIGHBOUR &&
	    dp.nexthops[nh].addr_be == prefix.addr_be)
		neigh_set_static(nh, false);
	n_static--;
	if (in_connected(prefix))
		neigh_settle(prefix.addr_be, prefix.len);
	give_up(nh);
	return 0;
}
