/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's functions return numbers and log words. While capture is on, its log lines go on as
 * before, and the first one at error level by a driver (EAL's own only repeat that something
 * failed) is kept. Called by the control thread.
 */
#ifndef FWD_CAPTURE_H
#define FWD_CAPTURE_H

#include <stdbool.h>

#include "fwd.h"

void capture_start(void);
void capture_stop(void);

/* The line that was kept, or "", and whether a driver wrote it. Until the next start. */
const char *capture_said(void);
bool capture_by_driver(void);

/* As dp_err(), about a device: adds DPDK's words, if there are any, to ours. Drivers return -1 for
 * whatever it was. */
int capture_err(struct fwd_err *err, int rc, const char *devargs, const char *what);

#endif /* FWD_CAPTURE_H */
