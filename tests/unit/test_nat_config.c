/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration snapshots: what is refused and how that is said, what counts as external, and that
 * a candidate is never missed.
 */
#include "test_nat_lab.h"

#include <errno.h>

#include "nat_find.h"

struct draft {
	struct nat_conf conf;
	struct nat_rule rules[8];
	struct nat_range ranges[4];
	struct nat_pool pool;
	struct nat_iface_addr addrs[2];
	struct nat_reserved reserved;
};

/* A draft that is fine: one rule of each type. */
static void draft_init(struct draft *d)
{
	static const enum nat_rule_type types[] = {NAT_RULE_EXEMPT, NAT_RULE_STATIC, NAT_RULE_DNAT,
						   NAT_RULE_SNAT, NAT_RULE_MASQUERADE};

	memset(d, 0, sizeof(*d));
	nat_conf_defaults(&d->conf);
	for (unsigned i = 0; i < 5; i++) {
		d->rules[i].id = i + 1;
		d->rules[i].type = types[i];
		snprintf(d->rules[i].name, NAT_NAME_LEN, "r%u", i);
		d->rules[i].iface = OUTSIDE;
	}
	d->rules[0].destination = net4("192.168.0.0/16");
	d->rules[1].external = net4("203.0.113.64/28");
	d->rules[1].internal = net4("10.0.1.0/28");
	d->rules[2].protocol = IPPROTO_TCP;
	d->rules[2].destination = net4("203.0.113.10");
	d->rules[2].dport_lo = 8080;
	d->rules[2].dport_hi = 8089;
	d->rules[2].to_be = ip4("10.0.0.80");
	d->rules[2].to_port = 80;
	d->rules[3].source = net4("10.0.0.0/24");
	d->rules[4].source = net4("10.1.0.0/24");
	d->ranges[0] = (struct nat_range){ip4("203.0.113.10"), ip4("203.0.113.12")};
	d->pool = (struct nat_pool){.id = 1, .name = "office", .ranges = d->ranges, .n_ranges = 1};
	d->addrs[0] = (struct nat_iface_addr){OUTSIDE, ip4("203.0.113.1")};
	d->conf.rules = d->rules;
	d->conf.n_rules = 5;
	d->conf.pools = &d->pool;
	d->conf.n_pools = 1;
	d->conf.addrs = d->addrs;
	d->conf.n_addrs = 1;
	d->conf.reserved = &d->reserved;
}

static void accepted(const struct draft *d)
{
	char err[200] = "";
	struct nat_config *cfg = nat_config_build(&d->conf, err, sizeof(err));

	if (cfg == NULL)
		fail_msg("refused: %s", err);
	nat_config_free(cfg);
}

/* Refused, with a message that has both words in it. */
static void refused(const struct draft *d, const char *what, const char *why)
{
	char err[200] = "";
	struct nat_config *cfg;

	errno = 0;
	cfg = nat_config_build(&d->conf, err, sizeof(err));
	assert_null(cfg);
	assert_int_equal(errno, EINVAL);
	if (strstr(err, what) == NULL || strstr(err, why) == NULL)
		fail_msg("message '%s' lacks '%s' or '%s'", err, what, why);
	/* short buffers and none are fine */
	assert_null(nat_config_build(&d->conf, err, 5));
	assert_int_equal(strlen(err), 4);
	assert_null(nat_config_build(&d->conf, NULL, 0));
}

#define REFUSED(change, what, why)                                                                 \
	do {                                                                                       \
		draft_init(&d);                                                                    \
		change;                                                                            \
		refused(&d, what, why);                                                            \
	} while (0)

