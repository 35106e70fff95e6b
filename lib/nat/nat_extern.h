/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External addresses with live mappings, and which of their ports are taken. State goes with the
 * address, whatever rule, pool or interface brought it in, so no endpoint is given out twice (M3).
 * An address takes one of the records made at start when its first mapping comes, and gives it back
 * after the last. Worker only.
 */
#ifndef TURNPIKE_NAT_EXTERN_H
#define TURNPIKE_NAT_EXTERN_H

#include "nat_worker.h"

/* The record of an address, or NAT_NONE. */
uint32_t nat_extern_find(const struct nat_worker *nat, uint32_t addr_be);

/* As above, taking a record if there is none; NAT_NONE: no record left. */
uint32_t nat_extern_attach(struct nat_worker *nat, uint32_t addr_be);
/* Gives the record back if no mapping uses the address. */
void nat_extern_release(struct nat_worker *nat, uint32_t ext);

/* A free port of the address for an inside port (M4, M5, M12), taken; in host order; or -1. */
int nat_extern_take(struct nat_worker *nat, uint32_t ext, enum nat_space space,
		    const struct nat_pool_c *pool, uint16_t inside_port);
void nat_extern_give(struct nat_worker *nat, uint32_t ext, enum nat_space space, uint16_t port);

/* A hint: the port of the address is about to be looked at. */
void nat_extern_prefetch(const struct nat_worker *nat, uint32_t addr_be, enum nat_space space,
			 uint16_t port);

/* Holds the ports that the new snapshot holds, frees those that it doesn't. is_mapped says whether
 * a taken port belongs to a mapping. Called when nat->cfg is still old. */
void nat_extern_config(struct nat_worker *nat, const struct nat_config *to,
		       bool (*is_mapped)(const struct nat_worker *nat, uint32_t addr_be,
					 enum nat_space space, uint16_t port));

#endif /* TURNPIKE_NAT_EXTERN_H */
