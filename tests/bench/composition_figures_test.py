#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench composition`: what is asked of weft simulate, and what is printed: composition_figures_test.py <build>"""
import argparse
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

import made_up
import composition_figures
import results

BUILD = sys.argv.pop(1)


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = composition_figures.simulate_curves(argparse.Namespace(weft=BUILD), made_up.about("composition"))

    def test_all_are_there_and_simulated(self):
        shown = self.found.more["figures"]
        self.assertEqual([figure["number"] for figure in shown], ["21", "22", "23", "24", "25"])
        for figure in shown:
            self.assertGreaterEqual(len(figure["curves"]), 3, figure["number"])
            for curve in figure["curves"]:
                self.assertEqual(curve["kind"], "simulated")
                self.assertTrue(all(us > 0 for _, us in curve["points"]))

    def test_what_weft_takes_is_a_way(self):
        curves = {curve["label"]: dict(map(tuple, curve["points"])) for curve in self.found.more["figures"][0]["curves"]}
        taken = curves.pop("what weft takes")
        self.assertEqual(list(taken), composition_figures.SIZES)
        self.assertGreater(len(set(map(str, curves.values()))), 3)  # ways differ

    def test_it_is_printed_and_kept(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            composition_figures.print_report(self.found)
        self.assertIn("figure 22: allreduce of 256 ranks, 8 nodes of 4 x 8 cores, simulated", said.getvalue())
        self.assertIn("messages between all ranks / weft with threads", said.getvalue())
        with tempfile.TemporaryDirectory() as folder:
            [path] = results.save(self.found, Path(folder), "composition")
            self.assertEqual(results.load(path).more["figures"], self.found.more["figures"])


if __name__ == "__main__":
    unittest.main()
