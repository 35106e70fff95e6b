/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <net/if.h>
#include <netinet/in.h>

#include <rte_bus.h>
#include <rte_kvargs.h>

#include "dpdk_log.h"
#include "dp.h"
#include "netdev.h"
#include "port.h"
#include "port_xdp.h"
#include "xdp.h"

#define DESCRIPTORS   1024
#define FULL_ARGS_LEN (FWD_DEVARGS_LEN + 128)

/* What we must know of DPDK's virtual drivers, beyond what they tell of themselves. By prefix of
 * the device's name. */
static const struct driver_traits {
	const char *prefix;
	const char *queues_arg; /* devargs key for the number of queues */
	const char *tso_arg;	/* devargs key that lets a guest send large packets */
	bool by_netdev;		/* iface= names a kernel interface that exists */
	bool paired;		/* as many transmit as receive queues */
	bool any_length; /* takes frames longer than a buffer apart without RX_OFFLOAD_SCATTER */
	bool leaves_checksums;
	bool no_tso;	    /* cuts in software, and in 22.11 nothing that fills its MTU */
	bool large_packets; /* of its guest, with word of what is left to do with them (gso.h) */
} drivers[] = {
	{.prefix = "net_af_xdp", .queues_arg = "queue_count", .by_netdev = true, .paired = true},
	{.prefix = "net_af_packet", .queues_arg = "qpairs", .by_netdev = true, .paired = true},
	{.prefix = "net_tap", .paired = true, .leaves_checksums = true, .no_tso = true},
	{.prefix = "net_virtio",
	 .queues_arg = "queues",
	 .paired = true,
	 .leaves_checksums = true,
	 .large_packets = true},
	{.prefix = "net_vhost",
	 .queues_arg = "queues",
	 .tso_arg = "tso",
	 .leaves_checksums = true,
	 .large_packets = true},
	{.prefix = "net_memif", .any_length = true},
	{.prefix = "net_pcap", .any_length = true},
	{.prefix = "net_ring", .any_length = true},
	{.prefix = "net_null", .any_length = true},
};

/* Ports that port_open() gave out. */
static bool in_use[RTE_MAX_ETHPORTS];

/* What port_open() works out before the device exists. */
struct plan {
	const struct driver_traits *driver; /* NULL: another */
	bool af_xdp;
	bool own_program;
	unsigned first_queue;
	char full[FULL_ARGS_LEN]; /* devargs with what we add */
};

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* ---- devargs --------------------------------------------------------------------------------- */

static const struct driver_traits *find_driver(const char *name)
{
	unsigned i;

	for (i = 0; i < RTE_DIM(drivers); i++)
		if (has_prefix(name, drivers[i].prefix) ||
		    (has_prefix(name, "eth_") && has_prefix(name + 4, drivers[i].prefix + 4)))
			return &drivers[i];
	return NULL;
}

static bool looks_like_pci(const char *name)
{
	return has_prefix(name, "pci:") ||
	       (strspn(name, "0123456789abcdefABCDEF:.") == strlen(name) && strchr(name, ':') &&
		strchr(name, '.'));
}

static int check_text(const char *devargs, struct fwd_err *err)
{
	const char *c;

	if (!devargs[0])
		return dp_err(err, -EINVAL,
			      "the device is missing, such as net_af_xdp0,iface=eth0");
	if (strnlen(devargs, FWD_DEVARGS_LEN) == FWD_DEVARGS_LEN)
		return dp_err(err, -EINVAL, "the device takes at most %u characters",
			      FWD_DEVARGS_LEN - 1);
	for (c = devargs; *c; c++)
		if (!isgraph((unsigned char)*c))
			return dp_err(err, -EINVAL,
				      "the device has a space or an unprintable character at "
				      "position %u",
				      (unsigned)(c - devargs) + 1);
	if (strcspn(devargs, ",") == 0 || strcspn(devargs, ",") >= RTE_DEV_NAME_MAX_LEN)
		return dp_err(err, -EINVAL, "device '%s': its name takes 1 to %u characters",
			      devargs, RTE_DEV_NAME_MAX_LEN - 1);
	return 0;
}

