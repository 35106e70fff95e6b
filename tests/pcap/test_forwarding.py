"""Plain routing, without translation: RFC 1812's checks, TTL, VLANs, longest match, ECMP, fragments."""

import os
import struct

from bench import (INSIDE_MAC, LAN_MAC, OUTSIDE_MAC, ROUTED, WAN_MAC, Bench, datagram, inside, outside)
from harness import frames
from harness.frames import describe
from harness.procs import wait_for

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

FAR = "198.51.100.7"
GATEWAYS = [f"203.0.113.{n}" for n in (241, 242, 243, 244)]
GATEWAY_MACS = {g: f"02:00:00:00:01:{i:02x}" for i, g in enumerate(GATEWAYS)}

VLAN = [
    "interface add lan10 vlan 10 parent lan",
    "address add 10.10.0.1/24 interface lan10",
    f"neighbour add 10.10.0.2 lladdr {INSIDE_MAC} interface lan10",
    "interface add wan20 vlan 20 parent wan",
    "address add 192.0.2.1/25 interface wan20",
    f"neighbour add 192.0.2.2 lladdr {OUTSIDE_MAC} interface wan20",
]


def udp(src="10.0.0.2", dst=FAR, payload=b"payload", ttl=64, sport=4000, dport=5000, **ip):
    return IP(src=src, dst=dst, ttl=ttl, **ip) / UDP(sport=sport, dport=dport) / Raw(payload)


