/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers on the control socket. An answer is any number of lines {"items":[...]} and one last line
 * {"ok":true,...} or {"ok":false,"status":1,"error":{"message","column","hint"}}. Status 1:
 * refused, 2: not understood.
 *
 * A long list is a stream: it gives its items in slices, when the client has room for them.
 */
#ifndef TURNPIKE_ANSWER_H
#define TURNPIKE_ANSWER_H

#include <jansson.h>

#include "cli/buf.h"
#include "cli/words.h"

#define ANSWER_SLICE 256	       /* rows of one line */
#define ANSWER_DONE  "{\"ok\":true}\n" /* a configuring command that was done, and nothing else */

/* The one shape that takes everything a stream needs; owned by whoever holds it. */
struct stream {
	/* Adds up to ANSWER_SLICE items. False: that was the last of them. */
	bool (*more)(struct stream *s, json_t *items);
	void (*free)(struct stream *s);
};

json_t *answer_text(const char *s);		   /* a string, whatever bytes are in it */
void answer_put(struct buf *out, json_t *object);  /* as one line; drops the reference */
void answer_items(struct buf *out, json_t *items); /* drops the reference; nothing for none */
void answer_error(struct buf *out, const struct cli_error *e);
json_t *answer_error_object(const struct cli_error *e); /* {"message","column","hint"} */

/* A stream of the elements of an array, whose reference it takes over. NULL: out of memory. */
struct stream *answer_array(json_t *array);
/* A stream of the lines of a text, which it takes over. */
struct stream *answer_lines(struct buf *text);

#endif /* TURNPIKE_ANSWER_H */
