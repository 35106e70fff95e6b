/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include <rte_common.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_udp.h>

#include "csum.h"
#include "frames.h"

#define FLOWS_OF_HOST 16
#define PORT_STEP                                                                                  \
	4000 /* each flow of a host draws its port from as many of its own, above 1023             \
	      */
#define INSIDE	     0x0a000000u /* 10.0.0.0/8 */
#define INSIDE_FRESH 0x0a800000u
#define OUTSIDE	     0xc6120000u /* 198.18.0.0/15 */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* An odd multiplier makes the numbers of networks all different; those with a meaning of their own
 * are left out. */
uint32_t frames_route(uint32_t r)
{
	for (uint32_t k = r;; k += ROUTES_MAX) {
		uint32_t net = (k * 0x9e3779b1u >> 8) & 0xffffff, first = net >> 16;

		if (first != 0 && first != 10 && first != 100 && first != 127 && first != 172 &&
		    first != 192 && first != 198 && first < 224)
			return net << 8;
	}
}

static rte_be32_t destination(const struct options *o, uint64_t r)
{
	if (o->routes == 1)
		return rte_cpu_to_be_32(OUTSIDE + (uint32_t)(r & 0x1ffff));
	return rte_cpu_to_be_32(frames_route(1 + (uint32_t)((r >> 16) % (o->routes - 1))) +
				(r & 0xff));
}

struct flow frames_flow(const struct options *o, uint32_t i)
{
	uint64_t r = mix(i + 0x1234567ull);

	return (struct flow){
		.src_be = rte_cpu_to_be_32(INSIDE + 2 + i / FLOWS_OF_HOST),
		.dst_be = destination(o, r),
		.sport_be = rte_cpu_to_be_16(
			(uint16_t)(1024 + i % FLOWS_OF_HOST * PORT_STEP + (r >> 48) % PORT_STEP)),
		.dport_be = rte_cpu_to_be_16((uint16_t)(r >> 40 & 1 ? 443 : 53)),
	};
}

struct flow frames_fresh(const struct options *o, uint32_t i)
{
	struct flow f = frames_flow(o, i);

	f.src_be = rte_cpu_to_be_32(INSIDE_FRESH + 2 + i / FLOWS_OF_HOST % 0x7f0000);
	return f;
}

uint16_t frames_len(const struct options *o, uint32_t i)
{
	unsigned r;

	if (o->mode != MODE_MIXED)
		return o->frame;
	r = (unsigned)(mix(i ^ 0xabcdefull) %
		       12); /* IMIX: seven of 60, four of 590, one of 1,514 */
	return r < 7 ? 60 : r < 11 ? 590 : 1514;
}

static inline uint8_t pattern_byte(unsigned at)
{
	return (uint8_t)(at * 37 + 11);
}

void frames_pattern(uint8_t *frame)
{
	for (unsigned i = FRAME_FIXED; i < FRAME_MAX; i++)
		frame[i] = pattern_byte(i);
}

/* The sum of the bytes that follow the head, in a frame of this length. */
static csum_sum_t pattern_sum(uint16_t frame_len)
{
	static csum_sum_t sums[FRAME_MAX + 1];
	static uint8_t bytes[FRAME_MAX];

	if (bytes[FRAME_FIXED] == 0)
		frames_pattern(bytes);
	if (sums[frame_len] == 0 && frame_len > FRAME_FIXED)
		sums[frame_len] = csum_partial(bytes + FRAME_FIXED, frame_len - FRAME_FIXED, 0);
	return sums[frame_len];
}

