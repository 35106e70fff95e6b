/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A journal between commands and a net: every change that succeeds is noted with what takes it
 * back, so that a command, a batch of commands or a whole configuration can be undone.
 */
#ifndef TURNPIKE_JOURNAL_H
#define TURNPIKE_JOURNAL_H

#include "net.h"

struct journal_entry;

struct journal {
	struct net below;
	struct journal_entry *entry;
	unsigned n, cap;
};

void journal_init(struct journal *j, struct net below);
void journal_free(struct journal *j);
struct net journal_net(struct journal *j);

/* Takes back, in reverse order, all that came after the first mark entries. How many could not be
 * taken back. */
unsigned journal_undo(struct journal *j, unsigned mark);
void journal_forget(struct journal *j);

#endif /* TURNPIKE_JOURNAL_H */
