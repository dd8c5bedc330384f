#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench threads --figures`: what it reads of the programs it runs, and what it says of its file."""
import argparse
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import made_up
import jobs
import libraries
import results
import run
import thread_figures
import thread_locks

BFS = "bfs: 2 ranks x 4 threads, blocking: from {}: 900 vertices, 16000 edges in {} s, 1.2e+06 TEPS: {}\n"
HPCCG = "hpccg: 2 ranks x 4 threads, nonblocking: 31 iterations in 0.250 s (0.100 s in exchanges), residual 1.0e-10, " \
        "largest error 1.0e-12: {}\n"
COUNTS = {"switches": 0.1, "threads_ns": 2000, "issue_ns": 100, "poll_ns": 200, "empty_ns": 300, "sync_ns": 900, "call_ns": 1600}


class Readers(unittest.TestCase):
    def test_searches_that_are_right_count(self):
        text = BFS.format(1, "0.0100", "ok") + BFS.format(2, "0.0200", "WRONG") + BFS.format(3, "0.0300", "ok")
        self.assertEqual(thread_figures.searches("bfs", 4)(text), [{"row": "bfs", "bytes": 4, "us": [10000.0, 30000.0]}])
        self.assertEqual(thread_figures.searches("bfs", 4)(BFS.format(1, "0.0100", "WRONG")), [])
        self.assertEqual(thread_figures.searches("bfs", 4)("nothing"), [])

    def test_solution_and_its_exchanges(self):
        rows = thread_figures.solution(4)(HPCCG.format("ok"))
        self.assertEqual([(row["row"], row["bytes"], row["us"]) for row in rows],
                         [("hpccg", 4, [250000.0]), ("exchanges", 4, [100000.0])])
        self.assertEqual(thread_figures.solution(4)(HPCCG.format("WRONG")), [])

    def test_locks_have_configurations(self):
        known = thread_locks.configurations()
        for name in (*thread_figures.PROGRAM_LOCKS, *thread_figures.BREAKDOWN, thread_figures.BASELINE):
            self.assertIn(name, known)


def answer(job, args):
    """What a job of the named programs would have printed: P-CLH takes twice as long as others."""
    factor = 2 if job.series == "pclh" else 1
    if job.read is None:
        return [{"row": row, "ranks": 2, "bytes": int(args.sizes), "us": [3.0], "counts": COUNTS, "errors": 0}
                for row in job.rows.split(",")], None
    if job.series == "mtx":
        return [], "exit 1: no"
    text = BFS.format(1, f"0.0{factor}00", "ok") + HPCCG.format("ok").replace("0.250", f"{0.25 * factor:.3f}")
    return job.read(text), None


def measured(threads):
    """Results of made-up jobs."""
    args = argparse.Namespace(threads=threads, quick=True, hosts=None, rounds=2, sizes=None, about=made_up.about("thread figures"))
    library = libraries.Library("weft-thread", "", lambda ranks, fits: [])
    with mock.patch.object(libraries, "build", lambda libs, source, *more: {libs[0].name: source}), \
            mock.patch.object(jobs, "job_rows", answer), contextlib.redirect_stderr(io.StringIO()):
        return thread_figures.measure_curves(args, [library], {"weft-thread": Path("threads-main")}, Path("work"))


class Report(unittest.TestCase):
    def test_curves_over_threads(self):
        curves = {(figure["number"], curve["label"]): curve["points"]
                  for figure in measured([1, 2]).more["figures"] for curve in figure["curves"]}
        self.assertEqual(curves["16a", "pclh"], [[1, 20000, 20000, 20000], [2, 20000, 20000, 20000]])
        self.assertEqual(curves["16b", "auto"], [[2, 10000, 10000, 10000]])  # pairs of threads
        self.assertNotIn(("17", "mtx"), curves)

    def test_parts_of_the_time(self):
        parts = thread_figures.breakdown(measured([2]).fullest())
        self.assertEqual([(one["row"], one["threads"], one["lock"]) for one in parts],
                         [(row, 2, lock) for row in ("lat", "rate") for lock in thread_figures.BREAKDOWN])
        self.assertEqual(parts[0]["parts"], {"ISSUE": 0.1, "POLL": 0.2, "EMPTY CS": 0.3, "SYNC": 0.9})
        self.assertEqual((parts[0]["together"], parts[0]["calls"], parts[0]["threads_us"]), (1.5, 1.6, 2))

    def test_cells(self):
        self.assertEqual([thread_figures.cell(*each) for each in ((10, 20), (10, None), (None, 20), (0, 20))],
                         ["10 (2.00)", "10 ( -  )", "-", "-"])

    def test_the_file_says_all(self):
        found = measured([1, 2])
        with tempfile.TemporaryDirectory() as folder:
            [path] = results.save(found, Path(folder), "threads-figures")
            args = run.arguments.parse("", run.PROGRAMS, ["--from", str(path), "--peers", folder])
            with contextlib.redirect_stdout(io.StringIO()) as expected:
                thread_figures.print_report(found)
            with contextlib.redirect_stdout(io.StringIO()) as said, mock.patch.object(run, "plot") as plot:
                self.assertEqual(run.show(path, args), 1)  # a job failed
            plot.assert_called_once_with(path, "thread figures", args)
        self.assertIn(expected.getvalue(), said.getvalue())
        for text in ("figure 16b: breadth-first search, blocking", "1e+04 (2.00)", "hclhub-usc", "0.750",
                     "note: failed: mtx, 2 ranks: exit 1: no", "note: bfs: scale 12, 3 searches"):
            self.assertIn(text, said.getvalue())


if __name__ == "__main__":
    unittest.main()
