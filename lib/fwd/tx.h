/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending: the Ethernet header, a buffer for each port, transmit bursts, and frames for ports whose transmit queues
 * other workers own. Worker thread.
 */
#ifndef FWD_TX_H
#define FWD_TX_H

#include "worker_ctx.h"

/* Prepends the Ethernet header of iface (with its tag) to a datagram and queues it. Takes the mbuf. */
void tx_datagram(struct worker *w, struct rte_mbuf *m, uint16_t iface, union nh_adj adj);

/* Queues a complete frame for iface. Takes the mbuf. */
void tx_frame(struct worker *w, struct rte_mbuf *m, uint16_t iface);

/* Sends what is queued. */
void tx_flush(struct worker *w);

#endif /* FWD_TX_H */
