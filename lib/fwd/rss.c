/* SPDX-License-Identifier: BSD-3-Clause */
#include "rss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* TCP and UDP are IPv4 as well: their own types would add ports. */
#define BY_IPV4 (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER)

#define KEY_MIN 8 /* bytes that an address is hashed by */

/* Drivers to which the types mean something else than rte_ethdev.h says. */
static const struct {
	const char *prefix; /* of the driver's name */
	uint64_t more;	    /* types of their own, without ports where only the source counts */
	const char *cannot;
} drivers[] = {
	{.prefix = "net_hns3", .more = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP},
	{.prefix = "net_ena", .cannot = "it hashes TCP and UDP with their ports or not at all"},
};

static int refuse(struct fwd_err *err, int rc, const char *devargs, const char *why)
{
	return dp_err(err, rc, "device '%s' can't share out packets by source: %s", devargs, why);
}

int rss_by_source(const char *devargs, const char *driver, const struct rte_eth_dev_info *info,
		  uint16_t rxqs, struct rss *out, struct fwd_err *err)
{
	uint64_t types = BY_IPV4;
	const uint8_t *key;
	unsigned key_len;

	if (rxqs < 2)
		return refuse(err, -EINVAL, devargs,
			      "that takes 2 receive queues or more (rxqs N)");
	for (unsigned i = 0; i < RTE_DIM(drivers); i++) {
		if (strncmp(driver, drivers[i].prefix, strlen(drivers[i].prefix)) != 0)
			continue;
		if (drivers[i].cannot)
			return refuse(err, -EOPNOTSUPP, devargs, drivers[i].cannot);
		types |= drivers[i].more;
	}
	types &= info->flow_type_rss_offloads;
	if (types == 0)
		return refuse(err, -EOPNOTSUPP, devargs, "its driver has no RSS over IPv4");
	if (!(info->flow_type_rss_offloads & RTE_ETH_RSS_L3_SRC_ONLY))
		return refuse(
			err, -EOPNOTSUPP, devargs,
			"its driver has no RSS over the source alone (RTE_ETH_RSS_L3_SRC_ONLY)");
	*out = (struct rss){.types = types | RTE_ETH_RSS_L3_SRC_ONLY};
	if (dp.nat_shared == NULL)
		return 0;
	if (info->hash_key_size < KEY_MIN)
		return refuse(err, -EOPNOTSUPP, devargs, "its driver takes no RSS key");
	if (info->reta_size == 0)
		return refuse(err, -EOPNOTSUPP, devargs,
			      "its driver has no RSS redirection table to be set");
	key = nat_shared_rss_key(dp.nat_shared, &key_len);
	out->table = info->reta_size;
	out->key_len = info->hash_key_size;
	memcpy(out->key, key, RTE_MIN((unsigned)out->key_len, key_len));
	return 0;
}

void rss_conf(struct rss *r, struct rte_eth_rss_conf *out)
{
	*out = (struct rte_eth_rss_conf){
		.rss_hf = r->types,
		.rss_key = r->key_len > 0 ? r->key : NULL,
		.rss_key_len = r->key_len,
	};
}

uint16_t rss_queue(const struct nat_shared *shared, unsigned n_workers, unsigned entry,
		   uint16_t rxqs)
{
	unsigned owner = nat_shared_share_owner(shared, entry % NAT_HOST_SHARES), its;

	if (owner >= rxqs) /* it has none: someone hands over */
		return (uint16_t)(entry % rxqs);
	its = (rxqs - owner - 1) / n_workers + 1;
	return (uint16_t)(owner + entry / n_workers % its * n_workers);
}

int rss_apply(struct rss *r, uint16_t port_id, uint16_t rxqs)
{
	unsigned groups = (r->table + RTE_ETH_RETA_GROUP_SIZE - 1) / RTE_ETH_RETA_GROUP_SIZE;
	struct rte_eth_rss_reta_entry64 *table;
	struct rte_eth_rss_conf conf;
	int rc;

	if (r->table == 0)
		return 0;
	rss_conf(r, &conf);
	rc = rte_eth_dev_rss_hash_update(port_id, &conf);
	if (rc)
		return rc;
	table = calloc(groups, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (unsigned i = 0; i < r->table; i++) {
		struct rte_eth_rss_reta_entry64 *group = &table[i / RTE_ETH_RETA_GROUP_SIZE];

		group->mask |= RTE_BIT64(i % RTE_ETH_RETA_GROUP_SIZE);
		group->reta[i % RTE_ETH_RETA_GROUP_SIZE] =
			rss_queue(dp.nat_shared, dp.n_workers, i, rxqs);
	}
	rc = rte_eth_dev_rss_reta_update(port_id, table, r->table);
	free(table);
	return rc;
}
