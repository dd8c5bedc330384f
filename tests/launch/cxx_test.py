#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C++ programs in both rank modes, plain and compiled with sanitizers, whose runtimes bring C++ libraries of their own into
the process. In a sanitized build of weft only programs with the same sanitizers can run."""
import os
import platform
import subprocess
import tempfile
from pathlib import Path

import harness
from harness import LIBDIR, MODES, SOURCE

CXX = os.environ.get("CXX", "c++")
OWN = os.environ.get("TEST_SANITIZE", "")
FLAGS = [OWN] if OWN else ["", "address", "undefined", "address,undefined", "thread"]
# clang puts the runtime into the program unless told otherwise, and then ranks cannot be threads.
CLANG = b"clang" in subprocess.run([CXX, "--version"], capture_output=True).stdout
# gcc 12's ThreadSanitizer cannot place its shadow with much address space randomisation.
PREFIX = ["setarch", platform.machine(), "-R"]


class Cxx(harness.Case):
    def compiled(self, folder, flags, shared=CLANG):
        path = Path(folder, f"cxx-{flags}-{shared}")
        words = [CXX, "-g", "-O1", *([f"-fsanitize={flags}"] if flags else []), *(self.shared_runtime() if flags and shared else []), f"-I{SOURCE}/include",
                 Path(__file__).resolve().parent / "programs" / "cxx.cc", "-o", path, f"-L{LIBDIR}", "-lmpi_abi", f"-Wl,-rpath,{LIBDIR}", "-pthread"]
        subprocess.run(words, check=True, capture_output=True)
        return path

    def shared_runtime(self):
        runtime = subprocess.run([CXX, "-print-file-name=lib/linux"], capture_output=True, text=True).stdout.strip()
        return ["-shared-libsan", f"-Wl,-rpath,{runtime}"]

    def test_runtime_inside(self):
        if not CLANG:
            self.skipTest("the compiler is not clang")
        with tempfile.TemporaryDirectory(prefix="cxx-") as folder:
            for flags in ("address", "thread"):
                program = self.compiled(folder, flags, False)
                result = self.mpiexec("--ranks=thread", "-n", 2, program)
                self.assertEqual(result.code, 126)
                self.assertIn("contains a sanitizer's runtime; link it with -shared-libsan", result.err)
                self.assertEqual(len(result.err.splitlines()), 1)

    def test_runs_in_both_modes(self):
        prefix = PREFIX if subprocess.run([*PREFIX, "true"], capture_output=True).returncode == 0 else []
        with tempfile.TemporaryDirectory(prefix="cxx-") as folder:
            for flags in FLAGS:
                if "thread" in flags and not prefix:
                    continue
                program = self.compiled(folder, flags)
                for mode in MODES:
                    with self.subTest(flags=flags, mode=mode):
                        result = self.ok(self.run_command([*prefix, harness.MPIEXEC, f"--ranks={mode}", "-n", 3, program], timeout=60))
                        wanted = [f"rank {r} 1.5 true good" for r in range(3)] + ["global ends, threads 1"] * 3
                        self.assertEqual(sorted(result.out.splitlines()), sorted(wanted), result.err)

    def test_channels(self):
        """weft/channel.hpp."""
        with tempfile.TemporaryDirectory(prefix="cxx-") as folder:
            path = Path(folder, "channels")
            subprocess.run([CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror", *([f"-fsanitize={OWN}"] if OWN else []), f"-I{SOURCE}/include",
                            Path(__file__).resolve().parent / "programs" / "channels.cc", "-o", path, f"-L{LIBDIR}", "-lmpi_abi",
                            f"-Wl,-rpath,{LIBDIR}", "-pthread"], check=True)
            for mode in MODES:
                result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, path))
                self.assertEqual(result.out.splitlines(), ["a message of 2 elements for a channel whose messages have 3", "16", "5 from 1 at 27"],
                                 result.err)


if __name__ == "__main__":
    harness.main()
