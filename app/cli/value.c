/* SPDX-License-Identifier: BSD-3-Clause */
/* One word as the value of an argument. See value.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#include "value.h"

static void list_choices(const struct cli_choice *c, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (; c->word != NULL && n < size; c++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", n > 0 ? ", " : "", c->word);
}

const char *cli_value_shape(const struct cli_arg *arg, char *out, size_t size)
{
	char choices[160];

	switch (arg->type) {
	case CLI_FLAG:
		snprintf(out, size, "no value");
		break;
	case CLI_WORD:
		list_choices(arg->choices, choices, sizeof(choices));
		snprintf(out, size, "one of %s", choices);
		break;
	case CLI_NAME:
		snprintf(out, size, "name of 1 to %u letters, digits, '.', '_', '-'",
			 (unsigned)arg->max);
		break;
	case CLI_NUMBER:
		snprintf(out, size, "number from %llu to %llu%s%s", (unsigned long long)arg->min,
			 (unsigned long long)arg->max, arg->unit != NULL ? " " : "",
			 arg->unit != NULL ? arg->unit : "");
		break;
	case CLI_ADDR:
		snprintf(out, size, "IPv4 address like 192.0.2.1");
		break;
	case CLI_ADDRS:
		snprintf(out, size, "IPv4 addresses like 192.0.2.1,192.0.2.2");
		break;
	case CLI_PREFIX:
		snprintf(out, size, "IPv4 prefix like 192.0.2.0/24, an address, or default");
		break;
	case CLI_IFADDR:
		snprintf(out, size, "IPv4 address with a length like 192.0.2.1/24");
		break;
	case CLI_MATCH:
		snprintf(out, size, "prefix like 192.0.2.0/24, and ports like 192.0.2.1:80");
		break;
	case CLI_TARGET:
		snprintf(out, size,
			 "address like 192.0.2.1, or with ports like 192.0.2.1:8080-8089");
		break;
	case CLI_MAC:
		snprintf(out, size, "MAC address like 02:00:00:00:00:09");
		break;
	case CLI_PROTO:
		snprintf(out, size,
			 "protocol like tcp, udp, icmp, gre, esp, or a number from 1 to 255");
		break;
	case CLI_L4PROTO:
		snprintf(out, size, "tcp or udp");
		break;
	case CLI_PORT:
		snprintf(out, size, "port from 1 to 65535");
		break;
	case CLI_PORTS:
		snprintf(out, size, "ports from 1 to 65535 like 1024-65535");
		break;
	case CLI_RANGES:
		snprintf(out, size, "addresses like 192.0.2.10-192.0.2.20,192.0.2.30");
		break;
	case CLI_TEXT:
		snprintf(out, size, "text of at most %u bytes", (unsigned)arg->max);
		break;
	case CLI_PATH:
		snprintf(out, size, "path of a file");
		break;
	case CLI_REST:
		snprintf(out, size, "words");
		break;
	}
	return out;
}

static const char *arg_name(const struct cli_arg *arg)
{
	return arg->key != NULL ? arg->key : arg->what;
}

static bool wrong(const struct cli_arg *arg, const char *word, unsigned column, struct cli_error *e)
{
	char quoted[TEXT_QUOTE_LEN], shape[240];

	cli_error_set(e, 2, column, "%s: %s does not fit", arg_name(arg), text_quote(quoted, word));
	cli_value_shape(arg, shape, sizeof(shape));
	if (text_is_ip6(word) && arg->type != CLI_MAC)
		cli_error_hint(e, "an %s; this release routes IPv4 only", shape);
	else
		cli_error_hint(e, "wants %s", shape);
	return false;
}

static bool parse_word(const struct cli_arg *arg, const char *word, unsigned column,
		       bool abbreviate, struct cli_value *v, struct cli_error *e)
{
	const struct cli_choice *found = NULL, *near = NULL;
	unsigned n = 0, best = TEXT_FAR;
	size_t len = strlen(word);

	for (const struct cli_choice *c = arg->choices; c->word != NULL; c++) {
		if (strcmp(c->word, word) == 0) {
			found = c;
			n = 1;
			break;
		}
		if (abbreviate && len > 0 && strncmp(c->word, word, len) == 0) {
			found = c;
			n++;
		}
	}
	if (n == 1) {
		v->number = found->value;
		v->text = found->word;
		return true;
	}
	wrong(arg, word, column, e);
	if (n > 1)
		return false;
	for (const struct cli_choice *c = arg->choices; c->word != NULL; c++) {
		if (text_nearer(word, c->word, &best))
			near = c;
	}
	if (near != NULL) {
		char choices[160];

		list_choices(arg->choices, choices, sizeof(choices));
		cli_error_hint(e, "did you mean '%s'? It wants one of %s", near->word, choices);
	}
	return false;
}

static bool parse_number(const struct cli_arg *arg, const char *word, unsigned column,
			 struct cli_value *v, struct cli_error *e)
{
	uint64_t max = arg->type == CLI_PORT ? 65535 : arg->max;
	uint64_t min = arg->type == CLI_PORT ? 1 : arg->min;

	if (!text_number(word, &v->number))
		return wrong(arg, word, column, e);
	if (v->number < min || v->number > max) {
		char shape[160];

		cli_error_set(e, 2, column, "%s: %.20s is out of range", arg_name(arg), word);
		cli_error_hint(e, "wants %s", cli_value_shape(arg, shape, sizeof(shape)));
		return false;
	}
	return true;
}

static bool parse_prefix(const struct cli_arg *arg, const char *word, unsigned column,
			 struct cli_value *v, struct cli_error *e)
{
	char prefix[20];
	uint32_t net;
	int len;

	if (strcmp(word, "default") == 0) { /* ip(8)'s word */
		v->addr_be = 0;
		v->len = 0;
		return true;
	}
	if (!text_ip4_len(word, &v->addr_be, &len))
		return wrong(arg, word, column, e);
	v->len = len < 0 ? 32 : (uint8_t)len;
	net = v->addr_be & text_mask_be(v->len);
	if (net != v->addr_be) {
		cli_error_set(e, 2, column, "%s: %.20s has bits set behind its length",
			      arg_name(arg), word);
		cli_error_hint(e, "the prefix is %s", text_put_prefix(prefix, net, v->len));
		return false;
	}
	return true;
}

