/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's log: lines on stderr, "turnpike: warning: ...". Control thread. */
#ifndef TURNPIKE_LOG_H
#define TURNPIKE_LOG_H

#include "fwd.h"

void log_set_level(int level); /* enum fwd_log_level: this and what is graver */
void log_line(enum fwd_log_level level, const char *msg);
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* TURNPIKE_LOG_H */
