#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks as threads with the library and the launcher: what tests/host checks with a stand-in, where both matter."""
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


if __name__ == "__main__":
    harness.main()