class Routing(Bench):
    """Two ports, a default route, no rule."""

    lines = ROUTED + [f"neighbour add {g} lladdr {mac} interface wan" for g, mac in GATEWAY_MACS.items()]

    def forwarded(self, packet):
        """The frame must leave outside with only MACs, TTL and header checksum changed."""
        frame = inside(packet)
        got = self.one(frame)
        self.assertEqual((got[:6].hex(":"), got[6:12].hex(":")), (OUTSIDE_MAC, WAN_MAC))
        want = bytearray(frames.ip_datagram(frame))
        have = bytearray(frames.ip_datagram(got))
        self.assertEqual(have[8], want[8] - 1, "TTL")
        for part in (want, have):
            part[8] = part[10] = part[11] = 0
        self.assertEqual(have, want, frames.difference(want, have))

    def test_forwards(self):
        """UDP, TCP, ICMP and other protocols, of any length, untouched but for TTL"""
        self.forwarded(udp(payload=b""))
        self.forwarded(udp(payload=b"x"))
        self.forwarded(udp(payload=os.urandom(1472)))
        self.forwarded(IP(src="10.0.0.3", dst=FAR, ttl=2, tos=0xB9, id=0xFFFF)
                       / TCP(sport=1, dport=65535, flags="PAU", options=[("MSS", 1460)]) / b"odd")
        self.forwarded(IP(src="10.0.0.2", dst=FAR) / ICMP(type=13, id=1, seq=2) / (b"\0" * 12))
        self.forwarded(IP(src="10.0.0.2", dst=FAR, proto=47) / b"\x00\x00\x08\x00gre")
        self.forwarded(IP(src="10.0.0.2", dst=FAR, proto=132) / os.urandom(64))
        self.forwarded(IP(src="10.0.0.2", dst=FAR, proto=255))

    def test_options(self):
        """IPv4 options are forwarded as they are (K4)"""
        for option in (b"\x01\x01\x01\x00", b"\x44\x0c\x05\x00" + b"\0" * 8, b"\x94\x04\x00\x00", b"\x01" * 40):
            self.forwarded(IP(src="10.0.0.2", dst=FAR, options=IPOption(option)) / UDP() / b"opt")

    def test_fragments(self):
        """fragments pass one by one, the later ones with their data untouched"""
        self.forwarded(IP(src="10.0.0.2", dst=FAR, flags="MF", proto=17) / os.urandom(64))
        self.forwarded(IP(src="10.0.0.2", dst=FAR, frag=8, proto=17) / os.urandom(33))

    def test_payload_of_no_use(self):
        """a router does not judge what it does not translate: a wrong UDP checksum passes as it is"""
        packet = udp()
        packet[UDP].chksum = 0x1234
        got = self.play([inside(packet)], expect=1)
        self.assertEqual(len(got), 1)
        self.assertEqual(struct.unpack_from("!H", got[0][1], 14 + 20 + 6)[0], 0x1234)

    def test_receive_checks(self):
        """each check of RFC 1812 5.2.2 and 5.3.7 drops, with its own counter, and nothing is sent"""
        good = inside(udp())
        cases = {
            "eth_not_for_us": [inside(udp(), dst="02:00:00:00:00:77")],
            "eth_unknown_type": [inside(udp(), type=0x86DD), inside(udp(), type=0x0801),
                                 inside(udp(), type=60)],
            "eth_broadcast": [inside(udp(), dst="ff:ff:ff:ff:ff:ff"), inside(udp(), dst="01:00:5e:00:00:01")],
            "ip4_truncated": [good[:14], good[:15], good[:33]],
            "ip4_bad_version": [inside(udp(version=5)), inside(udp(version=6)), inside(udp(version=0))],
            "ip4_bad_header_length": [inside(udp(ihl=0)), inside(udp(ihl=4)),
                                      inside(IP(src="10.0.0.2", dst=FAR, ihl=15, len=28) / UDP())],
            "ip4_bad_total_length": [inside(udp(len=19)), inside(udp(len=0)), inside(udp(len=36)),
                                     good[:34], inside(udp(len=65535))],
            "ip4_bad_checksum": [inside(udp(chksum=0x1234)), inside(udp(chksum=0))],
            "ip4_bad_source": [inside(udp(src=a)) for a in (
                "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "240.0.0.1",
                "255.255.255.255", "10.0.0.255")],
            "ip4_own_source": [inside(udp(src="10.0.0.1")), outside(udp(src="203.0.113.1", dst="10.0.0.2"))],
            "ip4_bad_destination": [inside(udp(dst=a)) for a in ("127.0.0.1", "0.0.0.0", "0.9.9.9", "240.0.0.1",
                                                                 "254.255.255.255")],
            "ip4_multicast": [inside(udp(dst="224.0.0.5"), dst="01:00:5e:00:00:05"), inside(udp(dst="239.1.1.1"))],
            "ip4_broadcast": [inside(udp(dst="255.255.255.255"), dst="ff:ff:ff:ff:ff:ff"),
                              inside(udp(dst="203.0.113.255")), outside(udp(src=FAR, dst="10.0.0.255"))],
        }
        for reason, wrong in cases.items():
            for i, frame in enumerate(wrong):
                with self.subTest(reason=reason, frame=i):
                    self.none(frame, reason)
        self.assertEqual(self.router.drops(), {reason: len(wrong) for reason, wrong in cases.items()})

    def test_runts(self):
        """frames shorter than an Ethernet header are dropped and counted (from a capture file: no TAP takes them)"""
        path = os.path.join(self.router.dir, "runts.pcap")
        out = os.path.join(self.router.dir, "out.pcap")
        frames.write_pcap(path, [bytes(range(n)) for n in range(1, 14)] + [b"\xff" * 14])
        self.router.ctl(f"interface add file devargs net_pcap0,rx_pcap={path},tx_pcap={out}")
        try:
            wait_for(lambda: self.router.drops().get("eth_runt") == 13, 5, "13 runts counted")
            self.assertEqual(self.router.drops(), {"eth_runt": 13, "eth_unknown_type": 1})
        finally:
            self.router.ctl("interface del file")

    def test_no_answer_to_oneself(self):
        """a datagram may go back by the port that it came by, when the route says so"""
        got = self.one(inside(udp(src="10.0.0.2", dst="10.0.0.3")))
        self.assertEqual((got[:6].hex(":"), got[6:12].hex(":")), (INSIDE_MAC, LAN_MAC))

    def test_longest_match(self):
        """the longest prefix wins; removing it uncovers the next"""
        plan = [("172.16.0.0/12", GATEWAYS[0]), ("172.16.0.0/16", GATEWAYS[1]), ("172.16.1.0/24", GATEWAYS[2]),
                ("172.16.1.1/32", GATEWAYS[3])]
        for prefix, gateway in plan:
            self.router.ctl(f"route add {prefix} via {gateway}")
        want = {"172.31.0.1": 0, "172.16.9.9": 1, "172.16.1.9": 2, "172.16.1.1": 3}

        def check():
            for address, index in want.items():
                due = OUTSIDE_MAC if index is None else GATEWAY_MACS[GATEWAYS[index]]
                got = self.one(inside(udp(dst=address)))
                self.assertEqual(got[:6].hex(":"), due, address)
                via = [v["gateway"] for v in self.router.json(f"route lookup {address}")["via"]]
                self.assertEqual(via, ["203.0.113.254" if index is None else GATEWAYS[index]])
        check()
        self.router.ctl("route del 172.16.1.1/32")
        want["172.16.1.1"] = 2
        check()
        self.router.ctl("route del 172.16.0.0/12")
        want["172.31.0.1"] = None
        check()
        self.router.ctl("route del 172.16.1.0/24")
        want["172.16.1.1"] = want["172.16.1.9"] = 1
        check()
        self.router.ctl("route del 172.16.0.0/16")
        want = {address: None for address in want}
        check()

    def test_ecmp(self):
        """flows spread over several gateways, and each flow stays on one"""
        self.router.ctl(f"route add 100.64.0.0/16 via {','.join(GATEWAYS)}")
        try:
            where = {}
            for turn in range(2):
                for flow in range(128):
                    got = self.one(inside(udp(dst=f"100.64.{flow % 5}.{flow + 1}", sport=2000 + flow * 7)))
                    mac = got[:6].hex(":")
                    self.assertEqual(where.setdefault(flow, mac), mac, "a flow changed its way")
            shares = [list(where.values()).count(mac) for mac in GATEWAY_MACS.values()]
            self.assertEqual(sum(shares), 128)
            self.assertTrue(all(share >= 12 for share in shares), f"uneven: {shares}")
        finally:
            self.router.ctl("route del 100.64.0.0/16")

    def test_no_route(self):
        """without a route: net unreachable from the router's address, with a good quote"""
        self.router.ctl("route del 0.0.0.0/0")
        try:
            packet = udp(dst="192.0.2.77")
            got = datagram(self.one(inside(packet)))
            self.assertEqual((got.src, got.dst), ("10.0.0.1", "10.0.0.2"))
            self.assertEqual((got[ICMP].type, got[ICMP].code), (3, 0))
            self.assertEqual(bytes(got[ICMP].payload)[12:20], bytes(packet)[12:20])
            self.assertEqual(self.router.drops(), {"no_route": 1})
        finally:
            self.router.ctl("route add 0.0.0.0/0 via 203.0.113.254")

    def test_counters(self):
        """interfaces count packets and bytes in and out"""
        before = {s["interface"]: s for s in self.router.json("stats show")["interfaces"]}
        self.one(inside(udp(payload=b"x" * 100)))
        after = {s["interface"]: s for s in self.router.json("stats show")["interfaces"]}
        size = 14 + 20 + 8 + 100
        self.assertEqual(after["wan"]["tx_packets"] - before["wan"]["tx_packets"], 1)
        self.assertEqual(after["wan"]["tx_bytes"] - before["wan"]["tx_bytes"], size)
        self.assertEqual(after["lan"]["rx_packets"] - before["lan"]["rx_packets"], 3, "and the two sentinels")


