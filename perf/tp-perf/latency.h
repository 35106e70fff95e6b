/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --ndr and --latency: the highest rate without loss, and how long frames take at parts of it.
 */
#ifndef TP_PERF_LATENCY_H
#define TP_PERF_LATENCY_H

#include <stdio.h>

#include "options.h"

/* After bench_prepare(). Searches the rate unless it is given, then measures the loads of
 * --latency; results go to out as they are found. False with a message, or when interrupted. */
bool latency_run(FILE *out, const struct options *o);

#endif /* TP_PERF_LATENCY_H */
