/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The x86 kernel with vectors of 16 or 32 bytes, compiled twice: kernel_sse2.c, kernel_avx2.c. The
 * file that includes it defines
 *   TARGET                the function attribute with the instruction set,
 *   vec, VEC              the vector type and its size in bytes,
 *   load, store           without alignment,
 *   zero, both            a vector of zeros; bitwise and,
 *   add, average, shift   lanes of 32 bits added; words averaged, rounded up; lanes shifted right,
 *   sums_of_lanes(a, b)   the sum of a's lanes in the low 32 bits, that of b's in the high ones,
 *   IMPL, IMPL_NAME, IMPL_CROSSOVER, IMPL_COPY_CROSSOVER, impl_supported()
 *
 * Two operations for each vector, where taking words apart or making them signed costs three. One
 * adds its lanes of 32 bits to accumulators that wrap, so the sum is known modulo 2^32. The other
 * averages its words with those of its neighbour, then pairs of averages, until one vector stands
 * for sixteen; the high words of those, added up, say in which range narrower than 2^32 the sum is.
 * Both together are the sum, exactly. See "Vector kernels" in docs/csum.md for the bounds, and
 * tests/unit/csum_proof.py.
 */

static unsigned prefetch_bytes; /* none is fastest on Zen 5 (csum-perf --tune) */

/* Sixteen vectors are a block, and less than 16 of them are the rest. */
#define BLOCK ((size_t)16 * VEC)

/* The longest buffer that is summed at once; lanes of 32 bits in it, 1,024 being more than enough
 * for zeros at its ends; and by how much at most, in units of 2^16, averages say more than the sum
 * is. */
#define CHUNK	 ((size_t)64 << 10)
#define LANES	 (CHUNK / 4 + 1024)
#define TOO_HIGH (2 * LANES)

/* They say less by below 1 for each lane, its low word, and by 15 where one vector counts as an
 * average of sixteen. */
_Static_assert(TOO_HIGH + LANES + 15 * 2 * VEC / 4 < 65536, "the sum is known within 2^32");

/* From here on a buffer may be prefetched, and is read from aligned addresses. */
#define LONG_FROM 1024

/* VEC bytes from &window[n]: the last n are ones; from &window[VEC + n]: all but the last n. */
static const unsigned char window[3 * VEC] = {
#define ONES_16 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255
#if VEC == 32
	[VEC] = ONES_16, ONES_16
#else
	[VEC] = ONES_16
#endif
};

/* The empty statement keeps gcc from loading a vector twice, which costs what averages save, and
 * from adding vectors to each other before they meet their accumulators, for which it has not the
 * registers. */
TINLINE vec pinned(vec x)
{
	__asm__("" : "+x"(x));
	return x;
}

struct acc8 {
	vec a, b, c, d, e, f, g, h;
};

/* Adds vectors to accumulators, which `begin` with them when they are the first, and stores them at
 * d when this is a copy. Returns their average. */
TINLINE vec take(vec *acc, const unsigned char *p, unsigned char *d, bool copy, bool begin)
{
	vec x = pinned(load(p));

	if (copy)
		store(d, x);
	*acc = begin ? x : pinned(add(*acc, x));
	return x;
}

TINLINE vec take_2(vec *a, vec *b, const unsigned char *p, unsigned char *d, bool copy, bool begin)
{
	vec x = take(a, p, d, copy, begin);

	return average(x, take(b, p + VEC, csum_after(d, VEC, copy), copy, begin));
}

TINLINE vec take_4(vec *a, vec *b, vec *c, vec *d4, const unsigned char *p, unsigned char *d,
		   bool copy, bool begin)
{
	vec x = take_2(a, b, p, d, copy, begin);

	return average(x, take_2(c, d4, p + 2 * VEC, csum_after(d, (size_t)2 * VEC, copy), copy,
				 begin));
}

