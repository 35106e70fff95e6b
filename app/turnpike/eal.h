/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting DPDK: its options, chosen for this machine where the user gives none. */
#ifndef TURNPIKE_EAL_H
#define TURNPIKE_EAL_H

#include <stdbool.h>
#include <stdint.h>

#include "fwd.h"

struct eal_needs {
	uint32_t max_sessions, max_routes, packet_buffers;
	bool pci;	    /* an interface is a PCI device */
	const char *socket; /* tells this daemon from others */
};

/* argv[0..argc): what the user gave after "--", taken as it is when there is any. 0, or -1 with
 * err. */
int eal_start(const char *program, int argc, char **argv, const struct eal_needs *needs,
	      struct fwd_err *err);

/* Does a device's name or arguments name a PCI device? "0000:03:00.0" */
bool eal_is_pci(const char *devargs);

#endif /* TURNPIKE_EAL_H */