static void test_contradictions_are_refused_by_name_and_reason(void **state)
{
	struct draft d;

	(void)state;
	draft_init(&d);
	accepted(&d);
	REFUSED(d.rules[3].id = 0, "snat rule 'r3'", "id");
	REFUSED(d.rules[3].id = 2, "'r", "id 2 is taken");
	REFUSED(d.rules[3].type = 99, "'r3'", "type");
	REFUSED(d.rules[3].source.len = 33, "snat rule 'r3'", "32");
	REFUSED(d.rules[3].source.addr_be = ip4("10.0.0.1"), "snat rule 'r3'", "/24");
	REFUSED(d.rules[0].destination.len = 12, "exempt rule 'r0'", "destination");
	REFUSED(d.rules[0].dport_lo = d.rules[0].dport_hi = 5, "exempt rule 'r0'", "tcp or udp");
	REFUSED(d.rules[1].internal.len = 27, "static rule 'r1'", "/27");
	REFUSED((d.rules[1].internal = d.rules[1].external = (struct nat_prefix){0, 0}),
		"static rule 'r1'", "needs");
	REFUSED(d.rules[2].protocol = 0, "dnat rule 'r2'", "tcp or udp");
	REFUSED(d.rules[2].destination.len = 31, "dnat rule 'r2'", "one external address");
	REFUSED(d.rules[2].dport_hi = 8000, "dnat rule 'r2'", "8080-8000");
	REFUSED(d.rules[2].to_be = 0, "dnat rule 'r2'", "internal address");
	REFUSED(d.rules[2].to_port = 65530, "dnat rule 'r2'", "65535");
	REFUSED(d.rules[2].dport_lo = d.rules[2].dport_hi = 0, "dnat rule 'r2'", "external port");
	REFUSED(d.rules[3].pool = 1, "snat rule 'r3'", "pool");
	REFUSED(d.rules[4].iface = NAT_IFACE_ANY, "masquerade rule 'r4'", "interface");
	REFUSED(d.pool.n_ranges = 0, "pool 'office'", "no addresses");
	REFUSED(d.ranges[0].last_be = ip4("203.0.113.9"), "pool 'office'", "range 1");
	REFUSED((d.pool.n_ranges = 2,
		 d.ranges[1] = (struct nat_range){ip4("203.0.113.12"), ip4("203.0.113.13")}),
		"pool 'office'", "overlap");
	REFUSED((d.pool.port_lo = 2000, d.pool.port_hi = 1000), "pool 'office'", "2000-1000");
	REFUSED(d.pool.port_hi = 1000, "pool 'office'", "0-1000");
	REFUSED(d.ranges[0] = ((struct nat_range){ip4("1.0.0.0"), ip4("9.0.0.0")}), "pool 'office'",
		"16777216");
	REFUSED(d.conf.timeout_s[NAT_TIMEOUT_udp] = 0, "timeout udp", "1-86400");
	REFUSED(d.conf.timeout_s[NAT_TIMEOUT_tcp_established] = 604801, "timeout tcp-established",
		"604800");
	REFUSED(d.conf.mapping = 3, "mapping", "endpoint-independent");
	REFUSED((d.conf.n_reserved = 1,
		 d.reserved = (struct nat_reserved){ip4("203.0.113.1"), 47, 5}),
		"reserved", "47");
	REFUSED(d.conf.n_rules = NAT_MAX_RULES + 1, "rules", "4096");
	REFUSED(d.conf.n_pools = NAT_MAX_POOLS + 1, "pools", "256");
}

static void test_rules_that_contradict_each_other_are_refused(void **state)
{
	struct draft d;

	(void)state;
	/* dnat: same port, any protocol over a port, inside a static rule */
	REFUSED((d.rules[4] = d.rules[2], d.rules[4].id = 9, d.rules[4].dport_lo = 8085,
		 d.rules[4].dport_hi = 8095, strcpy(d.rules[4].name, "two")),
		"'r2'", "dnat rule 'two'");
	REFUSED((d.rules[4] = d.rules[2], d.rules[4].id = 9,
		 d.rules[4].dport_lo = d.rules[4].dport_hi = 0, d.rules[4].to_port = 0,
		 d.rules[4].protocol = 0),
		"'r2'", "same external address");
	REFUSED(d.rules[2].destination = net4("203.0.113.70"), "static rule 'r1'",
		"dnat rule 'r2'");
	/* static: external twice, internal twice on one interface */
	REFUSED((d.rules[4] = d.rules[1], d.rules[4].id = 9,
		 d.rules[4].internal = net4("10.0.2.0/28")),
		"'r1'", "external addresses overlap");
	REFUSED((d.rules[4] = d.rules[1], d.rules[4].id = 9,
		 d.rules[4].external = net4("203.0.113.128/30"),
		 d.rules[4].internal = net4("10.0.1.4/30")),
		"'r1'", "internal addresses overlap");

	/* fine: neighbouring ranges, other protocol, other outside interface */
	draft_init(&d);
	d.rules[4] = d.rules[2];
	d.rules[4].id = 9;
	d.rules[4].dport_lo = 8090;
	d.rules[4].dport_hi = 8099;
	accepted(&d);
	d.rules[4].dport_lo = 8080;
	d.rules[4].protocol = IPPROTO_UDP;
	accepted(&d);
	d.rules[4] = d.rules[1];
	d.rules[4].id = 9;
	d.rules[4].external = net4("198.51.100.128/28");
	d.rules[4].iface = DMZ;
	accepted(&d);
}

