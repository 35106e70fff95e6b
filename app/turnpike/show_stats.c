/* SPDX-License-Identifier: BSD-3-Clause */
#include "names.h"
#include "show_row.h"

#include "show_stats.h"

static json_t *traffic_row(uint16_t id, const char *name, int worker)
{
	struct fwd_iface_stats st;
	json_t *o = json_object();

	memset(&st, 0, sizeof(st));
	fwd_stats_iface(id, worker, &st);
	put(o, "interface", name);
	put_number(o, "rx_packets", st.rx_packets);
	put_number(o, "rx_bytes", st.rx_bytes);
	put_number(o, "tx_packets", st.tx_packets);
	put_number(o, "tx_bytes", st.tx_bytes);
	put_number(o, "drops", st.drops);
	put_number(o, "rx_missed", st.rx_missed);
	put_number(o, "rx_errors", st.rx_errors);
	put_number(o, "rx_no_buffer", st.rx_nombuf);
	put_number(o, "tx_errors", st.tx_errors);
	put_number(o, "bad_checksums", st.bad_checksums);
	return o;
}

static void drop_row(json_t *rows, unsigned d, const char *iface, uint64_t n)
{
	json_t *o;

	if (n == 0)
		return;
	o = json_object();
	if (iface != NULL)
		put(o, "interface", iface);
	put(o, "reason", fwd_drop_name(d));
	put_number(o, "packets", n);
	put(o, "meaning", fwd_drop_text(d));
	json_array_append_new(rows, o);
}

/* Subtracts what it shows from rest, which begins with the drops of all interfaces. */
static void drop_rows(json_t *rows, uint16_t id, const char *name, int worker,
		      uint64_t rest[FWD_DROP_COUNT])
{
	for (unsigned d = 0; d < FWD_DROP_COUNT; d++) {
		uint64_t n = fwd_stats_drop(d, id, worker);

		drop_row(rows, d, name, n);
		rest[d] -=
			n < rest[d] ? n : rest[d]; /* rest was read before: it may be less by now */
	}
}

static json_t *event_rows(int worker)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < FWD_EVENT_COUNT; i++) {
		uint64_t n = fwd_stats_event(i, worker);
		json_t *o;

		if (n == 0)
			continue;
		o = json_object();
		put(o, "event", fwd_event_name(i));
		put_number(o, "count", n);
		put(o, "meaning", fwd_event_text(i));
		json_array_append_new(rows, o);
	}
	return rows;
}

bool show_stats(const struct router *r, const struct cli_cmd *cmd, json_t **out,
		struct cli_error *e)
{
	const struct cli_value *w = cli_get(cmd, "worker");
	bool drops_only = cli_get(cmd, "drops") != NULL;
	int worker = FWD_WORKER_ALL;
	uint16_t only = FWD_IFACE_NONE;
	uint64_t rest[FWD_DROP_COUNT];
	json_t *traffic, *drops;
	struct fwd_iface_info info;

	if (!names_iface(r, cmd, "interface", &only, e))
		return false;
	if (w != NULL && w->number >= fwd_worker_count()) {
		cli_error_set(e, 1, w->column, "no worker %u", (unsigned)w->number);
		cli_error_hint(e, "there are %u, counted from 0", fwd_worker_count());
		return false;
	}
	if (w != NULL)
		worker = (int)w->number;
	traffic = json_array();
	drops = json_array();
	for (unsigned d = 0; d < FWD_DROP_COUNT; d++)
		rest[d] = fwd_stats_drop(d, FWD_IFACE_NONE, worker);
	for (unsigned i = 0; i < FWD_MAX_IFACES; i++) {
		uint16_t id = (uint16_t)i;

		if ((only != FWD_IFACE_NONE && only != id) || fwd_iface_info(id, &info) != 0)
			continue;
		json_array_append_new(traffic, traffic_row(id, info.conf.name, worker));
		drop_rows(drops, id, info.conf.name, worker, rest);
	}
	/* of no interface: a tag that none has, or an interface that is gone */
	for (unsigned d = 0; d < FWD_DROP_COUNT && only == FWD_IFACE_NONE; d++)
		drop_row(drops, d, NULL, rest[d]);
	*out = json_object();
	if (!drops_only)
		json_object_set_new(*out, "interfaces", traffic);
	else
		json_decref(traffic);
	json_object_set_new(*out, "drops", drops);
	if (!drops_only && only == FWD_IFACE_NONE)
		json_object_set_new(*out, "events", event_rows(worker));
	return true;
}

json_t *show_workers(void)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < fwd_worker_count(); i++) {
		struct fwd_worker_info info;
		json_t *o;

		if (fwd_worker_info(i, &info) != 0)
			continue;
		o = json_object();
		put_number(o, "worker", i);
		put_number(o, "lcore", info.lcore);
		if (info.cpu >= 0)
			put_number(o, "cpu", (uint64_t)info.cpu);
		put_number(o, "rx_queues", info.rx_queues);
		put_number(o, "sessions", info.sessions);
		put_number(o, "packets", info.packets);
		put_number(o, "bursts", info.bursts);
		put_number(o, "busy_percent", (uint64_t)(info.busy * 100.0 + 0.5));
		json_array_append_new(rows, o);
	}
	return rows;
}
