/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions for people: lists, clears and table use, asked of one worker after the other in slices
 * between their bursts. Control thread.
 */
#include "call.h"
#include "sessions.h"

#define SLICE 1024 /* records a worker looks at before it goes on with packets */

struct slice {
	const struct nat_filter *f;
	uint32_t cursor;
	struct nat_session_info *out;
	unsigned max;
	unsigned n;
	struct nat_stats *stats;
};

static void list_slice(void *arg, unsigned worker)
{
	struct worker *w = dp.workers[worker];
	struct slice *s = arg;

	s->n = nat_session_list(w->nat, s->f, w->now_ms, &s->cursor, SLICE, s->out, s->max);
	for (unsigned i = 0; i < s->n; i++) /* numbers of the router's, not of the worker's */
		s->out[i].index = s->out[i].index * dp.n_workers + worker;
}

static void clear_slice(void *arg, unsigned worker)
{
	struct slice *s = arg;

	s->n = nat_session_clear(dp.workers[worker]->nat, s->f, &s->cursor, SLICE);
}

static void stats_slice(void *arg, unsigned worker)
{
	struct slice *s = arg;

	nat_worker_stats(dp.workers[worker]->nat, s->stats);
}

/* *cursor: worker and place in its records. */
unsigned fwd_nat_sessions(const struct nat_filter *f, uint64_t *cursor,
			  struct nat_session_info *out, unsigned max)
{
	unsigned worker = (unsigned)(*cursor >> 32);
	struct slice s = {.f = f, .cursor = (uint32_t)*cursor, .out = out, .max = max};

	if (*cursor == NAT_NONE)
		return 0;
	call_worker(worker, list_slice, &s);
	if (s.cursor != NAT_NONE)
		*cursor = (uint64_t)worker << 32 | s.cursor;
	else
		*cursor = worker + 1 < dp.n_workers ? (uint64_t)(worker + 1) << 32 : NAT_NONE;
	return s.n;
}

unsigned fwd_nat_clear(const struct nat_filter *f)
{
	unsigned total = 0;

	for (unsigned worker = 0; worker < dp.n_workers; worker++) {
		struct slice s = {.f = f};

		while (s.cursor != NAT_NONE) {
			call_worker(worker, clear_slice, &s);
			total += s.n;
		}
	}
	return total;
}

static struct nat_stats stats_of(unsigned worker)
{
	struct nat_stats one = {0};
	struct slice s = {.stats = &one};

	call_worker(worker, stats_slice, &s);
	return one;
}

uint32_t sessions_of(unsigned worker)
{
	return stats_of(worker).sessions;
}

void fwd_nat_stats(struct nat_stats *out)
{
	*out = (struct nat_stats){0};
	for (unsigned worker = 0; worker < dp.n_workers; worker++) {
		struct nat_stats one = stats_of(worker);

		out->sessions += one.sessions;
		out->mappings += one.mappings;
		out->external_addresses = one.external_addresses; /* of all */
		out->sessions_created += one.sessions_created;
		out->sessions_expired += one.sessions_expired;
		out->sessions_cleared += one.sessions_cleared;
		out->memory_bytes += one.memory_bytes;
	}
	/* as set: the workers' own tables have a little more room */
	out->max_sessions = out->max_mappings = dp.params.max_sessions;
	if (dp.nat_shared != NULL)
		out->memory_bytes += nat_shared_memory(dp.nat_shared);
}
