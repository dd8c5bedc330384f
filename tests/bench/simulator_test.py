#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft's locks and waiting on a declared machine: the order that the paper argues for comes out.

simulator_test.py DIR: where weft is built. The machine is smaller than the paper's, to be quick: 24 cores in
four memory domains for each rank.
"""
import functools
import itertools
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "threads"))
import modelled  # noqa: E402

MACHINE = "pack:4 numa:2 l3:1 core:6 pu:1"
simulator = None


@functools.cache
def run(program, curve, threads, **options):
    return simulator.run(program, MACHINE, modelled.curves()[curve], threads=threads, **options)


@functools.cache
def latency(curve, threads):
    return run("latency", curve, threads, rounds=192)  # of 96 the first, when all queue up, are a part


@functools.cache
def rate(curve, threads):
    return run("rate", curve, threads, window=32)


def most_times_passed(order):
    """How often a thread got the lock between two turns of another one, at most."""
    since, most = {}, 0  # {thread: {another: its turns since}}, from a thread's first turn on
    for holder in order:
        most = max([most, *since.get(holder, {}).values()])
        since[holder] = {}
        for waiting, turns in since.items():
            if waiting != holder:
                turns[holder] = turns.get(holder, 0) + 1
    return most


class Order(unittest.TestCase):
    def test_locks_of_one_queue_serve_in_order_of_arrival(self):
        for curve, lock in (("CLH", "clh"), ("P-CLH", "pclh"), ("CLH", "ticket")):
            result = simulator.run("sections", MACHINE, {"WEFT_SYNC_LOCK": lock}, threads=12, rounds=30)
            # Once in its turn, and once more if a thread is on its way between two calls.
            self.assertLessEqual(most_times_passed(result["order"]), 2, lock)

    def test_the_bias_keeps_the_lock_and_has_a_bound(self):
        def longest_run(bound):
            settings = {"WEFT_SYNC_LOCK": "clhub", "WEFT_SYNC_BIAS": bound}
            order = simulator.run("sections", MACHINE, settings, threads=12, rounds=30)["order"]
            runs = [len(list(turns)) for _, turns in itertools.groupby(order)]
            return max(runs[1:])  # the first begins before there is a candidate
        self.assertEqual(longest_run(0), 30, "all that a thread wants")
        for bound in (1, 3, 10):
            self.assertEqual(longest_run(bound), bound + 1, "its own turn, and so often past the candidate")

    def test_latency_without_reactivation_grows(self):  # figure 2a
        times = [latency("CLH", n)["us"] for n in (1, 6, 12, 24)]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[-1], 4 * times[0])
        self.assertGreater(times[-1], 1.5 * latency("P-CLH", 24)["us"])

    def test_looks_per_message(self):  # figure 4
        def looks(curve, n):
            return latency(curve, n)["rank 1"]["counters"]["polls"]
        self.assertGreater(looks("CLH", 24), 2 * looks("CLH", 6))
        for curve in ("CLH-USC", "P-CLH-USC", "HCLHub-USC"):
            self.assertLess(looks(curve, 24), 1.5 * looks(curve, 6), curve)

    def test_reactivation_helps_latency(self):  # figure 8a
        self.assertGreater(latency("CLH", 24)["us"], 3 * latency("CLH-USC", 24)["us"])
        self.assertGreater(latency("P-CLH", 12)["us"], 1.3 * latency("P-CLH-USC", 12)["us"])
        self.assertGreater(latency("P-CLH", 24)["us"], 1.02 * latency("P-CLH-USC", 24)["us"])
        counters = latency("HCLHub-USC", 24)["rank 1"]["counters"]
        woken = counters.get("signals", 0) + counters.get("servers", 0)
        self.assertLessEqual(woken, 1.1, "one wake-up per message")

    def test_reactivation_alone_does_not_help_the_rate(self):  # figure 8c
        self.assertAlmostEqual(rate("P-CLH-USC", 24)["us"] / rate("P-CLH", 24)["us"], 1, delta=0.2)

    def test_locality_helps_the_rate(self):  # figure 14
        self.assertGreater(rate("P-CLH-USC", 24)["us"], 2 * rate("HCLHub-USC", 24)["us"])

        def lines(curve, *levels):
            moved = modelled.moved(rate(curve, 24), "rate", "issue")
            return sum(count for level, count in moved.items() if not levels or level in levels)
        self.assertGreater(lines("P-CLH-USC"), 3 * lines("HCLHub-USC"))
        far = ("Package", "Machine")
        self.assertGreater(lines("P-CLH-USC", *far), 5 * lines("HCLHub-USC", *far))

    def test_a_signal_by_the_kernel_costs_more(self):  # figure 11
        def hop(program, lock, core):
            return simulator.run(program, MACHINE, {"WEFT_SYNC_LOCK": lock}, threads=core)["us"]
        for core in (6, 23):
            self.assertGreater(hop("handover-in-kernel", "mtx", core), 1.2 * hop("handover", "clh", core))
        self.assertGreater(hop("handover", "clh", 6), 2 * hop("handover", "clh", 5), "another domain")

    def test_the_parts_are_the_time(self):  # figures 3, 9, 14b
        for program, curve in (("latency", "P-CLH-USC"), ("latency", "CLH"), ("rate", "HCLHub-USC")):
            variables = {**modelled.curves()[curve], "WEFT_STATS": 1}
            result = simulator.run(program, MACHINE, variables, threads=12)
            parts = sum(modelled.parts(result, program).values()) * 1000
            self.assertAlmostEqual(parts / result[modelled.observer(program)]["in_calls_ns"], 1, delta=0.06, msg=curve)

    def test_sizes(self):  # figure 15
        for size in (64, 8192):
            slow, fast = (run("rate", curve, 16, window=16, bytes=size)["us"] for curve in ("P-CLH", "HCLHub-USC"))
            self.assertGreater(slow, fast)

    def test_the_same_run_gives_the_same_numbers(self):
        again = simulator.run("latency", MACHINE, modelled.curves()["HCLHub-USC"], threads=12, rounds=192)
        self.assertEqual(latency("HCLHub-USC", 12), again)


if __name__ == "__main__":
    simulator = modelled.find_simulator(sys.argv.pop(1))
    unittest.main()
