"""Runs unittest cases and prints one line for each: 'ok NAME', 'FAIL NAME' or 'skip NAME: why'.

scripts/check.sh numbers and counts those lines; everything else printed is detail.
"""

import argparse
import os
import signal
import sys
import time
import traceback
import unittest

TEST_LIMIT_S = 120


class Overtime(BaseException):
    pass


def _alarm(signum, frame):
    raise Overtime(f"over its limit of {TEST_LIMIT_S} s")


def _terminated(signum, frame):
    sys.exit(128 + signum)


class Result(unittest.TestResult):
    def __init__(self, prefix):
        super().__init__()
        self.prefix = prefix
        self.began = 0

    def name(self, test):
        if isinstance(test, unittest.suite._ErrorHolder):
            return f"{self.prefix}/{test.description}"
        test = getattr(test, "test_case", test)  # a subtest: its test
        text = test.shortDescription()
        words = test._testMethodName.removeprefix("test_")
        if label := getattr(test, "label", None):
            words = f"{label}/{words}"
        return f"{self.prefix}/{words}" + (f" {text}" if text else "")

    def say(self, word, test, tail=""):
        print(f"{word} {self.name(test)}{tail}", flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        signal.alarm(getattr(test, "limit_s", TEST_LIMIT_S))

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say("ok", test, f" ({time.monotonic() - self.began:.1f} s)")

    def _broken(self, test, err):
        signal.alarm(0)
        self.say("FAIL", test)
        text = "".join(traceback.format_exception(*err))
        print("\n".join("    " + line[:400] for line in text.splitlines()[-60:]), flush=True)
        tail = getattr(test, "log_tail", None)
        if tail is not None:
            try:
                lines = tail().splitlines()
            except Exception as problem:  # the log is only a help
                lines = [f"(no log: {problem})"]
            if lines:
                print("    the router's log ends with:")
                print("\n".join("    | " + line[:400] for line in lines[-20:]), flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._broken(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._broken(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._broken(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say("skip", test, f": {reason}")


def main(prefix, modules, add_arguments=None, use_arguments=None):
    """Command line of a suite: [-k WORD] [--build DIR] [--list]. Exit status 1 when a test failed."""
    parser = argparse.ArgumentParser(description=f"The {prefix} tests.")
    parser.add_argument("-k", action="append", default=[], metavar="WORD",
                        help="only tests with WORD in their name (may be given again)")
    parser.add_argument("--build", default="build", help="build directory (build)")
    parser.add_argument("--workers", type=int, default=0, metavar="N",
                        help="so many workers in each daemon, sharing the machine's CPUs (the daemon's own choice)")
    parser.add_argument("--prefix", default=prefix, help="what the test names begin with")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    if add_arguments:
        add_arguments(parser)
    args = parser.parse_args()
    os.environ["TP_BUILD"] = args.build
    os.environ["TP_WORKERS"] = str(args.workers)
    if use_arguments:
        use_arguments(args)
    signal.signal(signal.SIGALRM, _alarm)
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGHUP, _terminated)

    loader = unittest.TestLoader()
    suite = unittest.TestSuite()
    for module in modules:
        own = (test for test in _flat(loader.loadTestsFromModule(module)) if type(test).__module__ == module.__name__)
        suite.addTests(_chosen(unittest.TestSuite(own), args.k))
    if args.list:
        for test in _flat(suite):
            print(test.id())
        return 0
    result = Result(args.prefix)
    suite.run(result)
    if result.testsRun == 0:
        print(f"FAIL {args.prefix}: no test ran")
        return 1
    return 0 if result.wasSuccessful() else 1


def _flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


def _chosen(suite, words):
    return unittest.TestSuite(
        test for test in _flat(suite) if not words or any(word in test.id() for word in words))
