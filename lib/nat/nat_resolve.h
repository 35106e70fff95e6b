/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rules say about a packet that has no session: destination translation, the way out,
 * source translation. Reads rules and mappings, changes nothing. Worker only.
 */
#ifndef TURNPIKE_NAT_RESOLVE_H
#define TURNPIKE_NAT_RESOLVE_H

#include "nat_worker.h"

struct nat_resolution {
	enum nat_reason reason; /* with NAT_DROP */
	uint32_t dst_rule;	/* static or dnat, or NAT_NONE */
	uint32_t dst_mapping; /* the mapping whose external endpoint is the destination, or NAT_NONE
			       */
	uint32_t new_dst_be;
	uint16_t new_dport_be;
	bool hairpin;	   /* comes from inside and goes to the inside */
	uint32_t src_rule; /* static, snat, masquerade, or NAT_NONE */
};

/* For a packet with a key. NAT_TRANSLATE: at least one of source and destination changes. */
enum nat_verdict nat_resolve(const struct nat_worker *nat, const struct nat_pkt *pkt, int egress,
			     struct nat_resolution *r);

/* The dnat rule that takes packets with this key from interface in, or NAT_NONE. Any thread. */
uint32_t nat_resolve_dnat(const struct nat_config *cfg, const struct nat_key *key, uint16_t in);

/* For a packet without one (fragment, ICMP error, odd ICMP): would it have to be translated? */
bool nat_resolve_concerns(const struct nat_worker *nat, const struct nat_pkt *pkt, int egress);

#endif /* TURNPIKE_NAT_RESOLVE_H */
