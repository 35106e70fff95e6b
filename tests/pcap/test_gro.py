"""Merging TCP segments and UDP datagrams (GRO) and cutting them again, in the real daemon: what leaves is what leaves
without it."""

import random

from bench import BASE, ROUTED, inside, outside
from harness.frames import collect, compare_exact, listing
from test_cases import MANIFEST, Cases, expected, inputs

from scapy.layers.inet import IP, TCP, UDP

HANDSHAKE = 3  # frames of each case


def with_gro(lines):
    return [line + (" gro on" if line.startswith("interface add") else "") for line in lines]


def as_interleaved(want, left):
    """What left, with its flows interleaved as in want: one flow may overtake another that waits. Each keeps its order."""
    def flow(frame):
        return frame[23:24] + frame[26:38]

    to = sorted(range(len(want)), key=lambda i: flow(want[i]))
    return [entry for _, entry in sorted(zip(to, sorted(left, key=lambda entry: flow(entry[1]))), key=lambda pair: pair[0])]


class Gro(Cases):
    """What both share; itself without tests."""

    lines = BASE
    on = False
    waits = False

    def events(self):
        return {row["event"]: row["count"] for row in self.router.json("stats")["events"]}

    def case(self, case, first=HANDSHAKE):
        """The handshake frame by frame, the rest at once; exactly the expected frames leave."""
        fed, want = inputs(case), expected(case)
        bad = MANIFEST[case].get("wrong_checksum_on_purpose_expected", ())
        left = self.play(fed[:first])
        left += self.at_once(fed[first:], len(want) - len(left))
        if (self.waits or self.router.workers > 1) and len(left) == len(want):
            left = as_interleaved(want, left)
        compare_exact(want, [frame for _, frame in left])
        self.check_origin(left)
        self.check_sums(left, bad)
        self.assertEqual(self.router.drops(), {})
        return self.events()

    def merged(self, events, packets, segments):
        got = events.get("gro_merged", 0), events.get("cut_segments", 0)
        self.assertEqual(got, (packets, segments) if self.on else (0, 0), events)

    def check_C39(self):
        """padding is no payload, and a padded pure ACK no data"""
        events = self.case("C39")
        self.merged(events, 1, 2)
        self.assertEqual(events.get("gro_payload_bytes_summed", 0), 8 if self.on else 0)

    def check_C40(self):
        """a damaged segment is not merged, not repaired, and counted by interface"""
        events = self.case("C40")
        self.merged(events, 0, 0)
        self.assertEqual(events.get("gro_bad_checksum", 0), int(self.on))
        rows = {row["interface"]: row["bad_checksums"] for row in self.router.json("stats")["interfaces"]}
        self.assertEqual(rows["lan"], int(self.on), rows)

    def check_C41(self):
        """no two segments merge that differ in TTL, ECN, DSCP, DF, options, acknowledgement, window or flags"""
        self.case("C41", first=4)

    def check_C43(self):
        """a sequence wrap, a swap, a duplicate, and more than 65,535 bytes"""
        events = self.case("C43")
        if self.on:
            self.assertGreaterEqual(events["gro_merged"], 4, events)
            self.assertGreater(events["cut_segments"], 50, events)
            data = sum(IP(f[14:]).len - 40 for f in inputs("C43")[HANDSHAKE:])
            self.assertLessEqual(events["gro_payload_bytes_summed"], data)

    def check_C44(self):
        """merged above the MTU: cut as it came, CWR on the first, PSH on the last, no ICMP"""
        events = self.case("C44")
        self.merged(events, 1, 6)
        self.assertEqual(events.get("gro_payload_bytes_summed", 0), 6 * 1448 if self.on else 0)


class GroOff(Gro):
    lines = BASE


