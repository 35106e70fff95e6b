/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which kernel csum_partial and csum_partial_copy run. select.c writes it when the program starts
 * and in csum_select; csum.c reads it. Private to lib/csum.
 */
#ifndef TURNPIKE_CSUM_SELECT_H
#define TURNPIKE_CSUM_SELECT_H

#include "csum.h"

/* Copies of the table entries, so that a call needs one load, not two. */
struct csum_choice {
	struct csum_impl impl;	/* from its crossovers on */
	struct csum_impl small; /* below */
	const struct csum_impl *selected;
};

extern struct csum_choice csum_choice;

#endif
