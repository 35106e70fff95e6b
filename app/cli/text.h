/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers, addresses and names as text: strict parsers, their printers, and the nearest word.
 * Addresses are in network order, ports in host order. Parsers take the whole string or nothing.
 */
#ifndef TURNPIKE_CLI_TEXT_H
#define TURNPIKE_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_QUOTE_LEN 44 /* what text_quote() needs */

bool text_number(const char *s, uint64_t *out);	 /* decimal, no sign, no spaces */
bool text_ip4(const char *s, uint32_t *addr_be); /* dotted quad */
bool text_is_ip6(const char *s);
/* "A" or "A/L"; len is -1 where there is no "/L". Host bits are kept. */
bool text_ip4_len(const char *s, uint32_t *addr_be, int *len);
bool text_mac(const char *s, uint8_t mac[6]); /* six pairs of hex digits with colons */
bool text_ports(const char *s, uint16_t *lo, uint16_t *hi); /* "P" or "P-P", 1..65535, lo <= hi */
bool text_name(const char *s, size_t max); /* [A-Za-z0-9._-]{1,max}, no '-' first */
uint32_t text_mask_be(uint8_t len);	   /* 24 -> 255.255.255.0 */

/* Protocols have a name here, or are a number. */
bool text_protocol(const char *s, uint8_t *proto); /* by name, or 1..255 */
const char *text_protocol_name(uint8_t proto);	   /* NULL: has none */
const char *text_protocol_at(unsigned i);	   /* names for completion; NULL past the end */

const char *text_put_ip4(char out[16], uint32_t addr_be);
const char *text_put_prefix(char out[20], uint32_t addr_be, uint8_t len); /* always with /L */
const char *text_put_host_or_prefix(char out[20], uint32_t addr_be, uint8_t len); /* no /32 */
const char *text_put_mac(char out[18], const uint8_t mac[6]);
const char *text_put_protocol(char out[12], uint8_t proto);
const char *text_put_ports(char out[12], uint16_t lo, uint16_t hi);

/* A piece of user input fit for an error message: in quotes, cut short, nothing unprintable. */
const char *text_quote(char out[TEXT_QUOTE_LEN], const char *s);

/* Edits (insert, delete, replace, swap neighbours) between two words, at most limit + 1. */
unsigned text_distance(const char *a, const char *b, unsigned limit);
/* Is candidate near enough to what was typed to be suggested, and nearer than *best? */
bool text_nearer(const char *typed, const char *candidate, unsigned *best);
#define TEXT_FAR 1000u /* *best to start with */

#endif /* TURNPIKE_CLI_TEXT_H */
