/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tp-perf's own options: what stands behind "--" on its command line. Knows nothing of DPDK.
 */
#ifndef TP_PERF_OPTIONS_H
#define TP_PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define BURST_MAX  64 /* what a worker takes at once */
#define FRAME_MIN  60 /* bytes without FCS */
#define FRAME_MAX  1514
#define FLOWS_MAX  16000000
#define ROUTES_MAX 1000000
#define RULES_MAX  4096

enum mode {
	MODE_IO,	  /* receive and send again: what the ports cost */
	MODE_MAC,	  /* ... with new MAC addresses */
	MODE_5TSWAP,	  /* ... with addresses and ports of both sides exchanged */
	MODE_CSUM,	  /* ... with checksums validated and computed again in software */
	MODE_ROUTE,	  /* from here on the router's worker: routing */
	MODE_NAT44,	  /* ... source translation, sessions there already */
	MODE_NAT44_SETUP, /* ... source translation, each packet a new session */
	MODE_STATIC,	  /* ... static 1:1 translation */
	MODE_MIXED, /* ... source translation, IMIX frames, both directions, 1 % new sessions */
	MODE_COUNT
};

enum direction { DIR_OUT = 1, DIR_IN = 2, DIR_BOTH = 3 };

struct options {
	enum mode mode;
	enum direction direction;
	uint32_t flows;
	uint16_t frame, burst;
	uint32_t routes, rules;
	uint32_t duration_s;	 /* 0: until interrupted */
	uint32_t stats_period_s; /* 0: only at the end */
	uint32_t nb_cores, total_num_mbufs;
	uint16_t rxd, txd, rxq, txq;
	uint64_t portmask;
	uint32_t nat_timeout_s; /* of UDP, in mode mixed: how long its new sessions stay */
	bool json, interactive, auto_start, frame_set;
	const char *pcap, *write_pcap, *cmdline_file;
};

const char *mode_name(enum mode mode);
int mode_find(const char *name);  /* -1: there is no such mode */
bool mode_routes(enum mode mode); /* the router's worker runs it */
bool mode_translates(enum mode mode);
const char *direction_name(enum direction direction);

void options_usage(const char *program);

/* argv[0] is the program's name. Exits with a message when something is wrong with them, and after
 * --help. */
void options_parse(struct options *o, int argc, char **argv);

#endif /* TP_PERF_OPTIONS_H */
