/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding: ports, workers, parsing, routes, neighbours, ICMP, XDP steering.
 *
 * Everything here is called by the control thread (the EAL main thread), and by nobody else. Edits
 * are staged: workers see them, all at once, when fwd_commit() publishes the next snapshot.
 * Addresses are in network order
 * (_be), lengths and VLAN ids in host order. Functions return 0 or a negative errno value, with a
 * message for people in err when it is not NULL.
 */
#ifndef TURNPIKE_FWD_H
#define TURNPIKE_FWD_H

#include <stdbool.h>
#include <stdint.h>

#include "nat.h"

#define FWD_NAME_LEN	16 /* interface names, with the final NUL */
#define FWD_DEVARGS_LEN 256
#define FWD_MAX_IFACES	256
#define FWD_IFACE_ADDRS 16 /* addresses of one interface */
#define FWD_MAX_VIA	16 /* next hops of one route (ECMP) */
#define FWD_MAX_WORKERS 64
#define FWD_IFACE_NONE	UINT16_MAX
#define FWD_WORKER_ALL	(-1)
#define FWD_MTU_MIN	68 /* RFC 791 */
#define FWD_MTU_MAX	9600

struct fwd_err {
	char msg[256];
};

/* ---- drops ----------------------------------------------------------------------------------- */

/* Why forwarding drops a packet, in the order in which a packet meets the checks. The names are the
 * counters' names; lib/nat's reasons (NAT_REASONS) follow in the same number space. */
#define FWD_DROPS(X)                                                                               \
	X(eth_runt, "frame shorter than an Ethernet header")                                       \
	X(eth_not_for_us, "unicast frame to another station's MAC address")                        \
	X(eth_unknown_type, "EtherType that the router does not handle")                           \
	X(vlan_unknown, "802.1Q tag of no interface")                                              \
	X(arp_malformed, "ARP that is too short or not Ethernet/IPv4")                             \
	X(ip4_truncated, "fewer bytes than an IPv4 header")                                        \
	X(ip4_bad_version, "IP version is not 4")                                                  \
	X(ip4_bad_header_length, "header length below 20 bytes or beyond the datagram")            \
	X(ip4_bad_total_length, "total length below the header or beyond the frame")               \
	X(ip4_bad_checksum, "IPv4 header checksum is wrong")                                       \
	X(ip4_bad_source, "source is loopback, multicast, broadcast, this network or reserved")    \
	X(ip4_own_source, "source is one of the router's own addresses")                           \
	X(ip4_bad_destination, "destination is loopback, this network or reserved")                \
	X(ip4_broadcast, "broadcast: not forwarded")                                               \
	X(ip4_multicast, "multicast: not forwarded")                                               \
	X(eth_broadcast, "unicast datagram in a broadcast or multicast frame")                     \
	X(l4_truncated, "transport header is cut short")                                           \
	X(udp_bad_length, "UDP length below 8 or beyond the datagram")                             \
	X(tcp_bad_offset, "TCP data offset below 5 or beyond the datagram")                        \
	X(tcp_bad_segment_size, "TCP that a guest wants cut to segments below 32 bytes")           \
	X(icmp_bad_checksum, "ICMP to the router with a wrong checksum")                           \
	X(local_unhandled, "to the router itself, and of no use to it")                            \
	X(local_unreachable, "to the router itself, answered by ICMP unreachable")                 \
	X(ttl_expired, "TTL ran out, answered by ICMP time exceeded")                              \
	X(no_route, "no route, answered by ICMP net unreachable")                                  \
	X(host_unreachable, "next hop does not answer ARP, answered by ICMP host unreachable")     \
	X(mtu_exceeded,                                                                            \
	  "larger than the egress MTU with DF, answered by ICMP fragmentation needed")             \
	X(fragment_failed, "could not be fragmented")                                              \
	X(neighbour_queue_full, "too many packets wait for this neighbour")                        \
	X(neighbour_table_full, "too many neighbours")                                             \
	X(neighbour_removed, "waited for a neighbour that was removed")                            \
	X(punt_full, "slow-path ring to the control thread is full")                               \
	X(handover_full, "ring to another worker is full")                                         \
	X(iface_gone, "interface was removed while the packet was held")                           \
	X(not_linear, "headers are spread over segments and no buffer could hold them")            \
	X(no_buffer, "no packet buffer free")                                                      \
	X(tx_full, "transmit queue is full")                                                       \
	X(tx_refused, "the device's driver refuses the packet")

