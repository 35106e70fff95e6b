/* SPDX-License-Identifier: BSD-3-Clause */
#include "steer.h"

#include "icmp.h"
#include "output.h"

/* ---- out ------------------------------------------------------------------------------------- */

static void flush_one(struct worker *w, unsigned to)
{
	struct steer_buffer *b = &w->steer[to];
	unsigned done = rte_ring_mp_enqueue_burst(dp.handover[to], (void **)b->m, b->n, NULL);

	w->counters->events[FWD_E_handovers] += done;
	for (unsigned i = done; i < b->n; i++)
		worker_drop(w, b->m[i], fwd_priv(b->m[i])->iface, FWD_D_handover_full);
	b->n = 0;
}

void steer_flush(struct worker *w)
{
	while (w->n_steer_to > 0) {
		unsigned to = w->steer_to[--w->n_steer_to];

		w->steer[to].listed = false;
		flush_one(w, to);
	}
}

static void pass_on(struct worker *w, struct rte_mbuf *m, unsigned to, uint16_t in,
		    enum handover_kind kind, uint32_t rule_id)
{
	struct steer_buffer *b = &w->steer[to];
	struct fwd_mbuf_priv *priv = fwd_priv(m);

	priv->iface = in;
	priv->kind = (uint8_t)kind;
	priv->rule_id = rule_id;
	if (!b->listed) {
		b->listed = true;
		w->steer_to[w->n_steer_to++] = (uint8_t)to;
	}
	b->m[b->n++] = m;
	if (b->n == FWD_BURST)
		flush_one(w, to);
}

void steer_packet(struct worker *w, struct pkt *p)
{
	const struct nat_pkt *n = &p->nat;

	pass_on(w, p->m, n->owner, n->iface, n->rule_id != 0 ? HANDOVER_SOURCE : HANDOVER_OWNED,
		n->rule_id);
}

/* Of packets that others own if they are to be translated as they leave: are they? */
static void ask_way_out(struct worker *w, const struct pkt *pkts, const uint8_t *at, unsigned n,
			uint8_t *owner)
{
	uint32_t dst[FWD_BURST];
	uint64_t nh[FWD_BURST];

	for (unsigned k = 0; k < n; k++)
		dst[k] = rte_be_to_cpu_32(pkts[at[k]].nat.key.dst_be);
	rte_fib_lookup_bulk(w->snap->fib, dst, nh, (int)n);
	for (unsigned k = 0; k < n; k++) {
		const struct nat_pkt *p = &pkts[at[k]].nat;
		int egress = output_egress(output_member((uint32_t)nh[k], &p->key));
		bool out = nat_config_candidate(w->snap->nat, &p->key, (uint16_t)egress);

		owner[at[k]] = out ? owner[at[k]] & (uint8_t)~NAT_OWNER_IF_OUT : (uint8_t)w->id;
	}
}

static void owners(struct worker *w, struct pkt *pkts, unsigned n, uint8_t *owner)
{
	struct nat_pkt *look[FWD_BURST];
	uint8_t asked[FWD_BURST];
	unsigned n_asked = 0;

	look[0] = &pkts[0].nat;
	for (unsigned i = 1; i < n; i++)
		look[i] = &pkts[i].nat;
	nat_owner_burst(dp.nat_shared, w->snap->nat, look, n, w->id, owner);
	for (unsigned i = 0; i < n; i++) {
		/* a transport header that can't be trusted names no owner */
		if (unlikely(pkts[i].l4_drop != 0))
			owner[i] = (uint8_t)w->id;
		if (owner[i] & NAT_OWNER_IF_OUT)
			asked[n_asked++] = (uint8_t)i;
	}
	if (n_asked > 0)
		ask_way_out(w, pkts, asked, n_asked, owner);
}

unsigned steer_burst(struct worker *w, struct pkt *pkts, unsigned n)
{
	uint8_t owner[FWD_BURST];
	unsigned kept = 0;

	owners(w, pkts, n, owner);
	for (unsigned i = 0; i < n; i++) {
		if (owner[i] != w->id) {
			pass_on(w, pkts[i].m, owner[i], pkts[i].nat.iface, HANDOVER_OWNED, 0);
			continue;
		}
		if (kept != i)
			pkts[kept] = pkts[i];
		kept++;
	}
	return kept;
}

/* To whoever translates the destination, now that the source is done. Its key is as received: only
 * its destination counts. */
