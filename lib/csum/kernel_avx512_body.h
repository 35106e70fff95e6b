/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The AVX-512 kernel, compiled twice: kernel_avx512.c with VNNI, kernel_avx512bw.c without. The
 * file that includes it defines
 *   TARGET                the function attribute with the instruction set,
 *   add_words(acc, x)     acc + the 32 signed words of x, added in pairs to 16 lanes of 32 bits,
 *   IMPL, IMPL_NAME       the table entry and its name,
 *   impl_supported()      whether this CPU runs it.
 *
 * Words are unsigned, the multiply-and-add instructions signed: the words are xored with 0x8000,
 * which takes 0x8000 off each, and 32 * 0x8000 for each vector is added back at the end. All lanes
 * count modulo 2^32, so nothing matters on the way but that the true sum of a chunk stays below
 * 2^32 (CSUM_CHUNK).
 *
 * The end of a buffer longer than a vector is read as the 64 bytes that end there, those that were
 * summed already masked off; one of up to 64 bytes is read with a mask. A masked load that reaches
 * into a page that is not mapped is right but takes over 100 ns, so near the end of a page the
 * vector is taken that ends with the buffer.
 */
#include <immintrin.h>

static unsigned prefetch_bytes;

#define TINLINE static inline __attribute__((always_inline)) TARGET

/* From here on, a misaligned buffer is summed by aligned vectors. */
#define ALIGN_FROM 1024

TINLINE __m512i load(const unsigned char *p)
{
	return _mm512_loadu_si512((const void *)p);
}

TINLINE __m512i biased(__m512i x)
{
	return _mm512_xor_si512(x, _mm512_set1_epi16((short)0x8000));
}

TINLINE uint32_t lanes_sum(__m512i x)
{
	__m256i y = _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
	__m128i z = _mm_add_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

	z = _mm_add_epi32(z, _mm_unpackhi_epi64(z, z));
	z = _mm_add_epi32(z, _mm_shuffle_epi32(z, 1));
	return (uint32_t)_mm_cvtsi128_si32(z);
}

/* The words of one vector as 16 lanes, without a bias: shorter than add_words from nothing. */
TINLINE __m512i pairs(__m512i x)
{
	return _mm512_add_epi32(_mm512_srli_epi32(x, 16),
				_mm512_maskz_mov_epi16(0x55555555, x));
}

TINLINE bool near_page_end(const void *p)
{
	return ((uintptr_t)p & 4095) > 4096 - 64;
}

/* len <= 64 */
TINLINE csum_sum_t sum_to_64(const unsigned char *p, size_t len, csum_sum_t sum)
{
	uint64_t mask = _bzhi_u64(~0ull, (unsigned)len);

	if (__builtin_expect(near_page_end(p), 0)) {
		unsigned drop = (unsigned)(64 - len);

		if (!len)
			return sum;
		/* Bytes in front of the buffer, in its own page, masked off. */
		return csum_block_add(sum,
				      lanes_sum(pairs(_mm512_maskz_loadu_epi8(~0ull << drop,
									      p - drop))),
				      drop);
	}
	return csum_add(sum, lanes_sum(pairs(_mm512_maskz_loadu_epi8(mask, p))));
}

struct acc4 {
	__m512i a, b, c, d;
};

/* Adds a vector that is not the last one, and stores it at d when this is a copy. */
TINLINE __m512i add_64(__m512i acc, const unsigned char *p, unsigned char *d, bool copy)
{
	__m512i x = load(p);

	if (copy)
		_mm512_storeu_si512((void *)d, x);
	return add_words(acc, biased(x));
}

TINLINE struct acc4 add_256(struct acc4 s, const unsigned char *p, unsigned char *d, bool copy)
{
	s.a = add_64(s.a, p, d, copy);
	s.b = add_64(s.b, p + 64, csum_after(d, 64, copy), copy);
	s.c = add_64(s.c, p + 128, csum_after(d, 128, copy), copy);
	s.d = add_64(s.d, p + 192, csum_after(d, 192, copy), copy);
	return s;
}

TINLINE void prefetch_512(const unsigned char *p)
{
	int i;

	for (i = 0; i < 512; i += 64)
		csum_prefetch_line(p + i);
}

/* 64 < len <= CSUM_CHUNK; `head` holds up to 31 words summed before. The sum is below 2^32, so 0
 * only for zeros. */
