"""Two kernels talk through the cards: TCP with unfinished checksums into the router, and large packets out of it.

    [in] 10.0.0.2 -- tp0 == lan [ the guest ] wan == tp1 -- [out] 203.0.113.254

By one queue: what a kernel sends at once may be more than QEMU's RSS stands (lab.card).
"""

import os
import socket
import threading

from bench import INSIDE_MAC, OUTSIDE_MAC
from harness.netns import Netns
from test_pci import POOLED, Cards, OneQueue

INSIDE, OUTSIDE = "10.0.0.2", "203.0.113.254"


class Kernels(Cards):
    lines = OneQueue.lines

    @classmethod
    def start(cls):
        super().start()
        cls.inside, cls.outside = Netns("in"), Netns("out")
        for ns, tap, mac, address in ((cls.inside, "tp0", INSIDE_MAC, INSIDE), (cls.outside, "tp1", OUTSIDE_MAC, OUTSIDE)):
            cls.addClassCleanup(ns.delete)
            cls.ns.ip("link", "set", tap, "netns", ns.name)
            cls.addClassCleanup(ns.ip, "link", "set", tap, "netns", cls.ns.name)
            ns.ip("link", "set", tap, "address", mac, "up")
            ns.ip("address", "add", f"{address}/24", "dev", tap)
        cls.inside.ip("route", "add", "default", "via", "10.0.0.1")

    @classmethod
    def open_ports(cls):
        """The kernel has them."""

    def transfer(self, size):
        """There and back by one connection from inside; whom the server saw."""
        data, seen = os.urandom(size), []
        with self.outside.inside():
            server = socket.create_server((OUTSIDE, 0))
        server.settimeout(30)

        def serve():
            peer, address = server.accept()
            with peer:
                seen.append(address[0])
                peer.settimeout(30)
                got = b"".join(iter(lambda: peer.recv(1 << 16), b""))
                peer.sendall(got)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with self.inside.inside():
            client = socket.socket()
        with server, client:
            client.settimeout(30)
            client.connect(server.getsockname())
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            back = b"".join(iter(lambda: client.recv(1 << 16), b""))
        thread.join(30)
        self.assertEqual(back, data)
        return seen

    def test_tcp(self):
        """a transfer both ways is whole, its checksums completed on the way"""
        self.assertEqual(self.transfer(4 << 20), [POOLED])
        self.assertGreater(self.event("checksums_completed"), 0)

    def test_merged(self):
        """the same, merged on the way in and left to the card to cut (TSO)"""
        for name in ("lan", "wan"):
            self.router.ctl(f"interface set {name} gro on")
        self.assertEqual(self.transfer(4 << 20), [POOLED])
        counts = {name: self.event(name) for name in ("gro_merged", "tso_packets", "gso_segments")}
        print(f"    {counts}")
        self.assertGreater(counts["tso_packets"], 0)

    def test_ping(self):
        """echo from inside, small and large"""
        for size in (8, 1472):
            self.inside.run("ping", "-c", "2", "-i", "0.2", "-W", "5", "-s", size, OUTSIDE)