static void pass_on_half(struct worker *w, struct pkt *p)
{
	uint8_t owner;

	if (!steer_on(w)) { /* the rules went meanwhile */
		worker_drop(w, p->m, p->nat.iface, FWD_D_NAT + NAT_R_nat_no_mapping - 1);
		return;
	}
	p->nat.key.table = 0;
	owners(w, p, 1, &owner);
	pass_on(w, p->m, owner & (uint8_t)~NAT_OWNER_IF_OUT, p->nat.iface, HANDOVER_DESTINATION, 0);
}

void steer_error(struct worker *w, struct rte_mbuf *e, uint16_t ingress)
{
	struct pkt p;

	if (parse_ip4(&w->snap->ifaces[ingress], ingress, e, true, &p,
		      &w->counters->events[FWD_E_checksums_completed]) == PARSE_IP4)
		pass_on_half(w, &p);
	else
		worker_drop(w, p.m, ingress, p.drop);
}

/* ---- in -------------------------------------------------------------------------------------- */

/* Translates the sources of packets whose destinations are another worker's. */
static void sources(struct worker *w, struct pkt *pkts, unsigned n)
{
	struct nat_pkt *look[FWD_BURST];

	for (unsigned i = 0; i < n; i++)
		look[i] = &pkts[i].nat;
	nat_lookup_burst(w->nat, look, n);
	for (unsigned i = 0; i < n; i++) {
		struct nat_pkt *p = look[i];

		if (p->verdict == NAT_PASS && p->rule_id == NAT_RULE_NONE) {
			pass_on_half(w, &pkts[i]); /* nothing translates its source */
			continue;
		}
		if ((p->verdict == NAT_TRANSLATE ||
		     nat_miss(w->nat, p, -1, w->now_ms) == NAT_TRANSLATE) &&
		    nat_rewrite(w->nat, p, w->now_ms) == NAT_TRANSLATE)
			pass_on_half(w, &pkts[i]);
		else
			icmp_nat_refused(w, &pkts[i]);
	}
}

/* Parses what was handed over; false: it is gone. */
static bool take_one(struct worker *w, struct rte_mbuf *m, struct pkt *p)
{
	uint16_t in = fwd_priv(m)->iface;

	if (in >= FWD_MAX_IFACES || !(w->snap->ifaces[in].flags & IFACE_PRESENT)) {
		worker_drop(w, m, in, FWD_D_iface_gone);
		return false;
	}
	if (parse_ip4(&w->snap->ifaces[in], in, m, true, p,
		      &w->counters->events[FWD_E_checksums_completed]) != PARSE_IP4) {
		worker_drop(w, p->m, in, p->drop);
		return false;
	}
	return true;
}

unsigned steer_take(struct worker *w, struct pkt *pkts, unsigned *n_taken, bool *merge)
{
	struct pkt halves[FWD_BURST];
	struct rte_mbuf *m[FWD_BURST];
	unsigned n, n_out = 0, n_halves = 0;

	n = rte_ring_sc_dequeue_burst(dp.handover[w->id], (void **)m, FWD_BURST, NULL);
	*n_taken = n;
	*merge = false;
	/* all of it lies in another core's cache: fetched at the same time, not one by one */
	for (unsigned i = 0; i < n; i++) {
		rte_prefetch0(m[i]);
		rte_prefetch0(fwd_priv(m[i]));
	}
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
	for (unsigned i = 0; i < n; i++) {
		enum handover_kind kind = fwd_priv(m[i])->kind;
		uint32_t rule_id = fwd_priv(m[i])->rule_id;
		struct pkt *p = kind == HANDOVER_SOURCE ? &halves[n_halves] : &pkts[n_out];

		if (!take_one(w, m[i], p))
			continue;
		if (kind == HANDOVER_SOURCE && unlikely(p->l4_drop != 0)) {
			worker_drop(w, p->m, p->nat.iface, p->l4_drop);
			continue;
		}
		if (kind == HANDOVER_SOURCE) {
			nat_half(&p->nat, NAT_PKT_SOURCE, rule_id);
			n_halves++;
			continue;
		}
		if (kind == HANDOVER_DESTINATION)
			nat_half(&p->nat, NAT_PKT_DESTINATION, 0);
		else if (kind == HANDOVER_ANY && steer_on(w) && steer_burst(w, p, 1) == 0)
			continue;
		n_out++;
		*merge |= (w->snap->ifaces[p->nat.iface].flags & IFACE_GRO) != 0;
	}
	if (n_halves > 0)
		sources(w, halves, n_halves);
	return n_out;
}
