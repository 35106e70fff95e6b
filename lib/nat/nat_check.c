/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "nat_key.h"

int nat_check_fail(char *err, size_t err_len, const char *fmt, ...)
{
	va_list ap;

	if (err != NULL && err_len > 0) {
		va_start(ap, fmt);
		vsnprintf(err, err_len, fmt, ap);
		va_end(ap);
	}
	return -EINVAL;
}

const char *nat_check_rule_name(const struct nat_rule *r, char *buf, size_t len)
{
	static const char *const types[] = {"exempt", "static", "dnat", "snat", "masquerade"};

	snprintf(buf, len, "%s rule '%.*s'", types[r->type], NAT_NAME_LEN, r->name);
	return buf;
}

#define FAIL(...) return nat_check_fail(err, err_len, __VA_ARGS__)

static int check_prefix(const struct nat_prefix *p, const char *rule, const char *what, char *err,
			size_t err_len)
{
	if (p->len > 32)
		FAIL("%s: %s has prefix length %u, the longest is 32", rule, what, p->len);
	if (p->len < 32 && (ntohl(p->addr_be) & (uint32_t)(UINT64_C(0xffffffff) >> p->len)) != 0)
		FAIL("%s: %s has bits set behind its prefix length /%u", rule, what, p->len);
	return 0;
}

static int check_ports(const struct nat_rule *r, const char *rule, char *err, size_t err_len)
{
	if (r->dport_lo == 0 && r->dport_hi == 0)
		return 0;
	if (r->protocol != IPPROTO_TCP && r->protocol != IPPROTO_UDP)
		FAIL("%s: ports need protocol tcp or udp", rule);
	if (r->dport_lo == 0 || r->dport_hi < r->dport_lo)
		FAIL("%s: port range %u-%u is empty or starts at 0; give FIRST-LAST within 1-65535",
		     rule, r->dport_lo, r->dport_hi);
	return 0;
}

static int check_dnat(const struct nat_rule *r, const char *rule, char *err, size_t err_len)
{
	if (r->destination.len != 32 || r->destination.addr_be == 0)
		FAIL("%s: destination must be one external address", rule);
	if (r->to_be == 0)
		FAIL("%s: needs the internal address that it forwards to", rule);
	if (r->to_port != 0 && r->dport_lo == 0)
		FAIL("%s: an internal port needs an external port (destination ADDRESS:PORT)",
		     rule);
	if (r->to_port != 0 && (uint32_t)r->to_port + (r->dport_hi - r->dport_lo) > UINT16_MAX)
		FAIL("%s: %u ports from %u on end above 65535", rule,
		     r->dport_hi - r->dport_lo + 1u, r->to_port);
	return 0;
}

static int check_static(const struct nat_rule *r, const char *rule, char *err, size_t err_len)
{
	if (r->external.len != r->internal.len)
		FAIL("%s: external is a /%u and internal a /%u; both must be of one length", rule,
		     r->external.len, r->internal.len);
	if (r->external.len == 0 || r->external.addr_be == 0 || r->internal.addr_be == 0)
		FAIL("%s: needs an external and an internal address or prefix", rule);
	return 0;
}

static int check_rule(const struct nat_conf *conf, const struct nat_rule *r, char *err,
		      size_t err_len)
{
	char rule[64 + NAT_NAME_LEN];
	int rc;

	if ((unsigned)r->type > NAT_RULE_MASQUERADE)
		FAIL("rule '%.*s' has no known type", NAT_NAME_LEN, r->name);
	nat_check_rule_name(r, rule, sizeof(rule));
	if (r->id == 0)
		FAIL("%s: has no id", rule);
	if ((rc = check_prefix(&r->source, rule, "source", err, err_len)) != 0 ||
	    (rc = check_prefix(&r->destination, rule, "destination", err, err_len)) != 0 ||
	    (rc = check_prefix(&r->external, rule, "external", err, err_len)) != 0 ||
	    (rc = check_prefix(&r->internal, rule, "internal", err, err_len)) != 0)
		return rc;
	switch (r->type) {
	case NAT_RULE_EXEMPT:
		return check_ports(r, rule, err, err_len);
	case NAT_RULE_STATIC:
		return check_static(r, rule, err, err_len);
	case NAT_RULE_DNAT:
		rc = check_ports(r, rule, err, err_len);
		return rc != 0 ? rc : check_dnat(r, rule, err, err_len);
	case NAT_RULE_SNAT:
		if (r->pool >= conf->n_pools)
			FAIL("%s: names a pool that does not exist", rule);
		return 0;
	case NAT_RULE_MASQUERADE:
		if (r->iface == NAT_IFACE_ANY)
			FAIL("%s: needs the interface whose address it translates to", rule);
		return 0;
	}
	return 0;
}

