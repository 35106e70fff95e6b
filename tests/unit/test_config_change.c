/* SPDX-License-Identifier: BSD-3-Clause */
/* The way from one configuration to another, with every step of it failing once. */
#include "test_config_lab.h"

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