/* Both checksums, over heads whose other fields are set. */
static void fill_checksums(struct frame_head *h)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)h->bytes;
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	uint16_t l4_len = (uint16_t)(frames_total(h) - sizeof(*ip));
	csum_sum_t sum;

	ip->hdr_checksum = csum_ipv4_header(ip, sizeof(*ip));
	udp->dgram_cksum = 0;
	sum = csum_partial(udp, sizeof(h->bytes) - sizeof(*ip),
			   csum_pseudo_v4(ip->src_addr, ip->dst_addr, IPPROTO_UDP, l4_len));
	sum = csum_block_add(sum, pattern_sum((uint16_t)(l4_len + sizeof(*ip) + RTE_ETHER_HDR_LEN)),
			     sizeof(h->bytes) - sizeof(*ip));
	udp->dgram_cksum = csum_udp_zero(csum_fold(sum));
}

void frames_head(struct frame_head *h, const struct flow *f, uint16_t frame_len)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)h->bytes;
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	uint16_t total = (uint16_t)(frame_len - RTE_ETHER_HDR_LEN);

	memset(h, 0, sizeof(*h));
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16(total);
	ip->packet_id = RTE_BE16(1);
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = f->src_be;
	ip->dst_addr = f->dst_be;
	udp->src_port = f->sport_be;
	udp->dst_port = f->dport_be;
	udp->dgram_len = rte_cpu_to_be_16((uint16_t)(total - sizeof(*ip)));
	for (unsigned i = sizeof(*ip) + sizeof(*udp); i < sizeof(h->bytes); i++)
		h->bytes[i] = pattern_byte(i + RTE_ETHER_HDR_LEN);
	fill_checksums(h);
}

void frames_reply(struct frame_head *h, const struct frame_head *sent)
{
	const struct rte_ipv4_hdr *from = (const struct rte_ipv4_hdr *)sent->bytes;
	const struct rte_udp_hdr *from_udp = (const struct rte_udp_hdr *)(from + 1);
	struct flow f = {
		.src_be = from->dst_addr,
		.dst_be = from->src_addr,
		.sport_be = from_udp->dst_port,
		.dport_be = from_udp->src_port,
	};

	frames_head(h, &f, (uint16_t)(frames_total(sent) + RTE_ETHER_HDR_LEN));
}

bool frames_alloc(struct frames *f, uint32_t n)
{
	*f = (struct frames){.n = n};
	f->heads = rte_malloc("frames", n * sizeof(*f->heads), RTE_CACHE_LINE_SIZE);
	return f->heads != NULL;
}

void frames_free(struct frames *f)
{
	rte_free(f->heads);
	rte_free(f->captured);
	rte_free(f->bytes);
	*f = (struct frames){0};
}

bool frames_fill(struct frames *f, const struct options *o)
{
	if (!frames_alloc(f, o->flows))
		return false;
	for (uint32_t i = 0; i < f->n; i++) {
		struct flow flow = frames_flow(o, i);

		frames_head(&f->heads[i], &flow, frames_len(o, i));
	}
	return true;
}

void frames_shuffle(struct frames *f, uint64_t seed)
{
	if (f->heads == NULL)
		return;
	for (uint32_t i = f->n; i > 1; i--) {
		uint32_t j = (uint32_t)(((mix(seed + i) >> 32) * i) >> 32);
		struct frame_head h = f->heads[i - 1];

		f->heads[i - 1] = f->heads[j];
		f->heads[j] = h;
	}
}

void frames_part(struct frames *f, unsigned (*key)(void *arg, const struct frame_head *h),
		 void *arg, struct frames *part, unsigned n)
{
	uint32_t from = 0;

	for (unsigned k = 0; k < n; k++) {
		part[k] = (struct frames){.heads = f->heads + from};
		for (uint32_t i = from; i < f->n; i++) {
			struct frame_head h = f->heads[i];

			if (key(arg, &h) != k)
				continue;
			f->heads[i] = f->heads[from];
			f->heads[from++] = h;
			part[k].n++;
		}
	}
}

/* ---- captures -------------------------------------------------------------------------------- */

