"""The box that the router runs on: start, stop, being killed, a second start, its own kernel, its configuration."""

import glob
import os
import re
import signal
import socket
import subprocess
import time
import unittest

from net import FAR, OUT, Live, Net, answer, configuration, packets_lost
from harness.procs import wait_for
from harness.router import Router


def xdp_ports(ns):
    """Kernel interfaces of ns on which an XDP program runs."""
    text = ns.ip("-d", "link").stdout
    return re.findall(r"^\d+: ([\w]+)[@:].*?(?=^\d+: |\Z)", "\n".join(
        block for block in re.split(r"(?m)^(?=\d+: )", text) if re.search(r"\bxdp", block)), re.S | re.M)


def orphaned_huge_kib():
    """Huge pages in use that no living process has: what a daemon that ended left behind."""
    with open("/proc/meminfo", encoding="ascii") as file:
        info = {line.split(":")[0]: int(line.split()[1]) for line in file}
    used = (info["HugePages_Total"] - info["HugePages_Free"]) * info["Hugepagesize"]
    for status in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(status, encoding="utf-8", errors="replace") as file:
                used -= sum(int(line.split()[1]) for line in file if line.startswith("HugetlbPages:"))
        except OSError:
            pass  # it has just ended
    return max(0, used)


def leftovers():
    """Files that a DPDK process keeps in the usual places."""
    found = []
    for place in ("/dev/hugepages", "/run/dpdk", "/var/run/dpdk"):
        for root, _, files in os.walk(place):
            found += [os.path.join(root, name) for name in files]
    return sorted(set(os.path.realpath(name) for name in found))


