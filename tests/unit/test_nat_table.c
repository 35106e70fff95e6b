/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structures below translation: hash table, timer wheel, port map, random numbers, key hash;
 * each against a plain oracle.
 */
#include "test_nat_lab.h"

#include "nat_key.h"
#include "nat_ports.h"
#include "nat_random.h"
#include "nat_table.h"
#include "nat_wheel.h"

/* ---- table ---- */

struct numbers {
	const uint32_t *hash; /* of each value */
	uint32_t want;
};

static bool same_value(const void *ctx, uint32_t value)
{
	return ((const struct numbers *)ctx)->want == value;
}

/* Random inserts and deletes around full load; every value is found exactly while it is in. */
static void table_matches_oracle(uint32_t capacity, unsigned steps, uint64_t seed,
				 uint32_t hash_mask)
{
	struct nat_table t;
	void *mem = aligned_alloc(64, nat_table_bytes(capacity));
	uint32_t *hash = calloc(capacity, sizeof(*hash));
	bool *in = calloc(capacity, sizeof(*in));
	uint32_t count = 0, refused = 0;

	memset(mem, 0, nat_table_bytes(capacity));
	nat_table_init(&t, mem, capacity);
	for (uint32_t v = 0; v < capacity; v++)
		hash[v] = lab_rand(&seed) & hash_mask;
	for (unsigned i = 0; i < steps; i++) {
		uint32_t v = lab_rand(&seed) % capacity;
		struct numbers n = {hash, v};

		assert_int_equal(nat_table_find(&t, hash[v], same_value, &n), in[v] ? v : NAT_NONE);
		if (!in[v]) {
			if (nat_table_insert(&t, hash[v], v)) {
				in[v] = true;
				count++;
			} else {
				refused++;
			}
		} else if (i > steps / 2 && lab_rand(&seed) % 10 == 0) {
			/* a new hash for the value, in two steps */
			assert_true(nat_table_delete(&t, hash[v], v));
			assert_false(nat_table_delete(&t, hash[v], v));
			in[v] = false;
			count--;
			hash[v] = lab_rand(&seed) & hash_mask;
		}
		assert_int_equal(t.count, count);
	}
	if (hash_mask == UINT32_MAX) {
		assert_int_equal(refused, 0);
		assert_true(count > capacity * 85ull / 100);
	}
	for (uint32_t v = 0; v < capacity; v++) {
		struct numbers n = {hash, v};

		assert_int_equal(nat_table_find(&t, hash[v], same_value, &n), in[v] ? v : NAT_NONE);
		if (in[v])
			assert_true(nat_table_delete(&t, hash[v], v));
	}
	/* nothing is left behind, no count either */
	for (uint32_t b = 0; b < t.n_buckets; b++) {
		assert_int_equal(t.buckets[b].moved, 0);
		assert_int_equal(t.buckets[b].away, 0);
		for (unsigned s = 0; s < NAT_BUCKET_SLOTS; s++)
			assert_int_equal(t.buckets[b].tag[s], 0);
	}
	free(mem);
	free(hash);
	free(in);
}

static void test_table_matches_oracle_at_full_load(void **state)
{
	(void)state;
	table_matches_oracle(1, 100, 1, UINT32_MAX);
	table_matches_oracle(10, 1000, 2, UINT32_MAX);
	table_matches_oracle(1000, 50000, 3, UINT32_MAX);
	table_matches_oracle(60000, 600000, 4, UINT32_MAX);
}

static void test_table_takes_its_capacity(void **state)
{
	static const uint32_t sizes[] = {100, 4096, 100000, 400000};
	uint64_t seed = 7;

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		struct nat_table t;
		void *mem = aligned_alloc(64, nat_table_bytes(sizes[k]));

		memset(mem, 0, nat_table_bytes(sizes[k]));
		nat_table_init(&t, mem, sizes[k]);
		for (uint32_t v = 0; v < sizes[k]; v++)
			assert_true(nat_table_insert(&t, lab_rand(&seed), v));
		free(mem);
	}
}

static void test_table_with_colliding_hashes_refuses_cleanly(void **state)
{
	(void)state;
	/* 16 hashes for 1,000 values: most don't fit, the others must stay right */
	table_matches_oracle(1000, 20000, 5, 15);
	table_matches_oracle(1000, 20000, 6, 0);
}

