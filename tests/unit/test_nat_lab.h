/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A laboratory for lib/nat's tests: a router with an inside (interface 0, 10.0.0.0/8) and an
 * outside (interface 1, everything else), a clock, and one function that takes a packet the way
 * lib/fwd does.
 *
 * LAB_WORKERS in the environment: the router has so many workers (one if not said). A packet is
 * then received by any of them, and goes from worker to worker as lib/fwd takes it, so every test
 * of a NAT's behaviour is one that it does not depend on the number of workers.
 */
#ifndef TEST_NAT_LAB_H
#define TEST_NAT_LAB_H

#include "test_nat_packet.h"

#define INSIDE	0
#define OUTSIDE 1
#define DMZ	2 /* 172.16.0.0/12 */

#define R1  "198.51.100.7" /* remote hosts, a router before them */
#define R2  "198.51.100.8"
#define HOP "198.51.100.1"
#define EXT "203.0.113.10" /* lab_base()'s pool */

#define LAB_MAX_WORKERS 8

struct lab {
	unsigned n_workers;
	struct nat_shared *shared;		 /* with several workers */
	struct nat_worker *nats[LAB_MAX_WORKERS]; /* each with the limits asked for */
	struct nat_worker *nat;			 /* the last packet's; at first the only or first */
	uint64_t rss;				 /* which worker receives the next packet */
	unsigned handed;			 /* times that packets went to another worker */
	struct nat_config *cfg;
	struct nat_conf conf;
	struct nat_rule rules[32];
	struct nat_range ranges[8];
	struct nat_pool pools[8];
	struct nat_iface_addr addrs[4];
	struct nat_reserved reserved[8];
	uint64_t now;	     /* ms */
	struct nat_pkt last; /* the packet struct of the last packet sent */
};

static inline int lab_egress(void *ctx, uint32_t dst_be, uint16_t table)
{
	const struct lab *lab = ctx;
	uint32_t h = ntohl(dst_be);

	(void)table;
	for (unsigned i = 0; i < lab->conf.n_addrs; i++)
		if (lab->addrs[i].addr_be == dst_be)
			return NAT_EGRESS_LOCAL;
	if (h >> 24 == 10)
		return INSIDE;
	if (h >> 20 == 0xac1)
		return DMZ;
	return h >> 24 == 192 && (h >> 16 & 0xff) == 168 ? -1 : OUTSIDE;
}

static inline struct nat_rule *lab_rule(struct lab *lab, enum nat_rule_type type, uint32_t id)
{
	struct nat_rule *r = &lab->rules[lab->conf.n_rules++];

	memset(r, 0, sizeof(*r));
	r->type = type;
	r->id = id;
	snprintf(r->name, sizeof(r->name), "rule-%u", id);
	r->iface = type == NAT_RULE_STATIC || type == NAT_RULE_EXEMPT ? NAT_IFACE_ANY : OUTSIDE;
	return r;
}

static inline struct nat_pool *lab_pool(struct lab *lab, const char *first, const char *last,
					unsigned lo, unsigned hi)
{
	unsigned i = lab->conf.n_pools++;

	lab->ranges[i] = (struct nat_range){ip4(first), ip4(last)};
	lab->pools[i] = (struct nat_pool){.id = i + 1,
					  .ranges = &lab->ranges[i],
					  .n_ranges = 1,
					  .port_lo = (uint16_t)lo,
					  .port_hi = (uint16_t)hi};
	snprintf(lab->pools[i].name, sizeof(lab->pools[i].name), "pool-%u", i + 1);
	return &lab->pools[i];
}

static inline void lab_addr(struct lab *lab, uint16_t iface, const char *addr)
{
	lab->addrs[lab->conf.n_addrs++] = (struct nat_iface_addr){iface, ip4(addr)};
}

/* Builds the configuration as it stands in the lab and gives it to the worker. */
static inline void lab_load(struct lab *lab)
{
	char err[256] = "";
	struct nat_config *old = lab->cfg;

	lab->conf.rules = lab->rules;
	lab->conf.pools = lab->pools;
	lab->conf.addrs = lab->addrs;
	lab->conf.reserved = lab->reserved;
	lab->cfg = nat_config_build(&lab->conf, err, sizeof(err));
	if (lab->cfg == NULL)
		fail_msg("configuration refused: %s", err);
	for (unsigned w = 0; w < lab->n_workers; w++)
		nat_worker_config(lab->nats[w], lab->cfg, lab->now);
	nat_config_free(old);
}

