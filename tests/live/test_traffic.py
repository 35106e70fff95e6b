"""Real traffic of real programs through the router, over AF_XDP and over AF_PACKET."""

import hashlib
import os
import re
import socket
import threading
import time

from net import FAR, ONE_TO_ONE, OUT, OUT2, POOLED, Live, packets_lost, udp_echo, wait_listening
from harness.frames import TSHARK, TSHARK_BAD
from harness.procs import run, wait_for

SIZE = 2 << 20


class Traffic:
    """The tests; each kind of port runs them all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = os.path.join(cls.dir, "www")
        os.mkdir(cls.files)
        data = os.urandom(SIZE)
        cls.digest = hashlib.sha256(data).hexdigest()
        with open(os.path.join(cls.files, "file"), "wb") as file:
            file.write(data)
        cls.http(cls.net.far, 80, cls.files)
        cls.http(cls.net.inside, 80, cls.files)
        cls.http(cls.net.inside2, 80, cls.files)
        # What arrives at the kernels from the router; what they send themselves has sums yet to be finished.
        cls.captures = {}
        for ns, port, name in ((cls.net.out, "eth0", "outside"), (cls.net.switch, "up0", "inside")):
            path = os.path.join(cls.dir, f"{name}.pcap")
            job = cls.job(ns, "tcpdump", "-n", "-i", port, "-Q", "in", "-U", "-B", "65536", "-Z", "root", "-w", path)
            cls.captures[name] = (job, path)
            wait_for(lambda job=job: "listening on" in job.output(), 10, "tcpdump listens")

    def fetch(self, ns, url, timeout=60):
        """Downloads and compares."""
        done = run(["curl", "-sS", "--max-time", str(timeout), "-o", "-", url], ns=ns, timeout=timeout + 10, text=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(hashlib.sha256(done.stdout).hexdigest(), self.digest, f"{len(done.stdout)} bytes")

    def test_01_ping(self):
        """ping out: no loss, answers from the far host"""
        # the first ones wait for ARP; they are held, not lost
        done = self.net.inside.run("ping", "-n", "-c", "100", "-i", "0.01", "-W", "10", FAR, timeout=30)
        self.assertEqual(packets_lost(done.stdout), (100, 100), done.stdout)
        self.assertEqual(self.router.drops(), {})
        for size in (0, 1, 1472):
            done = self.net.inside2.run("ping", "-n", "-c", "3", "-i", "0.01", "-M", "do", "-s", str(size), FAR)
            self.assertEqual(packets_lost(done.stdout), (3, 3), done.stdout)

    def test_02_ping_router(self):
        """the router answers on both sides"""
        for ns, address in ((self.net.inside, "10.0.0.1"), (self.net.inside, "203.0.113.1"),
                            (self.net.out, "203.0.113.1"), (self.net.far, "203.0.113.1")):
            done = ns.run("ping", "-n", "-c", "3", "-i", "0.01", "-W", "10", address)
            self.assertEqual(packets_lost(done.stdout), (3, 3), done.stdout)

    def hops(self, ns, *args):
        done = ns.run("traceroute", "-n", "-q", "1", "-w", "2", "-N", "1", *args, timeout=60)
        return [re.split(r"\s+", line.strip())[1] for line in done.stdout.splitlines()[1:]], done.stdout

    def test_03_traceroute_out(self):
        """traceroute from inside shows every hop, by UDP, ICMP and TCP (I6)"""
        for how in ("-U", "-I", "-T"):
            hops, text = self.hops(self.net.inside, how, *(["-p", "80"] if how == "-T" else []), FAR)
            self.assertEqual(hops, ["10.0.0.1", OUT, FAR], text)

    def test_04_traceroute_in(self):
        """traceroute from outside reaches the forwarded port and the 1:1 host, under their outside addresses (I6)"""
        hops, text = self.hops(self.net.far, "-T", "-p", "8080", POOLED)
        self.assertEqual(hops, ["198.51.100.1", "203.0.113.1", POOLED], text)
        for how in ("-U", "-I"):
            hops, text = self.hops(self.net.far, how, ONE_TO_ONE)
            self.assertEqual(hops, ["198.51.100.1", "203.0.113.1", ONE_TO_ONE], text)

    def test_05_download(self):
        """HTTP from inside: 2 MiB, the same bytes"""
        self.fetch(self.net.inside, f"http://{FAR}/file")

    def test_06_two_hosts(self):
        """two inside hosts download at once"""
        errors = []

        def fetch(ns):
            try:
                self.fetch(ns, f"http://{FAR}/file")
            except (AssertionError, RuntimeError) as problem:
                errors.append(problem)
        threads = [threading.Thread(target=fetch, args=(ns,)) for ns in (self.net.inside, self.net.inside2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        self.assertEqual(errors, [])

    def test_07_port_forward(self):
        """a port forward from outside in"""
        self.fetch(self.net.far, f"http://{POOLED}:8080/file")
        self.fetch(self.net.out, f"http://{ONE_TO_ONE}/file")

    def test_08_hairpin(self):
        """an inside host reaches inside servers by their outside addresses, the forwarded host itself too (M9)"""
        self.fetch(self.net.inside2, f"http://{POOLED}:8080/file")
        self.fetch(self.net.inside, f"http://{POOLED}:8080/file")
        self.fetch(self.net.inside, f"http://{ONE_TO_ONE}/file")
        session = self.router.sessions("source 10.0.0.2 protocol tcp")
        self.assertTrue(any(s["original"]["destination"].startswith(POOLED) for s in session), session)

    def test_09_iperf_tcp(self):
        """iperf3 TCP up and down"""
        for args in (("-n", "8M"), ("-n", "8M", "-R")):
            end = self.iperf(*args)
            # the receiver's last report may come before its last bytes
            self.assertGreaterEqual(end["sum_sent"]["bytes"], 8_000_000, end["sum_sent"])
            self.assertGreater(end["sum_received"]["bytes"], 1_000_000, end["sum_received"])
            self.assertGreater(end["sum_received"]["bits_per_second"], 20e6)

    def test_10_iperf_udp(self):
        """iperf3 UDP up and down at 5 Mbit/s loses nothing worth mention"""
        for args in ((), ("-R",)):
            end = self.iperf("-u", "-b", "5M", "-l", "1400", "-t", "1", *args)
            self.assertGreater(end["sum"]["packets"], 300, end["sum"])
            self.assertLess(end["sum"]["lost_percent"], 2, end["sum"])

    def test_11_udp_sizes(self):
        """datagrams of every length from 0 to 1472 go out and back whole, sums left to the router by the kernel (C45)"""
        server = udp_echo(self.net.far, 7000)
        with self.net.inside.inside():
            client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.bind(("10.0.0.2", 0))
        self.echo_all(client, (FAR, 7000), server, expect_source=POOLED)

    def test_12_udp_forward(self):
        """a UDP port forward from outside in, every length"""
        server = udp_echo(self.net.inside, 7007)
        with self.net.far.inside():
            client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.bind((FAR, 0))
        self.echo_all(client, (POOLED, 7007), server, expect_source=FAR)

    def echo_all(self, client, address, server, expect_source):
        client.connect(address)
        server.settimeout(3)
        client.settimeout(3)
        try:
            for size in list(range(0, 200)) + list(range(200, 1473, 53)) + [1471, 1472]:
                data = os.urandom(size)
                client.send(data)
                got, source = server.recvfrom(2000)
                self.assertEqual(source[0], expect_source)
                self.assertEqual(got, data, f"out, {size} bytes")
                server.sendto(got, source)
                self.assertEqual(client.recv(2000), data, f"back, {size} bytes")
        finally:
            client.close()
            server.close()

    def test_13_unreachable(self):
        """a closed port outside comes back inside as connection refused (I2)"""
        with self.net.inside.inside():
            client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.connect((FAR, 9))
        client.settimeout(3)
        with self.assertRaises(ConnectionRefusedError):
            client.send(b"anyone?")
            client.recv(10)
        client.close()

    def test_14_path_mtu(self):
        """path MTU discovery works through the router: an error from a narrower link behind it reaches inside (I5)"""
        self.net.out.ip("link", "set", "far0", "mtu", "1300")
        try:
            # the far end offers 1,460 bytes, so the sender inside has to learn from the error
            end = self.iperf("-n", "4M")
            self.assertGreater(end["sum_received"]["bytes"], 1 << 20)
            done = self.net.inside.run("ping", "-n", "-c", "2", "-M", "do", "-s", "1400", "-W", "2", FAR, check=False)
            self.assertRegex(done.stdout + done.stderr, r"mtu ?= ?1300")
        finally:
            self.net.out.ip("link", "set", "far0", "mtu", "1500")
            self.net.inside.ip("route", "flush", "cache")

    def test_15_coturn(self):
        """RFC 5780 as coturn sees it: endpoint-independent mapping, address-dependent filtering (M1, M8)"""
        job = self.job(self.net.out, "turnserver", "-n", "--no-auth", f"--listening-ip={OUT}", f"--listening-ip={OUT2}",
                       "--no-tls", "--no-dtls", "--no-cli", "-l", "stdout", "--pidfile",
                       os.path.join(self.dir, "turn.pid"), "--userdb", os.path.join(self.dir, "turn.db"))
        try:
            wait_listening(self.net.out, 3478, "-lnu")
            done = run(["turnutils_natdiscovery", "-m", "-f", OUT], ns=self.net.inside, timeout=60, check=False)
            text = done.stdout + done.stderr
            self.assertIn("NAT with Endpoint Independent Mapping!", text)
            self.assertIn("NAT with Address Dependent Filtering!", text)
        finally:
            self.stop(job)

    def test_16_offload_off(self):
        """the same with the kernels' checksum offload off (C45)"""
        self.net.offload("tx off")
        try:
            self.fetch(self.net.inside, f"http://{FAR}/file")
            self.fetch(self.net.far, f"http://{POOLED}:8080/file")
        finally:
            self.net.offload("tx on")
            if self.net.kind == "packet":
                self.net.offload("tso off gso off")
        self.fetch(self.net.inside, f"http://{FAR}/file")

    def test_17_routes_under_load(self):
        """routes come and go while traffic flows: nothing is lost"""
        ping = self.job(self.net.inside, "ping", "-n", "-q", "-c", "2000", "-i", "0.001", "-W", "10", FAR)
        changes = 0
        end = time.monotonic() + 60
        while ping.running() and time.monotonic() < end:
            for line in (f"route add 198.51.100.0/24 via {OUT}", f"route add {FAR}/32 via {OUT},{OUT2}",
                         "route del 198.51.100.0/24", f"route add 172.16.{changes % 250}.0/24 via {OUT}",
                         f"route del {FAR}/32", f"route del 172.16.{changes % 250}.0/24"):
                self.router.ctl(line)
                changes += 1
        self.assertEqual(ping.wait(10), 0, ping.output())
        self.jobs.remove(ping)
        self.assertEqual(packets_lost(ping.output()), (2000, 2000), f"{changes} changes\n{ping.output()}")
        self.assertGreater(changes, 60)

    def test_18_rules_under_load(self):
        """rules come and go beside a transfer that does not use them"""
        ping = self.job(self.net.inside, "ping", "-n", "-q", "-c", "1000", "-i", "0.001", "-W", "10", FAR)
        changes = 0
        end = time.monotonic() + 60
        while ping.running() and time.monotonic() < end:
            self.router.ctl(f"nat rule add dnat other interface wan protocol tcp destination {POOLED}:9000 to 10.0.0.3:22")
            self.router.ctl("nat rule del other")
            changes += 2
        self.assertEqual(ping.wait(10), 0, ping.output())
        self.jobs.remove(ping)
        self.assertEqual(packets_lost(ping.output()), (1000, 1000), f"{changes} changes")

    def test_90_counters(self):
        """after all this, nothing was dropped that should not have been"""
        allowed = {"ttl_expired", "nat_no_mapping", "nat_no_session", "nat_filtered", "local_unreachable",
                   "eth_unknown_type", "ip4_multicast", "ip4_broadcast", "local_unhandled", "eth_not_for_us",
                   "nat_icmp_no_session", "neighbour_removed"}
        drops = self.router.drops()
        self.assertLessEqual(set(drops), allowed, drops)

    def test_99_what_the_outside_saw(self):
        """no inside address outside, no bad checksum on either side"""
        for name, (job, path) in self.captures.items():
            if job in self.jobs:
                time.sleep(0.2)
                self.stop(job)
            base = TSHARK + ["-r", path]
            count = run(["capinfos", "-c", "-M", path], timeout=60).stdout
            seen = int(re.search(r"packets:\s*(\d+)", count).group(1))
            self.assertGreater(seen, 5000, f"{name}: too few frames captured")
            bad = run(base + ["-Y", TSHARK_BAD], timeout=110).stdout
            self.assertEqual(bad, "", f"{name}: bad checksums")
            if name == "outside":
                leak = run(base + ["-Y", "ip.addr == 10.0.0.0/8 || arp.src.proto_ipv4 == 10.0.0.0/8"
                                         " || arp.dst.proto_ipv4 == 10.0.0.0/8"], timeout=110).stdout
                self.assertEqual(leak, "", "inside addresses seen outside")


class Xdp(Traffic, Live):
    kind = "xdp"
    label = "af_xdp"

    def test_00_ports(self):
        """the ports run our own XDP program"""
        ports = {i["name"]: i for i in self.router.items("interface show")}
        self.assertTrue(ports["lan"]["xdp"] and ports["wan"]["xdp"], ports)
        self.assertIn("af_xdp", ports["lan"]["driver"])


class Packet(Traffic, Live):
    kind = "packet"
    label = "af_packet"
