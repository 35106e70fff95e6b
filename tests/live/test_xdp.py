"""AF_XDP ports: whose XDP program is on an interface, what the kernel gets, and the interface as it was afterwards."""

import os
import re
import signal
import socket
import tempfile
import time
import unittest

from net import FAR, OUT, answer
from harness.frames import Port, collect
from harness.netns import Netns, veth
from harness.procs import run, wait_for
from harness.router import Router

WAN, PEER = "203.0.113.1", OUT

FOREIGN = """
__attribute__((section("xdp"), used)) int somebody_elses(void *ctx) { return 2; }
char terms[] __attribute__((section("license"), used)) = "GPL";
"""


def program(ns, name):
    """(id, name) of the XDP program on an interface, or None."""
    found = re.search(r"prog/xdp id (\d+)(?: name (\S+))?", ns.ip("-d", "link", "show", name).stdout)
    return found and (int(found[1]), found[2])


def features(ns, name):
    text = ns.run("ethtool", "-k", name).stdout
    return {line.split(":")[0].strip() for line in text.splitlines() if re.search(r": on\b", line)}


def guard_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        for child in file.read().split():
            with open(f"/proc/{child}/comm", encoding="ascii") as comm:
                if comm.read().strip() == "turnpike-guard":
                    return int(child)
    raise AssertionError("no guard")


