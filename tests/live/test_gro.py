"""Real TCP through AF_XDP ports that merge segments: what arrives, and that nothing is sent again for the router."""

import hashlib
import os

from net import FAR, Live, tcp_counter, wait_listening
from harness.procs import run, wait_for


class Gro(Live):
    """GRO on both sides; translated."""

    kind = "xdp"
    extra = ["interface set lan gro on", "interface set wan gro on"]

    def events(self):
        return {row["event"]: row["count"] for row in self.router.json("stats")["events"]}

    def lost(self):
        """What came in and did not go out again, by the counters of the router and of the devices under it."""
        rows = self.router.json("stats")["interfaces"]
        own = self.events().get("arp_out", 0)
        return (sum(row["rx_packets"] - row["tx_packets"] for row in rows) + own,
                sum(row[k] for row in rows for k in ("rx_missed", "rx_no_buffer", "tx_errors")), self.router.drops())

    def paced(self, streams, rate, *args):
        """So slow that no queue runs over. How much was sent again, and the events."""
        receiver = self.net.inside if "-R" in args else self.net.far
        # A kernel on a busy machine sends again what it takes for lost. Here nothing was: it all goes out, and nothing is
        # missing at the receiver when the next segment comes. That may take a second try, since a sender that runs on
        # two CPUs at once does put segments in another order by itself.
        for attempt in (1, 2, 3):
            self.router.reset()
            before = tcp_counter(receiver, "TCPOFOQueue")  # received before one that precedes them
            end = self.iperf("-t", "1", "-P", str(streams), "-b", f"{rate // streams}M", *args)
            self.assertGreater(end["sum_received"]["bytes"], rate * 1_000_000 / 8 * 0.5)
            wait_for(lambda: self.lost() == (0, 0, {}), 3, f"all that came in goes out: {self.lost()}")
            overtaken = tcp_counter(receiver, "TCPOFOQueue") - before
            if overtaken == 0:
                break
        self.assertEqual(overtaken, 0, f"segments still overtake others at attempt {attempt}")
        return end["sum_sent"]["retransmits"], self.events()

    def test_paced(self):
        """iperf3 with 1 and 8 streams, up and down: segments merge, none is lost or overtaken, as with GRO off"""
        for streams in (1, 8):
            for args in ((), ("-R",)):
                with self.subTest(streams=streams, args=args):
                    again, events = self.paced(streams, 40, *args)
                    self.assertGreater(events.get("gro_merged", 0), 20, events)
                    self.assertEqual(events.get("gro_bad_checksum", 0), 0, events)
                    for name in ("lan", "wan"):
                        self.router.ctl(f"interface set {name} gro off")
                    without, events = self.paced(streams, 40, *args)
                    self.assertNotIn("gro_merged", events)
                    for name in ("lan", "wan"):
                        self.router.ctl(f"interface set {name} gro on")
                    print(f"    {streams} streams {' '.join(args)}: {again} sent again, {without} without GRO")

    def test_unpaced(self):
        """iperf3 as fast as it goes: whatever is sent again, the router drops nothing"""
        self.router.reset()
        for args in (("-n", "32M"), ("-n", "32M", "-R", "-P", "8")):
            end = self.iperf(*args)
            self.assertGreater(end["sum_received"]["bits_per_second"], 20e6)
        self.assertEqual(self.router.drops(), {})
        self.assertGreater(self.events()["gro_merged"], 20)

    def test_download(self):
        """curl fetches a file whole"""
        data = os.urandom(8 << 20)
        with open(os.path.join(self.dir, "file"), "wb") as file:
            file.write(data)
        job = self.job(self.net.far, "python3", "-m", "http.server", "8000", "-d", self.dir, name="http")
        try:
            wait_listening(self.net.far, 8000)
            out = os.path.join(self.dir, "got")
            run(["curl", "-sS", "-o", out, f"http://{FAR}:8000/file"], ns=self.net.inside, timeout=60)
            with open(out, "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).digest(), hashlib.sha256(data).digest())
        finally:
            job.stop()
        self.assertEqual(self.router.drops(), {})
