/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of the scalar kernels, kernel_portable.c and kernel_adc.c. The file that includes it
 * defines
 *   struct acc            two accumulators of 64 bits, a and b, in one's complement,
 *   add_block(s, p)       s and the 64 bytes at p,
 *   IMPL, IMPL_NAME
 */

static unsigned prefetch_bytes = 512; /* csum-perf --tune on Zen 5: no cost warm, 10 % gain cold */

static csum_sum_t impl_partial(const void *buf, size_t len, csum_sum_t sum)
{
	const unsigned char *p = buf;
	struct acc s = {sum, 0};

	if (len >= 64) {
		unsigned ahead = prefetch_bytes;
		size_t n = len / 64, pf = csum_prefetched(len, n, 64, ahead);

		len -= n * 64;
		n -= pf;
		for (; pf; pf--, p += 64) {
			csum_prefetch_line(p + ahead);
			s = add_block(s, p);
		}
		for (; n; n--, p += 64)
			s = add_block(s, p);
	}
	return csum_fold64(csum_add64(csum_add64(s.a, s.b), csum_short(p, len)));
}

static csum_sum_t impl_partial_copy(void *restrict dst, const void *restrict src, size_t len,
				    csum_sum_t sum)
{
	unsigned char *d = dst;
	const unsigned char *p = src;
	struct acc s = {sum, 0};

	for (; len >= 64; p += 64, d += 64, len -= 64) {
		memcpy(d, p, 64);
		s = add_block(s, p);
	}
	if (len)
		memcpy(d, p, len);
	return csum_fold64(csum_add64(csum_add64(s.a, s.b), csum_short(p, len)));
}

static bool impl_supported(void)
{
	return true;
}

const struct csum_impl IMPL = {
	.name = IMPL_NAME,
	.supported = impl_supported,
	.partial = impl_partial,
	.partial_copy = impl_partial_copy,
	.prefetch = &prefetch_bytes,
};
