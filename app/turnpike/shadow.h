/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interfaces, addresses, neighbours and routes in memory only: what a configuration file describes,
 * before the running router is asked to become it. Checks what can be checked without devices, as
 * lib/fwd does.
 */
#ifndef TURNPIKE_SHADOW_H
#define TURNPIKE_SHADOW_H

#include "net.h"

struct shadow;

struct shadow *shadow_create(void);
void shadow_destroy(struct shadow *s);
struct net shadow_net(struct shadow *s);

#endif /* TURNPIKE_SHADOW_H */
