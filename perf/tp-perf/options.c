/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

static const char *const modes[MODE_COUNT] = {
	[MODE_IO] = "io",
	[MODE_MAC] = "mac",
	[MODE_5TSWAP] = "5tswap",
	[MODE_CSUM] = "csum",
	[MODE_ROUTE] = "route",
	[MODE_NAT44] = "nat44",
	[MODE_NAT44_SETUP] = "nat44-setup",
	[MODE_STATIC] = "static",
	[MODE_GRO] = "gro",
	[MODE_MIXED] = "mixed",
};

const char *mode_name(enum mode mode)
{
	return modes[mode];
}

int mode_find(const char *name)
{
	for (int i = 0; i < MODE_COUNT; i++) {
		if (strcmp(modes[i], name) == 0)
			return i;
	}
	return -1;
}

bool mode_routes(enum mode mode)
{
	return mode >= MODE_ROUTE;
}

bool mode_translates(enum mode mode)
{
	return mode > MODE_ROUTE;
}

bool options_trials(const struct options *o)
{
	return o->ndr || o->latency;
}

const char *generator_name(enum generator g)
{
	static const char *const names[] = {[GENERATOR_AUTO] = "auto",
					    [GENERATOR_LCORE] = "lcore",
					    [GENERATOR_MAIN] = "main",
					    [GENERATOR_WORKER] = "worker"};

	return names[g];
}

const char *options_without_trials(const struct options *o)
{
	return o->payload_cold ? "each payload from memory is a buffer, and with a frame that is "
				 "lost it would be gone"
			       : NULL;
}

bool options_loads(struct options *o, const char *text)
{
	o->n_loads = 0;
	for (;;) {
		char *end;
		unsigned long v = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || v < 1 || v > 100 || o->n_loads == LOADS_MAX)
			return false;
		o->loads[o->n_loads++] = (uint32_t)v;
		if (*end == '\0')
			return true;
		if (*end != ',')
			return false;
		text = end + 1;
	}
}

const char *direction_name(enum direction direction)
{
	return direction == DIR_OUT ? "out" : direction == DIR_IN ? "in" : "both";
}

void options_usage(const char *program)
{
	printf("\nUsage: %s [EAL options] -- [options]\n"
	       "\n"
	       "Forwards packets by the router's own worker and says what each one costs. Without "
	       "ports (EAL options\n"
	       "-a, --vdev) it makes the packets itself, for one worker lcore or more: %s --lcores "
	       "0@0,1@1 --no-pci --\n"
	       "\n"
	       "As in dpdk-testpmd:\n"
	       "  --forward-mode MODE     io, mac, 5tswap, csum, route, nat44, nat44-setup, "
	       "static, "
	       "gro or mixed (nat44)\n"
	       "  --nb-cores N            worker lcores that forward (1)\n"
	       "  --burst N               packets received at once, 1 to %u (%u)\n"
	       "  --rxq N, --txq N        queues of each port (as many as --nb-cores)\n"
	       "  --rxd N, --txd N        descriptors of each queue (1024)\n"
	       "  --total-num-mbufs N     packet buffers (16384)\n"
	       "  --portmask MASK         ports to use, hexadecimal (all)\n"
	       "  --stats-period N        print statistics every N seconds\n"
	       "  -i, --interactive       a prompt: start, stop, set fwd, show fwd stats all, help "
	       "...\n"
	       "  -a, --auto-start        start forwarding before the prompt\n"
	       "  --cmdline-file FILE     commands to run before the prompt\n"
	       "Its own:\n"
	       "  --flows N               flows, visited in random order, 1 to %u (65536)\n"
	       "  --frame N               bytes of a frame without FCS, %u to %u (60)\n"
	       "  --direction DIR         out, in (replies; makes its own packets only) or both "
	       "(out)\n"
	       "  --routes N              routes: one default route, else N random /24 networks, "
	       "to %u (1)\n"
	       "  --rules N               translation rules, the last one matches, to %u (1)\n"
	       "                          (mode gro: 0 for routing only)\n"
	       "  --steer                 packets come to the worker that a NIC with rss source and "
	       "rss\n"
	       "                          destination-port finds; no port is preserved\n"
	       "  --payload WHERE         mode gro: warm, the payloads lie in the worker's cache, "
	       "or "
	       "cold (warm)\n"
	       "  --rx-csum               mode gro: the device vouches for the checksums\n"
	       "  --proto PROTO           mode gro: tcp or udp (tcp)\n"
	       "  --train N               mode gro: segments of a flow that come in a row, 1 to %u "
	       "(1)\n"
	       "  --gro-timeout USEC      mode gro: how long segments may wait for the next burst, "
	       "to 1000 (0);\n"
	       "                          bursts are of 16 then, and of %u at most\n"
	       "  --pcap FILE             send the IPv4 frames of a capture instead of flows, in "
	       "their order\n"
	       "  --write-pcap FILE       write the frames of these flows to a capture (for "
	       "net_pcap ports), and exit\n"
	       "  --duration N            seconds, 0: until interrupted (10)\n"
	       "Trials at a rate, with queues before and behind the worker that can be full:\n"
	       "  --ndr                   search the highest rate without loss (RFC 2544, 26.1)\n"
	       "  --latency               how long frames take, at --loads of that rate (26.2; RFC "
	       "8219, 7.2)\n"
	       "  --rate MPPS             --latency: that rate instead of searching it, millions a "
	       "second\n"
	       "  --loads LIST            percent of the rate (10,50,90), --duration seconds each\n"
	       "  --trial MS              milliseconds of a trial (200)\n"
	       "  --warm-up MS            milliseconds before each that don't count (20)\n"
	       "  --resolution PERCENT    --ndr: how near a rate that loses has to be (0.5)\n"
	       "  --confirm N             --ndr: further trials that the rate found passes (2)\n"
	       "  --generator WHO         who offers and takes back: lcore (one more than workers "
	       "need), main or\n"
	       "                          worker (that one's lcore); the first of them that there "
	       "is "
	       "(auto)\n"
	       "  --json                  results as JSON on standard output, one object a line, "
	       "and nothing else\n"
	       "  -h, --help              this text; EAL's options: %s --help\n",
	       program, program, BURST_MAX, BURST_MAX, FLOWS_MAX, FRAME_MIN, FRAME_MAX, ROUTES_MAX,
	       RULES_MAX, TRAIN_MAX, BURST_HELD, program);
}

