/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a port over AF_XDP needs around the device: before its driver sees the kernel interface,
 * when it runs, and before it closes. Called by port.c only, which says when, and owns what this
 * makes.
 */
#ifndef FWD_PORT_XDP_H
#define FWD_PORT_XDP_H

#include <stdbool.h>
#include <stdint.h>

#include "fwd.h"
#include "port.h"

struct netdev_info; /* netdev.h */

/* The interface's MTU (0: as it is, if it can be), whether the buffers suit, and the XDP claims and
 * trials: p->steer. */
int port_xdp_prepare(struct port *p, const struct netdev_info *netdev, unsigned first_queue,
		     bool own_program, uint16_t mtu, struct rte_mempool *pool, struct fwd_err *err);

/* The program's maps, and the socket by which ARP comes. */
int port_xdp_started(struct port *p, bool own_program, struct fwd_err *err);

/* Takes back the packet buffers that the driver would lose. */
void port_xdp_empty(struct port *p);

#endif /* FWD_PORT_XDP_H */
