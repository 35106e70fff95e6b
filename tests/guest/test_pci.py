"""Cards on PCI: they open, forward, tell their link, take an MTU and VLANs, end and come again."""

import os
import re
import signal

from bench import BASE, INSIDE_MAC, LAN_MAC, PORTS, WAN_MAC, Bench, datagram, inside, outside
from harness.frames import Port, collect, ip_datagram
from harness.procs import wait_for
from lab import PLAIN_MAC, QUEUES, devargs, on_cards

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

FAR, POOLED = "198.51.100.7", "203.0.113.10"
HOSTS = [f"10.0.0.{i}" for i in range(100, 160)]
NEIGHBOURS = [f"neighbour add {host} lladdr {INSIDE_MAC} interface lan" for host in HOSTS]


def transports(number):
    """The transport part of one host's packet by protocol, and of its answer."""
    port = 3000 + number
    return [(UDP(sport=port, dport=53), UDP(sport=53, dport=port)),
            (TCP(sport=port, dport=80, flags="S", seq=1), TCP(sport=80, dport=port, flags="SA", seq=1, ack=2)),
            (ICMP(type=8, id=port), ICMP(type=0, id=port))]


class Cards(Bench):
    """What the classes here share."""

    def interface(self, name):
        return next(i for i in self.router.items("interface show") if i["name"] == name)

    def event(self, name):
        return {e["event"]: e["count"] for e in self.router.json("stats show")["events"]}.get(name, 0)

    def crowd(self, frames):
        """Sends all of them, waits for as many; the datagrams that left, in no order, their sums verified."""
        for frame in frames:
            self.by_mac[frame[:6]].send(frame)
        left = []
        while len(left) < len(frames) and (got := collect(self.ports, 1, 10)):
            left += [(port, frame) for port, frame in got if ip_datagram(frame) is not None]  # and not ARP
        self.assertEqual(len(left), len(frames))
        self.check_origin(left)
        self.check_sums(left)
        return [datagram(frame) for _, frame in left]

    def out_and_back(self):
        """UDP, TCP and echo of every host, and their answers; how many packets that was."""
        sent = 0
        for kind in range(3):
            pairs = {host: transports(i)[kind] for i, host in enumerate(HOSTS)}
            out = self.crowd([inside(IP(src=host, dst=FAR) / go / Raw(host.encode()), dst=self.lan_mac)
                              for host, (go, _) in pairs.items()])
            self.assertEqual({d.src for d in out}, {POOLED})
            self.assertEqual({bytes(d[Raw]).decode() for d in out}, set(HOSTS))
            back = self.crowd([outside(IP(src=FAR, dst=POOLED) / come / Raw(host.encode()))
                               for host, (_, come) in pairs.items()])
            for d in back:
                self.assertEqual(bytes(d[Raw]).decode(), d.dst)
            self.assertEqual({d.dst for d in back}, set(HOSTS))
            sent += len(out) + len(back)
        return sent


