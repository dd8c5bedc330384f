#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/results.py and tables.py: a file of samples says all that the tables say."""
import argparse
import contextlib
import io
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import made_up
import machine_tables
import measure
import results
import run
import tables

FACTORS = {"weft-process": 1, "weft-thread": 0.5, "mpich": 2, "impi": 3}


def printed(action, *values):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        action(*values)
    return said.getvalue()


class File(unittest.TestCase):
    def test_nothing_is_lost(self):
        samples = made_up.samples(FACTORS) + [made_up.sample("mpich", 2, [7], [150, 150], row="bw")]
        samples[0]["counts"] = {"polls": 2}
        found = results.collect(made_up.about(), samples, {"impi": ["2 ranks: exit 1"]}, {"notes": ["n"]})
        self.assertEqual([state.name for state in found.states], ["near", "far"])
        self.assertEqual(results.from_text(results.to_text(found)), found)
        self.assertEqual(found.states[0].counts["lat", 2, 8]["weft-process"], {"polls": 2})
        self.assertEqual(found.states[1].cells["bw", 2, 8]["mpich"], {2: 7})

    def test_a_round_is_the_median_of_its_batches(self):
        found = results.collect(made_up.about(), [made_up.sample("mpich", 0, [3, 1, 2.00049], [40] * 4)], {})
        self.assertEqual(found.states[0].cells["lat", 2, 8]["mpich"], {0: 2.0})

    def test_the_fullest(self):
        samples = made_up.samples({"mpich": 1}, sizes=(8,), line_ns=(40,)) + \
            made_up.samples({"mpich": 1, "impi": 1}, sizes=(8,), line_ns=(170,), rounds=1)
        self.assertEqual(results.collect(made_up.about(), samples, {}).fullest().name, "far")

    def test_files_are_small_and_never_overwritten(self):
        """A whole run of the collectives: 11 rounds, 3 numbers of ranks, 5 libraries, near and far."""
        noise = random.Random(1)
        samples = [made_up.sample(library, number, [noise.uniform(1, 1000)], [ns] * 2, row, ranks, size)
                   for library in (*FACTORS, "openmpi") for number in range(11) for ns in (26, 150)
                   for row in "abcdefghij" for ranks in (2, 4, 8) for size in [8 << i for i in range(10)]]
        found = results.collect(made_up.about(), samples, {})
        with tempfile.TemporaryDirectory() as folder:
            paths = results.save(found, Path(folder), "collectives")
            self.assertEqual([path.name for path in paths], [f"2026-11-23-collectives-{n}ranks.json" for n in (2, 4, 8)])
            cells = {}
            for path in paths:
                self.assertLess(path.stat().st_size, results.MOST_BYTES)
                cells.update(results.load(path).states[0].cells)
            self.assertEqual(cells, found.states[0].cells)
            again = results.save(found, Path(folder), "collectives")
            self.assertEqual(again[0].name, "2026-11-23-collectives-2-2ranks.json")
            self.assertFalse(set(paths) & set(again))


