/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_table.h"

#define SLOTS_FILLED  9.5 /* of ten, at capacity */
#define SPARE_BUCKETS 16  /* small tables need more room: their two buckets are often one */
#define SEARCH_MAX    512 /* buckets that an insertion visits at most */

static uint32_t buckets_for(uint32_t capacity)
{
	return (uint32_t)(capacity / SLOTS_FILLED) + SPARE_BUCKETS;
}

size_t nat_table_bytes(uint32_t capacity)
{
	return (size_t)buckets_for(capacity) * sizeof(struct nat_bucket);
}

void nat_table_init(struct nat_table *t, void *memory, uint32_t capacity)
{
	t->buckets = memory;
	t->n_buckets = buckets_for(capacity);
	t->count = 0;
}

static int free_slot(const struct nat_bucket *b)
{
	unsigned m = nat_bucket_match(b, 0);

	return m == 0 ? -1 : __builtin_ctz(m);
}

static void put(struct nat_table *t, uint32_t bucket, unsigned slot, uint16_t tag, uint32_t value,
		bool away)
{
	struct nat_bucket *b = &t->buckets[bucket];

	b->tag[slot] = tag;
	b->value[slot] = value;
	if (away) {
		b->away |= (uint16_t)(1u << slot);
		t->buckets[nat_table_other(t, bucket, tag)].moved++;
	} else {
		b->away &= (uint16_t) ~(1u << slot);
	}
}

static void take(struct nat_table *t, uint32_t bucket, unsigned slot)
{
	struct nat_bucket *b = &t->buckets[bucket];

	if (b->away & 1u << slot) {
		t->buckets[nat_table_other(t, bucket, b->tag[slot])].moved--;
		b->away &= (uint16_t) ~(1u << slot);
	}
	b->tag[slot] = 0;
	b->value[slot] = 0;
}

/* Moves an entry to a free slot of its other bucket. */
static void move(struct nat_table *t, uint32_t from, unsigned slot, uint32_t to, unsigned to_slot)
{
	struct nat_bucket *b = &t->buckets[from];
	uint16_t tag = b->tag[slot];
	uint32_t value = b->value[slot];
	bool away = b->away & 1u << slot;

	take(t, from, slot);
	put(t, to, to_slot, tag, value, !away);
}

struct node {
	uint32_t bucket;
	uint16_t parent; /* index of the node whose entry moves here */
	uint8_t slot;	 /* which of the parent's entries */
};

/* Makes room in bucket a or b by moving entries to their other buckets along the shortest path.
 * Returns the bucket that then has a free slot, or NAT_NONE. */
static uint32_t make_room(struct nat_table *t, uint32_t a, uint32_t b)
{
	struct node queue[SEARCH_MAX];
	unsigned head = 0, tail = 0;

	queue[tail++] = (struct node){a, 0, 0};
	queue[tail++] = (struct node){b, 1, 0};
	for (; head < tail; head++) {
		const struct nat_bucket *from = &t->buckets[queue[head].bucket];

		for (unsigned s = 0; s < NAT_BUCKET_SLOTS; s++) {
			uint32_t to = nat_table_other(t, queue[head].bucket, from->tag[s]);
			int slot;

			if (to == queue[head].bucket)
				continue;
			slot = free_slot(&t->buckets[to]);
			if (slot >= 0) {
				unsigned n = head, from_slot = s;

				for (;;) {
					move(t, queue[n].bucket, from_slot, to, (unsigned)slot);
					if (n < 2)
						return queue[n].bucket;
					to = queue[n].bucket;
					slot = (int)from_slot;
					from_slot = queue[n].slot;
					n = queue[n].parent;
				}
			}
			if (tail < SEARCH_MAX)
				queue[tail++] = (struct node){to, (uint16_t)head, (uint8_t)s};
		}
	}
	return NAT_NONE;
}

bool nat_table_insert(struct nat_table *t, uint32_t hash, uint32_t value)
{
	uint16_t tag = nat_table_tag(hash);
	uint32_t home = nat_table_home(t, hash), bucket = home;
	int slot = free_slot(&t->buckets[home]);

	if (slot < 0) {
		bucket = nat_table_other(t, home, tag);
		slot = free_slot(&t->buckets[bucket]);
	}
	if (slot < 0) {
		bucket = make_room(t, home, bucket);
		if (bucket == NAT_NONE)
			return false;
		slot = free_slot(&t->buckets[bucket]);
	}
	put(t, bucket, (unsigned)slot, tag, value, bucket != home);
	t->count++;
	return true;
}

/* Where the entry lies: true and its place. */
static bool locate(const struct nat_table *t, uint32_t hash, uint32_t value, uint32_t *bucket,
		   unsigned *slot)
{
	uint16_t tag = nat_table_tag(hash);
	uint32_t b = nat_table_home(t, hash);

	for (unsigned i = 0; i < 2; i++) {
		for (unsigned m = nat_bucket_match(&t->buckets[b], tag); m != 0; m &= m - 1) {
			*slot = (unsigned)__builtin_ctz(m);
			if (t->buckets[b].value[*slot] == value) {
				*bucket = b;
				return true;
			}
		}
		b = nat_table_other(t, b, tag);
	}
	return false;
}

bool nat_table_delete(struct nat_table *t, uint32_t hash, uint32_t value)
{
	uint32_t bucket;
	unsigned slot;

	if (!locate(t, hash, value, &bucket, &slot))
		return false;
	take(t, bucket, slot);
	t->count--;
	return true;
}

bool nat_table_replace(struct nat_table *t, uint32_t hash, uint32_t value, uint32_t by)
{
	uint32_t bucket;
	unsigned slot;

	if (!locate(t, hash, value, &bucket, &slot))
		return false;
	t->buckets[bucket].value[slot] = by;
	return true;
}
