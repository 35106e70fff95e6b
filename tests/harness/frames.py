"""Frames on the wire: raw ports, checksum verification by scapy, the ways to compare.

Nothing here uses the router's own arithmetic: every sum is verified with scapy's.
"""

import logging
import select
import socket
import struct
import time

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.layers.inet import IP, in4_chksum  # noqa: E402
from scapy.utils import PcapReader, PcapWriter, checksum  # noqa: E402

ETH_P_ALL = 3
ETH_P_IP, ETH_P_ARP = 0x0800, 0x0806
VLAN_TYPES = (0x8100, 0x88A8)
SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING = 263, 8, 4
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 0x10, 0x40


class Port:
    """The kernel's end of a TAP or veth port: what is sent enters the router, what it sends is read."""

    def __init__(self, ns, name):
        self.name = name
        with ns.inside():
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.sock.bind((name, ETH_P_ALL))
        self.sock.setblocking(False)

    def fileno(self):
        return self.sock.fileno()

    def send(self, frame):
        self.sock.send(bytes(frame))

    def recv(self):
        """The next frame that the router sent, or None."""
        while True:
            try:
                data, anc, _, addr = self.sock.recvmsg(70000, 64)
            except BlockingIOError:
                return None
            if addr[2] != PACKET_OUTGOING:
                return _with_tag(data, anc)

    def drain(self):
        frames = []
        while (frame := self.recv()) is not None:
            frames.append(frame)
        return frames

    def close(self):
        self.sock.close()


def _with_tag(data, anc):
    """The kernel takes a VLAN tag out of the frame and hands it over beside it; put it back."""
    for level, kind, aux in anc:
        if level == SOL_PACKET and kind == PACKET_AUXDATA and len(aux) >= 20:
            status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", aux[:20])
            if status & TP_STATUS_VLAN_VALID:
                if not status & TP_STATUS_VLAN_TPID_VALID:
                    tpid = VLAN_TYPES[0]
                return data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
    return data


def collect(ports, count, timeout):
    """Waits until the ports gave count frames together: [(port, frame)], fewer after timeout."""
    got = []
    end = time.monotonic() + timeout
    while len(got) < count:
        left = end - time.monotonic()
        if left <= 0:
            break
        for port in select.select(ports, [], [], left)[0]:
            if (frame := port.recv()) is not None:
                got.append((port, frame))
    return got


# ---- fields --------------------------------------------------------------------------------------

def ethertype(frame):
    """(EtherType behind all tags, offset of what follows)."""
    offset = 12
    kind = struct.unpack_from("!H", frame, offset)[0]
    while kind in VLAN_TYPES:
        offset += 4
        kind = struct.unpack_from("!H", frame, offset)[0]
    return kind, offset + 2


def ip_offset(frame):
    """Offset of the IPv4 header, or None."""
    kind, offset = ethertype(frame)
    return offset if kind == ETH_P_IP else None


def ip_datagram(frame):
    """The IPv4 datagram without what a sender padded behind it, or None."""
    offset = ip_offset(frame)
    if offset is None:
        return None
    return frame[offset:offset + struct.unpack_from("!H", frame, offset + 2)[0]]


def significant(frame):
    """The bytes that count: up to the IPv4 total length, or the end of the ARP packet."""
    kind, offset = ethertype(frame)
    if kind == ETH_P_IP:
        return frame[:offset + struct.unpack_from("!H", frame, offset + 2)[0]]
    if kind == ETH_P_ARP:
        return frame[:offset + 28]
    return frame


def addresses(datagram):
    return socket.inet_ntoa(datagram[12:16]), socket.inet_ntoa(datagram[16:20])


# ---- checksums, by scapy -------------------------------------------------------------------------

