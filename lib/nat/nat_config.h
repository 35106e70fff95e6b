/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled configuration snapshot: rules in order of preference and the structures that find
 * them (nat_find.h). Built by the control thread, constant afterwards, read by any thread.
 * Addresses in host order where the name says _h.
 */
#ifndef TURNPIKE_NAT_CONFIG_H
#define TURNPIKE_NAT_CONFIG_H

#include "nat_key.h"

struct nat_span { /* addresses, inclusive, host order */
	uint32_t first_h, last_h;
};

struct nat_pool_c {
	uint32_t id;
	struct nat_span *spans; /* sorted, disjoint */
	unsigned n_spans;
	uint32_t n_addrs;
	uint16_t port_lo, port_hi;
	bool all_ids; /* default ports: ICMP identifiers are not limited */
};

struct nat_rule_c {
	struct nat_rule r;
	uint64_t print;		       /* fingerprint of everything that translation depends on */
	const struct nat_pool_c *pool; /* snat, masquerade; NULL: the interface has no address */
};

/* An entry of an index by prefix: sorted by length, address, rule. */
struct nat_index_entry {
	uint32_t addr_h;
	uint32_t rule;
};

struct nat_index {
	struct nat_index_entry *entries;
	uint32_t start[34]; /* entries of prefix length n: [start[n], start[n + 1]) */
	uint64_t lengths;   /* bit n: there are some */
};

struct nat_span_rule { /* a static rule's external addresses */
	struct nat_span span;
	uint32_t rule;
};

struct nat_dnat_entry { /* sorted by address, protocol, first port; disjoint */
	uint32_t addr_h;
	uint32_t rule;
	uint16_t lo, hi;
	uint8_t protocol;
};

struct nat_held { /* ports never allocated; sorted by address */
	uint32_t addr_h;
	uint16_t lo, hi;
	uint8_t space; /* enum nat_space */
};

struct nat_rule_id { /* sorted by id */
	uint32_t id, rule;
};

struct nat_segment { /* external addresses that the same set of interfaces has */
	struct nat_span span;
	uint32_t first, count; /* into seg_ifaces */
};

struct nat_config {
	struct nat_rule_c *rules; /* by preference: the lower index wins among equals */
	unsigned n_rules;
	struct nat_rule_id *ids;
	struct nat_pool_c *pools; /* those of conf, then one for each interface address */
	unsigned n_pools;
	struct nat_iface_addr *addrs;
	unsigned n_addrs;

	struct nat_index exempt, inside,
		source;		       /* exempt; static by internal; snat and masquerade */
	struct nat_span_rule *statics; /* by external, disjoint */
	unsigned n_statics;
	struct nat_dnat_entry *dnats;
	unsigned n_dnats;
	uint32_t *targets_h; /* dnat's internal addresses, sorted */
	unsigned n_targets;
	struct nat_held *held;
	unsigned n_held;
	struct nat_segment *segments;
	unsigned n_segments;
	uint16_t *seg_ifaces;

	enum nat_behaviour mapping, filtering;
	bool port_preservation, hairpin, inbound_refresh, tcp_loose, refuse_icmp;
	uint32_t timeout_ms[NAT_TIMEOUT_COUNT];
};

#endif /* TURNPIKE_NAT_CONFIG_H */
