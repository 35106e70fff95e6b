/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answer to "which session is this packet of", for one packet; nat_lookup.c also has it for
 * bursts. Changes nothing but the packet's result fields. Worker only.
 */
#ifndef TURNPIKE_NAT_LOOKUP_H
#define TURNPIKE_NAT_LOOKUP_H

#include "nat_worker.h"

/* Fills in session, direction and new addresses: NAT_TRANSLATE. */
void nat_lookup_fill(const struct nat_worker *nat, struct nat_pkt *pkt, uint32_t session,
		     unsigned dir);

/* An ICMP error's session by its quote: false if there is none (then NAT_PASS). */
bool nat_lookup_error(const struct nat_worker *nat, struct nat_pkt *pkt);

#endif /* TURNPIKE_NAT_LOOKUP_H */
