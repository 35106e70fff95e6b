/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-3-Clause) */
/*
 * What the XDP program and its loader agree on: names, sizes of maps, and the layout of the pass
 * bitmap.
 */
#ifndef FWD_TURNPIKE_XDP_H
#define FWD_TURNPIKE_XDP_H

#include <linux/in.h>
#include <linux/types.h>

#define XDP_PROGRAM_NAME "turnpike_xdp" /* the function's; at most 15 characters reach the kernel  \
					 */

#define XDP_QUEUES	256
#define XDP_PASS_WORDS	2048 /* 2 protocols of 65536 ports, 64 to a word */
#define XDP_LOCAL_ADDRS 8192

/* pass_ports: index of the word, and the bit in it. Ports in host order; protocol is TCP or UDP. */
static inline __u32 xdp_pass_word(__u8 protocol, __u16 port)
{
	return (protocol == IPPROTO_UDP ? XDP_PASS_WORDS / 2 : 0) + port / 64u;
}

static inline __u64 xdp_pass_bit(__u16 port)
{
	return 1ull << (port % 64u);
}

#endif /* FWD_TURNPIKE_XDP_H */
