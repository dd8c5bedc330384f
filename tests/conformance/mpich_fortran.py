# SPDX-License-Identifier: Apache-2.0
"""What mpich_suite.py needs for the Fortran part of MPICH's suite (f77, f90, f08): its sources are made ready in a copy,
as the suite's own autogen.sh and configure would, and compiled with mpifort."""
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from mpich_suite import CONFIG, call_words, read_lines

# What configure finds out. io is left out: its programs are made from templates by a script for each.
SUBSTITUTES = {"F77_MPI_ADDRESS": "integer*8", "F77_MPI_OFFSET": "integer*8", "ALLOCMEMF": "allocmemf 1", "ALLOCMEMF90": "allocmemf90 1"}
PARTS = {"f77": ("f", "mtest_f77.f"), "f90": ("f90", "mtest_f90.f90"), "f08": ("f90", "mtest_f08.f90")}
FOLDERS = [f"{part}/{leaf}" for part in PARTS for leaf in ("attr", "coll", "comm", "datatype", "ext", "info", "init", "misc", "profile", "pt2pt",
                                                           "rma", "spawn", "subarray", "timer", "topo")]


def prepared(source, folder):
    """A copy of the suite in which f90 is made from f77, and the headers that configure would write are there."""
    out = folder / "suite"
    if (out / "ready").exists():
        return out
    shutil.rmtree(out, ignore_errors=True)
    for name in (*PARTS, "util", "include", "maint"):
        shutil.copytree(source / name, out / name)
    for leaf in sorted(path for path in (out / "f77").iterdir() if path.is_dir() and path.name != "io"):
        (out / "f90" / leaf.name).mkdir(exist_ok=True)
        if subprocess.run(["perl", "maint/f77tof90", f"f77/{leaf.name}", f"f90/{leaf.name}", "Makefile.am", "Makefile.ap"], cwd=out,
                          capture_output=True).returncode:
            sys.exit(f"the suite's maint/f77tof90 failed for {leaf.name}")
    for path in out.rglob("*.in"):
        path.with_suffix("").write_text(re.sub(r"@(\w+)@", lambda m: SUBSTITUTES.get(m[1], ""), path.read_text()))
        path.unlink()
    for name in ("c2f902c.c", "ctypesfromc.c"):  # f08 takes them from f90
        shutil.copy(out / "f90" / "ext" / name, out / "f08" / "ext" / name)
    shutil.copy(out / "f90" / "rma" / "c2f902cwin.c", out / "f08" / "rma" / "c2f902cwin.c")
    (out / "include" / "mpitestconf.h").write_text(CONFIG + "#define F77_NAME_LOWER_USCORE 1\n#define HAVE_MPI_F08 1\n")
    (out / "ready").touch()
    return out


class FortranBuilder:
    """Compiles the helpers of each part and each program on demand."""

    def __init__(self, source, folder, mpicc, mpifort, flags):
        self.source, self.folder, self.mpicc, self.mpifort, self.lock = source, folder, mpicc, mpifort, threading.Lock()
        (folder / "x").mkdir(parents=True, exist_ok=True)
        (folder / "mtest_mpix.h").write_text("")
        self.flags = flags
        self.c = ["-w", "-O1", "-g", f"-I{folder}", f"-I{source}/include"]

    def compile(self, path, out, modules):
        if path.suffix == ".c":
            return call_words([self.mpicc, *self.c, "-c", path, "-o", out])
        return call_words([self.mpifort, *self.flags, "-w", "-O1", "-g", f"-I{path.parent}", f"-I{self.source}/f77/attr", "-c", path, "-o", out], modules)

    def program(self, line):
        with self.lock:  # both modes ask for the same one
            return self.link(line, self.folder / "bin" / line.folder / line.name)

    def link(self, line, out):
        if out.exists():
            return out, ""
        part = line.folder.split("/")[0]
        suffix, helper = PARTS[part]
        rules = "\n".join(path.read_text() for path in (self.source / line.folder).glob("Makefile.a[mp]")).replace("\\\n", " ")
        named = re.search(rf"^{line.name}_SOURCES\s*=(.*)$", rules, re.M)
        sources = [self.source / line.folder / name for name in (named[1].split() if named else [f"{line.name}.{suffix}"])]
        in_c = all(path.suffix == ".c" for path in sources)
        if in_c:
            sources += [self.source / "util" / name for name in ("mtest.c", "mtest_common.c", "mtest_single.c")]
        else:
            # Modules first: a program's main is the first source that it names.
            sources = [self.source / "util" / helper] + sources[1:] + sources[:1]
        modules = out.with_suffix(".mod")  # programs have modules of the same names
        modules.mkdir(parents=True, exist_ok=True)
        objects = []
        for path in sources:
            objects.append(modules / (path.name + ".o"))
            done = self.compile(path, objects[-1], modules)
            if done.returncode:
                return None, done.stderr[:1500]
        done = call_words([self.mpicc if in_c else self.mpifort, *objects, "-o", f"{out}.new", "-lm", "-lpthread"])
        if done.returncode:
            return None, done.stderr[:1500]
        Path(f"{out}.new").rename(out)
        return out, ""


def lines(source):
    return read_lines(source, FOLDERS)
