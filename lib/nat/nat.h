/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network address translation: rules, pools, mappings, sessions and header rewriting.
 *
 * lib/nat sees a packet as header pointers and a struct of parsed fields (struct nat_pkt). It knows
 * no port, no queue and no mbuf. Addresses and ports are in network order (_be) unless said
 * otherwise.
 *
 * Kinds of object:
 *  - struct nat_config: an immutable snapshot of rules, pools, settings. Built and freed by the
 *    control thread, read by workers (nat_worker_config()).
 *  - struct nat_worker: all mappings and sessions that one worker owns. Only that worker calls the
 *    functions that take it; control reaches it by a message run on the worker.
 * What several workers share (struct nat_shared) they use by themselves: who owns which external
 * port.
 */
#ifndef TURNPIKE_NAT_H
#define TURNPIKE_NAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAT_NAME_LEN	32 /* names of rules and pools, with the final NUL */
#define NAT_MAX_RULES	4096
#define NAT_MAX_POOLS	256
#define NAT_NONE	UINT32_MAX
#define NAT_IFACE_ANY	UINT16_MAX
#define NAT_MAX_WORKERS 64

/* ---- the packet ------------------------------------------------------------------------------ */

/* What tells one flow direction from another. 16 bytes, compared and hashed as two 64-bit words.
 * Ports: TCP, UDP, UDP-Lite, DCCP: as on the wire. ICMP query: a request has its identifier in
 * sport and 0 in dport, a reply 0 in sport and its identifier in dport, and kind tells them apart
 * (an identifier may be 0). Other protocols: both 0. */
struct nat_key {
	uint32_t src_be, dst_be;
	uint16_t sport_be, dport_be;
	uint8_t proto;	/* IP protocol number */
	uint8_t kind;	/* enum nat_kind */
	uint16_t table; /* routing table (VRF), 0 today; and NAT_TABLE_HALF */
} __attribute__((aligned(8)));

/* In key.table: of a packet, or a session, for which this worker translates the source or the
 * destination only, and another one the rest. */
#define NAT_TABLE_HALF 0x8000u

/* rule_id of a half packet whose source no rule translates: only a session may. */
#define NAT_RULE_NONE UINT32_MAX

enum nat_kind {
	NAT_KIND_FLOW = 0,
	NAT_KIND_ICMP_REQUEST = 1,
	NAT_KIND_ICMP_REPLY = 2,
};

enum nat_pkt_flags {
	NAT_PKT_FRAGMENT = 1 << 0, /* MF set or offset non-zero: key ports are not to be trusted */
	NAT_PKT_ICMP_ERROR = 1 << 1, /* ICMP types 3, 4, 5, 11, 12: l4 points to the ICMP header */
	NAT_PKT_LOCAL = 1 << 2,	 /* the destination as received is one of the router's addresses */
	NAT_PKT_NO_KEY = 1 << 3, /* ICMP that is neither query nor error: can't be translated */
	NAT_PKT_PLAIN =
		1 << 4, /* hint: TCP or UDP, no fragment, the whole transport header is there */
	NAT_PKT_SOURCE = 1 << 5,      /* translate the source only, by the rule rule_id */
	NAT_PKT_DESTINATION = 1 << 6, /* translate the destination only: the source is done */
};

enum nat_verdict {
	NAT_PASS = 0,	   /* no translation applies: forward (or deliver locally) as it is */
	NAT_TRANSLATE = 1, /* session, dir, new_src_be, new_dst_be are set */
	NAT_DROP = 2,	   /* reason is set */
	NAT_HANDOVER = 3,  /* another worker's: owner is set, and rule_id where that one is to
			    * translate the source only (else 0). From nat_miss() */
};

