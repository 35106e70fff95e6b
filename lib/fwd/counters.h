/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rest of lib/fwd asks of the counters for people; the public part is in fwd.h.
 */
#ifndef FWD_COUNTERS_H
#define FWD_COUNTERS_H

#include <stdint.h>

/* An interface is gone: whoever gets its id next starts from zero. Control thread. */
void counters_forget(uint16_t iface);
/* Frees what resets took. */
void counters_fini(void);

#endif /* FWD_COUNTERS_H */
