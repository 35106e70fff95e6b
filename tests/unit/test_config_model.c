/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration model of the daemon without a router: commands and their refusals, save and
 * load, and the way from one configuration to another, with every step of it failing once. The
 * running router is a shadow under a journal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/parse.h"

#include "configure.h"
#include "load.h"
#include "save.h"
#include "cli/text.h"
#include "transition.h"

/* ---- a router whose changes can be made to fail ---------------------------------------------- */

static struct net below;
static int fuse = -1; /* changes that still succeed; -1: all */

static bool burnt(struct fwd_err *err)
{
	if (fuse != 0) {
		fuse -= fuse > 0;
		return false;
	}
	fuse = -1; /* once */
	if (err != NULL)
		snprintf(err->msg, sizeof(err->msg), "fuse");
	return true;
}

#define BELOW(op, ...) below.ops->op(below.ctx, __VA_ARGS__)

static int f_iface_add(void *ctx, const struct fwd_iface_conf *conf, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_add, conf, err);
}

static int f_iface_set_mtu(void *ctx, const char *name, uint16_t mtu, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_set_mtu, name, mtu, err);
}

static int f_iface_del(void *ctx, const char *name, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_del, name, err);
}

static int f_iface_pass(void *ctx, const char *name, struct fwd_pass pass, bool add,
			struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_pass, name, pass, add, err);
}

static int f_iface_set_gro(void *ctx, const char *name, struct fwd_gro gro, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(iface_set_gro, name, gro, err);
}

static int f_address_add(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(address_add, a, err);
}

static int f_address_del(void *ctx, const struct fwd_address *a, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(address_del, a, err);
}

static int f_neigh_add(void *ctx, const struct net_neigh *n, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(neigh_add, n, err);
}

static int f_neigh_del(void *ctx, uint16_t iface, uint32_t addr_be, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(neigh_del, iface, addr_be, err);
}

#define ADDED_MAX 16

static struct fwd_prefix added[ADDED_MAX]; /* in the order in which routes were added */
static unsigned n_added;
static uint32_t expected[2]; /* routes and networks, by the last route_expect() */

static int f_route_add(void *ctx, const struct fwd_route *r, struct fwd_err *err)
{
	(void)ctx;
	if (n_added < ADDED_MAX)
		added[n_added++] = r->prefix;
	return burnt(err) ? -5 : BELOW(route_add, r, err);
}

static void f_route_expect(void *ctx, uint32_t routes, uint32_t nets)
{
	(void)ctx;
	expected[0] = routes;
	expected[1] = nets;
}

static int f_route_del(void *ctx, struct fwd_prefix prefix, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : BELOW(route_del, prefix, err);
}

static int f_commit(void *ctx, struct fwd_err *err)
{
	(void)ctx;
	return burnt(err) ? -5 : 0;
}

static struct net_ops failing;

static struct nat_config *published;
static unsigned n_published;

static void publish(struct nat_config *cfg)
{
	if (published != NULL)
		nat_config_free(published);
	published = cfg;
	n_published++;
}

static struct shadow *under;
static struct router live;

static void start(void)
{
	under = shadow_create();
	assert_non_null(under);
	below = shadow_net(under);
	failing = *below.ops;
	failing.iface_add = f_iface_add;
	failing.iface_set_mtu = f_iface_set_mtu;
	failing.iface_del = f_iface_del;
	failing.iface_pass = f_iface_pass;
	failing.iface_set_gro = f_iface_set_gro;
	failing.address_add = f_address_add;
	failing.address_del = f_address_del;
	failing.neigh_add = f_neigh_add;
	failing.neigh_del = f_neigh_del;
	failing.route_add = f_route_add;
	failing.route_del = f_route_del;
	failing.route_expect = f_route_expect;
	failing.commit = f_commit;
	fuse = -1;
	assert_int_equal(router_init_running(&live, (struct net){&failing, below.ctx}, publish), 0);
}

static void stop(void)
{
	router_free(&live);
	shadow_destroy(under);
	publish(NULL);
}

/* ---- commands -------------------------------------------------------------------------------- */

static struct cli_error err;

static bool run_on(struct router *r, const char *text)
{
	static struct cli_words words;
	static struct cli_cmd cmd;
	char line[1024];

	snprintf(line, sizeof(line), "%s", text);
	memset(&err, 0, sizeof(err));
	if (cli_parse(&words, line, strlen(line), 0, &cmd, &err) != 1)
		return false;
	return configure_run(r, &cmd, &err);
}

static void commit(void)
{
	struct fwd_err e;

	assert_int_equal(router_commit(&live, &e), 0);
}

static char *text_of(const struct router *r)
{
	struct buf b = {0};

	buf_puts(&b, "");
	save_text(&b, r);
	assert_false(b.failed);
	return b.s;
}

static void does(const char *text)
{
	if (!run_on(&live, text))
		fail_msg("'%s': %s; %s", text, err.message, err.hint);
	commit();
}

