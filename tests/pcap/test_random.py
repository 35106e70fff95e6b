"""Random traffic from a fixed seed: flows that must arrive whole, and garbage that must do no harm."""

import collections
import os
import random
import struct
import time

from bench import BASE_STATIC, INSIDE_HOSTS, LAN_MAC, WAN_MAC, Bench, datagram, inside, outside
from harness import frames
from harness.frames import collect, frame_bad_checksums
from harness.procs import wait_for

import bench
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

SEED = int(os.environ.get("TP_SEED", "20261130"))
POOLED, ONE_TO_ONE = "203.0.113.10", ("10.0.0.50", "203.0.113.50")


class Flow:
    """One inside endpoint talking to one outside endpoint."""

    def __init__(self, rng, number):
        self.kind = rng.choice(("udp", "udp", "tcp", "icmp"))
        self.host = rng.choice(INSIDE_HOSTS)
        self.peer = f"{rng.choice(('198.51.100', '192.0.2'))}.{rng.randint(1, 250)}"
        self.sport = rng.choice((rng.randint(1, 1023), rng.randint(1024, 65535), 5000))
        self.dport = rng.randint(1, 65535)
        self.number = number
        self.seq, self.rseq = rng.getrandbits(32), rng.getrandbits(32)
        self.external = None  # (address, port)

    @property
    def key(self):
        return (self.kind, self.host, self.sport, self.peer, self.dport if self.kind != "icmp" else 0)

    def _l4(self, out, flags, data):
        if self.kind == "icmp":
            return ICMP(type=8 if out else 0, id=self.sport if out else self.external[1], seq=self.seq & 0xFFFF)
        if self.kind == "udp":
            return UDP(sport=self.sport, dport=self.dport) if out else UDP(sport=self.dport, dport=self.external[1])
        if out:
            l4 = TCP(sport=self.sport, dport=self.dport, flags=flags, seq=self.seq, ack=self.rseq)
            self.seq = (self.seq + len(data) + ("S" in flags)) & 0xFFFFFFFF
        else:
            l4 = TCP(sport=self.dport, dport=self.external[1], flags=flags, seq=self.rseq, ack=self.seq)
            self.rseq = (self.rseq + len(data) + ("S" in flags)) & 0xFFFFFFFF
        return l4

    def out(self, flags, data, ttl):
        return inside(IP(src=self.host, dst=self.peer, ttl=ttl) / self._l4(True, flags, data) / Raw(data))

    def back(self, flags, data, ttl):
        return outside(IP(src=self.peer, dst=self.external[0], ttl=ttl) / self._l4(False, flags, data) / Raw(data))


def endpoints(packet):
    """(source port or identifier, destination port or identifier, payload)"""
    if ICMP in packet:
        return packet[ICMP].id, packet[ICMP].id, bytes(packet[ICMP].payload)
    layer = packet[UDP] if UDP in packet else packet[TCP]
    return layer.sport, layer.dport, bytes(layer.payload)


