# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries to compare: weft (both rank modes) and the peers that are installed.

A library is a name, how to start a job and in which environment. Libraries with the standard ABI
(weft, MPICH, Intel MPI) run the very same binary: LD_LIBRARY_PATH decides. Open MPI 5 has no
standard ABI, so it gets a binary of its own from the same source.
"""
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Library:
    name: str
    version: str
    launch: object  # (ranks, fits) -> words before the program; fits: a core for every rank
    env: dict = field(default_factory=dict)
    own_compiler: list = None  # None: runs the common standard-ABI binary
    abi_compiler: list = None  # can compile the common binary

    def command(self, ranks, program, pinned=True):
        """pinned: a core for every rank, where there are as many."""
        fits = pinned and ranks <= len(os.sched_getaffinity(0))
        return [str(word) for word in self.launch(ranks, fits)] + [str(program)]

    def environment(self):
        hidden = ("LD_LIBRARY_PATH", "WEFT_JOB", "PMI_FD", "PMI_RANK")
        env = {key: value for key, value in os.environ.items() if key not in hidden}
        return {**env, **{key: str(value) for key, value in self.env.items()}}


def weft(prefix):
    """weft from a build tree or an installed tree, as two libraries; none if it is not there."""
    prefix = Path(prefix).resolve()
    mpiexec = prefix / "bin/mpiexec"
    libraries = sorted(prefix.glob("lib*/libmpi_abi.so.1")) + \
        sorted(prefix.glob("lib/*/libmpi_abi.so.1"))
    if not mpiexec.exists() or not libraries:
        return []

    def launcher(mode):
        return lambda ranks, fits: [mpiexec, f"--ranks={mode}", "-n", ranks]

    env = {"LD_LIBRARY_PATH": libraries[0].parent}
    return [Library(f"weft-{mode}", revision(), launcher(mode), env,
                    abi_compiler=[prefix / "bin/mpicc"]) for mode in ("process", "thread")]


def revision():
    """The commit of this source tree, with + if it has changes; or weft's version."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True).stdout
    commit = git("rev-parse", "--short=10", "HEAD").strip()
    return (commit + ("+" if git("status", "--porcelain", "-uno") else "")) or "installed"


def peers(folder):
    """The peers that bench/peers installed in `folder`."""
    folder = Path(folder).resolve()
    found = []

    def add(name, package, launch, env, **more):
        pip = folder / name / "bin/pip"
        if not (folder / name / ".complete").exists():
            return
        shown = subprocess.run([pip, "show", package], capture_output=True, text=True).stdout
        version = next((line.split()[1] for line in shown.splitlines()
                        if line.startswith("Version:")), "unknown")
        found.append(Library(name, version, launch, env, **more))

    at = folder / "mpich"
    add("mpich", "mpich",
        lambda ranks, fits: [folder / "mpich/bin/mpiexec",
                             *(["-bind-to", "core"] if fits else []), "-n", ranks],
        {"LD_LIBRARY_PATH": at / "lib"}, abi_compiler=[at / "bin/mpicc_abi"])
    add("openmpi", "openmpi",
        lambda ranks, fits: [folder / "openmpi/bin/mpiexec", "--oversubscribe", "--bind-to",
                             "core" if fits else "none", "-n", ranks],
        {"OMPI_ALLOW_RUN_AS_ROOT": 1, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1},
        own_compiler=[folder / "openmpi/bin/mpicc"])
    add("impi", "impi-rt",
        lambda ranks, fits: [folder / "impi/bin/mpiexec", "-n", ranks],
        {"I_MPI_ROOT": folder / "impi", "I_MPI_FABRICS": "shm",
         "LD_LIBRARY_PATH": folder / "impi/lib"})
    return found


def build(libraries, source, out, options=("-O2",)):
    """Compile `source` for all of them; {library name: program}. Once for the standard ABI."""
    out.mkdir(parents=True, exist_ok=True)
    programs = {}
    common = None
    for library in libraries:
        compiler = library.own_compiler
        if compiler is None:
            if common is None:
                compiler = next(lib.abi_compiler for lib in libraries if lib.abi_compiler)
                common = compile_with(compiler, source, out / f"{source.parent.name}-{source.stem}-abi", options)
            programs[library.name] = common
        else:
            programs[library.name] = compile_with(compiler, source,
                                                  out / f"{source.parent.name}-{source.stem}-{library.name}",
                                                  options)
    return programs


def compile_with(compiler, source, program, options):
    subprocess.run([*compiler, source, "-o", program, *options], check=True)
    return program