/* Refused, with these pieces in message and hint, and nothing has changed. */
static void refuses(const char *text, const char *message, const char *hint)
{
	char *before = text_of(&live), *after;

	if (run_on(&live, text))
		fail_msg("'%s' was done", text);
	if (strstr(err.message, message) == NULL || strstr(err.hint, hint) == NULL)
		fail_msg("'%s': '%s'; '%s'", text, err.message, err.hint);
	commit();
	after = text_of(&live);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void is(const char *text)
{
	char *now = text_of(&live);

	assert_string_equal(now, text);
	free(now);
}

static void two_ports(void)
{
	does("interface add lan devargs net_null0");
	does("interface add wan devargs net_null1,no-rx=1 mtu 1400");
	does("address add 10.0.0.1/24 interface lan");
	does("address add 203.0.113.1/24 interface wan");
}

static void test_commands_are_saved_in_an_order_that_loads(void **state)
{
	(void)state;
	start();
	two_ports();
	does("interface add dmz devargs net_null2 rxqs 4 rss source");
	does("interface add any devargs net_null3 rxqs 2 rss flow");
	does("interface add out devargs net_null4 rxqs 4 rss destination-port");
	does("interface add v20 vlan 20 parent lan");
	does("interface set lan pass protocol udp port 53");
	does("interface set lan pass protocol tcp port 22");
	does("interface set lan gro on");
	does("interface set lan gro-validate always");
	does("interface set lan gro-timeout 30");
	does("interface set lan gro-udp on");
	does("address add 10.0.20.1/24 interface v20");
	does("neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 interface lan");
	does("route add 10.9.0.0/16 via 10.0.0.9");
	does("route add 0.0.0.0/0 via 203.0.113.254,203.0.113.253");
	does("nat set filtering endpoint-independent hairpin off port-preservation off");
	does("nat timeout set udp 120 tcp-established 9000");
	does("nat pool add office addresses 203.0.113.10-203.0.113.20,203.0.113.30 ports "
	     "1024-65535");
	does("nat rule add snat out interface wan source 10.0.0.0/24 pool office");
	does("nat rule add masquerade home interface wan source 10.0.20.0/24");
	does("nat rule add dnat web interface wan protocol tcp destination 203.0.113.40:8080-8089 "
	     "to 10.0.0.80:80");
	does("nat rule add static mail external 203.0.113.25 internal 10.0.0.25");
	does("nat rule add exempt vpn source 10.0.0.0/24 destination 10.8.0.0/16");
	does("log set level debug");
	is("log set level debug\n"
	   "interface add any devargs net_null3 rxqs 2\n"
	   "interface add dmz devargs net_null2 rxqs 4 rss source\n"
	   "interface add lan devargs net_null0 gro on\n"
	   "interface add out devargs net_null4 rxqs 4 rss destination-port\n"
	   "interface add wan devargs net_null1,no-rx=1 mtu 1400\n"
	   "interface add v20 vlan 20 parent lan\n"
	   "interface set lan pass protocol tcp port 22\n"
	   "interface set lan pass protocol udp port 53\n"
	   "interface set lan gro-validate always\n"
	   "interface set lan gro-timeout 30\n"
	   "interface set lan gro-udp on\n"
	   "address add 10.0.0.1/24 interface lan\n"
	   "address add 203.0.113.1/24 interface wan\n"
	   "address add 10.0.20.1/24 interface v20\n"
	   "neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 interface lan\n"
	   "route add 0.0.0.0/0 via 203.0.113.254,203.0.113.253\n"
	   "route add 10.9.0.0/16 via 10.0.0.9\n"
	   "nat set filtering endpoint-independent\n"
	   "nat set port-preservation off\n"
	   "nat set hairpin off\n"
	   "nat timeout set udp 120\n"
	   "nat timeout set tcp-established 9000\n"
	   "nat pool add office addresses 203.0.113.10-203.0.113.20,203.0.113.30 ports 1024-65535\n"
	   "nat rule add exempt vpn source 10.0.0.0/24 destination 10.8.0.0/16\n"
	   "nat rule add static mail external 203.0.113.25 internal 10.0.0.25\n"
	   "nat rule add dnat web interface wan protocol tcp destination 203.0.113.40:8080-8089 to "
	   "10.0.0.80:80\n"
	   "nat rule add snat out interface wan source 10.0.0.0/24 pool office\n"
	   "nat rule add masquerade home interface wan source 10.0.20.0/24\n");
	stop();
}

static void test_adding_the_same_again_is_done_and_changes_nothing(void **state)
{
	static const char *const lines[] = {
		"interface add lan devargs net_null0",
		"address add 10.0.0.1/24 interface lan",
		"interface set lan pass protocol tcp port 22",
		"route add 0.0.0.0/0 via 203.0.113.254",
		"neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 interface lan",
		"nat pool add p addresses 203.0.113.10",
		"nat rule add snat out source 10.0.0.0/24 pool p",
		"nat set max-sessions 1000000",
		"route set max-routes 1048576",
	};

	(void)state;
	start();
	two_ports();
	for (unsigned n = 0; n < 2; n++) {
		char *before = text_of(&live);

		for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
			does(lines[i]);
		if (n == 1)
			is(before);
		free(before);
	}
	stop();
}

static void test_adding_with_other_values_is_refused_and_says_what_is_there(void **state)
{
	(void)state;
	start();
	two_ports();
	does("route add 0.0.0.0/0 via 203.0.113.254");
	does("neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 interface lan");
	does("nat pool add p addresses 203.0.113.10");
	does("nat rule add snat out source 10.0.0.0/24 pool p");
	does("interface add dmz devargs net_null2 rxqs 2");
	does("interface add dmz devargs net_null2 rxqs 2 rss flow");
	refuses("interface add dmz devargs net_null2 rxqs 2 rss source", "exists",
		"interface add dmz devargs net_null2 rxqs 2");
	refuses("interface add lan devargs net_null7", "exists",
		"interface add lan devargs net_null0");
	refuses("interface add lan2 devargs net_null0", "is interface 'lan' already", "");
	refuses("address add 10.0.0.1/25 interface lan", "already", "");
	refuses("address add 10.0.0.7/24 interface wan", "connected to 'lan'", "");
	refuses("route add 0.0.0.0/0 via 203.0.113.253", "exists",
		"route add 0.0.0.0/0 via 203.0.113.254");
	refuses("neighbour add 10.0.0.9 lladdr 02:00:00:00:00:0a interface lan", "another MAC", "");
	refuses("nat pool add p addresses 203.0.113.11", "exists",
		"nat pool add p addresses 203.0.113.10");
	refuses("nat rule add snat out source 10.0.1.0/24 pool p", "exists",
		"nat rule add snat out source 10.0.0.0/24 pool p");
	refuses("nat set max-sessions 2000", "is 1000000 and takes effect at start",
		"configuration file");
	stop();
}

static void test_unknown_names_are_refused_with_the_nearest(void **state)
{
	(void)state;
	start();
	two_ports();
	does("nat pool add office addresses 203.0.113.10");
	does("nat rule add snat out source 10.0.0.0/24 pool office");
	refuses("address add 10.1.0.1/24 interface lna", "no interface 'lna'",
		"did you mean 'lan'?");
	refuses("interface del zzzzzz", "no interface 'zzzzzz'", "there are lan, wan");
	refuses("nat rule del uot", "no rule 'uot'", "did you mean 'out'?");
	refuses("nat rule add snat x pool offcie", "no pool 'offcie'", "did you mean 'office'?");
	refuses("nat pool del p", "no pool 'p'", "there is office");
	refuses("route del 10.0.0.0/8", "no route 10.0.0.0/8", "");
	refuses("address del 10.0.0.2/24 interface lan", "no address", "");
	refuses("neighbour del 10.0.0.2 interface lan", "no neighbour", "");
	refuses("interface set lan no-pass protocol tcp port 22", "is not passed", "");
	refuses("interface add v vlan 3 parent lna", "no interface 'lna'", "lan");
	stop();
}

static void test_what_is_in_use_stays(void **state)
{
	(void)state;
	start();
	two_ports();
	does("interface add v20 vlan 20 parent lan");
	does("route add 0.0.0.0/0 via 203.0.113.254");
	does("nat pool add p addresses 203.0.113.10");
	does("nat rule add snat out interface wan pool p");
	refuses("interface del wan", "NAT rule 'out' names interface 'wan'", "nat rule del out");
	refuses("nat pool del p", "NAT rule 'out' uses pool 'p'", "nat rule del out");
	refuses("interface del lan", "VLAN interface 'v20' lies on 'lan'", "interface del v20");
	refuses("address del 203.0.113.1/24 interface wan", "gateway of route 0.0.0.0/0", "");
	does("nat rule del out");
	refuses("interface del wan", "route 0.0.0.0/0", "");
	does("route del 0.0.0.0/0");
	does("interface del wan");
	does("nat pool del p");
	stop();
}

static void test_values_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	start();
	two_ports();
	refuses("address add 127.0.0.1/8 interface lan", "can't be a router's address", "");
	refuses("address add 10.3.0.0/24 interface lan", "network address", "");
	refuses("address add 10.3.0.255/24 interface lan", "broadcast address", "");
	refuses("route add 10.5.0.0/16 via 192.0.2.1", "in no connected prefix", "");
	refuses("route add 10.5.0.0/16 via 10.0.0.1", "router itself", "");
	refuses("route add 10.5.0.0/16 via 10.0.0.2,10.0.0.2", "twice", "");
	refuses("route add 10.0.0.0/24 via 10.0.0.2", "connected", "");
	refuses("nat rule add dnat w destination 203.0.113.9:80 to 10.0.0.80",
		"ports need a protocol", "protocol tcp");
	refuses("nat rule add dnat w protocol gre destination 203.0.113.9:80 to 10.0.0.80",
		"ports need", "");
	refuses("nat rule add dnat w protocol tcp destination 203.0.113.9 to 10.0.0.80:80",
		"needs one in the destination", "");
	refuses("nat rule add dnat w protocol tcp destination 203.0.113.9:80-81 to 10.0.0.80:80-83",
		"as many ports", "");
	refuses("nat rule add dnat w protocol tcp destination 203.0.113.9:80-90 to 10.0.0.80:65530",
		"beyond 65535", "11");
	refuses("nat rule add static s external 203.0.113.0/30 internal 10.0.0.0/29",
		"/29 is not external's /30", "same length");
	refuses("interface add q vlan 3 parent lan rxqs 2", "'rxqs' goes only with", "");
	refuses("interface add q devargs net_null2 rxqs 1 rss source", "2 receive queues or more",
		"");
	stop();
}

