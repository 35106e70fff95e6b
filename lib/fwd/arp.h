/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP frames (RFC 826): what is one, and how to make one. Keeps no state. Called by the control
 * thread only.
 */
#ifndef FWD_ARP_H
#define FWD_ARP_H

#include "iface.h"

#define ARP_FRAME_MIN 60 /* frames are padded to Ethernet's minimum, less the FCS */

enum arp_op { ARP_REQUEST = 1, ARP_REPLY = 2 };

struct arp {
	uint8_t eth_dst[6];
	uint8_t op; /* enum arp_op */
	uint8_t sender_mac[6];
	uint8_t target_mac[6];
	rte_be32_t sender_be, target_be;
};

/* Reads a frame of len bytes, with or without an 802.1Q tag. False: it is no ARP of Ethernet and
 * IPv4, is cut short, or its sender's MAC address is no station's. */
bool arp_parse(const uint8_t *frame, unsigned len, struct arp *out);

/* Sends one from interface i. eth_dst: who gets the frame; the sender's MAC address is the
 * interface's. target_mac NULL: zero. False: not sent. */
bool arp_send(const struct iface *i, enum arp_op op, const uint8_t eth_dst[6], rte_be32_t sender_be,
	      const uint8_t target_mac[6], rte_be32_t target_be);

/* Tells everyone that addr_be is here: a gratuitous request (RFC 5944 4.6, RFC 5227 2.3). */
void arp_announce(const struct iface *i, rte_be32_t addr_be);

extern const uint8_t arp_broadcast_mac[6];

#endif /* FWD_ARP_H */
