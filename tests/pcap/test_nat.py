"""Translation: what NAT asks for beyond the cases. Names carry the requirement's id."""

import os
import time

from bench import (BASE, INSIDE_MAC, LAN_MAC, OUTSIDE_MAC, ROUTED, SNAT, WAN_MAC, Bench, datagram, inside, outside)
from harness import frames
from harness.frames import describe

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

FAR, FAR2 = "198.51.100.7", "198.51.100.8"
POOLED = "203.0.113.10"


def udp(src="10.0.0.2", dst=FAR, sport=4000, dport=5000, payload=b"payload", **ip):
    return IP(src=src, dst=dst, **ip) / UDP(sport=sport, dport=dport) / Raw(payload)


def tcp(src="10.0.0.2", dst=FAR, sport=4000, dport=80, flags="S", payload=b"", seq=1000, **ip):
    return IP(src=src, dst=dst, **ip) / TCP(sport=sport, dport=dport, flags=flags, seq=seq) / Raw(payload)


class Nat(Bench):
    lines = BASE

    def out(self, packet):
        """A datagram of an inside host, as it leaves outside."""
        frame = self.one(inside(packet))
        self.assertEqual(frame[6:12].hex(":"), WAN_MAC, describe(frame))
        return datagram(frame)

    def back(self, packet):
        """A datagram from outside, as it leaves inside."""
        frame = self.one(outside(packet))
        self.assertEqual(frame[6:12].hex(":"), LAN_MAC, describe(frame))
        return datagram(frame)

    def refused(self, packet, reason):
        self.none(outside(packet), reason)

    def test_M1_endpoint_independent(self):
        """one inside port has one external port, whatever it talks to"""
        ports = {self.out(udp(dst=dst, dport=dport)).sport
                 for dst in (FAR, FAR2, "192.0.2.9") for dport in (53, 123, 5000)}
        self.assertEqual(ports, {4000})

    def test_sessions_follow_routes(self):
        """packets of a session take the route as it is now, in both directions, whatever was before"""
        self.router.ctl("neighbour add 203.0.113.241 lladdr 02:00:00:00:01:01 interface wan")
        self.router.ctl("neighbour add 10.0.0.9 lladdr 02:00:00:00:01:02 interface lan")
        self.router.ctl("route add 10.0.0.96/27 via 10.0.0.9")
        there, here = udp(src="10.0.0.100"), udp(src=FAR, dst=POOLED, sport=5000, dport=4000)

        def check(outwards, inwards, times=3):
            for _ in range(times):
                self.assertEqual(self.one(inside(there))[:6].hex(":"), outwards)
                self.assertEqual(self.one(outside(here))[:6].hex(":"), inwards)
        check(OUTSIDE_MAC, "02:00:00:00:01:02")
        for _ in range(2):
            self.router.ctl(f"route add {FAR}/32 via 203.0.113.241")
            check("02:00:00:00:01:01", "02:00:00:00:01:02")
            self.router.ctl("route add 10.0.0.100/32 via 10.0.0.2")
            check("02:00:00:00:01:01", INSIDE_MAC)
            self.router.ctl(f"route del {FAR}/32")
            check(OUTSIDE_MAC, INSIDE_MAC)
            self.router.ctl("route del 10.0.0.100/32")
            check(OUTSIDE_MAC, "02:00:00:00:01:02")
        # more changes than a session can tell apart by itself, and none of its packets meanwhile
        for _ in range(128):
            self.router.ctl("route add 192.0.2.0/24 via 203.0.113.241")
            self.router.ctl("route del 192.0.2.0/24")
        self.router.ctl(f"route add {FAR}/32 via 203.0.113.241")
        check("02:00:00:00:01:01", "02:00:00:00:01:02")
        self.router.ctl(f"route del {FAR}/32")
        self.router.ctl("route del 10.0.0.96/27")

    def test_M3_no_overloading(self):
        """no two inside endpoints share an external one"""
        seen = set()
        for host in ("10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.80"):
            for sport in (4000, 4001):
                got = self.out(udp(src=host, sport=sport))
                self.assertNotIn((got.src, got.sport), seen)
                seen.add((got.src, got.sport))

    def test_M4_port_ranges(self):
        """ports below 1024 stay below when they have to change, others stay above"""
        self.assertEqual(self.out(udp(sport=500)).sport, 500)
        self.assertLess(self.out(udp(src="10.0.0.3", sport=500)).sport, 1024)
        self.assertEqual(self.out(udp(sport=65535)).sport, 65535)
        self.assertGreaterEqual(self.out(udp(src="10.0.0.3", sport=65535)).sport, 1024)

    def test_M8_filtering(self):
        """address-dependent by default: the peer's address may use any port, others are refused"""
        self.out(udp())
        self.assertEqual(self.back(udp(FAR, POOLED, 5000, 4000)).dst, "10.0.0.2")
        self.assertEqual(self.back(udp(FAR, POOLED, 777, 4000)).dport, 4000)
        self.refused(udp(FAR2, POOLED, 5000, 4000), "nat_filtered")
        self.router.ctl("nat set filtering address-and-port-dependent")
        try:
            self.out(udp(sport=4100))
            self.assertEqual(self.back(udp(FAR, POOLED, 5000, 4100)).dst, "10.0.0.2")
            self.refused(udp(FAR, POOLED, 5001, 4100), "nat_filtered")
            self.router.ctl("nat set filtering endpoint-independent")
            self.out(udp(sport=4200))
            self.assertEqual(self.back(udp("192.0.2.1", POOLED, 9, 4200)).dst, "10.0.0.2")
        finally:
            self.router.ctl("nat set filtering address-dependent")

    def test_M9_hairpin_mapping(self):
        """inside hosts reach each other's mappings by external endpoints, each seeing the other's (M9, REQ-9a)"""
        self.router.ctl("nat set filtering endpoint-independent")
        try:
            server = self.out(udp(src="10.0.0.3", sport=7000)).sport
            asked = self.one(inside(udp(src="10.0.0.2", sport=6000, dst=POOLED, dport=server)))
            self.assertEqual(asked[6:12].hex(":"), LAN_MAC, describe(asked))
            got = datagram(asked)
            self.assertEqual((got.src, got.dst, got.dport), (POOLED, "10.0.0.3", 7000))
            answer = datagram(self.one(inside(udp(src="10.0.0.3", sport=7000, dst=POOLED, dport=got.sport))))
            self.assertEqual((answer.src, answer.sport, answer.dst, answer.dport), (POOLED, server, "10.0.0.2", 6000))
        finally:
            self.router.ctl("nat set filtering address-dependent")

    def test_T3_unsolicited_syn(self):
        """an unsolicited inbound SYN gets no answer at all"""
        self.refused(tcp(FAR, POOLED, 1234, 81), "nat_no_mapping")

    def test_T7_no_session(self):
        """a segment other than SYN makes no session"""
        for flags in ("A", "PA", "FA", "R", "SA"):
            self.none(inside(tcp(sport=4800, flags=flags)), "nat_no_session")
        self.assertEqual(self.router.sessions(), [])

    def test_T1_simultaneous_open(self):
        """both ends send SYN, and the connection stands"""
        self.out(tcp(sport=4900))
        self.back(tcp(FAR, POOLED, 80, 4900, flags="S"))
        self.out(tcp(sport=4900, flags="SA"))
        self.back(tcp(FAR, POOLED, 80, 4900, flags="SA"))
        self.assertEqual(self.back(tcp(FAR, POOLED, 80, 4900, flags="PA", payload=b"hello")).dport, 4900)

    def test_I2_error_from_inside(self):
        """an inside server's ICMP error leaves with the external address, its quote translated"""
        got = self.back(tcp(FAR, POOLED, 1234, 8080))
        self.assertEqual((got.dst, got.dport), ("10.0.0.80", 80))
        error = IP(src="10.0.0.80", dst=FAR) / ICMP(type=3, code=3) / bytes(got)
        left = self.out(error)
        quote = IP(bytes(left[ICMP].payload))
        self.assertEqual((left.src, quote.src, quote.dst, quote.sport, quote.dport),
                         (POOLED, FAR, POOLED, 1234, 8080))

    def test_I2_error_from_router_inside(self):
        """an error that another inside router makes about a mapped flow keeps its sender hidden"""
        self.out(udp())
        reply = self.back(udp(FAR, POOLED, 5000, 4000, payload=b"r" * 20))
        left = self.out(IP(src="10.0.0.4", dst=FAR) / ICMP(type=11, code=0) / bytes(reply))
        quote = IP(bytes(left[ICMP].payload))
        self.assertEqual(left.src, POOLED)
        self.assertEqual((quote.src, quote.dst, quote.dport), (FAR, POOLED, 4000))

    def test_I3_error_keeps_mapping(self):
        """ICMP errors end no mapping"""
        sent = self.out(udp())
        for kind, code in ((3, 1), (3, 3), (11, 0), (12, 0)):
            self.back(IP(src="192.0.2.1", dst=POOLED) / ICMP(type=kind, code=code) / bytes(sent))
        self.assertEqual(self.back(udp(FAR, POOLED, 5000, 4000)).dst, "10.0.0.2")
        self.assertEqual(self.out(udp()).sport, 4000)

    def test_I2_short_quotes(self):
        """quotes of every length from 8 bytes of the transport header are translated, shorter ones refused"""
        sent = bytes(self.out(udp(payload=b"q" * 30)))
        for length in (28, 29, 31, 40, len(sent)):
            left = self.back(IP(src="192.0.2.1", dst=POOLED) / ICMP(type=3, code=1) / sent[:length])
            quote = bytes(left[ICMP].payload)
            self.assertEqual(len(quote), length)
            self.assertEqual(IP(quote).src, "10.0.0.2")
        for length in (0, 1, 19, 20, 27):
            self.refused(IP(src="192.0.2.1", dst=POOLED) / ICMP(type=3, code=1) / sent[:length],
                         "nat_icmp_bad_quote")

    def test_gre_and_esp(self):
        """protocols without ports: one inside host each, a second is refused and counted"""
        for proto in (47, 50):
            def packet(src):
                return IP(src=src, dst=FAR, proto=proto) / os.urandom(40)
            self.assertEqual(self.out(packet("10.0.0.2")).src, POOLED)
            self.none(inside(packet("10.0.0.3")), "nat_protocol_in_use", count=1)
            self.router.ctl("stats reset")
            got = self.back(IP(src=FAR, dst=POOLED, proto=proto) / os.urandom(33))
            self.assertEqual(got.dst, "10.0.0.2")
            self.assertEqual(self.out(packet("10.0.0.2")).src, POOLED, "the first host carries on")

    def test_F1_fragments_refused(self):
        """fragments that would need translation never leave untranslated"""
        frame = inside(IP(src="10.0.0.2", dst=FAR, flags="MF", proto=17) / os.urandom(64))
        self.none(frame, "nat_fragment")
        self.none(inside(IP(src="10.0.0.2", dst=FAR, frag=8, proto=17) / os.urandom(64)), "nat_fragment")

    def test_port_forward(self):
        """from outside in, replies come from the external endpoint; the inside host itself keeps its own way"""
        got = self.back(tcp(FAR, POOLED, 1234, 8080))
        self.assertEqual((got.src, got.dst, got.sport, got.dport), (FAR, "10.0.0.80", 1234, 80))
        got = self.out(tcp("10.0.0.80", FAR, 80, 1234, flags="SA"))
        self.assertEqual((got.src, got.sport), (POOLED, 8080))
        self.refused(udp(FAR, POOLED, 1234, 8080), "nat_no_mapping")
        got = self.out(tcp("10.0.0.80", FAR2, 80, 1234, flags="S"))
        self.assertEqual((got.src, got.dst), (POOLED, FAR2))

    def test_unknown_port(self):
        """to an external address without mapping: dropped and counted"""
        self.refused(udp(FAR, POOLED, 1, 2), "nat_no_mapping")
        self.refused(IP(src=FAR, dst=POOLED, proto=47) / bytes(12), "nat_no_mapping")

    def test_outside_source_is_not_translated(self):
        """what no rule covers is routed as it is"""
        got = self.out(udp(src="10.0.1.2"))
        self.assertEqual(got.src, "10.0.1.2")

    def test_sessions_listing(self):
        """sessions show with filters, and clear with filters"""
        self.out(udp())
        self.out(tcp(src="10.0.0.3"))
        self.out(IP(src="10.0.0.4", dst=FAR2) / ICMP(id=42))
        self.assertEqual(len(self.router.sessions()), 3)
        self.assertEqual(len(self.router.sessions("source 10.0.0.3")), 1)
        self.assertEqual(len(self.router.sessions("source 10.0.0.0/24")), 3)
        self.assertEqual(len(self.router.sessions(f"destination {FAR}")), 2)
        self.assertEqual(len(self.router.sessions("protocol udp")), 1)
        self.assertEqual(len(self.router.sessions("port 42")), 1)
        self.assertEqual(len(self.router.sessions("rule lan-out")), 3)
        self.assertEqual(len(self.router.sessions("limit 2")), 2)
        self.assertEqual(len(self.router.sessions("source 10.0.0.3 protocol udp")), 0)
        session = self.router.sessions("protocol tcp")[0]
        self.assertEqual(session["original"]["source"], "10.0.0.3:4000")
        self.assertEqual(session["reply"]["destination"], f"{POOLED}:{session['reply']['destination'].split(':')[1]}")
        self.assertEqual(session["rule"], "lan-out")
        self.router.ctl("nat session clear protocol icmp")
        self.assertEqual(len(self.router.sessions()), 2)
        self.router.ctl("nat session clear all")
        self.assertEqual(self.router.sessions(), [])

    def test_M6_timeout(self):
        """an idle mapping goes when its time is over, and not before"""
        self.router.ctl("nat timeout set udp 1")
        try:
            self.out(udp())
            self.assertEqual(self.back(udp(FAR, POOLED, 5000, 4000)).dst, "10.0.0.2")
            time.sleep(0.6)
            self.out(udp())  # refreshes (M7)
            time.sleep(0.6)
            self.assertEqual(self.back(udp(FAR, POOLED, 5000, 4000)).dst, "10.0.0.2", "refreshed from inside")
            time.sleep(2)
            self.refused(udp(FAR, POOLED, 5000, 4000), "nat_no_mapping")
            self.assertEqual(self.router.sessions(), [])
        finally:
            self.router.ctl("nat timeout set udp 300")

    def test_M7_inbound_does_not_refresh(self):
        """packets from outside alone keep no mapping alive"""
        self.router.ctl("nat timeout set udp 1")
        try:
            self.out(udp())
            end = time.monotonic() + 2.5
            while time.monotonic() < end:
                self.play([outside(udp(FAR, POOLED, 5000, 4000))], settle=0.1)
            self.refused(udp(FAR, POOLED, 5000, 4000), "nat_no_mapping")
        finally:
            self.router.ctl("nat timeout set udp 300")

    def test_C5_exempt(self):
        """exempted destinations are not translated; taking the exemption away translates again"""
        self.router.ctl("nat rule add exempt vpn source 10.0.0.0/24 destination 198.51.100.8/32")
        try:
            self.assertEqual(self.out(udp(dst=FAR2)).src, "10.0.0.2")
            self.assertEqual(self.out(udp(dst=FAR)).src, POOLED)
        finally:
            self.router.ctl("nat rule del vpn")
        self.assertEqual(self.out(udp(dst=FAR2)).src, POOLED)

    def test_rule_removed(self):
        """without its rule a flow is no longer translated, and its sessions are gone"""
        self.out(udp())
        self.router.ctl("nat rule del lan-out")
        try:
            self.assertEqual(self.out(udp()).src, "10.0.0.2")
            self.assertEqual(self.router.sessions(), [])
        finally:
            self.router.ctl(SNAT[0])
        self.assertEqual(self.out(udp()).src, POOLED)

    def test_other_rule_added(self):
        """adding a rule leaves other rules' sessions alone"""
        self.out(tcp())
        self.back(tcp(FAR, POOLED, 80, 4000, flags="SA"))
        self.out(tcp(flags="A"))
        self.router.ctl("nat rule add dnat ssh interface wan protocol tcp destination 203.0.113.10:2222 to 10.0.0.3:22")
        try:
            self.assertEqual(self.out(tcp(flags="PA", payload=b"data")).src, POOLED)
            self.assertEqual(self.back(tcp(FAR, POOLED, 999, 2222)).dport, 22)
        finally:
            self.router.ctl("nat rule del ssh")
        self.assertEqual(self.out(tcp(flags="PA", payload=b"data")).src, POOLED)

    def test_config_round_trip(self):
        """config save, then load on the same router: nothing changes and sessions stay"""
        self.out(tcp())
        path = os.path.join(self.router.dir, "saved.conf")
        before = self.router.ctl("config show")
        self.router.ctl(f"config save {path}")
        self.router.ctl(f"config load {path}")
        self.assertEqual(self.router.ctl("config show"), before)
        self.assertEqual(len(self.router.sessions()), 1)
        self.assertEqual(self.back(tcp(FAR, POOLED, 80, 4000, flags="SA")).dport, 4000)


