/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be configured below translation - interfaces, addresses, neighbours, routes - as a table
 * of functions, so that commands run the same on the running router (live.c), on a configuration
 * that is only being checked (shadow.c), and with a journal in between that can take everything
 * back (journal.c).
 *
 * Meanings and errors are those of the functions of the same name in fwd.h.
 */
#ifndef TURNPIKE_NET_H
#define TURNPIKE_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "fwd.h"

struct net_iface {
	uint16_t id;
	struct fwd_iface_conf conf; /* mtu, rxqs: as configured, 0 where left to the default */
	uint16_t mtu;		    /* in force */
	unsigned n_pass;
	struct fwd_pass pass[FWD_IFACE_PASS];
};

struct net_neigh {
	uint16_t iface;
	uint32_t addr_be;
	uint8_t mac[6];
};

struct net_ops {
	int (*iface_add)(void *ctx, const struct fwd_iface_conf *conf, struct fwd_err *err);
	int (*iface_set_mtu)(void *ctx, const char *name, uint16_t mtu, struct fwd_err *err);
	int (*iface_set_gro)(void *ctx, const char *name, struct fwd_gro gro, struct fwd_err *err);
	int (*iface_del)(void *ctx, const char *name, struct fwd_err *err);
	int (*iface_pass)(void *ctx, const char *name, struct fwd_pass pass, bool add,
			  struct fwd_err *err);
	int (*iface_find)(void *ctx, const char *name);
	int (*iface_get)(void *ctx, uint16_t id, struct net_iface *out);

	int (*address_add)(void *ctx, const struct fwd_address *a, struct fwd_err *err);
	int (*address_del)(void *ctx, const struct fwd_address *a, struct fwd_err *err);
	int (*address_get)(void *ctx, unsigned i, struct fwd_address *a);

	int (*neigh_add)(void *ctx, const struct net_neigh *n, struct fwd_err *err);
	int (*neigh_del)(void *ctx, uint16_t iface, uint32_t addr_be, struct fwd_err *err);
	/* those that were set, not learned */
	void (*neigh_each)(void *ctx, bool (*fn)(void *arg, const struct net_neigh *n), void *arg);

	int (*route_add)(void *ctx, const struct fwd_route *r, struct fwd_err *err);
	int (*route_del)(void *ctx, struct fwd_prefix prefix, struct fwd_err *err);
	int (*route_get)(void *ctx, struct fwd_prefix prefix,
			 struct fwd_route *out); /* static ones */
	/* by address, then by length */
	void (*route_each)(void *ctx, bool (*fn)(void *arg, const struct fwd_route *r), void *arg);
	void (*route_expect)(void *ctx, uint32_t routes, uint32_t nets);

	int (*commit)(void *ctx, struct fwd_err *err);
};

struct net {
	const struct net_ops *ops;
	void *ctx;
};

#endif /* TURNPIKE_NET_H */