static void test_table_replaces_in_place(void **state)
{
	struct nat_table t;
	void *mem = aligned_alloc(64, nat_table_bytes(10));
	struct numbers n = {NULL, 8};

	(void)state;
	memset(mem, 0, nat_table_bytes(10));
	nat_table_init(&t, mem, 10);
	assert_true(nat_table_insert(&t, 77, 5));
	assert_true(nat_table_replace(&t, 77, 5, 8));
	assert_false(nat_table_replace(&t, 77, 5, 8));
	assert_int_equal(nat_table_find(&t, 77, same_value, &n), 8);
	assert_int_equal(t.count, 1);
	free(mem);
}

/* ---- wheel ---- */

static void test_wheel_gives_each_record_when_due(void **state)
{
	enum { N = 500 };
	static struct nat_link links[N];
	static uint32_t heads[NAT_WHEEL_SLOTS];
	uint64_t due[N], now = 123456, seed = 9;
	bool armed[N] = {false};
	struct nat_wheel w;

	(void)state;
	nat_wheel_init(&w, heads, links, sizeof(links[0]), 0);
	nat_wheel_start(&w, now);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t r = lab_rand(&seed) % N, out;

		if (armed[r] && lab_rand(&seed) % 2) {
			nat_wheel_disarm(&w, r);
			armed[r] = false;
		} else if (!armed[r]) {
			due[r] = now + lab_rand(&seed) % 12000;
			nat_wheel_arm(&w, r, due[r]);
			armed[r] = true;
		}
		now += lab_rand(&seed) % 20 == 0 ? lab_rand(&seed) % 3000 : lab_rand(&seed) % 3;
		while ((out = nat_wheel_next(&w, now)) != NAT_NONE) {
			assert_true(armed[out]);
			armed[out] = false;
			/* early only where the wheel's end forces it: then it is armed again */
			if (due[out] > now) {
				assert_true(due[out] - now < 12000);
				nat_wheel_arm(&w, out, due[out]);
				armed[out] = true;
			}
		}
		/* a record armed for the past comes up in the next second */
		for (unsigned k = 0; k < N && i % 100 == 0; k++)
			if (armed[k])
				assert_true(due[k] + 1 > now || due[k] == now);
	}
}

static void test_wheel_survives_a_long_sleep(void **state)
{
	static struct nat_link links[3];
	static uint32_t heads[NAT_WHEEL_SLOTS];
	struct nat_wheel w;
	unsigned n = 0;

	(void)state;
	nat_wheel_init(&w, heads, links, sizeof(links[0]), 0);
	nat_wheel_start(&w, 1000);
	nat_wheel_arm(&w, 0, 1001);
	nat_wheel_arm(&w, 1, 5000);
	nat_wheel_arm(&w, 2, 9000);
	while (nat_wheel_next(&w, 100000000) != NAT_NONE)
		n++;
	assert_int_equal(n, 3);
	nat_wheel_arm(&w, 1, 100000002);
	assert_int_equal(nat_wheel_next(&w, 100000001), NAT_NONE);
	assert_int_equal(nat_wheel_next(&w, 100000002), 1);
}

/* ---- ports ---- */

static int plain_find(const bool *taken, unsigned lo, unsigned hi, unsigned start, int parity,
		      const struct nat_port_groups *groups)
{
	for (unsigned i = 0; i <= hi - lo; i++) {
		unsigned port = lo + (start - lo + i) % (hi - lo + 1);

		if (groups != NULL && !(groups->in[port >> 12 & 1] >> (port >> 6 & 63) & 1))
			continue;
		if (!taken[port] && (parity < 0 || (port & 1) == (unsigned)parity))
			return (int)port;
	}
	return -1;
}

