# SPDX-License-Identifier: Apache-2.0
"""The Fortran interfaces that bindgen writes against the standard's own data (pympistandard)."""

import re
import subprocess
import sys
import unittest

from common import ROOT, references

import fortran
import fortran_text
from spec import Spec

DUMP = """
import pympistandard as p
p.use_api_version(1, force_bundled=True)
for f in p.PROCEDURES.values():
    for which in ("f08", "f90"):
        for express in (f.express, f.express.embiggen if which == "f08" and f.has_embiggenment() else None):
            try:
                print(f"@{which}\\n{getattr(express, which)}")
            except AttributeError:
                pass
"""

# As in standard_test.py: the errata of MPI-4.0. And what the modules have by hand.
ERRATA = {"psend_init", "precv_init"}
# pympistandard lets MPI use displs after the call returns everywhere but here.
MISPRINTED = {"neighbor_allgatherv_init"}
BY_HAND = {"sizeof", "f_sync_reg", "status_f2f08", "status_f082f"}
# With MPI_ADDRESS_KIND = MPI_COUNT_KIND, as in the ABI, both forms would be one: mpi_f08 has the first.
ONE_FORM = {"type_get_extent", "type_get_true_extent", "type_create_resized", "file_get_type_extent"}


def normal(text):
    """A declaration's type and attributes, in one way of writing."""
    text = re.sub(r"\s", "", text.upper()).replace("CHARACTER*(*)", "CHARACTER(LEN=*)").replace("<TYPE>", "TYPE(*)")
    return re.sub(r"CHARACTER\(LEN=[^)]*\)", "CHARACTER(LEN=*)", text)


def signature(head, lines):
    """(name, ((argument, type, is an array), ...)) of a procedure's text."""
    m = re.match(r"(?:DOUBLE PRECISION |INTEGER\S* )?P?MPI_(\w+)(?:\((.*)\))?", head)
    types = {}
    for line in lines:
        if "::" in line:
            base, names = line.split("!")[0].split("::")
        else:
            base, names = re.match(r"\s*(DOUBLE PRECISION|\S+)\s+(.*)", line).groups()
        if base.strip().startswith("USE"):
            continue
        for name, shape in re.findall(r"(\w+)(\([^()]*(?:\([^()]*\))?[^()]*\))?", names):
            types[name.lower()] = normal(base), bool(shape)
    names = [n.strip().lower() for n in (m[2] or "").split(",") if n.strip()]
    return m[1].lower(), tuple((n, *types[n]) for n in names)


def theirs(interface):
    out = subprocess.run([references() / "bin" / "python", "-c", DUMP], capture_output=True, text=True, check=True).stdout
    found = set()
    for part in out.split("@")[1:]:
        which, _, text = part.partition("\n")
        head, *lines = text.strip().splitlines()
        if which == interface and head != "None":
            found.add(signature(head, lines))
    return found


def ours(f08):
    found = set()
    for p in fortran.procedures(Spec(ROOT / "spec")):
        if not (p.f08 if f08 else p.f77):
            continue
        lines = [fortran_text.declaration(a, p, f08)[0] for a in p.args]
        if p.has_ierror:
            lines.append("INTEGER, OPTIONAL, INTENT(OUT) :: ierror" if f08 else "INTEGER :: ierror")
        names = ", ".join([a.name for a in p.args] + ["ierror"] * p.has_ierror)
        found.add(signature(f"MPI_{p.generic if f08 else p.name}({names})", lines))
    return found


def compared(sets):
    """{name: signatures} without what cannot agree."""
    out = {}
    for name, args in sets:
        if name in ERRATA | BY_HAND | MISPRINTED:
            continue
        args = tuple((n, t.replace(",DIMENSION(..)", "").replace(",DIMENSION(*)", ""), a or "DIMENSION" in t)
                     for n, t, a in args)
        out.setdefault(name, set()).add(args)
    return out


class Fortran(unittest.TestCase):
    maxDiff = 3000

    def same(self, mine, standard):
        self.assertEqual(set(standard) - set(mine), set())
        self.assertEqual(set(mine) - set(standard), set())
        for name, forms in standard.items():
            if name in ONE_FORM and len(forms) == 2:
                self.assertLess(mine[name], forms, name)
            else:
                self.assertEqual(mine[name], forms, name)
        self.assertGreater(len(standard), 400)

    def test_mpi_f08(self):
        self.same(compared(ours(True)), compared(theirs("f08")))

    def test_mpi(self):
        self.same(compared(ours(False)), compared(theirs("f90")))


if __name__ == "__main__":
    references()
    unittest.main()
