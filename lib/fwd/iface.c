/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "iface.h"

static struct {
	struct iface table[FWD_MAX_IFACES];
	/* Ids are given out in turn: a packet on its way seldom meets the next owner of its id. */
	uint16_t next;
	struct iface_hooks hooks;
} ifs;

void iface_init(const struct iface_hooks *hooks)
{
	memset(&ifs, 0, sizeof(ifs));
	ifs.hooks = *hooks;
}

static void release(struct iface *i)
{
	if (i->parent == FWD_IFACE_NONE) {
		ifs.hooks.port_closing(i);
		port_close(i->port);
		free(i->port);
	} else {
		struct fwd_err err;

		(void)port_vlan(i->port, i->conf.vlan, false, &err); /* what comes yet is dropped */
	}
	memset(i, 0, sizeof(*i));
}

void iface_fini(void)
{
	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		if (ifs.table[id].used && ifs.table[id].parent != FWD_IFACE_NONE)
			release(&ifs.table[id]);
	}
	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		if (ifs.table[id].used)
			release(&ifs.table[id]);
	}
}

const struct iface *iface_get(uint16_t id)
{
	return id < FWD_MAX_IFACES && ifs.table[id].used ? &ifs.table[id] : NULL;
}

static struct iface *by_name(const char *name)
{
	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		if (ifs.table[id].used && !strcmp(ifs.table[id].conf.name, name))
			return &ifs.table[id];
	}
	return NULL;
}

int fwd_iface_find(const char *name)
{
	const struct iface *i = by_name(name);

	return i ? i->id : -ENOENT;
}

const struct iface *iface_tagged(uint16_t id, uint16_t vlan)
{
	if (vlan == 0)
		return iface_get(id);
	for (unsigned k = 0; k < FWD_MAX_IFACES; k++) {
		const struct iface *i = &ifs.table[k];

		if (i->used && i->parent == id && i->conf.vlan == vlan)
			return i;
	}
	return NULL;
}

/* ---- coming ---------------------------------------------------------------------------------- */

static struct iface *free_slot(void)
{
	for (unsigned n = 0; n < FWD_MAX_IFACES; n++) {
		struct iface *i = &ifs.table[(ifs.next + n) % FWD_MAX_IFACES];

		if (!i->used) {
			i->id = (ifs.next + n) % FWD_MAX_IFACES;
			return i;
		}
	}
	return NULL;
}

static int add_vlan(struct iface *i, const struct fwd_iface_conf *conf, struct fwd_err *err)
{
	const struct iface *parent = by_name(conf->parent);
	const struct iface *other;
	int rc;

	if (!parent)
		return dp_err(err, -ENOENT, "no interface '%s' for VLAN %u to lie on", conf->parent,
			      conf->vlan);
	if (parent->parent != FWD_IFACE_NONE)
		return dp_err(err, -EINVAL,
			      "'%s' is a VLAN interface itself: a VLAN lies on a port",
			      conf->parent);
	if (conf->vlan < 1 || conf->vlan > 4094)
		return dp_err(err, -EINVAL, "VLAN id %u: 1 to 4094 are possible", conf->vlan);
	if (conf->devargs[0])
		return dp_err(err, -EINVAL, "a VLAN interface has no device of its own");
	other = iface_tagged(parent->id, conf->vlan);
	if (other)
		return dp_err(err, -EADDRINUSE, "VLAN %u of '%s' is interface '%s' already",
			      conf->vlan, conf->parent, other->conf.name);
	if (conf->mtu > parent->mtu)
		return dp_err(err, -EINVAL, "MTU %u is above that of '%s', %u", conf->mtu,
			      conf->parent, parent->mtu);
	if (conf->rxqs || conf->rss)
		return dp_err(err, -EINVAL, "a VLAN interface has the receive queues of its port");
	rc = port_vlan(parent->port, conf->vlan, true, err);
	if (rc)
		return rc;
	i->parent = parent->id;
	i->port = parent->port;
	i->mtu = conf->mtu ? conf->mtu : parent->mtu;
	return 0;
}

static int add_port(struct iface *i, const struct fwd_iface_conf *conf, struct fwd_err *err)
{
	unsigned rxqs = conf->rxqs ? conf->rxqs : 1, polled = 0;
	int rc;

	if (!conf->devargs[0])
		return dp_err(err, -EINVAL, "interface '%s' needs a device or a VLAN to lie on",
			      conf->name);
	if (rxqs > FWD_MAX_QUEUES)
		return dp_err(err, -EINVAL, "%u receive queues: 1 to %u are possible", rxqs,
			      FWD_MAX_QUEUES);
	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		if (ifs.table[id].used && ifs.table[id].parent == FWD_IFACE_NONE)
			polled += ifs.table[id].port->rxqs;
	}
	if (polled + rxqs > dp.n_workers * FWD_WORKER_RXQ)
		return dp_err(err, -ENOSPC,
			      "%u workers poll at most %u receive queues, %u are in use",
			      dp.n_workers, dp.n_workers * FWD_WORKER_RXQ, polled);
	i->port = calloc(1, sizeof(*i->port));
	if (!i->port)
		return dp_err(err, -ENOMEM, "no memory for a port");
	i->port->arp_fd = -1;
	rc = port_open(conf->devargs, conf->mtu, rxqs, conf->rss, dp.n_workers, dp.pool, i->port,
		       err);
	if (rc) {
		free(i->port);
		return rc;
	}
	i->parent = FWD_IFACE_NONE;
	i->mtu = i->port->mtu;
	return 0;
}

