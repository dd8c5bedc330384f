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
# gcc 12's ThreadSanitizer cannot place its shadow with much address space randomisation.
PREFIX = ["setarch", platform.machine(), "-R"]


class Cxx(harness.Case):
    def compiled(self, folder, flags):
        path = Path(folder, f"cxx-{flags}")
        words = [CXX, "-g", "-O1", *([f"-fsanitize={flags}"] if flags else []), f"-I{SOURCE}/include",
                 Path(__file__).resolve().parent / "programs" / "cxx.cc", "-o", path, f"-L{LIBDIR}", "-lmpi_abi", f"-Wl,-rpath,{LIBDIR}", "-pthread"]
        subprocess.run(words, check=True, capture_output=True)
        return path

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


if __name__ == "__main__":
    harness.main()