/* A[/L][:P[-P]] */
static bool parse_ports_behind(const struct cli_arg *arg, const char *word, unsigned column,
			       struct cli_value *v, struct cli_error *e)
{
	const char *colon = strchr(word, ':');
	char addr[20];
	uint32_t host;
	int len = -1;

	if (colon == NULL) {
		if (arg->type == CLI_MATCH)
			return parse_prefix(arg, word, column, v, e);
		v->len = 32;
		return text_ip4(word, &v->addr_be) || wrong(arg, word, column, e);
	}
	if (text_is_ip6(word) || (size_t)(colon - word) >= sizeof(addr))
		return wrong(arg, word, column, e);
	memcpy(addr, word, (size_t)(colon - word));
	addr[colon - word] = '\0';
	if (arg->type == CLI_MATCH ? !text_ip4_len(addr, &host, &len) : !text_ip4(addr, &host))
		return wrong(arg, word, column, e);
	if (arg->type == CLI_MATCH && !parse_prefix(arg, addr, column, v, e))
		return false;
	v->addr_be = host;
	if (arg->type == CLI_TARGET)
		v->len = 32;
	if (!text_ports(colon + 1, &v->port_lo, &v->port_hi)) {
		char quoted[TEXT_QUOTE_LEN];

		cli_error_set(e, 2, column + (unsigned)(colon + 1 - word), "%s: %s is no port",
			      arg_name(arg), text_quote(quoted, colon + 1));
		cli_error_hint(e, "wants ports from 1 to 65535, like 8080 or 8080-8089");
		return false;
	}
	return true;
}

/* "A-B,C": ranges; "A,B": addresses. */
static bool parse_list(const struct cli_arg *arg, const char *word, unsigned column,
		       struct cli_list *list, struct cli_error *e)
{
	const char *p = word;