static void test_ports_find_the_next_free_one(void **state)
{
	struct nat_ports *p = aligned_alloc(64, sizeof(*p));
	static bool taken[65536];
	uint64_t seed = 11;

	(void)state;
	memset(p, 0, sizeof(*p));
	for (unsigned i = 0; i < 400000; i++) {
		unsigned port = lab_rand(&seed) & 0xffff;

		/* in bursts nearly full, nearly empty */
		if ((i / 100000) % 2 == 0 || lab_rand(&seed) % 8 == 0) {
			nat_ports_take(p, (uint16_t)port, true);
			taken[port] = true;
		} else {
			nat_ports_give(p, (uint16_t)port, true);
			taken[port] = false;
		}
		if (i % 400 == 0) {
			unsigned a = lab_rand(&seed) & 0xffff, b = lab_rand(&seed) & 0xffff;
			unsigned lo = a < b ? a : b, hi = a < b ? b : a;
			unsigned start = lo + lab_rand(&seed) % (hi - lo + 1);
			int parity = (int)(lab_rand(&seed) % 3) - 1;
			struct nat_port_groups some = {{lab_rand(&seed), lab_rand(&seed)}}, *groups;

			some.in[0] <<= lab_rand(&seed) % 64;
			some.in[1] <<= lab_rand(&seed) % 64;
			groups = lab_rand(&seed) & 1 ? &some : NULL;
			assert_int_equal(nat_ports_find(p, (uint16_t)lo, (uint16_t)hi,
							(uint16_t)start, parity, groups),
					 plain_find(taken, lo, hi, start, parity, groups));
			assert_int_equal(nat_ports_taken(p, (uint16_t)port), taken[port]);
		}
	}
	free(p);
}

static void test_ports_exhaust_exactly(void **state)
{
	struct nat_ports *p = aligned_alloc(64, sizeof(*p));

	(void)state;
	memset(p, 0, sizeof(*p));
	for (unsigned i = 0; i < 65536; i++) {
		int port = nat_ports_find(p, 0, 65535, 40000, -1, NULL);

		assert_true(port >= 0);
		nat_ports_take(p, (uint16_t)port, true);
	}
	assert_int_equal(nat_ports_find(p, 0, 65535, 0, -1, NULL), -1);
	nat_ports_give(p, 77, true);
	assert_int_equal(nat_ports_find(p, 0, 65535, 78, -1, NULL), 77);
	assert_int_equal(nat_ports_find(p, 0, 65535, 78, 1, NULL), 77);
	assert_int_equal(nat_ports_find(p, 0, 65535, 78, 0, NULL), -1);
	assert_int_equal(nat_ports_find(p, 78, 65535, 78, -1, NULL), -1);
	assert_int_equal(nat_ports_find(p, 77, 77, 77, -1, NULL), 77);
	free(p);
}

/* ---- random numbers and hashes ---- */

static void test_random_depends_on_the_seed_and_spreads_M12(void **state)
{
	struct nat_random a, b, c;
	unsigned buckets[16] = {0}, same = 0;

	(void)state;
	nat_random_seed(&a, 1);
	nat_random_seed(&b, 1);
	nat_random_seed(&c, 2);
	for (unsigned i = 0; i < 16000; i++) {
		uint32_t x = nat_random_u32(&a);

		assert_int_equal(x, nat_random_u32(&b));
		same += x == nat_random_u32(&c);
		buckets[x >> 28]++;
	}
	assert_true(same < 4);
	for (unsigned i = 0; i < 16; i++)
		assert_in_range(buckets[i], 850, 1150);
	for (unsigned i = 0; i < 1000; i++)
		assert_in_range(nat_random_below(&a, 7), 0, 6);
}

static void test_hash_spreads_neighbouring_keys(void **state)
{
	struct nat_seed seed = {0x123456789abcdef1, 0xfedcba9876543211, 0x1111222233334444};
	unsigned homes[256] = {0}, tags[256] = {0};

	(void)state;
	for (unsigned i = 0; i < 65536; i++) {
		struct nat_key k = {.src_be = htonl(0x0a000000 + i / 64),
				    .dst_be = htonl(0xc6336407),
				    .sport_be = htons((uint16_t)(1024 + i % 64)),
				    .dport_be = htons(443),
				    .proto = IPPROTO_UDP};
		uint32_t h = nat_key_hash(&seed, &k);

		homes[h >> 24]++;
		tags[h & 0xff]++;
	}
	for (unsigned i = 0; i < 256; i++) {
		assert_in_range(homes[i], 160, 360);
		assert_in_range(tags[i], 160, 360);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_matches_oracle_at_full_load),
		cmocka_unit_test(test_table_takes_its_capacity),
		cmocka_unit_test(test_table_with_colliding_hashes_refuses_cleanly),
		cmocka_unit_test(test_table_replaces_in_place),
		cmocka_unit_test(test_wheel_gives_each_record_when_due),
		cmocka_unit_test(test_wheel_survives_a_long_sleep),
		cmocka_unit_test(test_ports_find_the_next_free_one),
		cmocka_unit_test(test_ports_exhaust_exactly),
		cmocka_unit_test(test_random_depends_on_the_seed_and_spreads_M12),
		cmocka_unit_test(test_hash_spreads_neighbouring_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
