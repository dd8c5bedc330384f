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

    def run(self, program, options=(), ranks=1, mode="process", threads=2, launch=(), env={}, timeout=150):
        """Its output and what it said on stderr; ends the test if it fails or hangs."""
        command = [self.bin / "mpiexec", f"--ranks={mode}", "-n", str(ranks), "-x", f"OMP_NUM_THREADS={threads}",
                   *launch, program, *options]
        said = f"{program.name} {' '.join(options)} with {ranks} ranks as {mode}"
        try:
            done = subprocess.run(command, env={**os.environ, **self.env, **env}, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=timeout)
        except subprocess.TimeoutExpired as over:
            sys.exit(f"{said} hangs, after:\n{(over.stdout or b'').decode(errors='replace')}")
        if done.returncode != 0 or "ok\n" not in done.stdout:
            sys.exit(f"{said} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr


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
            text = runtime.run(contexts, options, ranks, mode)[0]
            columns[f"{mode} {ranks}"] = dict(line.split() for line in text.splitlines() if len(line.split()) == 2)
    print(f"{runtime.name:18}" + "".join(f"{name:>12}" for name in columns))
    for context in next(iter(columns.values())):
        print(f"{context:18}" + "".join(f"{column.get(context, '?'):>12}" for column in columns.values()))


def crowd(runtime):
    """The same contexts with more threads than CPUs and every job offered, and messages between ranks."""
    everything = {"WEFT_PARALLEL_MIN_BYTES": "1"}
    cpus = len(os.sched_getaffinity(0))
    for mode in ("process", "thread"):
        runtime.run(runtime.work / "contexts", ranks=2, mode=mode, threads=4, env=everything)
    messages = runtime.build("messages")
    for mode in ("process", "thread"):
        # As processes each rank may use all CPUs; as threads both sides of a copy take one.
        helped = cpus > (1 if mode == "process" else 2)
        text = runtime.run(messages, ["-e"] if helped else [], 2, mode, launch=["--bind-to", "none"])[0]
        print(f"messages, {mode}: " + "; ".join(line for line in text.splitlines() if "pieces" in line))
        runtime.run(messages, [], 2, mode, threads=4, env=everything)


def fits(runtime):
    """More threads than CPUs are said once, in one line; a parameter silences it."""
    program = runtime.work / "messages"
    cpus = len(os.sched_getaffinity(0))
    fewer = max(1, cpus // 2)
    for mode in ("process", "thread"):
        for threads, env, lines in ((2 * cpus, {}, 1), (2 * cpus, {"WEFT_PARALLEL_OPENMP_FITS": "0"}, 0)):
            said = runtime.run(program, (), 2, mode, threads=threads, env=env)[1]
            told = [line for line in said.splitlines() if "OpenMP threads in each of 2 ranks" in line]
            if len(told) != lines or lines == 1 and f"OMP_NUM_THREADS={fewer}" not in told[0]:
                sys.exit(f"{threads} threads on {cpus} CPUs as {mode}: expected {lines} lines about that, got:\n{said}")
        said = runtime.run(program, (), 2, mode, threads=fewer)[1]
        if "OpenMP threads in each" in said:
            sys.exit(f"{fewer} threads fit on {cpus} CPUs, but:\n{said}")


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
    crowd(runtime)
    fits(runtime)


if __name__ == "__main__":
    main()
