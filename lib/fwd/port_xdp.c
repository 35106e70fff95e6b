/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include <rte_mbuf.h>

#include "dp.h"
#include "netdev.h"
#include "port_xdp.h"
#include "xdp.h"

static void note_highest(struct rte_mempool *mp, void *highest, void *obj, unsigned i)
{
	RTE_SET_USED(mp);
	RTE_SET_USED(i);
	if ((uintptr_t)obj > *(uintptr_t *)highest)
		*(uintptr_t *)highest = (uintptr_t)obj;
}

/* Whether all buffers lie where the AF_XDP driver believes them to be. */
static bool pool_fits(struct rte_mempool *mp)
{
	uintptr_t first = (uintptr_t)STAILQ_FIRST(&mp->mem_list)->addr, highest = 0;

	rte_mempool_obj_iter(mp, note_highest, &highest);
	return highest + mp->elt_size + mp->trailer_size <=
	       first + (uintptr_t)mp->populated_size * port_pool_object_size(mp);
}

/* The longest frame that a buffer takes from the kernel, which leaves its own headroom behind ours.
 */
static unsigned frame_room(struct rte_mempool *mp)
{
	return rte_pktmbuf_data_room_size(mp) - RTE_PKTMBUF_HEADROOM - XDP_PACKET_HEADROOM;
}

static int check_pool(const struct port *p, struct rte_mempool *pool, struct fwd_err *err)
{
	if (!pool_fits(pool))
		return dp_err(err, -ENOTSUP,
			      "device '%s': AF_XDP needs packet buffers in one piece without gaps "
			      "(port_pool_create)",
			      p->devargs);
	/* The driver takes 2048 for each queue, and loses them where it fails. */
	if (rte_mempool_avail_count(pool) < p->rxqs * 2048u + 1024u)
		return dp_err(err, -ENOBUFS,
			      "device '%s': too few packet buffers are free: %u, and AF_XDP takes "
			      "2048 for each queue",
			      p->devargs, rte_mempool_avail_count(pool));
	return 0;
}

int port_xdp_prepare(struct port *p, const struct netdev_info *netdev, unsigned first_queue,
		     bool own_program, uint16_t mtu, struct rte_mempool *pool, struct fwd_err *err)
{
	int rc = check_pool(p, pool, err);

	if (rc)
		return rc;
	p->max_mtu = RTE_MIN(frame_room(pool) - PORT_FRAME_OVERHEAD, (unsigned)FWD_MTU_MAX);
	if (mtu > p->max_mtu)
		return dp_err(err, -EINVAL,
			      "device '%s': MTU %u is too large: at most %u with AF_XDP",
			      p->devargs, mtu, p->max_mtu);
	/* XDP refuses an interface whose MTU is too large for it, so first that. */
	p->own_mtu = netdev->mtu <= p->max_mtu ? netdev->mtu : RTE_ETHER_MTU;
	p->mtu = mtu ? mtu : p->own_mtu;
	rc = p->mtu == netdev->mtu ? 0 : netdev_set_mtu(p->netdev, p->mtu);
	if (rc)
		return dp_err(err, rc, "device '%s': MTU %u of %s: %s", p->devargs, p->mtu,
			      p->netdev, strerror(-rc));
	return xdp_open(p->netdev, p->ifindex, first_queue, own_program, &p->steer, err);
}

int port_xdp_started(struct port *p, bool own_program, struct fwd_err *err)
{
	int rc = xdp_started(p->steer, err);

	if (rc)
		return rc;
	p->xdp = own_program;
	p->kernel_arp = true;
	p->arp_fd = netdev_arp_socket(p->ifindex);
	if (p->arp_fd < 0)
		return dp_err(err, p->arp_fd, "device '%s': no packet socket for ARP on %s: %s",
			      p->devargs, p->netdev, strerror(-p->arp_fd));
	return 0;
}

void port_xdp_empty(struct port *p)
{
	struct rte_mbuf *burst[32];
	unsigned q, n, turns;

	xdp_detach(p->steer);
	for (q = 0; q < p->rxqs; q++)
		while ((n = rte_eth_rx_burst(p->port_id, q, burst, RTE_DIM(burst))))
			rte_pktmbuf_free_bulk(burst, n);
	/* An empty burst collects what was sent; the last ones may be on their way yet. */
	for (turns = 0; turns < 5; turns++) {
		for (q = 0; q < p->rxqs; q++)
			(void)rte_eth_tx_burst(p->port_id, q, burst, 0);
		usleep(1000);
	}
	xdp_reclaim(p->steer, p->pool);
}
