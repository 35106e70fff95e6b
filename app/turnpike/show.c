/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that show. See show.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_version.h>

#include "cli/help.h"
#include "cli/text.h"

#include "lines.h"
#include "names.h"
#include "save.h"

#include "show.h"

static void put(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, answer_text(text));
}

static void put_number(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer((json_int_t)v));
}

static void put_bool(json_t *o, const char *key, bool v)
{
	json_object_set_new(o, key, json_boolean(v));
}

static bool no_memory(struct cli_error *e)
{
	cli_error_set(e, 1, 0, "out of memory");
	return false;
}

static const char *iface_name(uint16_t id, char out[FWD_NAME_LEN])
{
	struct fwd_iface_info info;

	out[0] = '\0';
	if (fwd_iface_info(id, &info) == 0)
		memcpy(out, info.conf.name, FWD_NAME_LEN);
	return out;
}

/* ---- interfaces, addresses, neighbours ------------------------------------------------------- */

static json_t *iface_row(const struct fwd_iface_info *info)
{
	json_t *o = json_object(), *pass = json_array();
	char text[24], proto[12];

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
	put(o, "link", info->link_up ? "up" : "down");
	if (info->speed_mbps > 0)
		put_number(o, "speed_mbps", info->speed_mbps);
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

/* ---- translation ----------------------------------------------------------------------------- */

static json_t *pool_row(const struct router *r, const struct natconf_pool *p)
{
	json_t *o = json_object(), *list = json_array(), *rules = json_array();
	struct buf text = {0};
	char ports[12];

	put(o, "name", p->name);
	for (unsigned i = 0; i < p->n_ranges; i++) {
		text.len = 0;
		lines_range(&text, p->range[i]);
		json_array_append_new(list, json_string(text.s));
	}
	buf_free(&text);
	json_object_set_new(o, "addresses", list);
	put(o, "ports", p->port_lo > 0 ? text_put_ports(ports, p->port_lo, p->port_hi) : "1-65535");
	for (unsigned i = 0; i < r->nat.n_rules; i++) {
		if (strcmp(r->nat.rules[i].pool, p->name) == 0)
			json_array_append_new(rules, json_string(r->nat.rules[i].r.name));
	}
	json_object_set_new(o, "rules", rules);
	return o;
}

static json_t *pools(const struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct natconf_pool *only = NULL;
	json_t *rows;

	if (cli_get(cmd, "NAME") != NULL) {
		only = names_pool(r, cmd, "NAME", e);
		if (only == NULL)
			return NULL;
	}
	rows = json_array();
	for (unsigned i = 0; i < r->nat.n_pools; i++) {
		if (only == NULL || only == &r->nat.pools[i])
			json_array_append_new(rows, pool_row(r, &r->nat.pools[i]));
	}
	return rows;
}

static void put_prefix(json_t *o, const char *key, struct nat_prefix p)
{
	char text[20];

	if (p.len > 0 || p.addr_be != 0)
		put(o, key, text_put_host_or_prefix(text, p.addr_be, p.len));
}

static json_t *rule_row(const struct natconf_rule *rule)
{
	const struct nat_rule *r = &rule->r;
	json_t *o = json_object();
	char text[20], proto[12], ports[12], both[36];

	put(o, "name", r->name);
	put(o, "type", lines_rule_type(r->type));
	if (rule->iface[0] != '\0')
		put(o, "interface", rule->iface);
	if (r->protocol > 0)
		put(o, "protocol", text_put_protocol(proto, r->protocol));
	put_prefix(o, "source", r->source);
	if (r->dport_lo > 0) {
		snprintf(both, sizeof(both), "%s:%s",
			 text_put_host_or_prefix(text, r->destination.addr_be, r->destination.len),
			 text_put_ports(ports, r->dport_lo, r->dport_hi));
		put(o, "destination", both);
	} else {
		put_prefix(o, "destination", r->destination);
	}
	if (r->type == NAT_RULE_DNAT) {
		text_put_ip4(text, r->to_be);
		snprintf(both, sizeof(both), r->to_port > 0 ? "%s:%u" : "%s", text, r->to_port);
		put(o, "to", both);
	}
	if (r->type == NAT_RULE_SNAT)
		put(o, "pool", rule->pool);
	if (r->type == NAT_RULE_STATIC) {
		put_prefix(o, "external", r->external);
		put_prefix(o, "internal", r->internal);
	}
	return o;
}

static json_t *rules(const struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct natconf_rule *only = NULL;
	json_t *rows;

	if (cli_get(cmd, "NAME") != NULL) {
		only = names_rule(r, cmd, "NAME", e);
		if (only == NULL)
			return NULL;
	}
	rows = json_array();
	for (unsigned t = NAT_RULE_EXEMPT; t <= NAT_RULE_MASQUERADE; t++) {
		for (unsigned i = 0; i < r->nat.n_rules; i++) {
			const struct natconf_rule *rule = &r->nat.rules[i];

			if (rule->r.type == t && (only == NULL || only == rule))
				json_array_append_new(rows, rule_row(rule));
		}
	}
	return rows;
}

static json_t *nat_overview(const struct router *r)
{
	json_t *settings = json_object(), *use = json_object();
	struct nat_stats s;

	put(settings, "mapping", lines_behaviour(r->nat.mapping));
	put(settings, "filtering", lines_behaviour(r->nat.filtering));
	put(settings, "port-preservation", r->nat.port_preservation ? "on" : "off");
	put(settings, "hairpin", r->nat.hairpin ? "on" : "off");
	put(settings, "inbound-refresh", r->nat.inbound_refresh ? "on" : "off");
	put(settings, "tcp-loose", r->nat.tcp_loose ? "on" : "off");
	put(settings, "refuse-icmp", r->nat.refuse_icmp ? "on" : "off");
	put_number(settings, "max-sessions", r->max_sessions);
	memset(&s, 0, sizeof(s));
	fwd_nat_stats(&s);
	put_number(use, "rules", r->nat.n_rules);
	put_number(use, "pools", r->nat.n_pools);
	put_number(use, "sessions", s.sessions);
	put_number(use, "max_sessions", s.max_sessions);
	put_number(use, "mappings", s.mappings);
	put_number(use, "max_mappings", s.max_mappings);
	put_number(use, "external_addresses", s.external_addresses);
	put_number(use, "sessions_created", s.sessions_created);
	put_number(use, "sessions_expired", s.sessions_expired);
	put_number(use, "sessions_cleared", s.sessions_cleared);
	put_number(use, "memory_bytes", s.memory_bytes);
	return json_pack("{s:o, s:o}", "settings", settings, "use", use);
}

static json_t *timeouts(const struct router *r)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < NAT_TIMEOUT_COUNT; i++) {
		const struct nat_timeout_info *t = &nat_timeout_info[i];
		json_t *o = json_object();

		put(o, "name", t->name);
		put_number(o, "timeout_s", r->nat.timeout_s[i]);
		put_number(o, "default_s", t->def_s);
		put_number(o, "min_s", t->min_s);
		put_number(o, "max_s", t->max_s);
		put(o, "meaning", t->text);
		json_array_append_new(rows, o);
	}
	return rows;
}

