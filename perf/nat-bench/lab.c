/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include "nat_session.h"

#define OUTSIDE	      1
#define PORTS_OF_HOST 16
#define OF_ADDRESS    20000 /* sessions that an external address is to hold */

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("nat-bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void *lab_take(size_t size)
{
	void *p = rte_zmalloc("nat-bench", size, RTE_CACHE_LINE_SIZE);

	if (p == NULL)
		die("no memory for %zu MB more: reserve more huge pages", size >> 20);
	return p;
}

static void *nat_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return lab_take(size);
}

static void nat_free(void *ctx, void *p)
{
	(void)ctx;
	rte_free(p);
}

static int egress(void *ctx, uint32_t dst_be, uint16_t table)
{
	(void)ctx;
	(void)dst_be;
	(void)table;
	return OUTSIDE;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static struct nat_config *config(bool rule, uint32_t addresses)
{
	struct nat_range range = {htonl(0x64400001u), htonl(0x64400001u + addresses - 1)};
	struct nat_pool pool = {.id = 1, .name = "pool", .ranges = &range, .n_ranges = 1};
	struct nat_rule snat = {.id = 1,
				.name = "inside",
				.type = NAT_RULE_SNAT,
				.iface = OUTSIDE,
				.source = {htonl(0x0a000000u), 8}};
	struct nat_config *cfg;
	struct nat_conf conf;
	char err[256];

	nat_conf_defaults(&conf);
	conf.pools = &pool;
	conf.n_pools = 1;
	conf.rules = &snat;
	conf.n_rules = rule;
	cfg = nat_config_build(&conf, err, sizeof(err));
	if (cfg == NULL)
		die("%s", err);
	return cfg;
}

void lab_open(struct lab *lab, uint32_t n)
{
	struct nat_ops ops = {.egress = egress, .alloc = nat_alloc, .free = nat_free};
	struct nat_limits limits = {.max_sessions = n, .seed = 1};

	*lab = (struct lab){.n = n, .now_ms = 1000000};
	lab->nat = nat_worker_create(&limits, &ops);
	if (lab->nat == NULL)
		die("no memory for %u sessions", n);
	lab->cfg = config(true, n / OF_ADDRESS + 4);
	lab->bare = config(false, n / OF_ADDRESS + 4);
	lab->keys = lab_take((size_t)n * 2 * sizeof(*lab->keys));
	nat_worker_config(lab->nat, lab->cfg, lab->now_ms);
}

void lab_close(struct lab *lab)
{
	nat_worker_destroy(lab->nat);
	nat_config_free(lab->cfg);
	nat_config_free(lab->bare);
	rte_free(lab->keys);
}

uint32_t *lab_shuffled(uint32_t n)
{
	uint32_t *order = lab_take((size_t)n * sizeof(*order));

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t k = (uint32_t)(mix(i) % (i + 1ull)), was = order[i];

		order[i] = order[k];
		order[k] = was;
	}
	return order;
}

void lab_fill(struct lab *lab)
{
	uint32_t *order;

	for (uint32_t i = 0; i < lab->n; i++) {
		uint64_t r = mix(i + 0x1234567ull);
		uint8_t datagram[28] = {0x45};
		struct nat_pkt p = {
			.key = {.src_be = htonl(0x0a000002u + i / PORTS_OF_HOST),
				.dst_be = htonl(0xc6120000u + (r & 0x1ffff)),
				.sport_be = htons((uint16_t)(1024 + i % PORTS_OF_HOST * 4000 +
							     (r >> 48) % 4000)),
				.dport_be = htons(r >> 40 & 1 ? 443 : 53),
				.proto = IPPROTO_UDP},
			.ip = datagram,
			.l4 = datagram + 20,
			.l4_len = 8,
			.l4_avail = 8,
			.flags = NAT_PKT_PLAIN,
		};
		struct nat_pkt *one = &p;

		nat_lookup_burst(lab->nat, &one, 1);
		if (nat_miss(lab->nat, &p, OUTSIDE, lab->now_ms) != NAT_TRANSLATE)
			die("session %u of %u: %s", i, lab->n,
			    nat_reason_name((enum nat_reason)p.reason));
		lab->keys[2 * (size_t)i] = lab->nat->sessions[p.session].key[0];
		lab->keys[2 * (size_t)i + 1] = lab->nat->sessions[p.session].key[1];
	}
	order = lab_shuffled(lab->n);
	for (uint32_t i = 0; i < lab->n; i++)
		nat_session_rearm(lab->nat, order[i], lab->now_ms);
	rte_free(order);
}
