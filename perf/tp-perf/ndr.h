/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for the highest rate without loss (RFC 2544, section 26.1): by trials, of which it
 * knows only how they ended. Knows nothing of DPDK.
 */
#ifndef TP_PERF_NDR_H
#define TP_PERF_NDR_H

#include <stdbool.h>

enum ndr_verdict {
	NDR_CLEAN,  /* offered as asked, and nothing lost */
	NDR_LOSS,   /* something lost */
	NDR_BEHIND, /* the source could not offer so much: says nothing about what is tested */
	NDR_STOP    /* end the search */
};

struct ndr_search {
	double first;	   /* the rate to begin with, more than 0: a guess */
	double resolution; /* ends when a rate that passes and one that doesn't are as near: 0.01 */
	unsigned confirm;  /* how many further trials the rate found has to pass */
	enum ndr_verdict (*trial)(void *arg, double rate);
	void *arg;
};

struct ndr_found {
	double rate;	      /* 0: there is none down to a 10,000th of the guess */
	unsigned trials;      /* all of them */
	unsigned confirmed;   /* that passed at just this rate, the first included */
	bool source_is_limit; /* the next rate up failed as NDR_BEHIND */
	bool stopped;
};

void ndr_find(const struct ndr_search *s, struct ndr_found *f);

#endif /* TP_PERF_NDR_H */
