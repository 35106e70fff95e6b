/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A timer wheel of one-second slots over records named by index. The links lie in the records.
 * Times are seconds of a clock that only its owner knows; a record comes up in or after the second
 * it was armed for, or earlier when that lies beyond the wheel's end, so the owner looks at the
 * record and arms it again where it is not due. One owner, no lock.
 */
#ifndef TURNPIKE_NAT_WHEEL_H
#define TURNPIKE_NAT_WHEEL_H

#include "nat_key.h"

#define NAT_WHEEL_SLOTS 8192u

struct nat_link {
	uint32_t next, prev;
};

struct nat_wheel {
	uint32_t *heads; /* NAT_WHEEL_SLOTS */
	void *records;
	size_t stride, offset; /* of a record, and of the struct nat_link in it */
	uint64_t now_s;	       /* the second whose slot is being emptied */
};

#define NAT_WHEEL_BYTES (NAT_WHEEL_SLOTS * sizeof(uint32_t))

void nat_wheel_init(struct nat_wheel *w, uint32_t *heads, void *records, size_t stride,
		    size_t offset);

/* Sets the clock of an empty wheel. */
void nat_wheel_start(struct nat_wheel *w, uint64_t now_s);

void nat_wheel_arm(struct nat_wheel *w, uint32_t record, uint64_t due_s);
void nat_wheel_disarm(struct nat_wheel *w, uint32_t record);

/* Takes the next record that came up by now_s off the wheel, or NAT_NONE. */
uint32_t nat_wheel_next(struct nat_wheel *w, uint64_t now_s);

#endif /* TURNPIKE_NAT_WHEEL_H */
