"""See run."""

import os
import random
import socket
import time

from bench import BASE_STATIC, WAN_MAC, Bench, datagram, inside
from test_random import Random

from scapy.layers.inet import IP, UDP

SECONDS = float(os.environ.get("TP_FUZZ_SECONDS", "10"))
SEED = int(os.environ.get("TP_FUZZ_SEED", "1"))

# Commands to start from. None writes a file or opens a device of the machine.
COMMANDS = BASE_STATIC[2:] + [
    "interface add null devargs net_null0", "interface del null", "interface set lan mtu 1400", "interface show",
    "interface add lan7 vlan 7 parent lan", "interface del lan7", "interface set wan pass protocol tcp port 22",
    "address show", "neighbour show interface lan", "neighbour flush interface lan", "route show 10.0.0.0/8",
    "route lookup 198.51.100.7", "route add 10.0.0.0/8 via 203.0.113.254,203.0.113.253", "route del 10.0.0.0/8",
    "nat pool show", "nat rule show", "nat rule del web", "nat session show source 10.0.0.0/8 protocol udp port 53 limit 5",
    "nat session clear all", "nat session clear protocol tcp", "nat set mapping address-dependent filtering endpoint-independent",
    "nat timeout set udp 120 icmp 30", "nat timeout show", "nat show", "stats show drops", "stats show worker 0",
    "stats reset", "config show", "config check /dev/null", "version", "worker show", "log set level debug",
    "log set level info", "help nat rule add",
]
WORDS = sorted({word for line in COMMANDS for word in line.split() if "net_" not in word} | {
    "0", "-1", "65536", "4294967296", "99999999999999999999", "0.0.0.0/0", "255.255.255.255", "10.0.0.1/33", "::1",
    "[2001:db8::1]:443", "1-2-3", "65535-1", "lan" * 20, "'", '"', "\\", "#", "?", "-j", "\t", "\x00", "\x1b[A", "é", "%s%n",
})


class Fuzz(Bench):
    lines = BASE_STATIC
    limit_s = int(SECONDS * 3) + 120

    def restore(self):
        """A good configuration, by the atomic way, after whatever happened."""
        self.router.ctl(f"config load {self.router.config}")
        self.open_ports()

    def still_translates(self):
        """It may also still ask for neighbours, or report those that did not answer."""
        self.router.ctl("nat session clear all")
        sent = inside(IP(src="10.0.0.2", dst="198.51.100.7") / UDP(sport=4000) / b"after")
        got = [frame for _, frame in self.play([sent], expect=1) if frame.endswith(b"after")]
        self.assertEqual([datagram(frame).src for frame in got], ["203.0.113.10"])

    def line(self, rng):
        words = rng.choice(COMMANDS).split()
        for _ in range(rng.choice((0, 1, 1, 2, 4))):
            what = rng.randrange(6)
            at = rng.randrange(len(words)) if words else 0
            if what == 0 and words:
                words.pop(at)
            elif what == 1:
                words.insert(at, rng.choice(WORDS))
            elif what == 2 and words:
                words[at] = rng.choice(WORDS)
            elif what == 3 and words:
                cut = rng.randrange(len(words[at]) + 1)
                words[at] = words[at][:cut]
            elif what == 4 and words:
                words.append(words[at])
            elif what == 5 and words:
                word = bytearray(words[at].encode())
                if word:
                    word[rng.randrange(len(word))] ^= 1 << rng.randrange(7)
                words[at] = word.decode("utf-8", "replace")
        line = " ".join(words)
        # nothing that writes a file, and no device but the ones named above
        if "save" in line or "devargs" in line and "devargs net_null0" not in line or "pcap" in line:
            return "version"
        return line

    def test_socket(self):
        """mutated commands on the control socket"""
        rng = random.Random(SEED)
        end = time.monotonic() + SECONDS
        sent = 0
        try:
            while time.monotonic() < end:
                with socket.socket(socket.AF_UNIX) as sock:
                    sock.settimeout(10)
                    sock.connect(self.router.socket)
                    for _ in range(rng.randint(1, 20)):
                        data = self.line(rng).encode("utf-8", "replace")
                        sent += 1
                        try:
                            sock.sendall(data + b"\n")
                            if not data.strip() or data.lstrip().startswith(b"#"):
                                continue  # as in a file: nothing to answer
                            if not sock.recv(1 << 20):
                                break
                        except (BrokenPipeError, ConnectionResetError):
                            break
                        except TimeoutError:
                            raise AssertionError(f"no answer to {data!r}") from None
                self.assertTrue(self.router.alive(), f"seed {SEED}, request {sent}")
        finally:
            if self.router.alive():
                self.restore()
        self.assertGreater(sent, 50)
        print(f"    {sent} requests")
        self.still_translates()

    def test_ports(self):
        """mutated frames on both ports, while rules and routes change"""
        rng = random.Random(SEED + 1)
        source = Random("test_garbage")
        end = time.monotonic() + SECONDS
        sent = 0
        change = ("route add 198.51.100.0/24 via 203.0.113.254", "nat rule del web", "route del 198.51.100.0/24",
                  BASE_STATIC[-2], "nat session clear protocol udp", "neighbour flush interface lan")
        while time.monotonic() < end:
            for _ in range(64):
                frame = source.damage(rng, source.seeds(rng))
                (self.wan if frame[:6].hex(":") == WAN_MAC else self.lan).send(frame)
                sent += 1
            for port in (self.lan, self.wan):
                self.check_origin(self.sentinel(port))
            self.router.ctl_raw(*rng.choice(change).split())
        print(f"    {sent} frames")
        self.restore()
        self.still_translates()
