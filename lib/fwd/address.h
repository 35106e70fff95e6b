/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The router's own addresses and the prefixes that they connect.
 *
 * Owns the list of addresses, their next hops (own, broadcast, connected network) and those next
 * hops' prefixes in the table. What depends on an address (neighbours) lies above and is reached by
 * struct address_hooks. Control thread only.
 */
#ifndef FWD_ADDRESS_H
#define FWD_ADDRESS_H

#include <arpa/inet.h>

#include "iface.h"

struct address_hooks {
	/* May addr_be become the router's own or a broadcast address? -EADDRINUSE with a message:
	 * it is a neighbour. */
	int (*may_take)(rte_be32_t addr_be, struct fwd_err *err);
	/* -EBUSY with a message while a gateway needs the address. */
	int (*may_go)(const struct fwd_address *a, struct fwd_err *err);
	/* It came, or it is gone: what lies in its prefix may belong elsewhere now. */
	void (*came)(const struct fwd_address *a);
	void (*gone)(const struct fwd_address *a);
};

int address_init(const struct address_hooks *hooks, struct fwd_err *err);
void address_fini(void);

/* Removes all addresses of an interface, without asking. */
void address_purge(uint16_t iface);

unsigned address_count(uint16_t iface);
const struct fwd_address *address_at(uint16_t iface, unsigned i);

/* Is it an own address of this interface? */
bool address_own(uint16_t iface, rte_be32_t addr_be);
/* Does it lie in a connected prefix of this interface, so that a neighbour may have it? (Own,
 * network and broadcast addresses don't.) */
bool address_on_link(uint16_t iface, rte_be32_t addr_be);
/* The interface whose connected prefix covers addr_be, the longest one; FWD_IFACE_NONE: none. */
uint16_t address_connected(rte_be32_t addr_be, uint8_t *len);
/* The own address by which the router speaks to addr_be on this interface; 0: it has none. */
rte_be32_t address_source(uint16_t iface, rte_be32_t addr_be);

/* Calls fn for each address added since the last call, which has yet to be announced. */
void address_announce(void (*fn)(const struct fwd_address *a));

static inline uint32_t prefix_mask(uint8_t len)
{
	return len ? UINT32_MAX << (32 - len) : 0;
}

static inline bool prefix_covers(rte_be32_t net_be, uint8_t len, rte_be32_t addr_be)
{
	return ((rte_be_to_cpu_32(net_be) ^ rte_be_to_cpu_32(addr_be)) & prefix_mask(len)) == 0;
}

/* An address as text, for messages: ip_text(a).s */
struct ip_text {
	char s[INET_ADDRSTRLEN];
};

static inline struct ip_text ip_text(rte_be32_t addr_be)
{
	struct ip_text t;

	inet_ntop(AF_INET, &addr_be, t.s, sizeof(t.s));
	return t;
}

#endif /* FWD_ADDRESS_H */
