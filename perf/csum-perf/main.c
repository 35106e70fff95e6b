/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csum-perf: how fast each checksum kernel is on this machine, beside the limit that loading the
 * bytes sets and, with --peers, beside DPDK's.
 *
 * Machines are shared and noisy, so everything that is compared is interleaved: a round runs each
 * subject once at each size, and there are --reps rounds. What is printed is the median, with the
 * 95 % confidence interval of the median (by order statistics) and the minimum.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <csum.h>

#include "peer.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LIST_MAX     64
#define SUBJECTS_MAX 64

enum kind { KIND_SUM, KIND_COPY, KIND_BATCH };

struct subject {
	char name[48];
	enum kind kind;
	csum_sum_t (*sum)(const void *buf, size_t len, csum_sum_t sum);
	csum_sum_t (*copy)(void *CSUM_RESTRICT dst, const void *CSUM_RESTRICT src, size_t len,
			   csum_sum_t sum);
	const struct csum_impl *impl; /* whose prefetch distance is set, or NULL */
};

struct list {
	unsigned n;
	unsigned v[LIST_MAX];
};

static struct options {
	const char *impls;
	struct list sizes, aligns, prefetch;
	bool cold, mixed, latency, copy, peers, json, tune;
	unsigned reps;
} opt = {.impls = "all", .reps = 41};

/* ---- what is measured ------------------------------------------------------------------------ */

static csum_sum_t empty_call(const void *buf, size_t len, csum_sum_t sum)
{
	(void)buf;
	(void)len;
	return sum;
}

/* Loads every byte once, in the widest vectors, and does nothing with them. The loops begin a line
 * of their own: elsewhere they take up to a third longer, by where the compiler happens to put
 * them, and are no limit then. */
#if defined(__x86_64__)
#define LOOP_ALIGNED() __asm__ volatile(".p2align 6")

static __attribute__((aligned(64))) csum_sum_t load_16(const void *buf, size_t len, csum_sum_t sum)
{
	const char *p = buf, *end = p + len;

	LOOP_ALIGNED();
	for (; end - p >= 64; p += 64)
		__asm__ volatile("movdqu 0(%0), %%xmm0\n\tmovdqu 16(%0), %%xmm1\n\t"
				 "movdqu 32(%0), %%xmm2\n\tmovdqu 48(%0), %%xmm3"
				 :
				 : "r"(p)
				 : "xmm0", "xmm1", "xmm2", "xmm3");
	for (; p < end; p += 16)
		__asm__ volatile("movdqu -16(%0), %%xmm0" : : "r"(end) : "xmm0");
	return sum;
}

static __attribute__((aligned(64))) csum_sum_t load_32(const void *buf, size_t len, csum_sum_t sum)
{
	const char *p = buf, *end = p + len;

	if (len < 32)
		return load_16(buf, len, sum);
	LOOP_ALIGNED();
	for (; end - p >= 256; p += 256)
		__asm__ volatile("vmovdqu 0(%0), %%ymm0\n\tvmovdqu 32(%0), %%ymm1\n\t"
				 "vmovdqu 64(%0), %%ymm2\n\tvmovdqu 96(%0), %%ymm3\n\t"
				 "vmovdqu 128(%0), %%ymm0\n\tvmovdqu 160(%0), %%ymm1\n\t"
				 "vmovdqu 192(%0), %%ymm2\n\tvmovdqu 224(%0), %%ymm3"
				 :
				 : "r"(p)
				 : "xmm0", "xmm1", "xmm2", "xmm3");
	LOOP_ALIGNED();
	for (; end - p > 32; p += 32)
		__asm__ volatile("vmovdqu 0(%0), %%ymm0" : : "r"(p) : "xmm0");
	__asm__ volatile("vmovdqu -32(%0), %%ymm0\n\tvzeroupper" : : "r"(end) : "xmm0");
	return sum;
}

