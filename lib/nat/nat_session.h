/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions: making, finding, ending them, their timers, and the lists that tie them to mappings.
 * Also the filter (M8): which remote addresses a mapping has sent to. Worker only.
 */
#ifndef TURNPIKE_NAT_SESSION_H
#define TURNPIKE_NAT_SESSION_H

#include "nat_worker.h"

/* What a new session is made of. */
struct nat_session_plan {
	struct nat_key key[2];
	uint32_t hash[2];	       /* of the keys */
	uint32_t mapping, dst_mapping; /* or NAT_NONE */
	uint16_t src_slot, dst_slot;   /* or NAT_NO_SLOT */
	uint8_t flags; /* of enum nat_session_flags: OUT1, INBOUND, KNOCK, LOOSE, REFRESH* */
};

struct nat_session_find {
	const struct nat_worker *nat;
	const struct nat_key *key;
};

static inline bool nat_session_is(const void *ctx, uint32_t value)
{
	const struct nat_session_find *f = ctx;

	return nat_key_equal(&f->nat->sessions[value >> 1].key[value & 1], f->key);
}

/* Session * 2 + direction of the session that packets with this key belong to, or NAT_NONE.
 * Sessions of dead rules included. */
static inline uint32_t nat_session_find(const struct nat_worker *nat, const struct nat_key *key,
					uint32_t hash)
{
	struct nat_session_find f = {nat, key};

	return nat_table_find(&nat->session_table, hash, nat_session_is, &f);
}

/* Brings what nat_session_create will touch into the cache. */
void nat_session_prefetch(const struct nat_worker *nat, const struct nat_session_plan *plan);

/* Makes a session: 0 and *session, or the reason why not; then nothing has changed. The keys must
 * be in no other session. Holds the mappings and slots. */
enum nat_reason nat_session_create(struct nat_worker *nat, const struct nat_session_plan *plan,
				   uint64_t now_ms, uint32_t *session);

/* Ends a session. armed: it is on the wheel. at_once: a port that becomes free is not held (T5). */
void nat_session_remove(struct nat_worker *nat, uint32_t session, bool armed, bool at_once);

/* Brings what nat_session_remove will touch into the cache, the session's own record being there.
 */
void nat_session_fetch(const struct nat_worker *nat, uint32_t session);

/* A session that began outside sees its first outbound packet: from now on it holds its mapping,
 * and its remote address may send. */
void nat_session_went_out(struct nat_worker *nat, uint32_t session);

/* Milliseconds until it is due; 0: now. */
uint32_t nat_session_left(const struct nat_worker *nat, const struct nat_session *s,
			  uint64_t now_ms);

/* Puts it on the wheel for when it is due; rearm: it is on it already. */
void nat_session_arm(struct nat_worker *nat, uint32_t session, uint64_t now_ms);
void nat_session_rearm(struct nat_worker *nat, uint32_t session, uint64_t now_ms);

static inline uint32_t nat_filter_hash(const struct nat_worker *nat, uint32_t mapping,
				       uint32_t remote_be)
{
	return nat_hash(&nat->seed, mapping, remote_be);
}

/* The first session of a mapping to a remote address: has anybody behind the mapping sent there? */
uint32_t nat_filter_find(const struct nat_worker *nat, uint32_t mapping, uint32_t remote_be);

/* Does the filter let packets from the remote endpoint in? (For a packet without a session of its
 * own.) */
bool nat_filter_allows(const struct nat_worker *nat, uint32_t mapping, uint32_t remote_be,
		       uint16_t remote_port_be);

#endif /* TURNPIKE_NAT_SESSION_H */
