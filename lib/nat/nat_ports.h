/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ports (or ICMP identifiers) of one external address and protocol: which are taken. A bitmap
 * with a summary, so that the next free port of either parity is found in a few dozen steps however
 * full the map is, and that none is free as fast. Ports in host order. One owner, no lock.
 */
#ifndef TURNPIKE_NAT_PORTS_H
#define TURNPIKE_NAT_PORTS_H

#include <stdbool.h>
#include <stdint.h>

struct nat_ports {
	uint64_t taken[1024];
	uint64_t full[2][16]; /* by parity, a bit for each word of taken with no such port free */
} __attribute__((aligned(64)));

static inline bool nat_ports_taken(const struct nat_ports *p, uint16_t port)
{
	return p->taken[port >> 6] >> (port & 63) & 1;
}

void nat_ports_take(struct nat_ports *p, uint16_t port);
void nat_ports_give(struct nat_ports *p, uint16_t port);

/* First free port at or after start, going round inside [lo, hi]; start must lie in it. parity: 0
 * even, 1 odd, -1 either. -1: none is free. */
int nat_ports_find(const struct nat_ports *p, uint16_t lo, uint16_t hi, uint16_t start, int parity);

#endif /* TURNPIKE_NAT_PORTS_H */