class Tables(unittest.TestCase):
    def test_ratios_compare_like_with_like(self):
        """weft, twice as fast in both states, met far cores in most rounds, the peer near ones."""
        samples = []
        for number in range(4):
            weft_far, peer_far = number != 0, number == 3
            samples.append(made_up.sample("weft-process", number, [0.4 if weft_far else 0.1], [170 if weft_far else 40] * 2))
            samples.append(made_up.sample("mpich", number, [0.8 if peer_far else 0.2], [170 if peer_far else 40] * 2))
        found = results.collect(made_up.about(), samples, {})
        for state in found.states:
            [by_library] = found.complete(state).values()
            self.assertAlmostEqual(tables.ratios(by_library, "weft-process")[1], 2, msg=state.name)

    def test_mean_and_worst(self):
        cells = {("lat", 2, size): {"weft-process": {0: 1}, "mpich": {0: ratio}, "impi": {0: 9}}
                 for size, ratio in ((4, 0.01), (8, 2), (65536, 0.5), (4 << 20, 4), (16 << 20, 0.01))}
        mean, worst, size = tables.mean_and_worst(cells, "weft-process", "lat", 2)
        self.assertAlmostEqual(mean, 4 ** (1 / 3))  # 8 B to 4 MiB
        self.assertEqual((worst, size), (0.5, 65536))
        self.assertEqual(tables.show_mean((mean, worst, size)), "1.59, 0.50 at 64 KiB")
        self.assertEqual(tables.show_mean(tables.mean_and_worst({("barrier", 2, 8): {"weft-process": {0: 1}, "mpich": {0: 3}}},
                                                                "weft-process", "barrier", 2)), "3.00")
        self.assertIsNone(tables.mean_and_worst(cells, "weft-thread", "lat", 2))

    def test_no_ratio_without_a_peer_that_ran(self):
        samples = made_up.samples(FACTORS) + made_up.samples({"openmpi": 1.5}, line_ns=(26,))
        found = results.collect(made_up.about(), samples, {})
        self.assertEqual([len(found.complete(state)) for state in found.states], [2, 0])

    def test_compact(self):
        text = printed(tables.print_compact, results.collect(made_up.about(untouched=True), made_up.samples(FACTORS), {}))
        self.assertIn("buffers untouched", text)
        self.assertIn("near cores: a cache line's way takes 26 ns\nfar cores: a cache line's way takes 150 ns\n", text)
        self.assertRegex(text, r"\nrow +ranks +near weft-process +near weft-thread +far weft-process +far weft-thread\n")
        self.assertRegex(text, r"\nlat +2 +2.00, 2.00 at 8 B +4.00, 4.00 at 8 B +2.00, 2.00 at 8 B +4.00, 4.00 at 8 B\n")

    def test_from_a_file(self):
        """--from prints what the run printed, and measures nothing."""
        found = results.collect(made_up.about(), made_up.samples(FACTORS), {})
        with tempfile.TemporaryDirectory() as folder:
            [path] = results.save(found, Path(folder), "messages")
            args = run.arguments.parse("", run.PROGRAMS, ["--from", str(path), "--every-size", "--peers", folder])
            text = printed(run.show, path, args)
            self.assertIn(printed(tables.print_compact, found), text)
            self.assertIn(printed(tables.print_every_size, found), text)
            with self.assertRaises(SystemExit) as end:
                run.show(Path(folder) / "none.json", args)
            self.assertIn("no samples", str(end.exception))


