"""The last word on checksums: Wireshark's, over all frames that left in the tests before."""

import unittest

import bench


class Tshark(unittest.TestCase):
    def test_all_frames(self):
        """Wireshark finds no bad checksum in any frame that left"""
        if len(bench.left_good) == 0:
            raise AssertionError("no frame was collected: run the other packet tests with this one")
        bad = bench.tshark_bad(bench.left_good)
        self.assertEqual(bad, [], "\n".join(bad[:20]))