static void test_rules_that_contradict_each_other_are_refused_whole(void **state)
{
	(void)state;
	start();
	two_ports();
	does("nat rule add dnat a interface wan protocol tcp destination 203.0.113.9:80-90 to "
	     "10.0.0.80:80");
	refuses("nat rule add dnat b interface wan protocol tcp destination 203.0.113.9:85 to "
		"10.0.0.81",
		"b", "");
	does("nat rule add dnat c interface wan protocol udp destination 203.0.113.9:85 to "
	     "10.0.0.81");
	stop();
}

static void test_translation_is_published_once_a_commit(void **state)
{
	unsigned before;

	(void)state;
	start();
	two_ports();
	before = n_published;
	assert_true(run_on(&live, "nat rule add masquerade a interface wan source 10.0.0.0/25"));
	assert_true(run_on(&live, "nat rule add masquerade b interface wan source 10.0.0.128/25"));
	assert_true(run_on(&live, "address add 203.0.113.2/24 interface wan"));
	assert_true(run_on(&live, "interface set wan pass protocol tcp port 22"));
	assert_int_equal(n_published, before);
	commit();
	assert_int_equal(n_published, before + 1);
	commit();
	assert_int_equal(n_published, before + 1);
	stop();
}

static void test_failed_commit_takes_the_batch_back(void **state)
{
	struct fwd_err e;
	char *before;

	(void)state;
	start();
	two_ports();
	does("nat rule add masquerade a interface wan source 10.0.0.0/25");
	before = text_of(&live);
	assert_true(run_on(&live, "route add 0.0.0.0/0 via 203.0.113.254"));
	assert_true(run_on(&live, "nat rule del a"));
	assert_true(run_on(&live, "nat set hairpin off"));
	assert_true(run_on(&live, "interface add third devargs net_null3"));
	assert_true(run_on(&live, "address add 10.3.0.1/24 interface third"));
	assert_true(run_on(&live, "interface set wan mtu 1300"));
	assert_true(run_on(&live, "interface set wan gro on"));
	assert_true(run_on(&live, "interface set wan gro-validate counted"));
	assert_true(run_on(&live, "log set level debug"));
	fuse = 0;
	assert_int_equal(router_commit(&live, &e), -5);
	assert_string_equal(e.msg, "fuse");
	is(before);
	free(before);
	stop();
}

