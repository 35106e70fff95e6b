/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of the dataplane: takes all memory, starts control's part and the workers, and undoes it.
 * Control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "control.h"
#include "counters.h"
#include "port.h"
#include "worker.h"

#define POOL_CACHE 256

static bool launched;

static int start_shared(struct fwd_err *err)
{
	size_t qsbr_size;
	unsigned lcore;

	dp.punt_event_fd = -1;
	RTE_LCORE_FOREACH_WORKER(lcore)
	dp.n_workers++;
	if (dp.n_workers == 0)
		return dp_err(err, -EINVAL,
			      "no worker: give EAL at least two lcores, such as --lcores 0@0,1@1");
	if (dp.n_workers > FWD_MAX_WORKERS)
		return dp_err(err, -EINVAL, "%u workers, at most %u are possible", dp.n_workers,
			      FWD_MAX_WORKERS);

	dp.pool = port_pool_create("packets", dp.params.mbufs, POOL_CACHE,
				   sizeof(struct fwd_mbuf_priv), FWD_MBUF_ROOM, err);
	if (dp.pool == NULL)
		return -ENOMEM;
	dp.nexthops =
		rte_zmalloc("nexthops", FWD_MAX_NH * sizeof(*dp.nexthops), RTE_CACHE_LINE_SIZE);
	qsbr_size = rte_rcu_qsbr_get_memsize(FWD_MAX_WORKERS);
	dp.qsbr = rte_zmalloc("qsbr", qsbr_size, RTE_CACHE_LINE_SIZE);
	if (dp.nexthops == NULL || dp.qsbr == NULL)
		return dp_err(err, -ENOMEM, "no memory for next hops: reserve more huge pages");
	rte_rcu_qsbr_init(dp.qsbr, FWD_MAX_WORKERS);

	dp.punt = rte_ring_create("punt", FWD_RING_SIZE, SOCKET_ID_ANY, RING_F_SC_DEQ);
	dp.punt_event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (dp.punt == NULL || dp.punt_event_fd < 0)
		return dp_err(err, -ENOMEM, "no memory for the ring to the control thread");
	for (unsigned i = 0; i <= dp.n_workers; i++) {
		dp.counters[i] =
			rte_zmalloc("counters", sizeof(*dp.counters[i]), RTE_CACHE_LINE_SIZE);
		if (dp.counters[i] == NULL)
			return dp_err(err, -ENOMEM, "no memory for counters");
	}
	for (unsigned i = 0; i < dp.n_workers; i++) {
		char name[RTE_RING_NAMESIZE];

		snprintf(name, sizeof(name), "inject%u", i);
		dp.inject[i] = rte_ring_create(name, FWD_RING_SIZE, SOCKET_ID_ANY, RING_F_SC_DEQ);
		snprintf(name, sizeof(name), "handover%u", i);
		dp.handover[i] = rte_ring_create(name, FWD_RING_SIZE, SOCKET_ID_ANY, RING_F_SC_DEQ);
		if (dp.inject[i] == NULL || dp.handover[i] == NULL)
			return dp_err(err, -ENOMEM, "no memory for the rings of worker %u", i);
	}
	return 0;
}

static int start_workers(struct fwd_err *err)
{
	unsigned lcore, id = 0;

	if (dp.n_workers > 1) {
		dp.nat_shared = worker_shared_nat(dp.n_workers);
		if (dp.nat_shared == NULL)
			return dp_err(err, -ENOMEM,
				      "no memory for the NAT ports of %u workers: reserve more "
				      "huge pages, or set fewer 'nat set max-sessions'",
				      dp.n_workers);
	}
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		dp.workers[id] = worker_create(id, lcore, true, err);
		if (dp.workers[id] == NULL)
			return -ENOMEM;
		id++;
	}
	for (id = 0; id < dp.n_workers; id++) {
		int rc = rte_eal_remote_launch(worker_loop, dp.workers[id], dp.workers[id]->lcore);

		if (rc != 0)
			return dp_err(err, rc, "worker %u does not start on lcore %u: %s", id,
				      dp.workers[id]->lcore, rte_strerror(-rc));
		launched = true;
	}
	return 0;
}

int fwd_start(const struct fwd_params *params, struct fwd_err *err)
{
	int rc;

	dp = (struct fwd_dp){.log = params->log, .params = *params};
	if (dp.params.max_sessions == 0)
		dp.params.max_sessions = 1000000;
	if (dp.params.max_routes == 0)
		dp.params.max_routes = 1048576;
	if (dp.params.max_neighbours == 0)
		dp.params.max_neighbours = 16384;
	if (dp.params.mbufs == 0)
		dp.params.mbufs = 32768;
	launched = false;
	rc = start_shared(err);
	if (rc == 0)
		rc = control_start(&dp.params, err);
	if (rc == 0)
		rc = start_workers(err);
	if (rc != 0)
		fwd_stop();
	return rc;
}

static void drain(struct rte_ring *r)
{
	void *m;

	if (r == NULL)
		return;
	while (rte_ring_sc_dequeue(r, &m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(r);
}

void fwd_stop(void)
{
	for (unsigned i = 0; i < dp.n_workers; i++) {
		if (dp.workers[i] != NULL)
			atomic_store(&dp.workers[i]->stop, true);
	}
	if (launched)
		rte_eal_mp_wait_lcore();
	launched = false;
	control_stop();
	counters_fini();
	for (unsigned i = 0; i < dp.n_workers; i++) {
		worker_destroy(dp.workers[i]);
		drain(dp.inject[i]);
		drain(dp.handover[i]);
	}
	nat_shared_destroy(dp.nat_shared);
	drain(dp.punt);
	if (dp.punt_event_fd >= 0)
		close(dp.punt_event_fd);
	for (unsigned i = 0; i <= dp.n_workers; i++)
		rte_free(dp.counters[i]);
	rte_free(dp.qsbr);
	rte_free(dp.nexthops);
	rte_mempool_free(dp.pool);
	dp = (struct fwd_dp){.punt_event_fd = -1};
}
