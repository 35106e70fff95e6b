/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Snapshots: what control knows, in the form in which workers read it; publishing the next one and
 * freeing the last.
 *
 * Owns the current struct fwd_snapshot and the translation configurations handed to fwd_nat_set().
 * Control thread only.
 */
#ifndef FWD_SNAPSHOT_H
#define FWD_SNAPSHOT_H

#include "dp.h"

/* committed() is called after each commit, when all workers use it. */
void snapshot_init(void (*committed)(void));
/* Workers have stopped. */
void snapshot_fini(void);

/* The translation configuration that workers use; NULL: none. */
const struct nat_config *snapshot_nat(void);

#endif /* FWD_SNAPSHOT_H */
