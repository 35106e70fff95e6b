/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "tx.h"

/* Frames that the device did not take at once are tried so many times more before they count as
 * tx_full. */
#define TX_RETRIES 16

/* Counters tell of frames as they are on the wire: adds (sign 1) or takes off (-1) what m leaves
 * in, which is several where the device cuts it (TSO). */
static inline void count_tx(struct dp_iface_counters *c, const struct rte_mbuf *m, uint64_t sign)
{
	uint32_t frames = 1, bytes = m->pkt_len;

	if (unlikely(m->ol_flags & RTE_MBUF_F_TX_TCP_SEG)) {
		uint32_t hlen = (uint32_t)(m->l2_len + m->l3_len + m->l4_len);

		frames = (bytes - hlen + m->tso_segsz - 1) / m->tso_segsz;
		bytes += (frames - 1) * hlen;
	}
	c->tx_packets += sign * frames;
	c->tx_bytes += sign * bytes;
}

/* A frame that was counted as sent, and is not. */
static void drop_counted(struct worker *w, struct rte_mbuf *m, uint16_t iface, unsigned why)
{
	struct dp_iface_counters *c = &w->counters->iface[iface];
	uint64_t before = c->tx_packets;

	count_tx(c, m, UINT64_MAX);
	c->drops[why] += before - c->tx_packets;
	rte_pktmbuf_free(m);
}

/* Sends frames, which were counted as sent already; iface[i] is the egress interface of m[i]. */
static void send_frames(struct worker *w, uint16_t port, struct rte_mbuf **m, const uint16_t *iface,
			uint16_t n)
{
	uint16_t queue = w->snap->workers[w->id].txq[port];
	uint16_t sent = rte_eth_tx_burst(port, queue, m, n);

	for (unsigned try = 0; unlikely(sent < n) && try < TX_RETRIES; try++)
		sent += rte_eth_tx_burst(port, queue, m + sent, n - sent);
	for (uint16_t i = sent; unlikely(i < n); i++)
		drop_counted(w, m[i], iface[i], FWD_D_tx_full);
}

/* As send_frames(), to a device that may have to cut some of them: its driver looks at them first,
 * and each only once, since it changes them. */
static __rte_noinline void send_prepared(struct worker *w, uint16_t port, struct rte_mbuf **m,
					 const uint16_t *iface, uint16_t n)
{
	uint16_t queue = w->snap->workers[w->id].txq[port], at = 0;

	while (at < n) {
		uint16_t good = rte_eth_tx_prepare(port, queue, m + at, n - at);

		send_frames(w, port, m + at, iface + at, good);
		at += good;
		if (at < n) {
			drop_counted(w, m[at], iface[at], FWD_D_tx_refused);
			at++;
		}
	}
}

static inline void send_burst(struct worker *w, uint16_t port, struct rte_mbuf **m,
			      const uint16_t *iface, uint16_t n)
{
	if (unlikely(w->snap->ports[port].tso_segs > 0))
		send_prepared(w, port, m, iface, n);
	else
		send_frames(w, port, m, iface, n);
}

static void flush_port(struct worker *w, uint16_t port)
{
	struct tx_buffer *b = &w->tx[port];

	/* Datagrams that waited for a neighbour lie here before the first one that found it: they
	 * leave before what is buffered. */
	if (unlikely(!rte_ring_empty(dp.inject[w->id])))
		tx_injected(w);
	if (b->n == 0)
		return;
	send_burst(w, port, b->m, b->iface, b->n);
	b->n = 0;
}

/* Devices that send no chains get one buffer; a datagram larger than a buffer can't leave there. */
static struct rte_mbuf *make_linear(struct rte_mbuf *m)
{
	struct rte_mbuf *flat;

	if (rte_pktmbuf_linearize(m) == 0)
		return m;
	flat = rte_pktmbuf_alloc(dp.pool);
	if (flat != NULL) {
		char *to = rte_pktmbuf_append(flat,
					      (uint16_t)RTE_MIN(m->pkt_len, (uint32_t)UINT16_MAX));

		if (to != NULL) {
			const void *from = rte_pktmbuf_read(m, 0, m->pkt_len, to);

			if (from != to)
				memcpy(to, from, m->pkt_len);
			*fwd_priv(flat) = *fwd_priv(m);
		} else {
			rte_pktmbuf_free(flat);
			flat = NULL;
		}
	}
	rte_pktmbuf_free(m);
	return flat;
}

/* May m leave by iface? Makes it what the device can send; NULL: it is gone. */
static inline struct rte_mbuf *fit(struct worker *w, struct rte_mbuf *m, uint16_t iface)
{
	const struct dp_iface *i = &w->snap->ifaces[iface];

	if (unlikely(!(i->flags & IFACE_PRESENT))) {
		worker_drop(w, m, iface, FWD_D_iface_gone);
		return NULL;
	}
	if (unlikely(m->nb_segs > 1 && !w->snap->ports[i->port].multi_seg_tx)) {
		m = make_linear(m);
		if (m == NULL)
			dp_drop_count(w->counters, iface, FWD_D_not_linear);
	}
	return m;
}

