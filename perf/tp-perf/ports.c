/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_errno.h>

#include "ports.h"

#define OWN_PORTS     2
#define FRESH_EACH    50 /* packets from inside, half of all, for one that opens a session */
#define PREFETCH_MBUF 4

struct ports ports;

/* A queue's function pointer receives the queue's pointer; these take the place of DPDK's. */
static void *rx_queues[PORTS_MAX][QUEUES_MAX], *tx_queues[PORTS_MAX][QUEUES_MAX];

/* ---- in front of a device's queue ------------------------------------------------------------ */

static inline void count_rx(struct queue *q, uint16_t n)
{
	if (n == 0)
		return;
	q->rx_packets += n;
	q->rx_bursts++;
	q->hist[n]++;
}

static uint16_t device_rx(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct queue *q = queue;

	n = q->rx(q->rxq, m, RTE_MIN(n, q->burst));
	count_rx(q, n);
	return n;
}

static uint16_t device_tx(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct queue *q = queue;

	n = q->tx(q->txq, m, n);
	q->tx_packets += n;
	return n;
}

/* ---- our own --------------------------------------------------------------------------------- */

void ports_pile_fill(struct pile *p, unsigned n)
{
	while (p->n < n && rte_mempool_get(p->pool, (void **)&p->m[p->n]) == 0)
		p->n++;
}

/* A frame of at most FRAME_MAX bytes: whatever follows the head is in the buffer from the start. */
static inline void put_head(struct rte_mbuf *m, const struct queue *q, const struct frame_head *h)
{
	uint8_t *frame = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;
	uint32_t len = RTE_ETHER_HDR_LEN + frames_total(h);

	memcpy(&m->rearm_data, &q->rearm, sizeof(q->rearm));
	m->ol_flags = 0;
	m->pkt_len = len;
	m->data_len = (uint16_t)len;
	memcpy(frame, &q->eth, sizeof(q->eth));
	memcpy(frame + sizeof(q->eth), h, sizeof(*h));
}

static void put_fresh(struct rte_mbuf *m, struct queue *q)
{
	struct flow f = frames_fresh(q->fresh, q->fresh_at * q->step + q->first);
	struct frame_head h;

	frames_head(&h, &f, frames_len(q->fresh, q->fresh_at++));
	put_head(m, q, &h);
}