class Life(unittest.TestCase):
    """Each test starts its own daemon."""

    def setUp(self):
        self.build = os.environ.get("TP_BUILD", "build")
        self.net = Net("xdp")
        self.addCleanup(self.net.delete)
        self.before = leftovers()

    def router(self, lines=None):
        router = Router(self.net.box, configuration("xdp") if lines is None else lines, build=self.build)
        self.addCleanup(router.stop)
        return router

    def ping(self, wait=3):
        done = self.net.inside.run("ping", "-n", "-c", "3", "-i", "0.05", "-W", str(wait), FAR, check=False)
        return packets_lost(done.stdout)

    def gone(self, router):
        """Nothing of the daemon is left."""
        wait_for(lambda: not xdp_ports(self.net.box), 5, f"XDP programs detached: {xdp_ports(self.net.box)}")
        wait_for(lambda: orphaned_huge_kib() == 0, 5, "huge pages given back")
        self.assertLessEqual(set(leftovers()), set(self.before))
        self.assertFalse(router.alive())

    def test_term(self):
        """SIGTERM: ports closed, XDP programs detached, huge pages and socket gone, status 0"""
        router = self.router().start()
        self.assertEqual(sorted(xdp_ports(self.net.box)), ["lan0", "wan0"])
        self.assertEqual(self.ping(), (3, 3))
        path = router.socket
        router.process.signal(signal.SIGTERM)
        self.assertEqual(router.process.wait(10), 0, router.process.tail())
        self.assertFalse(os.path.exists(path), "the socket is removed")
        self.gone(router)
        router.process = None

    def test_interrupt(self):
        """SIGINT does the same"""
        router = self.router().start()
        router.process.signal(signal.SIGINT)
        self.assertEqual(router.process.wait(10), 0, router.process.tail())
        self.gone(router)
        router.process = None

    def test_kill(self):
        """SIGKILL: the guard detaches the XDP programs, and the next start works"""
        router = self.router().start()
        router.process.signal(signal.SIGKILL)
        self.assertEqual(router.process.wait(10), -signal.SIGKILL)
        self.gone(router)
        router.start()
        self.assertEqual(self.ping(), (3, 3), "after the restart")

    def test_second_start(self):
        """a second daemon on the same socket is refused with a clear error, and does no harm to the first"""
        router = self.router().start()
        done = self.net.box.run(router.daemon, "-c", router.config, "-s", router.socket, check=False, timeout=30)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(router.socket, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"another turnpike runs")
        self.assertEqual(self.ping(), (3, 3))
        self.assertEqual(router.ctl("version") != "", True)

    def test_no_huge(self):
        """without huge pages the router works too"""
        router = Router(self.net.box, configuration("xdp"), build=self.build, eal=["--no-huge", "-m", "1024"])
        self.addCleanup(router.stop)
        router.start()
        self.assertEqual(self.ping(), (3, 3))

    def test_bad_configuration(self):
        """a configuration file with a mistake: refused with file and line, nothing left behind"""
        router = self.router(["address add 10.0.0.1/24 interface nowhere", "nonsense"])
        done = self.net.box.run(router.daemon, "-c", router.config, "-s", router.socket, check=False, timeout=30)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr, re.escape(router.config) + r":[12]")
        self.gone(router)

    def test_missing_configuration(self):
        """a configuration file that is not there, and wrong options, are refused"""
        router = self.router()
        for argv in (["-c", "/nowhere/turnpike.conf"], ["--nonsense"], ["-s"]):
            done = self.net.box.run(router.daemon, *argv, check=False, timeout=30,
                                    env={"TURNPIKE_SOCKET": router.socket})
            self.assertNotEqual(done.returncode, 0, argv)
            self.assertNotEqual(done.stderr, "")
        self.gone(router)

    def test_check_without_daemon(self):
        """turnpike -t checks a file, and starts nothing"""
        good, bad = self.router(), self.router(["nonsense"])
        for router, status, said in ((good, 0, f"{good.config}: no errors"), (bad, 1, f"{bad.config}:1:1: ")):
            done = self.net.box.run(router.daemon, "-t", "-c", router.config, "-s", router.socket, check=False,
                                    timeout=30)
            self.assertEqual(done.returncode, status)
            self.assertIn(said, done.stdout + done.stderr)
            self.assertFalse(os.path.exists(router.socket))
        self.assertEqual(xdp_ports(self.net.box), [])

    def test_answer_that_can_not_be_written(self):
        """tpctl to a full disk fails"""
        router = self.router().start()
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([router.client, "-s", router.socket, "config", "show"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False, timeout=30)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)

    def test_lookup_knows_what_is_never_forwarded(self):
        """route lookup says so of an address whose packets are dropped whatever the routes are"""
        router = self.router().start()
        for address, said in (("224.0.0.5", "a multicast"), ("127.0.0.1", "a loopback"),
                              ("255.255.255.255", "the broadcast"), ("240.0.0.1", "a reserved"),
                              ("0.0.0.1", "this network's")):
            self.assertIn(f"{address} are not forwarded: it is {said} address", router.refused(f"route lookup {address}"))

    def test_mtu_goes_back_in_flight(self):
        """a load that takes an MTU back does not close the port, nor count from zero"""
        router = self.router().start()
        attached = self.net.box.ip("link", "show", "wan0").stdout.partition("prog/xdp id ")[2].split()[0]
        router.ctl("interface set wan mtu 1400")
        self.assertIn("mtu 1400", self.net.box.ip("link", "show", "wan0").stdout)
        self.assertEqual(self.ping(), (3, 3))
        router.ctl(f"config load {router.config}")
        shown = self.net.box.ip("link", "show", "wan0").stdout
        self.assertIn("mtu 1500", shown)
        self.assertIn(f"prog/xdp id {attached} ", shown)
        self.assertEqual(self.ping(), (3, 3))

    def test_no_daemon(self):
        """tpctl without a daemon says so with status 3"""
        router = self.router()
        done = router.ctl_raw("version")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(router.socket, done.stderr)

    def test_ports_come_and_go(self):
        """an interface is taken and given back at run time, several times, with traffic after each"""
        router = self.router().start()
        for _ in range(3):
            router.ctl("route del 0.0.0.0/0")
            for rule in ("web", "echo", "lan-out"):
                router.ctl(f"nat rule del {rule}")
            router.ctl("interface del wan")
            self.assertEqual(xdp_ports(self.net.box), ["lan0"])
            for line in configuration("xdp"):
                router.ctl(line)
            self.assertEqual(sorted(xdp_ports(self.net.box)), ["lan0", "wan0"])
            wait_for(lambda: self.ping() == (3, 3), 10, "traffic after a port came back")

    def test_save_and_load(self):
        """config save, then load into an empty router, gives the same router"""
        router = self.router().start()
        router.ctl("nat timeout set udp 120")
        router.ctl("nat set filtering endpoint-independent")
        router.ctl("interface set wan pass protocol tcp port 22")
        router.ctl("neighbour add 10.0.0.77 lladdr 02:00:00:00:00:77 interface lan")
        path = os.path.join(router.dir, "saved.conf")
        router.ctl(f"config save {path}")
        shown = router.ctl("config show")
        tables = self.tables(router)
        with open(path, encoding="utf-8") as file:
            saved = file.read()
        router.process.signal(signal.SIGTERM)
        self.assertEqual(router.process.wait(10), 0)
        with open(router.config, "w", encoding="utf-8"):
            pass
        router.start()
        self.assertEqual(self.ping(1)[1], 0, "an empty router routes nothing")
        saved_path = os.path.join(router.dir, "copy.conf")
        with open(saved_path, "w", encoding="utf-8") as file:
            file.write(saved)
        router.ctl(f"config check {saved_path}")
        router.ctl(f"config load {saved_path}")
        self.assertEqual(router.ctl("config show"), shown)
        self.assertEqual(self.tables(router), tables)
        wait_for(lambda: self.ping() == (3, 3), 10, "traffic after the load")

    def tables(self, router):
        """What is configured, as the listings show it; not what was learned."""
        text = "".join(router.ctl(words) for words in ("address show", "route show", "nat rule show", "nat pool show",
                                                       "nat timeout show"))
        return [line for line in text.splitlines() if " neighbour " not in line]

    def test_load_is_atomic(self):
        """a file with a mistake changes nothing, and traffic goes on"""
        router = self.router().start()
        shown = router.ctl("config show")
        path = os.path.join(router.dir, "bad.conf")
        for wrong in ("nat rule add dnat web2 interface wan protocol tcp destination 203.0.113.10:8080 to 10.0.0.9:80",
                      "route add 10.9.0.0/16 via 172.31.255.1", "address add 10.0.0.300/24 interface lan",
                      "interface add x devargs net_nothing0"):
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(configuration("xdp") + ["nat timeout set udp 77", wrong]) + "\n")
            said = router.refused(f"config load {path}")
            if "net_nothing" in wrong:  # found out only when the device is opened
                self.assertIn("net_nothing0", said)
            else:
                self.assertIn(f"{path}:{len(configuration('xdp')) + 2}", said)
            self.assertEqual(router.ctl("config show"), shown, wrong)
            self.assertEqual(self.ping(), (3, 3), wrong)


