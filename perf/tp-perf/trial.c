/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "pace.h"
#include "stamp.h"
#include "trial.h"

#define OFFER_BURST    32  /* frames offered between two looks at what came back */
#define BACKLOG_MIN    64  /* a generator that is later than so many frames skips them */
#define LEARN_PPS      5e5 /* the rate at which sessions are made */
#define DRAIN_OWN_MS   200 /* after so long without a frame nothing is on its way any more ... */
#define DRAIN_PORTS_MS 500 /* ... over ports, which RFC 2544 (23) would give two seconds */
#define IDLE_STEPS     64
#define TIME_MARK      1 /* in the lowest bit of a word that is no frame */
#define LAUNCH_MS      1 /* from launching to the first frame */
#define WAIT_US	       100
#define PINGS	       4000
#define PING_MS	       20 /* for all of them, where a CPU is shared */
#define WARM_PART      8 /* of flows that can be used once only, at most an eighth is for warming up */

/* In place of an own port's queues of the same number. */
struct wire {
	struct rte_ring *rx, *tx;
	uint16_t burst;
} __rte_cache_aligned;

/* Where frames are offered: the queue q of router's port i makes them. */
struct source {
	unsigned i, q;
	struct rte_ring *ring; /* of our own port */
	eth_tx_burst_t tx;     /* of another */
	void *txq;
};

/* Where they are taken back: behind router's port i. */
struct sink {
	unsigned i, q;
	struct rte_ring *ring;
	eth_rx_burst_t rx;
	void *rxq;
	unsigned n; /* frames whose time has not come out of the ring yet */
	void *held[2 * BURST_MAX];
};

enum phase { WARM, COUNT, DRAIN, DONE };

static struct {
	const struct options *o;
	enum generator generator;
	unsigned lcore; /* of GENERATOR_LCORE */
	struct wire wires[2][QUEUES_MAX];
	void *wire_queues[2][QUEUES_MAX];
	struct rte_eth_fp_ops saved[2];

	struct source sources[2 * QUEUES_MAX];
	struct sink sinks[2 * QUEUES_MAX];
	unsigned n_sources, n_sinks, source;

	turn_fn turn; /* the worker's */
	struct pace pace;
	uint64_t count_from, count_for, until, drain, last_received, backlog;
	bool through;	  /* tables fed once, to their ends */
	bool in_headroom; /* stamps lie in front of the frames, which have no room for them */
	uint64_t flows;	  /* 0, or each may be used once: mode nat44-setup */
	uint64_t used;	  /* of them */
	uint64_t usable;  /* in this phase */
	uint32_t trials, tag;
	unsigned idle; /* steps after that time: it may have passed while this lcore was away */
	_Atomic unsigned phase;	      /* enum phase */
	uint16_t sums[FRAME_MAX + 1]; /* of the stamp's place in a frame of so many bytes */
	struct trial_result *r;
} t;

/* ---- the worker's side ----------------------------------------------------------------------- */

static uint16_t wire_rx(void *queue, struct rte_mbuf **m, uint16_t n)
{
	const struct wire *w = queue;

	return (uint16_t)rte_ring_sc_dequeue_burst(w->rx, (void **)m, RTE_MIN(n, w->burst), NULL);
}

/* Behind the frames of a burst goes the time when they left, marked as no pointer is. One word for
 * all of them: a store into each would cost the worker a tenth of its time. */
static uint16_t wire_tx(void *queue, struct rte_mbuf **m, uint16_t n)
{
	const struct wire *w = queue;
	void *burst[BURST_MAX + 1];

	n = (uint16_t)RTE_MIN(n, (unsigned)BURST_MAX);
	n = (uint16_t)RTE_MIN(n + 1u, rte_ring_free_count(w->tx));
	if (n-- < 2)
		return 0;
	memcpy(burst, m, n * sizeof(*m));
	burst[n] = (void *)(uintptr_t)(rte_rdtsc() << 1 | TIME_MARK);
	return rte_ring_enqueue_bulk(w->tx, burst, n + 1u, NULL) > 0 ? n : 0;
}

/* A loop's other end: what arrives there is the sink's ... */
static uint16_t nothing_rx(void *queue, struct rte_mbuf **m, uint16_t n)
{
	RTE_SET_USED(queue);
	RTE_SET_USED(m);
	RTE_SET_USED(n);
	return 0;
}

/* ... and what the router would send at its near end would come back to the router. */
static uint16_t nothing_tx(void *queue, struct rte_mbuf **m, uint16_t n)
{
	return nothing_rx(queue, m, n);
}

/* ---- offering -------------------------------------------------------------------------------- */

