/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions for people, what fwd.h does not offer. Control thread. */
#ifndef FWD_SESSIONS_H
#define FWD_SESSIONS_H

#include <stdint.h>

/* How many sessions a worker has. */
uint32_t sessions_of(unsigned worker);

#endif /* FWD_SESSIONS_H */
