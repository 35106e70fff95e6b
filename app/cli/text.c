/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, addresses and names as text. See text.h. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "text.h"

bool text_number(const char *s, uint64_t *out)
{
	uint64_t v = 0;

	if (*s == '\0' || strlen(s) > 19)
		return false;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*out = v;
	return true;
}

bool text_ip4(const char *s, uint32_t *addr_be)
{
	struct in_addr a;

	if (inet_pton(AF_INET, s, &a) != 1)
		return false;
	*addr_be = a.s_addr;
	return true;
}

bool text_is_ip6(const char *s)
{
	struct in6_addr a;
	char copy[64];
	size_t n;

	if (*s == '[')
		s++;
	n = strcspn(s, "]/");
	if (n >= sizeof(copy))
		return false;
	memcpy(copy, s, n);
	copy[n] = '\0';
	return inet_pton(AF_INET6, copy, &a) == 1;
}

bool text_ip4_len(const char *s, uint32_t *addr_be, int *len)
{
	const char *slash = strchr(s, '/');
	char addr[16];
	uint64_t l;

	if (slash == NULL) {
		*len = -1;
		return text_ip4(s, addr_be);
	}
	if ((size_t)(slash - s) >= sizeof(addr))
		return false;
	memcpy(addr, s, (size_t)(slash - s));
	addr[slash - s] = '\0';
	if (!text_ip4(addr, addr_be) || !text_number(slash + 1, &l) || l > 32)
		return false;
	*len = (int)l;
	return true;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool text_mac(const char *s, uint8_t mac[6])
{
	if (strlen(s) != 17)
		return false;
	for (int i = 0; i < 6; i++) {
		int hi = hex(s[3 * i]), lo = hex(s[3 * i + 1]);

		if (hi < 0 || lo < 0 || (i < 5 && s[3 * i + 2] != ':'))
			return false;
		mac[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

bool text_ports(const char *s, uint16_t *lo, uint16_t *hi)
{
	const char *dash = strchr(s, '-');
	char first[8];
	uint64_t a, b;

	if (dash == NULL) {
		if (!text_number(s, &a))
			return false;
		b = a;
	} else {
		if ((size_t)(dash - s) >= sizeof(first))
			return false;
		memcpy(first, s, (size_t)(dash - s));
		first[dash - s] = '\0';
		if (!text_number(first, &a) || !text_number(dash + 1, &b))
			return false;
	}
	if (a < 1 || b > 65535 || a > b)
		return false;
	*lo = (uint16_t)a;
	*hi = (uint16_t)b;
	return true;
}

bool text_name(const char *s, size_t max)
{
	size_t n = strlen(s);

	if (n < 1 || n > max || *s == '-')
		return false;
	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '.' || c == '_' || c == '-'))
			return false;
	}
	return true;
}

uint32_t text_mask_be(uint8_t len)
{
	return len == 0 ? 0 : htonl(UINT32_MAX << (32 - len));
}

static const struct {
	const char *name;
	uint8_t proto;
} protocols[] = {
	{"tcp", 6},    {"udp", 17},  {"icmp", 1},      {"gre", 47},   {"esp", 50},  {"ah", 51},
	{"sctp", 132}, {"dccp", 33}, {"udplite", 136}, {"ipip", 4},   {"ipv6", 41}, {"igmp", 2},
	{"ospf", 89},  {"pim", 103}, {"vrrp", 112},    {"l2tp", 115},
};

#define N_PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]))

bool text_protocol(const char *s, uint8_t *proto)
{
	uint64_t n;

	for (size_t i = 0; i < N_PROTOCOLS; i++) {
		if (strcasecmp(s, protocols[i].name) == 0) {
			*proto = protocols[i].proto;
			return true;
		}
	}
	if (!text_number(s, &n) || n < 1 || n > 255)
		return false;
	*proto = (uint8_t)n;
	return true;
}

const char *text_protocol_name(uint8_t proto)
{
	for (size_t i = 0; i < N_PROTOCOLS; i++) {
		if (protocols[i].proto == proto)
			return protocols[i].name;
	}
	return NULL;
}

const char *text_protocol_at(unsigned i)
{
	return i < N_PROTOCOLS ? protocols[i].name : NULL;
}

const char *text_put_ip4(char out[16], uint32_t addr_be)
{
	const uint8_t *b = (const uint8_t *)&addr_be;

	snprintf(out, 16, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
	return out;
}

const char *text_put_prefix(char out[20], uint32_t addr_be, uint8_t len)
{
	const uint8_t *b = (const uint8_t *)&addr_be;

	snprintf(out, 20, "%u.%u.%u.%u/%u", b[0], b[1], b[2], b[3], len);
	return out;
}

const char *text_put_host_or_prefix(char out[20], uint32_t addr_be, uint8_t len)
{
	return len == 32 ? text_put_ip4(out, addr_be) : text_put_prefix(out, addr_be, len);
}

const char *text_put_mac(char out[18], const uint8_t mac[6])
{
	snprintf(out, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		 mac[5]);
	return out;
}

const char *text_put_protocol(char out[12], uint8_t proto)
{
	const char *name = text_protocol_name(proto);

	if (name != NULL)
		snprintf(out, 12, "%s", name);
	else
		snprintf(out, 12, "%u", proto);
	return out;
}

const char *text_put_ports(char out[12], uint16_t lo, uint16_t hi)
{
	if (lo == hi)
		snprintf(out, 12, "%u", lo);
	else
		snprintf(out, 12, "%u-%u", lo, hi);
	return out;
}

const char *text_quote(char out[TEXT_QUOTE_LEN], const char *s)
{
	size_t n = 0;

	out[n++] = '\'';
	for (; *s != '\0' && n < TEXT_QUOTE_LEN - 6; s++) {
		unsigned char c = (unsigned char)*s;

		out[n++] = c >= 0x20 && c < 0x7f ? (char)c : '?';
	}
	if (*s != '\0') {
		memcpy(out + n, "...", 3);
		n += 3;
	}
	out[n++] = '\'';
	out[n] = '\0';
	return out;
}

#define DISTANCE_MAX 48

/* Optimal string alignment: three rows of the usual table. */
unsigned text_distance(const char *a, const char *b, unsigned limit)
{
	unsigned rows[3][DISTANCE_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);
	unsigned d;

	if (la > DISTANCE_MAX || lb > DISTANCE_MAX)
		return limit + 1;
	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *now = rows[i % 3];
		const unsigned *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned same = a[i - 1] == b[j - 1] ? 0 : 1;
			unsigned v = last[j - 1] + same;

			if (last[j] + 1 < v)
				v = last[j] + 1;
			if (now[j - 1] + 1 < v)
				v = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < v)
				v = before[j - 2] + 1;
			now[j] = v;
		}
	}
	d = rows[la % 3][lb];
	return d > limit ? limit + 1 : d;
}

bool text_nearer(const char *typed, const char *candidate, unsigned *best)
{
	size_t n = strlen(typed);
	unsigned limit = n <= 3 ? 1 : n <= 5 ? 2 : 3;
	unsigned d;

	/* A beginning of the word is near, however much is missing. */
	if (n >= 2 && strncmp(typed, candidate, n) == 0)
		d = 1;
	else
		d = text_distance(typed, candidate, limit);
	if (d > limit || d >= *best || d >= n)
		return false;
	*best = d;
	return true;
}
