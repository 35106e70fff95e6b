"""A guest that leaves segmenting and checksums to its device (virtio with TSO), as virtual machines and containers do.

        tp0 -- testpmd, the guest: its virtio device ==== socket ==== lan [ turnpike ] wan -- tp1

What is written to tp0 goes to the router by testpmd's csum engine, which asks for segments of SEGMENT bytes and leaves all
TCP and UDP checksums unfinished. The frames may be as large as the guest's kernel makes them.
"""

import os
import random
import tempfile

from bench import BASE, INSIDE_MAC, PORTS, Bench, outside
from harness.frames import collect, compare_exact, listing, read_pcap, reassemble
from harness.procs import Process, wait_for
from test_captures import CAPTURES, translated

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether

SEGMENT = 1448
COMMANDS = f"""port stop all
csum set tcp hw 0
csum set udp hw 0
csum mac-swap off 0
csum mac-swap off 1
tso set {SEGMENT} 0
port start all
set fwd csum
start
"""
SOCKET = os.path.join(tempfile.gettempdir(), f"tp-{os.getpid()}-guest.sock")


def segments(frame):
    """What the sender would have sent without TSO, by scapy."""
    whole = Ether(frame)
    data = bytes(whole[TCP].payload)[:whole[IP].len - whole[IP].ihl * 4 - whole[TCP].dataofs * 4]
    if len(data) <= SEGMENT:
        return [frame]
    cut = []
    for number, at in enumerate(range(0, len(data), SEGMENT)):
        one = Ether(frame)
        one[TCP].remove_payload()
        one = one / data[at:at + SEGMENT]
        del one[IP].len, one[IP].chksum, one[TCP].chksum
        one[IP].id = (whole[IP].id + number) & 0xFFFF
        one[TCP].seq = (whole[TCP].seq + at) & 0xFFFFFFFF
        if at + SEGMENT < len(data):
            one[TCP].flags &= ~0x09  # FIN, PSH
        if at > 0:
            one[TCP].flags &= ~0x80  # CWR
        cut.append(bytes(one))
    return cut


