/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <sys/random.h>

#include <rte_cycles.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_pause.h>
#include <rte_tcp.h>

#include "call.h"
#include "cut.h"
#include "frag.h"
#include "gro.h"
#include "gso.h"
#include "hold.h"
#include "icmp.h"
#include "local.h"
#include "output.h"
#include "parse.h"
#include "steer.h"
#include "tso.h"
#include "tx.h"
#include "worker.h"

#define REQUEST_RING_SIZE 16
#define NAT_TICK_BUDGET	  16   /* records looked at in a turn */
#define ICMP_RATE_S	  1000 /* errors a second and worker ... */
#define ICMP_BURST	  100  /* ... and at once */
#define IDLE_TURNS	  256 /* turns without a packet after which the core is offered to others */

/* ---- the stages ------------------------------------------------------------------------------ */

/* A frame that is not of the plain sort. Is there a packet in *p now? */
static bool parse_one(struct worker *w, struct rte_mbuf *m, uint16_t port, struct pkt *p)
{
	struct dp_counters *c = w->counters;
	uint32_t bytes = m->pkt_len;
	enum parse_result r =
		parse_frame(w->snap, m, port, p, &c->events[FWD_E_checksums_completed]);
	uint16_t in = p->nat.iface < FWD_MAX_IFACES ? p->nat.iface : FWD_MAX_IFACES;

	c->iface[in].rx_packets++;
	c->iface[in].rx_bytes += bytes;
	if (likely(r == PARSE_IP4))
		return true;
	if (r == PARSE_ARP)
		output_punt(w, p->m, PUNT_ARP, p->nat.iface);
	else
		worker_drop(w, p->m, p->nat.iface, p->drop);
	return false;
}

/* Frames to packets: ARP goes to control, what fails a check is dropped. Returns how many packets.
 */
static unsigned stage_parse(struct worker *w, struct rte_mbuf **m, unsigned n, uint16_t port,
			    struct pkt *pkts)
{
	uint16_t native = w->snap->ports[port].native_iface;
	unsigned n_out = 0, n_plain = 0;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned k = parse_plain(w->snap, m + i, n - i, port, pkts + n_out, &bytes);

		n_plain += k;
		n_out += k;
		i += k;
		if (i < n)
			n_out += parse_one(w, m[i], port, &pkts[n_out]);
	}
	if (n_plain > 0) {
		w->counters->iface[native].rx_packets += n_plain;
		w->counters->iface[native].rx_bytes += bytes;
	}
	return n_out;
}

/* A packet without a session, while translation is on. False: it is gone. */
static bool translate_miss(struct worker *w, struct pkt *p)
{
	struct nat_pkt *n = &p->nat;
	int egress = output_egress(output_member(p->nh, &n->key));

	/* a header that can't be trusted is neither translated nor, where it would have to be, let
	 * through */
	if (unlikely(p->l4_drop != 0)) {
		if (!nat_config_candidate(w->snap->nat, &n->key, (uint16_t)egress))
			return true;
		worker_drop(w, p->m, n->iface, p->l4_drop);
		return false;
	}
	switch (nat_miss(w->nat, n, egress, w->now_ms)) {
	case NAT_DROP:
		icmp_nat_refused(w, p);
		return false;
	case NAT_TRANSLATE:
		if (n->new_dst_be != n->key.dst_be)
			p->nh = output_lookup(w->snap, n->new_dst_be);
		return true;
	case NAT_HANDOVER:
		steer_packet(w, p);
		return false;
	default:
		return true;
	}
}

