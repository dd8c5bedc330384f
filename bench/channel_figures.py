# SPDX-License-Identifier: Apache-2.0
"""Skeletons on channels: `weft bench channels --figures`, figures 4 to 8 of Buono, De Matteis, Mencagli, Vanneschi
(Optimizing Message-Passing on Multicore Architectures using Hardware Multi-Threading, 2013).

4, 5, 6: a farm makes images gray; the time of an image by the number of Workers, with queues of pointers in shared memory,
by messages of all libraries, on channels with communication threads in several places. Modelled: max(L_com, L_comp / n), the
Emitter that copies (section V.A), with what one Worker took. 7, 8: a five-point stencil."""
import dataclasses
import math
import os
import re

import figures
import jobs as job_lists
import libraries

PAPER = "Buono, De Matteis, Mencagli, Vanneschi (2013)"
CPUS = len(os.sched_getaffinity(0))
FARM_WAYS = ("in-place", "no-kt", "kt-w", "kt-specialized", "kt-generalized")
STENCIL_WAYS = ("no-kt", "kt-w", "skt")
OPTIONS = ["-O2", "-fopenmp", "-fno-inline"]  # the same loop in all of them
EXAMPLES = figures.HERE.parent / "examples"
FARM_LINE = r"(?m)^farm: .*: ([\d.]+) ms each, 0 missing, 0 wrong$"
STENCIL_LINE = r"(?m)^stencil: .*: ([\d.]+) ms$"


def reader(pattern, row, x):
    """us; x stands in place of bytes."""
    def read(text):
        found = re.search(pattern, text)
        if found is None:
            raise ValueError(f"no result in {text[-300:]!r}")
        return [{"row": row, "bytes": x, "us": [float(found[1]) * 1e3]}]
    return read


def unbound(library):
    """As the others' ranks are, where there are more than CPUs: those of a farm are not alike."""
    return dataclasses.replace(library, launch=lambda ranks, fits: [*library.launch(ranks, fits), "--bind-to", "none"])


def workers(quick):
    return [1, 2] if quick else sorted({1, 2, 4, max(1, CPUS - 2)})


def sizes(quick):
    return {360: 20} if quick else {1080: 100, 4320: 10}  # points on a side: steps


def plan(args, libs, work):
    own = [library for library in libs if library.name.startswith("weft")]
    here = figures.HERE / "channels"
    farm = libraries.build(libs, here / "farm.c", work, OPTIONS)
    stencil = libraries.build(libs, here / "stencil.c", work, OPTIONS)
    farm_on = libraries.build(own, EXAMPLES / "farm/farm.c", work / "examples", OPTIONS) if own else {}
    stencil_on = libraries.build(own, EXAMPLES / "stencil/stencil.c", work / "examples", OPTIONS) if own else {}
    jobs = []

    def add(series, library, ranks, program, words, read, **variables):
        each = job_lists.with_variables(library, **variables)
        if library in own and ranks > CPUS:
            each = unbound(each)
        jobs.append(job_lists.Job(series, each, ranks, program, "", [str(word) for word in words], read,
                                  pinned=ranks > 1))

    for n in workers(args.quick):
        words = ["--images", 30 if args.quick else 100, "--size", 300 if args.quick else 1000]
        read = reader(FARM_LINE, "farm", n)
        if own:
            add("shared memory", own[0], 1, farm[own[0].name], [*words, "shared", n], read)
        for library in libs:
            add(f"{library.name} messages", library, n + 2, farm[library.name], [*words, "mpi"], read)
        for library in own:
            for way in FARM_WAYS:
                add(f"{library.name} {way}", library, n + 2, farm_on[library.name], [*words, way], read)
    for m, steps in sizes(args.quick).items():
        for n in sorted({1, 2, CPUS}):
            words = ["--size", m, "--steps", steps]
            read = reader(STENCIL_LINE, f"stencil {m}", n)
            if own:
                add("shared memory", own[0], 1, stencil[own[0].name], [*words, "shared", n], read)
                add("OpenMP", own[0], 1, stencil[own[0].name], [*words, "openmp"], read, OMP_NUM_THREADS=n)
            for library in libs:
                add(f"{library.name} messages", library, n, stencil[library.name], [*words, "mpi"], read)
            for library in own:
                for way in STENCIL_WAYS:
                    add(f"{library.name} {way}", library, n, stencil_on[library.name], [*words, way], read)
    return jobs


