/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/if_ether.h>

#include "dp.h"
#include "netdev.h"

/* Names of ethtool's feature strings: what merges frames, and what takes VLAN tags off them. */
static const char *const rx_features[] = {
	"rx-gro", "rx-lro", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding", "rx-vlan-hw-parse",
};

struct netdev_undo {
	int ifindex;
	uint16_t mtu;
	bool down;	     /* it was down */
	unsigned n_features; /* that were on, as bit numbers of the kernel's */
	uint32_t features[RTE_DIM(rx_features)];
	bool channels_changed;
	struct ethtool_channels channels; /* as they were */
};

static int control_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static int ioctl_rc(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static int ethtool_rc(int fd, const char *name, void *cmd)
{
	struct ifreq ifr = {.ifr_data = cmd};

	rte_strscpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	return ioctl_rc(fd, SIOCETHTOOL, &ifr);
}

/* Sets and clears flags; *before: as they were. */
static int change_flags(int fd, const char *name, short set, short clear, short *before)
{
	struct ifreq ifr = {0};
	int rc;

	rte_strscpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	rc = ioctl_rc(fd, SIOCGIFFLAGS, &ifr);
	if (rc)
		return rc;
	*before = ifr.ifr_flags;
	if (((ifr.ifr_flags | set) & ~clear) == ifr.ifr_flags)
		return 0;
	ifr.ifr_flags = (ifr.ifr_flags | set) & ~clear;
	return ioctl_rc(fd, SIOCSIFFLAGS, &ifr);
}

/* ---- facts ----------------------------------------------------------------------------------- */

int netdev_info(const char *name, struct netdev_info *info)
{
	struct ethtool_drvinfo drv = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq ifr = {0};
	int fd, rc;

	memset(info, 0, sizeof(*info));
	if (strlen(name) >= IFNAMSIZ)
		return -ENODEV;
	fd = control_socket();
	if (fd < 0)
		return fd;
	rte_strscpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	rc = ioctl_rc(fd, SIOCGIFINDEX, &ifr);
	if (rc)
		goto out;
	info->ifindex = ifr.ifr_ifindex;
	rc = ioctl_rc(fd, SIOCGIFMTU, &ifr);
	if (rc)
		goto out;
	info->mtu = RTE_MIN(ifr.ifr_mtu, UINT16_MAX);
	rc = ioctl_rc(fd, SIOCGIFFLAGS, &ifr);
	if (rc)
		goto out;
	info->up = ifr.ifr_flags & IFF_UP;
	if (ethtool_rc(fd, name, &drv) == 0)
		rte_strscpy(info->driver, drv.driver, sizeof(info->driver));
	if (ethtool_rc(fd, name, &channels) == 0) {
		info->rx_queues = channels.combined_count + channels.rx_count;
		info->combined = channels.combined_count;
	}
out:
	close(fd);
	return rc;
}

int netdev_set_mtu(const char *name, uint16_t mtu)
{
	struct ifreq ifr = {.ifr_mtu = mtu};
	int fd = control_socket(), rc;

	if (fd < 0)
		return fd;
	rte_strscpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	rc = ioctl_rc(fd, SIOCSIFMTU, &ifr);
	close(fd);
	return rc;
}

int netdev_set_mac(const char *name, const uint8_t mac[6])
{
	struct ifreq ifr = {.ifr_hwaddr.sa_family = ARPHRD_ETHER};
	int fd = control_socket(), rc;

	if (fd < 0)
		return fd;
	rte_strscpy(ifr.ifr_name, name, sizeof(ifr.ifr_name));
	memcpy(ifr.ifr_hwaddr.sa_data, mac, 6);
	rc = ioctl_rc(fd, SIOCSIFHWADDR, &ifr);
	close(fd);
	return rc;
}

void netdev_link(int ifindex, bool *up, uint32_t *speed_mbps)
{
	struct ethtool_cmd cmd = {.cmd = ETHTOOL_GSET};
	struct ifreq ifr = {0};
	uint32_t speed;
	int fd;

	*up = false;
	*speed_mbps = 0;
	fd = control_socket();
	if (fd < 0)
		return;
	if (!if_indextoname(ifindex, ifr.ifr_name) || ioctl_rc(fd, SIOCGIFFLAGS, &ifr))
		goto out;
	*up = (ifr.ifr_flags & IFF_UP) && (ifr.ifr_flags & IFF_RUNNING);
	if (*up && ethtool_rc(fd, ifr.ifr_name, &cmd) == 0) {
		speed = ethtool_cmd_speed(&cmd);
		*speed_mbps = speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed;
	}
out:
	close(fd);
}

bool netdev_leaves_checksums(const char *driver)
{
	static const char *const names[] = {
		"veth",	 "tun",		"virtio_net",	       "vif", "bridge", "macvlan",
		"dummy", "openvswitch", "802.1Q VLAN Support",
	};
	unsigned i;

	for (i = 0; i < RTE_DIM(names); i++)
		if (!strcmp(driver, names[i]))
			return true;
	return false;
}

/* ---- settings -------------------------------------------------------------------------------- */

#define FEATURE_BLOCKS 8 /* of 32 features */

/* Room for what follows ethtool's heads. */
union sset_info {
	struct ethtool_sset_info head;
	uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
};
union get_features {
	struct ethtool_gfeatures head;
	uint8_t room[sizeof(struct ethtool_gfeatures) +
		     FEATURE_BLOCKS * sizeof(struct ethtool_get_features_block)];
};
union set_features {
	struct ethtool_sfeatures head;
	uint8_t room[sizeof(struct ethtool_sfeatures) +
		     FEATURE_BLOCKS * sizeof(struct ethtool_set_features_block)];
};

/* How many feature bits the kernel has; 0: it tells nothing, or more than we have room for. */
static unsigned feature_count(int fd, const char *name)
{
	union sset_info info = {0};

	info.head.cmd = ETHTOOL_GSSET_INFO;
	info.head.sset_mask = 1ull << ETH_SS_FEATURES;
	if (ethtool_rc(fd, name, &info) || !info.head.sset_mask ||
	    info.head.data[0] > 32 * FEATURE_BLOCKS)
		return 0;
	return info.head.data[0];
}

static int set_features(int fd, const char *name, const uint32_t *bits, unsigned n, bool on)
{
	union set_features set = {0};
	unsigned i;

	if (!n)
		return 0;
	set.head.cmd = ETHTOOL_SFEATURES;
	set.head.size = (feature_count(fd, name) + 31) / 32;
	for (i = 0; i < n; i++) {
		set.head.features[bits[i] / 32].valid |= 1u << bits[i] % 32;
		if (on)
			set.head.features[bits[i] / 32].requested |= 1u << bits[i] % 32;
	}
	return ethtool_rc(fd, name, &set);
}

/* Bit numbers of those of rx_features that are on and can be changed. */
static unsigned find_features(int fd, const char *name, uint32_t *bits)
{
	union get_features get = {0};
	unsigned count = feature_count(fd, name), i, k, n = 0;
	struct ethtool_gstrings *strings;

	strings = calloc(1, sizeof(*strings) + (size_t)count * ETH_GSTRING_LEN);
	if (!count || !strings)
		goto out;
	get.head.cmd = ETHTOOL_GFEATURES;
	get.head.size = FEATURE_BLOCKS;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	strings->len = count;
	if (ethtool_rc(fd, name, strings) || ethtool_rc(fd, name, &get))
		goto out;
	for (i = 0; i < count; i++) {
		const struct ethtool_get_features_block *b = &get.head.features[i / 32];
		const char *s = (const char *)strings->data + (size_t)i * ETH_GSTRING_LEN;

		if (!(b->active & ~b->never_changed & b->available & 1u << i % 32))
			continue;
		for (k = 0; k < RTE_DIM(rx_features) && n < RTE_DIM(rx_features); k++)
			if (!strncmp(s, rx_features[k], ETH_GSTRING_LEN))
				bits[n++] = i;
	}
out:
	free(strings);
	return n;
}

static int reduce_queues(int fd, const char *name, unsigned rx_queues, struct netdev_undo *undo)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	int rc;

	if (ethtool_rc(fd, name, &channels) ||
	    channels.combined_count + channels.rx_count <= rx_queues)
		return 0;
	undo->channels = channels;
	channels.cmd = ETHTOOL_SCHANNELS;
	if (channels.combined_count) {
		channels.combined_count = rx_queues;
		channels.rx_count = 0;
	} else {
		channels.rx_count = rx_queues;
	}
	rc = ethtool_rc(fd, name, &channels);
	undo->channels_changed = !rc;
	return rc;
}

