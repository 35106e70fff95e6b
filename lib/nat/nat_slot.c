/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_slot.h"

/* A slot may be taken again when nothing names it and its rule is gone. */
static bool is_free(const struct nat_slot *s)
{
	return s->refs == 0 && s->rule == NAT_NONE;
}

uint16_t nat_slot_get(struct nat_worker *nat, uint32_t rule)
{
	const struct nat_rule_c *c = &nat->cfg->rules[rule];
	uint16_t i;

	if (nat->rule_slot[rule] != NAT_NO_SLOT)
		return nat->rule_slot[rule];
	for (i = 0; i < nat->slots_high; i++)
		if (is_free(&nat->slots[i]))
			break;
	if (i == NAT_SLOTS)
		return NAT_NO_SLOT;
	if (i == nat->slots_high)
		nat->slots_high++;
	nat->slots[i] = (struct nat_slot){
		.print = c->print,
		.rule_id = c->r.id,
		.pool_id = c->pool != NULL && c->pool->n_addrs > 1 ? c->pool->id : NAT_NONE,
		.rule = rule,
	};
	nat->rule_slot[rule] = i;
	return i;
}

/* The present snapshot's rule with that id and content, or NAT_NONE. */
static uint32_t find_rule(const struct nat_config *cfg, uint32_t id, uint64_t print)
{
	uint32_t rule = cfg != NULL ? nat_config_rule(cfg, id) : NAT_NONE;

	return rule != NAT_NONE && cfg->rules[rule].print == print ? rule : NAT_NONE;
}

bool nat_slot_resolve(struct nat_worker *nat)
{
	bool dead = false;

	for (unsigned i = 0; i < NAT_MAX_RULES; i++)
		nat->rule_slot[i] = NAT_NO_SLOT;
	for (uint16_t i = 0; i < nat->slots_high; i++) {
		struct nat_slot *s = &nat->slots[i];

		if (s->refs == 0) {
			s->rule = NAT_NONE;
			continue;
		}
		s->rule = find_rule(nat->cfg, s->rule_id, s->print);
		if (s->rule == NAT_NONE)
			dead = true;
		else
			nat->rule_slot[s->rule] = i;
	}
	return dead;
}