def curves(state, row):
    """{series: [[x, low, middle, high]]}"""
    points = {}
    for (name, ranks, x), by_library in state.cells.items():
        for series in by_library if name == row else ():
            points.setdefault(series, []).extend(point for point in state.curve(series, row, ranks) if point[0] == x)
    return {series: sorted(found) for series, found in points.items()}


def modelled(found, most=64):
    """The time of an image if the Emitter copies: the message's time is what an image takes longer than in place."""
    alone, copied = (next((p[0][2] for name, p in found.items() if name.endswith(way) and p[0][0] == 1), None)
                     for way in ("weft-process in-place", "weft-process no-kt"))
    if alone is None or copied is None:
        return None
    copy = max(copied - alone, 0.02 * alone)
    return copy, [[n, max(copy, alone / n)] for n in (2 ** i for i in range(most.bit_length()))]


def all_figures(state):
    out, farm = [], curves(state, "farm")
    figure = figures.Figure("4, 5", "farm, time of an image", x="workers")
    for series, points in farm.items():
        figure.add("measured", series, points)
    out.append(figure)
    limit = modelled(farm)
    if limit:
        figure = figures.Figure("6", f"farm, more cores: the Emitter's limit is L_com = {limit[0]:.0f} us", x="workers")
        figure.add("modelled", "max(L_com, L_comp / n)", limit[1])
        out.append(figure)
    rows = sorted({key[0] for key in state.cells if key[0].startswith("stencil")}, key=lambda row: int(row.split()[1]))
    for row in rows:
        figure = figures.Figure("7, 8", f"{row}, all steps", x="ranks")
        for series, points in curves(state, row).items():
            figure.add("measured", series, points)
        out.append(figure)
    return [figure for figure in out if figure.curves]


def measure_curves(args, libs, work):
    found = job_lists.take(plan(args, libs, work), args)
    found.more = {"paper": PAPER, "rounds": args.rounds,
                  "figures": [dataclasses.asdict(figure) for figure in all_figures(found.fullest())]}
    return found


def best(points_of, names, x):
    return min((point[2] for name in names for point in points_of[name] if point[0] == x), default=None)


def print_report(found):
    for figure in found.more["figures"]:
        points_of = {curve["label"]: [p if len(p) > 2 else [p[0], p[1], p[1], p[1]] for p in curve["points"]]
                     for curve in figure["curves"]}
        xs = sorted({point[0] for points in points_of.values() for point in points})
        print(f"\nfigure {figure['number']}: {figure['title']}, us, {figure['curves'][0]['kind']}; in brackets shared "
              "memory / this, best peer / this")
        print(f"{figure['x']:34}" + "".join(f"{x:>24}" for x in xs))
        peers = [name for name in points_of if name.endswith(" messages") and not name.startswith("weft")]
        means = {}
        for name, points in points_of.items():
            line = ""
            for x in xs:
                mine = next((point[2] for point in points if point[0] == x), None)
                ratios = [best(points_of, names, x) for names in (["shared memory"] if "shared memory" in points_of
                                                                  else [], peers)]
                told = "" if mine is None or None in ratios or not name.startswith("weft") else \
                    f" ({ratios[0] / mine:.2f}, {ratios[1] / mine:.2f})"
                if told:
                    means.setdefault(name, []).append([math.log(ratio / mine) for ratio in ratios])
                line += f"{'-' if mine is None else f'{mine:.0f}' + told:>24}"
            print(f"{name:34}{line}")
        for name, logs in means.items():
            both = [math.exp(sum(pair[i] for pair in logs) / len(logs)) for i in (0, 1)]
            print(f"mean of {name:26} shared memory / this {both[0]:.2f}, best peer / this {both[1]:.2f}")
