/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive-side scaling: which queue of a port a device puts a packet into, so that it comes to the
 * worker that owns the host that sent it, or the port that it is sent to. Control thread.
 */
#ifndef FWD_RSS_H
#define FWD_RSS_H

#include <stdint.h>

#include <rte_ethdev.h>

#include "dp.h"

/* What a device is told; rte_ethdev wants it before and after the start. */
struct rss {
	uint64_t types; /* RTE_ETH_RSS_*; 0: nothing is told */
	uint16_t table; /* entries of the redirection table */
	uint8_t key_len;
	uint8_t key[UINT8_MAX];
};

/* For a device that has not been configured yet. Its hash is the ordinary one of addresses and
 * ports: the key alone makes a part of it count (nat.h). With one worker nothing is told.
 * -EOPNOTSUPP, -EINVAL with what is missing in err. */
int rss_plan(enum fwd_rss by, const char *devargs, const struct rte_eth_dev_info *info,
	     uint16_t rxqs, struct rss *out, struct fwd_err *err);

/* For rte_eth_dev_configure(); points into r. */
void rss_conf(struct rss *r, struct rte_eth_rss_conf *out);

/* After each rte_eth_dev_start(), as a device may forget when it stops. What the driver returned.
 */
int rss_apply(struct rss *r, uint16_t port_id, uint16_t rxqs);

/* The queues for the entries of a table: those of each entry's owner in turn, if there are as many
 * as workers. */
void rss_fill(const struct nat_shared *shared, unsigned n_workers, uint16_t rxqs, uint16_t *queue,
	      unsigned entries);

/* The worker that polls such a queue, if it has room for one more. */
static inline unsigned rss_worker(uint16_t queue, unsigned n_workers)
{
	return queue % n_workers;
}

#endif /* FWD_RSS_H */
