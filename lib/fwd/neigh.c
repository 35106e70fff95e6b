/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <rte_jhash.h>

#include "arp.h"
#include "fib.h"
#include "neigh.h"
#include "nexthop.h"

#define QUEUE_LEN    8 /* packets that wait for one neighbour */
#define RETRY_MS     1000
#define TRIES	     3
#define REACHABLE_MS 300000
#define FAILED_MS    3000 /* so long a neighbour that did not answer is not asked again */
/* INCOMPLETE entries that packets made, and as many FAILED ones: here a scan stops. */
#define UNRESOLVED_MAX 1024
#define NEIGH_MAX      24576 /* leaves next hops for networks, own addresses and groups */
#define LOG_MS	       10000

struct neigh {
	rte_be32_t addr_be;
	uint16_t iface;
	uint16_t nh;
	uint8_t state; /* enum fwd_neigh_state */
	uint8_t mac[6];
	uint8_t tries;
	uint8_t n_queued;
	bool is_static;	   /* its /32 is a static route by it */
	uint32_t next;	   /* in its hash chain, or in the list of free entries; 0 ends */
	uint32_t timer;	   /* place in the heap, 0: none */
	uint64_t due_ms;   /* of the timer */
	uint64_t until_ms; /* FAILED: not asked again before */
	uint64_t confirmed_ms;
	struct rte_mbuf *queue[QUEUE_LEN]; /* oldest first */
};

static struct {
	struct neigh *table; /* from 1 */
	uint32_t max, count, free;
	uint32_t *buckets, mask, seed;
	uint32_t *heap; /* of entries by due_ms, from 1 */
	uint32_t n_timers;
	uint16_t by_nh[FWD_MAX_NH];
	unsigned states[FWD_NEIGH_PERMANENT + 1]; /* entries in each */
	unsigned held, held_max;
	uint64_t logged_ms;
	void (*unreachable)(struct rte_mbuf *m);
} nb;

static uint64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

uint64_t (*neigh_clock_ms)(void) = clock_ms;

const char *fwd_neigh_state_name(enum fwd_neigh_state s)
{
	static const char *const names[] = {
		[FWD_NEIGH_INCOMPLETE] = "incomplete", [FWD_NEIGH_REACHABLE] = "reachable",
		[FWD_NEIGH_PROBE] = "probe",	       [FWD_NEIGH_FAILED] = "failed",
		[FWD_NEIGH_PERMANENT] = "permanent",
	};

	return (unsigned)s < RTE_DIM(names) ? names[s] : "unknown";
}

int neigh_init(uint32_t max, void (*unreachable)(struct rte_mbuf *m), struct fwd_err *err)
{
	memset(&nb, 0, sizeof(nb));
	nb.max = RTE_MIN(max, (uint32_t)NEIGH_MAX);
	nb.mask = rte_align32pow2(nb.max + 1) - 1;
	nb.table = calloc((size_t)nb.max + 1, sizeof(*nb.table));
	nb.heap = calloc((size_t)nb.max + 1, sizeof(*nb.heap));
	nb.buckets = calloc((size_t)nb.mask + 1, sizeof(*nb.buckets));
	if (!nb.table || !nb.heap || !nb.buckets) {
		neigh_fini();
		return dp_err(err, -ENOMEM, "no memory for %u neighbours", nb.max);
	}
	if (getrandom(&nb.seed, sizeof(nb.seed), 0) != sizeof(nb.seed)) {
		neigh_fini();
		return dp_err(err, -EIO, "no random seed for the neighbour table");
	}
	for (uint32_t i = nb.max; i > 0; i--) {
		nb.table[i].next = nb.free;
		nb.free = i;
	}
	nb.held_max = dp.pool ? dp.pool->size / 8 : UNRESOLVED_MAX;
	nb.unreachable = unreachable;
	return 0;
}

void neigh_fini(void)
{
	for (uint32_t i = 1; nb.table && i <= nb.max; i++)
		rte_pktmbuf_free_bulk(nb.table[i].queue, nb.table[i].n_queued);
	free(nb.table);
	free(nb.heap);
	free(nb.buckets);
	memset(&nb, 0, sizeof(nb));
}

unsigned neigh_count(void)
{
	return nb.count;
}

unsigned neigh_held(void)
{
	return nb.held;
}

