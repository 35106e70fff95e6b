/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AArch64 NEON: uadalp adds a vector's 16-bit words in pairs to lanes of 32 bits. Eight
 * accumulators hide its latency; the end is read as the vector that ends there, what was summed
 * already masked off.
 */
#include "kernel.h"

#ifdef CSUM_AARCH64

#include <arm_neon.h>

static unsigned prefetch_bytes;

/* 16 bytes from &window[n]: the last n are ones. */
static const unsigned char window[32] = {
	[16] = 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

CSUM_INLINE uint32x4_t add_vec(uint32x4_t acc, const unsigned char *p, unsigned char *d, bool copy)
{
	uint8x16_t x = vld1q_u8(p);

	if (copy)
		vst1q_u8(d, x);
	return vpadalq_u16(acc, vreinterpretq_u16_u8(x));
}

struct acc4 {
	uint32x4_t a, b, c, d;
};

CSUM_INLINE struct acc4 add_64(struct acc4 s, const unsigned char *p, unsigned char *d, bool copy)
{
	s.a = add_vec(s.a, p, d, copy);
	s.b = add_vec(s.b, p + 16, csum_after(d, 16, copy), copy);
	s.c = add_vec(s.c, p + 32, csum_after(d, 32, copy), copy);
	s.d = add_vec(s.d, p + 48, csum_after(d, 48, copy), copy);
	return s;
}

/* 16 < len <= CSUM_CHUNK */
CSUM_INLINE uint64_t sum_chunk(const unsigned char *p, size_t len, unsigned char *d, bool copy,
			       unsigned ahead)
{
	size_t even = len & ~(size_t)1;
	size_t n = (even - 1) / 16; /* vectors before the last one, which may overlap */
	uint32_t last = p[len - 1] & -(uint32_t)(len & 1);
	struct acc4 s;
	uint8x16_t x = vld1q_u8(p + even - 16);

	if (copy) {
		vst1q_u8(d + even - 16, x);
		d[len - 1] = p[len - 1];
	}
	x = vandq_u8(x, vld1q_u8(&window[even - n * 16]));
	s.a = vpaddlq_u16(vreinterpretq_u16_u8(x));
	s.b = s.c = s.d = vdupq_n_u32(0);
	if (n >= 8) {
		struct acc4 t = {s.b, s.b, s.b, s.b};
		size_t pf = csum_prefetched(len, n / 8, 128, ahead);

		n -= 8 * pf;
		for (; pf; pf--, p += 128, d = csum_after(d, 128, copy)) {
			csum_prefetch_line(p + ahead);
			csum_prefetch_line(p + ahead + 64);
			s = add_64(s, p, d, copy);
			t = add_64(t, p + 64, csum_after(d, 64, copy), copy);
		}
		for (; n >= 8; n -= 8, p += 128, d = csum_after(d, 128, copy)) {
			s = add_64(s, p, d, copy);
			t = add_64(t, p + 64, csum_after(d, 64, copy), copy);
		}
		s.a = vaddq_u32(s.a, t.a);
		s.b = vaddq_u32(s.b, t.b);
		s.c = vaddq_u32(s.c, t.c);
		s.d = vaddq_u32(s.d, t.d);
	}
	if (n & 4) {
		s = add_64(s, p, d, copy);
		p += 64;
		d = csum_after(d, 64, copy);
	}
	if (n & 2) {
		s.a = add_vec(s.a, p, d, copy);
		s.b = add_vec(s.b, p + 16, csum_after(d, 16, copy), copy);
		p += 32;
		d = csum_after(d, 32, copy);
	}
	if (n & 1)
		s.c = add_vec(s.c, p, d, copy);
	s.a = vaddq_u32(vaddq_u32(s.a, s.b), vaddq_u32(s.c, s.d));
	return vaddlvq_u32(s.a) + last;
}

CSUM_INLINE csum_sum_t sum_long(const unsigned char *p, size_t len, unsigned char *d, bool copy,
				csum_sum_t sum)
{
	unsigned ahead = prefetch_bytes;
	uint64_t acc = sum;

	while (__builtin_expect(len > CSUM_CHUNK, 0)) {
		size_t n = len - CSUM_CHUNK > 64 ? CSUM_CHUNK : CSUM_CHUNK - 128;

		acc = csum_fold64(acc + sum_chunk(p, n, d, copy, ahead));
		p += n;
		d = csum_after(d, n, copy);
		len -= n;
	}
	return csum_fold64(acc + sum_chunk(p, len, d, copy, ahead));
}

static csum_sum_t neon_partial(const void *buf, size_t len, csum_sum_t sum)
{
	if (len <= 16)
		return csum_fold64(csum_add64(csum_short(buf, len), sum));
	return sum_long(buf, len, NULL, false, sum);
}

static csum_sum_t neon_partial_copy(void *restrict dst, const void *restrict src, size_t len,
				    csum_sum_t sum)
{
	if (len <= 16) {
		if (len)
			memcpy(dst, src, len);
		return csum_fold64(csum_add64(csum_short(src, len), sum));
	}
	return sum_long(src, len, dst, true, sum);
}

static bool neon_supported(void)
{
	return true;
}

const struct csum_impl csum_impl_neon = {
	.name = "neon",
	.supported = neon_supported,
	.partial = neon_partial,
	.partial_copy = neon_partial_copy,
	.prefetch = &prefetch_bytes,
};

#else
typedef int csum_neon_not_built; /* an empty file is no C */
#endif
