/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys and shares for a NIC's RSS, against a plain Toeplitz hash, and ports chosen so that the
 * NIC's hash of an answer leads to the worker that owns the host. What is chosen keeps to every
 * requirement on ports (M4, M5, M12).
 */
#include "test_nat_lab.h"

#include "nat_shared.h"

/* ---- hash ------------------------------------------------------------------------------------ */

struct tuple {
	uint32_t src, dst;     /* host order */
	uint16_t sport, dport; /* of TCP and UDP */
	bool ports;
};

static bool bit_of(const uint8_t *p, unsigned bit)
{
	return p[bit / 8] >> (7 - bit % 8) & 1;
}

/* Bit by bit, as the RSS specification tells it. */
static uint32_t toeplitz(const uint8_t key[NAT_RSS_KEY], struct tuple t)
{
	uint8_t in[12];
	uint32_t hash = 0;

	set32(in, t.src);
	set32(in + 4, t.dst);
	set16(in + 8, t.sport);
	set16(in + 10, t.dport);
	for (unsigned i = 0; i < (t.ports ? 96 : 64); i++)
		for (unsigned b = 0; bit_of(in, i) && b < 32; b++)
			hash ^= (uint32_t)bit_of(key, i + b) << (31 - b);
	return hash;
}

static struct tuple any_tuple(uint64_t *seed)
{
	return (struct tuple){lab_rand(seed), lab_rand(seed), (uint16_t)lab_rand(seed),
			      (uint16_t)lab_rand(seed), lab_rand(seed) & 1};
}

static struct nat_shared *share(unsigned n_workers, uint64_t seed)
{
	struct nat_limits limits = {.max_sessions = 1000, .max_external = 2, .seed = seed};
	struct nat_ops none = {0};
	struct nat_shared *sh = nat_shared_create(&limits, &none, n_workers);

	assert_non_null(sh);
	return sh;
}

/* The plain hash that all this stands on; the numbers are those of the RSS specification. */
static void test_toeplitz_is_the_published_one(void **state)
{
	static const uint8_t key[NAT_RSS_KEY] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2,
						 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
						 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4,
						 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
						 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
	struct tuple t = {ntohl(ip4("66.9.149.187")), ntohl(ip4("161.142.100.80")), 2794, 1766,
			  true};

	(void)state;
	assert_int_equal(toeplitz(key, t), 0x51ccc178);
	t.ports = false;
	assert_int_equal(toeplitz(key, t), 0x323e8fc2);
}

static void test_share_by_source_is_the_sources_alone(void **state)
{
	uint64_t rnd = 3;

	(void)state;
	for (unsigned workers = 2; workers <= NAT_MAX_WORKERS; workers++) {
		struct nat_shared *sh = share(workers, workers);
		const uint8_t *key = nat_shared_rss_key(sh, NAT_RSS_SOURCE);

		for (unsigned i = 0; i < 2000; i++) {
			struct tuple t = any_tuple(&rnd);

			assert_int_equal(toeplitz(key, t) % nat_shared_shares(sh),
					 nat_host_share(sh, htonl(t.src)));
		}
		nat_shared_destroy(sh);
	}
}

/* Neighbours spread evenly, whatever the key; far hosts about so. */
static void test_hosts_spread_over_the_shares(void **state)
{
	uint64_t rnd = 5;

	(void)state;
	for (unsigned workers = 2; workers <= NAT_MAX_WORKERS; workers++) {
		struct nat_shared *sh = share(workers, workers);
		unsigned hosts[NAT_SHARES_MAX] = {0}, n = nat_shared_shares(sh);
		uint32_t net = lab_rand(&rnd) & ~(n - 1);

		for (unsigned i = 0; i < n; i++)
			hosts[nat_host_share(sh, htonl(net + i))]++;
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(hosts[i], 1);
		for (unsigned i = 0; i < 100 * n; i++) /* one host in each /24 */
			hosts[nat_host_share(sh, htonl(net + i * 256))]++;
		for (unsigned i = 0; i < n; i++)
			assert_in_range(hosts[i], 50, 202);
		nat_shared_destroy(sh);
	}
}

/* The smallest tables of NICs have 64 entries: for few workers, and where it comes out even, they
 * do. No worker has a sixth more than its part otherwise. */
static void test_shares_are_few_and_even(void **state)
{
	(void)state;
	for (unsigned workers = 2; workers <= NAT_MAX_WORKERS; workers++) {
		struct nat_shared *sh = share(workers, workers);
		unsigned n = nat_shared_shares(sh), most = (n + workers - 1) / workers;
		unsigned of[NAT_MAX_WORKERS] = {0};

		if (workers <= 8 || workers == 16 || workers == 32 || workers == 64)
			assert_int_equal(n, 64);
		else
			assert_int_equal(n, NAT_SHARES_MAX);
		for (unsigned i = 0; i < n; i++)
			of[nat_shared_share_owner(sh, i)]++;
		for (unsigned w = 0; w < workers; w++)
			assert_in_range(of[w], most - 1, most);
		if (workers <= 24)
			assert_true(6 * most * workers <= 7 * n);
		nat_shared_destroy(sh);
	}
}

