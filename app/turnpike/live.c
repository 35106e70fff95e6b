/* SPDX-License-Identifier: BSD-3-Clause */
/* The running router's interfaces, addresses, neighbours and routes. See live.h. */
#include <errno.h>
#include <string.h>

#include "live.h"

static int l_iface_add(void *ctx, const struct fwd_iface_conf *conf, struct fwd_err *err)
{
	(void)ctx;
	return fwd_iface_add(conf, err);
}

static int l_iface_set_mtu(void *ctx, const char *name, uint16_t mtu, struct fwd_err *err)
{
	(void)ctx;
	return fwd_iface_set_mtu(name, mtu, err);
}

static int l_iface_set_gro(void *ctx, const char *name, struct fwd_gro gro, struct fwd_err *err)
{
	(void)ctx;
	return fwd_iface_set_gro(name, gro, err);
}

static int l_iface_del(void *ctx, const char *name, struct fwd_err *err)
{
	(void)ctx;
	return fwd_iface_del(name, err);
}

static int l_iface_pass(void *ctx, const char *name, struct fwd_pass pass, bool add,
			struct fwd_err *err)
{
	(void)ctx;
	return fwd_iface_pass(name, pass, add, err);
}

static int l_iface_find(void *ctx, const char *name)
{
	(void)ctx;
	return fwd_iface_find(name);
}

static int l_iface_get(void *ctx, uint16_t id, struct net_iface *out)
{
	struct fwd_iface_info info;
	int ret = fwd_iface_info(id, &info);

	(void)ctx;
	if (ret != 0)
		return ret;
	memset(out, 0, sizeof(*out));
	out->id = info.id;
	out->conf = info.conf;
	out->mtu = info.conf.mtu;
	out->conf.mtu = info.conf_mtu;
	out->conf.rxqs = info.conf_rxqs;
	out->n_pass = info.n_pass;
	memcpy(out->pass, info.pass, sizeof(out->pass));
	return 0;
}

static int l_address_add(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	(void)ctx;
	return fwd_address_add(a, err);
}

static int l_address_del(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	(void)ctx;
	return fwd_address_del(a, err);
}

static int l_address_get(void *ctx, unsigned i, struct fwd_address *a)
{
	(void)ctx;
	return fwd_address_get(i, a);
}

static int l_neigh_add(void *ctx, const struct net_neigh *n, struct fwd_err *err)
{
	(void)ctx;
	return fwd_neigh_add(n->iface, n->addr_be, n->mac, err);
}

static int l_neigh_del(void *ctx, uint16_t iface, uint32_t addr_be, struct fwd_err *err)
{
	(void)ctx;
	return fwd_neigh_del(iface, addr_be, err);
}

struct each_neigh {
	bool (*fn)(void *arg, const struct net_neigh *n);
	void *arg;
};

static bool permanent(void *arg, const struct fwd_neigh_info *info)
{
	const struct each_neigh *each = arg;
	struct net_neigh n = {.iface = info->iface, .addr_be = info->addr_be};

	if (info->state != FWD_NEIGH_PERMANENT)
		return true;
	memcpy(n.mac, info->mac, sizeof(n.mac));
	return each->fn(each->arg, &n);
}

static void l_neigh_each(void *ctx, bool (*fn)(void *arg, const struct net_neigh *n), void *arg)
{
	struct each_neigh each = {fn, arg};

	(void)ctx;
	fwd_neigh_each(permanent, &each);
}

static int l_route_add(void *ctx, const struct fwd_route *r, struct fwd_err *err)
{
	(void)ctx;
	return fwd_route_add(r, err);
}

static int l_route_del(void *ctx, struct fwd_prefix prefix, struct fwd_err *err)
{
	(void)ctx;
	return fwd_route_del(prefix, err);
}

static int l_route_get(void *ctx, struct fwd_prefix prefix, struct fwd_route *out)
{
	int ret = fwd_route_get(prefix, out);

	(void)ctx;
	return ret != 0 ? ret : out->type == FWD_ROUTE_STATIC ? 0 : -ENOENT;
}

struct each_route {
	bool (*fn)(void *arg, const struct fwd_route *r);
	void *arg;
};

static bool only_static(void *arg, const struct fwd_route *r)
{
	const struct each_route *each = arg;

	return r->type != FWD_ROUTE_STATIC || each->fn(each->arg, r);
}

static void l_route_each(void *ctx, bool (*fn)(void *arg, const struct fwd_route *r), void *arg)
{
	struct each_route each = {fn, arg};

	(void)ctx;
	fwd_route_each(only_static, &each);
}

static void l_route_expect(void *ctx, uint32_t routes, uint32_t nets)
{
	(void)ctx;
	fwd_route_expect(routes, nets);
}

static int l_commit(void *ctx, struct fwd_err *err)
{
	(void)ctx;
	return fwd_commit(err);
}

static const struct net_ops live_ops = {
	.iface_add = l_iface_add,
	.iface_set_mtu = l_iface_set_mtu,
	.iface_set_gro = l_iface_set_gro,
	.iface_del = l_iface_del,
	.iface_pass = l_iface_pass,
	.iface_find = l_iface_find,
	.iface_get = l_iface_get,
	.address_add = l_address_add,
	.address_del = l_address_del,
	.address_get = l_address_get,
	.neigh_add = l_neigh_add,
	.neigh_del = l_neigh_del,
	.neigh_each = l_neigh_each,
	.route_add = l_route_add,
	.route_del = l_route_del,
	.route_get = l_route_get,
	.route_each = l_route_each,
	.route_expect = l_route_expect,
	.commit = l_commit,
};

struct net live_net(void)
{
	return (struct net){.ops = &live_ops};
}
