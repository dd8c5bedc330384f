#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench beside`: what it runs, that neighbours end, and what it makes of its samples."""
import argparse
import contextlib
import io
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import made_up
import beside_jobs
import beside_report
import libraries
import results

TELLS = """
import ctypes, mmap, os, time
with open(os.environ["BENCH_NEIGHBOURS"], "r+b") as file:
    page = mmap.mmap(file.fileno(), 0)
word, FUTEX, WAKE = ctypes.c_uint32.from_buffer(page), 202, 1
def chunks():
    return [int.from_bytes(page[64 * i:64 * i + 8], "little") for i in (1, 2)]
def tell(n):
    word.value = n
    ctypes.CDLL(None).syscall(FUTEX, ctypes.byref(word), WAKE, 1 << 30, None, None, 0)
print(*chunks())
tell(1)
until = time.monotonic() + 30
while chunks()[0] < 100 and time.monotonic() < until: time.sleep(0.001)
print("more" if chunks()[0] >= 100 else "none", chunks()[1])
tell(0)
time.sleep(0.1)
before = chunks()[0]
time.sleep(0.1)
print("same" if chunks()[0] <= before + 1 else "more", chunks()[1])
"""
HOLDS = "import subprocess, sys; subprocess.run(sys.argv[1:])"


def samples(own_session=1):
    """us of 8 B there and back, and % that neighbours got: weft's ranks leave more to one neighbour than MPICH's do."""
    times = {"weft-process": {0: (2, None), 1: (40, 90)}, "mpich": {0: (3, None), 1: (60, 50)}}
    for name, by_number in times.items():
        for n, (us, got) in by_number.items():
            for number in range(3):
                for what, value in (("", us), (" got", got), (" computed", 7)):
                    if value is not None:
                        yield {**made_up.sample(name, number, [value * (1 + number / 10)], [], f"exchange {n}{what}", 8, 8192),
                               "counts": {"own_session": own_session if name == "mpich" else 0}}


class Plan(unittest.TestCase):
    def test_launchers_start_beside_neighbours(self):
        args = argparse.Namespace(rows=None, batches=5, batch_ms=30, limit_s=0.12, ranks=[2, 8])
        libs = [libraries.Library(name, "1", lambda ranks, fits: ["run", "-n", ranks]) for name in ("weft-process", "mpich")]
        with mock.patch.object(libraries, "build", lambda libs, source, work: {lib.name: Path(source.parent.name) for lib in libs}), \
                mock.patch.object(libraries, "compile_with", lambda compiler, source, program, options: program):
            jobs = beside_jobs.plan(args, libs, Path("work"), Path("bench"))
        self.assertEqual([(job.series, job.ranks) for job in jobs], [(name, n) for n in (2, 8) for name in ("weft-process", "mpich")])
        self.assertEqual(jobs[2].library.command(8, jobs[2].program), ["work/neighbours", "2", "run", "-n", "8", "beside"])


class Neighbours(unittest.TestCase):
    """The program that starts a launcher beside them."""
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.program = libraries.compile_with(["cc"], made_up.BENCH / "beside/neighbours.c", Path(cls.folder.name) / "neighbours",
                                             ("-O2", "-pthread", "-Wall", "-Werror"))

    def test_end_as_the_command_does(self):
        for end, status in (("exit 3", 3), ("kill -9 $$", 128 + 9)):
            self.assertEqual(subprocess.run([self.program, "1", "sh", "-c", end]).returncode, status)

    def test_compute_as_the_command_says(self):
        """Of two to a CPU the first computes when it is told to, the second sleeps; then neither does."""
        done = subprocess.run([self.program, "2", sys.executable, "-c", TELLS], capture_output=True, text=True)
        self.assertEqual(done.stdout.split(), ["0", "0", "more", "0", "same", "0"], done.stderr)

    def test_end_with_who_started_them(self):
        """Killed without a word, as an interrupted bench may be: neither they nor their command are left."""
        with subprocess.Popen([sys.executable, "-c", HOLDS, self.program, "1", "sh", "-c", "echo $$ $PPID; exec sleep 60"],
                              stdout=subprocess.PIPE, text=True) as bench:
            left = [int(pid) for pid in bench.stdout.readline().split()]
            bench.send_signal(signal.SIGKILL)
            until = time.monotonic() + 30
            while any(map(is_running, left)) and time.monotonic() < until:
                time.sleep(0.01)
            self.assertEqual([pid for pid in left if is_running(pid)], [])


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Report(unittest.TestCase):
    def said(self, autogroup=True, own_session=1, failures=None):
        found = results.collect({**made_up.about("beside"), "autogroup": autogroup}, list(samples(own_session)), failures or {})
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            beside_report.print_report(results.from_text(results.to_text(found)))
        return text.getvalue()

    def test_table(self):
        said = self.said()
        self.assertRegex(said, r"(?m)^compute, exchange, 8 KiB, 8 ranks$")
        self.assertRegex(said, r"(?m)^weft-process +2\.2 \[2\.1 2\.3\] \+ 8%, 1\.50 +44 \[42 46\], 99 \[94\.5 104\]% \+ 8%, 1\.50$")
        self.assertRegex(said, r"(?m)^mpich +3\.3 \[3\.15 3\.45\] \+ 8% +66 \[63 69\], 55 \[52\.5 57\.5\]% \+ 8%$")
        self.assertRegex(said, r"(?m)^impi +- +-$")
        self.assertRegex(said, r"(?m)^1 neighbour to a CPU +weft-process +1\.50 +99%$")

    def test_whose_ranks_have_sessions(self):
        note = "each rank of mpich has one of its own"
        self.assertIn(note, self.said())
        self.assertNotIn(note, self.said(autogroup=False))
        self.assertNotIn(note, self.said(own_session=0))

    def test_a_job_that_failed_is_named(self):
        self.assertIn("note: failed: impi, 8 ranks: exit 1", self.said(failures={"impi, 8 ranks": ["exit 1"]}))

    def test_figures(self):
        made = beside_report.figures(results.collect(made_up.about("beside"), list(samples()), {}))
        self.assertEqual([(figure["y"], [(curve["label"], [point[0] for point in curve["points"]]) for curve in figure["curves"]])
                          for figure in made], [("µs", [("weft-process", ["0", "1"]), ("mpich", ["0", "1"])]),
                                                ("% of neighbours alone", [("weft-process", ["1"]), ("mpich", ["1"])])])


if __name__ == "__main__":
    unittest.main()