static __attribute__((aligned(64))) csum_sum_t load_64(const void *buf, size_t len, csum_sum_t sum)
{
	const char *p = buf, *end = p + len;

	if (len < 64)
		return load_32(buf, len, sum);
	LOOP_ALIGNED();
	for (; end - p >= 512; p += 512)
		__asm__ volatile("vmovdqu64 0(%0), %%zmm0\n\tvmovdqu64 64(%0), %%zmm1\n\t"
				 "vmovdqu64 128(%0), %%zmm2\n\tvmovdqu64 192(%0), %%zmm3\n\t"
				 "vmovdqu64 256(%0), %%zmm0\n\tvmovdqu64 320(%0), %%zmm1\n\t"
				 "vmovdqu64 384(%0), %%zmm2\n\tvmovdqu64 448(%0), %%zmm3"
				 :
				 : "r"(p)
				 : "xmm0", "xmm1", "xmm2", "xmm3");
	LOOP_ALIGNED();
	for (; end - p > 64; p += 64)
		__asm__ volatile("vmovdqu64 0(%0), %%zmm0" : : "r"(p) : "xmm0");
	__asm__ volatile("vmovdqu64 -64(%0), %%zmm0\n\tvzeroupper" : : "r"(end) : "xmm0");
	return sum;
}

static csum_sum_t (*load_limit(void))(const void *, size_t, csum_sum_t)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f"))
		return load_64;
	return __builtin_cpu_supports("avx2") ? load_32 : load_16;
}
#else
static csum_sum_t load_words(const void *buf, size_t len, csum_sum_t sum)
{
	const unsigned char *p = buf;
	size_t i;

	for (i = 0; i + 64 <= len; i += 64) {
		uint64_t w[8];

		memcpy(w, p + i, 64);
		__asm__ volatile("" : : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]));
		__asm__ volatile("" : : "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]));
	}
	for (; i < len; i++)
		__asm__ volatile("" : : "r"(p[i]));
	return sum;
}

static csum_sum_t (*load_limit(void))(const void *, size_t, csum_sum_t)
{
	return load_words;
}
#endif

static csum_sum_t copy_alone(void *CSUM_RESTRICT dst, const void *CSUM_RESTRICT src, size_t len,
			     csum_sum_t sum)
{
	memcpy(dst, src, len);
	return sum;
}

static csum_sum_t (*best_sum)(const void *buf, size_t len, csum_sum_t sum);

static csum_sum_t copy_then_sum(void *CSUM_RESTRICT dst, const void *CSUM_RESTRICT src, size_t len,
				csum_sum_t sum)
{
	memcpy(dst, src, len);
	return best_sum(dst, len, sum);
}

static struct subject subjects[SUBJECTS_MAX];
static unsigned n_subjects;

static struct subject *add(const char *name, enum kind kind)
{
	struct subject *s = &subjects[n_subjects];

	if (n_subjects == SUBJECTS_MAX) {
		fprintf(stderr, "csum-perf: too many implementations\n");
		exit(1);
	}
	n_subjects++;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->kind = kind;
	return s;
}