/* Of packets of its own, what lies in front of a frame comes back with it. */
static inline void *stamp_in(const struct rte_mbuf *m)
{
	return t.in_headroom ? m->buf_addr
			     : rte_pktmbuf_mtod_offset(m, void *, stamp_at(m->data_len));
}

static inline void give_back(const struct source *s, struct rte_mbuf **m, unsigned n)
{
	if (n > 0)
		ports_take(s->i, s->q, m, (uint16_t)n);
}

/* n frames that are due, of which the first was so longest. */
static void offer_burst(unsigned n, uint64_t now)
{
	const struct source *s = &t.sources[t.source];
	struct trial_result *r = t.r;
	struct rte_mbuf *m[OFFER_BURST];
	unsigned room = s->ring != NULL ? RTE_MIN(n, rte_ring_free_count(s->ring)) : n;
	unsigned made = 0, sent = 0, k;
	uint64_t late = now - RTE_MIN(now, pace_next(&t.pace));

	do {
		k = ports_make(s->i, s->q, m + made, (uint16_t)(room - made));
		made += k;
	} while (k > 0 && made < room);
	for (unsigned i = 0; i < made; i++) {
		stamp_put(stamp_in(m[i]), pace_next(&t.pace), t.tag, t.sums[m[i]->data_len]);
		pace_take(&t.pace, 1);
	}
	t.used += made;
	if (made > 0)
		sent = s->ring != NULL ? rte_ring_sp_enqueue_burst(s->ring, (void **)m, made, NULL)
				       : s->tx(s->txq, m, (uint16_t)made);
	give_back(s, m + sent, made - sent);
	pace_take(&t.pace, n - made);
	/* without a buffer there was no frame to lose */
	r->skipped += room - made;
	r->offered += n - (room - made);
	r->refused += n - room + made - sent;
	hist_add_n(&r->late, late, n);
	if (++t.source == t.n_sources)
		t.source = 0;
}

static void offer(uint64_t now)
{
	uint64_t end = RTE_MIN(now + 1, atomic_load_explicit(&t.phase, memory_order_relaxed) == WARM
						? t.count_from
						: t.until);
	uint64_t due = pace_due(&t.pace, end);

	/* The generator's own stalls are not the router's: it does not make up for them with a
	 * burst. On the worker's lcore it is late because the worker was busy, and that counts. */
	if (unlikely(due > t.backlog) && t.generator != GENERATOR_WORKER) {
		pace_take(&t.pace, due - t.backlog);
		t.r->skipped += due - t.backlog;
		due = t.backlog;
	}
	while (due > 0) {
		unsigned n = (unsigned)RTE_MIN(due, (uint64_t)OFFER_BURST);

		if (t.flows > 0 && n > t.usable - t.used)
			n = (unsigned)(t.usable - t.used);
		if (n == 0)
			break;
		offer_burst(n, now);
		due = t.generator == GENERATOR_WORKER ? due - n : 0;
	}
}

/* ---- taking back ----------------------------------------------------------------------------- */

/* Whether the frame is of this trial, and when it was due. */
static inline bool read_stamp(const struct rte_mbuf *m, struct stamp *s)
{
	if (unlikely(m->data_len < FRAME_MIN && !t.in_headroom))
		return false;
	memcpy(s, stamp_in(m), sizeof(*s));
	return s->tag == t.tag;
}

static inline void took(uint64_t at, const struct stamp *s)
{
	t.r->received++;
	hist_add(&t.r->latency, at - RTE_MIN(at, s->due));
}

/* Each of the frames that were merged into one. */
static inline void took_all(uint64_t at, const struct rte_mbuf *m)
{
	struct stamp s;

	do {
		if (read_stamp(m, &s))
			took(at, &s);
		m = m->next;
	} while (unlikely(m != NULL));
}

static void take_own(struct sink *k, uint64_t now)
{
	unsigned had = k->n, start = 0;

	k->n += rte_ring_sc_dequeue_burst(k->ring, k->held + had, RTE_DIM(k->held) - had, NULL);
	if (k->n == had)
		return;
	t.last_received = now;
	for (unsigned i = had; i < k->n; i++) {
		uint8_t *m = k->held[i];

		/* a mark's is an address as good as any other to a prefetch */
		rte_prefetch0(m);
		rte_prefetch0(m + sizeof(struct rte_mbuf) + sizeof(struct fwd_mbuf_priv) +
			      (t.in_headroom ? 0 : RTE_PKTMBUF_HEADROOM));
	}
	for (unsigned i = had; i < k->n; i++) {
		uint64_t word = (uintptr_t)k->held[i];

		if (!(word & TIME_MARK))
			continue;
		for (unsigned f = start; f < i; f++)
			took_all(word >> 1, k->held[f]);
		ports_take(k->i, k->q, (struct rte_mbuf **)&k->held[start], (uint16_t)(i - start));
		start = i + 1;
	}
	k->n -= start;
	memmove(k->held, k->held + start, k->n * sizeof(*k->held));
}

