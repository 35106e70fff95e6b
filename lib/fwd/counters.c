/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters for people: names, sums over workers, reset. Workers only ever add to their own; a reset
 * remembers what stood there. Control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "iface.h"
#include "sessions.h"
#include "worker_ctx.h"

static struct dp_counters *zero[FWD_MAX_WORKERS + 1]; /* as at the last reset; NULL: never */
static struct fwd_iface_stats device_zero[FWD_MAX_IFACES];
static uint64_t busy_seen[FWD_MAX_WORKERS], total_seen[FWD_MAX_WORKERS];

static const char *const drop_names[] = {
#define X(name, text) #name,
	FWD_DROPS(X)
#undef X
};
static const char *const drop_texts[] = {
#define X(name, text) text,
	FWD_DROPS(X)
#undef X
};
static const char *const event_names[] = {
#define X(name, text) #name,
	FWD_EVENTS(X)
#undef X
};
static const char *const event_texts[] = {
#define X(name, text) text,
	FWD_EVENTS(X)
#undef X
};

const char *fwd_drop_name(unsigned drop)
{
	return drop < FWD_D_NAT ? drop_names[drop] : nat_reason_name(drop - FWD_D_NAT + 1);
}

const char *fwd_drop_text(unsigned drop)
{
	return drop < FWD_D_NAT ? drop_texts[drop] : nat_reason_text(drop - FWD_D_NAT + 1);
}

const char *fwd_event_name(unsigned event)
{
	return event_names[event];
}

const char *fwd_event_text(unsigned event)
{
	return event_texts[event];
}

/* The value of one counter (at byte offset `at` of struct dp_counters) over the workers asked for.
 */
static uint64_t sum_at(size_t at, int worker)
{
	unsigned from = worker == FWD_WORKER_ALL ? 0 : (unsigned)worker;
	unsigned to = worker == FWD_WORKER_ALL ? dp.n_workers : (unsigned)worker;
	uint64_t sum = 0;

	for (unsigned w = from; w <= to; w++) {
		const uint64_t *now = (const uint64_t *)((const char *)dp.counters[w] + at);

		sum += __atomic_load_n(now, __ATOMIC_RELAXED);
		if (zero[w] != NULL)
			sum -= *(const uint64_t *)((const char *)zero[w] + at);
	}
	return sum;
}

/* The same over interfaces: `at` is the offset in struct dp_iface_counters. */
static uint64_t sum_iface(size_t at, uint16_t iface, int worker)
{
	const size_t base = offsetof(struct dp_counters, iface);
	uint64_t sum = 0;

	if (iface < FWD_MAX_IFACES)
		return sum_at(base + iface * sizeof(struct dp_iface_counters) + at, worker);
	for (unsigned i = 0; i <= FWD_MAX_IFACES; i++)
		sum += sum_at(base + i * sizeof(struct dp_iface_counters) + at, worker);
	return sum;
}

uint64_t fwd_stats_drop(unsigned drop, uint16_t iface, int worker)
{
	return sum_iface(offsetof(struct dp_iface_counters, drops) + drop * sizeof(uint64_t), iface,
			 worker);
}

uint64_t fwd_stats_event(unsigned event, int worker)
{
	return sum_at(offsetof(struct dp_counters, events) + event * sizeof(uint64_t), worker);
}

/* A device that was added anew under the same id counts from zero again. */
static uint64_t since(uint64_t now, uint64_t then)
{
	return now >= then ? now - then : now;
}

/* What the device under an interface counts itself; nothing for VLAN interfaces, which have none of
 * their own. */
static struct fwd_iface_stats device_read(uint16_t iface)
{
	const struct iface *i = iface_get(iface);
	struct fwd_iface_stats d = {0};

	if (i != NULL && i->parent == FWD_IFACE_NONE)
		port_device_stats(i->port, &d.rx_missed, &d.rx_errors, &d.rx_nombuf, &d.tx_errors);
	return d;
}

