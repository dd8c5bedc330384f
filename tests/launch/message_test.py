#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user reads after a mistake under MPI_ERRORS_ARE_FATAL: one message that names the call, the rank, what was
passed and what was expected; and a job that ends with a code that is not 0."""
import harness
from harness import MODES, PATIENCE, program

# mistake: the call, and words of what was passed and expected
MISTAKES = {
    "count": ("MPI_Send", "-5", "count"),
    "null": ("MPI_Send", "null", "buf"),
    "rank": ("MPI_Send", "77", "dest"),
    "tag": ("MPI_Send", "-44", "tag"),
    "type": ("MPI_Send", "MPI_Type_commit"),
    "comm": ("MPI_Send", "MPI_COMM_NULL"),
    "root": ("MPI_Bcast", "55", "root"),
    "op": ("MPI_Reduce_local", "MPI_BAND", "MPI_DOUBLE"),
    "truncate": ("MPI_Wait", "16", "8"),
    "late": ("MPI_Barrier", "MPI_Finalize"),
}


class Message(harness.Case):
    def test_mistakes(self):
        for mode in MODES:
            for what, words in MISTAKES.items():
                with self.subTest(mode=mode, mistake=what):
                    result = self.mpiexec(f"--ranks={mode}", "-n", 3, program("mistake"), what, 1)
                    self.assertNotEqual(result.code, 0, result.err)
                    self.assertLess(result.seconds, 1.5 * PATIENCE)
                    self.assertNotIn("still there", result.err)
                    self.assertIn("rank 1", result.err)
                    for word in words:
                        self.assertIn(word.lower(), result.err.lower())
                    self.assertLessEqual(len(result.err.splitlines()), 3, f"one message is enough:\n{result.err}")

    def test_before_init(self):
        for mode in MODES:
            result = self.mpiexec(f"--ranks={mode}", "-n", 1, program("mistake"), "early", 0)
            self.assertNotEqual(result.code, 0, mode)
            self.assertIn("MPI_Send", result.err)
            self.assertIn("MPI_Init", result.err)

    def test_not_implemented_before_init(self):
        """Not "call MPI_Init first": that would not help."""
        for mode in MODES:
            result = self.mpiexec(f"--ranks={mode}", "-n", 1, program("mistake"), "unsupported", 0)
            self.assertNotEqual(result.code, 0, mode)
            self.assertIn("not implemented", result.err)
            self.assertNotIn("MPI_Init", result.err)


if __name__ == "__main__":
    harness.main()
