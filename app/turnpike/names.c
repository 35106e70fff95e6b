/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in commands. See names.h. */
#include <stdio.h>
#include <string.h>

#include "cli/text.h"

#include "names.h"

/* What there is, for a hint. */
struct known {
	const char *typed;
	char near[NAT_NAME_LEN];
	unsigned best;
	char list[200];
	size_t len;
};

static void known_add(struct known *k, const char *name)
{
	if (text_nearer(k->typed, name, &k->best))
		snprintf(k->near, sizeof(k->near), "%s", name);
	if (k->len < sizeof(k->list))
		k->len += (size_t)snprintf(k->list + k->len, sizeof(k->list) - k->len, "%s%s",
					   k->len > 0 ? ", " : "", name);
}

static void not_found(struct known *k, const struct cli_cmd *cmd, const struct cli_value *v,
		      const char *kind, struct cli_error *e)
{
	char word[NAT_NAME_LEN];

	cli_error_set(e, 1, v->column, "no %s '%s'", kind, v->text);
	if (cmd->implied) { /* it may have been meant as a verb */
		for (unsigned i = 0; i < cli_n_commands; i++) {
			const struct cli_command *c = &cli_commands[i];
			unsigned d = 0;

			while (c->words[d + 1] != NULL && cmd->def->words[d + 1] != NULL &&
			       strcmp(c->words[d], cmd->def->words[d]) == 0)
				d++;
			if (cmd->def->words[d + 1] != NULL || c->words[d] == NULL || d == 0)
				continue;
			snprintf(word, sizeof(word), "%s", c->words[d]);
			if (text_nearer(k->typed, word, &k->best))
				snprintf(k->near, sizeof(k->near), "%s", word);
		}
	}
	if (k->near[0] != '\0')
		cli_error_hint(e, "did you mean '%s'?", k->near);
	else if (k->len > 0)
		cli_error_hint(e, "there %s %.190s", strchr(k->list, ',') != NULL ? "are" : "is",
			       k->list);
	else
		cli_error_hint(e, "there is none yet");
}

bool names_iface(const struct router *r, const struct cli_cmd *cmd, const char *key, uint16_t *id,
		 struct cli_error *e)
{
	const struct cli_value *v = cli_get(cmd, key);
	struct known k = {.best = TEXT_FAR};
	struct net_iface iface;
	int found;

	if (v == NULL)
		return true;
	found = r->net.ops->iface_find(r->net.ctx, v->text);
	if (found >= 0) {
		*id = (uint16_t)found;
		return true;
	}
	k.typed = v->text;
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		if (r->net.ops->iface_get(r->net.ctx, (uint16_t)i, &iface) == 0)
			known_add(&k, iface.conf.name);
	}
	not_found(&k, cmd, v, "interface", e);
	return false;
}

const struct natconf_rule *names_rule(const struct router *r, const struct cli_cmd *cmd,
				      const char *key, struct cli_error *e)
{
	const struct cli_value *v = cli_get(cmd, key);
	const struct natconf_rule *rule = natconf_rule(&r->nat, v->text);
	struct known k = {.typed = v->text, .best = TEXT_FAR};

	if (rule != NULL)
		return rule;
	for (unsigned i = 0; i < r->nat.n_rules; i++)
		known_add(&k, r->nat.rules[i].r.name);
	not_found(&k, cmd, v, "rule", e);
	return NULL;
}

const struct natconf_pool *names_pool(const struct router *r, const struct cli_cmd *cmd,
				      const char *key, struct cli_error *e)
{
	const struct cli_value *v = cli_get(cmd, key);
	const struct natconf_pool *pool = natconf_pool(&r->nat, v->text);
	struct known k = {.typed = v->text, .best = TEXT_FAR};

	if (pool != NULL)
		return pool;
	for (unsigned i = 0; i < r->nat.n_pools; i++)
		known_add(&k, r->nat.pools[i].name);
	not_found(&k, cmd, v, "pool", e);
	return NULL;
}
