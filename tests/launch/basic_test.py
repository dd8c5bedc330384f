#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpiexec from the user's side: ranks, several programs, variables, directories, options and their mistakes."""
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import MODES, program


class Basic(harness.Case):
    def test_same_output_in_both_modes(self):
        for n in (1, 2, 4, 8):
            want = sorted(f"hello {rank} of {n}, sum {n * (n - 1) // 2}" for rank in range(n))
            for mode in MODES:
                result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", n, program("hello")))
                self.assertEqual(sorted(result.out.splitlines()), want, mode)
                self.assertEqual(result.err, "")

    def test_more_ranks_than_cores(self):
        n = 4 * (os.cpu_count() or 1) + 1
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", n, program("traffic"), timeout=120))
            self.assertEqual(result.out, f"traffic ok {n}\n")

    def test_without_mpiexec(self):
        result = self.ok(self.run_command([program("hello"), "alone"]))
        self.assertEqual(result.out, "alone 0 of 1, sum 0\n")

    def test_limited_address_space(self):
        for mode in MODES:
            command = ["/bin/sh", "-c", 'ulimit -v 4000000; exec "$0" "$@"', harness.MPIEXEC, f"--ranks={mode}", "-n", "4",
                       program("traffic")]
            self.assertEqual(self.ok(self.run_command(command)).out, "traffic ok 4\n")

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_under_valgrind(self):
        result = self.ok(self.mpiexec("-n", 2, "valgrind", "-q", "--error-exitcode=9", program("hello"), timeout=120))
        self.assertEqual(len(result.out.splitlines()), 2)

    def test_several_programs(self):
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 1, program("hello"), "first", ":", "-n", 3, program("hello"), "then"))
            self.assertEqual(sorted(result.out.splitlines()),
                             ["first 0 of 4, sum 6"] + [f"then {rank} of 4, sum 6" for rank in (1, 2, 3)])

    def test_auto_falls_back(self):
        result = self.ok(self.mpiexec("--ranks=auto", "-n", 2, "/bin/sh", "-c", "echo shell"))
        self.assertEqual(result.out, "shell\nshell\n")

    def test_number_of_ranks_by_any_name(self):
        for words in (("-n", "2"), ("-np", "2"), ("-n2",), ("--np", "2"), ("--n=2",)):
            result = self.ok(self.mpiexec(*words, program("hello")))
            self.assertEqual(len(result.out.splitlines()), 2, words)
        self.assertEqual(len(self.ok(self.mpiexec(program("hello"))).out.splitlines()), 1)

    def test_variables(self):
        names = ("WT_A", "WT_B", "WT_C", "WT_D")
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-x", "WT_A=1", "-x", "WT_B", "-genv", "WT_C", "x y", "-n", 1, "-env", "WT_D", "own",
                                          program("show"), *names, ":", "-n", 1, program("show"), *names, env={"WT_B": "from outside"}))
            lines = result.out.splitlines()
            for line in ("0 WT_A=1", "0 WT_B=from outside", "0 WT_C=x y", "1 WT_C=x y", "0 WT_D=own", "1 WT_D=(unset)"):
                self.assertIn(line, lines, mode)

    def test_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            for mode in MODES:
                result = self.ok(self.mpiexec(f"--ranks={mode}", "-wdir", folder, "-n", 2, program("show")))
                self.assertEqual(sorted(result.out.splitlines()), [f"{rank} cwd={folder}" for rank in (0, 1)])

    def test_slices_and_openmp(self):
        cpus = len(os.sched_getaffinity(0))
        result = self.ok(self.mpiexec("-n", 1, program("show"), "OMP_NUM_THREADS", "OMP_PLACES"))
        self.assertIn(f"0 OMP_NUM_THREADS={cpus}", result.out)
        self.assertNotIn("OMP_PLACES=(unset)", result.out)
        result = self.ok(self.mpiexec("-n", cpus, program("show"), "OMP_NUM_THREADS"))
        self.assertIn("0 OMP_NUM_THREADS=1", result.out)
        result = self.ok(self.mpiexec("-n", 1, program("show"), "OMP_NUM_THREADS", env={"OMP_NUM_THREADS": "17"}))
        self.assertIn("OMP_NUM_THREADS=17", result.out)

    def test_help_version_map(self):
        result = self.ok(self.mpiexec("--help"))
        for word in ("--ranks", "--timeout", "Examples", "mpiexec -n 4"):
            self.assertIn(word, result.out)
        self.assertIn("weft", self.ok(self.mpiexec("--version")).out)
        result = self.ok(self.mpiexec("-v", "-n", 2, program("hello")))
        self.assertEqual(len(result.err.splitlines()), 1, result.err)

    def test_mistakes(self):
        cases = ((("--timeot", "5", "-n", "1", "true"), 2, ("--timeot", "--timeout")),
                 (("--rank=thread", "true"), 2, ("--rank", "--ranks")),
                 (("--ranks=treads", "true"), 2, ("treads", "thread")),
                 (("-n", "zero", "true"), 2, ("zero", "number of ranks")),
                 (("-n", "0", "true"), 2, ("0",)),
                 (("-n", "2"), 2, ("program",)),
                 (("-n",), 2, ("-n",)),
                 (("--timeout", "soon", "true"), 2, ("soon", "seconds")),
                 (("-n", "2", "no-such-program-here"), 127, ("no-such-program-here",)),
                 (("-n", "2", "/etc/passwd"), 126, ("/etc/passwd",)),
                 (("-wdir", "/no/such/folder", "true"), None, ("/no/such/folder",)))
        for words, code, expected in cases:
            result = self.mpiexec(*words)
            self.assertEqual(result.out, "", words)
            if code is None:
                self.assertNotEqual(result.code, 0, words)
            else:
                self.assertEqual(result.code, code, f"{words}\n{result.err}")
            for word in expected:
                self.assertIn(word, result.err, words)
            self.assertLessEqual(len(result.err.splitlines()), 2, f"{words}: one sentence is enough\n{result.err}")

    def test_unknown_variable(self):
        name = "WEFT_SYNC_SPINN"
        result = self.ok(self.mpiexec("-n", 2, program("hello"), env={name: "1"}))
        self.assertIn(name, result.err)
        self.assertEqual(result.err.count(name), 1, "said once per job, not per rank")

    def test_what_cannot_be_threads(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "fixed.c")
            with open(source, "w") as file:
                file.write("int main(void) { return 0; }\n")
            for flag in ("-static", "-no-pie"):
                binary = os.path.join(folder, "fixed" + flag)
                if subprocess.run([harness.CC, flag, source, "-o", binary], stderr=subprocess.DEVNULL).returncode:
                    continue
                result = self.mpiexec("--ranks=thread", "-n", 2, binary)
                self.assertNotEqual(result.code, 0, flag)
                self.assertEqual(len(result.err.splitlines()), 1, result.err)
                self.assertIn(os.path.basename(binary), result.err)
                self.ok(self.mpiexec("--ranks=auto", "-n", 2, binary))

    def test_many_threads_start_fast(self):
        result = self.ok(self.mpiexec("--ranks=thread", "-n", 64, program("hello"), timeout=60))
        self.assertEqual(len(result.out.splitlines()), 64)


if __name__ == "__main__":
    harness.main()
