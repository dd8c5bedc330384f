#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench idle`: what it reads of the programs it runs, and what it makes of its samples."""
import argparse
import contextlib
import dataclasses
import io
import json
import unittest
from pathlib import Path
from unittest import mock

import made_up
import idle_figures
import idle_jobs
import jobs
import libraries
import results

SOLUTION = "multigrid: 64^3 points, 2 ranks x 1 threads: 4 cycles in 0.250 s (0.100 s in exchanges), residual 1.000e+00 to " \
           "1.000e-04, at most 0.200 a cycle, checksum cb09635993523c2e: {}\n"


def line(row, ranks, size, errors=0, **more):
    return json.dumps({"row": row, "ranks": ranks, "threads": 2, "bytes": size, "errors": errors, "us": [4.0, 6.0], **more}) + "\n"


class Readers(unittest.TestCase):
    def test_packing_has_the_extent_in_place_of_bytes(self):
        counts = {"chunks_offered": 8, "chunks_given": 3}
        [row] = idle_jobs.packed_rows("4 MiB")(line("xz single", 1, 4 << 20, extent=512, counts=counts))
        self.assertEqual(row, {"row": "xz single 4 MiB", "bytes": 512, "us": [4.0, 6.0], "counts": {**counts, "threads": 2}})

    def test_wrong_data_is_no_sample(self):
        for read in (idle_jobs.packed_rows("4 MiB"), idle_jobs.message_rows(1)):
            with self.assertRaisesRegex(ValueError, "wrong data in .*cube all"):
                read(line("lat", 2, 8, extent=1) + line("cube all", 2, 8, errors=3, extent=1))

    def test_messages_say_how_many_threads(self):
        [row] = idle_jobs.message_rows(2)(line("lat", 2, 64, line_ns=[30, 31, 32]))
        self.assertEqual((row["row"], row["bytes"], row["line_ns"], row["counts"]), ("lat 2t", 64, [30, 31, 32], {}))

    def test_solution_and_its_exchanges(self):
        rows = idle_jobs.solution(1)(SOLUTION.format("ok"))
        self.assertEqual([(row["row"], row["us"]) for row in rows], [("multigrid 1t", [250000.0]), ("exchanges 1t", [100000.0])])
        for text in (SOLUTION.format("WRONG"), ""):
            with self.assertRaisesRegex(ValueError, "no solution"):
                idle_jobs.solution(1)(text)

    def test_a_reader_that_finds_a_mistake_fails_its_job(self):
        library = libraries.Library("mpich", "", lambda ranks, fits: [])
        job = jobs.Job("mpich", library, 2, Path("echo"), "", [line("lat", 2, 8, errors=1)], idle_jobs.message_rows(1))
        self.assertEqual(jobs.job_rows(job, argparse.Namespace(timeout_s=10)), ([], "wrong data in ['lat']"))


FACTORS = {"weft-process": 1, "weft-thread": 0.5, "mpich": 2, "impi": 3}


def answer(job, args):
    """What a job would have printed: each library by its factor; weft that offers no job takes twice as long."""
    name = job.program.name
    factor = FACTORS[job.library.name] * (2 if job.series.endswith(idle_jobs.ALONE) else 1)
    counts = {"chunks_offered": 10, "chunks_given": 2} if job.library.name.startswith("weft") else {}
    if name == "multigrid":
        return job.read(SOLUTION.format("ok").replace("0.100", f"{0.1 * factor:.3f}")), None
    if name == "main":
        words = job.options
        places = [f"{plane} {where}" for plane in words[words.index("-p") + 1].split(",")
                  for where in words[words.index("-w") + 1].split(",")]
        rows = [{"row": place, "extent": int(n), "ranks": job.ranks} for place in places
                for n in words[words.index("-x") + 1].split(",")]
    elif name == "halo":
        rows = [{"row": f"{shape} {faces}", "bytes": 64} for shape in idle_jobs.SHAPES for faces in ("yz", "all")]
        counts = {**counts, "bytes_copied": 256, "messages_sent": 4, "copies": 8}
    else:
        rows = [{"row": row, "bytes": n} for row in ("lat", "bw", "rate") for n in (8, 64)]
        counts = {**counts, "bytes_copied": 16, "copies": 2}
    common = {"ranks": 2, "bytes": 64, "threads": 2, "errors": 0, "us": [10.0 * factor], "counts": counts}
    return job.read("\n".join(json.dumps({**common, **row}) for row in rows)), None


