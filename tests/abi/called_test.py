# SPDX-License-Identifier: Apache-2.0
"""docs/coverage.md claims no function that no test program calls.

What counts is what the linker sees: a program of tests/ refers to MPI_X or PMPI_X.
"""
import os
import pathlib
import re
import subprocess
import unittest

from common import ROOT

TESTS = pathlib.Path(os.environ["WEFT_TESTS"])  # where the build puts the programs
FOLDERS = ("rank", "conformance/rules", "unit", "host", "launch")


def claimed():
    lines = (ROOT / "docs/coverage.md").read_text().splitlines()
    return {name for line in lines if line.startswith("Works:") for name in re.findall(r"`(\w+)`", line)}


def called():
    programs = [p for folder in FOLDERS for p in (TESTS / folder).rglob("*") if p.is_file() and os.access(p, os.X_OK)]
    symbols = subprocess.run(["nm", "--undefined-only", *programs], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True, check=False).stdout
    return set(re.findall(r"\bU P?MPI_(\w+)", symbols))


class Called(unittest.TestCase):
    def test_every_function_that_works(self):
        names = called()
        self.assertIn("Send", names, "no test programs found; build them first")
        missing = sorted(claimed() - names)
        self.assertEqual(missing, [], "docs/coverage.md says these work, but no test calls them")


if __name__ == "__main__":
    unittest.main()