enum fwd_drop {
#define X(name, text) FWD_D_##name,
	FWD_DROPS(X)
#undef X
		FWD_D_NAT, /* FWD_D_NAT + nat_reason - 1 */
	FWD_DROP_COUNT = FWD_D_NAT + NAT_REASON_COUNT - 1
};

const char *fwd_drop_name(unsigned drop);
const char *fwd_drop_text(unsigned drop);

/* Events that are worth a counter and are no drop. */
#define FWD_EVENTS(X)                                                                              \
	X(arp_requests_in, "ARP requests received")                                                \
	X(arp_replies_in, "ARP replies received")                                                  \
	X(arp_out, "ARP packets sent")                                                             \
	X(icmp_echo_replies, "echo requests to the router answered")                               \
	X(icmp_errors_out, "ICMP errors sent")                                                     \
	X(icmp_errors_limited, "ICMP errors not sent for the rate limit")                          \
	X(fragments_out, "fragments made")                                                         \
	X(checksums_completed, "unfinished checksums of virtual ports completed")                  \
	X(handovers, "packets handed to another worker")                                           \
	X(punts, "packets handed to the control thread")                                           \
	X(gro_merged, "packets made of several TCP segments or UDP datagrams")                     \
	X(gro_held, "segments that waited for those that follow them")                             \
	X(gro_payload_bytes_summed, "payload bytes summed to validate segments")                   \
	X(gro_bad_checksum, "segments with a wrong checksum, not merged, passed on")               \
	X(cut_segments, "segments that merged packets were cut back to")                           \
	X(tso_packets, "merged packets, and large ones of guests, left to the device to cut")                                 \
	X(gso_segments, "segments that large packets of guests (TSO) were cut to")

enum fwd_event {
#define X(name, text) FWD_E_##name,
	FWD_EVENTS(X)
#undef X
		FWD_EVENT_COUNT
};

const char *fwd_event_name(unsigned event);
const char *fwd_event_text(unsigned event);

/* ---- life ------------------------------------------------------------------------------------ */

enum fwd_log_level { FWD_LOG_ERROR = 3, FWD_LOG_WARNING = 4, FWD_LOG_INFO = 6, FWD_LOG_DEBUG = 7 };

struct fwd_params {
	uint32_t max_sessions;	 /* NAT sessions; 0: 1,000,000 */
	uint32_t max_routes;	 /* 0: 1,048,576 */
	uint32_t max_neighbours; /* 0: 16,384 */
	uint32_t mbufs;		 /* packet buffers; 0: 32,768 */
	void (*log)(enum fwd_log_level level,
		    const char *msg); /* a line without newline; control thread */
};

/* To be called before rte_eal_init(), so that it also runs when the daemon is killed: starts the
 * process that detaches XDP programs once this process is gone. */
int fwd_guard_start(struct fwd_err *err);

/* After rte_eal_init(): takes all memory, launches a worker on each worker lcore. */
int fwd_start(const struct fwd_params *params, struct fwd_err *err);
/* Stops workers, closes and detaches all ports, frees everything. */
void fwd_stop(void);

/* The control thread's share: call fwd_poll() when fwd_poll_fd() is readable, and at the latest
 * after the number of milliseconds that the last call returned. Handles ARP, held packets,
 * neighbour timers. */
int fwd_poll_fd(void);
int fwd_poll(void);

/* Publishes everything staged to the workers and returns when all of them use it. */
int fwd_commit(struct fwd_err *err);

/* ---- interfaces ------------------------------------------------------------------------------ */

/* Receive coalescing: TCP segments, and UDP datagrams where that is wanted, that come in by the
 * interface are merged for the way through the router. */
enum fwd_gro_validate {
	FWD_GRO_OFFLOAD, /* by the device's word where it gives one, else by summing */
	FWD_GRO_ALWAYS,	 /* by summing */
	FWD_GRO_COUNTED, /* as offload, and segments that do not merge as well, so that all wrong
			    ones count */
};

struct fwd_gro {
	bool on;
	bool udp; /* with on: UDP datagrams as well */
	enum fwd_gro_validate validate;
	uint16_t timeout_us; /* how long segments may wait for those that follow; 0: not at all */
};

