/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-3-Clause) */
/*
 * Steers what arrives on a kernel interface that an AF_XDP port of the router owns.
 *
 * IPv4, plain or behind one 802.1Q tag, goes to the router's socket of the receive queue, malformed
 * or not (the router counts what it drops); without a socket there the kernel gets it. The kernel
 * keeps everything else (ARP among it), and of IPv4 the TCP and UDP ports that pass_ports lists
 * when they are addressed to local_addrs, along with the ICMP errors about such traffic, without
 * which its path MTU discovery would break.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "turnpike_xdp.h"

/* The name that DPDK's driver looks for. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, XDP_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

/* A bit for each TCP port (the first half) and UDP port. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, XDP_PASS_WORDS);
	__type(key, __u32);
	__type(value, __u64);
} pass_ports SEC(".maps");

/* One entry: how many bits pass_ports has; 0 saves looking. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} pass_count SEC(".maps");

/* Addresses, network order, of the router and of the kernel on this interface. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, XDP_LOCAL_ADDRS);
	__type(key, __u32);
	__type(value, __u8);
} local_addrs SEC(".maps");

struct vlan_tag {
	__be16 tci;
	__be16 type;
};

/* The shapes on the wire, without the bit fields of linux/ip.h, and no more of them than is read.
 */
struct ip4 {
	__u8 version_ihl;
	__u8 tos;
	__be16 total_length;
	__be16 id;
	__be16 fragment;
	__u8 ttl;
	__u8 protocol;
	__be16 check;
	__be32 src;
	__be32 dst;
};

struct l4_ports {
	__be16 src;
	__be16 dst;
};

struct icmp {
	__u8 type;
	__u8 code;
	__be16 check;
	__be32 rest;
};

#define IP4_FRAGMENT_OFFSET 0x1fff

static __always_inline bool listed(__u8 protocol, __be16 port_be)
{
	__u32 word = xdp_pass_word(protocol, bpf_ntohs(port_be));
	__u64 *bits = bpf_map_lookup_elem(&pass_ports, &word);

	return bits && (*bits & xdp_pass_bit(bpf_ntohs(port_be)));
}

/* The transport header (its length yet unproven), or NULL when there is none: not IPv4, or no first
 * fragment. */
static __always_inline void *ip4_payload(struct ip4 *ip)
{
	__u32 ihl = (ip->version_ihl & 0xf) * 4u;

	if (ip->version_ihl >> 4 != 4 || ihl < sizeof(*ip) ||
	    ip->fragment & bpf_htons(IP4_FRAGMENT_OFFSET))
		return 0;
	return (void *)ip + ihl;
}

/* An ICMP error that quotes a packet which the kernel sent from a listed port. */
static __always_inline bool icmp_for_kernel(struct icmp *icmp, void *end)
{
	struct ip4 *quoted;
	struct l4_ports *ports;

	if ((void *)(icmp + 1) > end)
		return false;
	if (icmp->type != 3 && icmp->type != 11 && icmp->type != 12)
		return false;
	quoted = (void *)(icmp + 1);
	if ((void *)(quoted + 1) > end)
		return false;
	if (quoted->protocol != IPPROTO_TCP && quoted->protocol != IPPROTO_UDP)
		return false;
	ports = ip4_payload(quoted);
	if (!ports || (void *)(ports + 1) > end)
		return false;
	return listed(quoted->protocol, ports->src) &&
	       bpf_map_lookup_elem(&local_addrs, &quoted->src);
}

static __always_inline bool for_kernel(struct ip4 *ip, void *end)
{
	struct l4_ports *ports;
	void *l4;

	if ((void *)(ip + 1) > end)
		return false;
	l4 = ip4_payload(ip);
	if (!l4)
		return false;
	if (ip->protocol == IPPROTO_ICMP)
		return icmp_for_kernel(l4, end) && bpf_map_lookup_elem(&local_addrs, &ip->dst);
	if (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP)
		return false;
	ports = l4;
	if ((void *)(ports + 1) > end)
		return false;
	return listed(ip->protocol, ports->dst) && bpf_map_lookup_elem(&local_addrs, &ip->dst);
}

SEC("xdp")
int turnpike_xdp(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	void *l3 = eth + 1;
	__be16 type;
	__u32 zero = 0, *count;

	if (l3 > end)
		return XDP_PASS;
	type = eth->h_proto;
	if (type == bpf_htons(ETH_P_8021Q)) {
		struct vlan_tag *tag = l3;

		l3 = tag + 1;
		if (l3 > end)
			return XDP_PASS;
		type = tag->type;
	}
	if (type != bpf_htons(ETH_P_IP))
		return XDP_PASS;

	count = bpf_map_lookup_elem(&pass_count, &zero);
	if (count && *count && for_kernel(l3, end))
		return XDP_PASS;

	return bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
