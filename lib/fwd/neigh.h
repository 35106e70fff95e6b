/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: which MAC address a host on a connected network has, and the packets that wait to
 * know it.
 *
 * Owns the table, each entry's next hop (NH_NEIGHBOUR) with its adjacency, the timers, the waiting
 * packets, and the /32 prefix of a resolved neighbour. States: INCOMPLETE (asked, no answer yet),
 * REACHABLE (answered in the last five minutes), PROBE (asked again, still in use), FAILED (did not
 * answer), PERMANENT (configured). Control thread only.
 */
#ifndef FWD_NEIGH_H
#define FWD_NEIGH_H

#include "address.h"

/* The control thread's clock, in milliseconds; monotonic. Tests set their own. */
extern uint64_t (*neigh_clock_ms)(void);

/* unreachable() is given a datagram that waited in vain, at its IPv4 header with priv->iface its
 * ingress: it frees it. */
int neigh_init(uint32_t max, void (*unreachable)(struct rte_mbuf *m), struct fwd_err *err);
void neigh_fini(void);

/* For routes: the next hop of a gateway, which is asked for if need be; takes a reference. */
int neigh_acquire(uint16_t iface, rte_be32_t addr_be, struct fwd_err *err);
/* A route has given its reference up. */
void neigh_released(unsigned nh);
/* The /32 of this neighbour is a static route by it, and no longer (or not) a neighbour's own. */
void neigh_set_static(unsigned nh, bool is_static);
bool neigh_is_static(unsigned nh);
/* Routes in this prefix have changed: neighbours' own /32 prefixes stand where a connected network
 * is the best match otherwise, and nowhere else. */
void neigh_settle(rte_be32_t net_be, uint8_t len);

/* A datagram whose next hop is unresolved (punted PUNT_HOLD). Takes the mbuf. */
void neigh_hold(struct rte_mbuf *m);

enum neigh_claim {		/* what an ARP packet says of its sender */
		   NEIGH_SPOKE, /* to somebody else: confirms what we know, but changes nothing */
		   NEIGH_ANNOUNCED, /* gratuitous: changes what we know, but makes no new entry */
		   NEIGH_ANSWERED,  /* a reply to us: likewise */
		   NEIGH_ASKED,	    /* a request aimed at us: likewise, and it makes a new entry */
};
/* The sender of an ARP packet received on iface has this address there. */
void neigh_seen(uint16_t iface, rte_be32_t addr_be, const uint8_t mac[6], enum neigh_claim claim);

/* Does what is due, at most budget of it. Returns the milliseconds to the next; -1: none waits. */
int neigh_tick(unsigned budget);

/* struct iface_hooks and struct address_hooks */
int neigh_iface_may_go(uint16_t iface, struct fwd_err *err);
void neigh_iface_going(uint16_t iface);
int neigh_address_may_take(rte_be32_t addr_be, struct fwd_err *err);
int neigh_address_may_go(const struct fwd_address *a, struct fwd_err *err);
void neigh_address_came(const struct fwd_address *a);
void neigh_address_gone(const struct fwd_address *a);

unsigned neigh_count(void);
unsigned neigh_held(void); /* packets that wait */

#endif /* FWD_NEIGH_H */
