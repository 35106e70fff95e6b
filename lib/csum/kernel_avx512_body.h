/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The AVX-512 kernel, compiled twice: kernel_avx512.c with VNNI, kernel_avx512bw.c without. The
 * file that includes it defines
 *   TARGET                the function attribute with the instruction set,
 *   add_words(acc, x, ones)  acc + the 32 signed words of x, added in pairs to 16 lanes of 32
 *                         bits; ones has 1 in each word,
 *   IMPL, IMPL_NAME       the table entry and its name,
 *   impl_supported()      whether this CPU runs it.
 *
 * Words are unsigned, the multiply-and-add instructions signed: the words are xored with 0x8000,
 * which takes 0x8000 off each, and 32 * 0x8000 for each vector is added back at the end. All lanes
 * count modulo 2^32, so nothing matters on the way but that the true sum of a chunk stays below
 * 2^32 (CSUM_CHUNK).
 *
 * The end of a buffer is read with a mask, and so is a short buffer. A masked load that reaches
 * into a page that is not mapped is right but takes over 100 ns, so near the end of a page the
 * vector is taken that ends with the buffer, its first bytes masked off.
 *
 * What a short call costs is instructions, not bandwidth: so there is a path without loops and with
 * few branches for each doubling up to 256 bytes, and what is rare is kept out of line, where it
 * needs no registers saved.
 */
#include <immintrin.h>

static unsigned prefetch_bytes;

#define TINLINE static inline __attribute__((always_inline)) TARGET

/* From here on, a buffer is summed by aligned vectors. */
#define ALIGN_FROM 512

/* From here on twelve accumulators are faster than eight. */
#define WIDE_FROM 4000

TINLINE __m512i load(const unsigned char *p)
{
	return _mm512_loadu_si512((const void *)p);
}

struct consts {
	__m512i sign, ones;
};

/* The empty statement hides where they come from: gcc 12 else makes them anew after each branch. */
TINLINE struct consts make_consts(void)
{
	struct consts k = {_mm512_set1_epi16((short)0x8000), _mm512_set1_epi16(1)};

	__asm__("" : "+v"(k.sign), "+v"(k.ones));
	return k;
}

/* acc + the words of x, less 0x8000 each. */
TINLINE __m512i add_biased(struct consts k, __m512i acc, __m512i x)
{
	return add_words(acc, _mm512_xor_si512(x, k.sign), k.ones);
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
				_mm512_and_si512(x, _mm512_set1_epi32(0xffff)));
}

/* An address outside the buffer, from which only bytes inside it are loaded: as a number, since a
 * pointer may not point there. */
TINLINE const void *in_front_of(const unsigned char *p, size_t bytes)
{
	return (const void *)((uintptr_t)p - bytes);
}

TINLINE bool near_page_end(const void *p)
{
	return ((uintptr_t)p & 4095) > 4096 - 64;
}

/* The last len bytes (1 to 64) of a buffer, read from in front of them: the bytes there are in
 * their own page. An odd last byte goes to the first word, which is free then. */
static __attribute__((noinline, cold)) TARGET __m512i load_before_page_end(const unsigned char *p,
									   size_t len)
{
	unsigned even = (unsigned)len & ~1u, odd = (unsigned)len & 1;
	__m512i x = _mm512_setzero_si512();

	if (even)
		x = _mm512_maskz_loadu_epi8(~0ull << (64 - even), in_front_of(p + even, 64));
	return _mm512_or_si512(
		x, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)(odd ? p[len - 1] : 0))));
}

/* The last len bytes (1 to 64) of a buffer, zeros behind them. */
TINLINE __m512i load_last(const unsigned char *p, size_t len)
{
	if (__builtin_expect(near_page_end(p), 0))
		return load_before_page_end(p, len);
	return _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, (unsigned)len), p);
}

/* 64 < len <= 128 */
TINLINE uint32_t sum_to_128(const unsigned char *p, size_t len)
{
	__m512i x = load(p), y = load_last(p + 64, len - 64);
	const __m512i low = _mm512_set1_epi32(0xffff);

	return lanes_sum(_mm512_add_epi32(
		_mm512_add_epi32(_mm512_srli_epi32(x, 16), _mm512_srli_epi32(y, 16)),
		_mm512_add_epi32(_mm512_and_si512(x, low), _mm512_and_si512(y, low))));
}

