/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings: which external endpoint an inside endpoint has (M1-M5), the paired address of a host
 * (M2), and how long the port waits for its host afterwards (T5). Sessions hold mappings by count;
 * a mapping that none holds goes to the idle list, from which nat_tick.c clears it away. Worker
 * only.
 */
#ifndef TURNPIKE_NAT_MAPPING_H
#define TURNPIKE_NAT_MAPPING_H

#include "nat_worker.h"

/* The mapping in use with that external endpoint, or NAT_NONE. key: an inbound packet's. */
uint32_t nat_mapping_find_outside(const struct nat_worker *nat, const struct nat_key *key);

/* Finds or makes the mapping for an outbound packet under a snat or masquerade rule of the
 * snapshot. 0 and *mapping; or the reason why there is none. Roll back a new one with
 * nat_mapping_settle. */
enum nat_reason nat_mapping_get(struct nat_worker *nat, const struct nat_key *key, uint32_t rule,
				uint16_t slot, uint32_t *mapping);

/* A session begins or ceases to hold it. at_once: when nothing holds it, free the port without a
 * wait. */
void nat_mapping_hold(struct nat_worker *nat, uint32_t mapping);
void nat_mapping_drop(struct nat_worker *nat, uint32_t mapping, bool at_once);

/* If nothing holds it and nobody waits for it, sees to it that it goes. */
void nat_mapping_settle(struct nat_worker *nat, uint32_t mapping);

/* First of the idle list that nothing holds, or NAT_NONE: there is none, or the budget is spent, of
 * which each that is looked at takes one. */
uint32_t nat_mapping_idle(struct nat_worker *nat, unsigned *budget);
/* Ends the first of the idle list, whose sessions are gone: frees it or holds its port until then.
 */
void nat_mapping_finish(struct nat_worker *nat, uint64_t now_ms);

/* Frees a mapping that nothing holds (its port's time is over, or its rule is gone). */
void nat_mapping_free(struct nat_worker *nat, uint32_t mapping);

/* Brings what nat_mapping_free will touch into the cache, the mapping's own record being there. */
void nat_mapping_fetch(const struct nat_worker *nat, uint32_t mapping);

/* Does the taken port belong to a mapping? */
bool nat_mapping_has_port(const struct nat_worker *nat, uint32_t addr_be, enum nat_space space,
			  uint16_t port);

/* The inside port of an outbound packet (its identifier for ICMP). */
static inline uint16_t nat_inside_port(const struct nat_key *key)
{
	return key->kind == NAT_KIND_ICMP_REPLY ? key->dport_be : key->sport_be;
}

/* ---- what mappings are found by ------------------------------------------------------------- */

/* What the mapping is for: all packets of the endpoint, or those to one address or endpoint. */
static inline struct nat_key nat_mapping_inside_key(const struct nat_worker *nat,
						    const struct nat_key *k, uint16_t slot)
{
	struct nat_key m = {
		.src_be = k->src_be, .sport_be = k->sport_be, .proto = k->proto, .table = slot};

	if (nat->cfg->mapping != NAT_ENDPOINT_INDEPENDENT)
		m.dst_be = k->dst_be;
	if (nat->cfg->mapping == NAT_ADDRESS_AND_PORT_DEPENDENT)
		m.dport_be = k->dport_be;
	return m;
}

static inline uint32_t nat_mapping_hash_outside(const struct nat_worker *nat, uint32_t addr_be,
						uint16_t port_be, uint8_t proto)
{
	return nat_hash(&nat->seed, addr_be, (uint32_t)port_be << 8 | proto);
}

static inline uint32_t nat_mapping_hash_host(const struct nat_worker *nat, uint32_t addr_be,
					     uint32_t pool_id)
{
	return nat_hash(&nat->seed, addr_be, pool_id);
}

#endif /* TURNPIKE_NAT_MAPPING_H */
