/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_rib.h>

#include "dp.h"
#include "fib.h"

/* A table starts with room for so many prefixes, and for longer ones in so many /24 networks. */
#define FIB_START      16384
#define FIB_START_TBL8 4096
#define FIB_GROWTH     4
/* Connected, local and neighbours' prefixes come on top of max_routes. */
#define FIB_HEADROOM 65536

/* rte_fib counts the tbl8 groups that it needs by /24 networks with longer prefixes. In 22.11 it
 * forgets to when the first such prefix has its parent's next hop, and then counts down below zero
 * when that goes: no longer prefix is taken any more. And an edit of a shorter prefix wants two
 * free groups for a moment, stopping half-way without. So we count ourselves, keep two spare, and
 * add a longer prefix with a next hop that no parent has, before the right one. */
#define FIB_TBL8_SPARE 2
#define FIB_NH_UNUSED  0x7fffffffu

struct fib_edit {
	uint32_t ip, nh; /* nh 0: remove */
	uint8_t len;
};

static struct {
	struct rte_fib *active;	 /* what workers read */
	struct rte_fib *standby; /* what is edited; NULL: could not be rebuilt yet */
	struct rte_fib *grown;	 /* empty: replaces the active copy after the next commit */
	uint32_t size, max_size; /* prefixes that fit the standby; nodes are twice as many */
	uint32_t tbl8;		 /* groups that it has room for, at most FIB_TBL8 */
	unsigned groups;	 /* those in use: /24 networks with longer prefixes */
	struct fib_edit *log;	 /* what standby has and active has not */
	size_t n_log, room_log;
	bool staged;
	bool log_lost;	/* the log is incomplete: copy the whole table instead */
	bool no_memory; /* to grow: not tried again before the next commit */
	unsigned serial;
	const char *full;
} fib;

static struct rte_fib *create(uint32_t size, uint32_t tbl8)
{
	struct rte_fib_conf conf = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = NH_NONE,
		.max_routes = size,
		.dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = tbl8},
	};
	char name[16];

	snprintf(name, sizeof(name), "tp%u", fib.serial++);
	return rte_fib_create(name, SOCKET_ID_ANY, &conf);
}

int fib_init(uint32_t max_routes, struct fwd_err *err)
{
	memset(&fib, 0, sizeof(fib));
	fib.max_size = RTE_MIN(max_routes, 1u << 28) + FIB_HEADROOM;
	fib.size = RTE_MIN(fib.max_size, (uint32_t)FIB_START);
	fib.tbl8 = FIB_START_TBL8;
	fib.active = create(fib.size, fib.tbl8);
	fib.standby = create(fib.size, fib.tbl8);
	if (!fib.active || !fib.standby) {
		fib_fini();
		return dp_err(err, -ENOMEM, "no memory for the forwarding table (about 150 MB): %s",
			      rte_strerror(rte_errno));
	}
	return 0;
}

void fib_fini(void)
{
	rte_fib_free(fib.active);
	rte_fib_free(fib.standby);
	rte_fib_free(fib.grown);
	free(fib.log);
	memset(&fib, 0, sizeof(fib));
}

static bool has_longer(struct rte_fib *f, uint32_t ip)
{
	return rte_rib_get_nxt(rte_fib_get_rib(f), ip, 24, NULL, RTE_RIB_GET_NXT_COVER) != NULL;
}

/* One prefix into one copy; *new_group: the first longer prefix of its /24. */
static int copy_set(struct rte_fib *f, uint32_t ip, uint8_t len, uint32_t nh, unsigned groups_free,
		    bool *new_group)
{
	int rc;

	*new_group = false;
	if (len > 24 && !rte_rib_lookup_exact(rte_fib_get_rib(f), ip, len)) {
		*new_group = !has_longer(f, ip);
		if (*new_group && groups_free == 0)
			return -ENOSPC;
		rc = rte_fib_add(f, ip, len, FIB_NH_UNUSED);
		if (rc)
			return rc;
	}
	return rte_fib_add(f, ip, len, nh);
}

/* Calls fn for each prefix below ip/len, parents first. */
static bool walk_below(struct rte_rib *rib, uint32_t ip, uint8_t len,
		       bool (*fn)(void *arg, uint32_t ip, uint8_t len, uint32_t nh), void *arg)
{
	struct rte_rib_node *node = NULL;
	uint32_t child;
	uint64_t nh;
	uint8_t child_len;

	while ((node = rte_rib_get_nxt(rib, ip, len, node, RTE_RIB_GET_NXT_COVER)) != NULL) {
		rte_rib_get_ip(node, &child);
		rte_rib_get_depth(node, &child_len);
		rte_rib_get_nh(node, &nh);
		if (!fn(arg, child, child_len, nh))
			return false;
		if (child_len < 32 && !walk_below(rib, child, child_len, fn, arg))
			return false;
	}
	return true;
}

