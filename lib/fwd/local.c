/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_icmp.h>
#include <rte_ip.h>

#include "csum.h"
#include "icmp.h"
#include "local.h"
#include "output.h"

#define LOCAL_TTL 64

/* Turns an echo request round (RFC 1122 3.2.2.6): same data, addresses swapped, a TTL of its own.
 */
static void echo_reply(struct worker *w, struct pkt *p)
{
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(p->m, struct rte_ipv4_hdr *);
	rte_be32_t asked = ip->dst_addr;
	uint8_t *icmp = p->nat.l4;
	uint16_t old_word, new_word;
	csum_be_t check;

	memcpy(&old_word, icmp, 2);
	memcpy(&check, icmp + offsetof(struct rte_icmp_hdr, icmp_cksum), 2);
	icmp[0] = RTE_IP_ICMP_ECHO_REPLY;
	memcpy(&new_word, icmp, 2);
	csum_replace2(&check, old_word, new_word);
	memcpy(icmp + offsetof(struct rte_icmp_hdr, icmp_cksum), &check, 2);

	ip->dst_addr = ip->src_addr;
	ip->src_addr = asked;
	ip->time_to_live = LOCAL_TTL;
	ip->hdr_checksum = csum_ipv4_header(ip, p->ihl);
	w->counters->events[FWD_E_icmp_echo_replies]++;
	output_own(w, p->m, p->nat.iface);
}

void local_deliver(struct worker *w, struct pkt *p)
{
	const struct nat_pkt *n = &p->nat;

	if ((n->flags & NAT_PKT_FRAGMENT) || p->l4_drop != 0) {
		worker_drop(w, p->m, n->iface,
			    p->l4_drop != 0 ? p->l4_drop : FWD_D_local_unhandled);
		return;
	}
	switch (n->key.proto) {
	case IPPROTO_ICMP:
		if (csum_fold(parse_l4_sum(p)) != 0) {
			worker_drop(w, p->m, n->iface, FWD_D_icmp_bad_checksum);
			return;
		}
		if (n->l4[0] == RTE_IP_ICMP_ECHO_REQUEST && n->l4[1] == 0) {
			echo_reply(w, p);
			return;
		}
		worker_drop(w, p->m, n->iface, FWD_D_local_unhandled);
		return;
	case IPPROTO_UDP:
		icmp_error(w, p, ICMP_UNREACHABLE, ICMP_PORT_UNREACHABLE, 0);
		break;
	case IPPROTO_TCP:
		/* RFC 5382 REQ-4: an unsolicited SYN to an address that translation uses is not
		 * answered, since its other side may be opening the connection at this moment */
		if (nat_config_external(w->snap->nat, n->key.dst_be, n->iface) != 0) {
			worker_drop(w, p->m, n->iface, FWD_D_local_unhandled);
			return;
		}
		/* fall through */
	default: /* the router has no TCP, and nothing else either */
		icmp_error(w, p, ICMP_UNREACHABLE, ICMP_PROTOCOL_UNREACHABLE, 0);
	}
	worker_drop(w, p->m, n->iface, FWD_D_local_unreachable);
}
