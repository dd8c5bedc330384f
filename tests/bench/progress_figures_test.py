#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench progress`: overlap, and what is printed of made-up samples."""
import contextlib
import io
import unittest

import made_up
import progress_figures
import results

PARTS = {"comm": 100, "cpu": 300, "ovrl": 320, "product": 310}


def found():
    samples = [made_up.sample(library, number, [us * factor], [], f"isend {partner} {part}", 2, 65536)
               for library, factor in (("weft-process", 1), ("mpich", 2)) for number in range(2)
               for partner in progress_figures.PARTNERS for part, us in PARTS.items()]
    return results.collect(made_up.about("progress"), samples, {})


class Overlap(unittest.TestCase):
    def test_as_in_the_paper(self):
        self.assertAlmostEqual(progress_figures.overlap(PARTS), 0.8)
        self.assertEqual(progress_figures.overlap({**PARTS, "ovrl": 300}), 1)
        self.assertEqual(progress_figures.overlap({**PARTS, "ovrl": 420}), 0)

    def test_of_samples(self):
        state = found().fullest()
        self.assertEqual(progress_figures.parts(state, "weft-process", "isend", "waits", 65536), PARTS)
        self.assertEqual(progress_figures.parts(state, "weft-process", "isend", "waits", 4096), {})
        shown = [figure for figure in progress_figures.all_figures(state) if figure.y == "overlap"]
        self.assertEqual([curve["label"] for curve in shown[0].curves], ["weft-process", "mpich"])
        self.assertAlmostEqual(shown[0].curves[0]["points"][0][1], 0.8)

    def test_is_printed_with_ratios(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            progress_figures.print_report(found())
        self.assertIn("320 (20 us, +3 %, 80 %) 2.00", text.getvalue())
        self.assertIn("best peer / weft-process, both compute: mean 2.00, worst 2.00", text.getvalue())


if __name__ == "__main__":
    unittest.main()
