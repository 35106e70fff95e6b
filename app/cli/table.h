/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one table of commands. The parser, the errors, help, completion, the man page and the layout
 * of answers all read it; nothing else knows a command's words.
 */
#ifndef TURNPIKE_CLI_TABLE_H
#define TURNPIKE_CLI_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define CLI_MAX_ARGS   12
#define CLI_MAX_DEPTH  5
#define CLI_MAX_RANGES 64

enum cli_type {
	CLI_FLAG,   /* a key without a value */
	CLI_WORD,   /* one of choices */
	CLI_NAME,   /* [A-Za-z0-9._-], at most max bytes */
	CLI_NUMBER, /* min..max */
	CLI_ADDR,   /* A */
	CLI_ADDRS,  /* A[,A...] */
	CLI_PREFIX, /* A or A/L, host bits zero */
	CLI_IFADDR, /* A/L, host bits kept */
	CLI_MATCH,  /* A[/L][:P[-P]] */
	CLI_TARGET, /* A[:P[-P]] */
	CLI_MAC,
	CLI_PROTO,   /* a protocol's name or number */
	CLI_L4PROTO, /* tcp or udp */
	CLI_PORT,    /* 1..65535 */
	CLI_PORTS,   /* P[-P] */
	CLI_RANGES,  /* A[-B][,C[-D]...] */
	CLI_TEXT,    /* anything of at most max bytes */
	CLI_PATH,
	CLI_REST, /* all words that are left */
};

/* Where completion finds values that only the running router knows. */
enum cli_source {
	CLI_NO_SOURCE,
	CLI_IFACES,
	CLI_POOLS,
	CLI_RULES,
	CLI_ADDRESSES,
	CLI_NEIGHBOURS,
	CLI_ROUTES,
	CLI_FILES,
	CLI_COMMANDS,
};

struct cli_choice {
	const char *word;
	unsigned value;
	const char *help;
};

struct cli_arg {
	const char *key;  /* NULL: told by its place, before all keys */
	const char *what; /* placeholder in usage lines */
	const char *help;
	enum cli_type type;
	bool required;
	bool grouped; /* counts for the command's at_least and at_most */
	bool alone;   /* no other key beside it */
	bool hidden;  /* for programs: neither in help nor in completion */
	uint64_t min, max;
	const char *unit;
	const struct cli_choice *choices; /* up to one without a word */
	const char *needs; /* keys that must be given too: "a,b"; "a|b": one of them */
	enum cli_source source;
};

enum cli_id {
	CLI_INTERFACE_ADD,
	CLI_INTERFACE_SET,
	CLI_INTERFACE_DEL,
	CLI_INTERFACE_SHOW,
	CLI_ADDRESS_ADD,
	CLI_ADDRESS_DEL,
	CLI_ADDRESS_SHOW,
	CLI_NEIGHBOUR_ADD,
	CLI_NEIGHBOUR_DEL,
	CLI_NEIGHBOUR_FLUSH,
	CLI_NEIGHBOUR_SHOW,
	CLI_ROUTE_ADD,
	CLI_ROUTE_DEL,
	CLI_ROUTE_SHOW,
	CLI_ROUTE_LOOKUP,
	CLI_ROUTE_SET,
	CLI_POOL_ADD,
	CLI_POOL_DEL,
	CLI_POOL_SHOW,
	CLI_RULE_ADD,
	CLI_RULE_DEL,
	CLI_RULE_SHOW,
	CLI_NAT_SET,
	CLI_NAT_SHOW,
	CLI_TIMEOUT_SET,
	CLI_TIMEOUT_SHOW,
	CLI_SESSION_SHOW,
	CLI_SESSION_CLEAR,
	CLI_STATS_SHOW,
	CLI_STATS_RESET,
	CLI_CONFIG_SHOW,
	CLI_CONFIG_CHECK,
	CLI_CONFIG_LOAD,
	CLI_CONFIG_SAVE,
	CLI_VERSION,
	CLI_WORKER_SHOW,
	CLI_WORKER_SET,
	CLI_LOG_SET,
	CLI_HELP,
	CLI_EXIT,
};

enum cli_flags {
	CLI_CONFIG = 1 << 0, /* may stand in a configuration file */
	CLI_LOCAL = 1 << 1,  /* tpctl's own; the daemon does not know it */
};

/* How an answer is shown to people. */
struct cli_column {
	const char *title;
	const char *path; /* into the row: "a.b", "list[].x" joined by commas, "p|q" the first there
			     is */
	unsigned width;	  /* at least */
	bool right;
};

struct cli_section {
	const char *title; /* NULL: none */
	const char *path;  /* member of the answer; NULL: its items, or all of it */
	const struct cli_column
		*columns; /* up to one without a title; NULL: name and value lines */
};

enum cli_view {
	CLI_VIEW_NONE,	 /* nothing but "ok", or a count */
	CLI_VIEW_LIST,	 /* items as a table */
	CLI_VIEW_LINES,	 /* items are lines of text */
	CLI_VIEW_OBJECT, /* the final object, by sections */
};

struct cli_command {
	enum cli_id id;
	unsigned variant; /* rule add: enum cli_rule */
	unsigned flags;
	const char *words[CLI_MAX_DEPTH];
	const char *help;
	const char *more; /* a paragraph for help and the manual, or NULL */
	const char *example;
	unsigned at_least, at_most;	       /* of the grouped keys; at_most 0: any number */
	struct cli_arg args[CLI_MAX_ARGS + 1]; /* up to one without what */
	enum cli_view view;
	const struct cli_section *sections; /* up to one without path, columns and title */
};

enum cli_rule {
	CLI_RULE_EXEMPT,
	CLI_RULE_STATIC,
	CLI_RULE_DNAT,
	CLI_RULE_SNAT,
	CLI_RULE_MASQUERADE
};
enum cli_behaviour {
	CLI_ENDPOINT_INDEPENDENT,
	CLI_ADDRESS_DEPENDENT,
	CLI_ADDRESS_AND_PORT_DEPENDENT
};
enum cli_rss { CLI_RSS_FLOW, CLI_RSS_SOURCE, CLI_RSS_DESTINATION_PORT };
enum cli_gro_validate { CLI_GRO_ALWAYS, CLI_GRO_OFFLOAD, CLI_GRO_COUNTED };

extern const struct cli_command cli_commands[];
extern const unsigned cli_n_commands;

/* Another spelling of a word of the table, or the word itself. */
const char *cli_alias(const char *word);

#endif /* TURNPIKE_CLI_TABLE_H */