/* 128 < len <= 256: of the third and fourth vector one or both end the buffer. */
TINLINE uint32_t sum_to_256(const unsigned char *p, size_t len)
{
	const __m512i zero = _mm512_setzero_si512();
	const struct consts k = make_consts();
	__m512i a = add_biased(k, zero, load(p));
	__m512i b = add_biased(k, zero, load(p + 64));

	if (len <= 192) {
		a = add_biased(k, a, load_last(p + 128, len - 128));
		return lanes_sum(_mm512_add_epi32(a, b)) + (3u << 20);
	}
	a = add_biased(k, a, load(p + 128));
	b = add_biased(k, b, load_last(p + 192, len - 192));
	return lanes_sum(_mm512_add_epi32(a, b)) + (4u << 20);
}

struct acc4 {
	__m512i a, b, c, d;
};

/* Adds a vector that is not the last one, and stores it at d when this is a copy. */
TINLINE __m512i add_64(struct consts k, __m512i acc, const unsigned char *p, unsigned char *d,
		       bool copy)
{
	__m512i x = load(p);

	if (copy)
		_mm512_storeu_si512((void *)d, x);
	return add_biased(k, acc, x);
}

TINLINE struct acc4 add_256(struct consts k, struct acc4 s, const unsigned char *p,
			    unsigned char *d, bool copy)
{
	s.a = add_64(k, s.a, p, d, copy);
	s.b = add_64(k, s.b, p + 64, csum_after(d, 64, copy), copy);
	s.c = add_64(k, s.c, p + 128, csum_after(d, 128, copy), copy);
	s.d = add_64(k, s.d, p + 192, csum_after(d, 192, copy), copy);
	return s;
}

TINLINE struct acc4 add_acc4(struct acc4 s, struct acc4 t)
{
	s.a = _mm512_add_epi32(s.a, t.a);
	s.b = _mm512_add_epi32(s.b, t.b);
	s.c = _mm512_add_epi32(s.c, t.c);
	s.d = _mm512_add_epi32(s.d, t.d);
	return s;
}

TINLINE void prefetch_768(const unsigned char *p)
{
	int i;

	for (i = 0; i < 768; i += 64)
		csum_prefetch_line(p + i);
}

/* 256 < len <= CSUM_CHUNK. With `align`, vectors are read from addresses that are multiples of 64:
 * the first is the one in which p lies, the bytes in front of p masked off, and words are those of
 * even addresses, whether p is even or not; `wide` is for twelve accumulators. The sum is below
 * 2^32, so 0 only for zeros. */
TINLINE uint32_t sum_chunk(const unsigned char *p, size_t len, unsigned char *d, bool copy,
			   bool align, bool wide, unsigned ahead)
{
	const struct consts k = make_consts();
	__m512i head = _mm512_setzero_si512();
	uint32_t bias = 0;
	struct acc4 s;
	size_t n;

	if (align) {
		unsigned off = (uintptr_t)p & 63;

		head = add_biased(k, head,
				  _mm512_maskz_loadu_epi8(~0ull << off, in_front_of(p, off)));
		bias = 1u << 20;
		p += 64 - off;
		len -= 64 - off;
	}
	n = (len - 1) / 64; /* full vectors before the last one */
	bias += (uint32_t)(n + 1) << 20;
	s = (struct acc4){head, _mm512_setzero_si512(), _mm512_setzero_si512(),
			  _mm512_setzero_si512()};
	if (wide) {
		struct acc4 t = {s.b, s.b, s.b, s.b}, u = t;
		size_t pf = csum_prefetched(len, n / 12, 768, ahead);

		n -= 12 * pf;
		for (; pf; pf--, p += 768, d = csum_after(d, 768, copy)) {
			prefetch_768(p + ahead);
			s = add_256(k, s, p, d, copy);
			t = add_256(k, t, p + 256, csum_after(d, 256, copy), copy);
			u = add_256(k, u, p + 512, csum_after(d, 512, copy), copy);
		}
		for (; n >= 12; n -= 12, p += 768, d = csum_after(d, 768, copy)) {
			s = add_256(k, s, p, d, copy);
			t = add_256(k, t, p + 256, csum_after(d, 256, copy), copy);
			u = add_256(k, u, p + 512, csum_after(d, 512, copy), copy);
		}
		s = add_acc4(add_acc4(s, t), u);
	}
	if (n >= 8) {
		struct acc4 t = {_mm512_setzero_si512(), _mm512_setzero_si512(),
				 _mm512_setzero_si512(), _mm512_setzero_si512()};

		for (; n >= 8; n -= 8, p += 512, d = csum_after(d, 512, copy)) {
			s = add_256(k, s, p, d, copy);
			t = add_256(k, t, p + 256, csum_after(d, 256, copy), copy);
		}
		s = add_acc4(s, t);
	}
	if (n & 4) {
		s = add_256(k, s, p, d, copy);
		p += 256;
		d = csum_after(d, 256, copy);
	}
	if (n & 2) {
		s.a = add_64(k, s.a, p, d, copy);
		s.b = add_64(k, s.b, p + 64, csum_after(d, 64, copy), copy);
		p += 128;
		d = csum_after(d, 128, copy);
	}
	if (n & 1) {
		s.c = add_64(k, s.c, p, d, copy);
		p += 64;
		d = csum_after(d, 64, copy);
	}
	len = ((len - 1) & 63) + 1;
	if (copy && len < 64) {
		/* The 64 bytes that end there once more, with what was summed masked off. */
		size_t even = len & ~(size_t)1;
		__m512i x = load(p + even - 64);

		_mm512_storeu_si512((void *)(d + even - 64), x);
		d[len - 1] = p[len - 1];
		x = _mm512_maskz_mov_epi8(~0ull << 1 << (63 - even), x);
		s.d = add_biased(k, s.d, x);
		bias += p[len - 1] & -(uint32_t)(len & 1);
	} else if (copy) {
		s.d = add_64(k, s.d, p, d, copy);
	} else {
		s.d = add_biased(k, s.d, load_last(p, len));
	}
	return lanes_sum(_mm512_add_epi32(_mm512_add_epi32(s.a, s.b), _mm512_add_epi32(s.c, s.d))) +
	       bias;
}

