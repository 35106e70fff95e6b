"""Processes that a test starts. Each is ended by its own pid, also when the test dies."""

import atexit
import contextlib
import ctypes
import os
import signal
import subprocess
import time

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_alive = []


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A program in the background, its output in a file."""

    def __init__(self, argv, log, ns=None, env=None, stdin=subprocess.DEVNULL, cwd=None):
        self.argv = [str(a) for a in argv]
        self.log = log
        full = self.argv if ns is None else ["ip", "netns", "exec", ns.name] + self.argv
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(
                full, stdin=stdin, stdout=out, stderr=subprocess.STDOUT, cwd=cwd,
                env=None if env is None else {**os.environ, **env},
                preexec_fn=_die_with_parent)
        _alive.append(self)

    @property
    def pid(self):
        return self.popen.pid

    def running(self):
        return self.popen.poll() is None

    def wait(self, timeout):
        """Exit status; negative: ended by that signal. TimeoutError when it goes on."""
        try:
            status = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self.argv[0]} still runs after {timeout} s\n{self.tail()}") from None
        if self in _alive:
            _alive.remove(self)
        return status

    def signal(self, number):
        if self.running():
            self.popen.send_signal(number)

    def stop(self, timeout=10):
        """SIGTERM, and SIGKILL for one that does not listen. The exit status."""
        self.signal(signal.SIGTERM)
        try:
            return self.wait(timeout)
        except TimeoutError:
            self.signal(signal.SIGKILL)
            return self.wait(timeout)

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def tail(self, lines=30):
        return "\n".join(self.output().splitlines()[-lines:])


def stop_all():
    for process in reversed(list(_alive)):
        with contextlib.suppress(Exception):
            process.stop(5)


atexit.register(stop_all)


def run(argv, ns=None, timeout=60, check=True, env=None, input=None, text=True, cwd=None):
    """Runs to the end and returns the finished process, with its output as text (or bytes)."""
    argv = [str(a) for a in argv]
    full = argv if ns is None else ["ip", "netns", "exec", ns.name] + argv
    done = subprocess.run(
        full, capture_output=True, timeout=timeout, cwd=cwd, preexec_fn=_die_with_parent, **({"text": True, "errors": "replace"} if text else {}),
        env=None if env is None else {**os.environ, **env},
        **({"stdin": subprocess.DEVNULL} if input is None else {"input": input}))
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def wait_for(condition, timeout=10, what="condition", every=0.02):
    """Polls until condition() is true and returns its value; an AssertionError after timeout seconds."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not so after {timeout} s")
        time.sleep(every)
