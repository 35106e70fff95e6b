/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "dp.h"
#include "guard.h"
#include "netdev.h"
#include "turnpike_xdp.h"
#include "turnpike_xdp.skel.h"
#include "xdp.h"

/* A descriptor that the driver opened: a socket (id: its inode) or a BPF object (id: the kernel's).
 */
struct held {
	int fd;
	enum held_kind { HELD_NONE, HELD_SOCKET, HELD_MAP, HELD_PROG, HELD_BTF } kind;
	uint64_t id;
};

struct held_list {
	struct held *list;
	unsigned n;
};

struct local_addr {
	uint32_t addr_be;
	unsigned router; /* times the router has it on this interface or a VLAN of it */
	bool kernel;	 /* the kernel has it */
};

struct xdp {
	char netdev[IF_NAMESIZE];
	int ifindex;
	bool own_program;
	int claim_fd;
	int elf_fd;
	char path[32];
	uint32_t prog_id;
	int pass_ports_fd, pass_count_fd, local_addrs_fd; /* maps */
	uint32_t n_pass;
	struct local_addr *addrs;
	unsigned n_addrs;
	struct held_list before; /* what was open before the driver came, then: */
	struct held_list driver; /* what it opened */
};

const void *xdp_program_elf(size_t *size)
{
	return turnpike_xdp__elf_bytes(size);
}

/* ---- what libbpf says ------------------------------------------------------------------------ */

static char libbpf_said[160];

/* Keeps the first warning, and the kernel's own words in preference to any. */
static int libbpf_print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	static const char kernel_says[] = "libbpf: Kernel error message: ";
	char line[sizeof(libbpf_said)];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, kernel_says, strlen(kernel_says)))
		rte_strscpy(libbpf_said, line + strlen(kernel_says), sizeof(libbpf_said));
	else if (!libbpf_said[0])
		rte_strscpy(libbpf_said, line, sizeof(libbpf_said));
	return 0;
}

/* ---- claim: one router for each interface ---------------------------------------------------- */

/* An abstract socket: like interface indexes it belongs to the network namespace, and it ends with
 * the process. */
static int claim(int ifindex)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd, rc, len;

	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	len = snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1, "turnpike/xdp/%d", ifindex);
	if (bind(fd, (struct sockaddr *)&sun, offsetof(struct sockaddr_un, sun_path) + 1 + len) <
	    0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* ---- programs on the interface --------------------------------------------------------------- */

/* The id of the program on the interface, in whichever mode; 0: none. */
static int attached_program(int ifindex, uint32_t *id)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, opts);
	int rc = bpf_xdp_query(ifindex, 0, &opts);

	*id = opts.prog_id	 ? opts.prog_id
	      : opts.drv_prog_id ? opts.drv_prog_id
	      : opts.skb_prog_id ? opts.skb_prog_id
				 : opts.hw_prog_id;
	return rc;
}

static int program_name(int fd, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len) < 0)
		return -errno;
	memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	return 0;
}

/* Detaches the program of this id if it is still there. */
static int detach(int ifindex, uint32_t id)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	int rc;

	opts.old_prog_fd = bpf_prog_get_fd_by_id(id);
	if (opts.old_prog_fd < 0)
		return -errno;
	rc = bpf_xdp_detach(ifindex, 0, &opts);
	close(opts.old_prog_fd);
	return rc;
}

/* Makes sure that no program is attached. We hold the claim: one of ours is a dead router's. */
static int clear_stale(const struct xdp *x, struct fwd_err *err)
{
	char name[BPF_OBJ_NAME_LEN] = "";
	uint32_t id;
	int rc, fd;

	rc = attached_program(x->ifindex, &id);
	if (rc)
		return dp_err(err, rc, "%s: XDP programs can't be queried: %s", x->netdev,
			      strerror(-rc));
	if (!id)
		return 0;
	fd = bpf_prog_get_fd_by_id(id);
	if (fd >= 0) {
		program_name(fd, name);
		close(fd);
	}
	if (strcmp(name, XDP_PROGRAM_NAME))
		return dp_err(err, -EBUSY,
			      "%s has another XDP program, id %u%s%s: detach it first "
			      "(ip link set dev %s xdp off)",
			      x->netdev, id, name[0] ? ", name " : "", name, x->netdev);
	rc = detach(x->ifindex, id);
	if (rc)
		return dp_err(err, rc,
			      "%s: XDP program %u of an earlier router can't be detached: %s",
			      x->netdev, id, strerror(-rc));
	dp_log(FWD_LOG_WARNING, "%s: detached XDP program %u, left by a router that was killed",
	       x->netdev, id);
	return 0;
}