static bool wanted(const char *name)
{
	const char *p = opt.impls;
	size_t n = strlen(name);

	if (!strcmp(p, "all"))
		return true;
	for (; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
		if (!strncmp(p, name, n) && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

static void choose_subjects(void)
{
	const struct csum_impl *const *i;
	unsigned n = 0;
	struct subject *s;

	best_sum = csum_selected()->partial;
	s = add("empty", opt.copy ? KIND_COPY : KIND_SUM);
	s->sum = empty_call;
	s->copy = copy_alone;
	if (opt.copy)
		snprintf(s->name, sizeof(s->name), "memcpy");
	s = add("limit", opt.copy ? KIND_COPY : KIND_SUM);
	s->sum = load_limit();
	s->copy = copy_then_sum;
	if (opt.copy)
		snprintf(s->name, sizeof(s->name), "memcpy+%s", csum_selected()->name);
	for (i = csum_implementations(); *i; i++) {
		if (!wanted((*i)->name))
			continue;
		if (!(*i)->supported()) {
			if (strcmp(opt.impls, "all"))
				fprintf(stderr, "csum-perf: this CPU does not run %s\n",
					(*i)->name);
			continue;
		}
		s = add((*i)->name, opt.copy ? KIND_COPY : KIND_SUM);
		s->sum = (*i)->partial;
		s->copy = (*i)->partial_copy;
		s->impl = *i;
		n++;
	}
	if (!n) {
		fprintf(stderr, "csum-perf: no such implementation: %s\n", opt.impls);
		exit(1);
	}
	if (opt.cold && !opt.tune && !opt.copy && !opt.latency && wanted(csum_selected()->name)) {
		char name[48];

		snprintf(name, sizeof(name), "batch:%.40s", csum_selected()->name);
		add(name, KIND_BATCH)->impl = csum_selected();
	}
	if (opt.peers && !opt.copy) {
#ifdef CSUM_PERF_PEERS
		add("peer:rte_raw_cksum:native", KIND_SUM)->sum = peer_native;
		add("peer:rte_raw_cksum:avx2", KIND_SUM)->sum = peer_avx2;
		add("peer:rte_raw_cksum:sse42", KIND_SUM)->sum = peer_sse42;
#else
		fprintf(stderr, "csum-perf: built without DPDK's headers, so without --peers\n");
#endif
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

#define HOT_ROOM  ((size_t)2 << 20)
#define COLD_ROOM ((size_t)256 << 20)
#define BURST	  32
#define N_LENGTHS 8192u

static unsigned char *hot, *hot_dst, *cold;

/* For one size: the cold room cut into buffers, in an order of their own, and random lengths. */
struct layout {
	size_t slot, n, next;
	uint32_t *order;
	uint32_t lengths[N_LENGTHS];
};

static struct layout *layouts[LIST_MAX];
static struct layout *here; /* that of the size being run */

static void *room(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("csum-perf: mmap");
		exit(1);
	}
	madvise(p, len, MADV_HUGEPAGE);
	return p;
}

static uint64_t rnd(void)
{
	static uint64_t s = 88172645463325252u;

	s ^= s >> 12;
	s ^= s << 25;
	s ^= s >> 27;
	return s * 2685821657736338717u >> 8;
}

static void fill_random(unsigned char *p, size_t len)
{
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		uint64_t w = rnd();

		memcpy(p + i, &w, 8);
	}
}

static void prepare_memory(void)
{
	hot = room(HOT_ROOM);
	hot_dst = room(HOT_ROOM);
	fill_random(hot, HOT_ROOM);
	memset(hot_dst, 1, HOT_ROOM);
	if (opt.cold) {
		cold = room(COLD_ROOM);
		fill_random(cold, COLD_ROOM);
	}
}

static struct layout *make_layout(unsigned size)
{
	struct layout *l = room(sizeof(*l));
	size_t i;

	for (i = 0; i < N_LENGTHS; i++)
		l->lengths[i] = 1 + (uint32_t)(rnd() % (size ? size : 1));
	if (!cold)
		return l;
	l->slot = (size + 64 + 127) / 64 * 64;
	l->n = COLD_ROOM / l->slot;
	l->order = room(l->n * sizeof(*l->order));
	for (i = 0; i < l->n; i++)
		l->order[i] = (uint32_t)i;
	for (i = l->n - 1; i; i--) {
		size_t j = rnd() % (i + 1);
		uint32_t t = l->order[i];

		l->order[i] = l->order[j];
		l->order[j] = t;
	}
	return l;
}

static void prepare_sizes(const struct list *sizes)
{
	unsigned j;

	for (j = 0; j < sizes->n; j++) {
		if (layouts[j]) {
			if (layouts[j]->order)
				munmap(layouts[j]->order,
				       layouts[j]->n * sizeof(*layouts[j]->order));
			munmap(layouts[j], sizeof(*layouts[j]));
		}
		layouts[j] = make_layout(sizes->v[j]);
	}
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static volatile csum_sum_t sink;
static volatile size_t always_zero;

static const unsigned char *next_cold(void)
{
	const unsigned char *p = cold + here->order[here->next] * here->slot;

	if (++here->next == here->n)
		here->next = 0;
	return p;
}

/* The loops that are timed. The flags are constants in each caller, so that what a run does not do
 * costs it nothing, and no address depends on a sum unless it is asked to. */
static inline __attribute__((always_inline)) csum_sum_t calls_of(const struct subject *s,
								 unsigned size, unsigned align,
								 unsigned calls, bool is_copy,
								 bool is_cold, bool is_mixed,
								 bool is_latency)
{
	size_t zero = always_zero, dep = 0;
	csum_sum_t sum = 0, r;
	unsigned i;

	for (i = 0; i < calls; i++) {
		const unsigned char *p = (is_cold ? next_cold() : hot) + align;
		size_t len = is_mixed ? here->lengths[i % N_LENGTHS] : size;

		if (is_latency)
			p += dep;
		r = is_copy ? s->copy(hot_dst + align, p, len, 0) : s->sum(p, len, 0);
		if (is_latency)
			dep = r & zero;
		sum += r;
	}
	return sum;
}

static csum_sum_t batches_of(unsigned size, unsigned align, unsigned calls)
{
	struct csum_iov v[BURST];
	csum_sum_t sums[BURST], sum = 0;
	unsigned i, j;

	for (i = 0; i < calls; i += BURST) {
		for (j = 0; j < BURST; j++) {
			v[j].base = next_cold() + align;
			v[j].len = opt.mixed ? here->lengths[(i + j) % N_LENGTHS] : size;
			sums[j] = 0;
		}
		csum_partial_batch(v, sums, BURST);
		for (j = 0; j < BURST; j++)
			sum += sums[j];
	}
	return sum;
}

/* ns for one call, over `calls` calls. With --latency the address of each depends on the sum of the
 * one before. */
static double run(const struct subject *s, unsigned size, unsigned align, unsigned calls)
{
	bool copy = s->kind == KIND_COPY;
	csum_sum_t sum;
	double t0 = now_ns(), t1;

	if (s->kind == KIND_BATCH)
		sum = batches_of(size, align, calls);
	else if (!opt.cold && !opt.mixed && !opt.latency)
		sum = copy ? calls_of(s, size, align, calls, true, false, false, false)
			   : calls_of(s, size, align, calls, false, false, false, false);
	else if (opt.latency)
		sum = calls_of(s, size, align, calls, copy, opt.cold, opt.mixed, true);
	else
		sum = calls_of(s, size, align, calls, copy, opt.cold, opt.mixed, false);
	t1 = now_ns();
	sink = sum;
	return (t1 - t0) / calls;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct result {
	double median, min, low, high; /* low, high: 95 % confidence interval of the median */
};

static struct result summarise(double *v, unsigned n)
{
	double half = 0.98 * sqrt(n);
	unsigned lo = (unsigned)fmax(0, floor(n / 2.0 - half));
	unsigned hi = (unsigned)fmin(n - 1, ceil(n / 2.0 + half));
	struct result r;

	qsort(v, n, sizeof(*v), by_value);
	r.median = n & 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
	r.min = v[0];
	r.low = v[lo];
	r.high = v[hi];
	return r;
}

static unsigned calls_for(unsigned size)
{
	/* About 100 microseconds, at 40 GB/s. */
	unsigned calls = 1 + 4000000u / (size + 80);

	return opt.cold ? calls / BURST * BURST + BURST : calls;
}

#define OWN ~0u /* each kernel's own prefetch distance */

static struct result results[LIST_MAX][LIST_MAX][SUBJECTS_MAX]; /* by distance, size, subject */

/* Every subject at every size and prefetch distance. A round goes through all of them, so that a
 * slow moment of the machine falls on few rounds of each and not on all rounds of one. */
static void measure(const struct list *sizes, const struct list *distances, unsigned align)
{
	size_t cells = (size_t)distances->n * sizes->n * n_subjects, cell;
	double *v = calloc(cells * opt.reps, sizeof(*v));
	unsigned was[SUBJECTS_MAX] = {0};
	unsigned r, d, j, i;

	if (!v) {
		perror("csum-perf");
		exit(1);
	}
	prepare_sizes(sizes);
	for (i = 0; i < n_subjects; i++)
		if (subjects[i].impl)
			was[i] = *subjects[i].impl->prefetch;
	for (r = 0; r < opt.reps; r++)
		for (cell = 0, d = 0; d < distances->n; d++) {
			for (i = 0; i < n_subjects; i++)
				if (subjects[i].impl && distances->v[d] != OWN)
					*subjects[i].impl->prefetch = distances->v[d];
			for (j = 0; j < sizes->n; j++) {
				unsigned size = sizes->v[j], calls = calls_for(size);

				here = layouts[j];
				for (i = 0; i < n_subjects; i++, cell++) {
					if (!opt.cold) /* warm it */
						run(&subjects[i], size, align, 1 + calls / 16);
					v[cell * opt.reps + r] =
						run(&subjects[i], size, align, calls);
				}
			}
		}
	for (cell = 0, d = 0; d < distances->n; d++)
		for (j = 0; j < sizes->n; j++)
			for (i = 0; i < n_subjects; i++, cell++)
				results[d][j][i] = summarise(v + cell * opt.reps, opt.reps);
	for (i = 0; i < n_subjects; i++)
		if (subjects[i].impl)
			*subjects[i].impl->prefetch = was[i];
	free(v);
}

/* ---- printing -------------------------------------------------------------------------------- */

static double gbps(double size, double ns)
{
	return ns > 0 ? size / ns : 0;
}

static void print_json(const struct subject *s, const struct result *r, unsigned size,
		       unsigned align, unsigned prefetch, double limit)
{
	double bytes = opt.mixed ? (1.0 + size) / 2 : size;

	if (prefetch == OWN)
		prefetch = s->impl ? *s->impl->prefetch : 0;
	printf("{\"bench\":\"csum\",\"impl\":\"%s\",\"op\":\"%s\",\"size\":%u,\"align\":%u,"
	       "\"cold\":%s,\"prefetch\":%u,\"ns\":%.3f,\"GBps\":%.2f,\"limit_GBps\":%.2f,"
	       "\"reps\":%u,\"ns_min\":%.3f,\"ns_low\":%.3f,\"ns_high\":%.3f%s%s}\n",
	       s->name, s->kind == KIND_COPY ? "copy" : "sum", size, align,
	       opt.cold ? "true" : "false", prefetch, r->median, gbps(bytes, r->median),
	       gbps(bytes, limit), opt.reps, r->min, r->low, r->high,
	       opt.mixed ? ",\"mixed\":true" : "", opt.latency ? ",\"latency\":true" : "");
}

static void print_cpu(void)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256], *p;
	unsigned found = 0;

	printf("# CPU:");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10) && strncmp(line, "cpu family", 10) &&
		    strncmp(line, "model\t", 6))
			continue;
		p = strchr(line, ':');
		line[strcspn(line, "\n")] = 0;
		printf("%s%.*s%s", found ? "," : "", (int)strcspn(line, "\t:"), line,
		       p ? p + 1 : "");
		if (++found == 3)
			break;
	}
	if (f)
		fclose(f);
#ifdef __clang__
	printf("\n# compiler: clang " __clang_version__);
#else
	printf("\n# compiler: gcc " __VERSION__);
#endif
#ifdef __OPTIMIZE__
	printf(", optimised");
#else
	printf(", NOT OPTIMISED");
#endif
	printf("\n# %s; ns a call: median of %u interleaved rounds, half the 95 %% confidence "
	       "interval behind it\n",
	       opt.copy ? "copy and sum" : "sum", opt.reps);
	printf("# %s, %s%s\n", opt.cold ? "cold: buffers of 256 MiB in random order" : "warm",
	       opt.mixed ? "lengths at random from 1 to the size given" : "fixed sizes",
	       opt.latency ? ", each call waiting for the last" : "");
}

