"""The packet cases of cases/: see cases/README.md."""

import json
import os
import struct

from bench import (BASE, BASE_STATIC, DNAT, LAN_MAC, ROUTED, SNAT,
                   WAN_MAC, Bench)
from harness import frames
from harness.frames import (collect, compare_exact, compare_icmp_error, compare_subset, describe, ip_datagram,
                            listing, read_pcap, reassemble)

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
with open(os.path.join(HERE, "manifest.json"), encoding="utf-8") as _file:
    MANIFEST = json.load(_file)

OUTSIDE = {"src": "02:00:00:00:00:bb", "dst": WAN_MAC}


def inputs(case):
    return read_pcap(os.path.join(HERE, f"{case}-in.pcap"))


def expected(case):
    path = os.path.join(HERE, f"{case}-expected.pcap")
    return read_pcap(path) if os.path.getsize(path) > 24 else []


def ports_of(frame):
    datagram = ip_datagram(frame)
    header = (datagram[0] & 15) * 4
    return struct.unpack_from("!HH", datagram, header)


class Cases(Bench):
    """What both configurations share; itself without tests."""

    def exact(self, case):
        plan = MANIFEST[case]
        want = expected(case)
        masks = {"id": True, "ttl": True} if plan["mode"] == "exact-mask-id-ttl" else {}
        left = self.play(inputs(case), expect=len(want))
        got = [frame for _, frame in left]
        bad = plan.get("wrong_checksum_on_purpose_expected", ())
        try:
            compare_exact(want, got, **masks)
        except AssertionError as why:
            raise AssertionError(f"{why}\n    dropped: {self.router.drops()}") from None
        self.check_origin(left)
        self.check_sums(left, bad)


