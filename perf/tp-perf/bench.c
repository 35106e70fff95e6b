/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "bench.h"
#include "router.h"
#include "segments.h"

#define SLICE_MS      20   /* of the measured mode ... */
#define SLICE_IO_MS   6	   /* ... of io, and of the mode with the clock read between stages */
#define WARM_PART     5	   /* the first fifth of each slice warms caches and does not count */
#define WARM_PORTS_MS 1000 /* before the first slice, on ports given by EAL: sessions come up */
#define IDLE_END      64   /* turns without a packet after which a table fed once is through */
#define ROUNDS_MIN    3
#define WAIT_US	      100

/* What a lane is told to do, and what it has done. */
struct job {
	struct lane *lane;
	turn_fn turn;
	uint64_t ticks; /* 0: until the table is through or halt */
	bool once, timed, measured;
	uint64_t packets, busy_tsc, elapsed_tsc;
	bool disturbed;
};

struct series {
	double *v;
	unsigned n, room;
};

static struct {
	unsigned n_lanes;
	struct lane *lanes;
	struct job jobs[FWD_MAX_WORKERS];
	struct rte_mempool *pool;	   /* of our own ports' packets */
	struct frames out, in;		   /* in the order of sending */
	struct frames part[2][QUEUES_MAX]; /* of those by port, with --steer */
	_Atomic uint32_t learned;	   /* replies */
	_Atomic bool halt;
	volatile sig_atomic_t interrupted;
	bool running, segments; /* segments: the packets are those of segments.h */
	uint64_t stage_packets;
	/* of finished jobs */
	uint64_t packets, busy_tsc;
	_Atomic uint64_t live_packets[FWD_MAX_WORKERS], live_tsc[FWD_MAX_WORKERS];
} bench;

/* ---- lanes ----------------------------------------------------------------------------------- */

static long switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

static __rte_always_inline void lane_loop(struct job *j)
{
	struct lane *l = j->lane;
	uint64_t start = rte_rdtsc(), now = start, last, from = start, last_busy = start;
	uint64_t warm = j->once ? 0 : j->ticks / WARM_PART;
	bool warming = warm > 0;
	unsigned idle = 0;
	long before = switches();

	j->packets = j->busy_tsc = 0;
	for (;;) {
		unsigned got;

		last = now;
		got = j->turn(l);
		now = rte_rdtsc();
		if (got > 0) {
			j->packets += got;
			j->busy_tsc += now - last;
			last_busy = now;
			idle = 0;
		} else if (j->once && ++idle == IDLE_END) {
			break;
		}
		if (j->ticks == 0) {
			atomic_store_explicit(&bench.live_packets[l->id], j->packets,
					      memory_order_relaxed);
			atomic_store_explicit(&bench.live_tsc[l->id], j->busy_tsc,
					      memory_order_relaxed);
		} else if (now - start > j->ticks) {
			break;
		}
		if (unlikely(warming && now - start > warm)) {
			warming = false;
			j->packets = j->busy_tsc = 0;
			memset(l->stages, 0, j->timed ? sizeof(l->stages) : 0);
			from = now = rte_rdtsc();
		}
		if (atomic_load_explicit(&bench.halt, memory_order_relaxed))
			break;
	}
	j->elapsed_tsc = (j->once ? last_busy : now) - from;
	j->disturbed = switches() != before;
}

/* A name of its own for what a result is made of: perf/callgrind-check counts only here. */
static __rte_noinline void lane_measured(struct job *j)
{
	lane_loop(j);
}

/* On the lane's lcore. */
static int lane_run(void *arg)
{
	struct job *j = arg;

	if (j->measured)
		lane_measured(j);
	else
		lane_loop(j);
	return 0;
}

struct outcome {
	uint64_t packets, busy_tsc;
	double seconds;
	bool disturbed;
};

