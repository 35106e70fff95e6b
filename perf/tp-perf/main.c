/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tp-perf: what a packet costs in the router's worker. EAL options, "--", and its own, which are
 * testpmd's where testpmd has them.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_log.h>

#include "bench.h"
#include "latency.h"
#include "report.h"
#include "shell.h"

static void on_signal(int signal)
{
	(void)signal;
	bench_interrupt();
}

/* Where the own options begin: "--" itself, which stands for the program's name there. */
static int own_options(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i;
	}
	return argc;
}

static int write_capture(const struct options *o)
{
	/* the address of DPDK's net_pcap ports, which the capture is for */
	static const struct rte_ether_addr dst = {{0x02, 0x70, 0x63, 0x61, 0x70, 0x00}};
	struct frames f;
	bool ok = frames_fill(&f, o);

	if (!ok)
		fprintf(stderr, "tp-perf: no memory for %u flows: reserve more huge pages\n",
			o->flows);
	if (ok) {
		frames_shuffle(&f, 1);
		ok = frames_write_pcap(&f, o->write_pcap, &dst);
	}
	frames_free(&f);
	return ok ? 0 : 1;
}

/* One run without a prompt. */
static int measure(const struct options *o)
{
	struct result r;

	if (!bench_prepare(o))
		return 1;
	bench_clear();
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (options_trials(o))
		return latency_run(stdout, o) ? 0 : 1;
	if (o->mode == MODE_GRO) {
		struct result kinds[GRO_KINDS];

		bench_measure_gro(o, kinds);
		if (o->json)
			for (unsigned k = 0; k < GRO_KINDS; k++)
				report_json(stdout, o, &kinds[k]);
		else
			report_gro_text(stdout, o, kinds);
		return 0;
	}
	bench_measure(o, &r, o->json ? NULL : report_period);
	if (o->json) {
		report_json(stdout, o, &r);
	} else {
		report_forward_stats(stdout, o);
		report_text(stdout, o, &r);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o;
	int own = own_options(argc, argv), rc;

	if (own < argc)
		options_parse(&o, argc - own, argv + own);
	else
		options_parse(&o, 1, argv);
	rte_openlog_stream(stderr); /* standard output is for results */
	rte_set_application_usage_hook(options_usage);
	if (rte_eal_init(own, argv) < 0) {
		fprintf(stderr,
			"tp-perf: EAL does not start; --in-memory needs no hugetlbfs, --no-huge no "
			"huge pages, --no-pci no devices\n");
		return 1;
	}
	if (o.write_pcap != NULL) {
		rc = write_capture(&o);
	} else if (!bench_init(&o)) {
		rc = 1;
	} else {
		rc = o.interactive || o.cmdline_file != NULL ? (shell_run(&o) ? 0 : 1)
							     : measure(&o);
		bench_fini();
	}
	rte_eal_cleanup();
	return rc;
}