int fwd_iface_add(const struct fwd_iface_conf *conf, struct fwd_err *err)
{
	struct iface *i;
	int rc;

	if (!conf->name[0] || strnlen(conf->name, FWD_NAME_LEN) == FWD_NAME_LEN)
		return dp_err(err, -EINVAL, "an interface name has 1 to %d characters",
			      FWD_NAME_LEN - 1);
	if (by_name(conf->name))
		return dp_err(err, -EEXIST, "interface '%s' is there already", conf->name);
	if (conf->mtu && (conf->mtu < FWD_MTU_MIN || conf->mtu > FWD_MTU_MAX))
		return dp_err(err, -EINVAL, "MTU %u: %d to %d are possible", conf->mtu, FWD_MTU_MIN,
			      FWD_MTU_MAX);
	i = free_slot();
	if (!i)
		return dp_err(err, -ENOSPC, "%d interfaces are the most", FWD_MAX_IFACES);
	rc = conf->parent[0] ? add_vlan(i, conf, err) : add_port(i, conf, err);
	if (rc) {
		memset(i, 0, sizeof(*i));
		return rc;
	}
	i->conf = *conf;
	i->used = true;
	ifs.next = (i->id + 1) % FWD_MAX_IFACES;
	if (i->parent == FWD_IFACE_NONE)
		ifs.hooks.port_opened(i);
	return 0;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Leaves the port and its VLAN interfaces out of the snapshot, or takes them in again. */
static void hide(struct iface *i, bool hidden)
{
	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		if (ifs.table[id].used && ifs.table[id].parent == i->id)
			ifs.table[id].hidden = hidden;
	}
	i->hidden = hidden;
}

static int set_port_mtu(struct iface *i, uint16_t mtu, struct fwd_err *err)
{
	bool stop = port_mtu_needs_stop(i->port);
	struct fwd_err later;
	int rc = 0;

	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		const struct iface *v = &ifs.table[id];

		if (v->used && v->parent == i->id && v->conf.mtu > mtu)
			return dp_err(err, -EBUSY,
				      "VLAN interface '%s' has an MTU of %u: lower that first",
				      v->conf.name, v->conf.mtu);
	}
	if (stop) {
		hide(i, true);
		rc = ifs.hooks.publish(err);
	}
	if (rc == 0)
		rc = port_set_mtu(i->port, mtu, err);
	if (rc == 0) {
		i->mtu = i->port->mtu;
		for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
			struct iface *v = &ifs.table[id];

			if (v->used && v->parent == i->id && !v->conf.mtu)
				v->mtu = i->mtu;
		}
	}
	if (stop) {
		hide(i, false);
		if (ifs.hooks.publish(&later))
			dp_log(FWD_LOG_ERROR,
			       "interface '%s' stands still until the next change: %s",
			       i->conf.name, later.msg);
	}
	return rc;
}

int fwd_iface_set_mtu(const char *name, uint16_t mtu, struct fwd_err *err)
{
	struct iface *i = by_name(name);
	int rc;

	if (!i)
		return dp_err(err, -ENOENT, "no interface '%s'", name);
	if (mtu && (mtu < FWD_MTU_MIN || mtu > FWD_MTU_MAX))
		return dp_err(err, -EINVAL, "MTU %u: %d to %d are possible", mtu, FWD_MTU_MIN,
			      FWD_MTU_MAX);
	if (i->parent == FWD_IFACE_NONE) {
		rc = set_port_mtu(i, mtu ? mtu : i->port->own_mtu, err);
		if (rc)
			return rc;
	} else if (!mtu) {
		i->mtu = ifs.table[i->parent].mtu;
	} else {
		if (mtu > ifs.table[i->parent].mtu)
			return dp_err(err, -EINVAL, "MTU %u is above that of '%s', %u", mtu,
				      ifs.table[i->parent].conf.name, ifs.table[i->parent].mtu);
		i->mtu = mtu;
	}
	i->conf.mtu = mtu;
	return 0;
}

int fwd_iface_set_gro(const char *name, struct fwd_gro gro, struct fwd_err *err)
{
	struct iface *i = by_name(name);

	if (!i)
		return dp_err(err, -ENOENT, "no interface '%s'", name);
	i->conf.gro = gro;
	return 0;
}

