/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams to the router itself: echo requests are answered, the rest refused. Worker thread.
 */
#ifndef FWD_LOCAL_H
#define FWD_LOCAL_H

#include "parse.h"
#include "worker_ctx.h"

/* Takes p's mbuf. */
void local_deliver(struct worker *w, struct pkt *p);

#endif /* FWD_LOCAL_H */