class GroOn(Gro):
    lines = with_gro(BASE)
    on = True

    def test_settings(self):
        """shown, changed at run time, saved, and a reload brings the old ones back"""
        def shown(name):
            row = next(r for r in self.router.items("interface") if r["name"] == name)
            return row["gro"], row["gro_validate"], row["gro_timeout_us"], row["gro_udp"]

        self.assertEqual(shown("lan"), ("on", "offload", 0, "off"))
        try:
            self.router.ctl("interface set lan gro-validate counted")
            self.router.ctl("interface set lan gro-timeout 50")
            self.router.ctl("interface set lan gro-udp on")
            self.router.ctl("interface set wan gro off")
            self.assertEqual((shown("lan"), shown("wan")), (("on", "counted", 50, "on"), ("off", "offload", 0, "off")))
            saved = self.router.ctl("config show")
            self.assertIn("interface set lan gro-validate counted\n", saved)
            self.assertIn("interface set lan gro-timeout 50\n", saved)
            self.assertIn("interface set lan gro-udp on\n", saved)
            self.assertEqual(saved.count(" gro on\n"), 1, saved)
            self.router.refused("interface set lan gro maybe", status=2)
        finally:
            self.router.ctl(f"config load {self.router.config}")
        self.assertEqual((shown("lan"), shown("wan")), (("on", "offload", 0, "off"), ("on", "offload", 0, "off")))
        self.assertEqual(self.router.drops(), {})

    def test_unknown_neighbour(self):
        """segments for a neighbour that is not known yet are held one by one, and leave in order"""
        frames = [inside(IP(src="10.0.0.2", dst="203.0.113.99", id=i) /
                         TCP(sport=40001, dport=80, flags="A", seq=1 + 100 * i, ack=1) / bytes(100)) for i in range(4)]
        self.router.ctl("nat set tcp-loose on")
        try:
            self.at_once(frames, 1)
            self.router.ctl("neighbour add 203.0.113.99 lladdr 02:00:00:00:00:99 interface wan")
            left = [f for _, f in collect(self.ports, 4, 1.0)]
            self.assertEqual([IP(f[14:]).id for f in left], [0, 1, 2, 3], listing(left))
            self.assertEqual({f[:6].hex(":") for f in left}, {"02:00:00:00:00:99"})
        finally:
            self.router.ctl("nat set tcp-loose off")
            self.router.ctl_raw("neighbour", "del", "203.0.113.99", "interface", "wan")
            self.router.ctl("neighbour flush interface wan")


class GroWaits(Gro):
    """Segments may wait a millisecond for those that follow."""

    lines = with_gro(BASE) + [f"interface set {name} gro-timeout 1000" for name in ("lan", "wan")]
    on = True
    waits = True


class GroUdp(Gro):
    """UDP datagrams merge as well, whichever side they come from."""

    lines = with_gro(BASE) + [f"interface set {name} gro-udp on" for name in ("lan", "wan")]
    on = True

    def datagrams(self, n, size, sport=40000, first=0, **fields):
        return [inside(IP(src="10.0.0.2", dst="198.51.100.7", id=i, flags="DF") /
                       UDP(sport=sport, dport=443, **fields) / random.Random(i).randbytes(size)) for i in range(first, first + n)]

    def opened(self):
        """Makes a session; its external port."""
        return IP(self.one(self.datagrams(1, 100)[0])[14:])[UDP].sport

    def test_both_directions(self):
        """a flow of equal datagrams goes through as one packet, out and back, and each leaves as it came but translated"""
        port = self.opened()
        out = self.datagrams(20, 1200) + self.datagrams(1, 7, first=20)
        back = [bytes(outside(IP(src="198.51.100.7", dst="203.0.113.10", id=7, flags="DF") / UDP(sport=443, dport=port) /
                              random.Random(i).randbytes(900))) for i in range(10)]
        for fed, to, ends in ((out, self.wan, ("203.0.113.10", "198.51.100.7")), (back, self.lan, ("198.51.100.7", "10.0.0.2"))):
            before = self.events()
            left = self.at_once(fed, len(fed))
            self.check_origin(left)
            self.check_sums(left)
            self.assertEqual({p for p, _ in left}, {to})
            self.assertEqual([(IP(f[14:]).src, IP(f[14:]).dst) for _, f in left], [ends] * len(fed))
            for field in (slice(14, 22), slice(38, 40), slice(42, None)):  # up to TTL, UDP's length, payload
                self.assertEqual([f[field] for _, f in left], [f[field] for f in fed], field)
            events = {event: count - before.get(event, 0) for event, count in self.events().items()}
            self.merged(events, 1, len(fed))
            self.assertEqual(events["gro_payload_bytes_summed"], sum(len(f) - 42 for f in fed))
        self.assertEqual(self.router.drops(), {})

    def test_no_session_yet(self):
        """the first datagrams of a flow, all at once: one session, and all leave"""
        left = self.at_once(self.datagrams(5, 300, sport=40500), 5)
        self.assertEqual([IP(f[14:]).id for _, f in left], list(range(5)))
        self.assertEqual(len({IP(f[14:])[UDP].sport for _, f in left}), 1)
        self.check_sums(left)
        self.assertEqual(len(self.router.items("nat", "session")), 1)

    def test_unsummed_and_damaged(self):
        """what has no checksum leaves without one, what is damaged leaves damaged, and neither merges"""
        self.opened()
        fed = self.datagrams(6, 500)
        fed[2] = self.datagrams(1, 500, first=2, chksum=0)[0]
        fed[4] = fed[4][:-1] + bytes((fed[4][-1] ^ 1,))
        left = self.at_once(fed, 6)
        self.check_origin(left)
        self.check_sums(left, bad=(4,))
        self.assertEqual([f[42:] for _, f in left], [f[42:] for f in fed])
        self.assertEqual([i for i, (_, f) in enumerate(left) if f[40:42] == bytes(2)], [2])
        self.merged(self.events(), 1, 2)
        self.assertEqual(self.events()["gro_bad_checksum"], 1)
        rows = {row["interface"]: row["bad_checksums"] for row in self.router.json("stats")["interfaces"]}
        self.assertEqual(rows["lan"], 1, rows)


