/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_arp.h>

#include "arp.h"

#define HTYPE_ETHERNET 1

const uint8_t arp_broadcast_mac[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

bool arp_parse(const uint8_t *frame, unsigned len, struct arp *out)
{
	const struct rte_ether_addr *sender;
	struct rte_ether_hdr eth;
	struct rte_arp_hdr arp;
	unsigned at = sizeof(eth);

	if (len < sizeof(eth))
		return false;
	memcpy(&eth, frame, sizeof(eth));
	if (eth.ether_type == RTE_BE16(RTE_ETHER_TYPE_VLAN)) {
		struct rte_vlan_hdr vlan;

		if (len < at + sizeof(vlan))
			return false;
		memcpy(&vlan, frame + at, sizeof(vlan));
		eth.ether_type = vlan.eth_proto;
		at += sizeof(vlan);
	}
	if (eth.ether_type != RTE_BE16(RTE_ETHER_TYPE_ARP) || len < at + sizeof(arp))
		return false;
	memcpy(&arp, frame + at, sizeof(arp));
	if (arp.arp_hardware != RTE_BE16(HTYPE_ETHERNET) ||
	    arp.arp_protocol != RTE_BE16(RTE_ETHER_TYPE_IPV4) ||
	    arp.arp_hlen != RTE_ETHER_ADDR_LEN || arp.arp_plen != sizeof(rte_be32_t))
		return false;
	if (arp.arp_opcode != RTE_BE16(ARP_REQUEST) && arp.arp_opcode != RTE_BE16(ARP_REPLY))
		return false;
	sender = &arp.arp_data.arp_sha;
	if (rte_is_zero_ether_addr(sender) || rte_is_multicast_ether_addr(sender))
		return false;

	memcpy(out->eth_dst, &eth.dst_addr, sizeof(out->eth_dst));
	out->op = rte_be_to_cpu_16(arp.arp_opcode);
	memcpy(out->sender_mac, sender, sizeof(out->sender_mac));
	memcpy(out->target_mac, &arp.arp_data.arp_tha, sizeof(out->target_mac));
	out->sender_be = arp.arp_data.arp_sip;
	out->target_be = arp.arp_data.arp_tip;
	return true;
}

bool arp_send(const struct iface *i, enum arp_op op, const uint8_t eth_dst[6], rte_be32_t sender_be,
	      const uint8_t target_mac[6], rte_be32_t target_be)
{
	struct dp_counters *c = dp.counters[dp.n_workers];
	struct rte_mbuf *m = rte_pktmbuf_alloc(dp.pool);
	struct rte_arp_hdr *arp;
	char *pad;
	unsigned n;

	if (!m) {
		dp_drop_count(c, FWD_IFACE_NONE, FWD_D_no_buffer);
		return false;
	}
	arp = (struct rte_arp_hdr *)rte_pktmbuf_append(m, sizeof(*arp));
	if (!arp)
		goto no_room;
	memset(arp, 0, sizeof(*arp));
	arp->arp_hardware = RTE_BE16(HTYPE_ETHERNET);
	arp->arp_protocol = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	arp->arp_hlen = RTE_ETHER_ADDR_LEN;
	arp->arp_plen = sizeof(rte_be32_t);
	arp->arp_opcode = rte_cpu_to_be_16(op);
	memcpy(&arp->arp_data.arp_sha, i->port->mac, RTE_ETHER_ADDR_LEN);
	arp->arp_data.arp_sip = sender_be;
	if (target_mac)
		memcpy(&arp->arp_data.arp_tha, target_mac, RTE_ETHER_ADDR_LEN);
	arp->arp_data.arp_tip = target_be;
	if (!iface_encap(i, m, eth_dst, RTE_ETHER_TYPE_ARP))
		goto no_room;
	n = ARP_FRAME_MIN - RTE_MIN(m->pkt_len, (uint32_t)ARP_FRAME_MIN);
	pad = rte_pktmbuf_append(m, n);
	if (!pad)
		goto no_room;
	memset(pad, 0, n);
	if (!iface_send(i, m, FWD_IFACE_NONE, FWD_MAX_WORKERS))
		return false;
	c->events[FWD_E_arp_out]++;
	return true;

no_room: /* buffers too small for a frame of 60 bytes */
	dp_drop_count(c, FWD_IFACE_NONE, FWD_D_no_buffer);
	rte_pktmbuf_free(m);
	return false;
}

void arp_announce(const struct iface *i, rte_be32_t addr_be)
{
	arp_send(i, ARP_REQUEST, arp_broadcast_mac, addr_be, NULL, addr_be);
}