static bool lab_alone; /* of the labs made from now on: one worker, for a test that looks into it */

static inline unsigned lab_workers(void)
{
	const char *n = getenv("LAB_WORKERS");

	return n != NULL && !lab_alone ? (unsigned)atoi(n) : 1;
}

static inline void lab_init_sized(struct lab *lab, struct nat_limits limits)
{
	struct nat_ops ops = {.ctx = lab, .egress = lab_egress};

	memset(lab, 0, sizeof(*lab));
	nat_conf_defaults(&lab->conf);
	lab->now = 1000000;
	lab->rss = 88172645463325252ull;
	lab->n_workers = lab_workers();
	assert_in_range(lab->n_workers, 1, LAB_MAX_WORKERS);
	if (lab->n_workers > 1) {
		lab->shared = limits.shared = nat_shared_create(&limits, &ops, lab->n_workers);
		assert_non_null(lab->shared);
	}
	for (unsigned w = 0; w < lab->n_workers; w++) {
		limits.worker = w;
		limits.seed += w * 1000003ull;
		lab->nats[w] = nat_worker_create(&limits, &ops);
		assert_non_null(lab->nats[w]);
	}
	lab->nat = lab->nats[0];
}

static inline void lab_init(struct lab *lab)
{
	lab_init_sized(lab,
		       (struct nat_limits){.max_sessions = 4096, .max_external = 16, .seed = 42});
}

/* The set-up of the packet cases: SNAT 10.0.0.0/24 -> 203.0.113.10, DNAT tcp 203.0.113.10:8080 ->
 * 10.0.0.80:80, hairpin on; the router itself is 10.0.0.1 and 203.0.113.1. */
static inline void lab_base(struct lab *lab)
{
	struct nat_rule *r;

	lab_addr(lab, INSIDE, "10.0.0.1");
	lab_addr(lab, OUTSIDE, "203.0.113.1");
	lab_pool(lab, "203.0.113.10", "203.0.113.10", 0, 0);
	r = lab_rule(lab, NAT_RULE_SNAT, 1);
	r->source = net4("10.0.0.0/24");
	r = lab_rule(lab, NAT_RULE_DNAT, 2);
	r->protocol = IPPROTO_TCP;
	r->destination = net4("203.0.113.10");
	r->dport_lo = r->dport_hi = 8080;
	r->to_be = ip4("10.0.0.80");
	r->to_port = 80;
}

/* That, ready for packets. */
static inline void lab_start(struct lab *lab)
{
	lab_init(lab);
	lab_base(lab);
	lab_load(lab);
}

static inline void lab_static(struct lab *lab)
{
	struct nat_rule *r = lab_rule(lab, NAT_RULE_STATIC, 3);

	r->external = net4("203.0.113.50");
	r->internal = net4("10.0.0.50");
}

static inline void lab_start_static(struct lab *lab)
{
	lab_init(lab);
	lab_base(lab);
	lab_static(lab);
	lab_load(lab);
}

static inline void lab_tick(struct lab *lab, unsigned budget)
{
	for (unsigned w = 0; w < lab->n_workers; w++)
		nat_worker_tick(lab->nats[w], lab->now, budget);
}

static inline bool lab_swept(struct lab *lab)
{
	bool swept = true;

	for (unsigned w = 0; w < lab->n_workers; w++)
		swept &= nat_worker_swept(lab->nats[w]);
	return swept;
}

/* All sessions that match, in slices of budget records; up to max of them in out. */
static inline unsigned lab_list(struct lab *lab, const struct nat_filter *f, unsigned budget,
				struct nat_session_info *out, unsigned max)
{
	unsigned n = 0;

	for (unsigned w = 0; w < lab->n_workers; w++) {
		struct nat_session_info info[7];
		uint32_t cursor = 0;

		while (cursor != NAT_NONE) {
			unsigned got = nat_session_list(lab->nats[w], f, lab->now, &cursor, budget,
							info, 7);

			for (unsigned i = 0; i < got; i++, n++)
				if (n < max)
					out[n] = info[i];
		}
	}
	return n;
}

static inline unsigned lab_clear(struct lab *lab, const struct nat_filter *f, unsigned budget)
{
	unsigned n = 0;

	for (unsigned w = 0; w < lab->n_workers; w++) {
		uint32_t cursor = 0;

		while (cursor != NAT_NONE)
			n += nat_session_clear(lab->nats[w], f, &cursor, budget);
	}
	return n;
}

