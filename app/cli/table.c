/* SPDX-License-Identifier: BSD-3-Clause */
/* The one table of commands. See table.h. It is read by its rows: clang-format leaves it alone. */
/* clang-format off */
#include <string.h>

#include "nat.h"

#include "table.h"

/* Lengths without the final NUL; the limits are lib/fwd's and lib/nat's. */
#define IFACE_MAX   15
#define NAME_MAX_   (NAT_NAME_LEN - 1)
#define DEVARGS_MAX 255
#define PATH_MAX_   1023

static const struct cli_choice behaviours[] = {
	{ "endpoint-independent", CLI_ENDPOINT_INDEPENDENT, "the same for every destination" },
	{ "address-dependent", CLI_ADDRESS_DEPENDENT, "by destination address" },
	{ "address-and-port-dependent", CLI_ADDRESS_AND_PORT_DEPENDENT,
	  "by destination address and port" },
	{ 0 },
};

static const struct cli_choice validations[] = {
	{ "always", CLI_GRO_ALWAYS, "summed here, whatever the device says" },
	{ "offload", CLI_GRO_OFFLOAD, "by the device's word, else summed here" },
	{ "counted", CLI_GRO_COUNTED, "as offload, and of segments that do not merge too" },
	{ 0 },
};

static const struct cli_choice spreads[] = {
	{ "flow", CLI_RSS_FLOW, "each flow to any of them" },
	{ "source", CLI_RSS_SOURCE, "each host's packets to the worker that translates them" },
	{ "destination-port", CLI_RSS_DESTINATION_PORT,
	  "answers to the worker that chose the port for its host" },
	{ 0 },
};

static const struct cli_choice switches[] = {
	{ "on", 1, NULL },
	{ "off", 0, NULL },
	{ 0 },
};

static const struct cli_choice levels[] = {	/* values are syslog's */
	{ "error", 3, "what stops something from working" },
	{ "warning", 4, "and what may surprise" },
	{ "info", 6, "and what changes" },
	{ "debug", 7, "and what is done on the way" },
	{ 0 },
};

enum {	/* ranges of the timeouts, from lib/nat's list */
#define X(name, def, min, max, text) TIMEOUT_MIN_##name = (min), TIMEOUT_MAX_##name = (max),
	NAT_TIMEOUTS(X)
#undef X
};
_Static_assert(NAT_TIMEOUT_COUNT == 6, "nat timeout set names each of lib/nat's timeouts");

/* ---- answers --------------------------------------------------------------------------------- */

#define SECTIONS(...) (const struct cli_section[]){ __VA_ARGS__, { 0 } }
#define LIST(columns) SECTIONS({ NULL, NULL, columns })

static const struct cli_column iface_columns[] = {
	{ "NAME", "name", 8, false },
	{ "LINK", "link", 4, false },
	{ "MAC", "mac", 17, false },
	{ "MTU", "mtu", 4, true },
	{ "MBIT/S", "speed_mbps", 6, true },
	{ "RXQS", "rxqs", 4, true },
	{ "RSS", "rss", 4, false },
	{ "DRIVER", "driver", 10, false },
	{ "DEVICE", "devargs|parent", 0, false },
	{ "VLAN", "vlan", 0, true },
	{ "GRO", "gro", 0, false },
	{ "KERNEL", "netdev", 0, false },
	{ "XDP", "xdp", 0, false },
	{ "PASS", "pass[]", 0, false },
	{ 0 },
};

static const struct cli_column address_columns[] = {
	{ "ADDRESS", "address", 18, false },
	{ "INTERFACE", "interface", 9, false },
	{ 0 },
};

static const struct cli_column neighbour_columns[] = {
	{ "ADDRESS", "address", 15, false },
	{ "MAC", "lladdr", 17, false },
	{ "INTERFACE", "interface", 9, false },
	{ "STATE", "state", 10, false },
	{ "AGE ms", "age_ms", 8, true },
	{ "WAITING", "waiting_packets", 0, true },
	{ 0 },
};

static const struct cli_column route_columns[] = {
	{ "PREFIX", "prefix", 18, false },
	{ "TYPE", "type", 9, false },
	{ "VIA", "via[].gateway", 15, false },
	{ "INTERFACE", "via[].interface|interface", 9, false },
	{ 0 },
};

