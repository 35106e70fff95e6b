/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "fib.h"
#include "nexthop.h"

struct own {
	struct fwd_address a;
	uint16_t local; /* next hop NH_LOCAL */
	uint16_t glean; /* NH_GLEAN of its prefix, shared with others in it; a /32: 0 */
	bool announce;	/* not announced yet */
};

struct owner { /* an interface */
	unsigned n;
	uint16_t broadcast; /* NH_BROADCAST, 0: not needed */
	struct own own[FWD_IFACE_ADDRS];
};

static struct {
	struct owner *of;	   /* FWD_MAX_IFACES */
	struct fwd_address *order; /* all, in the order of adding */
	unsigned n;
	struct address_hooks hooks;
} adr;

int address_init(const struct address_hooks *hooks, struct fwd_err *err)
{
	memset(&adr, 0, sizeof(adr));
	adr.hooks = *hooks;
	adr.of = calloc(FWD_MAX_IFACES, sizeof(*adr.of));
	adr.order = calloc((size_t)FWD_MAX_IFACES * FWD_IFACE_ADDRS, sizeof(*adr.order));
	if (!adr.of || !adr.order) {
		address_fini();
		return dp_err(err, -ENOMEM, "no memory for addresses");
	}
	return 0;
}

void address_fini(void)
{
	free(adr.of);
	free(adr.order);
	memset(&adr, 0, sizeof(adr));
}

/* ---- questions ------------------------------------------------------------------------------- */

unsigned address_count(uint16_t iface)
{
	return adr.of[iface].n;
}

const struct fwd_address *address_at(uint16_t iface, unsigned i)
{
	return &adr.of[iface].own[i].a;
}

int fwd_address_get(unsigned i, struct fwd_address *a)
{
	if (i >= adr.n)
		return -ENOENT;
	*a = adr.order[i];
	return 0;
}

static rte_be32_t network(const struct fwd_address *a)
{
	return a->addr_be & rte_cpu_to_be_32(prefix_mask(a->len));
}

static rte_be32_t broadcast(const struct fwd_address *a)
{
	return a->addr_be | rte_cpu_to_be_32(~prefix_mask(a->len));
}

static bool is_broadcast(const struct fwd_address *a, rte_be32_t addr_be)
{
	/* RFC 3021: none in a /31 */
	return a->len <= 30 && (addr_be == network(a) || addr_be == broadcast(a));
}

static struct own *find_own(uint16_t iface, rte_be32_t addr_be)
{
	struct owner *w = &adr.of[iface];

	for (unsigned i = 0; i < w->n; i++) {
		if (w->own[i].a.addr_be == addr_be)
			return &w->own[i];
	}
	return NULL;
}

bool address_own(uint16_t iface, rte_be32_t addr_be)
{
	return find_own(iface, addr_be) != NULL;
}

bool address_on_link(uint16_t iface, rte_be32_t addr_be)
{
	const struct owner *w = &adr.of[iface];
	bool covered = false;

	for (unsigned i = 0; i < w->n; i++) {
		const struct fwd_address *a = &w->own[i].a;

		if (!prefix_covers(a->addr_be, a->len, addr_be))
			continue;
		if (a->addr_be == addr_be || is_broadcast(a, addr_be))
			return false;
		covered = true;
	}
	return covered;
}

uint16_t address_connected(rte_be32_t addr_be, uint8_t *len)
{
	uint16_t best = FWD_IFACE_NONE;
	unsigned left = adr.n;

	for (unsigned id = 0; id < FWD_MAX_IFACES && left; id++) {
		for (unsigned i = 0; i < adr.of[id].n; i++) {
			const struct fwd_address *a = &adr.of[id].own[i].a;

			left--;
			if (a->len < 32 && prefix_covers(a->addr_be, a->len, addr_be) &&
			    (best == FWD_IFACE_NONE || a->len > *len)) {
				best = id;
				*len = a->len;
			}
		}
	}
	return best;
}

rte_be32_t address_source(uint16_t iface, rte_be32_t addr_be)
{
	const struct owner *w = &adr.of[iface];
	const struct fwd_address *best = NULL;

	for (unsigned i = 0; i < w->n; i++) {
		const struct fwd_address *a = &w->own[i].a;

		if (prefix_covers(a->addr_be, a->len, addr_be) && (!best || a->len > best->len))
			best = a;
	}
	if (best)
		return best->addr_be;
	return w->n ? w->own[0].a.addr_be : 0;
}

void address_announce(void (*fn)(const struct fwd_address *a))
{
	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		for (unsigned i = 0; i < adr.of[id].n; i++) {
			struct own *o = &adr.of[id].own[i];

			if (o->announce) {
				o->announce = false;
				fn(&o->a);
			}
		}
	}
}

