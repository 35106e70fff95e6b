/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of translated packets: checksums against a computation from scratch, damage preserved,
 * answers that restore the original; and a plain model of a translator against which random traffic
 * runs.
 */
#include "test_nat_lab.h"

/* Sets the two bytes at `at` so that the sum of the sealed packet, as it leaves with another
 * source, comes out as zero. */
static void make_zero_after(struct packet p, const char *new_src, unsigned at, unsigned check_at)
{
	uint32_t src = ip4(new_src), old;
	unsigned off;

	memcpy(&old, p.b + 12, 4);
	memcpy(p.b + 12, &src, 4);
	set16(p.b + at, 0);
	packet_seal_l4(p);
	/* adding the checksum to the sum makes it 0xffff, its complement zero */
	set16(p.b + at, get16(p.b + packet_ihl(p.b) + check_at));
	memcpy(p.b + 12, &old, 4);
	off = packet_ihl(p.b) + check_at;
	set16(p.b + off, 0);
	packet_seal(p);
}

static void test_ip_checksum_that_becomes_zero_is_sent_as_zero_C01_K1(void **state)
{
	struct lab lab;
	unsigned zeros = 0;

	(void)state;
	lab_start_static(&lab);
	for (unsigned id = 0; id < 65536; id++) {
		struct packet p = packet_udp("10.0.0.2", 5000, R1, 53, "x");

		set16(p.b + 4, id);
		packet_seal(p);
		assert_translates(&lab, INSIDE, p);
		assert_int_equal(get16(p.b + 10), right_ip(p.b));
		zeros += get16(p.b + 10) == 0;
		assert_int_not_equal(get16(p.b + 10), 0xffff);
		free(p.b);
	}
	assert_true(zeros > 0);
	lab_free(&lab);
}

static void test_udp_checksum_that_becomes_zero_is_sent_as_ffff_C03_K2(void **state)
{
	struct lab lab;
	struct packet p = packet_udp("10.0.0.2", 5200, R1, 5200, "data");

	(void)state;
	lab_start_static(&lab);
	make_zero_after(p, EXT, 28, 6);
	assert_translates(&lab, INSIDE, p);
	assert_int_equal(get16(p.b + 26), 0xffff);
	assert_sums(p);
	free(p.b);
	/* and 0xffff on arrival is a value like any other */
	p = packet_udp("10.0.0.2", 5200, R1, 5200, "data");
	make_zero_after(p, "10.0.0.2", 28, 6);
	assert_int_equal(get16(p.b + 26), 0xffff);
	assert_translates(&lab, INSIDE, p);
	assert_sums(p);
	free(p.b);
	lab_free(&lab);
}

static void test_udp_without_checksum_stays_without_C04_K2(void **state)
{
	struct lab lab;
	struct packet p = packet_udp("10.0.0.2", 5300, R1, 5300, "data");

	(void)state;
	lab_start_static(&lab);
	set16(p.b + 26, 0);
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 5300);
	assert_int_equal(get16(p.b + 26), 0);
	assert_sums(p);
	free(p.b);
	p = packet_udp(R1, 5300, EXT, 5300, "data");
	set16(p.b + 26, 0);
	assert_translates(&lab, OUTSIDE, p);
	assert_int_equal(get16(p.b + 26), 0);
	assert_int_equal(get16(p.b + 10), right_ip(p.b));
	free(p.b);
	lab_free(&lab);
}

