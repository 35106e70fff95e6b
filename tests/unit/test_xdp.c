/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XDP program's verdicts, by the kernel's test run of the program that the router embeds, and
 * the guard process. Needs root (CAP_BPF, CAP_NET_ADMIN).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "fwd_fixture.h"
#include "guard.h"
#include "xdp/turnpike_xdp.h"
#include "xdp/xdp.h"

#define ROUTER IP(192, 0, 2, 1) /* in local_addrs */
#define OTHER  IP(192, 0, 2, 9)
#define REMOTE IP(198, 51, 100, 7)

static struct {
	struct bpf_object *obj;
	int prog, pass_ports, pass_count, local_addrs, xsks, sock;
} x;

static int load(void **state)
{
	size_t size;
	const void *elf = xdp_program_elf(&size);
	const uint32_t zero = 0;

	(void)state;
	x.obj = bpf_object__open_mem(elf, size, NULL);
	assert_non_null(x.obj);
	if (bpf_object__load(x.obj)) {
		print_error("the program does not load: %s (is this root?)\n", strerror(errno));
		return -1;
	}
	x.prog = bpf_program__fd(bpf_object__find_program_by_name(x.obj, XDP_PROGRAM_NAME));
	x.pass_ports = bpf_object__find_map_fd_by_name(x.obj, "pass_ports");
	x.pass_count = bpf_object__find_map_fd_by_name(x.obj, "pass_count");
	x.local_addrs = bpf_object__find_map_fd_by_name(x.obj, "local_addrs");
	x.xsks = bpf_object__find_map_fd_by_name(x.obj, "xsks_map");
	x.sock = socket(AF_XDP, SOCK_RAW, 0);
	assert_true(x.sock >= 0);
	assert_int_equal(bpf_map_update_elem(x.xsks, &zero, &x.sock, BPF_ANY), 0);
	return 0;
}

static int unload(void **state)
{
	(void)state;
	close(x.sock);
	bpf_object__close(x.obj);
	return 0;
}

static void set_pass(uint8_t protocol, uint16_t port, bool on)
{
	uint32_t word = xdp_pass_word(protocol, port), zero = 0, count;
	uint64_t bits;

	assert_int_equal(bpf_map_lookup_elem(x.pass_ports, &word, &bits), 0);
	assert_int_equal(bpf_map_lookup_elem(x.pass_count, &zero, &count), 0);
	if (on != !!(bits & xdp_pass_bit(port)))
		count += on ? 1 : -1;
	bits = on ? bits | xdp_pass_bit(port) : bits & ~xdp_pass_bit(port);
	assert_int_equal(bpf_map_update_elem(x.pass_ports, &word, &bits, BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(x.pass_count, &zero, &count, BPF_ANY), 0);
}

static void set_local(uint32_t addr_be, bool on)
{
	const uint8_t one = 1;

	if (on)
		assert_int_equal(bpf_map_update_elem(x.local_addrs, &addr_be, &one, BPF_ANY), 0);
	else
		(void)bpf_map_delete_elem(x.local_addrs, &addr_be);
}

static int pass_ssh_and_dns(void **state)
{
	(void)state;
	set_pass(IPPROTO_TCP, 22, true);
	set_pass(IPPROTO_UDP, 53, true);
	set_local(ROUTER, true);
	return 0;
}

static int pass_nothing(void **state)
{
	(void)state;
	set_pass(IPPROTO_TCP, 22, false);
	set_pass(IPPROTO_UDP, 53, false);
	set_local(ROUTER, false);
	return 0;
}

/* A frame under construction. */
struct frame {
	uint8_t bytes[256];
	unsigned len;
};

static void put(struct frame *f, const void *bytes, unsigned len)
{
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

static void put_be16(struct frame *f, unsigned v)
{
	const uint8_t b[] = {(uint8_t)(v >> 8), (uint8_t)v};

	put(f, b, sizeof(b));
}

static void ethernet(struct frame *f, unsigned type)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};

	f->len = 0;
	put(f, macs, sizeof(macs));
	put_be16(f, type);
}

