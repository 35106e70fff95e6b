/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_lookup.h"

#include <endian.h>

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

_Static_assert(offsetof(struct nat_pkt, dir) == offsetof(struct nat_pkt, verdict) + 2 &&
		       offsetof(struct nat_pkt, new_dst_be) ==
			       offsetof(struct nat_pkt, new_src_be) + 4,
	       "verdict, reason and direction are stored as one word, and both addresses");

static inline void fill(const struct nat_worker *nat, struct nat_pkt *pkt, uint32_t value)
{
	const struct nat_session *s = &nat->sessions[value >> 1];
	uint64_t addrs = nat_load8(&s->key[!(value & 1)]);

	nat_store4(&pkt->verdict, htole32(NAT_TRANSLATE | (value & 1) << 16));
	pkt->session = value >> 1;
	pkt->hop = s->hop[value & 1] & (uint16_t)-(s->hop_gen == nat->hop_gen);
	/* the other direction's destination and source */
	nat_store8(&pkt->new_src_be, addrs << 32 | addrs >> 32);
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

/* The packet's session, now that its candidate is in the cache. */
static inline void finish(const struct nat_worker *nat, struct nat_pkt *pkt, uint32_t candidate)
{
	uint32_t value = candidate;

	if (nat_unlikely(value == NAT_NONE)) {
		pass(pkt);
		return;
	}
	/* a wrong candidate: equal tags */
	if (nat_unlikely(!nat_key_equal(&nat->sessions[value >> 1].key[value & 1], &pkt->key))) {
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

/* The first of a bucket's matches, on its way to the cache. */
static inline uint32_t candidate_of(const struct nat_worker *nat, const struct nat_bucket *b,
				    unsigned match)
{
	uint32_t value = b->value[__builtin_ctz(match)];

	__builtin_prefetch(&nat->sessions[value >> 1]);
	return value;
}

/* Every bucket is on its way before the first is looked at, then every other bucket that is needed,
 * then every session. */
void nat_lookup_burst(struct nat_worker *nat, struct nat_pkt *const *pkts, unsigned n)
{
	const struct nat_table *t = &nat->session_table;
	const struct nat_bucket *bucket[BURST_MAX];
	uint32_t candidate[BURST_MAX];
	uint8_t away[BURST_MAX];
	unsigned n_away = 0, misses = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t hash = nat_key_hash(&nat->seed, &pkts[i]->key);

		pkts[i]->hash = hash;
		bucket[i] = &t->buckets[nat_table_home(t, hash)];
		__builtin_prefetch(bucket[i]);
	}
	for (unsigned i = 0; i < n; i++) {
		const struct nat_bucket *b = bucket[i];
		uint16_t tag = nat_table_tag(pkts[i]->hash);
		unsigned match = nat_bucket_match(b, tag);

		if (nat_likely(match != 0)) {
			candidate[i] = candidate_of(nat, b, match);
			continue;
		}
		candidate[i] = NAT_NONE;
		if (b->moved == 0)
			continue;
		bucket[i] = &t->buckets[nat_table_other(t, (uint32_t)(b - t->buckets), tag)];
		__builtin_prefetch(bucket[i]);
		away[n_away++] = (uint8_t)i;
	}
	for (unsigned k = 0; k < n_away; k++) {
		unsigned i = away[k];
		unsigned match = nat_bucket_match(bucket[i], nat_table_tag(pkts[i]->hash));

		if (match != 0)
			candidate[i] = candidate_of(nat, bucket[i], match);
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
