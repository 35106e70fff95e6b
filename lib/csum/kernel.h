/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernels share: their table entries, and scalar helpers for ends and short buffers.
 * Private to lib/csum. A kernel sums words in memory order into any accumulator it likes, as long
 * as that is 0 for bytes that are all 0 and for no others, and reads no byte outside the buffer.
 */
#ifndef TURNPIKE_CSUM_KERNEL_H
#define TURNPIKE_CSUM_KERNEL_H

#include "csum.h"

#if defined(__x86_64__)
#define CSUM_X86_64 1
#endif
#if defined(__aarch64__) && !defined(__AARCH64EB__)
#define CSUM_AARCH64 1
#endif

extern const struct csum_impl csum_impl_portable;
#ifdef CSUM_X86_64
extern const struct csum_impl csum_impl_adc;
extern const struct csum_impl csum_impl_sse2;
extern const struct csum_impl csum_impl_avx2;
extern const struct csum_impl csum_impl_avx512bw;
extern const struct csum_impl csum_impl_avx512;
#endif
#ifdef CSUM_AARCH64
extern const struct csum_impl csum_impl_neon;
#ifdef __linux__
extern const struct csum_impl csum_impl_sve;
#endif
#endif

#define CSUM_INLINE static inline __attribute__((always_inline))

/* Lanes of 32 bits, added up in 32 bits, hold the sum of this many bytes: 65,536 words of at most
 * 0xffff are below 2^32. */
#define CSUM_CHUNK ((size_t)128 << 10)

CSUM_INLINE uint64_t csum_load64(const unsigned char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

CSUM_INLINE uint32_t csum_load32(const unsigned char *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

CSUM_INLINE uint16_t csum_load16(const unsigned char *p)
{
	uint16_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* a + b in one's complement. */
CSUM_INLINE uint64_t csum_add64(uint64_t a, uint64_t b)
{
	uint64_t s = a + b;

	return s + (s < b);
}

/* The word made of a buffer's odd last byte and a zero byte. */
CSUM_INLINE uint32_t csum_last_byte(unsigned char b)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint32_t)b << 8;
#else
	return b;
#endif
}

/* w without the first `drop` bytes (even, below 8) of the 8 that it was loaded from. */
CSUM_INLINE uint64_t csum_drop_first(uint64_t w, unsigned drop)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return w << (8 * drop);
#else
	return w >> (8 * drop);
#endif
}

/* The sum of a short buffer. Where it can, it reads the word that ends at the end once more and
 * drops what was summed already, which costs less than a branch for each power of two. */
CSUM_INLINE uint64_t csum_short(const unsigned char *p, size_t len)
{
	uint64_t acc = len & 1 ? csum_last_byte(p[len - 1]) : 0;
	size_t even = len & ~(size_t)1;

	if (even >= 8) {
		const unsigned char *end = p + even;

		for (; end - p > 8; p += 8)
			acc = csum_add64(acc, csum_load64(p));
		return csum_add64(acc,
				  csum_drop_first(csum_load64(end - 8), 8 - (unsigned)(end - p)));
	}
	if (even & 4) {
		acc += csum_load32(p);
		p += 4;
	}
	if (even & 2)
		acc += csum_load16(p);
	return acc;
}

/* Where a copy goes on, n bytes further; NULL, which has no n bytes further, when there is none. */
CSUM_INLINE unsigned char *csum_after(unsigned char *d, size_t n, bool copy)
{
	return copy ? d + n : NULL;
}

/* Of the next n blocks of `size` bytes of a buffer with len bytes left: before how many the line
 * `ahead` bytes further on still lies in the buffer. */
CSUM_INLINE size_t csum_prefetched(size_t len, size_t n, size_t size, unsigned ahead)
{
	size_t most;

	if (!ahead || len <= ahead)
		return 0;
	most = (len - ahead) / size;
	return n < most ? n : most;
}

CSUM_INLINE void csum_prefetch_line(const unsigned char *p)
{
	__builtin_prefetch(p, 0, 3);
}

#endif