class OwnKernel(Live):
    """The box's own kernel keeps what is left to it on a port that the router owns."""

    kind = "xdp"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net.box.ip("addr", "add", "203.0.113.1/24", "dev", "wan0")

    def ask(self, port, timeout=2):
        with self.net.out.inside():
            client = socket.socket()
        with client:
            client.settimeout(timeout)
            client.connect(("203.0.113.1", port))
            got = b""
            while chunk := client.recv(1 << 16):
                got += chunk
            return got

    def test_pass(self):
        """a port that is passed reaches the box's listener; after no-pass it does not; translation goes on"""
        answer(self, self.net.box, 2222, b"the box itself\n" + os.urandom(1 << 20))
        with self.assertRaises(OSError):
            self.ask(2222, 1)
        self.router.ctl("interface set wan pass protocol tcp port 2222")
        got = self.ask(2222)
        self.assertEqual((got[:15], len(got)), (b"the box itself\n", 15 + (1 << 20)))
        done = self.net.inside.run("ping", "-n", "-c", "3", "-i", "0.05", "-W", "10", FAR)
        self.assertEqual(packets_lost(done.stdout), (3, 3))
        self.router.ctl("interface set wan no-pass protocol tcp port 2222")
        with self.assertRaises(OSError):
            self.ask(2222, 1)

    def test_kernel_arp(self):
        """the kernel's own ARP works beside the router's"""
        self.net.box.ip("neigh", "flush", "dev", "wan0")
        self.router.ctl("interface set wan pass protocol udp port 3333")
        with self.net.box.inside():
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with self.net.out.inside():
            client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with server, client:
            server.bind(("0.0.0.0", 3333))
            server.settimeout(3)
            client.settimeout(3)
            self.net.out.ip("neigh", "flush", "dev", "eth0")
            client.sendto(b"hello", ("203.0.113.1", 3333))
            data, peer = server.recvfrom(100)
            self.assertEqual((data, peer[0]), (b"hello", OUT))
            server.sendto(b"hello yourself", peer)  # the kernel has to resolve the peer
            self.assertEqual(client.recv(100), b"hello yourself")

    def test_translated_arp(self):
        """neighbours resolve a translated address that no kernel owns"""
        self.net.out.ip("neigh", "flush", "dev", "eth0")
        self.net.out.run("ping", "-n", "-c", "1", "-W", "1", "203.0.113.10", check=False)
        time.sleep(0.1)
        table = self.net.out.ip("neigh", "show", "203.0.113.10").stdout
        mac = next(i["mac"] for i in self.router.items("interface show") if i["name"] == "wan")
        self.assertIn(mac, table)
