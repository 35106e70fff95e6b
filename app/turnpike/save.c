/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole configuration as text. See save.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lines.h"

#include "save.h"

#define NET(r, op, ...) ((r)->net.ops->op((r)->net.ctx, __VA_ARGS__))

static int by_name(const void *a, const void *b)
{
	const struct net_iface *x = a, *y = b;

	if ((x->conf.vlan > 0) != (y->conf.vlan > 0))
		return x->conf.vlan > 0 ? 1 : -1; /* VLANs after what carries them */
	return strcmp(x->conf.name, y->conf.name);
}

static struct net_iface *all_ifaces(const struct router *r, unsigned *n)
{
	struct net_iface *list = calloc(FWD_MAX_IFACES, sizeof(*list));

	*n = 0;
	for (unsigned i = 0; list != NULL && i < FWD_MAX_IFACES; i++) {
		if (NET(r, iface_get, (uint16_t)i, &list[*n]) == 0)
			(*n)++;
	}
	if (list != NULL)
		qsort(list, *n, sizeof(*list), by_name);
	return list;
}

/* ---- neighbours ------------------------------------------------------------------------------ */

struct neighs {
	struct net_neigh *list;
	size_t n, cap;
};

static bool add_neigh(void *arg, const struct net_neigh *n)
{
	struct neighs *all = arg;

	if (all->n == all->cap) {
		size_t cap = all->cap > 0 ? all->cap * 2 : 64;
		struct net_neigh *list = realloc(all->list, cap * sizeof(*list));

		if (list == NULL)
			return false;
		all->list = list;
		all->cap = cap;
	}
	all->list[all->n++] = *n;
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct net_neigh *x = a, *y = b;
	uint32_t p = ntohl(x->addr_be), q = ntohl(y->addr_be);

	if (x->iface != y->iface)
		return x->iface < y->iface ? -1 : 1;
	return p < q ? -1 : p > q;
}

static void put_neighs(struct buf *b, const struct router *r, const struct net_iface *ifaces,
		       unsigned n)
{
	struct neighs all = {0};

	NET(r, neigh_each, add_neigh, &all);
	if (all.n > 0)
		qsort(all.list, all.n, sizeof(all.list[0]), by_address);
	for (unsigned i = 0; i < n; i++) {
		for (size_t k = 0; k < all.n; k++) {
			if (all.list[k].iface == ifaces[i].id)
				lines_neigh(b, &all.list[k], ifaces[i].conf.name);
		}
	}
	free(all.list);
}

/* ---- routes ---------------------------------------------------------------------------------- */

struct routes {
	struct buf *b;
	const struct router *r;
};

static bool put_route(void *arg, const struct fwd_route *route)
{
	struct routes *all = arg;

	lines_route(all->b, route, &all->r->net);
	return !all->b->failed;
}

static void put_routes(struct buf *b, const struct router *r)
{
	struct routes all = {b, r};

	NET(r, route_each, put_route, &all);
}

/* ---- all ------------------------------------------------------------------------------------- */

static const char *level_word(int level)
{
	return level <= FWD_LOG_ERROR	  ? "error"
	       : level <= FWD_LOG_WARNING ? "warning"
	       : level <= FWD_LOG_INFO	  ? "info"
					  : "debug";
}

void save_text(struct buf *b, const struct router *r)
{
	struct fwd_address a;
	struct net_iface *ifaces;
	unsigned n;

	if (r->log_level != ROUTER_LOG_LEVEL)
		buf_printf(b, "log set level %s\n", level_word(r->log_level));
	if (r->packet_buffers != ROUTER_BUFFERS)
		buf_printf(b, "worker set packet-buffers %u\n", r->packet_buffers);
	if (r->max_routes != ROUTER_MAX_ROUTES)
		buf_printf(b, "route set max-routes %u\n", r->max_routes);
	if (r->max_sessions != ROUTER_MAX_SESSIONS)
		buf_printf(b, "nat set max-sessions %u\n", r->max_sessions);
	ifaces = all_ifaces(r, &n);
	if (ifaces == NULL) {
		b->failed = true;
		return;
	}
	for (unsigned i = 0; i < n; i++)
		lines_iface(b, &ifaces[i]);
	for (unsigned i = 0; i < n; i++) {
		lines_pass(b, &ifaces[i]);
		lines_gro(b, &ifaces[i]);
	}
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; NET(r, address_get, k, &a) == 0; k++) {
			if (a.iface == ifaces[i].id)
				lines_address(b, &a, ifaces[i].conf.name);
		}
	}
	put_neighs(b, r, ifaces, n);
	put_routes(b, r);
	free(ifaces);
	lines_settings(b, &r->nat);
	for (unsigned i = 0; i < r->nat.n_pools; i++)
		lines_pool(b, &r->nat.pools[i]);
	for (unsigned t = NAT_RULE_EXEMPT; t <= NAT_RULE_MASQUERADE; t++) {
		for (unsigned i = 0; i < r->nat.n_rules; i++) {
			if (r->nat.rules[i].r.type == t)
				lines_rule(b, &r->nat.rules[i]);
		}
	}
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return fsync(fd) != 0 ? -errno : 0;
}

int save_file(const char *path, const struct router *r)
{
	struct buf text = {0}, temp = {0};
	struct stat st;
	int fd, ret;

	buf_puts(&text, "# Turnpike's configuration, as 'config save' wrote it.\n");
	save_text(&text, r);
	buf_printf(&temp, "%s.XXXXXX", path);
	if (text.failed || temp.failed) {
		ret = -ENOMEM;
		goto out;
	}
	fd = mkstemp(temp.s);
	if (fd < 0) {
		ret = -errno;
		goto out;
	}
	ret = fchmod(fd, stat(path, &st) == 0 ? st.st_mode & 0777 : 0640) != 0 ? -errno : 0;
	if (ret == 0)
		ret = write_all(fd, text.s, text.len);
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(temp.s, path) != 0)
		ret = -errno;
	if (ret != 0)
		unlink(temp.s);
out:
	buf_free(&text);
	buf_free(&temp);
	return ret;
}
