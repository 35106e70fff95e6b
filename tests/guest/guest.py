"""A virtual machine by QEMU, without KVM, and the router in it."""

import base64
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import time

from harness.procs import Process, wait_for
from harness.router import Router


class Guest:
    """Boots; then sh() runs commands in it. The devices' network ends are TAP interfaces in the namespace ns."""

    def __init__(self, ns, vmlinuz, initrd, devices, directory):
        self.console = os.path.join(directory, "console.log")
        wire, monitor = (os.path.join(directory, name) for name in ("wire", "monitor"))
        argv = ["nice", "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "3", "-m", "2048",
                # DMA only where the guest's IOMMU lets it, as on a machine where vfio-pci is used
                "-machine", "q35", "-device", "intel-iommu,intremap=on,caching-mode=on,aw-bits=48",
                "-kernel", vmlinuz, "-initrd", initrd,
                "-append", "console=ttyS0 panic=-1 quiet intel_iommu=on iommu=pt hugepages=448 mitigations=off no_timer_check",
                "-serial", f"file:{self.console}",
                "-chardev", f"socket,id=wire,path={wire},server=on,wait=off",
                "-device", "virtio-serial-pci,romfile=", "-device", "virtserialport,chardev=wire",
                "-chardev", f"socket,id=monitor,path={monitor},server=on,wait=off",
                "-mon", "chardev=monitor,mode=control"]
        self.process = Process(argv + devices, os.path.join(directory, "qemu.log"), ns=ns)
        self.wire, self.monitor = self.connect(wire), self.connect(monitor)
        self.monitor_file = self.monitor.makefile("r")
        json.loads(self.monitor_file.readline())
        self.qmp("qmp_capabilities")
        self.pending = b""

    def connect(self, path):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(60)

        def reached():
            assert self.process.running(), f"QEMU ended:\n{self.process.output()}"
            return os.path.exists(path) and sock.connect_ex(path) == 0

        wait_for(reached, 10, f"{path}: QEMU listens")
        return sock

    def booted(self):
        self._answer(180)

    def _answer(self, timeout):
        self.wire.settimeout(1)
        end = time.monotonic() + timeout
        while not (found := re.search(rb"(?:^|\n)=== (\d+)\n", self.pending)):
            assert self.process.running(), f"QEMU ended:\n{self.process.output()}\n{self.tail()}"
            assert time.monotonic() < end, f"the guest is silent for {timeout} s:\n{self.tail()}"
            try:
                self.pending += self.wire.recv(65536)
            except TimeoutError:
                pass
        text = self.pending[:found.start()].decode(errors="replace")
        self.pending = self.pending[found.end():]
        return int(found[1]), text

    def sh(self, command, timeout=60):
        """Exit status and output of a shell command in the guest."""
        self.wire.sendall(base64.b64encode(command.encode()) + b"\n")
        return self._answer(timeout)

    def must(self, command, timeout=60):
        status, text = self.sh(command, timeout)
        assert status == 0, f"{command}: status {status}: {text}"
        return text

    def write(self, path, text):
        """A file in the guest."""
        self.must(f"echo {base64.b64encode(text.encode()).decode()} | base64 -d >{path}")

    def qmp(self, command, **arguments):
        """A command to QEMU itself; its answer."""
        self.monitor.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while "event" in (answer := json.loads(self.monitor_file.readline())):
            pass
        assert "return" in answer, answer
        return answer["return"]

    def tail(self):
        with open(self.console, encoding="utf-8", errors="replace") as file:
            return "\n".join(file.read().splitlines()[-40:])

    def stop(self):
        self.process.stop()


class GuestProcess:
    """A program in the background of the guest, as Process is one here."""

    def __init__(self, guest, name, command):
        self.guest, self.path = guest, f"/tmp/{name}"
        guest.must(f"rm -f {self.path}.status {self.path}.pid")
        guest.must(f"(sh -c 'echo $$ >{self.path}.pid; exec {command}' >{self.path}.log 2>&1; "
                   f"echo $? >{self.path}.status) >/dev/null 2>&1 &")
        self.status = None

    def running(self):
        if self.status is None:
            done, text = self.guest.sh(f"cat {self.path}.status")
            self.status = int(text) if done == 0 and text.strip() else None
        return self.status is None

    def signal(self, number):
        self.guest.sh(f"kill -{int(number)} $(cat {self.path}.pid)")

    def wait(self, timeout):
        wait_for(lambda: not self.running(), timeout, f"the end of {self.path}", every=0.1)
        return 128 - self.status if self.status > 128 else self.status

    def stop(self, timeout=10):
        self.signal(signal.SIGKILL)
        return self.wait(timeout)

    def output(self):
        return self.guest.sh(f"cat {self.path}.log")[1]

    def tail(self, lines=30):
        return "\n".join(self.output().splitlines()[-lines:])


class GuestRouter(Router):
    """The daemon in the guest, asked by the client there."""

    def __init__(self, guest, lines):
        self.guest = guest
        self.lines = list(lines)
        self.workers = 2
        self.dir = tempfile.mkdtemp(prefix=f"tp-{os.getpid()}-")
        self.socket, self.config = "/tmp/turnpike.sock", "/tmp/turnpike.conf"
        self.process = None

    def start(self, timeout=60):
        self.guest.must(f"mkdir -p {self.dir}")  # where tests have it write files
        self.guest.write(self.config, "\n".join(self.lines) + "\n")
        self.process = GuestProcess(self.guest, "turnpike", f"turnpike -c {self.config} -s {self.socket}")
        end = time.monotonic() + timeout
        while self.ctl_raw("version").returncode != 0:
            assert self.alive(), f"the daemon ended at start:\n{self.process.tail()}"
            assert time.monotonic() < end, f"the daemon is not ready after {timeout} s:\n{self.process.tail()}"
            time.sleep(0.1)
        return self

    def ctl_raw(self, *args, input=None, timeout=60):
        words = f"TURNPIKE_SOCKET={self.socket} tpctl {shlex.join(args)}"
        if input is not None:
            self.guest.write("/tmp/input", input)
            words += " </tmp/input"
        status, text = self.guest.sh(words, timeout)
        return subprocess.CompletedProcess(args, status, text, "")
