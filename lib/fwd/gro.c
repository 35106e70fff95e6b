/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_malloc.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "gro.h"

#define TABLE_SIZE 128 /* at least twice the flows of a burst */
#define TABLE_BITS 7
#define NO_NEXT	   UINT8_MAX

_Static_assert(TABLE_SIZE == 1 << TABLE_BITS && TABLE_SIZE >= 2 * FWD_BURST,
	       "the table never fills");
_Static_assert(FWD_BURST <= 64, "a bit for each packet");

#define FLAGS_END  (RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG) /* last in a merged packet */
#define FLAGS_NONE (RTE_TCP_SYN_FLAG | RTE_TCP_RST_FLAG | RTE_TCP_URG_FLAG)
/* may differ between the segments of one packet */
#define FLAGS_OWN (FLAGS_END | RTE_TCP_CWR_FLAG)

/* Segments of TCP, or datagrams of UDP, that stand behind each other, by their headers. */
struct run {
	struct nat_key key;
	const uint8_t *ip, *l4; /* headers of the first */
	uint16_t iface;
	uint32_t next_seq; /* of TCP */
	struct ip4_ids ids;
	uint16_t payload;    /* bytes of the first, and of all but the last */
	uint16_t total;	     /* length of the datagram that they become */
	uint8_t first, last; /* packets */
	uint8_t n;
	uint8_t at; /* in the table */
	bool open;  /* may still grow */
	/* has what no device makes: a segment in several buffers, or a checksum of 0xffff, which
	 * is right but not what summing gives */
	bool odd;
} __rte_aligned(64);

/* Work on one burst, and what is in front of it because it waited. One for each worker. */
struct gro_work {
	struct worker *w;
	struct pkt *pkts;
	unsigned n, n_runs, n_sum;
	unsigned n_seen;     /* packets that are in their runs already; 0: nothing is set */
	uint8_t iface_flags; /* of all interfaces that packets came in by, together */
	uint64_t wanted;     /* by packet, a bit each: looked at before anything merges; */
	uint64_t bad;	     /* its checksum is wrong; */
	uint64_t absorbed;   /* now part of another */
	/* by packet: the sum of its transport and pseudo-header, not folded */
	uint64_t head[FWD_BURST];
	uint8_t next[FWD_BURST]; /* by packet: the one behind it in its run */
	uint8_t sum[FWD_BURST];	 /* n_sum packets to be summed */
	struct run runs[FWD_BURST];
	uint8_t table[TABLE_SIZE]; /* by flow: 0, or 1 + its last run */
};

/* Bytes of the transport header. */
static inline unsigned header_len(const struct pkt *p)
{
	return unlikely(pkt_is_udp(p)) ? sizeof(struct rte_udp_hdr) : (p->nat.l4[12] >> 4) * 4u;
}

/* Where its checksum is. */
static inline uint8_t *check_of(const struct pkt *p)
{
	return p->nat.l4 + (unlikely(pkt_is_udp(p)) ? offsetof(struct rte_udp_hdr, dgram_cksum)
						    : offsetof(struct rte_tcp_hdr, cksum));
}

static inline uint64_t bit(unsigned i)
{
	return UINT64_C(1) << i;
}

/* ---- who stands behind whom ------------------------------------------------------------------ */

static inline bool same_flow(const struct run *r, const struct nat_pkt *p)
{
	return (ip4_flow_differs(&r->key, &p->key) | (uint64_t)(r->iface ^ p->iface)) == 0;
}

/* The last run of the packet's flow; NULL: none. Its place in the table. */
static inline struct run *find_run(struct gro_work *k, const struct nat_pkt *p, unsigned *at)
{
	for (*at = (unsigned)(ip4_flow_hash(&p->key) >> (64 - TABLE_BITS)); k->table[*at] != 0;
	     *at = (*at + 1) % TABLE_SIZE) {
		struct run *r = &k->runs[k->table[*at] - 1];

		if (likely(same_flow(r, p)))
			return r;
	}
	return NULL;
}

