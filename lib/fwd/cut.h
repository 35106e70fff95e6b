/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cutting merged packets (gro.h) back to the segments that they were made of: translated and sent,
 * or as they came in. Worker thread.
 */
#ifndef FWD_CUT_H
#define FWD_CUT_H

#include "gro.h"
#include "tx.h"

/* The packet p, merged as d says, has been rewritten (addresses, ports, TTL): does the same to each
 * of its segments and sends them by way to adj. What rewriting did to the whole's checksums is what
 * it does to a segment's, so each keeps its sender's own, brought up to date (RFC 1624), and no
 * payload is read. Takes the mbufs. */
void cut_send(struct worker *w, const struct pkt *p, const struct gro_merged *d, struct tx_way *way,
	      union nh_adj adj);

/* Undoes the merge: p becomes what its first segment was. Before p is rewritten. */
void cut_undo(struct pkt *p, const struct gro_merged *d);

/* After cut_undo(): segment i of the n of d, as a packet like p, into *out. */
void cut_segment(const struct pkt *p, const struct gro_merged *d, unsigned i, struct pkt *out);

#endif /* FWD_CUT_H */
