#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated machine of bench/threads: the order of the paper's curves comes out."""
import functools
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "threads"))
import simulator  # noqa: E402


@functools.cache
def latency(lock, threads, reactivation):
    return simulator.latency(lock, threads, reactivation)


@functools.cache
def rate(lock, threads, reactivation):
    return simulator.rate(lock, threads, reactivation)


class Order(unittest.TestCase):
    def test_latency_without_reactivation_grows(self):  # figure 2a
        for lock in ("CLH", "P-CLH"):
            times = [latency(lock, n, False)["us"] for n in (1, 4, 9, 18, 36)]
            self.assertEqual(times, sorted(times), lock)
            self.assertGreater(times[-1], 7 * times[0], lock)
        self.assertGreater(latency("CLH", 36, False)["us"], 1.5 * latency("P-CLH", 36, False)["us"])
        self.assertGreater(latency("MTX", 36, False)["us"], latency("CLH", 36, False)["us"])

    def test_polls_per_message(self):  # figure 4
        for lock in ("CLH", "P-CLH"):
            polls = [latency(lock, n, False)["polls"] for n in (4, 9, 18, 36)]
            self.assertEqual(polls, sorted(polls), lock)
            self.assertGreater(polls[-1], 5 * polls[0], lock)
        for lock in simulator.LOCKS:
            polls = [latency(lock, n, True)["polls"] for n in (4, 9, 18, 36)]
            self.assertLess(max(polls), 1.6 * min(polls), f"{lock}: about constant")
            self.assertLessEqual(latency(lock, 36, True)["wake_ups"], 1.1, "one wake-up per message")

    def test_empty_critical_sections_are_the_waste(self):  # figures 3a and 9a
        def empty(reactivation):
            time = latency("P-CLH", 36, reactivation)["time"]
            return time["EMPTY CS"]
        self.assertGreater(empty(False), 5 * empty(True))

    def test_reactivation_helps_latency(self):  # figures 8a and 10a
        for lock in simulator.LOCKS:
            self.assertGreater(latency(lock, 36, False)["us"], 3 * latency(lock, 36, True)["us"], lock)
        # ... and the mutex stays behind what waits in user space.
        self.assertGreater(latency("MTX", 36, True)["us"], 2 * latency("P-CLH", 36, True)["us"])

    def test_reactivation_helps_bandwidth(self):  # figures 2b and 8b
        for lock in ("CLH", "P-CLH"):
            one, many, better = (simulator.bandwidth(lock, n, r)["us"] for n, r in ((1, False), (36, False), (36, True)))
            self.assertGreater(many, 1.3 * one, lock)
            self.assertGreater(many, 1.3 * better, lock)

    def test_reactivation_alone_does_not_help_the_rate(self):  # figure 8c
        for lock in ("CLH", "P-CLH"):
            self.assertAlmostEqual(rate(lock, 36, True)["us"] / rate(lock, 36, False)["us"], 1, delta=0.1)

    def test_locality_helps_the_rate(self):  # figure 14
        self.assertGreater(rate("P-CLH", 36, True)["us"], 2 * rate("HCLHub", 36, True)["us"])

        def lines(lock, n=36, far=("domain", "far")):
            return sum(rate(lock, n, True)["lines"]["ISSUE"][place] for place in far)
        self.assertGreater(lines("P-CLH"), 1.5 * lines("HCLHub"))
        self.assertLess(lines("HCLHub", far=("far",)), 0.1 * lines("P-CLH", far=("far",)))
        # Within a domain lines come from near; beyond nine threads from far (figure 5).
        self.assertEqual(lines("P-CLH", 9, ("far",)), 0)
        self.assertGreater(lines("P-CLH", 18, ("far",)), 1)

    def test_a_signal_by_the_kernel_costs_more(self):  # figure 11
        for core in (1, 9, 35):
            self.assertGreater(simulator.handover("MTX", core), 5 * simulator.handover("CLH", core))
        self.assertGreater(simulator.handover("CLH", 9), simulator.handover("CLH", 8), "another domain")

    def test_sizes(self):  # figure 15
        for size in (64, 8192):
            self.assertGreater(simulator.rate("P-CLH", 16, False, size)["us"], simulator.rate("HCLHub", 16, True, size)["us"])
            self.assertGreater(simulator.latency("P-CLH", 16, False, size)["us"], simulator.latency("HCLHub", 16, True, size)["us"])

    def test_the_same_call_gives_the_same_numbers(self):
        self.assertEqual(simulator.latency("HCLHub", 12, True), simulator.latency("HCLHub", 12, True))


if __name__ == "__main__":
    unittest.main()
