# SPDX-License-Identifier: Apache-2.0
"""mpi.h and libmpi_abi against the standard's own data (pympistandard) and against another
implementation's header and library of the standard ABI."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from common import HEADER, SKIP, exported, library, prototypes, references

VENV = references()
OTHER_HEADER = VENV / "include" / "mpi_abi.h"
OTHER_LIBRARY = VENV / "lib" / "libmpi_abi.so.1"

# The errata of MPI-4.0 give these an int count and a _c form; neither reference follows them yet.
ERRATA = {"MPI_Psend_init", "MPI_Precv_init", "PMPI_Psend_init", "PMPI_Precv_init"}
ERRATA_NEW = {name + "_c" for name in ERRATA}
# pympistandard writes char argv[] for char *argv[], and TeX's \ldots for "...".
MISPRINTED = {"MPI_Info_create_env", "MPI_Pcontrol"}

# The functions that use MPI_Fint are not part of the ABI.
FORTRAN = r"_(c2f|f2c|c2f08|f082c|f082f|f2f08)$"

DUMP = """
import pympistandard as p
p.use_api_version(1, force_bundled=True)
for f in p.all_iso_c_procedures():
    print(f"{f.express.iso_c};")
    if f.has_embiggenment():
        print(f"{f.express.embiggen.iso_c};")
"""


def constants(text):
    """Names of a header's constants: macros with a value and enumerators."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    names = set(re.findall(r"^#define[ ]+(MPI_\w+)[ ]+\S", text, re.M))
    for body in re.findall(r"enum[^{;]*\{(.*?)\}", text, re.S):
        names |= set(re.findall(r"\b(MPI_\w+)\s*=", body))
    return names - {"MPI_ABI_Aint", "MPI_ABI_Offset", "MPI_ABI_Count"}


def values(header, names):
    """{constant: (value, size)} as a compiled C program sees them."""
    prints = "".join(f'printf("{n} %lld %zu\\n", (long long)({n}), sizeof({n}));' for n in names)
    source = f"#include <stdio.h>\n#include \"{header}\"\nint main(void) {{ {prints} return 0; }}"
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/constants"
        subprocess.run([os.environ.get("CC", "cc"), "-w", "-x", "c", "-", "-o", program],
                       input=source, text=True, check=True)
        out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {line.split()[0]: tuple(line.split()[1:]) for line in out.splitlines()}


class Standard(unittest.TestCase):
    maxDiff = None

    def test_prototypes_of_the_standard(self):
        ours = prototypes(HEADER.read_text())
        dump = subprocess.run([VENV / "bin" / "python", "-c", DUMP], capture_output=True, text=True,
                              check=True).stdout
        theirs = {n: p for n, p in prototypes(dump).items() if not re.search(FORTRAN, n)}
        mine = {n: p for n, p in ours.items() if n.startswith("MPI_")}
        skip = ERRATA | MISPRINTED
        self.assertEqual(set(theirs) - skip, set(mine) - skip - ERRATA_NEW)
        for name in sorted(set(theirs) - skip):
            self.assertEqual(mine[name], theirs[name], name)

    def test_prototypes_of_another_library(self):
        ours, theirs = (prototypes(h.read_text()) for h in (HEADER, OTHER_HEADER))
        self.assertEqual(set(ours) - set(theirs), ERRATA_NEW)
        self.assertEqual(set(theirs) - set(ours), set())
        for name in sorted(set(theirs) - ERRATA):
            self.assertEqual(ours[name], theirs[name], name)

    def test_constants_of_another_library(self):
        ours, theirs = (constants(h.read_text()) for h in (HEADER, OTHER_HEADER))
        self.assertEqual(ours, theirs)
        self.assertGreater(len(ours), 350)
        self.assertEqual(values(HEADER, sorted(ours)), values(OTHER_HEADER, sorted(theirs)))

    def test_symbols_of_another_library(self):
        declared = set(prototypes(OTHER_HEADER.read_text()))
        theirs = {s for s in exported(OTHER_LIBRARY) if s in declared}
        self.assertGreater(len(theirs), 1300)
        self.assertEqual(theirs - set(exported(library())), set())


if __name__ == "__main__":
    if not OTHER_LIBRARY.exists():
        print(f"skipped: the reference library is not at {OTHER_LIBRARY}")
        sys.exit(SKIP)
    unittest.main()
