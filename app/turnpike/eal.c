/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting DPDK. See eal.h. */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "cli/buf.h"

#include "log.h"

#include "eal.h"

#define MAX_ARGS 64
#define HUGE_2M	 "/sys/kernel/mm/hugepages/hugepages-2048kB/"

bool eal_is_pci(const char *devargs)
{
	const char *p = devargs;
	unsigned n = 0;

	if (strncmp(p, "pci:", 4) == 0)
		p += 4;
	/* [DDDD:]BB:DD.F */
	for (; *p != '\0' && *p != ','; p++) {
		if (*p == ':' || *p == '.')
			n++;
		else if (!isxdigit((unsigned char)*p))
			return false;
	}
	return n >= 2;
}

/* What lib/fwd and lib/nat take at start, with room for packet buffers and queues of ports. */
static unsigned need_mib(const struct eal_needs *needs)
{
	uint64_t bytes = (uint64_t)240 << 20;

	bytes += (uint64_t)needs->max_sessions * 256;
	bytes += (uint64_t)needs->max_routes * 128;
	bytes += (uint64_t)needs->packet_buffers * 2560;
	return (unsigned)(bytes >> 20);
}

static uint64_t read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long v = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%llu", &v) != 1)
		v = 0;
	fclose(f);
	return v;
}

static unsigned free_huge_mib(void)
{
	uint64_t n2m = read_number(HUGE_2M "free_hugepages");
	uint64_t n1g = read_number("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages");

	return (unsigned)(n2m * 2 + n1g * 1024);
}

/* The main thread on one CPU, a worker on each other; with one CPU only, both on it. */
static void choose_lcores(struct buf *b)
{
	cpu_set_t set;
	int main_cpu = -1;
	unsigned n = 0;

	if (sched_getaffinity(0, sizeof(set), &set) != 0) {
		buf_puts(b, "0@0,1@0");
		return;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE && n <= FWD_MAX_WORKERS; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		if (main_cpu < 0)
			main_cpu = cpu;
		buf_printf(b, "%s%u@%d", n > 0 ? "," : "", n, cpu);
		n++;
	}
	if (n == 1)
		buf_printf(b, ",1@%d", main_cpu);
}

/* DPDK's files without huge pages: by the socket, which one daemon at a time holds, so that daemons
 * do not meet and the next one takes over what a dead one left. */
static void choose_prefix(char out[32], const char *socket)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *socket != '\0'; socket++)
		h = (h ^ (unsigned char)*socket) * 16777619u;
	snprintf(out, 32, "turnpike-%08x", h);
}

static void choose_memory(char **argv, int *argc, const struct eal_needs *needs, char mib[16],
			  char prefix[32])
{
	unsigned need = need_mib(needs), have = free_huge_mib();
	unsigned reserved = (unsigned)read_number(HUGE_2M "nr_hugepages");

	if (have >= need) {
		/* no files on hugetlbfs to be left behind, and any number of daemons; one file for
		 * all pages, since virtio-user can name at most eight to its host */
		argv[(*argc)++] = (char *)"--in-memory";
		argv[(*argc)++] = (char *)"--single-file-segments";
		return;
	}
	log_warning(
		"%u MiB of huge pages are free, %u MiB are needed: running without them, slower. "
		"To reserve them: sysctl -w vm.nr_hugepages=%u",
		have, need, reserved + (need - have + 1) / 2);
	/* ordinary pages are taken when they are touched: room for all routes costs nothing */
	snprintf(mib, 16, "%u", need + need / 2 + needs->max_routes / 1024);
	argv[(*argc)++] = (char *)"--no-huge";
	argv[(*argc)++] = (char *)"--no-shconf"; /* --in-memory does not go with --no-huge */
	choose_prefix(prefix, needs->socket);
	argv[(*argc)++] = (char *)"--file-prefix";
	argv[(*argc)++] = prefix;
	argv[(*argc)++] = (char *)"-m";
	argv[(*argc)++] = mib;
}

int eal_start(const char *program, int argc, char **argv, const struct eal_needs *needs,
	      struct fwd_err *err)
{
	char *args[MAX_ARGS + 1], mib[16], prefix[32];
	struct buf lcores = {0};
	int n = 0, ret;

	if (argc > MAX_ARGS - 1) {
		snprintf(err->msg, sizeof(err->msg), "more than %d EAL options", MAX_ARGS - 1);
		return -1;
	}
	args[n++] = (char *)program;
	if (argc > 0) {
		for (int i = 0; i < argc; i++)
			args[n++] = argv[i];
	} else {
		choose_lcores(&lcores);
		args[n++] = (char *)"--lcores";
		args[n++] = lcores.s;
		choose_memory(args, &n, needs, mib, prefix);
		if (!needs->pci) {
			args[n++] = (char *)"--no-pci";
			args[n++] =
				(char *)"--iova-mode=va"; /* half the memory for packet buffers */
		}
		args[n++] = (char *)"--no-telemetry";
		args[n++] = (char *)"--log-level=4";
	}
	args[n] = NULL;
	ret = rte_eal_init(n, args);
	buf_free(&lcores);
	if (ret >= 0)
		return 0;
	snprintf(err->msg, sizeof(err->msg), "DPDK does not start: %s%s", strerror(rte_errno),
		 rte_errno != ENOENT && rte_errno != EACCES && rte_errno != EPERM ? ""
		 : geteuid() != 0 ? " (it wants root, or CAP_NET_ADMIN and huge pages)"
				  : " (where no hugetlbfs is mounted, --in-memory does without)");
	return -1;
}