static void drop(struct rte_mbuf *m, enum fwd_drop why)
{
	dp_drop_count(dp.counters[dp.n_workers], fwd_priv(m)->iface, why);
	rte_pktmbuf_free(m);
}

static void log_full(const char *what)
{
	uint64_t now = neigh_clock_ms();

	if (nb.logged_ms && now < nb.logged_ms + LOG_MS)
		return;
	nb.logged_ms = now;
	dp_log(FWD_LOG_WARNING, "neighbours: %s (%u entries, %u unresolved)", what, nb.count,
	       nb.states[FWD_NEIGH_INCOMPLETE]);
}

/* ---- timers: a heap -------------------------------------------------------------------------- */

static void heap_put(uint32_t at, uint32_t i)
{
	nb.heap[at] = i;
	nb.table[i].timer = at;
}

static uint64_t heap_due(uint32_t at)
{
	return nb.table[nb.heap[at]].due_ms;
}

static void heap_swap(uint32_t a, uint32_t b)
{
	uint32_t i = nb.heap[a];

	heap_put(a, nb.heap[b]);
	heap_put(b, i);
}

static void heap_fix(uint32_t at)
{
	for (; at > 1 && heap_due(at) < heap_due(at / 2); at /= 2)
		heap_swap(at, at / 2);
	for (;;) {
		uint32_t least = at;

		for (uint32_t child = 2 * at; child <= 2 * at + 1 && child <= nb.n_timers;
		     child++) {
			if (heap_due(child) < heap_due(least))
				least = child;
		}
		if (least == at)
			return;
		heap_swap(at, least);
		at = least;
	}
}

static void timer_stop(struct neigh *n)
{
	uint32_t at = n->timer;

	if (!at)
		return;
	n->timer = 0;
	if (at != nb.n_timers) {
		heap_put(at, nb.heap[nb.n_timers]);
		nb.n_timers--;
		heap_fix(at);
	} else {
		nb.n_timers--;
	}
}

static void timer_set(struct neigh *n, uint64_t due_ms)
{
	n->due_ms = due_ms;
	if (!n->timer)
		heap_put(++nb.n_timers, n - nb.table);
	heap_fix(n->timer);
}

/* ---- the table ------------------------------------------------------------------------------- */

static uint32_t *bucket(rte_be32_t addr_be)
{
	return &nb.buckets[rte_jhash_1word(addr_be, nb.seed) & nb.mask];
}

static struct neigh *find(uint16_t iface, rte_be32_t addr_be)
{
	for (uint32_t i = *bucket(addr_be); i; i = nb.table[i].next) {
		if (nb.table[i].addr_be == addr_be && nb.table[i].iface == iface)
			return &nb.table[i];
	}
	return NULL;
}

static bool in_use(const struct neigh *n)
{
	return n->nh != 0;
}

static void set_state(struct neigh *n, enum fwd_neigh_state s)
{
	nb.states[n->state]--;
	nb.states[s]++;
	n->state = s;
}

/* A new entry, INCOMPLETE, without a timer. */
static struct neigh *make(uint16_t iface, rte_be32_t addr_be)
{
	struct neigh *n;
	uint32_t i = nb.free, *b;
	int nh;

	if (!i) {
		log_full("the table is full");
		return NULL;
	}
	nh = nexthop_alloc(NH_NEIGHBOUR, iface, addr_be);
	if (nh < 0) {
		log_full("all next hops are in use");
		return NULL;
	}
	n = &nb.table[i];
	nb.free = n->next;
	b = bucket(addr_be);
	*n = (struct neigh){
		.addr_be = addr_be,
		.iface = iface,
		.nh = nh,
		.state = FWD_NEIGH_INCOMPLETE,
		.next = *b,
	};
	*b = i;
	nb.states[FWD_NEIGH_INCOMPLETE]++;
	nb.by_nh[nh] = i;
	nb.count++;
	return n;
}

static bool usable(const struct neigh *n)
{
	return n->state == FWD_NEIGH_REACHABLE || n->state == FWD_NEIGH_PROBE ||
	       n->state == FWD_NEIGH_PERMANENT;
}

static void publish_mac(struct neigh *n)
{
	union nh_adj adj = {.word = 0};

	if (usable(n)) {
		memcpy(adj.mac, n->mac, sizeof(adj.mac));
		adj.usable = 1;
	}
	atomic_store_explicit(&dp.nexthops[n->nh].adj, adj.word, memory_order_release);
}