static void __attribute__((noreturn, format(printf, 1, 2))) bad(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "tp-perf: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nTry 'tp-perf -- --help'.\n");
	exit(2);
}

static uint64_t number(const char *option, const char *text, int base, uint64_t min, uint64_t max)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, base);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-')
		bad("--%s takes a number, not '%s'", option, text);
	if (v < min || v > max)
		bad("--%s takes %llu to %llu, not %s", option, (unsigned long long)min,
		    (unsigned long long)max, text);
	return v;
}

static double fraction(const char *option, const char *text, double min, double max)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end != '\0')
		bad("--%s takes a number, not '%s'", option, text);
	if (!(v >= min && v <= max))
		bad("--%s takes %g to %g, not %s", option, min, max, text);
	return v;
}

enum {
	OPT_FORWARD_MODE = 256,
	OPT_NB_CORES,
	OPT_BURST,
	OPT_RXQ,
	OPT_TXQ,
	OPT_RXD,
	OPT_TXD,
	OPT_TOTAL_NUM_MBUFS,
	OPT_PORTMASK,
	OPT_STATS_PERIOD,
	OPT_CMDLINE_FILE,
	OPT_FLOWS,
	OPT_FRAME,
	OPT_DIRECTION,
	OPT_ROUTES,
	OPT_RULES,
	OPT_STEER,
	OPT_PAYLOAD,
	OPT_RX_CSUM,
	OPT_PROTO,
	OPT_TRAIN,
	OPT_GRO_TIMEOUT,
	OPT_PCAP,
	OPT_WRITE_PCAP,
	OPT_DURATION,
	OPT_JSON,
	OPT_NDR,
	OPT_LATENCY,
	OPT_TRIALS, /* from here on for trials only */
	OPT_TRIAL,
	OPT_WARM_UP,
	OPT_RATE,
	OPT_LOADS,
	OPT_RESOLUTION,
	OPT_CONFIRM,
	OPT_GENERATOR,
};

