# SPDX-License-Identifier: Apache-2.0
"""libmpi_abi exports every function of the table twice (PMPI_X, and MPI_X as a weak alias), and no
data; its soname is that of the standard ABI."""

import subprocess
import unittest

from common import ROOT, exported, library
from spec import Spec


class Exports(unittest.TestCase):
    def setUp(self):
        self.symbols = exported(library())
        self.names = Spec(ROOT / "spec").entry_points()

    def test_every_function(self):
        self.assertEqual(len(self.names), 664)
        for name in self.names:
            self.assertEqual(self.symbols.get("PMPI_" + name), "T", name)
            self.assertEqual(self.symbols.get("MPI_" + name), "W", name)

    def test_nothing_else(self):
        wanted = {p + n for n in self.names for p in ("MPI_", "PMPI_")}
        others = [s for s in self.symbols if s not in wanted and not s.startswith("weft_")]
        self.assertEqual(others, [])
        self.assertLessEqual(set(self.symbols.values()), {"T", "W"}, "data is exported")

    def test_soname(self):
        out = subprocess.run(["readelf", "-d", library()], capture_output=True, text=True).stdout
        self.assertIn("[libmpi_abi.so.1]", out)


if __name__ == "__main__":
    unittest.main()