static void ip4(struct frame *f, uint8_t protocol, uint32_t src, uint32_t dst, unsigned fragment,
		unsigned options)
{
	uint8_t h[60] = {(uint8_t)(0x45 + options / 4),
			 0,
			 0,
			 100,
			 0,
			 1,
			 (uint8_t)(fragment >> 8),
			 (uint8_t)fragment,
			 64,
			 protocol};

	memcpy(h + 12, &src, 4);
	memcpy(h + 16, &dst, 4);
	memset(h + 20, 1, options); /* no-operation */
	put(f, h, 20 + options);
}

static void ports(struct frame *f, unsigned src, unsigned dst)
{
	static const uint8_t rest[16];

	put_be16(f, src);
	put_be16(f, dst);
	put(f, rest, sizeof(rest));
}

/* The verdict on the first len bytes; the kernel takes no frame below 14. */
static uint32_t verdict_cut(const struct frame *f, unsigned len)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->bytes, .data_size_in = len);

	assert_int_equal(bpf_prog_test_run_opts(x.prog, &opts), 0);
	return opts.retval;
}

static uint32_t verdict(const struct frame *f)
{
	return verdict_cut(f, f->len);
}

static struct frame datagram(uint8_t protocol, uint32_t src, unsigned sport, uint32_t dst,
			     unsigned dport)
{
	struct frame f;

	ethernet(&f, 0x0800);
	ip4(&f, protocol, src, dst, 0, 0);
	ports(&f, sport, dport);
	return f;
}

/* IPv4 of any kind is the router's; ARP, IPv6 and the rest the kernel's. */
static void test_ethertypes(void **state)
{
	static const unsigned kernels[] = {0x0806, 0x86dd, 0x88cc, 0x8863, 0x88a8, 0x0026, 0x0000};
	struct frame f = datagram(IPPROTO_TCP, REMOTE, 1000, OTHER, 80);

	(void)state;
	assert_int_equal(verdict(&f), XDP_REDIRECT);
	f = datagram(IPPROTO_GRE, REMOTE, 1000, OTHER, 80);
	assert_int_equal(verdict(&f), XDP_REDIRECT);
	for (unsigned i = 0; i < RTE_DIM(kernels); i++) {
		put16(f.bytes + 12, kernels[i]);
		assert_int_equal(verdict(&f), XDP_PASS);
	}
}

/* One 802.1Q tag is looked behind, a second one is the kernel's. */
static void test_vlan(void **state)
{
	struct frame f;

	(void)state;
	ethernet(&f, 0x8100);
	put_be16(&f, 0x2000 | 10);
	put_be16(&f, 0x0800);
	ip4(&f, IPPROTO_TCP, REMOTE, OTHER, 0, 0);
	ports(&f, 1, 22);
	assert_int_equal(verdict(&f), XDP_REDIRECT);
	memcpy(f.bytes + 14 + 4 + 16, &(uint32_t){ROUTER}, 4);
	assert_int_equal(verdict(&f), XDP_PASS);
	put16(f.bytes + 16, 0x0806);
	assert_int_equal(verdict(&f), XDP_PASS);
	put16(f.bytes + 16, 0x8100);
	assert_int_equal(verdict(&f), XDP_PASS);
}

/* Both the port must be listed for the protocol and the address be a local one. */
static void test_pass_ports(void **state)
{
	static const struct {
		uint8_t protocol;
		uint32_t dst;
		uint16_t port;
		uint32_t want;
	} cases[] = {
		{IPPROTO_TCP, ROUTER, 22, XDP_PASS},
		{IPPROTO_TCP, OTHER, 22, XDP_REDIRECT},
		{IPPROTO_UDP, ROUTER, 22, XDP_REDIRECT},
		{IPPROTO_UDP, ROUTER, 53, XDP_PASS},
		{IPPROTO_TCP, ROUTER, 53, XDP_REDIRECT},
		{IPPROTO_TCP, ROUTER, 23, XDP_REDIRECT},
		{IPPROTO_TCP, ROUTER, 21, XDP_REDIRECT},
		{IPPROTO_TCP, ROUTER, 22 << 8, XDP_REDIRECT},
		{IPPROTO_SCTP, ROUTER, 22, XDP_REDIRECT},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		struct frame f =
			datagram(cases[i].protocol, REMOTE, 22, cases[i].dst, cases[i].port);

		assert_int_equal(verdict(&f), cases[i].want);
	}
}

