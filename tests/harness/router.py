"""The router under test: the real daemon in a namespace, and its command line."""

import json
import os
import socket
import shutil
import signal
import tempfile
import time

from .procs import Process, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SANITIZER_WORDS = ("AddressSanitizer", "LeakSanitizer", "runtime error:", "UndefinedBehaviorSanitizer")

SANITIZER_ENV = {
    "ASAN_OPTIONS": "abort_on_error=0:exitcode=99:detect_leaks=1:detect_stack_use_after_return=0",
    "LSAN_OPTIONS": f"print_suppressions=0:suppressions={ROOT}/tests/harness/lsan.supp",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=99",
}


def eal_for_workers(workers):
    """EAL options for so many workers on whatever CPUs there are; 0: none, the daemon chooses."""
    if workers == 0:
        return []
    cpus = sorted(os.sched_getaffinity(0))
    lcores = ",".join(f"{i}@{cpus[i % len(cpus)]}" for i in range(workers + 1))
    return ["--lcores", lcores, "--no-pci", "--no-huge", "-m", "3072", "--no-shconf", "--no-telemetry",
            "--log-level=4"]


class Router:
    """Starts with a configuration (lines of the grammar), ends with stop()."""

    def __init__(self, ns, lines=(), build="build", options=(), eal=()):
        self.ns = ns
        self.build = build if os.path.isabs(build) else os.path.join(ROOT, build)
        self.dir = tempfile.mkdtemp(prefix=f"tp-{os.getpid()}-")
        self.socket = os.path.join(self.dir, "turnpike.sock")
        self.config = os.path.join(self.dir, "turnpike.conf")
        self.log = os.path.join(self.dir, "turnpike.log")
        self.options = list(options)
        self.workers = int(os.environ.get("TP_WORKERS", "0"))  # 0: as many as the daemon chooses
        self.eal = list(eal) or eal_for_workers(self.workers)
        self.process = None
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    @property
    def daemon(self):
        return os.path.join(self.build, "app/turnpike/turnpike")

    @property
    def client(self):
        return os.path.join(self.build, "app/tpctl/tpctl")

    def start(self, timeout=60):
        """Returns when the daemon says by sd_notify that it is ready."""
        path = os.path.join(self.dir, "notify.sock")
        if os.path.exists(path):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(path)
            notify.settimeout(0.1)
            argv = [self.daemon, "-c", self.config, "-s", self.socket, *self.options]
            if self.eal:
                argv += ["--", *self.eal]
            self.process = Process(argv, self.log, ns=self.ns,
                                   env={**SANITIZER_ENV, "NOTIFY_SOCKET": path})
            end = time.monotonic() + timeout
            while time.monotonic() < end:
                try:
                    if "READY=1" in notify.recv(4096).decode().splitlines():
                        return self
                except TimeoutError:
                    pass
                if not self.process.running():
                    process, self.process = self.process, None
                    raise AssertionError(f"the daemon ended at start with status "
                                         f"{process.wait(1)}:\n{process.tail()}")
        raise AssertionError(f"the daemon is not ready after {timeout} s:\n{self.process.tail()}")

    def ctl_raw(self, *args, input=None, timeout=30):
        return run([self.client, *args], check=False, timeout=timeout, input=input,
                   env={**SANITIZER_ENV, "TURNPIKE_SOCKET": self.socket})

    def ctl(self, *args, **kwargs):
        """A command that must be accepted; its output. Words are split at blanks."""
        words = [w for arg in args for w in arg.split()]
        done = self.ctl_raw(*words, **kwargs)
        if done.returncode != 0:
            raise AssertionError(f"tpctl {' '.join(words)}: status {done.returncode}: "
                                 f"{done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *args, **kwargs):
        return json.loads(self.ctl("-j", *args, **kwargs))

    def items(self, *args, **kwargs):
        """The rows of a listing."""
        got = self.json(*args, **kwargs)
        return got if isinstance(got, list) else next(v for v in got.values() if isinstance(v, list))

    def refused(self, *args, status=1):
        """A command that must be refused with this exit status; what was said."""
        words = [w for arg in args for w in arg.split()]
        done = self.ctl_raw(*words)
        if done.returncode != status:
            raise AssertionError(f"tpctl {' '.join(words)}: status {done.returncode} where {status} "
                                 f"was due: {done.stdout}{done.stderr}")
        return done.stderr + done.stdout

    def sessions(self, *filters):
        return self.items("nat session show", *filters)

    def drops(self):
        """The drop counters that are not zero, by name, over all interfaces."""
        total = {}
        for drop in self.json("stats show drops")["drops"]:
            if drop["packets"]:
                total[drop["reason"]] = total.get(drop["reason"], 0) + drop["packets"]
        return total

    def reset(self):
        self.ctl("nat session clear all")
        self.ctl("stats reset")

    def alive(self):
        return self.process is not None and self.process.running()

    def report(self):
        """What a sanitizer said, or None."""
        text = self.process.output()
        if any(word in text for word in SANITIZER_WORDS):
            return text[-6000:]
        return None

    def stop(self, number=signal.SIGTERM, timeout=20):
        """Ends the daemon, asserts that it went well, and removes its directory."""
        try:
            if self.process is None:
                return
            died = not self.process.running()
            self.process.signal(number)
            status = self.process.wait(timeout)
            report = self.report()
            assert report is None, f"sanitizer report:\n{report}"
            assert not died, f"the daemon had died with status {status}:\n{self.process.tail()}"
            want = -signal.SIGKILL if number == signal.SIGKILL else 0
            assert status == want, f"the daemon ended with status {status}:\n{self.process.tail()}"
        finally:
            if self.process is not None and self.process.running():
                self.process.stop(5)
            shutil.rmtree(self.dir, ignore_errors=True)
