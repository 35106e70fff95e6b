/* SPDX-License-Identifier: BSD-3-Clause */
/* Things that are configured, as the commands that make them. See lines.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "cli/words.h"

#include "lines.h"

const char *lines_rss(enum fwd_rss rss)
{
	switch (rss) {
	case FWD_RSS_FLOW:
		return "flow";
	case FWD_RSS_SOURCE:
		return "source";
	case FWD_RSS_DESTINATION_PORT:
		return "destination-port";
	}
	return "?";
}

void lines_iface(struct buf *b, const struct net_iface *iface)
{
	const struct fwd_iface_conf *c = &iface->conf;

	buf_printf(b, "interface add %s ", c->name);
	if (c->vlan > 0) {
		buf_printf(b, "vlan %u parent %s", c->vlan, c->parent);
	} else {
		buf_puts(b, "devargs");
		cli_words_put(b, c->devargs);
	}
	if (c->mtu > 0)
		buf_printf(b, " mtu %u", c->mtu);
	if (c->rxqs > 0)
		buf_printf(b, " rxqs %u", c->rxqs);
	if (c->rss != FWD_RSS_FLOW)
		buf_printf(b, " rss %s", lines_rss(c->rss));
	if (c->gro.on)
		buf_puts(b, " gro on");
	buf_putc(b, '\n');
}

static int by_port(const void *a, const void *b)
{
	const struct fwd_pass *x = a, *y = b;

	return x->protocol != y->protocol ? (int)x->protocol - (int)y->protocol
					  : (int)x->port - (int)y->port;
}

void lines_pass(struct buf *b, const struct net_iface *iface)
{
	struct fwd_pass pass[FWD_IFACE_PASS];
	char proto[12];

	memcpy(pass, iface->pass, sizeof(pass));
	qsort(pass, iface->n_pass, sizeof(pass[0]), by_port);
	for (unsigned i = 0; i < iface->n_pass; i++)
		buf_printf(b, "interface set %s pass protocol %s port %u\n", iface->conf.name,
			   text_put_protocol(proto, pass[i].protocol), pass[i].port);
}

const char *lines_gro_validate(enum fwd_gro_validate v)
{
	switch (v) {
	case FWD_GRO_ALWAYS:
		return "always";
	case FWD_GRO_COUNTED:
		return "counted";
	default:
		return "offload";
	}
}

/* Whether it is on stands in the line that adds the interface. */
void lines_gro(struct buf *b, const struct net_iface *iface)
{
	if (iface->conf.gro.validate != FWD_GRO_OFFLOAD)
		buf_printf(b, "interface set %s gro-validate %s\n", iface->conf.name,
			   lines_gro_validate(iface->conf.gro.validate));
	if (iface->conf.gro.timeout_us != 0)
		buf_printf(b, "interface set %s gro-timeout %u\n", iface->conf.name,
			   iface->conf.gro.timeout_us);
	if (iface->conf.gro.udp)
		buf_printf(b, "interface set %s gro-udp on\n", iface->conf.name);
}

void lines_address(struct buf *b, const struct fwd_address *a, const char *iface)
{
	char text[20];

	buf_printf(b, "address add %s interface %s\n", text_put_prefix(text, a->addr_be, a->len),
		   iface);
}

void lines_neigh(struct buf *b, const struct net_neigh *n, const char *iface)
{
	char addr[16], mac[18];

	buf_printf(b, "neighbour add %s lladdr %s interface %s\n", text_put_ip4(addr, n->addr_be),
		   text_put_mac(mac, n->mac), iface);
}

/* Would the gateway be looked for on another interface, if none were named? */
static bool needs_iface(const struct fwd_via *via, const struct net *net)
{
	struct fwd_address a;
	int best = -1;
	uint16_t iface = FWD_IFACE_NONE;

	for (unsigned i = 0; net->ops->address_get(net->ctx, i, &a) == 0; i++) {
		if (((a.addr_be ^ via->gw_be) & text_mask_be(a.len)) == 0 && a.len > best) {
			best = a.len;
			iface = a.iface;
		}
	}
	return iface != via->iface;
}

void lines_route(struct buf *b, const struct fwd_route *r, const struct net *net)
{
	struct net_iface iface;
	char text[20];
	bool named = false;

	buf_printf(b, "route add %s via ", text_put_prefix(text, r->prefix.addr_be, r->prefix.len));
	for (unsigned i = 0; i < r->n_via; i++) {
		buf_printf(b, "%s%s", i > 0 ? "," : "", text_put_ip4(text, r->via[i].gw_be));
		named = named || needs_iface(&r->via[i], net);
	}
	if (named && net->ops->iface_get(net->ctx, r->via[0].iface, &iface) == 0)
		buf_printf(b, " interface %s", iface.conf.name);
	buf_putc(b, '\n');
}