class Guest(Bench):
    """The guest is a virtio device, the router its vhost backend."""

    lan_mac = "56:48:4f:53:54:00"  # the driver's own
    lines = [f"interface add lan devargs net_vhost0,iface={SOCKET}", PORTS[1]] + BASE[len(PORTS):]

    @classmethod
    def start(cls):
        super().start()
        commands = os.path.join(cls.router.dir, "testpmd.cmds")
        with open(commands, "w", encoding="ascii") as file:
            file.write(COMMANDS)
        read_end, write_end = os.pipe()  # testpmd ends when there is nothing more to read
        cls.addClassCleanup(os.close, write_end)
        cls.testpmd = Process(
            ["dpdk-testpmd", "--no-huge", "-m", "512", "--no-pci", "--no-shconf", "--file-prefix", f"tp-{os.getpid()}-guest",
             "--lcores", "0@0,1@0", "--log-level=5", "--vdev",
             f"net_virtio_user0,path={SOCKET},queue_size=1024", "--vdev", "net_tap0,iface=tp0", "--",
             "--total-num-mbufs=8192", "--enable-scatter", "--disable-link-check", "--no-lsc-interrupt", "-i",
             f"--cmdline-file={commands}"], os.path.join(cls.router.dir, "testpmd.log"), ns=cls.ns, stdin=read_end)
        os.close(read_end)
        cls.addClassCleanup(cls.testpmd.stop)
        wait_for(lambda: "testpmd> " in cls.testpmd.output(), 30, "testpmd's prompt")
        cls.ns.ip("link", "set", "tp0", "mtu", "65000")
        wait_for(lambda: next(r for r in cls.router.items("interface") if r["name"] == "lan")["link"] == "up", 10,
                 "the guest's link")

    def setUp(self):
        super().setUp()
        self.router.ctl("nat set tcp-loose on")
        self.addCleanup(self.router.ctl, "nat set tcp-loose off")

    def from_guest(self, packet):
        """A frame of the guest."""
        return bytes(Ether(src=INSIDE_MAC, dst=self.lan_mac) / packet)

    def due(self, frame):
        return [translated(one) for one in segments(frame)]

    def events(self):
        return {row["event"]: row["count"] for row in self.router.json("stats")["events"]}

    def check(self, frames):
        """Frames leave as what the guest would have sent without TSO, translated."""
        due = [one for frame in frames for one in self.due(frame)]
        left = self.at_once(frames, len(due))
        self.check_origin(left)
        self.check_sums(left)
        compare_exact(due, [frame for _, frame in left])
        self.assertEqual(self.router.drops(), {})

    def data(self, size, tcp="PA", seed=1, **fields):
        ip = {"src": "10.0.0.2", "dst": "198.51.100.7", "flags": "DF", "id": 0xFFFE, **fields}
        return self.from_guest(IP(**ip) / TCP(sport=40000, dport=80, flags=tcp, seq=0xFFFFFF00, ack=1) /
                               random.Random(seed).randbytes(size))

    def test_iperf3(self):
        """what iperf3's kernel leaves to the device is cut to what it would have sent itself"""
        frames = [bytes.fromhex(self.lan_mac.replace(":", "")) + frame[6:]
                  for frame in read_pcap(os.path.join(CAPTURES, "large.pcap"))]
        self.assertGreater(max(len(frame) for frame in frames), 30_000)
        self.check(frames)
        events = self.events()
        large = [frame for frame in frames if len(segments(frame)) > 1]
        self.assertEqual(events["gso_segments"], sum(len(segments(frame)) for frame in large))
        self.assertGreaterEqual(events["checksums_completed"], len(frames) - len(large))

    def test_gro(self):
        """large packets are none for GRO, and keep their place among others"""
        self.router.ctl("interface set lan gro on")
        self.addCleanup(self.router.ctl, "interface set lan gro off")
        frames = []
        for size, seed in ((100, 1), (4000, 2), (100, 3), (1448, 4), (1448, 5), (9000, 6), (700, 7)):
            frames.append(self.data(size, "A", seed, id=1000 * seed))
        self.check(frames)

    def test_flags(self):
        """FIN and PSH on the last segment only, CWR on the first; ids and sequence numbers wrap"""
        self.check([self.data(SEGMENT * 3, "CPA"), self.data(SEGMENT * 2 + 1, "CEPA"), self.data(5000, "FPA")])

    def test_sizes(self):
        """payloads of one byte to the largest, odd ones among them"""
        rng = random.Random(3)
        sizes = [1, 100, SEGMENT, SEGMENT + 1, 2 * SEGMENT, 64_900] + [rng.randrange(1, 20_000) for _ in range(10)]
        self.check([self.data(size, seed=size) for size in sizes])

    def test_small_mtu(self):
        """segments above the egress MTU are answered once with DF, fragmented without (I5)"""
        self.router.ctl("interface set wan mtu 1400")
        self.addCleanup(self.router.ctl, "interface set wan mtu 1500")
        left = self.sent([self.data(10_000)], expect=1)
        self.assertEqual(len(left), 1, listing(left))
        error = IP(left[0][14:])
        self.assertEqual((error.dst, error[ICMP].type, error[ICMP].code, error[ICMP].nexthopmtu), ("10.0.0.2", 3, 4, 1400))
        self.assertEqual(self.router.drops(), {"mtu_exceeded": 1})
        frame = self.data(3 * SEGMENT, "A", flags=0)
        left = self.sent([frame], expect=6)
        self.assertEqual(len(left), 6, listing(left))
        for i, due in enumerate(self.due(frame)):
            self.assertEqual(reassemble(left[2 * i:2 * i + 2], 1400).hex(), due[14:].hex())

    def test_ttl(self):
        """a large packet whose TTL runs out is answered once"""
        left = self.sent([self.data(10_000, ttl=1)], expect=1)
        self.assertEqual(len(left), 1, listing(left))
        self.assertEqual(IP(left[0][14:])[ICMP].type, 11)
        self.assertEqual(self.router.drops(), {"ttl_expired": 1})

    def test_unknown_neighbour(self):
        """segments for a neighbour that is not known yet are held, and leave in order"""
        frame = self.data(4 * SEGMENT, dst="203.0.113.99")
        left = self.at_once([frame], 1)
        self.router.ctl("neighbour add 203.0.113.99 lladdr 02:00:00:00:00:bb interface wan")
        self.addCleanup(self.router.ctl, "neighbour flush interface wan")
        self.addCleanup(self.router.ctl, "neighbour del 203.0.113.99 interface wan")
        left = [f for _, f in left + collect(self.ports, 4, 1.0) if f[12:14] != b"\x08\x06"]
        compare_exact(self.due(frame), left)

    def test_checksums(self):
        """unfinished checksums of TCP and UDP are completed, a zero one of UDP stays"""
        ip = IP(src="10.0.0.2", dst="198.51.100.7", id=7)
        self.check([self.data(100)])
        for data in (b"", b"a", bytes(99), b"\xff\xff" * 50):
            frame = self.from_guest(ip / UDP(sport=5000, dport=53) / data)
            got = IP(self.one(frame)[14:])
            self.assertEqual(bytes(got[UDP].payload), data)
        self.assertEqual(self.events()["checksums_completed"], 5)

    def test_back(self):
        """what comes back reaches the guest, translated"""
        self.check([self.data(10_000)])
        answer = outside(IP(src="198.51.100.7", dst="203.0.113.10", ttl=60) /
                         TCP(sport=80, dport=40000, flags="A", seq=1, ack=2) / bytes(1400))
        got = self.one(answer)
        self.assertEqual(got[:6].hex(":"), INSIDE_MAC)
        self.assertEqual((IP(got[14:]).dst, len(IP(got[14:])[TCP].payload)), ("10.0.0.2", 1400))
