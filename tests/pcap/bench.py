"""The packet bench: the real daemon with two TAP ports in a namespace of its own.

    inside hosts 02:00:00:00:00:aa                       next hop 203.0.113.254, 02:00:00:00:00:bb
            |                                                        |
          tp0  lan 10.0.0.1/24  [ turnpike ]  203.0.113.1/24 wan   tp1
               02:00:00:00:00:01              02:00:00:00:00:02

Frames are written into the kernel's end of a TAP port and read there. The kernel itself has no address on
them and stays silent. A sentinel tells when a frame has been dealt with: an echo request to the router that
follows it through the same queue, whose reply shows that the worker has passed the frame.
"""

import atexit
import os
import shutil
import signal
import struct
import tempfile
import time
import unittest

from harness import frames
from harness.frames import Port, collect, frame_bad_checksums
from harness.netns import Netns
from harness.procs import run
from harness.router import Router

from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Ether

LAN_MAC, WAN_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
INSIDE_MAC, OUTSIDE_MAC = "02:00:00:00:00:aa", "02:00:00:00:00:bb"
SENTINEL_MAC = "02:00:00:00:5e:5e"
SENTINEL_LAN, SENTINEL_WAN = "10.0.0.250", "203.0.113.250"
INSIDE_HOSTS = ("10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.50", "10.0.0.80")

PORTS = [
    f"interface add lan devargs net_tap0,iface=tp0,mac={LAN_MAC}",
    f"interface add wan devargs net_tap1,iface=tp1,mac={WAN_MAC}",
]
ADDRESSES = [
    "address add 10.0.0.1/24 interface lan",
    "address add 203.0.113.1/24 interface wan",
    f"neighbour add {SENTINEL_LAN} lladdr {SENTINEL_MAC} interface lan",
    f"neighbour add {SENTINEL_WAN} lladdr {SENTINEL_MAC} interface wan",
]
DEFAULT_ROUTE = ["route add 0.0.0.0/0 via 203.0.113.254"]
NEIGHBOURS = [f"neighbour add {host} lladdr {INSIDE_MAC} interface lan" for host in INSIDE_HOSTS] + [
    f"neighbour add 203.0.113.254 lladdr {OUTSIDE_MAC} interface wan"]
POOL = ["nat pool add office addresses 203.0.113.10"]
SNAT = ["nat rule add snat lan-out interface wan source 10.0.0.0/24 pool office"]
DNAT = ["nat rule add dnat web interface wan protocol tcp destination 203.0.113.10:8080 to 10.0.0.80:80"]
STATIC = ["nat rule add static server external 203.0.113.50 internal 10.0.0.50"]

ROUTED = PORTS + ADDRESSES + NEIGHBOURS + DEFAULT_ROUTE
BASE = ROUTED + POOL + DNAT + SNAT
BASE_STATIC = ROUTED + POOL + STATIC + DNAT + SNAT


def inside(packet, **fields):
    """A frame of an inside host to the router."""
    return bytes(Ether(**{"src": INSIDE_MAC, "dst": LAN_MAC, **fields}) / packet)


def outside(packet, **fields):
    """A frame of the next hop outside to the router."""
    return bytes(Ether(**{"src": OUTSIDE_MAC, "dst": WAN_MAC, **fields}) / packet)


def datagram(frame):
    """The IPv4 datagram of a frame, taken apart by scapy."""
    return IP(frames.ip_datagram(bytes(frame)))


# Every frame that left and was not wrong on purpose, for the one look that tshark takes at the end.
left_good = []