static void test_tcp_checksum_zero_is_a_value_like_any_other_C05(void **state)
{
	struct lab lab;
	struct packet p = packet_tcp("10.0.0.2", 40000, R1, 443, SYN, 1, 0, "");

	(void)state;
	lab_start_static(&lab);
	assert_translates(&lab, INSIDE, p);
	free(p.b);
	p = packet_tcp("10.0.0.2", 40000, R1, 443, ACK | PSH, 2, 1, "xxyyzz");
	make_zero_after(p, "10.0.0.2", 40, 16);
	assert_int_equal(get16(p.b + 36), 0);
	assert_translates(&lab, INSIDE, p);
	assert_int_not_equal(get16(p.b + 36), 0);
	assert_sums(p);
	free(p.b);
	p = packet_tcp("10.0.0.2", 40000, R1, 443, ACK | PSH, 2, 1, "xxyyzz");
	make_zero_after(p, EXT, 40, 16);
	assert_translates(&lab, INSIDE, p);
	assert_int_equal(get16(p.b + 36), 0);
	assert_sums(p);
	free(p.b);
	lab_free(&lab);
}

static void test_echo_reply_of_zeros_has_checksum_ffff_K1(void **state)
{
	/* the one message that can become all zero: its sum is 0, so its checksum 0xffff */
	struct lab lab;
	struct packet p, q;

	(void)state;
	lab_init(&lab);
	lab_base(&lab);
	lab_load(&lab);
	p = packet_icmp("10.0.0.2", R1, 8, 0, 0, "");
	assert_translates(&lab, INSIDE, p); /* takes identifier 0 */
	free(p.b);
	p = packet_icmp("10.0.0.3", R1, 8, 0, 0, "");
	assert_translates(&lab, INSIDE, p); /* gets another */
	q = packet_icmp(R1, EXT, 0, packet_id(p), 0, "");
	assert_translates(&lab, OUTSIDE, q);
	assert_string_equal(packet_dst(q), "10.0.0.3");
	assert_int_equal(packet_id(q), 0);
	assert_int_equal(get16(q.b + 22), 0xffff);
	assert_sums(q);
	free(p.b);
	free(q.b);
	lab_free(&lab);
}

static void test_bytes_behind_the_datagram_do_not_matter_C09_K5(void **state)
{
	struct lab lab;
	struct packet p = packet_udp("10.0.0.2", 5900, R1, 5900, "x"), padded = {malloc(46), 46};

	(void)state;
	lab_start_static(&lab);
	memset(padded.b, 0xee, 46);
	memcpy(padded.b, p.b, p.len);
	padded.len = p.len; /* what the parser makes of it */
	assert_translates(&lab, INSIDE, padded);
	assert_sums(padded);
	for (unsigned i = p.len; i < 46; i++)
		assert_int_equal(padded.b[i], 0xee);
	free(padded.b);
	free(p.b);
	lab_free(&lab);
}

static void test_options_move_the_transport_header_C12_K4(void **state)
{
	struct lab lab;

	(void)state;
	lab_start_static(&lab);
	for (unsigned ihl = 20; ihl <= 60; ihl += 4) {
		struct packet p = packet_ip(IPPROTO_UDP, "10.0.0.2", R1, ihl, 12), before;

		set16(p.b + ihl, 6200);
		set16(p.b + ihl + 2, 6201);
		set16(p.b + ihl + 4, 12);
		packet_seal(p);
		before = packet_copy(p);
		assert_translates(&lab, INSIDE, p);
		assert_from(p, EXT, 6200);
		assert_sums(p);
		assert_memory_equal(p.b + 20, before.b + 20, ihl - 20);
		assert_int_equal(p.b[8], 63);
		free(p.b);
		free(before.b);
		p = packet_ip(IPPROTO_TCP, "10.0.0.2", R1, ihl, 20);
		set16(p.b + ihl, 6202);
		set16(p.b + ihl + 2, 80);
		p.b[ihl + 12] = 0x50;
		p.b[ihl + 13] = SYN;
		packet_seal(p);
		assert_translates(&lab, INSIDE, p);
		assert_sums(p);
		free(p.b);
	}
	lab_free(&lab);
}