/* Why lib/nat refuses a packet: name, meaning. Names are the counters' names. */
#define NAT_REASONS(X)                                                                             \
	X(nat_no_session, "TCP segment other than SYN without a session")                          \
	X(nat_no_mapping, "to an external address, but no session, mapping or rule takes it")      \
	X(nat_filtered, "inbound packet refused by the filtering behaviour")                       \
	X(nat_sessions_full, "session table full")                                                 \
	X(nat_mappings_full, "mapping table full")                                                 \
	X(nat_pool_exhausted, "no free external port or identifier")                               \
	X(nat_no_address, "pool or interface has no external address, or too many are in use")     \
	X(nat_protocol_in_use, "protocol without ports already used by another inside host")       \
	X(nat_fragment, "fragment that would need translation")                                    \
	X(nat_icmp_bad_checksum, "ICMP error with a bad ICMP checksum (RFC 5508 REQ-3)")           \
	X(nat_icmp_bad_quote, "ICMP error with a malformed or damaged quoted header")              \
	X(nat_icmp_no_session, "ICMP error that matches no session")                               \
	X(nat_icmp_unknown, "ICMP type that can't be translated")                                  \
	X(nat_bad_l4, "transport header malformed")                                                \
	X(nat_no_route, "no route to the translated destination")                                  \
	X(nat_conflict, "the translated addresses and ports are those of another session")

enum nat_reason {
	NAT_REASON_NONE = 0,
#define X(name, text) NAT_R_##name,
	NAT_REASONS(X)
#undef X
		NAT_REASON_COUNT
};

const char *nat_reason_name(enum nat_reason r);
const char *nat_reason_text(enum nat_reason r);

/* One packet. The caller (lib/fwd's parser) fills the first part, and has proven that the bytes
 * [ip, l4 + l4_avail) are contiguous, writable and inside the datagram. */
struct nat_pkt {
	struct nat_key
		key;	 /* of the packet as received; for ICMP errors src/dst are the outer ones */
	uint8_t *ip;	 /* IPv4 header */
	uint8_t *l4;	 /* transport header */
	uint16_t l4_len; /* bytes from l4 to the end of the datagram (IP total length - IHL) */
	uint16_t l4_avail; /* contiguous bytes at l4: min(l4_len, what the segment holds) */
	uint16_t iface;	   /* ingress interface */
	uint8_t flags;	   /* enum nat_pkt_flags */
	uint8_t tcp_flags; /* TCP: byte 13 of the header; else 0 */
	/* set by lib/nat */
	uint8_t verdict;  /* enum nat_verdict */
	uint8_t reason;	  /* enum nat_reason, with NAT_DROP */
	uint8_t dir;	  /* 0: the session's original direction, 1: reply */
	uint8_t owner;	  /* worker, with NAT_HANDOVER */
	uint32_t session; /* index, or NAT_NONE */
	uint32_t hash;
	uint32_t new_src_be, new_dst_be; /* addresses after translation (or as received) */
	uint32_t rule_id;		 /* with NAT_PKT_SOURCE, NAT_HANDOVER */
	uint16_t hop; /* with NAT_TRANSLATE from nat_lookup_burst(): what nat_hop_keep() kept, or 0
		       */
};

/* ---- configuration snapshot ------------------------------------------------------------------ */

enum nat_rule_type {
	NAT_RULE_EXEMPT, /* evaluated in this order of types; within a type in order of id */
	NAT_RULE_STATIC,
	NAT_RULE_DNAT,
	NAT_RULE_SNAT,
	NAT_RULE_MASQUERADE,
};

struct nat_prefix {
	uint32_t addr_be; /* host bits zero */
	uint8_t len;	  /* 0..32; {0, 0} matches everything */
};

/* One rule, as configured. Fields that a type does not use are zero. */
struct nat_rule {
	uint32_t id; /* never 0, kept for the life of the rule, also over a reload */
	enum nat_rule_type type;
	char name[NAT_NAME_LEN];
	uint16_t iface; /* snat, masquerade: egress. dnat: ingress (others hairpin). exempt, static:
			 * outside interface. NAT_IFACE_ANY: any (not masquerade) */
	uint8_t protocol;	  /* 0: any. With dport: tcp or udp */
	struct nat_prefix source; /* snat, masquerade, exempt: source. static: unused */
	struct nat_prefix
		destination; /* snat, masquerade, exempt: destination; dnat: external address /32 */
	uint16_t dport_lo, dport_hi; /* dnat: external ports, host order, 0 = all; also exempt */
	uint32_t to_be;		     /* dnat: internal address */
	uint16_t to_port;	     /* dnat: first internal port, host order, 0 = keep */
	struct nat_prefix external, internal; /* static: same length */
	uint32_t pool;			      /* snat: index into nat_conf.pools */
};

struct nat_range {
	uint32_t first_be, last_be; /* inclusive */
};

