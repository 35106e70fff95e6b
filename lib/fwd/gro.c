/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_ip.h>
#include <rte_tcp.h>

#include "gro.h"

#define TABLE_SIZE 128 /* at least twice the flows of a burst */
#define TABLE_BITS 7
#define NO_NEXT	   UINT8_MAX

_Static_assert(TABLE_SIZE == 1 << TABLE_BITS && TABLE_SIZE >= 2 * FWD_BURST,
	       "the table never fills");

#define FLAGS_END  (RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG) /* last in a merged packet */
#define FLAGS_NONE (RTE_TCP_SYN_FLAG | RTE_TCP_RST_FLAG | RTE_TCP_URG_FLAG)
#define FLAGS_OWN  (FLAGS_END | RTE_TCP_CWR_FLAG) /* may differ between the segments of one packet \
						   */

/* Segments that stand behind each other, by their headers; the first one's are in its packet. */
struct run {
	uint32_t next_seq;
	uint16_t next_id;
	uint16_t payload;    /* bytes of the first, and of all but the last */
	uint16_t total;	     /* IPv4 total length of them all */
	uint8_t first, last; /* packets */
	uint8_t n;
	int8_t id_step; /* IPv4 id from one to the next: 1, 0 (with DF), or -1 while there is only
			   one */
	bool open;	/* may still grow */
};

/* Work on one burst. */
struct work {
	struct pkt *pkts;
	unsigned n;
	unsigned n_runs;
	struct run runs[FWD_BURST];
	uint8_t next[FWD_BURST];   /* by packet: the one behind it in its run */
	uint8_t table[TABLE_SIZE]; /* by flow: 0, or 1 + its last run */
	bool bad[FWD_BURST];	   /* by packet: its TCP checksum is wrong */
	bool absorbed[FWD_BURST];
	csum_sum_t payload_sum[FWD_BURST];
};