/* Lets time pass, with the housekeeping of every second. */
static inline void lab_wait(struct lab *lab, unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		lab->now += 1000;
		lab_tick(lab, 100000);
	}
}

static inline uint32_t lab_sessions(struct lab *lab)
{
	uint32_t n = 0;

	for (unsigned w = 0; w < lab->n_workers; w++)
		n += nat_worker_sessions(lab->nats[w]);
	return n;
}

static inline struct nat_stats lab_stats(struct lab *lab)
{
	struct nat_stats all = {0}, s;

	for (unsigned w = 0; w < lab->n_workers; w++) {
		nat_worker_stats(lab->nats[w], &s);
		all.sessions += s.sessions;
		all.max_sessions += s.max_sessions;
		all.mappings += s.mappings;
		all.external_addresses = s.external_addresses;
		all.sessions_created += s.sessions_created;
		all.sessions_expired += s.sessions_expired;
		all.sessions_cleared += s.sessions_cleared;
		all.memory_bytes += s.memory_bytes;
	}
	return all;
}

/* All sessions go, held ports too: then nothing may be left. */
static inline void lab_drain(struct lab *lab)
{
	struct nat_stats s;
	uint32_t longest = 0;

	for (unsigned i = 0; i < NAT_TIMEOUT_COUNT; i++)
		if (i != NAT_TIMEOUT_port_hold && lab->conf.timeout_s[i] > longest)
			longest = lab->conf.timeout_s[i];
	lab->now += (longest + 1) * 1000ull;
	for (unsigned i = 0; i < 1000; i++)
		lab_tick(lab, 1000);
	lab->now += (lab->conf.timeout_s[NAT_TIMEOUT_port_hold] + 1) * 1000ull;
	for (unsigned i = 0; i < 1000; i++)
		lab_tick(lab, 1000);
	s = lab_stats(lab);
	assert_int_equal(s.sessions, 0);
	assert_int_equal(s.mappings, 0);
	assert_int_equal(s.external_addresses, 0);
	assert_int_equal(s.sessions_created, s.sessions_expired + s.sessions_cleared);
}

static inline void lab_free(struct lab *lab)
{
	for (unsigned w = 0; w < lab->n_workers; w++)
		nat_worker_destroy(lab->nats[w]);
	nat_shared_destroy(lab->shared);
	nat_config_free(lab->cfg);
}

static inline void lab_end(struct lab *lab)
{
	lab_drain(lab);
	lab_free(lab);
}

/* Fills in a packet struct as lib/fwd's parser would. */
static inline struct nat_pkt lab_parse(struct lab *lab, uint16_t iface, struct packet p)
{
	unsigned ihl = packet_ihl(p.b);
	struct nat_pkt k;
	uint8_t type;

	memset(&k, 0, sizeof(k));
	k.ip = p.b;
	k.l4 = p.b + ihl;
	k.l4_len = k.l4_avail = (uint16_t)(p.len - ihl);
	k.iface = iface;
	k.session = NAT_NONE;
	memcpy(&k.key.src_be, p.b + 12, 4);
	memcpy(&k.key.dst_be, p.b + 16, 4);
	k.key.proto = p.b[9];
	if (get16(p.b + 6) & 0x3fff)
		k.flags |= NAT_PKT_FRAGMENT;
	if (lab_egress(lab, k.key.dst_be, 0) == NAT_EGRESS_LOCAL)
		k.flags |= NAT_PKT_LOCAL;
	switch (k.key.proto) {
	case IPPROTO_TCP:
		if (k.l4_len >= 14)
			k.tcp_flags = k.l4[13];
		/* fall through */
	case IPPROTO_UDP:
	case 136:
	case 33:
		if (k.l4_len >= 4) {
			memcpy(&k.key.sport_be, k.l4, 2);
			memcpy(&k.key.dport_be, k.l4 + 2, 2);
		}
		break;
	case IPPROTO_ICMP:
		type = k.l4_len > 0 ? k.l4[0] : 255;
		if (type == 3 || type == 4 || type == 5 || type == 11 || type == 12) {
			k.flags |= NAT_PKT_ICMP_ERROR;
		} else if (k.l4_len >= 8 && (type == 8 || type == 13 || type == 15 || type == 17)) {
			k.key.kind = NAT_KIND_ICMP_REQUEST;
			memcpy(&k.key.sport_be, k.l4 + 4, 2);
		} else if (k.l4_len >= 8 && (type == 0 || type == 14 || type == 16 || type == 18)) {
			k.key.kind = NAT_KIND_ICMP_REPLY;
			memcpy(&k.key.dport_be, k.l4 + 4, 2);
		} else {
			k.flags |= NAT_PKT_NO_KEY;
		}
		break;
	}
	return k;
}

