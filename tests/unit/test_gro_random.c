/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merging and cutting over random traffic: the frames that leave are those of the router without
 * merging, byte for byte and in each flow's order, with the same counters and the same sessions
 * behind them; cut here, by a device (TSO), and after waiting for more.
 */
#include "gro_lab.h"

enum { FLOWS = 8, LOG_MAX = 512 };

static unsigned chance(unsigned in)
{
	return (unsigned)rand() % in == 0;
}

/* A flow to draw segments from: its next one, were nothing to happen. */
static struct segment random_flow(unsigned i)
{
	static const rte_be32_t far[] = {
		IP(198, 51, 100, 7), IP(198, 51, 100, 7), IP(198, 51, 100, 7),
		IP(198, 18, 3, 4),   IP(203, 0, 113, 77), /* a neighbour that is not known yet */
		IP(192, 0, 2, 1),			  /* no route */
		IP(10, 0, 0, 1),			  /* the router */
	};
	struct segment s = PLAIN;

	s.flow.src = IP(10, 0, 0, 2);
	s.flow.sport = (uint16_t)(40000 + i);
	s.flow.dst = far[(unsigned)rand() % (chance(3) ? RTE_DIM(far) : 4)];
	if (chance(4))
		s.flow.proto = IPPROTO_UDP;
	if (chance(4)) { /* not translated */
		s.iface = TAGGED;
		s.flow.src = IP(10, 0, 7, 2);
		if (chance(3))
			s.flow.dst = IP(10, 0, 0, 2);
	} else if (chance(4)) { /* an answer */
		s.iface = WAN;
		s.flow.src = IP(198, 51, 100, 7);
		s.flow.dst = chance(4) ? IP(10, 0, 7, 2) : IP(203, 0, 113, 10);
		s.flow.sport = 80;
		s.flow.dport = (uint16_t)(40000 + i);
	}
	s.seq = chance(3) ? (uint32_t)-2000 : (uint32_t)rand();
	s.ack = (uint32_t)rand();
	s.payload = (uint16_t)(chance(3) ? 1 + rand() % 1448 : chance(2) ? 1448 : 100);
	s.df = !chance(4);
	s.ttl = chance(12) ? 1 : 64;
	s.tcp_options = chance(2) ? 3 : 0;
	s.ip_options = chance(10) ? 1 : 0;
	s.ol_flags = chance(3) ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0;
	return s;
}

/* The flow's next segment with, seldom enough, something about it. */
static struct segment draw(struct segment *flow)
{
	struct segment s = *flow;

	if (chance(6))
		s.flags |= 0x08;
	if (chance(12)) {
		switch (rand() % 32) {
		case 0:
			s.ttl = 1;
			break;
		case 1:
			s.ttl--;
			break;
		case 2:
			s.tos = (uint8_t)rand();
			break;
		case 3:
			s.df = !s.df;
			break;
		case 4:
			s.id += (uint16_t)rand();
			break;
		case 5:
			s.window++;
			flow->window++;
			break;
		case 6:
			s.ack++;
			flow->ack++;
			break;
		case 7:
			s.flags |= 0x80;
			break;
		case 8:
			s.flags |= 0x40;
			flow->flags ^= 0x40;
			break;
		case 9:
			s.flags |= 0x20;
			s.urgent = 1;
			break;
		case 10:
			s.flags |= 0x01;
			break;
		case 11:
			s.flags = 0x02;
			break;
		case 12:
			s.flags |= 0x04;
			break;
		case 13:
			s.flags = 0x08;
			break;
		case 14:
			s.payload = 0;
			break;
		case 15:
			s.payload = (uint16_t)(1 + rand() % s.payload);
			break;
		case 16:
			s.payload = (uint16_t)RTE_MIN(s.payload + 1, 1460);
			break;
		case 17:
			s.timestamp++;
			flow->timestamp++;
			break;
		case 18:
			s.tcp_options = (uint8_t)(rand() % 11);
			break;
		case 19:
			s.ip_options = (uint8_t)(rand() % 4);
			s.ip_option_byte = chance(2);
			break;
		case 20:
			s.frag_words = chance(2) ? 0x2000 : 0x0010;
			break;
		case 21:
			s.flip = (unsigned)rand();
			break;
		case 22:
			s.padding = (uint16_t)(rand() % 20);
			break;
		case 23:
			s.doff = (uint8_t)(1 + rand() % 15);
			break;
		case 24:
			s.flow.proto = chance(2)		     ? IPPROTO_ICMP
				       : s.flow.proto == IPPROTO_TCP ? IPPROTO_UDP
								     : IPPROTO_TCP;
			break;
		case 25:
			flow->seq += 1448;
			break; /* lost */
		case 26:
			s.seq -= s.payload;
			break; /* sent again */
		case 27:
			s.unsummed = true;
			break;
		case 28:
			s.udp_len = (int8_t)(chance(3) ? 1 : -(1 + rand() % 12));
			break;
		case 29:
		case 30:
			if (s.flow.proto == IPPROTO_UDP && s.payload >= 2)
				s = summed_to_zero(s);
			break;
		default:
			s.ol_flags = RTE_MBUF_F_RX_L4_CKSUM_BAD;
			break;
		}
	}
	if (chance(8)) {
		s.n_cuts = 1 + (unsigned)rand() % 3;
		s.cuts[0] = 14 + (unsigned)rand() % 30;
		for (unsigned i = 1; i < s.n_cuts; i++)
			s.cuts[i] = s.cuts[i - 1] + 1 + (unsigned)rand() % 100;
	}
	flow->seq = s.seq + s.payload;
	if (!s.df || chance(20) || flow->id != 1)
		flow->id = (uint16_t)(s.id + 1);
	return s;
}

