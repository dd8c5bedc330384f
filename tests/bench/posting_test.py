#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench posting`: what it runs, and what it makes of its samples."""
import argparse
import contextlib
import io
import unittest
from pathlib import Path
from unittest import mock

import made_up
import libraries
import posting_jobs
import posting_report
import results

NAMES = ("weft-process", "mpich", "openmpi", "impi")


def plan(**more):
    args = argparse.Namespace(quick=True, rows=None, batches=5, limit_s=1, sizes=None, threads=[1, 2, 4], ranks=[8], hosts=None,
                              launch_agent="", nodes=2, peers="/nowhere", about=made_up.about("posting"))
    vars(args).update(more)
    libs = [libraries.Library(name, "1", lambda ranks, fits: ["run", "-n", ranks]) for name in NAMES]
    with mock.patch.object(libraries, "build", lambda libs, source, work, options: {lib.name: Path(source.parent.name) for lib in libs}):
        return posting_jobs.plan(args, libs, Path("."), Path("bench"))


def samples():
    """us of 16,000 puts: weft is a third faster with each doubling of its threads, MPICH is not."""
    times = {"weft-process": {1: (600, 240), 2: (400, 60), 4: (300, 24)}, "mpich": {1: (900, 450), 2: (900, 450), 4: (900, 450)}}
    for name, by_threads in times.items():
        for threads, (total, posting) in by_threads.items():
            for number in range(3):
                counts = {"rma_messages": 16000, "chunks_offered": 8, "chunks_given": 4} if name.startswith("weft") else {"late": 3}
                for what, us in (("total", total), ("posting", posting)):
                    yield {**made_up.sample(name, number, [us], [], f"idle {threads}t {what}", 8, 16000), "counts": counts}


class Plan(unittest.TestCase):
    def test_all_libraries_post_both_ways(self):
        found = {(job.series, job.options[1], job.options[3]) for job in plan()}
        one_thread = {(way, n) for way in ("idle", "sends") for n in ("1", "2", "4")}
        for name in ("weft-process", "mpich", "impi"):
            self.assertEqual({key[1:] for key in found if key[0] == name}, one_thread | {("threads", "2"), ("threads", "4")})
        self.assertEqual({key[1:] for key in found if key[0] == "weft-process alone"}, one_thread)

    def test_weft_alone_offers_no_job(self):
        env = {job.series: job.library.env for job in plan(rows="idle", threads=[2])}
        self.assertIn("WEFT_PARALLEL_MIN_BYTES", env["weft-process alone"])
        self.assertNotIn("WEFT_PARALLEL_MIN_BYTES", env["weft-process"])

    def test_two_nodes(self):
        job = plan(rows="idle", threads=[2])[0]
        self.assertIn("--pretend-nodes", job.library.command(8, "x"))
        self.assertIn("--bind-to", job.library.command(8, "x"))
        self.assertEqual((job.library.env["OMP_NUM_THREADS"], job.library.env["OMP_WAIT_POLICY"]), (2, "passive"))

    def test_the_report_says_what_libraries_were_told(self):
        args = argparse.Namespace(ranks=[8], hosts=None, nodes=2, peers="/nowhere")
        weft = libraries.Library("weft-process", "1", lambda ranks, fits: ["run", "-n", ranks])
        self.assertEqual(posting_jobs.settings([weft], args), {"weft-process": ["-n 8 --pretend-nodes 2 --bind-to none PROGRAM"]})

    def test_windows_in_shared_memory_are_no_peer(self):
        self.assertNotIn("openmpi", {job.series for job in plan()})
        self.assertIn("openmpi", {job.series for job in plan(hosts="a,b")})


class Report(unittest.TestCase):
    def found(self):
        return results.from_text(results.to_text(results.collect(made_up.about("posting"), list(samples()), {})))

    def test_table_of_the_paper(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            posting_report.print_report(self.found())
        said = text.getvalue()
        self.assertIn("16000 puts (or sends) of 64 B from 1 of 8 ranks to 4:", said)
        self.assertRegex(said, r"(?m)^weft-process +idle +1 +600 +240 +40% +1\.00 +1\.00 +1\.50  16000 messages, 4 of 8 chunks given$")
        self.assertRegex(said, r"(?m)^weft-process +idle +4 +300 +24 +8% +2\.00 +10\.00 +3\.00  ")
        self.assertRegex(said, r"(?m)^mpich +idle +4 +900 +450 +50% +1\.00 +1\.00 +-  3 lines late$")

    def test_figures_have_a_curve_for_each_number_of_threads(self):
        found = {(figure["number"], figure["title"][:5]): figure for figure in posting_report.figures(self.found())}
        labels = [curve["label"] for curve in found["11a", "total"]["curves"]]
        self.assertEqual(labels, [f"{name}, {n}" for name in ("mpich", "weft-process") for n in (1, 2, 4)])
        self.assertEqual({figure["x"] for figure in found.values()}, {"puts"})

    def test_a_job_that_failed_is_named(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            posting_report.print_report(results.collect(made_up.about("posting"), list(samples()), {"impi, 8 ranks": ["exit 1"]}))
        self.assertIn("note: failed: impi, 8 ranks: exit 1", text.getvalue())


if __name__ == "__main__":
    unittest.main()
