# SPDX-License-Identifier: Apache-2.0
"""mpi.h compiles alone and without a warning as C99, C11, C++11 and C++17, and in a small program."""

import os
import subprocess
import unittest

from common import HEADER

PROGRAM = """
#include <mpi.h>
static MPI_Comm world(void) { return MPI_COMM_WORLD; }
int main(int argc, char **argv) {
  double in = 1.0, out = 0.0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Allreduce(MPI_IN_PLACE, &out, 1, MPI_DOUBLE, MPI_SUM, world());
  MPI_Isend_c(&in, (MPI_Count)1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
  MPI_Wait(&request, &status);
  status.MPI_ERROR = MPI_SUCCESS;
  PMPI_Finalize();
  return status.MPI_ERROR;
}
"""


class Header(unittest.TestCase):
    def compile(self, compiler, language, standard, *flags):
        run = subprocess.run([compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra",
                              "-pedantic", "-Wconversion", "-Werror", *flags,
                              f"-I{HEADER.parent}", "-fsyntax-only", "-"],
                             input=PROGRAM, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_c(self):
        for standard in ("c99", "c11"):
            with self.subTest(standard):
                self.compile(os.environ.get("CC", "cc"), "c", standard, "-Wstrict-prototypes")

    def test_cxx(self):
        for standard in ("c++11", "c++17", "c++20"):
            with self.subTest(standard):
                self.compile(os.environ.get("CXX", "c++"), "c++", standard)


if __name__ == "__main__":
    unittest.main()
