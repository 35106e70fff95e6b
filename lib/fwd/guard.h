/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard: a small process that detaches our XDP programs once the router is gone, however it
 * ended.
 *
 * fwd_guard_start() (fwd.h) forks it before EAL takes memory. It holds one end of a socket pair,
 * hears which program is on which interface, and acts when the other end closes, which a SIGKILL
 * does too. It lives in the network namespace in which it was started. Called by the control
 * thread.
 */
#ifndef FWD_GUARD_H
#define FWD_GUARD_H

#include <stdint.h>

#include "fwd.h"

/* From here on the guard detaches program prog_id from ifindex should this process end; prog_id 0:
 * whatever program of the name XDP_PROGRAM_NAME is on it then (said before attaching, when the id
 * is not known yet). A later call for the same ifindex replaces the id. -ENOTCONN: not started;
 * -EPIPE: the guard died. */
int guard_add(int ifindex, uint32_t prog_id, struct fwd_err *err);
void guard_del(int ifindex);

#endif /* FWD_GUARD_H */
