# SPDX-License-Identifier: Apache-2.0
"""Packing with idle threads: `weft bench idle`, figure 7 of Si, Pena, Balaji, Takagi, Ishikawa (MT-MPI, ICS 2014).

A plane of a 3D array of doubles is packed by MPI_Pack in an OpenMP single region, while the other threads are at
its barrier: weft alone, weft with the idle threads, the paper's way (a nested region of as many threads, without
MPI), what this memory allows (a loop of all threads), and the other libraries. And with ranks as threads: one
packs or reduces, the others wait in MPI. A plane of 64 MiB is in memory, one of 4 MiB in a cache.
"""
import dataclasses
import json
import os

import figures
import jobs as job_lists
import libraries

PAPER = "Si, Pena, Balaji, Takagi, Ishikawa (ICS 2014)"
EXTENTS = (64, 512, 4096, 32768, 262144)
PLANES = {"64 MiB": 64 << 20, "4 MiB": 4 << 20}
ALONE = "weft alone"
NEVER = {"WEFT_PARALLEL_MIN_BYTES": 1 << 40}
TITLES = {"xz": ("7a", "X-Z plane: vector; extent: Z"), "yz": ("7b", "Y-Z plane: vector of vectors; extent: Y"),
          "fold": ("10", "MPI_Reduce_local")}


def rows_of(size):
    """Rows of the program: the extent in place of bytes."""
    def read(text):
        found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        wrong = [row["row"] for row in found if row["errors"]]
        if wrong:
            raise ValueError(f"wrong data in {wrong}")
        return [{"row": f"{row['row'].split()[0]} {size}", "bytes": row["extent"], "us": row["us"]} for row in found]
    return read


def plan(args, libs, programs):
    """The jobs of a round: each a curve, or part of one."""
    cpus = len(os.sched_getaffinity(0))
    process = next(lib for lib in libs if lib.name == "weft-process")
    thread = next(lib for lib in libs if lib.name == "weft-thread")
    jobs = []

    def add(series, library, where, planes="xz,yz", ranks=1, **variables):
        threads = {"OMP_NUM_THREADS": 1}
        if ranks == 1:  # one to a CPU, in every library
            threads = {"OMP_NUM_THREADS": cpus, "OMP_PROC_BIND": "true", "OMP_PLACES": "threads"}
        for size, plane_bytes in PLANES.items():
            words = ["-b", str(args.batches), "-m", str(plane_bytes), "-p", planes, "-w", where, "-x",
                     ",".join(str(n) for n in EXTENTS)]
            each = job_lists.with_variables(library, **threads, **variables)
            jobs.append(job_lists.Job(series, each, ranks, programs[library.name], "", words, rows_of(size)))

    add(ALONE, process, "single", **NEVER)
    for where in ("single", "critical", "outside"):
        add(f"weft, idle threads, {where}", process, where)
    add("nested region", process, "nested")
    add("loop of all threads", process, "region")
    for library in libs:
        if not library.name.startswith("weft"):
            add(library.name, library, "single")
    ranks = max(2, cpus)
    add("weft alone, as a thread", thread, "barrier", "xz,yz,fold", ranks, **NEVER)
    add("weft, idle ranks", thread, "barrier", "xz,yz,fold", ranks)
    return jobs, ranks


def all_figures(state, ranks):
    out = []
    for plane, (number, title) in TITLES.items():
        for size in PLANES:
            figure = figures.Figure(number, f"{title}, {size}", x="extent")
            for series in dict.fromkeys(name for cell in state.cells.values() for name in cell):
                for n in (1, ranks):
                    figure.add("measured", series, state.curve(series, f"{plane} {size}", n))
            out.append(figure)
    return out


def measure_curves(args, libs, work):
    """Results whose `more` has the figures."""
    programs = libraries.build(libs, figures.HERE / "idle/main.c", work, ["-O2", "-fopenmp"])
    jobs, ranks = plan(args, libs, programs)
    found = job_lists.take(jobs, args)
    notes = [f"failed: {name}: {reason}" for name, reasons in found.failures.items() for reason in reasons]
    found.more = {"paper": PAPER, "rounds": args.rounds, "notes": notes,
                  "figures": [dataclasses.asdict(figure) for figure in all_figures(found.fullest(), ranks)]}
    return found


def print_report(found):
    """us of each curve, and how many times as long it takes alone."""
    for figure in found.more["figures"]:
        curves = {curve["label"]: {point[0]: point[2] for point in curve["points"]} for curve in figure["curves"]}
        base = curves.get(ALONE) or curves.get("weft alone, as a thread", {})
        extents = sorted({extent for points in curves.values() for extent in points})
        print(f"\nfigure {figure['number']}: {figure['title']}, us, measured; in brackets weft alone / this")
        print(f"{'extent':32}" + "".join(f"{extent:>18}" for extent in extents))
        for label, points in curves.items():
            cells = (f"{points[n]:.4g} ({base[n] / points[n]:4.2f})" if n in points and n in base else "-" for n in extents)
            print(f"{label:32}" + "".join(f"{cell:>18}" for cell in cells))
    for note in found.more["notes"]:
        print(f"note: {note}")
