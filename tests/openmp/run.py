#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of this folder under one OpenMP runtime, with ranks as processes and as threads.

run.py --bin <weft's bin> --work <folder> libgomp|libomp|gcc_on_libomp|none

Prints the matrix of contexts: who was helped. Exits 77 (skipped) where the runtime is not installed.
"""
import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77
CLANGS = ("clang-19", "clang-16", "clang-14", "clang")


def libomp():
    """libomp.so.5 of a clang that is here."""
    for clang in CLANGS:
        if shutil.which(clang):
            said = subprocess.run([clang, "-print-file-name=libomp.so.5"], capture_output=True, text=True).stdout.strip()
            if os.path.isabs(said) and os.path.exists(said):
                return clang, Path(said).resolve()
    print("skipped: no clang with libomp is installed (apt-get install clang-16 libomp-16-dev)")
    sys.exit(SKIPPED)


class Runtime:
    def __init__(self, name, args):
        self.name, self.bin = name, Path(args.bin)
        self.work = Path(args.work) / name
        self.work.mkdir(parents=True, exist_ok=True)
        self.compiler, self.env = "gcc", {"OMP_CANCELLATION": "true"}
        if name == "libomp":
            self.compiler = libomp()[0]
        if name == "gcc_on_libomp":
            # What a user does who wants that runtime for a program of gcc's.
            link = self.work / "lib/libgomp.so.1"
            link.parent.mkdir(exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(libomp()[1])
            self.env["LD_LIBRARY_PATH"] = str(link.parent)

    def build(self, program, flags=("-fopenmp",)):
        out = self.work / program
        subprocess.run([self.bin / "mpicc", f"-cc={self.compiler}", "-O1", *flags, HERE / f"{program}.c", "-o", out],
                       check=True)
        return out

    def run(self, program, options=(), ranks=1, mode="process", threads=2, timeout=150):
        """Its output; ends the test if it fails or hangs."""
        command = [self.bin / "mpiexec", f"--ranks={mode}", "-n", str(ranks), "-x", f"OMP_NUM_THREADS={threads}",
                   program, *options]
        said = f"{program.name} {' '.join(options)} with {ranks} ranks as {mode}"
        try:
            done = subprocess.run(command, env={**os.environ, **self.env}, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=timeout)
        except subprocess.TimeoutExpired as over:
            sys.exit(f"{said} hangs, after:\n{(over.stdout or b'').decode(errors='replace')}")
        if done.returncode != 0 or "ok\n" not in done.stdout:
            sys.exit(f"{said} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        return done.stdout


def matrix(runtime):
    contexts = runtime.build("contexts")
    alone = len(os.sched_getaffinity(0)) < 2
    columns = {}
    if not alone:
        # Bound threads: the main thread may use one CPU only by then.
        runtime.env.update(OMP_PROC_BIND="true", OMP_PLACES="threads")
        runtime.run(contexts, ["-e"])
        del runtime.env["OMP_PROC_BIND"], runtime.env["OMP_PLACES"]
    for mode in ("process", "thread"):
        for ranks in (1, 2):
            # With two ranks there may be no core for helpers.
            options = ["-e"] if ranks == 1 and not alone else []
            text = runtime.run(contexts, options, ranks, mode)
            columns[f"{mode} {ranks}"] = dict(line.split() for line in text.splitlines() if len(line.split()) == 2)
    print(f"{runtime.name:18}" + "".join(f"{name:>12}" for name in columns))
    for context in next(iter(columns.values())):
        print(f"{context:18}" + "".join(f"{column.get(context, '?'):>12}" for column in columns.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("runtime", choices=("libgomp", "libomp", "gcc_on_libomp", "none"))
    args = parser.parse_args()
    runtime = Runtime(args.runtime, args)
    if args.runtime == "none":
        program = runtime.build("without", flags=())
        for mode in ("process", "thread"):
            runtime.run(program, ranks=2, mode=mode)
        return
    accounts = runtime.build("accounts")
    for mode in ("process", "thread"):
        runtime.run(accounts, [] if args.runtime == "libgomp" else ["-t"], mode=mode, threads=4)
    matrix(runtime)


if __name__ == "__main__":
    main()