class SmallMtu(Bench):
    """The outside MTU is 600: fragments and fragmentation needed, without translation."""

    lines = [line + (" mtu 600" if line.startswith("interface add wan") else "") for line in ROUTED]

    def test_fragmentation(self):
        """datagrams of many lengths leave in fragments that make up the same datagram"""
        for size in (573, 574, 1000, 1149, 1472):
            packet = udp(payload=os.urandom(size), id=size)
            got = self.sent([inside(packet)], expect=2)
            whole = IP(frames.reassemble(got, 600))
            self.assertEqual(bytes(whole[UDP]), bytes(IP(bytes(packet))[UDP]))
            self.assertEqual((whole.src, whole.dst, whole.id, whole.ttl), (packet.src, packet.dst, size, 63))
        self.assertEqual(self.router.drops(), {})

    def test_just_fits(self):
        """a datagram of exactly the MTU leaves whole, DF or not"""
        for flags in ("", "DF"):
            self.assertEqual(len(frames.ip_datagram(self.one(inside(udp(payload=b"x" * 572, flags=flags))))), 600)

    def test_fragment_of_fragment(self):
        """a fragment is fragmented once more, offsets and MF kept"""
        data = os.urandom(1480)
        got = self.sent([inside(IP(src="10.0.0.2", dst=FAR, id=7, flags="MF", frag=185, proto=17) / data)], expect=3)
        pieces = sorted((datagram(f) for f in got), key=lambda p: p.frag)
        self.assertEqual(b"".join(bytes(p.payload) for p in pieces), data)
        self.assertEqual(pieces[0].frag, 185)
        self.assertTrue(all(p.flags.MF for p in pieces), "none of them is the last")
        self.assertTrue(all(p.len <= 600 for p in pieces))

    def test_dont_fragment(self):
        """DF: fragmentation needed with the MTU, one counter (I5)"""
        got = datagram(self.one(inside(udp(payload=b"x" * 573, flags="DF"))))
        self.assertEqual((got.src, got.dst, got[ICMP].type, got[ICMP].code, got[ICMP].nexthopmtu),
                         ("10.0.0.1", "10.0.0.2", 3, 4, 600))
        self.assertLessEqual(got.len, 576)
        self.assertEqual(self.router.drops(), {"mtu_exceeded": 1})