/* What left: frames of both ports, then what control is asked to hold. */
struct record {
	unsigned where;
	unsigned len;
	uint32_t nh;
	uint8_t bytes[FRAME_MAX];
};

struct outcome {
	unsigned n;
	struct record log[LOG_MAX];
	struct dp_iface_counters counters[FWD_MAX_IFACES + 1];
	uint64_t events[FWD_EVENT_COUNT];
	unsigned n_sessions;
	struct nat_session_info sessions[64];
};

/* The frames that a device cuts m into, by a test's own words (the_device_cuts()). */
static void take_cut(struct outcome *o, struct rte_mbuf *m, unsigned where)
{
	static uint8_t whole[70000];
	struct record *r;

	for (unsigned i = 0; the_device_cuts(m, i, whole, NULL) > 0; i++) {
		r = &o->log[o->n++];
		assert_true(o->n < LOG_MAX);
		memset(r, 0, sizeof(*r));
		r->where = where;
		r->len = the_device_cuts(m, i, whole, r->bytes);
	}
	rte_pktmbuf_free(m);
}

static void take(struct outcome *o, struct rte_mbuf *m, unsigned where)
{
	struct record *r = &o->log[o->n++];
	const void *at;

	if (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) {
		o->n--;
		assert_true(m->nb_segs <= snap->ports[where].tso_segs);
		take_cut(o, m, where);
		return;
	}
	assert_true(o->n < LOG_MAX && m->pkt_len <= FRAME_MAX);
	memset(r, 0, sizeof(*r));
	r->where = where;
	r->len = m->pkt_len;
	r->nh = where == 2 ? fwd_priv(m)->nh : 0;
	at = rte_pktmbuf_read(m, 0, r->len, r->bytes);
	if (at != r->bytes)
		memcpy(r->bytes, at, r->len);
	rte_pktmbuf_free(m);
}

/* Feeds a handshake of each flow that may make a session (of UDP: two datagrams and their answer),
 * then the segments in bursts of so many, between which the worker does nothing else. */
