/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The x86 kernel with vectors of 16 or 32 bytes, compiled three times: kernel_sse2.c,
 * kernel_avx2.c, kernel_avxvnni.c. The file that includes it defines TARGET               the
 * function attribute with the instruction set, vec, VEC             the vector type and its size in
 * bytes, load, store          without alignment, zero, both           a vector of zeros; bitwise
 * and, biased(x)            x with each word xored with 0x8000, add_words(acc, x)    acc + the
 * signed words of x, added in pairs to lanes of 32 bits, add_lanes(a, b), lanes_sum(x) SECOND the
 * accumulators of every other four vectors, s or t: a second set, where add_words takes several
 * cycles, SHORT_MAX            the longest buffer for which scalar code is used, at least VEC,
 *   IMPL, IMPL_NAME, IMPL_CROSSOVER, IMPL_COPY_CROSSOVER, IMPL_PREFETCH, impl_supported()
 *
 * Words are unsigned, the multiply-and-add instruction is signed: xor with 0x8000 takes 0x8000 off
 * each word, and that much for each word slot is added back at the end. All lanes count modulo
 * 2^32, so nothing matters on the way but that the true sum of a chunk stays below 2^32
 * (CSUM_CHUNK).
 *
 * The end of a buffer is read as the vector that ends there, what was summed already masked off.
 * Alignment is not sought: three operations for each vector leave time for a second cache line.
 */

static unsigned prefetch_bytes = IMPL_PREFETCH;

/* VEC bytes from &window[n]: the last n are ones. */
static const unsigned char window[2 * VEC] = {
#define ONES_16 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255
#if VEC == 32
	[VEC] = ONES_16, ONES_16
#else
	[VEC] = ONES_16
#endif
};

/* Adds a vector, and stores it at d when this is a copy. */
TINLINE vec add_vec(vec acc, const unsigned char *p, unsigned char *d, bool copy)
{
	vec x = load(p);

	if (copy)
		store(d, x);
	return add_words(acc, biased(x));
}

struct acc4 {
	vec a, b, c, d;
};

TINLINE struct acc4 add_4(struct acc4 s, const unsigned char *p, unsigned char *d, bool copy)
{
	s.a = add_vec(s.a, p, d, copy);
	s.b = add_vec(s.b, p + VEC, csum_after(d, VEC, copy), copy);
	s.c = add_vec(s.c, p + 2 * VEC, csum_after(d, 2 * VEC, copy), copy);
	s.d = add_vec(s.d, p + 3 * VEC, csum_after(d, 3 * VEC, copy), copy);
	return s;
}

/* The last len bytes (at most VEC) in front of end, zeros before them. */
TINLINE vec load_last(const unsigned char *end, size_t len)
{
	return both(load(end - VEC), load(&window[len]));
}

/* VEC < len <= 16 * VEC: no loop, so no registers to save. */
TINLINE uint32_t sum_few(const unsigned char *p, size_t len)
{
	size_t even = len & ~(size_t)1;
	size_t n = (even - 1) / VEC; /* vectors before the last one, which may overlap: 1 to 15 */
	uint32_t last = p[len - 1] & -(uint32_t)(len & 1);
	uint32_t bias = (uint32_t)(n + 1) * (VEC / 2 * 0x8000u);
	vec a = add_words(zero(), biased(load_last(p + even, even - n * VEC))), b = zero();

	if (n & 8) {
		b = add_vec(b, p, NULL, false);
		a = add_vec(a, p + VEC, NULL, false);
		b = add_vec(b, p + 2 * VEC, NULL, false);
		a = add_vec(a, p + 3 * VEC, NULL, false);
		b = add_vec(b, p + 4 * VEC, NULL, false);
		a = add_vec(a, p + 5 * VEC, NULL, false);
		b = add_vec(b, p + 6 * VEC, NULL, false);
		a = add_vec(a, p + 7 * VEC, NULL, false);
		p += 8 * VEC;
	}
	if (n & 4) {
		b = add_vec(b, p, NULL, false);
		a = add_vec(a, p + VEC, NULL, false);
		b = add_vec(b, p + 2 * VEC, NULL, false);
		a = add_vec(a, p + 3 * VEC, NULL, false);
		p += 4 * VEC;
	}
	if (n & 2) {
		b = add_vec(b, p, NULL, false);
		a = add_vec(a, p + VEC, NULL, false);
		p += 2 * VEC;
	}
	if (n & 1)
		b = add_vec(b, p, NULL, false);
	return lanes_sum(add_lanes(a, b)) + bias + last;
}