/* ---- the table's share ----------------------------------------------------------------------- */

/* What the list of addresses makes of one address: NH_LOCAL, NH_BROADCAST or none. */
static uint32_t wanted(rte_be32_t addr_be)
{
	uint32_t nh = 0;

	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		for (unsigned i = 0; i < adr.of[id].n; i++) {
			const struct own *o = &adr.of[id].own[i];

			if (o->a.addr_be == addr_be)
				return o->local;
			if (is_broadcast(&o->a, addr_be))
				nh = adr.of[id].broadcast;
		}
	}
	return nh;
}

static bool is_ours(uint32_t nh)
{
	return dp.nexthops[nh].type == NH_LOCAL || dp.nexthops[nh].type == NH_BROADCAST;
}

/* Makes the table say of one address what the list of addresses says. */
static int settle(rte_be32_t addr_be)
{
	uint32_t ip = rte_be_to_cpu_32(addr_be), is = fib_get(ip, 32), want = wanted(addr_be);

	if (is == want)
		return 0;
	if (want)
		return fib_set(ip, 32, want);
	return is_ours(is) ? fib_unset(ip, 32) : 0;
}

static int settle_all(const struct fwd_address *a)
{
	int rc = settle(a->addr_be);

	if (rc == 0 && a->len <= 30)
		rc = settle(network(a));
	if (rc == 0 && a->len <= 30)
		rc = settle(broadcast(a));
	return rc;
}

static bool needs_broadcast(const struct owner *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		if (w->own[i].a.len <= 30)
			return true;
	}
	return false;
}

/* Another address of the interface in the same prefix. */
static const struct own *same_prefix(const struct owner *w, const struct fwd_address *a)
{
	for (unsigned i = 0; i < w->n; i++) {
		const struct fwd_address *b = &w->own[i].a;

		if (b->addr_be != a->addr_be && b->len == a->len && network(b) == network(a))
			return &w->own[i];
	}
	return NULL;
}

/* Takes an address from the list, its prefixes from the table, and gives back its next hops. */
static void remove_own(struct own *o)
{
	struct own gone = *o;
	struct owner *w = &adr.of[gone.a.iface];
	bool settled;

	*o = w->own[--w->n];
	for (unsigned i = 0; i < adr.n; i++) {
		if (adr.order[i].addr_be == gone.a.addr_be) {
			memmove(&adr.order[i], &adr.order[i + 1],
				(adr.n - i - 1) * sizeof(*adr.order));
			adr.n--;
			break;
		}
	}
	/* A next hop that could not be taken out of the table is never used again. */
	settled = settle_all(&gone.a) == 0;
	if (settled)
		nexthop_free(gone.local);
	if (gone.glean && !same_prefix(w, &gone.a)) {
		uint32_t net = rte_be_to_cpu_32(network(&gone.a));

		if (fib_get(net, gone.a.len) != gone.glean || fib_unset(net, gone.a.len) == 0)
			nexthop_free(gone.glean);
	}
	if (w->broadcast && !needs_broadcast(w) && settled) {
		nexthop_free(w->broadcast);
		w->broadcast = 0;
	}
}

static int insert_own(const struct fwd_address *a, struct fwd_err *err)
{
	struct owner *w = &adr.of[a->iface];
	const struct own *twin = a->len < 32 ? same_prefix(w, a) : NULL;
	struct own *o = &w->own[w->n];
	int local, glean = 0, bcast = w->broadcast;

	local = nexthop_alloc(NH_LOCAL, a->iface, a->addr_be);
	if (twin)
		glean = twin->glean;
	else if (a->len < 32)
		glean = nexthop_alloc(NH_GLEAN, a->iface, 0);
	if (a->len <= 30 && !bcast)
		bcast = nexthop_alloc(NH_BROADCAST, a->iface, 0);
	if (local < 0 || glean < 0 || bcast < 0) {
		if (local >= 0)
			nexthop_free(local);
		if (glean > 0 && !twin)
			nexthop_free(glean);
		if (bcast > 0 && !w->broadcast)
			nexthop_free(bcast);
		return dp_err(err, -ENOSPC, "all %d next hops are in use", FWD_MAX_NH);
	}
	*o = (struct own){.a = *a, .local = local, .glean = glean, .announce = true};
	w->broadcast = bcast;
	w->n++;
	adr.order[adr.n++] = *a;
	if ((glean && !twin && fib_set(rte_be_to_cpu_32(network(a)), a->len, glean)) ||
	    settle_all(a)) {
		remove_own(o);
		return dp_err(err, -ENOSPC, "%s", fib_full_reason());
	}
	return 0;
}

