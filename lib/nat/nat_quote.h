/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP errors and the packet they quote (RFC 792, RFC 5508 section 4): reading the quoted tuple,
 * checking what can be checked, rewriting. Works on the packet alone.
 */
#ifndef TURNPIKE_NAT_QUOTE_H
#define TURNPIKE_NAT_QUOTE_H

#include "nat_key.h"

struct nat_quote {
	uint8_t *ip; /* quoted IPv4 header */
	uint8_t *l4;
	unsigned ihl;	    /* bytes */
	unsigned l4_len;    /* quoted transport bytes, trusted to be there */
	struct nat_key key; /* of the quoted packet, as it was sent */
};

/* Reads the quote of an ICMP error. False: malformed, too short, or nothing that a session can have
 * sent. */
bool nat_quote_parse(const struct nat_pkt *pkt, struct nat_quote *q);

/* RFC 5508 REQ-3: the outer ICMP checksum (where the whole message is there) and the quoted
 * header's. */
enum nat_reason nat_quote_check(const struct nat_pkt *pkt, const struct nat_quote *q);

/* Puts the tuple of key (addresses, ports or identifier) into the quote; updates the quoted
 * checksums that are there, and the ICMP checksum for every byte that changed. */
void nat_quote_rewrite(struct nat_pkt *pkt, const struct nat_quote *q, const struct nat_key *to);

#endif /* TURNPIKE_NAT_QUOTE_H */
