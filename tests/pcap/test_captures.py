"""Sessions of real programs, played to the real daemon again: see captures/make.

What leaves with GRO is, flow by flow, what leaves without it, and that is what came in, translated.
"""

import os

from bench import BASE, INSIDE_MAC, LAN_MAC, OUTSIDE_MAC, WAN_MAC, Bench
from harness.frames import describe, read_pcap

from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

CAPTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "captures")
AT_ONCE = 48  # frames that the worker finds together; of both directions, so that a burst holds fewer than 64
HOST, POOLED = "10.0.0.2", "203.0.113.10"


def windows(frames):
    """A SYN comes alone: before it there is no session, and replies would be of none."""
    window = []
    for frame in frames:
        if window and (len(window) == AT_ONCE or TCP(frame[34:]).flags.S or TCP(window[-1][34:]).flags.S):
            yield window
            window = []
        window.append(frame)
    yield window


def translated(frame):
    """What is due for a frame, by scapy: every sum made anew."""
    out = Ether(frame)
    del out[IP].chksum, out[TCP].chksum
    out[IP].ttl -= 1
    if out[IP].src == HOST:
        out[IP].src = POOLED
        out.src, out.dst = WAN_MAC, OUTSIDE_MAC
    else:
        out[IP].dst = HOST
        out.src, out.dst = LAN_MAC, INSIDE_MAC
    return bytes(out)


def by_flow(frames):
    flows = {}
    for frame in frames:
        flows.setdefault(frame[:12] + frame[26:38], []).append(frame)
    return flows


class Captures(Bench):
    lines = BASE

    def replay(self, frames, gro):
        """What left, and the events."""
        for name in ("lan", "wan"):
            self.router.ctl(f"interface set {name} gro {gro}")
        self.router.reset()
        left = []
        for window in windows(frames):
            left += self.at_once(window, len(window))
        self.check_origin(left)
        self.check_sums(left)
        self.assertEqual(self.router.drops(), {})
        return [frame for _, frame in left], {row["event"]: row["count"] for row in self.router.json("stats")["events"]}

    def same(self, want, got, what):
        """Same frames in each flow, in the same order, byte for byte."""
        want, got = by_flow(want), by_flow(got)
        self.assertEqual(set(got), set(want), what)
        for flow, due in want.items():
            for i, (a, b) in enumerate(zip(due, got[flow])):
                self.assertEqual(a.hex(), b.hex(), f"{what}: frame {i}:\n{describe(b)}\nwhere due:\n{describe(a)}")
            self.assertEqual(len(got[flow]), len(due), what)

    def check(self, name):
        frames = read_pcap(os.path.join(CAPTURES, name))
        data = sum(IP(frame[14:]).len - 20 - TCP(frame[34:]).dataofs * 4 for frame in frames)
        self.assertGreater(data, 150_000)
        without, events = self.replay(frames, "off")
        self.assertNotIn("gro_merged", events)
        self.same([translated(frame) for frame in frames], without, "without GRO")
        merged, events = self.replay(frames, "on")
        self.same(without, merged, "with GRO")
        self.assertGreater(events["gro_merged"], 5, events)
        self.assertGreater(events["cut_segments"], 60, events)
        self.assertEqual(events.get("gro_bad_checksum", 0), 0)
        self.assertLessEqual(events["gro_payload_bytes_summed"], data)

    def test_iperf3(self):
        """a session of iperf3 with two streams leaves with GRO as without it"""
        self.check("iperf3.pcap")

    def test_curl(self):
        """a session of curl that fetches two files leaves with GRO as without it"""
        self.check("curl.pcap")