class Masquerade(Bench):
    """The interface's own address, and a 1:1 prefix beside it."""

    lines = ROUTED + [
        "nat rule add masquerade home interface wan source 10.0.0.0/24",
        "nat rule add static block external 203.0.113.64/28 internal 10.0.0.64/28",
        "nat rule add dnat range interface wan protocol udp destination 203.0.113.1:6000-6009 to 10.0.0.4:7000",
    ]

    def test_masquerade(self):
        """leaves with the interface's address, and comes back"""
        got = datagram(self.one(inside(udp())))
        self.assertEqual((got.src, got.sport), ("203.0.113.1", 4000))
        got = datagram(self.one(outside(udp(FAR, "203.0.113.1", 5000, 4000))))
        self.assertEqual((got.dst, got.dport), ("10.0.0.2", 4000))

    def test_router_still_answers(self):
        """the address that is shared still answers for itself"""
        got = datagram(self.one(outside(IP(src=FAR, dst="203.0.113.1") / ICMP(id=5) / b"x")))
        self.assertEqual((got.src, got[ICMP].type), ("203.0.113.1", 0))
        got = datagram(self.one(outside(udp(FAR, "203.0.113.1", 5000, 33434))))
        self.assertEqual((got[ICMP].type, got[ICMP].code), (3, 3))

    def test_echo_through(self):
        """an inside host's ping and the router's own are told apart"""
        got = datagram(self.one(inside(IP(src="10.0.0.2", dst=FAR) / ICMP(id=5, seq=1) / b"in")))
        back = IP(src=FAR, dst="203.0.113.1") / ICMP(type=0, id=got[ICMP].id, seq=1) / b"in"
        self.assertEqual(datagram(self.one(outside(back))).dst, "10.0.0.2")

    def test_M13_static_prefix(self):
        """host parts are kept one to one, both directions open sessions"""
        got = datagram(self.one(inside(udp(src="10.0.0.65"))))
        self.assertEqual((got.src, got.sport), ("203.0.113.65", 4000))
        self.router.ctl(f"neighbour add 10.0.0.79 lladdr {INSIDE_MAC} interface lan")
        try:
            got = datagram(self.one(outside(tcp(FAR, "203.0.113.79", 9, 22))))
            self.assertEqual((got.dst, got.dport), ("10.0.0.79", 22))
        finally:
            self.router.ctl("neighbour del 10.0.0.79 interface lan")

    def test_port_range(self):
        """a range of ports keeps its order inside"""
        for i in (0, 5, 9):
            got = datagram(self.one(outside(udp(FAR, "203.0.113.1", 1, 6000 + i))))
            self.assertEqual((got.dst, got.dport), ("10.0.0.4", 7000 + i))
        left = self.sent([outside(udp(FAR, "203.0.113.1", 1, 6010))], expect=1)
        self.assertEqual([datagram(f)[ICMP].type for f in left], [3], "the port behind the range is the router's")