/* Few hosts as well: 2^k of them, next to each other, are one more for some workers at most. */
static void test_neighbours_spread_over_the_workers(void **state)
{
	uint64_t rnd = 6;

	(void)state;
	for (unsigned workers = 2; workers <= NAT_MAX_WORKERS; workers++) {
		struct nat_shared *sh = share(workers, workers);

		for (unsigned n = 2; n <= nat_shared_shares(sh); n *= 2) {
			unsigned hosts[NAT_MAX_WORKERS] = {0};
			uint32_t net = lab_rand(&rnd) & ~(n - 1u);

			for (unsigned i = 0; i < n; i++)
				hosts[nat_host_owner(sh, htonl(net + i))]++;
			for (unsigned i = 0; i < workers; i++)
				assert_in_range(hosts[i], n / workers, (n + workers - 1) / workers);
		}
		nat_shared_destroy(sh);
	}
}

static void test_share_by_port_is_the_destination_ports_alone(void **state)
{
	uint64_t rnd = 7;

	(void)state;
	for (unsigned workers = 2; workers <= NAT_MAX_WORKERS; workers++) {
		struct nat_shared *sh = share(workers, workers);
		const uint8_t *key = nat_shared_rss_key(sh, NAT_RSS_DESTINATION_PORT);
		unsigned of[65536 / 64];

		for (unsigned i = 0; i < 2000; i++) {
			struct tuple t = any_tuple(&rnd);
			unsigned got = nat_shared_share_owner(sh, toeplitz(key, t) %
									  nat_shared_shares(sh));

			assert_int_equal(got, nat_port_preferrer(sh, t.ports ? t.dport : 0));
		}
		/* each worker has its part of the ports, of those below 1024 too */
		for (unsigned word = 0; word < 65536 / 64; word++)
			of[word] = nat_port_preferrer(sh, word * 64);
		for (unsigned w = 0; w < workers; w++) {
			unsigned all = 0, low = 0;

			for (unsigned word = 0; word < 65536 / 64; word++) {
				all += of[word] == w;
				low += word < 16 && of[word] == w;
			}
			assert_in_range(all, 1024 / workers / 2, 1024 / workers * 2);
			assert_in_range(low, 16 / workers, 16 / workers + 1);
		}
		nat_shared_destroy(sh);
	}
}

/* ---- choice ---------------------------------------------------------------------------------- */

static void lab_steered(struct lab *lab, unsigned workers, uint64_t seed)
{
	char n[8];

	snprintf(n, sizeof(n), "%u", workers);
	setenv("LAB_WORKERS", n, 1);
	lab_init_sized(lab,
		       (struct nat_limits){.max_sessions = 20000, .max_external = 4, .seed = seed});
	lab_base(lab);
	lab->conf.port_preservation = false;
	if (lab->shared != NULL)
		nat_shared_prefer_ports(lab->shared, true);
	lab_load(lab);
}

static unsigned out(struct lab *lab, unsigned proto, unsigned host, unsigned sport)
{
	struct packet p;
	char src[32];
	unsigned port;

	snprintf(src, sizeof(src), "10.0.0.%u", host);
	p = proto == IPPROTO_TCP ? packet_tcp(src, sport, R1, 443, SYN, 1, 0, "")
				 : packet_udp(src, sport, R1, 443, "x");
	assert_translates(lab, INSIDE, p);
	assert_sums(p);
	port = packet_sport(p);
	free(p.b);
	return port;
}

/* The worker that a NIC gives the answer to. */
static unsigned answered_by(const struct lab *lab, unsigned port, uint64_t *seed)
{
	struct tuple t = any_tuple(seed);

	t.dport = (uint16_t)port;
	t.ports = true;
	return nat_shared_share_owner(
		lab->shared,
		toeplitz(nat_shared_rss_key(lab->shared, NAT_RSS_DESTINATION_PORT), t) %
			nat_shared_shares(lab->shared));
}

static bool at_its_worker(const struct lab *lab, unsigned port, uint64_t *seed)
{
	return lab->nats[answered_by(lab, port, seed)] == lab->nat;
}

static void test_answers_come_to_the_hosts_worker(void **state)
{
	uint64_t seed = 9;

	(void)state;
	for (unsigned workers = 2; workers <= LAB_MAX_WORKERS; workers++) {
		struct lab lab;

		lab_steered(&lab, workers, workers);
		for (unsigned i = 0; i < 2000; i++) {
			unsigned sport = 1024 + lab_rand(&seed) % 64512, host = 2 + i % 200;

			assert_true(
				at_its_worker(&lab, out(&lab, IPPROTO_TCP, host, sport), &seed));
			assert_true(
				at_its_worker(&lab, out(&lab, IPPROTO_UDP, host, sport), &seed));
		}
		lab_end(&lab);
	}
}

