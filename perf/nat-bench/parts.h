/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nat-bench measures: lib/nat's table beside rte_hash (tables.c), and the slices in which a
 * worker clears many sessions away (slices.c).
 */
#ifndef NAT_BENCH_PARTS_H
#define NAT_BENCH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

void tables_measure(uint32_t sessions, bool json);
void slices_measure(uint32_t sessions, unsigned budget, bool json);

#endif /* NAT_BENCH_PARTS_H */
