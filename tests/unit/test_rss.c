/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RSS by source and by destination port: each share comes to a queue that its owner polls, and a
 * device is told so. net_null keeps a key and a table, and hashes nothing; tests/guest has a device
 * that does.
 */
#include <dlfcn.h>
#include <errno.h>

#include <rte_thash.h>

#include "fwd_fixture.h"
#include "nat_shared.h"
#include "port.h"

#define TABLE 128 /* net_null's */

/* What the device says of itself. */
static struct {
	uint64_t types;
	uint8_t key_size;
	bool no_table;
} nic;

static uint64_t told; /* types, after the start */
static int tell_rc;

/* In place of DPDK's, which asks by this name too. */
int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	int (*real)(uint16_t, struct rte_eth_dev_info *);
	int rc;

	*(void **)&real = dlsym(RTLD_NEXT, "rte_eth_dev_info_get");
	rc = real(port_id, info);
	info->flow_type_rss_offloads &= nic.types;
	info->hash_key_size = nic.key_size;
	info->reta_size = nic.no_table ? 0 : info->reta_size;
	return rc;
}

int rte_eth_dev_rss_hash_update(uint16_t port_id, struct rte_eth_rss_conf *conf)
{
	int (*real)(uint16_t, struct rte_eth_rss_conf *);

	told = conf->rss_hf;
	if (tell_rc)
		return tell_rc;
	*(void **)&real = dlsym(RTLD_NEXT, "rte_eth_dev_rss_hash_update");
	return real(port_id, conf);
}

static int setup(void **state)
{
	(void)state;
	fixture_eal("0@0");
	fixture_pool(16384);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rte_mempool_free(dp.pool);
	return 0;
}

static struct nat_shared *share(unsigned n_workers, uint64_t seed)
{
	struct nat_limits limits = {.max_sessions = 1000, .max_external = 2, .seed = seed};
	struct nat_ops none = {0};
	struct nat_shared *sh = nat_shared_create(&limits, &none, n_workers);

	assert_non_null(sh);
	return sh;
}

static int up(void **state)
{
	(void)state;
	nic.types = ~UINT64_C(0);
	nic.key_size = 40;
	nic.no_table = false;
	told = 0;
	tell_rc = 0;
	dp.n_workers = 3;
	dp.nat_shared = share(dp.n_workers, 4711);
	return 0;
}

static int down(void **state)
{
	(void)state;
	assert_int_equal(rte_eth_dev_count_avail(), 0);
	nat_shared_destroy(dp.nat_shared);
	dp.nat_shared = NULL;
	return 0;
}

static uint32_t rnd(void)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

static struct port opened(uint16_t rxqs, enum fwd_rss by)
{
	struct fwd_err err = {0};
	struct port p;

	if (port_open("net_null0", 0, rxqs, by, dp.n_workers, dp.pool, &p, &err))
		fail_msg("%s", err.msg);
	return p;
}

static void refused(uint16_t rxqs, enum fwd_rss by, int rc, const char *words)
{
	struct fwd_err err = {0};
	struct port p;
	int got = port_open("net_null0", 0, rxqs, by, dp.n_workers, dp.pool, &p, &err);

	if (got != rc || !strstr(err.msg, words) || !strstr(err.msg, "'net_null0'"))
		fail_msg("%d '%s' where %d with '%s' was due", got, err.msg, rc, words);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static void table_of(const struct port *p, struct rte_eth_rss_reta_entry64 *table)
{
	memset(table, 0, TABLE / 64 * sizeof(*table));
	for (unsigned i = 0; i < TABLE / 64; i++)
		table[i].mask = UINT64_MAX;
	assert_int_equal(rte_eth_dev_rss_reta_query(p->port_id, table, TABLE), 0);
}

static void key_of(const struct port *p, uint8_t key[40])
{
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = 40};

	assert_int_equal(rte_eth_dev_rss_hash_conf_get(p->port_id, &conf), 0);
}

/* ---- shares ---------------------------------------------------------------------------------- */

