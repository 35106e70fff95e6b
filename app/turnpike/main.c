/* SPDX-License-Identifier: BSD-3-Clause */
/* turnpike, the router's daemon: start-up, the control thread's event loop, and the end. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include <rte_eal.h>

#include "eal.h"
#include "live.h"
#include "load.h"
#include "log.h"
#include "server.h"
#include "transition.h"

#define DEFAULT_SOCKET "/run/turnpike/turnpike.sock"

enum tag { TAG_SIGNAL, TAG_FWD, TAG_SERVER };

struct options {
	const char *config, *socket;
	bool check_only;
	int eal_argc;
	char **eal_argv;
};

static void usage(FILE *to)
{
	fprintf(to,
		"usage: turnpike [-c FILE [-t]] [-s SOCKET] [-h] [-V] [-- EAL OPTIONS]\n"
		"  -c FILE    configuration to start with, and for 'config save'\n"
		"  -t         checks the configuration, and starts nothing\n"
		"  -s SOCKET  control socket (default $TURNPIKE_SOCKET, or " DEFAULT_SOCKET ")\n"
		"  -h         this text\n"
		"  -V         version\n"
		"Options after -- go to DPDK as they are; without any, turnpike chooses them.\n");
}

/* 0: go on. Else the exit status plus one. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	const char *env = getenv("TURNPIKE_SOCKET");
	int c;

	o->config = NULL;
	o->socket = env != NULL && *env != '\0' ? env : DEFAULT_SOCKET;
	o->check_only = false;
	while ((c = getopt_long(argc, argv, "+c:s:thV", long_options, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 's':
			o->socket = optarg;
			break;
		case 't':
			o->check_only = true;
			break;
		case 'h':
			usage(stdout);
			return 1;
		case 'V':
			printf("turnpike %s\n", TURNPIKE_VERSION);
			return 1;
		default:
			usage(stderr);
			return 3;
		}
	}
	if (optind < argc && strcmp(argv[optind - 1], "--") != 0) {
		fprintf(stderr, "turnpike: '%s' is not expected; EAL options go behind --\n",
			argv[optind]);
		usage(stderr);
		return 3;
	}
	if (o->check_only && o->config == NULL) {
		fprintf(stderr, "turnpike: -t checks the file that -c names\n");
		usage(stderr);
		return 3;
	}
	o->eal_argc = argc - optind;
	o->eal_argv = argv + optind;
	return 0;
}

static void log_load_errors(const struct load *l)
{
	for (unsigned i = 0; i < l->n_errors && i < LOAD_MAX_ERRORS; i++) {
		const struct load_error *x = &l->errors[i];
		char at[48] = "";

		if (x->line > 0 && x->e.column > 0)
			snprintf(at, sizeof(at), ":%u:%u", x->line, x->e.column);
		else if (x->line > 0)
			snprintf(at, sizeof(at), ":%u", x->line);
		log_error("%s%s: %s%s%s", l->name, at, x->e.message,
			  x->e.hint[0] != '\0' ? "; " : "", x->e.hint);
	}
	if (l->n_errors > LOAD_MAX_ERRORS)
		log_error("%s: and %u more errors", l->name, l->n_errors - LOAD_MAX_ERRORS);
}

/* The configuration file, read and checked before anything starts. False: it is no good. */
static bool read_config(const struct options *o, struct load **out)
{
	struct fwd_err err;

	*out = NULL;
	if (o->config == NULL)
		return true;
	*out = load_file(o->config, &err);
	if (*out == NULL) {
		log_error("%s", err.msg);
		return false;
	}
	if (load_finish(*out))
		return true;
	log_load_errors(*out);
	load_free(*out);
	return false;
}

static void find_needs(const struct load *l, struct eal_needs *needs)
{
	struct net_iface iface;

	needs->max_sessions = l != NULL ? l->router.max_sessions : ROUTER_MAX_SESSIONS;
	needs->max_routes = l != NULL ? l->router.max_routes : ROUTER_MAX_ROUTES;
	needs->packet_buffers = l != NULL ? l->router.packet_buffers : ROUTER_BUFFERS;
	needs->pci = false;
	for (unsigned i = 0; l != NULL && i < FWD_MAX_IFACES; i++) {
		const struct net *net = &l->router.net;

		if (net->ops->iface_get(net->ctx, (uint16_t)i, &iface) == 0 &&
		    eal_is_pci(iface.conf.devargs))
			needs->pci = true;
	}
}

/* ---- the event loop -------------------------------------------------------------------------- */

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool watch(int epoll_fd, int fd, enum tag tag)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = tag};

	return fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* True: stop. */
static bool take_signal(int fd)
{
	struct signalfd_siginfo info;
	bool stop = false;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			log_info("SIGHUP is not used: a configuration is loaded by 'tpctl config "
				 "load FILE'");
		else
			stop = true;
	}
	return stop;
}

