#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks as threads with the library and the launcher: what tests/host checks with a stand-in, where both matter."""
import os
import shutil
import subprocess
import tempfile

import harness
from harness import MODES, program


class Host(harness.Case):
    def test_output_before_the_end(self):
        """What a rank printed before it ends the job is seen, whichever way it ends it."""
        for how in ("abort", "fatal", "exit", "thread"):
            for mode in MODES:
                result = self.mpiexec(f"--ranks={mode}", "-n", 3, program("unflushed"), how)
                self.assertNotEqual(result.code, 0)
                self.assertIn("rank 1 printed;", result.out, f"{how}, {mode}: {harness.show(result.out, result.err)}")

    def test_auto_never_fails_where_processes_work(self):
        """When the host cannot run the program, for whatever reason, its ranks are processes."""
        too_much = ("--stack", "100000G")  # of addresses, for threads; for a process it is a limit
        result = self.mpiexec("--ranks=thread", *too_much, "-n", 3, program("hello"))
        self.assertEqual(result.code, 90, harness.show(result.out, result.err))
        result = self.ok(self.mpiexec("--ranks=auto", *too_much, "-n", 3, program("hello")))
        self.assertEqual(sorted(result.out.split("\n")), ["", *(f"hello {r} of 3, sum 3" for r in range(3))])
        self.assertRegex(result.err, r"^weft: ranks of \S+hello are processes: .*stack.*\n$")
        result = self.ok(self.mpiexec("--ranks=auto", *too_much, "-n", 2, program("input"), stdin=b"typed\n"))
        self.assertIn("rank 0 read 6 bytes", result.out)
        result = self.mpiexec("--ranks=auto", *too_much, "-n", 3, program("act"), 1, "abort", 5)
        self.assertEqual(result.code, 5, harness.show(result.out, result.err))
        self.assertIn("MPI_Abort on rank 1", result.err)
        result = self.ok(self.mpiexec("--ranks=auto", *too_much, "-n", 1, program("hello"), ":", "-n", 2, program("hello")))
        self.assertEqual(result.out.count("of 3, sum 3"), 3)

    def test_variable_of_libm(self):
        """A program that refers to signgam runs as threads."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gamma")
            source = """#include <math.h>
                #include <mpi.h>
                #include <stdio.h>
                int main(int argc, char** argv) {
                  MPI_Init(&argc, &argv);
                  volatile double x = -0.5;
                  double y = lgamma(x);
                  printf("%.3f %d\\n", y, signgam);
                  MPI_Finalize();
                }"""
            subprocess.run([harness.BUILD / "bin" / "mpicc", "-x", "c", "-", "-o", path, "-lm"], input=source, text=True, check=True)
            for mode in (*MODES, "auto"):
                result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, path))
                self.assertEqual((result.out, result.err), ("1.266 -1\n" * 3, ""), mode)

    def test_java(self):
        if not shutil.which("java"):
            self.skipTest("no Java here")
        result = self.mpiexec("--ranks=thread", "-n", 2, "java", "-version")
        self.assertEqual(result.code, 126, harness.show(result.out, result.err))
        self.assertIn("Java interpreter", result.err)


if __name__ == "__main__":
    harness.main()