static void test_interface_deletion_is_taken_back_with_all_that_went_with_it(void **state)
{
	struct fwd_err e;
	char *before;

	(void)state;
	start();
	two_ports();
	does("address add 10.0.5.1/24 interface lan");
	does("address add 10.0.3.1/24 interface lan");
	does("interface set lan pass protocol tcp port 22");
	does("neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 interface lan");
	before = text_of(&live);
	assert_true(run_on(&live, "interface del lan"));
	fuse = 0;
	assert_int_equal(router_commit(&live, &e), -5);
	is(before);
	free(before);
	stop();
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct load *load_text(const char *text)
{
	struct load *l = load_start("test.conf");

	assert_non_null(l);
	load_feed(l, text, strlen(text));
	return l;
}

static void has_error(const struct load *l, unsigned i, unsigned line, unsigned column,
		      const char *message)
{
	assert_true(i < l->n_errors);
	if (l->errors[i].line != line || l->errors[i].e.column != column ||
	    strstr(l->errors[i].e.message, message) == NULL)
		fail_msg("error %u: %u:%u: %s", i, l->errors[i].line, l->errors[i].e.column,
			 l->errors[i].e.message);
}

static void test_load_lists_all_errors_with_their_places(void **state)
{
	struct load *l = load_text("# comment\n"
				   "interface add lan devargs net_null0\n"
				   "interfac add wan devargs net_null1\n"
				   "\n"
				   "address add 10.0.0.1/24 interface lna\n"
				   "  route add 0.0.0.0/0 vai 10.0.0.2\n"
				   "interface show\n"
				   "int add x devargs net_null2\n"
				   "address add 10.0.0.1/24 interface lan mtu 5");

	(void)state;
	assert_false(load_finish(l));
	assert_int_equal(l->n_errors, 6);
	has_error(l, 0, 3, 1, "unknown word 'interfac'");
	has_error(l, 1, 5, 35, "no interface 'lna'");
	has_error(l, 2, 6, 23, "'vai' is not expected");
	has_error(l, 3, 7, 1, "configures nothing");
	has_error(l, 4, 8, 1, "unknown word 'int'");
	has_error(l, 5, 9, 39, "'mtu' is not expected");
	load_free(l);
}

static void test_load_counts_errors_beyond_those_it_lists(void **state)
{
	struct load *l = load_start("x");

	(void)state;
	for (unsigned i = 0; i < 50; i++)
		load_feed(l, "bogus\n", 6);
	assert_false(load_finish(l));
	assert_int_equal(l->n_errors, 50);
	has_error(l, LOAD_MAX_ERRORS - 1, LOAD_MAX_ERRORS, 1, "bogus");
	load_free(l);
}

static void test_load_takes_any_pieces_of_lines(void **state)
{
	static const char text[] =
		"interface add lan devargs net_null0\r\naddress add 10.0.0.1/24 interface lan\n"
		"route add 0.0.0.0/0 via 10.0.0.254";
	char *whole = NULL;

	(void)state;
	for (size_t step = 1; step < sizeof(text); step += 3) {
		struct load *l = load_start("x");
		char *now;

		for (size_t at = 0; at < sizeof(text) - 1; at += step)
			load_feed(l, text + at,
				  at + step < sizeof(text) - 1 ? step : sizeof(text) - 1 - at);
		assert_true(load_finish(l));
		now = text_of(&l->router);
		if (whole != NULL)
			assert_string_equal(whole, now);
		free(whole);
		whole = now;
		load_free(l);
	}
	free(whole);
}

static void test_load_refuses_an_endless_line_and_goes_on(void **state)
{
	struct load *l = load_start("x");

	(void)state;
	for (unsigned i = 0; i < 3 * CLI_MAX_LINE / 16; i++)
		load_feed(l, "interface        ", 16);
	load_feed(l, "\nbogus\n", 7);
	assert_false(load_finish(l));
	assert_int_equal(l->n_errors, 2);
	has_error(l, 0, 1, CLI_MAX_LINE, "longer");
	has_error(l, 1, 2, 1, "bogus");
	load_free(l);
}

static void test_load_names_the_line_of_a_rule_that_contradicts(void **state)
{
	struct load *l = load_text(
		"interface add wan devargs net_null0\n"
		"nat rule add dnat a protocol tcp destination 203.0.113.9:80 to 10.0.0.80\n"
		"nat rule add dnat b protocol udp destination 203.0.113.9:80 to 10.0.0.80\n"
		"nat rule add dnat c protocol tcp destination 203.0.113.9:80 to 10.0.0.81\n"
		"nat rule add dnat d protocol tcp destination 203.0.113.9:81 to 10.0.0.81\n");

	(void)state;
	assert_false(load_finish(l));
	assert_int_equal(l->n_errors, 1);
	has_error(l, 0, 4, 0, "c");
	load_free(l);
}

static void test_load_takes_sizes_that_are_settled_at_start(void **state)
{
	struct load *l = load_text("nat set max-sessions 2048\nroute set max-routes 4096\n");
	char *text;

	(void)state;
	assert_true(load_finish(l));
	assert_int_equal(l->router.max_sessions, 2048);
	assert_int_equal(l->router.max_routes, 4096);
	text = text_of(&l->router);
	assert_string_equal(text, "route set max-routes 4096\nnat set max-sessions 2048\n");
	free(text);
	start();
	assert_false(transition(&live, &l->router, &err));
	assert_non_null(strstr(err.message, "takes effect at start"));
	stop();
	load_free(l);
}

static void test_example_configurations_load_and_round_trip(void **state)
{
	static const char *const files[] = {"home-gateway.conf", "server-edge.conf",
					    "carrier-small.conf"};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		char path[512];
		struct fwd_err e;
		struct load *l, *again;
		char *text, *text_again;

		snprintf(path, sizeof(path), "%s/config/%s", SOURCE_ROOT, files[i]);
		l = load_file(path, &e);
		assert_non_null(l);
		if (!load_finish(l))
			fail_msg("%s:%u: %s", files[i], l->errors[0].line, l->errors[0].e.message);
		text = text_of(&l->router);
		again = load_text(text);
		assert_true(load_finish(again));
		text_again = text_of(&again->router);
		assert_string_equal(text, text_again);
		free(text);
		free(text_again);
		load_free(l);
		load_free(again);
	}
}

