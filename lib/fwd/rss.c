/* SPDX-License-Identifier: BSD-3-Clause */
#include "rss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BY_IPV4	 (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER)
#define BY_PORTS (RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP)

static const struct {
	const char *word;
	enum nat_rss nat;
} ways[] = {
	[FWD_RSS_SOURCE] = {"source", NAT_RSS_SOURCE},
	[FWD_RSS_DESTINATION_PORT] = {"destination port", NAT_RSS_DESTINATION_PORT},
};

int rss_plan(enum fwd_rss by, const char *devargs, const struct rte_eth_dev_info *info,
	     uint16_t rxqs, struct rss *out, struct fwd_err *err)
{
	uint64_t types = (BY_IPV4 | BY_PORTS) & info->flow_type_rss_offloads;
	const char *lacks = NULL;

	*out = (struct rss){0};
	if (by == FWD_RSS_FLOW)
		return 0;
	if (rxqs < 2)
		return dp_err(err, -EINVAL,
			      "device '%s' can't share out packets by %s: that takes 2 receive "
			      "queues or more (rxqs N)",
			      devargs, ways[by].word);
	if (types == 0)
		lacks = "no RSS over IPv4";
	else if (by == FWD_RSS_DESTINATION_PORT && (types & BY_PORTS) != BY_PORTS)
		lacks = "no RSS over the ports of TCP and UDP";
	else if (info->hash_key_size < NAT_RSS_KEY)
		lacks = "no RSS key to be set, of 40 bytes or more";
	else if (info->reta_size == 0)
		lacks = "no RSS redirection table to be set";
	if (lacks)
		return dp_err(err, -EOPNOTSUPP,
			      "device '%s' can't share out packets by %s: its driver has %s",
			      devargs, ways[by].word, lacks);
	if (dp.nat_shared == NULL) /* one worker has them all */
		return 0;
	*out = (struct rss){
		.types = types, .table = info->reta_size, .key_len = info->hash_key_size};
	memcpy(out->key, nat_shared_rss_key(dp.nat_shared, ways[by].nat), NAT_RSS_KEY);
	return 0;
}

void rss_conf(struct rss *r, struct rte_eth_rss_conf *out)
{
	*out = (struct rte_eth_rss_conf){
		.rss_hf = r->types,
		.rss_key = r->key,
		.rss_key_len = r->key_len,
	};
}

void rss_fill(const struct nat_shared *shared, unsigned n_workers, uint16_t rxqs, uint16_t *queue,
	      unsigned entries)
{
	unsigned filled[NAT_MAX_WORKERS] = {0}; /* entries, by worker */

	for (unsigned i = 0; i < entries; i++) {
		unsigned owner = nat_shared_share_owner(shared, i % nat_shared_shares(shared));
		unsigned its = owner < rxqs ? (rxqs - owner - 1) / n_workers + 1 : 0;

		if (its == 0) /* someone hands over */
			queue[i] = (uint16_t)(i % rxqs);
		else
			queue[i] = (uint16_t)(owner + filled[owner]++ % its * n_workers);
	}
}

int rss_apply(struct rss *r, uint16_t port_id, uint16_t rxqs)
{
	unsigned groups = (r->table + RTE_ETH_RETA_GROUP_SIZE - 1) / RTE_ETH_RETA_GROUP_SIZE;
	struct rte_eth_rss_reta_entry64 *table;
	struct rte_eth_rss_conf conf;
	uint16_t *queue;
	int rc;

	if (r->types == 0)
		return 0;
	rss_conf(r, &conf);
	rc = rte_eth_dev_rss_hash_update(port_id, &conf);
	if (rc)
		return rc;
	table = calloc(groups, sizeof(*table));
	queue = calloc(r->table, sizeof(*queue));
	if (!table || !queue) {
		free(table);
		free(queue);
		return -ENOMEM;
	}
	rss_fill(dp.nat_shared, dp.n_workers, rxqs, queue, r->table);
	for (unsigned i = 0; i < r->table; i++) {
		struct rte_eth_rss_reta_entry64 *group = &table[i / RTE_ETH_RETA_GROUP_SIZE];

		group->mask |= RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE);
		group->reta[i % RTE_ETH_RETA_GROUP_SIZE] = queue[i];
	}
	rc = rte_eth_dev_rss_reta_update(port_id, table, r->table);
	free(table);
	free(queue);
	return rc;
}