static void launch(turn_fn turn, uint64_t ticks, bool once, bool timed, bool measured)
{
	atomic_store(&bench.halt, false);
	for (unsigned i = 0; i < bench.n_lanes; i++) {
		bench.jobs[i] = (struct job){.lane = &bench.lanes[i],
					     .turn = turn,
					     .ticks = ticks,
					     .once = once,
					     .timed = timed,
					     .measured = measured};
		rte_eal_remote_launch(lane_run, &bench.jobs[i], bench.lanes[i].lcore);
	}
}

static struct outcome collect(void)
{
	struct outcome o = {0};

	for (unsigned i = 0; i < bench.n_lanes; i++) {
		const struct job *j = &bench.jobs[i];
		double s;

		/* asleep, not spinning: the main lcore may share a CPU with others */
		while (rte_eal_get_lcore_state(bench.lanes[i].lcore) == RUNNING)
			usleep(WAIT_US);
		rte_eal_wait_lcore(bench.lanes[i].lcore);
		o.packets += j->packets;
		o.busy_tsc += j->busy_tsc;
		o.disturbed |= j->disturbed;
		s = (double)j->elapsed_tsc / rte_get_tsc_hz();
		if (s > o.seconds)
			o.seconds = s;
	}
	return o;
}

static struct outcome slice(turn_fn turn, unsigned ms, bool timed, bool measured)
{
	launch(turn, ms * rte_get_tsc_hz() / 1000, false, timed, measured);
	return collect();
}

