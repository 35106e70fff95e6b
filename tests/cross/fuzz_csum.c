/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: chains, kernels and verification, on bytes and cuts that libFuzzer chooses.
 *   clang -fsanitize=fuzzer,address,undefined -Ilib/csum tests/cross/fuzz_csum.c lib/csum/?*.c
 */
#include <csum.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned oracle(const uint8_t *p, size_t len)
{
	uint64_t s = 0;
	uint8_t b[2];
	uint16_t w;
	size_t i;

	for (i = 0; i < len; i++)
		s += i & 1 ? p[i] : (unsigned)p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	b[0] = (uint8_t)(s >> 8);
	b[1] = (uint8_t)s;
	memcpy(&w, b, 2);
	return w;
}

static void must(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not true: %s\n", what);
		abort();
	}
}

#define MUST(x) must(x, #x)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct csum_impl *const *k;
	struct csum_iov v[32];
	uint8_t *piece[32], *copy;
	size_t skip, len, at = 0;
	unsigned n, i, parts;
	csum_sum_t sum = 0xdeadbeef;
	const uint8_t *cuts;
	int rc;

	if (size < 36)
		return 0;
	n = data[0] % 32;
	skip = (data[1] | (size_t)data[2] << 8) % 4096;
	len = (data[3] | (size_t)data[4] << 8) % 4096;
	cuts = data + 5;
	data += 36;
	size -= 36;

	for (i = 0; i < n; i++) {
		size_t want = cuts[i % 31];

		if (i == n - 1)
			want = size - at;
		if (want > size - at)
			want = size - at;
		piece[i] = malloc(want ? want : 1); /* so that a byte too many is seen */
		MUST(piece[i] != NULL);
		memcpy(piece[i], data + at, want);
		v[i] = (struct csum_iov){want ? piece[i] : NULL, want};
		at += want;
	}
	rc = csum_iov(v, n, skip, len, &sum);
	if (skip > at || len > at - skip) {
		MUST(rc == -ERANGE && sum == 0xdeadbeef);
	} else {
		MUST(rc == 0);
		MUST(csum_fold_sum(sum) == oracle(data + skip, len));
	}
	for (parts = i = 0; i < n; i++)
		parts += v[i].len != 0;
	if (parts) {
		csum_sum_t sums[32] = {0};

		csum_partial_batch(v, sums, n);
		for (i = 0; i < n; i++)
			MUST(csum_fold_sum(sums[i]) == oracle(piece[i], v[i].len));
	}
	for (i = 0; i < n; i++)
		free(piece[i]);

	copy = malloc(size ? size : 1);
	MUST(copy != NULL);
	for (k = csum_implementations(); *k; k++) {
		if (!(*k)->supported())
			continue;
		memset(copy, 0, size);
		MUST(csum_fold_sum((*k)->partial(data, size, 0)) == oracle(data, size));
		MUST(csum_fold_sum((*k)->partial_copy(copy, data, size, 0)) == oracle(data, size));
		MUST(!memcmp(copy, data, size));
	}
	memcpy(copy, data, size);
	csum_verify_ipv4(copy, size);
	csum_verify_ipv6(copy, size);
	free(copy);
	return 0;
}
