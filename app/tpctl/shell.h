/* SPDX-License-Identifier: BSD-3-Clause */
/* The interactive shell: history, Tab completion, '?' for help on the next word. */
#ifndef TPCTL_SHELL_H
#define TPCTL_SHELL_H

#include "session.h"

void shell_run(struct session *s);

#endif /* TPCTL_SHELL_H */
