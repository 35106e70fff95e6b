/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a configuration says about an address, a port or a rule's id. Any thread. (What others than
 * lib/nat may ask is in nat.h.)
 */
#ifndef TURNPIKE_NAT_FIND_H
#define TURNPIKE_NAT_FIND_H

#include "nat_config.h"

/* The order of numbers, and of records that begin with the number they are sorted by. */
static inline int nat_by_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The rule with that id, or NAT_NONE. */
uint32_t nat_config_rule(const struct nat_config *cfg, uint32_t id);

/* The lowest rule of the index whose prefix has addr_be and for which is(ctx, rule) holds, or
 * NAT_NONE. */
uint32_t nat_index_find(const struct nat_index *ix, uint32_t addr_be,
			bool (*is)(const void *ctx, uint32_t rule), const void *ctx);

/* The static rule with addr_be among its external addresses, or NAT_NONE. */
uint32_t nat_config_static(const struct nat_config *cfg, uint32_t addr_be);

/* The dnat rule for that external address, protocol and port (host order), or NAT_NONE. */
uint32_t nat_config_dnat(const struct nat_config *cfg, uint32_t addr_be, uint8_t proto,
			 uint16_t port);

bool nat_config_is_external(const struct nat_config *cfg, uint32_t addr_be);

/* Is it an internal address that a dnat rule leads to? */
bool nat_config_is_target(const struct nat_config *cfg, uint32_t addr_be);

/* The interface that has this address itself, or NAT_IFACE_ANY. */
uint16_t nat_config_own(const struct nat_config *cfg, uint32_t addr_be);

/* The held port ranges of an address: from *first on, returned how many. */
unsigned nat_config_held(const struct nat_config *cfg, uint32_t addr_be,
			 const struct nat_held **first);

uint32_t nat_pool_at(const struct nat_pool_c *pool, uint32_t n); /* n-th address, network order */
bool nat_pool_has(const struct nat_pool_c *pool, uint32_t addr_be);

#endif /* TURNPIKE_NAT_FIND_H */