/* ---- sessions -------------------------------------------------------------------------------- */

bool show_session_filter(const struct router *r, const struct cli_cmd *cmd, struct nat_filter *f,
			 struct cli_error *e)
{
	const struct cli_value *v;

	memset(f, 0, sizeof(*f));
	v = cli_get(cmd, "source");
	if (v != NULL)
		f->source = (struct nat_prefix){v->addr_be, v->len};
	v = cli_get(cmd, "destination");
	if (v != NULL)
		f->destination = (struct nat_prefix){v->addr_be, v->len};
	v = cli_get(cmd, "protocol");
	if (v != NULL)
		f->protocol = (uint8_t)v->number;
	v = cli_get(cmd, "port");
	if (v != NULL)
		f->port = (uint16_t)v->number;
	if (cli_get(cmd, "rule") != NULL) {
		const struct natconf_rule *rule = names_rule(r, cmd, "rule", e);

		if (rule == NULL)
			return false;
		f->rule_id = rule->r.id;
	}
	return true;
}

struct session_stream {
	struct stream s;
	const struct router *r;
	struct nat_filter f;
	uint64_t cursor;
	uint64_t left;
	unsigned n, next; /* got from the worker, and given out of that */
	struct nat_session_info info[4 * ANSWER_SLICE];
};

static bool has_ports(uint8_t proto)
{
	return proto == 6 || proto == 17 || proto == 33 || proto == 132 || proto == 136;
}

static json_t *endpoint(uint32_t addr_be, bool port, uint16_t port_be)
{
	char text[24], addr[16];

	if (!port)
		return json_string(text_put_ip4(addr, addr_be));
	snprintf(text, sizeof(text), "%s:%u", text_put_ip4(addr, addr_be), ntohs(port_be));
	return json_string(text);
}