static void test_save_writes_all_or_nothing(void **state)
{
	struct load *l = load_text("interface add lan devargs \"net_x0,a b\"\n"), *again;
	char path[] = "/tmp/test_config_model.XXXXXX", *text, *text_again;
	struct fwd_err e;

	(void)state;
	assert_true(load_finish(l));
	assert_int_equal(save_file("/nonexistent/dir/x.conf", &l->router), -2);
	close(mkstemp(path));
	assert_int_equal(save_file(path, &l->router), 0);
	again = load_file(path, &e);
	assert_non_null(again);
	assert_true(load_finish(again));
	text = text_of(&l->router);
	text_again = text_of(&again->router);
	assert_string_equal(text, text_again);
	assert_string_equal(text, "interface add lan devargs \"net_x0,a b\"\n");
	free(text);
	free(text_again);
	remove(path);
	load_free(l);
	load_free(again);
}

/* ---- from one configuration to another ------------------------------------------------------- */

static uint32_t id_of(const char *rule)
{
	return natconf_rule(&live.nat, rule)->r.id;
}

static void load_into_live(const char *text)
{
	struct load *l = load_text(text);

	if (!load_finish(l))
		fail_msg("line %u: %s", l->errors[0].line, l->errors[0].e.message);
	if (!transition(&live, &l->router, &err))
		fail_msg("%s; %s", err.message, err.hint);
	load_free(l);
}

