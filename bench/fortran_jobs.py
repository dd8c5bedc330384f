# SPDX-License-Identifier: Apache-2.0
"""What `weft bench fortran` runs: the same loops in C, with mpi_f08 and with mpif.h, on weft and on MPICH and Open MPI of
Debian's packages (bench/debian_peers), whose Fortran interfaces are compiled with the libraries."""
import dataclasses
import subprocess
from pathlib import Path

import jobs as job_lists
import libraries

OPERATIONS = ("null", "pingpong", "allreduce", "section")
ROWS = tuple(f"{name}_{way}" for name in OPERATIONS for way in (("c", "made", "f08") if name == "section" else ("c", "f08", "mpif")))


def choose(args):
    """weft, and what bench/debian_peers made: each has mpicc, mpifort and mpiexec of its own."""
    found = [dataclasses.replace(library, own_compiler=library.abi_compiler) for library in libraries.weft(args.weft)]
    for folder in sorted(Path(args.peers).resolve().glob("debian-*")):
        version = (folder / "version").read_text().strip()
        found.append(libraries.Library(folder.name, version, lambda ranks, fits, at=folder: [at / "mpiexec", "-n", ranks],
                                       own_compiler=[folder / "mpicc"]))
    return found


def build(library, work, here):
    """main.c by the library's mpicc, calls.f90 by its mpifort."""
    mpicc = Path(library.own_compiler[0])
    mpifort, name = mpicc.parent / "mpifort", "weft" if library.name.startswith("weft") else library.name
    program = work / f"fortran-{name}"
    folder = work / f"fortran-{name}.mod"
    folder.mkdir(exist_ok=True)
    for compiler, source in ((mpicc, "main.c"), (mpifort, "calls.f90")):
        extra = ["-fallow-argument-mismatch"] if source == "calls.f90" and "gfortran" in command_of(mpifort) else []
        subprocess.run([compiler, "-O2", *extra, "-c", here / "fortran" / source, "-o", folder / f"{source}.o"], check=True, cwd=folder)
    subprocess.run([mpifort, folder / "main.c.o", folder / "calls.f90.o", "-o", program], check=True)
    return program


def command_of(mpifort):
    return subprocess.run([mpifort, "--version"], capture_output=True, text=True).stdout.replace("GNU Fortran", "gfortran")


def plan(args, libs, work, here):
    return [job_lists.Job(library.name, library, ranks, build(library, work, here), args.rows) for library in libs
            for ranks in (1, 2)]
