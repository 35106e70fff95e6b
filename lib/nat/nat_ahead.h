/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ahead of the slow path: brings what a burst's new sessions are going to touch into the cache. A
 * hint: changes nothing. Worker only.
 */
#ifndef TURNPIKE_NAT_AHEAD_H
#define TURNPIKE_NAT_AHEAD_H

#include "nat_worker.h"

/* For those of the n (<= 64) packets that have no session. */
void nat_ahead(const struct nat_worker *nat, struct nat_pkt *const *pkts, unsigned n);

#endif /* TURNPIKE_NAT_AHEAD_H */
