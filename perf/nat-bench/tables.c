/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_malloc.h>

#include "lab.h"
#include "parts.h"

#define ROUNDS	    9
#define LOOKUPS_MIN (1u << 20) /* of a round */

static const struct nat_seed *seed;

static uint32_t own_hash(const void *key, uint32_t len, uint32_t init)
{
	(void)len;
	(void)init;
	return nat_key_hash(seed, key);
}

static size_t heap_used(void)
{
	struct rte_malloc_socket_stats s;
	size_t used = 0;

	for (int i = 0; i < RTE_MAX_NUMA_NODES; i++) {
		if (rte_malloc_get_socket_stats(i, &s) == 0)
			used += s.heap_allocsz_bytes;
	}
	return used;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), ascending);
	return v[n / 2];
}

/* ---- looking up ------------------------------------------------------------------------------ */

/* As a worker has them: packets whose keys are parsed. The keys follow each other in the order of
 * visiting, so that reading them costs neither side anything. */
struct visit {
	const struct lab *lab;
	struct rte_hash *h;
	const struct nat_key *keys;
	struct nat_pkt pkts[LAB_BURST];
};

static void by_table(struct visit *v, const struct nat_key *keys)
{
	struct nat_pkt *p[LAB_BURST];

	for (unsigned i = 0; i < LAB_BURST; i++) {
		v->pkts[i].key = keys[i];
		p[i] = &v->pkts[i];
	}
	nat_lookup_burst(v->lab->nat, p, LAB_BURST);
}

/* What nat_lookup_burst() sets, from the record that the table names. */
static inline void fill(const struct nat_worker *nat, struct nat_pkt *pkt, uint32_t value)
{
	const struct nat_key *reverse = &nat->sessions[value >> 1].key[!(value & 1)];

	pkt->verdict = NAT_TRANSLATE;
	pkt->reason = NAT_REASON_NONE;
	pkt->dir = value & 1;
	pkt->session = value >> 1;
	pkt->new_src_be = reverse->dst_be;
	pkt->new_dst_be = reverse->src_be;
}

static void fill_all(struct visit *v, uint64_t hits, void *const *data)
{
	const struct nat_worker *nat = v->lab->nat;

	for (unsigned i = 0; i < LAB_BURST; i++)
		__builtin_prefetch(&nat->sessions[(uintptr_t)data[i] >> 1]);
	if (hits != UINT64_MAX)
		die("rte_hash does not find what was put into it");
	for (unsigned i = 0; i < LAB_BURST; i++)
		fill(nat, &v->pkts[i], (uint32_t)(uintptr_t)data[i]);
}

/* rte_hash by its own hash function. */
static void by_rte_hash(struct visit *v, const struct nat_key *keys)
{
	const void *p[LAB_BURST];
	void *data[LAB_BURST];
	uint64_t hits = 0;

	for (unsigned i = 0; i < LAB_BURST; i++) {
		v->pkts[i].key = keys[i];
		p[i] = &v->pkts[i].key;
	}
	rte_hash_lookup_bulk_data(v->h, p, LAB_BURST, &hits, data);
	fill_all(v, hits, data);
}

/* ... and by ours, inlined. */
static void by_rte_hash_given(struct visit *v, const struct nat_key *keys)
{
	hash_sig_t hashes[LAB_BURST];
	const void *p[LAB_BURST];
	void *data[LAB_BURST];
	uint64_t hits = 0;

	for (unsigned i = 0; i < LAB_BURST; i++) {
		v->pkts[i].key = keys[i];
		p[i] = &v->pkts[i].key;
		hashes[i] = nat_key_hash(seed, &keys[i]);
	}
	rte_hash_lookup_with_hash_bulk_data(v->h, p, hashes, LAB_BURST, &hits, data);
	fill_all(v, hits, data);
}

/* Median cycles a packet. */
static double visit_all(struct visit *v, uint32_t n_keys,
			void (*burst)(struct visit *v, const struct nat_key *keys))
{
	uint32_t bursts = n_keys / LAB_BURST, times = LOOKUPS_MIN / n_keys + 1;
	double cycles[ROUNDS + 1];

	for (unsigned r = 0; r <= ROUNDS; r++) { /* the first one warms up */
		uint64_t start = rte_rdtsc();

		for (uint32_t t = 0; t < times; t++) {
			for (uint32_t b = 0; b < bursts; b++)
				burst(v, v->keys + (size_t)b * LAB_BURST);
		}
		cycles[r] = (double)(rte_rdtsc() - start) / ((double)times * bursts * LAB_BURST);
	}
	return median(cycles + 1, ROUNDS);
}

/* ---- a table's figures ----------------------------------------------------------------------- */

struct figures {
	const char *name;
	double lookup, bytes, insert, remove; /* cycles, bytes, cycles, cycles: of an entry */
};

