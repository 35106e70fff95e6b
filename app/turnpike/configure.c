/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that configure. See configure.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/text.h"

#include "lines.h"
#include "names.h"

#include "configure.h"

#define NET(r, op, ...) ((r)->net.ops->op((r)->net.ctx, __VA_ARGS__))

static bool refuse(struct cli_error *e, int ret, const struct fwd_err *err,
		   const struct cli_value *where)
{
	cli_error_set(e, 1, where != NULL ? where->column : 0, "%s",
		      err->msg[0] != '\0' ? err->msg : strerror(-ret));
	return false;
}

/* Refuses because of what is there: the line that made it, without its newline. */
static bool there_is(struct cli_error *e, const struct cli_value *where, const char *what,
		     struct buf *line)
{
	if (line->len > 0 && line->s[line->len - 1] == '\n')
		line->s[--line->len] = '\0';
	cli_error_set(e, 1, where != NULL ? where->column : 0, "%s exists with other values", what);
	cli_error_hint(e, "there is: %s", line->s != NULL ? line->s : "");
	buf_free(line);
	return false;
}

static void copy_name(char *out, size_t size, const struct cli_value *v)
{
	snprintf(out, size, "%s", v != NULL ? v->text : "");
}

/* ---- interfaces ------------------------------------------------------------------------------ */

static const enum fwd_rss spreads[] = {
	[CLI_RSS_FLOW] = FWD_RSS_FLOW,
	[CLI_RSS_SOURCE] = FWD_RSS_SOURCE,
	[CLI_RSS_DESTINATION_PORT] = FWD_RSS_DESTINATION_PORT,
};

static bool iface_add(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *name = cli_get(cmd, "NAME"), *vlan = cli_get(cmd, "vlan");
	const struct cli_value *mtu = cli_get(cmd, "mtu"), *rxqs = cli_get(cmd, "rxqs");
	const struct cli_value *gro = cli_get(cmd, "gro"), *rss = cli_get(cmd, "rss");
	struct fwd_iface_conf conf = {0};
	struct fwd_err err = {0};
	struct net_iface there;
	struct buf line = {0};
	uint16_t parent;
	int id, ret;

	copy_name(conf.name, sizeof(conf.name), name);
	copy_name(conf.devargs, sizeof(conf.devargs), cli_get(cmd, "devargs"));
	copy_name(conf.parent, sizeof(conf.parent), cli_get(cmd, "parent"));
	conf.vlan = vlan != NULL ? (uint16_t)vlan->number : 0;
	conf.mtu = mtu != NULL ? (uint16_t)mtu->number : 0;
	conf.rxqs = rxqs != NULL ? (uint16_t)rxqs->number : 0;
	conf.rss = rss != NULL ? spreads[rss->number] : FWD_RSS_FLOW;
	conf.gro.on = gro != NULL && gro->number != 0;
	if (!names_iface(r, cmd, "parent", &parent, e))
		return false;
	id = NET(r, iface_find, conf.name);
	if (id >= 0 && NET(r, iface_get, (uint16_t)id, &there) == 0) {
		if (there.conf.vlan == conf.vlan && there.conf.mtu == conf.mtu &&
		    there.conf.rxqs == conf.rxqs && there.conf.rss == conf.rss &&
		    there.conf.gro.on == conf.gro.on &&
		    strcmp(there.conf.devargs, conf.devargs) == 0 &&
		    strcmp(there.conf.parent, conf.parent) == 0)
			return true;
		lines_iface(&line, &there);
		return there_is(e, name, "the interface", &line);
	}
	ret = NET(r, iface_add, &conf, &err);
	return ret == 0 || refuse(e, ret, &err, name);
}

static const enum fwd_gro_validate validations[] = {
	[CLI_GRO_ALWAYS] = FWD_GRO_ALWAYS,
	[CLI_GRO_OFFLOAD] = FWD_GRO_OFFLOAD,
	[CLI_GRO_COUNTED] = FWD_GRO_COUNTED,
};

