/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_ip.h>
#include <rte_ip_frag.h>

#include "csum.h"
#include "frag.h"
#include "output.h"

#define FRAGMENTS_MAX 64

void frag_send(struct worker *w, struct rte_mbuf *m, uint16_t mtu, uint32_t nh, rte_be32_t dst_be,
	       uint16_t ingress)
{
	struct rte_mbuf *out[FRAGMENTS_MAX];
	int n;

	/* copies rather than chains of indirect buffers: every device can send them */
	n = rte_ipv4_fragment_copy_nonseg_packet(m, out, FRAGMENTS_MAX, mtu, dp.pool);
	if (n <= 0) {
		worker_drop(w, m, ingress, FWD_D_fragment_failed);
		return;
	}
	for (int i = 0; i < n; i++) {
		struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(out[i], struct rte_ipv4_hdr *);

		ip->hdr_checksum = csum_ipv4_header(ip, (ip->version_ihl & 0xfu) * 4);
		*fwd_priv(out[i]) = *fwd_priv(m);
		output_send(w, out[i], nh, dst_be, ingress);
	}
	w->counters->events[FWD_E_fragments_out] += (unsigned)n;
	rte_pktmbuf_free(m);
}
