/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "lines.h"
#include "names.h"
#include "show_row.h"

#include "show_nat.h"

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

json_t *show_pools(const struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
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

json_t *show_rules(const struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
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

json_t *show_nat(const struct router *r)
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

json_t *show_timeouts(const struct router *r)
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

bool show_sessions(const struct router *r, const struct cli_cmd *cmd, struct stream **out,
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