static void test_static_changes_tcp_and_udp_sums_but_not_icmp_C15_K7(void **state)
{
	struct lab lab;
	struct packet p = packet_tcp("10.0.0.50", 7000, R1, 80, SYN, 1, 0, ""), before;

	(void)state;
	lab_start_static(&lab);
	assert_translates(&lab, INSIDE, p);
	assert_from(p, "203.0.113.50", 7000);
	assert_sums(p);
	free(p.b);
	p = packet_udp("10.0.0.50", 7002, R1, 53, "x");
	set16(p.b + 26, 0);
	assert_translates(&lab, INSIDE, p);
	assert_int_equal(get16(p.b + 26), 0);
	free(p.b);
	p = packet_icmp("10.0.0.50", R1, 8, 77, 1, "data");
	before = packet_copy(p);
	assert_translates(&lab, INSIDE, p);
	assert_memory_equal(p.b + 20, before.b + 20, p.len - 20);
	assert_sums(p);
	free(p.b);
	free(before.b);
	/* all zero, checksum 0xffff: not touched either */
	p = packet_icmp(R1, "203.0.113.50", 8, 0, 0, "");
	assert_translates(&lab, OUTSIDE, p);
	free(p.b);
	p = packet_icmp("10.0.0.50", R1, 0, 0, 0, "");
	assert_int_equal(get16(p.b + 22), 0xffff);
	assert_translates(&lab, INSIDE, p);
	assert_int_equal(get16(p.b + 22), 0xffff);
	free(p.b);
	/* nor is the other spelling of a zero */
	p = packet_icmp("10.0.0.50", R1, 8, 77, 1, "ab");
	set16(p.b + 28, get16(p.b + 22) + 0x6162 + (get16(p.b + 22) + 0x6162 > 0xffff));
	packet_seal_l4(p);
	assert_int_equal(get16(p.b + 22), 0);
	set16(p.b + 22, 0xffff);
	assert_translates(&lab, INSIDE, p);
	assert_int_equal(get16(p.b + 22), 0xffff);
	free(p.b);
	lab_free(&lab);
}

/* How far the transport checksum is off, as a one's complement difference. */
static unsigned wrongness(struct packet p)
{
	unsigned at, is, should = right_l4(p.b, p.len, &at);
	uint32_t d;

	is = get16(p.b + packet_ihl(p.b) + at);
	d = is + (0xffff - should);
	d = (d & 0xffff) + (d >> 16);
	return d == 0xffff ? 0 : d;
}

static void test_damaged_packets_stay_exactly_as_damaged_C16_K3(void **state)
{
	struct lab lab;
	uint64_t seed = 3;

	(void)state;
	lab_start_static(&lab);
	for (unsigned i = 0; i < 2000; i++) {
		struct packet p =
			i % 2 ? packet_udp("10.0.0.2", 6600, R1, 6600, "payload bytes")
			      : packet_tcp("10.0.0.2", 6600, R1, 6600, SYN, 1, 0, "payload");
		unsigned before;

		p.b[28 + lab_rand(&seed) % (p.len - 28)] ^= (uint8_t)(1u << lab_rand(&seed) % 8);
		/* not the TCP header's own fields */
		if (i % 2 == 0) {
			p.b[32] = 0x50;
			p.b[33] = SYN;
		}
		before = wrongness(p);
		assert_translates(&lab, INSIDE, p);
		assert_int_equal(wrongness(p), before);
		assert_int_equal(get16(p.b + 10), right_ip(p.b));
		free(p.b);
	}
	lab_free(&lab);
}

static void test_damaged_ip_header_checksum_stays_damaged_K3(void **state)
{
	struct lab lab;
	struct packet p = packet_udp("10.0.0.2", 6600, R1, 6600, "x");

	(void)state;
	lab_start_static(&lab);
	set16(p.b + 10, get16(p.b + 10) ^ 0x0400);
	assert_translates(&lab, INSIDE, p);
	assert_int_not_equal(get16(p.b + 10), right_ip(p.b));
	free(p.b);
	lab_free(&lab);
}