TINLINE uint32_t sum_chunk(const unsigned char *p, size_t len, unsigned char *d, bool copy,
			   __m512i head, unsigned ahead)
{
	size_t even = len & ~(size_t)1;
	size_t n = (even - 1) / 64; /* vectors before the last one, which may overlap */
	uint32_t last = p[len - 1] & -(uint32_t)(len & 1);
	uint32_t bias = (uint32_t)(n + 1) << 20;
	uint64_t fresh = ~0ull << (64 - (even - n * 64));
	struct acc4 s;

	if (copy) {
		__m512i x = load(p + even - 64);

		_mm512_storeu_si512((void *)(d + even - 64), x);
		d[len - 1] = p[len - 1];
		s.a = _mm512_maskz_mov_epi8(fresh, x);
	} else {
		s.a = _mm512_maskz_loadu_epi8(fresh, p + even - 64);
	}
	s.a = add_words(head, biased(s.a));
	s.b = s.c = s.d = _mm512_setzero_si512();
	if (n >= 8) {
		struct acc4 t = { s.b, s.b, s.b, s.b };
		size_t pf = csum_prefetched(len, n / 8, 512, ahead);

		n -= 8 * pf;
		for (; pf; pf--, p += 512, d = csum_after(d, 512, copy)) {
			prefetch_512(p + ahead);
			s = add_256(s, p, d, copy);
			t = add_256(t, p + 256, csum_after(d, 256, copy), copy);
		}
		for (; n >= 8; n -= 8, p += 512, d = csum_after(d, 512, copy)) {
			s = add_256(s, p, d, copy);
			t = add_256(t, p + 256, csum_after(d, 256, copy), copy);
		}
		s.a = _mm512_add_epi32(s.a, t.a);
		s.b = _mm512_add_epi32(s.b, t.b);
		s.c = _mm512_add_epi32(s.c, t.c);
		s.d = _mm512_add_epi32(s.d, t.d);
	}
	if (n & 4) {
		s = add_256(s, p, d, copy);
		p += 256;
		d = csum_after(d, 256, copy);
	}
	if (n & 2) {
		s.a = add_64(s.a, p, d, copy);
		s.b = add_64(s.b, p + 64, csum_after(d, 64, copy), copy);
		p += 128;
		d = csum_after(d, 128, copy);
	}
	if (n & 1)
		s.c = add_64(s.c, p, d, copy);
	s.a = _mm512_add_epi32(_mm512_add_epi32(s.a, s.b), _mm512_add_epi32(s.c, s.d));
	return lanes_sum(s.a) + bias + last;
}

/* len > 64 */
TINLINE uint64_t sum_long(const unsigned char *p, size_t len, unsigned char *d, bool copy,
			  __m512i head)
{
	unsigned ahead = prefetch_bytes;
	uint64_t acc = 0;

	while (__builtin_expect(len > CSUM_CHUNK, 0)) {
		size_t n = len - CSUM_CHUNK > 64 ? CSUM_CHUNK : CSUM_CHUNK - 128;

		acc += sum_chunk(p, n, d, copy, head, ahead);
		head = _mm512_setzero_si512();
		p += n;
		d = csum_after(d, n, copy);
		len -= n;
		acc = csum_fold64(acc);
	}
	return acc + sum_chunk(p, len, d, copy, head, ahead);
}

/* len >= ALIGN_FROM, p not aligned. */
static __attribute__((noinline)) TARGET csum_sum_t sum_misaligned(const unsigned char *p,
								  size_t len, csum_sum_t sum)
{
	unsigned odd = (uintptr_t)p & 1, head;
	unsigned char first = *p;
	csum_sum_t rest;
	__m512i x;

	p += odd;
	len -= odd;
	head = -(unsigned)(uintptr_t)p & 63;
	x = pairs(_mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, head), p));
	rest = csum_fold64(sum_long(p + head, len - head, NULL, false, x));
	return csum_add(sum, odd ? csum_after_odd_byte(first, rest) : rest);
}

static TARGET csum_sum_t impl_partial(const void *buf, size_t len, csum_sum_t sum)
{
	const unsigned char *p = buf;

	if (len <= 64)
		return sum_to_64(p, len, sum);
	if (len >= ALIGN_FROM && ((uintptr_t)p & 63))
		return sum_misaligned(p, len, sum);
	return csum_fold64(sum_long(p, len, NULL, false, _mm512_setzero_si512()) + sum);
}

static TARGET csum_sum_t impl_partial_copy(void *restrict dst, const void *restrict src, size_t len,
					   csum_sum_t sum)
{
	const unsigned char *p = src;
	unsigned char *d = dst;

	if (len > 64)
		return csum_fold64(sum_long(p, len, d, true, _mm512_setzero_si512()) + sum);
	if (__builtin_expect(near_page_end(p) || near_page_end(d), 0)) {
		if (len)
			memcpy(d, p, len);
		return sum_to_64(p, len, sum);
	} else {
		uint64_t mask = _bzhi_u64(~0ull, (unsigned)len);
		__m512i x = _mm512_maskz_loadu_epi8(mask, p);

		_mm512_mask_storeu_epi8(d, mask, x);
		return csum_add(sum, lanes_sum(pairs(x)));
	}
}

const struct csum_impl IMPL = {
	.name = IMPL_NAME,
	.supported = impl_supported,
	.partial = impl_partial,
	.partial_copy = impl_partial_copy,
	.prefetch = &prefetch_bytes,
};
