#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Machine proof of the arithmetic in lib/csum/csum.h, for all values, both zeros included.

Each function is written down once, below, for z3 bit-vectors. That those are the functions of
csum.h is checked first: the header is compiled, and both are compared on edge and random values.
Then each claim is proved by showing that its negation has no solution.

Needs python3-z3 and a C compiler ($CC, else cc). Exit status 0 when everything is proved.
"""

import ctypes
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time

from z3 import (And, BitVec, BitVecVal, Concat, Extract, If, Implies, LShR, Not, Or, RotateLeft,
                SignExt, Solver, UGE, ULE, ULT, ZeroExt, sat, simplify, unsat)

HERE = os.path.dirname(os.path.abspath(__file__))
CSUM = os.path.join(HERE, "..", "..", "lib", "csum")

# ---- the functions of csum.h -----------------------------------------------------------------


def wide(x, bits):
    return ZeroExt(bits - x.size(), x)


def low(x, bits):
    return Extract(bits - 1, 0, x)


def csum_add(a, b):
    s = a + b
    return s + If(ULT(s, b), BitVecVal(1, 32), BitVecVal(0, 32))


def csum_sub(a, b):
    return csum_add(a, ~b)


def csum_fold64(acc):
    acc = (acc & 0xffffffff) + LShR(acc, 32)
    acc = (acc & 0xffffffff) + LShR(acc, 32)
    return low(acc, 32)


def csum_fold_sum(s):
    s = (s & 0xffff) + LShR(s, 16)
    s = (s & 0xffff) + LShR(s, 16)
    return low(s, 16)


def csum_fold(s):
    return ~csum_fold_sum(s)


def csum_block_shift(block):  # at an odd offset
    return RotateLeft(block, 8)


def csum_delta_from_sum(s):
    d = csum_fold_sum(s)
    return If(d == 0, BitVecVal(0xffff, 16), d)


def csum_delta2(old, new):
    return csum_delta_from_sum(wide(~old, 32) + wide(new, 32))


def csum_delta4(old, new):
    return csum_delta_from_sum(csum_sub(new, old))


def csum_delta16(old, new):  # lists of four
    acc = BitVecVal(4 * 0xffffffff, 64)
    for o, n in zip(old, new):
        acc = acc + wide(n, 64) - wide(o, 64)
    return csum_delta_from_sum(csum_fold64(acc))


def csum_delta_add(a, b):
    return csum_delta_from_sum(wide(a, 32) + wide(b, 32))


def csum_delta_neg(d):
    return csum_delta_from_sum(wide(~d, 32))


def csum_apply(check, d):
    s = wide(~check, 32) + wide(d, 32)
    return low(~(s + LShR(s, 16)), 16)


def csum_udp_zero(check):
    return If(check == 0, BitVecVal(0xffff, 16), check)


def csum_apply_udp(check, d):
    return If(check == 0, BitVecVal(0, 16), csum_udp_zero(csum_apply(check, d)))


# ---- they are the functions of csum.h --------------------------------------------------------

# name: widths of the arguments, width of the result
SIGNATURES = {
    "csum_add": ((32, 32), 32),
    "csum_sub": ((32, 32), 32),
    "csum_fold64": ((64,), 32),
    "csum_fold_sum": ((32,), 16),
    "csum_fold": ((32,), 16),
    "csum_delta_from_sum": ((32,), 16),
    "csum_delta2": ((16, 16), 16),
    "csum_delta4": ((32, 32), 16),
    "csum_delta_add": ((16, 16), 16),
    "csum_delta_neg": ((16,), 16),
    "csum_apply": ((16, 16), 16),
    "csum_udp_zero": ((16,), 16),
    "csum_apply_udp": ((16, 16), 16),
}
TYPES = {16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64}


def edges(width, rng):
    top = (1 << width) - 1
    values = [0, 1, 0xff, 0xff00, 0xfffe, 0xffff, 0x10000, 0x1fffe, top >> 1, top - 1, top]
    return sorted({v & top for v in values} | {rng.randrange(top + 1) for _ in range(6)})


def compare_with_header():
    rng = random.Random(1624)
    with tempfile.TemporaryDirectory() as tmp:
        src, lib = os.path.join(tmp, "h.c"), os.path.join(tmp, "h.so")
        with open(src, "w") as f:
            f.write('#include "csum.h"\n')
            for name, (args, ret) in SIGNATURES.items():
                params = ", ".join("uint%d_t a%d" % (w, i) for i, w in enumerate(args))
                call = ", ".join("a%d" % i for i in range(len(args)))
                f.write("uint%d_t t_%s(%s);\nuint%d_t t_%s(%s) { return %s(%s); }\n" % (
                    ret, name, params, ret, name, params, name, call))
            f.write("uint32_t t_csum_block_shift(uint32_t a);\n"
                    "uint32_t t_csum_block_shift(uint32_t a) { return csum_block_shift(a, 1); }\n"
                    "uint16_t t_csum_delta16(const void *o, const void *n);\n"
                    "uint16_t t_csum_delta16(const void *o, const void *n)"
                    " { return csum_delta16(o, n); }\n")
        cc = os.environ.get("CC", "cc").split()
        srcs = [os.path.join(CSUM, f) for f in sorted(os.listdir(CSUM)) if f.endswith(".c")]
        subprocess.run(cc + ["-std=c11", "-O1", "-shared", "-fPIC", "-I", CSUM, "-o", lib, src]
                       + srcs, check=True)
        so = ctypes.CDLL(lib)
        todo = dict(SIGNATURES)
        todo["csum_block_shift"] = ((32,), 32)
        compared = 0
        for name, (args, ret) in todo.items():
            c = getattr(so, "t_" + name)
            c.argtypes = [TYPES[w] for w in args]
            c.restype = TYPES[ret]
            model = globals()[name]
            for values in itertools.product(*(edges(w, rng) for w in args)):
                m = simplify(model(*(BitVecVal(v, w) for v, w in zip(values, args)))).as_long()
                if m != c(*values):
                    sys.exit("csum_proof: %s%s is %#x here, %#x in csum.h" % (
                        name, values, m, c(*values)))
                compared += 1
        for _ in range(500):
            pair = [[rng.choice([0, 0xffffffff, 0xffff, rng.randrange(1 << 32)])
                     for _ in range(4)] for _ in range(2)]
            arrays = [(ctypes.c_uint32 * 4)(*words) for words in pair]
            m = simplify(csum_delta16(*[[BitVecVal(w, 32) for w in words] for words in pair]))
            if m.as_long() != so.t_csum_delta16(*arrays) & 0xffff:
                sys.exit("csum_proof: csum_delta16(%s) differs in csum.h" % pair)
            compared += 1
    print("the formulas are those of csum.h (%d values compared)" % compared)


# ---- claims ----------------------------------------------------------------------------------

proved = 0


def prove(what, claim):
    global proved
    s = Solver()
    s.set("timeout", 120000)
    s.add(Not(claim))
    start = time.time()
    r = s.check()
    if r == sat:
        sys.exit("csum_proof: NOT TRUE: %s\n  counterexample: %s" % (what, s.model()))
    if r != unsat:
        sys.exit("csum_proof: not decided: %s" % what)
    proved += 1
    print("proved in %5.2f s: %s" % (time.time() - start, what))


def times_ffff(k):  # k * 0xffff without a multiplication
    return (k << 16) - k


def swapped(w):
    return Concat(Extract(7, 0, w), Extract(15, 8, w))


def main():
    compare_with_header()

    a, b, s, t = (BitVec(n, 32) for n in "abst")
    c, d, e, old, new, rest = (BitVec(n, 16) for n in ("c", "d", "e", "old", "new", "rest"))
    acc = BitVec("acc", 64)

    # Folding. s = f + k * 0xffff for some k, so f is s modulo 0xffff; and 0 only from 0.
    f = wide(csum_fold_sum(s), 64)
    quotient = LShR(wide(s, 64), 16) + If(
        UGE((wide(s, 64) & 0xffff) + LShR(wide(s, 64), 16), 0x10000),
        BitVecVal(1, 64), BitVecVal(0, 64))
    prove("csum_fold_sum(s) is s modulo 0xffff",
          wide(s, 64) == f + times_ffff(quotient))
    prove("csum_fold_sum(s) is 0 only for s = 0", (csum_fold_sum(s) == 0) == (s == 0))
    prove("csum_fold64(acc) is acc modulo 2^32 - 1", Or(*[
        wide(acc, 96) == wide(csum_fold64(acc), 96) + (q << 32) - q
        for q in [wide(LShR(acc, 32), 96) + i for i in (0, 1)]]))
    prove("csum_fold64(acc) is 0 only for acc = 0", (csum_fold64(acc) == 0) == (acc == 0))

    # Addition.
    total = wide(a, 64) + wide(b, 64)
    r = wide(csum_add(a, b), 64)
    prove("csum_add(a, b) is a + b modulo 2^32 - 1", Or(total == r, total == r + 0xffffffff))
    prove("csum_add(a, b) is 0 only for 0 + 0", (csum_add(a, b) == 0) == And(a == 0, b == 0))
    prove("csum_sub(a, b) and then csum_add(.., b) gives a, up to the two zeros",
          Or(csum_add(csum_sub(a, b), b) == a,
             And(csum_add(csum_sub(a, b), b) == 0xffffffff, a == 0)))
    # (So folding before or after an addition is the same: both are a + b modulo 0xffff, which
    # divides 2^32 - 1, and both are 0 only for zeros.)

    # Bytes in each other's places.
    prove("a rotation by 8 swaps the bytes of the folded sum",
          csum_fold_sum(csum_block_shift(s)) == swapped(csum_fold_sum(s)))
    v = BitVec("v", 64)
    prove("csum_host_word on little endian: v << 8 is the big-endian number v, in memory order",
          Implies(ULT(v, BitVecVal(1 << 34, 64)),
                  csum_fold_sum(csum_fold64(v << 8)) == swapped(csum_fold_sum(csum_fold64(v)))))

    # The bias of the vector kernels, for one lane and two words.
    x, y = BitVec("x", 16), BitVec("y", 16)
    prove("xor 0x8000, signed addition and 0x10000 added back is unsigned addition",
          a + SignExt(16, x ^ 0x8000) + SignExt(16, y ^ 0x8000) + 0x10000 ==
          a + wide(x, 32) + wide(y, 32))
    # Averages in trees (kernel_vector_body.h): p and q stand for m words each, whose sums are s and t;
    # m * p is too high by at most m * k / 2. One step up it is the same of 2 * m and k + 1, so sixteen
    # words are known within 32.
    p, q = wide(x, 32), wide(y, 32)
    mean = LShR(p + q + 1, 1)
    for k, m in enumerate((1, 2, 4, 8)):
        near = [And(ULE(u, m * w), ULE(m * w - u, m * k // 2)) for u, w in ((s, p), (t, q))]
        prove("an average of %d words, each rounded up, is too high by at most %d of them" % (
            2 * m, m * (k + 1)),
            Implies(And(*near), And(ULE(s + t, 2 * m * mean), ULE(2 * m * mean - (s + t), m * (k + 1)))))
    v = BitVec("v", 64)
    prove("a sum known modulo 2^32, and to be acc or above by less than 2^32, is known",
          Implies(ULT(v - acc, 1 << 32), acc + wide(low(v, 32) - low(acc, 32), 64) == v))
    prove("shift and mask add the two words of a lane",
          LShR(s, 16) + (s & 0xffff) == wide(Extract(31, 16, s), 32) + wide(Extract(15, 0, s), 32))

    # Deltas: canonical, and what they say.
    prove("a delta is never 0", csum_delta_from_sum(s) != 0)
    prove("csum_delta2(m, m) is 0xffff", csum_delta2(old, old) == 0xffff)
    prove("csum_delta4(m, m) is 0xffff", csum_delta4(a, a) == 0xffff)
    prove("old + csum_delta2(old, new) is new, up to the two zeros",
          Or(csum_fold_sum(wide(old, 32) + wide(csum_delta2(old, new), 32)) == new,
             And(new == 0,
                 csum_fold_sum(wide(old, 32) + wide(csum_delta2(old, new), 32)) == 0xffff)))
    prove("a delta undone is no change", csum_delta_add(d, csum_delta_neg(d)) == 0xffff)
    prove("undone twice it is itself",
          Implies(d != 0, csum_delta_neg(csum_delta_neg(d)) == d))
    prove("the delta back is the delta undone",
          csum_delta_neg(csum_delta2(old, new)) == csum_delta2(new, old))
    prove("adding deltas does not depend on their order",
          And(csum_delta_add(c, d) == csum_delta_add(d, c),
              csum_delta_add(csum_delta_add(c, d), e) == csum_delta_add(c, csum_delta_add(d, e))))
    prove("a 32-bit delta is the sum of those of its halves",
          csum_delta4(a, b) == csum_delta_add(
              csum_delta2(Extract(31, 16, a), Extract(31, 16, b)),
              csum_delta2(Extract(15, 0, a), Extract(15, 0, b))))
    # (A 128-bit one, and every sum over a buffer, adds numbers in 64 bits and folds them. By the
    # claims on csum_fold64 and csum_fold_sum the result is their sum modulo 0xffff, since that
    # divides 2^32 - 1, and 0 only for zeros: so it is the sum of the deltas of the parts.)

    # Equation 3 (RFC 1624): an update equals a full computation. `rest` is the folded sum of what
    # does not change.
    def full(*words):
        total = wide(rest, 32)
        for w in words:
            total = total + wide(w, 32)
        return csum_fold(total)

    prove("K1: update equals recomputation for a 16-bit field, any rest but 0",
          Implies(rest != 0, csum_apply(full(old), csum_delta2(old, new)) == full(new)))
    prove("K1: also when zero had arrived spelled 0xffff",
          Implies(And(rest != 0, full(old) == 0),
                  csum_apply(BitVecVal(0xffff, 16), csum_delta2(old, new)) == full(new)))
    # A 32-bit field is two of 16, one after the other: its delta is the sum of theirs (above), a sum
    # of deltas is two updates in turn, and each is the claim above with the other word in the rest.
    prove("K1: a word may be counted to the rest", Implies(
        rest != 0,
        And(csum_fold(wide(csum_fold_sum(wide(rest, 32) + wide(old, 32)), 32) + wide(new, 32)) ==
            full(old, new),
            csum_fold_sum(wide(rest, 32) + wide(old, 32)) != 0)))
    prove("K1: two deltas added are two updates in turn",
          Implies(And(d != 0, e != 0),
                  csum_apply(c, csum_delta_add(d, e)) == csum_apply(csum_apply(c, d), e)))
    prove("K1: with a rest of 0 it is wrong only where all bytes became 0",
          Implies(And(rest == 0, csum_apply(full(old), csum_delta2(old, new)) != full(new)),
                  new == 0))
    prove("K1: an update with a delta never gives 0xffff",
          Implies(d != 0, csum_apply(c, d) != 0xffff))
    prove("no change changes nothing, but for the spelling of zero",
          csum_apply(c, BitVecVal(0xffff, 16)) == If(c == 0xffff, BitVecVal(0, 16), c))
    prove("a delta of 0, as in a zeroed struct, changes nothing at all",
          csum_apply(c, BitVecVal(0, 16)) == c)
    prove("an update undone gives the checksum back",
          Implies(And(d != 0, c != 0xffff),
                  csum_apply(csum_apply(c, d), csum_delta_neg(d)) == c))

    # K3: a checksum that is wrong is a right one with an error applied; the error stays.
    prove("K3: an error and an update may change places, so a corrupt checksum stays corrupt by the "
          "same amount",
          Implies(And(d != 0, e != 0),
                  csum_apply(csum_apply(c, d), e) == csum_apply(csum_apply(c, e), d)))
    prove("K3: and an error that is one never leaves the checksum right",
          Implies(And(e != 0, e != 0xffff, c != 0xffff), csum_apply(c, e) != c))

    # K2: UDP.
    prove("K2: no checksum stays none", csum_apply_udp(BitVecVal(0, 16), d) == 0)
    prove("K2: and none is ever made", Implies(c != 0, csum_apply_udp(c, d) != 0))
    prove("K2: else it is the update of K1, which takes both zeros, with zero sent as 0xffff",
          Implies(c != 0, csum_apply_udp(c, d) == csum_udp_zero(csum_apply(c, d))))

    # The IPv4 header.
    prove("C01: a right header sums to 0xffff, whichever zero it has",
          Implies(rest != 0,
                  And(csum_fold_sum(wide(rest, 32) + wide(full(), 32)) == 0xffff,
                      Implies(full() == 0,
                              csum_fold_sum(wide(rest, 32) + BitVecVal(0xffff, 32)) == 0xffff))))
    # csum_ipv4_header_ok multiplies by the inverse of 0xffff, here as the shifts that its bits are.
    # 15 words of 32 bits are below 2^36.
    inverse = 0xfffefffefffeffff
    assert inverse == -(1 + (1 << 16) + (1 << 32) + (1 << 48)) % 2**64
    assert inverse * 0xffff % 2**64 == 1
    product = -(acc + (acc << 16) + (acc << 32) + (acc << 48))
    prove("C01: the check by multiplication is the check by folding",
          Implies(ULT(acc, 1 << 36),
                  And(acc != 0, ULE(product, (2**64 - 1) // 0xffff)) ==
                  (csum_fold_sum(csum_fold64(acc)) == 0xffff)))
    prove("C01: and its checksum is never 0xffff", Implies(rest != 0, full() != 0xffff))

    print("%d claims proved" % proved)


if __name__ == "__main__":
    main()