static void test_udplite_dccp_and_sctp_K9(void **state)
{
	struct lab lab;
	struct packet p, before;

	(void)state;
	lab_start_static(&lab);
	p = packet_ip(136, "10.0.0.2", R1, 20, 20);
	set16(p.b + 20, 5000);
	set16(p.b + 22, 53);
	set16(p.b + 24, 0); /* covers all */
	packet_seal(p);
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 5000);
	assert_sums(p);
	free(p.b);
	p = packet_ip(33, "10.0.0.2", R1, 20, 16);
	set16(p.b + 20, 5000);
	set16(p.b + 22, 53);
	packet_seal(p);
	assert_translates(&lab, INSIDE, p);
	assert_from(p, EXT, 5000);
	assert_sums(p);
	free(p.b);
	/* SCTP: by address only; its CRC has no pseudo-header and stays right */
	p = packet_ip(132, "10.0.0.2", R1, 20, 16);
	set16(p.b + 20, 5000);
	set32(p.b + 28, 0xdeadbeef);
	packet_seal(p);
	before = packet_copy(p);
	assert_translates(&lab, INSIDE, p);
	assert_string_equal(packet_src(p), EXT);
	assert_memory_equal(p.b + 20, before.b + 20, 16);
	assert_sums(p);
	free(p.b);
	free(before.b);
	lab_free(&lab);
}

static void test_ttl_decrement_alone_K4(void **state)
{
	(void)state;
	for (unsigned id = 0; id < 65536; id += 3) {
		struct packet p = packet_udp("10.0.0.2", 1, R1, 2, "x");

		set16(p.b + 4, id);
		p.b[8] = (uint8_t)(2 + id % 254);
		packet_seal(p);
		nat_ttl_decrement(p.b);
		assert_int_equal(p.b[8], 1 + id % 254);
		assert_int_equal(get16(p.b + 10), right_ip(p.b));
		free(p.b);
	}
}

static void test_burst_lookup_finds_every_packet_of_a_mixed_burst(void **state)
{
	struct lab lab;
	struct packet p[64];
	struct nat_pkt k[64], *ptr[64];
	unsigned hits = 0;

	(void)state;
	lab_alone = true;
	lab_start_static(&lab);
	for (unsigned i = 0; i < 64; i++) {
		char src[32];

		snprintf(src, sizeof(src), "10.0.0.%u", 100 + i % 16);
		p[i] = packet_udp(src, 1000 + i % 32, R1, 53, "x");
		if (i % 13 == 12)
			set16(p[i].b + 6, 0x2000);
		k[i] = lab_parse(&lab, INSIDE, p[i]);
		ptr[i] = &k[i];
	}
	/* twice each flow in one burst: all miss, and the second of a flow finds the first's
	 * session */
	nat_lookup_burst(lab.nat, ptr, 64);
	for (unsigned i = 0; i < 64; i++) {
		assert_int_equal(k[i].verdict, NAT_PASS);
		nat_miss(lab.nat, ptr[i], OUTSIDE, lab.now);
		assert_int_equal(k[i].verdict,
				 k[i].flags & NAT_PKT_FRAGMENT ? NAT_DROP : NAT_TRANSLATE);
	}
	assert_int_equal(lab_sessions(&lab), 32);
	nat_lookup_burst(lab.nat, ptr, 64);
	for (unsigned i = 0; i < 64; i++) {
		if (k[i].verdict == NAT_TRANSLATE) {
			hits++;
			assert_int_equal(k[i].new_src_be, ip4(EXT));
			assert_int_equal(k[i].new_dst_be, ip4(R1));
			nat_rewrite(lab.nat, ptr[i], lab.now);
			assert_sums(p[i]);
		}
		free(p[i].b);
	}
	assert_int_equal(hits, 60);
	lab_end(&lab);
	lab_alone = false;
}

/* ---- the model ---- */

