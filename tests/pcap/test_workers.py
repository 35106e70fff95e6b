"""Translation by several workers: what crosses from one to another, and what people see of it. True with one worker as
well; check.sh runs it with four."""

import random

from bench import BASE, DNAT, INSIDE_MAC, LAN_MAC, ROUTED, SNAT, WAN_MAC, Bench, datagram, inside, outside
from harness.frames import collect, describe

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Raw

FAR, POOLED = "198.51.100.7", "203.0.113.10"
HOSTS = [f"10.0.0.{i}" for i in range(100, 124)]  # so many that some are of different workers


def udp(src, sport, dst, dport, payload=b"payload"):
    return IP(src=src, dst=dst) / UDP(sport=sport, dport=dport) / Raw(payload)


def tcp(sport, dport, flags):
    return TCP(sport=sport, dport=dport, flags=flags, seq=1, ack=2 if "A" in flags else 0)


NEIGHBOURS = [f"neighbour add {host} lladdr {INSIDE_MAC} interface lan" for host in HOSTS]


class Workers(Bench):
    lines = BASE + NEIGHBOURS

    def workers(self):
        return self.router.items("worker show")

    def event(self, name):
        return {e["event"]: e["count"] for e in self.router.json("stats show")["events"]}.get(name, 0)

    def leaves(self, frame, mac):
        """The one datagram that leaves with this source MAC."""
        got = self.one(frame)
        self.assertEqual(got[6:12].hex(":"), mac, describe(got))
        return datagram(got)

    def test_hosts_are_spread_and_ports_kept_M1_M4(self):
        """hosts are spread over the workers, each keeps its ports and gets its answers, whoever receives them"""
        for i, host in enumerate(HOSTS):
            left = self.leaves(inside(udp(host, 3000 + i, FAR, 53)), WAN_MAC)
            self.assertEqual((left.src, left.sport), (POOLED, 3000 + i))
        for i, host in enumerate(HOSTS):
            back = self.leaves(outside(udp(FAR, 53, POOLED, 3000 + i)), LAN_MAC)
            self.assertEqual((back.dst, back.dport), (host, 3000 + i))
        workers = self.workers()
        self.assertEqual(sum(w["sessions"] for w in workers), len(HOSTS))
        self.assertGreaterEqual(sum(w["sessions"] > 0 for w in workers), min(2, len(workers)), workers)
        self.assertEqual(self.event("handovers") > 0, len(workers) > 1)

    def test_order_in_a_flow_is_kept(self):
        """packets of many flows at once: each flow's leave in the order in which they came"""
        rng = random.Random(7)
        todo = {host: list(range(40)) for host in HOSTS}
        sent = 0
        for host in HOSTS:  # sessions first
            self.leaves(inside(udp(host, 4000, FAR, 53)), WAN_MAC)
        got = {}
        while todo:
            batch = []
            for _ in range(64):
                if todo:
                    host = rng.choice(list(todo))
                    batch.append((host, todo[host].pop(0)))
                    if not todo[host]:
                        del todo[host]
            for host, number in batch:
                self.lan.send(inside(udp(host, 4000, FAR, 53, b"%s %d" % (host.encode(), number))))
            sent += len(batch)
            for _, frame in collect(self.ports, len(batch), 5.0):
                host, number = bytes(datagram(frame)[UDP].payload).split()[:2]
                got.setdefault(host.decode(), []).append(int(number))
        self.assertEqual(sum(map(len, got.values())), sent)
        for host in HOSTS:
            self.assertEqual(got[host], list(range(40)), host)

    def test_every_pair_of_hosts_by_hairpin_M9(self):
        """whatever workers two hosts have: each sees the other's external endpoint, errors come back too"""
        some = HOSTS[:8]
        ports = {host: 5000 + i for i, host in enumerate(some)}
        self.router.ctl("nat set filtering endpoint-independent")
        self.addCleanup(self.router.ctl, "nat set filtering address-dependent")
        for host in some:
            self.leaves(inside(udp(host, ports[host], FAR, 3478)), WAN_MAC)
        for a in some:
            for b in some:
                if a == b:
                    continue
                got = self.leaves(inside(udp(a, ports[a], POOLED, ports[b])), LAN_MAC)
                self.assertEqual((got.src, got.sport, got.dst, got.dport, got.ttl), (POOLED, ports[a], b, ports[b], 63))
                answer = self.leaves(inside(udp(b, ports[b], POOLED, ports[a])), LAN_MAC)
                self.assertEqual((answer.src, answer.sport, answer.dst, answer.dport), (POOLED, ports[b], a, ports[a]))
                error = IP(src=b, dst=POOLED) / ICMP(type=3, code=3) / bytes(got)
                told = self.leaves(inside(error), LAN_MAC)
                quote = IP(bytes(told[ICMP].payload))
                self.assertEqual((told.src, told.dst), (POOLED, a))
                self.assertEqual((quote.src, quote.sport, quote.dst, quote.dport), (a, ports[a], POOLED, ports[b]))

    def test_hairpin_through_a_port_forward_M9(self):
        """from hosts of every worker to the external address of one that serves"""
        for i, host in enumerate(HOSTS[:8]):
            syn = self.leaves(inside(IP(src=host, dst=POOLED) / tcp(6000 + i, 8080, "S")), LAN_MAC)
            self.assertEqual((syn.src, syn.sport, syn.dst, syn.dport), (POOLED, 6000 + i, "10.0.0.80", 80))
            back = self.leaves(inside(IP(src="10.0.0.80", dst=POOLED) / tcp(80, 6000 + i, "SA")), LAN_MAC)
            self.assertEqual((back.src, back.sport, back.dst, back.dport), (POOLED, 8080, host, 6000 + i))

    def test_sessions_are_listed_and_cleared_everywhere(self):
        """one list over all workers; a host's, and all, are cleared; the ports are free at once"""
        for i, host in enumerate(HOSTS):
            self.leaves(inside(udp(host, 7000 + i, FAR, 53)), WAN_MAC)
        self.assertEqual({s["original"]["source"] for s in self.router.sessions()},
                         {f"{host}:{7000 + i}" for i, host in enumerate(HOSTS)})
        self.router.ctl(f"nat session clear source {HOSTS[3]}")
        self.assertEqual(len(self.router.sessions()), len(HOSTS) - 1)
        left = self.leaves(inside(udp(HOSTS[4], 7003, FAR, 53)), WAN_MAC)
        self.assertEqual(left.sport, 7003)
        self.router.ctl("nat session clear all")
        self.assertEqual(self.router.sessions(), [])
        self.assertEqual(sum(w["sessions"] for w in self.workers()), 0)


class FullPool(Bench):
    """No external port is left."""

    lines = ROUTED + NEIGHBOURS + ["nat pool add office addresses 203.0.113.10 ports 50000-50001"] + DNAT + SNAT + [
        "nat set refuse-icmp on"]

    def test_refusals_are_announced_C4(self):
        """also to a host whose packet goes to another inside host, whoever owns the two"""
        for i in range(2):
            self.one(inside(IP(src=HOSTS[i], dst=FAR) / tcp(7000, 80, "S")))
        for i, host in enumerate(HOSTS[2:14]):
            syn = IP(src=host, dst=POOLED) / tcp(7100 + i, 8080, "S")
            told = datagram(self.one(inside(syn)))
            quote = IP(bytes(told[ICMP].payload))
            self.assertEqual((told.src, told.dst, told[ICMP].type, told[ICMP].code), ("10.0.0.1", host, 3, 13))
            self.assertEqual((quote.src, quote.dst, quote.sport, quote.dport), (host, POOLED, 7100 + i, 8080))
        self.assertEqual(self.router.drops(), {"nat_pool_exhausted": 12})