static int check_netdev(struct port *p, const char *iface, struct netdev_info *info,
			struct fwd_err *err)
{
	int rc;

	if (!iface)
		return dp_err(err, -EINVAL, "device '%s': which network interface? (%s,iface=NAME)",
			      p->devargs, p->name);
	rc = netdev_info(iface, info);
	if (rc == -ENODEV)
		return dp_err(err, rc, "device '%s': there is no network interface '%s'",
			      p->devargs, iface);
	if (rc)
		return dp_err(err, rc, "device '%s': network interface '%s': %s", p->devargs, iface,
			      strerror(-rc));
	rte_strscpy(p->netdev, iface, sizeof(p->netdev));
	p->ifindex = info->ifindex;
	return 0;
}

static void add_arg(struct plan *plan, const char *key, unsigned value)
{
	size_t len = strlen(plan->full);

	snprintf(plan->full + len, sizeof(plan->full) - len, ",%s=%u", key, value);
}

/* Adds to the devargs the number of queues where the driver wants it there. */
static int plan_queues(struct port *p, struct plan *plan, const struct rte_kvargs *args,
		       const struct netdev_info *netdev, struct fwd_err *err)
{
	const char *key = plan->driver ? plan->driver->queues_arg : NULL;

	if (p->rxqs > FWD_MAX_QUEUES)
		return dp_err(err, -EINVAL, "device '%s': at most %u receive queues", p->devargs,
			      FWD_MAX_QUEUES);
	if (plan->af_xdp && p->rxqs > RTE_MAX(netdev->combined, 1u))
		return dp_err(
			err, -EINVAL,
			"device '%s': %u receive queues, but %s has %u combined queue%s (ethtool "
			"-l), and DPDK's AF_XDP driver takes no others",
			p->devargs, p->rxqs, p->netdev, RTE_MAX(netdev->combined, 1u),
			netdev->combined > 1 ? "s" : "");
	if (key && p->rxqs > 1 && !(args && rte_kvargs_get(args, key)))
		add_arg(plan, key, p->rxqs);
	return 0;
}

static int make_plan(struct port *p, struct plan *plan, struct netdev_info *netdev,
		     struct fwd_err *err)
{
	const char *comma = strchr(p->devargs, ','), *iface, *first;
	struct rte_kvargs *args = NULL;
	int rc = 0;

	memset(plan, 0, sizeof(*plan));
	memset(netdev, 0, sizeof(*netdev));
	rte_strscpy(plan->full, p->devargs, sizeof(plan->full));
	plan->driver = find_driver(p->name);
	if (!plan->driver)
		return plan_queues(p, plan, NULL, netdev, err);

	if (comma && comma[1]) {
		args = rte_kvargs_parse(comma + 1, NULL);
		if (!args)
			return dp_err(err, -EINVAL,
				      "device '%s': what follows the name must be key=value pairs, "
				      "with commas between",
				      p->devargs);
	}
	plan->af_xdp = has_prefix(plan->driver->prefix, "net_af_xdp");
	if (plan->driver->by_netdev) {
		iface = args ? rte_kvargs_get(args, "iface") : NULL;
		rc = check_netdev(p, iface, netdev, err);
	}
	if (!rc && plan->af_xdp) {
		first = args ? rte_kvargs_get(args, "start_queue") : NULL;
		plan->first_queue = first ? strtoul(first, NULL, 0) : 0;
		plan->own_program = !(args && rte_kvargs_get(args, "xdp_prog"));
	}
	if (!rc)
		rc = plan_queues(p, plan, args, netdev, err);
	if (!rc && plan->driver->tso_arg && !(args && rte_kvargs_get(args, plan->driver->tso_arg)))
		add_arg(plan, plan->driver->tso_arg, 1);
	rte_kvargs_free(args);
	return rc;
}

/* ---- the kernel interface under it ----------------------------------------------------------- */