static struct outcome through(turn_fn turn)
{
	launch(turn, 0, true, false, false);
	return collect();
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void series_add(struct series *s, double v)
{
	if (s->n == s->room) {
		unsigned room = s->room * 2 + 64;
		double *to = realloc(s->v, room * sizeof(*to));

		if (to == NULL)
			return; /* the median of those before */
		s->v = to;
		s->room = room;
	}
	s->v[s->n++] = v;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double series_median(struct series *s)
{
	if (s->n == 0)
		return 0;
	qsort(s->v, s->n, sizeof(*s->v), ascending);
	return s->n % 2 ? s->v[s->n / 2] : (s->v[s->n / 2 - 1] + s->v[s->n / 2]) / 2;
}

/* Undisturbed slices, where there are enough of them; else all. */
struct rates {
	struct series cycles[2], mpps[2]; /* [0]: undisturbed */
};

static void rates_add(struct rates *r, const struct outcome *o)
{
	if (o->packets == 0)
		return;
	for (unsigned k = o->disturbed; k < 2; k++) {
		series_add(&r->cycles[k], (double)o->busy_tsc / o->packets);
		series_add(&r->mpps[k], o->packets / o->seconds / 1e6);
	}
}

static void rates_take(struct rates *r, double *cycles, double *mpps, double *least)
{
	unsigned k = r->cycles[0].n >= ROUNDS_MIN ? 0 : 1;

	*cycles = series_median(&r->cycles[k]);
	*mpps = series_median(&r->mpps[k]);
	if (least != NULL)
		*least = r->cycles[k].n > 0 ? r->cycles[k].v[0] : 0;
	for (k = 0; k < 2; k++) {
		free(r->cycles[k].v);
		free(r->mpps[k].v);
	}
}

/* ---- preparing ------------------------------------------------------------------------------- */

static void put_pattern(struct rte_mempool *mp, void *arg, void *obj, unsigned i)
{
	struct rte_mbuf *m = obj;

	RTE_SET_USED(mp);
	RTE_SET_USED(arg);
	RTE_SET_USED(i);
	frames_pattern((uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM);
}

/* Our own packets' buffers: trials have queues between the source and the worker, and behind it. */
static unsigned frames_room(const struct options *o)
{
	unsigned n = PILE_ROOM * o->nb_cores + (o->payload_cold ? SEGMENTS_COLD : 0);

	if (options_trials(o) || o->interactive || o->cmdline_file != NULL)
		n += 2 * (o->rxd * o->rxq + o->txd * o->txq);
	return n;
}

bool bench_init(const struct options *o)
{
	bool given = rte_eth_dev_count_avail() > 0;
	struct rte_mempool *pool;
	unsigned lcore;

	dp.pool =
		rte_pktmbuf_pool_create("packets", o->total_num_mbufs, 256,
					sizeof(struct fwd_mbuf_priv), FWD_MBUF_ROOM, SOCKET_ID_ANY);
	pool = dp.pool;
	if (pool != NULL && (!given || options_trials(o))) {
		pool = rte_pktmbuf_pool_create("frames", frames_room(o), given ? 256 : 0,
					       sizeof(struct fwd_mbuf_priv), FWD_MBUF_ROOM,
					       SOCKET_ID_ANY);
		if (pool != NULL)
			rte_mempool_obj_iter(pool, put_pattern, NULL);
	}
	if (pool == NULL) {
		fprintf(stderr,
			"tp-perf: no memory for %u packet buffers: reserve more huge pages (%s)\n",
			o->total_num_mbufs, rte_strerror(rte_errno));
		return false;
	}
	bench.pool = pool;
	if (rte_lcore_count() - 1 < o->nb_cores) {
		fprintf(stderr,
			"tp-perf: %u lcores to forward on are %u too few for --nb-cores %u: EAL's "
			"--lcores gives "
			"them, and one more for the main thread\n",
			rte_lcore_count() - 1, o->nb_cores - (rte_lcore_count() - 1), o->nb_cores);
		return false;
	}
	if (!ports_start(o, dp.pool))
		return false;
	bench.lanes = rte_zmalloc("lanes", o->nb_cores * sizeof(*bench.lanes), RTE_CACHE_LINE_SIZE);
	if (bench.lanes == NULL)
		return false;
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		struct lane *l = &bench.lanes[bench.n_lanes];

		if (bench.n_lanes == o->nb_cores)
			break;
		l->id = bench.n_lanes++;
		l->lcore = lcore;
		l->pile.pool = bench.pool;
		for (unsigned q = l->id; q < QUEUES_MAX; q += o->nb_cores)
			ports_pile(q, &l->pile);
	}
	return router_init(bench.n_lanes);
}

void bench_fini(void)
{
	bench_stop();
	router_clear();
	frames_free(&bench.out);
	frames_free(&bench.in);
	segments_free();
	ports_stop();
}

unsigned bench_lanes(void)
{
	return bench.n_lanes;
}

static unsigned queue_of(void *arg, const struct frame_head *h)
{
	return router_queue(arg, h);
}

/* Parts a table by the queues of port index i that a NIC that finds the workers puts packets into.
 */
static void part(unsigned i, struct frames *all)
{
	struct router_rss rss;

	router_rss(i == 0, ports.n_rxq, &rss);
	frames_part(all, queue_of, &rss, bench.part[i], ports.n_rxq);
}

/* Both tables, which are complete, with --steer. */
static void deal(const struct options *o)
{
	struct frames *all[] = {&bench.out, &bench.in};

	for (unsigned i = 0; o->steer && i < RTE_DIM(all); i++) {
		part(i, all[i]);
		for (unsigned q = 0; q < ports.n_rxq; q++)
			frames_shuffle(&bench.part[i][q], 3 + q);
	}
}

/* queues: by how many of each port. */
static void feed(const struct options *o, unsigned queues, bool once)
{
	const struct options *fresh = o->mode == MODE_MIXED ? o : NULL;
	bool out = o->direction & DIR_OUT, in = o->direction & DIR_IN;

	if (!ports.own && !options_trials(o))
		return;
	if (o->steer && queues > 1) {
		ports_feed_each(0, out ? bench.part[0] : NULL, queues, once);
		ports_feed_each(1, in ? bench.part[1] : NULL, queues, once);
		return;
	}
	ports_feed(0, out || once ? &bench.out : NULL, queues, once, once ? NULL : fresh);
	ports_feed(1, in && !once ? &bench.in : NULL, queues, once, NULL);
}

void bench_begin_again(const struct options *o, bool once)
{
	router_end_sessions();
	feed(o, ports.n_rxq, once);
}

/* Replies to what leaves on the outside, by any worker. */
static void watch(void *arg, struct rte_mbuf *m)
{
	uint32_t at = atomic_fetch_add_explicit(&bench.learned, 1, memory_order_relaxed);
	struct frame_head h;

	RTE_SET_USED(arg);
	if (at >= bench.out.n)
		return;
	memcpy(&h, rte_pktmbuf_mtod_offset(m, const void *, RTE_ETHER_HDR_LEN), sizeof(h));
	frames_reply(&bench.in.heads[at], &h);
}

/* Feeds the flows as they come by themselves, in the order of their numbers: sessions are made,
 * replies learned. */
static bool learn(const struct options *o)
{
	if (o->direction & DIR_IN) {
		if (!frames_alloc(&bench.in, bench.out.n)) {
			fprintf(stderr,
				"tp-perf: no memory for the replies of %u flows: reserve more huge "
				"pages\n",
				bench.out.n);
			return false;
		}
		bench.in.n = 0;
		atomic_store(&bench.learned, 0);
		if (mode_routes(o->mode))
			ports_watch(1, watch, NULL);
	}
	/* to the workers that they are for: none is lost on the way from one to another */
	if (dp.nat_shared != NULL && ports.own && ports.n_rxq > 1) {
		part(0, &bench.out);
		ports_feed_each(0, bench.part[0], ports.n_rxq, true);
		ports_feed_each(1, NULL, ports.n_rxq, true);
	} else {
		feed(o, 1, true);
	}
	return true;
}

bool bench_learned(const struct options *o)
{
	bool in = o->direction & DIR_IN;

	ports_watch(1, NULL, NULL);
	if (in && mode_routes(o->mode))
		bench.in.n = RTE_MIN(atomic_load(&bench.learned), bench.out.n);
	for (; in && !mode_routes(o->mode) && bench.in.n < bench.out.n; bench.in.n++)
		frames_reply(&bench.in.heads[bench.in.n], &bench.out.heads[bench.in.n]);
	if (in && bench.in.n < bench.out.n) {
		fprintf(stderr, "tp-perf: only %u of %u flows got through\n", bench.in.n,
			bench.out.n);
		return false;
	}
	frames_shuffle(&bench.out, 1);
	frames_shuffle(&bench.in, 2);
	deal(o);
	feed(o, ports.own ? ports.n_rxq : 1, false);
	return true;
}

static bool make_frames(const struct options *o)
{
	frames_free(&bench.out);
	frames_free(&bench.in);
	if (o->pcap != NULL)
		return frames_read_pcap(&bench.out, o->pcap,
					&ports.macs[o->direction == DIR_IN ? 1 : 0]);
	if (!frames_fill(&bench.out, o)) {
		fprintf(stderr, "tp-perf: no memory for %u flows: reserve more huge pages\n",
			o->flows);
		return false;
	}
	return true;
}

static void through_router(void)
{
	through(forward_turn(MODE_GRO));
}

/* Connections that translation knows, and their segments. */
static bool prepare_segments(const struct options *o)
{
	bench.segments = true;
	if (!segments_build(o, bench.pool))
		return false;
	router_gro(o, GRO_OFF);
	segments_establish(through_router);
	router_gro(o, GRO_CUT);
	return true;
}

/* Segments have longer headers than the other modes' packets, so less of the pattern. */
static void forget_segments(void)
{
	if (!bench.segments)
		return;
	bench.segments = false;
	segments_free();
	rte_mempool_obj_iter(bench.pool, put_pattern, NULL);
}

bool bench_prepare(const struct options *o)
{
	unsigned lcores[FWD_MAX_WORKERS];

	if (!ports.own && !options_trials(o) && o->direction != DIR_OUT && o->mode != MODE_MIXED) {
		fprintf(stderr,
			"tp-perf: --direction is for packets of its own; ports bring theirs\n");
		return false;
	}
	if (!ports.own && (o->mode == MODE_NAT44_SETUP || o->mode == MODE_GRO || o->pcap != NULL)) {
		fprintf(stderr, "tp-perf: %s%s needs packets of its own: give it no ports\n",
			o->pcap != NULL ? "--pcap" : "mode ",
			o->pcap != NULL ? "" : mode_name(o->mode));
		return false;
	}
	if (o->pcap != NULL && o->direction == DIR_BOTH) {
		fprintf(stderr, "tp-perf: a capture goes one way: --direction out or in\n");
		return false;
	}
	router_clear();
	for (unsigned i = 0; i < bench.n_lanes; i++)
		lcores[i] = bench.lanes[i].lcore;
	if (mode_routes(o->mode) && !router_build(o, lcores))
		return false;
	if (!ports.own && !options_trials(o))
		return true;
	forget_segments();
	if (o->mode == MODE_GRO)
		return prepare_segments(o);
	if (!make_frames(o))
		return false;
	if (o->pcap != NULL && o->direction == DIR_IN) {
		ports_feed(0, NULL, ports.n_rxq, false, NULL);
		ports_feed(1, &bench.out, ports.n_rxq, false, NULL);
		return true;
	}
	if (o->pcap != NULL || o->mode == MODE_NAT44_SETUP) {
		if (o->pcap == NULL)
			frames_shuffle(&bench.out, 1);
		deal(o);
		feed(o, ports.n_rxq, false);
		return true;
	}
	if (!learn(o))
		return false;
	if (!ports.own) /* somebody else sends them through */
		return true;
	if (mode_routes(o->mode))
		through(forward_turn(o->mode));
	return bench_learned(o);
}

/* ---- measuring ------------------------------------------------------------------------------- */

void bench_interrupt(void)
{
	bench.interrupted = 1;
	atomic_store(&bench.halt, true);
}

bool bench_interrupted(void)
{
	return bench.interrupted;
}

static void add_totals(const struct outcome *o)
{
	bench.packets += o->packets;
	bench.busy_tsc += o->busy_tsc;
}

static void stages_clear(void)
{
	for (unsigned i = 0; i < bench.n_lanes; i++)
		memset(bench.lanes[i].stages, 0, sizeof(bench.lanes[i].stages));
	bench.stage_packets = 0;
}

static void stages_slice(struct series stages[STAGES])
{
	struct outcome o = slice(forward_turn_timed, SLICE_IO_MS, true, false);

	if (o.packets == 0 || o.disturbed)
		return;
	for (unsigned s = 0; s < STAGES; s++) {
		uint64_t tsc = 0;

		for (unsigned i = 0; i < bench.n_lanes; i++)
			tsc += bench.lanes[i].stages[s];
		series_add(&stages[s], (double)tsc / o.packets);
	}
}

/* Median cycles of the stages of the last bench_measure(), as they come in. */
static struct series stage_series[STAGES];

void bench_stages(double cycles[STAGES])
{
	for (unsigned s = 0; s < STAGES; s++)
		cycles[s] = series_median(&stage_series[s]);
}

void bench_measure(const struct options *o, struct result *r,
		   void (*period)(const struct options *o))
{
	bool timed = mode_routes(o->mode) && o->mode != MODE_NAT44_SETUP && bench.n_lanes == 1;
	uint64_t hz = rte_get_tsc_hz(), start = rte_get_tsc_cycles(),
		 next = start + o->stats_period_s * hz;
	turn_fn turn = forward_turn(o->mode), io = forward_turn(MODE_IO);
	struct rates rates = {0}, io_rates = {0};
	struct nat_stats nat;
	uint64_t drops = router_drops(), received, handed_over;

	*r = (struct result){0};
	for (unsigned s = 0; s < STAGES; s++)
		stage_series[s].n = 0;
	stages_clear();
	bench.interrupted = 0;
	if (!ports.own)
		slice(turn, WARM_PORTS_MS, false, false);
	received = router_received();
	handed_over = router_handed_over();
	for (unsigned round = 0; !bench.interrupted; round++) {
		uint64_t now = rte_get_tsc_cycles();
		struct outcome out;

		if (o->duration_s > 0 && now - start > o->duration_s * hz && round >= ROUNDS_MIN)
			break;
		if (period != NULL && o->stats_period_s > 0 && now > next) {
			period(o);
			next = now + o->stats_period_s * hz;
		}
		out = slice(io, SLICE_IO_MS, false, false);
		rates_add(&io_rates, &out);
		if (o->mode == MODE_NAT44_SETUP) {
			feed(o, ports.n_rxq, true);
			out = through(turn);
			router_stats(&nat);
			router_end_sessions();
			feed(o, ports.n_rxq, false);
		} else {
			out = slice(turn, SLICE_MS, false, true);
		}
		rates_add(&rates, &out);
		add_totals(&out);
		r->slices++;
		r->disturbed += out.disturbed;
		if (timed)
			stages_slice(stage_series);
	}
	rates_take(&rates, &r->cycles, &r->mpps, &r->cycles_min);
	rates_take(&io_rates, &r->io_cycles, &r->io_mpps, NULL);
	if (ports.own && o->mode != MODE_IO) {
		r->cycles = RTE_MAX(0, r->cycles - r->io_cycles);
		r->cycles_min = RTE_MAX(0, r->cycles_min - r->io_cycles);
	}
	r->has_stages = timed && stage_series[0].n > 0;
	if (r->has_stages)
		bench_stages(r->stages);
	received = router_received() - received;
	handed_over = router_handed_over() - handed_over;
	r->handed_over = received > 0 ? (double)handed_over / (double)received : 0;
	r->drops = router_drops() - drops;
	for (unsigned i = 0; i < ports.n; i++)
		r->drops += bench_tx_dropped(i);
	if (o->mode != MODE_NAT44_SETUP)
		router_stats(&nat);
	r->sessions = nat.sessions;
	r->bytes_per_session =
		nat.max_sessions > 0 ? (double)nat.memory_bytes / nat.max_sessions : 0;
	for (unsigned i = 0; i < bench.n_lanes; i++) {
		r->payload_received += bench.lanes[i].payload_received;
		r->payload_summed += bench.lanes[i].payload_summed;
	}
}

/* What a slice left waiting goes on, by what was set for that slice. */
static void let_go(void)
{
	segments_feed(false);
	through_router();
	segments_feed(true);
}

/* Off, TSO and cut by turns. All counts are of segments as they came in. */
void bench_measure_gro(const struct options *o, struct result r[GRO_KINDS])
{
	uint64_t hz = rte_get_tsc_hz(), start = rte_get_tsc_cycles();
	unsigned payload = segments_payload(o);
	turn_fn turn = forward_turn(o->mode), io = forward_turn(MODE_IO);
	static struct series stages[GRO_KINDS][STAGES];
	struct rates rates[GRO_KINDS] = {0}, io_rates = {0};
	uint64_t drops = router_drops();
	double io_mpps, io_cycles;
	struct nat_stats nat;

	memset(r, 0, GRO_KINDS * sizeof(*r));
	stages_clear();
	bench.interrupted = 0;
	for (unsigned round = 0; !bench.interrupted; round++) {
		struct outcome out;

		if (o->duration_s > 0 && rte_get_tsc_cycles() - start > o->duration_s * hz &&
		    round >= ROUNDS_MIN)
			break;
		out = slice(io, SLICE_IO_MS, false, false);
		rates_add(&io_rates, &out);
		for (enum gro k = 0; k < GRO_KINDS; k++) {
			uint64_t received = router_received(), summed = router_summed(),
				 merged = router_merged();

			router_gro(o, k);
			out = slice(turn, SLICE_MS, false, true);
			rates_add(&rates[k], &out);
			add_totals(&out);
			r[k].slices++;
			r[k].disturbed += out.disturbed;
			let_go();
			r[k].payload_received += (router_received() - received) * payload;
			r[k].payload_summed += router_summed() - summed;
			r[k].merged += router_merged() - merged;
			stages_slice(stages[k]);
			let_go();
		}
	}
	rates_take(&io_rates, &io_cycles, &io_mpps, NULL);
	router_stats(&nat);
	for (enum gro k = 0; k < GRO_KINDS; k++) {
		rates_take(&rates[k], &r[k].cycles, &r[k].mpps, &r[k].cycles_min);
		r[k].gro = k;
		r[k].io_mpps = io_mpps;
		r[k].io_cycles = io_cycles;
		for (unsigned s = 0; s < STAGES; s++)
			r[k].stages[s] = series_median(&stages[k][s]);
		r[k].has_stages = stages[k][0].n > 0;
		/* the source, and not io: payloads that come from memory drive headers out */
		r[k].cycles = RTE_MAX(0, r[k].cycles - r[k].stages[STAGE_RECEIVE]);
		r[k].cycles_min = RTE_MAX(0, r[k].cycles_min - r[k].stages[STAGE_RECEIVE]);
		r[k].drops = router_drops() - drops;
		r[k].sessions = nat.sessions;
		r[k].bytes_per_session =
			nat.max_sessions > 0 ? (double)nat.memory_bytes / nat.max_sessions : 0;
	}
}

/* ---- in the background ----------------------------------------------------------------------- */

void bench_start(const struct options *o)
{
	bench_run(forward_turn(o->mode));
}

void bench_run(turn_fn turn)
{
	bench.running = true;
	launch(turn, 0, false, false, false);
}

bool bench_stop(void)
{
	struct outcome o;

	if (!bench.running)
		return false;
	atomic_store(&bench.halt, true);
	o = collect();
	add_totals(&o);
	for (unsigned i = 0; i < bench.n_lanes; i++) {
		atomic_store(&bench.live_packets[i], 0);
		atomic_store(&bench.live_tsc[i], 0);
	}
	bench.running = false;
	return o.disturbed;
}

bool bench_running(void)
{
	return bench.running;
}

void bench_measure_io(double *mpps, double *cycles)
{
	struct rates rates = {0};

	for (unsigned i = 0; i < 16; i++) {
		struct outcome o = slice(forward_turn(MODE_IO), SLICE_IO_MS, false, false);

		rates_add(&rates, &o);
	}
	rates_take(&rates, cycles, mpps, NULL);
}

void bench_totals(struct totals *t)
{
	*t = (struct totals){.packets = bench.packets, .busy_tsc = bench.busy_tsc};
	for (unsigned i = 0; i < bench.n_lanes; i++) {
		t->packets += atomic_load_explicit(&bench.live_packets[i], memory_order_relaxed);
		t->busy_tsc += atomic_load_explicit(&bench.live_tsc[i], memory_order_relaxed);
	}
}

uint64_t bench_tx_dropped(unsigned port)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < bench.n_lanes; i++)
		n += bench.lanes[i].tx_dropped[port];
	return n;
}

/* While lanes run, what they have done so far in this job stays. */
void bench_clear(void)
{
	bench.packets = bench.busy_tsc = 0;
	for (unsigned i = 0; i < bench.n_lanes; i++) {
		struct lane *l = &bench.lanes[i];

		memset(l->tx_dropped, 0, sizeof(l->tx_dropped));
		l->payload_received = l->payload_summed = l->bad_checksums = 0;
	}
	ports_clear_counters();
}
