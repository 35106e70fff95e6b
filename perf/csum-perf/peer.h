/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TURNPIKE_CSUM_PERF_PEER_H
#define TURNPIKE_CSUM_PERF_PEER_H

#include <stddef.h>
#include <stdint.h>

uint32_t peer_native(const void *buf, size_t len, uint32_t sum);
uint32_t peer_avx2(const void *buf, size_t len, uint32_t sum);
uint32_t peer_sse42(const void *buf, size_t len, uint32_t sum);

#endif