static const struct cli_column pool_columns[] = {
	{ "NAME", "name", 12, false },
	{ "ADDRESSES", "addresses[]", 15, false },
	{ "PORTS", "ports", 11, false },
	{ "RULES", "rules[]", 0, false },
	{ 0 },
};

static const struct cli_column rule_columns[] = {
	{ "NAME", "name", 12, false },
	{ "TYPE", "type", 10, false },
	{ "INTERFACE", "interface", 9, false },
	{ "PROTO", "protocol", 5, false },
	{ "SOURCE", "source|internal", 0, false },
	{ "DESTINATION", "destination|external", 0, false },
	{ "TO", "to|pool|external", 0, false },
	{ 0 },
};

static const struct cli_column timeout_columns[] = {
	{ "NAME", "name", 15, false },
	{ "SECONDS", "timeout_s", 7, true },
	{ "DEFAULT", "default_s", 7, true },
	{ "MIN", "min_s", 3, true },
	{ "MAX", "max_s", 6, true },
	{ "OF", "meaning", 0, false },
	{ 0 },
};

static const struct cli_column session_columns[] = {
	{ "PROTO", "protocol", 5, false },
	{ "SOURCE", "original.source", 21, false },
	{ "DESTINATION", "original.destination", 21, false },
	{ "REPLY FROM", "reply.source", 21, false },
	{ "REPLY TO", "reply.destination", 21, false },
	{ "RULE", "rule", 10, false },
	{ "STATE", "state", 11, false },
	{ "IDLE ms", "idle_ms", 8, true },
	{ "LIMIT s", "timeout_s", 7, true },
	{ 0 },
};

static const struct cli_column traffic_columns[] = {
	{ "INTERFACE", "interface", 9, false },
	{ "RX PACKETS", "rx_packets", 10, true },
	{ "RX BYTES", "rx_bytes", 10, true },
	{ "TX PACKETS", "tx_packets", 10, true },
	{ "TX BYTES", "tx_bytes", 10, true },
	{ "DROPS", "drops", 6, true },
	{ "RX MISSED", "rx_missed", 0, true },
	{ "RX ERRORS", "rx_errors", 0, true },
	{ "NO BUFFER", "rx_no_buffer", 0, true },
	{ "TX ERRORS", "tx_errors", 0, true },
	{ "BAD SUMS", "bad_checksums", 0, true },
	{ 0 },
};

static const struct cli_column drop_columns[] = {
	{ "INTERFACE", "interface", 9, false },
	{ "REASON", "reason", 20, false },
	{ "PACKETS", "packets", 10, true },
	{ "MEANING", "meaning", 0, false },
	{ 0 },
};

static const struct cli_column event_columns[] = {
	{ "EVENT", "event", 20, false },
	{ "COUNT", "count", 10, true },
	{ "MEANING", "meaning", 0, false },
	{ 0 },
};

static const struct cli_column worker_columns[] = {
	{ "WORKER", "worker", 6, true },
	{ "LCORE", "lcore", 5, true },
	{ "CPU", "cpu", 3, true },
	{ "QUEUES", "rx_queues", 6, true },
	{ "NAT", "nat", 3, false },
	{ "PACKETS", "packets", 12, true },
	{ "BURSTS", "bursts", 12, true },
	{ "BUSY %", "busy_percent", 6, true },
	{ 0 },
};

/* ---- arguments that several commands take ---------------------------------------------------- */

#define NEW_IFACE                                                                                  \
	{ .what = "NAME", .help = "name of the interface", .type = CLI_NAME, .required = true,     \
	  .max = IFACE_MAX }
#define THE_IFACE                                                                                  \
	{ .what = "NAME", .help = "an interface", .type = CLI_NAME, .required = true,              \
	  .max = IFACE_MAX, .source = CLI_IFACES }
#define ON_IFACE(must, text)                                                                       \
	{ .key = "interface", .what = "NAME", .help = text, .type = CLI_NAME, .required = (must),  \
	  .max = IFACE_MAX, .source = CLI_IFACES }
#define NEW_RULE                                                                                   \
	{ .what = "NAME", .help = "name of the rule", .type = CLI_NAME, .required = true,          \
	  .max = NAME_MAX_ }
#define RULE_SOURCE                                                                                \
	{ .key = "source", .what = "PREFIX", .help = "inside addresses that it translates",        \
	  .type = CLI_PREFIX }