/* ---- the tables ------------------------------------------------------------------------------ */

static double limit_of(const struct result *r)
{
	return r[1].median; /* subject 1; for copies: memcpy, then a sum */
}

static double bytes_of(unsigned size)
{
	return opt.mixed ? (1.0 + size) / 2 : size;
}

static void print_table(struct result (*r)[SUBJECTS_MAX], unsigned align, unsigned prefetch)
{
	unsigned i, j;

	printf("\nalignment %u", align);
	if (prefetch != OWN)
		printf(", prefetch %u bytes ahead", prefetch);
	printf("\n%-28s", "median, ns");
	for (j = 0; j < opt.sizes.n; j++)
		printf(" %14u", opt.sizes.v[j]);
	for (i = 0; i < n_subjects; i++) {
		printf("\n%-28s", subjects[i].name);
		for (j = 0; j < opt.sizes.n; j++)
			printf(" %8.1f +-%4.1f", r[j][i].median, (r[j][i].high - r[j][i].low) / 2);
	}
	printf("\n%-28s", "minimum, ns");
	for (i = 0; i < n_subjects; i++) {
		printf("\n%-28s", subjects[i].name);
		for (j = 0; j < opt.sizes.n; j++)
			printf(" %8.1f      ", r[j][i].min);
	}
	printf("\n%-28s", "GB/s");
	for (i = 1; i < n_subjects; i++) {
		printf("\n%-28s", subjects[i].name);
		for (j = 0; j < opt.sizes.n; j++)
			printf(" %8.1f      ", gbps(bytes_of(opt.sizes.v[j]), r[j][i].median));
	}
	printf("\n");
}

