/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_log.h>

#include "capture.h"
#include "dp.h"

static struct {
	FILE *before, *tee;
	char said[160];
	bool by_driver;
} capture;

static void capture_line(const char *line, size_t len)
{
	bool by_driver = strncmp(line, "EAL:", strlen("EAL:")) != 0;

	if (capture.said[0] && (capture.by_driver || !by_driver))
		return;
	len = RTE_MIN(len, sizeof(capture.said) - 1);
	memcpy(capture.said, line, len);
	capture.said[len] = '\0';
	capture.said[strcspn(capture.said, "\n")] = '\0';
	capture.by_driver = by_driver;
}

static ssize_t capture_write(void *cookie, const char *buf, size_t len)
{
	RTE_SET_USED(cookie);
	if (rte_log_cur_msg_loglevel() <= (int)RTE_LOG_ERR &&
	    rte_lcore_id() == rte_get_main_lcore())
		capture_line(buf, len);
	fwrite(buf, 1, len, capture.before);
	fflush(capture.before);
	return len;
}

void capture_start(void)
{
	capture.said[0] = '\0';
	capture.by_driver = false;
	capture.before = rte_log_get_stream();
	capture.tee = fopencookie(NULL, "w", (cookie_io_functions_t){.write = capture_write});
	if (capture.tee)
		rte_openlog_stream(capture.tee);
}

void capture_stop(void)
{
	if (!capture.tee)
		return;
	rte_openlog_stream(capture.before);
	fclose(capture.tee);
	capture.tee = NULL;
}

const char *capture_said(void)
{
	return capture.said;
}

bool capture_by_driver(void)
{
	return capture.by_driver;
}

int capture_err(struct fwd_err *err, int rc, const char *devargs, const char *what)
{
	if (capture.said[0] && capture.by_driver)
		return dp_err(err, rc == -1 ? -EINVAL : rc, "device '%s': %s: %s", devargs, what,
			      capture.said);
	if (rc == -1)
		return dp_err(err, -EINVAL,
			      "device '%s': %s: its driver refused (are all arguments right?)",
			      devargs, what);
	return dp_err(err, rc, "device '%s': %s: %s", devargs, what, strerror(-rc));
}
