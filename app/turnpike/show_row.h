/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rows of the commands that show are made of. */
#ifndef TURNPIKE_SHOW_ROW_H
#define TURNPIKE_SHOW_ROW_H

#include <string.h>

#include "cli/text.h"

#include "answer.h"
#include "router.h"

static inline void put(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, answer_text(text));
}

static inline void put_number(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer((json_int_t)v));
}

static inline void put_bool(json_t *o, const char *key, bool v)
{
	json_object_set_new(o, key, json_boolean(v));
}

static inline bool no_memory(struct cli_error *e)
{
	cli_error_set(e, 1, 0, "out of memory");
	return false;
}

static inline const char *iface_name(uint16_t id, char out[FWD_NAME_LEN])
{
	struct fwd_iface_info info;

	out[0] = '\0';
	if (fwd_iface_info(id, &info) == 0)
		memcpy(out, info.conf.name, FWD_NAME_LEN);
	return out;
}

#endif /* TURNPIKE_SHOW_ROW_H */
