/* SPDX-License-Identifier: BSD-3-Clause */
#include "ndr.h"

#define UP    1.25 /* the steps from the guess to where passing and failing rates are */
#define DOWN  0.8
#define LEAST 1e-4 /* of the guess: nothing passes */

static enum ndr_verdict try_rate(const struct ndr_search *s, struct ndr_found *f, double rate)
{
	enum ndr_verdict v = s->trial(s->arg, rate);

	f->trials++;
	f->stopped |= v == NDR_STOP;
	return v;
}

/* Narrows from pass, which does, to fail, which doesn't. */
static double bisect(const struct ndr_search *s, struct ndr_found *f, double pass, double fail)
{
	while (!f->stopped && fail - pass > s->resolution * fail) {
		double mid = (pass + fail) / 2;
		enum ndr_verdict v = try_rate(s, f, mid);

		if (v == NDR_CLEAN) {
			pass = mid;
		} else {
			fail = mid;
			f->source_is_limit = v == NDR_BEHIND;
		}
	}
	return pass;
}

/* Does rate pass until it has done so 1 + s->confirm times? One that fails now and then is none
 * without loss. */
static bool confirmed(const struct ndr_search *s, struct ndr_found *f, double rate, unsigned passed)
{
	for (f->confirmed = passed; f->confirmed <= s->confirm; f->confirmed++) {
		enum ndr_verdict v = try_rate(s, f, rate);

		if (v != NDR_CLEAN) {
			f->source_is_limit = v == NDR_BEHIND;
			return false;
		}
	}
	return true;
}

void ndr_find(const struct ndr_search *s, struct ndr_found *f)
{
	double rate = s->first, pass = 0, fail = 0, step = s->resolution;
	unsigned passed = 1;

	*f = (struct ndr_found){0};
	while (!f->stopped && (pass == 0 || fail == 0) && rate > s->first * LEAST) {
		enum ndr_verdict v = try_rate(s, f, rate);

		if (v == NDR_CLEAN) {
			pass = rate;
			rate *= UP;
		} else {
			fail = rate;
			f->source_is_limit = v == NDR_BEHIND;
			rate *= DOWN;
		}
	}
	if (pass > 0)
		pass = bisect(s, f, pass, fail);
	while (!f->stopped && pass > 0 && !confirmed(s, f, pass, passed)) {
		passed = 0;
		pass = pass > s->first * LEAST ? pass * (1 - step) : 0;
		step = step < 0.25 ? step * 2 : 0.5;
	}
	f->rate = f->stopped ? 0 : pass;
}