static json_t *direction(const struct nat_key *k)
{
	bool ports = has_ports(k->proto);

	return json_pack("{s:o, s:o}", "source",
			 endpoint(k->src_be, ports || k->kind == NAT_KIND_ICMP_REQUEST,
				  k->sport_be),
			 "destination",
			 endpoint(k->dst_be, ports || k->kind == NAT_KIND_ICMP_REPLY, k->dport_be));
}

static json_t *session_row(const struct router *r, const struct nat_session_info *i)
{
	const struct natconf_rule *rule = natconf_rule_by_id(&r->nat, i->rule_id);
	json_t *o = json_object();
	char proto[12];

	put_number(o, "id", i->index);
	put(o, "protocol", text_put_protocol(proto, i->orig.proto));
	json_object_set_new(o, "original", direction(&i->orig));
	json_object_set_new(o, "reply", direction(&i->reply));
	if (i->orig.kind != NAT_KIND_FLOW)
		put_number(o, "icmp_id",
			   ntohs(i->orig.kind == NAT_KIND_ICMP_REQUEST ? i->orig.sport_be
								       : i->orig.dport_be));
	if (rule != NULL)
		put(o, "rule", rule->r.name);
	if (i->tcp_state != NAT_TCP_NONE)
		put(o, "state", nat_tcp_state_name(i->tcp_state));
	put_number(o, "age_ms", i->age_ms);
	put_number(o, "idle_ms", i->idle_ms);
	put_number(o, "timeout_s", i->timeout_s);
	return o;
}

static bool more_sessions(struct stream *stream, json_t *items)
{
	struct session_stream *s = (struct session_stream *)stream;
	unsigned room = ANSWER_SLICE;

	if (s->next == s->n) {
		s->next = 0;
		s->n = fwd_nat_sessions(&s->f, &s->cursor, s->info, 4 * ANSWER_SLICE);
	}
	for (; room > 0 && s->left > 0 && s->next < s->n; room--, s->left--)
		json_array_append_new(items, session_row(s->r, &s->info[s->next++]));
	return s->left > 0 && (s->next < s->n || s->cursor != NAT_NONE);
}

static void free_sessions(struct stream *stream)
{
	free(stream);
}

static bool sessions(const struct router *r, const struct cli_cmd *cmd, struct stream **out,
		     struct cli_error *e)
{
	const struct cli_value *limit = cli_get(cmd, "limit");
	struct session_stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return no_memory(e);
	s->s.more = more_sessions;
	s->s.free = free_sessions;
	s->r = r;
	s->left = limit != NULL ? limit->number : UINT64_MAX;
	if (!show_session_filter(r, cmd, &s->f, e)) {
		free(s);
		return false;
	}
	*out = &s->s;
	return true;
}

/* ---- counters -------------------------------------------------------------------------------- */

static json_t *traffic_row(uint16_t id, const char *name, int worker)
{
	struct fwd_iface_stats st;
	json_t *o = json_object();

	memset(&st, 0, sizeof(st));
	fwd_stats_iface(id, worker, &st);
	put(o, "interface", name);
	put_number(o, "rx_packets", st.rx_packets);
	put_number(o, "rx_bytes", st.rx_bytes);
	put_number(o, "tx_packets", st.tx_packets);
	put_number(o, "tx_bytes", st.tx_bytes);
	put_number(o, "drops", st.drops);
	put_number(o, "rx_missed", st.rx_missed);
	put_number(o, "rx_errors", st.rx_errors);
	put_number(o, "rx_no_buffer", st.rx_nombuf);
	put_number(o, "tx_errors", st.tx_errors);
	put_number(o, "bad_checksums", st.bad_checksums);
	return o;
}

static void drop_row(json_t *rows, unsigned d, const char *iface, uint64_t n)
{
	json_t *o;

	if (n == 0)
		return;
	o = json_object();
	if (iface != NULL)
		put(o, "interface", iface);
	put(o, "reason", fwd_drop_name(d));
	put_number(o, "packets", n);
	put(o, "meaning", fwd_drop_text(d));
	json_array_append_new(rows, o);
}