TINLINE vec take_8(struct acc8 *s, const unsigned char *p, unsigned char *d, bool copy, bool begin)
{
	vec x = take_4(&s->a, &s->b, &s->c, &s->d, p, d, copy, begin);

	d = csum_after(d, (size_t)4 * VEC, copy);
	return average(x, take_4(&s->e, &s->f, &s->g, &s->h, p + 4 * VEC, d, copy, begin));
}

TINLINE vec take_16(struct acc8 *s, const unsigned char *p, unsigned char *d, bool copy, bool begin)
{
	vec x = take_8(s, p, d, copy, begin);

	return average(x,
		       take_8(s, p + 8 * VEC, csum_after(d, (size_t)8 * VEC, copy), copy, false));
}

/* Of a buffer's end, the vector x that holds it and n & 3 before: the average of four, with zeros
 * for those that are not there. x is in an accumulator already. */
TINLINE vec take_few(struct acc8 *s, vec x, size_t n, const unsigned char *p, unsigned char *d,
		     bool copy)
{
	const vec z = zero();

	if (n & 1) {
		x = average(x, take(&s->b, p, d, copy, false));
		p += VEC;
		d = csum_after(d, VEC, copy);
	} else {
		x = average(x, z);
	}
	return average(x, n & 2 ? take_2(&s->c, &s->d, p, d, copy, false) : z);
}

/* The same of n & 15 before x: the average of sixteen. */
TINLINE vec take_rest(struct acc8 *s, vec x, size_t n, const unsigned char *p, unsigned char *d,
		      bool copy)
{
	const vec z = zero();

	x = take_few(s, x, n, p, d, copy);
	p += (n & 3) * VEC;
	d = csum_after(d, (n & 3) * VEC, copy);
	if (n & 4) {
		x = average(x, take_4(&s->a, &s->b, &s->c, &s->d, p, d, copy, false));
		p += 4 * VEC;
		d = csum_after(d, (size_t)4 * VEC, copy);
	} else {
		x = average(x, z);
	}
	return average(x, n & 8 ? take_8(s, p, d, copy, false) : z);
}

/* The sum, from the accumulators and the averages' high words. */
TINLINE uint64_t total(struct acc8 s, vec high)
{
	vec low = add(add(add(s.a, s.b), add(s.c, s.d)), add(add(s.e, s.f), add(s.g, s.h)));
	uint64_t both_sums = sums_of_lanes(low, high);
	uint64_t least = ((both_sums >> 32 << 4) - TOO_HIGH) << 16;

	return least + (uint32_t)(both_sums - least);
}

/* A buffer's end: the last len bytes (even, at most VEC) in front of it, zeros before them. */
TINLINE vec masked_last(vec x, size_t len)
{
	return both(x, load(&window[len]));
}

/* VEC < len <= BLOCK + 1 */
TINLINE uint64_t sum_few(const unsigned char *p, size_t len)
{
	size_t even = len & ~(size_t)1;
	size_t n = (even - 1) / VEC; /* vectors before the last one, which may overlap: 1 to 15 */
	uint32_t last = p[len - 1] & -(uint32_t)(len & 1);
	const vec z = zero();
	struct acc8 s = {masked_last(load(p + even - VEC), even - n * VEC), z, z, z, z, z, z, z};

	if (n < 4) /* four as the average of sixteen, less by up to 3 each */
		return total(s, shift(take_few(&s, s.a, n, p, NULL, false), 18)) + last;
	return total(s, shift(take_rest(&s, s.a, n, p, NULL, false), 16)) + last;
}

/* BLOCK + 1 < len <= CHUNK. With `align` (LONG_FROM <= len) vectors are read from addresses that
 * are multiples of VEC, and words are those of even addresses, whether p is even or not. */