static void test_chosen_ports_keep_range_and_parity_M4_M5(void **state)
{
	uint64_t seed = 11;
	struct lab lab;
	unsigned kept = 0;

	(void)state;
	lab_steered(&lab, 4, 1);
	for (unsigned i = 0; i < 2000; i++) {
		unsigned sport = i % 16 ? 1024 + lab_rand(&seed) % 64512 : 2 * i / 16;
		unsigned port = out(&lab, IPPROTO_UDP, 2 + i % 200, sport);

		assert_int_equal(port < 1024, sport < 1024);
		assert_int_equal(port & 1, sport & 1);
		kept += port == sport;
	}
	assert_in_range(kept, 0, 10);
	lab_end(&lab);
}

/* Whoever knows the worker knows nothing more of a port. */
static void test_chosen_ports_are_random_M12(void **state)
{
	unsigned low[64] = {0}, high[8] = {0};
	struct lab lab;

	(void)state;
	lab_steered(&lab, 4, 13);
	for (unsigned i = 0; i < 6400; i++) {
		unsigned port = out(&lab, IPPROTO_TCP, 2 + i % 200, 2000 + i);

		low[port & 63]++;
		high[port >> 13]++;
	}
	for (unsigned i = 0; i < 64; i++)
		assert_in_range(low[i], 60, 140);
	for (unsigned i = 1; i < 8; i++)
		assert_in_range(high[i], 600, 1000);
	lab_free(&lab);
}

/* A preference, no limit: every port of a pool can be had by one host with any number of workers.
 */
static void test_one_host_can_have_every_port(void **state)
{
	for (unsigned workers = 1; workers <= LAB_MAX_WORKERS; workers++) {
		bool had[65536] = {false};
		struct packet p;
		struct lab lab;

		(void)state;
		lab_steered(&lab, workers, 17);
		lab.pools[0].port_lo = 5000;
		lab.pools[0].port_hi = 5599;
		lab_load(&lab);
		for (unsigned i = 0; i < 600; i++) {
			unsigned port = out(&lab, IPPROTO_TCP, 2, 20000 + i);

			assert_in_range(port, 5000, 5599);
			assert_false(had[port]);
			had[port] = true;
		}
		p = packet_tcp("10.0.0.2", 30000, R1, 443, SYN, 1, 0, "");
		assert_drops(&lab, INSIDE, p, nat_pool_exhausted);
		free(p.b);
		lab_end(&lab);
	}
}

/* One that is free is kept, wherever it leads (M4); one that is not leads to the host's worker. */
static void test_preservation_comes_first_M4(void **state)
{
	uint64_t seed = 19;
	unsigned kept = 0;
	struct lab lab;

	(void)state;
	lab_steered(&lab, 4, 23);
	lab.conf.port_preservation = true;
	lab_load(&lab);
	for (unsigned i = 0; i < 500; i++) {
		unsigned sport = 1024 + i * 7;

		kept += out(&lab, IPPROTO_TCP, 2 + i % 50, sport) == sport;
		assert_true(at_its_worker(&lab, out(&lab, IPPROTO_TCP, 60 + i % 50, sport), &seed));
	}
	assert_in_range(kept, 480, 500); /* a few were chosen for others before */
	lab_end(&lab);
}

/* An ICMP identifier is nothing that a device hashes: all are alike. */
static void test_identifiers_are_not_steered(void **state)
{
	bool seen[128] = {false};
	struct lab lab;
	unsigned groups = 0;

	(void)state;
	lab_steered(&lab, 8, 29);
	for (unsigned i = 0; i < 2000; i++) {
		struct packet p = packet_icmp("10.0.0.2", R1, 8, i, 1, "ping");
		unsigned group;

		assert_translates(&lab, INSIDE, p);
		group = packet_id(p) >> 6 & 127;
		groups += !seen[group];
		seen[group] = true;
		free(p.b);
	}
	assert_int_equal(groups, 128);
	lab_end(&lab);
}

static void test_without_steering_all_ports_are_alike(void **state)
{
	uint64_t seed = 31;
	struct lab lab;
	unsigned at_home = 0;

	(void)state;
	lab_steered(&lab, 4, 37);
	nat_shared_prefer_ports(lab.shared, false);
	for (unsigned i = 0; i < 2000; i++)
		at_home +=
			at_its_worker(&lab, out(&lab, IPPROTO_TCP, 2 + i % 200, 3000 + i), &seed);
	assert_in_range(at_home, 400, 600);
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_toeplitz_is_the_published_one),
		cmocka_unit_test(test_share_by_source_is_the_sources_alone),
		cmocka_unit_test(test_hosts_spread_over_the_shares),
		cmocka_unit_test(test_shares_are_few_and_even),
		cmocka_unit_test(test_neighbours_spread_over_the_workers),
		cmocka_unit_test(test_share_by_port_is_the_destination_ports_alone),
		cmocka_unit_test(test_answers_come_to_the_hosts_worker),
		cmocka_unit_test(test_chosen_ports_keep_range_and_parity_M4_M5),
		cmocka_unit_test(test_chosen_ports_are_random_M12),
		cmocka_unit_test(test_one_host_can_have_every_port),
		cmocka_unit_test(test_preservation_comes_first_M4),
		cmocka_unit_test(test_identifiers_are_not_steered),
		cmocka_unit_test(test_without_steering_all_ports_are_alike),
	};

	return cmocka_run_group_tests_name("nat_steer", tests, NULL, NULL);
}