void lines_range(struct buf *b, struct nat_range r)
{
	char text[16];

	buf_puts(b, text_put_ip4(text, r.first_be));
	if (r.last_be != r.first_be)
		buf_printf(b, "-%s", text_put_ip4(text, r.last_be));
}

void lines_pool(struct buf *b, const struct natconf_pool *p)
{
	buf_printf(b, "nat pool add %s addresses ", p->name);
	for (unsigned i = 0; i < p->n_ranges; i++) {
		if (i > 0)
			buf_putc(b, ',');
		lines_range(b, p->range[i]);
	}
	if (p->port_lo > 0)
		buf_printf(b, " ports %u-%u", p->port_lo, p->port_hi);
	buf_putc(b, '\n');
}

const char *lines_rule_type(enum nat_rule_type t)
{
	switch (t) {
	case NAT_RULE_EXEMPT:
		return "exempt";
	case NAT_RULE_STATIC:
		return "static";
	case NAT_RULE_DNAT:
		return "dnat";
	case NAT_RULE_SNAT:
		return "snat";
	case NAT_RULE_MASQUERADE:
		return "masquerade";
	}
	return "?";
}

const char *lines_behaviour(enum nat_behaviour b)
{
	switch (b) {
	case NAT_ENDPOINT_INDEPENDENT:
		return "endpoint-independent";
	case NAT_ADDRESS_DEPENDENT:
		return "address-dependent";
	case NAT_ADDRESS_AND_PORT_DEPENDENT:
		return "address-and-port-dependent";
	}
	return "?";
}

static bool any(struct nat_prefix p)
{
	return p.len == 0 && p.addr_be == 0;
}

static void put_prefix(struct buf *b, const char *key, struct nat_prefix p)
{
	char text[20];

	buf_printf(b, " %s %s", key, text_put_host_or_prefix(text, p.addr_be, p.len));
}

void lines_rule(struct buf *b, const struct natconf_rule *rule)
{
	const struct nat_rule *r = &rule->r;
	char text[20], ports[12];

	buf_printf(b, "nat rule add %s %s", lines_rule_type(r->type), r->name);
	if (rule->iface[0] != '\0')
		buf_printf(b, " interface %s", rule->iface);
	if (r->protocol > 0)
		buf_printf(b, " protocol %s", text_put_protocol(ports, r->protocol));
	if (!any(r->source))
		put_prefix(b, "source", r->source);
	if (!any(r->destination) || r->dport_lo > 0) {
		put_prefix(b, "destination", r->destination);
		if (r->dport_lo > 0)
			buf_printf(b, ":%s", text_put_ports(ports, r->dport_lo, r->dport_hi));
	}
	switch (r->type) {
	case NAT_RULE_DNAT:
		buf_printf(b, " to %s", text_put_ip4(text, r->to_be));
		if (r->to_port > 0)
			buf_printf(b, ":%u", r->to_port);
		break;
	case NAT_RULE_STATIC:
		put_prefix(b, "external", r->external);
		put_prefix(b, "internal", r->internal);
		break;
	case NAT_RULE_SNAT:
		buf_printf(b, " pool %s", rule->pool);
		break;
	case NAT_RULE_EXEMPT:
	case NAT_RULE_MASQUERADE:
		break;
	}
	buf_putc(b, '\n');
}

static void put_switch(struct buf *b, const char *word, bool is, bool def)
{
	if (is != def)
		buf_printf(b, "nat set %s %s\n", word, is ? "on" : "off");
}

void lines_settings(struct buf *b, const struct natconf *c)
{
	struct natconf d;

	natconf_init(&d);
	if (c->mapping != d.mapping)
		buf_printf(b, "nat set mapping %s\n", lines_behaviour(c->mapping));
	if (c->filtering != d.filtering)
		buf_printf(b, "nat set filtering %s\n", lines_behaviour(c->filtering));
	put_switch(b, "port-preservation", c->port_preservation, d.port_preservation);
	put_switch(b, "hairpin", c->hairpin, d.hairpin);
	put_switch(b, "inbound-refresh", c->inbound_refresh, d.inbound_refresh);
	put_switch(b, "tcp-loose", c->tcp_loose, d.tcp_loose);
	put_switch(b, "refuse-icmp", c->refuse_icmp, d.refuse_icmp);
	for (unsigned i = 0; i < NAT_TIMEOUT_COUNT; i++) {
		if (c->timeout_s[i] != d.timeout_s[i])
			buf_printf(b, "nat timeout set %s %u\n", nat_timeout_info[i].name,
				   c->timeout_s[i]);
	}
}
