/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "arp.h"
#include "call.h"
#include "control.h"
#include "counters.h"
#include "fib.h"
#include "icmp.h"
#include "neigh.h"
#include "nexthop.h"
#include "route.h"
#include "snapshot.h"

/* What one fwd_poll() does at most, so that a flood does not keep the control socket waiting. */
#define PUNT_BUDGET   512
#define SOCKET_BUDGET 64
#define TIMER_BUDGET  512

#define ARP_BYTES  64	 /* as much of a frame as is looked at */
#define DEFEND_MS  10000 /* RFC 5227 2.4 (c): not more often */
#define REFRESH_MS 5000	 /* the kernel's own addresses on XDP ports are read again */

/* epoll's data: an interface id, or one of these */
#define EVENT_PUNT  0x10000u
#define EVENT_TIMER 0x10001u

static struct {
	bool up;
	int epoll_fd, timer_fd;
	uint64_t defended_ms[FWD_MAX_IFACES]; /* 0: never */
	uint64_t refresh_ms;		      /* when next */
} ctl = {.epoll_fd = -1, .timer_fd = -1};

uint64_t control_now_ms(void)
{
	return neigh_clock_ms();
}

/* ---- ARP ------------------------------------------------------------------------------------- */

/* Is addr_be an address for which the router answers on this interface: its own, or one that it
 * translates to? */
static bool answers_for(const struct iface *i, rte_be32_t addr_be)
{
	const struct nat_config *nat = snapshot_nat();

	if (address_own(i->id, addr_be))
		return true;
	switch (nat ? nat_config_external(nat, addr_be, i->id) : 0) {
	case 1:
		return true;
	case 2:
		return address_on_link(i->id, addr_be);
	default:
		return false;
	}
}

/* Somebody else uses an address of ours (RFC 5227 2.4). */
static void conflict(const struct iface *i, const struct arp *a)
{
	uint64_t now = control_now_ms();
	const uint8_t *mac = a->sender_mac;

	if (ctl.defended_ms[i->id] && now < ctl.defended_ms[i->id] + DEFEND_MS)
		return;
	ctl.defended_ms[i->id] = now;
	dp_log(FWD_LOG_WARNING,
	       "interface '%s': %02x:%02x:%02x:%02x:%02x:%02x uses %s, an address of the router",
	       i->conf.name, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
	       ip_text(a->sender_be).s);
	arp_announce(i, a->sender_be);
}

void control_arp_input(uint16_t iface, const uint8_t *frame, unsigned len)
{
	struct dp_counters *c = dp.counters[dp.n_workers];
	const struct iface *i = iface_get(iface);
	enum neigh_claim claim = NEIGH_SPOKE;
	struct arp a;
	bool ours;

	if (!i || i->hidden) {
		dp_drop_count(c, iface, FWD_D_iface_gone);
		return;
	}
	if (!arp_parse(frame, len, &a)) {
		dp_drop_count(c, iface, FWD_D_arp_malformed);
		return;
	}
	c->events[a.op == ARP_REQUEST ? FWD_E_arp_requests_in : FWD_E_arp_replies_in]++;
	if (memcmp(a.eth_dst, arp_broadcast_mac, sizeof(a.eth_dst)) &&
	    memcmp(a.eth_dst, i->port->mac, sizeof(a.eth_dst)))
		return; /* to another station; the port hears it because it is promiscuous */
	if (!memcmp(a.sender_mac, i->port->mac, sizeof(a.sender_mac)))
		return; /* our own, come round */

	ours = answers_for(i, a.target_be);
	if (a.sender_be) { /* 0: a probe (RFC 5227), which says nothing of its sender */
		if (answers_for(i, a.sender_be)) {
			conflict(i, &a);
			return;
		}
		if (ours)
			claim = a.op == ARP_REQUEST ? NEIGH_ASKED : NEIGH_ANSWERED;
		else if (a.sender_be == a.target_be)
			claim = NEIGH_ANNOUNCED;
		neigh_seen(iface, a.sender_be, a.sender_mac, claim);
	}
	if (ours && a.op == ARP_REQUEST)
		arp_send(i, ARP_REPLY, a.sender_mac, a.target_be, a.sender_mac, a.sender_be);
}