class Pci(Cards):
    lines = BASE + NEIGHBOURS

    def works(self):
        self.assertEqual(datagram(self.one(inside(IP(src=HOSTS[0], dst=FAR) / UDP(sport=4000, dport=53)))).src, POOLED)
        self.assertEqual(datagram(self.one(outside(IP(src=FAR, dst=POOLED) / UDP(sport=53, dport=4000)))).dst, HOSTS[0])

    def test_ports(self):
        """a card opens with its own address, link, speed and queues"""
        for name, mac in (("lan", LAN_MAC), ("wan", WAN_MAC)):
            got = self.interface(name)
            self.assertEqual({key: got[key] for key in ("driver", "mac", "link", "speed_mbps", "rxqs", "mtu")},
                             {"driver": "net_virtio", "mac": mac, "link": "up", "speed_mbps": 25000, "rxqs": QUEUES, "mtu": 1500})

    def test_both_ways(self):
        """many hosts' UDP, TCP and echo, out and back; every packet counted, each worker has some of them"""
        sent = self.out_and_back()
        rows = {row["interface"]: row for row in self.router.json("stats show")["interfaces"]}
        for name in ("lan", "wan"):
            self.assertEqual((rows[name]["rx_packets"], rows[name]["tx_packets"]), (sent // 2, sent // 2), rows)
        self.assertEqual(self.router.drops(), {})
        self.assertTrue(all(w["packets"] > 0 for w in self.router.items("worker show")))
        print(f"    rss flow: {sent} packets, {self.event('handovers')} handed over")
        self.assertGreater(self.event("handovers"), 0)

    def test_link(self):
        """a cable that is pulled shows, and traffic is back with it"""
        self.guest.qmp("set_link", name="tp1", up=False)
        try:
            wait_for(lambda: self.interface("wan")["link"] == "down", 10, "link down", every=0.2)
        finally:
            self.guest.qmp("set_link", name="tp1", up=True)
        wait_for(lambda: self.interface("wan")["link"] == "up", 10, "link up", every=0.2)
        self.works()

    def test_mtu(self):
        """a smaller MTU while packets flow, and the device's own again"""
        self.router.ctl("interface set wan mtu 1400")
        big = inside(IP(src=HOSTS[1], dst=FAR, flags="DF") / UDP(sport=4001, dport=53) / Raw(bytes(1472)))
        told = datagram(self.one(big))
        self.assertEqual((told[ICMP].type, told[ICMP].code, told[ICMP].nexthopmtu), (3, 4, 1400))
        self.router.ctl("interface set wan mtu 1500")
        self.assertEqual(len(datagram(self.one(big))), 1500)

    def test_refused(self):
        """more queues than a card has, RSS of one without, a card that is in use, one that is not there"""
        self.assertIn(f"{QUEUES} receive queues", self.router.refused("interface add x devargs 0000:00:0a.0 rxqs 8"))
        for way in ("source", "destination-port"):
            self.assertIn("no RSS over IPv4", self.router.refused(f"interface add x {devargs('tp2')} rss {way}"))
        self.router.refused("interface add x devargs 0000:00:08.0")
        self.router.refused("interface add x devargs 0000:00:0f.0")
        self.works()

    def test_taken_out_and_put_in(self):
        """a card is given back and opened again while the daemon runs, with the VLAN on it"""
        for _ in range(2):
            self.router.ctl(f"interface add dmz {devargs('tp2')}")
            self.router.ctl("interface add dmz7 vlan 7 parent dmz")
            self.router.ctl("address add 192.0.2.1/24 interface dmz7")
            port = Port(self.ns, "tp2")
            try:
                for question in (Dot1Q(vlan=7), Dot1Q(vlan=7, prio=3)):
                    port.send(bytes(Ether(src=INSIDE_MAC, dst=PLAIN_MAC) / question / IP(src="192.0.2.9", dst="192.0.2.1") / ICMP()))
                    got = [Ether(frame) for _, frame in collect([port], 1, 5)]
                    self.assertEqual([(f[Dot1Q].vlan, f.payload.payload.name) for f in got], [(7, "ARP")], got)
                    self.router.ctl("neighbour flush interface dmz7")
            finally:
                port.close()
            self.router.ctl("interface del dmz7")
            self.router.ctl("interface del dmz")
        self.works()


class Plain(Cards):
    """A card that spreads by itself, without RSS."""

    taps, lan_mac = ("tp2", "tp1"), PLAIN_MAC
    lines = [f"interface add lan {devargs('tp2')}"] + BASE[1:] + NEIGHBOURS

    def test_two_queues(self):
        """opens with two queues all the same, which no RSS is asked of"""
        self.assertEqual(self.interface("lan")["rxqs"], QUEUES)
        self.out_and_back()


class OneQueue(Cards):
    """Cards of several queues, of which the router takes one, as by default."""

    lines = [re.sub(r" rxqs \d+", "", on_cards(line)) for line in PORTS] + BASE[len(PORTS):] + NEIGHBOURS

    def test_one_queue(self):
        """all that comes in comes by the one queue"""
        self.assertEqual(self.interface("lan")["rxqs"], 1)
        self.out_and_back()


class Jumbo(Cards):
    """Frames that take several packet buffers."""

    lines = [line + " mtu 9000" for line in PORTS] + BASE[len(PORTS):]
    mtu = 9000

    def test_large(self):
        """datagrams of up to 9000 bytes, whole both ways"""
        for size in (1472, 1473, 2100, 4000, 8972):
            payload = os.urandom(size)
            got = datagram(self.one(inside(IP(src="10.0.0.2", dst=FAR, flags="DF") / UDP(sport=4000, dport=53) / Raw(payload))))
            self.assertEqual((got.src, bytes(got[UDP].payload)), (POOLED, payload))
            got = datagram(self.one(outside(IP(src=FAR, dst=POOLED, flags="DF") / UDP(sport=53, dport=4000) / Raw(payload))))
            self.assertEqual((got.dst, bytes(got[UDP].payload)), ("10.0.0.2", payload))


class Ends(Cards):
    lines = BASE + NEIGHBOURS

    def test_again(self):
        """after SIGTERM and after SIGKILL the cards and all huge pages are there for the next daemon"""
        free = "grep HugePages_Free /proc/meminfo"
        for number, status in ((signal.SIGTERM, 0), (signal.SIGKILL, -9), (signal.SIGTERM, 0)):
            self.out_and_back()
            self.router.process.signal(number)
            self.assertEqual(self.router.process.wait(20), status)
            self.assertIn(" 448\n", wait_for(lambda: self.guest.must(free), 5))
            self.router.start()
        self.out_and_back()