int fwd_iface_pass(const char *name, struct fwd_pass pass, bool add, struct fwd_err *err)
{
	struct iface *i = by_name(name);
	unsigned at;
	int rc;

	if (!i)
		return dp_err(err, -ENOENT, "no interface '%s'", name);
	if (i->parent != FWD_IFACE_NONE)
		return dp_err(err, -EOPNOTSUPP,
			      "'%s' is a VLAN interface: what its kernel gets is set on '%s'", name,
			      ifs.table[i->parent].conf.name);
	for (at = 0; at < i->n_pass; at++) {
		if (i->pass[at].protocol == pass.protocol && i->pass[at].port == pass.port)
			break;
	}
	if (add && at == FWD_IFACE_PASS)
		return dp_err(err, -ENOSPC, "%d ports are the most that '%s' can pass",
			      FWD_IFACE_PASS, name);
	rc = port_pass(i->port, pass, add, err);
	if (rc)
		return rc;
	if (add && at == i->n_pass) {
		i->pass[i->n_pass++] = pass;
	} else if (!add && at < i->n_pass) {
		memmove(&i->pass[at], &i->pass[at + 1], (i->n_pass - at - 1) * sizeof(pass));
		i->n_pass--;
	}
	return 0;
}

int fwd_iface_info(uint16_t id, struct fwd_iface_info *info)
{
	const struct iface *i = iface_get(id);

	if (!i)
		return -ENOENT;
	memset(info, 0, sizeof(*info));
	info->id = id;
	info->conf = i->conf;
	info->conf_mtu = i->conf.mtu;
	info->conf_rxqs = i->conf.rxqs;
	info->conf.mtu = i->mtu;
	info->conf.rxqs = i->port->rxqs;
	info->port_id = i->port->port_id;
	memcpy(info->mac, i->port->mac, sizeof(info->mac));
	memcpy(info->driver, i->port->driver, sizeof(info->driver));
	memcpy(info->netdev, i->port->netdev, sizeof(info->netdev));
	info->xdp = i->port->xdp;
	info->completes_checksums = i->port->complete_csum;
	info->n_pass = i->n_pass;
	memcpy(info->pass, i->pass, sizeof(info->pass));
	return 0;
}

int fwd_iface_link(uint16_t id, bool *up, uint32_t *speed_mbps)
{
	const struct iface *i = iface_get(id);

	if (!i)
		return -ENOENT;
	port_link(i->port, up, speed_mbps);
	return 0;
}

/* ---- going ----------------------------------------------------------------------------------- */

int fwd_iface_del(const char *name, struct fwd_err *err)
{
	struct iface *i = by_name(name);
	struct fwd_err later;
	int rc;

	if (!i)
		return dp_err(err, -ENOENT, "no interface '%s'", name);
	for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
		if (ifs.table[id].used && ifs.table[id].parent == i->id)
			return dp_err(err, -EBUSY,
				      "VLAN interface '%s' lies on '%s': delete it first",
				      ifs.table[id].conf.name, name);
	}
	rc = ifs.hooks.may_go(i->id, err);
	if (rc)
		return rc;
	/* Off the workers first; this is the only step that can fail, and it can be taken back. */
	i->hidden = true;
	rc = ifs.hooks.publish(err);
	if (rc) {
		i->hidden = false;
		return rc;
	}
	ifs.hooks.going(i->id);
	if (ifs.hooks.publish(&later))
		dp_log(FWD_LOG_WARNING, "routes of interface '%s' stay until the next change: %s",
		       name, later.msg);
	ifs.hooks.gone(i->id);
	release(i);
	return 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

bool iface_encap(const struct iface *i, struct rte_mbuf *m, const uint8_t dst[6],
		 uint16_t ether_type)
{
	unsigned tag = i->conf.vlan ? sizeof(struct rte_vlan_hdr) : 0;
	struct rte_ether_hdr *eth =
		(struct rte_ether_hdr *)rte_pktmbuf_prepend(m, sizeof(*eth) + tag);

	if (!eth)
		return false;
	memcpy(&eth->dst_addr, dst, RTE_ETHER_ADDR_LEN);
	memcpy(&eth->src_addr, i->port->mac, RTE_ETHER_ADDR_LEN);
	eth->ether_type = rte_cpu_to_be_16(ether_type);
	if (tag) {
		struct rte_vlan_hdr *vlan = (struct rte_vlan_hdr *)(eth + 1);

		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_VLAN);
		vlan->vlan_tci = rte_cpu_to_be_16(i->conf.vlan);
		vlan->eth_proto = rte_cpu_to_be_16(ether_type);
	}
	return true;
}

bool iface_send(const struct iface *i, struct rte_mbuf *m, uint16_t ingress, unsigned worker)
{
	const struct fwd_snapshot *snap = atomic_load_explicit(&dp.snapshot, memory_order_relaxed);
	struct dp_counters *c = dp.counters[dp.n_workers];
	unsigned drop;

	if (snap && (snap->ifaces[i->id].flags & IFACE_PRESENT)) {
		uint16_t port = i->port->port_id;

		if (worker >= dp.n_workers || snap->workers[worker].txq[port] == UINT16_MAX)
			worker = snap->txq_owner[port];
		fwd_priv(m)->iface = i->id;
		if (rte_ring_mp_enqueue(dp.inject[worker], m) == 0)
			return true;
		drop = FWD_D_handover_full;
	} else {
		drop = FWD_D_iface_gone;
	}
	dp_drop_count(c, ingress, drop);
	rte_pktmbuf_free(m);
	return false;
}
