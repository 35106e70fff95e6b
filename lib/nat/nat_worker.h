/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records that a worker owns, and struct nat_worker, which holds their tables. Everything is
 * named by index. Who changes what: nat_slot.c rules in use, nat_mapping.c mappings, nat_session.c
 * sessions, nat_tick.c what is due.
 */
#ifndef TURNPIKE_NAT_WORKER_H
#define TURNPIKE_NAT_WORKER_H

#include "csum.h"
#include "nat_find.h"
#include "nat_key.h"
#include "nat_random.h"
#include "nat_shared.h"
#include "nat_table.h"
#include "nat_wheel.h"

#define NAT_SLOTS   8192u /* rules in use, those of an old snapshot included */
#define NAT_NO_SLOT UINT16_MAX

/* ---- sessions ------------------------------------------------------------------------------- */

enum nat_session_flags {
	NAT_S_USED = 1 << 0,
	NAT_S_REFRESH0 = 1 << 1, /* packets of direction 0 prolong the session (M7) */
	NAT_S_REFRESH1 = 1 << 2, /* << direction */
	NAT_S_OUT1 = 1 << 3,	 /* outbound is direction 1: an outside host began it */
	NAT_S_INBOUND = 1 << 4,	 /* nothing went outbound yet: it does not hold its mapping */
	NAT_S_KNOCK = 1 << 5,	 /* hairpin packet that the other's filter refused: opens the
				  * sender's own filter, translates nothing, has no table entry */
	NAT_S_LOOSE = 1 << 6,	 /* TCP taken up in mid-stream */
	NAT_S_L4 = 1 << 7,	 /* the transport header changes */
};

/* What has been seen of a TCP connection, by side (<< side). */
enum nat_tcp_seen {
	NAT_T_SYN0 = 1 << 0,
	NAT_T_ACKED0 = 1 << 2, /* side 0's SYN was acknowledged */
	NAT_T_FIN0 = 1 << 4,
	NAT_T_CONT0 = 1 << 6, /* side 0 went on after a reset */
};

/* Hot: one line. The translation of direction d is the reverse of key[!d]. */
struct nat_session {
	struct nat_key key[2];
	csum_delta_t l3_delta, l4_delta; /* of direction 0; negated for direction 1 */
	uint32_t seen_ms;		 /* last packet that counts, low half of the clock */
	uint32_t una[2];		 /* TCP: first byte of side d not acknowledged */
	uint32_t end[2];		 /* TCP: end of what side d has sent */
	uint8_t tcp_state : 3;		 /* enum nat_tcp_state */
	uint8_t timeout : 3;		 /* enum nat_timeout */
	uint8_t tcp_seen;		 /* enum nat_tcp_seen */
	uint8_t flags;			 /* enum nat_session_flags */
	uint8_t hop_gen;		 /* hop[] is of this generation; 0: of none */
	uint16_t hop[2];		 /* by direction: see nat_hop_keep() */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct nat_session) == 64, "the hot part is one line");
_Static_assert(NAT_TCP_RESET < 8 && NAT_TIMEOUT_COUNT <= 8, "three bits each");

struct nat_session_cold {
	struct nat_link wheel;	     /* next: also the free list */
	struct nat_link list;	     /* among the mapping's sessions */
	uint32_t mapping;	     /* of the inside endpoint, or NAT_NONE (static, dnat) */
	uint32_t dst_mapping;	     /* hairpin: the receiver's mapping, held by this session */
	uint32_t created_s;	     /* of the clock: milliseconds would take 4 bytes more */
	uint16_t src_slot, dst_slot; /* rules that translate source and destination */
};

_Static_assert(sizeof(struct nat_session_cold) == 32, "no hole");

/* ---- mappings ------------------------------------------------------------------------------- */

/* An inside endpoint's external endpoint. */
struct nat_mapping {
	struct nat_key key; /* src: inside endpoint; dst: what it depends on, else 0; table:
			     * the rule's slot (a rule belongs to one routing table) */
	uint32_t ext_be;
	uint16_t ext_port_be;
	uint16_t slot;
	union {
		struct {
			uint32_t out_head; /* sessions with outbound traffic, those to one remote
					    * address next to each other */
			uint32_t in_head;  /* sessions begun outside, without an answer yet */
		};
		struct nat_link wheel; /* when held */
	};
	union {
		struct nat_link host; /* other mappings of the host in the same pool */
		struct nat_link free;
	};
	uint32_t next_idle;  /* on the list of idle mappings (nat_mapping_idle) */
	uint32_t n_out : 28; /* sessions that hold the mapping */
	uint32_t used : 1;
	uint32_t held : 1;    /* on the wheel: its port waits for its host (T5) */
	uint32_t queued : 1;  /* on the idle list */
	uint32_t at_once : 1; /* don't hold the port */
};

_Static_assert(sizeof(struct nat_mapping) == 48, "mappings are small");

/* ---- rules in use --------------------------------------------------------------------------- */

struct nat_slot {
	uint64_t print;
	uint32_t rule_id;
	uint32_t pool_id;
	uint32_t refs; /* sessions and mappings */
	uint32_t rule; /* in the present snapshot; NAT_NONE: gone */
};

struct nat_worker {
	const struct nat_config *cfg;
	struct nat_session *sessions;
	struct nat_session_cold *cold;
	struct nat_table session_table; /* value: session * 2 + direction */
	struct nat_seed seed;
	uint8_t hop_gen; /* of the routes as they are; 0: none is kept, sessions are swept */
	bool sweeping;	 /* sessions of dead rules may be there */
	bool sweep_due;	 /* the sweep goes on: for those, or to set timers anew */
	bool started;	 /* the wheels' clocks are set */
	uint32_t timeout_ms[NAT_TIMEOUT_COUNT];

	struct nat_ops ops;
	struct nat_random random;
	uint32_t max_sessions, n_sessions, sessions_high, session_free;
	struct nat_wheel session_wheel;
	struct nat_table filter_table; /* (mapping, remote address) -> first such session */

	struct nat_mapping *mappings;
	uint32_t max_mappings, n_mappings, mappings_high, mapping_free;
	uint32_t mapping_idle; /* mappings to be freed or held */
	struct nat_wheel mapping_wheel;
	struct nat_table inside_table, outside_table, host_table;

	struct nat_shared *shared;
	unsigned id;			    /* this worker's number among those that share it */
	bool owns_shared;		    /* made with this worker, and for it alone */
	struct nat_port_groups port_groups; /* preferred, with prefer_ports */

	struct nat_slot *slots;
	uint16_t slots_high;
	uint16_t last_slot;  /* of the last mapping made: a guess at the next one's */
	uint16_t *rule_slot; /* by rule of the snapshot: its slot or NAT_NO_SLOT */

	uint32_t sweep_session, sweep_mapping; /* where the sweep goes on */
	uint32_t sweep_hop;		       /* and that for generations */
	uint64_t created, expired, cleared;
	size_t memory;
	void *blocks[16]; /* what was taken from ops.alloc */
	unsigned n_blocks;
};

/* Is the rule behind a slot still configured? */
static inline bool nat_slot_alive(const struct nat_worker *nat, uint16_t slot)
{
	return slot == NAT_NO_SLOT || nat->slots[slot].rule != NAT_NONE;
}

static inline bool nat_session_alive(const struct nat_worker *nat, const struct nat_session *s)
{
	const struct nat_session_cold *c = &nat->cold[s - nat->sessions];

	return nat_slot_alive(nat, c->src_slot) && nat_slot_alive(nat, c->dst_slot);
}

#endif /* TURNPIKE_NAT_WORKER_H */
