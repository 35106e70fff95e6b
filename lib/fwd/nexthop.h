/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Next hops: who owns which entry of dp.nexthops, how many routes use it, and when it may be used
 * again.
 *
 * A freed entry is dead for two reasons longer: workers read it until the next commit, and packets
 * in the punt ring name it until control has drained them. Called by the control thread only.
 */
#ifndef FWD_NEXTHOP_H
#define FWD_NEXTHOP_H

#include "dp.h"

/* dp.nexthops is there, and zero. */
int nexthop_init(struct fwd_err *err);
void nexthop_fini(void);

/* A cleared entry of this type, for the caller to fill before it is published; -ENOSPC. */
int nexthop_alloc(enum nh_type type, uint16_t iface, rte_be32_t addr_be);
/* Gives an entry back; nothing staged may refer to it any more. */
void nexthop_free(unsigned nh);

/* Every worker has left the state before the last commit. */
void nexthop_committed(void);
/* n packets of the punt ring have been dealt with. */
void nexthop_drained(unsigned n);

/* How many routes (and groups) use an entry. */
void nexthop_ref(unsigned nh);
uint32_t nexthop_unref(unsigned nh); /* returns how many are left */
uint32_t nexthop_refs(unsigned nh);

/* The group of these next hops (ascending, 2..FWD_MAX_VIA of them), made if there is none. A new
 * group takes a reference to each member, and has none itself yet. -ENOSPC. */
int nexthop_group(const uint16_t *members, unsigned n);
/* Frees a group without references, and gives up its own to the members. */
void nexthop_group_free(unsigned nh);

unsigned nexthop_in_use(void);

#endif /* FWD_NEXTHOP_H */