/* Settings of the kernel interface, and the XDP claims and trials, before the driver sees it. */
static int prepare_netdev(struct port *p, struct plan *plan, const struct netdev_info *netdev,
			  uint16_t mtu, struct rte_mempool *pool, struct fwd_err *err)
{
	size_t len = strlen(plan->full);
	int rc;

	rc = netdev_prepare(p->netdev, plan->af_xdp && !plan->first_queue ? p->rxqs : 0, &p->undo,
			    err);
	if (rc || !plan->af_xdp)
		return rc;
	rc = port_xdp_prepare(p, netdev, plan->first_queue, plan->own_program, mtu, pool, err);
	if (!rc && plan->own_program)
		snprintf(plan->full + len, sizeof(plan->full) - len, ",xdp_prog=%s",
			 xdp_program_path(p->steer));
	return rc;
}

/* ---- the device ------------------------------------------------------------------------------ */

static int plug(struct port *p, const struct plan *plan, struct fwd_err *err)
{
	struct rte_dev_iterator it;
	uint16_t id;
	int rc;

	/* Given to EAL by its options: it is there already, and ours to take over as it is. */
	if (rte_eth_dev_get_port_by_name(p->name, &id) == 0) {
		if (in_use[id] || strchr(p->devargs, ','))
			return dp_err(err, -EEXIST,
				      "device '%s': a port of the name %s exists already",
				      p->devargs, p->name);
		p->port_id = id;
		return 0;
	}
	errno = 0; /* the AF_XDP driver of 22.11 takes an old EOPNOTSUPP for a fresh one */
	rc = rte_dev_probe(plan->full);
	if (rc && looks_like_pci(p->name))
		return dp_err(err, rc, "device '%s': %s: %s%s%s", p->devargs,
			      rc == -ENODEV ? "no such PCI device, or EAL looks for none (give -a "
					      "ADDRESS after -- at "
					      "start, and bind it to vfio-pci)"
					    : "can't be attached",
			      strerror(-rc), dpdk_log_said()[0] ? ": " : "", dpdk_log_said());
	/* EAL knows no bus that has a driver for the name. */
	if (rc == -EFAULT && !plan->driver)
		return dp_err(
			err, -ENODEV,
			"device '%s': no DPDK driver for %s: unknown, or not installed (names "
			"begin with the driver's: net_af_xdp0, net_tap1)",
			p->devargs, p->name);
	if (rc == -EFAULT && !dpdk_log_by_driver())
		return dp_err(err, -ENODEV,
			      "device '%s': DPDK's driver for %s is not installed (Debian: "
			      "librte-net-*)",
			      p->devargs, plan->driver->prefix);
	if (rc)
		return dpdk_log_err(err, rc, p->devargs,
				    geteuid() == 0 ? "can't be attached"
						   : "can't be attached (it may need root)");

	if (rte_eth_dev_get_port_by_name(p->name, &id)) {
		id = RTE_MAX_ETHPORTS;
		RTE_ETH_FOREACH_MATCHING_DEV(id, p->devargs, &it)
		{
			rte_eth_iterator_cleanup(&it);
			break;
		}
	}
	if (id >= RTE_MAX_ETHPORTS)
		return dp_err(err, -ENODEV, "device '%s' gave no Ethernet port", p->devargs);
	if (in_use[id])
		return dp_err(err, -EEXIST, "device '%s' is in use already", p->devargs);
	p->port_id = id;
	return 0;
}

static bool on_pci(const struct rte_eth_dev_info *info)
{
	return info->device && !strcmp(rte_bus_name(rte_dev_bus(info->device)), "pci");
}

/* MTU limits of the device and of our buffers. scatter: frames may take several buffers. */
static uint16_t limit_mtu(const struct port *p, const struct plan *plan,
			  const struct rte_eth_dev_info *info, struct rte_mempool *pool,
			  bool scatter)
{
	uint32_t max = FWD_MTU_MAX, room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;

	max = RTE_MIN(max, info->max_mtu);
	if (info->max_rx_pktlen > PORT_FRAME_OVERHEAD)
		max = RTE_MIN(max, info->max_rx_pktlen - PORT_FRAME_OVERHEAD);
	if (!scatter && !(plan->driver && plan->driver->any_length))
		max = RTE_MIN(max, room - PORT_FRAME_OVERHEAD);
	return plan->af_xdp ? RTE_MIN(max, p->max_mtu) : max;
}

