/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XDP steering of one kernel interface: from embedded program to attached program, its maps, and
 * its end.
 *
 * DPDK's AF_XDP driver loads, attaches and detaches the program itself, given a path, and does not
 * say why it could not. So xdp_open(), before the driver is asked, tries each step in its place and
 * has the reason; xdp_started(), after the driver's work, finds the program's maps; xdp_close(),
 * after the driver's end, cleans up what it left. Called by the control thread.
 */
#ifndef FWD_XDP_H
#define FWD_XDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fwd.h"

struct rte_mempool;
struct xdp;

/* The compiled program (turnpike_xdp.bpf.c), an ELF object for libbpf. */
const void *xdp_program_elf(size_t *size);

/*
 * Claims the interface (which must be up) for this process, removes a program that a dead router
 * left, and tries whether the kernel takes an AF_XDP socket on its queue first_queue and our
 * program. -EBUSY: another router has it, or a foreign program is attached; else the kernel's
 * error. own_program false: the user brings a program, which is guarded and cleaned up, but not
 * steered by.
 */
int xdp_open(const char *netdev, int ifindex, unsigned first_queue, bool own_program,
	     struct xdp **out, struct fwd_err *err);

/* The program's file for the driver's xdp_prog; valid until xdp_started() or xdp_close(). */
const char *xdp_program_path(const struct xdp *x);

int xdp_started(struct xdp *x, struct fwd_err *err);

/* Before the driver's end: no more packets; then, with the receive queues emptied, takes the
 * buffers out of the fill rings, which the driver would forget there. (Those that hardware in
 * zero-copy mode holds are lost.) */
void xdp_detach(struct xdp *x);
void xdp_reclaim(struct xdp *x, struct rte_mempool *pool);

void xdp_close(struct xdp *x);

/* -EEXIST, -ENOENT, or the kernel's error. */
int xdp_pass(struct xdp *x, struct fwd_pass pass, bool add);
/* Counted: an address stays until it was deleted as often as added. */
int xdp_address(struct xdp *x, uint32_t addr_be, bool add);
/* Takes up the kernel's own addresses as they are now. */
void xdp_refresh(struct xdp *x);

#endif /* FWD_XDP_H */