/* As ip4_differs(). UDP's header says nothing but ports, which are the flow's. */
static inline uint64_t tcp_differs(const struct run *r, const struct pkt *p, unsigned hlen)
{
	/* acknowledgement, header length, flags, window */
	static const uint8_t tcp_8[8] = {0xff, 0xff, 0xff, 0xff, 0xff, (uint8_t)~FLAGS_OWN,
					 0xff, 0xff};
	/* urgent pointer */
	static const uint8_t tcp_16[4] = {0, 0, 0xff, 0xff};
	const uint8_t *tcp = p->nat.l4, *tcp0 = r->l4;
	uint64_t d;

	d = (load8(tcp + 8) ^ load8(tcp0 + 8)) & load8(tcp_8);
	d |= (load4(tcp + 16) ^ load4(tcp0 + 16)) & load4(tcp_16);
	if (likely(d == 0)) /* their lengths are the same */
		for (unsigned i = sizeof(struct rte_tcp_hdr); i < hlen; i += 4)
			d |= load4(tcp + i) ^ load4(tcp0 + i);
	return d;
}

/* Does p continue run r, so that a cut gives both back? */
static inline bool continues(const struct run *r, const struct pkt *p, unsigned hlen,
			     unsigned payload)
{
	uint64_t no = ip4_differs(r->ip, p) | ip4_ids_differ(&r->ids, p->nat.ip);

	if (likely(!pkt_is_udp(p))) {
		no |= tcp_differs(r, p, hlen);
		no |= p->nat.tcp_flags & RTE_TCP_CWR_FLAG; /* only on the first */
		no |= rte_be_to_cpu_32(load4(p->nat.l4 + 4)) ^ r->next_seq;
	}
	no |= (payload > r->payload) | (r->total + payload > UINT16_MAX);
	return no == 0;
}

/* The sum of all that a segment's checksum covers but its payload, not folded. */
static inline uint64_t head_acc(const struct pkt *p, unsigned hlen)
{
	const uint8_t *l4 = p->nat.l4;
	uint64_t acc = ip4_pseudo_acc(p);

	if (unlikely(pkt_is_udp(p)))
		return acc + csum_load(l4) + csum_load(l4 + 4);
	acc += csum_20_acc(l4);
	for (unsigned i = sizeof(struct rte_tcp_hdr); i < hlen; i += 4)
		acc += csum_load(l4 + i);
	return acc;
}

/* Before anything merges: the device's word where it gives one, else the payload is read, once. */
static inline void want(struct gro_work *k, unsigned i)
{
	const struct pkt *p = &k->pkts[i];
	uint64_t word = p->m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	k->wanted |= bit(i);
	if (word == 0 || word == RTE_MBUF_F_RX_L4_CKSUM_NONE ||
	    (k->w->snap->ifaces[p->nat.iface].flags & IFACE_GRO_ALWAYS))
		k->sum[k->n_sum++] = (uint8_t)i;
	else if (word == RTE_MBUF_F_RX_L4_CKSUM_BAD)
		k->bad |= bit(i);
}

static inline bool is_odd(const struct pkt *p)
{
	return (p->m->nb_segs > 1) | (load2(check_of(p)) == 0xffff);
}

/* A new run at its place in the table. */
static inline struct run *begin(struct gro_work *k, unsigned i, unsigned at, unsigned payload)
{
	struct run *r = &k->runs[k->n_runs++];
	const struct pkt *p = &k->pkts[i];

	k->table[at] = (uint8_t)k->n_runs;
	*r = (struct run){
		.at = (uint8_t)at,
		.key = p->nat.key,
		.ip = p->nat.ip,
		.l4 = p->nat.l4,
		.iface = p->nat.iface,
		.next_seq = rte_be_to_cpu_32(load4(p->nat.l4 + 4)) + payload,
		.payload = (uint16_t)payload,
		.total = p->len,
		.first = (uint8_t)i,
		.last = (uint8_t)i,
		.n = 1,
		.open = !(p->nat.tcp_flags & FLAGS_END),
	};
	ip4_ids_begin(&r->ids, r->ip);
	return r;
}