int netdev_prepare(const char *name, unsigned rx_queues, struct netdev_undo **out,
		   struct fwd_err *err)
{
	struct netdev_undo *undo;
	struct netdev_info info;
	short flags;
	int fd, rc;

	rc = netdev_info(name, &info);
	if (rc)
		return dp_err(err, rc, "network interface '%s': %s", name, strerror(-rc));
	undo = calloc(1, sizeof(*undo));
	fd = control_socket();
	if (!undo || fd < 0) {
		rc = undo ? fd : -ENOMEM;
		free(undo);
		return dp_err(err, rc, "network interface '%s': %s", name, strerror(-rc));
	}
	undo->ifindex = info.ifindex;
	undo->mtu = info.mtu;

	rc = change_flags(fd, name, IFF_UP, 0, &flags);
	if (rc) {
		dp_err(err, rc, "network interface '%s' can't be brought up: %s", name,
		       strerror(-rc));
		goto fail;
	}
	undo->down = !(flags & IFF_UP);

	rc = rx_queues ? reduce_queues(fd, name, rx_queues, undo) : 0;
	if (rc) {
		dp_err(err, rc,
		       "network interface '%s' receives on %u queues and the port takes %u: "
		       "packets of the "
		       "others would miss the router, and fewer can't be set (%s); give it rxqs %u",
		       name, info.rx_queues, rx_queues, strerror(-rc), info.rx_queues);
		goto fail;
	}
	undo->n_features = find_features(fd, name, undo->features);
	if (set_features(fd, name, undo->features, undo->n_features, false) < 0)
		undo->n_features = 0;
	close(fd);
	*out = undo;
	return 0;
fail:
	close(fd);
	netdev_restore(undo);
	return rc;
}

