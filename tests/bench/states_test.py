#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/states.py: batches of near and of far cores are told apart, and compared with their like only."""
import unittest

from made_up import sample
import states


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


if __name__ == "__main__":
    unittest.main()