/* Gives the neighbour its own /32 prefix, or takes it away. Without one its packets come here by
 * the connected network, and are sent on from here: slow, but right. False: the table still points
 * to the next hop. */
static bool settle(struct neigh *n)
{
	uint32_t ip = rte_be_to_cpu_32(n->addr_be), is = fib_get(ip, 32);
	const struct fwd_nexthop *cover;
	bool want = false;
	uint8_t len;

	if (usable(n) && !n->is_static) {
		cover = &dp.nexthops[fib_match(ip, 31, &len)];
		want = cover->type == NH_GLEAN && cover->iface == n->iface;
	}
	if (want && is == 0) {
		if (fib_set(ip, 32, n->nh))
			log_full(fib_full_reason());
	} else if (!want && is == n->nh && !n->is_static) {
		return fib_unset(ip, 32) == 0;
	}
	return true;
}

static void drop_queue(struct neigh *n, enum fwd_drop why)
{
	for (unsigned q = 0; q < n->n_queued; q++)
		drop(n->queue[q], why);
	nb.held -= n->n_queued;
	n->n_queued = 0;
}

static void destroy(struct neigh *n)
{
	uint32_t i = n - nb.table, *p = bucket(n->addr_be);
	bool out;

	timer_stop(n);
	drop_queue(n, FWD_D_neighbour_removed);
	set_state(n, FWD_NEIGH_INCOMPLETE);
	publish_mac(n);
	out = settle(n);
	while (*p != i)
		p = &nb.table[*p].next;
	*p = n->next;
	nb.states[FWD_NEIGH_INCOMPLETE]--;
	nb.by_nh[n->nh] = 0;
	if (out)
		nexthop_free(n->nh);
	memset(n, 0, sizeof(*n));
	n->next = nb.free;
	nb.free = i;
	nb.count--;
}

/* ---- the states ------------------------------------------------------------------------------ */

/* Begins to ask; the request leaves at the next tick, when the interface has been published. */
static void start(struct neigh *n)
{
	memset(n->mac, 0, sizeof(n->mac));
	set_state(n, FWD_NEIGH_INCOMPLETE);
	publish_mac(n);
	settle(n);
	n->tries = 0;
	timer_set(n, neigh_clock_ms());
}

/* Removes an entry, or starts it anew if a route needs it. */
static void forget(struct neigh *n)
{
	if (nexthop_refs(n->nh)) {
		drop_queue(n, FWD_D_neighbour_removed);
		start(n);
	} else {
		destroy(n);
	}
}

static void fail(struct neigh *n)
{
	uint64_t now = neigh_clock_ms();

	for (unsigned q = 0; q < n->n_queued; q++)
		nb.unreachable(n->queue[q]);
	nb.held -= n->n_queued;
	n->n_queued = 0;
	if (!nexthop_refs(n->nh) && nb.states[FWD_NEIGH_FAILED] >= UNRESOLVED_MAX) {
		destroy(n);
		return;
	}
	set_state(n, FWD_NEIGH_FAILED);
	n->until_ms = now + FAILED_MS;
	if (nexthop_refs(n->nh))
		timer_stop(n); /* stays, and is asked for again when a packet needs it */
	else
		timer_set(n, n->until_ms);
}

static void send_to(struct neigh *n, const struct iface *i, struct rte_mbuf *m)
{
	uint16_t ingress = fwd_priv(m)->iface;
	unsigned worker = fwd_priv(m)->worker;

	if (!iface_encap(i, m, n->mac, RTE_ETHER_TYPE_IPV4)) {
		drop(m, FWD_D_not_linear);
		return;
	}
	iface_send(i, m, ingress, worker);
}

/* The neighbour has this MAC address, for now or (PERMANENT) for good. */
static void resolve(struct neigh *n, const uint8_t mac[6], enum fwd_neigh_state state)
{
	const struct iface *i = iface_get(n->iface);
	bool changed = !usable(n) || memcmp(n->mac, mac, sizeof(n->mac));

	n->confirmed_ms = neigh_clock_ms();
	if (state == FWD_NEIGH_PERMANENT)
		timer_stop(n);
	else if (n->state != FWD_NEIGH_REACHABLE) /* its timer looks at confirmed_ms itself */
		timer_set(n, n->confirmed_ms + REACHABLE_MS);
	set_state(n, state);
	if (!changed)
		return;
	memcpy(n->mac, mac, sizeof(n->mac));
	/* What waited goes into the ring before a worker can see the address: it leaves first. */
	for (unsigned q = 0; q < n->n_queued; q++)
		send_to(n, i, n->queue[q]);
	nb.held -= n->n_queued;
	n->n_queued = 0;
	publish_mac(n);
	settle(n);
}

