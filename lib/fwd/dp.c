/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one dataplane, and messages for people.
 */
#include <stdarg.h>
#include <stdio.h>

#include "dp.h"

struct fwd_dp dp;

void dp_log(enum fwd_log_level level, const char *fmt, ...)
{
	char msg[512];
	va_list ap;

	if (dp.log == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	dp.log(level, msg);
}

int dp_err(struct fwd_err *err, int rc, const char *fmt, ...)
{
	va_list ap;

	if (err != NULL) {
		va_start(ap, fmt);
		vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
	}
	return rc;
}