#define BASE                                                                                       \
	"interface add lan devargs net_null0\ninterface add wan devargs net_null1\n"               \
	"address add 10.0.0.1/24 interface lan\naddress add 203.0.113.1/24 interface wan\n"

static void test_rules_that_stay_keep_their_ids_over_a_load(void **state)
{
	uint32_t a, b, c;

	(void)state;
	start();
	load_into_live(BASE "nat rule add masquerade a interface wan source 10.0.0.1\n"
			    "nat rule add masquerade b interface wan source 10.0.0.2\n"
			    "nat rule add masquerade c interface wan source 10.0.0.3\n");
	a = id_of("a");
	b = id_of("b");
	c = id_of("c");
	assert_true(a != 0 && a < b && b < c);
	/* b changed, new ones around, an exempt rule of another type before all */
	load_into_live(BASE "nat rule add exempt e source 10.0.0.9\n"
			    "nat rule add masquerade n1 interface wan source 10.0.0.4\n"
			    "nat rule add masquerade a interface wan source 10.0.0.1\n"
			    "nat rule add masquerade b interface wan source 10.0.0.22\n"
			    "nat rule add masquerade n2 interface wan source 10.0.0.5\n"
			    "nat rule add masquerade c interface wan source 10.0.0.3\n"
			    "nat rule add masquerade n3 interface wan source 10.0.0.6\n");
	assert_int_equal(id_of("a"), a);
	assert_int_equal(id_of("c"), c);
	assert_true(id_of("b") != b);
	assert_true(id_of("n1") < a && a < id_of("b") && id_of("b") < id_of("n2") &&
		    id_of("n2") < c && c < id_of("n3"));
	/* the order turned round: at most one of two can keep its id */
	b = id_of("b");
	load_into_live(BASE "nat rule add masquerade c interface wan source 10.0.0.3\n"
			    "nat rule add masquerade a interface wan source 10.0.0.1\n"
			    "nat rule add masquerade b interface wan source 10.0.0.22\n");
	assert_int_equal(id_of("a"), a);
	assert_int_equal(id_of("b"), b);
	assert_true(id_of("c") < a && id_of("c") != 0);
	stop();
}

static void test_ids_are_never_zero_never_twice_and_always_in_order(void **state)
{
	unsigned seed = 5;

	(void)state;
	start();
	for (unsigned round = 0; round < 200; round++) {
		struct buf b = {0};
		unsigned n = 0;
		bool used[24] = {false};

		buf_puts(&b, BASE);
		for (unsigned i = 0; i < 16; i++) {
			unsigned k = (unsigned)rand_r(&seed) % 24;

			if (used[k])
				continue;
			used[k] = true;
			n++;
			buf_printf(
				&b,
				"nat rule add masquerade r%u interface wan source 10.0.%u.0/24\n",
				k, k);
		}
		load_into_live(b.s);
		assert_int_equal(live.nat.n_rules, n);
		for (unsigned i = 0; i < n; i++)
			assert_true(live.nat.rules[i].r.id >
				    (i > 0 ? live.nat.rules[i - 1].r.id : 0));
		assert_true(live.nat.last_rule_id >= live.nat.rules[n - 1].r.id);
		buf_free(&b);
	}
	stop();
}

static void test_first_address_of_an_interface_is_what_the_file_says(void **state)
{
	(void)state;
	start();
	load_into_live(BASE "route add 0.0.0.0/0 via 203.0.113.254\n");
	load_into_live(
		"interface add lan devargs net_null0\ninterface add wan devargs net_null1\n"
		"address add 10.0.0.1/24 interface lan\naddress add 203.0.113.7/24 interface wan\n"
		"address add 203.0.113.1/24 interface wan\nroute add 0.0.0.0/0 via "
		"203.0.113.254\n");
	is("interface add lan devargs net_null0\ninterface add wan devargs net_null1\n"
	   "address add 10.0.0.1/24 interface lan\naddress add 203.0.113.7/24 interface wan\n"
	   "address add 203.0.113.1/24 interface wan\nroute add 0.0.0.0/0 via 203.0.113.254\n");
	stop();
}

static uint64_t seed = 1;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 11) % n;
}

