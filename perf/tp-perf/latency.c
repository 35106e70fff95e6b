/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "latency.h"
#include "ndr.h"
#include "trial.h"

#define FLOOD_MPPS 1000 /* more than any source offers */
#define REPEATS	   6	/* a trial that was disturbed and lost something is tried so often */
#define OFFERED	   0.99 /* of what was asked: less, and the source is too slow */
#define TRIALS_MIN 3	/* undisturbed ones, where a load is to be told by them alone */

/* What trials at one rate add up to. */
struct tally {
	unsigned trials;
	double seconds;
	uint64_t offered, refused, received, skipped;
	struct hist latency, late;
};

static struct trial_result last; /* histograms are large */
static struct tally undisturbed, all;
static double core_ns; /* before these trials */

/* Less was offered than asked. */
static bool slow(double mpps)
{
	return (double)last.offered < mpps * 1e6 * last.seconds * OFFERED;
}

/* ---- the highest rate without loss ----------------------------------------------------------- */

/* The search for one rate. */
struct search {
	const struct options *o;
	double asked, offered; /* the rate that passed last, and the least that was offered then */
};

static enum ndr_verdict clean(struct search *s, double mpps)
{
	double offered = (double)last.offered / last.seconds / 1e6;

	if (s->asked != mpps || offered < s->offered)
		s->offered = offered;
	s->asked = mpps;
	return NDR_CLEAN;
}

static enum ndr_verdict trial(void *arg, double mpps)
{
	struct search *s = arg;
	const struct options *o = s->o;

	for (unsigned n = 0; n < REPEATS; n++) {
		trial_run(mpps, o->warm_ms, o->trial_ms, &last);
		if (bench_interrupted())
			return NDR_STOP;
		if (!slow(mpps) && trial_lost(&last) == 0)
			return clean(s, mpps);
		if (!last.disturbed && last.skipped == 0)
			break;
	}
	return trial_lost(&last) == 0 ? NDR_BEHIND : NDR_LOSS;
}

static void print_head(FILE *out, const struct options *o)
{
	fprintf(out,
		"\n%s: %u flows, frames of %u bytes, %s, bursts of %u, %u worker%s, %u routes, %u "
		"rules, %s; generator on %s, %.0f ns from core to core\n",
		mode_name(o->mode), o->flows, o->frame, direction_name(o->direction), o->burst,
		bench_lanes(), bench_lanes() > 1 ? "s" : "", o->routes, o->rules,
		ports.own ? "queues of its own" : "ports given", trial_generator(), core_ns);
}

static void print_json_head(FILE *out, const struct options *o, const char *bench)
{
	fprintf(out,
		"{\"bench\":\"%s\",\"mode\":\"%s\",\"flows\":%u,\"frame\":%u,\"direction\":\"%s\","
		"\"burst\":%u,\"workers\":%u,\"routes\":%u,\"rules\":%u,\"ports\":\"%s\",\"rxd\":%"
		"u,"
		"\"generator\":\"%s\",\"core_to_core_ns\":%.1f",
		bench, mode_name(o->mode), o->flows, o->frame, direction_name(o->direction),
		o->burst, bench_lanes(), o->routes, mode_translates(o->mode) ? o->rules : 0,
		ports.own ? "own" : "given", o->rxd, trial_generator(), core_ns);
}

static void print_ndr(FILE *out, const struct options *o, const struct ndr_found *f, double flood)
{
	const char *limit = f->source_is_limit ? "generator" : "router";

	if (o->json) {
		print_json_head(out, o, "ndr");
		fprintf(out,
			",\"ndr_mpps\":%.4f,\"limited_by\":\"%s\",\"flooded_mpps\":%.4f,"
			"\"resolution_percent\":%g,\"trial_ms\":%u,\"warm_up_ms\":%u,\"trials\":%u,"
			"\"confirmed\":%u}\n",
			f->rate, limit, flood, o->resolution * 100, o->trial_ms, o->warm_ms,
			f->trials, f->confirmed);
		return;
	}
	fprintf(out,
		"  %.4g Mpps without loss, within %g %%; %u trials of %u ms, %u of them at this "
		"rate\n",
		f->rate, o->resolution * 100, f->trials, o->trial_ms, f->confirmed);
	if (f->source_is_limit)
		fprintf(out,
			"  The generator offers no more than that: the router may take more.\n");
	fprintf(out, "  Flooded, it forwards %.4g Mpps.\n", flood);
}

/* 0: none found, with a message. */
static double find_rate(FILE *out, const struct options *o)
{
	struct search search = {.o = o};
	struct ndr_search s = {
		.resolution = o->resolution, .confirm = o->confirm, .trial = trial, .arg = &search};
	struct ndr_found f;

	trial_run(FLOOD_MPPS, o->warm_ms, o->trial_ms, &last);
	if (bench_interrupted())
		return 0;
	if (last.received == 0) {
		fprintf(stderr, "tp-perf: of %" PRIu64 " frames offered none came back%s\n",
			last.offered,
			ports.own ? ""
				  : ": two ports need a loop each, four a cable from the "
				    "third to the first and the fourth to the second");
		return 0;
	}
	s.first = (double)last.received / last.seconds / 1e6;
	ndr_find(&s, &f);
	if (f.stopped)
		return 0;
	if (f.rate > 0) /* what passed is what was offered, not what was asked */
		f.rate = search.offered;
	print_ndr(out, o, &f, s.first);
	if (f.rate == 0)
		fprintf(stderr, "tp-perf: some frames are lost at every rate\n");
	return f.rate;
}

