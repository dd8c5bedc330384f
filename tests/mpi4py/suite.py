# SPDX-License-Identifier: Apache-2.0
"""Starts mpi4py's test/main.py (the first argument) with its arguments.

Some of mpi4py's test modules make a session or open a file when they are loaded, and take NotImplementedError for a
library that has none. What weft lacks raises MPI_ERR_UNSUPPORTED_OPERATION, so it is translated for these modules; once
it is there, nothing is translated and its tests run.

pickle looks for the module of a constant such as MPI.INT in all modules, in the order in which they were loaded: 40 s in
test_datatype. mpi4py's is put first here."""
import runpy
import sys
from pathlib import Path

from mpi4py import MPI

PROBES = {
    ("Session", "Init"): lambda: MPI.Session.Init().Finalize(),
    ("File", "Open"): lambda: MPI.File.Open(MPI.COMM_SELF, "/dev/null").Close(),
}


def lacks(probe):
    try:
        probe()
    except MPI.Exception as error:
        return error.Get_error_class() == MPI.ERR_UNSUPPORTED_OPERATION
    return False


def refuse(*_args, **_words):
    raise NotImplementedError


for (kind, maker), probe in PROBES.items():
    if lacks(probe):
        setattr(MPI, kind, type(kind, (getattr(MPI, kind),), {maker: staticmethod(refuse)}))

others = dict(sys.modules)
sys.modules.clear()
sys.modules.update({"mpi4py.MPI": MPI, **others})

sys.argv = sys.argv[1:]
sys.path[0] = str(Path(sys.argv[0]).parent)
runpy.run_path(sys.argv[0], run_name="__main__")
