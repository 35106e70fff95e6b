/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_num.h>
#include <cmdline_parse_string.h>
#include <cmdline_rdline.h>
#include <cmdline_socket.h>

#include <rte_cycles.h>

#include "bench.h"
#include "latency.h"
#include "ports.h"
#include "report.h"
#include "shell.h"

#define SETTLE_MS 1 /* a lane's counters after it was told to stop */

static struct options *opts;
static bool quit;

/* ---- start, stop, quit ----------------------------------------------------------------------- */

static void start(void)
{
	if (bench_running()) {
		printf("Packet forwarding already started\n");
		return;
	}
	if (!bench_prepare(opts)) {
		printf("Not started\n");
		return;
	}
	bench_clear();
	printf("%s packet forwarding - ports=%u - cores=%u - burst=%u - %s\n",
	       mode_name(opts->mode), ports.n, bench_lanes(), opts->burst,
	       ports.own ? "packets of its own" : "ports given");
	bench_start(opts);
}

static void stop(void)
{
	double mpps, cycles;

	if (!bench_running()) {
		printf("Packet forwarding not started\n");
		return;
	}
	printf("Telling cores to stop...");
	bench_stop();
	rte_delay_ms(SETTLE_MS);
	printf("\nWaiting for lcores to finish...\n");
	report_forward_stats(stdout, opts);
	bench_measure_io(&mpps, &cycles);
	printf("  io of the same ports: %.2f Mpps, %.1f cycles/packet\n\nDone.\n", mpps, cycles);
}

/* As --ndr or --latency without a prompt, with the mode and the options of now. */
static void run_trials(bool latency)
{
	struct options o = *opts;
	const char *why = options_without_trials(&o);

	if (bench_running()) {
		printf("Please stop forwarding first\n");
		return;
	}
	if (!ports.own) {
		printf("Over ports given, without a prompt: --ndr, --latency\n");
		return;
	}
	if (why != NULL) {
		printf("Not with --payload cold: %s\n", why);
		return;
	}
	o.ndr = !latency;
	o.latency = latency;
	if (o.duration_s == 0)
		o.duration_s = 1;
	if (!bench_prepare(&o) || !latency_run(stdout, &o))
		printf("Not measured\n");
}

struct word_result {
	cmdline_fixed_string_t word;
};

static void run_word(void *parsed, struct cmdline *cl, void *data)
{
	const char *word = ((struct word_result *)parsed)->word;

	(void)data;
	if (strcmp(word, "start") == 0) {
		start();
	} else if (strcmp(word, "stop") == 0) {
		stop();
	} else if (strcmp(word, "ndr") == 0 || strcmp(word, "latency") == 0) {
		run_trials(strcmp(word, "latency") == 0);
	} else if (strcmp(word, "quit") == 0) {
		quit = true;
		cmdline_quit(cl);
	} else {
		cmdline_printf(cl,
			       "start                  start packet forwarding\n"
			       "stop                   stop it, and show what was forwarded\n"
			       "ndr                    search the highest rate without loss\n"
			       "latency                how long frames take, at parts of it\n"
			       "set fwd MODE           io, mac, 5tswap, csum, route, nat44, "
			       "static, mixed\n"
			       "set burst N            packets received at once, 1 to %u\n"
			       "show fwd stats all     packets forwarded since start or clear\n"
			       "show port stats all    packets of the ports, and rates since they "
			       "were last shown\n"
			       "clear fwd stats all    count from zero\n"
			       "quit\n",
			       BURST_MAX);
	}
}

static cmdline_parse_token_string_t word_token =
	TOKEN_STRING_INITIALIZER(struct word_result, word, "start#stop#ndr#latency#quit#help");
static cmdline_parse_inst_t word_cmd = {
	.f = run_word,
	.help_str = "start|stop|ndr|latency|quit|help",
	.tokens = {(void *)&word_token, NULL},
};

/* ---- set ------------------------------------------------------------------------------------- */

struct set_fwd_result {
	cmdline_fixed_string_t set, fwd, mode;
};

static void run_set_fwd(void *parsed, struct cmdline *cl, void *data)
{
	int mode = mode_find(((struct set_fwd_result *)parsed)->mode);

	(void)data;
	if (bench_running()) {
		cmdline_printf(cl, "Please stop forwarding first\n");
		return;
	}
	if (mode == MODE_NAT44_SETUP) {
		cmdline_printf(cl,
			       "nat44-setup runs without a prompt: --forward-mode nat44-setup\n");
		return;
	}
	opts->mode = (enum mode)mode;
	opts->direction = mode == MODE_MIXED		? DIR_BOTH
			  : opts->direction == DIR_BOTH ? DIR_OUT
							: opts->direction;
	cmdline_printf(cl, "Set %s packet forwarding mode\n", mode_name(opts->mode));
}