#define HOSTS	6
#define PORTS	7
#define REMOTES 5
#define M_MAX	1024
#define S_MAX	4096

/* A translator as a few plain lists: endpoint-independent mapping, address-dependent filter, paired
 * addresses, hold times. What it can't know (which port a random choice gave) it learns from the
 * packet and checks against the rules. */
struct model {
	struct mapping {
		bool used, held;
		uint8_t proto;
		uint32_t in, ext;
		unsigned in_port, ext_port;
		uint64_t hold_until;
	} m[M_MAX];
	struct session {
		bool used, out;
		unsigned m;
		uint32_t remote;
		unsigned remote_port;
		uint64_t last;
	} s[S_MAX];
	uint64_t now;
};

static uint64_t model_timeout(uint8_t proto)
{
	return (proto == IPPROTO_UDP ? 300 : proto == IPPROTO_TCP ? 240 : 60) * 1000;
}

static bool model_mapping_out(const struct model *mo, unsigned m)
{
	for (unsigned i = 0; i < S_MAX; i++)
		if (mo->s[i].used && mo->s[i].out && mo->s[i].m == m)
			return true;
	return false;
}

static void model_tick(struct model *mo)
{
	for (unsigned i = 0; i < S_MAX; i++)
		if (mo->s[i].used &&
		    mo->now >= mo->s[i].last + model_timeout(mo->m[mo->s[i].m].proto))
			mo->s[i].used = false;
	for (unsigned m = 0; m < M_MAX; m++) {
		if (!mo->m[m].used)
			continue;
		if (!mo->m[m].held && !model_mapping_out(mo, m)) {
			for (unsigned i = 0; i < S_MAX; i++)
				if (mo->s[i].used && mo->s[i].m == m)
					mo->s[i].used = false;
			mo->m[m].held = true;
			mo->m[m].hold_until = mo->now + 120000;
		}
		if (mo->m[m].held && mo->now >= mo->m[m].hold_until)
			mo->m[m].used = false;
	}
}

static int model_inside(const struct model *mo, uint8_t proto, uint32_t in, unsigned port)
{
	for (unsigned m = 0; m < M_MAX; m++)
		if (mo->m[m].used && mo->m[m].proto == proto && mo->m[m].in == in &&
		    mo->m[m].in_port == port)
			return (int)m;
	return -1;
}

static int model_outside(const struct model *mo, uint8_t proto, uint32_t ext, unsigned port)
{
	for (unsigned m = 0; m < M_MAX; m++)
		if (mo->m[m].used && mo->m[m].proto == proto && mo->m[m].ext == ext &&
		    mo->m[m].ext_port == port)
			return (int)m;
	return -1;
}

static int model_session(const struct model *mo, unsigned m, uint32_t remote, unsigned port)
{
	for (unsigned i = 0; i < S_MAX; i++)
		if (mo->s[i].used && mo->s[i].m == m && mo->s[i].remote == remote &&
		    mo->s[i].remote_port == port)
			return (int)i;
	return -1;
}

static bool model_filter(const struct model *mo, unsigned m, uint32_t remote)
{
	for (unsigned i = 0; i < S_MAX; i++)
		if (mo->s[i].used && mo->s[i].out && mo->s[i].m == m && mo->s[i].remote == remote)
			return true;
	return false;
}

static unsigned model_new_session(struct model *mo)
{
	unsigned i = 0;

	while (mo->s[i].used)
		i++;
	return i;
}