/* From here on a packet's next hop is known: TTL, MTU, rewriting, sending. */
static void forward(struct worker *w, struct pkt *p)
{
	struct nat_pkt *n = &p->nat;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)n->ip;
	const struct fwd_nexthop *nh;
	uint16_t mtu, len;
	uint32_t nhi;

	if (unlikely(ip->time_to_live <= 1)) { /* RFC 1812 5.3.1 */
		icmp_error(w, p, ICMP_TIME_EXCEEDED, 0, 0);
		worker_drop(w, p->m, n->iface, FWD_D_ttl_expired);
		return;
	}
	nhi = output_member(p->nh, &n->key);
	nh = &dp.nexthops[nhi];
	switch (nh->type) {
	case NH_NEIGHBOUR:
	case NH_GLEAN:
		break;
	case NH_LOCAL: /* translated to an address of the router */
		worker_drop(w, p->m, n->iface, FWD_D_local_unhandled);
		return;
	case NH_BROADCAST:
		worker_drop(w, p->m, n->iface, FWD_D_ip4_broadcast);
		return;
	default:
		icmp_error(w, p, ICMP_UNREACHABLE, ICMP_NET_UNREACHABLE, 0);
		worker_drop(w, p->m, n->iface, FWD_D_no_route);
		return;
	}
	mtu = w->snap->ifaces[nh->iface].mtu;
	len = gso_datagram_len(p);
	if (unlikely(len > mtu && (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_DF_FLAG)))) {
		icmp_error(w, p, ICMP_UNREACHABLE, ICMP_FRAGMENTATION_NEEDED, mtu);
		worker_drop(w, p->m, n->iface, FWD_D_mtu_exceeded);
		return;
	}
	if (n->verdict == NAT_TRANSLATE) {
		if (unlikely(nat_rewrite(w->nat, n, w->now_ms) == NAT_DROP)) {
			icmp_nat_refused(w, p);
			return;
		}
	} else {
		nat_ttl_decrement(n->ip);
	}
	if (unlikely(parse_large(p->m)))
		gso_send(w, p, mtu, nhi, n->new_dst_be);
	else if (unlikely(len > mtu))
		frag_send(w, p->m, mtu, nhi, n->new_dst_be, n->iface);
	else
		output_send(w, p->m, nhi, n->new_dst_be, n->iface);
}

static inline bool nat_on(const struct worker *w)
{
	return w->snap->nat != NULL && nat_config_active(w->snap->nat);
}

/* Packets to their sessions, where there are any. */
static void stage_lookup(struct worker *w, struct pkt *pkts, unsigned n)
{
	struct nat_pkt *look[FWD_BURST];
	unsigned n_look = 0;

	if (w->nat == NULL || (!nat_on(w) && nat_worker_sessions(w->nat) == 0))
		return;
	for (unsigned i = 0; i < n; i++) {
		if (likely(pkts[i].l4_drop == 0))
			look[n_look++] = &pkts[i].nat;
	}
	nat_lookup_burst(w->nat, look, n_look);
}

/* Packets to their next hops, by the destinations after translation: those that their session
 * remembers, and those that are looked up, which sessions remember from then on. */
static void stage_route(struct worker *w, const struct pkt *pkts, unsigned n, uint64_t *nh)
{
	uint64_t found[FWD_BURST];
	uint32_t dst[FWD_BURST];
	uint8_t at[FWD_BURST];
	unsigned n_look = 0;

	if (w->nat == NULL) {
		for (unsigned i = 0; i < n; i++)
			dst[i] = rte_be_to_cpu_32(pkts[i].nat.new_dst_be);
		rte_fib_lookup_bulk(w->snap->fib, dst, nh, (int)n);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct nat_pkt *p = &pkts[i].nat;

		dst[n_look] = rte_be_to_cpu_32(p->new_dst_be);
		at[n_look] = (uint8_t)i;
		nh[i] = p->hop;
		n_look += (p->verdict != NAT_TRANSLATE) | (p->hop == 0);
	}
	if (n_look == 0)
		return;
	rte_fib_lookup_bulk(w->snap->fib, dst, found, (int)n_look);
	for (unsigned k = 0; k < n_look; k++) {
		const struct nat_pkt *p = &pkts[at[k]].nat;

		nh[at[k]] = found[k];
		if (p->verdict == NAT_TRANSLATE)
			nat_hop_keep(w->nat, p, (uint16_t)found[k]);
	}
}