static void play(const struct segment *s, unsigned n, const struct segment *flows, bool nat,
		 unsigned w, unsigned burst, struct outcome *o)
{
	struct rte_mbuf *m[FWD_BURST];

	memset(o, 0, sizeof(*o));
	reset_router(nat);
	for (unsigned i = 0; i < FLOWS;
	     i++) { /* SYN, SYN with ACK, ACK: from inside, whatever side the data come from */
		struct segment open[3];
		bool in = flows[i].iface == WAN;

		open[0] = PLAIN;
		open[0].flow = flows[i].flow;
		open[0].iface = in ? LAN : flows[i].iface;
		if (in)
			open[0].flow = (struct flow){IP(10, 0, 0, 2), flows[i].flow.src,
						     flows[i].flow.dport, flows[i].flow.sport,
						     flows[i].flow.proto};
		open[0].payload = 0;
		open[0].flags = 0x02;
		open[0].seq = (in ? flows[i].ack : flows[i].seq) - 1;
		open[1] = open[0];
		open[1].flow =
			(struct flow){open[0].flow.dst, IP(203, 0, 113, 10), open[0].flow.dport,
				      open[0].flow.sport, open[0].flow.proto};
		open[1].iface = WAN;
		open[1].flags = 0x12;
		open[1].seq = (in ? flows[i].seq : flows[i].ack) - 1;
		open[1].ack = open[0].seq + 1;
		open[2] = open[0];
		open[2].flags = 0x10;
		open[2].seq++;
		open[2].ack = open[1].seq + 1;
		for (unsigned k = 0; k < 3 && nat && i % 4 != 3; k++) {
			m[0] = segment_mbuf(&open[k]);
			worker_frames(dp.workers[0], m, 1, snap->ifaces[open[k].iface].port);
			router_settle();
		}
	}
	router_settle();
	router_drain();
	for (unsigned i = 0; i <= dp.n_workers; i++)
		memset(dp.counters[i], 0, sizeof(*dp.counters[i]));

	for (unsigned i = 0, from = 0; i <= n; i++) { /* a burst is of one port */
		if (i < n)
			m[i] = segment_mbuf(&s[i]);
		if (i > from &&
		    (i == n || i == from + burst ||
		     snap->ifaces[s[i].iface].port != snap->ifaces[s[from].iface].port)) {
			worker_frames(dp.workers[w], m + from, i - from,
				      snap->ifaces[s[from].iface].port);
			from = i;
		}
	}
	router_settle();
	for (uint16_t port = 0; port < 2; port++) {
		while (rte_eth_rx_burst(port, 0, m, 1) == 1)
			take(o, m[0], port);
	}
	while (rte_ring_sc_dequeue(dp.punt, (void **)m) == 0)
		take(o, m[0], 2);
	for (unsigned k = 0; k <= dp.n_workers; k++) {
		for (unsigned i = 0; i <= FWD_MAX_IFACES; i++) {
			const uint64_t *from = (const uint64_t *)&dp.counters[k]->iface[i];

			for (unsigned j = 0; j < sizeof(o->counters[i]) / 8; j++)
				((uint64_t *)&o->counters[i])[j] += from[j];
			o->counters[i].bad_checksums = 0;
		}
		for (unsigned e = 0; e < FWD_EVENT_COUNT; e++)
			o->events[e] += dp.counters[k]->events[e];
	}
	o->n_sessions = sessions(o->sessions, RTE_DIM(o->sessions));
	for (unsigned i = 0; i < o->n_sessions; i++) {
		struct nat_session_info s = o->sessions[i];

		/* without the times, and nothing between the fields: they are compared by bytes */
		memset(&o->sessions[i], 0, sizeof(s));
		o->sessions[i].orig = s.orig;
		o->sessions[i].reply = s.reply;
		o->sessions[i].rule_id = s.rule_id;
		o->sessions[i].tcp_state = s.tcp_state;
		o->sessions[i].timeout_s = s.timeout_s;
	}
}

static const uint8_t *datagram(const struct record *r)
{
	return r->bytes + (r->where == 2 ? 0 : r->bytes[12] == 0x81 ? 18 : 14);
}

/* Errors that the router makes and pieces that it cuts too large a datagram into do not say which
 * flow they are of. */
static bool of_no_flow(const struct record *r)
{
	const uint8_t *ip = datagram(r);

	return ip[9] == IPPROTO_ICMP || (ip[6] & 0x3f) || ip[7];
}

static uint32_t ports_of(const struct record *r)
{
	const uint8_t *ip = datagram(r);
	uint32_t ports;

	if ((ip[9] != IPPROTO_TCP && ip[9] != IPPROTO_UDP) || of_no_flow(r))
		return 0;
	memcpy(&ports, ip + (ip[0] & 15) * 4, sizeof(ports));
	return ports;
}