/* Random commands, those that make sense of them; few names and addresses, so that two
 * configurations have much in common and much not. */
static void random_config(struct router *r, unsigned n)
{
	static const char *const names[] = {"lan", "wan", "dmz", "v1", "v2"};
	char line[256];

	for (unsigned i = 0; i < n; i++) {
		const char *a = names[rnd(3)], *any = names[rnd(5)], *v = names[3 + rnd(2)];
		unsigned x = rnd(4), y = 1 + rnd(3), z = rnd(4);

		switch (rnd(13)) {
		case 12:
			snprintf(line, sizeof(line), "interface set %s %s", any,
				 z == 0	  ? "gro off"
				 : z == 1 ? "gro-validate counted"
				 : z == 2 ? (x < 2 ? "gro-validate offload" : "gro-timeout 25")
				 : x < 2  ? "gro on"
				 : x == 2 ? "gro-udp on"
					  : "gro-udp off");
			break;
		case 0:
			snprintf(line, sizeof(line), "interface add %s devargs net_null%u%s", a, x,
				 z == 0	  ? " mtu 1500"
				 : z == 1 ? " mtu 1400 rxqs 2"
				 : z == 2 ? " mtu 1400 rxqs 2 rss source"
					  : "");
			break;
		case 1:
			snprintf(line, sizeof(line), "interface add %s vlan %u parent %s%s", v, y,
				 a, z == 0 ? " mtu 1300" : "");
			break;
		case 2:
			snprintf(line, sizeof(line), "interface set %s pass protocol %s port %u", a,
				 z ? "tcp" : "udp", 20 + y);
			break;
		case 3:
		case 4:
			snprintf(line, sizeof(line), "address add 10.%u.%u.%u/24 interface %s", x,
				 z, y, any);
			break;
		case 5:
			snprintf(line, sizeof(line),
				 "neighbour add 10.%u.%u.9 lladdr 02:00:00:00:00:0%u interface %s",
				 x, z, y, any);
			break;
		case 6:
		case 7:
			snprintf(line, sizeof(line), "route add 20.%u.0.0/16 via 10.%u.%u.200%s",
				 rnd(6), x, z, y == 1 ? ",10.1.1.201" : "");
			break;
		case 8:
			snprintf(line, sizeof(line), "nat pool add p%u addresses 203.0.113.%u", x,
				 y);
			break;
		case 9:
			snprintf(line, sizeof(line),
				 "nat rule add snat s%u interface %s source 10.%u.0.0/16 pool p%u",
				 x, any, y, z);
			break;
		case 10:
			snprintf(line, sizeof(line),
				 "nat rule add masquerade m%u interface %s source 10.%u.0.0/16", x,
				 any, y);
			break;
		default:
			if (z < 2)
				snprintf(line, sizeof(line),
					 z == 0 ? "nat set hairpin off"
						: "nat timeout set udp 200");
			else
				snprintf(line, sizeof(line), "interface set %s mtu 1350", a);
			break;
		}
		run_on(r, line);
	}
}

static void test_save_load_save_gives_the_same_text(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct load *a = load_start("a"), *b;
		char *first, *second;

		random_config(&a->router, 60);
		first = text_of(&a->router);
		b = load_text(first);
		if (!load_finish(b))
			fail_msg("line %u: %s\n%s", b->errors[0].line, b->errors[0].e.message,
				 first);
		second = text_of(&b->router);
		assert_string_equal(first, second);
		free(first);
		free(second);
		load_free(a);
		load_free(b);
	}
}

static void test_load_over_any_configuration_gives_the_new_one(void **state)
{
	(void)state;
	start();
	for (unsigned i = 0; i < 2000; i++) {
		struct load *want = load_start("b");
		char *text, *now;

		random_config(&want->router, 10 + rnd(60));
		if (load_finish(want)) {
			text = text_of(&want->router);
			if (!transition(&live, &want->router, &err)) {
				now = text_of(&live);
				fail_msg("round %u: %s\nfrom\n%s\nto\n%s", i, err.message, now,
					 text);
			}
			is(text);
			free(text);
		}
		load_free(want);
	}
	stop();
}

/* Every step of every load fails once: what was, stays. */
static void test_load_that_fails_leaves_the_router_as_it_was(void **state)
{
	unsigned failed = 0;

	(void)state;
	start();
	for (unsigned i = 0; i < 300; i++) {
		struct load *want = load_start("b");
		char *before, *after;

		random_config(&want->router, 10 + rnd(60));
		if (load_finish(want)) {
			for (int step = 0;; step++) {
				bool done;

				before = text_of(&live);
				fuse = step;
				done = transition(&live, &want->router, &err);
				if (done) {
					fuse = -1;
					free(before);
					break;
				}
				assert_int_equal(fuse, -1);
				assert_non_null(strstr(err.message, "fuse"));
				after = text_of(&live);
				assert_string_equal(before, after);
				free(before);
				free(after);
				failed++;
			}
		}
		load_free(want);
	}
	assert_true(failed > 1000);
	stop();
}