static void ask(struct neigh *n, bool unicast)
{
	const uint8_t *to = unicast ? n->mac : arp_broadcast_mac;

	arp_send(iface_get(n->iface), ARP_REQUEST, to, address_source(n->iface, n->addr_be), NULL,
		 n->addr_be);
	n->tries++;
	timer_set(n, neigh_clock_ms() + RETRY_MS);
}

/* An entry's timer has run out. */
static void step(struct neigh *n)
{
	switch ((enum fwd_neigh_state)n->state) {
	case FWD_NEIGH_INCOMPLETE:
		if (n->tries < TRIES)
			ask(n, false);
		else
			fail(n);
		break;
	case FWD_NEIGH_REACHABLE:
		if (neigh_clock_ms() < n->confirmed_ms + REACHABLE_MS) {
			timer_set(n, n->confirmed_ms + REACHABLE_MS);
			break;
		}
		set_state(n, FWD_NEIGH_PROBE);
		n->tries = 0;
		ask(n, true);
		break;
	case FWD_NEIGH_PROBE: /* RFC 1122 2.3.2.1: unicast first */
		if (n->tries < 2 * TRIES)
			ask(n, n->tries < TRIES);
		else
			forget(n);
		break;
	case FWD_NEIGH_FAILED:
		if (nexthop_refs(n->nh))
			timer_stop(n);
		else
			destroy(n);
		break;
	case FWD_NEIGH_PERMANENT:
		timer_stop(n);
		break;
	}
}

int neigh_tick(unsigned budget)
{
	uint64_t now = neigh_clock_ms();

	for (; nb.n_timers && heap_due(1) <= now; budget--) {
		if (budget == 0)
			return 0;
		step(&nb.table[nb.heap[1]]);
	}
	if (!nb.n_timers)
		return -1;
	return RTE_MIN(heap_due(1) - now, (uint64_t)REACHABLE_MS);
}

/* ---- packets --------------------------------------------------------------------------------- */

/* The entry that a held packet is for; NULL: there is none any more, or no more are taken. */
static struct neigh *wanted(const struct fwd_mbuf_priv *priv, enum fwd_drop *why)
{
	const struct fwd_nexthop *nh =
		priv->nh < FWD_MAX_NH ? &dp.nexthops[priv->nh] : &dp.nexthops[0];
	struct neigh *n;

	*why = FWD_D_neighbour_removed;
	if (nh->type == NH_NEIGHBOUR)
		return nb.by_nh[priv->nh] ? &nb.table[nb.by_nh[priv->nh]] : NULL;
	if (nh->type != NH_GLEAN || !address_on_link(nh->iface, priv->dst_be))
		return NULL;
	n = find(nh->iface, priv->dst_be);
	if (n)
		return n;
	*why = FWD_D_neighbour_table_full;
	if (nb.states[FWD_NEIGH_INCOMPLETE] >= UNRESOLVED_MAX) {
		log_full("too many are unresolved");
		return NULL;
	}
	n = make(nh->iface, priv->dst_be);
	if (n)
		timer_set(n, neigh_clock_ms());
	return n;
}

void neigh_hold(struct rte_mbuf *m)
{
	enum fwd_drop why;
	struct neigh *n = wanted(fwd_priv(m), &why);

	if (!n) {
		drop(m, why);
		return;
	}
	if (usable(n)) { /* resolved since the worker looked */
		send_to(n, iface_get(n->iface), m);
		return;
	}
	if (n->state == FWD_NEIGH_FAILED) {
		if (neigh_clock_ms() < n->until_ms) {
			nb.unreachable(m);
			return;
		}
		start(n);
	}
	if (n->n_queued == QUEUE_LEN || nb.held >= nb.held_max) {
		drop(m, FWD_D_neighbour_queue_full);
		return;
	}
	n->queue[n->n_queued++] = m;
	nb.held++;
}

/* ---- what ARP tells -------------------------------------------------------------------------- */