/* ---- how long frames take -------------------------------------------------------------------- */

static void tally_clear(struct tally *a)
{
	memset(a, 0, sizeof(*a));
	hist_clear(&a->latency);
	hist_clear(&a->late);
}

static void tally_add(struct tally *a, const struct trial_result *r)
{
	a->trials++;
	a->seconds += r->seconds;
	a->offered += r->offered;
	a->refused += r->refused;
	a->received += r->received;
	a->skipped += r->skipped;
	hist_merge(&a->latency, &r->latency);
	hist_merge(&a->late, &r->late);
}

static double us(uint64_t ticks)
{
	return (double)ticks * 1e6 / (double)rte_get_tsc_hz();
}

static double part(const struct hist *h, uint32_t of_100000)
{
	return us(hist_quantile(h, of_100000));
}

static void print_table_head(FILE *out, const struct options *o)
{
	fprintf(out,
		"  Microseconds from when a frame is due before the router until %s:\n"
		"    load     Mpps  median     99%%   99.9%%   least    most    PDV   generator  "
		"frames       lost  core to core, ns\n",
		ports.own ? "the worker hands it to the port" : "it is received behind it");
	if (o->rate_mpps > 0)
		fprintf(out, "    (of %g Mpps)\n", o->rate_mpps);
}

static void print_load(FILE *out, const struct options *o, double full, uint32_t percent)
{
	const struct tally *a = undisturbed.trials >= TRIALS_MIN ? &undisturbed : &all;
	const struct hist *h = &a->latency;
	double mpps = (double)a->offered / a->seconds / 1e6;
	uint64_t lost = a->offered - a->received;
	double least = h->n > 0 ? us(h->min) : 0, p999 = part(h, 99900);

	if (o->json) {
		print_json_head(out, o, "latency");
		fprintf(out,
			",\"full_mpps\":%.4f,\"load_percent\":%u,\"offered_mpps\":%.4f,"
			"\"median_us\":%.3f,\"p99_us\":%.3f,\"p999_us\":%.3f,\"min_us\":%.3f,"
			"\"max_us\":%.3f,\"mean_us\":%.3f,\"pdv_us\":%.3f,"
			"\"generator_median_us\":%.3f,\"generator_p999_us\":%.3f,"
			"\"offered\":%" PRIu64 ",\"received\":%" PRIu64 ",\"lost\":%" PRIu64
			",\"refused\":%" PRIu64 ",\"skipped\":%" PRIu64
			",\"trials\":%u,\"trial_ms\":%u,\"all_trials\":%u,\"disturbed_trials\":%u,"
			"\"all_p999_us\":%.3f,\"all_max_us\":%.3f,\"all_lost\":%" PRIu64 "}\n",
			full, percent, mpps, part(h, 50000), part(h, 99000), p999, least,
			us(h->max), us((uint64_t)hist_mean(h)), p999 - least, part(&a->late, 50000),
			part(&a->late, 99900), a->offered, a->received, lost, a->refused,
			a->skipped, a->trials, o->trial_ms, all.trials,
			all.trials - undisturbed.trials, part(&all.latency, 99900),
			us(all.latency.max), all.offered - all.received);
		return;
	}
	fprintf(out,
		"    %3u%% %8.4g %7.2f %7.2f %7.2f %7.2f %7.1f %6.2f  %5.2f %5.2f %8" PRIu64
		" %10" PRIu64 " %5.0f",
		percent, mpps, part(h, 50000), part(h, 99000), p999, least, us(h->max),
		p999 - least, part(&a->late, 50000), part(&a->late, 99900), a->received, lost,
		core_ns);
	if (all.trials > undisturbed.trials)
		fprintf(out, "  (%u of %u trials disturbed%s)", all.trials - undisturbed.trials,
			all.trials, a == &all ? "" : ", left out");
	fputc('\n', out);
}

static bool measure_load(FILE *out, const struct options *o, double full, uint32_t percent)
{
	uint64_t until = rte_get_tsc_cycles() + o->duration_s * rte_get_tsc_hz();
	double mpps = full * percent / 100;

	core_ns = trial_core_to_core_ns();
	tally_clear(&undisturbed);
	tally_clear(&all);
	do {
		trial_run(mpps, o->warm_ms, o->trial_ms, &last);
		if (bench_interrupted())
			return false;
		tally_add(&all, &last);
		if (!last.disturbed && !slow(mpps))
			tally_add(&undisturbed, &last);
	} while (rte_get_tsc_cycles() < until);
	print_load(out, o, full, percent);
	return true;
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool measure(FILE *out, const struct options *o)
{
	double full = o->rate_mpps;

	core_ns = trial_core_to_core_ns();
	if (!o->json)
		print_head(out, o);
	if (full == 0)
		full = find_rate(out, o);
	if (full == 0)
		return false;
	if (!o->latency)
		return true;
	if (!o->json)
		print_table_head(out, o);
	for (unsigned i = 0; i < o->n_loads; i++) {
		fflush(out);
		if (!measure_load(out, o, full, o->loads[i]))
			return false;
	}
	return true;
}

bool latency_run(FILE *out, const struct options *o)
{
	bool ok;

	if (!trial_open(o))
		return false;
	if (!ports.own) {
		trial_learn();
		if (!bench_learned(o)) {
			trial_close();
			return false;
		}
	}
	ok = measure(out, o);
	trial_close();
	fflush(out);
	return ok;
}
