"""The live network: namespaces joined to the router by veth pairs.

    [in]  10.0.0.2 --+                                                 +-- [far] 198.51.100.7
                     +-- bridge [sw] -- lan0 [rt] wan0 -- [out] 203.0.113.254, .253
    [in2] 10.0.0.3 --+                  turnpike            198.51.100.1

The daemon runs in [rt]; the kernel there has no address on lan0 and wan0, so that whatever arrives came through the
router. [out] has no route to 10.0.0.0/24: an address that leaks finds no way back.
"""

import json
import os
import socket
import threading
import unittest

from harness.netns import Netns, veth
from harness.procs import Process, run, wait_for
from harness.router import Router

POOLED, ONE_TO_ONE = "203.0.113.10", "203.0.113.50"
FAR, OUT, OUT2 = "198.51.100.7", "203.0.113.254", "203.0.113.253"

DEVICES = {
    "xdp": ("net_af_xdp0,iface=lan0", "net_af_xdp1,iface=wan0"),
    "packet": ("net_af_packet0,iface=lan0", "net_af_packet1,iface=wan0"),
}


def configuration(kind):
    lan, wan = DEVICES[kind]
    return [
        f"interface add lan devargs {lan}",
        f"interface add wan devargs {wan}",
        "address add 10.0.0.1/24 interface lan",
        "address add 203.0.113.1/24 interface wan",
        f"route add 0.0.0.0/0 via {OUT}",
        f"nat pool add office addresses {POOLED}",
        f"nat rule add static server external {ONE_TO_ONE} internal 10.0.0.3",
        f"nat rule add dnat web interface wan protocol tcp destination {POOLED}:8080 to 10.0.0.2:80",
        f"nat rule add dnat echo interface wan protocol udp destination {POOLED}:7007 to 10.0.0.2:7007",
        "nat rule add snat lan-out interface wan source 10.0.0.0/24 pool office",
    ]


class Net:
    """The namespaces and their ports, without the router."""

    def __init__(self, kind):
        self.kind = kind
        self.inside, self.inside2, self.switch, self.box, self.out, self.far = (
            Netns(label) for label in ("in", "in2", "sw", "rt", "out", "far"))
        veth(self.box, "lan0", self.switch, "up0")
        veth(self.box, "wan0", self.out, "eth0")
        veth(self.inside, "eth0", self.switch, "p1")
        veth(self.inside2, "eth0", self.switch, "p2")
        veth(self.out, "far0", self.far, "eth0")
        self.switch.ip("link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        for port in ("up0", "p1", "p2"):
            self.switch.ip("link", "set", port, "master", "br0")
        self.switch.ip("link", "set", "br0", "up")
        for ns, port, addresses in ((self.inside, "eth0", ["10.0.0.2/24"]), (self.inside2, "eth0", ["10.0.0.3/24"]),
                                    (self.out, "eth0", [f"{OUT}/24", f"{OUT2}/24"]),
                                    (self.out, "far0", ["198.51.100.1/24"]), (self.far, "eth0", [f"{FAR}/24"])):
            for address in addresses:
                ns.ip("addr", "add", address, "dev", port)
        self.inside.ip("route", "add", "default", "via", "10.0.0.1")
        self.inside2.ip("route", "add", "default", "via", "10.0.0.1")
        self.far.ip("route", "add", "default", "via", "198.51.100.1")
        self.out.sysctl("net.ipv4.ip_forward", 1)
        # traceroute asks quickly: let the kernels answer as quickly
        for ns in (self.out, self.far, self.inside, self.inside2):
            ns.sysctl("net.ipv4.icmp_ratelimit", 0)
        if kind == "packet":
            # A packet socket hands merged segments on as they are; XDP turns them off by itself.
            self.offload("tso off gso off")

    def offload(self, words):
        """Changes offloads of the kernel's ends that face the router."""
        for ns, port in ((self.switch, "up0"), (self.out, "eth0")):
            ns.run("ethtool", "-K", port, *words.split())

    def all(self):
        return (self.inside, self.inside2, self.switch, self.box, self.out, self.far)

    def delete(self):
        for ns in self.all():
            ns.delete()


class Live(unittest.TestCase):
    """A network and a router for the class."""

    kind = "xdp"
    extra = []

    @classmethod
    def setUpClass(cls):
        cls.build = os.environ.get("TP_BUILD", "build")
        cls.net = Net(cls.kind)
        cls.addClassCleanup(cls.net.delete)
        cls.router = Router(cls.net.box, configuration(cls.kind) + cls.extra, build=cls.build)
        cls.addClassCleanup(cls.router.stop)
        cls.router.start()
        cls.jobs, cls.started = [], 0
        cls.addClassCleanup(cls.stop_jobs)
        cls.dir = cls.router.dir

    @classmethod
    def stop_jobs(cls):
        for job in reversed(cls.jobs):
            job.stop()
        cls.jobs.clear()

    @classmethod
    def job(cls, ns, *argv, name=None, **kwargs):
        """A program that runs beside the tests, until it is stopped or the class ends."""
        cls.started += 1
        log = os.path.join(cls.dir, f"{name or os.path.basename(argv[0])}-{cls.started}.log")
        job = Process(argv, log, ns=ns, **kwargs)
        cls.jobs.append(job)
        return job

    @classmethod
    def stop(cls, job):
        cls.jobs.remove(job)
        return job.stop()

    @classmethod
    def http(cls, ns, port, directory):
        """Serves a directory, and returns when it listens."""
        job = cls.job(ns, "/usr/bin/python3", "-m", "http.server", str(port), "--directory", directory, name="http")
        wait_listening(ns, port)
        return job

    def iperf(self, *args):
        """What iperf3 reports at its end, from [in] to [far]."""
        job = self.job(self.net.far, "iperf3", "-s", "-1", "-B", FAR, name="iperf3")
        try:
            wait_listening(self.net.far, 5201)
            done = run(["iperf3", "-c", FAR, "-J", *args], ns=self.net.inside, timeout=60)
            return json.loads(done.stdout)["end"]
        finally:
            self.stop(job)

    def setUp(self):
        self.assertTrue(self.router.alive(), "the daemon has died")

    def log_tail(self):
        return self.router.process.tail()


def wait_listening(ns, port, kind="-lnt", timeout=10):
    wait_for(lambda: f":{port} " in run(["ss", kind], ns=ns).stdout, timeout, f"port {port} open")


def answer(test, ns, port, payload):
    """Until the test ends, a program in ns sends payload to whoever connects."""
    with ns.inside():
        server = socket.create_server(("0.0.0.0", port))
    test.addCleanup(server.close)
    server.settimeout(20)

    def loop():
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            with peer:
                peer.sendall(payload)
    threading.Thread(target=loop, daemon=True).start()


def tcp_counter(ns, name):
    """One of the counters of TCP in ns that nstat calls TcpExt."""
    names, values = (line.split() for line in ns.run("cat", "/proc/net/netstat").stdout.splitlines()
                     if line.startswith("TcpExt:"))
    return int(dict(zip(names, values))[name])


def udp_echo(ns, port):
    """A socket in ns that echoes; to be served by the caller."""
    with ns.inside():
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("0.0.0.0", port))
    return sock


def packets_lost(ping_output):
    """(sent, received) of ping's summary."""
    line = next(line for line in ping_output.splitlines() if "packets transmitted" in line)
    words = line.replace(",", "").split()
    return int(words[0]), int(words[3])