/* By flow, and within it in the order in which they left: of a flow, that has to be the same. */
static int by_flow(const void *pa, const void *pb)
{
	const struct record *a = *(struct record *const *)pa, *b = *(struct record *const *)pb;
	const uint8_t *ia = datagram(a), *ib = datagram(b);
	int d = (int)a->where - (int)b->where;

	if (d == 0)
		d = ia[9] - ib[9];
	if (d == 0)
		d = memcmp(ia + 12, ib + 12, 8);
	if (d == 0)
		d = (ports_of(a) > ports_of(b)) - (ports_of(a) < ports_of(b));
	return d != 0 ? d : (a > b) - (a < b);
}

/* Errors that the router makes are numbered in the order of making, which across flows may be
 * another one. */
static void normalize(struct outcome *o, struct record **order)
{
	for (unsigned i = 0; i < o->n; i++) {
		struct record *r = &o->log[i];
		uint8_t *ip = r->bytes + (datagram(r) - r->bytes);

		order[i] = r;
		if (ip[9] == IPPROTO_ICMP && (ip[20] == 3 || ip[20] == 11))
			memset(ip + 4, 0, 2), memset(ip + 10, 0, 2);
	}
	qsort(order, o->n, sizeof(*order), by_flow);
}

static int by_bytes(const void *pa, const void *pb)
{
	const struct record *a = *(struct record *const *)pa, *b = *(struct record *const *)pb;

	return memcmp(a, b, sizeof(*a));
}

static int session_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct nat_session_info));
}

static void same_outcome(struct outcome *off, struct outcome *on, unsigned trial)
{
	struct record *a[LOG_MAX], *b[LOG_MAX];

	if (off->n != on->n)
		fail_msg("trial %u: %u frames, %u without merging", trial, on->n, off->n);
	normalize(off, a);
	normalize(on, b);
	for (unsigned i = 0, to; i < off->n; i = to) { /* those of no flow: as a set */
		for (to = i + 1; to < off->n && of_no_flow(a[i]) && of_no_flow(a[to]); to++)
			;
		if (to - i > 1) {
			qsort(a + i, to - i, sizeof(*a), by_bytes);
			qsort(b + i, to - i, sizeof(*b), by_bytes);
		}
	}
	for (unsigned i = 0; i < off->n; i++) {
		if (memcmp(a[i], b[i], sizeof(*a[i])) == 0)
			continue;
		for (unsigned k = 0; k < a[i]->len || k < b[i]->len; k++) {
			if (a[i]->bytes[k] != b[i]->bytes[k])
				fail_msg("trial %u: frame %u of %u bytes differs at byte %u: %02x, "
					 "%02x without merging",
					 trial, i, a[i]->len, k, b[i]->bytes[k], a[i]->bytes[k]);
		}
		fail_msg("trial %u: frame %u: at %u with %u bytes to %u, without merging at %u "
			 "with %u to %u",
			 trial, i, b[i]->where, b[i]->len, b[i]->nh, a[i]->where, a[i]->len,
			 a[i]->nh);
	}
	assert_memory_equal(off->counters, on->counters, sizeof(off->counters));
	for (unsigned e = 0; e < FWD_E_gro_merged; e++) {
		if (e == FWD_E_handovers && on->events[FWD_E_tso_packets] > 0)
			assert_true(on->events[e] <= off->events[e]); /* a whole one is one */
		else
			assert_int_equal(off->events[e], on->events[e]);
	}
	assert_int_equal(off->n_sessions, on->n_sessions);
	qsort(off->sessions, off->n_sessions, sizeof(off->sessions[0]), session_order);
	qsort(on->sessions, on->n_sessions, sizeof(on->sessions[0]), session_order);
	assert_memory_equal(off->sessions, on->sessions, sizeof(off->sessions));
}

