/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ports (or ICMP identifiers) of one external address and protocol: which are taken. A bitmap
 * with a summary, so that the next free port of either parity is found in a few dozen steps however
 * full the map is, and that none is free as fast. Ports in host order. Any number of threads take
 * and give; alone says that there is one, and that plain stores do.
 */
#ifndef TURNPIKE_NAT_PORTS_H
#define TURNPIKE_NAT_PORTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Ports in groups of 64: a bit for group (port >> 6) % 128. */
struct nat_port_groups {
	uint64_t in[2];
};

struct nat_ports {
	_Atomic uint64_t taken[1024];
	/* by parity, a bit for each word of taken with no such port free. May lag behind taken for
	 * a moment, never for good. */
	_Atomic uint64_t full[2][16];
} __attribute__((aligned(64)));

static inline bool nat_ports_taken(const struct nat_ports *p, uint16_t port)
{
	return atomic_load_explicit(&p->taken[port >> 6], memory_order_relaxed) >> (port & 63) & 1;
}

/* False: it was taken already. */
bool nat_ports_take(struct nat_ports *p, uint16_t port, bool alone);
void nat_ports_give(struct nat_ports *p, uint16_t port, bool alone);

/* First free port at or after start, going round inside [lo, hi]; start must lie in it. parity: 0
 * even, 1 odd, -1 either. groups: NULL, or only ports of these. -1: none is free. */
int nat_ports_find(const struct nat_ports *p, uint16_t lo, uint16_t hi, uint16_t start, int parity,
		   const struct nat_port_groups *groups);

#endif /* TURNPIKE_NAT_PORTS_H */
