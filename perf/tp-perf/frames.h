/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packets that tp-perf makes: flows from inside hosts to outside ones and their replies, ready
 * to be stored into packet buffers; and captures read and written.
 */
#ifndef TP_PERF_FRAMES_H
#define TP_PERF_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "options.h"

#define FRAME_FIXED                                                                                \
	(RTE_ETHER_HDR_LEN + 32) /* from this byte on all frames hold the same pattern */

/* The first 32 bytes of an IPv4 datagram with UDP: all that tells one packet from another of its
 * length. */
struct frame_head {
	uint8_t bytes[32];
} __attribute__((aligned(32)));

struct capture_frame {
	uint32_t at; /* in bytes[] */
	uint16_t len;
};

/* What a queue sends, in the order in which it does. Either heads or a capture's frames. */
struct frames {
	uint32_t n;
	struct frame_head *heads;
	struct capture_frame *captured;
	uint8_t *bytes;
	size_t n_bytes;
};

struct flow {
	rte_be32_t src_be, dst_be;
	rte_be16_t sport_be, dport_be;
};

/* Flow i of the run: 16 flows an inside host (10.0.0.0/8), to destinations that the i-th route
 * leads to. */
struct flow frames_flow(const struct options *o, uint32_t i);
/* The i-th of the sessions that mode mixed opens while it runs. */
struct flow frames_fresh(const struct options *o, uint32_t i);
/* The prefix of route r >= 1 (a /24, host order); route 0 is the default route. */
uint32_t frames_route(uint32_t r);
/* Bytes of flow i's frames without FCS. */
uint16_t frames_len(const struct options *o, uint32_t i);

/* Makes the head of a packet of frame_len bytes, with both checksums right. */
void frames_head(struct frame_head *h, const struct flow *f, uint16_t frame_len);
/* The reply to a packet as it was sent. */
void frames_reply(struct frame_head *h, const struct frame_head *sent);
/* Fills a buffer of FRAME_MAX bytes with the bytes that follow the heads. */
void frames_pattern(uint8_t *frame);

static inline uint16_t frames_total(const struct frame_head *h)
{
	return (uint16_t)(h->bytes[2] << 8 | h->bytes[3]);
}

/* False: no memory (huge pages). */
bool frames_alloc(struct frames *f, uint32_t n);
void frames_free(struct frames *f);
/* All flows in the order of their numbers, and any table into an order of its own. */
bool frames_fill(struct frames *f, const struct options *o);
void frames_shuffle(struct frames *f, uint64_t seed);
/* Brings together those that key() gives the same number < n, in the order of the numbers. part[k]:
 * those of k, which stay f's. */
void frames_part(struct frames *f, unsigned (*key)(void *arg, const struct frame_head *h),
		 void *arg, struct frames *part, unsigned n);

/* The IPv4 frames of a capture, sent to dst. False with a message. */
bool frames_read_pcap(struct frames *f, const char *path, const struct rte_ether_addr *dst);
bool frames_write_pcap(const struct frames *f, const char *path, const struct rte_ether_addr *dst);

#endif /* TP_PERF_FRAMES_H */