class Random(Bench):
    lines = BASE_STATIC
    limit_s = 300

    def payload(self, rng, number):
        """A marker and random bytes; odd and even lengths up to a full frame."""
        size = rng.choice((0, 1, 2, 3, rng.randint(4, 64), rng.randint(64, 1440)))
        return struct.pack("!I", number) + rng.randbytes(size)

    def exchange(self, batch):
        """Sends a batch of (port, frame) at once and returns what left, sums verified."""
        for port, frame in batch:
            port.send(frame)
        left = collect(self.ports, len(batch), 5)
        left += collect(self.ports, 1000, 0.005)
        self.check_origin(left)
        for _, frame in left:
            self.assertEqual(frame_bad_checksums(frame), [], frames.describe(frame))
            bench.left_good.append(frame)
        self.assertEqual(len(left), len(batch), f"drops: {self.router.drops()}")
        return {endpoints(datagram(f))[2][:4]: (port, datagram(f)) for port, f in left}

    def test_flows(self):
        """random UDP, TCP and ICMP flows, out and back: payloads whole, endpoints unique, sums right (M1, M3, K1-K6)"""
        rng = random.Random(SEED)
        flows = {}
        while len(flows) < 160:
            flow = Flow(rng, len(flows))
            flows.setdefault(flow.key, flow)
        flows = list(flows.values())
        number = 0
        taken = {}
        for turn in range(4):
            rng.shuffle(flows)
            for start in range(0, len(flows), 16):
                part = flows[start:start + 16]
                # out
                batch, due = [], {}
                for flow in part:
                    number += 1
                    flags = "S" if turn == 0 else "PA"
                    data = self.payload(rng, number)
                    ttl = rng.randint(2, 255)
                    batch.append((self.lan, flow.out(flags, data, ttl)))
                    due[data[:4]] = (flow, data, ttl)
                left = self.exchange(batch)
                self.assertEqual(set(left), set(due))
                for mark, (flow, data, ttl) in due.items():
                    port, packet = left[mark]
                    sport, dport, body = endpoints(packet)
                    self.assertIs(port, self.wan)
                    self.assertEqual((packet.dst, packet.ttl, body), (flow.peer, ttl - 1, data))
                    self.assertEqual(dport if flow.kind != "icmp" else flow.dport, flow.dport)
                    self.assertEqual(packet.src, ONE_TO_ONE[1] if flow.host == ONE_TO_ONE[0] else POOLED)
                    external = (packet.src, sport)
                    if flow.external is None:
                        flow.external = external
                        owner = taken.setdefault((flow.kind, *external), (flow.host, flow.sport))
                        self.assertEqual(owner, (flow.host, flow.sport), "an external endpoint of two inside ones")
                        if flow.sport < 1024:
                            self.assertLess(sport, 1024)
                        elif flow.kind != "icmp":
                            self.assertGreaterEqual(sport, 1024)
                    self.assertEqual(external, flow.external, "a flow changed its external endpoint")
                # and back
                batch, due = [], {}
                for flow in part:
                    number += 1
                    data = self.payload(rng, number)
                    ttl = rng.randint(2, 255)
                    batch.append((self.wan, flow.back("SA" if turn == 0 else "PA", data, ttl)))
                    due[data[:4]] = (flow, data, ttl)
                left = self.exchange(batch)
                self.assertEqual(set(left), set(due))
                for mark, (flow, data, ttl) in due.items():
                    port, packet = left[mark]
                    _, dport, body = endpoints(packet)
                    self.assertIs(port, self.lan)
                    self.assertEqual((packet.src, packet.dst, dport, packet.ttl, body),
                                     (flow.peer, flow.host, flow.sport, ttl - 1, data))
        self.assertEqual(self.router.drops(), {})
        # ICMP sessions with one identifier to one peer are one; all else has its own
        self.assertEqual(len(self.router.sessions()), len(flows))

    def seeds(self, rng):
        """Valid frames of all kinds, to be damaged."""
        hosts = INSIDE_HOSTS
        far = f"198.51.100.{rng.randint(1, 250)}"
        quoted = bytes(IP(src=POOLED, dst=far) / UDP(sport=rng.choice((4000, 4001)), dport=5000) / b"quote")
        host = rng.choice(hosts)
        pick = rng.randrange(12)
        if pick == 0:
            return inside(IP(src=host, dst=far) / UDP(sport=4000, dport=5000) / rng.randbytes(rng.randint(0, 600)))
        if pick == 1:
            return inside(IP(src=host, dst=far) / TCP(sport=4000, dport=80, flags=rng.randint(0, 255))
                          / rng.randbytes(rng.randint(0, 600)))
        if pick == 2:
            return inside(IP(src=host, dst=far) / ICMP(type=rng.randint(0, 255), code=rng.randint(0, 255), id=7)
                          / rng.randbytes(rng.randint(0, 60)))
        if pick == 3:
            return outside(IP(src=far, dst=rng.choice((POOLED, "203.0.113.50", "203.0.113.1")))
                           / ICMP(type=rng.choice((3, 4, 5, 11, 12)), code=rng.randint(0, 15))
                           / quoted[:rng.randint(0, len(quoted))])
        if pick == 4:
            return outside(IP(src=far, dst=POOLED) / TCP(sport=1, dport=rng.choice((8080, 4000)), flags="S"))
        if pick == 5:
            return inside(IP(src=host, dst=POOLED) / TCP(sport=4000, dport=8080, flags="S"))
        if pick == 6:
            return inside(IP(src=host, dst=far, flags=rng.choice(("", "MF", "DF")), frag=rng.randint(0, 8191),
                             proto=rng.choice((1, 6, 17))) / rng.randbytes(rng.randint(0, 900)))
        if pick == 7:
            return bytes(Ether(src="02:00:00:00:00:aa", dst="ff:ff:ff:ff:ff:ff")
                         / ARP(op=rng.randint(0, 4), psrc=f"10.0.0.{rng.randint(2, 9)}", pdst="10.0.0.1",
                               hwsrc="02:00:00:00:00:aa"))
        if pick == 8:
            return bytes(Ether(src="02:00:00:00:00:aa", dst=LAN_MAC) / Dot1Q(vlan=rng.randint(0, 20))
                         / IP(src=host, dst=far) / UDP())
        if pick == 9:
            return inside(IP(src=host, dst=far, options=[]) / rng.randbytes(rng.randint(0, 40)))
        if pick == 10:
            return inside(IP(src=host, dst=rng.choice(("10.0.0.1", "203.0.113.1", POOLED)))
                          / rng.choice((UDP(), ICMP(), TCP())) / rng.randbytes(20))
        return bytes(rng.choice((bytes.fromhex(LAN_MAC.replace(":", "")), bytes.fromhex(WAN_MAC.replace(":", ""))))
                     + rng.randbytes(rng.randint(8, 300)))

    def damage(self, rng, frame):
        """Cuts, lengthens, overwrites; now and then mends the IPv4 checksum so that later checks are reached."""
        data = bytearray(frame)
        for _ in range(rng.choice((0, 1, 1, 2, 5))):
            what = rng.randrange(5)
            if what == 0 and len(data) > 14:
                data = data[:rng.randint(14, len(data))]
            elif what == 1:
                data += rng.randbytes(rng.randint(1, 60))
            elif what == 2 and len(data) > 34:
                data[rng.randint(14, 33)] = rng.randrange(256)
            elif what == 3 and len(data) > 14:
                data[rng.randrange(12, len(data))] ^= 1 << rng.randrange(8)
            elif what == 4 and len(data) > 50:
                data[rng.randint(34, 49)] = rng.choice((0, 255, rng.randrange(256)))
        if rng.random() < 0.7 and len(data) >= 34 and data[12:14] == b"\x08\x00":
            header = (data[14] & 15) * 4
            if 20 <= header <= len(data) - 14:
                data[24:26] = b"\0\0"
                struct.pack_into("!H", data, 24, frames.checksum(bytes(data[14:14 + header])))
        return bytes(data[:1514])

    def test_garbage(self):
        """thousands of damaged frames: the router lives, nothing inside leaks, every frame is accounted for"""
        rng = random.Random(SEED + 1)
        count = 4000
        leaks = []
        tally = collections.Counter()
        for i in range(count):
            frame = self.damage(rng, self.seeds(rng))
            port = self.lan if frame[:6].hex(":") != WAN_MAC else self.wan
            port.send(frame)
            if i % 64 == 63 or i == count - 1:
                for where, left in self.sentinel(self.lan) + self.sentinel(self.wan):
                    tally[where.name] += 1
                    packet = frames.ip_datagram(left)
                    if where is self.wan and packet is not None and len(packet) >= 20 \
                            and frames.addresses(packet)[0] in INSIDE_HOSTS:
                        leaks.append(frames.describe(left))
        self.assertTrue(self.router.alive(), self.router.process.tail())
        self.assertEqual(leaks, [], "inside addresses outside")
        self.assertGreater(tally["tp0"] + tally["tp1"], 100, "some frames must have been good enough to leave")
        self.router.ctl("nat session clear all")
        # the router still works; it may also still ask for neighbours, or report those that did not answer
        sent = inside(IP(src="10.0.0.2", dst="198.51.100.7") / UDP(sport=4000, dport=5000) / b"after")
        got = [frame for _, frame in self.play([sent], expect=1) if frame.endswith(b"after")]
        self.assertEqual([datagram(frame).src for frame in got], [POOLED])
        self.balance()

    def balance(self):
        """No packet disappears without a named counter: what came in is what left, was dropped, or was for us."""
        def books():
            stats = self.router.json("stats show")
            events = collections.Counter({e["event"]: e["count"] for e in stats["events"]})
            came = sum(i["rx_packets"] for i in stats["interfaces"])
            went = sum(i["tx_packets"] for i in stats["interfaces"])
            # what has a tag of no interface came in by none
            drops = sum(d["packets"] for d in stats["drops"] if d.get("interface"))
            own = events["arp_out"] + events["icmp_errors_out"]
            arp_in = events["arp_requests_in"] + events["arp_replies_in"]
            return came - drops - arp_in - (went - own), (came, went, drops, events)
        # datagrams that wait for a neighbour end in a counter too, after a few seconds
        deadline = time.monotonic() + 20
        while books()[0] != 0 and time.monotonic() < deadline:
            time.sleep(0.2)
        rest, detail = books()
        self.assertEqual(rest, 0, detail)

    def test_balance(self):
        """counters account for each frame of good traffic"""
        for i in range(50):
            self.play([inside(IP(src="10.0.0.2", dst="198.51.100.7") / UDP(sport=4000 + i) / b"x")], settle=0)
        wait_for(lambda: len(self.router.sessions()) == 50, 5, "50 sessions")
        self.balance()
