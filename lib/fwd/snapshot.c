/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "arp.h"
#include "fib.h"
#include "nexthop.h"
#include "snapshot.h"

#define ANNOUNCE_MAX 256 /* translated addresses of one range, and in all at one commit */

static struct {
	uint64_t serial;
	struct nat_config *nat, *nat_staged;
	bool staged; /* nat_staged, perhaps NULL, is to take nat's place */
	void (*committed)(void);
} snap;

void snapshot_init(void (*committed)(void))
{
	memset(&snap, 0, sizeof(snap));
	snap.committed = committed;
}

const struct nat_config *snapshot_nat(void)
{
	return snap.nat;
}

void fwd_nat_set(struct nat_config *cfg)
{
	if (snap.staged && snap.nat_staged && snap.nat_staged != cfg && snap.nat_staged != snap.nat)
		nat_config_free(snap.nat_staged);
	snap.nat_staged = cfg;
	snap.staged = true;
}

/* ---- building -------------------------------------------------------------------------------- */

static void destroy(struct fwd_snapshot *s)
{
	if (!s)
		return;
	for (unsigned p = 0; p < FWD_MAX_PORTS; p++)
		free((void *)(uintptr_t)s->ports[p].vlan_iface);
	free(s);
}

static void build_iface(struct fwd_snapshot *s, const struct iface *i)
{
	struct dp_iface *d = &s->ifaces[i->id];

	d->port = i->port->port_id;
	d->vlan = i->conf.vlan;
	d->mtu = i->mtu;
	d->flags = (i->hidden ? 0 : IFACE_PRESENT) |
		   (i->port->complete_csum ? IFACE_COMPLETE_CSUM : 0) |
		   (i->port->kernel_arp ? IFACE_KERNEL_ARP : 0);
	if (i->conf.gro.on) {
		d->flags |= IFACE_GRO | (i->conf.gro.udp ? IFACE_GRO_UDP : 0) |
			    (i->conf.gro.validate == FWD_GRO_ALWAYS ? IFACE_GRO_ALWAYS : 0) |
			    (i->conf.gro.validate == FWD_GRO_COUNTED ? IFACE_GRO_COUNTED : 0);
		d->gro_us = i->conf.gro.timeout_us;
		s->gro_waits |= d->gro_us > 0;
		s->ports[d->port].gro = true;
	}
	memcpy(&d->mac, i->port->mac, sizeof(d->mac));
	d->n_addrs = address_count(i->id);
	for (unsigned k = 0; k < d->n_addrs; k++) {
		const struct fwd_address *a = address_at(i->id, k);

		d->addrs[k] = (struct dp_addr){.addr_be = a->addr_be,
					       .len = a->len,
					       .mask_be = rte_cpu_to_be_32(prefix_mask(a->len))};
	}
}

static int build_vlan(struct fwd_snapshot *s, const struct iface *i)
{
	struct dp_port *d = &s->ports[i->port->port_id];
	uint16_t *table = (uint16_t *)(uintptr_t)d->vlan_iface;

	if (!table) {
		table = malloc((RTE_ETHER_MAX_VLAN_ID + 1) * sizeof(*table));
		if (!table)
			return -ENOMEM;
		for (unsigned v = 0; v <= RTE_ETHER_MAX_VLAN_ID; v++)
			table[v] = FWD_IFACE_NONE;
		d->vlan_iface = table;
	}
	table[i->conf.vlan] = i->id;
	return 0;
}

static void build_port(struct fwd_snapshot *s, const struct iface *i)
{
	const struct port *port = i->port;
	struct dp_port *d = &s->ports[port->port_id];

	d->native_iface = i->id;
	d->multi_seg_tx = port->multi_seg_tx;
	d->tso_segs = port->tso_segs;
	d->tso_ip_csum = port->tso_ip_csum;
	d->n_txq = port->txqs;
	s->txq_owner[port->port_id] = 0;
	for (unsigned w = 0; w < dp.n_workers; w++)
		s->workers[w].txq[port->port_id] = w < port->txqs ? w : UINT16_MAX;
}

/* The receive queues of the ports that steer, or of the others. Where the device steers, each goes
 * to the worker that it was chosen for, whatever other ports there are; others go round the
 * workers. */
static void build_queues(struct fwd_snapshot *s, bool steered)
{
	unsigned next = 0;

	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		const struct iface *i = iface_get(id);

		if (!i || i->hidden || i->parent != FWD_IFACE_NONE ||
		    (i->conf.rss != FWD_RSS_FLOW) != steered)
			continue;
		for (unsigned q = 0; q < i->port->rxqs && dp.n_workers; q++) {
			struct dp_worker_conf *w;

			if (steered)
				next = rss_worker(q, dp.n_workers);
			/* fwd_iface_add() saw to it that there is room at one of them */
			do
				w = &s->workers[next++ % dp.n_workers];
			while (w->n_rxq == FWD_WORKER_RXQ);
			w->rxq[w->n_rxq++] = (struct dp_rxq){.port = i->port->port_id, .queue = q};
		}
	}
}