#define RULE_DESTINATION                                                                           \
	{ .key = "destination", .what = "PREFIX", .help = "only to these addresses",               \
	  .type = CLI_PREFIX }
#define RULE_PROTOCOL                                                                              \
	{ .key = "protocol", .what = "PROTOCOL", .help = "only this IP protocol",                  \
	  .type = CLI_PROTO }

#define SESSION_FILTERS                                                                            \
	{ .key = "source", .what = "PREFIX", .help = "original source address",                    \
	  .type = CLI_PREFIX, .grouped = true },                                                   \
	{ .key = "destination", .what = "PREFIX", .help = "original destination address",          \
	  .type = CLI_PREFIX, .grouped = true },                                                   \
	{ .key = "protocol", .what = "PROTOCOL", .help = "IP protocol", .type = CLI_PROTO,         \
	  .grouped = true },                                                                       \
	{ .key = "port", .what = "PORT", .help = "any of the session's ports, or ICMP identifier", \
	  .type = CLI_PORT, .grouped = true },                                                     \
	{ .key = "rule", .what = "NAME", .help = "sessions that this rule made", .type = CLI_NAME, \
	  .max = NAME_MAX_, .source = CLI_RULES, .grouped = true }

#define SWITCH(word, text)                                                                         \
	{ .key = word, .what = "on|off", .help = text, .type = CLI_WORD, .choices = switches,      \
	  .grouped = true }