static bool iface_set(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *name = cli_get(cmd, "NAME"), *mtu = cli_get(cmd, "mtu");
	const struct cli_value *port = cli_get(cmd, "port"), *gro = cli_get(cmd, "gro");
	const struct cli_value *validate = cli_get(cmd, "gro-validate");
	const struct cli_value *timeout = cli_get(cmd, "gro-timeout");
	const struct cli_value *udp = cli_get(cmd, "gro-udp");
	bool add = cli_get(cmd, "pass") != NULL;
	struct fwd_err err = {0};
	struct net_iface iface;
	struct fwd_pass pass;
	unsigned at = 0;
	uint16_t id;
	int ret;

	if (!names_iface(r, cmd, "NAME", &id, e))
		return false;
	if (mtu != NULL) {
		ret = NET(r, iface_set_mtu, name->text, (uint16_t)mtu->number, &err);
		return ret == 0 || refuse(e, ret, &err, mtu);
	}
	NET(r, iface_get, id, &iface);
	if (gro != NULL || validate != NULL || timeout != NULL || udp != NULL) {
		struct fwd_gro set = iface.conf.gro;

		if (gro != NULL)
			set.on = gro->number != 0;
		else if (validate != NULL)
			set.validate = validations[validate->number];
		else if (timeout != NULL)
			set.timeout_us = (uint16_t)timeout->number;
		else
			set.udp = udp->number != 0;
		ret = NET(r, iface_set_gro, name->text, set, &err);
		return ret == 0 || refuse(e, ret, &err,
					  gro != NULL	     ? gro
					  : validate != NULL ? validate
					  : timeout != NULL  ? timeout
							     : udp);
	}
	pass.protocol = (uint8_t)cli_get(cmd, "protocol")->number;
	pass.port = (uint16_t)port->number;
	while (at < iface.n_pass &&
	       (iface.pass[at].protocol != pass.protocol || iface.pass[at].port != pass.port))
		at++;
	if (add && at < iface.n_pass)
		return true;
	if (!add && at == iface.n_pass) {
		cli_error_set(e, 1, port->column, "%s port %u of '%s' is not passed",
			      pass.protocol == 6 ? "TCP" : "UDP", pass.port, name->text);
		return false;
	}
	ret = NET(r, iface_pass, name->text, pass, add, &err);
	return ret == 0 || refuse(e, ret, &err, port);
}

static bool iface_del(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *name = cli_get(cmd, "NAME");
	struct fwd_err err = {0};
	struct net_iface other;
	uint16_t id;
	int ret;

	if (!names_iface(r, cmd, "NAME", &id, e))
		return false;
	for (unsigned i = 0; i < r->nat.n_rules; i++) {
		if (strcmp(r->nat.rules[i].iface, name->text) != 0)
			continue;
		cli_error_set(e, 1, name->column, "NAT rule '%s' names interface '%s'",
			      r->nat.rules[i].r.name, name->text);
		cli_error_hint(e, "first: nat rule del %s", r->nat.rules[i].r.name);
		return false;
	}
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		if (NET(r, iface_get, (uint16_t)i, &other) != 0 || other.conf.vlan == 0 ||
		    strcmp(other.conf.parent, name->text) != 0)
			continue;
		cli_error_set(e, 1, name->column, "VLAN interface '%s' lies on '%s'",
			      other.conf.name, name->text);
		cli_error_hint(e, "first: interface del %s", other.conf.name);
		return false;
	}
	ret = NET(r, iface_del, name->text, &err);
	return ret == 0 || refuse(e, ret, &err, name);
}

/* ---- addresses and neighbours ---------------------------------------------------------------- */

static bool address(struct router *r, const struct cli_cmd *cmd, bool add, struct cli_error *e)
{
	const struct cli_value *v = cli_get(cmd, "ADDRESS/LENGTH");
	struct fwd_address a = {.addr_be = v->addr_be, .len = v->len};
	uint32_t host = ntohl(v->addr_be), bits = ~ntohl(text_mask_be(v->len));
	struct fwd_err err = {0};
	int ret;

	if (!names_iface(r, cmd, "interface", &a.iface, e))
		return false;
	if (!add) {
		ret = NET(r, address_del, &a, &err);
		return ret == 0 || refuse(e, ret, &err, v);
	}
	if (host >> 24 == 0 || host >> 24 == 127 || host >> 28 >= 0xe) {
		cli_error_set(e, 1, v->column, "%s can't be a router's address", v->text);
		cli_error_hint(e, "wants a unicast address");
		return false;
	}
	if (v->len < 31 && ((host & bits) == 0 || (host & bits) == bits)) {
		cli_error_set(e, 1, v->column, "%s is the %s address of its prefix", v->text,
			      (host & bits) == 0 ? "network" : "broadcast");
		cli_error_hint(e, "wants an address of a host in it");
		return false;
	}
	ret = NET(r, address_add, &a, &err);
	if (ret == 0 || ret == -EEXIST)
		return true;
	return refuse(e, ret, &err, v);
}

