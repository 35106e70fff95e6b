/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface table: ports, and VLAN interfaces on them. Each owns its name, its id and its part
 * of a port.
 *
 * What hangs on an interface (addresses, neighbours, routes, ARP sockets, the published snapshot)
 * lies above this file and is reached by struct iface_hooks. Called by the control thread only.
 */
#ifndef FWD_IFACE_H
#define FWD_IFACE_H

#include "dp.h"
#include "port.h"

struct iface {
	uint16_t id;
	bool used;
	bool hidden;		    /* not in the snapshot: it goes, or its port stands still */
	uint16_t parent;	    /* of a VLAN: its port's interface; else FWD_IFACE_NONE */
	uint16_t mtu;		    /* bytes of IP datagram, as it is now */
	struct fwd_iface_conf conf; /* as configured */
	struct port *port;	    /* its own, or its parent's */
	unsigned n_pass;
	struct fwd_pass pass[FWD_IFACE_PASS];
};

struct iface_hooks {
	/* -EBUSY with a message while a route needs the interface. */
	int (*may_go)(uint16_t id, struct fwd_err *err);
	/* Removes all that hangs on it. */
	void (*going)(uint16_t id);
	/* Makes every worker use the table as it is now. */
	int (*publish)(struct fwd_err *err);
	/* No worker knows the interface any more: takes its packets out of the rings. */
	void (*gone)(uint16_t id);
	/* A port has come, or is about to be closed. */
	void (*port_opened)(const struct iface *i);
	void (*port_closing)(const struct iface *i);
};

void iface_init(const struct iface_hooks *hooks);
/* Closes all ports. */
void iface_fini(void);

/* NULL: no such interface. Ids run from 0 to FWD_MAX_IFACES - 1. */
const struct iface *iface_get(uint16_t id);
/* The interface of frames with this VLAN id (0: untagged) at the port of interface id, or NULL. */
const struct iface *iface_tagged(uint16_t id, uint16_t vlan);

/* Puts an Ethernet header, and the 802.1Q tag on a VLAN interface, before m's first byte. False: no
 * room. */
bool iface_encap(const struct iface *i, struct rte_mbuf *m, const uint8_t dst[6],
		 uint16_t ether_type);
/* Hands a complete frame to a worker that sends at this interface: to the one named, which keeps a
 * flow in its order, else (FWD_MAX_WORKERS, or it has no transmit queue there) to the queues'
 * owner. False: it is dropped, and counted to ingress. Takes the mbuf in any case. */
bool iface_send(const struct iface *i, struct rte_mbuf *m, uint16_t ingress, unsigned worker);

#endif /* FWD_IFACE_H */
