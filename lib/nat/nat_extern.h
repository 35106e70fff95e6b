/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External addresses with live mappings, which of their ports are taken, and by which worker. State
 * goes with the address, whatever rule, pool or interface brought it in, so no endpoint is given
 * out twice (M3). An address takes one of the records made at start when its first mapping comes,
 * and gives it back after the last. Shared by the workers (nat_shared.h).
 */
#ifndef TURNPIKE_NAT_EXTERN_H
#define TURNPIKE_NAT_EXTERN_H

#include "nat_worker.h"

/* The record of an address, or NAT_NONE. Any thread. */
uint32_t nat_extern_find(const struct nat_shared *sh, uint32_t addr_be);

/* One more mapping at an address: its record, taken if there is none; NAT_NONE: no record left.
 * And one less: the record goes with the last. */
uint32_t nat_extern_join(struct nat_shared *sh, uint32_t addr_be);
void nat_extern_leave(struct nat_shared *sh, uint32_t ext);

/* Address (0: none) and mappings of a record. Any thread. */
static inline uint32_t nat_extern_addr(const struct nat_shared *sh, uint32_t ext)
{
	return atomic_load_explicit(&sh->externs[ext].addr_be, memory_order_relaxed);
}

static inline uint32_t nat_extern_load(const struct nat_shared *sh, uint32_t ext)
{
	return atomic_load_explicit(&sh->externs[ext].n_mappings, memory_order_relaxed);
}

/* A free port of the address for an inside port (M4, M5, M12), taken; in host order; or -1. The
 * caller has joined the address. */
int nat_extern_take(struct nat_worker *nat, uint32_t ext, enum nat_space space,
		    const struct nat_pool_c *pool, uint16_t inside_port);
void nat_extern_give(struct nat_shared *sh, uint32_t ext, enum nat_space space, uint16_t port);

/* The same for a protocol without ports. False: another worker's host has it. */
bool nat_extern_take_protocol(struct nat_worker *nat, uint32_t ext, uint8_t proto);
void nat_extern_give_protocol(struct nat_shared *sh, uint32_t ext, uint8_t proto);

/* Where it says who owns a port (host order) of an address: 0 nobody, else worker + 1. Only with
 * several workers. Any thread. */
const _Atomic uint8_t *nat_extern_owner(const struct nat_shared *sh, uint32_t ext, uint8_t proto,
					uint16_t port);

/* A hint: the port of the address is about to be looked at. */
void nat_extern_prefetch(const struct nat_shared *sh, uint32_t addr_be, enum nat_space space,
			 uint16_t port);

/* Does the taken port belong to a mapping of the worker? */
typedef bool nat_extern_is_mapped(const struct nat_worker *nat, uint32_t addr_be,
				  enum nat_space space, uint16_t port);

/* The first worker that takes up a snapshot holds the ports that it holds, and frees those that it
 * doesn't. is_mapped is asked where there is one worker. The snapshot before must still be there.
 */
void nat_extern_config(struct nat_worker *nat, const struct nat_config *to,
		       nat_extern_is_mapped *is_mapped);

#endif /* TURNPIKE_NAT_EXTERN_H */