static inline void append(struct gro_work *k, struct run *r, unsigned i, unsigned hlen,
			  unsigned payload)
{
	const struct pkt *p = &k->pkts[i];

	if (r->n++ == 1) {
		r->odd = is_odd(&k->pkts[r->first]);
		k->head[r->first] = head_acc(&k->pkts[r->first], hlen);
		want(k, r->first);
	}
	k->head[i] = head_acc(p, hlen);
	want(k, i);
	r->odd |= is_odd(p);
	ip4_ids_go_on(&r->ids, p->nat.ip);
	r->next_seq += payload;
	r->total = (uint16_t)(r->total + payload);
	k->next[r->last] = (uint8_t)i;
	r->last = (uint8_t)i;
	r->open = payload == r->payload && !(p->nat.tcp_flags & FLAGS_END);
}

/* UDP: is there a checksum, over all that is there? What follows a datagram in its packet is in
 * none.
 */
static inline bool udp_whole(const struct pkt *p)
{
	const uint8_t *udp = p->nat.l4;

	return load2(udp + 4) == rte_cpu_to_be_16(p->nat.l4_len) && load2(udp + 6) != 0;
}

/* Has p, with this much payload, what can be merged by itself? */
static inline bool may_merge(const struct pkt *p, unsigned hlen, unsigned payload)
{
	/* data of an established connection that says nothing urgent */
	bool yes = likely(!pkt_is_udp(p)) ? (p->nat.tcp_flags & (FLAGS_NONE | RTE_TCP_ACK_FLAG)) ==
						    RTE_TCP_ACK_FLAG
					  : udp_whole(p);

	return yes && payload != 0 && p->nat.l4_avail >= hlen && !parse_large(p->m);
}

/* By headers alone, no payload is touched, of the packets that were not seen yet. Whatever of a
 * flow does not continue its run ends it, so order within a flow stays. */
static void find_runs(struct gro_work *k)
{
	uint16_t iface = FWD_IFACE_NONE;
	struct run *r = NULL; /* the last packet's, which the next one often continues */
	uint8_t flags = 0;

	for (unsigned i = k->n_seen; i < k->n; i++) {
		const struct pkt *p = &k->pkts[i];
		unsigned at, hlen, payload;

		if (unlikely(p->nat.iface != iface)) {
			iface = p->nat.iface;
			flags = k->w->snap->ifaces[iface].flags;
			k->iface_flags |= flags;
		}
		if (p->nat.key.proto != IPPROTO_TCP && !(pkt_is_udp(p) && (flags & IFACE_GRO_UDP)))
			continue;
		if (unlikely((p->nat.flags & NAT_PKT_FRAGMENT) || p->l4_drop != 0)) {
			/* whose it is it does not say: ends all */
			memset(k->table, 0, sizeof(k->table));
			for (unsigned j = 0; j < k->n_runs; j++)
				k->runs[j].open = false;
			r = NULL;
			continue;
		}
		if (!(flags & IFACE_GRO))
			continue;
		if (r == NULL || !same_flow(r, &p->nat))
			r = find_run(k, &p->nat, &at);
		else
			at = r->at;
		k->next[i] = NO_NEXT;
		hlen = header_len(p);
		payload = p->nat.l4_len - hlen;
		if (!may_merge(p, hlen, payload)) {
			if (r != NULL)
				r->open = false;
		} else if (r != NULL && r->open && continues(r, p, hlen, payload)) {
			append(k, r, i, hlen, payload);
		} else {
			if (r != NULL)
				r->open = false;
			r = begin(k, i, at, payload);
		}
	}
}

/* ---- validation ------------------------------------------------------------------------------ */

