/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What mode gro receives: the segments of TCP connections, or of UDP flows, from inside hosts that
 * take turns, in the buffers that a lane has just sent (their payloads are in its cache), or in
 * ones that come from memory. Sent packets come back in the buffers that they were received in,
 * whole ones (TSO) too.
 */
#ifndef TP_PERF_SEGMENTS_H
#define TP_PERF_SEGMENTS_H

#include "ports.h"

/* Buffers with cold payloads: 80 MB, several times what a cache of the last level leaves one lane.
 */
#define SEGMENTS_COLD 32768

/* Makes the segments for o; o->payload_cold takes SEGMENTS_COLD buffers from pool for good. False
 * with a message. */
unsigned segments_payload(const struct options *o); /* bytes of each */
bool segments_build(const struct options *o, struct rte_mempool *pool);
void segments_free(void);

/* Of each flow the first segment, once, from port 0; then to what left by port 1 an answer each,
 * once, from port 1: translation knows the flows then. turn: runs until all is through. After that
 * all of them come, over and over. */
void segments_establish(void (*turn)(void));
/* Nothing comes, or they go on from where they stopped. */
void segments_feed(bool on);

#endif /* TP_PERF_SEGMENTS_H */