def bad_checksums(datagram, quote=False):
    """What is wrong with an IPv4 datagram's sums: a list of words, empty when all verify."""
    bad = []
    if len(datagram) < 20 or datagram[0] >> 4 != 4:
        return ["no IPv4 header"]
    header = (datagram[0] & 15) * 4
    if header < 20 or header > len(datagram):
        return ["IPv4 header length"]
    if checksum(datagram[:header]) != 0:
        bad.append("IPv4 header checksum")
    if quote:
        return bad
    if len(datagram) != struct.unpack_from("!H", datagram, 2)[0]:
        bad.append("IPv4 total length")
    if struct.unpack_from("!H", datagram, 6)[0] & 0x3FFF:
        return bad  # a fragment: its transport checksum covers the whole
    proto, l4 = datagram[9], datagram[header:]
    src, dst = addresses(datagram)
    if proto == 17:
        if len(l4) < 8:
            return bad + ["UDP header"]
        length = struct.unpack_from("!H", l4, 4)[0]
        if length < 8 or length > len(l4):
            return bad + ["UDP length"]
        if struct.unpack_from("!H", l4, 6)[0] != 0 and \
                in4_chksum(17, IP(src=src, dst=dst), l4[:length]) not in (0, 0xFFFF):
            bad.append("UDP checksum")
    elif proto == 6:
        if len(l4) < 20:
            return bad + ["TCP header"]
        if in4_chksum(6, IP(src=src, dst=dst), l4) != 0:
            bad.append("TCP checksum")
    elif proto == 1:
        if len(l4) < 8:
            return bad + ["ICMP header"]
        if checksum(l4) != 0:
            bad.append("ICMP checksum")
        if l4[0] in (3, 4, 5, 11, 12):
            bad += ["quoted " + word for word in bad_checksums(l4[8:], quote=True)]
    return bad


def frame_bad_checksums(frame):
    datagram = ip_datagram(frame)
    return [] if datagram is None else bad_checksums(datagram)