/* Where the segments that do not merge are to be looked at as well. */
static void want_all(struct gro_work *k)
{
	for (unsigned i = 0; i < k->n; i++) {
		const struct pkt *p = &k->pkts[i];
		uint8_t flags = k->w->snap->ifaces[p->nat.iface].flags;

		if ((k->wanted & bit(i)) || !(flags & IFACE_GRO_COUNTED) ||
		    (p->nat.flags & NAT_PKT_FRAGMENT) || p->l4_drop != 0)
			continue;
		if (p->nat.key.proto == IPPROTO_TCP
			    ? p->nat.l4_avail >= header_len(p)
			    : pkt_is_udp(p) && (flags & IFACE_GRO_UDP) && udp_whole(p))
			want(k, i);
	}
}

/* Sums the segments that nobody vouches for, header and payload in one go. */
static void sum_wanted(struct gro_work *k)
{
	struct csum_iov v[FWD_BURST];
	csum_sum_t sums[FWD_BURST];
	uint64_t bytes = 0;

	for (unsigned j = 0; j < k->n_sum; j++) {
		const struct pkt *p = &k->pkts[k->sum[j]];

		sums[j] = csum_fold64(ip4_pseudo_acc(p));
		v[j] = (struct csum_iov){.base = p->nat.l4, .len = p->nat.l4_len};
		bytes += p->nat.l4_len - header_len(p);
		if (unlikely(p->m->nb_segs > 1)) {
			sums[j] = csum_add(sums[j], parse_l4_sum(p));
			v[j].len = 0;
		}
	}
	csum_partial_batch(v, sums, k->n_sum);
	for (unsigned j = 0; j < k->n_sum; j++) {
		if (unlikely(csum_fold(sums[j]) != 0))
			k->bad |= bit(k->sum[j]);
	}
	k->w->counters->events[FWD_E_gro_payload_bytes_summed] += bytes;
}

