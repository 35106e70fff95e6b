/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands and their refusals, and what is saved after them. */
#include "test_config_lab.h"

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
