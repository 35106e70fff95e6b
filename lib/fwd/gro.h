/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive coalescing: TCP segments, or UDP datagrams, of one flow that stand behind each other in a
 * burst become one packet for translation and routing. Both are called segments here. Only what
 * validates merges, and only what cut.h can take apart again to the very segments that came in.
 * Worker thread.
 *
 * A merged packet is a header and a list. The header is the first segment's, changed in place to
 * that of the whole; each later segment stays as it came, its own headers in front of its payload,
 * in a buffer of its own. So nothing is copied, no buffer is chained, and leaving again takes no
 * more than a few bytes of each segment's headers.
 */
#ifndef FWD_GRO_H
#define FWD_GRO_H

#include "gro_ip4.h"
#include "parse.h"
#include "worker_ctx.h"

/* A packet made of several segments, and what its header said before and after it was made. */
struct gro_merged {
	struct rte_mbuf **segments; /* n of them, in order; the first is the packet's own m */
	uint8_t n;		    /* 2 to FWD_BURST */
	bool like_tso;		    /* a device that cuts the whole makes these segments of it */
	uint8_t tcp_flags;	    /* of the first segment; UDP: 0 */
	uint16_t len;		    /* of the first segment's datagram; none is longer */
	csum_be_t l4_check;	    /* of the first segment */
	csum_be_t merged_l4_check;  /* of the whole, right over all its bytes */
	struct ip4_checks checks;
};

/* The merged packets of one burst. */
struct gro {
	unsigned n;
	uint8_t of[FWD_BURST]; /* by packet: 0, or 1 + index in merged[] */
	struct gro_merged merged[FWD_BURST / 2];
	struct rte_mbuf *segments[FWD_BURST];
};

/* Merges what can be merged among n parsed packets that came in by interfaces with IFACE_GRO. A
 * merged packet stands at the place of its first segment, with its whole length in len and
 * nat.l4_len; its other segments leave the array. Returns how many packets are left; g->of is set
 * for each of them when g->n > 0. */
unsigned gro_burst(struct worker *w, struct pkt *pkts, unsigned n, struct gro *g);

/* By headers alone: a bit for each of n packets that come by interfaces with a gro_us and belong to
 * a train that what comes next may continue. Of no flow does anything stand behind them.
 *
 * What was found is kept: the next call, or gro_burst(), looks at what stands behind these n
 * packets only, under the same snapshot. If they will not stand in front of it, all of them and in
 * this order, gro_forget() comes first. */
uint64_t gro_open(struct worker *w, struct pkt *pkts, unsigned n);
void gro_forget(struct worker *w);

/* For a worker, NULL: no memory; rte_free() takes it back. */
struct gro_work *gro_create(void);

#endif /* FWD_GRO_H */
