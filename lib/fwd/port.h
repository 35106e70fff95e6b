/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: one DPDK device, from its devargs to a started set of queues and back.
 *
 * Owns the device (it did not exist before port_open() and does not after port_close()), the XDP
 * program on its kernel interface if there is one, and what was changed on that interface. Called
 * by the control thread only; no worker may poll a port's queues before port_open() returned or
 * while port_close() runs.
 */
#ifndef FWD_PORT_H
#define FWD_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "fwd.h"
#include "port_pool.h"
#include "rss.h"

#define PORT_FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + 4) /* Ethernet and an 802.1Q tag */

struct xdp;	    /* xdp/xdp.h */
struct netdev_undo; /* netdev.h */

struct port {
	uint16_t port_id;		 /* DPDK's */
	char devargs[FWD_DEVARGS_LEN];	 /* as given */
	char name[RTE_DEV_NAME_MAX_LEN]; /* the device's, such as net_af_xdp0 */
	char driver[32];		 /* DPDK's driver, such as net_af_xdp */
	char netdev[FWD_NAME_LEN];	 /* kernel interface under it, or empty */
	int ifindex;			 /* of netdev, or 0 */
	uint8_t mac[6];
	uint16_t mtu;	     /* bytes of IP datagram, as it is now */
	uint16_t own_mtu;    /* the device's own, in force where none is configured */
	uint16_t max_mtu;    /* port_set_mtu() takes no more */
	uint16_t rxqs, txqs; /* tx queue i is worker i's; workers from txqs on have none */
	bool multi_seg_tx;   /* sends chained buffers */
	uint16_t tso_segs;   /* cuts large TCP packets of at most so many buffers; 0: does not */
	bool tso_ip_csum;    /* ... and sums the IPv4 headers of what it makes */
	bool complete_csum;  /* virtual: L4 checksums of received packets may be unfinished */
	bool xdp;	     /* our XDP program steers the kernel interface */
	bool kernel_arp;     /* ARP frames don't come by the port, but by arp_fd */
	int arp_fd;	     /* readable when port_arp_receive() has something; -1: none */

	/* private to port.c and port_xdp.c */
	struct rte_mempool *pool;
	struct xdp *steer;
	struct netdev_undo *undo;
	struct rss rss;
	bool started;
	bool filters_vlans; /* takes only tags that port_vlan() added */
};

/*
 * Plugs the device in, configures its queues and starts it. mtu 0: the device's own, rxqs 0: one.
 * n_workers is the number of transmit queues wanted. Errors: -EINVAL (devargs, rxqs, mtu), -EEXIST
 * (the name or the kernel interface has a port already), -ENODEV (no such driver, device or kernel
 * interface), -EBUSY (a foreign XDP program is on it), -EOPNOTSUPP (it can't do that RSS), and what
 * the driver returned. On error nothing of it is left.
 */
int port_open(const char *devargs, uint16_t mtu, uint16_t rxqs, enum fwd_rss rss,
	      unsigned n_workers, struct rte_mempool *pool, struct port *out, struct fwd_err *err);

/* Stops, closes and unplugs; XDP program detached, sockets closed, kernel interface as it was. */
void port_close(struct port *p);

/* While workers run; may restart the device (its queues give and take nothing for a moment) where
 * the driver needs that, so call it with the workers' polls of this port paused when
 * port_mtu_needs_stop() says so. -EINVAL with the highest possible MTU in the message. */
int port_set_mtu(struct port *p, uint16_t mtu, struct fwd_err *err);
bool port_mtu_needs_stop(const struct port *p);

/* Lets frames with this 802.1Q id in, or no longer. No-op where the device takes all of them. */
int port_vlan(struct port *p, uint16_t id, bool add, struct fwd_err *err);

/* Leaves packets for a TCP or UDP port of the host to the kernel, or takes them again. -EOPNOTSUPP
 * where no XDP program steers; -EEXIST, -ENOENT. */
int port_pass(struct port *p, struct fwd_pass pass, bool add, struct fwd_err *err);

/* The router's own addresses on it, VLAN interfaces' included: with the kernel's own on that
 * interface, the destinations that port_pass() applies to. Counted, so adds and dels must pair.
 * No-op without XDP. */
int port_local_address(struct port *p, uint32_t addr_be, bool add);

/* Reads the kernel's own addresses again, which follow no call of ours; every few seconds. No-op
 * without XDP. */
void port_refresh(struct port *p);

/* The next ARP frame of arp_fd, from its Ethernet header on, without its 802.1Q tag, which vlan
 * gives (0: none). Bytes, or -EAGAIN when there is no more, -ENETDOWN and such when the device went
 * down or away. */
int port_arp_receive(const struct port *p, void *frame, size_t size, uint16_t *vlan);

/* speed_mbps 0: unknown. */
void port_link(const struct port *p, bool *up, uint32_t *speed_mbps);

void port_device_stats(const struct port *p, uint64_t *missed, uint64_t *errors, uint64_t *nombuf,
		       uint64_t *tx_errors);

#endif /* FWD_PORT_H */
