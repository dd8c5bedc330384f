#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every plot is drawn: plots_test.py <weft>. Exits 77 ("skipped", for ctest) where matplotlib is not."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import made_up
import arguments
import beside_report
import posting_report
import results

WEFT = sys.argv.pop(1)


def python_with_matplotlib():
    """What run.py and weft explain take: the one that bench/peers installed, or this one."""
    installed = Path(arguments.peers_folder()) / "plot/bin/python"
    python = installed if installed.exists() else "python3"
    there = subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0
    return python if there else None


PYTHON = python_with_matplotlib()


class Plots(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def draw(self, script, found):
        [path] = results.save(found, Path(self.folder.name), "made-up")
        picture = path.with_suffix(".png")
        done = subprocess.run([PYTHON, made_up.BENCH / script, path, picture], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")

    def test_messages(self):
        factors = {"weft-process": 1, "weft-thread": 0.5, "mpich": 2}
        self.draw("plot.py", results.collect(made_up.about(), made_up.samples(factors, sizes=(8, 64, 1024)) +
                                             made_up.samples(factors, sizes=(0,), row="startup"), {}))

    def test_locks(self):
        samples = made_up.samples({"auto": 1, "mtx": 2, "mtx-usc": 1.5}, sizes=(64,), row="lat_1t") + \
            made_up.samples({"auto": 1, "mtx": 3, "mtx-usc": 1.6}, sizes=(64,), row="lat_2t")
        for sample in samples:
            sample["counts"] = {"polls": 2, "switches": 0.1}
        self.draw("plot_threads.py", results.collect(made_up.about("locks"), samples, {}))

    def test_figures(self):
        curves = [{"kind": "measured", "label": "tree", "points": [[8, 1, 2, 3], [64, 2, 3, 4]]},
                  {"kind": "modelled", "label": "tree", "points": [[8, 1], [64, 2]]}]
        ways = [{"kind": "counted", "label": "2 x 6", "points": [["tree", 1], ["tiles", 6]]}]
        shapes = [{"kind": "measured", "label": "mpich", "points": [["cube", 1, 2, 3], ["large_x", 2, 3, 4]]}]
        figures = [{"number": "14", "title": "t", "x": x, "curves": own, "notes": []}
                   for x, own in (("bytes", curves), ("ranks", curves), ("threads", curves), ("way", ways), ("shape", shapes))]
        figures.append({**figures[0], "y": "copies"})
        self.draw("plot_figures.py", results.collect(made_up.about("figures"), made_up.samples({"weft tree": 1}), {},
                                                     {"figures": figures, "rounds": 3, "paper": "p"}))

    def test_posting(self):
        samples = [made_up.sample("weft-process", number, [puts], [], f"{way} {n}t {what}", 8, puts) for number in range(3)
                   for puts in (1000, 4000) for way, n in (("idle", 1), ("threads", 2)) for what in ("total", "posting")]
        found = results.collect(made_up.about("posting"), samples, {})
        found.more = {"figures": posting_report.figures(found), "rounds": 3, "paper": posting_report.PAPER}
        self.draw("plot_figures.py", found)

    def test_beside(self):
        samples = [made_up.sample(name, number, [us], [], f"round_trip {n}{what}", ranks, 8) for name in ("weft-process", "mpich")
                   for number in range(3) for ranks in (2, 8) for n in (0, 1, 2) for what, us in (("", 9 + n), (" got", 40)) if n or not what]
        found = results.collect(made_up.about("beside"), samples, {})
        found.more = {"figures": beside_report.figures(found), "rounds": 3}
        self.draw("plot_figures.py", found)

    def test_no_figure_has_a_curve(self):
        found = results.collect(made_up.about("figures"), made_up.samples({"pclh": 1}), {},
                                {"figures": [{"number": "17", "title": "t", "x": "threads", "curves": [], "notes": []}]})
        [path] = results.save(found, Path(self.folder.name), "made-up")
        done = subprocess.run([PYTHON, made_up.BENCH / "plot_figures.py", path, path.with_suffix(".png")],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "no figure has a curve\n"))

    def explain(self, call, picture):
        return subprocess.run([WEFT, "explain", call, "-n", "8", "--topology", "pack:2 core:4 pu:1", "--plot", picture],
                              capture_output=True, text=True)

    def test_explain(self):
        for call, end, start in (("bcast", "png", b"\x89PNG"), ("allreduce", "svg", b"<?xml"), ("barrier", "png", b"\x89PNG")):
            picture = Path(self.folder.name) / f"{call}.{end}"
            done = self.explain(call, picture)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(picture.read_bytes()[:len(start)], start)

    def test_explain_says_why_there_is_no_picture(self):
        done = self.explain("bcast", f"{self.folder.name}/no/such/folder.png")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^no plot: .*folder.*\n$")


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: matplotlib is not installed (`make peers` or apt-get install python3-matplotlib)")
        sys.exit(77)
    unittest.main()