static int check_pool(const struct nat_pool *p, char *err, size_t err_len)
{
	uint64_t addrs = 0;

	if (p->n_ranges == 0)
		FAIL("pool '%.*s': has no addresses", NAT_NAME_LEN, p->name);
	for (unsigned i = 0; i < p->n_ranges; i++) {
		uint32_t first = ntohl(p->ranges[i].first_be), last = ntohl(p->ranges[i].last_be);

		if (first == 0 || first > last)
			FAIL("pool '%.*s': address range %u ends before it starts, or starts at "
			     "0.0.0.0",
			     NAT_NAME_LEN, p->name, i + 1);
		addrs += (uint64_t)last - first + 1;
		for (unsigned j = 0; j < i; j++)
			if (first <= ntohl(p->ranges[j].last_be) &&
			    last >= ntohl(p->ranges[j].first_be))
				FAIL("pool '%.*s': address ranges %u and %u overlap", NAT_NAME_LEN,
				     p->name, j + 1, i + 1);
	}
	if (addrs > UINT32_C(1) << 24)
		FAIL("pool '%.*s': has more than 16777216 addresses", NAT_NAME_LEN, p->name);
	if ((p->port_lo != 0 || p->port_hi != 0) && (p->port_lo == 0 || p->port_hi < p->port_lo))
		FAIL("pool '%.*s': port range %u-%u is empty or starts at 0; give FIRST-LAST "
		     "within 1-65535",
		     NAT_NAME_LEN, p->name, p->port_lo, p->port_hi);
	return 0;
}

int nat_check_conf(const struct nat_conf *conf, char *err, size_t err_len)
{
	int rc;

	if (conf->n_rules > NAT_MAX_RULES)
		FAIL("%u rules, at most %u are possible", conf->n_rules, NAT_MAX_RULES);
	if (conf->n_pools > NAT_MAX_POOLS)
		FAIL("%u pools, at most %u are possible", conf->n_pools, NAT_MAX_POOLS);
	if ((unsigned)conf->mapping > NAT_ADDRESS_AND_PORT_DEPENDENT ||
	    (unsigned)conf->filtering > NAT_ADDRESS_AND_PORT_DEPENDENT)
		FAIL("mapping and filtering are endpoint-independent, address-dependent or "
		     "address-and-port-dependent");
	for (unsigned i = 0; i < NAT_TIMEOUT_COUNT; i++) {
		const struct nat_timeout_info *t = &nat_timeout_info[i];

		if (conf->timeout_s[i] < t->min_s || conf->timeout_s[i] > t->max_s)
			FAIL("timeout %s is %u s, it must be within %u-%u", t->name,
			     conf->timeout_s[i], t->min_s, t->max_s);
	}
	for (unsigned i = 0; i < conf->n_pools; i++) {
		rc = check_pool(&conf->pools[i], err, err_len);
		if (rc != 0)
			return rc;
	}
	for (unsigned i = 0; i < conf->n_reserved; i++)
		if (nat_proto_space(conf->reserved[i].protocol) == NAT_SPACE_NONE)
			FAIL("reserved port %u: protocol %u has no ports", conf->reserved[i].port,
			     conf->reserved[i].protocol);
	for (unsigned i = 0; i < conf->n_rules; i++) {
		rc = check_rule(conf, &conf->rules[i], err, err_len);
		if (rc != 0)
			return rc;
	}
	return 0;
}
