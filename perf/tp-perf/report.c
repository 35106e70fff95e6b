/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include "report.h"
#include "router.h"
#include "segments.h"

static void line(FILE *out, const char *fill, const char *title)
{
	int n = (76 - (int)strlen(title)) / 2;

	fprintf(out, "  ");
	for (int i = 0; i < n; i++)
		fputs(fill, out);
	fputs(title, out);
	for (int i = 0; i < 76 - n - (int)strlen(title); i++)
		fputs(fill, out);
	fputc('\n', out);
}

/* ---- ports ----------------------------------------------------------------------------------- */

struct port_counts {
	uint64_t rx, tx, tx_dropped, hist[BURST_MAX + 1], bursts;
};

static void count_port(unsigned i, struct port_counts *c)
{
	*c = (struct port_counts){.tx_dropped = bench_tx_dropped(i)};
	for (unsigned k = 0; k < QUEUES_MAX; k++) {
		const struct queue *q = &ports.queues[i][k];

		c->rx += q->rx_packets;
		c->tx += q->tx_packets;
		c->bursts += q->rx_bursts;
		for (unsigned b = 0; b <= BURST_MAX; b++)
			c->hist[b] += q->hist[b];
	}
}

void report_port_stats(FILE *out)
{
	static struct {
		uint64_t rx, tx, at;
	} last[PORTS_MAX];

	for (unsigned i = 0; i < ports.n; i++) {
		uint64_t now = rte_get_tsc_cycles();
		struct rte_eth_stats s = {0};
		struct port_counts c;
		char title[64];
		double seconds;

		count_port(i, &c);
		(void)rte_eth_stats_get(ports.ids[i], &s);
		seconds = last[i].at == 0 ? 0 : (double)(now - last[i].at) / rte_get_tsc_hz();
		snprintf(title, sizeof(title), " NIC statistics for port %-2u ", ports.ids[i]);
		fputc('\n', out);
		line(out, "#", title);
		fprintf(out,
			"  RX-packets: %-14" PRIu64 " RX-missed: %-10" PRIu64 " RX-errors: %" PRIu64
			"\n",
			c.rx, s.imissed, s.ierrors);
		fprintf(out, "  RX-nombuf:  %-14" PRIu64 "\n", s.rx_nombuf);
		fprintf(out, "  TX-packets: %-14" PRIu64 " TX-errors: %" PRIu64 "\n", c.tx,
			s.oerrors);
		fprintf(out, "\n  Throughput (since last show)\n");
		fprintf(out, "  Rx-pps: %16.0f\n  Tx-pps: %16.0f\n",
			seconds > 0 && c.rx >= last[i].rx ? (double)(c.rx - last[i].rx) / seconds
							  : 0,
			seconds > 0 && c.tx >= last[i].tx ? (double)(c.tx - last[i].tx) / seconds
							  : 0);
		line(out, "#", "");
		last[i].rx = c.rx;
		last[i].tx = c.tx;
		last[i].at = now;
	}
}

/* ---- forwarding ------------------------------------------------------------------------------ */

/* The sizes that came most often, as testpmd's --burst-stats shows them. */
static void print_bursts(FILE *out, struct port_counts *c)
{
	uint64_t shown = 0;

	if (c->bursts == 0)
		return;
	fprintf(out, "  RX-bursts : %" PRIu64 " [", c->bursts);
	for (unsigned k = 0; k < 4; k++) {
		unsigned most = 1;

		for (unsigned b = 2; b <= BURST_MAX; b++) {
			if (c->hist[b] > c->hist[most])
				most = b;
		}
		if (c->hist[most] == 0)
			break;
		fprintf(out, "%s%.0f%% of %u pkts", k > 0 ? " + " : "",
			100.0 * (double)c->hist[most] / (double)c->bursts, most);
		shown += c->hist[most];
		c->hist[most] = 0;
	}
	if (shown < c->bursts)
		fprintf(out, " + %.0f%% of others",
			100.0 * (double)(c->bursts - shown) / (double)c->bursts);
	fprintf(out, "]\n");
}