#define TIMEOUT(word, name, text)                                                                  \
	{ .key = word, .what = "SECONDS", .help = text, .type = CLI_NUMBER, .grouped = true,       \
	  .min = TIMEOUT_MIN_##name, .max = TIMEOUT_MAX_##name, .unit = "seconds" }

/* ---- the table ------------------------------------------------------------------------------- */

const struct cli_command cli_commands[] = {
	{ CLI_INTERFACE_ADD, 0, CLI_CONFIG, { "interface", "add" },
	  "opens a device, or a VLAN on an interface",
	  "DEVARGS names any DPDK device: net_af_xdp0,iface=eth1 or net_af_packet0,iface=eth1 for a "
	  "kernel interface, net_tap0, net_memif0, and so on. A PCI address like 0000:03:00.0 needs a "
	  "daemon whose configuration file named one at start, as only then the PCI bus is looked at. "
	  "rss is for several workers, and devices that take an RSS key. By source, on an inside interface, "
	  "the device finds the worker that a host's sessions belong to, so nothing has to be handed over. "
	  "By destination-port, on an outside interface, it does so for ports that the router chose: all of "
	  "them with nat set port-preservation off, else those that were not free.",
	  "interface add lan devargs net_af_xdp0,iface=eth1", 1, 1,
	  { NEW_IFACE,
	    { .key = "devargs", .what = "DEVARGS", .help = "DPDK device and its arguments",
	      .type = CLI_TEXT, .max = DEVARGS_MAX, .grouped = true },
	    { .key = "vlan", .what = "ID", .help = "802.1Q VLAN", .type = CLI_NUMBER, .min = 1,
	      .max = 4094, .grouped = true, .needs = "parent" },
	    { .key = "parent", .what = "NAME", .help = "interface that carries the VLAN",
	      .type = CLI_NAME, .max = IFACE_MAX, .source = CLI_IFACES, .needs = "vlan" },
	    { .key = "mtu", .what = "BYTES", .help = "largest IP packet", .type = CLI_NUMBER,
	      .min = 68, .max = 9600, .unit = "bytes" },
	    { .key = "rxqs", .what = "N", .help = "receive queues", .type = CLI_NUMBER, .min = 1,
	      .max = 64, .needs = "devargs" },
	    { .key = "rss", .what = "flow|source|destination-port", .help = "how the device fills them",
	      .type = CLI_WORD, .choices = spreads, .needs = "rxqs" },
	    { .key = "gro", .what = "on|off", .help = "merge TCP segments on the way through",
	      .type = CLI_WORD, .choices = switches } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_INTERFACE_SET, 0, CLI_CONFIG, { "interface", "set" },
	  "changes an interface",
	  "pass leaves a TCP or UDP port to the host's kernel, so that for example ssh to the host goes on "
	  "working on an interface that the router has taken; no-pass takes it back. gro merges TCP "
	  "segments that come in together, so that translating and routing them costs once; they leave as "
	  "they came. gro-timeout lets segments wait for those that follow, never longer than the worker "
	  "has something else to do; 0, the default: they merge with what came in at the same time. "
	  "gro-udp merges UDP datagrams as well, where gro is on.",
	  "interface set lan pass protocol tcp port 22", 1, 1,
	  { THE_IFACE,
	    { .key = "mtu", .what = "BYTES", .help = "largest IP packet", .type = CLI_NUMBER,
	      .min = 68, .max = 9600, .unit = "bytes", .grouped = true },
	    SWITCH("gro", "merge TCP segments on the way through"),
	    { .key = "gro-validate", .what = "always|offload|counted",
	      .help = "how their checksums are looked at before", .type = CLI_WORD,
	      .choices = validations, .grouped = true },
	    { .key = "gro-timeout", .what = "MICROSECONDS",
	      .help = "how long segments may wait for those that follow", .type = CLI_NUMBER,
	      .max = 1000, .unit = "microseconds", .grouped = true },
	    SWITCH("gro-udp", "with gro: merge UDP datagrams as well"),
	    { .key = "pass", .what = "", .help = "leave a port to the kernel", .type = CLI_FLAG,
	      .grouped = true, .needs = "protocol,port" },
	    { .key = "no-pass", .what = "", .help = "take a port back from the kernel",
	      .type = CLI_FLAG, .grouped = true, .needs = "protocol,port" },
	    { .key = "protocol", .what = "tcp|udp", .help = "of the port", .type = CLI_L4PROTO,
	      .needs = "pass|no-pass" },
	    { .key = "port", .what = "PORT", .help = "destination port", .type = CLI_PORT,
	      .needs = "pass|no-pass" } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_INTERFACE_DEL, 0, CLI_CONFIG, { "interface", "del" },
	  "closes an interface; its addresses and neighbours go with it",
	  "Refused while a route, a NAT rule or a VLAN interface uses it.",
	  "interface del lan", 0, 0,
	  { THE_IFACE },
	  CLI_VIEW_NONE, NULL },
	{ CLI_INTERFACE_SHOW, 0, 0, { "interface", "show" },
	  "interfaces and their links", NULL, "interface", 0, 0,
	  { { .what = "NAME", .help = "only this one", .type = CLI_NAME, .max = IFACE_MAX,
	      .source = CLI_IFACES } },
	  CLI_VIEW_LIST, LIST(iface_columns) },

	{ CLI_ADDRESS_ADD, 0, CLI_CONFIG, { "address", "add" },
	  "gives the router an address; its prefix is connected there", NULL,
	  "address add 10.0.0.1/24 interface lan", 0, 0,
	  { { .what = "ADDRESS/LENGTH", .help = "address and length of its prefix",
	      .type = CLI_IFADDR, .required = true },
	    ON_IFACE(true, "where it is") },
	  CLI_VIEW_NONE, NULL },
	{ CLI_ADDRESS_DEL, 0, CLI_CONFIG, { "address", "del" },
	  "takes an address away", "Refused while the gateway of a route lies in its prefix.",
	  "address del 10.0.0.1/24 interface lan", 0, 0,
	  { { .what = "ADDRESS/LENGTH", .help = "address and length of its prefix",
	      .type = CLI_IFADDR, .required = true, .source = CLI_ADDRESSES },
	    ON_IFACE(true, "where it is") },
	  CLI_VIEW_NONE, NULL },
	{ CLI_ADDRESS_SHOW, 0, 0, { "address", "show" },
	  "the router's addresses", NULL, "address", 0, 0,
	  { ON_IFACE(false, "only of this interface") },
	  CLI_VIEW_LIST, LIST(address_columns) },

	{ CLI_NEIGHBOUR_ADD, 0, CLI_CONFIG, { "neighbour", "add" },
	  "sets a neighbour's MAC address for good", NULL,
	  "neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 interface lan", 0, 0,
	  { { .what = "ADDRESS", .help = "the neighbour's address", .type = CLI_ADDR,
	      .required = true },
	    { .key = "lladdr", .what = "MAC", .help = "its MAC address", .type = CLI_MAC,
	      .required = true },
	    ON_IFACE(true, "where it is") },
	  CLI_VIEW_NONE, NULL },
	{ CLI_NEIGHBOUR_DEL, 0, CLI_CONFIG, { "neighbour", "del" },
	  "forgets a neighbour", NULL, "neighbour del 10.0.0.9 interface lan", 0, 0,
	  { { .what = "ADDRESS", .help = "the neighbour's address", .type = CLI_ADDR,
	      .required = true, .source = CLI_NEIGHBOURS },
	    ON_IFACE(true, "where it is") },
	  CLI_VIEW_NONE, NULL },
	{ CLI_NEIGHBOUR_FLUSH, 0, 0, { "neighbour", "flush" },
	  "forgets what ARP has learned", NULL, "neighbour flush interface lan", 0, 0,
	  { ON_IFACE(true, "on this interface") },
	  CLI_VIEW_NONE, NULL },
	{ CLI_NEIGHBOUR_SHOW, 0, 0, { "neighbour", "show" },
	  "neighbours, set and learned", NULL, "neighbour", 0, 0,
	  { ON_IFACE(false, "only on this interface") },
	  CLI_VIEW_LIST, LIST(neighbour_columns) },

	{ CLI_ROUTE_ADD, 0, CLI_CONFIG, { "route", "add" },
	  "adds a route", "Several gateways share the traffic, flow by flow (ECMP).",
	  "route add 0.0.0.0/0 via 203.0.113.254", 0, 0,
	  { { .what = "PREFIX", .help = "destinations", .type = CLI_PREFIX, .required = true },
	    { .key = "via", .what = "GATEWAY[,GATEWAY...]",
	      .help = "gateways in connected prefixes, up to 16", .type = CLI_ADDRS,
	      .required = true, .max = 16, .source = CLI_NEIGHBOURS },
	    ON_IFACE(false, "where the gateways are, when their addresses do not tell") },
	  CLI_VIEW_NONE, NULL },
	{ CLI_ROUTE_DEL, 0, CLI_CONFIG, { "route", "del" },
	  "removes a route", NULL, "route del 0.0.0.0/0", 0, 0,
	  { { .what = "PREFIX", .help = "destinations", .type = CLI_PREFIX, .required = true,
	      .source = CLI_ROUTES } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_ROUTE_SHOW, 0, 0, { "route", "show" },
	  "routes", "With a prefix: it and the longer ones inside it.", "route 10.0.0.0/8", 0, 0,
	  { { .what = "PREFIX", .help = "only inside this one", .type = CLI_PREFIX,
	      .source = CLI_ROUTES } },
	  CLI_VIEW_LIST, LIST(route_columns) },
	{ CLI_ROUTE_LOOKUP, 0, 0, { "route", "lookup" },
	  "the route that a packet to an address takes", NULL, "route lookup 198.51.100.7", 0, 0,
	  { { .what = "ADDRESS", .help = "destination", .type = CLI_ADDR, .required = true } },
	  CLI_VIEW_OBJECT, LIST(NULL) },
	{ CLI_ROUTE_SET, 0, CLI_CONFIG, { "route", "set" },
	  "sizes the route table",
	  "It takes effect at start: put it into the configuration file that the daemon starts with.",
	  "route set max-routes 1048576", 1, 0,
	  { { .key = "max-routes", .what = "N", .help = "static routes that fit",
	      .type = CLI_NUMBER, .min = 1024, .max = 16777216, .unit = "routes",
	      .grouped = true } },
	  CLI_VIEW_NONE, NULL },

	{ CLI_POOL_ADD, 0, CLI_CONFIG, { "nat", "pool", "add" },
	  "adds a pool of external addresses for snat rules", NULL,
	  "nat pool add office addresses 203.0.113.10-203.0.113.20", 0, 0,
	  { { .what = "NAME", .help = "name of the pool", .type = CLI_NAME, .required = true,
	      .max = NAME_MAX_ },
	    { .key = "addresses", .what = "FIRST[-LAST][,...]",
	      .help = "external addresses, up to 64 ranges", .type = CLI_RANGES, .required = true,
	      .max = CLI_MAX_RANGES },
	    { .key = "ports", .what = "FIRST-LAST", .help = "external ports, 1-65535 by default",
	      .type = CLI_PORTS } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_POOL_DEL, 0, CLI_CONFIG, { "nat", "pool", "del" },
	  "removes a pool", "Refused while a rule uses it.", "nat pool del office", 0, 0,
	  { { .what = "NAME", .help = "a pool", .type = CLI_NAME, .required = true,
	      .max = NAME_MAX_, .source = CLI_POOLS } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_POOL_SHOW, 0, 0, { "nat", "pool", "show" },
	  "pools", NULL, "nat pool", 0, 0,
	  { { .what = "NAME", .help = "only this one", .type = CLI_NAME, .max = NAME_MAX_,
	      .source = CLI_POOLS } },
	  CLI_VIEW_LIST, LIST(pool_columns) },

	{ CLI_RULE_ADD, CLI_RULE_SNAT, CLI_CONFIG, { "nat", "rule", "add", "snat" },
	  "gives packets that leave a source address from a pool", NULL,
	  "nat rule add snat lan-out interface wan source 10.0.0.0/24 pool office", 0, 0,
	  { NEW_RULE, ON_IFACE(false, "by which they leave"), RULE_SOURCE, RULE_DESTINATION,
	    RULE_PROTOCOL,
	    { .key = "pool", .what = "NAME", .help = "where their addresses come from",
	      .type = CLI_NAME, .required = true, .max = NAME_MAX_, .source = CLI_POOLS } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_RULE_ADD, CLI_RULE_MASQUERADE, CLI_CONFIG, { "nat", "rule", "add", "masquerade" },
	  "gives packets that leave the interface's own address", NULL,
	  "nat rule add masquerade home interface wan source 192.168.0.0/16", 0, 0,
	  { NEW_RULE, ON_IFACE(true, "by which they leave"), RULE_SOURCE, RULE_DESTINATION,
	    RULE_PROTOCOL },
	  CLI_VIEW_NONE, NULL },
	{ CLI_RULE_ADD, CLI_RULE_DNAT, CLI_CONFIG, { "nat", "rule", "add", "dnat" },
	  "forwards an external address, or ports of it, to an inside host", NULL,
	  "nat rule add dnat web interface wan protocol tcp destination 203.0.113.10:8080 to 10.0.0.80:80",
	  0, 0,
	  { NEW_RULE, ON_IFACE(false, "by which packets arrive"),
	    { .key = "protocol", .what = "PROTOCOL", .help = "only this IP protocol",
	      .type = CLI_PROTO },
	    { .key = "destination", .what = "ADDRESS[:PORT[-PORT]]",
	      .help = "external address, and ports", .type = CLI_TARGET, .required = true },
	    { .key = "to", .what = "ADDRESS[:PORT]",
	      .help = "inside address, and the first port there", .type = CLI_TARGET,
	      .required = true } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_RULE_ADD, CLI_RULE_STATIC, CLI_CONFIG, { "nat", "rule", "add", "static" },
	  "maps inside addresses to external ones one to one, in both directions", NULL,
	  "nat rule add static mail external 203.0.113.25 internal 10.0.0.25", 0, 0,
	  { NEW_RULE, ON_IFACE(false, "where the outside is"),
	    { .key = "external", .what = "PREFIX", .help = "external address or prefix",
	      .type = CLI_PREFIX, .required = true },
	    { .key = "internal", .what = "PREFIX", .help = "inside address or prefix of that length",
	      .type = CLI_PREFIX, .required = true } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_RULE_ADD, CLI_RULE_EXEMPT, CLI_CONFIG, { "nat", "rule", "add", "exempt" },
	  "leaves packets untranslated", NULL,
	  "nat rule add exempt vpn source 10.0.0.0/24 destination 10.8.0.0/16", 1, 0,
	  { NEW_RULE,
	    { .key = "interface", .what = "NAME", .help = "where the outside is",
	      .type = CLI_NAME, .max = IFACE_MAX, .source = CLI_IFACES, .grouped = true },
	    { .key = "source", .what = "PREFIX", .help = "from these addresses",
	      .type = CLI_PREFIX, .grouped = true },
	    { .key = "destination", .what = "PREFIX[:PORT[-PORT]]",
	      .help = "to these addresses, and ports",
	      .type = CLI_MATCH, .grouped = true },
	    { .key = "protocol", .what = "PROTOCOL", .help = "only this IP protocol",
	      .type = CLI_PROTO, .grouped = true } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_RULE_DEL, 0, CLI_CONFIG, { "nat", "rule", "del" },
	  "removes a rule; its sessions end", NULL, "nat rule del web", 0, 0,
	  { { .what = "NAME", .help = "a rule", .type = CLI_NAME, .required = true,
	      .max = NAME_MAX_, .source = CLI_RULES } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_RULE_SHOW, 0, 0, { "nat", "rule", "show" },
	  "rules, in the order in which they are tried", NULL, "nat rule", 0, 0,
	  { { .what = "NAME", .help = "only this one", .type = CLI_NAME, .max = NAME_MAX_,
	      .source = CLI_RULES } },
	  CLI_VIEW_LIST, LIST(rule_columns) },

	{ CLI_NAT_SET, 0, CLI_CONFIG, { "nat", "set" },
	  "changes how translation behaves (RFC 4787)",
	  "max-sessions takes effect at start: put it into the configuration file that the daemon "
	  "starts with.",
	  "nat set filtering endpoint-independent", 1, 0,
	  { { .key = "mapping", .what = "BEHAVIOUR", .help = "when an external port is used again",
	      .type = CLI_WORD, .choices = behaviours, .grouped = true },
	    { .key = "filtering", .what = "BEHAVIOUR", .help = "who may send to a mapping",
	      .type = CLI_WORD, .choices = behaviours, .grouped = true },
	    SWITCH("port-preservation", "the port from inside is kept where it is free"),
	    SWITCH("hairpin", "inside hosts reach each other by external addresses"),
	    SWITCH("inbound-refresh", "packets from outside keep a mapping alive too"),
	    SWITCH("tcp-loose", "any TCP segment may open a session"),
	    SWITCH("refuse-icmp", "refusals are announced by ICMP"),
	    { .key = "max-sessions", .what = "N", .help = "sessions that fit", .type = CLI_NUMBER,
	      .min = 1024, .max = 64000000, .unit = "sessions", .grouped = true } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_NAT_SHOW, 0, 0, { "nat", "show" },
	  "settings of translation, and how full its tables are", NULL, "nat", 0, 0,
	  { { 0 } },
	  CLI_VIEW_OBJECT, SECTIONS({ "Settings", "settings", NULL }, { "Use", "use", NULL }) },
	{ CLI_TIMEOUT_SET, 0, CLI_CONFIG, { "nat", "timeout", "set" },
	  "changes idle timeouts", NULL, "nat timeout set udp 300", 1, 0,
	  { TIMEOUT("udp", udp, "UDP mapping after the last packet from inside"),
	    TIMEOUT("tcp-established", tcp_established, "TCP session with both sides open"),
	    TIMEOUT("tcp-transitory", tcp_transitory, "TCP session opening or closing"),
	    TIMEOUT("icmp", icmp, "ICMP query"),
	    TIMEOUT("other", other, "protocols without ports"),
	    TIMEOUT("port-hold", port_hold, "external port kept after its last session") },
	  CLI_VIEW_NONE, NULL },
	{ CLI_TIMEOUT_SHOW, 0, 0, { "nat", "timeout", "show" },
	  "idle timeouts", NULL, "nat timeout", 0, 0,
	  { { 0 } },
	  CLI_VIEW_LIST, LIST(timeout_columns) },
	{ CLI_SESSION_SHOW, 0, 0, { "nat", "session", "show" },
	  "sessions", NULL, "nat session source 10.0.0.5 protocol tcp limit 20", 0, 0,
	  { SESSION_FILTERS,
	    { .key = "limit", .what = "N", .help = "no more than this many", .type = CLI_NUMBER,
	      .min = 1, .max = UINT32_MAX } },
	  CLI_VIEW_LIST, LIST(session_columns) },
	{ CLI_SESSION_CLEAR, 0, 0, { "nat", "session", "clear" },
	  "ends sessions and frees their external ports at once",
	  "Only those that every filter given fits.",
	  "nat session clear source 10.0.0.5", 1, 0,
	  { SESSION_FILTERS,
	    { .key = "all", .what = "", .help = "every session", .type = CLI_FLAG,
	      .grouped = true, .alone = true } },
	  CLI_VIEW_NONE, NULL },

	{ CLI_STATS_SHOW, 0, 0, { "stats", "show" },
	  "counters of traffic, drops by reason, and events", NULL, "stats drops", 0, 1,
	  { { .key = "interface", .what = "NAME", .help = "only what came in or went out there",
	      .type = CLI_NAME, .max = IFACE_MAX, .source = CLI_IFACES, .grouped = true },
	    { .key = "worker", .what = "N", .help = "only what this worker did",
	      .type = CLI_NUMBER, .max = 63, .grouped = true },
	    { .key = "drops", .what = "", .help = "only drops", .type = CLI_FLAG,
	      .grouped = true } },
	  CLI_VIEW_OBJECT,
	  SECTIONS({ "Traffic", "interfaces", traffic_columns }, { "Drops", "drops", drop_columns },
		   { "Events", "events", event_columns }) },
	{ CLI_STATS_RESET, 0, 0, { "stats", "reset" },
	  "counts from zero again", NULL, "stats reset", 0, 0, { { 0 } }, CLI_VIEW_NONE, NULL },

	{ CLI_CONFIG_SHOW, 0, 0, { "config", "show" },
	  "the running configuration, as commands", NULL, "config", 0, 0,
	  { { 0 } },
	  CLI_VIEW_LINES, NULL },
	{ CLI_CONFIG_CHECK, 0, 0, { "config", "check" },
	  "checks a configuration file and changes nothing", NULL, "config check home.conf", 0, 0,
	  { { .what = "FILE", .help = "a file of commands", .type = CLI_PATH, .required = true,
	      .source = CLI_FILES },
	    { .key = "bytes", .what = "N", .help = "that many bytes of it follow the line",
	      .type = CLI_NUMBER, .max = 1u << 28, .hidden = true } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_CONFIG_LOAD, 0, 0, { "config", "load" },
	  "makes the running configuration that of a file",
	  "The whole file is checked first; with an error in it nothing changes. What is the same in both "
	  "carries on undisturbed, sessions of rules that stay included.",
	  "config load home.conf", 0, 0,
	  { { .what = "FILE", .help = "a file of commands", .type = CLI_PATH, .required = true,
	      .source = CLI_FILES },
	    { .key = "bytes", .what = "N", .help = "that many bytes of it follow the line",
	      .type = CLI_NUMBER, .max = 1u << 28, .hidden = true } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_CONFIG_SAVE, 0, 0, { "config", "save" },
	  "writes the running configuration to a file",
	  "Without FILE: to the one that the daemon was started with.", "config save", 0, 0,
	  { { .what = "FILE", .help = "written by the daemon, all at once", .type = CLI_PATH,
	      .source = CLI_FILES } },
	  CLI_VIEW_NONE, NULL },

	{ CLI_VERSION, 0, 0, { "version" },
	  "versions of the router and of DPDK", NULL, "version", 0, 0,
	  { { 0 } },
	  CLI_VIEW_OBJECT, LIST(NULL) },
	{ CLI_WORKER_SHOW, 0, 0, { "worker", "show" },
	  "workers and how busy they are", NULL, "worker", 0, 0,
	  { { 0 } },
	  CLI_VIEW_LIST, LIST(worker_columns) },
	{ CLI_WORKER_SET, 0, CLI_CONFIG, { "worker", "set" },
	  "sizes what workers share",
	  "It takes effect at start: put it into the configuration file that the daemon starts with.",
	  "worker set packet-buffers 65536", 1, 0,
	  { { .key = "packet-buffers", .what = "N", .help = "packet buffers of 2 KiB for all ports",
	      .type = CLI_NUMBER, .min = 4096, .max = 16777216, .unit = "buffers", .grouped = true } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_LOG_SET, 0, CLI_CONFIG, { "log", "set" },
	  "chooses what is logged", NULL, "log set level debug", 0, 0,
	  { { .key = "level", .what = "LEVEL", .help = "from here on up", .type = CLI_WORD,
	      .choices = levels, .required = true } },
	  CLI_VIEW_NONE, NULL },
	{ CLI_HELP, 0, 0, { "help" },
	  "explains commands", NULL, "help nat rule", 0, 0,
	  { { .what = "COMMAND...", .help = "first words of a command", .type = CLI_REST,
	      .source = CLI_COMMANDS } },
	  CLI_VIEW_LINES, NULL },
	{ CLI_EXIT, 0, CLI_LOCAL, { "exit" }, "leaves tpctl", NULL, "exit", 0, 0, { { 0 } },
	  CLI_VIEW_NONE, NULL },
};

const unsigned cli_n_commands = sizeof(cli_commands) / sizeof(cli_commands[0]);

const char *cli_alias(const char *word)
{
	if (strcmp(word, "neighbor") == 0)
		return "neighbour";
	if (strcmp(word, "quit") == 0)
		return "exit";
	return word;
}
