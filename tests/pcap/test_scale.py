"""Large tables: a full Internet's worth of routes, loaded at once, then added and removed beside traffic."""

import json
import os
import random
import socket
import struct
import time

from bench import OUTSIDE_MAC, ROUTED, Bench, inside

from harness import frames
from harness.frames import collect
from harness.procs import wait_for

from scapy.layers.inet import IP, UDP

LOAD_LIMIT_S = 60


def address(number):
    return socket.inet_ntoa(struct.pack("!I", number))


class Routes(Bench):
    lines = ROUTED + [f"neighbour add 203.0.113.{200 + n} lladdr 02:00:00:00:02:{n:02x} interface wan"
                      for n in range(8)]
    limit_s = 300

    def route_there(self, prefix):
        return bool(self.router.items(f"route {prefix}"))

    def arp_request(self):
        return any(frames.ethertype(f)[0] == frames.ETH_P_ARP for _, f in collect(self.ports, 1, 0.2))

    def test_others_have_their_turn(self):
        """a file of many routes comes in and is applied: others are served meanwhile, and see all of it or nothing"""
        count = 20_000 if "asan" in self.build else 200_000
        first, last = f"{address(64 << 24)}/24", f"{address((64 << 24) + ((count - 1) << 8))}/24"
        numbers = list(range(count))
        random.Random(7).shuffle(numbers)
        text = "\n".join(self.lines + [f"route add {address((64 << 24) + (n << 8))}/24 via 203.0.113.{200 + n % 8}"
                                       for n in numbers]).encode() + b"\n"
        self.addCleanup(self.router.ctl, f"config load {self.router.config}")
        with socket.socket(socket.AF_UNIX) as loader:
            loader.settimeout(LOAD_LIMIT_S)
            loader.connect(self.router.socket)
            loader.sendall(b"config load many bytes %d\n" % len(text) + text[:len(text) // 2])
            # the other half keeps the daemon waiting: a neighbour is asked for, a client gets an answer
            self.lan.send(inside(IP(src="10.0.0.2", dst="203.0.113.77") / UDP() / b"x"))
            wait_for(self.arp_request, 10, "an ARP request")
            self.assertFalse(self.route_there(first) or self.route_there(last))
            loader.sendall(text[len(text) // 2:])
            loader.setblocking(False)
            seen, answer = [], b""
            while not answer.endswith(b"\n"):
                seen.append((self.route_there(first), self.route_there(last)))
                try:
                    answer += loader.recv(65536)
                except BlockingIOError:
                    pass
            self.assertTrue(json.loads(answer)["ok"], answer)
        # asked for one after the other: the second may be there when the first was not yet
        self.assertNotIn((True, False), seen)
        self.assertTrue(self.route_there(first) and self.route_there(last))

    def test_many_routes(self):
        """1,000,000 routes load in seconds, packets follow them, also as some go (20,000 under the sanitizers)"""
        count = 20_000 if "asan" in self.build else 1_000_000
        rng = random.Random(5)
        lengths = [24] * 60 + [22] * 12 + [23] * 10 + [20] * 5 + [21] * 5 + [19] * 3 + [16] * 2 + [18] * 2 + [17]
        routes = {}
        while len(routes) < count:
            length = rng.choice(lengths)
            number = rng.randrange(1 << 24, 223 << 24) >> (32 - length) << (32 - length)
            # loopback, and what the bench itself uses, stays as it is
            if number >> 24 in (10, 127) or number >> 16 in (0xC633, 0xCB00):
                continue
            routes[number, length] = rng.randrange(8)
        path = os.path.join(self.router.dir, "full.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(self.lines) + "\n")
            for (number, length), way in routes.items():
                file.write(f"route add {address(number)}/{length} via 203.0.113.{200 + way}\n")
        began = time.monotonic()
        self.router.ctl(f"config load {path}", timeout=LOAD_LIMIT_S * 2)
        took = time.monotonic() - began
        print(f"    {count} routes in {took:.1f} s")
        self.assertLess(took, LOAD_LIMIT_S)

        def way_of(number):
            for length in range(32, 0, -1):
                way = routes.get((number >> (32 - length) << (32 - length), length))
                if way is not None:
                    return way
            return None

        def check(samples):
            for number in samples:
                way = way_of(number)
                due = OUTSIDE_MAC if way is None else f"02:00:00:00:02:{way:02x}"
                got = self.one(inside(IP(src="10.0.0.2", dst=address(number)) / UDP() / b"x"))
                self.assertEqual(got[:6].hex(":"), due, address(number))
        picked = rng.sample(sorted(routes), 300)
        check([number | rng.randrange(1, (1 << (32 - length)) - 1) for number, length in picked[:150]])
        check([rng.randrange(11 << 24, 126 << 24) for _ in range(50)])
        for key in picked[:150]:  # uncovers what lies below
            self.router.ctl(f"route del {address(key[0])}/{key[1]}")
            del routes[key]
        check([number | 1 for number, _ in picked[:150]])
