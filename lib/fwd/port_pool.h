/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of packet buffers. Called by the control thread.
 */
#ifndef FWD_PORT_POOL_H
#define FWD_PORT_POOL_H

#include <stdint.h>

#include <rte_mempool.h>

#include "fwd.h"

/* The packet buffers that every kind of port can use; AF_XDP wants them packed in one piece, which
 * rte_pktmbuf_pool_create() does not do. Else as that; room counts the headroom. NULL, with the
 * reason in err. */
struct rte_mempool *port_pool_create(const char *name, unsigned n, unsigned cache,
				     uint16_t priv_size, uint16_t room, struct fwd_err *err);

/* How far apart its buffers lie. */
static inline unsigned port_pool_object_size(const struct rte_mempool *mp)
{
	return mp->header_size + mp->elt_size + mp->trailer_size;
}

#endif /* FWD_PORT_POOL_H */
