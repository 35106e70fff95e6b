/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that leave whole: the device cuts them (TSO). Merged ones (gro.h) only where what it
 * makes of them are the very frames that cut.h would make. Worker thread.
 */
#ifndef FWD_TSO_H
#define FWD_TSO_H

#include "gro.h"
#include "tx.h"

/* From so many buffers in a packet on, what has more of them leaves in several, of two segments at
 * least. */
#define TSO_PARTS_FROM 4

/* Does the device of iface cut p, merged as d says, to what its segments were? */
static inline bool tso_fits(const struct worker *w, const struct gro_merged *d, uint16_t iface)
{
	return d->like_tso && w->snap->ports[w->snap->ifaces[iface].port].tso_segs >=
				      RTE_MIN(d->n, TSO_PARTS_FROM);
}

/* Makes of the datagram m, TCP with headers of ihl and thl bytes in its first buffer, what
 * rte_ethdev wants of a packet that the device of iface cuts to segments of this many payload
 * bytes.
 */
void tso_mark(const struct worker *w, struct rte_mbuf *m, uint16_t iface, uint8_t ihl, uint16_t thl,
	      uint16_t segment);

/* As cut_send(), in one piece, or as many as it takes with what the device takes in a packet: the
 * segments' buffers become a chain behind the header of the first. */
void tso_send(struct worker *w, struct pkt *p, const struct gro_merged *d, struct tx_way *way,
	      union nh_adj adj);

#endif /* FWD_TSO_H */
