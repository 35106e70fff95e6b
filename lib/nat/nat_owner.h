/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which worker a packet belongs to. All state of an inside host is its owner's, so a packet goes to
 * the owner of the host that it comes from or goes to. Where it does both (hairpin, or a source and
 * a destination rule at once) and the two have different owners, each translates its half: the
 * source's owner first, then the destination's, each by a session of its own.
 */
#ifndef TURNPIKE_NAT_OWNER_H
#define TURNPIKE_NAT_OWNER_H

#include "nat_resolve.h"

/* Is a packet with this key, resolved as r, another worker's? Then pkt's owner, and rule_id for a
 * half, are set. */
bool nat_owner_hand_over(const struct nat_worker *nat, const struct nat_key *key,
			 const struct nat_resolution *r, struct nat_pkt *pkt);

#endif /* TURNPIKE_NAT_OWNER_H */
