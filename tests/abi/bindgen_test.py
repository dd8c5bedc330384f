# SPDX-License-Identifier: Apache-2.0
"""bindgen on a small standard of its own: tables in, declarations and stubs out."""

import pathlib
import re
import tempfile
import unittest

from common import ROOT
from coverage import BEGIN, END, coverage_md, readme
from header import mpi_h
from spec import Spec, SpecError
from stubs import Stub, stub_files

KINDS = """
int:
  RANK DEST TAG ERROR_CODE ROOT LOGICAL
MPI_Comm:
  COMMUNICATOR
MPI_Datatype:
  DATATYPE
void*:
  BUFFER
double:
  WALL_TIME
int / MPI_Count:
  POLYXFER_NUM_ELEM_NNI
function*:
  FUNCTION
"""
FUNCTIONS = """
chapter 3 pt2pt Talk
Send +c
  const BUFFER buf, POLYXFER_NUM_ELEM_NNI count, DATATYPE datatype,
  DEST dest, TAG tag, COMMUNICATOR comm
Rank deprecated 2.0
  COMMUNICATOR comm, out RANK rank
Clock -> WALL_TIME
Gather
  const BUFFER sendbuf, POLYXFER_NUM_ELEM_NNI n, DATATYPE type, ROOT root, COMMUNICATOR comm
"""
CONSTANTS = """
group enum Errors
MPI_SUCCESS 0
MPI_ERR_X 1  # worst
group cast:MPI_Comm Communicators
MPI_COMM_NULL 0x100
MPI_COMM_OTHER = MPI_COMM_NULL
"""
OVERLAY = """
[Send]
call = "pt2pt::send({buf, count, &datatype}, dest, tag, comm)"
checks = ["check::more(comm.size(), $comm)"]
[Clock]
body = "return now();"
"""