static void test_random_traffic_leaves_as_without_merging(void **state)
{
	/* buffers that a device that cuts takes in a packet */
	static const uint16_t limits[] = {UINT16_MAX, 20, 7, 4};
	static const uint8_t modes[] = {IFACE_GRO, IFACE_GRO | IFACE_GRO_UDP,
					IFACE_GRO | IFACE_GRO_UDP | IFACE_GRO_ALWAYS,
					IFACE_GRO | IFACE_GRO_UDP | IFACE_GRO_COUNTED,
					IFACE_GRO | IFACE_GRO_COUNTED};
	static const uint16_t mtus[] = {1500, 1500, 1400, 600};
	static struct outcome off, on, tso, late;
	const char *wish = getenv("GRO_TRIALS"), *seed = getenv("GRO_SEED");
	unsigned trials = wish != NULL ? (unsigned)atoi(wish) : 2000;
	unsigned first = seed != NULL ? (unsigned)atoi(seed) : (unsigned)time(NULL);
	uint64_t merged = 0, cut = 0, sent = 0, bad = 0, whole = 0, held = 0, merged_late = 0;
	uint64_t merged_udp = 0;

	(void)state;
	print_message("seed %u\n", first);
	for (unsigned t = 0; t < trials; t++) {
		struct segment flows[FLOWS], now[FLOWS], s[FWD_BURST];
		unsigned n = 1 + (unsigned)rand() % FWD_BURST, n_flows, w;
		uint64_t received = 0;
		bool nat, udp;

		srand(first + t);
		n = 1 + (unsigned)rand() % FWD_BURST;
		n_flows = 1 + (unsigned)rand() % FLOWS;
		nat = !chance(4);
		w = chance(4);
		udp = chance(4); /* nothing else, but what draw() makes of it */
		for (unsigned i = 0; i < FLOWS; i++) {
			flows[i] = random_flow(i);
			if (udp)
				flows[i].flow.proto = IPPROTO_UDP;
			now[i] = flows[i];
		}
		for (unsigned i = 0; i < n; i++) {
			struct segment *from = &now[(unsigned)rand() % n_flows];

			if (i > 0 && !chance(3)) /* trains, as senders make them */
				from = &now[s[i - 1].iface == WAN ? s[i - 1].flow.dport % FLOWS
								  : s[i - 1].flow.sport % FLOWS];
			s[i] = draw(from);
			received += s[i].payload +
				    s[i].tcp_options *
					    4u; /* whose length may be wrong, so they are payload */
		}
		snap->ifaces[WAN].mtu = mtus[(unsigned)rand() % RTE_DIM(mtus)];
		set_gro(0);
		play(s, n, flows, nat, w, FWD_BURST, &off);
		set_gro(modes[t % RTE_DIM(modes)]);
		play(s, n, flows, nat, w, FWD_BURST, &on);
		same_outcome(&off, &on, first + t);
		assert_true(on.events[FWD_E_gro_payload_bytes_summed] <= received);
		/* A device that vouches for what is damaged makes damage good where another one
		 * makes the checksums: it is not believed here. */
		set_gro(modes[t % RTE_DIM(modes)] | IFACE_GRO_ALWAYS);
		set_tso(limits[t % RTE_DIM(limits)], t % 8 < 4);
		play(s, n, flows, nat, w, FWD_BURST, &tso);
		same_outcome(&off, &tso, first + t);
		assert_true(tso.events[FWD_E_gro_payload_bytes_summed] <= received);
		set_tso(0, false);
		set_gro(modes[t % RTE_DIM(modes)]);
		set_wait(1000);
		play(s, n, flows, nat, w, 1 + t % 24, &late);
		set_wait(0);
		same_outcome(&off, &late, first + t);
		assert_true(late.events[FWD_E_gro_payload_bytes_summed] <= received);
		held += late.events[FWD_E_gro_held];
		merged_late += late.events[FWD_E_gro_merged];
		whole += tso.events[FWD_E_tso_packets];
		merged += on.events[FWD_E_gro_merged];
		merged_udp += udp ? on.events[FWD_E_gro_merged] : 0;
		cut += on.events[FWD_E_cut_segments];
		bad += on.events[FWD_E_gro_bad_checksum];
		sent += on.n;
	}
	print_message("%lu packets merged of %lu segments, %lu bad, %lu frames left; %lu of them "
		      "left whole with TSO\n",
		      merged, cut, bad, sent, whole);
	print_message("%lu segments waited for others, %lu packets merged of them and of others\n",
		      held, merged_late);
	print_message("%lu packets merged where all flows are UDP\n", merged_udp);
	assert_true(merged > trials && cut > 2 * merged && bad > 0 && whole > trials / 4);
	assert_true(merged_udp > trials / 4);
	assert_true(held > trials && merged_late > trials);
	snap->ifaces[WAN].mtu = 1500;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random_traffic_leaves_as_without_merging,
						fresh, router_no_leak),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
