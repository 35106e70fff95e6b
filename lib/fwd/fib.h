/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The forwarding table: prefixes and the next hops that they lead to.
 *
 * Owns two copies of one table (left-right). Workers read the active copy; edits go to the standby
 * copy and into a log. After a commit has made every worker read the standby, the log is replayed
 * into the other. So no worker ever sees a table that is being edited, which DIR-24-8 needs: it
 * frees and reuses tbl8 groups at once, and a reader in the middle would find the group of another
 * prefix. Both copies grow together, as far as the maximum.
 *
 * Each copy has an rte_rib inside, the standby's being control's own view: with everything staged.
 * Addresses are in host order here. Called by the control thread only.
 */
#ifndef FWD_FIB_H
#define FWD_FIB_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_fib.h>

#include "fwd.h"

#define FIB_TBL8 32768 /* /24 networks that may hold prefixes longer than /24 */

int fib_init(uint32_t max_routes, struct fwd_err *err);
void fib_fini(void);

/* Adds a prefix or changes its next hop (never 0). -ENOSPC when the table is full, with nothing
 * changed. */
int fib_set(uint32_t ip, uint8_t len, uint32_t nh);
/* Room for so many prefixes, and for so many /24 networks with longer ones, in one step; where
 * there is memory for it. */
void fib_expect(uint32_t n, uint32_t nets);
/* -ENOENT when it isn't there. */
int fib_unset(uint32_t ip, uint8_t len);
/* Why the last fib_set() found the table full. */
const char *fib_full_reason(void);

/* Next hop of just this prefix, 0: none. */
uint32_t fib_get(uint32_t ip, uint8_t len);
/* Longest match, 0: none; of at most max_len bits. Sets *len if there is one. */
uint32_t fib_match(uint32_t ip, uint8_t max_len, uint8_t *len);
/* Calls fn for each prefix, by address, then by length; fn returns false to stop. */
void fib_walk(bool (*fn)(void *arg, uint32_t ip, uint8_t len, uint32_t nh), void *arg);

/* Has anything been staged since the last commit? */
bool fib_staged(void);
/* The copy that the next snapshot is to point to. */
struct rte_fib *fib_to_publish(void);
/* Every worker reads that copy now: brings the other one up to date. */
void fib_published(void);

/* Do both copies hold the same? For tests; walks everything. */
bool fib_copies_equal(void);

#endif /* FWD_FIB_H */
