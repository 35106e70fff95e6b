/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel network device: facts about it, and the few settings that a port under it needs changed.
 *
 * By ethtool and interface ioctls and getifaddrs(), in the process's own network namespace. Called
 * by the control thread.
 */
#ifndef FWD_NETDEV_H
#define FWD_NETDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fwd.h"

struct netdev_info {
	int ifindex;
	char driver[32]; /* the kernel's, such as veth; empty: unknown */
	uint16_t mtu;
	unsigned rx_queues; /* in use; 0: unknown */
	unsigned combined;  /* of them, those that also transmit */
	bool up;
};

/* -ENODEV, or another negative errno value. */
int netdev_info(const char *name, struct netdev_info *info);

int netdev_set_mtu(const char *name, uint16_t mtu);
int netdev_set_mac(const char *name, const uint8_t mac[6]);

/* speed_mbps 0: unknown. A device that is gone is down. */
void netdev_link(int ifindex, bool *up, uint32_t *speed_mbps);

/* Whether L4 checksums of frames from a device of this kernel driver may be unfinished: what
 * another program on the same machine sent, the kernel left to hardware that isn't there. */
bool netdev_leaves_checksums(const char *driver);

/*
 * Readies a device so that a port under it sees frames as they are on the wire: up, no receive
 * offload that merges frames or takes VLAN tags away. rx_queues, when not 0, is the number of
 * receive queues to reduce it to. Gives a record of what was changed, MTU included, for
 * netdev_restore(). Offloads that can't be changed stay as they are.
 */
struct netdev_undo;
int netdev_prepare(const char *name, unsigned rx_queues, struct netdev_undo **undo,
		   struct fwd_err *err);
void netdev_restore(struct netdev_undo *undo);

/* A packet socket for the ARP frames that the device receives, tagged ones too; nonblocking. */
int netdev_arp_socket(int ifindex);
/* One frame from its Ethernet header on, without its 802.1Q tag, which vlan gives (0: none). Bytes,
 * or -EAGAIN. */
int netdev_arp_receive(int fd, void *frame, size_t size, uint16_t *vlan);

/* This process's packet sockets on the device receive no more what the kernel itself sends. */
void netdev_ignore_outgoing(int ifindex);

/* The kernel's IPv4 addresses on the device and on VLAN devices over it; how many there are (may
 * exceed max). */
unsigned netdev_addresses(int ifindex, uint32_t *addrs_be, unsigned max);

#endif /* FWD_NETDEV_H */
