/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RSS by source: our hash is the NICs', each share comes to a queue that its owner polls, and a
 * device is told so. No device without hardware says that it hashes the source alone, so net_null,
 * which keeps a key and a table, is made to say so.
 */
#include <dlfcn.h>
#include <errno.h>

#include <rte_thash.h>

#include "fwd_fixture.h"
#include "nat_shared.h"
#include "port.h"

#define TABLE 128 /* net_null's */

/* What the device says of itself beyond the truth. */
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
	info->flow_type_rss_offloads |= nic.types;
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
	nic.types = RTE_ETH_RSS_L3_SRC_ONLY;
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

static struct port open_by_source(uint16_t rxqs)
{
	struct fwd_err err = {0};
	struct port p;

	if (port_open("net_null0", 0, rxqs, FWD_RSS_SOURCE, dp.n_workers, dp.pool, &p, &err))
		fail_msg("%s", err.msg);
	return p;
}

static void refused(uint16_t rxqs, int rc, const char *words)
{
	struct fwd_err err = {0};
	struct port p;
	int got = port_open("net_null0", 0, rxqs, FWD_RSS_SOURCE, dp.n_workers, dp.pool, &p, &err);

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

/* ---- hash and shares ------------------------------------------------------------------------- */

/* Against DPDK's Toeplitz; a device that leaves zeros for what does not count computes the same. */
static void test_hash_is_that_of_the_source(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct nat_shared *sh = share(2, seed);
		const uint8_t *key;
		unsigned bytes;

		key = nat_shared_rss_key(sh, &bytes);
		assert_int_equal(bytes, 40);
		for (unsigned i = 0; i < 2000; i++) {
			uint32_t tuple[3] = {rnd(), 0, 0};
			uint32_t hash = nat_rss_hash(sh, rte_cpu_to_be_32(tuple[0]));

			assert_int_equal(hash, rte_softrss(tuple, 1, key));
			assert_int_equal(hash, rte_softrss(tuple, 3, key));
		}
		nat_shared_destroy(sh);
	}
}

static void test_each_share_comes_to_its_owner(void **state)
{
	(void)state;
	for (unsigned workers = 2; workers <= 20; workers++) {
		struct nat_shared *sh = share(workers, workers);

		for (uint16_t rxqs = 2; rxqs <= FWD_MAX_QUEUES; rxqs++) {
			unsigned filled[FWD_MAX_QUEUES] = {0};

			for (unsigned entry = 0; entry < 2048; entry++) {
				unsigned owner =
					nat_shared_share_owner(sh, entry % NAT_HOST_SHARES);
				uint16_t q = rss_queue(sh, workers, entry, rxqs);

				assert_in_range(q, 0, rxqs - 1);
				if (owner < rxqs)
					assert_int_equal(rss_worker(q, workers), owner);
				filled[q]++;
			}
			for (uint16_t q = 0; q < rxqs; q++)
				assert_true(filled[q] > 0);
		}
		nat_shared_destroy(sh);
	}
}

/* ---- devices --------------------------------------------------------------------------------- */

static void device_agrees(const struct port *p)
{
	struct rte_eth_rss_reta_entry64 table[TABLE / 64];
	uint8_t key[40];
	unsigned bytes;

	key_of(p, key);
	assert_memory_equal(key, nat_shared_rss_key(dp.nat_shared, &bytes), sizeof(key));
	table_of(p, table);
	for (unsigned i = 0; i < 2000; i++) {
		uint32_t addr = rnd(), entry = rte_softrss(&addr, 1, key) % TABLE;
		uint16_t q = table[entry / 64].reta[entry % 64];

		assert_in_range(q, 0, p->rxqs - 1);
		assert_int_equal(rss_worker(q, dp.n_workers),
				 nat_host_owner(dp.nat_shared, rte_cpu_to_be_32(addr)));
	}
}