/* Whole device configuration: offloads, queue numbers, MTU. */
static int configure(struct port *p, const struct plan *plan, const struct rte_eth_dev_info *info,
		     uint16_t mtu, enum fwd_rss rss, unsigned n_workers, struct rte_mempool *pool,
		     struct fwd_err *err)
{
	struct rte_eth_conf conf = {0};
	bool virtio = has_prefix(info->driver_name, "net_virtio"), scatter = false;
	/* virtio on PCI has no traits by its name: its host takes the larger number for both, and
	 * fills receive queues that nobody polls. */
	bool paired = virtio || (plan->driver && plan->driver->paired);
	uint16_t txqs, now;
	int rc;

	if (p->rxqs > info->max_rx_queues)
		return dp_err(err, -EINVAL, "device '%s' has %u receive queue%s, not %u",
			      p->devargs, info->max_rx_queues, info->max_rx_queues == 1 ? "" : "s",
			      p->rxqs);
	txqs = paired ? p->rxqs : RTE_MIN(RTE_MAX(n_workers, 1u), (unsigned)FWD_MAX_QUEUES);
	txqs = RTE_MIN(txqs, info->max_tx_queues);
	if (!txqs)
		return dp_err(err, -EINVAL, "device '%s' has no transmit queue%s", p->devargs,
			      has_prefix(p->name, "net_pcap")
				      ? " (give it tx_pcap=FILE or tx_iface=NAME)"
				      : "");

	p->max_mtu = limit_mtu(p, plan, info, pool, false);
	if (!p->own_mtu)
		p->own_mtu =
			rte_eth_dev_get_mtu(p->port_id, &now) == 0 && now ? now : RTE_ETHER_MTU;
	p->own_mtu = RTE_MIN(p->own_mtu, p->max_mtu);
	if (!mtu)
		mtu = p->own_mtu;
	if (mtu > p->max_mtu && (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER)) {
		scatter = true;
		p->max_mtu = limit_mtu(p, plan, info, pool, true);
	}
	if (mtu > p->max_mtu || mtu < info->min_mtu)
		return dp_err(err, -EINVAL, "device '%s': MTU %u is too %s: %u to %u", p->devargs,
			      mtu, mtu < info->min_mtu ? "small" : "large",
			      RTE_MAX(info->min_mtu, FWD_MTU_MIN), p->max_mtu);

	rc = rss_plan(rss, p->devargs, info, p->rxqs, &p->rss, err);
	if (rc)
		return rc;

	conf.rxmode.mtu = mtu;
	if (scatter)
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
	if (on_pci(info)) {
		conf.rxmode.offloads |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_CHECKSUM;
		/* virtio's driver refuses to be asked where the host has no RSS, and spreads by
		 * itself */
		if (p->rxqs > 1 && info->flow_type_rss_offloads != 0) {
			conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
			conf.rx_adv_conf.rss_conf.rss_hf =
				info->flow_type_rss_offloads &
				(RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
		}
	}
	p->filters_vlans = virtio && (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	if (p->filters_vlans)
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	if (p->rss.types) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		rss_conf(&p->rss, &conf.rx_adv_conf.rss_conf);
	}
	/* Whatever is left undone there is told with each packet, instead of done by the driver,
	 * which sums large packets as a whole. */
	if (plan->driver && plan->driver->large_packets) {
		conf.rxmode.offloads |= info->rx_offload_capa &
					(RTE_ETH_RX_OFFLOAD_TCP_CKSUM |
					 RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_LRO);
		conf.rxmode.max_lro_pkt_size = info->max_lro_pkt_size;
	}
	p->multi_seg_tx = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	if (p->multi_seg_tx)
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	if (p->multi_seg_tx && (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_TSO) &&
	    !(plan->driver && plan->driver->no_tso)) {
		conf.txmode.offloads |= info->tx_offload_capa &
					(RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
					 RTE_ETH_TX_OFFLOAD_IPV4_CKSUM);
		p->tso_segs =
			info->tx_desc_lim.nb_seg_max ? info->tx_desc_lim.nb_seg_max : UINT16_MAX;
		p->tso_ip_csum = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
	}

	rc = rte_eth_dev_configure(p->port_id, p->rxqs, txqs, &conf);
	if (rc)
		return dpdk_log_err(err, rc, p->devargs, "can't be configured");
	rc = rte_eth_dev_set_mtu(p->port_id, mtu);
	if (rc && rc != -ENOTSUP)
		return dpdk_log_err(err, rc, p->devargs, "its MTU can't be set");
	p->mtu = mtu;
	p->txqs = txqs;
	return 0;
}

/* Starts it, and tells it what it may have forgotten in between. */
static int start_device(struct port *p, const char *failed, struct fwd_err *err)
{
	int rc = rte_eth_dev_start(p->port_id);

	if (rc)
		return dpdk_log_err(err, rc, p->devargs, failed);
	p->started = true;
	rc = rss_apply(&p->rss, p->port_id, p->rxqs);
	return rc ? dpdk_log_err(err, rc, p->devargs, "its RSS key and table can't be set") : 0;
}

static int start(struct port *p, const struct plan *plan, const struct rte_eth_dev_info *info,
		 struct rte_mempool *pool, struct fwd_err *err)
{
	uint16_t rx_desc = info->default_rxportconf.ring_size ? info->default_rxportconf.ring_size
							      : DESCRIPTORS;
	uint16_t tx_desc = info->default_txportconf.ring_size ? info->default_txportconf.ring_size
							      : DESCRIPTORS;
	int socket = rte_eth_dev_socket_id(p->port_id), rc;
	unsigned q, tries;