/* Does a device put packets into queues by the port that they are sent to? */
static bool steers_by_port(void)
{
	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		const struct iface *i = iface_get(id);

		if (i && !i->hidden && i->conf.rss == FWD_RSS_DESTINATION_PORT)
			return true;
	}
	return false;
}

static struct fwd_snapshot *build(void)
{
	struct fwd_snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->serial = ++snap.serial;
	s->fib = fib_to_publish();
	s->nat = snap.staged ? snap.nat_staged : snap.nat;
	s->n_workers = dp.n_workers;
	for (unsigned p = 0; p < FWD_MAX_PORTS; p++) {
		s->ports[p].native_iface = FWD_IFACE_NONE;
		for (unsigned w = 0; w < FWD_MAX_WORKERS; w++)
			s->workers[w].txq[p] = UINT16_MAX;
	}
	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		const struct iface *i = iface_get(id);

		if (!i)
			continue;
		/* Routes may still lead to a hidden one: its MTU is right, its packets are dropped.
		 */
		build_iface(s, i);
		if (i->hidden)
			continue;
		if (i->parent == FWD_IFACE_NONE) {
			build_port(s, i);
		} else if (build_vlan(s, i)) {
			destroy(s);
			return NULL;
		}
	}
	build_queues(s, true);
	build_queues(s, false);
	return s;
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Returns when every worker has begun a turn of its loop since the call. */
static void wait_for_workers(void)
{
	uint64_t token = rte_rcu_qsbr_start(dp.qsbr);

	while (rte_rcu_qsbr_check(dp.qsbr, token, false) == 0)
		sched_yield(); /* a worker may need this core */
}

struct announcing {
	const struct nat_config *old;
	unsigned left;
};

static void announce_range(void *arg, struct nat_range range, uint16_t iface)
{
	struct announcing *a = arg;
	uint32_t first = rte_be_to_cpu_32(range.first_be), last = rte_be_to_cpu_32(range.last_be);

	if (last < first || last - first >= ANNOUNCE_MAX)
		return;
	for (uint32_t n = 0; n <= last - first && a->left; n++) {
		rte_be32_t addr_be = rte_cpu_to_be_32(first + n);
		uint16_t id = iface;
		uint8_t len;

		if (id == NAT_IFACE_ANY)
			id = address_connected(addr_be, &len);
		if (!iface_get(id) || address_own(id, addr_be))
			continue;
		if (a->old && nat_config_external(a->old, addr_be, id))
			continue;
		arp_announce(iface_get(id), addr_be);
		a->left--;
	}
}

static void announce_address(const struct fwd_address *a)
{
	arp_announce(iface_get(a->iface), a->addr_be);
}

int fwd_commit(struct fwd_err *err)
{
	struct fwd_snapshot *old = atomic_load_explicit(&dp.snapshot, memory_order_relaxed),
			    *s = build();
	struct nat_config *old_nat = snap.nat;

	if (!s)
		return dp_err(err, -ENOMEM, "no memory for a snapshot: nothing was published");
	if (dp.nat_shared)
		nat_shared_prefer_ports(dp.nat_shared, steers_by_port());
	atomic_store_explicit(&dp.snapshot, s, memory_order_release);
	wait_for_workers();
	destroy(old);
	fib_published();
	nexthop_committed();
	address_announce(announce_address);
	if (snap.staged) {
		struct announcing a = {.old = old_nat, .left = ANNOUNCE_MAX};

		snap.nat = snap.nat_staged;
		snap.nat_staged = NULL;
		snap.staged = false;
		if (snap.nat && snap.nat != old_nat)
			nat_config_externals(snap.nat, announce_range, &a);
		if (old_nat && snap.nat != old_nat) {
			/* lib/nat leaves the old one in the turn after the first report */
			wait_for_workers();
			nat_config_free(old_nat);
		}
	}
	snap.committed();
	return 0;
}

void snapshot_fini(void)
{
	destroy(atomic_exchange(&dp.snapshot, NULL));
	if (snap.staged && snap.nat_staged && snap.nat_staged != snap.nat)
		nat_config_free(snap.nat_staged);
	if (snap.nat)
		nat_config_free(snap.nat);
	memset(&snap, 0, sizeof(snap));
}