static void print_stages(FILE *out, const double stages[STAGES])
{
	double sum = 0;

	fprintf(out, "  Cycles/packet by stage:");
	for (unsigned s = 0; s < STAGES; s++) {
		fprintf(out, " %s %.1f", stage_name(s), stages[s]);
		sum += stages[s];
	}
	fprintf(out, " (sum %.1f, the clock's reading included)\n", sum);
}

static void print_drop(void *arg, const char *name, uint64_t n)
{
	fprintf(arg, "  Dropped: %s %" PRIu64 "\n", name, n);
}

void report_forward_stats(FILE *out, const struct options *o)
{
	struct port_counts sum = {0};
	double stages[STAGES];
	struct totals t;

	bench_totals(&t);
	for (unsigned i = 0; i < ports.n; i++) {
		struct port_counts c;
		char title[64];

		count_port(i, &c);
		snprintf(title, sizeof(title), " Forward statistics for port %-2u ", ports.ids[i]);
		fputc('\n', out);
		line(out, "-", title);
		fprintf(out,
			"  RX-packets: %-14" PRIu64 " RX-dropped: %-13d RX-total: %" PRIu64 "\n",
			c.rx, 0, c.rx);
		print_bursts(out, &c);
		fprintf(out,
			"  TX-packets: %-14" PRIu64 " TX-dropped: %-13" PRIu64 " TX-total: %" PRIu64
			"\n",
			c.tx, c.tx_dropped, c.tx + c.tx_dropped);
		line(out, "-", "");
		sum.rx += c.rx;
		sum.tx += c.tx;
		sum.tx_dropped += c.tx_dropped;
	}
	fputc('\n', out);
	line(out, "+", " Accumulated forward statistics for all ports");
	fprintf(out, "  RX-packets: %-14" PRIu64 " RX-dropped: %-13d RX-total: %" PRIu64 "\n",
		sum.rx, 0, sum.rx);
	fprintf(out,
		"  TX-packets: %-14" PRIu64 " TX-dropped: %-13" PRIu64 " TX-total: %" PRIu64 "\n",
		sum.tx, sum.tx_dropped, sum.tx + sum.tx_dropped);
	line(out, "+", "");
	if (t.packets > 0)
		fprintf(out,
			"\n  CPU cycles/packet=%.2f (total cycles=%" PRIu64
			" / total RX packets=%" PRIu64 ") at %" PRIu64 " MHz Clock\n",
			(double)t.busy_tsc / (double)t.packets, t.busy_tsc, t.packets,
			rte_get_tsc_hz() / 1000000);
	bench_stages(stages);
	if (stages[STAGE_FORWARD] > 0)
		print_stages(out, stages);
	if (mode_routes(o->mode))
		router_each_drop(print_drop, out);
}

void report_period(const struct options *o)
{
	report_port_stats(stdout);
	report_forward_stats(stdout, o);
	fflush(stdout);
}

/* ---- results --------------------------------------------------------------------------------- */

void report_text(FILE *out, const struct options *o, const struct result *r)
{
	fprintf(out, "\n%s: %u flows, %u routes, %u rules, %s, bursts of %u, %u worker%s, %s\n",
		mode_name(o->mode), o->flows, o->routes, o->rules, direction_name(o->direction),
		o->burst, bench_lanes(), bench_lanes() > 1 ? "s" : "",
		ports.own ? "packets of its own" : "ports given");
	fprintf(out, "  %.2f Mpps, %.1f cycles/packet%s (least %.1f), %.0f cycles/s\n", r->mpps,
		r->cycles, ports.own && o->mode != MODE_IO ? " for the pipeline alone" : "",
		r->cycles_min, (double)rte_get_tsc_hz());
	fprintf(out, "  io of the same run: %.2f Mpps, %.1f cycles/packet\n", r->io_mpps,
		r->io_cycles);
	fprintf(out, "  medians of %u slices, in %u of which the kernel took the core away\n",
		r->slices, r->disturbed);
	if (r->has_stages)
		print_stages(out, r->stages);
	fprintf(out, "  %" PRIu64 " dropped", r->drops);
	if (mode_translates(o->mode))
		fprintf(out, ", %u sessions, %.0f bytes of memory for each", r->sessions,
			r->bytes_per_session);
	if (bench_lanes() > 1 && mode_translates(o->mode))
		fprintf(out, ", %.1f %% handed over", 100 * r->handed_over);
	fprintf(out, "\n");
}