class Xdp(unittest.TestCase):
    """[rt] wan0 -- eth0 [out]; each test starts the daemons that it needs."""

    def setUp(self):
        self.build = os.environ.get("TP_BUILD", "build")
        self.box, self.out = Netns("rt"), Netns("out")
        self.addCleanup(self.out.delete)
        self.addCleanup(self.box.delete)
        veth(self.box, "wan0", self.out, "eth0")
        self.out.ip("addr", "add", f"{PEER}/24", "dev", "eth0")

    def router(self, *lines, device="net_af_xdp0,iface=wan0"):
        router = Router(self.box, [f"interface add wan devargs {device}", f"address add {WAN}/24 interface wan",
                                   *lines], build=self.build)
        self.addCleanup(lambda: router.process and router.stop())
        return router

    def ping(self, address=WAN):
        return self.out.run("ping", "-n", "-c", "1", "-W", "2", address, check=False).returncode == 0

    def end(self, router, number=signal.SIGTERM):
        process, router.process = router.process, None
        process.signal(number)
        return process.wait(10)

    # ---- programs

    def test_foreign_program(self):
        """another program on the interface is refused by id and name, and left alone"""
        router = self.router()
        with tempfile.TemporaryDirectory() as there:
            source, binary = os.path.join(there, "x.c"), os.path.join(there, "x.o")
            with open(source, "w", encoding="ascii") as file:
                file.write(FOREIGN)
            run(["clang", "-O2", "-target", "bpf", "-c", source, "-o", binary])
            self.box.ip("link", "set", "dev", "wan0", "xdp", "obj", binary, "sec", "xdp")
        there = program(self.box, "wan0")
        self.assertIsNotNone(there)
        with self.assertRaises(AssertionError) as refused:
            router.start()
        self.assertRegex(str(refused.exception), rf"wan0 has another XDP program, id {there[0]}\b")
        self.assertEqual(program(self.box, "wan0"), there)
        self.box.ip("link", "set", "dev", "wan0", "xdp", "off")
        router.start()
        self.assertTrue(self.ping())

    def test_stale_program(self):
        """a program that stayed because router and guard were both killed is replaced by the next router"""
        router = self.router().start()
        guard = guard_of(router.process.pid)
        os.kill(guard, signal.SIGKILL)
        self.end(router, signal.SIGKILL)
        time.sleep(0.3)
        stale = program(self.box, "wan0")
        self.assertEqual(stale[1], "turnpike_xdp")
        router.start()
        self.assertNotEqual(program(self.box, "wan0"), stale)
        self.assertTrue(self.ping())
        self.assertIn(f"detached XDP program {stale[0]}", router.process.output())
        self.assertEqual(self.end(router), 0)
        self.assertIsNone(program(self.box, "wan0"))

    def test_without_guard(self):
        """when the guard was killed, the router says so rather than attach what nobody would detach"""
        router = self.router().start()
        os.kill(guard_of(router.process.pid), signal.SIGKILL)
        router.ctl("address del 203.0.113.1/24 interface wan")
        router.ctl("interface del wan")
        self.assertIn("turnpike-guard", router.refused("interface add wan devargs net_af_xdp0,iface=wan0"))
        self.assertIsNone(program(self.box, "wan0"))
        self.assertEqual(self.end(router), 0)

    def test_crash(self):
        """SIGSEGV and SIGABRT: the guard detaches, too"""
        for number in (signal.SIGSEGV, signal.SIGABRT):
            router = self.router().start()
            self.assertIsNotNone(program(self.box, "wan0"))
            self.end(router, number)
            wait_for(lambda: program(self.box, "wan0") is None, 5, f"detached after {number.name}")

    def test_group_signals(self):
        """SIGTERM and SIGINT to all of the router's processes at once end it cleanly, in whatever order they arrive"""
        for number in (signal.SIGTERM, signal.SIGINT):
            router = self.router().start()
            guard = guard_of(router.process.pid)
            os.kill(guard, number)
            self.assertEqual(self.end(router, number), 0)
            self.assertIsNone(program(self.box, "wan0"))
            wait_for(lambda: not os.path.exists(f"/proc/{guard}"), 5, "the guard has ended")

    def test_two_routers(self):
        """a second router gets no port on the same interface, and the first one keeps its program"""
        self.router().start()
        mine = program(self.box, "wan0")
        with self.assertRaises(AssertionError) as refused:
            self.router().start()
        self.assertIn("wan0 has an AF_XDP port already", str(refused.exception))
        self.assertEqual(program(self.box, "wan0"), mine)
        self.assertTrue(self.ping())

    def test_delete_and_add(self):
        """deleting the interface detaches the program at once; twenty rounds of it wear nothing out"""
        router = self.router().start()
        files = None
        for turn in range(20):
            router.ctl("address del 203.0.113.1/24 interface wan")
            router.ctl("interface del wan")
            self.assertIsNone(program(self.box, "wan0"))
            router.ctl("interface add wan devargs net_af_xdp0,iface=wan0")
            router.ctl("address add 203.0.113.1/24 interface wan")
            self.assertEqual(program(self.box, "wan0")[1], "turnpike_xdp")
            self.assertTrue(self.ping(), f"round {turn}")
            now = len(os.listdir(f"/proc/{router.process.pid}/fd"))
            files = files or now
            self.assertEqual(now, files, "open files")

    # ---- the interface

    def test_settings_restored(self):
        """the interface's state, MTU and offloads are as before once the port is gone"""
        self.box.ip("link", "set", "wan0", "down", "mtu", "1600")
        before = features(self.box, "wan0")
        self.assertIn("rx-vlan-offload", before)
        router = self.router()
        router.start()
        during = self.box.ip("link", "show", "wan0").stdout
        self.assertRegex(during, r"[<,]UP[,>].* mtu 1600 ")
        self.assertNotIn("rx-vlan-offload", features(self.box, "wan0"))
        router.ctl("interface set wan mtu 1400")
        self.assertRegex(self.box.ip("link", "show", "wan0").stdout, r" mtu 1400 ")
        self.assertEqual(self.end(router), 0)
        after = self.box.ip("link", "show", "wan0").stdout
        self.assertRegex(after, r" mtu 1600 ")
        self.assertNotRegex(after, r"[<,]UP[,>]")
        self.assertEqual(features(self.box, "wan0"), before)

    def test_refusals(self):
        """what can't be is refused with the reason, and the router goes on"""
        veth(self.box, "lan0", self.out, "eth1")
        router = self.router().start()
        for words, said in (
                ("devargs net_af_xdp1,iface=nowhere0", "there is no network interface 'nowhere0'"),
                ("devargs net_af_xdp1", "which network interface"),
                ("devargs net_af_xdp1,iface=wan0", "wan0 has an AF_XDP port already"),
                ("devargs net_af_xdp0,iface=lan0", "exists already"),
                ("devargs net_af_xdp1,iface=lan0 rxqs 2", "1 combined queue"),
                ("devargs net_af_xdp1,iface=lan0 mtu 9000", "at most"),
                ("devargs net_af_xdp1,iface=lan0,start_queue=7", "no such queue"),
                ("devargs net_af_xdp1,iface=lan0,nonsense=1", "nonsense")):
            answer = router.refused(f"interface add lan {words}")
            self.assertIn(said, answer) if said != "nonsense" else self.assertIn("net_af_xdp1", answer)
            self.assertIsNone(program(self.box, "lan0"), words)
        self.out.ip("link", "set", "eth1", "mtu", "9000")
        self.assertIn("MTU", router.refused("interface add lan devargs net_af_xdp1,iface=lan0"))
        self.out.ip("link", "set", "eth1", "mtu", "1500")
        router.ctl("interface add lan devargs net_af_xdp1,iface=lan0")
        self.assertTrue(self.ping())

    # ---- what the kernel gets

    def fetch(self, ns, address, port, timeout):
        with ns.inside():
            client = socket.socket()
        with client:
            client.settimeout(timeout)
            client.connect((address, port))
            got = b""
            while chunk := client.recv(1 << 16):
                got += chunk
            return got

    def test_icmp_errors_reach_the_kernel(self):
        """path MTU discovery of a passed connection works: the kernel gets the errors that quote it"""
        far = Netns("far")
        self.addCleanup(far.delete)
        veth(self.out, "far0", far, "eth0")
        self.out.ip("addr", "add", "198.51.100.1/24", "dev", "far0")
        far.ip("addr", "add", f"{FAR}/24", "dev", "eth0")
        far.ip("route", "add", "default", "via", "198.51.100.1")
        self.out.sysctl("net.ipv4.ip_forward", 1)
        self.out.ip("link", "set", "far0", "mtu", "1000")
        self.box.ip("addr", "add", f"{WAN}/24", "dev", "wan0")
        router = self.router(f"route add 0.0.0.0/0 via {PEER}",
                             "interface set wan pass protocol tcp port 2222").start()
        self.box.ip("route", "replace", "default", "via", PEER)
        payload = os.urandom(1 << 20)
        answer(self, self.box, 2222, payload)
        self.assertEqual(self.fetch(far, WAN, 2222, 10), payload)
        self.assertRegex(self.box.ip("route", "get", FAR).stdout, r"mtu 1000")
        self.assertTrue(router.alive())

    def test_kernel_addresses(self):
        """ports are passed for the kernel's own addresses, those that come later too, and for no others"""
        self.box.ip("addr", "add", "203.0.113.8/24", "dev", "wan0")
        router = self.router("interface set wan pass protocol tcp port 2222").start()
        answer(self, self.box, 2222, b"the box")
        self.assertEqual(self.fetch(self.out, "203.0.113.8", 2222, 3), b"the box")
        self.box.ip("addr", "add", "203.0.113.9/24", "dev", "wan0")

        def reached():
            try:
                return self.fetch(self.out, "203.0.113.9", 2222, 1) == b"the box"
            except OSError:
                return False
        wait_for(reached, 20, "the new address")
        # Transit to the same port is the router's: it has a route to nowhere else, and says so.
        self.out.ip("route", "add", "198.18.0.0/24", "via", WAN)
        router.reset()
        with self.assertRaises(OSError):
            self.fetch(self.out, "198.18.0.1", 2222, 2)
        self.assertIn("no_route", router.drops())

    def test_pass_refusals(self):
        """only what is passed can be unpassed, a protocol at a time; a port without XDP passes nothing"""
        router = self.router("interface set wan pass protocol tcp port 22").start()
        router.refused("interface set wan no-pass protocol udp port 22")
        router.ctl("interface set wan pass protocol udp port 22")
        router.ctl("interface set wan no-pass protocol tcp port 22")
        router.refused("interface set wan no-pass protocol tcp port 22")
        router.ctl("interface add other devargs net_null0,no-rx=1")
        self.assertIn("net_af_xdp", router.refused("interface set other pass protocol tcp port 22"))

    # ---- VLANs

    def test_vlan(self):
        """tagged frames: IPv4 by the port, ARP by the kernel's side, each to the interface of its tag"""
        from scapy.layers.inet import ICMP, IP
        from scapy.layers.l2 import ARP, Dot1Q, Ether
        self.router("interface add wan10 vlan 10 parent wan", "address add 10.10.0.1/24 interface wan10").start()
        port = Port(self.out, "eth0")
        self.addCleanup(port.close)
        own = "02:00:00:00:10:02"
        ask = Ether(src=own, dst="ff:ff:ff:ff:ff:ff") / Dot1Q(vlan=10) / \
            ARP(op=1, hwsrc=own, psrc="10.10.0.2", pdst="10.10.0.1")

        def answers(kind, timeout=3):
            frames = [Ether(frame) for _, frame in collect([port], 20, timeout)]
            return [frame for frame in frames if kind in frame and frame.dst == own]

        port.drain()
        port.send(ask)
        got = answers(ARP, 1)
        self.assertEqual([(f[Dot1Q].vlan, f[ARP].op, f[ARP].psrc) for f in got], [(10, 2, "10.10.0.1")])
        mac = got[0][ARP].hwsrc
        # The same question without a tag, or with another one, is not for that interface.
        for wrong in (Ether(src=own, dst="ff:ff:ff:ff:ff:ff") / ask[ARP],
                      Ether(src=own, dst="ff:ff:ff:ff:ff:ff") / Dot1Q(vlan=11) / ask[ARP]):
            port.send(wrong)
        self.assertEqual([f for f in answers(ARP, 0.5) if f[ARP].psrc == "10.10.0.1"], [])
        port.send(Ether(src=own, dst=mac) / Dot1Q(vlan=10) / IP(src="10.10.0.2", dst="10.10.0.1") /
                  ICMP(id=7, seq=1) / b"tagged")
        got = answers(ICMP, 1)
        self.assertEqual([(f[Dot1Q].vlan, f[ICMP].type, bytes(f[ICMP].payload)[:6]) for f in got],
                         [(10, 0, b"tagged")])
