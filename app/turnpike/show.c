/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that show. See show.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_version.h>

#include "cli/help.h"
#include "cli/text.h"

#include "lines.h"
#include "names.h"
#include "save.h"
#include "show_nat.h"
#include "show_row.h"
#include "show_stats.h"

#include "show.h"

/* ---- interfaces, addresses, neighbours ------------------------------------------------------- */

static json_t *iface_row(const struct fwd_iface_info *info)
{
	json_t *o = json_object(), *pass = json_array();
	char text[24], proto[12];
	uint32_t speed_mbps = 0;
	bool up = false;

	fwd_iface_link(info->id, &up, &speed_mbps);
	put(o, "name", info->conf.name);
	if (info->conf.vlan > 0) {
		put_number(o, "vlan", info->conf.vlan);
		put(o, "parent", info->conf.parent);
	} else {
		put(o, "devargs", info->conf.devargs);
		put_number(o, "rxqs", info->conf.rxqs);
		put(o, "rss", lines_rss(info->conf.rss));
	}
	put_number(o, "port_id", info->port_id);
	put(o, "mac", text_put_mac(text, info->mac));
	put_number(o, "mtu", info->conf.mtu);
	put(o, "link", up ? "up" : "down");
	if (speed_mbps > 0)
		put_number(o, "speed_mbps", speed_mbps);
	put(o, "driver", info->driver);
	if (info->netdev[0] != '\0')
		put(o, "netdev", info->netdev);
	put_bool(o, "xdp", info->xdp);
	put_bool(o, "completes_checksums", info->completes_checksums);
	put(o, "gro", info->conf.gro.on ? "on" : "off");
	put(o, "gro_validate", lines_gro_validate(info->conf.gro.validate));
	put_number(o, "gro_timeout_us", info->conf.gro.timeout_us);
	put(o, "gro_udp", info->conf.gro.udp ? "on" : "off");
	for (unsigned i = 0; i < info->n_pass; i++) {
		snprintf(text, sizeof(text), "%s/%u",
			 text_put_protocol(proto, info->pass[i].protocol), info->pass[i].port);
		json_array_append_new(pass, json_string(text));
	}
	json_object_set_new(o, "pass", pass);
	return o;
}

static json_t *ifaces(const struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	json_t *rows;
	uint16_t only = FWD_IFACE_NONE;
	struct fwd_iface_info info;

	if (!names_iface(r, cmd, "NAME", &only, e))
		return NULL;
	rows = json_array();
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		if ((only == FWD_IFACE_NONE || only == i) &&
		    fwd_iface_info((uint16_t)i, &info) == 0)
			json_array_append_new(rows, iface_row(&info));
	}
	return rows;
}

static json_t *addresses(const struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	json_t *rows;
	uint16_t only = FWD_IFACE_NONE;
	struct fwd_address a;
	char text[20], name[FWD_NAME_LEN];

	if (!names_iface(r, cmd, "interface", &only, e))
		return NULL;
	rows = json_array();
	for (unsigned i = 0; fwd_address_get(i, &a) == 0; i++) {
		json_t *o;

		if (only != FWD_IFACE_NONE && a.iface != only)
			continue;
		o = json_object();
		put(o, "address", text_put_prefix(text, a.addr_be, a.len));
		put(o, "interface", iface_name(a.iface, name));
		json_array_append_new(rows, o);
	}
	return rows;
}

struct neigh_stream {
	struct stream s;
	uint16_t only;
	struct fwd_neigh_info *list;
	size_t n, cap, next;
	bool failed;
};

static bool collect_neigh(void *arg, const struct fwd_neigh_info *n)
{
	struct neigh_stream *s = arg;

	if (s->only != FWD_IFACE_NONE && n->iface != s->only)
		return true;
	if (s->n == s->cap) {
		size_t cap = s->cap > 0 ? s->cap * 2 : 64;
		struct fwd_neigh_info *list = realloc(s->list, cap * sizeof(*list));

		if (list == NULL) {
			s->failed = true;
			return false;
		}
		s->list = list;
		s->cap = cap;
	}
	s->list[s->n++] = *n;
	return true;
}

