/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_log.h>

#include "dpdk_log.h"
#include "dp.h"

static struct {
	FILE *before, *tee;
	char said[160];
	bool by_driver;
} kept;

static void keep_line(const char *line, size_t len)
{
	bool by_driver = strncmp(line, "EAL:", strlen("EAL:")) != 0;

	if (kept.said[0] && (kept.by_driver || !by_driver))
		return;
	len = RTE_MIN(len, sizeof(kept.said) - 1);
	memcpy(kept.said, line, len);
	kept.said[len] = '\0';
	kept.said[strcspn(kept.said, "\n")] = '\0';
	kept.by_driver = by_driver;
}

static ssize_t log_write(void *cookie, const char *buf, size_t len)
{
	RTE_SET_USED(cookie);
	if (rte_log_cur_msg_loglevel() <= (int)RTE_LOG_ERR &&
	    rte_lcore_id() == rte_get_main_lcore())
		keep_line(buf, len);
	fwrite(buf, 1, len, kept.before);
	fflush(kept.before);
	return len;
}

void dpdk_log_start(void)
{
	kept.said[0] = '\0';
	kept.by_driver = false;
	kept.before = rte_log_get_stream();
	kept.tee = fopencookie(NULL, "w", (cookie_io_functions_t){.write = log_write});
	if (kept.tee)
		rte_openlog_stream(kept.tee);
}

void dpdk_log_stop(void)
{
	if (!kept.tee)
		return;
	rte_openlog_stream(kept.before);
	fclose(kept.tee);
	kept.tee = NULL;
}

const char *dpdk_log_said(void)
{
	return kept.said;
}

bool dpdk_log_by_driver(void)
{
	return kept.by_driver;
}

int dpdk_log_err(struct fwd_err *err, int rc, const char *devargs, const char *what)
{
	if (kept.said[0] && kept.by_driver)
		return dp_err(err, rc == -1 ? -EINVAL : rc, "device '%s': %s: %s", devargs, what,
			      kept.said);
	if (rc == -1)
		return dp_err(err, -EINVAL,
			      "device '%s': %s: its driver refused (are all arguments right?)",
			      devargs, what);
	return dp_err(err, rc, "device '%s': %s: %s", devargs, what, strerror(-rc));
}