static void arp_mbuf(struct rte_mbuf *m)
{
	unsigned len = RTE_MIN(m->pkt_len, (uint32_t)ARP_BYTES);
	uint8_t room[ARP_BYTES];

	control_arp_input(fwd_priv(m)->iface, rte_pktmbuf_read(m, 0, len, room), len);
	rte_pktmbuf_free(m);
}

/* A port's packet socket: ARP that its kernel gets. */
static void arp_socket(uint16_t id)
{
	const struct iface *i = iface_get(id);

	for (unsigned n = 0; i && n < SOCKET_BUDGET; n++) {
		uint8_t frame[ARP_BYTES];
		uint16_t vlan;
		int len = port_arp_receive(i->port, frame, sizeof(frame), &vlan);
		const struct iface *in;

		if (len < 0)
			return; /* none left, or the kernel interface is down: epoll will tell */
		in = iface_tagged(id, vlan);
		if (in)
			control_arp_input(in->id, frame, len);
		else
			dp_drop_count(dp.counters[dp.n_workers], id, FWD_D_vlan_unknown);
	}
}

/* ---- the loop's share ------------------------------------------------------------------------ */

static uint64_t refresh_ports(void)
{
	uint64_t now = control_now_ms();

	if (now >= ctl.refresh_ms) {
		for (unsigned id = 0; id < FWD_MAX_IFACES; id++) {
			const struct iface *i = iface_get(id);

			if (i && i->parent == FWD_IFACE_NONE)
				port_refresh(i->port);
		}
		ctl.refresh_ms = now + REFRESH_MS;
	}
	return ctl.refresh_ms - now;
}

/* Does what is due. Returns the milliseconds to the next, and has the loop woken by then. */
static int serve_timers(void)
{
	int ms = neigh_tick(TIMER_BUDGET), refresh = refresh_ports();
	struct itimerspec t = {0};

	if (ms < 0 || refresh < ms)
		ms = refresh;
	t.it_value.tv_sec = ms / 1000;
	t.it_value.tv_nsec = ms % 1000 * 1000000L + 1; /* 0 would be never */
	timerfd_settime(ctl.timer_fd, 0, &t, NULL);
	return ms;
}

/* After each commit: requests that waited for their interface to be published leave now. */
static void committed(void)
{
	serve_timers();
}

/* Returns whether more waits. */
static bool serve_punts(void)
{
	struct rte_mbuf *m[64];
	unsigned total = 0, n;

	/* Cleared before looking: a worker that enqueues from now on signals again. */
	atomic_store(&dp.punt_signalled, false);
	do {
		n = rte_ring_sc_dequeue_burst(dp.punt, (void **)m, RTE_DIM(m), NULL);
		for (unsigned k = 0; k < n; k++) {
			if (fwd_priv(m[k])->kind == PUNT_ARP)
				arp_mbuf(m[k]);
			else
				neigh_hold(m[k]);
		}
		nexthop_drained(n);
		total += n;
	} while (n && total < PUNT_BUDGET);
	return n != 0;
}

int fwd_poll_fd(void)
{
	return ctl.epoll_fd;
}

int fwd_poll(void)
{
	struct epoll_event events[32];
	struct fwd_err err;
	uint64_t count;
	bool more;
	int n, ms;

	n = epoll_wait(ctl.epoll_fd, events, RTE_DIM(events), 0);
	for (int k = 0; k < n; k++) {
		switch (events[k].data.u32) {
		case EVENT_PUNT:
			if (read(dp.punt_event_fd, &count, sizeof(count)) < 0)
				count = 0; /* somebody was faster; the ring says what there is */
			break;
		case EVENT_TIMER:
			if (read(ctl.timer_fd, &count, sizeof(count)) < 0)
				count = 0;
			break;
		default:
			arp_socket(events[k].data.u32);
		}
	}
	more = serve_punts();
	ms = serve_timers();
	/* Neighbours' own prefixes. There is one control thread, and it commits at the end of each
	 * command, so nothing of a command is staged half-way here. */
	if (fib_staged() && fwd_commit(&err))
		dp_log(FWD_LOG_ERROR, "neighbours could not be published: %s", err.msg);
	return more ? 0 : ms;
}