static bool more_neighs(struct stream *stream, json_t *items)
{
	struct neigh_stream *s = (struct neigh_stream *)stream;
	static const uint8_t unknown[6];
	char text[20], name[FWD_NAME_LEN];

	for (unsigned i = 0; i < ANSWER_SLICE && s->next < s->n; i++) {
		const struct fwd_neigh_info *n = &s->list[s->next++];
		json_t *o = json_object();

		put(o, "address", text_put_ip4(text, n->addr_be));
		if (memcmp(n->mac, unknown, sizeof(unknown)) != 0)
			put(o, "lladdr", text_put_mac(text, n->mac));
		put(o, "interface", iface_name(n->iface, name));
		put(o, "state", fwd_neigh_state_name(n->state));
		if (n->state != FWD_NEIGH_PERMANENT)
			put_number(o, "age_ms", n->age_ms);
		put_number(o, "waiting_packets", n->queued);
		json_array_append_new(items, o);
	}
	return s->next < s->n;
}

static void free_neighs(struct stream *stream)
{
	free(((struct neigh_stream *)stream)->list);
	free(stream);
}

static bool neighbours(const struct router *r, const struct cli_cmd *cmd, struct stream **out,
		       struct cli_error *e)
{
	struct neigh_stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return no_memory(e);
	s->s.more = more_neighs;
	s->s.free = free_neighs;
	s->only = FWD_IFACE_NONE;
	if (!names_iface(r, cmd, "interface", &s->only, e)) {
		free(s);
		return false;
	}
	fwd_neigh_each(collect_neigh, s);
	if (s->failed) {
		free_neighs(&s->s);
		return no_memory(e);
	}
	*out = &s->s;
	return true;
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* A row to come: a static route is looked up again when its turn comes, as it may be large and a
 * million may wait. */
struct route_ref {
	uint32_t addr_be;
	uint16_t iface;
	uint8_t len;
	uint8_t type;
};

struct route_stream {
	struct stream s;
	uint32_t net_be;
	uint8_t len;
	struct route_ref *list;
	size_t n, cap, next;
	bool failed;
};

static json_t *route_row(const struct fwd_route *r)
{
	json_t *o = json_object();
	char text[20], name[FWD_NAME_LEN];

	put(o, "prefix", text_put_prefix(text, r->prefix.addr_be, r->prefix.len));
	put(o, "type", fwd_route_type_name(r->type));
	if (r->type == FWD_ROUTE_STATIC) {
		json_t *list = json_array();

		for (unsigned i = 0; i < r->n_via; i++) {
			json_t *via = json_object();

			put(via, "gateway", text_put_ip4(text, r->via[i].gw_be));
			put(via, "interface", iface_name(r->via[i].iface, name));
			json_array_append_new(list, via);
		}
		json_object_set_new(o, "via", list);
	} else {
		put(o, "interface", iface_name(r->iface, name));
	}
	return o;
}

static bool collect_route(void *arg, const struct fwd_route *r)
{
	struct route_stream *s = arg;
	struct route_ref *ref;

	if (r->prefix.len < s->len || ((r->prefix.addr_be ^ s->net_be) & text_mask_be(s->len)) != 0)
		return true;
	if (s->n == s->cap) {
		size_t cap = s->cap > 0 ? s->cap * 2 : 256;
		struct route_ref *list = realloc(s->list, cap * sizeof(*list));

		if (list == NULL) {
			s->failed = true;
			return false;
		}
		s->list = list;
		s->cap = cap;
	}
	ref = &s->list[s->n++];
	ref->addr_be = r->prefix.addr_be;
	ref->len = r->prefix.len;
	ref->type = (uint8_t)r->type;
	ref->iface = r->iface;
	return true;
}

static bool more_routes(struct stream *stream, json_t *items)
{
	struct route_stream *s = (struct route_stream *)stream;
	struct fwd_route route;

	for (unsigned i = 0; i < ANSWER_SLICE && s->next < s->n; i++) {
		const struct route_ref *ref = &s->list[s->next++];
		struct fwd_prefix p = {ref->addr_be, ref->len};

		if (ref->type == FWD_ROUTE_STATIC) {
			if (fwd_route_get(p, &route) != 0)
				continue; /* removed since the list began */
		} else {
			memset(&route, 0, sizeof(route));
			route.prefix = p;
			route.type = ref->type;
			route.iface = ref->iface;
		}
		json_array_append_new(items, route_row(&route));
	}
	return s->next < s->n;
}

static void free_routes(struct stream *stream)
{
	free(((struct route_stream *)stream)->list);
	free(stream);
}

static bool routes(const struct cli_cmd *cmd, struct stream **out, struct cli_error *e)
{
	const struct cli_value *inside = cli_get(cmd, "PREFIX");
	struct route_stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return no_memory(e);
	s->s.more = more_routes;
	s->s.free = free_routes;
	if (inside != NULL) {
		s->net_be = inside->addr_be;
		s->len = inside->len;
	}
	fwd_route_each(collect_route, s);
	if (s->failed) {
		free_routes(&s->s);
		return no_memory(e);
	}
	*out = &s->s;
	return true;
}

static bool route_lookup(const struct cli_cmd *cmd, json_t **object, struct cli_error *e)
{
	const struct cli_value *v = cli_get(cmd, "ADDRESS");
	unsigned first = ntohl(v->addr_be) >> 24;
	struct fwd_route route;

	/* dropped as they come, whatever the routes say */
	if (first == 0 || first == 127 || first >= 224) {
		cli_error_set(e, 1, v->column, "packets to %s are not forwarded: it is %s address",
			      v->text,
			      first == 0		       ? "this network's"
			      : first == 127		       ? "a loopback"
			      : first < 240		       ? "a multicast"
			      : v->addr_be == INADDR_BROADCAST ? "the broadcast"
							       : "a reserved");
		return false;
	}
	if (fwd_route_lookup(v->addr_be, &route) != 0) {
		cli_error_set(e, 1, v->column, "no route to %s", v->text);
		return false;
	}
	*object = route_row(&route);
	return true;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool help(const struct cli_cmd *cmd, struct stream **out, struct cli_error *e)
{
	struct buf text = {0};

	if (!cli_help(&text, cmd->rest, cmd->n_rest, e)) {
		buf_free(&text);
		return false;
	}
	*out = answer_lines(&text);
	return *out != NULL || no_memory(e);
}

static bool config(const struct router *r, struct stream **out, struct cli_error *e)
{
	struct buf text = {0};

	save_text(&text, r);
	*out = answer_lines(&text);
	return *out != NULL || no_memory(e);
}

static bool list(json_t *rows, struct stream **out, struct cli_error *e)
{
	if (rows == NULL)
		return false; /* e is set */
	*out = answer_array(rows);
	return *out != NULL || no_memory(e);
}

bool show_run(const struct router *r, const struct cli_cmd *cmd, struct stream **stream,
	      json_t **object, struct cli_error *e)
{
	*stream = NULL;
	*object = NULL;
	cli_error_set(e, 1, 0, "out of memory");
	switch (cmd->def->id) {
	case CLI_INTERFACE_SHOW:
		return list(ifaces(r, cmd, e), stream, e);
	case CLI_ADDRESS_SHOW:
		return list(addresses(r, cmd, e), stream, e);
	case CLI_NEIGHBOUR_SHOW:
		return neighbours(r, cmd, stream, e);
	case CLI_ROUTE_SHOW:
		return routes(cmd, stream, e);
	case CLI_ROUTE_LOOKUP:
		return route_lookup(cmd, object, e);
	case CLI_POOL_SHOW:
		return list(show_pools(r, cmd, e), stream, e);
	case CLI_RULE_SHOW:
		return list(show_rules(r, cmd, e), stream, e);
	case CLI_NAT_SHOW:
		*object = show_nat(r);
		return true;
	case CLI_TIMEOUT_SHOW:
		return list(show_timeouts(r), stream, e);
	case CLI_SESSION_SHOW:
		return show_sessions(r, cmd, stream, e);
	case CLI_STATS_SHOW:
		return show_stats(r, cmd, object, e);
	case CLI_CONFIG_SHOW:
		return config(r, stream, e);
	case CLI_VERSION:
		*object = json_pack("{s:s, s:s}", "turnpike", TURNPIKE_VERSION, "dpdk",
				    rte_version());
		return true;
	case CLI_WORKER_SHOW:
		return list(show_workers(), stream, e);
	case CLI_HELP:
		return help(cmd, stream, e);
	default:
		cli_error_set(e, 2, 0, "'%s' is not for the daemon", cmd->def->words[0]);
		return false;
	}
}