class GroSmallMtu(Gro):
    """The outside MTU is 1400."""

    lines = [line + (" mtu 1400" if line.startswith("interface add wan") else "") for line in with_gro(ROUTED)]
    on = True

    def segments(self, n, size, **fields):
        return [inside(IP(src="10.0.0.2", dst="198.51.100.7", id=i, **fields) /
                       TCP(sport=40000, dport=80, flags="A", seq=1 + size * i, ack=1) / random.Random(i).randbytes(size))
                for i in range(n)]

    def test_original_above_the_mtu(self):
        """segments above the outside MTU are answered, each of them; smaller ones never, however many merge (I5)"""
        left = self.at_once(self.segments(5, 1400, flags="DF"), 5)
        self.assertEqual(len(left), 5)
        self.assertTrue(all(port is self.lan and f[34:36] == b"\3\4" for port, f in left))
        self.assertEqual(self.router.drops(), {"mtu_exceeded": 5})
        self.router.reset()
        left = self.at_once(self.segments(20, 1360, flags="DF"), 20)
        self.assertEqual(len(left), 20)
        self.assertTrue(all(port is self.wan for port, _ in left))
        self.check_sums(left)
        self.assertEqual(self.router.drops(), {})
        self.merged(self.events(), 1, 20)

    def test_without_df(self):
        """without DF each original is cut into fragments of its own"""
        left = self.at_once(self.segments(3, 1400), 6)
        self.assertEqual([len(f) for _, f in left], [1410, 78] * 3)
        self.assertEqual([IP(f[14:]).id for _, f in left], [0, 0, 1, 1, 2, 2])


class GroPlain(Gro):
    """Routed, not translated."""

    lines = with_gro(ROUTED)
    on = True

    def test_random(self):
        """random interleavings of flows leave with nothing but MACs and TTL changed, each flow in its order"""
        rng = random.Random(20)
        total = 0
        for _ in range(20):
            flows = [{"seq": rng.getrandbits(32), "id": rng.getrandbits(16), "size": rng.choice((1, 99, 1000, 1448))}
                     for _ in range(rng.randint(1, 6))]
            frames = []
            for _ in range(rng.randint(2, 60)):
                which = rng.randrange(len(flows))
                flow = flows[which]
                size = rng.choice((flow["size"],) * 8 + (0, 1, flow["size"]))
                frames.append(inside(
                    IP(src="10.0.0.2", dst="198.51.100.7", id=flow["id"], flags="DF", tos=rng.choice((0,) * 15 + (3,)))
                    / TCP(sport=41000 + which, dport=80, flags=rng.choice(("A",) * 9 + ("PA", "FA", "CA", "EA")),
                          seq=flow["seq"], ack=7) / rng.randbytes(size)))
                flow["seq"] = (flow["seq"] + size) & 0xFFFFFFFF
                flow["id"] = (flow["id"] + 1) & 0xFFFF
            left = self.at_once(frames, len(frames))
            self.assertEqual(len(left), len(frames))
            self.check_origin(left)
            self.check_sums(left)
            for which in range(len(flows)):
                def of(list_, which=which):
                    return [f for f in list_ if IP(f[14:]).sport == 41000 + which]
                sent, got = of(frames), of([f for _, f in left])
                self.assertEqual([f[34:] for f in got], [f[34:] for f in sent])
                self.assertEqual([f[15:22] for f in got], [f[15:22] for f in sent])
            total += self.events().get("gro_merged", 0)
        self.assertGreater(total, 20)
        self.assertEqual(self.router.drops(), {})


def _spread():
    """Each case with GRO off, on, and waiting."""
    for name in [n for n in dir(Gro) if n.startswith("check_C")]:
        case = name.removeprefix("check_")
        for cls, suffix in ((GroOff, "_gro_off"), (GroOn, "_gro_on"), (GroWaits, "_gro_waits")):
            def test(self, name=name):
                getattr(self, name)()
            test.__doc__ = getattr(Gro, name).__doc__
            setattr(cls, f"test_{case}{suffix}", test)


_spread()
