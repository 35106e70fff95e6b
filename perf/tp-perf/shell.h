/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The prompt, by librte_cmdline: testpmd's commands, as far as there is anything for them to do
 * here.
 */
#ifndef TP_PERF_SHELL_H
#define TP_PERF_SHELL_H

#include "options.h"

/* Runs the commands of o->cmdline_file, if any, and then, with o->interactive, those of the prompt
 * until quit or the input's end. False: the file can't be read. */
bool shell_run(struct options *o);

#endif /* TP_PERF_SHELL_H */