class Vlans(Bench):
    """802.1Q interfaces on both ports."""

    lines = ROUTED + VLAN

    def test_tagged_to_plain(self):
        """in with a tag, out without"""
        got = self.one(bytes(Ether(src=INSIDE_MAC, dst=LAN_MAC) / Dot1Q(vlan=10) / udp(src="10.10.0.2")))
        self.assertEqual(frames.ethertype(got), (0x0800, 14), describe(got))
        self.assertEqual(datagram(got).src, "10.10.0.2")

    def test_plain_to_tagged(self):
        """in without, out with the tag of the egress interface"""
        got = self.one(outside(udp(src=FAR, dst="10.10.0.2")))
        self.assertEqual(got[12:18].hex(), "8100000a0800", describe(got))
        self.assertEqual((got[:6].hex(":"), got[6:12].hex(":")), (INSIDE_MAC, LAN_MAC))

    def test_tagged_to_tagged(self):
        """from one tag to another"""
        got = self.one(bytes(Ether(src=INSIDE_MAC, dst=LAN_MAC) / Dot1Q(vlan=10, prio=5)
                             / udp(src="10.10.0.2", dst="192.0.2.2", payload=b"z")))
        self.assertEqual(struct.unpack_from("!HH", got, 12)[0], 0x8100)
        self.assertEqual(struct.unpack_from("!H", got, 14)[0] & 0xFFF, 20)
        self.assertEqual(datagram(got).dst, "192.0.2.2")

    def test_priority_tag(self):
        """VLAN 0 is a priority, not a VLAN: the port's own interface"""
        self.one(bytes(Ether(src=INSIDE_MAC, dst=LAN_MAC) / Dot1Q(vlan=0, prio=7) / udp()))

    def test_unknown(self):
        """tags of no interface, and stacked tags, are dropped and counted (C13)"""
        for packet in (Dot1Q(vlan=11) / udp(), Dot1Q(vlan=4095) / udp(), Dot1AD(vlan=10) / Dot1Q(vlan=10) / udp(),
                       Dot1Q(vlan=10) / Dot1Q(vlan=10) / udp()):
            with self.subTest(packet=packet.summary()):
                self.none(bytes(Ether(src=INSIDE_MAC, dst=LAN_MAC) / packet), "vlan_unknown")

    def test_arp(self):
        """ARP on a VLAN is answered with its tag, and only there"""
        ask = Ether(src=INSIDE_MAC, dst="ff:ff:ff:ff:ff:ff")
        who = ARP(op=1, hwsrc=INSIDE_MAC, psrc="10.10.0.2", pdst="10.10.0.1")
        left = self.play([bytes(ask / Dot1Q(vlan=10) / who)], expect=1, port=self.lan)
        self.assertEqual(len(left), 1)
        answer = Ether(left[0][1])
        self.assertEqual((answer[Dot1Q].vlan, answer[ARP].op, answer[ARP].psrc, answer[ARP].hwsrc),
                         (10, 2, "10.10.0.1", LAN_MAC))
        self.assertEqual(self.play([bytes(ask / who)], port=self.lan), [], "answered on the wrong VLAN")

    def test_echo(self):
        """the router answers pings on a VLAN with the tag"""
        got = self.one(bytes(Ether(src=INSIDE_MAC, dst=LAN_MAC) / Dot1Q(vlan=10)
                             / IP(src="10.10.0.2", dst="10.10.0.1") / ICMP(id=1) / b"ping"))
        self.assertEqual(got[12:18].hex(), "8100000a0800", describe(got))
        self.assertEqual(datagram(got)[ICMP].type, 0)

    def test_listing(self):
        """the VLANs show in the list of interfaces, and go again"""
        vlans = {i["name"]: i.get("vlan") for i in self.router.items("interface show")}
        self.assertEqual((vlans["lan10"], vlans["wan20"]), (10, 20))
        self.router.ctl("interface add lan30 vlan 30 parent lan")
        self.router.ctl("interface del lan30")
        self.none(bytes(Ether(src=INSIDE_MAC, dst=LAN_MAC) / Dot1Q(vlan=30) / udp()), "vlan_unknown")