static void walk(struct rte_fib *f, bool (*fn)(void *arg, uint32_t ip, uint8_t len, uint32_t nh),
		 void *arg)
{
	struct rte_rib *rib = rte_fib_get_rib(f);
	struct rte_rib_node *root = rte_rib_lookup_exact(rib, 0, 0);
	uint64_t nh;

	if (root) {
		rte_rib_get_nh(root, &nh);
		if (!fn(arg, 0, 0, nh))
			return;
	}
	walk_below(rib, 0, 0, fn, arg);
}

struct copying {
	struct rte_fib *to;
	int rc;
};

static bool copy_one(void *arg, uint32_t ip, uint8_t len, uint32_t nh)
{
	struct copying *c = arg;
	bool new_group;

	/* It has no less room than the one that it is copied from. */
	c->rc = copy_set(c->to, ip, len, nh, 1, &new_group);
	return c->rc == 0;
}

static int copy_all(struct rte_fib *from, struct rte_fib *to)
{
	struct copying c = {.to = to};

	walk(from, copy_one, &c);
	return c.rc;
}

/* Replaces the standby by one with more room, and sees to it that the other copy can follow. */
static int grow(uint32_t size, uint32_t tbl8)
{
	struct rte_fib *standby = fib.no_memory ? NULL : create(size, tbl8);
	struct rte_fib *grown = standby ? create(size, tbl8) : NULL;

	if (!grown || copy_all(fib.standby, standby)) {
		rte_fib_free(standby);
		rte_fib_free(grown);
		fib.no_memory = true;
		fib.full = "no memory for more routes";
		return -ENOSPC;
	}
	rte_fib_free(fib.standby);
	rte_fib_free(fib.grown);
	fib.standby = standby;
	fib.grown = grown;
	fib.size = size;
	fib.tbl8 = tbl8;
	return 0;
}

/* Groups as well: in a large table they are a tenth of its memory, and to make it anew for them
 * would take as much again. */
static int grow_nodes(void)
{
	if (fib.size >= fib.max_size) {
		fib.full = "the table of routes is full";
		return -ENOSPC;
	}
	return grow(RTE_MIN(fib.size * FIB_GROWTH, fib.max_size),
		    RTE_MIN(fib.tbl8 * FIB_GROWTH, (uint32_t)FIB_TBL8));
}

static int grow_groups(void)
{
	if (fib.tbl8 >= FIB_TBL8) {
		fib.full = "prefixes longer than /24 lie in too many /24 networks";
		return -ENOSPC;
	}
	return grow(fib.size, RTE_MIN(fib.tbl8 * FIB_GROWTH, (uint32_t)FIB_TBL8));
}

/* Makes the standby anew from the active copy. */
static int rebuild(void)
{
	struct rte_fib *f = create(fib.size, fib.tbl8);

	if (!f)
		return -ENOMEM;
	if (copy_all(fib.active, f)) {
		rte_fib_free(f);
		return -ENOMEM;
	}
	rte_fib_free(fib.standby);
	fib.standby = f;
	return 0;
}

static void log_edit(uint32_t ip, uint8_t len, uint32_t nh)
{
	fib.staged = true;
	if (fib.log_lost || fib.grown) /* the whole table will be copied */
		return;
	if (fib.n_log == fib.room_log) {
		size_t room = fib.room_log ? fib.room_log * 2 : 1024;
		struct fib_edit *log = realloc(fib.log, room * sizeof(*log));

		if (!log) {
			fib.log_lost = true;
			return;
		}
		fib.log = log;
		fib.room_log = room;
	}
	fib.log[fib.n_log++] = (struct fib_edit){.ip = ip, .len = len, .nh = nh};
}

int fib_set(uint32_t ip, uint8_t len, uint32_t nh)
{
	bool new_group;
	int rc;

	if (!fib.standby && rebuild()) {
		fib.full = "no memory for the second copy of the table";
		return -ENOSPC;
	}
	for (;;) {
		rc = copy_set(fib.standby, ip, len, nh, fib.tbl8 - FIB_TBL8_SPARE - fib.groups,
			      &new_group);
		if (rc == 0)
			break;
		/* -ENOMEM: out of nodes, -ENOSPC: out of groups */
		if (rc == -ENOMEM ? grow_nodes() : grow_groups())
			return -ENOSPC;
	}
	fib.groups += new_group;
	log_edit(ip, len, nh);
	return 0;
}

