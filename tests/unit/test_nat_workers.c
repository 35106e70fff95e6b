/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several workers at once, each a thread, with one pool between them: no external endpoint is ever
 * two hosts', whatever comes, goes and is configured meanwhile; all ports can be used, and all come
 * back. Built a second time under ThreadSanitizer. (That translation does not depend on the number
 * of workers, the other tests show, by LAB_WORKERS.)
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "test_nat_lab.h"

#define WORKERS	  4
#define HOSTS	  128 /* 10.0.0.x */
#define ADDRESSES 3
#define LO	  2000
#define HI	  2127 /* of the pool */
#define IN_HI	  2015 /* of the hosts */
#define ROUNDS	  60000

struct net {
	struct nat_shared *shared;
	struct nat_worker *nats[WORKERS];
	_Atomic(struct nat_config *) cfg;
	_Atomic unsigned reports[WORKERS]; /* turns that a worker has begun */
	_Atomic bool stop;
	_Atomic unsigned done; /* workers that have done all their rounds */
	/* who has an external endpoint, by what the packets say: 0 nobody, else host + 1 */
	_Atomic unsigned holder[ADDRESSES][HI + 1];
	_Atomic unsigned made, refused;
};

struct thread {
	pthread_t id;
	struct net *net;
	struct nat_worker *nat;
	const struct nat_config *cfg; /* that nat has taken up */
	unsigned worker;
	uint64_t seed, now;
	unsigned ext[HOSTS]
		    [IN_HI + 1]; /* of my hosts' inside ports: external endpoint + 1, 0: none */
};

static struct lab *lab; /* for its configuration; one thread changes it */

static int egress(void *ctx, uint32_t dst_be, uint16_t table)
{
	(void)ctx;
	(void)table;
	return ntohl(dst_be) >> 24 == 10 ? INSIDE : OUTSIDE;
}

static struct nat_config *build(bool held)
{
	char err[256] = "";
	struct nat_config *cfg;

	/* ports of the first address that a rule takes and gives back */
	lab->conf.n_rules = held ? 2 : 1;
	cfg = nat_config_build(&lab->conf, err, sizeof(err));
	if (cfg == NULL)
		fail_msg("%s", err);
	return cfg;
}

static enum nat_verdict send_out(struct thread *t, struct packet p)
{
	struct nat_pkt k, *one = &k;

	k = lab_parse(lab, INSIDE, p);
	nat_lookup_burst(t->nat, &one, 1);
	if (k.verdict == NAT_PASS)
		nat_miss(t->nat, one, OUTSIDE, t->now);
	if (k.verdict == NAT_TRANSLATE)
		nat_rewrite(t->nat, one, t->now);
	return k.verdict;
}

static unsigned endpoint_of(struct packet p)
{
	unsigned addr = p.b[15] - 10u;

	assert_in_range(addr, 0, ADDRESSES - 1);
	assert_in_range(packet_sport(p), LO, HI);
	return addr << 16 | packet_sport(p);
}

/* A host's packet: a new endpoint is nobody's, an old one is what it was. */
static void open_one(struct thread *t, unsigned host, unsigned port)
{
	struct packet p;
	char src[32];
	unsigned *mine = &t->ext[host][port], ext;

	snprintf(src, sizeof(src), "10.0.0.%u", host);
	p = packet_udp(src, port, R1, 53, "x");
	if (send_out(t, p) == NAT_TRANSLATE) {
		ext = endpoint_of(p);
		if (*mine != 0)
			assert_int_equal(ext, *mine - 1);
		else
			assert_int_equal(atomic_exchange(&t->net->holder[ext >> 16][ext & 0xffff],
							 host + 1),
					 0);
		*mine = ext + 1;
		atomic_fetch_add_explicit(&t->net->made, 1, memory_order_relaxed);
	} else {
		assert_int_equal(*mine, 0);
		atomic_fetch_add_explicit(&t->net->refused, 1, memory_order_relaxed);
	}
	free(p.b);
}

