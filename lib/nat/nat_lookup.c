/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_lookup.h"

#include "nat_ahead.h"
#include "nat_quote.h"
#include "nat_session.h"

#define BURST_MAX 64
#define AHEAD_MIN 2 /* misses in a burst for which looking ahead pays */
#define NO_LOOKUP (NAT_PKT_FRAGMENT | NAT_PKT_ICMP_ERROR | NAT_PKT_NO_KEY)

static inline void pass(struct nat_pkt *pkt)
{
	pkt->verdict = NAT_PASS;
	pkt->reason = NAT_REASON_NONE;
	pkt->session = NAT_NONE;
	pkt->new_src_be = pkt->key.src_be;
	pkt->new_dst_be = pkt->key.dst_be;
}

static inline void fill(const struct nat_worker *nat, struct nat_pkt *pkt, uint32_t value)
{
	const struct nat_key *reverse = &nat->sessions[value >> 1].key[!(value & 1)];

	pkt->verdict = NAT_TRANSLATE;
	pkt->reason = NAT_REASON_NONE;
	pkt->dir = value & 1;
	pkt->session = value >> 1;
	pkt->new_src_be = reverse->dst_be;
	pkt->new_dst_be = reverse->src_be;
}

void nat_lookup_fill(const struct nat_worker *nat, struct nat_pkt *pkt, uint32_t session,
		     unsigned dir)
{
	fill(nat, pkt, session << 1 | dir);
}

bool nat_lookup_error(const struct nat_worker *nat, struct nat_pkt *pkt)
{
	const struct nat_session *s;
	struct nat_quote q;
	struct nat_key key;
	uint32_t value;
	unsigned d;

	pass(pkt);
	if (!nat_quote_parse(pkt, &q))
		return false;
	/* the error travels against the quoted packet, which was sent in direction !d */
	key = nat_key_reverse(&q.key);
	pkt->hash = nat_key_hash(&nat->seed, &key);
	value = nat_session_find(nat, &key, pkt->hash);
	if (value == NAT_NONE)
		return false;
	s = &nat->sessions[value >> 1];
	if (nat->sweeping && !nat_session_alive(nat, s))
		return false;
	fill(nat, pkt, value);
	/* where the source is not translated in this direction, a router on the way keeps its own
	 * address; else any inside address is hidden behind the session's */
	d = value & 1;
	if (s->key[!d].dst_be == s->key[d].src_be)
		pkt->new_src_be = pkt->key.src_be;
	return true;
}

/* The packet's session, now that bucket and candidate are in the cache. */
static inline void finish(const struct nat_worker *nat, struct nat_pkt *pkt, uint32_t candidate)
{
	uint32_t value = candidate;

	/* a wrong candidate (equal tags) or an entry in its other bucket */
	if (nat_unlikely(value == NAT_NONE ||
			 !nat_key_equal(&nat->sessions[value >> 1].key[value & 1], &pkt->key))) {
		value = nat_session_find(nat, &pkt->key, pkt->hash);
		if (value == NAT_NONE) {
			pass(pkt);
			return;
		}
	}
	if (nat_unlikely(nat->sweeping) && !nat_session_alive(nat, &nat->sessions[value >> 1])) {
		pass(pkt);
		return;
	}
	fill(nat, pkt, value);
}

void nat_lookup_burst(struct nat_worker *nat, struct nat_pkt *const *pkts, unsigned n)
{
	const struct nat_table *t = &nat->session_table;
	uint32_t candidate[BURST_MAX];
	unsigned misses = 0;

	/* every bucket is on its way before the first is looked at, then every session likewise */
	for (unsigned i = 0; i < n; i++) {
		pkts[i]->hash = nat_key_hash(&nat->seed, &pkts[i]->key);
		nat_table_prefetch(t, pkts[i]->hash);
	}
	for (unsigned i = 0; i < n; i++) {
		uint32_t hash = pkts[i]->hash, home = nat_table_home(t, hash);
		const struct nat_bucket *b = &t->buckets[home];
		unsigned match = nat_bucket_match(b, nat_table_tag(hash));

		if (nat_unlikely(match == 0)) {
			candidate[i] = NAT_NONE;
			if (b->moved > 0)
				__builtin_prefetch(
					&t->buckets[nat_table_other(t, home, nat_table_tag(hash))]);
			continue;
		}
		candidate[i] = b->value[__builtin_ctz(match)];
		__builtin_prefetch(&nat->sessions[candidate[i] >> 1]);
	}
	for (unsigned i = 0; i < n; i++) {
		if (nat_likely(!(pkts[i]->flags & NO_LOOKUP)))
			finish(nat, pkts[i], candidate[i]);
		else if (pkts[i]->flags & NAT_PKT_FRAGMENT ||
			 !(pkts[i]->flags & NAT_PKT_ICMP_ERROR))
			pass(pkts[i]);
		else
			nat_lookup_error(nat, pkts[i]);
		misses += pkts[i]->verdict == NAT_PASS;
	}
	if (nat_unlikely(misses >= AHEAD_MIN))
		nat_ahead(nat, pkts, n);
}
