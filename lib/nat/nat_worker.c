/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_worker.h"

#include <stdlib.h>

#include "nat_extern.h"
#include "nat_mapping.h"
#include "nat_slot.h"

#define SESSIONS_DEFAULT 1000000u
#define SESSIONS_MAX	 (1u << 27) /* a mapping counts its sessions in 28 bits */

/* ---- memory --------------------------------------------------------------------------------- */

static void *take(struct nat_worker *nat, size_t size)
{
	void *p = nat->ops.alloc(nat->ops.ctx, size);

	if (p != NULL) {
		nat->blocks[nat->n_blocks++] = p;
		nat->memory += size;
	}
	return p;
}

static bool take_table(struct nat_worker *nat, struct nat_table *t, uint32_t capacity)
{
	void *p = take(nat, nat_table_bytes(capacity));

	if (p != NULL)
		nat_table_init(t, p, capacity);
	return p != NULL;
}

static bool take_wheel(struct nat_worker *nat, struct nat_wheel *w, void *records, size_t stride,
		       size_t offset)
{
	void *p = take(nat, NAT_WHEEL_BYTES);

	if (p != NULL)
		nat_wheel_init(w, p, records, stride, offset);
	return p != NULL;
}

static bool take_all(struct nat_worker *nat)
{
	return (nat->sessions = take(nat, (size_t)nat->max_sessions * sizeof(*nat->sessions))) &&
	       (nat->cold = take(nat, (size_t)nat->max_sessions * sizeof(*nat->cold))) &&
	       (nat->mappings = take(nat, (size_t)nat->max_mappings * sizeof(*nat->mappings))) &&
	       (nat->slots = take(nat, NAT_SLOTS * sizeof(*nat->slots))) &&
	       (nat->rule_slot = take(nat, NAT_MAX_RULES * sizeof(*nat->rule_slot))) &&
	       take_table(nat, &nat->session_table, nat->max_sessions * 2) &&
	       take_table(nat, &nat->filter_table, nat->max_sessions) &&
	       take_table(nat, &nat->inside_table, nat->max_mappings) &&
	       take_table(nat, &nat->outside_table, nat->max_mappings) &&
	       take_table(nat, &nat->host_table, nat->max_mappings) &&
	       take_wheel(nat, &nat->session_wheel, nat->cold, sizeof(*nat->cold),
			  offsetof(struct nat_session_cold, wheel)) &&
	       take_wheel(nat, &nat->mapping_wheel, nat->mappings, sizeof(*nat->mappings),
			  offsetof(struct nat_mapping, wheel));
}

/* ---- life ----------------------------------------------------------------------------------- */

struct nat_worker *nat_worker_create(const struct nat_limits *limits, const struct nat_ops *ops)
{
	struct nat_worker *nat = calloc(1, sizeof(*nat));

	if (nat == NULL)
		return NULL;
	nat->ops = *ops;
	nat_ops_complete(&nat->ops);
	nat->shared = limits->shared;
	nat->id = limits->worker;
	if (nat->shared == NULL) {
		nat->shared = nat_shared_create(limits, ops, 1);
		nat->owns_shared = true;
	}
	if (nat->shared == NULL || nat->id >= nat->shared->n_workers) {
		nat_worker_destroy(nat);
		return NULL;
	}
	nat->max_sessions = limits->max_sessions ? limits->max_sessions : SESSIONS_DEFAULT;
	if (nat->max_sessions > SESSIONS_MAX)
		nat->max_sessions = SESSIONS_MAX;
	nat->max_mappings = limits->max_mappings ? limits->max_mappings : nat->max_sessions;
	if (nat->max_mappings > SESSIONS_MAX)
		nat->max_mappings = SESSIONS_MAX;
	nat->memory = sizeof(*nat) + (nat->owns_shared ? nat->shared->memory : 0);
	if (!take_all(nat)) {
		nat_worker_destroy(nat);
		return NULL;
	}
	nat_random_seed(&nat->random, limits->seed);
	nat->seed.a = nat_random_u64(&nat->random);
	nat->seed.b = nat_random_u64(&nat->random);
	nat->seed.c = nat_random_u64(&nat->random);
	nat->session_free = nat->mapping_free = NAT_NONE;
	nat->mapping_idle = NAT_NONE;
	nat->last_slot = NAT_NO_SLOT;
	nat->hop_gen = 1;
	for (unsigned group = 0; group < 128; group++)
		if (nat_port_preferrer(nat->shared, group << 6) == nat->id)
			nat->port_groups.in[group / 64] |= UINT64_C(1) << group % 64;
	memset(nat->rule_slot, 0xff, NAT_MAX_RULES * sizeof(*nat->rule_slot));
	for (unsigned i = 0; i < NAT_TIMEOUT_COUNT; i++)
		nat->timeout_ms[i] = nat_timeout_info[i].def_s * 1000;
	return nat;
}

void nat_worker_destroy(struct nat_worker *nat)
{
	if (nat == NULL)
		return;
	while (nat->n_blocks > 0)
		nat->ops.free(nat->ops.ctx, nat->blocks[--nat->n_blocks]);
	if (nat->owns_shared)
		nat_shared_destroy(nat->shared);
	free(nat);
}

size_t nat_worker_memory(const struct nat_worker *nat)
{
	return nat->memory;
}

/* ---- configuration -------------------------------------------------------------------------- */

void nat_worker_config(struct nat_worker *nat, const struct nat_config *cfg, uint64_t now_ms)
{
	bool shorter = false;

	if (!nat->started) {
		nat_wheel_start(&nat->session_wheel, now_ms / 1000);
		nat_wheel_start(&nat->mapping_wheel, now_ms / 1000);
		nat->started = true;
	}
	nat_extern_config(nat, cfg, nat_mapping_has_port);
	nat->cfg = cfg;
	for (unsigned i = 0; cfg != NULL && i < NAT_TIMEOUT_COUNT; i++) {
		shorter |= cfg->timeout_ms[i] < nat->timeout_ms[i];
		nat->timeout_ms[i] = cfg->timeout_ms[i];
	}
	nat->sweeping = nat_slot_resolve(nat);
	if (nat->sweeping || (shorter && nat->n_sessions > 0))
		nat->sweep_due = true;
	nat->sweep_session = nat->sweep_mapping = 0;
}

bool nat_worker_swept(const struct nat_worker *nat)
{
	return !nat->sweeping;
}

uint32_t nat_worker_sessions(const struct nat_worker *nat)
{
	return nat->n_sessions;
}

void nat_worker_stats(const struct nat_worker *nat, struct nat_stats *out)
{
	*out = (struct nat_stats){
		.sessions = nat->n_sessions,
		.max_sessions = nat->max_sessions,
		.mappings = nat->n_mappings,
		.max_mappings = nat->max_mappings,
		.external_addresses =
			atomic_load_explicit(&nat->shared->n_externs, memory_order_relaxed),
		.sessions_created = nat->created,
		.sessions_expired = nat->expired,
		.sessions_cleared = nat->cleared,
		.memory_bytes = nat->memory,
	};
}