class Bench(unittest.TestCase):
    """A daemon for the class, empty tables for each test."""

    lines = BASE
    patience = 0.5  # seconds for a frame that crosses from worker to worker
    lan_mac = LAN_MAC
    taps = ("tp0", "tp1")  # where lan and wan are
    mtu = 1500  # of the TAP ports as the kernel sees them

    @classmethod
    def setUpClass(cls):
        cls.build = os.environ.get("TP_BUILD", "build")
        cls.make()
        cls.addClassCleanup(cls.router.stop)
        cls.start()
        for name in cls.taps:
            if cls.mtu != 1500:
                cls.ns.ip("link", "set", name, "mtu", str(cls.mtu))
        cls.ports = ()
        cls.sequence = 0
        cls.addClassCleanup(cls.close_ports)
        cls.open_ports()

    @classmethod
    def make(cls):
        """The namespace where the ports' ends are, and the router, not yet running. tests/guest has others."""
        cls.ns = Netns(cls.__name__.lower()[:12])
        cls.addClassCleanup(cls.ns.delete)
        cls.router = Router(cls.ns, cls.lines, build=cls.build)

    @classmethod
    def start(cls):
        cls.router.start()

    @classmethod
    def open_ports(cls):
        """Also after the router made its TAP devices anew."""
        cls.close_ports()
        cls.lan, cls.wan = (Port(cls.ns, name) for name in cls.taps)
        cls.ports = (cls.lan, cls.wan)
        cls.by_mac = {bytes.fromhex(cls.lan_mac.replace(":", "")): cls.lan,
                      bytes.fromhex(WAN_MAC.replace(":", "")): cls.wan}

    @classmethod
    def close_ports(cls):
        for port in cls.ports:
            port.close()

    def setUp(self):
        self.assertTrue(self.router.alive(), "the daemon has died")
        self.router.reset()
        for port in self.ports:
            port.drain()

    def log_tail(self):
        return self.router.process.tail()

    # ---- feeding -----------------------------------------------------------------------------

    def sentinel(self, port, timeout=5):
        """Waits until the worker has dealt with all that was sent into port; what left meanwhile.

        Twice: the first reply may leave in the same turn of the worker as the frame before it, and on another port
        sooner than that frame; the second one is of a later turn.
        """
        return self._sentinel(port, timeout) + self._sentinel(port, timeout)

    def _sentinel(self, port, timeout):
        cls = type(self)
        cls.sequence = (cls.sequence + 1) & 0xFFFF
        lan = port is self.lan
        request = bytes(
            Ether(src=SENTINEL_MAC, dst=cls.lan_mac if lan else WAN_MAC)
            / IP(src=SENTINEL_LAN if lan else SENTINEL_WAN, dst="10.0.0.1" if lan else "203.0.113.1")
            / ICMP(type=8, id=0x5E5E, seq=cls.sequence) / b"sentinel")
        port.send(request)
        reply = struct.pack("!HH", 0x5E5E, cls.sequence) + b"sentinel"
        mac = bytes.fromhex(SENTINEL_MAC.replace(":", ""))
        left = []
        end = time.monotonic() + timeout
        answered = False
        while not answered and time.monotonic() < end:
            for where, frame in collect(self.ports, 1, end - time.monotonic()):
                if where is port and frame[:6] == mac and reply in frame:
                    answered = True
                else:
                    left.append((where, frame))
        if answered:
            for other in self.ports:
                left += [(other, f) for f in other.drain()]
            return left
        raise AssertionError("the router no longer answers an echo request (sentinel)")

    def feed(self, frame, port=None):
        """Sends one frame in, by its destination MAC unless port says, and returns [(port, frame)] that left.
        A frame for neither goes in inside."""
        frame = bytes(frame)
        port = port or self.by_mac.get(frame[:6], self.lan)
        port.send(frame)
        left = self.sentinel(port)
        if not left and self.router.workers > 1:
            # the worker that answers the sentinel may have handed the frame over to one that waits for a CPU
            left = collect(self.ports, 1, self.patience)
        return left

    def play(self, inputs, expect=None, port=None, settle=0.03):
        """Feeds frames one after the other; the frames that left. Waits for expect of them."""
        left = []
        for frame in inputs:
            left += self.feed(frame, port)
        if expect is not None and len(left) < expect:
            left += collect(self.ports, expect - len(left), 1.0)
        left += collect(self.ports, 1000, settle)
        return left

    def at_once(self, inputs, expect):
        """Feeds frames, each by its destination MAC, so that the worker finds them all there together: it stands still
        meanwhile. What left; waits for expect of them."""
        ports = [self.by_mac[frame[:6]] for frame in inputs]
        self.router.process.signal(signal.SIGSTOP)
        try:
            for port, frame in zip(ports, inputs):
                port.send(frame)
        finally:
            self.router.process.signal(signal.SIGCONT)
        left = []
        for port in dict.fromkeys(ports):
            left += self.sentinel(port)
        if len(left) < expect:
            left += collect(self.ports, expect - len(left), 1.0)
        return left + collect(self.ports, 1000, 0.03)

    # ---- judging -----------------------------------------------------------------------------

    def check_origin(self, left):
        """The source MAC of each frame is that of the port it left by."""
        for port, frame in left:
            mac = self.lan_mac if port is self.lan else WAN_MAC
            self.assertEqual(frame[6:12].hex(":"), mac, f"left by {port.name}: {frames.describe(frame)}")

    def check_sums(self, left, bad=()):
        """scapy verifies every sum; frames in bad must be wrong."""
        for i, (_, frame) in enumerate(left):
            wrong = frame_bad_checksums(frame)
            if i in bad:
                self.assertTrue(wrong, f"a damaged frame left with good sums: {frames.describe(frame)}")
            else:
                self.assertEqual(wrong, [], frames.describe(frame))
                left_good.append(frame)

    def sent(self, inputs, **kwargs):
        """play() with the checks that always hold; frames only."""
        left = self.play(inputs, **kwargs)
        self.check_origin(left)
        self.check_sums(left)
        return [frame for _, frame in left]

    def one(self, frame, port=None):
        """Feeds one frame of which exactly one must leave; that one."""
        left = self.sent([frame], expect=1, port=port)
        self.assertEqual(len(left), 1, f"for {frames.describe(bytes(frame))} left:\n{frames.listing(left)}")
        return left[0]

    def none(self, frame, reason, port=None, count=1):
        """Feeds one frame that must be dropped and counted by this reason, with nothing leaving."""
        before = self.router.drops().get(reason, 0)
        self.patience = 0  # the counter below tells when it has been dealt with
        left = self.sent([frame], port=port, settle=0.01)
        del self.patience
        self.assertEqual(left, [], f"left:\n{frames.listing(left)}")
        drops = self.router.drops()
        end = time.monotonic() + 1  # what the control thread counts may come a little later
        while drops.get(reason, 0) - before < count and time.monotonic() < end:
            time.sleep(0.01)
            drops = self.router.drops()
        self.assertEqual(drops.get(reason, 0) - before, count, f"drop counters: {drops}")


def tshark_bad(frames_left):
    """Lines of tshark for frames in which it finds a wrong IPv4, TCP, UDP or ICMP checksum."""
    directory = tempfile.mkdtemp(prefix=f"tp-{os.getpid()}-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    path = os.path.join(directory, "left.pcap")
    frames.write_pcap(path, frames_left)
    done = run(frames.TSHARK + ["-r", path, "-Y", frames.TSHARK_BAD], timeout=110)
    seen = run(["tshark", "-n", "-r", path, "-T", "fields", "-e", "frame.number"], timeout=110)
    assert len(seen.stdout.split()) == len(frames_left), "tshark did not read all frames"
    return done.stdout.strip().splitlines()
