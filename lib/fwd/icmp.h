/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP errors that the router makes (RFC 792, RFC 1812 4.3): when one may be sent, its source, its
 * quote, its rate.
 */
#ifndef FWD_ICMP_H
#define FWD_ICMP_H

#include "parse.h"
#include "worker_ctx.h"

enum {
	ICMP_UNREACHABLE = 3,
	ICMP_TIME_EXCEEDED = 11,
};
enum {
	ICMP_NET_UNREACHABLE = 0,
	ICMP_HOST_UNREACHABLE = 1,
	ICMP_PROTOCOL_UNREACHABLE = 2,
	ICMP_PORT_UNREACHABLE = 3,
	ICMP_FRAGMENTATION_NEEDED = 4,
	ICMP_ADMIN_PROHIBITED = 13,
};

/* Sends an error about p (which is as it came in) to its source, if RFC 1812 4.3.2.7 allows one and
 * the rate does. mtu: with ICMP_FRAGMENTATION_NEEDED, else 0. p's mbuf stays the caller's. Worker
 * thread. */
void icmp_error(struct worker *w, const struct pkt *p, uint8_t type, uint8_t code, uint16_t mtu);

/* Drops p (as it came in) for the reason that lib/nat gave, announced to its source where that is
 * configured (C4). Takes the mbuf. Worker thread. */
void icmp_nat_refused(struct worker *w, struct pkt *p);

/* Builds such an error about the datagram at m's first byte, from src_be; NULL when none may be
 * sent or no buffer is free. Any thread. */
struct rte_mbuf *icmp_build(const struct rte_mbuf *m, rte_be32_t src_be, uint8_t type, uint8_t code,
			    uint16_t mtu, uint16_t ip_id);

/* The address by which the router speaks on an interface to peer_be: one in the same prefix, else
 * the first; 0: none. */
rte_be32_t icmp_source(const struct dp_iface *iface, rte_be32_t peer_be);

/* For control: a datagram that waited for a neighbour in vain, at its IPv4 header. Counts it,
 * answers ICMP host unreachable by way of the worker that translates, and frees it. Control thread.
 */
void icmp_host_unreachable(struct rte_mbuf *m);

#endif /* FWD_ICMP_H */
