#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of MPICH's own test suite (test/mpi of its source tree) on the built weft, as processes and threads.

The suite is not part of this repository: give a checkout with --source (git clone --depth 1 --branch v5.0.1
https://github.com/pmodels/mpich) or in TEST_MPICH_SOURCE. Its configure is not needed: programs are compiled one by one,
each once, against the standard ABI: those in C, or with --fortran those in Fortran. Left out: C++, and what known.txt (next to this file) lists with
its reason. Lines that differ only in another library's variables run once. A test passes as the suite defines it: it ends
with 0 and prints " No Errors" and nothing else, unless its line says that an error is expected.

With --nodes 2 the ranks of a job are in equal rows on so many nodes, which this machine pretends to be, or (--agent) on hosts n1, n2
that the launch agent reaches (scripts/cluster); known.txt then also lists what is about one node, or two (`one-node: reason`, `two-nodes: reason`).

To compare with another library of the standard ABI, run the same programs on it:
  LD_LIBRARY_PATH=<its lib> mpich_suite.py --mpiexec <its mpiexec> --plain-launcher --mpicc <weft's> --folder <the same>
"""
import argparse
import collections
import concurrent.futures
import contextlib
import fcntl
import os
import re
import signal
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ["attr", "coll", "comm", "datatype", "errhan", "errors/attr", "errors/coll", "errors/comm", "errors/datatype", "errors/group",
           "errors/pt2pt", "errors/rma", "errors/session", "errors/spawn", "errors/topo", "group", "info", "init", "mpi_t", "part", "pt2pt", "rma",
           "session", "spawn", "topo", "threads/pt2pt", "threads/comm", "threads/init", "threads/coll", "threads/mpi_t", "threads/part", "threads/rma",
           "threads/spawn"]
NO_END = 124
CONFIG = """
#define HAVE_STDARG_H 1
#define HAVE_UNISTD_H 1
#define HAVE_STRING_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STDINT_H 1
#define HAVE_LIMITS_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_PTHREAD_H 1
#define HAVE_PTHREAD_BARRIER_INIT 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_STRDUP 1
#define HAVE_USLEEP 1
#define HAVE_MEMSET 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_LONG 1
#define HAVE__BOOL 1
#define HAVE_FLOAT__COMPLEX 1
#define HAVE_DOUBLE__COMPLEX 1
#define HAVE_LONG_DOUBLE__COMPLEX 1
#define SIZEOF_VOID_P 8
#define SIZEOF_INT 4
#define SIZEOF_LONG 8
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SHORT 2
#define POINTERINT_t long
#define USE_STRICT_MPI 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define THREAD_PACKAGE_INVALID 0
#define THREAD_PACKAGE_NONE 1
#define THREAD_PACKAGE_POSIX 2
#define THREAD_PACKAGE_WIN 3
#define THREAD_PACKAGE_SOLARIS 4
#define THREAD_PACKAGE_UTI 5
#define THREAD_PACKAGE_ARGOBOTS 6
#define THREAD_PACKAGE_QTHREADS 7
"""


class Line:
    """One line of a testlist: program, ranks, and what else it says."""

    def __init__(self, folder, words):
        self.folder, self.name, self.ranks = folder, re.sub("^@.*@", "", words[0]), int(words[1]) if len(words) > 1 else 2
        self.args, self.env, self.check, self.limit, self.memory = [], {}, "", 180.0, 0.0
        if words[0].startswith("@coll_error@"):  # for libraries that are told to compare calls
            self.env["WEFT_ABI_CHECK"] = "full"
        for word in words[2:]:
            key, _, value = word.partition("=")
            if key == "arg":
                self.args.append(value)
            elif key == "env":
                self.env.update([value.split("=", 1)])
            elif key == "resultTest":
                self.check = value
            elif key == "timeLimit":
                self.limit = float(value)
            elif key == "mem":
                self.memory = float(value)

    def path(self):
        return f"{self.folder}/{self.name}"

    def title(self):
        return " ".join([self.path(), *self.args, f"n={self.ranks}"])

    def same(self):
        return self.title(), *(pair for pair in self.env.items() if not pair[0].startswith("MPIR_"))


def read_known(nodes):
    """known.txt: `folder/name  reason`; the tests that are left out, and why. `one-node: reason`: with several nodes
    only; `two-nodes: reason`: with more than two."""
    known, most = {}, {"one-node": 1, "two-nodes": 2}
    path = HERE / "known.txt"
    for line in path.read_text().splitlines() if path.exists() else []:
        words = line.split("#")[0].split(None, 1)
        if len(words) == 2 and nodes > most.get(words[1].split(":")[0], 0):
            known[words[0]] = words[1]
    return known


def read_lines(source, folders):
    lines = {}
    for path in (source / folder / name for folder in folders for name in ("testlist", "testlist.in")):
        for text in path.read_text().splitlines() if path.exists() else []:
            words = text.split("#")[0].split()
            if len(words) > 1 and words[1].isdigit():
                line = Line(str(path.parent.relative_to(source)), words)
                lines.setdefault(line.same(), line)
    return list(lines.values())


def call_words(words, folder=None):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace", cwd=folder)


@contextlib.contextmanager
def alone_in(folder):
    """One thread of one runner at a time: runs over one, two and three nodes share the programs that they compile."""
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Builder:
    """Compiles the suite's helpers once, into an archive, and each program on demand."""

    def __init__(self, source, folder, mpicc):
        self.source, self.folder, self.mpicc = source, folder, mpicc
        folder.mkdir(parents=True, exist_ok=True)
        with alone_in(folder):
            self.compile_helpers()

    def compile_helpers(self):
        source, folder = self.source, self.folder
        for name, text in (("mpitestconf.h", CONFIG), ("mtest_mpix.h", ""), ("dtpoolsconf.h", CONFIG)):
            if not (folder / name).exists():
                (folder / name).write_text(text)
        (folder / "x").mkdir(exist_ok=True)  # dtpools includes ../dtpoolsconf.h
        self.flags = ["-w", "-O1", "-g", "-std=gnu11", "-pthread", f"-I{folder}", f"-I{folder}/x", f"-I{source}/include", f"-I{source}/dtpools/include"]
        helpers = ("mtest.c", "mtest_common.c", "dtypes.c", "mtest_single.c", "mtest_thread.c", "run_mpitests.c")
        self.objects = [self.compile(source / "util" / name) for name in helpers]
        self.objects += [self.compile(path) for path in sorted((source / "dtpools" / "src").glob("*.c"))]

    def compile(self, path):
        out = self.folder / (path.name + ".o")
        if not out.exists() or out.stat().st_mtime < path.stat().st_mtime:
            done = call_words([self.mpicc, *self.flags, "-c", path, "-o", out])
            if done.returncode:
                sys.exit(f"cannot compile the suite's {path.name}:\n{done.stderr[:2000]}")
        return out

    def archive(self, threads):
        """The helpers as a library, so that its main is taken only by programs that have none."""
        out = self.folder / ("libthreads.a" if threads else "libsingle.a")
        if not out.exists():
            left_out = "mtest_single.c.o" if threads else "mtest_thread.c.o"
            call_words(["ar", "rcs", out, *(path for path in self.objects if path.name != left_out)])
        return out

    def rules(self, line):
        """The sources and macros of a program whose Makefile.am names them."""
        text = (self.source / line.folder / "Makefile.am").read_text().replace("\\\n", " ")
        sources = re.search(rf"^{line.name}_SOURCES\s*=(.*)$", text, re.M)
        sources = [word for word in sources[1].split() if word.endswith(".c")] if sources else []
        macros = re.search(rf"^{line.name}_CPPFLAGS\s*=(.*)$", text, re.M)
        return sources or [f"{line.name}.c"], re.findall(r"-D\S+", macros[1]) if macros else []

    def program(self, line):
        sources, macros = self.rules(line)
        paths = [self.source / line.folder / source for source in sources]
        out = self.folder / "bin" / line.folder / line.name
        with alone_in(self.folder):
            return self.link(line, paths, macros, out)

    def link(self, line, paths, macros, out):
        if out.exists() and all(path.exists() and out.stat().st_mtime > path.stat().st_mtime for path in paths):
            return out, ""
        out.parent.mkdir(parents=True, exist_ok=True)
        threads = line.folder.startswith("threads")
        flags = [*self.flags, *macros, *(["-DMTEST_USE_THREAD"] if threads else []), f"-I{paths[0].parent}"]
        done = call_words([self.mpicc, *flags, *paths, self.archive(threads), "-o", f"{out}.new", "-lm", "-lpthread"])
        if done.returncode:
            return None, done.stderr[:1500]
        os.rename(f"{out}.new", out)
        return out, ""


def call(command, env, folder, limit):
    """Runs it; the exit code, or NO_END if it had to be ended, and its output."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env=env,
                               start_new_session=True)
    try:
        text, _ = process.communicate(timeout=limit)
        return process.returncode, text.decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            text, _ = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
        return NO_END, text.decode(errors="replace")


def verdict(check, code, text):
    """Why a test that ended so has failed, as the suite's own runner sees it; empty if it passed."""
    lines = [line.strip() for line in text.splitlines()]
    if check in ("TestStatus", "TestErrFatal"):
        return "" if code else "ended with 0, but an error was expected"
    if not any(re.fullmatch("No [Ee]rrors", line) for line in lines):
        return f"did not print 'No Errors' (exit code {code})"
    if check == "TestStatusNoErrors":
        return "" if code else "ended with 0, but an error was expected"
    if any(not re.fullmatch("No [Ee]rrors|Test Skipped", line) and not line.startswith(("WARNING: ", "MPICH: ")) for line in lines):
        return "printed more than 'No Errors'"
    return f"exit code {code}" if code else ""


def launcher(mode, options):
    command = [options.mpiexec] + ([] if options.plain_launcher else [f"--ranks={mode}"])
    if options.agent:
        return [*command, "--launch-agent", options.agent, "-H", ",".join(f"n{i + 1}" for i in range(options.nodes))]
    return [*command, f"--pretend-nodes={options.nodes}"] if options.nodes > 1 else command


def execute(line, mode, binary, options, suite):
    command = launcher(mode, options) + ["-n", str(line.ranks), str(binary), *line.args]
    begin, limit = time.monotonic(), min(line.limit, options.limit)
    # Who spawns itself does so as ./name.
    folder = binary.parent if options.fortran or "spawn" in line.folder else suite / line.folder
    code, text = call(command, dict(os.environ, WEFT_SPAWN_NAMES="job", **line.env), folder, limit)
    why = f"no end after {limit:g} s" if code == NO_END and line.check != "TestErrFatal" else verdict(line.check, code, text)
    return why, text, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="regular expressions: only tests whose title (folder/name args n=ranks) matches one")
    parser.add_argument("--source", type=Path, default=os.environ.get("TEST_MPICH_SOURCE"), help="MPICH's source tree")
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--mpicc", required=True)
    parser.add_argument("--fortran", action="store_true", help="the tests in Fortran instead of those in C")
    parser.add_argument("--mpifort", default="mpifort")
    parser.add_argument("--fortran-flags", default="-fallow-argument-mismatch -fcray-pointer", help="for this Fortran compiler")
    parser.add_argument("--folder", type=Path, required=True, help="where the programs are built")
    parser.add_argument("--mode", choices=("process", "thread", "both"), default="both")
    parser.add_argument("--most-ranks", type=int, default=16)
    parser.add_argument("--most-memory", type=float, default=4, help="of a test that names what it needs, in GB")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one test at most")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="the ranks are on so many nodes; only tests of as many ranks")
    parser.add_argument("--agent", metavar="COMMAND", help="with --nodes: on hosts n1 to nN, reached by this launch agent")
    parser.add_argument("--jobs", "-j", type=int, default=1)
    parser.add_argument("--results", type=Path, help="write one line per test to this file")
    parser.add_argument("--all", action="store_true", help="run what known.txt lists, too")
    parser.add_argument("--plain-launcher", action="store_true", help="the launcher has no --ranks option (another MPI)")
    options = parser.parse_args()
    if not options.source or not (Path(options.source) / "test" / "mpi").exists():
        print("no MPICH source tree: give --source or TEST_MPICH_SOURCE (see the head of this file)")
        return 77
    options.source = Path(options.source).resolve()
    options.mpiexec = shutil.which(options.mpiexec) and str(Path(shutil.which(options.mpiexec)).resolve())
    if options.mpiexec is None:
        parser.error("--mpiexec: no such program")
    source = options.source / "test" / "mpi"
    folder = options.folder.resolve()
    if options.fortran:
        import mpich_fortran
        source = mpich_fortran.prepared(source, folder)
        builder = mpich_fortran.FortranBuilder(source, folder, options.mpicc, options.mpifort, options.fortran_flags.split())
        tests = mpich_fortran.lines(source)
    else:
        builder, tests = Builder(source, folder, options.mpicc), read_lines(source, FOLDERS)
    known, work, counts = {} if options.all else read_known(options.nodes), [], collections.defaultdict(collections.Counter)
    modes = ["process"] if options.plain_launcher else ["process", "thread"] if options.mode == "both" else [options.mode]
    for line in tests:
        if options.names and not any(re.search(pattern, line.title()) for pattern in options.names):
            continue
        if line.path() in known or not options.nodes <= line.ranks <= options.most_ranks or line.memory > options.most_memory:
            for mode in modes:
                counts[line.folder, mode]["skipped"] += 1
            continue
        work += [(line, mode) for mode in modes]

    def one(item):
        line, mode = item
        binary, why = builder.program(line)
        return (line, mode, *(("does not compile", why, 0.0) if not binary else execute(line, mode, binary, options, source)))

    results = open(options.results, "w") if options.results else None
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, mode, why, text, seconds in pool.map(one, work):
            counts[line.folder, mode]["failed" if why else "passed"] += 1
            if results:
                print(line.title(), mode, why or "passed", f"{seconds:.1f}", sep="\t", file=results, flush=True)
            if why:
                tail = "\n    ".join(text.splitlines()[:12])
                print(f"FAIL {line.title()} {mode}: {why} ({seconds:.1f} s)\n    {tail}", flush=True)
    print(f"\n{'folder':16} {'ranks as':8} passed failed skipped")
    for (folder, mode), row in counts.items():
        print(f"{folder:16} {mode:8} {row['passed']:6} {row['failed']:6} {row['skipped']:7}")
    passed, failed = (sum(row[what] for row in counts.values()) for what in ("passed", "failed"))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
