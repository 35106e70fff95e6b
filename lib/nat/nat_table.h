/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one hash table: maps 32-bit hashes to 32-bit values that name records; the keys live in the
 * records, so a lookup asks its caller whether a value is the one.
 *
 * Buckets are one 64-byte line of ten tags and ten values. An entry lives in its home bucket or in
 * one other that follows from home and tag (cuckoo, breadth first), so tables run at 95 % load. A
 * bucket counts the entries that call it home and live elsewhere: where there are none, a miss
 * costs one line. Values are any but NAT_NONE; equal hashes are fine, equal values under one hash
 * are not. One owner, no lock.
 */
#ifndef TURNPIKE_NAT_TABLE_H
#define TURNPIKE_NAT_TABLE_H

#include "nat_key.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define NAT_BUCKET_SLOTS 10

struct nat_bucket {
	uint16_t tag[NAT_BUCKET_SLOTS]; /* 0: free */
	uint16_t away;			/* bit i: slot i is not in its home bucket */
	uint16_t moved;			/* entries at home here that live elsewhere */
	uint32_t value[NAT_BUCKET_SLOTS];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct nat_bucket) == 64, "a bucket is one line");

struct nat_table {
	struct nat_bucket *buckets;
	uint32_t n_buckets;
	uint32_t count;
};

/* Bytes for a table of capacity entries, and the table made in such zeroed, 64-byte aligned memory.
 */
size_t nat_table_bytes(uint32_t capacity);
void nat_table_init(struct nat_table *t, void *memory, uint32_t capacity);

/* False: no room found (changes nothing). Does not look for an equal entry. */
bool nat_table_insert(struct nat_table *t, uint32_t hash, uint32_t value);
/* The entry with that hash and value; false: there is none. */
bool nat_table_delete(struct nat_table *t, uint32_t hash, uint32_t value);
bool nat_table_replace(struct nat_table *t, uint32_t hash, uint32_t value, uint32_t by);

static inline uint16_t nat_table_tag(uint32_t hash)
{
	uint16_t tag = (uint16_t)hash;

	return tag + (tag == 0);
}

static inline uint32_t nat_table_home(const struct nat_table *t, uint32_t hash)
{
	return (uint32_t)(((uint64_t)hash * t->n_buckets) >> 32);
}

/* The other bucket of an entry in bucket b: its own inverse, for any number of buckets. */
static inline uint32_t nat_table_other(const struct nat_table *t, uint32_t b, uint16_t tag)
{
	uint32_t sum = (uint32_t)(((uint64_t)(tag * 0x9e3779b1u) * t->n_buckets) >> 32);

	return sum >= b ? sum - b : sum + t->n_buckets - b;
}

/* Bit i: slot i holds tag. */
static inline unsigned nat_bucket_match(const struct nat_bucket *b, uint16_t tag)
{
#ifdef __SSE2__
	const __m128i want = _mm_set1_epi16((short)tag);
	/* the second load reaches past the tags into the same line; the mask cuts that off */
	__m128i lo = _mm_cmpeq_epi16(_mm_load_si128((const __m128i *)(const void *)b), want);
	__m128i hi = _mm_cmpeq_epi16(_mm_load_si128((const __m128i *)(const void *)b + 1), want);

	return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(lo, hi)) &
	       ((1u << NAT_BUCKET_SLOTS) - 1);
#else
	unsigned m = 0;

	for (unsigned i = 0; i < NAT_BUCKET_SLOTS; i++)
		m |= (unsigned)(b->tag[i] == tag) << i;
	return m;
#endif
}

static inline void nat_table_prefetch(const struct nat_table *t, uint32_t hash)
{
	__builtin_prefetch(&t->buckets[nat_table_home(t, hash)]);
}

/* The first value under hash for which is(ctx, value) holds, or NAT_NONE. */
static inline __attribute__((always_inline)) uint32_t nat_table_find(
	const struct nat_table *t, uint32_t hash, bool (*is)(const void *ctx, uint32_t value),
	const void *ctx)
{
	uint16_t tag = nat_table_tag(hash);
	uint32_t home = nat_table_home(t, hash);
	const struct nat_bucket *b = &t->buckets[home];

	for (unsigned m = nat_bucket_match(b, tag); m != 0; m &= m - 1) {
		uint32_t v = b->value[__builtin_ctz(m)];

		if (is(ctx, v))
			return v;
	}
	if (b->moved == 0)
		return NAT_NONE;
	b = &t->buckets[nat_table_other(t, home, tag)];
	for (unsigned m = nat_bucket_match(b, tag); m != 0; m &= m - 1) {
		uint32_t v = b->value[__builtin_ctz(m)];

		if (is(ctx, v))
			return v;
	}
	return NAT_NONE;
}

#endif /* TURNPIKE_NAT_TABLE_H */
