/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "lab.h"
#include "parts.h"

/* What a series of calls took. Those in which the kernel took the core away don't count. */
struct calls {
	uint64_t n, sum, longest, disturbed;
	uint32_t *each;
	uint64_t room;
};

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static long switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

static void call_tick(struct lab *lab, unsigned budget, struct calls *c)
{
	long before = switches();
	uint64_t start = rte_rdtsc(), took;

	nat_worker_tick(lab->nat, lab->now_ms, budget);
	took = rte_rdtsc() - start;
	if (switches() != before) {
		c->disturbed++;
		return;
	}
	c->sum += took;
	if (took > c->longest)
		c->longest = took;
	if (c->n < c->room)
		c->each[c->n] = (uint32_t)RTE_MIN(took, (uint64_t)UINT32_MAX);
	c->n++;
}

static void print(const char *what, const struct lab *lab, unsigned budget, struct calls *c,
		  bool json)
{
	uint64_t n = RTE_MIN(c->n, c->room);
	uint32_t median, p999;

	if (n == 0)
		die("%s took no call", what);
	qsort(c->each, n, sizeof(*c->each), ascending);
	median = c->each[n / 2];
	p999 = c->each[n - 1 - n / 1000];
	if (json)
		printf("{\"bench\":\"slices\",\"what\":\"%s\",\"sessions\":%u,\"budget\":%u,"
		       "\"calls\":%" PRIu64 ",\"disturbed\":%" PRIu64
		       ",\"cycles_median\":%u,\"cycles_p999\":%u,"
		       "\"cycles_longest\":%" PRIu64 ",\"cycles_per_session\":%.0f}\n",
		       what, lab->n, budget, c->n, c->disturbed, median, p999, c->longest,
		       (double)c->sum / lab->n);
	else
		printf("%8u sessions, %-28s %8" PRIu64 " calls of %u records: median %6u cycles, "
		       "99.9 %% %6u, longest %7" PRIu64 "; %5.0f cycles a session\n",
		       lab->n, what, c->n, budget, median, p999, c->longest,
		       (double)c->sum / lab->n);
	fflush(stdout);
	c->n = c->sum = c->longest = c->disturbed = 0;
}

void slices_measure(uint32_t sessions, unsigned budget, bool json)
{
	struct calls c = {.room = 1u << 22};
	struct nat_stats stats;
	struct lab lab;
	uint64_t start;

	c.each = lab_take(c.room * sizeof(*c.each));
	lab_open(&lab, sessions);

	lab_fill(&lab);
	lab.now_ms += nat_timeout_info[NAT_TIMEOUT_udp].def_s * 1000ull + 1000;
	for (nat_worker_stats(lab.nat, &stats); stats.sessions > 0;
	     nat_worker_stats(lab.nat, &stats))
		call_tick(&lab, budget, &c);
	print("all run out in one second", &lab, budget, &c, json);

	/* what is idle now is held */
	for (unsigned i = 0; i < 2 * sessions / budget + 2; i++)
		nat_worker_tick(lab.nat, lab.now_ms, budget);
	lab.now_ms += nat_timeout_info[NAT_TIMEOUT_port_hold].def_s * 1000ull + 1000;
	for (nat_worker_stats(lab.nat, &stats); stats.mappings > 0;
	     nat_worker_stats(lab.nat, &stats))
		call_tick(&lab, budget, &c);
	print("their ports are given back", &lab, budget, &c, json);

	lab_fill(&lab);
	start = rte_rdtsc();
	nat_worker_config(lab.nat, lab.bare, lab.now_ms);
	c.longest = rte_rdtsc() - start;
	c.sum = c.longest;
	c.each[0] = (uint32_t)c.longest;
	c.n = 1;
	print("the deletion is taken up", &lab, budget, &c, json);
	for (nat_worker_stats(lab.nat, &stats); stats.mappings > 0 || !nat_worker_swept(lab.nat);
	     nat_worker_stats(lab.nat, &stats))
		call_tick(&lab, budget, &c);
	print("their rule is deleted", &lab, budget, &c, json);

	lab_close(&lab);
	rte_free(c.each);
}
