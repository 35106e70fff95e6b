/* SPDX-License-Identifier: BSD-3-Clause */
/* What the checksum tests share: oracles that go byte by byte, a generator, guarded memory. */
#ifndef TEST_CSUM_ORACLE_H
#define TEST_CSUM_ORACLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

/* The 16-bit word of two bytes, as it lies in memory. */
static inline uint16_t word_of(unsigned first, unsigned second)
{
	unsigned char b[2] = {(unsigned char)first, (unsigned char)second};
	uint16_t w;

	memcpy(&w, b, 2);
	return w;
}

static inline uint16_t be16(unsigned v)
{
	return word_of(v >> 8 & 0xff, v & 0xff);
}

/* RFC 1071 section 4.1 byte by byte: the folded sum as a number (first byte of a pair is the high
 * one), 0 only for bytes that are all 0. */
static inline unsigned oracle_num(const void *buf, size_t len)
{
	const unsigned char *p = buf;
	uint64_t s = 0;
	size_t i;

	for (i = 0; i < len; i++)
		s += i & 1 ? p[i] : (unsigned)p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (unsigned)s;
}

/* The same in memory order: what csum_fold_sum must give. */
static inline uint16_t oracle_sum(const void *buf, size_t len)
{
	return be16(oracle_num(buf, len));
}

static inline uint16_t oracle_check(const void *buf, size_t len)
{
	return (uint16_t)~oracle_sum(buf, len);
}

/* xorshift64*; CSUM_SEED in the environment makes another run. */
static uint64_t rnd_state = 88172645463325252u;

static inline void rnd_seed(void)
{
	const char *s = getenv("CSUM_SEED");

	rnd_state = s ? strtoull(s, NULL, 0) * 2 + 1 : 88172645463325252u;
}

static inline uint64_t rnd(void)
{
	rnd_state ^= rnd_state >> 12;
	rnd_state ^= rnd_state << 25;
	rnd_state ^= rnd_state >> 27;
	return rnd_state * 2685821657736338717u >> 8;
}

static inline size_t rnd_below(size_t n)
{
	return (size_t)(rnd() % n);
}

/* ROUNDS: in vectors of 16 and 32 bytes the high words of lanes of 32 bits are such that averages
 * of two, of four, of eight and of sixteen vectors are all rounded up. */
enum fill {
	FILL_ZERO,
	FILL_ONES,
	FILL_RANDOM,
	FILL_NEARLY_ONES,
	FILL_NEARLY_ZERO,
	FILL_ROUNDS_16,
	FILL_ROUNDS_32,
	FILL_N
};

static inline void fill(void *buf, size_t len, enum fill how)
{
	unsigned char *p = buf;
	size_t i;

	switch (how) {
	case FILL_ZERO:
	case FILL_NEARLY_ZERO:
		memset(p, 0, len);
		if (how == FILL_NEARLY_ZERO && len)
			p[rnd_below(len)] = (unsigned char)(1 + rnd_below(255));
		break;
	case FILL_ROUNDS_16:
	case FILL_ROUNDS_32:
		for (i = 0; i < len; i++) {
			unsigned vector = (unsigned)(i / (how == FILL_ROUNDS_16 ? 16 : 32)) & 15;

			p[i] = i % 4 == 2 ? (unsigned char)__builtin_popcount(vector) : 0;
		}
		break;
	case FILL_ONES:
	case FILL_NEARLY_ONES:
		memset(p, 0xff, len);
		if (how == FILL_NEARLY_ONES && len)
			p[rnd_below(len)] = (unsigned char)rnd_below(255);
		break;
	default:
		for (i = 0; i < len; i++)
			p[i] = (unsigned char)rnd();
	}
}

/* `len` usable bytes (a multiple of the page size) between two unreadable pages. */
static inline unsigned char *guarded(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *m =
		mmap(NULL, len + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(m != MAP_FAILED);
	assert_int_equal(mprotect(m + page, len, PROT_READ | PROT_WRITE), 0);
	return m + page;
}

static inline void guarded_free(unsigned char *p, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	munmap(p - page, len + 2 * page);
}

static inline size_t unhex(const char *hex, unsigned char *out, size_t max)
{
	size_t n = 0;
	unsigned v;

	for (; *hex; hex += 2) {
		assert_true(n < max);
		assert_int_equal(sscanf(hex, "%2x", &v), 1);
		out[n++] = (unsigned char)v;
	}
	return n;
}

#endif