/* ---- trials ---------------------------------------------------------------------------------- */

#define TRIAL_CHUNKS 16
#define TRIAL_CHUNK  4096

/* A whole AF_XDP socket in copy mode, the least that any driver needs; the steps name themselves in
 * *step. */
static int try_socket_steps(const struct xdp *x, int fd, void *area, unsigned queue,
			    const char **step)
{
	const struct xdp_umem_reg reg = {
		.addr = (uintptr_t)area,
		.len = TRIAL_CHUNKS * TRIAL_CHUNK,
		.chunk_size = TRIAL_CHUNK,
	};
	struct sockaddr_xdp sxdp = {
		.sxdp_family = AF_XDP,
		.sxdp_ifindex = x->ifindex,
		.sxdp_queue_id = queue,
		.sxdp_flags = XDP_COPY,
	};
	static const int rings[] = {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING,
				    XDP_TX_RING};
	const int ring_size = TRIAL_CHUNKS;
	unsigned i;

	*step = "memory for packets (XDP_UMEM_REG)";
	if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) < 0)
		return -errno;
	*step = "rings";
	for (i = 0; i < RTE_DIM(rings); i++)
		if (setsockopt(fd, SOL_XDP, rings[i], &ring_size, sizeof(ring_size)) < 0)
			return -errno;
	*step = "bind";
	/* A socket that was closed a moment ago lets go of its queue a moment later. */
	for (i = 0; i < 100; i++) {
		if (bind(fd, (struct sockaddr *)&sxdp, sizeof(sxdp)) == 0)
			return 0;
		if (errno != EBUSY)
			break;
		usleep(10000);
	}
	return -errno;
}

