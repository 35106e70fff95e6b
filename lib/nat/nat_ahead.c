/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new session touches a dozen lines of memory, each of which is found by
 * what the one before holds, so one packet after the other waits for each of them. Here a burst's
 * packets guess together what theirs will be, and fetch them at the same time: that the rule is the
 * last mapping's, that the host's address is that of its other mapping, that the port is kept, that
 * records come off the free lists in turn. A wrong guess costs a line that nobody needed.
 */
#include "nat_ahead.h"

#include "nat_extern.h"
#include "nat_mapping.h"
#include "nat_session.h"

#define BURST_MAX 64

/* Records that the next n sessions and mappings take. mapping[i]: the i-th of them. */
static void fetch_records(const struct nat_worker *nat, unsigned n, uint32_t mapping[])
{
	uint32_t m = nat->mapping_free, m_high = nat->mappings_high;
	uint32_t s = nat->session_free, s_high = nat->sessions_high;

	for (unsigned i = 0; i < n; i++) {
		mapping[i] = m != NAT_NONE ? m : m_high < nat->max_mappings ? m_high++ : NAT_NONE;
		if (mapping[i] != NAT_NONE)
			__builtin_prefetch(&nat->mappings[mapping[i]], 1);
		if (m != NAT_NONE)
			m = nat->mappings[m].free.next;
	}
	for (unsigned i = 0; i < n; i++) {
		uint32_t take = s != NAT_NONE		     ? s
				: s_high < nat->max_sessions ? s_high++
							     : NAT_NONE;

		if (take == NAT_NONE)
			return;
		__builtin_prefetch(&nat->sessions[take], 1);
		__builtin_prefetch(&nat->cold[take], 1);
		if (s != NAT_NONE)
			s = nat->cold[s].wheel.next;
	}
}

/* The first that may be a mapping of the packet's host, now that the bucket is there. */
static uint32_t host_candidate(const struct nat_worker *nat, uint32_t hash)
{
	const struct nat_bucket *b =
		&nat->host_table.buckets[nat_table_home(&nat->host_table, hash)];
	unsigned match = nat_bucket_match(b, nat_table_tag(hash));

	return match != 0 ? b->value[__builtin_ctz(match)] : NAT_NONE;
}

/* Where the host's next mapping goes when it keeps its port. */
static void fetch_outside(const struct nat_worker *nat, const struct nat_key *key, uint32_t ext_be)
{
	struct nat_key to = *key, reply;
	enum nat_space space = nat_proto_space(key->proto);

	to.src_be = ext_be;
	reply = nat_key_reverse(&to);
	nat_table_prefetch(&nat->session_table, nat_key_hash(&nat->seed, &reply));
	nat_table_prefetch(&nat->outside_table,
			   nat_mapping_hash_outside(nat, ext_be, key->sport_be, key->proto));
	if (space != NAT_SPACE_NONE)
		nat_extern_prefetch(nat->shared, ext_be, space, ntohs(key->sport_be));
}

static unsigned without_session(struct nat_pkt *const *pkts, unsigned n,
				const struct nat_key *key[])
{
	unsigned n_keys = 0;

	for (unsigned i = 0; i < n; i++) {
		if (pkts[i]->verdict == NAT_PASS)
			key[n_keys++] = &pkts[i]->key;
	}
	return n_keys;
}

void nat_ahead(const struct nat_worker *nat, struct nat_pkt *const *pkts, unsigned n)
{
	const struct nat_key *key[BURST_MAX];
	uint32_t host_hash[BURST_MAX], host[BURST_MAX], mapping[BURST_MAX];
	uint16_t slot = nat->last_slot;
	uint32_t pool_id;

	if (!nat_config_active(nat->cfg) || slot == NAT_NO_SLOT || !nat_slot_alive(nat, slot))
		return;
	pool_id = nat->slots[slot].pool_id;
	n = without_session(pkts, n, key);
	for (unsigned i = 0; i < n; i++) {
		struct nat_key in = nat_mapping_inside_key(nat, key[i], slot);

		nat_table_prefetch(&nat->inside_table, nat_key_hash(&nat->seed, &in));
		host_hash[i] = nat_mapping_hash_host(nat, in.src_be, pool_id);
		if (pool_id != NAT_NONE)
			nat_table_prefetch(&nat->host_table, host_hash[i]);
	}
	fetch_records(nat, n, mapping);
	for (unsigned i = 0; i < n; i++) {
		host[i] = pool_id != NAT_NONE ? host_candidate(nat, host_hash[i]) : NAT_NONE;
		if (host[i] != NAT_NONE)
			__builtin_prefetch(&nat->mappings[host[i]], 1);
		if (mapping[i] != NAT_NONE)
			nat_table_prefetch(&nat->filter_table,
					   nat_filter_hash(nat, mapping[i], key[i]->dst_be));
	}
	for (unsigned i = 0; i < n; i++) {
		if (host[i] != NAT_NONE)
			fetch_outside(nat, key[i], nat->mappings[host[i]].ext_be);
	}
}