/* Many routes: found, removed, added again, saved in order. */
static void test_many_routes_come_and_go(void **state)
{
	struct load *l = load_start("x");
	char line[96], *text, *before;
	unsigned n = 0;

	(void)state;
	load_feed(l, BASE, strlen(BASE));
	for (unsigned i = 0; i < 50000; i++) {
		snprintf(line, sizeof(line), "route add %u.%u.%u.0/24 via 203.0.113.254\n",
			 20 + (i >> 16), i >> 8 & 255, i & 255);
		load_feed(l, line, strlen(line));
	}
	for (unsigned i = 0; i < 50000; i += 2) {
		snprintf(line, sizeof(line), "route del %u.%u.%u.0/24\n", 20 + (i >> 16),
			 i >> 8 & 255, i & 255);
		load_feed(l, line, strlen(line));
	}
	load_feed(l, "route add 20.0.0.0/24 via 203.0.113.253\n", 40);
	assert_true(load_finish(l));
	text = text_of(&l->router);
	for (const char *p = text; (p = strstr(p, "route add ")) != NULL; p++)
		n++;
	assert_int_equal(n, 25001);
	start();
	assert_true(transition(&live, &l->router, &err));
	is(text);
	before = text;
	load_free(l);
	load_into_live(BASE);
	is(BASE);
	free(before);
	stop();
}

/* By prefix, which the table of a million takes in a tenth of the look-ups that miss; and the table
 * is told beforehand how many there will be. */
static void test_routes_are_added_in_order_and_announced(void **state)
{
	static const char *const due[] = {
		"20.0.0.0/8",  "20.0.0.0/24",  "20.0.0.0/26",  "20.0.0.64/26",
		"20.0.1.0/25", "200.9.0.0/16", "200.9.0.3/32",
	};

	(void)state;
	start();
	load_into_live(BASE "route add 20.7.0.0/16 via 203.0.113.254\n");
	n_added = 0;
	load_into_live(BASE "route add 200.9.0.3/32 via 10.0.0.2\n"
			    "route add 20.0.0.64/26 via 10.0.0.2\n"
			    "route add 200.9.0.0/16 via 10.0.0.2,10.0.0.3\n"
			    "route add 20.0.1.0/25 via 10.0.0.2\n"
			    "route add 20.0.0.0/26 via 10.0.0.2\n"
			    "route add 20.7.0.0/16 via 203.0.113.254\n"
			    "route add 20.0.0.0/8 via 10.0.0.2\n"
			    "route add 20.0.0.0/24 via 10.0.0.2\n");
	assert_int_equal(expected[0], 8); /* with the one that stays */
	assert_int_equal(expected[1], 3);
	assert_int_equal(n_added, sizeof(due) / sizeof(due[0]));
	for (unsigned i = 0; i < n_added; i++) {
		char text[20];

		assert_string_equal(text_put_prefix(text, added[i].addr_be, added[i].len), due[i]);
	}
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands_are_saved_in_an_order_that_loads),
		cmocka_unit_test(test_adding_the_same_again_is_done_and_changes_nothing),
		cmocka_unit_test(test_adding_with_other_values_is_refused_and_says_what_is_there),
		cmocka_unit_test(test_unknown_names_are_refused_with_the_nearest),
		cmocka_unit_test(test_what_is_in_use_stays),
		cmocka_unit_test(test_values_that_make_no_sense_are_refused),
		cmocka_unit_test(test_rules_that_contradict_each_other_are_refused_whole),
		cmocka_unit_test(test_translation_is_published_once_a_commit),
		cmocka_unit_test(test_failed_commit_takes_the_batch_back),
		cmocka_unit_test(test_interface_deletion_is_taken_back_with_all_that_went_with_it),
		cmocka_unit_test(test_load_lists_all_errors_with_their_places),
		cmocka_unit_test(test_load_counts_errors_beyond_those_it_lists),
		cmocka_unit_test(test_load_takes_any_pieces_of_lines),
		cmocka_unit_test(test_load_refuses_an_endless_line_and_goes_on),
		cmocka_unit_test(test_load_names_the_line_of_a_rule_that_contradicts),
		cmocka_unit_test(test_load_takes_sizes_that_are_settled_at_start),
		cmocka_unit_test(test_example_configurations_load_and_round_trip),
		cmocka_unit_test(test_save_writes_all_or_nothing),
		cmocka_unit_test(test_rules_that_stay_keep_their_ids_over_a_load),
		cmocka_unit_test(test_ids_are_never_zero_never_twice_and_always_in_order),
		cmocka_unit_test(test_first_address_of_an_interface_is_what_the_file_says),
		cmocka_unit_test(test_save_load_save_gives_the_same_text),
		cmocka_unit_test(test_load_over_any_configuration_gives_the_new_one),
		cmocka_unit_test(test_load_that_fails_leaves_the_router_as_it_was),
		cmocka_unit_test(test_many_routes_come_and_go),
		cmocka_unit_test(test_routes_are_added_in_order_and_announced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