static const struct option longs[] = {
	{"forward-mode", required_argument, NULL, OPT_FORWARD_MODE},
	{"nb-cores", required_argument, NULL, OPT_NB_CORES},
	{"burst", required_argument, NULL, OPT_BURST},
	{"rxq", required_argument, NULL, OPT_RXQ},
	{"txq", required_argument, NULL, OPT_TXQ},
	{"rxd", required_argument, NULL, OPT_RXD},
	{"txd", required_argument, NULL, OPT_TXD},
	{"total-num-mbufs", required_argument, NULL, OPT_TOTAL_NUM_MBUFS},
	{"portmask", required_argument, NULL, OPT_PORTMASK},
	{"stats-period", required_argument, NULL, OPT_STATS_PERIOD},
	{"interactive", no_argument, NULL, 'i'},
	{"auto-start", no_argument, NULL, 'a'},
	{"cmdline-file", required_argument, NULL, OPT_CMDLINE_FILE},
	{"flows", required_argument, NULL, OPT_FLOWS},
	{"frame", required_argument, NULL, OPT_FRAME},
	{"direction", required_argument, NULL, OPT_DIRECTION},
	{"routes", required_argument, NULL, OPT_ROUTES},
	{"rules", required_argument, NULL, OPT_RULES},
	{"steer", no_argument, NULL, OPT_STEER},
	{"payload", required_argument, NULL, OPT_PAYLOAD},
	{"rx-csum", no_argument, NULL, OPT_RX_CSUM},
	{"proto", required_argument, NULL, OPT_PROTO},
	{"train", required_argument, NULL, OPT_TRAIN},
	{"gro-timeout", required_argument, NULL, OPT_GRO_TIMEOUT},
	{"pcap", required_argument, NULL, OPT_PCAP},
	{"write-pcap", required_argument, NULL, OPT_WRITE_PCAP},
	{"duration", required_argument, NULL, OPT_DURATION},
	{"json", no_argument, NULL, OPT_JSON},
	{"ndr", no_argument, NULL, OPT_NDR},
	{"latency", no_argument, NULL, OPT_LATENCY},
	{"trial", required_argument, NULL, OPT_TRIAL},
	{"warm-up", required_argument, NULL, OPT_WARM_UP},
	{"rate", required_argument, NULL, OPT_RATE},
	{"loads", required_argument, NULL, OPT_LOADS},
	{"resolution", required_argument, NULL, OPT_RESOLUTION},
	{"confirm", required_argument, NULL, OPT_CONFIRM},
	{"generator", required_argument, NULL, OPT_GENERATOR},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static enum direction direction_find(const char *name)
{
	for (enum direction d = DIR_OUT; d <= DIR_BOTH; d++) {
		if (strcmp(direction_name(d), name) == 0)
			return d;
	}
	bad("--direction takes out, in or both, not '%s'", name);
}

static enum generator generator_find(const char *name)
{
	for (enum generator g = GENERATOR_AUTO; g <= GENERATOR_WORKER; g++) {
		if (strcmp(generator_name(g), name) == 0)
			return g;
	}
	bad("--generator takes auto, lcore, main or worker, not '%s'", name);
}

static void set(struct options *o, int option, const char *name, const char *arg)
{
	switch (option) {
	case OPT_FORWARD_MODE: {
		int mode = mode_find(arg);

		if (mode < 0)
			bad("there is no forward mode '%s': io, mac, 5tswap, csum, route, nat44, "
			    "nat44-setup, static, gro, mixed",
			    arg);
		o->mode = (enum mode)mode;
		break;
	}
	case OPT_NB_CORES:
		o->nb_cores = (uint32_t)number(name, arg, 10, 1, 64);
		break;
	case OPT_BURST:
		o->burst = (uint16_t)number(name, arg, 10, 1, BURST_MAX);
		o->burst_set = true;
		break;
	case OPT_RXQ:
		o->rxq = (uint16_t)number(name, arg, 10, 1, 64);
		break;
	case OPT_TXQ:
		o->txq = (uint16_t)number(name, arg, 10, 1, 64);
		break;
	case OPT_RXD:
		o->rxd = (uint16_t)number(name, arg, 10, 1, 32768);
		break;
	case OPT_TXD:
		o->txd = (uint16_t)number(name, arg, 10, 1, 32768);
		break;
	case OPT_TOTAL_NUM_MBUFS:
		o->total_num_mbufs = (uint32_t)number(name, arg, 10, 1024, 16000000);
		break;
	case OPT_PORTMASK:
		o->portmask = number(name, arg, 16, 1, UINT64_MAX);
		break;
	case OPT_STATS_PERIOD:
		o->stats_period_s = (uint32_t)number(name, arg, 10, 0, 86400);
		break;
	case OPT_CMDLINE_FILE:
		o->cmdline_file = arg;
		break;
	case OPT_FLOWS:
		o->flows = (uint32_t)number(name, arg, 10, 1, FLOWS_MAX);
		o->flows_set = true;
		break;
	case OPT_FRAME:
		o->frame = (uint16_t)number(name, arg, 10, FRAME_MIN, FRAME_MAX);
		o->frame_set = true;
		break;
	case OPT_DIRECTION:
		o->direction = direction_find(arg);
		break;
	case OPT_ROUTES:
		o->routes = (uint32_t)number(name, arg, 10, 1, ROUTES_MAX);
		break;
	case OPT_RULES:
		o->rules = (uint32_t)number(name, arg, 10, 0, RULES_MAX);
		break;
	case OPT_STEER:
		o->steer = true;
		break;
	case OPT_PAYLOAD:
		o->payload_cold = strcmp(arg, "cold") == 0;
		if (!o->payload_cold && strcmp(arg, "warm") != 0)
			bad("--payload takes warm or cold, not '%s'", arg);
		break;
	case OPT_RX_CSUM:
		o->rx_csum = true;
		break;
	case OPT_PROTO:
		o->udp = strcmp(arg, "udp") == 0;
		if (!o->udp && strcmp(arg, "tcp") != 0)
			bad("--proto takes tcp or udp, not '%s'", arg);
		break;
	case OPT_TRAIN:
		o->train = (uint32_t)number(name, arg, 10, 1, TRAIN_MAX);
		break;
	case OPT_GRO_TIMEOUT:
		o->gro_timeout_us = (uint32_t)number(name, arg, 10, 0, 1000);
		break;
	case OPT_PCAP:
		o->pcap = arg;
		break;
	case OPT_WRITE_PCAP:
		o->write_pcap = arg;
		break;
	case OPT_DURATION:
		o->duration_s = (uint32_t)number(name, arg, 10, 0, 1000000);
		break;
	case OPT_JSON:
		o->json = true;
		break;
	case OPT_NDR:
		o->ndr = true;
		break;
	case OPT_LATENCY:
		o->latency = true;
		break;
	case OPT_TRIAL:
		o->trial_ms = (uint32_t)number(name, arg, 10, 1, 3600000);
		break;
	case OPT_WARM_UP:
		o->warm_ms = (uint32_t)number(name, arg, 10, 0, 60000);
		break;
	case OPT_RATE:
		o->rate_mpps = fraction(name, arg, 1e-6, 10000);
		break;
	case OPT_LOADS:
		if (!options_loads(o, arg))
			bad("--loads takes up to %u percentages, 1 to 100, with commas between, "
			    "not "
			    "'%s'",
			    LOADS_MAX, arg);
		break;
	case OPT_RESOLUTION:
		o->resolution = fraction(name, arg, 0.01, 50) / 100;
		break;
	case OPT_CONFIRM:
		o->confirm = (uint32_t)number(name, arg, 10, 0, 1000);
		break;
	case OPT_GENERATOR:
		o->generator = generator_find(arg);
		break;
	case 'i':
		o->interactive = true;
		break;
	case 'a':
		o->auto_start = true;
		break;
	}
}

/* trial_option: NULL, or the first of those that are for trials only. */
static void check_trials(const struct options *o, const char *trial_option)
{
	const char *which = o->latency ? "--latency" : "--ndr";
	const char *why = options_without_trials(o);

	if (!options_trials(o)) {
		if (trial_option != NULL && !o->interactive && o->cmdline_file == NULL)
			bad("--%s is for --ndr and --latency", trial_option);
		return;
	}
	if (why != NULL)
		bad("%s does not go with --payload cold: %s", which, why);
	if (o->interactive || o->cmdline_file != NULL)
		bad("%s does not go with a prompt: there it is a command", which);
	if (o->write_pcap != NULL)
		bad("--write-pcap only writes: %s does not go with it", which);
	if (o->rate_mpps > 0 && o->ndr)
		bad("--ndr searches the rate: --rate does not go with it");
	if (o->duration_s == 0)
		bad("%s needs an end: --duration 1 or more", which);
}

/* What does not go together. */
static void check(const struct options *o, bool direction_set)
{
	if (o->mode == MODE_MIXED && direction_set && o->direction != DIR_BOTH)
		bad("mode mixed goes both ways: --direction %s does not go with it",
		    direction_name(o->direction));
	if (o->mode == MODE_MIXED && o->frame_set)
		bad("mode mixed has frames of its own sizes (IMIX): --frame does not go with it");
	if (o->mode == MODE_NAT44_SETUP && o->direction != DIR_OUT)
		bad("mode nat44-setup makes sessions from inside: --direction out");
	if (o->mode == MODE_GRO && (o->direction != DIR_OUT || o->nb_cores > 1 || o->pcap != NULL))
		bad("mode gro goes out, by one worker, with connections of its own: no "
		    "--direction, "
		    "--nb-cores, --pcap");
	if (o->mode != MODE_GRO && (o->payload_cold || o->rx_csum || o->rules == 0 || o->udp ||
				    o->train > 1 || o->gro_timeout_us > 0))
		bad("--payload, --rx-csum, --proto, --train, --gro-timeout and --rules 0 are for "
		    "mode gro");
	if (o->gro_timeout_us > 0 && o->burst > BURST_HELD)
		bad("--gro-timeout goes with bursts of %u at most: nothing waits of larger ones",
		    BURST_HELD);
	if (o->pcap != NULL && o->frame_set)
		bad("--frame does not go with --pcap: frames are as long as in the capture");
	if (o->pcap != NULL && o->mode == MODE_NAT44_SETUP)
		bad("mode nat44-setup needs flows of its own: --pcap does not go with it");
	if (o->json && (o->interactive || o->cmdline_file != NULL))
		bad("--json does not go with a prompt");
	if (o->json && o->duration_s == 0)
		bad("--json needs an end: --duration 1 or more");
	if (o->mode != MODE_ROUTE && o->routes > 1 && !mode_routes(o->mode))
		bad("mode %s has no routes", mode_name(o->mode));
	if (o->steer && (o->nb_cores < 2 || o->rxq < o->nb_cores))
		bad("--steer is for two workers or more, with a receive queue each");
	if (o->steer && (!mode_translates(o->mode) || o->mode == MODE_MIXED || o->pcap != NULL))
		bad("--steer is for flows of its own, in modes nat44, nat44-setup and static");
	if (o->rules > 1 && !mode_translates(o->mode))
		bad("mode %s has no translation rules", mode_name(o->mode));
}

void options_parse(struct options *o, int argc, char **argv)
{
	const char *trial_option = NULL;
	bool direction_set = false;
	int option, at = -1;

	*o = (struct options){
		.mode = MODE_NAT44,
		.flows = 65536,
		.frame = FRAME_MIN,
		.burst = BURST_MAX,
		.routes = 1,
		.rules = 1,
		.train = 1,
		.duration_s = 10,
		.nb_cores = 1,
		.total_num_mbufs = 16384,
		.rxd = 1024,
		.txd = 1024,
		.portmask = UINT64_MAX,
		.nat_timeout_s = 1,
		.resolution = 0.005,
		.trial_ms = 200,
		.warm_ms = 20,
		.confirm = 2,
		.loads = {10, 50, 90},
		.n_loads = 3,
	};
	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, "+:iah", longs, &at)) != -1) {
		if (option == 'h') {
			options_usage("tp-perf");
			exit(0);
		}
		if (option == '?') {
			if (optopt != 0 && optopt < 256)
				bad("there is no option -%c", optopt);
			bad("there is no option %s", argv[optind - 1]);
		}
		if (option == ':')
			bad("%s wants a value", argv[optind - 1]);
		direction_set |= option == OPT_DIRECTION;
		if (option > OPT_TRIALS && trial_option == NULL)
			trial_option = longs[at].name;
		set(o, option, option >= 256 ? longs[at].name : "", optarg);
	}
	if (optind < argc)
		bad("'%s' is no option", argv[optind]);
	if (o->direction == 0)
		o->direction = o->mode == MODE_MIXED ? DIR_BOTH : DIR_OUT;
	if (o->mode == MODE_GRO && !o->frame_set)
		o->frame = FRAME_MAX;
	if (o->mode == MODE_GRO && !o->flows_set)
		o->flows = 8;
	if (o->gro_timeout_us > 0 && !o->burst_set)
		o->burst = 16;
	if (o->rxq == 0)
		o->rxq = (uint16_t)o->nb_cores;
	if (o->txq == 0)
		o->txq = (uint16_t)o->nb_cores;
	check(o, direction_set);
	check_trials(o, trial_option);
}
