/* SPDX-License-Identifier: BSD-3-Clause */
#include "select.h"

#include "kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* In ascending order of preference. */
static const struct csum_impl *const impls[] = {
	&csum_impl_portable,
#ifdef CSUM_X86_64
	&csum_impl_adc,
	&csum_impl_sse2,
	&csum_impl_avx2,
	&csum_impl_avx512bw,
	&csum_impl_avx512,
#endif
#ifdef CSUM_AARCH64
#ifdef __linux__
	&csum_impl_sve,
#endif
	&csum_impl_neon,
#endif
	NULL,
};

/* The scalar kernel that sums what is too short for vectors. */
#ifdef CSUM_X86_64
#define SMALL csum_impl_adc
#else
#define SMALL csum_impl_portable
#endif

static csum_sum_t first_partial(const void *buf, size_t len, csum_sum_t sum);
static csum_sum_t first_partial_copy(void *restrict dst, const void *restrict src, size_t len,
				     csum_sum_t sum);

/* Until the constructor below has run: other constructors may sum, too. */
struct csum_choice csum_choice = {
	.impl = {.partial = first_partial, .partial_copy = first_partial_copy},
};

const struct csum_impl *const *csum_implementations(void)
{
	return impls;
}

const struct csum_impl *csum_selected(void)
{
	return csum_choice.selected;
}

int csum_select(const char *name)
{
	const struct csum_impl *best = NULL;
	size_t i;

	for (i = 0; impls[i]; i++) {
		if (name && !strcmp(name, impls[i]->name)) {
			if (!impls[i]->supported())
				return -ENOTSUP;
			best = impls[i];
			break;
		}
		if (!name && impls[i]->supported())
			best = impls[i];
	}
	if (!best)
		return -ENOENT;
	csum_choice.small = SMALL;
	csum_choice.impl = *best;
	csum_choice.selected = best;
	return 0;
}

static __attribute__((constructor)) void choose_at_start(void)
{
	const char *name = getenv("TURNPIKE_CSUM");
	int rc;

	csum_select(NULL);
	if (!name || !*name)
		return;
	rc = csum_select(name);
	if (rc)
		fprintf(stderr, "TURNPIKE_CSUM=%s: %s, using %s\n", name,
			rc == -ENOENT ? "no such implementation" : "not supported by this CPU",
			csum_choice.impl.name);
}

static csum_sum_t first_partial(const void *buf, size_t len, csum_sum_t sum)
{
	choose_at_start();
	return csum_choice.impl.partial(buf, len, sum);
}

static csum_sum_t first_partial_copy(void *restrict dst, const void *restrict src, size_t len,
				     csum_sum_t sum)
{
	choose_at_start();
	return csum_choice.impl.partial_copy(dst, src, len, sum);
}