static void take_port(const struct sink *k)
{
	const struct queue *q = &ports.queues[k->i][k->q];
	struct rte_mbuf *m[BURST_MAX];
	uint16_t n = k->rx(k->rxq, m, BURST_MAX);
	uint64_t now;
	struct stamp s;

	if (n == 0)
		return;
	t.last_received = now = rte_rdtsc();
	for (uint16_t i = 0; i < n; i++) {
		if (!read_stamp(m[i], &s))
			continue;
		took(now, &s);
		if (unlikely(q->sent != NULL))
			q->sent(q->sent_arg, m[i]);
	}
	rte_pktmbuf_free_bulk(m, n);
}

/* ---- the generator --------------------------------------------------------------------------- */

static void clear(struct trial_result *r)
{
	hist_clear(&r->latency);
	hist_clear(&r->late);
	r->offered = r->refused = r->received = r->skipped = 0;
}

/* Everything that it does between two turns of whoever else runs on its lcore. */
static inline void generator_step(void)
{
	uint64_t now = rte_rdtsc();

	for (unsigned i = 0; i < t.n_sinks; i++) {
		if (t.sinks[i].ring != NULL)
			take_own(&t.sinks[i], now);
		else
			take_port(&t.sinks[i]);
	}
	switch (atomic_load_explicit(&t.phase, memory_order_relaxed)) {
	case WARM:
		offer(now);
		if (t.flows > 0 && t.used == t.usable)
			t.count_from = RTE_MIN(t.count_from, pace_next(&t.pace));
		if (now >= t.count_from && pace_due(&t.pace, t.count_from) == 0) {
			clear(t.r);
			t.tag = stamp_tag(++t.trials);
			t.until = t.through ? UINT64_MAX : t.count_from + t.count_for;
			t.usable = t.flows;
			t.phase = COUNT;
		}
		break;
	case COUNT:
		offer(now);
		if (t.flows > 0 && t.used == t.usable)
			t.until = RTE_MIN(t.until, pace_next(&t.pace));
		if ((now >= t.until && pace_due(&t.pace, t.until) == 0) ||
		    (t.through && ports_fed()) || bench_interrupted()) {
			t.last_received = now;
			t.phase = DRAIN;
		}
		break;
	case DRAIN:
		if (t.r->received >= t.r->offered - t.r->refused ||
		    (now - RTE_MIN(now, t.last_received) > t.drain && ++t.idle > IDLE_STEPS))
			t.phase = DONE;
		break;
	case DONE:
		break;
	}
}

static int generator_loop(void *arg)
{
	struct rusage before = {0}, after = {0};

	RTE_SET_USED(arg);
	getrusage(RUSAGE_THREAD, &before);
	while (t.phase != DONE)
		generator_step();
	getrusage(RUSAGE_THREAD, &after);
	t.r->disturbed = after.ru_nivcsw != before.ru_nivcsw;
	return 0;
}

static unsigned turn_with_generator(struct lane *l)
{
	if (l->id == 0)
		generator_step();
	return t.turn(l);
}

/* Of router's port i the tester's, where frames are offered to it and come back from it. */
static unsigned tester(unsigned i)
{
	return ports.n_testers == 0 ? i : ports.n + i;
}

static void add_source(unsigned i, unsigned q)
{
	const struct queue *to = &ports.queues[tester(i)][0];

	t.sources[t.n_sources++] = (struct source){.i = i,
						   .q = q,
						   .ring = ports.own ? t.wires[i][q].rx : NULL,
						   .tx = to->tx,
						   .txq = to->txq};
}

static void add_sink(unsigned i, unsigned q)
{
	const struct queue *from = &ports.queues[tester(i)][q];

	t.sinks[t.n_sinks++] = (struct sink){.i = i,
					     .q = q,
					     .ring = ports.own ? t.wires[i][q].tx : NULL,
					     .rx = from->rx,
					     .rxq = from->rxq};
}

