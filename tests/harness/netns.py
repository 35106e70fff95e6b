"""Network namespaces with the prefix tp-PID-, so that nothing shows in the machine's own."""

import atexit
import contextlib
import ctypes
import os

from .procs import run

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000
_made = []


class Netns:
    def __init__(self, label):
        self.name = f"tp-{os.getpid()}-{label}"
        run(["ip", "netns", "add", self.name])
        _made.append(self)
        self.ip("link", "set", "lo", "up")
        # A silent kernel: no neighbour discovery, no router solicitations.
        self.sysctl("net.ipv6.conf.all.disable_ipv6", 1)
        self.sysctl("net.ipv6.conf.default.disable_ipv6", 1)

    def ip(self, *args, check=True):
        return run(["ip", "-n", self.name, *args], check=check)

    def run(self, *argv, **kwargs):
        return run(list(argv), ns=self, **kwargs)

    def sysctl(self, key, value):
        with self.inside(), open("/proc/sys/" + key.replace(".", "/"), "w", encoding="ascii") as file:
            file.write(str(value))

    @contextlib.contextmanager
    def inside(self):
        """This thread works inside; sockets made here stay here."""
        here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            _setns(there)
            try:
                yield self
            finally:
                _setns(here)
        finally:
            os.close(there)
            os.close(here)

    def interfaces(self):
        with self.inside():
            import socket
            return [name for _, name in socket.if_nameindex()]

    def delete(self):
        if self in _made:
            _made.remove(self)
            run(["ip", "netns", "del", self.name], check=False)


def _setns(fd):
    if _libc.setns(fd, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def veth(ns_a, name_a, ns_b, name_b):
    """A pair of virtual Ethernet ports, both up, made without passing the machine's own namespace."""
    ns_a.ip("link", "add", name_a, "type", "veth", "peer", "name", name_b, "netns", ns_b.name)
    ns_a.ip("link", "set", name_a, "up")
    ns_b.ip("link", "set", name_b, "up")


def delete_all():
    for ns in reversed(list(_made)):
        ns.delete()


atexit.register(delete_all)