/* How a device shares out what it receives to several queues. */
enum fwd_rss {
	FWD_RSS_FLOW,		 /* by addresses and ports, as it likes */
	FWD_RSS_SOURCE,		 /* by the source, to the worker that owns that host */
	FWD_RSS_DESTINATION_PORT /* by the destination port, to the worker that prefers it for
				  * its hosts, wherever a port isn't preserved */
};

struct fwd_iface_conf {
	char name[FWD_NAME_LEN];
	char devargs[FWD_DEVARGS_LEN]; /* DPDK device; empty for a VLAN interface */
	char parent[FWD_NAME_LEN];     /* VLAN interface: of this interface ... */
	uint16_t vlan;		       /* ... with this id 1..4094; else 0 */
	uint16_t mtu;		       /* 0: the device's, 1500 where it has none */
	uint16_t rxqs;		       /* 0: 1 */
	enum fwd_rss rss;	       /* not by flow: 2 queues or more */
	struct fwd_gro gro;
};

struct fwd_pass {	  /* left to the host's kernel */
	uint8_t protocol; /* tcp or udp */
	uint16_t port;	  /* host order */
};
#define FWD_IFACE_PASS 64

struct fwd_iface_info {
	uint16_t id;
	struct fwd_iface_conf conf;   /* with mtu and rxqs as they are now */
	uint16_t conf_mtu, conf_rxqs; /* as configured, 0 where left to the default */
	uint16_t port_id;	      /* DPDK's */
	uint8_t mac[6];
	char driver[32];
	char netdev[FWD_NAME_LEN]; /* kernel interface under it, or empty */
	bool xdp;		   /* our XDP program steers it */
	bool completes_checksums;  /* unfinished checksums are looked for and completed (veth, tap,
				      virtio) */
	unsigned n_pass;
	struct fwd_pass pass[FWD_IFACE_PASS];
};

int fwd_iface_add(const struct fwd_iface_conf *conf, struct fwd_err *err);
/* mtu 0: the device's own again, or the parent's. */
int fwd_iface_set_mtu(const char *name, uint16_t mtu, struct fwd_err *err);
int fwd_iface_set_gro(const char *name, struct fwd_gro gro, struct fwd_err *err);
/* Addresses and neighbours go with it; refused (-EBUSY) while a route goes by it or a VLAN
 * interface lies on it. */
int fwd_iface_del(const char *name, struct fwd_err *err);
int fwd_iface_pass(const char *name, struct fwd_pass pass, bool add, struct fwd_err *err);
int fwd_iface_find(const char *name);			      /* id, or -ENOENT */
int fwd_iface_info(uint16_t id, struct fwd_iface_info *info); /* -ENOENT: no such id */
/* Asks the device, or the kernel; fwd_iface_info() asks nobody. *speed_mbps 0: unknown. */
int fwd_iface_link(uint16_t id, bool *up, uint32_t *speed_mbps);

/* ---- addresses ------------------------------------------------------------------------------- */

struct fwd_prefix {
	uint32_t addr_be;
	uint8_t len;
};

struct fwd_address {
	uint16_t iface;
	uint32_t addr_be; /* the router's own address ... */
	uint8_t len;	  /* ... in a connected prefix of this length */
};

/* Sends gratuitous ARP at the next commit. -EEXIST when the same is there already. */
int fwd_address_add(const struct fwd_address *a, struct fwd_err *err);
/* -EBUSY while a route's gateway lies in its prefix and in no other. */
int fwd_address_del(const struct fwd_address *a, struct fwd_err *err);
/* The i-th address in the order of adding; -ENOENT past the end. */
int fwd_address_get(unsigned i, struct fwd_address *a);

/* ---- neighbours ------------------------------------------------------------------------------ */

enum fwd_neigh_state {
	FWD_NEIGH_INCOMPLETE,
	FWD_NEIGH_REACHABLE,
	FWD_NEIGH_PROBE,
	FWD_NEIGH_FAILED,
	FWD_NEIGH_PERMANENT
};
const char *fwd_neigh_state_name(enum fwd_neigh_state s);

struct fwd_neigh_info {
	uint16_t iface;
	uint32_t addr_be;
	uint8_t mac[6]; /* zero while unknown */
	enum fwd_neigh_state state;
	uint64_t age_ms; /* since last confirmed */
	uint32_t queued; /* packets that wait */
};

