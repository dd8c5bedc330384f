#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/states.py: batches of near and of far cores are told apart, and compared with their like only."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import run  # noqa: E402
import states  # noqa: E402


def sample(library, number, us, line_ns):
    return {"library": library, "round": number, "row": "lat", "ranks": 2, "bytes": 8, "us": us, "line_ns": line_ns}


class States(unittest.TestCase):
    def test_one_state(self):
        [only] = states.split([sample("mpich", 0, [1, 2], [40, 45, 70])])
        self.assertEqual((only.name, only.title()), ("all", "a cache line's way takes 45 ns"))
        self.assertEqual(only.samples[0]["us"], [1, 2])

    def test_batches_go_where_both_looks_were(self):
        near, far = states.split([sample("mpich", 0, [1, 2, 3, 4], [40, 41, 170, 180, 39]), sample("impi", 0, [5], [171, 172])])
        self.assertEqual([s["us"] for s in near.samples], [[1]])
        self.assertEqual([s["us"] for s in far.samples], [[3], [5]])
        self.assertEqual(near.title(), "near cores: a cache line's way takes 40 ns")

    def test_looks_that_failed_make_no_state(self):
        self.assertEqual([s.name for s in states.split([sample("mpich", 0, [1, 2], [40, 1600, 44])])], ["all"])

    def test_samples_without_looks_are_in_every_state(self):
        startup = {"library": "mpich", "round": 0, "row": "startup", "ranks": 2, "bytes": 0, "us": [9]}
        alone = {**startup, "row": "barrier", "ranks": 1, "line_ns": [0, 0]}
        for state in states.split([startup, alone, sample("mpich", 0, [1, 2], [40, 41, 180])]):
            self.assertIn(startup, state.samples)
            self.assertIn(alone, state.samples)

    def test_the_fullest(self):
        samples = [sample("mpich", n, [1], [40, 41]) for n in range(3)] + [sample(name, 0, [3], [170, 170]) for name in ("mpich", "impi")]
        self.assertEqual(states.fullest(samples, lambda s: s["library"]).name, "far")

    def test_ratios_compare_like_with_like(self):
        """weft, twice as fast in both states, met far cores in most rounds, the peer near ones."""
        samples = []
        for number in range(4):
            weft_far, peer_far = number != 0, number == 3
            samples.append(sample("weft-process", number, [0.4 if weft_far else 0.1], [170 if weft_far else 40] * 2))
            samples.append(sample("mpich", number, [0.8 if peer_far else 0.2], [170 if peer_far else 40] * 2))
        for state in states.split(samples):
            [rounds] = run.summarize(state.samples).values()
            self.assertAlmostEqual(run.ratios(rounds, "weft-process")[1], 2, msg=state.name)


if __name__ == "__main__":
    unittest.main()