static void test_external_addresses_and_their_interfaces(void **state)
{
	struct draft d;
	struct nat_config *cfg;

	(void)state;
	draft_init(&d);
	d.rules[1].iface = NAT_IFACE_ANY;
	cfg = nat_config_build(&d.conf, NULL, 0);
	assert_non_null(cfg);
	assert_int_equal(nat_config_external(cfg, ip4("203.0.113.10"), OUTSIDE), 1);
	assert_int_equal(nat_config_external(cfg, ip4("203.0.113.12"), OUTSIDE), 1);
	assert_int_equal(nat_config_external(cfg, ip4("203.0.113.13"), OUTSIDE), 0);
	assert_int_equal(nat_config_external(cfg, ip4("203.0.113.9"), OUTSIDE), 0);
	assert_int_equal(nat_config_external(cfg, ip4("203.0.113.10"), INSIDE), 0);
	assert_int_equal(nat_config_external(cfg, ip4("203.0.113.64"), INSIDE), 2);
	assert_int_equal(nat_config_external(cfg, ip4("203.0.113.79"), OUTSIDE), 2);
	assert_int_equal(nat_config_external(cfg, ip4("203.0.113.80"), OUTSIDE), 0);
	assert_int_equal(nat_config_external(cfg, ip4("203.0.113.1"), OUTSIDE), 1);
	assert_int_equal(nat_config_external(cfg, ip4("10.0.0.80"), OUTSIDE), 0);
	assert_int_equal(nat_config_external(NULL, ip4("10.0.0.80"), OUTSIDE), 0);
	nat_config_free(cfg);
}

struct seen {
	unsigned calls;
	uint64_t addrs;
};

static void see(void *arg, struct nat_range range, uint16_t iface)
{
	struct seen *s = arg;

	s->calls++;
	s->addrs += ntohl(range.last_be) - ntohl(range.first_be) + 1u;
	assert_true(iface == OUTSIDE || iface == DMZ || iface == NAT_IFACE_ANY);
}

static void test_all_external_addresses_are_told(void **state)
{
	struct draft d;
	struct nat_config *cfg;
	struct seen s = {0, 0};

	(void)state;
	draft_init(&d);
	cfg = nat_config_build(&d.conf, NULL, 0);
	nat_config_externals(cfg, see, &s);
	/* the pool's three (one is the dnat's too), sixteen static, the interface's own */
	assert_int_equal(s.addrs, 3 + 16 + 1);
	nat_config_free(cfg);
}

static void test_overlapping_externals_match_a_plain_search(void **state)
{
	uint64_t seed = 17;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct nat_rule rules[24];
		struct nat_range ranges[24];
		struct nat_pool pools[24];
		struct nat_conf conf;
		struct nat_config *cfg;
		unsigned n = 1 + lab_rand(&seed) % 24;

		nat_conf_defaults(&conf);
		memset(rules, 0, sizeof(rules));
		memset(pools, 0, sizeof(pools));
		for (unsigned i = 0; i < n; i++) {
			uint32_t first = 0x0b000000 + lab_rand(&seed) % 60,
				 len = lab_rand(&seed) % 20;

			rules[i].id = i + 1;
			rules[i].type = NAT_RULE_SNAT;
			rules[i].pool = i;
			rules[i].iface = lab_rand(&seed) % 4 ? (uint16_t)(lab_rand(&seed) % 3)
							     : NAT_IFACE_ANY;
			ranges[i] = (struct nat_range){htonl(first), htonl(first + len)};
			pools[i].id = i + 1;
			pools[i].ranges = &ranges[i];
			pools[i].n_ranges = 1;
		}
		conf.rules = rules;
		conf.n_rules = n;
		conf.pools = pools;
		conf.n_pools = n;
		cfg = nat_config_build(&conf, NULL, 0);
		assert_non_null(cfg);
		for (uint32_t a = 0x0afffffe; a < 0x0b000000 + 84; a++)
			for (uint16_t iface = 0; iface < 4; iface++) {
				int want = 0;

				for (unsigned i = 0; i < n; i++)
					if (a >= ntohl(ranges[i].first_be) &&
					    a <= ntohl(ranges[i].last_be)) {
						if (rules[i].iface == iface)
							want = 1;
						else if (rules[i].iface == NAT_IFACE_ANY &&
							 want == 0)
							want = 2;
					}
				assert_int_equal(nat_config_external(cfg, htonl(a), iface), want);
			}
		nat_config_free(cfg);
	}
}