/* What the host has is nobody's before it is given back. */
static void clear_host(struct thread *t, unsigned host)
{
	struct nat_filter f = {.source = {htonl(0x0a000000u + host), 32}};
	uint32_t cursor = 0;

	for (unsigned port = LO; port <= IN_HI; port++) {
		unsigned ext = t->ext[host][port];

		if (ext != 0)
			assert_int_equal(
				atomic_exchange(
					&t->net->holder[(ext - 1) >> 16][(ext - 1) & 0xffff], 0),
				host + 1);
		t->ext[host][port] = 0;
	}
	while (cursor != NAT_NONE)
		nat_session_clear(t->nat, &f, &cursor, 1000);
}

/* What anybody says of a packet from outside is a worker, or that there is none. */
static void ask_owner(struct thread *t)
{
	struct packet p;
	struct nat_pkt k, *one = &k;
	uint8_t owner;
	char dst[32];

	snprintf(dst, sizeof(dst), "203.0.113.%u", 10 + lab_rand(&t->seed) % ADDRESSES);
	p = packet_udp(R1, 53, dst, LO + lab_rand(&t->seed) % (HI - LO + 1), "y");
	k = lab_parse(lab, OUTSIDE, p);
	nat_owner_burst(t->net->shared, t->cfg, &one, 1, t->worker, &owner);
	assert_in_range(owner, 0, WORKERS - 1);
	free(p.b);
}

static void turn(struct thread *t)
{
	/* as lib/fwd's: the report, then the load */
	atomic_fetch_add(&t->net->reports[t->worker], 1);
	if (t->cfg != atomic_load(&t->net->cfg)) {
		t->cfg = atomic_load(&t->net->cfg);
		nat_worker_config(t->nat, t->cfg, t->now);
	}
	nat_worker_tick(t->nat, t->now, 64);
}

static unsigned owner_of(struct net *net, unsigned host)
{
	struct nat_pkt k = {.key = {.src_be = htonl(0x0a000000u + host),
				    .dst_be = ip4(R1),
				    .proto = IPPROTO_UDP}},
		       *one = &k;
	uint8_t owner;

	nat_owner_burst(net->shared, atomic_load(&net->cfg), &one, 1, WORKERS, &owner);
	return owner & (uint8_t)~NAT_OWNER_IF_OUT;
}

static void *work(void *arg)
{
	struct thread *t = arg;
	unsigned hosts[HOSTS], n = 0;

	for (unsigned h = 2; h < HOSTS; h++)
		if (owner_of(t->net, h) == t->worker)
			hosts[n++] = h;
	assert_true(n > 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned host = hosts[lab_rand(&t->seed) % n];

		if (i % 8 == 0)
			turn(t);
		t->now++;
		switch (lab_rand(&t->seed) % 16) {
		case 0:
			clear_host(t, host);
			break;
		case 1:
			ask_owner(t);
			break;
		default:
			open_one(t, host, LO + lab_rand(&t->seed) % (IN_HI - LO + 1));
		}
	}
	for (unsigned i = 0; i < n; i++)
		clear_host(t, hosts[i]);
	atomic_fetch_add(&t->net->done, 1);
	while (!atomic_load(&t->net->stop)) {
		turn(t);
		sched_yield();
	}
	turn(t);
	return NULL;
}

/* Publishes a snapshot and frees the one before when all workers have reported twice, as
 * fwd_commit() does. */
static void commit(struct net *net, struct nat_config *cfg)
{
	struct nat_config *old = atomic_exchange(&net->cfg, cfg);
	unsigned seen[WORKERS];

	for (unsigned w = 0; w < WORKERS; w++)
		seen[w] = atomic_load(&net->reports[w]);
	for (unsigned w = 0; w < WORKERS; w++)
		while (atomic_load(&net->reports[w]) - seen[w] < 2)
			sched_yield();
	nat_config_free(old);
}

