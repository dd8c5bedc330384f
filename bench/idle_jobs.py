# SPDX-License-Identifier: Apache-2.0
"""What `weft bench idle` runs: packing, halo exchange, messages and a multigrid solver, with idle threads, without, and
by the other libraries. Thread counts come from the machine: one to a CPU where there is one rank; two ranks have 1
thread each, and then half the CPUs, but at least 2. Where these are more than CPUs, OpenMP's waiting threads sleep, in
every library: if they look for work, MPICH and Open MPI take 4 ms for a message."""
import json
import os
import re

import figures
import jobs as job_lists
import libraries

PARTS = ("packing", "halo", "multigrid", "messages")  # what --rows names
PLANES = {"64 MiB": 64 << 20, "4 MiB": 4 << 20}
EXTENTS = (64, 512, 4096, 32768, 262144)
SHAPES = ("cube", "large_x", "large_y", "large_z")
ALONE = " alone"  # the end of a series of weft that offers no job
NEVER = {"WEFT_PARALLEL_MIN_BYTES": 1 << 40}
LIMIT_S = 0.2  # of a row
LINE = r"(?m)^multigrid: .* in ([\d.]+) s \(([\d.]+) s in exchanges\), .* checksum (\w+): ok$"


def team_sizes():
    """Threads of each of two ranks."""
    return [1, max(2, len(os.sched_getaffinity(0)) // 2)]


def crowded_ranks():
    """Ranks as threads, of which one packs."""
    return max(2, len(os.sched_getaffinity(0)))


def checked(text):
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    wrong = [row["row"] for row in found if row["errors"]]
    if wrong:
        raise ValueError(f"wrong data in {wrong}")
    return found


def sample(row, name, size):
    counts = {**row["counts"], "threads": row.get("threads", 0) * row["ranks"]} if row.get("counts") else {}
    return {"row": name, "bytes": size, "counts": counts, **{key: row[key] for key in ("us", "line_ns") if key in row}}


def packed_rows(size):
    """Rows of idle/main.c: the extent in place of bytes."""
    return lambda text: [sample(row, f"{row['row']} {size}", row["extent"]) for row in checked(text)]


def message_rows(threads):
    """Rows of idle/messages.c and idle/halo.c."""
    return lambda text: [sample(row, f"{row['row']} {threads}t", row["bytes"]) for row in checked(text)]


def solution(threads):
    """us of all and in exchanges, from the line of examples/multigrid."""
    def read(text):
        found = re.search(LINE, text)
        if found is None:
            raise ValueError(f"no solution in {text[-300:]!r}")
        return [{"row": f"{row} {threads}t", "bytes": 0, "us": [float(seconds) * 1e6]}
                for row, seconds in zip(("multigrid", "exchanges"), found.groups())]
    return read


class Plan:
    """The jobs of a round: each a curve, or part of one."""

    def __init__(self, args, libs, work):
        self.args, self.libs, self.work, self.jobs, self.notes = args, libs, work, [], []
        self.thread = next((lib for lib in libs if lib.name == "weft-thread"), None)
        self.process = next((lib for lib in libs if lib.name == "weft-process"), None)

    def build(self, source, *more):
        return libraries.build(self.libs, source, self.work, ["-O2", "-fopenmp", *more])

    def add(self, series, library, ranks, threads, run, words, read, **variables):
        """`run`: {library: program}"""
        team = {"OMP_NUM_THREADS": threads}
        if ranks == 1:  # one to a CPU, in every library
            team.update(OMP_PROC_BIND="true", OMP_PLACES="threads")
        elif ranks * threads > len(os.sched_getaffinity(0)):  # or they would keep the cores from those who communicate
            team.update(OMP_WAIT_POLICY="passive")
        each = job_lists.with_variables(library, **team, **variables)
        self.jobs.append(job_lists.Job(series, each, ranks, run[library.name], "", [str(word) for word in words], read,
                                       pinned=threads == 1 or ranks == 1))

    def of_two_ranks(self, run, words, read):
        """All libraries; and weft's ranks as threads that offer no job."""
        for threads in team_sizes():
            for library in self.libs:
                self.add(library.name, library, 2, threads, run, words, read(threads))
            if self.thread:
                self.add(self.thread.name + ALONE, self.thread, 2, threads, run, words, read(threads), **NEVER)

    def packing(self):
        run, cpus = self.build(figures.HERE / "idle/main.c"), len(os.sched_getaffinity(0))
        extents = ",".join(str(n) for n in (EXTENTS[1::2] if self.args.quick else EXTENTS))
        for size, plane_bytes in PLANES.items():
            def add(series, library, where, planes="xz,yz", ranks=1, **variables):
                words = ["-b", self.args.batches, "-m", plane_bytes, "-p", planes, "-w", where, "-x", extents]
                self.add(series, library, ranks, cpus if ranks == 1 else 1, run, words, packed_rows(size), **variables)

            if self.process:
                add(self.process.name + ALONE, self.process, "single", **NEVER)
                add(self.process.name, self.process, "single,critical,outside,nested,region")
            for library in self.libs:
                if not library.name.startswith("weft"):
                    add(library.name, library, "single")
            if self.thread:
                for series, variables in ((self.thread.name + ALONE, NEVER), (self.thread.name, {})):
                    add(series, self.thread, "barrier", "xz,yz,fold", crowded_ranks(), **variables)

    def halo(self):
        words = ["-b", self.args.batches, "-t", self.args.batch_ms, "-l", LIMIT_S, "-d", 4 if self.args.quick else 2]
        self.of_two_ranks(self.build(figures.HERE / "idle/halo.c"), [*words, "-f", "yz,all"], message_rows)

    def messages(self):
        words = ["-b", self.args.batches, "-t", self.args.batch_ms, "-l", LIMIT_S / 2]
        self.of_two_ranks(self.build(figures.HERE / "idle/messages.c"), words, message_rows)

    def multigrid(self):
        source = figures.HERE.parent / "examples/multigrid/multigrid.c"
        if not source.exists():
            self.notes.append("the program of figure 9 is in examples/ of the source tree")
            return
        points, cycles = (64, 4) if self.args.quick else (128, 4)
        self.notes.append(f"figure 9: {points}^3 points, {cycles} cycles")
        self.of_two_ranks(self.build(source, "-lm"), ["-n", points, "-c", cycles], solution)


def plan(args, libs, work):
    """(jobs of a round, notes)"""
    made = Plan(args, libs, work)
    for part in PARTS:
        if not args.rows or part in args.rows.split(","):
            getattr(made, part)()
    return made.jobs, made.notes