/* len > 256: in chunks, or with prefetching. */
TINLINE uint64_t sum_chunks(const unsigned char *p, size_t len, unsigned char *d, bool copy,
			    bool align)
{
	unsigned ahead = prefetch_bytes;
	uint64_t acc = 0;

	while (len > CSUM_CHUNK) {
		size_t n = len - CSUM_CHUNK > 256 ? CSUM_CHUNK : CSUM_CHUNK - 512;

		acc = csum_fold64(acc + sum_chunk(p, n, d, copy, align, true, ahead));
		p += n;
		d = csum_after(d, n, copy);
		len -= n;
	}
	return acc + sum_chunk(p, len, d, copy, align, true, ahead);
}

static __attribute__((noinline)) TARGET csum_sum_t sum_very_long(const unsigned char *p, size_t len,
								 csum_sum_t sum)
{
	return csum_block_add(sum, csum_fold64(sum_chunks(p, len, NULL, false, true)),
			      (uintptr_t)p);
}

static __attribute__((noinline)) TARGET csum_sum_t sum_wide(const unsigned char *p, size_t len,
							    csum_sum_t sum)
{
	if (len > CSUM_CHUNK || prefetch_bytes)
		return sum_very_long(p, len, sum);
	return csum_block_add(sum, sum_chunk(p, len, NULL, false, true, true, 0), (uintptr_t)p);
}

static TARGET csum_sum_t impl_partial(const void *buf, size_t len, csum_sum_t sum)
{
	const unsigned char *p = buf;

	if (len <= 64)
		return len ? csum_add(sum, lanes_sum(pairs(load_last(p, len)))) : sum;
	if (len <= 128)
		return csum_add(sum, sum_to_128(p, len));
	if (len <= 256)
		return csum_add(sum, sum_to_256(p, len));
	if (len < ALIGN_FROM)
		return csum_add(sum, sum_chunk(p, len, NULL, false, false, false, 0));
	if (len >= WIDE_FROM || prefetch_bytes)
		return sum_wide(p, len, sum);
	return csum_block_add(sum, sum_chunk(p, len, NULL, false, true, false, 0), (uintptr_t)p);
}

static TARGET csum_sum_t impl_partial_copy(void *restrict dst, const void *restrict src, size_t len,
					   csum_sum_t sum)
{
	if (len > 256)
		return csum_fold64(sum_chunks(src, len, dst, true, false) + sum);
	/* Stores with a mask are slow. */
	if (len)
		memcpy(dst, src, len);
	return impl_partial(src, len, sum);
}

const struct csum_impl IMPL = {
	.name = IMPL_NAME,
	.supported = impl_supported,
	.partial = impl_partial,
	.partial_copy = impl_partial_copy,
	.prefetch = &prefetch_bytes,
};