void neigh_seen(uint16_t iface, rte_be32_t addr_be, const uint8_t mac[6], enum neigh_claim claim)
{
	struct neigh *n = find(iface, addr_be);

	if (n) {
		bool same = usable(n) && !memcmp(n->mac, mac, sizeof(n->mac));

		if (n->state != FWD_NEIGH_PERMANENT && (same || claim != NEIGH_SPOKE))
			resolve(n, mac, FWD_NEIGH_REACHABLE);
		return;
	}
	if (claim != NEIGH_ASKED || !address_on_link(iface, addr_be))
		return;
	/* The last quarter is for those whom the router asks for: requests with invented senders
	 * can't take it. */
	if (nb.count >= nb.max - nb.max / 4) {
		log_full("too many to learn more from their requests");
		return;
	}
	n = make(iface, addr_be);
	if (n)
		resolve(n, mac, FWD_NEIGH_REACHABLE);
}

/* ---- for routes ------------------------------------------------------------------------------ */

int neigh_acquire(uint16_t iface, rte_be32_t addr_be, struct fwd_err *err)
{
	struct neigh *n = find(iface, addr_be);

	if (!n) {
		n = make(iface, addr_be);
		if (!n)
			return dp_err(err, -ENOSPC,
				      "no room for gateway %s in the table of %u neighbours",
				      ip_text(addr_be).s, nb.max);
		timer_set(n, neigh_clock_ms());
	} else if (n->state == FWD_NEIGH_FAILED) {
		start(n);
	}
	nexthop_ref(n->nh);
	return n->nh;
}

void neigh_released(unsigned nh)
{
	struct neigh *n = &nb.table[nb.by_nh[nh]];

	if (!nexthop_refs(nh) && n->state == FWD_NEIGH_FAILED)
		timer_set(n, n->until_ms);
}

void neigh_set_static(unsigned nh, bool is_static)
{
	nb.table[nb.by_nh[nh]].is_static = is_static;
}

bool neigh_is_static(unsigned nh)
{
	return nb.table[nb.by_nh[nh]].is_static;
}

void neigh_settle(rte_be32_t net_be, uint8_t len)
{
	if (len == 32) {
		for (uint32_t i = *bucket(net_be); i; i = nb.table[i].next) {
			if (nb.table[i].addr_be == net_be)
				settle(&nb.table[i]);
		}
		return;
	}
	for (uint32_t i = 1; i <= nb.max; i++) {
		struct neigh *n = &nb.table[i];

		if (in_use(n) && prefix_covers(net_be, len, n->addr_be))
			settle(n);
	}
}

/* ---- interfaces and addresses ---------------------------------------------------------------- */

int neigh_iface_may_go(uint16_t iface, struct fwd_err *err)
{
	for (uint32_t i = 1; i <= nb.max; i++) {
		const struct neigh *n = &nb.table[i];

		if (in_use(n) && n->iface == iface && nexthop_refs(n->nh))
			return dp_err(err, -EBUSY,
				      "routes go by gateway %s on '%s': delete them first",
				      ip_text(n->addr_be).s, iface_get(iface)->conf.name);
	}
	return 0;
}

void neigh_iface_going(uint16_t iface)
{
	for (uint32_t i = 1; i <= nb.max; i++) {
		if (in_use(&nb.table[i]) && nb.table[i].iface == iface)
			destroy(&nb.table[i]);
	}
}

int neigh_address_may_take(rte_be32_t addr_be, struct fwd_err *err)
{
	uint32_t next;

	for (uint32_t i = *bucket(addr_be); i; i = nb.table[i].next) {
		const struct neigh *n = &nb.table[i];

		if (n->addr_be != addr_be)
			continue;
		if (nexthop_refs(n->nh))
			return dp_err(err, -EADDRINUSE, "%s is the gateway of a route",
				      ip_text(addr_be).s);
		if (n->state == FWD_NEIGH_PERMANENT)
			return dp_err(err, -EADDRINUSE, "%s is a neighbour on '%s'",
				      ip_text(addr_be).s, iface_get(n->iface)->conf.name);
	}
	for (uint32_t i = *bucket(addr_be); i; i = next) {
		next = nb.table[i].next;
		if (nb.table[i].addr_be == addr_be)
			destroy(&nb.table[i]);
	}
	return 0;
}