int fwd_neigh_add(uint16_t iface, uint32_t addr_be, const uint8_t mac[6],
		  struct fwd_err *err); /* permanent */
int fwd_neigh_del(uint16_t iface, uint32_t addr_be, struct fwd_err *err);
unsigned fwd_neigh_flush(uint16_t iface); /* learned ones; how many */
/* Calls fn for each; fn returns false to stop. */
void fwd_neigh_each(bool (*fn)(void *arg, const struct fwd_neigh_info *n), void *arg);

/* ---- routes ---------------------------------------------------------------------------------- */

struct fwd_via {
	uint32_t gw_be; /* gateway in a connected prefix */
	uint16_t iface; /* FWD_IFACE_NONE when adding: found by the gateway's prefix */
};

enum fwd_route_type {
	FWD_ROUTE_STATIC,
	FWD_ROUTE_CONNECTED,
	FWD_ROUTE_LOCAL,
	FWD_ROUTE_BROADCAST,
	FWD_ROUTE_NEIGHBOUR
};
const char *fwd_route_type_name(enum fwd_route_type t);

struct fwd_route {
	struct fwd_prefix prefix;
	enum fwd_route_type type;
	unsigned n_via; /* static: 1..FWD_MAX_VIA; else 0 */
	struct fwd_via via[FWD_MAX_VIA];
	uint16_t iface; /* connected, local, neighbour */
};

/* -EEXIST with the same next hops there already, -EADDRINUSE with others (or a connected prefix),
 * -ENOSPC full. */
int fwd_route_add(const struct fwd_route *r, struct fwd_err *err);
int fwd_route_del(struct fwd_prefix prefix, struct fwd_err *err); /* static ones; -ENOENT */
int fwd_route_get(struct fwd_prefix prefix,
		  struct fwd_route *out); /* exact match, static or connected */
int fwd_route_lookup(uint32_t addr_be, struct fwd_route *out); /* longest match; -ENOENT */
void fwd_route_each(bool (*fn)(void *arg, const struct fwd_route *r),
		    void *arg); /* all types, in prefix order */
uint32_t fwd_route_count(void); /* static ones */
/* There will be so many static routes, and so many /24 networks with prefixes longer than /24 among
 * them: the table is given room for them in one step, where there is memory. */
void fwd_route_expect(uint32_t routes, uint32_t nets);

/* ---- translation ----------------------------------------------------------------------------- */

/* Stages a snapshot, which lib/fwd owns from here on (also when the next commit fails); NULL: no
 * translation. */
void fwd_nat_set(struct nat_config *cfg);
/* Lists and clears, as nat_session_list() and nat_session_clear() do, on the worker's own thread in
 * bounded slices. *cursor starts at 0 and is NAT_NONE at the end. */
unsigned fwd_nat_sessions(const struct nat_filter *f, uint64_t *cursor,
			  struct nat_session_info *out, unsigned max);
unsigned fwd_nat_clear(const struct nat_filter *f);
void fwd_nat_stats(struct nat_stats *out);

/* ---- counters -------------------------------------------------------------------------------- */

struct fwd_iface_stats {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	uint64_t drops;		/* sum over all reasons */
	uint64_t bad_checksums; /* TCP segments found wrong before merging; passed on */
	uint64_t rx_missed, rx_errors, rx_nombuf, tx_errors; /* the device's own */
};

/* iface FWD_IFACE_NONE: all. worker FWD_WORKER_ALL: all, control thread included. Since the last
 * reset. */
void fwd_stats_iface(uint16_t iface, int worker, struct fwd_iface_stats *out);
uint64_t fwd_stats_drop(unsigned drop, uint16_t iface, int worker); /* by ingress interface */
uint64_t fwd_stats_event(unsigned event, int worker);
void fwd_stats_reset(void);

struct fwd_worker_info {
	unsigned lcore;
	int cpu;
	unsigned rx_queues;
	uint32_t sessions; /* NAT sessions that it has */
	uint64_t packets; /* received */
	uint64_t bursts;  /* receive calls that gave packets */
	double busy;	  /* share of time with work since the last call, 0..1 */
};
unsigned fwd_worker_count(void);
int fwd_worker_info(unsigned worker, struct fwd_worker_info *out);

#endif /* TURNPIKE_FWD_H */