static void tables(unsigned align)
{
	struct list own = {1, {OWN}};
	const struct list *distances = opt.prefetch.n ? &opt.prefetch : &own;
	unsigned d, i, j;

	measure(&opt.sizes, distances, align);
	for (d = 0; d < distances->n; d++) {
		if (!opt.json) {
			print_table(results[d], align, distances->v[d]);
			continue;
		}
		for (j = 0; j < opt.sizes.n; j++)
			for (i = 0; i < n_subjects; i++)
				print_json(&subjects[i], &results[d][j][i], opt.sizes.v[j], align,
					   distances->v[d], limit_of(results[d][j]));
	}
	fflush(stdout);
}

/* The logarithms of each subject's medians at each distance, added up over the sizes. */
static void score(const struct list *sizes, double out[LIST_MAX][SUBJECTS_MAX])
{
	unsigned d, i, j;

	measure(sizes, &opt.prefetch, 0);
	for (d = 0; d < opt.prefetch.n; d++)
		for (i = 0; i < n_subjects; i++)
			for (out[d][i] = 0, j = 0; j < sizes->n; j++)
				out[d][i] += log(results[d][j][i].median);
}

/* For each kernel the distance that is fastest over warm and cold packets together, if it gains
 * more than 2 % over the first one, which is none; and from where SSE2 beats add-with-carry. */
