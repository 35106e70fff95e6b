/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/nat by itself, in huge pages and TSC cycles:
 *
 *     nat-bench [EAL options] -- tables [--sessions N]... [--json]
 *     nat-bench [EAL options] -- slices [--sessions N]... [--budget N] [--json]
 *
 * tables: a burst of 64 keys in random order to their session records, by lib/nat's table and by
 * rte_hash in several manners, over the same sessions; memory; inserting and deleting.
 * slices: how long a call of nat_worker_tick() takes while all sessions run out in one second,
 * while their ports do, and while a rule that they all come from is deleted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include "lab.h"
#include "parts.h"

#define SIZES_MAX 8
#define BUDGET	  16 /* as a worker has it */

static uint32_t number(const char *text, uint32_t max)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*end != '\0' || v == 0 || v > max)
		die("a number from 1 to %u, not '%s'", max, text);
	return (uint32_t)v;
}

int main(int argc, char **argv)
{
	uint32_t sizes[SIZES_MAX] = {1000, 65536, 1048576}, budget = BUDGET;
	int used = rte_eal_init(argc, argv);
	unsigned n = 0;
	bool json = false, tables;

	if (used < 0)
		die("EAL does not start");
	if (used + 1 >= argc ||
	    (strcmp(argv[used + 1], "tables") != 0 && strcmp(argv[used + 1], "slices") != 0))
		die("usage: nat-bench [EAL options] -- tables|slices [--sessions N]... "
		    "[--budget N] [--json]");
	tables = strcmp(argv[used + 1], "tables") == 0;
	for (int i = used + 2; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--sessions") == 0 && i + 1 < argc && n < SIZES_MAX)
			sizes[n++] = number(argv[++i], 1u << 26);
		else if (strcmp(argv[i], "--budget") == 0 && i + 1 < argc)
			budget = number(argv[++i], 1u << 20);
		else
			die("there is no option '%s'", argv[i]);
	}
	for (unsigned i = 0; i < (n > 0 ? n : 3); i++) {
		if (tables)
			tables_measure(sizes[i], json);
		else
			slices_measure(sizes[i], budget, json);
	}
	return 0;
}