	rc = rte_eth_dev_adjust_nb_rx_tx_desc(p->port_id, &rx_desc, &tx_desc);
	for (q = 0; !rc && q < p->txqs; q++)
		rc = rte_eth_tx_queue_setup(p->port_id, q, tx_desc, socket, NULL);
	if (rc)
		return dpdk_log_err(err, rc, p->devargs, "its transmit queues can't be set up");
	for (q = 0; q < p->rxqs; q++) {
		rc = rte_eth_rx_queue_setup(p->port_id, q, rx_desc, socket, NULL, pool);
		/* The kernel lets go of an AF_XDP queue, our trial's, some time after its socket
		 * was closed. */
		for (tries = 0; rc && plan->af_xdp && tries < 3; tries++) {
			usleep(100000);
			rc = rte_eth_rx_queue_setup(p->port_id, q, rx_desc, socket, NULL, pool);
		}
		if (rc)
			return dpdk_log_err(err, rc, p->devargs,
					    "its receive queues can't be set up");
	}
	/* Ours is the interface's own address: no promiscuous mode. A port without one takes
	 * everything anyway. */
	rc = start_device(p, "can't be started", err);
	if (rc == 0 && p->filters_vlans)
		(void)rte_eth_dev_vlan_filter(p->port_id, 0, 1); /* priority tags */
	return rc;
}

/* The driver gives both ends of a TAP one MAC address; a station with the router's own would never
 * be a neighbour of it. */
static void part_from_kernel(const struct port *p)
{
	uint8_t mac[sizeof(p->mac)];
	int rc;

	memcpy(mac, p->mac, sizeof(mac));
	mac[0] |= 0x02; /* locally administered */
	mac[4] ^= 0x80;
	rc = netdev_set_mac(p->netdev, mac);
	if (rc)
		dp_log(FWD_LOG_WARNING,
		       "%s: %s keeps the router's MAC address, so the kernel can't talk to the "
		       "router: %s",
		       p->name, p->netdev, strerror(-rc));
}

/* What the rest of the router wants to know of a running port. */
static int learn(struct port *p, const struct plan *plan, const struct rte_eth_dev_info *info,
		 struct netdev_info *netdev, unsigned n_workers, struct fwd_err *err)
{
	struct rte_ether_addr mac;
	int rc;

