/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive-side scaling by source: which queue of a port a device puts a packet into, so that it
 * comes to the worker that owns the host that sent it. Control thread.
 */
#ifndef FWD_RSS_H
#define FWD_RSS_H

#include <stdint.h>

#include <rte_ethdev.h>

#include "dp.h"

/* What a device is told; rte_ethdev wants it before and after the start. */
struct rss {
	uint64_t types; /* RTE_ETH_RSS_*; 0: nothing is told */
	uint16_t table; /* entries of the redirection table; 0: left as it is */
	uint8_t key_len;
	uint8_t key[UINT8_MAX];
};

/* For a device of this driver that has not been configured yet: with several workers our key and
 * table, with one only what is hashed. -EOPNOTSUPP, -EINVAL with what is missing in err. */
int rss_by_source(const char *devargs, const char *driver, const struct rte_eth_dev_info *info,
		  uint16_t rxqs, struct rss *out, struct fwd_err *err);

/* For rte_eth_dev_configure(); points into r. */
void rss_conf(struct rss *r, struct rte_eth_rss_conf *out);

/* After each rte_eth_dev_start(), as a device may forget when it stops. What the driver returned.
 */
int rss_apply(struct rss *r, uint16_t port_id, uint16_t rxqs);

/* The queue for an entry of the table: one of the owner's, if there are as many as workers. */
uint16_t rss_queue(const struct nat_shared *shared, unsigned n_workers, unsigned entry,
		   uint16_t rxqs);

/* The worker that polls such a queue, if it has room for one more. */
static inline unsigned rss_worker(uint16_t queue, unsigned n_workers)
{
	return queue % n_workers;
}

#endif /* FWD_RSS_H */