static void put_captured(struct rte_mbuf *m, const struct queue *q, const struct capture_frame *c)
{
	memcpy(&m->rearm_data, &q->rearm, sizeof(q->rearm));
	m->ol_flags = 0;
	m->pkt_len = c->len;
	m->data_len = c->len;
	memcpy((uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM, q->frames->bytes + c->at, c->len);
}

static uint16_t own_rx(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct queue *q = queue;
	const struct frames *f = q->frames;
	struct pile *p = q->pile;

	if (unlikely(q->own_rx != NULL)) {
		n = q->own_rx(q, m, n);
		count_rx(q, n);
		return n;
	}
	if (f == NULL)
		return 0;
	n = RTE_MIN(n, q->burst);
	if (unlikely(p->n < n)) {
		ports_pile_fill(p, n);
		n = (uint16_t)p->n;
	}
	p->n -= n;
	for (uint16_t i = 0; i < n; i++) {
		m[i] = p->m[p->n + i];
		if (unlikely(q->at >= f->n)) {
			if (q->once) { /* the rest goes back */
				for (uint16_t k = i; k < n; k++)
					p->m[p->n + k - i] = p->m[p->n + k];
				p->n += (unsigned)n - i;
				n = i;
				break;
			}
			q->at = q->first;
		}
		if (f->heads == NULL) {
			put_captured(m[i], q, &f->captured[q->at]);
		} else if (unlikely(q->fresh != NULL && --q->fresh_in == 0)) {
			q->fresh_in = FRESH_EACH;
			put_fresh(m[i], q);
			continue;
		} else {
			put_head(m[i], q, &f->heads[q->at]);
		}
		q->at += q->step;
	}
	count_rx(q, n);
	return n;
}

static uint16_t own_tx(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct queue *q = queue;
	struct pile *p = q->pile;

	q->tx_packets += n;
	for (uint16_t i = 0; unlikely(q->sent != NULL) && i < n; i++)
		q->sent(q->sent_arg, m[i]);
	if (unlikely(q->own_tx != NULL)) {
		q->own_tx(q, m, n);
		return n;
	}
	if (unlikely(p->n + n > PILE_ROOM)) {
		rte_mempool_put_bulk(p->pool, (void **)m, n);
		return n;
	}
	memcpy(&p->m[p->n], m, n * sizeof(*m));
	p->n += n;
	return n;
}

uint16_t ports_make(unsigned i, unsigned queue, struct rte_mbuf **m, uint16_t n)
{
	return own_rx(&ports.queues[i][queue], m, n);
}

void ports_take(unsigned i, unsigned queue, struct rte_mbuf **m, uint16_t n)
{
	own_tx(&ports.queues[i][queue], m, n);
}

void ports_feed(unsigned i, const struct frames *frames, unsigned n, bool once,
		const struct options *fresh)
{
	for (unsigned k = 0; k < ports.n_rxq; k++) {
		struct queue *q = &ports.queues[i][k];

		q->frames = k < n ? frames : NULL;
		q->at = q->first = k;
		q->step = n;
		q->once = once;
		q->fresh = fresh;
		q->fresh_in = FRESH_EACH;
		q->own_rx = NULL;
		q->own_tx = NULL;
	}
}

void ports_feed_each(unsigned i, const struct frames *frames, unsigned n, bool once)
{
	ports_feed(i, frames, n, once, NULL);
	for (unsigned k = 0; frames != NULL && k < n; k++) {
		struct queue *q = &ports.queues[i][k];

		q->frames = frames[k].n > 0 ? &frames[k] : NULL;
		q->at = q->first = 0;
		q->step = 1;
	}
}

void ports_own(unsigned i, uint16_t (*rx)(struct queue *q, struct rte_mbuf **m, uint16_t n),
	       void (*tx)(struct queue *q, struct rte_mbuf **m, uint16_t n), void *arg)
{
	struct queue *q = &ports.queues[i][0];

	q->own_rx = rx;
	q->own_tx = tx;
	q->own_arg = arg;
}

bool ports_fed(void)
{
	for (unsigned i = 0; i < ports.n; i++) {
		for (unsigned k = 0; k < ports.n_rxq; k++) {
			const struct queue *q = &ports.queues[i][k];

			if (q->frames != NULL && q->once && q->at < q->frames->n)
				return false;
		}
	}
	return true;
}

void ports_watch(unsigned i, void (*sent)(void *arg, struct rte_mbuf *m), void *arg)
{
	for (unsigned k = 0; k < ports.n_txq; k++) {
		ports.queues[i][k].sent = sent;
		ports.queues[i][k].sent_arg = arg;
	}
}

void ports_pile(unsigned queue, struct pile *pile)
{
	for (unsigned i = 0; i < ports.n; i++)
		ports.queues[i][queue].pile = pile;
}

void ports_set_burst(uint16_t burst)
{
	for (unsigned i = 0; i < ports.n; i++) {
		for (unsigned k = 0; k < QUEUES_MAX; k++)
			ports.queues[i][k].burst = burst;
	}
}

void ports_clear_counters(void)
{
	for (unsigned i = 0; i < ports.n; i++) {
		for (unsigned k = 0; k < QUEUES_MAX; k++) {
			struct queue *q = &ports.queues[i][k];

			q->rx_packets = q->rx_bursts = q->tx_packets = 0;
			memset(q->hist, 0, sizeof(q->hist));
		}
	}
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Puts our queues in front of the device's (or, for our own ports, in their place). */
static void take_over(unsigned i)
{
	uint16_t id = ports.ids[i];
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[id];
	struct rte_mbuf rearm = {.data_off = RTE_PKTMBUF_HEADROOM, .nb_segs = 1, .port = id};

	rte_mbuf_refcnt_set(&rearm, 1);
	for (unsigned k = 0; k < QUEUES_MAX; k++) {
		struct queue *q = &ports.queues[i][k];

		rx_queues[i][k] = tx_queues[i][k] = q;
		q->rx = ops->rx_pkt_burst;
		q->tx = ops->tx_pkt_burst;
		q->rxq = k < ports.n_rxq ? ops->rxq.data[k] : NULL;
		q->txq = k < ports.n_txq ? ops->txq.data[k] : NULL;
		q->eth.dst_addr = ports.macs[i];
		q->eth.src_addr = (struct rte_ether_addr){{0x02, 0, 0, 0, 0, 0xaa}};
		q->eth.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
		memcpy(&q->rearm, &rearm.rearm_data, sizeof(q->rearm));
	}
	ops->rx_pkt_burst = ports.own ? own_rx : device_rx;
	ops->tx_pkt_burst = ports.own ? own_tx : device_tx;
	ops->rxq.data = rx_queues[i];
	ops->txq.data = tx_queues[i];
}

static bool start_port(unsigned i, const struct options *o, struct rte_mempool *pool)
{
	uint16_t id = ports.ids[i], rxd = o->rxd, txd = o->txd;
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(id, &info);

	if (rc == 0 && ports.n_rxq > 1) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
			info.flow_type_rss_offloads &
			(RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);
		if (conf.rx_adv_conf.rss_conf.rss_hf == 0)
			conf.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
	}
	if (rc == 0)
		rc = rte_eth_dev_configure(id, ports.n_rxq, ports.n_txq, &conf);
	if (rc == 0)
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(id, &rxd, &txd);
	for (uint16_t k = 0; rc == 0 && k < ports.n_rxq; k++)
		rc = rte_eth_rx_queue_setup(id, k, rxd, SOCKET_ID_ANY, NULL, pool);
	for (uint16_t k = 0; rc == 0 && k < ports.n_txq; k++)
		rc = rte_eth_tx_queue_setup(id, k, txd, SOCKET_ID_ANY, NULL);
	if (rc == 0)
		rc = rte_eth_dev_start(id);
	if (rc == 0)
		rc = rte_eth_macaddr_get(id, &ports.macs[i]);
	if (rc != 0) {
		fprintf(stderr, "tp-perf: port %u (%u receive, %u transmit queues): %s\n", id,
			ports.n_rxq, ports.n_txq, rte_strerror(-rc));
		return false;
	}
	(void)rte_eth_promiscuous_enable(id); /* drivers without it get all frames anyway */
	take_over(i);
	return true;
}

bool ports_start(const struct options *o, struct rte_mempool *pool)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id)
	{
		if (id >= 64 || o->portmask >> id & 1)
			ports.ids[ports.n++] = id;
	}
	if (ports.n == 0 && rte_eth_dev_count_avail() > 0) {
		fprintf(stderr, "tp-perf: the port mask names none of the %u ports\n",
			rte_eth_dev_count_avail());
		return false;
	}
	ports.n_rxq = o->rxq;
	ports.n_txq = o->txq;
	ports.own = ports.n == 0;
	for (unsigned i = 0; ports.own && i < OWN_PORTS; i++) {
		char name[RTE_ETH_NAME_MAX_LEN];

		snprintf(name, sizeof(name), "net_null_tp%u", i);
		if (rte_eal_hotplug_add("vdev", name, "") != 0 ||
		    rte_eth_dev_get_port_by_name(name, &ports.ids[i]) != 0) {
			fprintf(stderr,
				"tp-perf: no port of its own: DPDK's net_null driver is needed: "
				"%s\n",
				rte_strerror(rte_errno));
			return false;
		}
		ports.n++;
	}
	if (options_trials(o) && !ports.own && ports.n != 2 && ports.n != 4) {
		fprintf(stderr,
			"tp-perf: --ndr and --latency take two ports, each with a loop behind it, "
			"or "
			"four, the third cabled to the first and the fourth to the second; not "
			"%u\n",
			ports.n);
		return false;
	}
	for (unsigned i = 0; i < ports.n; i++) {
		if (!start_port(i, o, pool))
			return false;
	}
	if (options_trials(o) && ports.n == 4) {
		ports.n_testers = 2;
		ports.n = 2;
	}
	ports_set_burst(o->burst);
	return true;
}

void ports_stop(void)
{
	for (unsigned i = 0; i < ports.n + ports.n_testers; i++) {
		rte_eth_dev_stop(ports.ids[i]);
		rte_eth_dev_close(ports.ids[i]);
	}
	ports.n = ports.n_testers = 0;
}