def measured(names=FACTORS, fails=(), rows=None):
    args = argparse.Namespace(quick=True, rows=rows, hosts=None, rounds=2, batches=5, batch_ms=1, about=made_up.about("idle"))
    libs = [libraries.Library(name, "", lambda ranks, fits: []) for name in names]

    def run(job, args):
        return ([], "exit 1: no") if job.series in fails else answer(job, args)

    def build(libs, source, work, options):
        return {lib.name: Path(source.stem) for lib in libs}

    with mock.patch.object(jobs, "job_rows", run), mock.patch.object(libraries, "build", build), \
            contextlib.redirect_stderr(io.StringIO()):
        found = idle_figures.measure_curves(args, libs, Path("."))
    return results.from_text(results.to_text(found))


def printed(found):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        idle_figures.print_report(found)
    return said.getvalue()


class Figures(unittest.TestCase):
    def figure(self, found, *words):
        return next(f for f in found.more["figures"] if all(word in f["title"] for word in words))

    def test_every_experiment_has_its_figures(self):
        found = measured()
        self.assertEqual(sorted({f["number"] for f in found.more["figures"]}), ["10", "7", "7a", "7b", "8", "9", "beside 7"])
        self.assertEqual({curve["kind"] for f in found.more["figures"] for curve in f["curves"]}, {"measured", "counted"})
        for words in (("six faces", "1 thread"), ("six faces", "2 threads"), ("Y-Z faces only",), ("multigrid",), ("latency",)):
            labels = [curve["label"] for curve in self.figure(found, *words)["curves"]]
            self.assertEqual(labels, ["weft-process", "weft-thread alone", "weft-thread", "impi", "mpich"])

    def test_ratios_are_to_the_best_peer(self):
        text = printed(measured())
        part = text[text.index("figure 8: halo exchange, six faces"):]
        self.assertRegex(part, r"(?m)^peer/weft-process +(2\.00 +){4}mean 2\.00$")
        self.assertRegex(part, r"(?m)^peer/weft-thread alone +(2\.00 +){4}mean 2\.00$")
        self.assertRegex(part, r"(?m)^peer/weft-thread +(4\.00 +){4}mean 4\.00$")

    def test_packing_is_compared_with_weft_alone(self):
        part = printed(measured()).split("figure 7b")[0]
        self.assertRegex(part, r"(?m)^weft alone +20 \(1\.00\)")
        self.assertRegex(part, r"(?m)^weft, idle threads, single +10 \(2\.00\)")
        self.assertRegex(part, r"(?m)^mpich +20 \(1\.00\)")

    def test_counts(self):
        found = measured()
        share = next(s for s in idle_figures.shares(found.fullest()) if s["row"] == "xz single 4 MiB")
        self.assertEqual((share["chunks"], share["given"], share["imbalance"]), (10, 0.2, 1.6))  # 8 and 2 of 10: 8 / 5
        copies = self.figure(found, "copies of each byte")
        self.assertEqual(copies["curves"][0]["points"], [[8, 2.0], [64, 0.25]])
        self.assertRegex(printed(found), r"(?m)^cube all 1t +64 weft-process +2 +4 +8 ")  # 256 bytes for 2 ranks of 64

    def test_without_peers_and_with_a_failure(self):
        text = printed(measured(["weft-process", "weft-thread"], fails=["weft-thread"]))
        self.assertIn("note: failed: weft-thread, 2 ranks: exit 1: no", text)
        self.assertNotIn("peer/weft", text)

    def test_rows_are_parts(self):
        numbers = {part: {f["number"] for f in measured(rows=part).more["figures"]} for part in idle_jobs.PARTS}
        self.assertEqual(numbers, {"packing": {"7a", "7b", "beside 7", "7"}, "halo": {"8"}, "multigrid": {"9"}, "messages": {"10"}})

    def test_a_file_without_the_examples_says_so(self):
        with mock.patch.object(idle_jobs.figures, "HERE", Path("/nowhere/bench")):
            self.assertIn("note: the program of figure 9 is in examples/", printed(measured()))

    def test_cores_are_told_apart(self):
        near = made_up.samples({"weft-process": 1, "mpich": 2}, sizes=(8,), row="lat 1t", line_ns=(30, 200))
        rest = [{**made_up.sample("mpich", 0, [1.0], [200, 200], "lat 1t", size=64)}]
        figure = idle_figures.of_two_ranks("10", "latency", "bytes", "lat 1t", results.collect(made_up.about("idle"), near + rest, {}))
        self.assertEqual(figure.title, "latency, far cores")
        self.assertEqual([len(dataclasses.asdict(figure)["curves"][at]["points"]) for at in (0, 1)], [1, 2])


if __name__ == "__main__":
    unittest.main()
