/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes: static ones, by one gateway or several; and a view of all prefixes for people (fwd.h).
 *
 * Owns which prefixes of the table are static: those whose next hop is a group, or a neighbour
 * other than the one whose own /32 it is. Control thread only.
 */
#ifndef FWD_ROUTE_H
#define FWD_ROUTE_H

#include "fwd.h"

void route_init(uint32_t max);

#endif /* FWD_ROUTE_H */