static void test_candidate_is_never_missed(void **state)
{
	struct lab lab;
	uint64_t seed = 23;
	unsigned translated = 0, spared = 0;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_static(&lab);
	lab_rule(&lab, NAT_RULE_MASQUERADE, 30)->source = net4("10.2.0.0/16");
	lab_load(&lab);
	for (unsigned i = 0; i < 20000; i++) {
		static const char *const addrs[] = {
			"10.0.0.2",	"10.0.0.80",	"10.0.0.50",   "10.2.3.4",     "10.5.5.5",
			"203.0.113.10", "203.0.113.50", "203.0.113.1", "198.51.100.7", "172.16.0.2",
		};
		const char *src = addrs[lab_rand(&seed) % 10], *dst = addrs[lab_rand(&seed) % 10];
		struct packet p =
			lab_rand(&seed) % 2
				? packet_udp(src, 50 + lab_rand(&seed) % 3, dst,
					     50 + lab_rand(&seed) % 3, "x")
				: packet_tcp(src, 80, dst, lab_rand(&seed) % 2 ? 8080 : 80, SYN, 1,
					     0, "");
		uint16_t iface = (uint16_t)lab_egress(&lab, ip4(src), 0);
		int egress = lab_egress(&lab, ip4(dst), 0);
		struct nat_key key = lab_parse(&lab, iface, p).key;
		bool candidate = nat_config_candidate(
			lab.cfg, &key, egress < 0 ? NAT_IFACE_ANY : (uint16_t)egress);

		if (lab_send(&lab, iface, p) != NAT_PASS) {
			assert_true(candidate);
			translated++;
		} else if (!candidate) {
			spared++;
		}
		free(p.b);
	}
	assert_true(translated > 1000);
	assert_true(spared > 1000);
	lab_end(&lab);
}

static bool is_wanted(const void *ctx, uint32_t rule)
{
	return (*(const uint32_t *)ctx >> rule % 32 & 1) != 0;
}

static void test_prefix_index_matches_a_plain_search(void **state)
{
	static struct nat_rule rules[300];
	struct nat_pool pool = {.id = 1, .n_ranges = 1};
	struct nat_range range = {ip4("203.0.113.1"), ip4("203.0.113.1")};
	struct nat_conf conf;
	struct nat_config *cfg;
	uint64_t seed = 41;

	(void)state;
	pool.ranges = &range;
	nat_conf_defaults(&conf);
	for (unsigned i = 0; i < 300; i++) {
		uint8_t len = (uint8_t)(lab_rand(&seed) % 33);
		uint32_t addr = 0x0a000000 | (lab_rand(&seed) & 0xff);

		rules[i].id = 1000 - i;
		rules[i].type = NAT_RULE_SNAT;
		rules[i].source.len = len;
		rules[i].source.addr_be = htonl(len == 0 ? 0 : addr & (UINT32_MAX << (32 - len)));
	}
	conf.rules = rules;
	conf.n_rules = 300;
	conf.pools = &pool;
	conf.n_pools = 1;
	cfg = nat_config_build(&conf, NULL, 0);
	assert_non_null(cfg);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t addr_be = htonl(0x0a000000 | (lab_rand(&seed) & 0x1ff)),
			 mask = lab_rand(&seed);
		uint32_t want = NAT_NONE;

		mask &= lab_rand(&seed);
		for (uint32_t r = 0; r < 300 && want == NAT_NONE; r++)
			if (nat_prefix_has(&cfg->rules[r].r.source, addr_be) && is_wanted(&mask, r))
				want = r;
		assert_int_equal(nat_index_find(&cfg->source, addr_be, is_wanted, &mask), want);
	}
	nat_config_free(cfg);
}

