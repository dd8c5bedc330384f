#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds mpi4py from its PyPI source with weft's mpicc (once per build directory) and runs its own test suite, each module
in a job of its own: the modules and numbers of processes of QUICK, or with --full all modules on 1, 2 and 4 processes.

With --nodes 2 its jobs are on so many pretended nodes: the modules of ACROSS, or with --full all of them, on 2 and 4 processes.

With --foreign mpi4py is built with the mpicc_abi of the mpich wheel instead, and that build runs on weft through
LD_LIBRARY_PATH. Without PyPI nothing is tested (exit code 77)."""
import argparse
import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

VERSION, MPICH_VERSION = "4.1.2", "5.0.2"
SKIP = 77
# Number of processes: patterns of modules. Alone what needs no partner; with partners what differs then.
QUICK = {1: ["attributes", "cco_buf", "comm", "datatype", "doc", "environ", "err", "exc", "grequest", "group", "handle", "info",
             "mpiabi", "msgspec", "objmodel", "op", "package", "pickle", "rma", "session", "spawn", "status", "subclass", "util_pool", "win"],
         2: ["cco_nb_buf", "cco_ngh_buf", "cco_pr_vec", "dynproc", "p2p", "request", "rma$", "spawn", "threads", "ulfm", "win"],
         4: ["cco_buf", "cco_ngh_obj", "cco_obj", "cco_vec_inter", "comm_", "msgzero", "p2p_buf_matched", "p2p_obj$", "util_pkl5", "win"]}
# The same over several nodes, what goes through the network.
ACROSS = {2: ["p2p_buf$", "cco_nb_buf", "cco_ngh_buf", "threads"], 4: ["cco_buf$", "cco_vec$", "comm$", "p2p_obj$"]}
# What weft does not have yet: whole modules, and tests of others. mpi4py itself skips more where it notices.
NO_MODULE = {"file": "files", "io": "files"}
NO_TEST = {"test_objmodel.*.testSafeFreeCreated": "files"}
# What MPI forbids (MPI-5.0, 6.12): an allreduce, which stands in for MPIX_Comm_iagree, and a barrier are begun in another order on
# each rank. weft says so if a rank waits long enough to look.
ERRONEOUS = ("test_ulfm.*.testIAgree",)
# What presumes one node: MPI_Win_shared_query of MPI_PROC_NULL finds memory of another node's rank 0.
ON_ONE_NODE = ("test_win.*.testSharedQuery",)
STARTED_BY_US = ("datatype", "errhandler", "exceptions", "subclass")  # why: see suite.py


def run(command, timeout, **options):
    """(exit code, output); the code is None if it took longer than timeout seconds."""
    words = [str(word) for word in command]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options) as job:
        try:
            text = job.communicate(timeout=timeout)[0]
            return job.returncode, text
        except subprocess.TimeoutExpired:
            job.terminate()  # mpiexec ends its ranks
            return None, job.communicate()[0]


def build(folder, mpicc, packages=()):
    """(python, source) of an mpi4py built with mpicc; None when PyPI cannot be reached."""
    python, stamp, source = folder / "venv" / "bin" / "python", folder / f"built-{VERSION}", folder / f"mpi4py-{VERSION}"
    if stamp.exists():
        return python, source
    begin = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    run([sys.executable, "-m", "venv", folder / "venv"], 300)
    pip = [python, "-m", "pip", "-q", "--disable-pip-version-check"]
    steps = ["install", "setuptools", "wheel", "numpy", "cython", *packages], [
        "download", "--no-deps", "--no-binary", "mpi4py", "--no-build-isolation", "-d", folder, f"mpi4py=={VERSION}"]
    for step in steps:
        code, text = run([*pip, *step], 600)
        if code != 0:
            print(text[-2000:])
            return None
    with tarfile.open(next(folder.glob("mpi4py-*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    env = dict(os.environ, MPICC=str(mpicc), CFLAGS="-O0 -g0")
    code, text = run([*pip, "install", "--no-build-isolation", "--no-deps", source], 1200, env=env)
    if code != 0:
        sys.exit(f"mpi4py does not build with {mpicc}\n{text[-6000:]}")
    stamp.write_text(f"built in {time.monotonic() - begin:.0f} s\n")
    return python, source


class Suite:
    """mpi4py's test suite under one launcher; says what passed and counts it."""

    def __init__(self, launch, python, source, env, timeout, left_out):
        self.launch, self.python, self.test, self.env, self.timeout = launch, python, source / "test", env, timeout
        self.without = [word for pattern in left_out for word in ("-x", pattern)]
        self.modules = sorted(file.stem[len("test_"):] for file in self.test.glob("test_*.py"))
        self.jobs = self.failed = 0

    def job(self, title, n, words, passed):
        begin = time.monotonic()
        code, text = run([*self.launch, "-n", n, self.python, *words], self.timeout, env=self.env, cwd=self.test)
        verdict = passed(text) if code == 0 else ""
        self.jobs += 1
        self.failed += not verdict
        why = "" if verdict else f"exit code {code}\n{text[-4000:]}" if code is not None else f"still running after {self.timeout} s\n{text[-4000:]}"
        print(f"{'pass' if verdict else 'FAIL'} {title} on {n} processes ({time.monotonic() - begin:.1f} s): {verdict}{why}", flush=True)

    def hello(self, n):
        self.job("hello", n, ["-m", "mpi4py.bench", "helloworld"],
                 lambda text: "every rank" if len(re.findall("^Hello, World!", text, re.M)) == n else "")

    def module(self, name, n):
        def passed(text):
            ran = set(re.findall(r"^Ran (\d+) test", text, re.M))
            oks = re.findall(r"^OK(?: \((.*)\))?$", text, re.M)
            if len(oks) != n or ran & {"0"}:
                return ""
            return f"{'/'.join(sorted(ran))} tests {'/'.join(sorted(set(oks) - {''}))}"
        start = [Path(__file__).with_name("suite.py")] if name in STARTED_BY_US else []
        # Stop at the first failure: its rank leaves the others alone in their collective calls.
        self.job(name, n, [*start, self.test / "main.py", "--failfast", *self.without, "-i", rf"test_{name}\.py$"], passed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--mpicc", required=True)
    parser.add_argument("--libdir", required=True, help="folder of libmpi_abi.so.1")
    parser.add_argument("--folder", type=Path, required=True, help="where the builds are kept")
    parser.add_argument("--foreign", action="store_true", help="build with MPICH's mpicc_abi, run on weft")
    parser.add_argument("--full", action="store_true", help="all modules on 1, 2 and 4 processes")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="this machine pretends to be so many nodes")
    parser.add_argument("--ranks", help="these numbers of processes, as in 1,2,4")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one module")
    parser.add_argument("modules", nargs="*", help="patterns of modules instead of the usual ones")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.foreign:
        folder /= "foreign"
        built = build(folder, folder / "venv" / "bin" / "mpicc_abi", [f"mpich=={MPICH_VERSION}"])
    else:
        built = build(folder, Path(options.mpicc).resolve())
    if not built:
        print("skipped: PyPI cannot be reached, so there is no mpi4py to test with")
        return SKIP
    python, source = built
    env = dict(os.environ, LD_LIBRARY_PATH=str(Path(options.libdir).resolve()), PYTHONUNBUFFERED="1", WEFT_SPAWN_NAMES="job")
    text = run([python, "-c", "import mpi4py.MPI as m; print(m.Get_library_version())"], 60, env=env)[1]
    if not text.startswith("weft"):
        sys.exit(f"mpi4py does not run on weft but on {text}")
    launch = [Path(options.mpiexec).resolve(), "--ranks=process", *([f"--pretend-nodes={options.nodes}"] if options.nodes > 1 else [])]
    suite = Suite(launch, python, source, env, options.timeout, [*NO_TEST, *ERRONEOUS, *(ON_ONE_NODE if options.nodes > 1 else ())])
    usual = QUICK if options.nodes == 1 else ACROSS
    wanted = {n: [""] for n in (1, 2, 4) if n >= options.nodes} if options.full else usual
    if options.modules or options.ranks:
        ranks = [int(n) for n in (options.ranks or "1,2,4").split(",")]
        wanted = {n: options.modules or wanted.get(n, [""]) for n in ranks}
    for n, patterns in wanted.items():
        suite.hello(n)
        for name in suite.modules:
            if name not in NO_MODULE and any(re.match(pattern, name) for pattern in patterns):
                suite.module(name, n)
    print(f"{suite.jobs - suite.failed} of {suite.jobs} jobs passed; left out as weft lacks them: "
          + ", ".join(sorted({*NO_MODULE.values(), *NO_TEST.values()})))
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
