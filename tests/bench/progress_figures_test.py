#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench progress`: overlap, and what is printed of made-up samples."""
import argparse
import contextlib
import io
import unittest
from pathlib import Path
from unittest import mock

import made_up
import cache_figures
import jobs
import libraries
import progress_figures
import progress_jobs
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


class Parts(unittest.TestCase):
    def measured(self, rows):
        """{ending of the name: results}, [jobs]"""
        args = argparse.Namespace(quick=True, rows=rows, hosts=None, rounds=1, batches=5, about=made_up.about("progress"))
        libs = [libraries.Library(name, "", lambda ranks, fits: ["run", ranks]) for name in ("weft-process", "mpich", "openmpi", "impi")]
        ran = []

        def run(job, args):
            ran.append(job)
            return [{"row": f"isend {partner} {part}", "bytes": 65536, "us": [us]}
                    for partner in progress_figures.PARTNERS for part, us in PARTS.items()], None

        with mock.patch.object(jobs, "job_rows", run), contextlib.redirect_stderr(io.StringIO()), \
                mock.patch.object(libraries, "build", lambda libs, source, *more: {lib.name: source for lib in libs}):
            return dict(progress_figures.measure_parts(args, libs, Path("."), Path("."))), ran

    def test_rows_choose_parts(self):
        for rows, ends in ((None, ["", "-network", "-caches"]), ("isend", [""]), ("network", ["-network"]),
                           ("caches,irecv", ["", "-caches"])):
            self.assertEqual(list(self.measured(rows)[0]), ends)
        kinds = {end: found.about["kind"] for end, found in self.measured(None)[0].items()}
        self.assertEqual(kinds, {"": "progress", "-network": "progress network", "-caches": "progress caches"})

    def test_all_libraries_take_the_network(self):
        found, ran = self.measured("network")
        by_name = {job.series: job for job in ran}
        self.assertEqual(by_name["weft-process"].library.command(2, "main"), ["run", "2", "--pretend-nodes", "2", "main"])
        apart = by_name["weft-process thread apart"].library.env
        self.assertEqual((apart["WEFT_PROGRESS"], apart["WEFT_PROGRESS_PLACEMENT_NETWORK"]), ("rank", progress_jobs.APART))
        self.assertEqual(by_name["openmpi"].library.env["OMPI_MCA_btl"], "self,tcp")
        self.assertEqual(by_name["mpich thread"].library.env["FI_PROVIDER"], "tcp")
        self.assertIn("isend by TCP, rank 0 computes, its partner waits", [f["title"] for f in found["-network"].more["figures"]])
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            progress_figures.print_report(found["-network"])
        self.assertRegex(text.getvalue(), r"(?m)^  openmpi +OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp$")

    def test_nothing_was_measured_beside_copies(self):
        found = self.measured("caches")[0]["-caches"]  # rows of another program
        self.assertEqual(found.more["figures"], [])
        with contextlib.redirect_stdout(io.StringIO()) as said:
            cache_figures.print_report(found)
        self.assertEqual(said.getvalue(), "")

    def test_operations_are_those_of_the_program(self):
        text = (made_up.BENCH / "progress/main.c").read_text()
        for operation in progress_jobs.OPERATIONS:
            self.assertIn(f'{{"{operation}", begin_', text)


if __name__ == "__main__":
    unittest.main()