# The same judged by Wireshark: options that make tshark verify, and the filter for what it finds wrong (0 is its "Bad").
# Transport checksums quoted in ICMP errors are left out: tshark sums what was quoted, which is less than the datagram.
TSHARK = ["tshark", "-n", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
TSHARK_BAD = ("ip.checksum.status == 0 || icmp.checksum.status == 0"
              " || (!icmp && (tcp.checksum.status == 0 || udp.checksum.status == 0))")


# ---- files ---------------------------------------------------------------------------------------

def read_pcap(path):
    with PcapReader(path) as reader:
        return [bytes(packet) for packet in reader]


def write_pcap(path, frames):
    with PcapWriter(path, linktype=1) as writer:
        for frame in frames:
            writer.write(frame)


# ---- comparing -----------------------------------------------------------------------------------

def mask(frame, id=False, ttl=False):
    """Blanks IPv4 fields that may differ, and the header checksum that follows from them."""
    data = bytearray(significant(frame))
    offset = ip_offset(frame)
    if offset is not None and (id or ttl):
        if id:
            data[offset + 4:offset + 6] = b"\0\0"
        if ttl:
            data[offset + 8] = 0
        data[offset + 10:offset + 12] = b"\0\0"
    return bytes(data)


def describe(frame):
    """One line for people."""
    datagram = ip_datagram(frame)
    head = f"{frame[6:12].hex(':')} > {frame[:6].hex(':')}"
    if datagram is None or len(datagram) < 20:
        return f"{head} type 0x{ethertype(frame)[0]:04x} {frame[14:42].hex()}"
    src, dst = addresses(datagram)
    header = (datagram[0] & 15) * 4
    ports = datagram[header:header + 8].hex()
    bad = bad_checksums(datagram)
    return (f"{head} {src} > {dst} proto {datagram[9]} ttl {datagram[8]} len {len(datagram)} l4 {ports}"
            + (f" BAD {', '.join(bad)}" if bad else ""))


def listing(frames):
    return "\n".join(f"  {i}: {describe(f)}" for i, f in enumerate(frames)) or "  (none)"


def difference(want, got):
    if len(want) != len(got):
        return f"{len(got)} bytes where {len(want)} were due"
    where = [i for i, (a, b) in enumerate(zip(want, got)) if a != b]
    return "bytes " + ", ".join(f"{i}: {got[i]:02x} (due {want[i]:02x})" for i in where[:12])


def compare_exact(want, got, may_miss=(), **masks):
    """Same frames in the same order; frames at the indices may_miss may be missing. Returns how many were."""
    missed = 0
    index = 0
    for i, frame in enumerate(want):
        if index < len(got) and mask(got[index], **masks) == mask(frame, **masks):
            index += 1
            continue
        if i in may_miss:
            missed += 1
            continue
        if index >= len(got):
            raise AssertionError(f"frame {i} did not leave: {describe(frame)}\nleft:\n{listing(got)}")
        raise AssertionError(
            f"frame {i} differs: {difference(mask(frame, **masks), mask(got[index], **masks))}\n"
            f"  due: {describe(frame)}\n  got: {describe(got[index])}\nall that left:\n{listing(got)}")
    if index != len(got):
        raise AssertionError(f"{len(got) - index} frames too many:\n{listing(got[index:])}")
    return missed


def compare_subset(want, got):
    """All of want appear in got, in order."""
    index = 0
    for i, frame in enumerate(want):
        while index < len(got) and mask(got[index]) != mask(frame):
            index += 1
        if index == len(got):
            raise AssertionError(f"frame {i} did not leave: {describe(frame)}\nleft:\n{listing(got)}")
        index += 1


def compare_icmp_error(want, got, sources=None):
    """Same ICMP error apart from what a router may choose."""
    if got[:12] != want[:12]:
        raise AssertionError(f"Ethernet addresses differ: {difference(want[:12], got[:12])}")
    due, left = ip_datagram(want), ip_datagram(got)
    if left is None:
        raise AssertionError(f"not IPv4: {got.hex()}")
    src, dst = addresses(left)
    due_src, due_dst = addresses(due)
    if src not in (sources or (due_src,)) or dst != due_dst or left[9] != 1:
        raise AssertionError(f"{describe(got)}\nwhere due: {describe(want)}")
    if left[20:22] != due[20:22]:
        raise AssertionError(f"ICMP type and code {left[20:22].hex()}, due {due[20:22].hex()}")
    if left[20:22] == b"\x03\x04" and left[26:28] != due[26:28]:
        raise AssertionError(f"MTU {left[26:28].hex()}, due {due[26:28].hex()}")
    if len(left) > 576:
        raise AssertionError(f"{len(left)} bytes: an ICMP error is no longer than 576")
    quote, due_quote = bytearray(left[28:56]), bytearray(due[28:56])
    if len(quote) < 28 or quote[8] not in (due_quote[8], max(0, due_quote[8] - 1), due_quote[8] + 1):
        raise AssertionError(f"quoted TTL or length: {quote.hex()}")
    for part in (quote, due_quote):
        part[8] = part[10] = part[11] = 0
    if quote != due_quote:
        raise AssertionError(f"quote: {difference(due_quote, quote)}")
    if bad := bad_checksums(left):
        raise AssertionError(f"{', '.join(bad)}: {describe(got)}")


def reassemble(frames, mtu):
    """The datagram that fragments make up; AssertionError when they don't, or one is above the MTU."""
    parts = {}
    last = None
    first = None
    for frame in frames:
        datagram = ip_datagram(frame)
        if len(datagram) > mtu:
            raise AssertionError(f"a fragment of {len(datagram)} bytes, MTU {mtu}")
        if bad := bad_checksums(datagram):
            raise AssertionError(f"{', '.join(bad)}: {describe(frame)}")
        header = (datagram[0] & 15) * 4
        flags = struct.unpack_from("!H", datagram, 6)[0]
        offset, data = (flags & 0x1FFF) * 8, datagram[header:]
        if offset in parts:
            raise AssertionError("two fragments with the same offset")
        parts[offset] = data
        if flags & 0x2000:
            if len(data) % 8:
                raise AssertionError("a fragment that is not the last has no multiple of 8 bytes")
        else:
            last = offset + len(data)
        if offset == 0:
            first = datagram[:header]
    if first is None or last is None:
        raise AssertionError(f"fragments missing:\n{listing(frames)}")
    payload = b""
    for offset in sorted(parts):
        if offset != len(payload):
            raise AssertionError("fragments leave a hole or overlap")
        payload += parts[offset]
    if len(payload) != last:
        raise AssertionError("fragments beyond the last one")
    header = bytearray(first)
    struct.pack_into("!H", header, 2, len(header) + len(payload))
    header[6:8] = b"\0\0"
    header[10:12] = b"\0\0"
    struct.pack_into("!H", header, 10, checksum(bytes(header)))
    return bytes(header) + payload