static void test_many_forwards_are_found(void **state)
{
	static struct nat_rule rules[4000];
	struct nat_conf conf;
	struct nat_config *cfg;

	(void)state;
	nat_conf_defaults(&conf);
	for (unsigned i = 0; i < 4000; i++) {
		rules[i].id = 1 + (i * 7) % 4001;
		rules[i].type = NAT_RULE_DNAT;
		rules[i].iface = OUTSIDE;
		rules[i].protocol = i % 2 ? IPPROTO_TCP : IPPROTO_UDP;
		rules[i].destination = (struct nat_prefix){htonl(0xcb007100 + i % 4), 32};
		rules[i].dport_lo = (uint16_t)(1 + i / 4 * 10);
		rules[i].dport_hi = (uint16_t)(rules[i].dport_lo + 7);
		rules[i].to_be = htonl(0x0a000000 + i);
	}
	conf.rules = rules;
	conf.n_rules = 4000;
	cfg = nat_config_build(&conf, NULL, 0);
	assert_non_null(cfg);
	for (unsigned i = 0; i < 4000; i++) {
		uint32_t dst = htonl(0xcb007100 + i % 4), r;
		uint8_t proto = i % 2 ? IPPROTO_TCP : IPPROTO_UDP;

		r = nat_config_dnat(cfg, dst, proto, (uint16_t)(rules[i].dport_lo + i % 8));
		assert_int_not_equal(r, NAT_NONE);
		assert_int_equal(cfg->rules[r].r.to_be, rules[i].to_be);
		assert_int_equal(nat_config_dnat(cfg, dst, proto,
						 (uint16_t)(rules[i].dport_hi + 1)),
				 NAT_NONE);
		assert_int_equal(nat_config_dnat(cfg, dst, 47, rules[i].dport_lo), NAT_NONE);
		assert_int_equal(nat_config_rule(cfg, rules[i].id), r);
	}
	nat_config_free(cfg);
}

static void test_defaults_and_names(void **state)
{
	struct nat_conf conf;

	(void)state;
	nat_conf_defaults(&conf);
	assert_int_equal(conf.mapping, NAT_ENDPOINT_INDEPENDENT);
	assert_int_equal(conf.filtering, NAT_ADDRESS_DEPENDENT);
	assert_true(conf.hairpin);
	assert_false(conf.inbound_refresh);
	assert_false(conf.tcp_loose);
	assert_int_equal(conf.timeout_s[NAT_TIMEOUT_udp], 300);
	assert_int_equal(conf.timeout_s[NAT_TIMEOUT_tcp_established], 7440);
	assert_int_equal(conf.timeout_s[NAT_TIMEOUT_tcp_transitory], 240);
	assert_int_equal(conf.timeout_s[NAT_TIMEOUT_icmp], 60);
	assert_int_equal(conf.timeout_s[NAT_TIMEOUT_port_hold], 120);
	assert_string_equal(nat_timeout_info[NAT_TIMEOUT_tcp_established].name, "tcp-established");
	assert_string_equal(nat_reason_name(NAT_R_nat_filtered), "nat_filtered");
	for (unsigned r = 0; r < NAT_REASON_COUNT; r++) {
		assert_non_null(nat_reason_name(r));
		assert_non_null(nat_reason_text(r));
	}
	assert_string_equal(nat_reason_name(999), "unknown");
	assert_string_equal(nat_tcp_state_name(NAT_TCP_ESTABLISHED), "established");
	assert_string_equal(nat_tcp_state_name(99), "unknown");
	/* an empty configuration is one too */
	{
		struct nat_config *cfg = nat_config_build(&conf, NULL, 0);
		struct nat_key key = {.src_be = 1, .dst_be = 2};

		assert_non_null(cfg);
		assert_false(nat_config_active(cfg));
		assert_false(nat_config_active(NULL));
		assert_false(nat_config_refuse_icmp(cfg));
		assert_false(nat_config_candidate(cfg, &key, 1));
		nat_config_free(cfg);
		nat_config_free(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contradictions_are_refused_by_name_and_reason),
		cmocka_unit_test(test_rules_that_contradict_each_other_are_refused),
		cmocka_unit_test(test_external_addresses_and_their_interfaces),
		cmocka_unit_test(test_all_external_addresses_are_told),
		cmocka_unit_test(test_overlapping_externals_match_a_plain_search),
		cmocka_unit_test(test_candidate_is_never_missed),
		cmocka_unit_test(test_prefix_index_matches_a_plain_search),
		cmocka_unit_test(test_many_forwards_are_found),
		cmocka_unit_test(test_defaults_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