/* A packet that needs more than rewriting and sending. on: translation is. */
static void forward_one(struct worker *w, struct pkt *p, bool on)
{
	if (p->nat.verdict != NAT_TRANSLATE) {
		bool local = dp.nexthops[p->nh].type == NH_LOCAL;

		if (local)
			p->nat.flags |= NAT_PKT_LOCAL;
		if (on) {
			/* RFC 1812 5.3.1 before translation: a packet that goes no further makes no
			 * session */
			if (unlikely(!local && p->nat.ip[8] <= 1)) {
				icmp_error(w, p, ICMP_TIME_EXCEEDED, 0, 0);
				worker_drop(w, p->m, p->nat.iface, FWD_D_ttl_expired);
				return;
			}
			if (!translate_miss(w, p))
				return;
		}
		if (local && p->nat.verdict != NAT_TRANSLATE) {
			local_deliver(w, p);
			return;
		}
	}
	forward(w, p);
}

/* A merged packet: whole as far as it goes the usual way, else cut back to what came in, which goes
 * each its own. hop: its next hop, which way leads to. */
static void forward_merged(struct worker *w, struct pkt *p, const struct gro_merged *d,
			   const struct fwd_nexthop *hop, struct tx_way *way, bool on)
{
	union nh_adj adj = {.word = atomic_load_explicit(&hop->adj, memory_order_relaxed)};
	struct nat_pkt *n = &p->nat;
	bool whole = adj.usable != 0 && n->ip[8] > 1 && d->len <= w->snap->ifaces[hop->iface].mtu;

	if (n->verdict ==
	    NAT_TRANSLATE) /* the end of a connection is tracked by its own sequence number */
		whole = whole && !(n->tcp_flags & RTE_TCP_FIN_FLAG) &&
			nat_rewrite(w->nat, n, w->now_ms) == NAT_TRANSLATE;
	else if (on && nat_config_candidate(w->snap->nat, &n->key, hop->iface))
		whole = false;
	else if (whole)
		nat_ttl_decrement(n->ip);
	if (whole) {
		if (tso_fits(w, d, hop->iface))
			tso_send(w, p, d, way, adj);
		else
			cut_send(w, p, d, way, adj);
		return;
	}
	cut_undo(p, d);
	w->counters->events[FWD_E_cut_segments] += d->n;
	for (unsigned i = 0; i < d->n; i++) {
		struct pkt segment;

		cut_segment(p, d, i, &segment);
		forward_one(w, &segment, on);
	}
}