unsigned tx_injected(struct worker *w)
{
	struct rte_ring *r = dp.inject[w->id];
	unsigned left = rte_ring_count(r), total = left;

	while (left > 0) {
		struct rte_mbuf *in[FWD_BURST], *out[FWD_BURST];
		uint16_t iface[FWD_BURST], port = 0, n_out = 0;
		unsigned n = rte_ring_sc_dequeue_burst(r, (void **)in,
						       RTE_MIN(left, (unsigned)FWD_BURST), NULL);

		left = n == 0 ? 0 : left - n;
		for (unsigned i = 0; i < n; i++) {
			uint16_t to = fwd_priv(in[i])->iface;
			struct rte_mbuf *m = fit(w, in[i], to);

			if (m == NULL)
				continue;
			if (n_out > 0 && w->snap->ifaces[to].port != port) {
				send_burst(w, port, out, iface, n_out);
				n_out = 0;
			}
			port = w->snap->ifaces[to].port;
			count_tx(&w->counters->iface[to], m, 1);
			iface[n_out] = to;
			out[n_out++] = m;
		}
		if (n_out > 0)
			send_burst(w, port, out, iface, n_out);
	}
	return total;
}

static struct tx_buffer *buffer_of(struct worker *w, uint16_t port)
{
	struct tx_buffer *b = &w->tx[port];

	if (unlikely(!b->listed)) {
		b->listed = true;
		w->tx_ports[w->n_tx_ports++] = port;
	}
	return b;
}

void tx_full(struct worker *w, uint16_t port)
{
	flush_port(w, port);
}

void tx_frame(struct worker *w, struct rte_mbuf *m, uint16_t iface)
{
	const struct fwd_snapshot *snap = w->snap;
	uint16_t port = snap->ifaces[iface].port;
	struct tx_buffer *b;

	m = fit(w, m, iface);
	if (m == NULL)
		return;
	if (unlikely(snap->workers[w->id].txq[port] == UINT16_MAX)) {
		fwd_priv(m)->iface = iface;
		if (rte_ring_mp_enqueue(dp.inject[snap->txq_owner[port]], m) != 0)
			worker_drop(w, m, iface, FWD_D_handover_full);
		else
			w->counters->events[FWD_E_handovers]++;
		return;
	}
	b = buffer_of(w, port);
	count_tx(&w->counters->iface[iface], m, 1);
	b->m[b->n] = m;
	b->iface[b->n] = iface;
	if (++b->n == FWD_BURST)
		tx_full(w, port);
}

void tx_datagram(struct worker *w, struct rte_mbuf *m, uint16_t iface, union nh_adj adj)
{
	const struct dp_iface *i = &w->snap->ifaces[iface];
	struct rte_ether_hdr *eth;

	if (unlikely(i->vlan != 0)) {
		struct rte_vlan_hdr *tag;

		eth = (struct rte_ether_hdr *)rte_pktmbuf_prepend(m, sizeof(*eth) + sizeof(*tag));
		if (unlikely(eth == NULL)) {
			worker_drop(w, m, iface, FWD_D_not_linear);
			return;
		}
		tag = (struct rte_vlan_hdr *)(eth + 1);
		tag->vlan_tci = rte_cpu_to_be_16(i->vlan);
		tag->eth_proto = RTE_BE16(RTE_ETHER_TYPE_IPV4);
		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_VLAN);
	} else {
		eth = (struct rte_ether_hdr *)rte_pktmbuf_prepend(m, sizeof(*eth));
		if (unlikely(eth == NULL)) {
			worker_drop(w, m, iface, FWD_D_not_linear);
			return;
		}
		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	}
	memcpy(&eth->dst_addr, adj.mac, sizeof(eth->dst_addr));
	eth->src_addr = i->mac;
	tx_frame(w, m, iface);
}

void tx_way_to(struct worker *w, struct tx_way *way, uint16_t iface)
{
	const struct fwd_snapshot *snap = w->snap;
	const struct dp_iface *i = &snap->ifaces[iface < FWD_MAX_IFACES ? iface : 0];
	struct rte_ether_hdr eth;

	if (way->packets > 0) {
		way->counters->tx_packets += way->packets;
		way->counters->tx_bytes += way->bytes;
	}
	*way = (struct tx_way){.iface = iface, .port = i->port};
	if (iface >= FWD_MAX_IFACES || !(i->flags & IFACE_PRESENT) || i->vlan != 0 ||
	    snap->workers[w->id].txq[i->port] == UINT16_MAX)
		return;
	eth.src_addr = i->mac;
	eth.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	memcpy(&way->head, (const uint8_t *)&eth + RTE_ETHER_ADDR_LEN, sizeof(way->head));
	way->mtu = i->mtu;
	way->buffer = buffer_of(w, i->port);
	way->counters = &w->counters->iface[iface];
}

void tx_flush(struct worker *w)
{
	while (w->n_tx_ports > 0) {
		uint16_t port = w->tx_ports[--w->n_tx_ports];

		w->tx[port].listed = false;
		flush_port(w, port);
	}
}
