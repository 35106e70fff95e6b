/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv4 fragmentation at egress (RFC 791, RFC 1812 4.2.2.7), by rte_ip_frag. Worker thread.
 */
#ifndef FWD_FRAG_H
#define FWD_FRAG_H

#include "worker_ctx.h"

/* Cuts the datagram m (at its IPv4 header, without DF, longer than mtu) and sends the fragments to
 * next hop nh. Takes the mbuf. */
void frag_send(struct worker *w, struct rte_mbuf *m, uint16_t mtu, uint32_t nh, rte_be32_t dst_be,
	       uint16_t ingress);

#endif /* FWD_FRAG_H */
