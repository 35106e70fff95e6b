/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_owner.h"

#include "nat_extern.h"
#include "nat_quote.h"

#define BURST_MAX 64

bool nat_owner_hand_over(const struct nat_worker *nat, const struct nat_key *key,
			 const struct nat_resolution *r, struct nat_pkt *pkt)
{
	const struct nat_shared *sh = nat->shared;
	bool by_source = r->src_rule != NAT_NONE;
	bool by_destination = r->dst_rule != NAT_NONE || r->dst_mapping != NAT_NONE;
	unsigned source = nat_host_owner(sh, key->src_be);
	unsigned destination = nat_host_owner(sh, r->new_dst_be);

	pkt->rule_id = 0;
	pkt->owner = (uint8_t)(by_source ? source : destination);
	/* an answer of a host that a dnat rule leads to: its session gives it its source */
	if (by_destination && !by_source && source != destination &&
	    nat_config_is_target(nat->cfg, key->src_be)) {
		pkt->owner = (uint8_t)source;
		pkt->rule_id = NAT_RULE_NONE;
		return true;
	}
	if (by_source && by_destination && source != destination) {
		pkt->rule_id = nat->cfg->rules[r->src_rule].r.id;
		return true;
	}
	return pkt->owner != nat->id;
}

/* ---- bursts --------------------------------------------------------------------------------- */

/* Where it says who has a mapping at the packet's destination; NULL: no mapping can be there. */
static const _Atomic uint8_t *mapping_owner(const struct nat_shared *sh, const struct nat_key *k)
{
	uint32_t ext = nat_extern_find(sh, k->dst_be);

	if (ext == NAT_NONE || k->kind == NAT_KIND_ICMP_REQUEST)
		return NULL;
	return nat_extern_owner(sh, ext, k->proto, ntohs(k->dport_be));
}

/* The owner by configuration alone, for a packet whose destination no mapping has. */
static uint8_t rule_owner(const struct nat_shared *sh, const struct nat_config *cfg,
			  const struct nat_key *k, uint16_t in, unsigned self)
{
	uint32_t rule;
	unsigned owner;

	if (nat_config_is_external(cfg, k->dst_be)) {
		rule = nat_config_static(cfg, k->dst_be);
		if (rule != NAT_NONE)
			return (uint8_t)nat_host_owner(
				sh, nat_prefix_move(&cfg->rules[rule].r.internal, k->dst_be));
		rule = nat_resolve_dnat(cfg, k, in);
		return (uint8_t)(rule != NAT_NONE ? nat_host_owner(sh, cfg->rules[rule].r.to_be)
						  : self);
	}
	owner = nat_host_owner(sh, k->src_be);
	return (uint8_t)(owner == self ? self : owner | NAT_OWNER_IF_OUT);
}

void nat_owner_burst(const struct nat_shared *sh, const struct nat_config *cfg,
		     struct nat_pkt *const *pkts, unsigned n, unsigned self, uint8_t *owner)
{
	const _Atomic uint8_t *at[BURST_MAX];
	struct nat_key quoted[BURST_MAX];
	const struct nat_key *key[BURST_MAX];

	for (unsigned i = 0; i < n; i++) {
		const struct nat_pkt *p = pkts[i];
		struct nat_quote q;

		key[i] = &p->key;
		if (nat_unlikely(p->flags & NAT_PKT_ICMP_ERROR && !(p->flags & NAT_PKT_FRAGMENT) &&
				 nat_quote_parse(p, &q))) {
			/* the error goes where an answer to the quoted packet would go */
			quoted[i] = nat_key_reverse(&q.key);
			key[i] = &quoted[i];
		}
		at[i] = mapping_owner(sh, key[i]);
		if (at[i] != NULL)
			__builtin_prefetch((const void *)at[i]);
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned by_mapping =
			at[i] != NULL ? atomic_load_explicit(at[i], memory_order_acquire) : 0;

		if (nat_unlikely(pkts[i]->flags & (NAT_PKT_FRAGMENT | NAT_PKT_NO_KEY)))
			owner[i] = (uint8_t)self; /* nobody translates it */
		else if (by_mapping != 0)
			owner[i] = (uint8_t)(by_mapping - 1);
		else
			owner[i] = rule_owner(sh, cfg, key[i], pkts[i]->iface, self);
	}
}