/* Packets to their verdicts. gro: NULL, or what is merged among them. */
static __rte_always_inline void stage_forward(struct worker *w, struct pkt *pkts, unsigned n,
					      const uint64_t *nh, const struct gro *gro)
{
	struct tx_way way = {.iface = FWD_IFACE_NONE};
	bool on = nat_on(w);

	for (unsigned i = 0; i < n; i++) {
		struct pkt *p = &pkts[i];
		struct fwd_nexthop *hop = &dp.nexthops[nh[i]];
		bool translate = p->nat.verdict == NAT_TRANSLATE;
		union nh_adj adj;

		p->nh = (uint32_t)nh[i];
		if (unlikely(hop->type == NH_GROUP))
			hop = &dp.nexthops[output_member(p->nh, &p->nat.key)];
		if (unlikely(hop->iface != way.iface))
			tx_way_to(w, &way, hop->iface);
		if (gro != NULL && gro->of[i] != 0) {
			forward_merged(w, p, &gro->merged[gro->of[i] - 1], hop, &way, on);
			continue;
		}
		/* only a neighbour's can be usable */
		adj.word = atomic_load_explicit(&hop->adj, memory_order_relaxed);
		if (unlikely(!((translate | !on) & (adj.usable != 0) & (p->nat.ip[8] > 1) &
			       (p->len <= way.mtu) & (p->m->nb_segs == 1)))) {
			forward_one(w, p, on);
			continue;
		}
		if (!translate) {
			nat_ttl_decrement(p->nat.ip);
		} else if (unlikely(nat_rewrite(w->nat, &p->nat, w->now_ms) == NAT_DROP)) {
			icmp_nat_refused(w, p);
			continue;
		}
		tx_way_send(w, &way, p->m, adj);
	}
	tx_way_to(w, &way, FWD_IFACE_NONE);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* tsc: NULL where nobody measures, gro: NULL where nothing is merged; and then this costs nothing.
 */
static __rte_always_inline void datagrams(struct worker *w, struct pkt *pkts, unsigned n,
					  const struct gro *gro, uint64_t *tsc)
{
	uint64_t nh[FWD_BURST];

	stage_lookup(w, pkts, n);
	if (tsc != NULL)
		tsc[WORKER_LOOKUP] = rte_rdtsc();
	stage_route(w, pkts, n, nh);
	if (tsc != NULL)
		tsc[WORKER_ROUTE] = rte_rdtsc();
	stage_forward(w, pkts, n, nh, gro);
	if (tsc != NULL)
		tsc[WORKER_FORWARD] = rte_rdtsc();
}

static __rte_noinline void merged(struct worker *w, struct pkt *pkts, unsigned n, uint64_t *tsc)
{
	struct gro g;

	n = gro_burst(w, pkts, n, &g);
	if (tsc != NULL)
		tsc[WORKER_MERGE] = rte_rdtsc();
	datagrams(w, pkts, n, g.n > 0 ? &g : NULL, tsc);
}

/* What is held has waited long enough. Returns how many packets that is. */
static unsigned release(struct worker *w)
{
	struct pkt pkts[FWD_BURST];
	unsigned n = hold_take(w, pkts);

	if (n > 0)
		merged(w, pkts, n, NULL);
	if (unlikely(w->n_steer_to > 0))
		steer_flush(w);
	return n;
}

/* As datagrams(), merging first. Apart from it, so that it costs nothing where it is off. pkts has
 * room for FWD_BURST. */
static __rte_noinline void datagrams_merged(struct worker *w, struct pkt *pkts, unsigned n,
					    uint64_t *tsc)
{
	if (unlikely(w->snap->gro_waits)) {
		if (w->hold->n + n > FWD_BURST)
			release(w);
		n = hold_burst(w, pkts, n);
	}
	if (n > 0)
		merged(w, pkts, n, tsc);
	else if (tsc != NULL) /* all of it waits */
		for (unsigned s = WORKER_MERGE; s < WORKER_STAGES; s++)
			tsc[s] = rte_rdtsc();
}

void worker_frames(struct worker *w, struct rte_mbuf **m, unsigned n, uint16_t port)
{
	struct pkt pkts[FWD_BURST];

	n = stage_parse(w, m, n, port, pkts);
	if (steer_on(w))
		n = steer_burst(w, pkts, n);
	if (n > 0 && unlikely(w->snap->ports[port].gro))
		datagrams_merged(w, pkts, n, NULL);
	else if (n > 0)
		datagrams(w, pkts, n, NULL, NULL);
	if (unlikely(w->n_steer_to > 0))
		steer_flush(w);
}

void worker_frames_timed(struct worker *w, struct rte_mbuf **m, unsigned n, uint16_t port,
			 uint64_t cycles[WORKER_STAGES])
{
	uint64_t tsc[WORKER_STAGES], last = rte_rdtsc();
	struct pkt pkts[FWD_BURST];

	n = stage_parse(w, m, n, port, pkts);
	if (steer_on(w))
		n = steer_burst(w, pkts, n);
	tsc[WORKER_PARSE] = tsc[WORKER_MERGE] = rte_rdtsc();
	if (unlikely(w->snap->ports[port].gro))
		datagrams_merged(w, pkts, n, tsc);
	else
		datagrams(w, pkts, n, NULL, tsc);
	if (unlikely(w->n_steer_to > 0))
		steer_flush(w);
	for (unsigned i = 0; i < WORKER_STAGES; i++) {
		cycles[i] += tsc[i] - last;
		last = tsc[i];
	}
}

/* Datagrams that other workers received and that this one translates, or that control made. */
static unsigned handover(struct worker *w)
{
	struct pkt pkts[FWD_BURST];
	unsigned n_taken, n;
	bool merge;

	n = steer_take(w, pkts, &n_taken, &merge);
	if (n > 0 && merge)
		datagrams_merged(w, pkts, n, NULL);
	else if (n > 0)
		datagrams(w, pkts, n, NULL, NULL);
	if (w->n_steer_to > 0)
		steer_flush(w);
	return n_taken;
}

void worker_turn_begin(struct worker *w)
{
	uint64_t now_ms = (rte_rdtsc() - w->tsc_base) / w->tsc_per_ms;
	const struct fwd_snapshot *before = w->snap;
	bool changed;

	/* Quiescent first, then the load: what control published before this report is what this
	 * turn uses. lib/nat lets go of its old configuration only now, in the turn after the
	 * report, so control waits for two. */
	rte_rcu_qsbr_quiescent(dp.qsbr, w->id);
	w->snap = atomic_load_explicit(&dp.snapshot, memory_order_acquire);
	changed = w->snap != before;
	if (w->nat != NULL) {
		if (unlikely(w->serial != w->snap->serial)) {
			w->serial = w->snap->serial;
			nat_hop_forget(w->nat);
		}
		if (unlikely(w->nat_conf != w->snap->nat)) {
			w->nat_conf = w->snap->nat;
			nat_worker_config(w->nat, w->nat_conf, now_ms);
		}
		if (now_ms != w->now_ms || unlikely(w->nat_behind))
			w->nat_behind = nat_worker_tick(w->nat, now_ms, NAT_TICK_BUDGET);
	}
	w->now_ms = now_ms;
	if (unlikely(changed) && hold_any(w))
		release(w); /* under what is configured now */
	if (unlikely(!rte_ring_empty(w->requests)))
		call_serve(w);
}

/* One writer: no read-modify-write is needed, only that readers see whole words. */
static inline void stat_add(_Atomic uint64_t *at, uint64_t n)
{
	atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

unsigned worker_receive(uint16_t port, uint16_t queue, struct rte_mbuf **m)
{
	unsigned n = rte_eth_rx_burst(port, queue, m, FWD_BURST);

	/* Half a burst or more: either all that was there, or as many as this driver gives at once.
	 * Tables that no cache holds answer after hundreds of cycles, twice for each burst, however
	 * many packets ask together. */
	if (n >= FWD_BURST / 2 && n < FWD_BURST)
		n += rte_eth_rx_burst(port, queue, m + n, (uint16_t)(FWD_BURST - n));
	return n;
}

unsigned worker_turn(struct worker *w)
{
	const struct dp_worker_conf *conf;
	unsigned got = 0;

	worker_turn_begin(w);
	conf = &w->snap->workers[w->id];
	for (unsigned q = 0; q < conf->n_rxq; q++) {
		struct rte_mbuf *m[FWD_BURST];
		unsigned n = worker_receive(conf->rxq[q].port, conf->rxq[q].queue, m);

		if (n == 0)
			continue;
		got += n;
		stat_add(&w->bursts, 1);
		worker_frames(w, m, n, conf->rxq[q].port);
	}
	stat_add(&w->packets, got);
	if (!rte_ring_empty(dp.handover[w->id]))
		got += handover(w);
	/* never longer when there is nothing else to do */
	if (hold_any(w) && (got == 0 || rte_rdtsc() >= w->hold->until_tsc))
		got += release(w);
	got += tx_injected(w);
	tx_flush(w);
	return got;
}

int worker_loop(void *arg)
{
	struct worker *w = arg;
	uint64_t last = rte_rdtsc();
	unsigned idle = 0;

	rte_rcu_qsbr_thread_register(dp.qsbr, w->id);
	rte_rcu_qsbr_thread_online(dp.qsbr, w->id);
	while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
		unsigned got = worker_turn(w);
		uint64_t now = rte_rdtsc();

		stat_add(&w->total_tsc, now - last);
		if (got > 0) {
			stat_add(&w->busy_tsc, now - last);
			idle = 0;
		} else if (++idle > IDLE_TURNS) {
			/* nothing to do for a while: where the core is shared, whoever waits for it
			 * (perhaps the sender of the next packet) runs now; on a core of its own
			 * this returns at once */
			sched_yield();
		} else {
			rte_pause();
		}
		last = now;
	}
	rte_rcu_qsbr_thread_offline(dp.qsbr, w->id);
	rte_rcu_qsbr_thread_unregister(dp.qsbr, w->id);
	return 0;
}

/* ---- creation -------------------------------------------------------------------------------- */

static int nat_egress(void *ctx, uint32_t dst_be, uint16_t table)
{
	const struct worker *w = ctx;

	RTE_SET_USED(table); /* one routing table today */
	return output_egress(output_lookup(w->snap, dst_be));
}

static void *nat_alloc(void *ctx, size_t size)
{
	RTE_SET_USED(ctx);
	return rte_zmalloc("nat", size, RTE_CACHE_LINE_SIZE);
}

static void nat_free(void *ctx, void *p)
{
	RTE_SET_USED(ctx);
	rte_free(p);
}

struct nat_shared *worker_shared_nat(unsigned n_workers)
{
	struct nat_ops ops = {.alloc = nat_alloc, .free = nat_free};
	struct nat_limits limits = {.max_sessions = dp.params.max_sessions};

	if (getrandom(&limits.seed, sizeof(limits.seed), 0) != sizeof(limits.seed))
		return NULL;
	return nat_shared_create(&limits, &ops, n_workers);
}

/* A worker's part of all sessions, and an eighth more: hosts don't spread evenly. */
static uint32_t share_of(uint32_t sessions)
{
	uint32_t share = sessions / dp.n_workers;

	return share + share / 8 + 1;
}

struct worker *worker_create(unsigned id, unsigned lcore, bool with_nat, struct fwd_err *err)
{
	struct worker *w = rte_zmalloc_socket("worker", sizeof(*w), RTE_CACHE_LINE_SIZE,
					      (int)rte_lcore_to_socket_id(lcore));
	char name[RTE_RING_NAMESIZE];

	if (w == NULL) {
		dp_err(err, -ENOMEM, "no memory for worker %u", id);
		return NULL;
	}
	w->id = id;
	w->lcore = lcore;
	w->counters = dp.counters[id];
	w->tsc_per_ms = rte_get_tsc_hz() / 1000;
	w->tsc_base = rte_rdtsc();
	w->icmp_bucket = (struct token_bucket){
		.tokens = ICMP_BURST * 1000, .rate_s = ICMP_RATE_S, .burst = ICMP_BURST};
	snprintf(name, sizeof(name), "requests%u", id);
	w->requests = rte_ring_create(name, REQUEST_RING_SIZE, SOCKET_ID_ANY,
				      RING_F_SP_ENQ | RING_F_SC_DEQ);
	w->hold = rte_zmalloc("hold", sizeof(*w->hold), RTE_CACHE_LINE_SIZE);
	w->gro = gro_create();
	if (w->requests == NULL || w->hold == NULL || w->gro == NULL) {
		dp_err(err, -ENOMEM, "no memory for worker %u", id);
		worker_destroy(w);
		return NULL;
	}
	if (with_nat) {
		struct nat_ops ops = {
			.ctx = w, .egress = nat_egress, .alloc = nat_alloc, .free = nat_free};
		struct nat_limits limits = {
			.max_sessions = dp.nat_shared == NULL ? dp.params.max_sessions
							      : share_of(dp.params.max_sessions),
			.shared = dp.nat_shared,
			.worker = id,
		};

		if (getrandom(&limits.seed, sizeof(limits.seed), 0) != sizeof(limits.seed)) {
			dp_err(err, -EIO, "getrandom gives no seed for the NAT tables");
			worker_destroy(w);
			return NULL;
		}
		w->nat = nat_worker_create(&limits, &ops);
		if (w->nat == NULL) {
			dp_err(err, -ENOMEM,
			       "no memory for %u NAT sessions: reserve more huge pages, or set "
			       "fewer with "
			       "'nat set max-sessions'",
			       dp.params.max_sessions);
			worker_destroy(w);
			return NULL;
		}
	}
	return w;
}

void worker_destroy(struct worker *w)
{
	if (w == NULL)
		return;
	if (w->nat != NULL)
		nat_worker_destroy(w->nat);
	for (unsigned i = 0; w->hold != NULL && i < w->hold->n; i++)
		rte_pktmbuf_free(w->hold->pkts[i].m);
	rte_free(w->hold);
	rte_free(w->gro);
	rte_ring_free(w->requests);
	rte_free(w);
}