static const char *const gro_names[GRO_KINDS] = {"off", "tso", "cut"};

void report_gro_text(FILE *out, const struct options *o, const struct result r[GRO_KINDS])
{
	static const char *const texts[GRO_KINDS] = {"not merged", "leave whole (TSO)",
						     "cut again here"};

	fprintf(out,
		"\ngro: %u %s flow%s of %u-byte segments that take turns, %u each, %s, payloads "
		"%s%s, bursts of %u",
		o->flows, o->udp ? "UDP" : "TCP", o->flows > 1 ? "s" : "", segments_payload(o),
		o->train, o->rules > 0 ? "translated" : "routed",
		o->payload_cold ? "from memory" : "in the cache",
		o->rx_csum ? ", the device vouches" : "", o->burst);
	if (o->gro_timeout_us > 0)
		fprintf(out, " that wait %u microseconds", o->gro_timeout_us);
	fprintf(out, ", 1 worker\n");
	fprintf(out,
		"  cycles/segment without receiving, %.0f cycles/s; io of the same run: "
		"%.1f\n",
		(double)rte_get_tsc_hz(), r[0].io_cycles);
	fprintf(out, "  %-22s %9s %9s %9s  by stage (with the clock's reading)\n", "", "Mpps",
		"median", "least");
	for (unsigned k = 0; k < GRO_KINDS; k++) {
		fprintf(out, "  %-3s %-18s %9.2f %9.1f %9.1f ", gro_names[k], texts[k], r[k].mpps,
			r[k].cycles, r[k].cycles_min);
		for (unsigned s = 0; r[k].has_stages && s < STAGES; s++)
			fprintf(out, " %s %.1f", stage_name(s), r[k].stages[s]);
		fprintf(out, "\n");
	}
	for (unsigned k = 0; k < GRO_KINDS; k++)
		fprintf(out,
			"  %s: %" PRIu64 " payload bytes received, %" PRIu64 " summed, %" PRIu64
			" packets made of several\n",
			gro_names[k], r[k].payload_received, r[k].payload_summed, r[k].merged);
	fprintf(out, "  %" PRIu64 " dropped, %u sessions\n", r[0].drops, r[0].sessions);
}

void report_json(FILE *out, const struct options *o, const struct result *r)
{
	fprintf(out,
		"{\"bench\":\"forward\",\"mode\":\"%s\",\"flows\":%u,\"frame\":%u,\"direction\":\"%"
		"s\",\"burst\":%u,"
		"\"workers\":%u,\"routes\":%u,\"rules\":%u,\"gro\":\"%s\",\"payload_bytes_"
		"received\":%" PRIu64 ",\"payload_bytes_summed\":%" PRIu64
		",\"mpps\":%.3f,\"cycles_per_packet\":%.1f,\"io_mpps\":%.3f,"
		"\"io_cycles_per_packet\":%.1f,\"drops\":%" PRIu64
		",\"sessions\":%u,\"bytes_per_session\":%.0f",
		mode_name(o->mode), o->flows, o->frame, direction_name(o->direction), o->burst,
		bench_lanes(), o->routes, mode_translates(o->mode) ? o->rules : 0,
		gro_names[r->gro], r->payload_received, r->payload_summed, r->mpps, r->cycles,
		r->io_mpps, r->io_cycles, r->drops, r->sessions, r->bytes_per_session);
	if (bench_lanes() > 1 && mode_translates(o->mode))
		fprintf(out, ",\"steer\":%s,\"handed_over\":%.3f", o->steer ? "true" : "false",
			r->handed_over);
	if (o->mode == MODE_GRO)
		fprintf(out,
			",\"payload\":\"%s\",\"rx_csum\":%s,\"proto\":\"%s\",\"train\":%u,"
			"\"gro_timeout_us\":%u,\"merged\":%" PRIu64,
			o->payload_cold ? "cold" : "warm", o->rx_csum ? "true" : "false",
			o->udp ? "udp" : "tcp", o->train, o->gro_timeout_us, r->merged);
	fprintf(out, "}\n");
	fflush(out);
}
