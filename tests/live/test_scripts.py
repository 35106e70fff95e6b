"""The shell scripts of this folder that are tests of their own: each must end with status 0."""

import glob
import os
import subprocess
import unittest

from harness.procs import run
from harness.router import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))


def _test(path):
    def body(self):
        try:
            done = run(["bash", path], timeout=100, check=False, cwd=ROOT,
                       env={"TP_BUILD": os.environ.get("TP_BUILD", "build")})
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"not done after {late.timeout} s\n{late.output}") from None
        self.assertEqual(done.returncode, 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    body.__doc__ = _purpose(path)
    return body


def _purpose(path):
    """The script's first comment line after the interpreter's."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") and not line.startswith("#!") and "SPDX" not in line:
                text = line.lstrip("# ").strip()
                if text:
                    return text
    return ""


class Scripts(unittest.TestCase):
    pass


for _path in sorted(glob.glob(os.path.join(HERE, "*.sh"))):
    _name = os.path.splitext(os.path.basename(_path))[0]
    setattr(Scripts, f"test_{_name}", _test(_path))