/* Subtracts what it shows from rest, which begins with the drops of all interfaces. */
static void drop_rows(json_t *rows, uint16_t id, const char *name, int worker,
		      uint64_t rest[FWD_DROP_COUNT])
{
	for (unsigned d = 0; d < FWD_DROP_COUNT; d++) {
		uint64_t n = fwd_stats_drop(d, id, worker);

		drop_row(rows, d, name, n);
		rest[d] -=
			n < rest[d] ? n : rest[d]; /* rest was read before: it may be less by now */
	}
}

static json_t *event_rows(int worker)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < FWD_EVENT_COUNT; i++) {
		uint64_t n = fwd_stats_event(i, worker);
		json_t *o;

		if (n == 0)
			continue;
		o = json_object();
		put(o, "event", fwd_event_name(i));
		put_number(o, "count", n);
		put(o, "meaning", fwd_event_text(i));
		json_array_append_new(rows, o);
	}
	return rows;
}

static bool stats(const struct router *r, const struct cli_cmd *cmd, json_t **out,
		  struct cli_error *e)
{
	const struct cli_value *w = cli_get(cmd, "worker");
	bool drops_only = cli_get(cmd, "drops") != NULL;
	int worker = FWD_WORKER_ALL;
	uint16_t only = FWD_IFACE_NONE;
	uint64_t rest[FWD_DROP_COUNT];
	json_t *traffic, *drops;
	struct fwd_iface_info info;

	if (!names_iface(r, cmd, "interface", &only, e))
		return false;
	if (w != NULL && w->number >= fwd_worker_count()) {
		cli_error_set(e, 1, w->column, "no worker %u", (unsigned)w->number);
		cli_error_hint(e, "there are %u, counted from 0", fwd_worker_count());
		return false;
	}
	if (w != NULL)
		worker = (int)w->number;
	traffic = json_array();
	drops = json_array();
	for (unsigned d = 0; d < FWD_DROP_COUNT; d++)
		rest[d] = fwd_stats_drop(d, FWD_IFACE_NONE, worker);
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		uint16_t id = (uint16_t)i;

		if ((only != FWD_IFACE_NONE && only != id) || fwd_iface_info(id, &info) != 0)
			continue;
		json_array_append_new(traffic, traffic_row(id, info.conf.name, worker));
		drop_rows(drops, id, info.conf.name, worker, rest);
	}
	/* of no interface: a tag that none has, or an interface that is gone */
	for (unsigned d = 0; d < FWD_DROP_COUNT && only == FWD_IFACE_NONE; d++)
		drop_row(drops, d, NULL, rest[d]);
	*out = json_object();
	if (!drops_only)
		json_object_set_new(*out, "interfaces", traffic);
	else
		json_decref(traffic);
	json_object_set_new(*out, "drops", drops);
	if (!drops_only && only == FWD_IFACE_NONE)
		json_object_set_new(*out, "events", event_rows(worker));
	return true;
}

static json_t *workers(void)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < fwd_worker_count(); i++) {
		struct fwd_worker_info info;
		json_t *o;

		if (fwd_worker_info(i, &info) != 0)
			continue;
		o = json_object();
		put_number(o, "worker", i);
		put_number(o, "lcore", info.lcore);
		if (info.cpu >= 0)
			put_number(o, "cpu", (uint64_t)info.cpu);
		put_number(o, "rx_queues", info.rx_queues);
		put_number(o, "sessions", info.sessions);
		put_number(o, "packets", info.packets);
		put_number(o, "bursts", info.bursts);
		put_number(o, "busy_percent", (uint64_t)(info.busy * 100.0 + 0.5));
		json_array_append_new(rows, o);
	}
	return rows;
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
		return list(pools(r, cmd, e), stream, e);
	case CLI_RULE_SHOW:
		return list(rules(r, cmd, e), stream, e);
	case CLI_NAT_SHOW:
		*object = nat_overview(r);
		return true;
	case CLI_TIMEOUT_SHOW:
		return list(timeouts(r), stream, e);
	case CLI_SESSION_SHOW:
		return sessions(r, cmd, stream, e);
	case CLI_STATS_SHOW:
		return stats(r, cmd, object, e);
	case CLI_CONFIG_SHOW:
		return config(r, stream, e);
	case CLI_VERSION:
		*object = json_pack("{s:s, s:s}", "turnpike", TURNPIKE_VERSION, "dpdk",
				    rte_version());
		return true;
	case CLI_WORKER_SHOW:
		return list(workers(), stream, e);
	case CLI_HELP:
		return help(cmd, stream, e);
	default:
		cli_error_set(e, 2, 0, "'%s' is not for the daemon", cmd->def->words[0]);
		return false;
	}
}
