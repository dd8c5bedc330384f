# SPDX-License-Identifier: Apache-2.0
"""libmpi_abi exports every function of the table twice (PMPI_X, and MPI_X as a weak alias), and no
data; its soname is that of the standard ABI."""

import re
import subprocess
import unittest

from common import ROOT, exported, library
from spec import Spec


class Exports(unittest.TestCase):
    def setUp(self):
        versions = "A"  # their names are symbols, too
        self.symbols = {s: kind for s, kind in exported(library()).items() if kind != versions}
        self.names = Spec(ROOT / "spec").entry_points()

    def test_every_function(self):
        self.assertEqual(len(self.names), 664)
        for name in self.names:
            self.assertEqual(self.symbols.get("PMPI_" + name), "T", name)
            self.assertEqual(self.symbols.get("MPI_" + name), "W", name)

    def test_nothing_else(self):
        wanted = {p + n for n in self.names for p in ("MPI_", "PMPI_")}
        wanted |= {"WEFT_Idle_threads", "ompt_start_tool"}
        header = (ROOT / "include/weft/channel.h").read_text()
        wanted |= set(re.findall(r"^int (WEFT_Channel_\w+)\(", header, re.M))
        others = [s for s in self.symbols
                  if s not in wanted and not s.startswith(("weft_host_", "GOMP_"))]
        self.assertEqual(others, [])
        self.assertLessEqual(set(self.symbols.values()), {"T", "W"}, "data is exported")

    def test_libgomps_entry_points_are_hidden_versions(self):
        """Else the linker would take them for libgomp's, and leave libgomp out."""
        out = subprocess.run(["nm", "-D", "--defined-only", library()], capture_output=True, text=True).stdout
        found = [line.split()[-1] for line in out.splitlines() if " T GOMP_" in line]
        self.assertIn("GOMP_parallel@GOMP_4.0", found)
        self.assertEqual([name for name in found if not re.fullmatch(r"GOMP_[a-z_]+@GOMP_[\d.]+", name)], [])

    def test_soname(self):
        out = subprocess.run(["readelf", "-d", library()], capture_output=True, text=True).stdout
        self.assertIn("[libmpi_abi.so.1]", out)


if __name__ == "__main__":
    unittest.main()