class Pools(Bench):
    """Several addresses."""

    lines = ROUTED + ["nat pool add office addresses 203.0.113.10-203.0.113.12,203.0.113.20"] + SNAT

    def test_M2_paired_pooling(self):
        """all flows of one host use one external address, and hosts spread over the pool"""
        used = set()
        for host in range(2, 60):
            addresses = set()
            for sport in (3000, 3001, 3002):
                packet = udp(src=f"10.0.0.{host}", sport=sport)
                addresses.add(datagram(self.one(inside(packet))).src)
            self.assertEqual(len(addresses), 1, f"host {host}: {addresses}")
            used |= addresses
        self.assertLessEqual(used, {"203.0.113.10", "203.0.113.11", "203.0.113.12", "203.0.113.20"})
        self.assertGreater(len(used), 1)


class TaggedOutside(Bench):
    """The outside is a VLAN."""

    lines = ROUTED + [
        "interface add isp vlan 7 parent wan",
        "address add 192.0.2.1/24 interface isp",
        f"neighbour add 192.0.2.254 lladdr {OUTSIDE_MAC} interface isp",
        "route add 100.64.0.0/10 via 192.0.2.254",
        "nat rule add masquerade home interface isp source 10.0.0.0/24",
    ]

    def test_C13_vlan(self):
        """translated onto a VLAN and back, short frames included"""
        for payload in (b"", b"z", os.urandom(1400)):
            got = self.one(inside(udp(dst="100.64.1.1", payload=payload)))
            self.assertEqual(got[12:18].hex(), "810000070800", describe(got))
            self.assertEqual(datagram(got).src, "192.0.2.1")
            back = Ether(src=OUTSIDE_MAC, dst=WAN_MAC) / Dot1Q(vlan=7) / udp("100.64.1.1", "192.0.2.1", 5000, 4000, payload)
            got = self.one(bytes(back))
            self.assertEqual(frames.ethertype(got), (0x0800, 14))
            self.assertEqual((datagram(got).dst, bytes(datagram(got)[UDP].payload)), ("10.0.0.2", payload))