struct nat_pool {
	uint32_t id;
	char name[NAT_NAME_LEN];
	const struct nat_range *ranges;
	unsigned n_ranges;
	uint16_t port_lo,
		port_hi; /* host order, inclusive; 0,0: the default 1-65535, and then ICMP
			  * identifiers are not limited at all; else they are limited alike */
};

/* An address of a router's interface: what masquerade translates to (the first one listed of an
 * interface is used). */
struct nat_iface_addr {
	uint16_t iface;
	uint32_t addr_be;
};

/* A transport port that the router or its host keeps for itself on an address: never allocated. */
struct nat_reserved {
	uint32_t addr_be;
	uint8_t protocol;
	uint16_t port; /* host order */
};

enum nat_behaviour { /* RFC 4787 words, for mapping and for filtering */
		     NAT_ENDPOINT_INDEPENDENT,
		     NAT_ADDRESS_DEPENDENT,
		     NAT_ADDRESS_AND_PORT_DEPENDENT,
};

/* Idle timeouts in seconds. */
#define NAT_TIMEOUTS(X)                                                                            \
	X(udp, 300, 1, 86400, "UDP mapping after the last outbound packet")                        \
	X(tcp_established, 7440, 1, 604800, "TCP session with both sides open")                    \
	X(tcp_transitory, 240, 1, 86400, "TCP session opening or closing")                         \
	X(icmp, 60, 1, 86400, "ICMP query")                                                        \
	X(other, 300, 1, 86400, "protocols without ports")                                         \
	X(port_hold, 120, 0, 3600, "external port kept for its host after its last session")

enum nat_timeout {
#define X(name, def, min, max, text) NAT_TIMEOUT_##name,
	NAT_TIMEOUTS(X)
#undef X
		NAT_TIMEOUT_COUNT
};

struct nat_timeout_info {
	const char *name; /* with '-' for '_' */
	uint32_t def_s, min_s, max_s;
	const char *text;
};
extern const struct nat_timeout_info nat_timeout_info[NAT_TIMEOUT_COUNT];

/* The whole configuration as the control side knows it. Plain data; not kept by nat_config_build.
 */
struct nat_conf {
	const struct nat_rule *rules;
	unsigned n_rules;
	const struct nat_pool *pools;
	unsigned n_pools;
	const struct nat_iface_addr *addrs;
	unsigned n_addrs;
	const struct nat_reserved *reserved;
	unsigned n_reserved;
	enum nat_behaviour mapping, filtering;
	bool port_preservation; /* M4: default on; off: any port of the range, at random */
	bool hairpin;		/* default on */
	bool inbound_refresh;	/* M7: default off */
	bool tcp_loose;		/* T7: true lets any TCP segment open a session */
	bool refuse_icmp;	/* C4: refusals are announced by ICMP 3/13 (lib/fwd does it) */
	uint32_t timeout_s[NAT_TIMEOUT_COUNT];
};

void nat_conf_defaults(struct nat_conf *conf);

struct nat_config;

/* Compiles a snapshot. NULL with errno set and a message in err (what is wrong and with which rule)
 * when conf contradicts itself (overlapping dnat, bad ranges, unknown pool, ...). Control thread.
 */
struct nat_config *nat_config_build(const struct nat_conf *conf, char *err, size_t err_len);
void nat_config_free(struct nat_config *cfg);

/* Has it any rule? (without one, the NAT stage is skipped while no session lives) */
bool nat_config_active(const struct nat_config *cfg);
bool nat_config_refuse_icmp(const struct nat_config *cfg);

/* Is addr_be an external address, so that the router answers ARP for it on iface?
 * 0: no. 1: yes, by a rule that names iface. 2: yes, by a rule that names no interface (the caller
 * answers where the address lies in a connected prefix). */
int nat_config_external(const struct nat_config *cfg, uint32_t addr_be, uint16_t iface);

/* Calls fn for each external address range and the interface of its rule (NAT_IFACE_ANY if none).
 */
void nat_config_externals(const struct nat_config *cfg,
			  void (*fn)(void *arg, struct nat_range range, uint16_t iface), void *arg);

/* Could a packet with this tuple need translation? False is certain, true is a guess; costs no
 * lookup of sessions. For a worker that does not own translation. egress: by the received
 * destination. */
bool nat_config_candidate(const struct nat_config *cfg, const struct nat_key *key, uint16_t egress);

