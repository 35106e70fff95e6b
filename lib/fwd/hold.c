/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_cycles.h>

#include "gro.h"
#include "hold.h"

unsigned hold_take(struct worker *w, struct pkt *pkts)
{
	struct hold *h = w->hold;
	unsigned n = 0;

	for (unsigned i = 0; i < h->n; i++) {
		const struct pkt *p = &h->pkts[i];

		if (unlikely(!(w->snap->ifaces[p->nat.iface].flags & IFACE_PRESENT)))
			worker_drop(w, p->m, p->nat.iface, FWD_D_iface_gone);
		else
			pkts[n++] = *p;
	}
	h->n = 0;
	gro_forget(w);
	return n;
}

static void waits(struct worker *w, uint16_t iface, uint64_t now)
{
	uint64_t us = w->snap->ifaces[iface].gro_us;

	w->hold->until_tsc = RTE_MIN(w->hold->until_tsc, now + us * w->tsc_per_ms / 1000);
	w->counters->events[FWD_E_gro_held]++;
}

/* Takes out of n packets, of which the first n_old were held before, those that may wait. */
static unsigned hold_back(struct worker *w, struct pkt *pkts, unsigned n, unsigned n_old)
{
	uint64_t wait = gro_open(w, pkts, n), now = rte_rdtsc();
	struct hold *h = w->hold;
	unsigned left = 0;

	if (wait == 0)
		return n;
	if (n_old == 0)
		h->until_tsc = UINT64_MAX;
	if (wait == UINT64_MAX >> (64 - n)) { /* all; the old ones are still there */
		for (unsigned i = n_old; i < n; i++) {
			h->pkts[i] = pkts[i];
			waits(w, pkts[i].nat.iface, now);
		}
		h->n = n;
		return 0;
	}
	gro_forget(w);
	for (unsigned i = 0; i < n; i++) {
		const struct pkt *p = &pkts[i];

		if (!(wait >> i & 1)) {
			if (left != i)
				pkts[left] = *p;
			left++;
			continue;
		}
		if (i >= n_old)
			waits(w, p->nat.iface, now);
		h->pkts[h->n++] = *p;
	}
	return left;
}

unsigned hold_burst(struct worker *w, struct pkt *pkts, unsigned n)
{
	struct hold *h = w->hold;
	unsigned n_old = h->n;

	if (n_old > 0) {
		memmove(pkts + n_old, pkts, n * sizeof(*pkts));
		memcpy(pkts, h->pkts, n_old * sizeof(*pkts));
		n += n_old;
		h->n = 0;
		if (rte_rdtsc() >= h->until_tsc)
			return n;
	}
	return n > HOLD_MAX ? n : hold_back(w, pkts, n, n_old);
}