static void test_each_share_comes_to_its_owner(void **state)
{
	(void)state;
	for (unsigned workers = 2; workers <= 20; workers++) {
		struct nat_shared *sh = share(workers, workers);

		for (uint16_t rxqs = 2; rxqs <= FWD_MAX_QUEUES; rxqs++) {
			unsigned filled[FWD_MAX_QUEUES] = {0};
			uint16_t queue[2048];

			rss_fill(sh, workers, rxqs, queue, RTE_DIM(queue));
			for (unsigned i = 0; i < RTE_DIM(queue); i++) {
				unsigned owner =
					nat_shared_share_owner(sh, i % nat_shared_shares(sh));

				assert_in_range(queue[i], 0, rxqs - 1);
				if (owner < rxqs)
					assert_int_equal(rss_worker(queue[i], workers), owner);
				filled[queue[i]]++;
			}
			for (uint16_t q = 0; q < rxqs; q++)
				assert_true(filled[q] > 0);
			/* a worker's queues get equally much */
			for (uint16_t q = 0; rxqs >= workers && q + workers < rxqs; q++)
				assert_in_range(filled[q], filled[q + workers],
						filled[q + workers] + 1);
		}
		nat_shared_destroy(sh);
	}
}

/* ---- devices --------------------------------------------------------------------------------- */

/* What it does with a datagram of these addresses and ports: DPDK's Toeplitz, its key and table. */
static uint16_t queue_for(const struct port *p, struct rte_ipv4_tuple t, bool ports)
{
	struct rte_eth_rss_reta_entry64 table[TABLE / 64];
	unsigned entry;
	uint8_t key[40];

	key_of(p, key);
	table_of(p, table);
	entry = rte_softrss((uint32_t *)&t, ports ? RTE_THASH_V4_L4_LEN : RTE_THASH_V4_L3_LEN,
			    key) %
		TABLE;
	assert_in_range(table[entry / 64].reta[entry % 64], 0, p->rxqs - 1);
	return table[entry / 64].reta[entry % 64];
}

static void device_agrees(const struct port *p, enum fwd_rss by)
{
	for (unsigned i = 0; i < 2000; i++) {
		struct rte_ipv4_tuple t = {.src_addr = rnd(), .dst_addr = rnd()};
		bool ports = by == FWD_RSS_DESTINATION_PORT || rnd() & 1;
		unsigned owner;

		t.sport = (uint16_t)rnd();
		t.dport = (uint16_t)rnd();
		owner = by == FWD_RSS_SOURCE
				? nat_host_owner(dp.nat_shared, rte_cpu_to_be_32(t.src_addr))
				: nat_port_preferrer(dp.nat_shared, t.dport);
		assert_int_equal(rss_worker(queue_for(p, t, ports), dp.n_workers), owner);
	}
}

static const enum fwd_rss both[] = {FWD_RSS_SOURCE, FWD_RSS_DESTINATION_PORT};

static void test_device_has_our_key_and_table(void **state)
{
	struct rte_eth_conf conf;
	struct port p;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		uint16_t rxqs = (uint16_t)(3 + i / 2);

		p = opened(rxqs, both[i % 2]);
		assert_int_equal(p.rxqs, rxqs);
		device_agrees(&p, both[i % 2]);
		assert_true(told == (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 |
				     RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_NONFRAG_IPV4_TCP |
				     RTE_ETH_RSS_NONFRAG_IPV4_UDP));
		assert_int_equal(rte_eth_dev_conf_get(p.port_id, &conf), 0);
		assert_true(conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG);
		port_close(&p);
	}
}

static void test_device_is_told_again_after_a_restart(void **state)
{
	struct rte_eth_rss_reta_entry64 table[TABLE / 64] = {0};
	uint8_t other[40] = {1};
	struct rte_eth_rss_conf conf = {.rss_key = other, .rss_key_len = sizeof(other)};
	struct port p = opened(3, FWD_RSS_SOURCE);
	struct fwd_err err = {0};

	(void)state;
	strcpy(p.driver, "a NIC's"); /* stopped for a new MTU */
	for (unsigned i = 0; i < TABLE / 64; i++)
		table[i].mask = UINT64_MAX;
	assert_int_equal(rte_eth_dev_rss_reta_update(p.port_id, table, TABLE), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(p.port_id, &conf), 0);
	assert_int_equal(port_set_mtu(&p, 1400, &err), 0);
	device_agrees(&p, FWD_RSS_SOURCE);
	tell_rc = -EIO;
	assert_int_equal(port_set_mtu(&p, 1300, &err), -EIO);
	assert_non_null(strstr(err.msg, "RSS key and table"));
	port_close(&p);
}

