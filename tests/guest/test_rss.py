"""Packets steered by a card: each arrives at the worker that translates it, so that nothing is handed over."""

from bench import BASE, PORTS, datagram, inside, outside
from test_pci import FAR, HOSTS, NEIGHBOURS, POOLED, Cards, transports

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Raw

STEERED = [PORTS[0] + " rss source", PORTS[1] + " rss destination-port"] + BASE[len(PORTS):] + NEIGHBOURS
ROUNDS = 4  # flows of each host


def flows(protocol):
    """Packets from inside: every host, from several ports."""
    return [(host, IP(src=host, dst=FAR) / protocol(sport=3000 + 7 * i + 1000 * r, dport=53) / Raw(f"{host} {r}".encode()))
            for i, host in enumerate(HOSTS) for r in range(ROUNDS)]


def answers(out):
    """To each of the datagrams that left, from where it went; what it carried comes back."""
    for d in out:
        l4 = d[TCP] if TCP in d else d[UDP]
        back = TCP(sport=l4.dport, dport=l4.sport, flags="SA", seq=1, ack=1) if TCP in d else UDP(sport=l4.dport, dport=l4.sport)
        yield outside(IP(src=d.dst, dst=d.src) / back / Raw(bytes(d[Raw])))


class Steering(Cards):
    """What the classes here share."""

    def handed_over(self, what, sent):
        """How many were, since the last time."""
        count = self.event("handovers")
        print(f"    {what}: {sent} packets, {count} handed over", flush=True)
        self.router.ctl("stats reset")
        return count

    def there_and_back(self, protocol, what):
        """Each host's flows and the answers; how many packets were handed over, of both directions."""
        out = self.crowd([inside(packet) for _, packet in flows(protocol)])
        self.assertEqual({d.src for d in out}, {POOLED})
        there = self.handed_over(f"{what} from inside", len(out))
        back = self.crowd(list(answers(out)))
        for d in back:
            self.assertEqual(bytes(d[Raw]).decode().split()[0], d.dst)
        return there, self.handed_over(f"{what} from outside", len(back))

    def workers_share(self):
        sessions = [w["sessions"] for w in self.router.items("worker show")]
        self.assertTrue(all(sessions), sessions)


class Steered(Steering):
    """Every port is the router's choice."""

    lines = STEERED + ["nat set port-preservation off"]

    def test_settings(self):
        """shown as configured"""
        self.assertEqual([self.interface(name)["rss"] for name in ("lan", "wan")], ["source", "destination-port"])

    def test_udp(self):
        """UDP of many hosts, both ways: nothing is handed over"""
        self.assertEqual(self.there_and_back(UDP, "UDP"), (0, 0))
        self.workers_share()

    def test_tcp(self):
        """TCP of many hosts, both ways: nothing is handed over"""
        self.assertEqual(self.there_and_back(TCP, "TCP"), (0, 0))
        self.workers_share()

    def test_echo(self):
        """echo requests arrive at their owners; the replies, hashed by addresses alone, are handed over where they have to be"""
        pairs = [(host, *transports(i)[2]) for i, host in enumerate(HOSTS)]
        out = self.crowd([inside(IP(src=host, dst=FAR) / go / Raw(host.encode())) for host, go, _ in pairs])
        self.assertEqual(self.handed_over("echo from inside", len(out)), 0)
        back = self.crowd([outside(IP(src=FAR, dst=POOLED) / ICMP(type=0, id=d[ICMP].id) / d[Raw]) for d in out])
        self.assertTrue(all(bytes(d[Raw]).decode() == d.dst for d in back))
        self.assertGreater(self.handed_over("echo from outside", len(back)), 0)

    def test_other_protocols(self):
        """GRE arrives at its host's owner as well"""
        self.one(inside(IP(src=HOSTS[0], dst=FAR, proto=47) / Raw(bytes(8))))
        for host in HOSTS[1:]:  # one host each may have it: the others are refused, where they belong
            self.lan.send(inside(IP(src=host, dst=FAR, proto=47) / Raw(bytes(8))))
        self.sentinel(self.lan)
        self.assertEqual(self.handed_over("GRE from inside", len(HOSTS)), 0)

    def test_after_link(self):
        """also after the cable was out"""
        for up in (False, True):
            for tap in self.taps:
                self.guest.qmp("set_link", name=tap, up=up)
        self.assertEqual(self.there_and_back(UDP, "UDP after the link was down"), (0, 0))


class Kept(Steering):
    """Ports are kept where they are free."""

    lines = STEERED

    def test_kept(self):
        """answers to ports that were kept are handed over where those lead elsewhere, and arrive"""
        there, back = self.there_and_back(TCP, "TCP, ports kept")
        self.assertEqual(there, 0)
        self.assertGreater(back, 0)

    def test_taken(self):
        """where all want one port, one host has it, and the others' answers arrive at their owners"""
        out = self.crowd([inside(IP(src=host, dst=FAR) / UDP(sport=4000, dport=53) / Raw(host.encode())) for host in HOSTS])
        self.assertEqual([d.sport for d in out].count(4000), 1)
        self.handed_over("UDP from inside, all from one port", len(out))
        back = self.crowd(list(answers(out)))
        self.assertTrue(all(bytes(d[Raw]).decode() == d.dst for d in back))
        self.assertLessEqual(self.handed_over("UDP from outside", len(back)), 1)
