/* SPDX-License-Identifier: BSD-3-Clause */
/* The running router's interfaces, addresses, neighbours and routes: lib/fwd's, which alone keeps
 * them. */
#ifndef TURNPIKE_LIVE_H
#define TURNPIKE_LIVE_H

#include "net.h"

struct net live_net(void);

#endif /* TURNPIKE_LIVE_H */