/* ---- a worker's state ------------------------------------------------------------------------ */

/* What lib/nat needs from below it. */
struct nat_ops {
	void *ctx;
	/* Interface by which dst_be leaves, or -1 without a route; NAT_EGRESS_LOCAL for own
	 * addresses. */
	int (*egress)(void *ctx, uint32_t dst_be, uint16_t table);
	/* Zeroed memory, 64-byte aligned (huge pages where there are any); NULL: calloc-like
	 * default. */
	void *(*alloc)(void *ctx, size_t size);
	void (*free)(void *ctx, void *p);
};
#define NAT_EGRESS_LOCAL (-2)

struct nat_limits {
	uint32_t max_sessions; /* default 1,000,000 */
	uint32_t max_mappings; /* 0: as many as sessions */
	uint32_t max_external; /* external addresses with live ports (25 KiB each); 0: one for each
				* 8192 sessions, but 8 to 1024 */
	uint64_t seed;	       /* hashing and port choice (M12): from getrandom() */
	struct nat_shared *shared; /* of this worker and others; NULL: the only worker, ... */
	unsigned worker;	   /* ... else its number among them */
};

/* What n_workers share: takes max_sessions (of all together), max_external and seed. With more than
 * one worker it holds a byte for each port of an external address: 192 KiB. Control thread. NULL:
 * no memory. */
struct nat_shared;
struct nat_shared *nat_shared_create(const struct nat_limits *limits, const struct nat_ops *ops,
				     unsigned n_workers);
void nat_shared_destroy(struct nat_shared *shared); /* after its workers */
size_t nat_shared_memory(const struct nat_shared *shared);

/* Inside hosts, and external ports, fall into shares, as in a NIC's RSS table. A share is the
 * Toeplitz hash of a packet (IPv4 addresses, then the ports of TCP and UDP) modulo the number of
 * shares, with a key whose zeros leave nothing in these bits but what it is made for: */
enum nat_rss {
	NAT_RSS_SOURCE,		 /* the source address: packets from inside */
	NAT_RSS_DESTINATION_PORT /* the destination port: packets from outside */
};
#define NAT_RSS_KEY    40 /* bytes */
#define NAT_SHARES_MAX 128
const uint8_t *nat_shared_rss_key(const struct nat_shared *shared, enum nat_rss by);
/* 64, as many as the smallest tables of NICs have entries, where the workers share that out evenly
 * enough; else 128. */
unsigned nat_shared_shares(const struct nat_shared *shared);

/* The worker whose hosts, or preferred ports, are in a share. */
unsigned nat_shared_share_owner(const struct nat_shared *shared, unsigned share);

/* On: a port that is not preserved is one that NAT_RSS_DESTINATION_PORT leads to the host's worker
 * by, as long as one of as good a range and parity is free. At first off. Control thread, at any
 * time. */
void nat_shared_prefer_ports(struct nat_shared *shared, bool on);

/* Which worker has what is needed to translate each of a burst of n (<= 64) packets, looked at by
 * worker self? Its number; self also where none has anything. NAT_OWNER_IF_OUT added: only if the
 * packet needs translation as it leaves, which nat_config_candidate() says; else it is self's to
 * forward. Any thread; reads only. */
#define NAT_OWNER_IF_OUT 0x80
void nat_owner_burst(const struct nat_shared *shared, const struct nat_config *cfg,
		     struct nat_pkt *const *pkts, unsigned n, unsigned self, uint8_t *owner);

struct nat_worker;

struct nat_worker *nat_worker_create(const struct nat_limits *limits, const struct nat_ops *ops);
void nat_worker_destroy(struct nat_worker *nat);
size_t nat_worker_memory(const struct nat_worker *nat); /* bytes taken */

/* Takes up a snapshot. Sessions of rules that are gone (or whose values changed) are removed in
 * slices by nat_worker_tick(); until nat_worker_swept() they no longer match. now_ms: monotonic. */
void nat_worker_config(struct nat_worker *nat, const struct nat_config *cfg, uint64_t now_ms);
bool nat_worker_swept(const struct nat_worker *nat);
uint32_t nat_worker_sessions(const struct nat_worker *nat);

/* Looks a burst of n (<= 64) packets up: sets verdict (NAT_TRANSLATE on a hit, NAT_PASS otherwise),
 * session, dir, new_src_be, new_dst_be. Changes no state and no packet. */