static bool neigh_add(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *v = cli_get(cmd, "ADDRESS");
	struct net_neigh n = {.addr_be = v->addr_be};
	struct fwd_err err = {0};
	int ret;

	memcpy(n.mac, cli_get(cmd, "lladdr")->mac, sizeof(n.mac));
	if (!names_iface(r, cmd, "interface", &n.iface, e))
		return false;
	ret = NET(r, neigh_add, &n, &err);
	if (ret == 0 || ret == -EEXIST)
		return true;
	return refuse(e, ret, &err, v);
}

static bool neigh_del(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *v = cli_get(cmd, "ADDRESS");
	struct fwd_err err = {0};
	uint16_t iface;
	int ret;

	if (!names_iface(r, cmd, "interface", &iface, e))
		return false;
	ret = NET(r, neigh_del, iface, v->addr_be, &err);
	return ret == 0 || refuse(e, ret, &err, v);
}

/* ---- routes ---------------------------------------------------------------------------------- */

static bool route_add(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *prefix = cli_get(cmd, "PREFIX"), *via = cli_get(cmd, "via");
	struct fwd_err err = {0};
	struct fwd_route route, there;
	uint16_t iface = FWD_IFACE_NONE;
	struct buf line = {0};
	int ret;

	if (!names_iface(r, cmd, "interface", &iface, e))
		return false;
	memset(&route, 0, sizeof(route));
	route.prefix.addr_be = prefix->addr_be;
	route.prefix.len = prefix->len;
	route.type = FWD_ROUTE_STATIC;
	route.iface = FWD_IFACE_NONE;
	route.n_via = cmd->list.n;
	for (unsigned i = 0; i < route.n_via; i++) {
		route.via[i].gw_be = cmd->list.range[i].first_be;
		route.via[i].iface = iface;
		for (unsigned k = 0; k < i; k++) {
			char text[16];

			if (route.via[k].gw_be != route.via[i].gw_be)
				continue;
			cli_error_set(e, 1, via->column, "gateway %s is given twice",
				      text_put_ip4(text, route.via[i].gw_be));
			return false;
		}
	}
	ret = NET(r, route_add, &route, &err);
	if (ret == 0 || ret == -EEXIST)
		return true;
	if (ret == -EADDRINUSE && NET(r, route_get, route.prefix, &there) == 0) {
		lines_route(&line, &there, &r->net);
		return there_is(e, prefix, "the route", &line);
	}
	return refuse(e, ret, &err, ret == -EADDRINUSE ? prefix : via);
}

static bool route_del(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *prefix = cli_get(cmd, "PREFIX");
	struct fwd_err err = {0};
	int ret = NET(r, route_del, ((struct fwd_prefix){prefix->addr_be, prefix->len}), &err);

	return ret == 0 || refuse(e, ret, &err, prefix);
}

/* A size that is settled at start. */
static bool start_time(struct router *r, const struct cli_value *v, const char *key, uint32_t *size,
		       struct cli_error *e)
{
	if (!r->running) {
		*size = (uint32_t)v->number;
		return true;
	}
	if (v->number == *size)
		return true;
	cli_error_set(e, 1, v->column, "%s is %u and takes effect at start", key, *size);
	cli_error_hint(e, "put it into the configuration file that the daemon starts with");
	return false;
}

/* ---- translation ----------------------------------------------------------------------------- */

static bool pool_add(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *name = cli_get(cmd, "NAME"), *ports = cli_get(cmd, "ports");
	struct natconf_pool pool = {0};
	const struct natconf_pool *there;
	struct buf line = {0};
	int ret;

	copy_name(pool.name, sizeof(pool.name), name);
	pool.n_ranges = cmd->list.n;
	for (unsigned i = 0; i < cmd->list.n; i++) {
		pool.range[i].first_be = cmd->list.range[i].first_be;
		pool.range[i].last_be = cmd->list.range[i].last_be;
	}
	if (ports != NULL) {
		pool.port_lo = ports->port_lo;
		pool.port_hi = ports->port_hi;
	}
	pool.line = r->line;
	there = natconf_pool(&r->nat, pool.name);
	if (there != NULL) {
		if (natconf_pool_same(there, &pool))
			return true;
		lines_pool(&line, there);
		return there_is(e, name, "the pool", &line);
	}
	ret = natconf_add_pool(&r->nat, &pool);
	if (ret == 0)
		return true;
	cli_error_set(e, 1, name->column,
		      ret == -ENOSPC ? "more than %u pools" : "out of memory (%u)", NAT_MAX_POOLS);
	return false;
}

