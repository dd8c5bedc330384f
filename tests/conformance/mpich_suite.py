#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the C tests of MPICH's own test suite (test/mpi of its source tree) on the built weft, as processes and threads.

The suite is not part of this repository: give a checkout with --source (git clone --depth 1 --branch v5.0.2
https://github.com/pmodels/mpich) or in TEST_MPICH_SOURCE. Its configure is not needed: programs are compiled one by one.
Left out: lines that set another library's variables, languages other than C, and what known.txt (next to this file)
lists with its reason. A test passes when it ends with 0 and prints " No Errors", as the suite defines it.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ["attr", "coll", "comm", "datatype", "errhan", "group", "info", "init", "mpi_t", "pt2pt", "session", "threads/pt2pt", "threads/comm",
           "threads/init", "threads/coll"]
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
    def __init__(self, folder, words):
        self.folder, self.name, self.ranks = folder, words[0], int(words[1]) if len(words) > 1 and words[1] else 2
        self.args, self.env, self.status, self.limit, self.skip = [], {}, "", 180.0, ""
        for word in words[2:]:
            key, _, value = word.partition("=")
            if key == "arg":
                self.args.append(value)
            elif key == "env":
                self.env.update([value.split("=", 1)])
                self.skip = self.skip or ("" if not value.startswith("MPIR_") else "sets another library's variable")
            elif key == "resultTest":
                self.status = value
            elif key == "timeLimit":
                self.limit = float(value)
            elif key == "xfail":
                self.skip = "fails in the suite's own library"

    def title(self):
        return f"{self.folder}/{self.name} {' '.join(self.args)}".strip()


def read_known():
    """known.txt: `folder/name [mode]  reason`; the tests that are left out, and why."""
    known = {}
    path = HERE / "known.txt"
    for line in path.read_text().splitlines() if path.exists() else []:
        words = line.split("#")[0].split(None, 1)
        if len(words) == 2:
            known[words[0]] = words[1]
    return known


def read_lines(source, folders):
    lines = []
    for folder in folders:
        for name in ("testlist", "testlist.in"):
            path = source / folder / name
            if not path.exists():
                continue
            for text in path.read_text().splitlines():
                words = text.split("#")[0].split()
                if words and not words[0].startswith("@") and words[0] != "include" and (source / folder / f"{words[0]}.c").exists():
                    if len(words) > 1 and not words[1].isdigit():
                        continue
                    lines.append(Line(folder, words))
    return lines


class Builder:
    """Compiles the suite's helpers once and each program on demand."""

    def __init__(self, source, folder, mpicc):
        self.source, self.folder, self.mpicc = source, folder, mpicc
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mpitestconf.h").write_text(CONFIG)
        (folder / "mtest_mpix.h").write_text("")
        (folder / "dtpoolsconf.h").write_text(CONFIG)
        (folder / "x").mkdir(exist_ok=True)  # dtpools includes ../dtpoolsconf.h
        self.flags = ["-w", "-O1", "-g", "-std=gnu11", "-pthread", f"-I{folder}", f"-I{folder}/x", f"-I{source}/include", f"-I{source}/dtpools/include"]
        helpers = [source / "util" / name for name in ("mtest.c", "mtest_common.c", "dtypes.c", "mtest_single.c", "mtest_thread.c")]
        helpers += sorted((source / "dtpools" / "src").glob("*.c"))
        self.objects = {path.name: self.compile(path) for path in helpers if path.exists()}

    def call(self, words):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace")

    def compile(self, path):
        out = self.folder / (path.name + ".o")
        if not out.exists() or out.stat().st_mtime < path.stat().st_mtime:
            done = self.call([self.mpicc, *self.flags, "-c", path, "-o", out])
            if done.returncode:
                sys.exit(f"cannot compile the suite's {path.name}:\n{done.stderr[:2000]}")
        return out

    def program(self, line):
        path = self.source / line.folder / f"{line.name}.c"
        out = self.folder / "bin" / line.folder / line.name
        if out.exists() and out.stat().st_mtime > path.stat().st_mtime:
            return out, ""
        out.parent.mkdir(parents=True, exist_ok=True)
        threads = line.folder.startswith("threads") or "mtest_thread" in path.read_text(errors="replace")
        others = [obj for name, obj in self.objects.items() if name != ("mtest_single.c" if threads else "mtest_thread.c")]
        done = self.call([self.mpicc, *self.flags, f"-I{path.parent}", path, *others, "-o", out, "-lm", "-lpthread"])
        return (out, "") if done.returncode == 0 else (None, done.stderr[:1500])


def execute(line, mode, binary, options):
    command = [options.mpiexec] + ([] if options.plain_launcher else [f"--ranks={mode}"]) + ["-n", str(line.ranks), str(binary), *line.args]
    begin = time.monotonic()
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=binary.parent,
                              env=dict(os.environ, **line.env), timeout=min(line.limit, options.limit))
        code, text = done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        return f"no end after {min(line.limit, options.limit):g} s", (error.stdout or b"").decode(errors="replace"), time.monotonic() - begin
    seconds = time.monotonic() - begin
    if line.status == "TestStatus":  # is to end with an error
        return ("" if code else "ended with 0, but an error was expected"), text, seconds
    if code:
        return f"exit code {code}", text, seconds
    if "No Errors" not in text:
        return "did not print 'No Errors'", text, seconds
    return "", text, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="regular expressions: only tests whose folder/name matches one")
    parser.add_argument("--source", type=Path, default=os.environ.get("TEST_MPICH_SOURCE"), help="MPICH's source tree")
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--mpicc", required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where the programs are built")
    parser.add_argument("--mode", choices=("process", "thread", "both"), default="both")
    parser.add_argument("--most-ranks", type=int, default=8)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one test at most")
    parser.add_argument("--jobs", "-j", type=int, default=1)
    parser.add_argument("--plain-launcher", action="store_true", help="the launcher has no --ranks option (another MPI)")
    options = parser.parse_args()
    if not options.source or not (Path(options.source) / "test" / "mpi").exists():
        print("no MPICH source tree: give --source or TEST_MPICH_SOURCE (see the head of this file)")
        return 77
    source = (Path(options.source) / "test" / "mpi").resolve()
    builder = Builder(source, options.folder.resolve(), options.mpicc)
    known, work, counts = read_known(), [], dict(passed=0, failed=0, skipped=0)
    modes = ["process"] if options.plain_launcher else ["process", "thread"] if options.mode == "both" else [options.mode]
    for line in read_lines(source, FOLDERS):
        if options.names and not any(re.search(pattern, f"{line.folder}/{line.name}") for pattern in options.names):
            continue
        if line.skip or f"{line.folder}/{line.name}" in known or line.ranks > options.most_ranks:
            counts["skipped"] += 1
            continue
        work += [(line, mode) for mode in modes]

    def one(item):
        line, mode = item
        binary, why = builder.program(line)
        return (line, mode, *(("does not compile", why, 0.0) if not binary else execute(line, mode, binary, options)))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, mode, why, text, seconds in pool.map(one, work):
            counts["failed" if why else "passed"] += 1
            if why:
                tail = "\n    ".join(text.splitlines()[:12])
                print(f"FAIL {line.title()} n={line.ranks} {mode}: {why} ({seconds:.1f} s)\n    {tail}", flush=True)
    print(f"{counts['skipped']} skipped")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