	list->n = 0;
	for (;;) {
		size_t n = strcspn(p, ",");
		struct cli_range *r = &list->range[list->n];
		unsigned at = column + (unsigned)(p - word);
		char part[40], *dash;

		if (list->n == arg->max) {
			cli_error_set(e, 2, at, "%s: more than %u", arg_name(arg),
				      (unsigned)arg->max);
			return false;
		}
		if (n == 0 || n >= sizeof(part))
			return wrong(arg, p, at, e);
		memcpy(part, p, n);
		part[n] = '\0';
		dash = arg->type == CLI_RANGES ? strchr(part, '-') : NULL;
		if (dash != NULL)
			*dash = '\0';
		if (!text_ip4(part, &r->first_be))
			return wrong(arg, part, at, e);
		r->last_be = r->first_be;
		if (dash != NULL && !text_ip4(dash + 1, &r->last_be))
			return wrong(arg, dash + 1, at + (unsigned)(dash + 1 - part), e);
		if (ntohl(r->first_be) > ntohl(r->last_be)) {
			cli_error_set(e, 2, at, "%s: %s is above %s", arg_name(arg), part,
				      dash + 1);
			cli_error_hint(e, "the smaller address comes first");
			return false;
		}
		list->n++;
		if (p[n] == '\0')
			return true;
		p += n + 1;
	}
}

static bool parse_l4proto(const struct cli_arg *arg, const char *word, unsigned column,
			  struct cli_value *v, struct cli_error *e)
{
	uint8_t proto;

	if (!text_protocol(word, &proto) || (proto != 6 && proto != 17))
		return wrong(arg, word, column, e);
	v->number = proto;
	return true;
}

bool cli_value_parse(const struct cli_arg *arg, const char *word, unsigned column, bool abbreviate,
		     struct cli_value *v, struct cli_list *list, struct cli_error *e)
{
	uint8_t proto;
	int len;

	v->given = true;
	v->column = column;
	v->text = word;
	switch (arg->type) {
	case CLI_FLAG:
	case CLI_REST:
		return true;
	case CLI_WORD:
		return parse_word(arg, word, column, abbreviate, v, e);
	case CLI_NAME:
		return text_name(word, arg->max) || wrong(arg, word, column, e);
	case CLI_NUMBER:
	case CLI_PORT:
		return parse_number(arg, word, column, v, e);
	case CLI_ADDR:
		v->len = 32;
		return text_ip4(word, &v->addr_be) || wrong(arg, word, column, e);
	case CLI_IFADDR:
		if (!text_ip4_len(word, &v->addr_be, &len) || len < 1)
			return wrong(arg, word, column, e);
		v->len = (uint8_t)len;
		return true;
	case CLI_PREFIX:
		return parse_prefix(arg, word, column, v, e);
	case CLI_MATCH:
	case CLI_TARGET:
		return parse_ports_behind(arg, word, column, v, e);
	case CLI_ADDRS:
	case CLI_RANGES:
		return parse_list(arg, word, column, list, e);
	case CLI_MAC:
		if (!text_mac(word, v->mac))
			return wrong(arg, word, column, e);
		if ((v->mac[0] & 1) != 0 || memcmp(v->mac, "\0\0\0\0\0", 6) == 0) {
			cli_error_set(e, 2, column, "%s: %s is no station's address", arg_name(arg),
				      word);
			cli_error_hint(e, "wants a unicast MAC address");
			return false;
		}
		return true;
	case CLI_PROTO:
		if (!text_protocol(word, &proto))
			return wrong(arg, word, column, e);
		v->number = proto;
		return true;
	case CLI_L4PROTO:
		return parse_l4proto(arg, word, column, v, e);
	case CLI_PORTS:
		return text_ports(word, &v->port_lo, &v->port_hi) || wrong(arg, word, column, e);
	case CLI_TEXT:
	case CLI_PATH:
		if (*word == '\0' || strlen(word) > (arg->max > 0 ? arg->max : 1023)) {
			cli_error_set(e, 2, column, "%s: %s", arg_name(arg),
				      *word == '\0' ? "is empty" : "is too long");
			cli_error_hint(e, "wants text of 1 to %u bytes",
				       (unsigned)(arg->max > 0 ? arg->max : 1023));
			return false;
		}
		return true;
	}
	return false;
}