static void print(const struct figures *f, uint32_t sessions, bool json)
{
	double mhz = rte_get_tsc_hz() / 1e6;

	if (json)
		printf("{\"bench\":\"table\",\"table\":\"%s\",\"sessions\":%u,\"entries\":%" PRIu64
		       ",\"lookup_cycles\":%.1f,\"bytes_per_entry\":%.1f,"
		       "\"insert_cycles\":%.0f,\"delete_cycles\":%.0f}\n",
		       f->name, sessions, (uint64_t)sessions * 2, f->lookup, f->bytes, f->insert,
		       f->remove);
	else
		printf("%8u sessions, %-34s %6.1f cycles a look-up, %5.1f bytes an entry, "
		       "inserted %5.1f and deleted %5.1f million a second\n",
		       sessions, f->name, f->lookup, f->bytes, mhz / f->insert, mhz / f->remove);
	fflush(stdout);
}

/* Entries in random order, into a table of their number, and out again in another. */
static void fill_own(struct figures *f, const struct lab *lab, const struct nat_key *keys)
{
	uint32_t n = 2 * lab->n;
	struct nat_table t;
	void *memory = lab_take(nat_table_bytes(n));
	uint64_t start;

	nat_table_init(&t, memory, n);
	start = rte_rdtsc();
	for (uint32_t i = 0; i < n; i++) {
		if (!nat_table_insert(&t, nat_key_hash(seed, &keys[i]), i))
			die("our table is full");
	}
	f->insert = (double)(rte_rdtsc() - start) / n;
	start = rte_rdtsc();
	for (uint32_t i = n; i-- > 0;) {
		if (!nat_table_delete(&t, nat_key_hash(seed, &keys[i]), i))
			die("an entry of our table is lost");
	}
	f->remove = (double)(rte_rdtsc() - start) / n;
	f->bytes = (double)nat_table_bytes(n) / n;
	rte_free(memory);
}

static void measure_rte_hash(struct figures *f, struct visit *v, const uint32_t *order,
			     rte_hash_function fn, uint8_t flags)
{
	uint32_t n = 2 * v->lab->n;
	struct rte_hash_parameters params = {
		.name = "bench",
		.entries = n + n / 8, /* it can't be filled up */
		.key_len = sizeof(struct nat_key),
		.hash_func = fn,
		.socket_id = SOCKET_ID_ANY,
		.extra_flag = flags,
	};
	size_t before = heap_used();
	uint64_t start;

	v->h = rte_hash_create(&params);
	if (v->h == NULL)
		die("no memory for an rte_hash of %u entries: reserve more huge pages", n);
	f->bytes = (double)(heap_used() - before) / n;
	start = rte_rdtsc();
	for (uint32_t i = 0; i < n; i++) {
		/* the session's index and direction, as our table has it */
		if (rte_hash_add_key_data(v->h, &v->keys[i], (void *)(uintptr_t)order[i]) != 0)
			die("rte_hash is full with %u of %u entries", i, n);
	}
	f->insert = (double)(rte_rdtsc() - start) / n;
	f->lookup = visit_all(v, n, fn == own_hash ? by_rte_hash_given : by_rte_hash);
	start = rte_rdtsc();
	for (uint32_t i = n; i-- > 0;) {
		int32_t at = rte_hash_del_key(v->h, &v->keys[i]);

		if (at < 0)
			die("an entry of rte_hash is lost");
		if (flags & RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF)
			rte_hash_free_key_with_position(v->h, at);
	}
	f->remove = (double)(rte_rdtsc() - start) / n;
	rte_hash_free(v->h);
}

void tables_measure(uint32_t sessions, bool json)
{
	struct figures ours = {.name = "lib/nat"}, f;
	struct nat_key *keys;
	struct visit v = {0};
	uint32_t *order;
	struct lab lab;

	if (sessions < LAB_BURST)
		die("tables takes %u sessions or more", LAB_BURST);
	lab_open(&lab, sessions);
	lab_fill(&lab);
	seed = &lab.nat->seed;
	order = lab_shuffled(2 * sessions);
	keys = lab_take((size_t)sessions * 2 * sizeof(*keys));
	for (uint32_t i = 0; i < 2 * sessions; i++)
		keys[i] = lab.keys[order[i]];
	v.lab = &lab;
	v.keys = keys;
	for (unsigned i = 0; i < LAB_BURST; i++)
		v.pkts[i].flags = NAT_PKT_PLAIN;

	ours.lookup = visit_all(&v, 2 * sessions, by_table);
	fill_own(&ours, &lab, keys);
	print(&ours, sessions, json);
	f = (struct figures){.name = "rte_hash, CRC"};
	measure_rte_hash(&f, &v, order, rte_hash_crc, 0);
	print(&f, sessions, json);
	f = (struct figures){.name = "rte_hash, our hash"};
	measure_rte_hash(&f, &v, order, own_hash, 0);
	print(&f, sessions, json);
	f = (struct figures){.name = "rte_hash, our hash, lock-free"};
	measure_rte_hash(&f, &v, order, own_hash, RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF);
	print(&f, sessions, json);

	rte_free(keys);
	rte_free(order);
	lab_close(&lab);
}
