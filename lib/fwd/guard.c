/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "dp.h"
#include "guard.h"
#include "turnpike_xdp.h"

#define GUARD_MAX FWD_MAX_IFACES

/* One message; the guard answers each with a byte, so that what guard_add() returned from is known
 * to it. */
struct guard_msg {
	int ifindex;
	uint32_t prog_id;
	bool add;
};

static int guard_fd = -1;

/* ---- in the guard's process ------------------------------------------------------------------ */

static void guard_detach(const struct guard_msg *entry)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info), id = 0;
	int fd;

	if (bpf_xdp_query_id(entry->ifindex, 0, &id) || !id)
		return;
	if (entry->prog_id && entry->prog_id != id)
		return;
	fd = bpf_prog_get_fd_by_id(id);
	if (fd < 0)
		return;
	if (!entry->prog_id &&
	    (bpf_obj_get_info_by_fd(fd, &info, &len) || strcmp(info.name, XDP_PROGRAM_NAME)))
		goto out;
	/* Only if it is still this one: a router started meanwhile may have attached its own. */
	opts.old_prog_fd = fd;
	bpf_xdp_detach(entry->ifindex, 0, &opts);
out:
	close(fd);
}

static _Noreturn void guard_main(int fd)
{
	static struct guard_msg entries[GUARD_MAX];
	unsigned n = 0, i;
	struct guard_msg msg;
	ssize_t got;

	for (;;) {
		do {
			got = recv(fd, &msg, sizeof(msg), 0);
		} while (got < 0 && errno == EINTR);
		if (got != sizeof(msg))
			break;
		for (i = 0; i < n && entries[i].ifindex != msg.ifindex; i++)
			;
		if (msg.add && i < GUARD_MAX) {
			entries[i] = msg;
			n += i == n;
		} else if (!msg.add && i < n) {
			entries[i] = entries[--n];
		}
		(void)send(fd, "", 1, MSG_NOSIGNAL);
	}
	for (i = 0; i < n; i++)
		guard_detach(&entries[i]);
	_exit(0);
}

static void guard_process(int fd)
{
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT,
				      SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM};
	unsigned i;
	sigset_t none;

	setsid();
	for (i = 0; i < RTE_DIM(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "turnpike-guard");
	libbpf_set_print(NULL);
	if (chdir("/") < 0)
		_exit(1);
	/* Nothing of the parent's may be held open by us, its terminal and pipes included: whoever
	 * waits for the end of its output must not wait for us. */
	if (fd && (dup2(fd, 0) < 0 || close_range(1, ~0u, 0) < 0))
		_exit(1);
	guard_main(0);
}

/* ---- in the router --------------------------------------------------------------------------- */

int fwd_guard_start(struct fwd_err *err)
{
	int pair[2];
	pid_t pid;

	if (guard_fd >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return dp_err(err, -errno, "guard: socketpair: %s", strerror(errno));
	pid = fork();
	if (pid < 0) {
		int rc = -errno;

		close(pair[0]);
		close(pair[1]);
		return dp_err(err, rc, "guard: fork: %s", strerror(-rc));
	}
	if (pid == 0) {
		close(pair[0]);
		guard_process(pair[1]);
	}
	close(pair[1]);
	guard_fd = pair[0];
	return 0;
}

static int guard_tell(const struct guard_msg *msg)
{
	ssize_t got;
	char ack;

	if (guard_fd < 0)
		return -ENOTCONN;
	do {
		got = send(guard_fd, msg, sizeof(*msg), MSG_NOSIGNAL);
	} while (got < 0 && errno == EINTR);
	if (got != sizeof(*msg))
		return -EPIPE;
	do {
		got = recv(guard_fd, &ack, 1, 0);
	} while (got < 0 && errno == EINTR);
	return got == 1 ? 0 : -EPIPE;
}

int guard_add(int ifindex, uint32_t prog_id, struct fwd_err *err)
{
	const struct guard_msg msg = {.ifindex = ifindex, .prog_id = prog_id, .add = true};
	int rc = guard_tell(&msg);

	if (rc == -ENOTCONN)
		return dp_err(err, rc,
			      "no process guards XDP programs: fwd_guard_start() was not called");
	if (rc)
		return dp_err(err, rc,
			      "the process that guards XDP programs (turnpike-guard) is gone: "
			      "restart the router to attach more");
	return 0;
}

void guard_del(int ifindex)
{
	const struct guard_msg msg = {.ifindex = ifindex};

	(void)guard_tell(&msg);
}
