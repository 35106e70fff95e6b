/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules in use: a rule that translates something gets a slot, a small number that stays the same
 * over reloads as long as the rule's id and content do. Records name their rules by slot, so that
 * whether a rule lives on is one look. Worker only.
 */
#ifndef TURNPIKE_NAT_SLOT_H
#define TURNPIKE_NAT_SLOT_H

#include "nat_worker.h"

/* The slot of a rule of the present snapshot, taken if need be; NAT_NO_SLOT when none is left. */
uint16_t nat_slot_get(struct nat_worker *nat, uint32_t rule);

static inline void nat_slot_ref(struct nat_worker *nat, uint16_t slot)
{
	if (slot != NAT_NO_SLOT)
		nat->slots[slot].refs++;
}

static inline void nat_slot_unref(struct nat_worker *nat, uint16_t slot)
{
	if (slot != NAT_NO_SLOT)
		nat->slots[slot].refs--;
}

/* Finds the slots' rules in the present snapshot; true when a rule that is gone still has records.
 */
bool nat_slot_resolve(struct nat_worker *nat);

#endif /* TURNPIKE_NAT_SLOT_H */