static void test_one_worker_leaves_key_and_table_to_the_device(void **state)
{
	struct rte_eth_rss_reta_entry64 table[2][TABLE / 64];
	uint8_t key[2][40];
	struct port p;

	(void)state;
	nat_shared_destroy(dp.nat_shared);
	dp.nat_shared = NULL;
	dp.n_workers = 1;
	for (unsigned i = 0; i < 2; i++) {
		p = opened(2, i ? FWD_RSS_SOURCE : FWD_RSS_FLOW);
		key_of(&p, key[i]);
		table_of(&p, table[i]);
		port_close(&p);
	}
	assert_memory_equal(key[0], key[1], sizeof(key[0]));
	assert_memory_equal(table[0], table[1], sizeof(table[0]));
	assert_int_equal(told, 0);
}

static void test_flow_tells_nothing(void **state)
{
	struct rte_eth_conf conf;
	struct fwd_err err = {0};
	struct port p;

	(void)state;
	assert_int_equal(port_open("net_null0", 0, 3, FWD_RSS_FLOW, 3, dp.pool, &p, &err), 0);
	assert_int_equal(rte_eth_dev_conf_get(p.port_id, &conf), 0);
	assert_int_equal(conf.rx_adv_conf.rss_conf.rss_hf, 0);
	assert_int_equal(told, 0);
	port_close(&p);
}

static void test_what_a_device_lacks_is_named(void **state)
{
	struct port p;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		refused(0, both[i], -EINVAL, "2 receive queues or more");
		refused(1, both[i], -EINVAL, "2 receive queues or more");
		nic.types = RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP;
		refused(2, both[i], -EOPNOTSUPP, "no RSS over IPv4");
		nic.types = ~UINT64_C(0);
		nic.key_size = 39;
		refused(2, both[i], -EOPNOTSUPP, "no RSS key");
		nic.key_size = 40;
		nic.no_table = true;
		refused(2, both[i], -EOPNOTSUPP, "no RSS redirection table");
		nic.no_table = false;
		tell_rc = -EIO;
		refused(2, both[i], -EIO, "RSS key and table can't be set");
		tell_rc = 0;
		p = opened(2, both[i]);
		port_close(&p);
	}
	refused(1, FWD_RSS_SOURCE, -EINVAL, "by source");
	refused(1, FWD_RSS_DESTINATION_PORT, -EINVAL, "by destination port");
	/* addresses alone do for the source */
	nic.types = RTE_ETH_RSS_IPV4;
	p = opened(2, FWD_RSS_SOURCE);
	assert_int_equal(told, RTE_ETH_RSS_IPV4);
	port_close(&p);
	refused(2, FWD_RSS_DESTINATION_PORT, -EOPNOTSUPP, "no RSS over the ports");
	nic.types = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP;
	refused(2, FWD_RSS_DESTINATION_PORT, -EOPNOTSUPP, "no RSS over the ports");
}

static void test_longer_keys_end_in_zeros(void **state)
{
	struct rte_eth_dev_info info = {
		.flow_type_rss_offloads = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP,
		.hash_key_size = 52,
		.reta_size = 512,
	};
	const uint8_t zeros[12] = {0};
	struct fwd_err err = {0};
	struct rss r;

	(void)state;
	assert_int_equal(rss_plan(FWD_RSS_SOURCE, "d", &info, 4, &r, &err), 0);
	assert_int_equal(r.table, 512);
	assert_false(r.types &
		     ~(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER |
		       RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP));
	assert_int_equal(r.key_len, 52);
	assert_memory_equal(r.key, nat_shared_rss_key(dp.nat_shared, NAT_RSS_SOURCE), NAT_RSS_KEY);
	assert_memory_equal(r.key + 40, zeros, sizeof(zeros));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_share_comes_to_its_owner),
		cmocka_unit_test_setup_teardown(test_device_has_our_key_and_table, up, down),
		cmocka_unit_test_setup_teardown(test_device_is_told_again_after_a_restart, up,
						down),
		cmocka_unit_test_setup_teardown(test_one_worker_leaves_key_and_table_to_the_device,
						up, down),
		cmocka_unit_test_setup_teardown(test_flow_tells_nothing, up, down),
		cmocka_unit_test_setup_teardown(test_what_a_device_lacks_is_named, up, down),
		cmocka_unit_test_setup_teardown(test_longer_keys_end_in_zeros, up, down),
	};

	return cmocka_run_group_tests_name("rss", tests, setup, teardown);
}