def small(overlay=OVERLAY, functions=FUNCTIONS):
    """A Spec of the tables above."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kinds.txt").write_text(KINDS)
        (folder / "functions.txt").write_text(functions.replace("Gather\n", "Gather +c\n"))
        (folder / "constants.txt").write_text(CONSTANTS)
        (folder / "types.txt").write_text("handle MPI_Comm MPI_ABI_Comm\n")
        (folder / "overlay.toml").write_text(overlay)
        return Spec(folder)


class Reading(unittest.TestCase):
    def test_functions(self):
        spec = small()
        self.assertEqual(spec.entry_points(),
                         ["Send", "Send_c", "Rank", "Clock", "Gather", "Gather_c"])
        send = spec.functions["Send"]
        self.assertEqual(send.c_params(False), "const void *buf, int count, MPI_Datatype datatype, "
                         "int dest, int tag, MPI_Comm comm")
        self.assertIn("MPI_Count count", send.c_params(True))
        self.assertEqual(spec.functions["Rank"].c_params(False), "MPI_Comm comm, int *rank")
        self.assertEqual(spec.functions["Rank"].deprecated, "2.0")
        self.assertEqual(spec.functions["Clock"].c_params(False), "void")

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(SpecError, "Sende is no function"):
            small("[Sende]\ncall = 'x'\n")
        with self.assertRaisesRegex(SpecError, "NOKIND comm"):
            small(functions=FUNCTIONS.replace("COMMUNICATOR comm, out", "NOKIND comm, out"))
        with self.assertRaisesRegex(SpecError, "Send: '\\+c' does not agree"):
            small(functions=FUNCTIONS.replace("Send +c", "Send"))


class Writing(unittest.TestCase):
    def test_header(self):
        text = mpi_h(small())
        self.assertIn("typedef struct MPI_ABI_Comm* MPI_Comm;", text)
        self.assertIn("#define MPI_COMM_NULL ((MPI_Comm)0x100)", text)
        self.assertIn("#define MPI_COMM_OTHER MPI_COMM_NULL", text)
        self.assertIn("  MPI_SUCCESS = 0,\n  MPI_ERR_X = 1 /* worst */\n};", text)
        self.assertIn("double PMPI_Clock(void);", text)
        self.assertIn("int MPI_Rank(MPI_Comm comm, int *rank); /* deprecated in MPI-2.0 */", text)

    def stub(self, name, large=False):
        f = small().functions[name]
        return Stub(f, name + ("_c" if large else ""), large, {}).text()

    def test_stub(self):
        text = self.stub("Send", large=True)
        lines = [line.strip() for line in text.splitlines()]
        self.assertIn("Entry entry(Fn::Send_c, comm, tag);", lines)
        self.assertIn("object::Comm* comm_p = entry.comm(comm);", lines)
        self.assertIn('if (!e) e = check::comm(comm_p, comm, "comm");', lines)
        self.assertIn('if (!e) e = check::buffer(buf, count, datatype_p, datatype, '
                      '"buf, count, datatype");', lines)
        self.assertIn('if (!e) e = check::dest(dest, *comm_p, "dest");', lines)
        self.assertIn("if (!e) e = check::more(comm_p->size(), comm);", lines)
        self.assertIn("if (!e) e = pt2pt::send({buf, count, datatype_p}, dest, tag, *comm_p);", lines)
        self.assertIn("return e ? entry.raise(comm_p, e) : MPI_SUCCESS;", lines)
        self.assertLess(lines.index('if (!e) e = check::comm(comm_p, comm, "comm");'),
                        lines.index('if (!e) e = check::dest(dest, *comm_p, "dest");'))

    def test_not_yet(self):
        self.assertIn("return not_yet(Fn::Rank, comm);", self.stub("Rank"))

    def test_body(self):
        text = self.stub("Clock")
        self.assertIn("return now();", text)
        self.assertNotIn("Entry", text)

    def test_both_names(self):
        text = self.stub("Clock")
        self.assertIn('extern "C" double PMPI_Clock(void) {', text)
        self.assertIn('[[gnu::weak, gnu::alias("PMPI_Clock")]] decltype(PMPI_Clock) MPI_Clock;', text)

    def test_lines_fit(self):
        for name, text in stub_files(Spec(ROOT / "spec")).items():
            if name.endswith(".cc"):
                self.assertLessEqual(max(map(len, text.splitlines())), 104, name)

    def test_coverage(self):
        spec = small()
        self.assertIn("| 3 | Talk | 3 | 3 |", coverage_md(spec))
        text = readme(f"a\n{BEGIN}\nold\n{END}\nb", spec)
        self.assertIn("| 3 | Talk | 3 | 3 |", text)
        self.assertNotIn("old", text)
        self.assertEqual(readme("no table", spec), "no table")

    def test_what_a_chapter_wants_beside_functions(self):
        """A language that is missing is not hidden behind the functions that work."""
        spec = small()
        spec.defaults["pt2pt"] = {"missing": ["Esperanto (talk.eo)"]}
        self.assertIn("| 3 | Talk | 3 | 3 |\n| 3 | Talk: **Esperanto (talk.eo)** | **none** | **all** |\n", coverage_md(spec))
        self.assertIn("Missing: **Esperanto (talk.eo)**", coverage_md(spec))

    def test_coverage_says_how_much_fortran_has(self):
        self.assertIn("Fortran (`mpif.h`, `mpi`, `mpi_f08`) has 430 of these", (ROOT / "docs/coverage.md").read_text())


class Rules(unittest.TestCase):
    def test_no_function_is_special_here(self):
        """What is special about a function belongs in spec/overlay.toml."""
        names = set(Spec(ROOT / "spec").functions)
        for path in (ROOT / "tools" / "bindgen").glob("*.py"):
            text = path.read_text()
            self.assertIsNone(re.search(r"(?<!kind\.)\bname ==", text), path)
            words = set(re.findall(r'"(?:P?MPI_)?(\w+)"', text))
            self.assertEqual(words & names, set(), path)

    def test_size(self):
        """Each language's part stays small."""
        parts = {True: 0, False: 0}
        for path in (ROOT / "tools" / "bindgen").glob("*.py"):
            parts["fortran" in path.name] += len(path.read_text().splitlines())
        self.assertLessEqual(max(parts.values()), 820, parts)


if __name__ == "__main__":
    unittest.main()
