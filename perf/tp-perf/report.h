/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What people and scripts read: statistics laid out as testpmd's, results as text and as JSON.
 */
#ifndef TP_PERF_REPORT_H
#define TP_PERF_REPORT_H

#include <stdio.h>

#include "bench.h"

void report_port_stats(FILE *out);
/* Of all ports since bench_clear(), with cycles a packet by stage and the bursts' sizes. */
void report_forward_stats(FILE *out, const struct options *o);
/* The flat numbers each --stats-period: ports, stages, bursts. */
void report_period(const struct options *o);
void report_text(FILE *out, const struct options *o, const struct result *r);
/* Of mode gro, one beside the other. */
void report_gro_text(FILE *out, const struct options *o, const struct result r[GRO_KINDS]);
void report_json(FILE *out, const struct options *o, const struct result *r);

#endif /* TP_PERF_REPORT_H */