static inline uint32_t load4(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint16_t load2(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store2(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline unsigned header_len(const uint8_t *tcp)
{
	return (tcp[12] >> 4) * 4u;
}

static inline unsigned payload_len(const struct pkt *p)
{
	return p->nat.l4_len - header_len(p->nat.l4);
}

/* ---- who stands behind whom ------------------------------------------------------------------ */

static inline unsigned slot_of(const struct nat_key *key)
{
	uint64_t a, b;

	memcpy(&a, key, sizeof(a));
	memcpy(&b, (const uint8_t *)key + sizeof(a), sizeof(b));
	return (unsigned)(((a ^ b * 0x9e3779b97f4a7c15ull) * 0xc2b2ae3d27d4eb4full) >>
			  (64 - TABLE_BITS));
}

static inline bool same_flow(const struct nat_pkt *a, const struct nat_pkt *b)
{
	return memcmp(&a->key, &b->key, sizeof(a->key)) == 0 && a->iface == b->iface;
}

/* Data of an established connection that says nothing urgent: the only segments that merge. */
static inline bool mergeable(const struct pkt *p)
{
	const uint8_t *tcp = p->nat.l4;

	return (tcp[13] & (FLAGS_NONE | RTE_TCP_ACK_FLAG)) == RTE_TCP_ACK_FLAG &&
	       payload_len(p) > 0 && p->nat.l4_avail >= header_len(tcp) && !parse_large(p->m);
}

/* Do the headers of p say that it continues run r, so that a cut gives both back? What Linux's GRO
 * compares: all but the IPv4 length, id and checksum, and of TCP the sequence number, checksum, and
 * of the flags PSH, FIN and CWR. */
static bool continues(const struct run *r, const struct pkt *first, const struct pkt *p)
{
	const uint8_t *ip = p->nat.ip, *ip0 = first->nat.ip, *tcp = p->nat.l4,
		      *tcp0 = first->nat.l4;
	unsigned thl = header_len(tcp), payload = payload_len(p);
	uint16_t id = rte_be_to_cpu_16(load2(ip + 4)), step = (uint16_t)(id - r->next_id + 1);
	uint16_t df = ip[6] & (RTE_IPV4_HDR_DF_FLAG >> 8);
	uint32_t differs;

	differs = load2(ip) ^ load2(ip0); /* version, header length, TOS and ECN */
	differs |= (uint32_t)(load2(ip + 6) ^ load2(ip0 + 6)); /* DF */
	differs |= (uint32_t)(load2(ip + 8) ^ load2(ip0 + 8)); /* TTL, protocol */
	for (unsigned i = sizeof(struct rte_ipv4_hdr); i < p->ihl; i += 4)
		differs |= load4(ip + i) ^ load4(ip0 + i);
	differs |= load4(tcp + 8) ^ load4(tcp0 + 8); /* acknowledgement */
	differs |= (uint32_t)(tcp[12] ^ tcp0[12]);   /* header length */
	differs |= (uint32_t)((tcp[13] ^ tcp0[13]) & ~FLAGS_OWN);
	differs |= tcp[13] & RTE_TCP_CWR_FLAG;			   /* only on the first */
	differs |= (uint32_t)(load2(tcp + 14) ^ load2(tcp0 + 14)); /* window */
	differs |= (uint32_t)(load2(tcp + 18) ^ load2(tcp0 + 18)); /* urgent pointer */
	differs |= rte_be_to_cpu_32(load4(tcp + 4)) ^ r->next_seq;
	if (differs != 0)
		return false;
	for (unsigned i = sizeof(struct rte_tcp_hdr); i < thl; i += 4)
		differs |= load4(tcp + i) ^ load4(tcp0 + i);
	if (differs != 0)
		return false;
	if (step > 1 || (step == 0 && df == 0) || (r->id_step >= 0 && step != r->id_step))
		return false;
	return payload <= r->payload && r->total + payload <= UINT16_MAX;
}

static void begin(struct work *k, unsigned i, uint8_t *slot)
{
	struct run *r = &k->runs[k->n_runs++];
	const struct pkt *p = &k->pkts[i];
	const uint8_t *tcp = p->nat.l4;

	*slot = (uint8_t)k->n_runs;
	*r = (struct run){
		.next_seq = rte_be_to_cpu_32(load4(tcp + 4)) + payload_len(p),
		.next_id = (uint16_t)(rte_be_to_cpu_16(load2(p->nat.ip + 4)) + 1),
		.payload = (uint16_t)payload_len(p),
		.total = p->len,
		.first = (uint8_t)i,
		.last = (uint8_t)i,
		.n = 1,
		.id_step = -1,
		.open = !(tcp[13] & FLAGS_END),
	};
}

static void append(struct work *k, struct run *r, unsigned i)
{
	const struct pkt *p = &k->pkts[i];
	uint16_t id = rte_be_to_cpu_16(load2(p->nat.ip + 4));

	if (r->id_step < 0)
		r->id_step = (int8_t)(uint16_t)(id - r->next_id + 1);
	r->next_id = (uint16_t)(id + 1);
	r->next_seq += payload_len(p);
	r->total = (uint16_t)(r->total + payload_len(p));
	k->next[r->last] = (uint8_t)i;
	r->last = (uint8_t)i;
	r->n++;
	if (payload_len(p) < r->payload || (p->nat.l4[13] & FLAGS_END))
		r->open = false;
}

/* By headers alone, no payload is touched. Whatever of a flow does not continue its run ends it, so
 * order within a flow stays. Returns whether any run has more than one segment. */
static bool find_runs(const struct worker *w, struct work *k)
{
	bool found = false;

	for (unsigned i = 0; i < k->n; i++) {
		const struct pkt *p = &k->pkts[i];
		struct run *r = NULL;
		unsigned at;

		if (p->nat.key.proto != IPPROTO_TCP)
			continue;
		if (unlikely((p->nat.flags & NAT_PKT_FRAGMENT) || p->l4_drop != 0)) {
			memset(k->table, 0,
			       sizeof(k->table)); /* whose it is it does not say: ends all */
			continue;
		}
		if (!(w->snap->ifaces[p->nat.iface].flags & IFACE_GRO))
			continue;
		for (at = slot_of(&p->nat.key); k->table[at] != 0; at = (at + 1) % TABLE_SIZE) {
			r = &k->runs[k->table[at] - 1];
			if (same_flow(&k->pkts[r->first].nat, &p->nat))
				break;
			r = NULL;
		}
		k->next[i] = NO_NEXT;
		if (!mergeable(p)) {
			if (r != NULL)
				r->open = false;
		} else if (r != NULL && r->open && continues(r, &k->pkts[r->first], p)) {
			append(k, r, i);
			found = true;
		} else {
			begin(k, i, &k->table[at]);
		}
	}
	return found;
}

/* ---- validation ------------------------------------------------------------------------------ */

/* The sum of all that a segment's checksum covers but its payload. */
static csum_sum_t head_sum(const struct pkt *p)
{
	return csum_partial(p->nat.l4, header_len(p->nat.l4),
			    csum_pseudo_v4(p->nat.key.src_be, p->nat.key.dst_be, IPPROTO_TCP,
					   p->nat.l4_len));
}

/* Sums the payloads of the packets listed and finds the bad ones among them. */
static void validate_list(struct worker *w, struct work *k, const uint8_t *list, unsigned n)
{
	struct csum_iov v[FWD_BURST];
	csum_sum_t sums[FWD_BURST] = {0};
	uint8_t of[FWD_BURST];
	unsigned n_v = 0;
	uint64_t bytes = 0;

	for (unsigned j = 0; j < n; j++) {
		const struct pkt *p = &k->pkts[list[j]];
		unsigned thl = header_len(p->nat.l4);

		bytes += payload_len(p);
		if (likely(p->m->nb_segs == 1)) {
			of[n_v] = list[j];
			v[n_v++] =
				(struct csum_iov){.base = p->nat.l4 + thl, .len = payload_len(p)};
		} else {
			k->payload_sum[list[j]] =
				csum_sub(parse_l4_sum(p), csum_partial(p->nat.l4, thl, 0));
		}
	}
	csum_partial_batch(v, sums, n_v);
	for (unsigned j = 0; j < n_v; j++)
		k->payload_sum[of[j]] = sums[j];
	for (unsigned j = 0; j < n; j++) {
		unsigned i = list[j];

		k->bad[i] = csum_fold(csum_add(head_sum(&k->pkts[i]), k->payload_sum[i])) != 0;
	}
	w->counters->events[FWD_E_gro_payload_bytes_summed] += bytes;
}

/* Before anything merges: the device's word where it gives one, else the payload is read, once. */
static void validate(struct worker *w, struct work *k)
{
	bool wanted[FWD_BURST] = {false};
	uint8_t list[FWD_BURST];
	unsigned n = 0;

	for (unsigned j = 0; j < k->n_runs; j++) {
		if (k->runs[j].n < 2)
			continue;
		for (unsigned i = k->runs[j].first; i != NO_NEXT; i = k->next[i])
			wanted[i] = true;
	}
	for (unsigned i = 0; i < k->n; i++) {
		const struct pkt *p = &k->pkts[i];
		uint8_t flags = w->snap->ifaces[p->nat.iface].flags;
		uint64_t word = p->m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

		k->bad[i] = false;
		k->absorbed[i] = false;
		if (!wanted[i] &&
		    !((flags & IFACE_GRO_COUNTED) && p->nat.key.proto == IPPROTO_TCP &&
		      !(p->nat.flags & NAT_PKT_FRAGMENT) && p->l4_drop == 0 &&
		      p->nat.l4_avail >= header_len(p->nat.l4)))
			continue;
		if (word == RTE_MBUF_F_RX_L4_CKSUM_GOOD && !(flags & IFACE_GRO_ALWAYS))
			k->payload_sum[i] =
				~head_sum(p); /* which together are a multiple of 0xffff */
		else if (word == RTE_MBUF_F_RX_L4_CKSUM_BAD && !(flags & IFACE_GRO_ALWAYS))
			k->bad[i] = true;
		else
			list[n++] = (uint8_t)i;
	}
	if (n > 0)
		validate_list(w, k, list, n);
	for (unsigned i = 0; i < k->n; i++) {
		if (unlikely(k->bad[i])) {
			w->counters->iface[k->pkts[i].nat.iface].bad_checksums++;
			w->counters->events[FWD_E_gro_bad_checksum]++;
		}
	}
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Makes the header of packet i that of all segments from i to last; sum is that of their payloads.
 */
static void make(struct work *k, struct gro *g, unsigned i, unsigned last, unsigned n,
		 struct rte_mbuf **segments, uint16_t total, csum_sum_t sum)
{
	struct gro_merged *d = &g->merged[g->n++];
	struct pkt *p = &k->pkts[i];
	uint8_t *ip = p->nat.ip, *tcp = p->nat.l4;
	csum_be_t ip_check = load2(ip + 10);

	*d = (struct gro_merged){
		.segments = segments,
		.n = (uint8_t)n,
		.tcp_flags = tcp[13],
		.len = p->len,
		.ip_check = ip_check,
		.l4_check = load2(tcp + 16),
	};
	p->len = total;
	p->nat.l4_len = (uint16_t)(total - p->ihl);
	csum_replace2(&ip_check, load2(ip + 2), rte_cpu_to_be_16(total));
	store2(ip + 2, rte_cpu_to_be_16(total));
	store2(ip + 10, ip_check);
	tcp[13] |= k->pkts[last].nat.l4[13] & FLAGS_END;
	p->nat.tcp_flags = tcp[13];
	store2(tcp + 16, 0);
	store2(tcp + 16, csum_fold(csum_add(head_sum(p), sum)));
	d->merged_ip_check = ip_check;
	d->merged_l4_check = load2(tcp + 16);
}

/* Merges the segments of run r, but where a bad one parts them. */
static void merge(struct work *k, struct gro *g, const struct run *r, struct rte_mbuf ***end)
{
	unsigned next;

	for (unsigned i = r->first; i != NO_NEXT; i = next) {
		const struct pkt *p = &k->pkts[i];
		struct rte_mbuf **segments = *end;
		csum_sum_t sum = k->payload_sum[i];
		unsigned n = 0, last = i, offset = payload_len(p);

		next = k->next[i];
		if (unlikely(k->bad[i]))
			continue;
		segments[n++] = p->m;
		for (; next != NO_NEXT && likely(!k->bad[next]); next = k->next[next]) {
			last = next;
			segments[n++] = k->pkts[next].m;
			sum = csum_block_add(sum, k->payload_sum[next], offset);
			offset += payload_len(&k->pkts[next]);
			k->absorbed[next] = true;
		}
		if (n < 2)
			continue;
		*end += n;
		make(k, g, i, last, n, segments, (uint16_t)(p->len - payload_len(p) + offset), sum);
		g->of[i] = (uint8_t)g->n;
	}
}

unsigned gro_burst(struct worker *w, struct pkt *pkts, unsigned n, struct gro *g)
{
	struct rte_mbuf **end = g->segments;
	bool counted = false;
	struct work k;
	unsigned left = 0;

	k.pkts = pkts;
	k.n = n;
	k.n_runs = 0;
	memset(k.table, 0, sizeof(k.table));
	g->n = 0;
	for (unsigned i = 0; i < n; i++)
		counted |= (w->snap->ifaces[pkts[i].nat.iface].flags & IFACE_GRO_COUNTED) != 0;
	if (!find_runs(w, &k) && !counted)
		return n;
	validate(w, &k);
	memset(g->of, 0, sizeof(g->of));
	for (unsigned j = 0; j < k.n_runs; j++) {
		if (k.runs[j].n > 1)
			merge(&k, g, &k.runs[j], &end);
	}
	w->counters->events[FWD_E_gro_merged] += g->n;
	if (g->n == 0)
		return n;
	for (unsigned i = 0; i < n; i++) {
		if (k.absorbed[i])
			continue;
		if (left != i) {
			pkts[left] = pkts[i];
			g->of[left] = g->of[i];
		}
		left++;
	}
	return left;
}
