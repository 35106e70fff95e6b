/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dataplane's shared shapes: what control publishes and workers read, and what workers own.
 *
 * Control (one thread) builds a struct fwd_snapshot, swaps the pointer, waits for every worker's
 * quiescent state (rte_rcu_qsbr) and frees the old one. A worker loads the pointer once for each
 * turn of its loop. Next hops live in an array of their own, by index; of a published entry only
 * adj changes, by one 64-bit store.
 */
#ifndef FWD_DP_H
#define FWD_DP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_fib.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

#include "fwd.h"

#define FWD_BURST      64
#define FWD_MAX_NH     32768 /* next hops: neighbours, connected networks, groups */
#define FWD_MAX_PORTS  RTE_MAX_ETHPORTS
#define FWD_MAX_QUEUES 16 /* rx or tx queues of a port */
#define FWD_WORKER_RXQ 64 /* rx queues polled by one worker */
#define FWD_RING_SIZE  4096
#define IP4_MULTICAST  0xe0000000u /* 224.0.0.0 and up, host order: no unicast addresses */
#define IP4_RESERVED   0xf0000000u /* 240.0.0.0 */
#define FWD_MBUF_ROOM  (2048 + RTE_PKTMBUF_HEADROOM)

/* ---- next hops ------------------------------------------------------------------------------- */

enum nh_type {
	NH_NONE = 0,  /* index 0 of the array, the FIB's default: no route */
	NH_LOCAL,     /* an address of the router itself */
	NH_BROADCAST, /* a connected network's broadcast or network address */
	NH_GLEAN, /* a connected network: the neighbour is the destination itself, not yet known */
	NH_NEIGHBOUR, /* a neighbour: gateway of routes, or host on a connected network */
	NH_GROUP,     /* ECMP: members, chosen by flow hash */
};

/* An adjacency in one word: bytes 0-5 of its memory are the MAC address, byte 6 is 1 when it is
 * usable. 0: unresolved, packets are held by control. */
union nh_adj {
	uint64_t word;
	struct {
		uint8_t mac[6];
		uint8_t usable;
		uint8_t pad;
	};
};

struct fwd_nexthop {
	_Atomic uint64_t adj; /* union nh_adj; NH_NEIGHBOUR */
	rte_be32_t addr_be;   /* NH_NEIGHBOUR: its address. NH_LOCAL: the own address */
	uint16_t iface;	      /* all but NH_NONE and NH_GROUP */
	uint8_t type;	      /* enum nh_type; fixed once published */
	uint8_t n_members;
	uint16_t members[FWD_MAX_VIA]; /* NH_GROUP: indexes of NH_NEIGHBOUR entries */
} __rte_cache_aligned;

/* ---- the snapshot ---------------------------------------------------------------------------- */

enum iface_flags {
	IFACE_PRESENT = 1 << 0,
	IFACE_COMPLETE_CSUM = 1 << 1, /* virtual: complete unfinished L4 checksums on the way in */
	IFACE_KERNEL_ARP =
		1 << 2,	    /* ARP frames do not come by the port (XDP leaves them to the kernel) */
	IFACE_GRO = 1 << 3, /* TCP segments that come in are merged (gro.h) ... */
	IFACE_GRO_ALWAYS =
		1 << 4, /* ... after summing them here, whatever the device says of them */
	IFACE_GRO_COUNTED =
		1 << 5, /* ... and those that do not merge are validated and counted as well */
	IFACE_GRO_UDP = 1 << 6, /* with IFACE_GRO: UDP datagrams as well */
};

struct dp_addr {
	rte_be32_t addr_be, mask_be;
	uint8_t len;
};

/* An interface as workers see it. */
struct dp_iface {
	uint16_t port;	 /* DPDK port id */
	uint16_t vlan;	 /* 802.1Q id, 0: untagged */
	uint16_t mtu;	 /* bytes of IP datagram */
	uint16_t gro_us; /* with IFACE_GRO: microseconds that segments may wait */
	uint8_t flags;
	uint8_t n_addrs;
	struct rte_ether_addr mac;
	struct dp_addr addrs[FWD_IFACE_ADDRS];
};

/* A port as workers see it. */
struct dp_port {
	uint16_t native_iface; /* untagged frames; FWD_IFACE_NONE: port unknown */
	bool multi_seg_tx;     /* the device sends chains; else they are made linear */
	bool tso_ip_csum;      /* ... with the IPv4 header checksums of what it makes */
	uint16_t
		tso_segs; /* the device cuts large TCP packets, of at most so many buffers; 0: no */
	bool gro;	  /* one of its interfaces has IFACE_GRO */
	const uint16_t *
		vlan_iface; /* 4096 entries by VLAN id (FWD_IFACE_NONE: none); NULL: no tags here */
	uint16_t n_txq;
};

struct dp_rxq {
	uint16_t port, queue;
};

