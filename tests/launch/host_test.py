#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks as threads with the library and the launcher: what tests/host checks with a stand-in, where both matter."""
import os
import shutil
import subprocess
import tempfile
import time

import harness
from harness import MODES, program
from terminal_test import CONTROL_D, Screen


class Host(harness.Case):
    def setUp(self):
        super().setUp()
        self.screens = []

    def unforeseen(self, folder, name):
        """A test program that processes run and ld.so cannot load as a library: it lacks a function nobody calls."""
        library = os.path.join(folder, "libasks.so")
        subprocess.run([os.environ["CC"], "-shared", "-fPIC", "-Wl,-z,lazy", "-x", "c", "-", "-o", library], check=True, text=True,
                       input="int no_such_function(void); int ask(void) { return no_such_function(); }")
        path = os.path.join(folder, name)
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", name + ".c")
        subprocess.run([harness.BUILD / "bin" / "mpicc", source, "-o", path, "-Wl,-z,lazy", "-Wl,--no-as-needed", library,
                        "-Wl,--allow-shlib-undefined", "-Wl,-rpath," + folder], check=True)
        return path

    def test_output_before_the_end(self):
        """What a rank printed before it ends the job is seen, whichever way it ends it."""
        for how in ("abort", "fatal", "exit", "thread"):
            for mode in MODES:
                result = self.mpiexec(f"--ranks={mode}", "-n", 3, program("unflushed"), how)
                self.assertNotEqual(result.code, 0)
                self.assertIn("rank 1 printed;", result.out, f"{how}, {mode}: {harness.show(result.out, result.err)}")

    def test_auto_never_fails_where_processes_work(self):
        """When the host cannot run the program, for whatever reason, its ranks are processes."""
        with tempfile.TemporaryDirectory() as folder:
            hello, reader, act = (self.unforeseen(folder, name) for name in ("hello", "input", "act"))
            result = self.mpiexec("--ranks=thread", "-n", 3, hello)
            self.assertEqual(result.code, 90, harness.show(result.out, result.err))
            result = self.ok(self.mpiexec("--ranks=auto", "-n", 3, hello))
            self.assertEqual(sorted(result.out.split("\n")), ["", *(f"hello {r} of 3, sum 3" for r in range(3))])
            self.assertRegex(result.err, r"^weft: ranks of \S+hello are processes: .*no_such_function.*\n$")
            result = self.ok(self.mpiexec("--ranks=auto", "-n", 2, reader, stdin=b"typed\n"))
            self.assertIn("rank 0 read 6 bytes", result.out)
            result = self.mpiexec("--ranks=auto", "-n", 3, act, 1, "abort", 5)
            self.assertEqual(result.code, 5, harness.show(result.out, result.err))
            self.assertIn("MPI_Abort on rank 1", result.err)
            for several in ((hello, program("hello")), (program("hello"), hello)):
                result = self.ok(self.mpiexec("--ranks=auto", "-n", 1, several[0], ":", "-n", 2, several[1]))
                self.assertEqual(result.out.count("of 3, sum 3"), 3)

    def test_a_terminal_for_the_processes_too(self):
        """Whoever takes the place of the host has its terminal."""
        with tempfile.TemporaryDirectory() as folder:
            screen = Screen(self, harness.BUILD / "bin" / "mpiexec", "--ranks=auto", "-n", 2, self.unforeseen(folder, "input"))
            try:
                screen.wait_for("are processes")
                deadline = time.monotonic() + 10 * harness.PATIENCE
                while screen.settings() != (False, False):  # the rank's own terminal edits from now on
                    self.assertLess(time.monotonic(), deadline, screen.shown)
                    screen.read(0.01)
                screen.type("typed\n")
                screen.type(CONTROL_D)
                shown, code = screen.finish()
                self.assertEqual(code, 0, shown)
                self.assertIn(b"rank 0 read 6 bytes", shown)
            finally:
                screen.close()

    def test_where_descriptors_cannot_be_the_ranks(self):
        """A sandbox that forbids both ways to have descriptors of one's own: said, and with auto no hindrance."""
        for mode, code in (("thread", 126), ("auto", 0)):
            # 436: close_range, which not every header knows
            words = (program("refuse"), "EPERM", "unshare,436", harness.BUILD / "bin" / "mpiexec", f"--ranks={mode}", "-n", 3, program("hello"))
            result = self.run_command([str(w) for w in words])
            if result.code == 77:
                self.skipTest("no seccomp here")
            self.assertEqual(result.code, code, harness.show(result.out, result.err))
            self.assertRegex(result.err, r"hello.*forbids unshare and close_range.*run its ranks as processes")
            self.assertEqual(result.out.count("of 3, sum 3"), 3 if mode == "auto" else 0)

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
