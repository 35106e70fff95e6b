"""What the router itself says by ICMP: echo replies and errors."""

import os
import time

from bench import LAN_MAC, ROUTED, WAN_MAC, Bench, datagram, inside, outside

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPerror
from scapy.packet import Raw

FAR = "198.51.100.7"


def ping(src, dst, data=b"data", **icmp):
    return IP(src=src, dst=dst) / ICMP(type=8, id=77, seq=3, **icmp) / Raw(data)


class RouterItself(Bench):
    lines = ROUTED

    def setUp(self):
        super().setUp()
        time.sleep(0.05)  # the rate limit of ICMP errors fills up again

    def test_echo(self):
        """echo requests of any length are answered with the same data"""
        for size in (0, 1, 7, 56, 1000, 1472):
            data = os.urandom(size)
            got = datagram(self.one(inside(ping("10.0.0.2", "10.0.0.1", data))))
            self.assertEqual((got.src, got.dst, got[ICMP].type, got[ICMP].code, got[ICMP].id, got[ICMP].seq),
                             ("10.0.0.1", "10.0.0.2", 0, 0, 77, 3))
            self.assertEqual(bytes(got[ICMP].payload), data)
        self.assertEqual(self.router.drops(), {})

    def test_echo_bad_checksum(self):
        """a request with a wrong ICMP checksum gets no answer"""
        self.none(inside(ping("10.0.0.2", "10.0.0.1", chksum=0x1234)), "icmp_bad_checksum")

    def test_echo_other_port(self):
        """the outside address answers from inside too"""
        got = datagram(self.one(inside(ping("10.0.0.2", "203.0.113.1"))))
        self.assertEqual((got.src, got.dst), ("203.0.113.1", "10.0.0.2"))

    def test_closed_udp_port(self):
        """UDP to the router: port unreachable from the address asked"""
        got = datagram(self.one(inside(IP(src="10.0.0.2", dst="10.0.0.1") / UDP(sport=5, dport=33434) / b"probe")))
        self.assertEqual((got.src, got[ICMP].type, got[ICMP].code), ("10.0.0.1", 3, 3))
        self.assertEqual((got[IPerror].src, got[IPerror].dst, got[IPerror].ttl), ("10.0.0.2", "10.0.0.1", 64))
        self.assertEqual(self.router.drops(), {"local_unreachable": 1})

    def test_ttl_expired(self):
        """TTL 1 and 0, from both sides: time exceeded from the near address (I6)"""
        for ttl in (1, 0):
            got = datagram(self.one(inside(IP(src="10.0.0.2", dst=FAR, ttl=ttl) / UDP() / b"x")))
            self.assertEqual((got.src, got.dst, got[ICMP].type, got[ICMP].code), ("10.0.0.1", "10.0.0.2", 11, 0))
            got = datagram(self.one(outside(IP(src=FAR, dst="10.0.0.2", ttl=ttl) / TCP() / b"x")))
            self.assertEqual((got.src, got.dst, got[ICMP].type, got[ICMP].code), ("203.0.113.1", FAR, 11, 0))
        self.assertEqual(self.router.drops(), {"ttl_expired": 4})

    def test_local_with_ttl_1(self):
        """a datagram for the router itself needs no TTL to spare"""
        got = self.one(inside(IP(src="10.0.0.2", dst="10.0.0.1", ttl=1) / ICMP(id=9) / b"x"))
        self.assertEqual(datagram(got)[ICMP].type, 0)

    def test_never_about(self):
        """no error about ICMP errors, later fragments, or what no single host sent (I7)"""
        quote = bytes(IP(src=FAR, dst="10.0.0.2") / UDP())
        for kind in (3, 4, 5, 11, 12):
            self.none(inside(IP(src="10.0.0.2", dst=FAR, ttl=1) / ICMP(type=kind) / quote), "ttl_expired")
        self.none(inside(IP(src="10.0.0.2", dst=FAR, ttl=1, frag=100, proto=17) / os.urandom(40)), "ttl_expired")
        self.none(inside(IP(src="10.0.0.2", dst="224.0.0.9", ttl=1) / UDP()), "ip4_multicast")
        self.none(inside(IP(src="10.0.0.2", dst="10.0.0.1", frag=3, proto=17) / os.urandom(40)), "local_unhandled")
        # but the first fragment is worth one, and so is an echo request
        self.one(inside(IP(src="10.0.0.2", dst=FAR, ttl=1, flags="MF", proto=17) / os.urandom(40)))
        self.one(inside(IP(src="10.0.0.2", dst=FAR, ttl=1) / ICMP(type=8, id=1)))

    def test_quote(self):
        """an error quotes as much as 576 bytes allow, unchanged"""
        packet = IP(src="10.0.0.2", dst=FAR, ttl=1, tos=4, id=99) / UDP(sport=1, dport=2) / os.urandom(1400)
        got = datagram(self.one(inside(packet)))
        quote = bytes(got[ICMP].payload)
        self.assertLessEqual(got.len, 576)
        self.assertGreaterEqual(len(quote), 28)
        self.assertEqual(quote, bytes(packet)[:len(quote)])

    def test_rate_limit(self):
        """a flood of bad datagrams does not become a flood of errors (I7)"""
        frame = inside(IP(src="10.0.0.2", dst=FAR, ttl=1) / UDP() / b"x")
        count = 3000
        got = []
        for i in range(count):
            self.lan.send(frame)
            if i % 128 == 127:
                got += self.sentinel(self.lan)
        got += self.sentinel(self.lan)
        events = {e["event"]: e["count"] for e in self.router.json("stats show")["events"]}
        self.assertEqual(self.router.drops(), {"ttl_expired": count})
        self.assertEqual(events["icmp_errors_out"] + events["icmp_errors_limited"], count, events)
        self.assertEqual(len(got), events["icmp_errors_out"])
        self.assertGreater(len(got), 10)
        self.assertGreater(events["icmp_errors_limited"], count // 4, f"{len(got)} errors left")
        time.sleep(1.1)
        self.one(frame)  # and it recovers

    def test_tcp_to_router(self):
        """TCP to the router itself is refused, never answered as if it were open"""
        left = self.sent([inside(IP(src="10.0.0.2", dst="10.0.0.1") / TCP(dport=22, flags="S"))])
        for frame in left:
            self.assertEqual((datagram(frame)[ICMP].type, frame[6:12].hex(":")), (3, LAN_MAC))
        self.assertEqual(sum(self.router.drops().values()), 1)

    def test_martian_reply(self):
        """an unsolicited echo reply to the router is counted, not answered"""
        self.none(outside(IP(src=FAR, dst="203.0.113.1") / ICMP(type=0, id=1), dst=WAN_MAC), "local_unhandled")
