/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the workers of one router share: external addresses with live mappings, which of their ports
 * are taken, and by whom; and which worker an inside host belongs to. All else is a worker's own.
 *
 * Any thread reads without a lock. Workers write in the slow path: ports by compare-and-swap,
 * addresses coming and going under one lock. With a single worker ("alone") plain stores do, and
 * the map of owners is not there.
 */
#ifndef TURNPIKE_NAT_SHARED_H
#define TURNPIKE_NAT_SHARED_H

#include <stdatomic.h>

#include "nat_config.h"
#include "nat_key.h"
#include "nat_ports.h"

/* Owners of an external address: a byte for each port of each space, then one for each protocol
 * without ports. 0: free, else the worker's number plus one. */
#define NAT_OWNERS (NAT_SPACES * 65536 + 256)

struct nat_extern {
	_Atomic uint32_t addr_be;    /* 0: the record is free */
	_Atomic uint32_t n_mappings; /* 0: the address may go */
	uint32_t next_free;
};

struct nat_shared {
	struct nat_ops ops;
	unsigned n_workers;
	bool alone; /* one worker */
	struct nat_seed seed;
	uint8_t rss_key[2][NAT_RSS_KEY]; /* by enum nat_rss */
	uint8_t host_share[4][256];	 /* of an address, by its bytes */
	unsigned share_bits;
	uint8_t share_owner[NAT_SHARES_MAX]; /* worker */
	_Atomic bool prefer_ports;	     /* those of one's own shares */

	struct nat_extern *externs;
	struct nat_ports *ports; /* NAT_SPACES for each external address */
	_Atomic uint8_t *owners; /* NAT_OWNERS for each external address; NULL when alone */
	_Atomic uint32_t *index; /* by address, open addressing: record + 1; 0: never used */
	uint32_t index_mask;
	uint32_t max_externs, extern_free;
	_Atomic uint32_t n_externs, externs_high;
	const struct nat_config *_Atomic cfg; /* the newest that a worker has taken up */
	_Atomic bool changing;		      /* ports are being held and freed for cfg */
	atomic_flag lock;		      /* externs coming and going, cfg */

	size_t memory;
	void *blocks[8]; /* what was taken from ops.alloc */
	unsigned n_blocks;
};

/* Default functions where none are given. */
void nat_ops_complete(struct nat_ops *ops);

void nat_shared_lock(struct nat_shared *sh);
void nat_shared_unlock(struct nat_shared *sh);

/* NAT_RSS_SOURCE's share of a host. */
static inline unsigned nat_host_share(const struct nat_shared *sh, uint32_t addr_be)
{
	uint32_t a = ntohl(addr_be);

	return sh->host_share[0][a >> 24] ^ sh->host_share[1][a >> 16 & 0xff] ^
	       sh->host_share[2][a >> 8 & 0xff] ^ sh->host_share[3][a & 0xff];
}

/* The worker that has all state of an inside host. */
static inline unsigned nat_host_owner(const struct nat_shared *sh, uint32_t addr_be)
{
	return sh->share_owner[nat_host_share(sh, addr_be)];
}

/* The worker that prefers a port for its hosts. 64 ports in a row have the same. */
static inline unsigned nat_port_preferrer(const struct nat_shared *sh, unsigned port)
{
	return (port >> 6 & ((1u << sh->share_bits) - 1)) % sh->n_workers;
}

#endif /* TURNPIKE_NAT_SHARED_H */
