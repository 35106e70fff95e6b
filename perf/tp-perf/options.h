/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tp-perf's own options: what stands behind "--" on its command line. Knows nothing of DPDK.
 */
#ifndef TP_PERF_OPTIONS_H
#define TP_PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define BURST_MAX  64 /* what a worker takes at once */
#define BURST_HELD 31 /* what a worker takes at once may wait for more (mode gro) */
#define FRAME_MIN  60 /* bytes without FCS */
#define FRAME_MAX  1514
#define FLOWS_MAX  16000000
#define ROUTES_MAX 1000000
#define RULES_MAX  4096
#define TRAIN_MAX  64
#define LOADS_MAX  32

enum mode {
	MODE_IO,	  /* receive and send again: what the ports cost */
	MODE_MAC,	  /* ... with new MAC addresses */
	MODE_5TSWAP,	  /* ... with addresses and ports of both sides exchanged */
	MODE_CSUM,	  /* ... with checksums validated and computed again in software */
	MODE_ROUTE,	  /* from here on the router's worker: routing */
	MODE_NAT44,	  /* ... source translation, sessions there already */
	MODE_NAT44_SETUP, /* ... source translation, each packet a new session */
	MODE_STATIC,	  /* ... static 1:1 translation */
	MODE_GRO,	  /* ... segments of TCP or UDP flows, merged and not, three results */
	MODE_MIXED, /* ... source translation, IMIX frames, both directions, 1 % new sessions */
	MODE_COUNT
};

enum direction { DIR_OUT = 1, DIR_IN = 2, DIR_BOTH = 3 };

/* Who offers the frames of a trial and takes them back. */
enum generator {
	GENERATOR_AUTO,
	GENERATOR_LCORE,  /* an lcore of its own */
	GENERATOR_MAIN,	  /* the main lcore, which has nothing else to do meanwhile */
	GENERATOR_WORKER, /* the (first) worker's lcore, between two turns of the worker */
};

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
	bool json, interactive, auto_start, frame_set, flows_set, burst_set;
	bool steer; /* packets come to their workers' queues, as by a NIC's RSS */
	/* mode gro: payloads from memory; the device vouches for checksums; UDP instead of TCP */
	bool payload_cold, rx_csum, udp;
	uint32_t train;		 /* mode gro: segments of a flow before it is another one's turn */
	uint32_t gro_timeout_us; /* mode gro: how long segments may wait for the next burst */
	const char *pcap, *write_pcap, *cmdline_file;
	/* trials */
	bool ndr, latency;
	double rate_mpps;  /* 0: the highest without loss, to be found */
	double resolution; /* of that: 0.01 */
	uint32_t trial_ms, warm_ms, confirm;
	enum generator generator;
	uint32_t loads[LOADS_MAX], n_loads; /* percent of the rate */
};

const char *mode_name(enum mode mode);
int mode_find(const char *name);  /* -1: there is no such mode */
bool mode_routes(enum mode mode); /* the router's worker runs it */
bool mode_translates(enum mode mode);
bool options_trials(const struct options *o); /* --ndr or --latency */
const char *generator_name(enum generator g);
/* "10,50,90": percent, 1 to 100. False: that is none, or more than LOADS_MAX. */
bool options_loads(struct options *o, const char *text);
/* Why there are no trials of it, NULL: there are. */
const char *options_without_trials(const struct options *o);
const char *direction_name(enum direction direction);

void options_usage(const char *program);

/* argv[0] is the program's name. Exits with a message when something is wrong with them, and after
 * --help. */
void options_parse(struct options *o, int argc, char **argv);

#endif /* TP_PERF_OPTIONS_H */
