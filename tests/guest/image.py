"""What the guest boots: Debian's kernel, unpacked but not installed, and an initramfs with the router in it.

Everything lies in build/guest/. The initramfs holds busybox, the daemon, its client and the drivers with the libraries that ldd
names, the kernel's modules, and init.sh as its first program.
"""

import glob
import gzip
import os
import re
import shutil
import stat

from harness.procs import run
from harness.router import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "linux-image-cloud-amd64"
MODULES = ("virtio_pci", "virtio_console", "vfio-pci", "vfio_iommu_type1")
DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "net_virtio", "net_vmxnet3")
BUSYBOX = "/bin/busybox"


def kernel(directory):
    """Fetches and unpacks the kernel that the package of today stands for, unless it is there; its root directory."""
    depends = run(["apt-cache", "depends", "--important", PACKAGE]).stdout
    found = re.search(r"Depends: (linux-image-\S+)", depends)
    if not found:
        raise RuntimeError(f"apt knows no {PACKAGE}: apt-get update")
    root = os.path.join(directory, found[1])
    if not os.path.exists(root):
        run(["apt-get", "-q", "download", found[1]], cwd=directory, timeout=600)
        [package] = glob.glob(os.path.join(directory, found[1] + "_*.deb"))
        run(["dpkg", "-x", package, root + ".part"], timeout=300)
        os.unlink(package)
        os.rename(root + ".part", root)
    return root


def vmlinuz(root):
    [path] = glob.glob(os.path.join(root, "boot/vmlinuz-*"))
    return path


def modules(root, names):
    """Paths of modules, those first that others need."""
    paths = {os.path.basename(p)[:-3].replace("-", "_"): p
             for p in glob.glob(os.path.join(root, "lib/modules/*/kernel/**/*.ko"), recursive=True)}
    order = []

    def add(name):
        path = paths[name.replace("-", "_")]
        with open(path, "rb") as file:
            needs = re.search(rb"\0depends=([^\0]*)\0", file.read())[1].decode()
        for other in filter(None, needs.split(",")):
            add(other)
        if path not in order:
            order.append(path)

    for name in names:
        add(name)
    return order


def libraries(path):
    """The files that a program or a library is linked with."""
    return re.findall(r"(/\S+) \(0x", run(["ldd", path]).stdout)


class Initramfs:
    """A cpio archive in the making ("newc", as the kernel wants it)."""

    def __init__(self):
        self.parts = []
        self.names = set()
        self.files = {}  # name by inode

    def _entry(self, name, mode, data=b""):
        if name in self.names:
            return
        parent = os.path.dirname(name)
        if parent and parent not in self.names:
            self.directory(parent)
        self.names.add(name)
        raw = name.encode() + b"\0"
        fields = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + raw
        self.parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]

    def directory(self, name):
        self._entry(name, stat.S_IFDIR | 0o755)

    def link(self, name, to):
        self._entry(name, stat.S_IFLNK | 0o777, to.encode())

    def file(self, name, path):
        """What has several names here has them there too: a library that is two files is loaded twice."""
        status = os.stat(path)
        first = self.files.setdefault((status.st_dev, status.st_ino), name)
        if first != name:
            self.link(name, "/" + first)
            return
        with open(path, "rb") as file:
            self._entry(name, stat.S_IFREG | 0o755, file.read())

    def program(self, name, path):
        """With its libraries, where it looks for them."""
        self.file(name, path)
        for library in libraries(path):
            self.file(library.lstrip("/"), library)

    def write(self, path):
        self._entry("TRAILER!!!", 0)
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.writelines(self.parts)


def initramfs(path, build, root):
    """Writes it, with the programs of this build directory and the modules of this kernel."""
    image = Initramfs()
    for name in ("proc", "sys", "dev", "run", "tmp", "var/run"):
        image.directory(name)
    image.file("init", os.path.join(HERE, "init.sh"))
    image.file("bin/busybox", BUSYBOX)
    for applet in run([BUSYBOX, "--list"]).stdout.split():
        image.link(f"bin/{applet}", "busybox")
    image.program("bin/turnpike", os.path.join(build, "app/turnpike/turnpike"))
    image.program("bin/tpctl", os.path.join(build, "app/tpctl/tpctl"))
    plugins = run(["pkg-config", "--variable=driverdir", "libdpdk"]).stdout.strip() or None
    plugins = plugins or glob.glob("/usr/lib/*/dpdk/pmds-*")[0]
    for driver in DRIVERS:
        image.program(f"{plugins.lstrip('/')}/librte_{driver}.so", f"{plugins}/librte_{driver}.so")
    for number, module in enumerate(modules(root, MODULES)):
        image.file(f"modules/{number:02}-{os.path.basename(module)}", module)
    image.write(path)