static bool pool_del(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct natconf_pool *p = names_pool(r, cmd, "NAME", e);

	if (p == NULL)
		return false;
	for (unsigned i = 0; i < r->nat.n_rules; i++) {
		if (strcmp(r->nat.rules[i].pool, p->name) != 0)
			continue;
		cli_error_set(e, 1, cli_get(cmd, "NAME")->column, "NAT rule '%s' uses pool '%s'",
			      r->nat.rules[i].r.name, p->name);
		cli_error_hint(e, "first: nat rule del %s", r->nat.rules[i].r.name);
		return false;
	}
	natconf_del_pool(&r->nat, p->name);
	return true;
}

static struct nat_prefix prefix_of(const struct cli_value *v)
{
	struct nat_prefix p = {0};

	if (v != NULL) {
		p.addr_be = v->addr_be;
		p.len = v->len;
	}
	return p;
}

/* What one word alone can't show to be wrong. */
static bool rule_makes_sense(const struct cli_cmd *cmd, const struct natconf_rule *rule,
			     struct cli_error *e)
{
	const struct cli_value *dst = cli_get(cmd, "destination"), *to = cli_get(cmd, "to");
	const struct cli_value *internal = cli_get(cmd, "internal");
	const struct nat_rule *r = &rule->r;

	if (dst != NULL && dst->port_lo > 0 && r->protocol != 6 && r->protocol != 17) {
		cli_error_set(e, 2, dst->column,
			      "destination: ports need a protocol that has them");
		cli_error_hint(e, "give protocol tcp or protocol udp too");
		return false;
	}
	if (to != NULL && to->port_lo > 0 && dst->port_lo == 0) {
		cli_error_set(e, 2, to->column, "to: a port here needs one in the destination");
		cli_error_hint(e, "wants destination ADDRESS:PORT");
		return false;
	}
	if (to != NULL && to->port_hi > to->port_lo &&
	    to->port_hi - to->port_lo != dst->port_hi - dst->port_lo) {
		cli_error_set(e, 2, to->column,
			      "to: as many ports as in the destination are needed");
		cli_error_hint(e, "the first port is enough: the others follow it");
		return false;
	}
	if (to != NULL && to->port_lo > 0 && to->port_lo + (dst->port_hi - dst->port_lo) > 65535) {
		cli_error_set(e, 2, to->column, "to: the ports run beyond 65535");
		cli_error_hint(e, "the destination has %d of them",
			       dst->port_hi - dst->port_lo + 1);
		return false;
	}
	if (internal != NULL && r->internal.len != r->external.len) {
		cli_error_set(e, 2, internal->column, "internal: /%u is not external's /%u",
			      r->internal.len, r->external.len);
		cli_error_hint(e, "both must have the same length");
		return false;
	}
	return true;
}

static const enum nat_rule_type rule_types[] = {
	[CLI_RULE_EXEMPT] = NAT_RULE_EXEMPT,
	[CLI_RULE_STATIC] = NAT_RULE_STATIC,
	[CLI_RULE_DNAT] = NAT_RULE_DNAT,
	[CLI_RULE_SNAT] = NAT_RULE_SNAT,
	[CLI_RULE_MASQUERADE] = NAT_RULE_MASQUERADE,
};

