/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_ip.h>
#include <rte_tcp.h>

#include "frag.h"
#include "gso.h"
#include "output.h"
#include "tso.h"

#define FLAGS_LAST  (RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG) /* only on the last segment ... */
#define FLAGS_FIRST RTE_TCP_CWR_FLAG /* ... and on the first one (RFC 3168 section 6.1.2) */

/* Where the payload is that was not taken yet. */
struct cursor {
	struct rte_mbuf *m;
	uint16_t offset; /* into m's data */
};

static void skip(struct cursor *at, uint32_t len)
{
	while (at->m != NULL && len >= (uint32_t)(at->m->data_len - at->offset)) {
		len -= (uint32_t)(at->m->data_len - at->offset);
		at->m = at->m->next;
		at->offset = 0;
	}
	at->offset = (uint16_t)(at->offset + len);
}

/* Copies len bytes of payload behind the headers in `to`, and sums them on the way. */
static csum_sum_t copy_payload(struct cursor *at, struct rte_mbuf *to, uint16_t len)
{
	uint8_t *dst = (uint8_t *)rte_pktmbuf_append(to, len);
	csum_sum_t sum = 0;
	uint16_t done = 0;

	while (done < len) {
		uint16_t n = (uint16_t)RTE_MIN(at->m->data_len - at->offset, len - done);
		const void *src = rte_pktmbuf_mtod_offset(at->m, void *, at->offset);

		sum = csum_block_add(sum, csum_partial_copy(dst + done, src, n, 0), done);
		done = (uint16_t)(done + n);
		skip(at, n);
	}
	return sum;
}

/* Hangs len bytes of payload on the headers in `to`, by indirect buffers, and sums them. False: no
 * buffers left. */
static bool attach_payload(struct cursor *at, struct rte_mbuf *to, uint16_t len, csum_sum_t *sum)
{
	struct rte_mbuf *last = to;
	uint16_t done = 0;

	*sum = 0;
	while (done < len) {
		uint16_t n = (uint16_t)RTE_MIN(at->m->data_len - at->offset, len - done);
		struct rte_mbuf *piece = rte_pktmbuf_alloc(dp.pool);

		if (piece == NULL)
			return false;
		rte_pktmbuf_attach(piece, at->m);
		piece->data_off = (uint16_t)(piece->data_off + at->offset);
		piece->data_len = n;
		piece->pkt_len = n;
		last->next = piece;
		last = piece;
		to->nb_segs++;
		to->pkt_len += n;
		*sum = csum_block_add(*sum, csum_partial(rte_pktmbuf_mtod(piece, void *), n, 0),
				      done);
		done = (uint16_t)(done + n);
		skip(at, n);
	}
	return true;
}

/* The headers of the segment at this offset of the payload, whose bytes have this sum. */
static void write_headers(const struct pkt *p, uint8_t *ip, uint16_t hlen, uint16_t number,
			  uint32_t offset, uint16_t len, bool last, csum_sum_t payload_sum)
{
	struct rte_ipv4_hdr *ip4 = (struct rte_ipv4_hdr *)ip;
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + p->ihl);
	uint16_t thl = (uint16_t)(hlen - p->ihl), l4_len = (uint16_t)(thl + len);

	memcpy(ip, p->nat.ip, hlen);
	ip4->total_length = rte_cpu_to_be_16((uint16_t)(hlen + len));
	ip4->packet_id = rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(ip4->packet_id) + number));
	ip4->hdr_checksum = csum_ipv4_header(ip4, p->ihl);
	tcp->sent_seq = rte_cpu_to_be_32(rte_be_to_cpu_32(tcp->sent_seq) + offset);
	if (!last)
		tcp->tcp_flags &= (uint8_t)~FLAGS_LAST;
	if (number > 0)
		tcp->tcp_flags &= (uint8_t)~FLAGS_FIRST;
	tcp->cksum = 0;
	/* a header has whole words: what follows it is at an even offset */
	tcp->cksum = csum_fold(csum_add(
		csum_partial(tcp, thl,
			     csum_pseudo_v4(ip4->src_addr, ip4->dst_addr, IPPROTO_TCP, l4_len)),
		payload_sum));
}

/* Leaves the packet to the device where that cuts, and there is somebody to send it to: what waits
 * for a neighbour waits in segments. */
static bool send_whole(struct worker *w, const struct pkt *p, uint16_t mtu, uint32_t nh)
{
	const struct fwd_nexthop *n = &dp.nexthops[nh];
	union nh_adj adj = {.word = atomic_load_explicit(&n->adj, memory_order_relaxed)};

	if (p->m->nb_segs > w->snap->ports[w->snap->ifaces[n->iface].port].tso_segs ||
	    !adj.usable || gso_datagram_len(p) > mtu)
		return false;
	tso_mark(w, p->m, n->iface, p->ihl, (uint16_t)((p->nat.l4[12] >> 4) * 4), p->m->tso_segsz);
	w->counters->events[FWD_E_tso_packets]++;
	tx_datagram(w, p->m, n->iface, adj);
	return true;
}

void gso_send(struct worker *w, const struct pkt *p, uint16_t mtu, uint32_t nh, rte_be32_t dst_be)
{
	uint16_t egress = dp.nexthops[nh].iface, size = p->m->tso_segsz, number = 0;
	bool chains = w->snap->ports[w->snap->ifaces[egress].port].multi_seg_tx;
	uint16_t hlen = (uint16_t)(p->ihl + (p->nat.l4[12] >> 4) * 4);
	uint32_t payload = (uint32_t)(p->len - hlen);
	struct cursor at = {.m = p->m};

	if (send_whole(w, p, mtu, nh))
		return;
	skip(&at, hlen);
	for (uint32_t offset = 0; offset < payload; offset += size, number++) {
		uint16_t len = (uint16_t)RTE_MIN(size, payload - offset);
		struct rte_mbuf *m = rte_pktmbuf_alloc(dp.pool);
		csum_sum_t sum;

		if (unlikely(m == NULL)) {
			dp_drop_count(w->counters, p->nat.iface, FWD_D_no_buffer);
			break; /* there will be none for the others either */
		}
		(void)rte_pktmbuf_append(m, hlen);
		if (!chains && len <= rte_pktmbuf_tailroom(m)) {
			sum = copy_payload(&at, m, len);
		} else if (unlikely(!attach_payload(&at, m, len, &sum))) {
			worker_drop(w, m, p->nat.iface, FWD_D_no_buffer);
			break;
		}
		write_headers(p, rte_pktmbuf_mtod(m, uint8_t *), hlen, number, offset, len,
			      offset + len == payload, sum);
		*fwd_priv(m) = *fwd_priv(p->m);
		if (unlikely(hlen + len > mtu))
			frag_send(w, m, mtu, nh, dst_be, p->nat.iface);
		else
			output_send(w, m, nh, dst_be, p->nat.iface);
	}
	w->counters->events[FWD_E_gso_segments] += number;
	rte_pktmbuf_free(p->m);
}
