#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes test_csum_vectors.h from csum_vectors.json: csum_vectors.py > test_csum_vectors.h

The C tests need no JSON library that way, so they also run on the emulated machines of tests/cross.
"""

import json
import os

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "csum_vectors.json")) as f:
    cases = json.load(f)


def octets(h):
    """A C string literal (hex text) cut into lines."""
    cut = [h[i : i + 80] for i in range(0, len(h), 80)] or [""]
    return "\n\t\t".join('"%s"' % c for c in cut)


def vectors(fn):
    # (those without octets are properties, and tests of their own)
    return [(k, e) for k, v in cases.items() for e in v
            if e["fn"] == fn and "spec" not in e]


print("/* SPDX-License-Identifier: BSD-3-Clause */")
print("/* Made by csum_vectors.py from csum_vectors.json; do not edit. */")
print("#ifndef TEST_CSUM_VECTORS_H\n#define TEST_CSUM_VECTORS_H\n\n#include <stddef.h>\n")

print("/* Checksum of len bytes from start; len -1: all of them. */")
print("static const struct vec_raw {\n\tconst char *id, *hex;\n\tint start, len;\n\tunsigned want;")
print("} vec_raw[] = {")
for k, e in vectors("raw_checksum") + vectors("raw_checksum_at"):
    print('\t{ "%s", %s,\n\t  %d, %d, 0x%04x },' % (
        k, octets(e["hex"]), e.get("start", 0), e.get("len", -1), e["want"]))
print("};\n")

print("/* Checksum over a chain; want -1: an error. */")
print("static const struct vec_chain {\n\tconst char *id, *hex;\n\tint n, segments[100];")
print("\tint off, len, want;\n} vec_chain[] = {")
for k, e in vectors("raw_sum_chain") + vectors("raw_sum_chain_offset"):
    segs = [str(s) for s in e["segments"]]
    text = ",\n\t\t".join(", ".join(segs[i : i + 20]) for i in range(0, len(segs), 20))
    want = e.get("want_checksum", -1)
    print('\t{ "%s", %s,\n\t  %d, { %s },\n\t  %d, %d, %d },' % (
        k, octets(e["hex"]), len(segs), text, e.get("off", 0),
        e.get("len", len(e["hex"]) // 2), want))
print("};\n")

print("static const struct vec_update {\n\tconst char *id;\n\tunsigned hc, old, new, want, never;")
print("} vec_update[] = {")
for k, e in vectors("update16"):
    print('\t{ "%s", 0x%04x, 0x%04x, 0x%04x, 0x%04x, 0x%04x },' % (
        k, e["hc"], e["old"], e["new"], e["want"], e["never"]))
print("};\n")

print("/* want -1: verify says yes. */")
print("static const struct vec_ipv4 {\n\tconst char *id, *hex;\n\tint want;\n} vec_ipv4[] = {")
for k, e in vectors("ipv4_header_checksum") + vectors("ipv4_header_verify"):
    want = e["want"]
    assert want is not False
    print('\t{ "%s", "%s", %d },' % (k, e["hex"], -1 if want is True else want))
print("};\n")

print("/* A whole Ethernet frame, where its IP header is, and whether its sums are right. */")
print("static const struct vec_frame {\n\tconst char *id, *hex;\n\tint l3;\n\tconst char *want;")
print("} vec_frame[] = {")
l3 = {e["hex"]: e["want"] for _, e in vectors("l3_offset")}
for k, e in vectors("validate_frame"):
    off = [w for h, w in l3.items() if e["hex"].startswith(h[:40])]
    print('\t{ "%s", %s,\n\t  %d, "%s" },' % (k, octets(e["hex"]), off[0], e["want"]))
print("};\n\n#endif")