struct dp_worker_conf {
	unsigned n_rxq;
	struct dp_rxq rxq[FWD_WORKER_RXQ];
	/* tx queue of this worker on each port, UINT16_MAX: none, frames go to txq_owner's ring */
	uint16_t txq[FWD_MAX_PORTS];
};

struct fwd_snapshot {
	struct rte_fib *fib;	/* values: indexes of next hops */
	uint64_t serial;	/* no two snapshots have the same */
	struct nat_config *nat; /* NULL: none */
	bool gro_waits;		/* one of the interfaces has a gro_us */
	struct dp_iface ifaces[FWD_MAX_IFACES];
	struct dp_port ports[FWD_MAX_PORTS];
	uint8_t txq_owner[FWD_MAX_PORTS]; /* worker that sends for those without a queue of their
					     own */
	unsigned n_workers;
	struct dp_worker_conf workers[FWD_MAX_WORKERS];
};

/* ---- what travels with a packet buffer between threads --------------------------------------- */

enum punt_kind {
	PUNT_ARP,  /* an ARP frame, at the Ethernet header */
	PUNT_HOLD, /* an IPv4 datagram ready to leave (translated, TTL done), at the IPv4 header,
		    * whose next hop nh is unresolved or a glean */
};

/* On a hand-over ring: what is left to do. */
enum handover_kind {
	HANDOVER_ANY,	      /* nobody has asked yet whose it is */
	HANDOVER_OWNED,	      /* it is this worker's */
	HANDOVER_SOURCE,      /* its source is, and its destination another one's */
	HANDOVER_DESTINATION, /* its destination is; its source is translated */
};

/* In the private area of each mbuf of our pool. */
struct fwd_mbuf_priv {
	uint16_t iface;	   /* ingress interface; on an inject ring: egress interface */
	uint8_t kind;	   /* enum punt_kind, or enum handover_kind */
	uint8_t worker;	   /* that handed it to control */
	uint32_t nh;	   /* PUNT_HOLD: index of the next hop */
	rte_be32_t dst_be; /* PUNT_HOLD: destination, for NH_GLEAN */
	uint32_t rule_id;  /* HANDOVER_SOURCE: the rule that translates it */
};

static inline struct fwd_mbuf_priv *fwd_priv(struct rte_mbuf *m)
{
	return (struct fwd_mbuf_priv *)rte_mbuf_to_priv(m);
}

/* ---- counters: one writer each --------------------------------------------------------------- */

struct dp_iface_counters {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	uint64_t bad_checksums; /* TCP segments whose checksum was looked at and is wrong; they went
				   on */
	uint64_t drops[FWD_DROP_COUNT];
} __rte_cache_aligned;

struct dp_counters {
	struct dp_iface_counters iface[FWD_MAX_IFACES + 1]; /* the last one: no interface */
	uint64_t events[FWD_EVENT_COUNT];
};

/* ---- the one dataplane ----------------------------------------------------------------------- */

/* A request that control runs on a worker's thread, between two bursts (worker_call()). */
struct worker_request {
	void (*fn)(void *arg, unsigned worker);
	void *arg;
	_Atomic bool done;
};

struct worker; /* worker.c */

struct fwd_dp {
	_Atomic(struct fwd_snapshot *) snapshot; /* written by control */
	struct rte_rcu_qsbr *qsbr;		 /* thread ids: worker indexes */
	struct fwd_nexthop *nexthops;		 /* FWD_MAX_NH */
	struct rte_mempool *pool;
	struct rte_ring *punt; /* many producers, control consumes */
	int punt_event_fd;     /* eventfd: the punt ring has something */
	_Atomic bool punt_signalled;
	unsigned n_workers;
	struct nat_shared *nat_shared; /* what workers that translate share; NULL: one does */
	struct dp_counters
		*counters[FWD_MAX_WORKERS + 1]; /* the last one in use, [n_workers]: control's */
	struct worker *workers[FWD_MAX_WORKERS];
	struct rte_ring *inject[FWD_MAX_WORKERS];   /* frames ready to send, complete with Ethernet
						     * header; priv->iface: egress; many producers
						     * (control, workers) */
	struct rte_ring *handover[FWD_MAX_WORKERS]; /* datagrams for their owner to translate; many
						     * producers (workers, control) */
	void (*log)(enum fwd_log_level level, const char *msg);
	struct fwd_params params;
};

extern struct fwd_dp dp;

static inline void dp_drop_count(struct dp_counters *c, uint16_t iface, unsigned drop)
{
	c->iface[iface < FWD_MAX_IFACES ? iface : FWD_MAX_IFACES].drops[drop]++;
}

void dp_log(enum fwd_log_level level, const char *fmt, ...) __rte_format_printf(2, 3);
int dp_err(struct fwd_err *err, int rc, const char *fmt, ...)
	__rte_format_printf(3, 4); /* sets msg, returns rc */

#endif /* FWD_DP_H */