void fib_expect(uint32_t n, uint32_t nets)
{
	uint32_t size = fib.size, tbl8 = fib.tbl8;

	while (size < fib.max_size && size < n) {
		size = RTE_MIN(size * FIB_GROWTH, fib.max_size);
		tbl8 = RTE_MIN(tbl8 * FIB_GROWTH, (uint32_t)FIB_TBL8);
	}
	while (tbl8 < FIB_TBL8 && tbl8 - FIB_TBL8_SPARE < nets)
		tbl8 = RTE_MIN(tbl8 * FIB_GROWTH, (uint32_t)FIB_TBL8);
	if ((size > fib.size || tbl8 > fib.tbl8) && (fib.standby || rebuild() == 0) &&
	    grow(size, tbl8))
		fib.no_memory = false; /* in small steps it may go further */
}

int fib_unset(uint32_t ip, uint8_t len)
{
	int rc;

	if (!fib.standby && rebuild())
		return -ENOMEM;
	rc = rte_fib_delete(fib.standby, ip, len);
	if (rc)
		return rc;
	if (len > 24 && !has_longer(fib.standby, ip))
		fib.groups--;
	log_edit(ip, len, 0);
	return 0;
}

const char *fib_full_reason(void)
{
	return fib.full ? fib.full : "the table of routes is full";
}

static struct rte_rib *view(void)
{
	return rte_fib_get_rib(fib.standby ? fib.standby : fib.active);
}

uint32_t fib_get(uint32_t ip, uint8_t len)
{
	struct rte_rib_node *node = rte_rib_lookup_exact(view(), ip, len);
	uint64_t nh = 0;

	if (node)
		rte_rib_get_nh(node, &nh);
	return nh;
}

uint32_t fib_match(uint32_t ip, uint8_t max_len, uint8_t *len)
{
	struct rte_rib_node *node = rte_rib_lookup(view(), ip);
	uint64_t nh;

	for (; node; node = rte_rib_lookup_parent(node)) {
		rte_rib_get_depth(node, len);
		if (*len <= max_len) {
			rte_rib_get_nh(node, &nh);
			return nh;
		}
	}
	return 0;
}

void fib_walk(bool (*fn)(void *arg, uint32_t ip, uint8_t len, uint32_t nh), void *arg)
{
	walk(fib.standby ? fib.standby : fib.active, fn, arg);
}

bool fib_staged(void)
{
	return fib.staged;
}

struct rte_fib *fib_to_publish(void)
{
	return fib.staged ? fib.standby : fib.active;
}

static int replay(struct rte_fib *f)
{
	bool new_group;
	int rc = 0;

	for (size_t i = 0; i < fib.n_log && rc == 0; i++) {
		const struct fib_edit *e = &fib.log[i];

		/* The standby had room for it, with the same history. */
		rc = e->nh ? copy_set(f, e->ip, e->len, e->nh, 1, &new_group)
			   : rte_fib_delete(f, e->ip, e->len);
	}
	return rc;
}

void fib_published(void)
{
	struct rte_fib *left = fib.active;
	int rc;

	fib.no_memory = false;
	if (!fib.staged)
		return;
	fib.active = fib.standby;
	fib.standby = left;
	if (fib.grown) {
		fib.standby = fib.grown;
		fib.grown = NULL;
		rte_fib_free(left);
		rc = copy_all(fib.active, fib.standby);
	} else {
		rc = fib.log_lost ? -ENOMEM : replay(fib.standby);
	}
	if (rc && rebuild()) {
		dp_log(FWD_LOG_ERROR, "no memory for the second copy of the forwarding table: "
				      "routes can't be changed until there is");
		rte_fib_free(fib.standby);
		fib.standby = NULL;
	} else if (rc && !fib.log_lost) {
		dp_log(FWD_LOG_ERROR,
		       "the two copies of the forwarding table differed (%s): rebuilt",
		       rte_strerror(-rc));
	}
	fib.n_log = 0;
	fib.staged = false;
	fib.log_lost = false;
	if (fib.room_log > 65536) {
		free(fib.log);
		fib.log = NULL;
		fib.room_log = 0;
	}
}

struct comparing {
	struct rte_rib *other;
	size_t n;
	bool equal;
};

static bool compare_one(void *arg, uint32_t ip, uint8_t len, uint32_t nh)
{
	struct comparing *c = arg;
	struct rte_rib_node *node = rte_rib_lookup_exact(c->other, ip, len);
	uint64_t other;

	if (node)
		rte_rib_get_nh(node, &other);
	c->equal = node && other == nh;
	c->n++;
	return c->equal;
}

bool fib_copies_equal(void)
{
	struct comparing ab, ba;

	if (!fib.standby)
		return false;
	ab = (struct comparing){.other = rte_fib_get_rib(fib.standby), .equal = true};
	ba = (struct comparing){.other = rte_fib_get_rib(fib.active), .equal = true};
	walk(fib.active, compare_one, &ab);
	walk(fib.standby, compare_one, &ba);
	return ab.equal && ba.equal && ab.n == ba.n;
}
