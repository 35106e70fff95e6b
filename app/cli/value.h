/* SPDX-License-Identifier: BSD-3-Clause */
/* One word as the value of an argument: checked against the table, or a message of what is wrong.
 */
#ifndef TURNPIKE_CLI_VALUE_H
#define TURNPIKE_CLI_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "table.h"
#include "words.h"

struct cli_range {
	uint32_t first_be, last_be;
};

struct cli_value {
	bool given;
	unsigned column, key_column;
	const char *text; /* the word, as typed */
	uint64_t number;  /* number, choice's value, protocol, port */
	uint32_t addr_be;
	uint8_t len;		   /* of the prefix; 32 for an address */
	uint16_t port_lo, port_hi; /* host order; 0: none given */
	uint8_t mac[6];
};

/* Addresses of the one list argument that a command may have. */
struct cli_list {
	unsigned n;
	struct cli_range range[CLI_MAX_RANGES]; /* CLI_ADDRS: first == last */
};

/* abbreviate: choices may be shortened while unambiguous; v->text then is the whole word. */
bool cli_value_parse(const struct cli_arg *arg, const char *word, unsigned column, bool abbreviate,
		     struct cli_value *v, struct cli_list *list, struct cli_error *e);

/* The shape that a value must have, for people: "number from 68 to 9600 (bytes)". */
const char *cli_value_shape(const struct cli_arg *arg, char *out, size_t size);

#endif /* TURNPIKE_CLI_VALUE_H */
