# SPDX-License-Identifier: Apache-2.0
"""Every function of the table, called before MPI_Init: one that is not implemented says just that, and one that needs
MPI_Init asks for it. Each is called in a child process, because the initial error handler ends the process."""

import ctypes
import os
import unittest

from common import ROOT, library
from spec import Spec


def call_in_child(function):
    """What a call with null arguments writes to stderr, or its error string; and the exit status, 0 if it returned."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 2)
        mpi = ctypes.CDLL(str(library()))
        code = mpi[function](*[ctypes.c_void_p(0)] * 16)
        text, length = ctypes.create_string_buffer(4096), ctypes.c_int()
        mpi.MPI_Error_string(code, text, ctypes.byref(length))
        os.write(2, text.value)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, errors="replace") as f:
        text = f.read()
    return text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Early(unittest.TestCase):
    def setUp(self):
        self.functions = [f for c in Spec(ROOT / "spec").chapters for f in c.functions]

    def test_not_implemented(self):
        names = [name for f in self.functions if not f.works for name, _ in f.forms()]
        for name in names:
            text, status = call_in_child("MPI_" + name)
            self.assertIn(f"MPI_{name} is not implemented in this version of weft", text, name)
            self.assertNotIn("call MPI_Init", text, name)
            self.assertGreaterEqual(status, 0, f"{name} crashed: {text}")

    def test_needs_init(self):
        for name in ("Send", "Comm_rank", "Barrier", "Type_commit", "Finalize"):
            text, status = call_in_child("MPI_" + name)
            self.assertIn(f"MPI_{name}", text)
            self.assertIn("called before MPI_Init; call MPI_Init or MPI_Init_thread first", text)
            self.assertGreater(status, 0, name)


if __name__ == "__main__":
    unittest.main()
