/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peer: rte_raw_cksum of DPDK's headers, inlined into one function as its users compile it.
 * Built once for each instruction set that is compared (PEER names the function).
 */
#include "peer.h"

#include <rte_ip.h>

uint32_t PEER(const void *buf, size_t len, uint32_t sum)
{
	return sum + rte_raw_cksum(buf, len);
}