void netdev_restore(struct netdev_undo *undo)
{
	struct ifreq ifr = {0};
	short flags;
	int fd;

	if (!undo)
		return;
	fd = control_socket();
	if (fd < 0 || !if_indextoname(undo->ifindex, ifr.ifr_name))
		goto out;
	if (undo->n_features)
		set_features(fd, ifr.ifr_name, undo->features, undo->n_features, true);
	if (undo->channels_changed) {
		undo->channels.cmd = ETHTOOL_SCHANNELS;
		ethtool_rc(fd, ifr.ifr_name, &undo->channels);
	}
	ifr.ifr_mtu = undo->mtu;
	ioctl_rc(fd, SIOCSIFMTU, &ifr);
	if (undo->down)
		change_flags(fd, ifr.ifr_name, 0, IFF_UP, &flags);
out:
	if (fd >= 0)
		close(fd);
	free(undo);
}

/* ---- ARP and addresses ----------------------------------------------------------------------- */

/*
 * All protocols with a filter for ARP, and not a socket of ETH_P_ARP: of a tagged frame those see
 * no tag any more, whether the kernel has a device for the VLAN or not.
 */
int netdev_arp_socket(int ifindex)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PROTOCOL)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog filter = {.len = RTE_DIM(code), .filter = code};
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = ifindex,
	};
	const int one = 1;
	int fd, rc;

	/* Protocol 0 until bound: no frame of another interface gets in between. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0 ||
	    bind(fd, (struct sockaddr *)&sll, sizeof(sll)) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

void netdev_ignore_outgoing(int ifindex)
{
	const int one = 1;
	struct dirent *d;
	DIR *dir;

	dir = opendir("/proc/self/fd");
	if (!dir)
		return;
	while ((d = readdir(dir))) {
		struct sockaddr_ll sll;
		socklen_t len = sizeof(sll);
		int fd = atoi(d->d_name);

		if (d->d_name[0] != '.' && getsockname(fd, (struct sockaddr *)&sll, &len) == 0 &&
		    len >= offsetof(struct sockaddr_ll, sll_hatype) &&
		    sll.sll_family == AF_PACKET && sll.sll_ifindex == ifindex)
			(void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	}
	closedir(dir);
}

int netdev_arp_receive(int fd, void *frame, size_t size, uint16_t *vlan)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control;
	struct iovec iov = {.iov_base = frame, .iov_len = size};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	ssize_t got;

	*vlan = 0;
	do {
		got = recvmsg(fd, &msg, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		struct tpacket_auxdata aux;

		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA ||
		    c->cmsg_len < CMSG_LEN(sizeof(aux)))
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		if (aux.tp_status & TP_STATUS_VLAN_VALID)
			*vlan = aux.tp_vlan_tci & 0xfff;
	}
	return got;
}

static bool is_vlan_over(int fd, const char *name, const char *lower)
{
	struct vlan_ioctl_args args = {.cmd = GET_VLAN_REALDEV_NAME_CMD};

	rte_strscpy(args.device1, name, sizeof(args.device1));
	return ioctl_rc(fd, SIOCGIFVLAN, &args) == 0 &&
	       !strncmp(args.u.device2, lower, sizeof(args.u.device2));
}

unsigned netdev_addresses(int ifindex, uint32_t *addrs_be, unsigned max)
{
	char name[IF_NAMESIZE];
	struct ifaddrs *list, *a;
	unsigned n = 0;
	int fd;

	if (!if_indextoname(ifindex, name) || getifaddrs(&list) < 0)
		return 0;
	fd = control_socket();
	for (a = list; a && fd >= 0; a = a->ifa_next) {
		char of[IF_NAMESIZE];

		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET)
			continue;
		/* ifa_name of IPv4 is the address's label, such as eth0:1. */
		rte_strscpy(of, a->ifa_name, sizeof(of));
		of[strcspn(of, ":")] = '\0';
		if (strcmp(of, name) && !is_vlan_over(fd, of, name))
			continue;
		if (n < max)
			addrs_be[n] = ((struct sockaddr_in *)a->ifa_addr)->sin_addr.s_addr;
		n++;
	}
	if (fd >= 0)
		close(fd);
	freeifaddrs(list);
	return n;
}