static void net_start(struct net *net, struct thread *threads)
{
	struct nat_ops ops = {.egress = egress};
	struct nat_limits limits = {.max_sessions = 4096, .max_external = 2, .seed = 7};
	struct nat_rule *r;

	memset(net, 0, sizeof(*net));
	lab = calloc(1, sizeof(*lab));
	nat_conf_defaults(&lab->conf);
	lab->conf.rules = lab->rules;
	lab->conf.pools = lab->pools;
	lab_pool(lab, "203.0.113.10", "203.0.113.12", LO, HI);
	lab_rule(lab, NAT_RULE_SNAT, 1)->source = net4("10.0.0.0/8");
	r = lab_rule(lab, NAT_RULE_DNAT, 2);
	r->protocol = IPPROTO_UDP;
	r->destination = net4("203.0.113.10");
	r->dport_lo = LO;
	r->dport_hi = LO + 7;
	r->to_be = ip4("10.0.0.2");
	atomic_store(&net->cfg, build(false));
	net->shared = nat_shared_create(&limits, &ops, WORKERS);
	assert_non_null(net->shared);
	for (unsigned w = 0; w < WORKERS; w++) {
		limits.shared = net->shared;
		limits.worker = w;
		limits.seed++;
		net->nats[w] = nat_worker_create(&limits, &ops);
		assert_non_null(net->nats[w]);
		threads[w] = (struct thread){.net = net,
					     .nat = net->nats[w],
					     .cfg = atomic_load(&net->cfg),
					     .worker = w,
					     .seed = 88172645463325252ull + w,
					     .now = 1000000};
		nat_worker_config(net->nats[w], threads[w].cfg, threads[w].now);
	}
}

static void net_stop(struct net *net)
{
	struct nat_stats s;

	for (unsigned w = 0; w < WORKERS; w++) {
		nat_worker_stats(net->nats[w], &s);
		assert_int_equal(s.sessions, 0);
		assert_int_equal(s.mappings, 0);
		assert_int_equal(s.external_addresses, 0);
		nat_worker_destroy(net->nats[w]);
	}
	nat_shared_destroy(net->shared);
	nat_config_free(atomic_load(&net->cfg));
	free(lab);
}

static void test_no_endpoint_is_ever_two_hosts_M3(void **state)
{
	static struct thread threads[WORKERS];
	static struct net net;

	(void)state;
	net_start(&net, threads);
	for (unsigned w = 0; w < WORKERS; w++)
		assert_int_equal(pthread_create(&threads[w].id, NULL, work, &threads[w]), 0);
	for (unsigned i = 0; atomic_load(&net.done) < WORKERS; i++)
		commit(&net, build(i % 2 == 0));
	commit(&net, build(false));
	atomic_store(&net.stop, true);
	for (unsigned w = 0; w < WORKERS; w++)
		pthread_join(threads[w].id, NULL);
	print_message("%u packets translated, %u refused\n", net.made, net.refused);
	assert_true(net.made > ROUNDS / 10 && net.refused > ROUNDS / 100);
	net_stop(&net);
}

/* Whichever worker asks, every port of every address that the router has room for is given out, and
 * none after that. */
static void test_every_port_can_be_used_by_any_worker(void **state)
{
	static struct thread threads[WORKERS];
	static struct net net;

	(void)state;
	net_start(&net, threads);
	for (unsigned w = 0; w < WORKERS; w++) {
		struct thread *t = &threads[w];
		unsigned made, host = 2;

		while (owner_of(&net, host) != w)
			host++;
		made = atomic_load(&net.made);
		/* a host has one address, and its worker's other hosts get the other one */
		for (; host < HOSTS; host++)
			for (unsigned port = LO; port <= IN_HI && owner_of(&net, host) == w; port++)
				open_one(t, host, port);
		assert_int_equal(atomic_load(&net.made) - made, 2 * (HI - LO + 1));
		for (host = 2; host < HOSTS; host++)
			if (owner_of(&net, host) == w)
				clear_host(t, host);
		nat_worker_tick(t->nat, t->now, 100000);
	}
	net_stop(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_endpoint_is_ever_two_hosts_M3),
		cmocka_unit_test(test_every_port_can_be_used_by_any_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