/* ---- interfaces ------------------------------------------------------------------------------ */

static void port_opened(const struct iface *i)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i->id};

	if (i->port->arp_fd >= 0 &&
	    epoll_ctl(ctl.epoll_fd, EPOLL_CTL_ADD, i->port->arp_fd, &ev) < 0)
		dp_log(FWD_LOG_ERROR, "interface '%s': its ARP socket can't be watched: %s",
		       i->conf.name, strerror(errno));
}

static void port_closing(const struct iface *i)
{
	if (i->port->arp_fd >= 0)
		epoll_ctl(ctl.epoll_fd, EPOLL_CTL_DEL, i->port->arp_fd, NULL);
}

static void iface_going(uint16_t id)
{
	address_purge(id);
	neigh_iface_going(id);
	ctl.defended_ms[id] = 0;
}

/* On the worker's thread: frames that wait to be sent at an interface that is gone. */
static void flush_inject(void *arg, unsigned worker)
{
	uint16_t id = *(const uint16_t *)arg;
	struct rte_ring *r = dp.inject[worker];
	void *p;

	for (unsigned n = rte_ring_count(r); n && rte_ring_sc_dequeue(r, &p) == 0; n--) {
		struct rte_mbuf *m = p;

		if (fwd_priv(m)->iface != id && rte_ring_mp_enqueue(r, m) == 0)
			continue;
		dp_drop_count(dp.counters[worker], fwd_priv(m)->iface,
			      fwd_priv(m)->iface == id ? FWD_D_iface_gone : FWD_D_handover_full);
		rte_pktmbuf_free(m);
	}
}

static void iface_gone(uint16_t id)
{
	for (unsigned w = 0; w < dp.n_workers; w++)
		call_worker(w, flush_inject, &id);
	counters_forget(id);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int watch(int fd, uint32_t what)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = what};

	return epoll_ctl(ctl.epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

int control_start(const struct fwd_params *params, struct fwd_err *err)
{
	static const struct iface_hooks iface_hooks = {
		.may_go = neigh_iface_may_go,
		.going = iface_going,
		.publish = fwd_commit,
		.gone = iface_gone,
		.port_opened = port_opened,
		.port_closing = port_closing,
	};
	static const struct address_hooks address_hooks = {
		.may_take = neigh_address_may_take,
		.may_go = neigh_address_may_go,
		.came = neigh_address_came,
		.gone = neigh_address_gone,
	};
	int rc;

	memset(ctl.defended_ms, 0, sizeof(ctl.defended_ms));
	ctl.refresh_ms = 0;
	ctl.up = true;
	ctl.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	ctl.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (ctl.epoll_fd < 0 || ctl.timer_fd < 0 || watch(dp.punt_event_fd, EVENT_PUNT) ||
	    watch(ctl.timer_fd, EVENT_TIMER))
		return dp_err(err, -errno, "the control thread's events: %s", strerror(errno));
	iface_init(&iface_hooks);
	snapshot_init(committed);
	route_init(params->max_routes);
	rc = nexthop_init(err);
	if (rc == 0)
		rc = fib_init(params->max_routes, err);
	if (rc == 0)
		rc = address_init(&address_hooks, err);
	if (rc == 0)
		rc = neigh_init(params->max_neighbours, icmp_host_unreachable, err);
	if (rc == 0)
		rc = fwd_commit(err);
	return rc;
}

void control_stop(void)
{
	if (!ctl.up)
		return;
	iface_fini();
	neigh_fini();
	address_fini();
	snapshot_fini();
	fib_fini();
	nexthop_fini();
	if (ctl.timer_fd >= 0)
		close(ctl.timer_fd);
	if (ctl.epoll_fd >= 0)
		close(ctl.epoll_fd);
	ctl.timer_fd = ctl.epoll_fd = -1;
	ctl.up = false;
}
