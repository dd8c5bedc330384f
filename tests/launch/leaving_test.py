#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that leave in unusual ways: without MPI_Init while others call it, by pthread_exit from main."""
import harness
from harness import MODES, program

# More ranks than the cores of a small machine, too.
COUNTS = (2, 9)


class Leaving(harness.Case):
    def fails(self, words, code, *sentences):
        """The job ends, with one line that has all the sentences."""
        result = self.mpiexec(*words)
        self.assertEqual(result.code, code, f"{words}\n{result.err}")
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 1, f"{words}\n{result.err}")
        for sentence in sentences:
            self.assertRegex(lines[0], sentence, words)

    def test_without_init_among_others(self):
        """Before the others' MPI_Init or after it, one rank or several, as another program or the same."""
        for mode in MODES:
            for n in COUNTS:
                hello = ("-n", n, program("hello"))
                ranks = f"--ranks={mode}"
                self.fails((ranks, "-n", 1, "true", ":", *hello), 1, f"rank 0 (of {n + 1} |had )", "MPI_Init")
                self.fails((ranks, *hello, ":", "-n", 1, "sleep", "0.3"), 1, f"rank {n} of {n + 1} ended", "MPI_Init", "sleep")
                self.fails((ranks, "-n", 2, "true", ":", "-n", n, program("traffic")), 1, "MPI_Init")

    def test_late_callers_learn_it(self):
        """Those who have left did so long before anybody calls MPI_Init."""
        late = f"sleep 0.3; exec {program('hello')}"
        self.fails(("-n", 1, "true", ":", "-n", 3, "/bin/sh", "-c", late), 1, "rank [1-3] called MPI_Init", "rank 0 of 4 had ended without it")

    def test_hang_abort_is_not_needed(self):
        for mode in MODES:
            self.fails((f"--ranks={mode}", "--hang=abort", "-n", 1, "true", ":", "-n", 2, program("hello")), 1, "MPI_Init")

    def test_no_rank_calls_init(self):
        """That is no MPI job, and none of mpiexec's business."""
        for mode in MODES:
            for n in COUNTS:
                result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", n, "true", ":", "-n", 2, "sleep", "0.1"))
                self.assertEqual(result.err, "")

    def test_main_leaves_by_pthread_exit(self):
        """The rank ends with its last thread, as a process does: both modes say the same."""
        def lines(n, *texts):
            return sorted(f"rank {r}: {text}" for r in range(n) for text in ("cleanup", "exit handler", *texts))

        for n in COUNTS:
            total = f"sum {n * (n - 1) // 2}"
            for what, texts, code in (("finalize", [total], 0), ("key", [total], 0), ("join", ["joined 0 5", total], 0), ("exit", [total], 7)):
                for mode in MODES:
                    result = self.mpiexec(f"--ranks={mode}", "-n", n, program("threads_end"), what)
                    self.assertEqual(result.code, code, f"{mode} {what}\n{result.err}")
                    self.assertEqual(sorted(result.out.splitlines()), lines(n, *texts), f"{mode} {what}\n{result.err}")
                    self.assertEqual(result.err, "", f"{mode} {what}")

    def test_main_leaves_and_nobody_goes_on(self):
        for mode in MODES:
            for n in COUNTS:
                self.fails((f"--ranks={mode}", "-n", n, program("threads_end"), "nobody"), 1, r"rank \d", "MPI_Finalize")

    def test_main_leaves_before_init(self):
        for mode in MODES:
            self.fails((f"--ranks={mode}", "-n", 1, "-x", "FIRST_PROGRAM=1", program("threads_end"), "without", ":", "-n", 3, program("hello")), 1,
                       "rank 0", "MPI_Init")


if __name__ == "__main__":
    harness.main()