static int wait_ms(bool more, uint64_t fwd_due, int server_ms)
{
	uint64_t now = now_ms();
	int ms;

	if (more || fwd_due <= now)
		return 0;
	ms = fwd_due - now > 60000 ? 60000 : (int)(fwd_due - now);
	return server_ms >= 0 && server_ms < ms ? server_ms : ms;
}

static void loop(int epoll_fd, int signal_fd, struct server *server)
{
	uint64_t fwd_due = 0;
	bool more = false;

	for (;;) {
		struct epoll_event ev[64];
		bool fwd_ready = false;
		int n = epoll_wait(epoll_fd, ev, 64,
				   wait_ms(more, fwd_due, server_timeout(server)));

		for (int i = 0; i < n; i++) {
			switch (ev[i].data.u64) {
			case TAG_SIGNAL:
				if (take_signal(signal_fd))
					return;
				break;
			case TAG_FWD:
				fwd_ready = true;
				break;
			default:
				server_event(server, ev[i].data.u64, ev[i].events);
				break;
			}
		}
		if (fwd_ready || now_ms() >= fwd_due) {
			int ms = fwd_poll();

			fwd_due = now_ms() + (uint64_t)(ms >= 0 ? ms : 1000);
		}
		more = server_turn(server);
	}
}

/* ---- start and stop -------------------------------------------------------------------------- */

static int serve(const struct options *o, struct router *r, int signal_fd)
{
	struct fwd_err err = {0};
	struct server *server;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (!watch(epoll_fd, signal_fd, TAG_SIGNAL) || !watch(epoll_fd, fwd_poll_fd(), TAG_FWD)) {
		log_error("epoll: %s", strerror(errno));
		return 1;
	}
	server = server_open(o->socket, r, o->config, epoll_fd, TAG_SERVER, &err);
	if (server == NULL) {
		log_error("%s", err.msg);
		close(epoll_fd);
		return 1;
	}
	log_info("ready on %s, %u worker%s", o->socket, fwd_worker_count(),
		 fwd_worker_count() == 1 ? "" : "s");
	sd_notify(0, "READY=1");
	loop(epoll_fd, signal_fd, server);
	sd_notify(0, "STOPPING=1");
	log_info("stopping");
	server_close(server);
	close(epoll_fd);
	return 0;
}

static int configure(const struct options *o, struct load *l, int signal_fd)
{
	struct router r;
	struct cli_error e;
	int ret;

	ret = router_init_running(&r, live_net(), fwd_nat_set);
	if (ret != 0) {
		log_error("translation: %s", strerror(-ret));
		return 1;
	}
	if (l != NULL) {
		r.max_sessions = l->router.max_sessions;
		r.max_routes = l->router.max_routes;
		r.packet_buffers = l->router.packet_buffers;
		log_set_level(l->router.log_level);
	}
	if (l != NULL && !transition(&r, &l->router, &e)) {
		log_error("%s: %s%s%s", o->config, e.message, e.hint[0] != '\0' ? "; " : "",
			  e.hint);
		router_free(&r);
		return 1;
	}
	load_free(l);
	ret = serve(o, &r, signal_fd);
	router_free(&r);
	return ret;
}

static int run(const struct options *o, struct load *l)
{
	struct fwd_params params = {.log = log_line};
	struct eal_needs needs;
	struct fwd_err err = {0};
	int signal_fd, ret;

	find_needs(l, &needs);
	needs.socket = o->socket;
	signal_fd = block_signals();
	if (signal_fd < 0) {
		log_error("signalfd: %s", strerror(errno));
		return 1;
	}
	if (eal_start("turnpike", o->eal_argc, o->eal_argv, &needs, &err) != 0) {
		log_error("%s", err.msg);
		return 1;
	}
	params.max_sessions = needs.max_sessions;
	params.max_routes = needs.max_routes;
	params.mbufs = needs.packet_buffers;
	if (fwd_start(&params, &err) != 0) {
		log_error("%s", err.msg);
		rte_eal_cleanup();
		return 1;
	}
	ret = configure(o, l, signal_fd);
	fwd_stop();
	rte_eal_cleanup();
	close(signal_fd);
	return ret;
}

int main(int argc, char **argv)
{
	struct options o;
	struct fwd_err err = {0};
	struct load *l;
	int lock_fd, ret = parse_options(argc, argv, &o);

	setvbuf(stderr, NULL, _IOLBF, 0);
	if (ret != 0)
		return ret - 1;
	if (!read_config(&o, &l))
		return 1;
	if (o.check_only) {
		printf("%s: no errors\n", o.config);
		load_free(l);
		return 0;
	}
	/* Before the lock, which the guard would otherwise keep for as long as it lives. */
	if (fwd_guard_start(&err) != 0)
		log_warning("%s", err.msg);
	if (server_lock(o.socket, &lock_fd, &err) != 0) {
		log_error("%s", err.msg);
		return 1;
	}
	ret = run(&o, l);
	server_unlock(o.socket, lock_fd);
	return ret;
}