static void device_stats(uint16_t iface, struct fwd_iface_stats *out)
{
	struct fwd_iface_stats d = device_read(iface);

	out->rx_missed += since(d.rx_missed, device_zero[iface].rx_missed);
	out->rx_errors += since(d.rx_errors, device_zero[iface].rx_errors);
	out->rx_nombuf += since(d.rx_nombuf, device_zero[iface].rx_nombuf);
	out->tx_errors += since(d.tx_errors, device_zero[iface].tx_errors);
}

void fwd_stats_iface(uint16_t iface, int worker, struct fwd_iface_stats *out)
{
	memset(out, 0, sizeof(*out));
	out->rx_packets = sum_iface(offsetof(struct dp_iface_counters, rx_packets), iface, worker);
	out->rx_bytes = sum_iface(offsetof(struct dp_iface_counters, rx_bytes), iface, worker);
	out->tx_packets = sum_iface(offsetof(struct dp_iface_counters, tx_packets), iface, worker);
	out->tx_bytes = sum_iface(offsetof(struct dp_iface_counters, tx_bytes), iface, worker);
	out->bad_checksums =
		sum_iface(offsetof(struct dp_iface_counters, bad_checksums), iface, worker);
	for (unsigned d = 0; d < FWD_DROP_COUNT; d++)
		out->drops += fwd_stats_drop(d, iface, worker);
	if (worker != FWD_WORKER_ALL)
		return;
	if (iface < FWD_MAX_IFACES) {
		device_stats(iface, out);
	} else {
		for (uint16_t i = 0; i < FWD_MAX_IFACES; i++)
			device_stats(i, out);
	}
}

/* Makes room for the baseline of a worker (or control), all zero at first. */
static bool have_zero(unsigned w)
{
	if (zero[w] == NULL)
		zero[w] = calloc(1, sizeof(*zero[w]));
	return zero[w] != NULL;
}

void fwd_stats_reset(void)
{
	for (unsigned w = 0; w <= dp.n_workers; w++) {
		if (have_zero(w))
			memcpy(zero[w], dp.counters[w], sizeof(*zero[w]));
	}
	for (uint16_t i = 0; i < FWD_MAX_IFACES; i++)
		device_zero[i] = device_read(i);
}

void counters_forget(uint16_t iface)
{
	for (unsigned w = 0; w <= dp.n_workers; w++) {
		if (have_zero(w))
			zero[w]->iface[iface] = dp.counters[w]->iface[iface];
	}
	device_zero[iface] = (struct fwd_iface_stats){0};
}

void counters_fini(void)
{
	for (unsigned w = 0; w <= FWD_MAX_WORKERS; w++) {
		free(zero[w]);
		zero[w] = NULL;
	}
	memset(device_zero, 0, sizeof(device_zero));
	memset(busy_seen, 0, sizeof(busy_seen));
	memset(total_seen, 0, sizeof(total_seen));
}

unsigned fwd_worker_count(void)
{
	return dp.n_workers;
}

int fwd_worker_info(unsigned worker, struct fwd_worker_info *out)
{
	const struct fwd_snapshot *snap = atomic_load(&dp.snapshot);
	const struct worker *w;
	uint64_t busy, total;

	if (worker >= dp.n_workers)
		return -ENOENT;
	w = dp.workers[worker];
	busy = atomic_load_explicit(&w->busy_tsc, memory_order_relaxed);
	total = atomic_load_explicit(&w->total_tsc, memory_order_relaxed);
	*out = (struct fwd_worker_info){
		.lcore = w->lcore,
		.cpu = rte_lcore_to_cpu_id((int)w->lcore),
		.rx_queues = snap->workers[worker].n_rxq,
		.sessions = sessions_of(worker),
		.packets = atomic_load_explicit(&w->packets, memory_order_relaxed),
		.bursts = atomic_load_explicit(&w->bursts, memory_order_relaxed),
		.busy = total > total_seen[worker] ? (double)(busy - busy_seen[worker]) /
							     (double)(total - total_seen[worker])
						   : 0.0,
	};
	busy_seen[worker] = busy;
	total_seen[worker] = total;
	return 0;
}