static bool rule_add(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *name = cli_get(cmd, "NAME"), *proto = cli_get(cmd, "protocol");
	const struct cli_value *dst = cli_get(cmd, "destination"), *to = cli_get(cmd, "to");
	const struct natconf_rule *there;
	struct natconf_rule rule;
	struct buf line = {0};
	uint16_t iface;
	int ret;

	memset(&rule, 0, sizeof(rule));
	rule.r.type = rule_types[cmd->def->variant];
	rule.line = r->line;
	copy_name(rule.r.name, sizeof(rule.r.name), name);
	if (!names_iface(r, cmd, "interface", &iface, e))
		return false;
	copy_name(rule.iface, sizeof(rule.iface), cli_get(cmd, "interface"));
	if (cli_get(cmd, "pool") != NULL && names_pool(r, cmd, "pool", e) == NULL)
		return false;
	copy_name(rule.pool, sizeof(rule.pool), cli_get(cmd, "pool"));
	rule.r.protocol = proto != NULL ? (uint8_t)proto->number : 0;
	rule.r.source = prefix_of(cli_get(cmd, "source"));
	rule.r.destination = prefix_of(dst);
	rule.r.external = prefix_of(cli_get(cmd, "external"));
	rule.r.internal = prefix_of(cli_get(cmd, "internal"));
	if (dst != NULL) {
		rule.r.dport_lo = dst->port_lo;
		rule.r.dport_hi = dst->port_hi;
	}
	if (to != NULL) {
		rule.r.to_be = to->addr_be;
		rule.r.to_port = to->port_lo;
	}
	if (!rule_makes_sense(cmd, &rule, e))
		return false;
	there = natconf_rule(&r->nat, rule.r.name);
	if (there != NULL) {
		if (natconf_rule_same(there, &rule))
			return true;
		lines_rule(&line, there);
		return there_is(e, name, "the rule", &line);
	}
	ret = natconf_add_rule(&r->nat, &rule);
	if (ret == 0)
		return true;
	cli_error_set(e, 1, name->column,
		      ret == -ENOMEM ? "out of memory (%u)" : "more than %u rules", NAT_MAX_RULES);
	return false;
}

static bool rule_del(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct natconf_rule *rule = names_rule(r, cmd, "NAME", e);
	char name[NAT_NAME_LEN];

	if (rule == NULL)
		return false;
	memcpy(name, rule->r.name, sizeof(name));
	natconf_del_rule(&r->nat, name);
	return true;
}

static const enum nat_behaviour behaviours[] = {
	[CLI_ENDPOINT_INDEPENDENT] = NAT_ENDPOINT_INDEPENDENT,
	[CLI_ADDRESS_DEPENDENT] = NAT_ADDRESS_DEPENDENT,
	[CLI_ADDRESS_AND_PORT_DEPENDENT] = NAT_ADDRESS_AND_PORT_DEPENDENT,
};

static bool nat_set(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	struct {
		const char *key;
		bool *value;
	} switches[] = {
		{"port-preservation", &r->nat.port_preservation},
		{"hairpin", &r->nat.hairpin},
		{"inbound-refresh", &r->nat.inbound_refresh},
		{"tcp-loose", &r->nat.tcp_loose},
		{"refuse-icmp", &r->nat.refuse_icmp},
	};
	const struct cli_value *v = cli_get(cmd, "max-sessions");

	if (v != NULL && !start_time(r, v, "max-sessions", &r->max_sessions, e))
		return false;
	v = cli_get(cmd, "mapping");
	if (v != NULL)
		r->nat.mapping = behaviours[v->number];
	v = cli_get(cmd, "filtering");
	if (v != NULL)
		r->nat.filtering = behaviours[v->number];
	for (unsigned i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		v = cli_get(cmd, switches[i].key);
		if (v != NULL)
			*switches[i].value = v->number != 0;
	}
	return true;
}

static bool timeout_set(struct router *r, const struct cli_cmd *cmd)
{
	for (unsigned i = 0; i < NAT_TIMEOUT_COUNT; i++) {
		const struct cli_value *v = cli_get(cmd, nat_timeout_info[i].name);

		if (v != NULL)
			r->nat.timeout_s[i] = (uint32_t)v->number;
	}
	return true;
}

/* ---- running one ----------------------------------------------------------------------------- */

static bool is_nat(enum cli_id id)
{
	return id == CLI_POOL_ADD || id == CLI_POOL_DEL || id == CLI_RULE_ADD ||
	       id == CLI_RULE_DEL || id == CLI_NAT_SET || id == CLI_TIMEOUT_SET;
}

/* Does translation depend on what the command changes? */
static bool touches_nat(const struct router *r, enum cli_id id)
{
	return is_nat(id) ||
	       (r->nat.n_rules > 0 && (id == CLI_ADDRESS_ADD || id == CLI_ADDRESS_DEL ||
				       id == CLI_INTERFACE_SET || id == CLI_INTERFACE_DEL));
}