static void tune(void)
{
	static const struct list sizes = {3, {512, 1500, 9000}};
	static const struct list cross = {
		12, {64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096}};
	static const struct list dflt = {8, {0, 64, 96, 128, 160, 256, 512, 1024}};
	static const struct list own = {1, {OWN}};
	static double warm[LIST_MAX][SUBJECTS_MAX], chill[LIST_MAX][SUBJECTS_MAX];
	unsigned i, j, d, sse2 = 0, adc = 0, at = 0;

	if (!opt.prefetch.n)
		opt.prefetch = dflt;
	opt.cold = false;
	score(&sizes, warm);
	opt.cold = true;
	score(&sizes, chill);
	opt.cold = false;
	printf("%-12s %10s %10s %12s %12s\n", "kernel", "now", "best", "warm gain", "cold gain");
	for (i = 0; i < n_subjects; i++) {
		unsigned best = 0;

		if (!subjects[i].impl)
			continue;
		for (d = 1; d < opt.prefetch.n; d++)
			if (warm[d][i] + chill[d][i] < warm[best][i] + chill[best][i])
				best = d;
		if (warm[0][i] + chill[0][i] - warm[best][i] - chill[best][i] < 2 * sizes.n * 0.02)
			best = 0;
		printf("%-12s %10u %10u %11.1f%% %11.1f%%\n", subjects[i].name,
		       *subjects[i].impl->prefetch, opt.prefetch.v[best],
		       100 * (exp((warm[0][i] - warm[best][i]) / sizes.n) - 1),
		       100 * (exp((chill[0][i] - chill[best][i]) / sizes.n) - 1));
		if (!strcmp(subjects[i].name, "sse2"))
			sse2 = i;
		if (!strcmp(subjects[i].name, "adc"))
			adc = i;
	}
	if (!sse2 || !adc)
		return;
	measure(&cross, &own, 0);
	for (j = cross.n; j--; at = cross.v[j])
		if (results[0][j][sse2].median >= results[0][j][adc].median)
			break;
	if (at)
		printf("sse2 is faster than adc from %u bytes on (crossover now %zu)\n", at,
		       subjects[sse2].impl->crossover);
	else
		printf("sse2 is not faster than adc at %u bytes\n", cross.v[cross.n - 1]);
}

/* ---- options --------------------------------------------------------------------------------- */