static void test_device_has_our_key_and_table(void **state)
{
	struct rte_eth_conf conf;
	struct port p;

	(void)state;
	for (uint16_t rxqs = 3; rxqs <= 8; rxqs++) {
		p = open_by_source(rxqs);
		assert_int_equal(p.rxqs, rxqs);
		device_agrees(&p);
		/* no type of TCP or UDP, which would add ports */
		assert_true(told == (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 |
				     RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_L3_SRC_ONLY));
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
	struct port p = open_by_source(3);
	struct fwd_err err = {0};

	(void)state;
	strcpy(p.driver, "a NIC's"); /* stopped for a new MTU */
	for (unsigned i = 0; i < TABLE / 64; i++)
		table[i].mask = UINT64_MAX;
	assert_int_equal(rte_eth_dev_rss_reta_update(p.port_id, table, TABLE), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(p.port_id, &conf), 0);
	assert_int_equal(port_set_mtu(&p, 1400, &err), 0);
	device_agrees(&p);
	tell_rc = -EIO;
	assert_int_equal(port_set_mtu(&p, 1300, &err), -EIO);
	assert_non_null(strstr(err.msg, "RSS key and table"));
	port_close(&p);
}

static void test_one_worker_leaves_key_and_table_to_the_device(void **state)
{
	uint8_t key[40], now[40];
	struct rte_eth_conf conf;
	struct fwd_err err = {0};
	struct port p;

	(void)state;
	nat_shared_destroy(dp.nat_shared);
	dp.nat_shared = NULL;
	dp.n_workers = 1;
	nic.key_size = 0;
	assert_int_equal(port_open("net_null0", 0, 2, FWD_RSS_FLOW, 1, dp.pool, &p, &err), 0);
	key_of(&p, key);
	port_close(&p);
	p = open_by_source(2);
	assert_int_equal(rte_eth_dev_conf_get(p.port_id, &conf), 0);
	assert_true(conf.rx_adv_conf.rss_conf.rss_hf & RTE_ETH_RSS_L3_SRC_ONLY);
	key_of(&p, now);
	assert_memory_equal(now, key, sizeof(key));
	port_close(&p);
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
	refused(0, -EINVAL, "2 receive queues or more");
	refused(1, -EINVAL, "2 receive queues or more");
	nic.types = 0;
	refused(2, -EOPNOTSUPP, "RTE_ETH_RSS_L3_SRC_ONLY");
	nic.types = RTE_ETH_RSS_L3_SRC_ONLY;
	nic.key_size = 0;
	refused(2, -EOPNOTSUPP, "no RSS key");
	nic.key_size = 40;
	nic.no_table = true;
	refused(2, -EOPNOTSUPP, "no RSS redirection table");
	nic.no_table = false;
	tell_rc = -EIO;
	refused(2, -EIO, "RSS key and table can't be set");
	tell_rc = 0;
	p = open_by_source(2);
	port_close(&p);
}

static void test_drivers_that_differ(void **state)
{
	struct rte_eth_dev_info info = {
		.flow_type_rss_offloads = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP |
					  RTE_ETH_RSS_L3_SRC_ONLY,
		.hash_key_size = 52,
		.reta_size = 512,
	};
	const uint64_t ports = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	const uint8_t zeros[12] = {0};
	struct fwd_err err = {0};
	unsigned bytes;
	struct rss r;

	(void)state;
	assert_int_equal(rss_by_source("d", "mlx5_pci", &info, 4, &r, &err), 0);
	assert_false(r.types & (ports | RTE_ETH_RSS_IPV6));
	assert_int_equal(r.table, 512);
	/* the device's length, ours with zeros behind */
	assert_int_equal(r.key_len, 52);
	assert_memory_equal(r.key, nat_shared_rss_key(dp.nat_shared, &bytes), NAT_RSS_KEY);
	assert_memory_equal(r.key + 40, zeros, sizeof(zeros));
	/* other types than IPv4's are for other packets there, and have no ports then */
	assert_int_equal(rss_by_source("d", "net_hns3_vf", &info, 4, &r, &err), 0);
	assert_true((r.types & ports) == ports);
	assert_int_equal(rss_by_source("d", "net_ena", &info, 4, &r, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "TCP and UDP"));
	info.flow_type_rss_offloads = RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_L3_SRC_ONLY;
	assert_int_equal(rss_by_source("d", "mlx5_pci", &info, 4, &r, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "over IPv4"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash_is_that_of_the_source),
		cmocka_unit_test(test_each_share_comes_to_its_owner),
		cmocka_unit_test_setup_teardown(test_device_has_our_key_and_table, up, down),
		cmocka_unit_test_setup_teardown(test_device_is_told_again_after_a_restart, up,
						down),
		cmocka_unit_test_setup_teardown(test_one_worker_leaves_key_and_table_to_the_device,
						up, down),
		cmocka_unit_test_setup_teardown(test_flow_tells_nothing, up, down),
		cmocka_unit_test_setup_teardown(test_what_a_device_lacks_is_named, up, down),
		cmocka_unit_test_setup_teardown(test_drivers_that_differ, up, down),
	};

	return cmocka_run_group_tests_name("rss", tests, setup, teardown);
}