	rte_strscpy(p->driver, info->driver_name, sizeof(p->driver));
	rc = rte_eth_macaddr_get(p->port_id, &mac);
	if (rc)
		return dpdk_log_err(err, rc, p->devargs, "its MAC address is unknown");
	if (rte_is_zero_ether_addr(&mac)) {
		rte_eth_random_addr(mac.addr_bytes);
		(void)rte_eth_dev_default_mac_addr_set(p->port_id, &mac);
	}
	memcpy(p->mac, mac.addr_bytes, sizeof(p->mac));
	p->txqs = RTE_MIN(p->txqs, RTE_MAX(n_workers, 1u));

	if (!p->ifindex && info->if_index && if_indextoname(info->if_index, p->netdev)) {
		p->ifindex = info->if_index;
		(void)netdev_info(p->netdev, netdev);
	}
	if (has_prefix(p->driver, "net_tap") && p->ifindex && !strstr(p->devargs, "remote="))
		part_from_kernel(p);
	p->complete_csum =
		plan->driver ? plan->driver->leaves_checksums : has_prefix(p->driver, "net_virtio");
	if (plan->driver && plan->driver->by_netdev)
		p->complete_csum = netdev_leaves_checksums(netdev->driver);
	if (has_prefix(p->driver, "net_af_packet")) {
		netdev_ignore_outgoing(p->ifindex);
		if (netdev_addresses(p->ifindex, NULL, 0))
			dp_log(FWD_LOG_WARNING,
			       "%s: over AF_PACKET the kernel sees each packet, too, and it has "
			       "addresses on %s: it will answer beside the router",
			       p->name, p->netdev);
	}