static bool dispatch(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	const struct cli_value *v;

	switch (cmd->def->id) {
	case CLI_INTERFACE_ADD:
		return iface_add(r, cmd, e);
	case CLI_INTERFACE_SET:
		return iface_set(r, cmd, e);
	case CLI_INTERFACE_DEL:
		return iface_del(r, cmd, e);
	case CLI_ADDRESS_ADD:
		return address(r, cmd, true, e);
	case CLI_ADDRESS_DEL:
		return address(r, cmd, false, e);
	case CLI_NEIGHBOUR_ADD:
		return neigh_add(r, cmd, e);
	case CLI_NEIGHBOUR_DEL:
		return neigh_del(r, cmd, e);
	case CLI_ROUTE_ADD:
		return route_add(r, cmd, e);
	case CLI_ROUTE_DEL:
		return route_del(r, cmd, e);
	case CLI_ROUTE_SET:
		v = cli_get(cmd, "max-routes");
		return start_time(r, v, "max-routes", &r->max_routes, e);
	case CLI_WORKER_SET:
		v = cli_get(cmd, "packet-buffers");
		return start_time(r, v, "packet-buffers", &r->packet_buffers, e);
	case CLI_POOL_ADD:
		return pool_add(r, cmd, e);
	case CLI_POOL_DEL:
		return pool_del(r, cmd, e);
	case CLI_RULE_ADD:
		return rule_add(r, cmd, e);
	case CLI_RULE_DEL:
		return rule_del(r, cmd, e);
	case CLI_NAT_SET:
		return nat_set(r, cmd, e);
	case CLI_TIMEOUT_SET:
		return timeout_set(r, cmd);
	case CLI_LOG_SET:
		r->log_level = (int)cli_get(cmd, "level")->number;
		return true;
	default:
		cli_error_set(e, 1, 0, "'%s' does not configure anything", cmd->def->words[0]);
		return false;
	}
}

bool configure_run(struct router *r, const struct cli_cmd *cmd, struct cli_error *e)
{
	enum cli_id id = cmd->def->id;
	unsigned mark = router_mark(r);
	struct natconf before;
	struct fwd_err err = {0};
	bool nat = r->running && is_nat(id), ok;
	int ret;

	if (nat && (router_nat_touch(r) != 0 || natconf_copy(&before, &r->nat) != 0)) {
		cli_error_set(e, 1, 0, "out of memory");
		return false;
	}
	ok = dispatch(r, cmd, e);
	if (ok && r->running && touches_nat(r, id)) {
		ret = router_nat_compile(r, &err);
		if (ret != 0) {
			const struct cli_value *name = cli_get(cmd, "NAME");

			ok = refuse(e, ret, &err, is_nat(id) ? name : NULL);
		}
	}
	if (!ok) {
		router_undo(r, mark);
		if (nat) {
			natconf_free(&r->nat);
			r->nat = before;
		}
		return false;
	}
	if (nat)
		natconf_free(&before);
	r->changed = r->running;
	return true;
}

bool configure_check_nat(struct router *r, struct cli_error *e, unsigned *line)
{
	char msg[256];
	struct nat_config *cfg = natconf_build(&r->nat, r->nat.n_rules, &r->net, msg, sizeof(msg));
	unsigned lo = 0, hi = r->nat.n_rules;

	*line = 0;
	if (cfg != NULL) {
		nat_config_free(cfg);
		return true;
	}
	cli_error_set(e, 1, 0, "%s", msg[0] != '\0' ? msg : "translation can't be compiled");
	/* Which rule is it? The fewest that do not go together end with it. */
	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		cfg = natconf_build(&r->nat, mid, &r->net, msg, sizeof(msg));
		if (cfg != NULL)
			lo = mid + 1;
		else
			hi = mid;
		if (cfg != NULL)
			nat_config_free(cfg);
	}
	if (lo > 0 && lo <= r->nat.n_rules) {
		cfg = natconf_build(&r->nat, lo, &r->net, msg, sizeof(msg));
		if (cfg != NULL)
			nat_config_free(cfg);
		else
			cli_error_set(e, 1, 0, "%s", msg);
		*line = r->nat.rules[lo - 1].line;
	}
	return false;
}