static void test_every_port_has_its_own_bit(void **state)
{
	static const uint16_t some[] = {1, 63, 64, 65, 1023, 1024, 32767, 32768, 65534, 65535};

	(void)state;
	set_local(ROUTER, true);
	for (unsigned i = 0; i < RTE_DIM(some); i++) {
		set_pass(IPPROTO_UDP, some[i], true);
		for (unsigned k = 0; k < RTE_DIM(some); k++) {
			struct frame udp = datagram(IPPROTO_UDP, REMOTE, 9, ROUTER, some[k]);
			struct frame tcp = datagram(IPPROTO_TCP, REMOTE, 9, ROUTER, some[k]);

			assert_int_equal(verdict(&udp), k == i ? XDP_PASS : XDP_REDIRECT);
			assert_int_equal(verdict(&tcp), XDP_REDIRECT);
		}
		set_pass(IPPROTO_UDP, some[i], false);
	}
	set_local(ROUTER, false);
}

/* A first fragment has the ports; in later ones that place is payload. Options move the ports. */
static void test_fragments_and_options(void **state)
{
	struct frame f;

	(void)state;
	for (unsigned options = 0; options <= 40; options += 4) {
		ethernet(&f, 0x0800);
		ip4(&f, IPPROTO_TCP, REMOTE, ROUTER, 0x2000, options);
		ports(&f, 1, 22);
		assert_int_equal(verdict(&f), XDP_PASS);
		ethernet(&f, 0x0800);
		ip4(&f, IPPROTO_TCP, REMOTE, ROUTER, 0x2001, options);
		ports(&f, 1, 22);
		assert_int_equal(verdict(&f), XDP_REDIRECT);
	}
}

/* ICMP errors about what the kernel sent from a listed port, and no others. */
static void test_icmp_errors(void **state)
{
	static const struct {
		uint8_t type;
		uint32_t dst, quoted_src;
		uint8_t quoted_protocol;
		uint16_t quoted_port;
		unsigned quoted_fragment, options;
		uint32_t want;
	} cases[] = {
		{3, ROUTER, ROUTER, IPPROTO_TCP, 22, 0, 0, XDP_PASS},
		{11, ROUTER, ROUTER, IPPROTO_TCP, 22, 0x2000, 0, XDP_PASS},
		{12, ROUTER, ROUTER, IPPROTO_UDP, 53, 0, 8, XDP_PASS},
		{3, ROUTER, ROUTER, IPPROTO_TCP, 80, 0, 0, XDP_REDIRECT},
		{3, ROUTER, ROUTER, IPPROTO_UDP, 22, 0, 0, XDP_REDIRECT},
		{3, ROUTER, OTHER, IPPROTO_TCP, 22, 0, 0, XDP_REDIRECT},
		{3, OTHER, ROUTER, IPPROTO_TCP, 22, 0, 0, XDP_REDIRECT},
		{3, ROUTER, ROUTER, IPPROTO_TCP, 22, 5, 0, XDP_REDIRECT},
		{3, ROUTER, ROUTER, IPPROTO_GRE, 22, 0, 0, XDP_REDIRECT},
		{8, ROUTER, ROUTER, IPPROTO_TCP, 22, 0, 0, XDP_REDIRECT},
		{5, ROUTER, ROUTER, IPPROTO_TCP, 22, 0, 0, XDP_REDIRECT},
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(cases); i++) {
		const uint8_t icmp[8] = {cases[i].type};
		struct frame f;

		ethernet(&f, 0x0800);
		ip4(&f, IPPROTO_ICMP, REMOTE, cases[i].dst, 0, 0);
		put(&f, icmp, sizeof(icmp));
		ip4(&f, cases[i].quoted_protocol, cases[i].quoted_src, REMOTE,
		    cases[i].quoted_fragment, cases[i].options);
		ports(&f, cases[i].quoted_port, 5000);
		assert_int_equal(verdict(&f), cases[i].want);
		/* As short as a quote may be, and each cut before its ports are complete. */
		if (cases[i].want == XDP_PASS) {
			const unsigned l4 = 14 + 20 + 8 + 20 + cases[i].options;

			assert_int_equal(verdict_cut(&f, l4 + 4), XDP_PASS);
			for (unsigned len = 14 + 20; len < l4 + 4; len++)
				assert_int_equal(verdict_cut(&f, len), XDP_REDIRECT);
		}
	}
}