/* ---- adding and deleting --------------------------------------------------------------------- */

/* Is the prefix a static route? (Connected, local and broadcast ones are ours, a /32 to itself is a
 * neighbour's.) */
static bool is_static(rte_be32_t addr_be, uint8_t len)
{
	const struct fwd_nexthop *nh = &dp.nexthops[fib_get(rte_be_to_cpu_32(addr_be), len)];

	return nh->type == NH_GROUP ||
	       (nh->type == NH_NEIGHBOUR && !(len == 32 && nh->addr_be == addr_be));
}

static int check_takes(rte_be32_t addr_be, struct fwd_err *err)
{
	if (is_static(addr_be, 32))
		return dp_err(err, -EADDRINUSE, "there is a static route to %s/32: delete it first",
			      ip_text(addr_be).s);
	return adr.hooks.may_take(addr_be, err);
}

static int check_shape(const struct fwd_address *a, struct fwd_err *err)
{
	uint8_t first = rte_be_to_cpu_32(a->addr_be) >> 24;

	if (a->len < 1 || a->len > 32)
		return dp_err(err, -EINVAL, "prefix length %u: 1 to 32 are possible", a->len);
	if (first == 0 || first == 127 || first >= 224)
		return dp_err(err, -EINVAL, "%s is no unicast address that a router can have",
			      ip_text(a->addr_be).s);
	if (is_broadcast(a, a->addr_be))
		return dp_err(err, -EINVAL, "%s is the %s address of %s/%u", ip_text(a->addr_be).s,
			      a->addr_be == network(a) ? "network" : "broadcast",
			      ip_text(network(a)).s, a->len);
	return 0;
}

static int check_others(const struct fwd_address *a, struct fwd_err *err)
{
	for (unsigned i = 0; i < adr.n; i++) {
		const struct fwd_address *b = &adr.order[i];
		const char *name = iface_get(b->iface)->conf.name;

		if (b->addr_be == a->addr_be) {
			if (b->iface == a->iface && b->len == a->len)
				return dp_err(err, -EEXIST, "%s/%u is there already",
					      ip_text(a->addr_be).s, a->len);
			return dp_err(err, -EADDRINUSE, "%s is there already as %s/%u on '%s'",
				      ip_text(a->addr_be).s, ip_text(b->addr_be).s, b->len, name);
		}
		if (b->iface != a->iface && b->len == a->len && network(b) == network(a))
			return dp_err(err, -EADDRINUSE, "%s/%u is connected to '%s' already",
				      ip_text(network(a)).s, a->len, name);
	}
	return 0;
}

int fwd_address_add(const struct fwd_address *a, struct fwd_err *err)
{
	const struct iface *i = iface_get(a->iface);
	int rc;

	if (!i)
		return dp_err(err, -ENOENT, "no such interface");
	rc = check_shape(a, err);
	if (rc == 0)
		rc = check_others(a, err);
	if (rc)
		return rc;
	if (adr.of[a->iface].n == FWD_IFACE_ADDRS)
		return dp_err(err, -ENOSPC, "an interface has at most %d addresses",
			      FWD_IFACE_ADDRS);
	if (a->len < 32 && is_static(network(a), a->len))
		return dp_err(err, -EADDRINUSE, "there is a static route to %s/%u: delete it first",
			      ip_text(network(a)).s, a->len);
	rc = check_takes(a->addr_be, err);
	if (rc == 0 && a->len <= 30)
		rc = check_takes(network(a), err);
	if (rc == 0 && a->len <= 30)
		rc = check_takes(broadcast(a), err);
	if (rc == 0)
		rc = insert_own(a, err);
	if (rc)
		return rc;
	port_local_address(i->port, a->addr_be, true);
	adr.hooks.came(a);
	return 0;
}

static void drop_own(struct own *o)
{
	struct fwd_address a = o->a;

	remove_own(o);
	port_local_address(iface_get(a.iface)->port, a.addr_be, false);
	adr.hooks.gone(&a);
}

int fwd_address_del(const struct fwd_address *a, struct fwd_err *err)
{
	struct own *o = a->iface < FWD_MAX_IFACES ? find_own(a->iface, a->addr_be) : NULL;
	int rc;

	if (!o || o->a.len != a->len)
		return dp_err(err, -ENOENT, "no address %s/%u there", ip_text(a->addr_be).s,
			      a->len);
	rc = adr.hooks.may_go(&o->a, err);
	if (rc)
		return rc;
	drop_own(o);
	return 0;
}

void address_purge(uint16_t iface)
{
	while (adr.of[iface].n)
		drop_own(&adr.of[iface].own[adr.of[iface].n - 1]);
}