	return plan->af_xdp ? port_xdp_started(p, plan->own_program, err) : 0;
}

int port_open(const char *devargs, uint16_t mtu, uint16_t rxqs, enum fwd_rss rss,
	      unsigned n_workers, struct rte_mempool *pool, struct port *out, struct fwd_err *err)
{
	struct port p = {
		.arp_fd = -1,
		.port_id = RTE_MAX_ETHPORTS,
		.rxqs = rxqs ? rxqs : 1,
		.pool = pool,
	};
	struct rte_eth_dev_info info;
	struct netdev_info netdev;
	struct plan plan;
	int rc;

	rc = check_text(devargs, err);
	if (rc)
		return rc;
	rte_strscpy(p.devargs, devargs, sizeof(p.devargs));
	snprintf(p.name, sizeof(p.name), "%.*s", (int)strcspn(devargs, ","), devargs);

	rc = make_plan(&p, &plan, &netdev, err);
	if (!rc && p.ifindex)
		rc = prepare_netdev(&p, &plan, &netdev, mtu, pool, err);
	if (rc) {
		port_close(&p);
		return rc;
	}
	dpdk_log_start();
	rc = plug(&p, &plan, err);
	if (!rc) {
		in_use[p.port_id] = true;
		rc = rte_eth_dev_info_get(p.port_id, &info);
		if (rc)
			dpdk_log_err(err, rc, devargs, "tells nothing of itself");
	}
	if (!rc)
		rc = configure(&p, &plan, &info, mtu, rss, n_workers, pool, err);
	if (!rc)
		rc = start(&p, &plan, &info, pool, err);
	if (!rc)
		rc = learn(&p, &plan, &info, &netdev, n_workers, err);
	dpdk_log_stop();
	if (rc) {
		port_close(&p);
		return rc;
	}
	*out = p;
	return 0;
}

void port_close(struct port *p)
{
	struct rte_eth_dev_info info = {0};

	if (p->port_id < RTE_MAX_ETHPORTS) {
		(void)rte_eth_dev_info_get(p->port_id, &info);
		if (p->started && p->steer)
			port_xdp_empty(p);
		(void)rte_eth_dev_stop(p->port_id);
		(void)rte_eth_dev_close(p->port_id);
		if (info.device)
			(void)rte_dev_remove((struct rte_device *)(uintptr_t)info.device);
		in_use[p->port_id] = false;
	}
	if (p->arp_fd >= 0)
		close(p->arp_fd);
	if (p->steer)
		xdp_close(p->steer);
	netdev_restore(p->undo);
	memset(p, 0, sizeof(*p));
	p->arp_fd = -1;
	p->port_id = RTE_MAX_ETHPORTS;
}

/* ---- running ports --------------------------------------------------------------------------- */

bool port_mtu_needs_stop(const struct port *p)
{
	return !find_driver(p->driver); /* the virtual ones change it in flight */
}

int port_set_mtu(struct port *p, uint16_t mtu, struct fwd_err *err)
{
	bool stop = port_mtu_needs_stop(p);
	struct fwd_err later;
	int rc;

	if (mtu < FWD_MTU_MIN || mtu > p->max_mtu)
		return dp_err(err, -EINVAL, "MTU %u is not possible on %s: %u to %u", mtu, p->name,
			      FWD_MTU_MIN, p->max_mtu);
	dpdk_log_start();
	if (stop)
		(void)rte_eth_dev_stop(p->port_id);
	rc = rte_eth_dev_set_mtu(p->port_id, mtu);
	if (rc == -ENOTSUP)
		rc = 0; /* a device without an MTU of its own */
	if (rc)
		dpdk_log_err(err, rc, p->devargs, "its MTU can't be set");
	if (stop) {
		int again =
			start_device(p, "did not start again with the new MTU", rc ? &later : err);

		rc = rc ? rc : again;
	}
	dpdk_log_stop();
	if (!rc)
		p->mtu = mtu;
	return rc;
}

int port_vlan(struct port *p, uint16_t id, bool add, struct fwd_err *err)
{
	int rc;

	if (!p->filters_vlans)
		return 0;
	dpdk_log_start();
	rc = rte_eth_dev_vlan_filter(p->port_id, id, add);
	if (rc)
		dpdk_log_err(err, rc, p->devargs, "its filter of VLANs can't be set");
	dpdk_log_stop();
	return rc;
}

int port_pass(struct port *p, struct fwd_pass pass, bool add, struct fwd_err *err)
{
	const char *protocol = pass.protocol == IPPROTO_TCP   ? "tcp"
			       : pass.protocol == IPPROTO_UDP ? "udp"
							      : NULL;
	int rc;

	if (!p->xdp)
		return dp_err(
			err, -EOPNOTSUPP,
			"%s can't leave packets to the kernel: only net_af_xdp with the router's "
			"own XDP program can",
			p->name);
	if (!protocol || !pass.port)
		return dp_err(err, -EINVAL, "protocol tcp or udp, port 1 to 65535");
	rc = xdp_pass(p->steer, pass, add);
	if (rc == -EEXIST || rc == -ENOENT)
		return dp_err(err, rc, "%s port %u is %s left to the kernel on %s", protocol,
			      pass.port, rc == -EEXIST ? "already" : "not", p->name);
	if (rc)
		return dp_err(err, rc, "%s port %u on %s: %s", protocol, pass.port, p->name,
			      strerror(-rc));
	return 0;
}

int port_local_address(struct port *p, uint32_t addr_be, bool add)
{
	return p->xdp ? xdp_address(p->steer, addr_be, add) : 0;
}

void port_refresh(struct port *p)
{
	if (p->xdp)
		xdp_refresh(p->steer);
}

int port_arp_receive(const struct port *p, void *frame, size_t size, uint16_t *vlan)
{
	return p->arp_fd < 0 ? -EAGAIN : netdev_arp_receive(p->arp_fd, frame, size, vlan);
}

void port_link(const struct port *p, bool *up, uint32_t *speed_mbps)
{
	struct rte_eth_link link;

	*up = false;
	*speed_mbps = 0;
	if (p->ifindex) { /* the drivers over kernel interfaces don't know */
		netdev_link(p->ifindex, up, speed_mbps);
	} else if (rte_eth_link_get_nowait(p->port_id, &link) == 0) {
		*up = link.link_status == RTE_ETH_LINK_UP;
		*speed_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
	}
}

void port_device_stats(const struct port *p, uint64_t *missed, uint64_t *errors, uint64_t *nombuf,
		       uint64_t *tx_errors)
{
	struct rte_eth_stats stats = {0};

	if (rte_eth_stats_get(p->port_id, &stats))
		memset(&stats, 0, sizeof(stats));
	*missed = stats.imissed;
	*errors = stats.ierrors;
	*nombuf = stats.rx_nombuf;
	*tx_errors = stats.oerrors;
}