static int try_socket(const struct xdp *x, unsigned queue, struct fwd_err *err)
{
	const char *step = "socket", *hint = "";
	void *area = MAP_FAILED;
	int fd, rc;

	fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	rc = fd < 0 ? -errno : 0;
	if (!rc) {
		step = "memory";
		area = mmap(NULL, TRIAL_CHUNKS * TRIAL_CHUNK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		rc = area == MAP_FAILED ? -errno : try_socket_steps(x, fd, area, queue, &step);
	}
	if (fd >= 0)
		close(fd);
	if (area != MAP_FAILED)
		munmap(area, TRIAL_CHUNKS * TRIAL_CHUNK);
	if (!rc) {
		usleep(20000); /* as long as the kernel may take to let go of the queue, which the
				  driver wants next */
		return 0;
	}
	switch (rc) {
	case -EAFNOSUPPORT:
		hint = ": this kernel is built without CONFIG_XDP_SOCKETS";
		break;
	case -EPERM:
		hint = ": needs root, or CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF";
		break;
	case -ENOBUFS:
		hint = ": the limit of locked memory is too small (ulimit -l)";
		break;
	case -EBUSY:
		hint = ": another AF_XDP socket has this queue";
		break;
	case -EINVAL:
		hint = ": there may be no such queue";
		break;
	}
	return dp_err(err, rc, "AF_XDP refused on %s, queue %u: %s: %s%s", x->netdev, queue, step,
		      strerror(-rc), hint);
}

static int try_program_steps(const struct xdp *x, struct bpf_object *obj, const char **step)
{
	struct bpf_program *prog;
	int rc;

	*step = "loaded";
	rc = bpf_object__load(obj);
	if (rc)
		return rc;
	prog = bpf_object__find_program_by_name(obj, XDP_PROGRAM_NAME);
	if (!prog)
		return -ENOENT;
	*step = "attached";
	rc = bpf_xdp_attach(x->ifindex, bpf_program__fd(prog), XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	if (rc)
		return rc;
	*step = "detached";
	return bpf_xdp_detach(x->ifindex, 0, NULL);
}

static int try_program(const struct xdp *x, struct fwd_err *err)
{
	libbpf_print_fn_t printer = libbpf_set_print(libbpf_print);
	const char *step = "opened";
	struct bpf_object *obj;
	const void *elf;
	size_t size;
	int rc;

	libbpf_said[0] = '\0';
	elf = xdp_program_elf(&size);
	obj = bpf_object__open_mem(elf, size, NULL);
	rc = obj ? try_program_steps(x, obj, &step) : -errno;
	bpf_object__close(obj);
	libbpf_set_print(printer);
	if (!rc)
		return 0;
	return dp_err(err, rc, "%s: the XDP program can't be %s: %s%s%s%s", x->netdev, step,
		      strerror(-rc), libbpf_said[0] ? " (" : "", libbpf_said,
		      libbpf_said[0] ? ")" : "");
}

/* ---- what the driver leaves open ------------------------------------------------------------- */

/*
 * DPDK's driver never closes the BPF object that it opened, and some releases (22.11.11 among them)
 * miscount and leave sockets open, which keeps the queue busy and the packet buffers pinned. So
 * descriptors that appeared while it started, and are still the same ones after its end, are closed
 * here.
 */

static bool held_bpf_id(int fd, enum held_kind kind, uint64_t *id)
{
	union {
		struct bpf_map_info map;
		struct bpf_prog_info prog;
		struct bpf_btf_info btf;
	} info;
	uint32_t len = kind == HELD_MAP	   ? sizeof(info.map)
		       : kind == HELD_PROG ? sizeof(info.prog)
					   : sizeof(info.btf);

	memset(&info, 0, sizeof(info));
	if (bpf_obj_get_info_by_fd(fd, &info, &len) < 0)
		return false;
	*id = kind == HELD_MAP ? info.map.id : kind == HELD_PROG ? info.prog.id : info.btf.id;
	return true;
}

static struct held held_look(int fd)
{
	struct held h = {.fd = fd};
	char path[64], link[64];
	socklen_t len = sizeof(int);
	struct stat st;
	int domain;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return h;
	link[n] = '\0';
	if (!strncmp(link, "socket:", 7)) {
		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_XDP &&
		    fstat(fd, &st) == 0) {
			h.kind = HELD_SOCKET;
			h.id = st.st_ino;
		}
		return h;
	}
	h.kind = !strcmp(link, "anon_inode:bpf-map")	? HELD_MAP
		 : !strcmp(link, "anon_inode:bpf-prog") ? HELD_PROG
		 : !strcmp(link, "anon_inode:btf")	? HELD_BTF
							: HELD_NONE;
	if (h.kind != HELD_NONE && !held_bpf_id(fd, h.kind, &h.id))
		h.kind = HELD_NONE;
	return h;
}

static bool held_same(const struct held *a, const struct held *b)
{
	return a->fd == b->fd && a->kind == b->kind && a->id == b->id;
}

static bool held_contains(const struct held_list *l, const struct held *h)
{
	unsigned i;

	for (i = 0; i < l->n; i++)
		if (held_same(&l->list[i], h))
			return true;
	return false;
}

/* All AF_XDP sockets and BPF objects that are open now, but for those in except. */
static void held_scan(struct held_list *l, const struct held_list *except)
{
	struct dirent *d;
	struct held *grown;
	DIR *dir;

	l->n = 0;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return;
	while ((d = readdir(dir))) {
		struct held h = held_look(atoi(d->d_name));

		if (d->d_name[0] == '.' || h.kind == HELD_NONE ||
		    (except && held_contains(except, &h)))
			continue;
		grown = realloc(l->list, (l->n + 1) * sizeof(*l->list));
		if (!grown)
			break;
		l->list = grown;
		l->list[l->n++] = h;
	}
	closedir(dir);
}

/* Calls fn for each ring of the socket that is mapped here; offset is the one of mmap(), which
 * names the ring. */
static void each_ring(const struct held *sock,
		      void (*fn)(void *arg, void *map, size_t len, uint64_t offset), void *arg)
{
	char line[512], want[32];
	unsigned long from, to;
	unsigned long long offset;
	FILE *f;

	snprintf(want, sizeof(want), "socket:[%llu]", (unsigned long long)sock->id);
	f = fopen("/proc/self/maps", "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		if (strstr(line, want) &&
		    sscanf(line, "%lx-%lx %*s %llx", &from, &to, &offset) == 3)
			fn(arg, (void *)from, to - from, offset);
	fclose(f);
}

/* A mapped ring holds its socket as a descriptor does. */
static void unmap_ring(void *arg, void *map, size_t len, uint64_t offset)
{
	RTE_SET_USED(arg);
	RTE_SET_USED(offset);
	munmap(map, len);
}

struct reclaim {
	struct rte_mempool *pool;
	struct xdp_ring_offset fill;
	unsigned freed;
};

/* Frees the buffers between the kernel's and the driver's end of a fill ring. */
static void reclaim_ring(void *arg, void *map, size_t len, uint64_t offset)
{
	struct reclaim *r = arg;
	const uintptr_t base =
		(uintptr_t)STAILQ_FIRST(&r->pool->mem_list)->addr & ~(sysconf(_SC_PAGESIZE) - 1);
	const uint64_t *ring = (const uint64_t *)((uintptr_t)map + r->fill.desc);
	uint32_t *consumer = (uint32_t *)((uintptr_t)map + r->fill.consumer);
	uint32_t *producer = (uint32_t *)((uintptr_t)map + r->fill.producer);
	uint32_t size, i, end = __atomic_load_n(producer, __ATOMIC_ACQUIRE);

	if (offset != XDP_UMEM_PGOFF_FILL_RING || len < r->fill.desc + sizeof(*ring))
		return;
	size = rte_align32prevpow2((len - r->fill.desc) / sizeof(*ring));
	i = __atomic_load_n(consumer, __ATOMIC_ACQUIRE);
	if (end - i > size)
		return;
	for (; i != end; i++) {
		struct rte_mbuf *m =
			(void *)(base + (ring[i & (size - 1)] & XSK_UNALIGNED_BUF_ADDR_MASK) +
				 r->pool->header_size);

		if (rte_mempool_from_obj(m) == r->pool && m->pool == r->pool) {
			rte_pktmbuf_free(m);
			r->freed++;
		}
	}
	/* Empty for everybody: nothing is given out twice. */
	__atomic_store_n(producer, __atomic_load_n(consumer, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
}

static void held_close(struct held_list *l)
{
	unsigned i;

	for (i = 0; i < l->n; i++) {
		struct held now = held_look(l->list[i].fd);

		if (l->list[i].kind == HELD_SOCKET)
			each_ring(&l->list[i], unmap_ring, NULL);
		if (held_same(&now, &l->list[i]))
			close(now.fd);
	}
	free(l->list);
	l->list = NULL;
	l->n = 0;
}

/* ---- open, started, close -------------------------------------------------------------------- */

/* The program as a file for the driver, which takes a path. */
static int make_program_file(struct xdp *x)
{
	const char *elf;
	size_t size, done;
	ssize_t n;

	x->elf_fd = memfd_create("turnpike_xdp", MFD_CLOEXEC);
	if (x->elf_fd < 0)
		return -errno;
	elf = xdp_program_elf(&size);
	for (done = 0; done < size; done += n) {
		n = write(x->elf_fd, elf + done, size - done);
		if (n < 0)
			return -errno;
	}
	snprintf(x->path, sizeof(x->path), "/proc/self/fd/%d", x->elf_fd);
	return 0;
}

/* The buffers are pinned; without CAP_IPC_LOCK they count against this. No harm where it is not
 * allowed. */
static void raise_locked_memory(void)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};

	(void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

int xdp_open(const char *netdev, int ifindex, unsigned first_queue, bool own_program,
	     struct xdp **out, struct fwd_err *err)
{
	struct xdp *x = calloc(1, sizeof(*x));
	int rc;

	if (!x)
		return dp_err(err, -ENOMEM, "%s: no memory", netdev);
	rte_strscpy(x->netdev, netdev, sizeof(x->netdev));
	x->ifindex = ifindex;
	x->own_program = own_program;
	x->elf_fd = x->pass_ports_fd = x->pass_count_fd = x->local_addrs_fd = -1;

	x->claim_fd = claim(ifindex);
	if (x->claim_fd < 0) {
		rc = x->claim_fd == -EADDRINUSE
			     ? dp_err(err, -EBUSY,
				      "%s has an AF_XDP port already, of this router or another "
				      "one",
				      netdev)
			     : dp_err(err, x->claim_fd, "%s: can't be claimed: %s", netdev,
				      strerror(-x->claim_fd));
		free(x);
		return rc;
	}
	rc = clear_stale(x, err);
	if (!rc)
		rc = guard_add(ifindex, 0, err);
	if (rc)
		goto fail;
	raise_locked_memory();
	rc = try_socket(x, first_queue, err);
	if (!rc && own_program)
		rc = try_program(x, err);
	if (rc)
		goto fail;
	if (own_program) {
		rc = make_program_file(x);
		if (rc) {
			dp_err(err, rc, "%s: the XDP program's file: %s", netdev, strerror(-rc));
			goto fail;
		}
	}
	held_scan(&x->before, NULL);
	*out = x;
	return 0;
fail:
	xdp_close(x);
	return rc;
}

const char *xdp_program_path(const struct xdp *x)
{
	return x->path;
}

/* Opens the maps of the attached program by their names. */
static int open_maps(struct xdp *x, int prog_fd)
{
	const struct {
		const char *name;
		int *fd;
	} wanted[] = {
		{"pass_ports", &x->pass_ports_fd},
		{"pass_count", &x->pass_count_fd},
		{"local_addrs", &x->local_addrs_fd},
	};
	uint32_t ids[16], i, k, found = 0;
	struct bpf_prog_info info = {.nr_map_ids = RTE_DIM(ids), .map_ids = (uintptr_t)ids};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len) < 0)
		return -errno;
	if (strcmp(info.name, XDP_PROGRAM_NAME))
		return -ESTALE;
	for (i = 0; i < RTE_MIN(info.nr_map_ids, RTE_DIM(ids)); i++) {
		struct bpf_map_info map = {0};
		uint32_t map_len = sizeof(map);
		int fd = bpf_map_get_fd_by_id(ids[i]);

		if (fd < 0)
			return -errno;
		if (bpf_obj_get_info_by_fd(fd, &map, &map_len) < 0)
			map.name[0] = '\0';
		for (k = 0; k < RTE_DIM(wanted) && strcmp(wanted[k].name, map.name); k++)
			;
		if (k < RTE_DIM(wanted) && *wanted[k].fd < 0) {
			*wanted[k].fd = fd;
			found++;
		} else {
			close(fd);
		}
	}
	return found == RTE_DIM(wanted) ? 0 : -ENOENT;
}

int xdp_started(struct xdp *x, struct fwd_err *err)
{
	int rc, fd;

	held_scan(&x->driver, &x->before);
	rc = attached_program(x->ifindex, &x->prog_id);
	if (!rc && !x->prog_id)
		rc = -ENOENT;
	if (rc)
		return dp_err(err, rc, "%s: the AF_XDP driver attached no XDP program: %s",
			      x->netdev, strerror(-rc));
	rc = guard_add(x->ifindex, x->prog_id, err);
	if (rc || !x->own_program)
		return rc;
	fd = bpf_prog_get_fd_by_id(x->prog_id);
	rc = fd < 0 ? -errno : open_maps(x, fd);
	if (fd >= 0)
		close(fd);
	if (rc)
		return dp_err(err, rc, "%s: the maps of XDP program %u can't be opened: %s",
			      x->netdev, x->prog_id, strerror(-rc));
	close(x->elf_fd);
	x->elf_fd = -1;
	xdp_refresh(x);
	return 0;
}

void xdp_reclaim(struct xdp *x, struct rte_mempool *pool)
{
	struct reclaim r = {.pool = pool};
	struct xdp_mmap_offsets offsets;
	unsigned i;

	for (i = 0; i < x->driver.n; i++) {
		socklen_t len = sizeof(offsets);

		if (x->driver.list[i].kind != HELD_SOCKET ||
		    getsockopt(x->driver.list[i].fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &len) <
			    0 ||
		    len != sizeof(offsets))
			continue;
		r.fill = offsets.fr;
		each_ring(&x->driver.list[i], reclaim_ring, &r);
	}
}

void xdp_detach(struct xdp *x)
{
	if (x->prog_id)
		(void)detach(x->ifindex, x->prog_id);
}

void xdp_close(struct xdp *x)
{
	const int fds[] = {x->elf_fd, x->pass_ports_fd, x->pass_count_fd, x->local_addrs_fd};
	unsigned i;

	for (i = 0; i < RTE_DIM(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	/* Failed between the driver's start and xdp_started(): what it opened is not listed yet. */
	if (x->before.list && !x->driver.list)
		held_scan(&x->driver, &x->before);
	held_close(&x->driver);
	free(x->before.list);
	xdp_detach(x);
	guard_del(x->ifindex);
	close(x->claim_fd);
	free(x->addrs);
	free(x);
}

/* ---- what passes to the kernel --------------------------------------------------------------- */

int xdp_pass(struct xdp *x, struct fwd_pass pass, bool add)
{
	const uint32_t word = xdp_pass_word(pass.protocol, pass.port), zero = 0;
	const uint64_t bit = xdp_pass_bit(pass.port);
	uint32_t count;
	uint64_t bits;

	if (bpf_map_lookup_elem(x->pass_ports_fd, &word, &bits) < 0)
		return -errno;
	if (!!(bits & bit) == add)
		return add ? -EEXIST : -ENOENT;
	bits ^= bit;
	if (bpf_map_update_elem(x->pass_ports_fd, &word, &bits, BPF_ANY) < 0)
		return -errno;
	count = x->n_pass + (add ? 1 : -1);
	if (bpf_map_update_elem(x->pass_count_fd, &zero, &count, BPF_ANY) < 0)
		return -errno;
	x->n_pass = count;
	xdp_refresh(x);
	return 0;
}

static struct local_addr *find_addr(struct xdp *x, uint32_t addr_be, bool create)
{
	struct local_addr *grown;
	unsigned i;

	for (i = 0; i < x->n_addrs; i++)
		if (x->addrs[i].addr_be == addr_be)
			return &x->addrs[i];
	if (!create)
		return NULL;
	grown = realloc(x->addrs, (x->n_addrs + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	x->addrs = grown;
	x->addrs[x->n_addrs] = (struct local_addr){.addr_be = addr_be};
	return &x->addrs[x->n_addrs++];
}

/* After a change: the map follows, and an entry that nobody has any more goes. */
static int settle_addr(struct xdp *x, struct local_addr *a)
{
	const uint8_t one = 1;

	if (a->router || a->kernel)
		return bpf_map_update_elem(x->local_addrs_fd, &a->addr_be, &one, BPF_ANY) < 0
			       ? -errno
			       : 0;
	(void)bpf_map_delete_elem(x->local_addrs_fd, &a->addr_be);
	*a = x->addrs[--x->n_addrs];
	return 0;
}

int xdp_address(struct xdp *x, uint32_t addr_be, bool add)
{
	struct local_addr *a = find_addr(x, addr_be, add);

	if (!a)
		return add ? -ENOMEM : -ENOENT;
	if (!add && !a->router)
		return -ENOENT;
	a->router += add ? 1 : -1;
	return settle_addr(x, a);
}

void xdp_refresh(struct xdp *x)
{
	uint32_t now[256];
	unsigned n = RTE_MIN(netdev_addresses(x->ifindex, now, RTE_DIM(now)), RTE_DIM(now)), i, k;

	for (i = 0; i < n; i++) {
		struct local_addr *a = find_addr(x, now[i], true);

		if (a && !a->kernel) {
			a->kernel = true;
			(void)settle_addr(x, a);
		}
	}
	for (i = x->n_addrs; i-- > 0;) {
		for (k = 0; k < n && now[k] != x->addrs[i].addr_be; k++)
			;
		if (x->addrs[i].kernel && k == n) {
			x->addrs[i].kernel = false;
			(void)settle_addr(x, &x->addrs[i]);
		}
	}
}