TINLINE uint64_t sum_chunk(const unsigned char *p, size_t len, unsigned char *d, bool copy,
			   bool align, unsigned ahead)
{
	vec x, high, head = zero();
	uint32_t first = 0, last;
	struct acc8 s;
	size_t even, n;

	if (align) {
		unsigned odd = (uintptr_t)p & 1, off;

		first = (uint32_t)p[0] << 8 & -(uint32_t)odd;
		p += odd;
		off = (uintptr_t)p & (VEC - 1);
		head = both(load(p), load(&window[VEC + off]));
		p += VEC - off;
		len -= odd + VEC - off;
	}
	even = len & ~(size_t)1;
	n = (even - 1) / VEC; /* vectors before the last one, which may overlap: 16 at least */
	last = p[len - 1] & -(uint32_t)(len & 1);
	x = load(p + even - VEC);
	if (copy) {
		store(d + even - VEC, x);
		d[len - 1] = p[len - 1];
	}
	x = masked_last(x, even - n * VEC);
	high = shift(take_16(&s, p, d, copy, true), 16);
	s.a = pinned(add(s.a, x));
	if (align) { /* one vector as the average of sixteen, less by up to 15 */
		s.b = add(s.b, head);
		high = add(high, shift(head, 20));
	}
	p += BLOCK;
	d = csum_after(d, BLOCK, copy);
	n -= 16;
	if (ahead) {
		size_t pf = csum_prefetched(len - BLOCK, n / 16, BLOCK, ahead), i;

		n -= 16 * pf;
		for (; pf; pf--, p += BLOCK, d = csum_after(d, BLOCK, copy)) {
			for (i = 0; i < BLOCK; i += 64)
				csum_prefetch_line(p + ahead + i);
			high = pinned(add(high, shift(take_16(&s, p, d, copy, false), 16)));
		}
	}
	for (; n >= 16; n -= 16, p += BLOCK, d = csum_after(d, BLOCK, copy))
		high = pinned(add(high, shift(take_16(&s, p, d, copy, false), 16)));
	x = take_rest(&s, x, n, p, d, copy);
	return total(s, add(high, shift(x, 16))) + first + last;
}

/* In chunks, and with prefetching. */
TINLINE uint64_t sum_chunks(const unsigned char *p, size_t len, unsigned char *d, bool copy,
			    bool align)
{
	unsigned ahead = prefetch_bytes;
	uint64_t acc = 0;

	while (__builtin_expect(len > CHUNK, 0)) {
		size_t n = len - CHUNK > LONG_FROM ? CHUNK : CHUNK - 2 * LONG_FROM;

		acc = csum_fold64(acc + sum_chunk(p, n, d, copy, align, ahead));
		p += n;
		d = csum_after(d, n, copy);
		len -= n;
	}
	return acc + sum_chunk(p, len, d, copy, align, ahead);
}

/* Out of line, so that shorter buffers need no registers saved. */
static __attribute__((noinline)) TARGET csum_sum_t sum_long(const unsigned char *p, size_t len,
							    csum_sum_t sum)
{
	return csum_block_add(sum, csum_fold64(sum_chunks(p, len, NULL, false, true)),
			      (uintptr_t)p);
}

static TARGET csum_sum_t impl_partial(const void *buf, size_t len, csum_sum_t sum)
{
	const unsigned char *p = buf;
	bool unaligned = (uintptr_t)p & (VEC - 1);

	if (len <= VEC)
		return csum_fold64(csum_add64(csum_short(p, len), sum));
	if (len <= BLOCK + 1)
		return csum_fold64(sum_few(p, len) + sum);
	if (len >= LONG_FROM && (unaligned || prefetch_bytes || len > CHUNK))
		return sum_long(p, len, sum);
	return csum_fold64(sum_chunk(p, len, NULL, false, false, 0) + sum);
}

static TARGET csum_sum_t impl_partial_copy(void *restrict dst, const void *restrict src, size_t len,
					   csum_sum_t sum)
{
	if (len > BLOCK + 1)
		return csum_fold64(sum_chunks(src, len, dst, true, false) + sum);
	if (len)
		memcpy(dst, src, len);
	return impl_partial(src, len, sum);
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
