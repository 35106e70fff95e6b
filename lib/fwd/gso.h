/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large TCP packets: a guest or a kernel left it to its device to segment them (TSO), and this
 * router is that device. They go through as one packet, and on the way out are left to the next
 * device where that one can, or cut here, to the segments that their sender would have sent. Worker
 * thread.
 *
 * The parser marks them (RTE_MBUF_F_RX_LRO, tso_segsz) and sees to it that the headers lie in the
 * first buffer and that this is never the only one. Their checksum is unfinished, so theirs is the
 * one case in which the router makes a transport checksum of its own.
 */
#ifndef FWD_GSO_H
#define FWD_GSO_H

#include "parse.h"
#include "worker_ctx.h"

/* Bytes of the IPv4 datagrams that p leaves in, the last one aside; of any other packet its own. */
static inline uint16_t gso_datagram_len(const struct pkt *p)
{
	if (likely(!parse_large(p->m)))
		return p->len;
	return (uint16_t)(p->ihl + (p->nat.l4[12] >> 4) * 4 + p->m->tso_segsz);
}

/* Sends the large packet p, translated and with its TTL done, or its segments, to next hop nh,
 * whose interface has this MTU: larger ones are fragmented. dst_be as in output_send(). Takes the
 * mbuf. */
void gso_send(struct worker *w, const struct pkt *p, uint16_t mtu, uint32_t nh, rte_be32_t dst_be);

#endif /* FWD_GSO_H */