static cmdline_parse_token_string_t set_token =
	TOKEN_STRING_INITIALIZER(struct set_fwd_result, set, "set");
static cmdline_parse_token_string_t set_fwd_token =
	TOKEN_STRING_INITIALIZER(struct set_fwd_result, fwd, "fwd");
static cmdline_parse_token_string_t set_fwd_mode_token = TOKEN_STRING_INITIALIZER(
	struct set_fwd_result, mode, "io#mac#5tswap#csum#route#nat44#nat44-setup#static#mixed");
static cmdline_parse_inst_t set_fwd_cmd = {
	.f = run_set_fwd,
	.help_str = "set fwd <mode>",
	.tokens = {(void *)&set_token, (void *)&set_fwd_token, (void *)&set_fwd_mode_token, NULL},
};

struct set_burst_result {
	cmdline_fixed_string_t set, burst;
	uint16_t n;
};

static void run_set_burst(void *parsed, struct cmdline *cl, void *data)
{
	uint16_t n = ((struct set_burst_result *)parsed)->n;

	(void)data;
	if (n < 1 || n > BURST_MAX) {
		cmdline_printf(cl, "burst must be 1 to %u\n", BURST_MAX);
		return;
	}
	opts->burst = n;
	ports_set_burst(n);
	cmdline_printf(cl, "Number of packets per burst set to %u\n", n);
}

static cmdline_parse_token_string_t burst_set_token =
	TOKEN_STRING_INITIALIZER(struct set_burst_result, set, "set");
static cmdline_parse_token_string_t burst_token =
	TOKEN_STRING_INITIALIZER(struct set_burst_result, burst, "burst");
static cmdline_parse_token_num_t burst_n_token =
	TOKEN_NUM_INITIALIZER(struct set_burst_result, n, RTE_UINT16);
static cmdline_parse_inst_t set_burst_cmd = {
	.f = run_set_burst,
	.help_str = "set burst <n>",
	.tokens = {(void *)&burst_set_token, (void *)&burst_token, (void *)&burst_n_token, NULL},
};

/* ---- show and clear -------------------------------------------------------------------------- */

struct stats_result {
	cmdline_fixed_string_t verb, what, stats, all;
};

static void run_stats(void *parsed, struct cmdline *cl, void *data)
{
	const struct stats_result *r = parsed;

	(void)data;
	(void)cl;
	if (strcmp(r->verb, "clear") == 0)
		bench_clear();
	else if (strcmp(r->what, "port") == 0)
		report_port_stats(stdout);
	else
		report_forward_stats(stdout, opts);
}

static cmdline_parse_token_string_t verb_token =
	TOKEN_STRING_INITIALIZER(struct stats_result, verb, "show#clear");
static cmdline_parse_token_string_t what_token =
	TOKEN_STRING_INITIALIZER(struct stats_result, what, "fwd#port");
static cmdline_parse_token_string_t stats_token =
	TOKEN_STRING_INITIALIZER(struct stats_result, stats, "stats");
static cmdline_parse_token_string_t all_token =
	TOKEN_STRING_INITIALIZER(struct stats_result, all, "all");
static cmdline_parse_inst_t stats_cmd = {
	.f = run_stats,
	.help_str = "show|clear fwd|port stats all",
	.tokens = {(void *)&verb_token, (void *)&what_token, (void *)&stats_token,
		   (void *)&all_token, NULL},
};

static cmdline_parse_ctx_t commands[] = {&word_cmd, &set_fwd_cmd, &set_burst_cmd, &stats_cmd, NULL};

/* ---- where commands come from ---------------------------------------------------------------- */

static bool run_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct cmdline *cl;

	if (fd < 0) {
		fprintf(stderr, "tp-perf: %s: can't be read\n", path);
		return false;
	}
	cl = cmdline_new(commands, "", fd, STDOUT_FILENO);
	if (cl == NULL) {
		close(fd);
		return false;
	}
	cmdline_interact(cl);
	cmdline_quit(cl);
	cmdline_free(cl);
	close(fd);
	return true;
}

bool shell_run(struct options *o)
{
	struct cmdline *cl;

	opts = o;
	setlinebuf(stdout);
	if (o->auto_start)
		start();
	if (o->cmdline_file != NULL && !run_file(o->cmdline_file))
		return false;
	if (o->interactive && !quit) {
		if (isatty(STDIN_FILENO))
			cl = cmdline_stdin_new(commands, "tp-perf> ");
		else
			cl = cmdline_new(commands, "tp-perf> ", STDIN_FILENO, STDOUT_FILENO);
		if (cl == NULL)
			return false;
		cmdline_interact(cl);
		if (isatty(STDIN_FILENO))
			cmdline_stdin_exit(cl);
		else
			cmdline_free(cl);
	}
	if (bench_running())
		stop();
	return true;
}
