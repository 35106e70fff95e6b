/* SPDX-License-Identifier: BSD-3-Clause */
/* Things that are configured, as the commands that make them. Each adds one line or more, ended by
 * newlines. */
#ifndef TURNPIKE_LINES_H
#define TURNPIKE_LINES_H

#include "cli/buf.h"

#include "natconf.h"
#include "net.h"

void lines_iface(struct buf *b, const struct net_iface *iface);
void lines_pass(struct buf *b, const struct net_iface *iface);
void lines_gro(struct buf *b, const struct net_iface *iface);
const char *lines_gro_validate(enum fwd_gro_validate v);
void lines_address(struct buf *b, const struct fwd_address *a, const char *iface);
void lines_neigh(struct buf *b, const struct net_neigh *n, const char *iface);
/* net tells the interfaces' names, and whether the gateways alone tell the interface. */
void lines_route(struct buf *b, const struct fwd_route *r, const struct net *net);
void lines_pool(struct buf *b, const struct natconf_pool *p);
void lines_rule(struct buf *b, const struct natconf_rule *r);
void lines_settings(struct buf *b, const struct natconf *c); /* those that are no default */

const char *lines_rss(enum fwd_rss rss);
const char *lines_behaviour(enum nat_behaviour b);
const char *lines_rule_type(enum nat_rule_type t);
/* "203.0.113.10-203.0.113.20" */
void lines_range(struct buf *b, struct nat_range r);

#endif /* TURNPIKE_LINES_H */