/* VEC < len <= CSUM_CHUNK. The sum is below 2^32, so 0 only for zeros. */
TINLINE uint32_t sum_chunk(const unsigned char *p, size_t len, unsigned char *d, bool copy,
			   unsigned ahead)
{
	size_t even = len & ~(size_t)1;
	size_t n = (even - 1) / VEC; /* vectors before the last one, which may overlap */
	uint32_t last = p[len - 1] & -(uint32_t)(len & 1);
	uint32_t bias = (uint32_t)(n + 1) * (VEC / 2 * 0x8000u);
	struct acc4 s;
	vec x = load(p + even - VEC);

	if (copy) {
		store(d + even - VEC, x);
		d[len - 1] = p[len - 1];
	}
	x = both(x, load(&window[even - n * VEC]));
	s.a = add_words(zero(), biased(x));
	s.b = s.c = s.d = zero();
	if (n >= 8) {
		struct acc4 t = {zero(), zero(), zero(), zero()};
		size_t pf = csum_prefetched(len, n / 8, 8 * VEC, ahead);
		unsigned i;

		n -= 8 * pf;
		for (; pf; pf--, p += 8 * VEC, d = csum_after(d, 8 * VEC, copy)) {
			for (i = 0; i < 8 * VEC; i += 64)
				csum_prefetch_line(p + ahead + i);
			s = add_4(s, p, d, copy);
			SECOND = add_4(SECOND, p + 4 * VEC, csum_after(d, 4 * VEC, copy), copy);
		}
		for (; n >= 8; n -= 8, p += 8 * VEC, d = csum_after(d, 8 * VEC, copy)) {
			s = add_4(s, p, d, copy);
			SECOND = add_4(SECOND, p + 4 * VEC, csum_after(d, 4 * VEC, copy), copy);
		}
		s.a = add_lanes(s.a, t.a);
		s.b = add_lanes(s.b, t.b);
		s.c = add_lanes(s.c, t.c);
		s.d = add_lanes(s.d, t.d);
	}
	if (n & 4) {
		s = add_4(s, p, d, copy);
		p += 4 * VEC;
		d = csum_after(d, 4 * VEC, copy);
	}
	if (n & 2) {
		s.a = add_vec(s.a, p, d, copy);
		s.b = add_vec(s.b, p + VEC, csum_after(d, VEC, copy), copy);
		p += 2 * VEC;
		d = csum_after(d, 2 * VEC, copy);
	}
	if (n & 1)
		s.c = add_vec(s.c, p, d, copy);
	s.a = add_lanes(add_lanes(s.a, s.b), add_lanes(s.c, s.d));
	return lanes_sum(s.a) + bias + last;
}

/* len > VEC */
TINLINE uint64_t sum_long(const unsigned char *p, size_t len, unsigned char *d, bool copy)
{
	unsigned ahead = prefetch_bytes;
	uint64_t acc = 0;

	while (__builtin_expect(len > CSUM_CHUNK, 0)) {
		size_t n = len - CSUM_CHUNK > 64 ? CSUM_CHUNK : CSUM_CHUNK - 128;

		acc = csum_fold64(acc + sum_chunk(p, n, d, copy, ahead));
		p += n;
		d = csum_after(d, n, copy);
		len -= n;
	}
	return acc + sum_chunk(p, len, d, copy, ahead);
}

static __attribute__((noinline)) TARGET csum_sum_t sum_rest(const unsigned char *p, size_t len,
							    csum_sum_t sum)
{
	return csum_fold64(sum_long(p, len, NULL, false) + sum);
}

static TARGET csum_sum_t impl_partial(const void *buf, size_t len, csum_sum_t sum)
{
	const unsigned char *p = buf;

	if (len <= SHORT_MAX)
		return csum_fold64(csum_add64(csum_short(p, len), sum));
	if (len <= 16 * VEC)
		return csum_add(sum, sum_few(p, len));
	return sum_rest(p, len, sum);
}

static TARGET csum_sum_t impl_partial_copy(void *restrict dst, const void *restrict src, size_t len,
					   csum_sum_t sum)
{
	const unsigned char *p = src;
	unsigned char *d = dst;

	if (len <= SHORT_MAX) {
		if (len)
			memcpy(d, p, len);
		return csum_fold64(csum_add64(csum_short(p, len), sum));
	}
	return csum_fold64(sum_long(p, len, d, true) + sum);
}

const struct csum_impl IMPL = {
	.name = IMPL_NAME,
	.supported = impl_supported,
	.partial = impl_partial,
	.partial_copy = impl_partial_copy,
	.crossover = IMPL_CROSSOVER,
	.copy_crossover = IMPL_COPY_CROSSOVER,
	.prefetch = &prefetch_bytes,
};