/* An outbound packet left as from ext:port: is that right? Takes it in. */
static void model_outbound(struct model *mo, uint8_t proto, uint32_t in, unsigned in_port,
			   uint32_t ext, unsigned port, uint32_t remote, unsigned remote_port)
{
	int m = model_inside(mo, proto, in, in_port), s;

	if (m >= 0) {
		assert_int_equal(mo->m[m].ext, ext); /* M1 */
		assert_int_equal(mo->m[m].ext_port, port);
	} else {
		assert_int_equal(model_outside(mo, proto, ext, port), -1); /* M3 */
		for (unsigned k = 0; k < M_MAX; k++)
			if (mo->m[k].used && mo->m[k].in == in)
				assert_int_equal(mo->m[k].ext, ext); /* M2 */
		if (proto != IPPROTO_ICMP) {
			assert_int_equal(port < 1024, in_port < 1024); /* M4 */
			if (proto == IPPROTO_UDP)
				assert_int_equal(port % 2, in_port % 2); /* M5 */
		}
		if (port != in_port && (in_port != 0 || proto == IPPROTO_ICMP))
			assert_int_not_equal(model_outside(mo, proto, ext, in_port), -1);
		for (m = 0; mo->m[m].used; m++)
			;
		mo->m[m] = (struct mapping){.used = true,
					    .proto = proto,
					    .in = in,
					    .in_port = in_port,
					    .ext = ext,
					    .ext_port = port};
	}
	mo->m[m].held = false;
	s = model_session(mo, (unsigned)m, remote, remote_port);
	if (s < 0)
		s = (int)model_new_session(mo);
	mo->s[s] = (struct session){true, true, (unsigned)m, remote, remote_port, mo->now};
}

/* Should an inbound packet pass? Takes it in. */
static enum nat_verdict model_inbound(struct model *mo, uint8_t proto, uint32_t remote,
				      unsigned remote_port, uint32_t ext, unsigned port,
				      int *mapping, const char **reason)
{
	int m = model_outside(mo, proto, ext, port), s;

	*mapping = m;
	*reason = "nat_no_mapping";
	if (m < 0 || mo->m[m].held)
		return NAT_DROP;
	s = model_session(mo, (unsigned)m, remote, remote_port);
	if (s < 0) {
		*reason = "nat_filtered";
		if (!model_filter(mo, (unsigned)m, remote))
			return NAT_DROP;
		s = (int)model_new_session(mo);
		mo->s[s] = (struct session){true, false, (unsigned)m, remote, remote_port, mo->now};
	}
	if (proto == IPPROTO_TCP)
		mo->s[s].last = mo->now;
	return NAT_TRANSLATE;
}

static struct packet random_packet(uint64_t *seed, uint8_t proto, const char *src, unsigned sport,
				   const char *dst, unsigned dport, unsigned icmp_type)
{
	unsigned n = lab_rand(seed) % 40, l4 = proto == IPPROTO_TCP ? 20 : 8;
	unsigned ihl = lab_rand(seed) % 4 ? 20 : 20 + 4 * (lab_rand(seed) % 11);
	struct packet p = packet_ip(proto, src, dst, ihl, l4 + n);
	uint8_t *h = p.b + ihl;

	for (unsigned i = 0; i < n; i++)
		h[l4 + i] = lab_rand(seed) % 3 ? (uint8_t)lab_rand(seed) : 0;
	set16(p.b + 4, lab_rand(seed));
	if (proto == IPPROTO_ICMP) {
		h[0] = (uint8_t)icmp_type;
		set16(h + 4, icmp_type == 8 ? sport : dport);
		set16(h + 6, lab_rand(seed));
	} else {
		set16(h, sport);
		set16(h + 2, dport);
		if (proto == IPPROTO_UDP)
			set16(h + 4, 8 + n);
		else {
			set32(h + 4, lab_rand(seed));
			h[12] = 0x50;
			h[13] = SYN;
			set16(h + 14, lab_rand(seed));
		}
	}
	packet_seal(p);
	if (proto == IPPROTO_UDP && lab_rand(seed) % 8 == 0)
		set16(h + 6, 0);
	return p;
}

