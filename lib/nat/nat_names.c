/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words for people: drop reasons, timeouts, TCP states. Constant data, any thread.
 */
#include "nat.h"

static const char *const reason_names[NAT_REASON_COUNT] = {[NAT_REASON_NONE] = "none",
#define X(name, text) [NAT_R_##name] = #name,
							   NAT_REASONS(X)
#undef X
};

static const char *const reason_texts[NAT_REASON_COUNT] = {[NAT_REASON_NONE] = "no reason",
#define X(name, text) [NAT_R_##name] = text,
							   NAT_REASONS(X)
#undef X
};

const char *nat_reason_name(enum nat_reason r)
{
	return (unsigned)r < NAT_REASON_COUNT ? reason_names[r] : "unknown";
}

const char *nat_reason_text(enum nat_reason r)
{
	return (unsigned)r < NAT_REASON_COUNT ? reason_texts[r] : "unknown reason";
}

/* The names are written with '-', as people type them. */
#define NAME_udp	     "udp"
#define NAME_tcp_established "tcp-established"
#define NAME_tcp_transitory  "tcp-transitory"
#define NAME_icmp	     "icmp"
#define NAME_other	     "other"
#define NAME_port_hold	     "port-hold"

const struct nat_timeout_info nat_timeout_info[NAT_TIMEOUT_COUNT] = {
#define X(name, def, min, max, text) [NAT_TIMEOUT_##name] = {NAME_##name, def, min, max, text},
	NAT_TIMEOUTS(X)
#undef X
};

const char *nat_tcp_state_name(enum nat_tcp_state s)
{
	static const char *const names[] = {
		[NAT_TCP_NONE] = "none",
		[NAT_TCP_SYN_SENT] = "syn-sent",
		[NAT_TCP_SYN_RECEIVED] = "syn-received",
		[NAT_TCP_ESTABLISHED] = "established",
		[NAT_TCP_CLOSING] = "closing",
		[NAT_TCP_CLOSED] = "closed",
		[NAT_TCP_RESET] = "reset",
	};

	return (unsigned)s < sizeof(names) / sizeof(names[0]) ? names[s] : "unknown";
}
