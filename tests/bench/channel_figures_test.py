#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench channels --figures`: what programs print is read, and what is printed of made-up samples."""
import contextlib
import io
import unittest

import made_up
import channel_figures
import figures
import results

US = {"shared memory": 800, "weft-process in-place": 1000, "weft-process no-kt": 1200, "mpich messages": 1500,
      "openmpi messages": 3000}


def found():
    samples = [made_up.sample(series, number, [us / workers], [], "farm", workers + 2, workers)
               for series, us in US.items() for number in range(2) for workers in (1, 2)]
    state = results.collect(made_up.about("channel figures"), samples, {})
    state.more = {"figures": [vars(figure) for figure in channel_figures.all_figures(state.fullest())]}
    return state


class ChannelFigures(unittest.TestCase):
    def test_a_line_of_a_farm_is_read(self):
        read = channel_figures.reader(channel_figures.FARM_LINE, "farm", 2)
        line = "farm: mpi, 2 workers, 30 images of 300 x 300: 1.250 ms each, 0 missing, {} wrong\n"
        self.assertEqual(read(line.format(0)), [{"row": "farm", "bytes": 2, "us": [1250.0]}])
        self.assertRaises(ValueError, read, line.format(1))

    def test_the_model_is_the_slower_of_copy_and_work(self):
        copy, points = channel_figures.modelled(channel_figures.curves(found().fullest(), "farm"), most=8)
        self.assertAlmostEqual(copy, 200)
        self.assertEqual([round(us) for _, us in points], [1000, 500, 250, 200])

    def test_is_printed_with_ratios(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            channel_figures.print_report(found())
        self.assertIn("1000 (0.80, 1.50)", text.getvalue())
        self.assertIn("shared memory / this 0.67, best peer / this 1.25", text.getvalue())

    def test_every_figure_has_measured_or_modelled(self):
        self.assertEqual({curve["kind"] for figure in found().more["figures"] for curve in figure["curves"]},
                         {"measured", "modelled"})
        self.assertTrue((figures.HERE / "channels/farm.c").exists())


if __name__ == "__main__":
    unittest.main()