/* Sources are the ports that have frames to make. */
static void find_ends(void)
{
	bool loops = !ports.own && ports.n_testers == 0;

	t.n_sources = t.n_sinks = 0;
	for (unsigned i = 0; i < ports.n; i++) {
		struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ports.ids[i]];
		bool from = ports.queues[i][0].frames != NULL ||
			    (i == 0 && ports.queues[i][0].own_rx != NULL);

		for (unsigned q = 0; from && q < (ports.own ? ports.n_rxq : 1); q++)
			add_source(i, q);
		for (unsigned q = 0;
		     (!loops || !from) && q < (ports.own ? ports.n_txq : ports.n_rxq); q++)
			add_sink(i, q);
		if (loops) {
			ops->rx_pkt_burst = from ? t.saved[i].rx_pkt_burst : nothing_rx;
			ops->tx_pkt_burst = from ? nothing_tx : t.saved[i].tx_pkt_burst;
		}
	}
}

/* Runs fn on the generator's lcore, which is none of the workers'. */
static void on_generator(lcore_function_t *fn)
{
	if (t.generator == GENERATOR_MAIN) {
		fn(NULL);
		return;
	}
	rte_eal_remote_launch(fn, NULL, t.lcore);
	while (rte_eal_get_lcore_state(t.lcore) == RUNNING)
		usleep(WAIT_US);
	rte_eal_wait_lcore(t.lcore);
}

static void launch(void)
{
	if (t.generator != GENERATOR_WORKER) {
		bench_run(t.turn);
		on_generator(generator_loop);
		return;
	}
	bench_run(turn_with_generator);
	while (t.phase != DONE && !bench_interrupted())
		usleep(WAIT_US);
}

/* ms 0: until all tables are through. */
static void run(double pps, unsigned warm_ms, unsigned ms, struct trial_result *r)
{
	uint64_t hz = rte_get_tsc_hz(), start = rte_rdtsc() + LAUNCH_MS * hz / 1000;

	if (t.flows > 0)
		bench_begin_again(t.o, true);
	find_ends();
	clear(r);
	r->disturbed = false;
	t.r = r;
	t.turn = forward_turn(t.o->mode);
	t.tag = stamp_tag(++t.trials);
	t.source = t.idle = 0;
	t.used = 0;
	t.usable = t.flows / WARM_PART;
	t.through = ms == 0;
	t.drain = (ports.own ? DRAIN_OWN_MS : DRAIN_PORTS_MS) * hz / 1000;
	t.count_from = start + warm_ms * hz / 1000;
	t.count_for = ms * hz / 1000;
	pace_start(&t.pace, start, (double)hz / pps);
	t.phase = WARM;
	launch();
	r->disturbed |= bench_stop();
	r->seconds = (double)(t.until - t.count_from) / (double)hz;
}

void trial_run(double mpps, unsigned warm_ms, unsigned ms, struct trial_result *r)
{
	run(mpps * 1e6, warm_ms, ms, r);
}

void trial_learn(void)
{
	static struct trial_result r;

	run(LEARN_PPS, 0, 0, &r);
}

/* ---- from core to core ----------------------------------------------------------------------- */

static struct {
	_Atomic uint64_t ball; /* odd: the worker is to return it */
	struct hist times;
} ping __rte_cache_aligned;

static unsigned turn_pong(struct lane *l)
{
	uint64_t ball = atomic_load_explicit(&ping.ball, memory_order_acquire);

	if (l->id == 0 && (ball & 1))
		atomic_store_explicit(&ping.ball, ball + 1, memory_order_release);
	return 0;
}

static int ping_loop(void *arg)
{
	uint64_t end = rte_rdtsc() + PING_MS * rte_get_tsc_hz() / 1000;

	RTE_SET_USED(arg);
	for (uint64_t n = 0; n < PINGS; n++) {
		uint64_t from = rte_rdtsc_precise(), now;

		atomic_store_explicit(&ping.ball, 2 * n + 1, memory_order_release);
		while (atomic_load_explicit(&ping.ball, memory_order_acquire) != 2 * n + 2) {
			if (rte_rdtsc() > end)
				return 0;
		}
		now = rte_rdtsc_precise();
		hist_add(&ping.times, now - from);
	}
	return 0;
}

