/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions for people: lists, clears and table use, asked of the worker that owns translation in
 * slices between its bursts. Control thread.
 */
#include "call.h"

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

unsigned fwd_nat_sessions(const struct nat_filter *f, uint64_t *cursor,
			  struct nat_session_info *out, unsigned max)
{
	struct slice s = {.f = f, .cursor = (uint32_t)*cursor, .out = out, .max = max};

	if (*cursor == NAT_NONE)
		return 0;
	call_worker(dp.nat_owner, list_slice, &s);
	*cursor = s.cursor;
	return s.n;
}

unsigned fwd_nat_clear(const struct nat_filter *f)
{
	struct slice s = {.f = f};
	unsigned total = 0;

	while (s.cursor != NAT_NONE) {
		call_worker(dp.nat_owner, clear_slice, &s);
		total += s.n;
	}
	return total;
}

void fwd_nat_stats(struct nat_stats *out)
{
	struct slice s = {.stats = out};

	call_worker(dp.nat_owner, stats_slice, &s);
}