/* Swaps source and destination, as an echo server does. */
static void turn_round(struct packet p)
{
	uint8_t t[4], *h = p.b + packet_ihl(p.b);

	memcpy(t, p.b + 12, 4);
	memcpy(p.b + 12, p.b + 16, 4);
	memcpy(p.b + 16, t, 4);
	if (p.b[9] == IPPROTO_ICMP) {
		h[0] = h[0] == 8 ? 0 : 8;
		packet_seal_l4(p);
		return;
	}
	memcpy(t, h, 2);
	memcpy(h, h + 2, 2);
	memcpy(h + 2, t, 2);
}

/* The payload and all that is no business of a translator is as before. */
static void assert_untouched(struct packet p, struct packet before)
{
	unsigned ihl = packet_ihl(p.b);

	assert_memory_equal(p.b, before.b, 8);
	assert_int_equal(p.b[8], before.b[8] - 1);
	assert_int_equal(p.b[9], before.b[9]);
	assert_memory_equal(p.b + 20, before.b + 20, ihl - 20);
	switch (p.b[9]) {
	case IPPROTO_TCP:
		assert_memory_equal(p.b + ihl + 4, before.b + ihl + 4, 12);
		assert_memory_equal(p.b + ihl + 18, before.b + ihl + 18, p.len - ihl - 18);
		break;
	case IPPROTO_UDP:
		assert_memory_equal(p.b + ihl + 4, before.b + ihl + 4, 2);
		assert_memory_equal(p.b + ihl + 8, before.b + ihl + 8, p.len - ihl - 8);
		break;
	default:
		assert_memory_equal(p.b + ihl + 6, before.b + ihl + 6, p.len - ihl - 6);
	}
}

