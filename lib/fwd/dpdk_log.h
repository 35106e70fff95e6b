/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's functions return numbers and log words. Between start and stop its log lines go on as
 * before, and the first one at error level by a driver (EAL's own only repeat that something
 * failed) is kept. Called by the control thread.
 */
#ifndef FWD_DPDK_LOG_H
#define FWD_DPDK_LOG_H

#include <stdbool.h>

#include "fwd.h"

void dpdk_log_start(void);
void dpdk_log_stop(void);

/* The line that was kept, or "", and whether a driver wrote it. Until the next start. */
const char *dpdk_log_said(void);
bool dpdk_log_by_driver(void);

/* As dp_err(), about a device: adds DPDK's words, if there are any, to ours. Drivers return -1 for
 * whatever it was. */
int dpdk_log_err(struct fwd_err *err, int rc, const char *devargs, const char *what);

#endif /* FWD_DPDK_LOG_H */
