/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stamp in a frame: when it was due, and in which trial. It takes the last bytes of the
 * payload, which nothing rewrites on the way and which each frame keeps for itself where others are
 * merged with it, so it also comes back from other machines. Two of its bytes balance the others:
 * the sum over a stamp is that of the bytes it replaced, and no checksum changes.
 */
#ifndef TP_PERF_STAMP_H
#define TP_PERF_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct stamp {
	uint64_t due;	  /* TSC ticks */
	uint32_t tag;	  /* of the trial, see stamp_tag() */
	uint16_t balance; /* in the frame only */
} __attribute__((packed));

#define STAMP_LEN sizeof(struct stamp) /* 14 bytes */

/* Where it lies in a frame of len bytes, at an even distance from its start. */
static inline unsigned stamp_at(unsigned len)
{
	return (len - (unsigned)STAMP_LEN) & ~1u;
}

/* Trial n's tag: frames of others that come by hardly ever carry it. */
static inline uint32_t stamp_tag(uint32_t n)
{
	return 0x74700000u ^ n * 0x9e3779b1u;
}

static inline uint16_t stamp_fold(uint64_t sum)
{
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)sum;
}

/* The ones' complement sum of the STAMP_LEN bytes at p, as they are to be balanced to. */
static inline uint16_t stamp_sum(const void *p)
{
	struct stamp s;

	memcpy(&s, p, sizeof(s));
	return stamp_fold((s.due >> 32) + (s.due & 0xffffffff) + s.tag + s.balance);
}

static inline void stamp_put(void *p, uint64_t due, uint32_t tag, uint16_t sum)
{
	uint16_t have = stamp_fold((due >> 32) + (due & 0xffffffff) + tag);
	struct stamp s = {
		.due = due, .tag = tag, .balance = stamp_fold((uint64_t)sum + (0xffffu - have))};

	memcpy(p, &s, sizeof(s));
}

#endif /* TP_PERF_STAMP_H */