static bool add_frame(struct frames *f, const uint8_t *frame, uint16_t len,
		      const struct rte_ether_addr *dst, size_t *room)
{
	if (f->n % 4096 == 0) {
		f->captured = rte_realloc(f->captured, (f->n + 4096) * sizeof(*f->captured), 0);
		if (f->captured == NULL)
			return false;
	}
	if (f->n_bytes + len > *room) {
		*room = *room * 2 + 65536;
		f->bytes = rte_realloc(f->bytes, *room, RTE_CACHE_LINE_SIZE);
		if (f->bytes == NULL)
			return false;
	}
	f->captured[f->n++] = (struct capture_frame){.at = (uint32_t)f->n_bytes, .len = len};
	memcpy(f->bytes + f->n_bytes, frame, len);
	memcpy(f->bytes + f->n_bytes, dst, sizeof(*dst));
	f->n_bytes += len;
	return true;
}

bool frames_read_pcap(struct frames *f, const char *path, const struct rte_ether_addr *dst)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	pcap_t *pcap = pcap_open_offline(path, why);
	struct pcap_pkthdr *header;
	const uint8_t *frame;
	size_t room = 0;
	bool ok = true;
	int rc = 0;

	*f = (struct frames){0};
	if (pcap == NULL) {
		fprintf(stderr, "tp-perf: %s\n", why);
		return false;
	}
	if (pcap_datalink(pcap) != DLT_EN10MB) {
		fprintf(stderr, "tp-perf: %s: holds no Ethernet frames\n", path);
		pcap_close(pcap);
		return false;
	}
	while (ok && f->n < FLOWS_MAX && f->n_bytes < UINT32_MAX - UINT16_MAX &&
	       (rc = pcap_next_ex(pcap, &header, &frame)) == 1) {
		if (header->caplen != header->len ||
		    header->len < RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr) ||
		    header->len > FRAME_MAX || frame[12] != 0x08 || frame[13] != 0x00)
			continue;
		ok = add_frame(f, frame, (uint16_t)header->len, dst, &room);
	}
	if (!ok)
		fprintf(stderr, "tp-perf: %s: no memory for its frames: reserve more huge pages\n",
			path);
	else if (rc == PCAP_ERROR)
		fprintf(stderr, "tp-perf: %s: %s\n", path, pcap_geterr(pcap));
	else if (f->n == 0)
		fprintf(stderr,
			"tp-perf: %s: holds no whole, untagged IPv4 frame of at most %u bytes\n",
			path, FRAME_MAX);
	pcap_close(pcap);
	return ok && rc != PCAP_ERROR && f->n > 0;
}

bool frames_write_pcap(const struct frames *f, const char *path, const struct rte_ether_addr *dst)
{
	static const struct rte_ether_addr host = {{0x02, 0, 0, 0, 0, 0xaa}};
	uint8_t frame[FRAME_MAX];
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)frame;
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, UINT16_MAX);
	pcap_dumper_t *out = pcap == NULL ? NULL : pcap_dump_open(pcap, path);

	if (out == NULL) {
		fprintf(stderr, "tp-perf: %s\n",
			pcap == NULL ? "no memory for a capture" : pcap_geterr(pcap));
		if (pcap != NULL)
			pcap_close(pcap);
		return false;
	}
	frames_pattern(frame);
	eth->dst_addr = *dst;
	eth->src_addr = host;
	eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t len = RTE_ETHER_HDR_LEN + frames_total(&f->heads[i]);
		struct pcap_pkthdr header = {
			.caplen = len, .len = len, .ts = {.tv_sec = 1, .tv_usec = i % 1000000}};

		memcpy(frame + RTE_ETHER_HDR_LEN, &f->heads[i], sizeof(f->heads[i]));
		pcap_dump((u_char *)out, &header, frame);
	}
	if (pcap_dump_flush(out) != 0) {
		fprintf(stderr, "tp-perf: %s: can't be written\n", path);
		pcap_dump_close(out);
		pcap_close(pcap);
		return false;
	}
	pcap_dump_close(out);
	pcap_close(pcap);
	return true;
}
