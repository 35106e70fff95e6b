/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's log. See log.h. */
#include <stdarg.h>
#include <stdio.h>

#include "log.h"

static int max_level = FWD_LOG_INFO;

void log_set_level(int level)
{
	max_level = level;
}

void log_line(enum fwd_log_level level, const char *msg)
{
	const char *word = level <= FWD_LOG_ERROR     ? "error: "
			   : level <= FWD_LOG_WARNING ? "warning: "
						      : "";

	if ((int)level <= max_level)
		fprintf(stderr, "turnpike: %s%s\n", word, msg);
}

#define LOG_FORMATTED(level, fmt)                                                                  \
	do {                                                                                       \
		char msg[512];                                                                     \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, fmt);                                                                 \
		vsnprintf(msg, sizeof(msg), fmt, ap);                                              \
		va_end(ap);                                                                        \
		log_line(level, msg);                                                              \
	} while (0)

void log_error(const char *fmt, ...)
{
	LOG_FORMATTED(FWD_LOG_ERROR, fmt);
}

void log_warning(const char *fmt, ...)
{
	LOG_FORMATTED(FWD_LOG_WARNING, fmt);
}

void log_info(const char *fmt, ...)
{
	LOG_FORMATTED(FWD_LOG_INFO, fmt);
}
