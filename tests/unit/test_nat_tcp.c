/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What opens, keeps and closes a TCP session. The clock is injected.
 */
#include "test_nat_flows.h"

static void test_tcp_life_from_syn_to_close_T2(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	tcp_out(&lab, "10.0.0.2", 4000, SYN, 1000, 0, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_SYN_SENT);
	assert_int_equal(only_session(&lab).timeout_s, 240);
	tcp_in(&lab, 4000, SYN | ACK, 5000, 1001, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_SYN_RECEIVED);
	assert_int_equal(only_session(&lab).timeout_s, 240);
	tcp_out(&lab, "10.0.0.2", 4000, ACK, 1001, 5001, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	assert_int_equal(only_session(&lab).timeout_s, 7440);
	tcp_out(&lab, "10.0.0.2", 4000, ACK | PSH, 1001, 5001, "request");
	tcp_in(&lab, 4000, ACK | PSH, 5001, 1008, "answer");
	/* idle for 2 hours, then data (C38) */
	lab_wait(&lab, 7200);
	assert_int_equal(tcp_out(&lab, "10.0.0.2", 4000, ACK, 1008, 5007, "more"), NAT_TRANSLATE);
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	lab_wait(&lab, 7439);
	assert_int_equal(lab_sessions(&lab), 1);
	tcp_in(&lab, 4000, ACK | FIN, 5007, 1012, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_CLOSING);
	assert_int_equal(only_session(&lab).timeout_s, 240);
	tcp_out(&lab, "10.0.0.2", 4000, ACK, 1012, 5008, "half open still");
	assert_int_equal(tcp_state(&lab), NAT_TCP_CLOSING);
	tcp_out(&lab, "10.0.0.2", 4000, ACK | FIN, 1027, 5008, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_CLOSED);
	assert_int_equal(tcp_in(&lab, 4000, ACK, 5008, 1028, ""), NAT_TRANSLATE);
	assert_int_equal(tcp_state(&lab), NAT_TCP_CLOSED);
	lab_wait(&lab, 239);
	assert_int_equal(lab_sessions(&lab), 1);
	lab_wait(&lab, 1);
	assert_int_equal(lab_sessions(&lab), 0);
	lab_end(&lab);
}

static void test_tcp_established_expires_after_its_idle_time_T2(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	handshake(&lab, "10.0.0.2", 4000);
	lab_wait(&lab, 7439);
	assert_int_equal(lab_sessions(&lab), 1);
	lab_wait(&lab, 1);
	assert_int_equal(lab_sessions(&lab), 0);
	assert_int_equal(lab_stats(&lab).sessions_expired, 1);
	lab_free(&lab);
}

static void test_tcp_simultaneous_open_T1(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	assert_int_equal(tcp_out(&lab, "10.0.0.2", 4000, SYN, 1000, 0, ""), NAT_TRANSLATE);
	assert_int_equal(tcp_in(&lab, 4000, SYN, 5000, 0, ""), NAT_TRANSLATE);
	assert_int_equal(tcp_state(&lab), NAT_TCP_SYN_RECEIVED);
	assert_int_equal(tcp_out(&lab, "10.0.0.2", 4000, SYN | ACK, 1000, 5001, ""), NAT_TRANSLATE);
	assert_int_equal(tcp_in(&lab, 4000, SYN | ACK, 5000, 1001, ""), NAT_TRANSLATE);
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	lab_free(&lab);
}

static void test_tcp_needs_a_syn_unless_loose_T7(void **state)
{
	static const unsigned refused[] = {ACK,	      SYN | ACK, FIN | ACK, RST,
					   RST | ACK, PSH | ACK, 0,	    SYN | FIN};
	struct lab lab;

	(void)state;
	lab_start(&lab);
	for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(tcp_out(&lab, "10.0.0.2", 4000, refused[i], 1, 1, ""), NAT_DROP);
		assert_reason(&lab, nat_no_session);
	}
	assert_int_equal(lab_sessions(&lab), 0);
	assert_int_equal(lab_stats(&lab).mappings, 0);
	lab.conf.tcp_loose = true;
	lab_load(&lab);
	assert_int_equal(tcp_out(&lab, "10.0.0.2", 4000, RST, 1, 1, ""), NAT_DROP);
	assert_int_equal(tcp_out(&lab, "10.0.0.2", 4000, ACK, 700, 900, "data"), NAT_TRANSLATE);
	assert_int_equal(only_session(&lab).timeout_s, 240);
	assert_int_equal(tcp_in(&lab, 4000, ACK, 900, 704, "data"), NAT_TRANSLATE);
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	lab_end(&lab);
}

