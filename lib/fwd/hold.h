/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments that wait a few microseconds for those that follow them (interface set ... gro-timeout),
 * since a burst may end in the middle of what a sender sent. They wait as they were parsed, before
 * anything of their payload is read; nothing but whole trains that may still grow waits, so what
 * leaves of a flow leaves in its order. Worker thread.
 */
#ifndef FWD_HOLD_H
#define FWD_HOLD_H

#include "parse.h"
#include "worker_ctx.h"

/* A burst of more packets is large enough by itself: nothing of it is held back. */
#define HOLD_MAX (FWD_BURST / 2)

/* One for each worker, in w->hold. */
struct hold {
	unsigned n;
	uint64_t until_tsc; /* with n > 0 */
	struct pkt pkts[HOLD_MAX];
};

/* Puts what was held in front of the n packets that came now, and takes out what may wait for more.
 * n + w->hold->n is at most FWD_BURST, which pkts has room for. Returns how many there are. */
unsigned hold_burst(struct worker *w, struct pkt *pkts, unsigned n);

/* Takes all that is held, into pkts (HOLD_MAX); returns how many. What came by an interface that
 * is gone is dropped. */
unsigned hold_take(struct worker *w, struct pkt *pkts);

static inline bool hold_any(const struct worker *w)
{
	return unlikely(w->hold->n > 0);
}

#endif /* FWD_HOLD_H */