void nat_lookup_burst(struct nat_worker *nat, struct nat_pkt *const *pkts, unsigned n);

/* A session remembers, for each direction, one number of its caller's: where new_dst_be is routed
 * to. nat_hop_keep() keeps it (not 0) for the session and direction of a packet that was found;
 * nat_hop_forget() forgets what all sessions keep, at once: to be called when routes have changed,
 * before the next look-up. */
void nat_hop_keep(struct nat_worker *nat, const struct nat_pkt *pkt, uint16_t hop);
void nat_hop_forget(struct nat_worker *nat);

/* The slow path, for a packet that nat_lookup_burst did not find (never twice for one packet):
 * rules, mapping, filter, new session. egress: interface that the received destination routes to,
 * -1 without a route, NAT_EGRESS_LOCAL. Returns the verdict. */
enum nat_verdict nat_miss(struct nat_worker *nat, struct nat_pkt *pkt, int egress, uint64_t now_ms);

/* Marks a packet that another worker passed on for its half: NAT_PKT_SOURCE with the rule's id, or
 * NAT_PKT_DESTINATION. Before nat_lookup_burst(). */
void nat_half(struct nat_pkt *pkt, enum nat_pkt_flags half, uint32_t rule_id);

/* Applies the translation of a NAT_TRANSLATE packet and decrements the TTL (which is > 1; not with
 * NAT_PKT_SOURCE, since another worker goes on) in one update of the header checksum; updates
 * timers and TCP state; ICMP errors: outer and quoted headers. May turn the verdict into NAT_DROP
 * (a bad ICMP error). */
enum nat_verdict nat_rewrite(struct nat_worker *nat, struct nat_pkt *pkt, uint64_t now_ms);

/* TTL decrement alone, with its checksum (K4): for packets that are not translated. */
void nat_ttl_decrement(uint8_t *ip);

/* Housekeeping, to be called when the clock goes on: expires what is due and sweeps, looking at no
 * more than budget records. True: more is to be done now, so it is to be called again soon. */
bool nat_worker_tick(struct nat_worker *nat, uint64_t now_ms, unsigned budget);

/* ---- sessions, for people -------------------------------------------------------------------- */

struct nat_filter {		  /* zero = no condition */
	struct nat_prefix source; /* inside or original source; len 0 = any */
	struct nat_prefix destination;
	uint8_t protocol;
	uint16_t port; /* host order: any of the four ports or the identifier */
	uint32_t rule_id;
};

enum nat_tcp_state {
	NAT_TCP_NONE,
	NAT_TCP_SYN_SENT,
	NAT_TCP_SYN_RECEIVED,
	NAT_TCP_ESTABLISHED,
	NAT_TCP_CLOSING,
	NAT_TCP_CLOSED,
	NAT_TCP_RESET
};
const char *nat_tcp_state_name(enum nat_tcp_state s);

struct nat_session_info {
	uint32_t index;
	struct nat_key orig;  /* first packet's direction, as received */
	struct nat_key reply; /* the other direction, as received */
	uint32_t rule_id;     /* of the source translation, else of the destination translation */
	enum nat_tcp_state tcp_state;
	uint64_t age_ms, idle_ms; /* since the second of its creation, since the last packet that
				   * refreshed it */
	uint32_t timeout_s;	  /* idle time after which it goes */
};

/* Scans at most budget records from *cursor (start with 0), fills up to max matching sessions,
 * returns how many; *cursor becomes NAT_NONE at the end. */
unsigned nat_session_list(struct nat_worker *nat, const struct nat_filter *f, uint64_t now_ms,
			  uint32_t *cursor, unsigned budget, struct nat_session_info *out,
			  unsigned max);
/* As above but removes matching sessions, freeing external ports at once (T5); returns how many. */
unsigned nat_session_clear(struct nat_worker *nat, const struct nat_filter *f, uint32_t *cursor,
			   unsigned budget);

struct nat_stats {
	uint32_t sessions, max_sessions, mappings, max_mappings, external_addresses;
	uint64_t sessions_created, sessions_expired, sessions_cleared;
	uint64_t memory_bytes; /* without what is shared with other workers */
};
void nat_worker_stats(const struct nat_worker *nat, struct nat_stats *out);

#endif /* TURNPIKE_NAT_H */