class Base(Cases):
    lines = BASE

    def test_C01(self):
        """an IPv4 header checksum of zero leaves as zero (K1)"""
        self.exact("C01")
        self.assertEqual(expected("C01")[1][24:26], b"\0\0", "the case itself")

    def test_C03(self):
        """a UDP checksum that becomes zero leaves as 0xffff (K2)"""
        self.exact("C03")

    def test_C04(self):
        """a UDP checksum of zero stays zero (K2)"""
        self.exact("C04")

    def test_C05(self):
        """a TCP checksum of zero is an ordinary value (K1)"""
        self.exact("C05")

    def test_C09(self):
        """padding enters no sum (K5)"""
        self.exact("C09")

    def test_C10(self):
        """contradicting lengths: nothing leaves, each counted by its kind"""
        reasons = ["ip4_bad_total_length", "ip4_bad_header_length", "ip4_bad_header_length",
                   "ip4_bad_total_length", "udp_bad_length", "udp_bad_length", "udp_bad_length",
                   "tcp_bad_offset", "tcp_bad_offset", "l4_truncated", "ip4_bad_version", "ip4_bad_checksum",
                   "l4_truncated"]
        bad = inputs("C10")
        self.assertEqual(len(bad), len(reasons))
        for i, (frame, reason) in enumerate(zip(bad, reasons)):
            with self.subTest(frame=i, reason=reason):
                self.none(frame, reason)
        self.assertEqual(sum(self.router.drops().values()), len(bad))
        self.assertEqual(self.router.sessions(), [])

    def test_C12(self):
        """IPv4 options move the transport header (K4)"""
        self.exact("C12")

    def test_C16(self):
        """a damaged packet is not repaired (K3)"""
        plan = MANIFEST["C16"]
        want, bad = expected("C16"), plan["wrong_checksum_on_purpose_expected"]
        left = self.play(inputs("C16"), expect=len(want))
        got = [frame for _, frame in left]
        missed = compare_exact(want, got, may_miss=bad)
        self.assertEqual(sum(self.router.drops().values()), missed, "a missing frame is counted")
        self.check_origin(left)
        self.check_sums(left, [i for i in bad if i < len(left)])

    def test_C19(self):
        """ICMP error for UDP: the quote is restored, the mapping stays (I2, I3)"""
        self.exact("C19")

    def test_C21(self):
        """fragmentation needed with 8 quoted bytes of TCP (I2)"""
        self.exact("C21")

    def test_C23(self):
        """ICMP errors: bad sums, no flow, stray replies are dropped and counted (I4)"""
        self.exact("C23")
        drops = self.router.drops()
        self.assertEqual({r: drops.get(r, 0) for r in ("nat_icmp_bad_checksum", "nat_icmp_bad_quote",
                                                      "nat_icmp_no_session", "nat_no_mapping")},
                         {"nat_icmp_bad_checksum": 1, "nat_icmp_bad_quote": 1, "nat_icmp_no_session": 1,
                          "nat_no_mapping": 1}, drops)
        self.assertEqual(len(self.router.sessions()), 1, "only the UDP flow has a session")

    def test_C25(self):
        """echo identifiers 0, 1, 80 and 65535 are kept (I1)"""
        self.exact("C25")

    def test_C26(self):
        """two hosts with the same port or identifier are kept apart (M3)"""
        out = self.sent(inputs("C26"), expect=6)
        self.assertEqual(len(out), 6, listing(out))
        seen = {}
        for i, frame in enumerate(out):
            packet = IP(ip_datagram(frame))
            self.assertEqual((packet.src, packet.dst), ("203.0.113.10", "198.51.100.7"), describe(frame))
            port = packet[ICMP].id if ICMP in packet else packet.sport
            seen[packet.proto, "10.0.0.2" if i < 3 else "10.0.0.3"] = (port, packet)
        for proto in (17, 6, 1):
            first, second = seen[proto, "10.0.0.2"][0], seen[proto, "10.0.0.3"][0]
            self.assertEqual(first, 5000, "the first host keeps its port")
            self.assertNotEqual(second, 5000)
            if proto != 1:  # identifiers are no ports: all are alike
                self.assertGreaterEqual(second, 1024, "a port from 1024 up stays from 1024 up (M4)")
        for (proto, host), (port, packet) in seen.items():
            back = Ether(**OUTSIDE) / IP(src="198.51.100.7", dst="203.0.113.10", ttl=60)
            if proto == 1:
                back = back / ICMP(type=0, id=port, seq=packet[ICMP].seq) / b"back"
            elif proto == 6:
                back = back / TCP(sport=80, dport=port, flags="SA", seq=7, ack=packet[TCP].seq + 1)
            else:
                back = back / UDP(sport=53, dport=port) / b"back"
            answer = IP(ip_datagram(self.one(back)))
            self.assertEqual(answer.dst, host)
            self.assertEqual(answer[ICMP].id if proto == 1 else answer.dport, 5000)

    def test_C27(self):
        """TTL 1 is reported, with the quote as the packet came in (I6)"""
        want = expected("C27")
        got = self.sent(inputs("C27"), expect=2)
        self.assertEqual(len(got), 2, listing(got))
        compare_icmp_error(want[0], got[0])
        compare_icmp_error(want[1], got[1], sources=("203.0.113.10", "203.0.113.1"))
        self.assertEqual(self.router.sessions(), [])
        self.assertEqual(self.router.drops(), {"ttl_expired": 2})

    def test_C31(self):
        """hairpin: both addresses change, answers too (M9)"""
        self.exact("C31")

    def test_C35(self):
        """a RST outside the window closes nothing, a valid one only its own (T4)"""
        left = self.play(inputs("C35"), expect=len(expected("C35")))
        self.check_origin(left)
        self.check_sums(left)
        compare_subset(expected("C35"), [frame for _, frame in left])
        self.assertEqual(len(self.router.sessions()), 2, "a valid RST shortens a timer, it deletes nothing")

    def test_C36(self):
        """traffic to the router itself is no NAT traffic"""
        want = expected("C36")
        left = self.play(inputs("C36"), expect=len(want))
        got = [frame for _, frame in left]
        self.check_origin(left)
        self.check_sums(left)
        extra = got[len(want):]
        compare_exact(want, got[:len(want)], id=True, ttl=True)
        self.assertLessEqual(len(extra), 1)
        for frame in extra:  # the pool address may answer for itself; nothing else may happen
            packet = IP(ip_datagram(frame))
            self.assertEqual((packet.src, packet.dst, packet[ICMP].type), ("203.0.113.10", "203.0.113.254", 0))
        if not extra:
            self.assertEqual(sum(self.router.drops().values()), 1)
        self.assertEqual(self.router.sessions(), [])


