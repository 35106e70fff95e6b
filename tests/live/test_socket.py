"""Bad clients on the control socket while traffic flows: the router goes on, and good clients are served."""

import random
import re
import resource
import signal
import socket
import threading
import time

from net import FAR, Live, packets_lost
from harness.procs import wait_for


class BadClients(Live):
    kind = "xdp"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net.inside.run("ping", "-n", "-c", "1", "-W", "10", FAR)  # neighbours are known from here on

    def setUp(self):
        super().setUp()
        self.began = time.monotonic()
        self.ping = self.job(self.net.inside, "ping", "-n", "-q", "-c", "100000", "-i", "0.002", "-W", "10", FAR)

    def tearDown(self):
        """Traffic flowed all the while, and tpctl is served."""
        time.sleep(max(0.0, 0.7 - (time.monotonic() - self.began)))
        self.ping.signal(signal.SIGINT)
        self.ping.wait(10)
        self.jobs.remove(self.ping)
        sent, got = packets_lost(self.ping.output())
        self.assertGreater(sent, 20, self.ping.output())
        # as many as ever were under way at once may be so at the end
        under_way = re.search(r"pipe (\d+)", self.ping.output())
        self.assertLessEqual(sent - got, int(under_way.group(1)) if under_way else 1, self.ping.output())
        self.assertTrue(self.router.alive(), self.router.process.tail())
        self.router.ctl("version", timeout=5)

    def connect(self, timeout=5):
        end = time.monotonic() + timeout
        while True:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(timeout)
            try:
                sock.connect(self.router.socket)
                return sock
            except BlockingIOError:  # more wait to be accepted than the socket's queue holds
                sock.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def served(self):
        """A good client gets its answer in time."""
        began = time.monotonic()
        self.router.ctl("interface show", timeout=5)
        self.assertLess(time.monotonic() - began, 2)

    def test_garbage(self):
        """random bytes, and random lines"""
        rng = random.Random(7)
        for i in range(60):
            with self.connect() as sock:
                data = rng.randbytes(rng.choice((1, 10, 1000, 100_000)))
                if i % 2:
                    data = bytes(32 + b % 95 for b in data) + b"\n"
                try:
                    sock.sendall(data)
                except OSError:
                    pass  # it may hang up on us
        self.served()

    def test_half_line(self):
        """half a line, then nothing: others are served, before and after it hangs up"""
        with self.connect() as sock:
            sock.sendall(b"interface sh")
            self.served()
        self.served()

    def test_ten_megabytes(self):
        """10 MB in one line: refused or hung up on, memory bounded"""
        before = self.memory()
        with self.connect() as sock:
            chunk = b"x" * 100_000
            try:
                for _ in range(100):
                    sock.sendall(chunk)
                sock.sendall(b"\n")
            except OSError:
                pass
            self.served()
        self.served()
        self.assertLess(self.memory() - before, 64 << 20)

    def memory(self):
        with open(f"/proc/{self.router.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def test_hang(self):
        """many clients that connect and say nothing"""
        socks = []
        try:
            for _ in range(200):
                try:
                    socks.append(self.connect(1))
                except OSError:
                    break  # a bound on clients is fine ...
            self.assertGreater(len(socks), 10)
        finally:
            for sock in socks:
                sock.close()
        wait_for(lambda: self.router.ctl_raw("version").returncode == 0, 5, "... as long as it is served after")

    def test_reads_nothing(self):
        """a client that asks and asks and never reads"""
        with self.connect() as sock:
            sock.setblocking(False)
            sent = 0
            try:
                while sent < 5_000_000:
                    sent += sock.send(b"stats show\n" * 1000)
            except OSError:
                pass
            self.served()
        self.served()

    def test_vanishing(self):
        """clients that ask and are gone before the answer"""
        for _ in range(200):
            with self.connect() as sock:
                sock.sendall(b"stats show\n")
        self.served()

    def test_many_at_once(self):
        """eight clients at the same time get whole answers"""
        errors = []

        def ask():
            for _ in range(10):
                try:
                    names = {i["name"] for i in self.router.items("interface show")}
                    if names != {"lan", "wan"}:
                        errors.append(names)
                except (AssertionError, ValueError) as problem:
                    errors.append(problem)
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(errors, [])

    def test_every_command_wrong(self):
        """wrong words, ranges, types and missing keys of every kind are refused and change nothing"""
        shown = self.router.ctl("config show")
        wrong = [
            "interface add", "interface add lan2", "interface add lan2 devargs", "interface add lan2 vlan 0 parent lan",
            "interface add lan2 vlan 4095 parent lan", "interface add lan2 vlan 5", "interface add lan2 vlan 5 parent nowhere",
            "interface add lan2 devargs net_nothing0", "interface add lan2 devargs net_null0 mtu 67",
            "interface add lan2 devargs net_null0 mtu 9601", "interface add lan2 devargs net_null0 mtu x",
            "interface add lan2 devargs net_null0 rxqs 0", "interface add lan2 devargs net_null0 rss source",
            "interface add lan2 devargs net_null0 rxqs 2 rss source", "interface add a-name-that-is-too-long devargs net_null0",
            "interface set nowhere mtu 1500", "interface set lan", "interface set lan mtu", "interface set lan pass",
            "interface set lan pass protocol icmp port 1", "interface set lan pass protocol tcp port 65536",
            "interface set lan pass protocol tcp", "interface del", "interface del nowhere", "interface del lan extra",
            "interface show nowhere",
            "address add 10.0.0.1 interface lan", "address add 10.0.0.1/33 interface lan", "address add 10.0.0/24 interface lan",
            "address add 10.0.0.256/24 interface lan", "address add 10.1.0.1/24", "address add 10.1.0.1/24 interface nowhere",
            "address add 224.0.0.1/24 interface lan", "address add 127.0.0.1/8 interface lan",
            "address del 10.9.9.9/24 interface lan", "address del 203.0.113.1/24 interface wan",
            "neighbour add 10.0.0.9 interface lan", "neighbour add 10.0.0.9 lladdr 1:2:3 interface lan",
            "neighbour add 10.0.0.9 lladdr zz:00:00:00:00:01 interface lan", "neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09",
            "neighbour add 10.0.0.9 lladdr ff:ff:ff:ff:ff:ff interface lan", "neighbour del 10.0.0.99 interface lan",
            "neighbour flush", "neighbour flush interface nowhere",
            "route add 10.0.0.0/8", "route add 10.0.0.0/8 via", "route add 10.0.0.0/8 via 192.168.77.1",
            "route add 10.0.0.1/8 via 203.0.113.254", "route add 0.0.0.0/0 via 203.0.113.253",
            "route add 172.16.0.0/12 via 203.0.113.254 interface lan", "route del 172.16.0.0/12", "route del",
            "route lookup", "route lookup x", "route lookup 10.0.0.0/8",
            "nat pool add", "nat pool add p", "nat pool add p addresses", "nat pool add p addresses 203.0.113.20-203.0.113.10",
            "nat pool add p addresses 203.0.113.30 ports 0-10", "nat pool add p addresses 203.0.113.30 ports 10-5",
            "nat pool add p addresses 203.0.113.30 ports 10-70000", "nat pool add office addresses 203.0.113.77",
            "nat pool del nowhere", "nat pool del office",
            "nat rule add", "nat rule add snat", "nat rule add snat x interface wan source 10.0.0.0/24",
            "nat rule add snat x interface wan source 10.0.0.0/24 pool nowhere", "nat rule add snat x interface nowhere pool office",
            "nat rule add masquerade x source 10.0.0.0/24", "nat rule add dnat x destination 203.0.113.10:1",
            "nat rule add dnat x to 10.0.0.2:1", "nat rule add dnat x destination 203.0.113.10:1 to 10.0.0.2:1",
            "nat rule add dnat x protocol tcp destination 203.0.113.10:8080 to 10.0.0.3:1",
            "nat rule add dnat x protocol tcp destination 203.0.113.10:70000 to 10.0.0.3:1",
            "nat rule add static x external 203.0.113.0/28 internal 10.0.0.0/24", "nat rule add static x external 203.0.113.9",
            "nat rule add exempt x", "nat rule add web x", "nat rule del nowhere", "nat rule del",
            "nat rule add snat lan-out interface wan source 10.7.0.0/24 pool office",
            "nat set", "nat set mapping", "nat set mapping sometimes", "nat set hairpin maybe", "nat set max-sessions 1",
            "nat timeout set", "nat timeout set udp", "nat timeout set udp 0", "nat timeout set udp 86401",
            "nat timeout set udp x", "nat timeout set sctp 5",
            "nat session clear", "nat session clear all source 10.0.0.1", "nat session show port 65536",
            "nat session show protocol nonsense", "nat session show source 10.0.0.0/99", "nat session show limit 0",
            "stats show interface nowhere", "stats show worker 63", "stats show everything", "stats reset now",
            "config load", "config load /nowhere/file", "config check /nowhere/file", "config save /nowhere/file",
            "log set", "log set level", "log set level loud", "nonsense", "interface frobnicate", "i n t e r f a c e",
            "interface add lan2 devargs net_null0 mtu 1500 mtu 1500", "version 2", "worker 9",
        ]
        for line in wrong:
            done = self.router.ctl_raw(*line.split())
            with self.subTest(line=line):
                self.assertIn(done.returncode, (1, 2), f"{done.stdout}{done.stderr}")
                self.assertGreater(len(done.stderr.strip()), 10, "an error says what is wrong")
                self.assertNotIn("errno", done.stderr)
        self.assertEqual(self.router.ctl("config show"), shown)