static void usage(FILE *f)
{
	fprintf(f,
		"usage: csum-perf [options]\n"
		"  --impl all|NAME,...   kernels (default all that this CPU runs)\n"
		"  --sizes N,...         bytes (default "
		"20,64,128,256,512,1500,4096,9000,16384,65535)\n"
		"  --align N,...         offsets from a 64-byte line (default 0)\n"
		"  --cold                buffers out of 256 MiB in random order, and the batch "
		"call\n"
		"  --mixed               random lengths from 1 to each size\n"
		"  --latency             each call waits for the one before\n"
		"  --copy                copy and sum, beside memcpy and memcpy followed by a sum\n"
		"  --prefetch N,...      distances to try, none or bytes (default each kernel's "
		"own)\n"
		"  --tune                which distances and crossovers it would set\n"
		"  --peers               DPDK's rte_raw_cksum as well\n"
		"  --reps N              rounds (default 41)\n"
		"  --json                JSON Lines\n");
}

static struct list parse_list(const char *name, const char *text, unsigned max)
{
	struct list l = {0, {0}};
	char *copy = strdup(text), *save = NULL, *p, *end;

	for (p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		unsigned long v = strtoul(p, &end, 0);

		if (!strcmp(p, "none"))
			v = 0;
		else if (*p == '-' || end == p || *end || v > max) {
			fprintf(stderr, "csum-perf: %s: %s: not a number up to %u\n", name, p, max);
			exit(2);
		}
		if (l.n == LIST_MAX) {
			fprintf(stderr, "csum-perf: %s: more than %d values\n", name, LIST_MAX);
			exit(2);
		}
		l.v[l.n++] = (unsigned)v;
	}
	free(copy);
	if (!l.n) {
		fprintf(stderr, "csum-perf: %s: no value\n", name);
		exit(2);
	}
	return l;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"impl", required_argument, NULL, 'i'},	 {"sizes", required_argument, NULL, 's'},
		{"align", required_argument, NULL, 'a'}, {"cold", no_argument, NULL, 'c'},
		{"mixed", no_argument, NULL, 'm'},	 {"latency", no_argument, NULL, 'l'},
		{"copy", no_argument, NULL, 'C'},	 {"prefetch", required_argument, NULL, 'p'},
		{"tune", no_argument, NULL, 't'},	 {"peers", no_argument, NULL, 'P'},
		{"reps", required_argument, NULL, 'r'},	 {"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},	 {NULL, 0, NULL, 0},
	};
	unsigned i, j;
	int c;

	opt.aligns = parse_list("--align", "0", 0);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'i':
			opt.impls = optarg;
			break;
		case 's':
			opt.sizes = parse_list("--sizes", optarg, 1u << 20);
			break;
		case 'a':
			opt.aligns = parse_list("--align", optarg, 63);
			break;
		case 'c':
			opt.cold = true;
			break;
		case 'm':
			opt.mixed = true;
			break;
		case 'l':
			opt.latency = true;
			break;
		case 'C':
			opt.copy = true;
			break;
		case 'p':
			opt.prefetch = parse_list("--prefetch", optarg, 1u << 20);
			break;
		case 't':
			opt.tune = true;
			break;
		case 'P':
			opt.peers = true;
			break;
		case 'r':
			opt.reps = parse_list("--reps", optarg, 100000).v[0];
			break;
		case 'j':
			opt.json = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc || !opt.reps) {
		usage(stderr);
		return 2;
	}
	if (!opt.sizes.n)
		opt.sizes = parse_list("--sizes",
				       opt.cold	   ? "64,512,1500,9000"
				       : opt.mixed ? "64,256,1500"
						   : "20,64,128,256,512,1500,4096,9000,16384,65535",
				       1u << 20);
	for (j = 0; j < opt.sizes.n; j++)
		if (!opt.sizes.v[j] && opt.mixed) {
			fprintf(stderr, "csum-perf: --mixed needs sizes above 0\n");
			return 2;
		}
	if (opt.tune) {
		opt.json = false;
		opt.cold = true; /* so that there is a cold room */
	}
	choose_subjects();
	prepare_memory();
	if (!opt.json)
		print_cpu();
	if (opt.tune) {
		tune();
		return 0;
	}
	for (i = 0; i < opt.aligns.n; i++)
		tables(opt.aligns.v[i]);
	return 0;
}
