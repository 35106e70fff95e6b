/* SPDX-License-Identifier: BSD-3-Clause */
#include "nat_wheel.h"

#define IS_HEAD 0x80000000u /* in prev: the rest is a slot of heads */

static struct nat_link *link_of(const struct nat_wheel *w, uint32_t record)
{
	return (struct nat_link *)(void *)((char *)w->records + record * w->stride + w->offset);
}

void nat_wheel_init(struct nat_wheel *w, uint32_t *heads, void *records, size_t stride,
		    size_t offset)
{
	w->heads = heads;
	w->records = records;
	w->stride = stride;
	w->offset = offset;
	w->now_s = 0;
	for (unsigned i = 0; i < NAT_WHEEL_SLOTS; i++)
		heads[i] = NAT_NONE;
}

void nat_wheel_start(struct nat_wheel *w, uint64_t now_s)
{
	w->now_s = now_s;
}

void nat_wheel_arm(struct nat_wheel *w, uint32_t record, uint64_t due_s)
{
	struct nat_link *l = link_of(w, record);
	uint32_t slot;

	if (due_s <= w->now_s)
		due_s = w->now_s + 1;
	if (due_s - w->now_s >= NAT_WHEEL_SLOTS)
		due_s = w->now_s + NAT_WHEEL_SLOTS - 1;
	slot = (uint32_t)(due_s % NAT_WHEEL_SLOTS);
	l->next = w->heads[slot];
	l->prev = IS_HEAD | slot;
	if (l->next != NAT_NONE)
		link_of(w, l->next)->prev = record;
	w->heads[slot] = record;
}

void nat_wheel_disarm(struct nat_wheel *w, uint32_t record)
{
	struct nat_link *l = link_of(w, record);

	if (l->prev & IS_HEAD)
		w->heads[l->prev & ~IS_HEAD] = l->next;
	else
		link_of(w, l->prev)->next = l->next;
	if (l->next != NAT_NONE)
		link_of(w, l->next)->prev = l->prev;
}

uint32_t nat_wheel_next(struct nat_wheel *w, uint64_t now_s)
{
	/* after a long sleep one turn empties all slots */
	if (now_s > w->now_s + NAT_WHEEL_SLOTS)
		w->now_s = now_s - NAT_WHEEL_SLOTS;
	for (;; w->now_s++) {
		uint32_t record = w->heads[w->now_s % NAT_WHEEL_SLOTS];

		if (record != NAT_NONE) {
			nat_wheel_disarm(w, record);
			return record;
		}
		if (w->now_s >= now_s)
			return NAT_NONE;
	}
}