/* Does an address of the interface other than a have this neighbour in its prefix? */
static bool covered_otherwise(const struct neigh *n, const struct fwd_address *a)
{
	for (unsigned i = 0; i < address_count(n->iface); i++) {
		const struct fwd_address *b = address_at(n->iface, i);

		if (b->addr_be != a->addr_be && prefix_covers(b->addr_be, b->len, n->addr_be))
			return true;
	}
	return false;
}

static bool depends_on(const struct neigh *n, const struct fwd_address *a)
{
	return in_use(n) && n->iface == a->iface && prefix_covers(a->addr_be, a->len, n->addr_be) &&
	       !covered_otherwise(n, a);
}

int neigh_address_may_go(const struct fwd_address *a, struct fwd_err *err)
{
	for (uint32_t i = 1; i <= nb.max; i++) {
		const struct neigh *n = &nb.table[i];

		if (depends_on(n, a) && nexthop_refs(n->nh))
			return dp_err(
				err, -EBUSY,
				"routes go by gateway %s, which %s/%u connects: delete them first",
				ip_text(n->addr_be).s, ip_text(a->addr_be).s, a->len);
	}
	return 0;
}

void neigh_address_came(const struct fwd_address *a)
{
	if (a->len < 32)
		neigh_settle(a->addr_be, a->len);
}

void neigh_address_gone(const struct fwd_address *a)
{
	for (uint32_t i = 1; i <= nb.max; i++) {
		if (depends_on(&nb.table[i], a))
			destroy(&nb.table[i]);
	}
	if (a->len < 32)
		neigh_settle(a->addr_be, a->len);
}

/* ---- for people ------------------------------------------------------------------------------ */

static bool is_station(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return !(mac[0] & 1) && memcmp(mac, zero, sizeof(zero));
}

int fwd_neigh_add(uint16_t iface, uint32_t addr_be, const uint8_t mac[6], struct fwd_err *err)
{
	const struct iface *i = iface_get(iface);
	struct neigh *n;

	if (!i)
		return dp_err(err, -ENOENT, "no such interface");
	if (!is_station(mac))
		return dp_err(err, -EINVAL, "the MAC address is no single station's");
	if (!address_on_link(iface, addr_be))
		return dp_err(err, -EINVAL,
			      "%s is no neighbour's address on '%s': it lies in no connected "
			      "prefix there, or is the router's own or a broadcast address",
			      ip_text(addr_be).s, i->conf.name);
	n = find(iface, addr_be);
	if (n && n->state == FWD_NEIGH_PERMANENT) {
		if (!memcmp(n->mac, mac, sizeof(n->mac)))
			return dp_err(err, -EEXIST, "neighbour %s is there already",
				      ip_text(addr_be).s);
		return dp_err(err, -EADDRINUSE,
			      "neighbour %s is there already with another MAC address",
			      ip_text(addr_be).s);
	}
	if (!n)
		n = make(iface, addr_be);
	if (!n)
		return dp_err(err, -ENOSPC, "%u neighbours are the most", nb.max);
	resolve(n, mac, FWD_NEIGH_PERMANENT);
	return 0;
}

int fwd_neigh_del(uint16_t iface, uint32_t addr_be, struct fwd_err *err)
{
	struct neigh *n = find(iface, addr_be);

	if (!n)
		return dp_err(err, -ENOENT, "no neighbour %s there", ip_text(addr_be).s);
	forget(n);
	return 0;
}

unsigned fwd_neigh_flush(uint16_t iface)
{
	unsigned count = 0;

	for (uint32_t i = 1; i <= nb.max; i++) {
		struct neigh *n = &nb.table[i];

		if (!in_use(n) || n->state == FWD_NEIGH_PERMANENT ||
		    (iface != FWD_IFACE_NONE && n->iface != iface))
			continue;
		forget(n);
		count++;
	}
	return count;
}

void fwd_neigh_each(bool (*fn)(void *arg, const struct fwd_neigh_info *n), void *arg)
{
	uint64_t now = neigh_clock_ms();

	for (uint32_t i = 1; i <= nb.max; i++) {
		const struct neigh *n = &nb.table[i];
		struct fwd_neigh_info info = {
			.iface = n->iface,
			.addr_be = n->addr_be,
			.state = n->state,
			.age_ms = n->confirmed_ms ? now - n->confirmed_ms : 0,
			.queued = n->n_queued,
		};

		memcpy(info.mac, n->mac, sizeof(info.mac));
		if (in_use(n) && !fn(arg, &info))
			return;
	}
}
