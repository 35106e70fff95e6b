/* SPDX-License-Identifier: BSD-3-Clause */
#include "csum.h"

#include <errno.h>

/* Sum of at most 7 bytes as a number below 2^32 * 2. */
static uint64_t sum_tail(const unsigned char *p, size_t len)
{
	uint64_t acc = 0;
	uint32_t w;
	uint16_t h;

	if (len & 4) {
		memcpy(&w, p, 4);
		acc += w;
		p += 4;
	}
	if (len & 2) {
		memcpy(&h, p, 2);
		acc += h;
		p += 2;
	}
	if (len & 1) {
		h = 0;
		memcpy(&h, p, 1);
		acc += h;
	}
	return acc;
}

static uint64_t add64(uint64_t a, uint64_t b)
{
	uint64_t s = a + b;

	return s + (s < b);
}

csum_sum_t csum_partial(const void *buf, size_t len, csum_sum_t sum)
{
	const unsigned char *p = buf;
	uint64_t a = sum, b = 0, c = 0, d = 0;
	uint64_t w[8];

	for (; len >= 64; p += 64, len -= 64) {
		memcpy(w, p, 64);
		a = add64(add64(a, w[0]), w[4]);
		b = add64(add64(b, w[1]), w[5]);
		c = add64(add64(c, w[2]), w[6]);
		d = add64(add64(d, w[3]), w[7]);
	}
	for (; len >= 8; p += 8, len -= 8) {
		memcpy(w, p, 8);
		a = add64(a, w[0]);
	}
	return csum_fold64(add64(add64(a, b), add64(add64(c, d), sum_tail(p, len))));
}

csum_sum_t csum_partial_copy(void *restrict dst, const void *restrict src, size_t len,
			     csum_sum_t sum)
{
	if (len)
		memcpy(dst, src, len);
	return csum_partial(src, len, sum);
}

int csum_iov(const struct csum_iov *v, unsigned n, size_t skip, size_t len, csum_sum_t *sum)
{
	csum_sum_t total = 0;
	size_t done = 0;
	unsigned i;

	if (!sum || (n && !v))
		return -EINVAL;
	for (i = 0; i < n; i++) {
		size_t take = v[i].len;
		const unsigned char *p = v[i].base;

		if (skip >= take) {
			skip -= take;
			continue;
		}
		take -= skip;
		if (take > len - done)
			take = len - done;
		if (take) {
			if (!p)
				return -EINVAL;
			total = csum_block_add(total, csum_partial(p + skip, take, 0), done);
			done += take;
		}
		skip = 0;
		if (done == len)
			break;
	}
	if (skip || done < len)
		return -ERANGE;
	*sum = total;
	return 0;
}

csum_be_t csum_apply_icmp(csum_be_t check, csum_delta_t d, const void *msg, size_t len)
{
	const unsigned char *p = msg;
	csum_be_t c = csum_apply(check, d);

	if (c)
		return c;
	/* One in 65536: a message whose words add up to a multiple of 0xffff. Are they all 0? */
	if (len < 4 || csum_partial(p, 2, 0) || csum_partial(p + 4, len - 4, 0))
		return 0;
	return 0xffff;
}
