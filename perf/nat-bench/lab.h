/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's translation state full of sessions, in huge pages, for the parts of nat-bench: made by
 * lib/nat's own slow path, from one rule over a pool that is large enough.
 */
#ifndef NAT_BENCH_LAB_H
#define NAT_BENCH_LAB_H

#include "nat_worker.h"

#define LAB_BURST 64

struct lab {
	struct nat_worker *nat;
	struct nat_config *cfg, *bare; /* with the rule, and without any */
	uint32_t n;		       /* sessions, each with a mapping of its own */
	struct nat_key *keys;	       /* as received: [2 * i] outwards, [2 * i + 1] replies */
	uint64_t now_ms;
};

void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...);

/* Zeroed memory in huge pages. */
void *lab_take(size_t size);

/* Room for n sessions, and none in it yet. */
void lab_open(struct lab *lab, uint32_t n);
void lab_close(struct lab *lab);

/* The sessions, all at the same moment, and their keys. They run out in random order, as those do
 * that saw packets since they were made. */
void lab_fill(struct lab *lab);

/* The numbers below n in random order. */
uint32_t *lab_shuffled(uint32_t n);

#endif /* NAT_BENCH_LAB_H */
