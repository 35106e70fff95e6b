/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration of translation as commands made it: rules, pools, settings, with interfaces and
 * pools by name. The control side keeps one; natconf_build() compiles it to the snapshot that
 * workers use.
 */
#ifndef TURNPIKE_NATCONF_H
#define TURNPIKE_NATCONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nat.h"

#include "net.h"

#define NATCONF_POOL_RANGES 64

struct natconf_rule {
	struct nat_rule r;	  /* iface and pool are resolved when it is compiled */
	char iface[FWD_NAME_LEN]; /* empty: any */
	char pool[NAT_NAME_LEN];
	unsigned line; /* of the configuration file, or 0 */
};

struct natconf_pool {
	uint32_t id;
	char name[NAT_NAME_LEN];
	unsigned n_ranges;
	struct nat_range range[NATCONF_POOL_RANGES];
	uint16_t port_lo, port_hi; /* 0, 0: default */
	unsigned line;
};

struct natconf {
	struct natconf_rule *rules; /* of one type, ids grow along it */
	unsigned n_rules;
	struct natconf_pool *pools;
	unsigned n_pools;
	uint32_t last_rule_id, last_pool_id;
	enum nat_behaviour mapping, filtering;
	bool port_preservation, hairpin, inbound_refresh, tcp_loose, refuse_icmp;
	uint32_t timeout_s[NAT_TIMEOUT_COUNT];
};

void natconf_init(struct natconf *c);
void natconf_free(struct natconf *c);
int natconf_copy(struct natconf *to, const struct natconf *from); /* to: not initialised; -ENOMEM */

struct natconf_rule *natconf_rule(const struct natconf *c, const char *name);
const struct natconf_rule *natconf_rule_by_id(const struct natconf *c, uint32_t id);
struct natconf_pool *natconf_pool(const struct natconf *c, const char *name);
/* They take a copy and give it an id. -ENOSPC, -ENOMEM. */
int natconf_add_rule(struct natconf *c, const struct natconf_rule *rule);
int natconf_add_pool(struct natconf *c, const struct natconf_pool *pool);
void natconf_del_rule(struct natconf *c, const char *name);
void natconf_del_pool(struct natconf *c, const char *name);
/* The same but for id and line? */
bool natconf_rule_same(const struct natconf_rule *a, const struct natconf_rule *b);
bool natconf_pool_same(const struct natconf_pool *a, const struct natconf_pool *b);

/* Gives rules and pools of want that are in have too the ids that they have there, so that their
 * sessions carry on; all others get new ones that keep want's order. */
int natconf_adopt_ids(struct natconf *want, const struct natconf *have);

/* Compiles the first n_rules rules. NULL with errno set and a message. */
struct nat_config *natconf_build(const struct natconf *c, unsigned n_rules, const struct net *net,
				 char *err, size_t err_len);

#endif /* TURNPIKE_NATCONF_H */
