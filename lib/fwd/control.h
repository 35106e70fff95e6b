/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control: the control thread's part of forwarding. Brings its files up and down, joins them by
 * their hooks, and serves what workers, ARP sockets and timers have for it (fwd_poll()).
 */
#ifndef FWD_CONTROL_H
#define FWD_CONTROL_H

#include "dp.h"

/* dp's memory (pool, nexthops, qsbr, rings, counters) is there, and no worker runs yet. Publishes
 * an empty snapshot. After an error, too, control_stop() cleans up. */
int control_start(const struct fwd_params *params, struct fwd_err *err);
/* Workers have stopped: closes all ports, frees everything. */
void control_stop(void);

/* The control thread's monotonic clock (neigh_clock_ms()). */
uint64_t control_now_ms(void);

/* An ARP frame received on an interface. For tests; else they come by punt ring and sockets. */
void control_arp_input(uint16_t iface, const uint8_t *frame, unsigned len);

#endif /* FWD_CONTROL_H */
