/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets to the workers that own them, where there are several and translation is on. What another
 * worker owns crosses that worker's hand-over ring, in bursts; what comes out of one's own ring is
 * translated here, or, where two workers translate a packet together, by halves (nat_owner.h).
 * Worker threads.
 */
#ifndef FWD_STEER_H
#define FWD_STEER_H

#include "parse.h"
#include "worker_ctx.h"

/* Are there packets that other workers translate? */
static inline bool steer_on(const struct worker *w)
{
	return unlikely(dp.nat_shared != NULL) && w->snap->nat != NULL &&
	       nat_config_active(w->snap->nat);
}

/* Passes on what other workers own, of n (<= FWD_BURST) packets that this one received. Returns how
 * many are left in pkts, in their order. */
unsigned steer_burst(struct worker *w, struct pkt *pkts, unsigned n);

/* Passes on a packet whose verdict is NAT_HANDOVER. */
void steer_packet(struct worker *w, struct pkt *p);

/* An ICMP error that this worker made about a packet whose source another worker had translated:
 * translated back on its way. Takes e, which begins at its IPv4 header. */
void steer_error(struct worker *w, struct rte_mbuf *e, uint16_t ingress);

/* Takes up to FWD_BURST datagrams from this worker's hand-over ring. *n_taken: how many there were;
 * returns how many are for the whole way from look-up to sending, parsed into pkts. *merge: one
 * came in by an interface with GRO. */
unsigned steer_take(struct worker *w, struct pkt *pkts, unsigned *n_taken, bool *merge);

/* Puts what waits to be passed on into the rings. At the end of each burst. */
void steer_flush(struct worker *w);

#endif /* FWD_STEER_H */