static void count_bad(const struct gro_work *k)
{
	for (uint64_t left = k->bad; left != 0; left &= left - 1) {
		const struct pkt *p = &k->pkts[__builtin_ctzll(left)];

		k->w->counters->iface[p->nat.iface].bad_checksums++;
		k->w->counters->events[FWD_E_gro_bad_checksum]++;
	}
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Makes the header of packet i that of the n segments from i to last; payloads: the sum of theirs.
 */
static inline void make(struct gro_work *k, struct gro *g, const struct run *r, unsigned i,
			unsigned last, unsigned n, struct rte_mbuf **segments, uint16_t total,
			csum_sum_t payloads)
{
	struct gro_merged *d = &g->merged[g->n++];
	struct pkt *p = &k->pkts[i];
	uint8_t *l4 = p->nat.l4, *check = check_of(p);
	csum_be_t l4_check = load2(check);
	uint8_t tcp_flags = p->nat.tcp_flags; /* UDP: 0 */
	bool udp = pkt_is_udp(p);
	csum_sum_t sum;

	*d = (struct gro_merged){
		.segments = segments,
		.n = (uint8_t)n,
		/* drivers differ about CWR */
		.like_tso = !udp && !r->odd && !(tcp_flags & RTE_TCP_CWR_FLAG) &&
			    ip4_like_tso(&r->ids, p),
		.tcp_flags = tcp_flags,
		.len = p->len,
		.l4_check = l4_check,
	};
	p->len = total;
	p->nat.l4_len = (uint16_t)(total - p->ihl);
	ip4_lengthen(p->nat.ip, total, &d->checks);
	if (unlikely(udp)) {
		store2(l4 + offsetof(struct rte_udp_hdr, dgram_len),
		       rte_cpu_to_be_16(p->nat.l4_len));
	} else {
		l4[13] |= k->pkts[last].nat.tcp_flags & FLAGS_END;
		p->nat.tcp_flags = l4[13];
	}
	store2(check, 0);
	/* of bytes that are not all zero */
	sum = csum_add(csum_fold64(head_acc(p, header_len(p))), payloads);
	l4_check = (csum_be_t)~csum_delta_from_sum(sum);
	d->merged_l4_check = unlikely(udp) ? csum_udp_zero(l4_check) : l4_check;
	store2(check, d->merged_l4_check);
}

/* Merges the segments of run r, but where a bad one parts them. */
static void merge(struct gro_work *k, struct gro *g, const struct run *r, struct rte_mbuf ***end)
{
	unsigned next;

	for (unsigned i = r->first; i != NO_NEXT; i = next) {
		struct rte_mbuf **segments = *end;
		/* what the headers of segments at even and at odd offsets add up to */
		uint64_t heads[2] = {k->head[i], 0};
		unsigned n = 1, last = i;
		csum_sum_t sum;

		next = k->next[i];
		if (unlikely(k->bad & bit(i)))
			continue;
		segments[0] = k->pkts[i].m;
		for (; next != NO_NEXT && likely(!(k->bad & bit(next))); next = k->next[next]) {
			heads[n & r->payload & 1] += k->head[next];
			k->absorbed |= bit(next);
			last = next;
			segments[n++] = k->pkts[next].m;
		}
		if (n < 2)
			continue;
		*end += n;
		/* a checksum that is right tells the sum of the payload under it: that of the
		 * headers, complemented */
		sum = csum_add(~csum_fold64(heads[0]), csum_block_shift(~csum_fold64(heads[1]), 1));
		make(k, g, r, i, last, n, segments,
		     (uint16_t)(k->pkts[i].len + (n - 2) * r->payload + k->pkts[last].nat.l4_len -
				header_len(&k->pkts[last])),
		     sum);
		g->of[i] = (uint8_t)g->n;
	}
}

/* All n packets into their runs. */
static struct gro_work *see(struct worker *w, struct pkt *pkts, unsigned n)
{
	struct gro_work *k = w->gro;

	k->w = w;
	k->pkts = pkts;
	k->n = n;
	if (k->n_seen == 0) {
		k->n_runs = k->n_sum = 0;
		k->iface_flags = 0;
		k->wanted = k->bad = k->absorbed = 0;
		memset(k->table, 0, sizeof(k->table));
	}
	find_runs(k);
	k->n_seen = n;
	return k;
}

uint64_t gro_open(struct worker *w, struct pkt *pkts, unsigned n)
{
	const struct gro_work *k = see(w, pkts, n);
	uint64_t open = 0;

	for (unsigned j = 0; j < k->n_runs; j++) {
		const struct run *r = &k->runs[j];

		if (!r->open || r->total + r->payload > UINT16_MAX ||
		    w->snap->ifaces[r->iface].gro_us == 0)
			continue;
		for (unsigned i = r->first; i != NO_NEXT; i = k->next[i])
			open |= bit(i);
	}
	return open;
}

void gro_forget(struct worker *w)
{
	w->gro->n_seen = 0;
}

struct gro_work *gro_create(void)
{
	return rte_zmalloc("gro", sizeof(struct gro_work), RTE_CACHE_LINE_SIZE);
}

unsigned gro_burst(struct worker *w, struct pkt *pkts, unsigned n, struct gro *g)
{
	struct rte_mbuf **end = g->segments;
	struct gro_work *k = see(w, pkts, n);
	unsigned left = 0;

	g->n = 0;
	k->n_seen = 0;
	if (unlikely(k->iface_flags & IFACE_GRO_COUNTED))
		want_all(k);
	if (k->wanted == 0)
		return n;
	if (k->n_sum > 0)
		sum_wanted(k);
	if (unlikely(k->bad != 0))
		count_bad(k);
	memset(g->of, 0, sizeof(g->of));
	for (unsigned j = 0; j < k->n_runs; j++) {
		if (k->runs[j].n > 1)
			merge(k, g, &k->runs[j], &end);
	}
	w->counters->events[FWD_E_gro_merged] += g->n;
	if (g->n == 0)
		return n;
	for (uint64_t stay = (UINT64_MAX >> (64 - n)) & ~k->absorbed; stay != 0; stay &= stay - 1) {
		unsigned i = (unsigned)__builtin_ctzll(stay);

		if (left != i) {
			pkts[left] = pkts[i];
			g->of[left] = g->of[i];
		}
		left++;
	}
	return left;
}