static void test_tcp_reset_closes_only_when_it_fits_T4_C35(void **state)
{
	struct lab lab;
	uint64_t seed = 4;

	(void)state;
	lab_start(&lab);
	handshake(&lab, "10.0.0.2", 4000);
	tcp_in(&lab, 4000, ACK | PSH, 5001, 1001, "0123456789");
	/* blind resets, from both sides */
	for (unsigned i = 0; i < 10000; i++) {
		uint32_t seq = lab_rand(&seed);

		if (seq - 5001 > 10)
			tcp_in(&lab, 4000, RST, seq, 0, "");
		if (seq != 1001)
			tcp_out(&lab, "10.0.0.2", 4000, RST, seq, 0, "");
	}
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	assert_int_equal(only_session(&lab).timeout_s, 7440);
	/* forged data doesn't prepare a forged reset */
	tcp_in(&lab, 4000, ACK, 5011 + 0x10000000, 1001, "evil");
	tcp_in(&lab, 4000, RST, 5011 + 0x10000004, 0, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	/* the real one */
	assert_int_equal(tcp_in(&lab, 4000, RST, 5011, 0, ""), NAT_TRANSLATE);
	assert_int_equal(tcp_state(&lab), NAT_TCP_RESET);
	assert_int_equal(only_session(&lab).timeout_s, 240);
	lab_wait(&lab, 239);
	assert_int_equal(lab_sessions(&lab), 1);
	lab_wait(&lab, 1);
	assert_int_equal(lab_sessions(&lab), 0);
	lab_free(&lab);
}

static void test_tcp_goes_on_after_a_reset_that_was_not_heard_T4(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	handshake(&lab, "10.0.0.2", 4000);
	tcp_in(&lab, 4000, RST, 5001, 0, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_RESET);
	tcp_out(&lab, "10.0.0.2", 4000, ACK, 1001, 5001, "still here");
	assert_int_equal(tcp_state(&lab), NAT_TCP_RESET);
	tcp_in(&lab, 4000, ACK, 5001, 1011, "me too");
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	lab_wait(&lab, 1000);
	assert_int_equal(lab_sessions(&lab), 1);
	lab_free(&lab);
}

static void test_tcp_reset_of_one_connection_leaves_its_neighbour_C35(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	handshake(&lab, "10.0.0.2", 4000);
	handshake(&lab, "10.0.0.2", 4001);
	tcp_in(&lab, 4000, RST, 0x7fffffff, 0, "");
	tcp_in(&lab, 4001, RST | ACK, 5001, 1001, "");
	lab_wait(&lab, 241);
	assert_int_equal(lab_sessions(&lab), 1);
	assert_int_equal(tcp_in(&lab, 4000, ACK, 5001, 1001, "data"), NAT_TRANSLATE);
	lab_free(&lab);
}

static void test_tcp_refused_connection_is_reset_by_its_ack_T4(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	tcp_out(&lab, "10.0.0.2", 4000, SYN, 1000, 0, "");
	tcp_in(&lab, 4000, RST | ACK, 0, 77, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_SYN_SENT);
	tcp_in(&lab, 4000, RST | ACK, 0, 1001, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_RESET);
	/* the client tries again from the same port */
	tcp_out(&lab, "10.0.0.2", 4000, SYN, 90000, 0, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_SYN_SENT);
	tcp_in(&lab, 4000, SYN | ACK, 6000, 90001, "");
	tcp_out(&lab, "10.0.0.2", 4000, ACK, 90001, 6001, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	lab_free(&lab);
}

static void test_tcp_blind_syn_ack_does_not_count_as_an_answer(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	tcp_out(&lab, "10.0.0.2", 4000, SYN, 1000, 0, "");
	tcp_in(&lab, 4000, SYN | ACK, 0x12345678, 999, "");
	tcp_in(&lab, 4000, SYN | ACK, 0x12345678, 1002, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_SYN_SENT);
	/* the real one is still understood */
	tcp_in(&lab, 4000, SYN | ACK, 5000, 1001, "");
	tcp_out(&lab, "10.0.0.2", 4000, ACK, 1001, 5001, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	lab_free(&lab);
}

static void test_tcp_blind_fin_does_not_close(void **state)
{
	struct lab lab;

	(void)state;
	lab_start(&lab);
	handshake(&lab, "10.0.0.2", 4000);
	tcp_in(&lab, 4000, FIN | ACK, 0x50000000, 1001, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	lab_free(&lab);
}

static void test_tcp_sequence_numbers_wrap(void **state)
{
	struct lab lab;
	uint32_t seq = 0xfffffff0, peer = 0xffffffff;

	(void)state;
	lab_start(&lab);
	tcp_out(&lab, "10.0.0.2", 4000, SYN, seq, 0, "");
	tcp_in(&lab, 4000, SYN | ACK, peer, seq + 1, "");
	tcp_out(&lab, "10.0.0.2", 4000, ACK, seq + 1, peer + 1, "0123456789012345678901234567");
	tcp_in(&lab, 4000, ACK, peer + 1, seq + 29, "ok");
	assert_int_equal(tcp_state(&lab), NAT_TCP_ESTABLISHED);
	tcp_out(&lab, "10.0.0.2", 4000, RST, seq + 29, 0, "");
	assert_int_equal(tcp_state(&lab), NAT_TCP_RESET);
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp_life_from_syn_to_close_T2),
		cmocka_unit_test(test_tcp_established_expires_after_its_idle_time_T2),
		cmocka_unit_test(test_tcp_simultaneous_open_T1),
		cmocka_unit_test(test_tcp_needs_a_syn_unless_loose_T7),
		cmocka_unit_test(test_tcp_reset_closes_only_when_it_fits_T4_C35),
		cmocka_unit_test(test_tcp_goes_on_after_a_reset_that_was_not_heard_T4),
		cmocka_unit_test(test_tcp_reset_of_one_connection_leaves_its_neighbour_C35),
		cmocka_unit_test(test_tcp_refused_connection_is_reset_by_its_ack_T4),
		cmocka_unit_test(test_tcp_blind_fin_does_not_close),
		cmocka_unit_test(test_tcp_blind_syn_ack_does_not_count_as_an_answer),
		cmocka_unit_test(test_tcp_sequence_numbers_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