class BaseStatic(Cases):
    lines = BASE_STATIC

    def test_C15(self):
        """only the address changes: TCP and UDP sums follow, ICMP's does not (K3, K7)"""
        self.exact("C15")

    def test_C29(self):
        """GRE through a 1:1 rule, the first packet like the later ones"""
        self.exact("C29")

    def test_C32(self):
        """ARP is answered for pool and 1:1 addresses, as long as their rules exist"""
        asked = inputs("C32")
        left = self.play(asked, expect=3, port=self.wan)
        self.check_origin(left)
        compare_exact(expected("C32"), [frame for _, frame in left])
        left = self.play(asked, port=self.lan)
        self.assertEqual(left, [], f"on the inside:\n{listing([f for _, f in left])}")
        try:
            self.router.ctl("nat rule del server")
            self.assertEqual(self.play(asked[1:2], port=self.wan), [], "answered for .50 without its rule")
            self.router.ctl("nat rule del lan-out")
            self.assertEqual(len(self.play(asked[:1], expect=1, port=self.wan)), 1,
                             ".10 still has the port forward")
            self.router.ctl("nat rule del web")
            self.assertEqual(self.play(asked[:1], port=self.wan), [], "answered for .10 without any rule")
            self.assertEqual(len(self.play(asked[3:], expect=1, port=self.wan)), 1, "its own address")
        finally:
            for line in ("nat rule add static server external 203.0.113.50 internal 10.0.0.50",
                         DNAT[0], SNAT[0]):
                self.router.ctl_raw(*line.split())
        collect(self.ports, 1000, 0.3)  # the addresses that came back are announced
        self.assertEqual(len(self.play(asked, expect=3, port=self.wan)), 3, "and again with them")


class SmallMtu(Cases):
    """The outside MTU is 1400."""

    lines = [line + (" mtu 1400" if line.startswith("interface add wan") else "") for line in BASE]

    def test_C28(self):
        """too big for the outside: an error with DF, fragments without (I5)"""
        want = expected("C28")
        got = self.sent(inputs("C28"), expect=3)
        self.assertEqual(len(got), 3, listing(got))
        errors = [f for f in got if f[6:12].hex(":") == LAN_MAC]
        self.assertEqual(len(errors), 1, listing(got))
        compare_icmp_error(want[0], errors[0])
        pieces = [f for f in got if f[6:12].hex(":") == WAN_MAC]
        whole = reassemble(pieces, 1400)
        self.assertEqual(frames.bad_checksums(whole), [], "the whole verifies")
        due = reassemble(want[1:], 1400)
        self.assertEqual(whole[12:], due[12:])
        self.assertEqual(whole[:4] + whole[8:10], due[:4] + due[8:10])
        self.assertEqual(self.router.drops(), {"mtu_exceeded": 1})


class SmallPool(Cases):
    """Two ports for all."""

    lines = ROUTED + ["nat pool add office addresses 203.0.113.10 ports 50000-50001"] + SNAT

    def test_C33(self):
        """an exhausted pool refuses new flows, counted; the others carry on (C4)"""
        flows = inputs("C33")
        got = [self.sent([frame], settle=0.02) for frame in flows]
        self.assertEqual([len(g) for g in got[:2] + got[3:]], [1, 1, 1, 1], [listing(g) for g in got])
        ports = {}
        for i in (0, 1, 3, 4):
            packet = IP(ip_datagram(got[i][0]))
            self.assertEqual(packet.src, "203.0.113.10")
            self.assertIn(packet.sport, (50000, 50001))
            ports[i] = packet.sport
        self.assertNotEqual(ports[0], ports[1])
        self.assertEqual(ports[0], ports[3], "the mapping of the first flow is used again")
        self.assertEqual(ports[0], ports[4], "also to another peer (M1)")
        for frame in got[2]:  # an ICMP 3/13 to the sender is allowed, nothing else
            packet = IP(ip_datagram(frame))
            self.assertEqual((packet.dst, packet[ICMP].type, packet[ICMP].code), ("10.0.0.4", 3, 13))
        self.assertEqual(self.router.drops(), {"nat_pool_exhausted": 1})
        self.router.ctl("nat session clear source 10.0.0.2")
        again = self.sent([flows[2]], expect=1)
        self.assertEqual(len(again), 1, "host 10.0.0.4 succeeds once a port is free")
        packet = IP(ip_datagram(again[0]))
        self.assertEqual((packet.src, packet.sport), ("203.0.113.10", ports[0]))
        self.assertEqual(len(self.sent([flows[1]], expect=1)), 1, "the second host is untouched")