class Machines(unittest.TestCase):
    def page(self, folder, runs):
        for name, about, samples in runs:
            place = Path(folder) / name
            place.mkdir(exist_ok=True)
            results.save(results.collect(about, samples, {}), place, about["kind"])
        return machine_tables.with_tables(f"before\n{machine_tables.BEGIN}\nold\n{machine_tables.END}\nafter\n", list(Path(folder).glob("*/*.json")))

    def test_one_table_for_each_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            slow = {**made_up.about(), "cpu": "Other"}
            page = self.page(folder, [
                ("a", made_up.about(), made_up.samples(FACTORS, line_ns=(26,))),  # one state in a file: near by the other
                ("a", made_up.about(date="2026-11-24T00:00:00Z"), made_up.samples({**FACTORS, "mpich": 1}, line_ns=(150,))),
                ("a", made_up.about(untouched=True), made_up.samples(FACTORS, line_ns=(26,))),
                ("b", slow, made_up.samples(FACTORS, line_ns=(26,)))])
        self.assertTrue(page.startswith("before\n") and page.endswith("\nafter\n"))
        self.assertNotIn("old", page)
        first, second = page.split("#### ")[1:]
        self.assertIn("| row | ranks | buffers | near, processes | near, threads | far, processes | far, threads |", first)
        self.assertIn("| lat | 2 | touched | 2.00, 2.00 at 8 B | 4.00, 4.00 at 8 B | 1.00, 1.00 at 8 B | 2.00, 2.00 at 8 B |", first)
        self.assertIn("| lat | 2 | untouched | 2.00, 2.00 at 8 B | 4.00, 4.00 at 8 B |  |  |", first)
        self.assertIn("Near: a line's way takes 26 ns; far: a line's way takes 150 ns", first)
        self.assertTrue(second.startswith("Other, 2 CPUs"))
        self.assertIn("| row | ranks | buffers | processes | threads |", second)

    def test_the_latest_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            page = self.page(folder, [("a", made_up.about(date=f"2026-11-2{day}T00:00:00Z"),
                                       made_up.samples({**FACTORS, "mpich": factor}, line_ns=(26,))) for day, factor in ((4, 1.5), (3, 2))])
        self.assertIn("| lat | 2 | touched | 1.50, 1.50 at 8 B |", page)

    def test_the_page_is_what_its_files_say(self):
        """bench/README.md: all files that it names are there, and are small."""
        page = (made_up.BENCH / "README.md").read_text()
        self.assertEqual(page.count(machine_tables.BEGIN), 1)
        self.assertTrue(machine_tables.check(page))
        for name in machine_tables.named_files(page):
            self.assertLess((made_up.BENCH / "results" / name).stat().st_size, results.MOST_BYTES, name)

    def test_who_else_used_the_machine(self):
        about = made_up.about()
        for hosts in ("a,b", None):
            self.assertEqual(measure.said_of_others(about), [], hosts)
            with unittest.mock.patch.object(measure.Others, "_read", side_effect=[(100, 10, 1, 9), (300, 110, 5, 99)]):
                measure.Others().note(argparse.Namespace(about=about, hosts=hosts))
            self.assertEqual("others_percent" in about, hosts is None)
        self.assertEqual((about["others_percent"], about["stolen_percent"]), (5, 2))
        self.assertEqual(measure.said_of_others(about), ["other programs had 5 % and other guests of its host had 2 % "
                                                         "of this machine's time meanwhile: much of this may be noise"])
        self.assertEqual(measure.said_of_others(made_up.about()), [])

    def test_shared_cores_are_told(self):
        samples = [{**made_up.sample("mpich", 0, [1, 2, 3, 4], [40] * 5), "work_ns": [1000, 1100, 1990, 1020]}]
        about = results.collect(made_up.about(), samples, {}).about
        self.assertEqual(about["shared_percent"], 25)
        self.assertNotIn("shared_percent", results.collect(made_up.about(), [made_up.sample("mpich", 0, [1], [])], {}).about)
        [said] = measure.said_of_others(about)
        self.assertIn("during 25 % of the batches", said)

    def test_batches_on_shared_cores_are_left_out_where_every_library_has_others(self):
        def of(library, number, size):
            us = [1, 9, 1, 9] if library == "impi" else [2, 8, 2, 8]
            work_ns = [1000, 1900] * 2 if size == 8 or library == "impi" else [1900] * 4
            return {**made_up.sample(library, number, us, [40] * 5, size=size), "work_ns": work_ns}
        samples = [of(library, number, size) for library in ("mpich", "impi") for number in range(4) for size in (8, 64)]
        found = results.collect(made_up.about(), samples, {})
        [state] = found.states
        self.assertEqual([state.median(name, "lat", 2, 8) for name in ("mpich", "impi")], [2, 1])
        self.assertEqual([state.median(name, "lat", 2, 64) for name in ("mpich", "impi")], [5, 5])  # mpich has none
        self.assertEqual(found.about["quiet_percent"], 50)
        self.assertIn("50 % of the figures are of batches without", measure.said_of_others(found.about)[0])

    def test_own_jobs_are_not_others(self):
        others, loop = measure.Others(), "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
        before = others._read()
        subprocess.run([sys.executable, "-c", loop], check=True)
        after = others._read()
        self.assertGreater(after[3] - before[3], 0.25)
        self.assertGreater(after[1] - before[1], 0.2)  # all programs: ours are among them

    def test_names_of_machines(self):
        text = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n"
        self.assertEqual(measure.cpu_model(text), "AMD EPYC family 25 model 17")
        text = "cpu family\t: 6\nmodel\t\t: 106\nmodel name\t: Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz\n"
        self.assertEqual(measure.slug({"cpu": measure.cpu_model(text), "cpus": 4}), "intel-xeon-platinum-8370c-family-6-model-106-4cpu")


if __name__ == "__main__":
    unittest.main()
