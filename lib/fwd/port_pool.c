/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>

#include "dp.h"
#include "port_pool.h"

#define OBJECT_HEADER RTE_CACHE_LINE_SIZE /* of mempool objects */

static void free_zone(struct rte_mempool_memhdr *memhdr, void *mz)
{
	RTE_SET_USED(memhdr);
	rte_memzone_free(mz);
}

/*
 * AF_XDP shares the whole pool's memory with the kernel, and DPDK's driver reckons its size as
 * objects times object size from the first one on. rte_pktmbuf_pool_create() leaves gaps so that no
 * object crosses a page, which with 4 KiB pages puts a third of the objects past that end, and with
 * huge pages a few. Here there are no gaps: with IOVA as VA objects may cross pages, also for
 * hardware; with physical addresses they take as much as fits pages without a rest.
 */
static int populate(struct rte_mempool *mp, unsigned n)
{
	const struct rte_memzone *mz;
	char name[RTE_MEMZONE_NAMESIZE];
	void *zone;
	int rc;

	if (snprintf(name, sizeof(name), "tp_%s", mp->name) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	mz = rte_memzone_reserve_aligned(name, (size_t)n * port_pool_object_size(mp), mp->socket_id,
					 0, sysconf(_SC_PAGESIZE));
	if (!mz)
		return -rte_errno;
	zone = (void *)(uintptr_t)mz;
	if (rte_eal_iova_mode() == RTE_IOVA_VA)
		rc = rte_mempool_populate_iova(mp, mz->addr, mz->iova, mz->len, free_zone, zone);
	else
		rc = rte_mempool_populate_virt(mp, mz->addr, mz->len, mz->hugepage_sz, free_zone,
					       zone);
	if (rc > 0)
		return rc == (int)n ? 0 : -ENOMEM;
	rte_memzone_free(mz);
	return rc;
}

struct rte_mempool *port_pool_create(const char *name, unsigned n, unsigned cache,
				     uint16_t priv_size, uint16_t room, struct fwd_err *err)
{
	struct rte_pktmbuf_pool_private priv = {.mbuf_data_room_size = room,
						.mbuf_priv_size = priv_size};
	unsigned size = sizeof(struct rte_mbuf) + priv_size + room,
		 flags = RTE_MEMPOOL_F_NO_IOVA_CONTIG;
	struct rte_mempool *mp;
	int rc;

	if (rte_eal_iova_mode() != RTE_IOVA_VA) {
		flags = RTE_MEMPOOL_F_NO_SPREAD;
		size = rte_align32pow2(size + OBJECT_HEADER) - OBJECT_HEADER;
		priv.mbuf_data_room_size = size - sizeof(struct rte_mbuf) - priv_size;
	}
	mp = rte_mempool_create_empty(name, n, size, cache, sizeof(priv), SOCKET_ID_ANY, flags);
	if (!mp) {
		dp_err(err, -rte_errno, "packet buffers: %s", rte_strerror(rte_errno));
		return NULL;
	}
	rc = rte_mempool_set_ops_byname(mp, rte_mbuf_best_mempool_ops(), NULL);
	if (!rc) {
		rte_pktmbuf_pool_init(mp, &priv);
		rc = populate(mp, n);
	}
	if (rc) {
		rte_mempool_free(mp);
		dp_err(err, rc, "%u packet buffers of %u bytes: %s: reserve more huge pages", n,
		       size, strerror(-rc));
		return NULL;
	}
	rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL);
	return mp;
}
