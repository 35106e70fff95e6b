"""The packet bench with PCI network cards: the router runs in a virtual machine, and the test on the other side of its cards.

        this machine, namespace tp-PID-wires       QEMU without KVM: 3 CPUs, an IOMMU, Debian's kernel
                                               |
        frames -- tp0 (TAP, 2 queues) ======== | == virtio-net-pci 0000:00:08.0 -- lan \\
                                               |       (vfio-pci, 2 queues, RSS)        [ turnpike, 2 workers ]
        frames -- tp1 (TAP, 2 queues) ======== | == virtio-net-pci 0000:00:09.0 -- wan /
                                               |
        frames -- tp2 (TAP, 2 queues) ======== | == virtio-net-pci 0000:00:0a.0, without RSS: test_pci.Plain
                                               |
        Guest.sh() --------------------------- | == virtio-serial: init.sh runs commands, tpctl among them

QEMU hashes by itself (Toeplitz, with the key and the table that the driver gives it), in code that has nothing in common with
ours or DPDK's. The guest boots once and serves all classes; each has a daemon of its own. DPDK's driver is bound as on a
machine, by vfio-pci behind an IOMMU, so that a wrong DMA address is a fault instead of luck.
"""

import os
import re
import shutil
import tempfile

import bench
import image
from guest import Guest, GuestRouter
from harness.netns import Netns
from harness.procs import run
from harness.router import ROOT

QUEUES = 2
PLAIN_MAC = "02:00:00:00:00:03"
CARDS = {"tp0": ("08", bench.LAN_MAC, "on"), "tp1": ("09", bench.WAN_MAC, "on"), "tp2": ("0a", PLAIN_MAC, "off")}
SIZES = ["nat set max-sessions 65536", "worker set packet-buffers 16384"]  # what the guest has memory for

_lab = None


def card(tap, slot, mac, rss):
    """QEMU's options for one card. VIRTIO_NET_F_RSS is of virtio 1: not for its older manner (disable-legacy).

    Large queues, because of a fault of QEMU 7.2: when RSS leads to a queue that has no buffer left, the TAP queue where the frame
    came in waits to be woken by its own receive queue, not by that one, and stands still until then (set_link off and on wakes
    it, too). A card without RSS goes on.
    """
    return ["-netdev", f"tap,id={tap},ifname={tap},script=no,downscript=no,vhost=off,queues={QUEUES}",
            "-device", f"virtio-net-pci,id={tap}-card,netdev={tap},addr={slot},mac={mac},mq=on,vectors={2 * QUEUES + 2},rss={rss},"
                       "rx_queue_size=1024,disable-legacy=on,iommu_platform=on,speed=25000,duplex=full,romfile="]


class Lab:
    def __init__(self):
        directory = tempfile.mkdtemp(prefix=f"tp-{os.getpid()}-")
        try:
            cache = os.path.join(ROOT, "build/guest")
            os.makedirs(cache, exist_ok=True)
            root = image.kernel(cache)
            initrd = os.path.join(directory, "initramfs.gz")
            image.initramfs(initrd, os.path.join(ROOT, os.environ.get("TP_BUILD", "build")), root)
            self.ns = Netns("wires")
            devices = [word for tap, options in CARDS.items() for word in card(tap, *options)]
            self.guest = Guest(self.ns, image.vmlinuz(root), initrd, devices, directory)
            self.guest.booted()
            print(f"    {run(['qemu-system-x86_64', '--version']).stdout.splitlines()[0]}; "
                  f"{self.guest.must('uname -sr').strip()}", flush=True)
        finally:
            shutil.rmtree(directory)  # whatever is in use stays open
        self.restore()

    def restore(self):
        for tap in CARDS:
            self.ns.ip("link", "set", tap, "up", "mtu", "1500")


def lab():
    """The one that all classes share."""
    global _lab
    if _lab is None:
        _lab = Lab()
    return _lab


def devargs(tap):
    """What opens the card at this TAP interface."""
    return f"devargs 0000:00:{CARDS[tap][0]}.0 rxqs {QUEUES}"


def on_cards(line):
    """A line of a bench's configuration, with cards instead of TAP devices."""
    return re.sub(r"devargs net_tap\d,iface=(tp\d),mac=\S+", lambda found: devargs(found[1]), line)


def make(cls):
    """What Bench.make() does, here."""
    cls.guest, cls.ns = lab().guest, lab().ns
    lab().restore()
    cls.router = GuestRouter(cls.guest, SIZES + [on_cards(line) for line in cls.lines])


bench.Bench.make = classmethod(make)
