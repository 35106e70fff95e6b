"""ARP: answering, resolving, packets that wait, what is learned and forgotten."""

import time

from bench import (ADDRESSES, DEFAULT_ROUTE, INSIDE_MAC, LAN_MAC, OUTSIDE_MAC, POOL, PORTS, SNAT, WAN_MAC, Bench,
                   datagram, inside, outside)
from harness import frames
from harness.frames import collect, listing
from harness.procs import wait_for

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

FAR = "198.51.100.7"
BROADCAST = "ff:ff:ff:ff:ff:ff"


def udp(src="10.0.0.2", dst=FAR, payload=b"x", **ip):
    return IP(src=src, dst=dst, **ip) / UDP(sport=4000, dport=5000) / Raw(payload)


def is_arp(frame):
    return frames.ethertype(frame)[0] == frames.ETH_P_ARP


class Resolving(Bench):
    """No static neighbours: everything is asked for."""

    lines = PORTS + ADDRESSES + DEFAULT_ROUTE + POOL + SNAT

    def setUp(self):
        super().setUp()
        # Each test starts with nothing learned: what waits for an answer from before is flushed too.
        for name in ("lan", "wan"):
            self.router.ctl(f"neighbour flush interface {name}")
        for port in self.ports:
            port.drain()
        self.router.ctl("stats reset")

    def requests(self, port, count=1, timeout=3):
        """ARP requests that leave by port."""
        got = [f for p, f in collect(self.ports, count, timeout) if p is port and is_arp(f)]
        self.assertGreaterEqual(len(got), count, "no ARP request left")
        return [Ether(f) for f in got]

    def answer(self, request, mac):
        return bytes(Ether(src=mac, dst=request[ARP].hwsrc)
                     / ARP(op=2, hwsrc=mac, psrc=request[ARP].pdst, hwdst=request[ARP].hwsrc, pdst=request[ARP].psrc))

    def learned(self, address):
        return {n["address"]: n for n in self.router.items("neighbour show")}.get(address)

    def test_request(self):
        """the request is a broadcast from the router's own address, in a whole frame"""
        self.wan.drain()
        self.lan.send(inside(udp()))
        ask = self.requests(self.wan)[0]
        self.assertEqual((ask.dst, ask.src), (BROADCAST, WAN_MAC))
        arp = ask[ARP]
        self.assertEqual((arp.hwtype, arp.ptype, arp.hwlen, arp.plen, arp.op), (1, 0x0800, 6, 4, 1))
        self.assertEqual((arp.hwsrc, arp.psrc, arp.pdst), (WAN_MAC, "203.0.113.1", "203.0.113.254"))

    def test_held_in_order(self):
        """datagrams that wait for an answer leave in their order, translated"""
        for i in range(5):
            self.lan.send(inside(udp(payload=b"%d" % i)))
        ask = self.requests(self.wan)[0]
        self.wan.send(self.answer(ask, OUTSIDE_MAC))
        got = [f for _, f in collect(self.ports, 5, 3) if not is_arp(f)]
        self.assertEqual([bytes(datagram(f)[UDP].payload) for f in got], [b"%d" % i for i in range(5)], listing(got))
        for frame in got:
            self.assertEqual((frame[:6].hex(":"), datagram(frame).src), (OUTSIDE_MAC, "203.0.113.10"))
            self.assertEqual(frames.frame_bad_checksums(frame), [])
        self.assertEqual(self.learned("203.0.113.254")["state"], "reachable")
        self.assertEqual(self.learned("203.0.113.254")["lladdr"], OUTSIDE_MAC)
        self.one(inside(udp()))
        self.assertEqual(self.router.drops(), {})

    def test_unanswered(self):
        """nobody answers: asked again, then host unreachable to each sender, and counted"""
        self.lan.send(inside(IP(src="10.0.0.250", dst="203.0.113.99") / UDP(sport=7, dport=9) / b"lost"))
        got = []
        errors = []

        def done():
            got.extend(collect(self.ports, 1, 0.2))
            errors[:] = [f for _, f in got if not is_arp(f)]
            return errors
        wait_for(done, 20, "an ICMP error")
        asked = [f for p, f in got if p is self.wan and is_arp(f)]
        self.assertGreaterEqual(len(asked), 2, "asked again")
        error = datagram(errors[0])
        self.assertEqual((error.src, error.dst, error[ICMP].type, error[ICMP].code),
                         ("10.0.0.1", "10.0.0.250", 3, 1))
        self.assertEqual(frames.frame_bad_checksums(errors[0]), [])
        quote = IP(bytes(error[ICMP].payload))
        self.assertEqual((quote.src, quote.dst, quote.sport), ("10.0.0.250", "203.0.113.99", 7),
                         "the quote shows the datagram as the sender knows it")
        self.assertEqual(self.router.drops(), {"host_unreachable": 1})

    def test_queue_bound(self):
        """few datagrams wait for one neighbour; the rest is dropped and counted"""
        count = 300
        for i in range(count):
            self.lan.send(inside(udp(payload=b"%d" % i)))
        ask = self.requests(self.wan)[0]
        self.sentinel_quiet()
        self.wan.send(self.answer(ask, OUTSIDE_MAC))
        got = [f for _, f in collect(self.ports, count, 1) if not is_arp(f)]
        drops = self.router.drops()
        self.assertEqual(len(got) + drops.get("neighbour_queue_full", 0), count, drops)
        self.assertEqual(set(drops), {"neighbour_queue_full"})
        self.assertGreaterEqual(len(got), 3)
        self.assertLess(len(got), count)

    def sentinel_quiet(self):
        return [f for _, f in self.sentinel(self.lan) if not is_arp(f)]

    def test_flush(self):
        """what was flushed is asked for again"""
        self.lan.send(inside(udp()))
        self.wan.send(self.answer(self.requests(self.wan)[0], OUTSIDE_MAC))
        collect(self.ports, 1, 2)
        self.router.ctl("neighbour flush interface wan")
        self.assertIn((self.learned("203.0.113.254") or {}).get("state"), (None, "incomplete"))
        self.lan.send(inside(udp()))
        self.requests(self.wan)

    def test_new_mac(self):
        """a neighbour with a new MAC says so by ARP, and traffic follows (RFC 826)"""
        self.lan.send(inside(udp()))
        self.wan.send(self.answer(self.requests(self.wan)[0], OUTSIDE_MAC))
        collect(self.ports, 1, 2)
        new = "02:00:00:00:00:cc"
        self.wan.send(bytes(Ether(src=new, dst=BROADCAST)
                            / ARP(op=1, hwsrc=new, psrc="203.0.113.254", pdst="203.0.113.254")))
        wait_for(lambda: (self.learned("203.0.113.254") or {}).get("lladdr") == new, 3, "the new MAC")
        self.assertEqual(self.one(inside(udp()))[:6].hex(":"), new)

    def test_static_stays(self):
        """ARP does not change a neighbour that was set by command"""
        self.router.ctl(f"neighbour add 203.0.113.254 lladdr {OUTSIDE_MAC} interface wan")
        try:
            evil = "02:00:00:00:00:66"
            self.play([bytes(Ether(src=evil, dst=WAN_MAC)
                             / ARP(op=2, hwsrc=evil, psrc="203.0.113.254", hwdst=WAN_MAC, pdst="203.0.113.1"))],
                      port=self.wan)
            self.assertEqual(self.one(inside(udp()))[:6].hex(":"), OUTSIDE_MAC)
        finally:
            self.router.ctl("neighbour del 203.0.113.254 interface wan")

    def test_answers(self):
        """requests for own addresses are answered on their port only, and the asker is learned"""
        ask = bytes(Ether(src=INSIDE_MAC, dst=BROADCAST)
                    / ARP(op=1, hwsrc=INSIDE_MAC, psrc="10.0.0.3", pdst="10.0.0.1"))
        got = [x for x in self.play([ask], expect=1, port=self.lan) if x[0] is self.lan]
        self.assertEqual(len(got), 1)
        answer = Ether(got[0][1])
        self.assertEqual((answer.dst, answer.src, answer[ARP].op, answer[ARP].psrc, answer[ARP].hwsrc,
                          answer[ARP].pdst, answer[ARP].hwdst),
                         (INSIDE_MAC, LAN_MAC, 2, "10.0.0.1", LAN_MAC, "10.0.0.3", INSIDE_MAC))
        self.wan.send(outside(IP(src=FAR, dst="203.0.113.1") / ICMP(id=3)))
        for target in ("203.0.113.1", "10.0.0.77", "198.51.100.7"):
            wrong = bytes(Ether(src=INSIDE_MAC, dst=BROADCAST)
                          / ARP(op=1, hwsrc=INSIDE_MAC, psrc="10.0.0.3", pdst=target))
            left = [f for p, f in self.play([wrong], port=self.lan) if p is self.lan]
            self.assertEqual(left, [], f"answered for {target}")

    def test_malformed(self):
        """ARP that is cut short or of another kind is dropped and counted"""
        good = bytes(Ether(src=INSIDE_MAC, dst=BROADCAST)
                     / ARP(op=1, hwsrc=INSIDE_MAC, psrc="10.0.0.3", pdst="10.0.0.1"))
        wrong = [good[:n] for n in (14, 20, 41)]
        for at, value in ((15, 9), (16, 0x86), (18, 5), (19, 16)):
            bad = bytearray(good)
            bad[at] = value
            wrong.append(bytes(bad))
        for i, frame in enumerate(wrong):
            # the other port may still be asking for its gateway
            left = [f for p, f in self.play([frame], port=self.lan, settle=0.01) if p is self.lan]
            self.assertEqual(left, [], f"frame {i}: answered")
            wait_for(lambda i=i: self.router.drops().get("arp_malformed") == i + 1, 2, f"frame {i} counted")
        self.assertEqual(self.router.drops(), {"arp_malformed": len(wrong)})

    def test_gratuitous(self):
        """a new address is announced"""
        self.router.ctl("address add 192.0.2.1/24 interface lan")
        try:
            got = [Ether(f) for f in (f for p, f in collect(self.ports, 1, 3) if p is self.lan) if is_arp(f)]
            self.assertTrue(got, "no announcement")
            self.assertEqual((got[0].dst, got[0][ARP].psrc, got[0][ARP].pdst, got[0][ARP].hwsrc),
                             (BROADCAST, "192.0.2.1", "192.0.2.1", LAN_MAC))
        finally:
            self.router.ctl("address del 192.0.2.1/24 interface lan")

    def test_flood_of_unknown(self):
        """a scan over a thousand silent neighbours does not stop the traffic of others"""
        self.router.ctl(f"neighbour add 203.0.113.254 lladdr {OUTSIDE_MAC} interface wan")
        self.router.ctl("address add 172.20.0.1/16 interface wan")
        try:
            for i in range(1000):
                self.lan.send(inside(udp(dst=f"172.20.{1 + i // 250}.{1 + i % 250}")))
                if i % 100 == 99:
                    self.sentinel(self.lan)
            time.sleep(0.1)
            got = [f for f in self.sent_no_arp(inside(udp(payload=b"still here")))]
            self.assertEqual(len(got), 1, listing(got))
        finally:
            self.router.ctl("neighbour flush interface wan")
            self.router.ctl("address del 172.20.0.1/16 interface wan")
            self.router.ctl("neighbour del 203.0.113.254 interface wan")

    def sent_no_arp(self, frame):
        return [f for _, f in self.play([frame], settle=0.1) if not is_arp(f) and b"still here" in f]