/* Malformed IPv4 is the router's to count, at whatever length it is cut. */
static void test_malformed(void **state)
{
	struct frame f = datagram(IPPROTO_TCP, REMOTE, 1, ROUTER, 22);

	(void)state;
	for (unsigned len = 15; len < 14 + 20 + 4; len++)
		assert_int_equal(verdict_cut(&f, len), XDP_REDIRECT);
	assert_int_equal(verdict_cut(&f, 14 + 20 + 4), XDP_PASS);
	for (unsigned vihl = 0; vihl < 256; vihl++) {
		f.bytes[14] = (uint8_t)vihl;
		if (vihl == 0x45)
			continue;
		assert_int_equal(verdict(&f), XDP_REDIRECT);
	}
}

static void test_without_socket_the_kernel_has_it(void **state)
{
	struct frame f = datagram(IPPROTO_TCP, REMOTE, 1, OTHER, 80);
	const uint32_t zero = 0;

	(void)state;
	assert_int_equal(bpf_map_delete_elem(x.xsks, &zero), 0);
	assert_int_equal(verdict(&f), XDP_PASS);
	assert_int_equal(bpf_map_update_elem(x.xsks, &zero, &x.sock, BPF_ANY), 0);
	assert_int_equal(verdict(&f), XDP_REDIRECT);
}

/* ---- the guard ------------------------------------------------------------------------------- */

/* The only child of pid, by /proc; 0: none. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	FILE *file;
	int child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%d", &child) != 1)
		child = 0;
	fclose(file);
	return child;
}

static void read_comm(pid_t pid, char comm[32])
{
	char path[64];
	FILE *file;

	comm[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fgets(comm, 32, file))
		comm[strcspn(comm, "\n")] = '\0';
	fclose(file);
}

/* The guard ends with its router, however that ended, holds nothing of it open, and no signal to
 * both ends it. */
static void test_guard_outlives_signals_and_ends_with_the_router(void **state)
{
	int pipe_fds[2], status;
	pid_t router, guard;
	char comm[32], c;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	router = fork();
	assert_true(router >= 0);
	if (router == 0) {
		struct fwd_err err;

		if (fwd_guard_start(&err) || guard_add(1 << 30, 0, &err))
			_exit(1);
		guard_del(1 << 30);
		if (write(pipe_fds[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(1);
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &c, 1), 1);
	guard = child_of(router);
	assert_true(guard > 0);
	read_comm(guard, comm);
	assert_string_equal(comm, "turnpike-guard");
	assert_int_equal(getsid(guard), guard);
	kill(guard, SIGTERM);
	kill(guard, SIGINT);
	kill(guard, SIGHUP);
	usleep(50000);
	assert_int_equal(kill(guard, 0), 0);

	kill(router, SIGKILL);
	assert_int_equal(waitpid(router, &status, 0), router);
	/* The end of file says that the guard holds no copy of our pipe. */
	assert_int_equal(read(pipe_fds[0], &c, 1), 0);
	assert_int_equal(waitpid(guard, &status, 0), guard);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(pipe_fds[0]);
}

static void test_no_guard_no_attaching(void **state)
{
	struct fwd_err err;

	(void)state;
	assert_int_equal(guard_add(1, 0, &err), -ENOTCONN);
	assert_non_null(strstr(err.msg, "guard"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ethertypes),
		cmocka_unit_test_setup_teardown(test_vlan, pass_ssh_and_dns, pass_nothing),
		cmocka_unit_test_setup_teardown(test_pass_ports, pass_ssh_and_dns, pass_nothing),
		cmocka_unit_test(test_every_port_has_its_own_bit),
		cmocka_unit_test_setup_teardown(test_fragments_and_options, pass_ssh_and_dns,
						pass_nothing),
		cmocka_unit_test_setup_teardown(test_icmp_errors, pass_ssh_and_dns, pass_nothing),
		cmocka_unit_test_setup_teardown(test_malformed, pass_ssh_and_dns, pass_nothing),
		cmocka_unit_test(test_without_socket_the_kernel_has_it),
		cmocka_unit_test(test_no_guard_no_attaching),
		cmocka_unit_test(test_guard_outlives_signals_and_ends_with_the_router),
	};

	return cmocka_run_group_tests_name("xdp", tests, load, unload);
}