static void run_model(uint64_t seed, unsigned steps)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};
	static const unsigned ports[PORTS] = {0, 53, 500, 1024, 4000, 4001, 65535};
	struct model *mo = calloc(1, sizeof(*mo));
	struct lab lab;

	lab_init(&lab);
	lab_pool(&lab, "203.0.113.16", "203.0.113.18", 0, 0);
	lab_rule(&lab, NAT_RULE_SNAT, 1)->source = net4("10.0.0.0/8");
	lab_load(&lab);
	mo->now = lab.now;
	for (unsigned step = 0; step < steps; step++) {
		uint8_t proto = protos[lab_rand(&seed) % 3];
		unsigned in_port = ports[lab_rand(&seed) % PORTS];
		unsigned remote_port = proto == IPPROTO_ICMP ? 0 : 80 + lab_rand(&seed) % 3;
		char host[32], remote[32], ext[32];
		struct packet p, before;
		enum nat_verdict v;
		const char *reason;
		int m;

		snprintf(host, sizeof(host), "10.0.0.%u", 2 + lab_rand(&seed) % HOSTS);
		snprintf(remote, sizeof(remote), "198.51.100.%u", 1 + lab_rand(&seed) % REMOTES);
		snprintf(ext, sizeof(ext), "203.0.113.%u", 16 + lab_rand(&seed) % 3);
		if (lab_rand(&seed) % 8 == 0) {
			unsigned s =
				lab_rand(&seed) % 3 ? lab_rand(&seed) % 30 : lab_rand(&seed) % 400;

			for (unsigned i = 0; i < s; i++) {
				lab_wait(&lab, 1);
				mo->now = lab.now;
				model_tick(mo);
			}
			continue;
		}
		if (lab_rand(&seed) % 2) {
			unsigned got;

			p = random_packet(&seed, proto, host, in_port, remote, remote_port, 8);
			before = packet_copy(p);
			assert_translates(&lab, INSIDE, p);
			assert_sums(p);
			assert_untouched(p, before);
			assert_string_equal(packet_dst(p), remote);
			got = proto == IPPROTO_ICMP ? packet_id(p) : packet_sport(p);
			model_outbound(mo, proto, ip4(host), in_port, ip4(packet_src(p)), got,
				       ip4(remote), remote_port);
			/* the answer restores what was sent, byte for byte but for TTL and its sum
			 */
			turn_round(p);
			v = model_inbound(mo, proto, ip4(remote), remote_port, ip4(packet_dst(p)),
					  got, &m, &reason);
			assert_int_equal(v, NAT_TRANSLATE);
			assert_translates(&lab, OUTSIDE, p);
			turn_round(p);
			p.b[8] = before.b[8];
			set16(p.b + 10, right_ip(p.b));
			assert_memory_equal(p.b, before.b, p.len);
		} else {
			/* most ports of mappings that exist, some of none */
			unsigned port = ports[lab_rand(&seed) % PORTS];
			unsigned pick = lab_rand(&seed) % M_MAX;

			for (unsigned k = 0; k < M_MAX; k++, pick = (pick + 1) % M_MAX)
				if (mo->m[pick].used && lab_rand(&seed) % 4) {
					struct in_addr a = {mo->m[pick].ext};

					inet_ntop(AF_INET, &a, ext, sizeof(ext));
					proto = mo->m[pick].proto;
					port = mo->m[pick].ext_port;
					remote_port = proto == IPPROTO_ICMP
							      ? 0
							      : 80 + lab_rand(&seed) % 3;
					break;
				}
			p = random_packet(&seed, proto, remote, remote_port, ext, port, 0);
			before = packet_copy(p);
			v = model_inbound(mo, proto, ip4(remote), remote_port, ip4(ext), port, &m,
					  &reason);
			assert_int_equal(lab_send(&lab, OUTSIDE, p), v);
			if (v == NAT_TRANSLATE) {
				struct in_addr a = {mo->m[m].in};
				unsigned got =
					proto == IPPROTO_ICMP ? packet_id(p) : packet_dport(p);

				assert_int_equal(ip4(packet_dst(p)), a.s_addr);
				assert_int_equal(got, mo->m[m].in_port);
				assert_sums(p);
				assert_untouched(p, before);
			} else {
				assert_string_equal(nat_reason_name(lab.last.reason), reason);
				assert_memory_equal(p.b, before.b, p.len);
			}
		}
		free(p.b);
		free(before.b);
		if (step % 64 == 0) {
			unsigned sessions = 0, mappings = 0;

			for (unsigned i = 0; i < S_MAX; i++)
				sessions += mo->s[i].used;
			for (unsigned i = 0; i < M_MAX; i++)
				mappings += mo->m[i].used;
			assert_int_equal(lab_sessions(&lab), sessions);
			assert_int_equal(lab_stats(&lab).mappings, mappings);
		}
	}
	lab_end(&lab);
	free(mo);
}

static void test_random_traffic_matches_a_plain_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++)
		run_model(seed * 7919, 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ip_checksum_that_becomes_zero_is_sent_as_zero_C01_K1),
		cmocka_unit_test(test_udp_checksum_that_becomes_zero_is_sent_as_ffff_C03_K2),
		cmocka_unit_test(test_udp_without_checksum_stays_without_C04_K2),
		cmocka_unit_test(test_tcp_checksum_zero_is_a_value_like_any_other_C05),
		cmocka_unit_test(test_echo_reply_of_zeros_has_checksum_ffff_K1),
		cmocka_unit_test(test_bytes_behind_the_datagram_do_not_matter_C09_K5),
		cmocka_unit_test(test_options_move_the_transport_header_C12_K4),
		cmocka_unit_test(test_static_changes_tcp_and_udp_sums_but_not_icmp_C15_K7),
		cmocka_unit_test(test_damaged_packets_stay_exactly_as_damaged_C16_K3),
		cmocka_unit_test(test_damaged_ip_header_checksum_stays_damaged_K3),
		cmocka_unit_test(test_udplite_dccp_and_sctp_K9),
		cmocka_unit_test(test_ttl_decrement_alone_K4),
		cmocka_unit_test(test_burst_lookup_finds_every_packet_of_a_mixed_burst),
		cmocka_unit_test(test_random_traffic_matches_a_plain_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