double trial_core_to_core_ns(void)
{
	if (t.generator == GENERATOR_WORKER)
		return 0;
	ping.ball = 0;
	hist_clear(&ping.times);
	bench_run(turn_pong);
	on_generator(ping_loop);
	bench_stop();
	return (double)hist_quantile(&ping.times, 50000) * 1e9 / 2 / (double)rte_get_tsc_hz();
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool make_wire(unsigned i, unsigned q)
{
	const struct options *o = t.o;
	struct wire *w = &t.wires[i][q];
	char name[RTE_RING_NAMESIZE];
	/* lanes that have no transmit queue of their own share one */
	unsigned shared = bench_lanes() > ports.n_txq ? 0 : RING_F_SP_ENQ;

	w->burst = o->burst;
	t.wire_queues[i][q] = w;
	if (q < ports.n_rxq) {
		snprintf(name, sizeof(name), "rx%u_%u", i, q);
		w->rx = rte_ring_create(name, o->rxd, SOCKET_ID_ANY,
					RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
		if (w->rx == NULL)
			return false;
	}
	if (q < ports.n_txq) {
		snprintf(name, sizeof(name), "tx%u_%u", i, q);
		w->tx = rte_ring_create(name, o->txd * 2u, SOCKET_ID_ANY, /* with a time for each */
					shared | RING_F_SC_DEQ | RING_F_EXACT_SZ);
		if (w->tx == NULL)
			return false;
	}
	return true;
}

static void free_wires(void)
{
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned q = 0; q < QUEUES_MAX; q++) {
			struct wire *w = &t.wires[i][q];
			void *m;

			while ((w->rx != NULL && rte_ring_dequeue(w->rx, &m) == 0) ||
			       (w->tx != NULL && rte_ring_dequeue(w->tx, &m) == 0)) {
				if (!((uintptr_t)m & TIME_MARK))
					rte_pktmbuf_free(m);
			}
			rte_ring_free(w->rx);
			rte_ring_free(w->tx);
			*w = (struct wire){0};
		}
	}
}

/* A further lcore if EAL has one; else the main one, which has nothing else to do meanwhile; where
 * that is the worker's CPU, the worker's. */
static bool choose_generator(enum generator wanted)
{
	rte_cpuset_t cpus = rte_lcore_cpuset(rte_get_main_lcore());
	unsigned lcore, n = 0;

	t.lcore = RTE_MAX_LCORE;
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		rte_cpuset_t worker = rte_lcore_cpuset(lcore);

		if (n++ == bench_lanes()) {
			t.lcore = lcore;
			break;
		}
		RTE_CPU_OR(&cpus, &cpus, &worker);
	}
	if (wanted == GENERATOR_LCORE && t.lcore == RTE_MAX_LCORE) {
		fprintf(stderr, "tp-perf: --generator lcore needs one more lcore than --nb-cores "
				"and the main one\n");
		return false;
	}
	t.generator = wanted != GENERATOR_AUTO		      ? wanted
		      : t.lcore != RTE_MAX_LCORE	      ? GENERATOR_LCORE
		      : CPU_COUNT(&cpus) > (int)bench_lanes() ? GENERATOR_MAIN
							      : GENERATOR_WORKER;
	return true;
}

const char *trial_generator(void)
{
	return generator_name(t.generator);
}

bool trial_open(const struct options *o)
{
	unsigned queues = RTE_MAX(ports.n_rxq, ports.n_txq);
	uint8_t pattern[FRAME_MAX];

	t.o = o;
	t.in_headroom = o->pcap != NULL || o->mode == MODE_GRO;
	t.flows = o->mode == MODE_NAT44_SETUP ? o->flows : 0;
	t.backlog = RTE_MAX(o->rxd / UINT64_C(2), (uint64_t)BACKLOG_MIN);
	if (!ports.own && ports.n_testers == 0 && o->direction == DIR_BOTH) {
		fprintf(stderr, "tp-perf: --direction both takes four ports, two cabled to the "
				"other two\n");
		return false;
	}
	if (!choose_generator(o->generator))
		return false;
	frames_pattern(pattern);
	for (unsigned len = FRAME_MIN; len <= FRAME_MAX; len++)
		t.sums[len] = stamp_sum(pattern + stamp_at(len));
	for (unsigned i = 0; i < ports.n; i++) {
		struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ports.ids[i]];

		t.saved[i] = *ops;
		for (unsigned q = 0; ports.own && q < queues; q++) {
			if (!make_wire(i, q)) {
				fprintf(stderr,
					"tp-perf: no memory for queues of %u and %u packets: %s\n",
					o->rxd, o->txd, rte_strerror(rte_errno));
				trial_close();
				return false;
			}
		}
		if (ports.own) {
			ops->rx_pkt_burst = wire_rx;
			ops->tx_pkt_burst = wire_tx;
			ops->rxq.data = ops->txq.data = t.wire_queues[i];
		}
	}
	return true;
}

void trial_close(void)
{
	if (t.flows > 0)
		bench_begin_again(t.o, false);
	for (unsigned i = 0; i < ports.n; i++) {
		if (t.saved[i].rx_pkt_burst != NULL)
			rte_eth_fp_ops[ports.ids[i]] = t.saved[i];
		t.saved[i] = (struct rte_eth_fp_ops){0};
	}
	free_wires();
}