/* The worker that a packet belongs to, received by self, as lib/fwd asks. */
static inline unsigned lab_owner(struct lab *lab, struct nat_pkt *one, unsigned self)
{
	uint8_t owner;

	nat_owner_burst(lab->shared, lab->cfg, &one, 1, self, &owner);
	if (owner & NAT_OWNER_IF_OUT)
		owner = nat_config_candidate(lab->cfg, &one->key,
					     (uint16_t)lab_egress(lab, one->key.dst_be, 0))
				? owner & ~NAT_OWNER_IF_OUT
				: (uint8_t)self;
	assert_true(owner < lab->n_workers);
	lab->handed += owner != self;
	return owner;
}

static inline enum nat_verdict lab_turn(struct lab *lab)
{
	struct nat_pkt *one = &lab->last;
	enum nat_verdict v;

	nat_lookup_burst(lab->nat, &one, 1);
	v = one->verdict;
	if (v == NAT_PASS && one->flags & NAT_PKT_SOURCE && one->rule_id == NAT_RULE_NONE)
		return v; /* nothing translates its source */
	if (v == NAT_PASS)
		v = nat_miss(lab->nat, one, lab_egress(lab, one->key.dst_be, 0), lab->now);
	assert_int_equal(v, one->verdict);
	if (v == NAT_TRANSLATE)
		v = nat_rewrite(lab->nat, one, lab->now);
	assert_int_equal(v, one->verdict);
	if (v != NAT_DROP)
		assert_int_equal(one->reason, NAT_REASON_NONE);
	return v;
}

/* A packet that another worker passed on: by whom it is translated, and what of it. */
static inline void lab_pass_on(struct lab *lab, unsigned to, struct packet p, unsigned half,
			       uint32_t rule_id)
{
	lab->last = lab_parse(lab, lab->last.iface, p);
	lab->nat = lab->nats[to];
	lab->handed++;
	if (half != 0)
		nat_half(&lab->last, half, rule_id);
}

/* A packet enters by an interface, at some worker: lookup, miss, rewrite, in place. */
static inline enum nat_verdict lab_send(struct lab *lab, uint16_t iface, struct packet p)
{
	unsigned self = lab_rand(&lab->rss) % lab->n_workers;
	uint8_t ttl = p.b[8];
	enum nat_verdict v;

	lab->last = lab_parse(lab, iface, p);
	if (lab->n_workers > 1)
		lab->nat = lab->nats[lab_owner(lab, &lab->last, self)];
	v = lab_turn(lab);
	for (unsigned hops = 0; v == NAT_HANDOVER; hops++) {
		unsigned half = lab->last.rule_id != 0 ? NAT_PKT_SOURCE : 0;

		assert_true(lab->n_workers > 1 && hops == 0);
		lab_pass_on(lab, lab->last.owner, p, half, lab->last.rule_id);
		v = lab_turn(lab);
		if (half != 0 && v != NAT_DROP) {
			unsigned owner;

			assert_int_equal(p.b[8], ttl);
			lab->last = lab_parse(lab, iface, p);
			owner = lab_owner(lab, &lab->last, 0);
			lab_pass_on(lab, owner, p, NAT_PKT_DESTINATION, 0);
			v = lab_turn(lab);
		}
	}
	if (v == NAT_TRANSLATE)
		assert_int_equal(p.b[8], ttl - 1);
	return v;
}

#define assert_reason(lab, r) assert_string_equal(nat_reason_name((lab)->last.reason), #r)

#define assert_translates(lab, iface, p)                                                           \
	do {                                                                                       \
		if (lab_send(lab, iface, p) != NAT_TRANSLATE)                                      \
			fail_msg("not translated: %s", nat_reason_name((lab)->last.reason));       \
	} while (0)

#define assert_drops(lab, iface, p, r)                                                             \
	do {                                                                                       \
		assert_int_equal(lab_send(lab, iface, p), NAT_DROP);                               \
		assert_reason(lab, r);                                                             \
	} while (0)

#endif /* TEST_NAT_LAB_H */
