# SPDX-License-Identifier: Apache-2.0
"""The experiments of Li, Hoefler, Snir (NUMA-Aware Shared-Memory Collective Communication for MPI,
HPDC 2013) in shape, on this machine: `weft bench collectives --figures`.

Each figure is a list of curves, and each curve says what it is: measured here and now, counted by
weft while it ran, or modelled by `weft explain`. Modelled curves of the paper's two machines (2 x 6
and 4 x 8 cores) have weft's built-in prices, not the paper's: their shape counts."""
import dataclasses
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import explained as weft_explained
import jobs as job_lists
import libraries

HERE = Path(__file__).resolve().parent
PAPER = "Li, Hoefler, Snir (HPDC 2013)"
WESTMERE, MAGNY_COURS = "pack:2 core:6 pu:1", "pack:4 core:8 pu:1"
BCAST_TREES = ["one_stage", "two_stage", "tree", "tree_2", "tree_8", "pieces", "direct"]
REDUCE_TREES = ["tree", "tree_3", "tree_4", "tree_8"]
TILED = ["tiled_naive", "tiled_cyclic", "tiled_hierarchical"]


@dataclasses.dataclass
class Figure:
    number: str  # of the paper
    title: str
    x: str = "bytes"
    y: str = "µs"
    curves: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)

    def add(self, kind, label, points):
        """points: [[x, low, middle, high]] or [[x, y]]"""
        if points:
            self.curves.append({"kind": kind, "label": label, "points": points})


def openmpi_variants(libs):
    """Open MPI with other collective components first, those that this build has."""
    own = next((lib for lib in libs if lib.name == "openmpi"), None)
    if own is None:
        return [], []
    told = subprocess.run([Path(own.own_compiler[0]).parent / "ompi_info", "--parsable", "--param", "coll", "all"],
                          capture_output=True, text=True, env=own.environment()).stdout
    there = set(re.findall(r"mca:coll:(\w+):", told))
    wanted = ["tuned", "han", "xhc", "acoll"]
    variants = [dataclasses.replace(own, name=f"openmpi {name}",
                                    env={**own.env, f"OMPI_MCA_coll_{name}_priority": 100})
                for name in wanted if name in there]
    missing = [f"this Open MPI has no coll/{name}" for name in wanted if name not in there]
    return variants, missing


def openmp(work):
    """OpenMP's array reduction as a library with ranks that are its threads; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    program = work / "openmp-main"
    if compiler is None or subprocess.run([compiler, "-O2", "-fopenmp", HERE / "openmp/main.c", "-o", program],
                                          capture_output=True).returncode != 0:
        return None, None
    return libraries.Library("openmp", "", lambda ranks, fits: ["env", f"OMP_NUM_THREADS={ranks}"],
                             {"OMP_PROC_BIND": "true", "OMP_STACKSIZE": "64M"}), program


def read_seconds(row, word):
    """us in the slowest rank, from a line `word 0.1 s` of an example."""
    def read(text):
        found = re.search(rf"(?m)^{word} +([\d.]+) s$", text)
        return [{"row": row, "bytes": 0, "us": [float(found[1]) * 1e6]}] if found else []
    return read


def example_jobs(libs, counts, args, work):
    """Figures 26 and 27; [] with a note where the examples are not (an installed tree)."""
    if not (HERE.parent / "examples/matvec/matvec.c").exists():
        return [], ["the programs of figures 26 and 27 are in examples/ of the source tree"]
    n, iterations, bodies = (512, 16, 20000) if args.quick else (2048, 64, 400000)
    matvec = libraries.build(libs, HERE.parent / "examples/matvec/matvec.c", work, ["-O2", "-march=native"])
    tree = libraries.build(libs, HERE.parent / "examples/barnes_hut/barnes_hut.c", work, ["-O2", "-lm"])
    jobs = []
    for lib in libs:
        for ranks in [1, *counts]:
            words = ["-n", str(n), "-i", str(iterations)]
            jobs.append(job_lists.Job(f"{lib.name} sum", lib, ranks, matvec[lib.name], "", words,
                                   read_seconds("matvec", "sum")))
            words = ["-n", str(bodies), "-s", "5"]
            jobs.append(job_lists.Job(f"{lib.name}", lib, ranks, tree[lib.name], "", words,
                                   read_seconds("barnes_hut", "allreduce")))
    return jobs, [f"matvec: {n} x {n}, {iterations} iterations; Barnes-Hut: {bodies} bodies, 5 steps"]


def plan(args, libs, program, work, explained, notes):
    """All jobs of a round."""
    ranks, thread = args.ranks[-1], next(lib for lib in libs if lib.name == "weft-thread")
    jobs = []
    for call in ("bcast", "reduce", "allreduce"):
        for way in explained.ways(call, ranks):
            library = job_lists.with_variables(thread, **{f"WEFT_COLL_{call.upper()}": way})
            jobs.append(job_lists.Job(f"weft {way}", library, ranks, program["weft-thread"], call))
    variants, missing = openmpi_variants(libs)
    notes += missing
    for lib in libs:
        for n in args.ranks:
            rows = "barrier,bcast,reduce,allreduce" if n == ranks else "barrier"
            jobs.append(job_lists.Job(lib.name, lib, n, program[lib.name], rows))
    for lib in variants:
        jobs.append(job_lists.Job(lib.name, lib, ranks, program["openmpi"], "bcast,reduce,allreduce"))
    lines = libraries.build([thread], HERE / "lines/main.c", work)[thread.name]
    jobs.append(job_lists.Job("lines", thread, 2, lines, "", ["-b", str(args.batches)]))
    loops, loops_program = openmp(work)
    if loops is None:
        notes.append("no C compiler with OpenMP")
    else:
        jobs.append(job_lists.Job("OpenMP", loops, ranks, loops_program, ""))
    more, said = example_jobs(libs, args.ranks, args, work)
    notes += said
    return jobs + more, [lib.name for lib in libs + variants]


def ways_figure(number, title, call, names, state, explained, ranks):
    """Measured curves of these ways of weft, at the sizes that they serve."""
    figure = Figure(number, f"{title}, {ranks} ranks as threads")
    there = explained.ways(call, ranks)
    for name in names:
        if name not in there:
            continue
        points = [p for p in state.curve(f"weft {name}", call, ranks)
                  if explained.serves(name, call, ranks, "thread", p[0])]
        figure.add("measured", name, points)
    missing = [name for name in names if name not in there]
    if missing:
        figure.notes.append("not in this weft: " + ", ".join(missing))
    return figure


def modelled_figure(number, title, call, names, explained, topology, ranks):
    figure = Figure(number, f"{title}, {ranks} cores ({topology}), built-in prices")
    for name in names:
        figure.add("modelled", name, explained.curve(name, call, ranks, topology=topology))
    return figure


def library_figure(number, title, row, names, state, ranks):
    figure = Figure(number, f"{title}, {ranks} ranks")
    for name in names:
        figure.add("measured", name, state.curve(name, row, ranks))
    return figure


def lines_figure(state):
    figure = Figure("15, 17", "reading a line that was just written, by the size of all that was")
    for row, writer in (("own", "by this core"), ("other", "by another core")):
        figure.add("measured", writer, state.curve("lines", row, 2))
    return figure


def over_ranks_figure(number, title, row, names, state):
    figure = Figure(number, title, x="ranks")
    for name in names:
        figure.add("measured", name, state.over_ranks(name, row))
    return figure


def model_figure(state, explained, ranks, errors):
    """Figure 18: allreduce, model and measurement; `errors` gets (way, bytes, measured / modelled)."""
    machine = explained.ask("allreduce", ranks)["machine"]
    figure = Figure("18", f"allreduce, model and measurement, {ranks} ranks as threads; prices {machine['prices']}")
    for way in explained.ways("allreduce", ranks):
        points = [p for p in state.curve(f"weft {way}", "allreduce", ranks)
                  if explained.serves(way, "allreduce", ranks, "thread", p[0])]
        figure.add("measured", way, points)
        if points:
            figure.add("modelled", way, [p for p in explained.curve(way, "allreduce", ranks)
                                         if p[0] <= points[-1][0]])
        for size, _, middle, _ in points:
            predicted = explained.at(way, "allreduce", ranks, "thread", size)
            if predicted:
                errors.append((way, size, middle / predicted))
    return figure


def choice_figure(explained, topology, ranks):
    """Figure 19: tree and tiles cross."""
    figure = modelled_figure("19", "allreduce, tree or tiles", "allreduce", ["tree", "tiled_hierarchical"],
                             explained, topology, ranks)
    tree, tiles = (dict(map(tuple, explained.curve(name, "allreduce", ranks, topology=topology)))
                   for name in ("tree", "tiled_hierarchical"))
    first = next((size for size in sorted(tree) if tiles[size] < tree[size]), None)
    figure.notes.append(f"tiles are faster from {first} bytes on" if first else "tiles are never faster")
    return figure


def counted_figure(args, program, notes):
    """Lines that cross packages, on declared machines: formulas, and what weft counts there."""
    figure = Figure("counts", "lines between packages for each line of the vector", x="way", y="lines per line")
    for topology, s, q in ((WESTMERE, 2, 6), (MAGNY_COURS, 4, 8)):
        p = s * q
        formulas = {"tiled_naive": p - q, "tiled_hierarchical": s - 1, "tree": s - 1, "one_stage": p - q,
                    "two_stage": s - 1}
        figure.add("modelled", f"{s} x {q}, formula", [[name, value] for name, value in formulas.items()])
        counted = [[name, count_lines(args, program, topology, p, name, notes)] for name in formulas]
        figure.add("counted", f"{s} x {q}", [point for point in counted if point[1] is not None])
    return figure


def count_lines(args, program, topology, ranks, way, notes):
    """Lines between packages per line of the vector: copied by a broadcast, folded by a reduction."""
    call, key = ("bcast", "copied") if "stage" in way else ("reduce", "folded")
    bin_folder = Path(args.weft).resolve() / "bin"
    env = {**os.environ, "HWLOC_SYNTHETIC": topology, f"WEFT_COLL_{call.upper()}": way}
    levels = json.loads(subprocess.run([bin_folder / "weft", "info", "--json"], capture_output=True, text=True,
                                       env=env).stdout)["machine"]["levels"]
    done = subprocess.run([bin_folder / "mpiexec", "--ranks=thread", "-n", str(ranks), program, "960"], env=env,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=args.timeout_s)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    row = next((row for row in rows if row.get("row") == call), None)
    if done.returncode != 0 or row is None:
        notes.append("this weft does not count lines per level: formulas only" if rows else
                     f"counting lines failed: {done.stderr[-200:]}")
        return None
    if "is not" in done.stderr:  # no such way: weft said so
        return None
    return sum(row[key][:list(levels).index("Package")]) / row["vector"]


def all_figures(args, state, explained, names, counts, notes, errors):
    ranks = args.ranks[-1]
    westmere, magny = (WESTMERE, 12), (MAGNY_COURS, 32)
    return [
        ways_figure("10, 11", "broadcast trees", "bcast", BCAST_TREES, state, explained, ranks),
        modelled_figure("10", "broadcast trees", "bcast", BCAST_TREES[:5], explained, *westmere),
        modelled_figure("11", "broadcast trees", "bcast", BCAST_TREES[:5], explained, *magny),
        ways_figure("12", "reduction trees", "reduce", REDUCE_TREES + ["strips", "direct"], state, explained, ranks),
        modelled_figure("12", "reduction trees", "reduce", REDUCE_TREES, explained, *magny),
        ways_figure("13", "tiled reductions", "reduce", TILED, state, explained, ranks),
        modelled_figure("13", "tiled reductions", "reduce", TILED, explained, *magny),
        ways_figure("14, 21", "allreduce, ways of weft", "allreduce", explained.ways("allreduce", ranks), state,
                    explained, ranks),
        lines_figure(state),
        library_figure("14, 22", "allreduce, libraries", "allreduce", names, state, ranks),
        model_figure(state, explained, ranks, errors),
        choice_figure(explained, *westmere),
        choice_figure(explained, *magny),
        library_figure("20", "reduce and OpenMP's array reduction", "reduce",
                       ["weft-process", "weft-thread", "OpenMP"], state, ranks),
        library_figure("23", "bcast", "bcast", names, state, ranks),
        library_figure("24", "reduce", "reduce", names, state, ranks),
        over_ranks_figure("25", "barrier", "barrier", names, state),
        over_ranks_figure("26", "matrix-vector product: its sums, in all", "matvec",
                          [f"{name} sum" for name in names], state),
        over_ranks_figure("27", "tree of Barnes-Hut: its allreduces, in all", "barnes_hut", names, state),
        counted_figure(args, counts, notes),
    ]


def measure_curves(args, libs, program, work):
    """Results whose `more` has the figures."""
    weft_explained.tune(args.weft, work)
    explained, notes, errors = weft_explained.Explained(args.weft), [], []
    jobs, names = plan(args, libs, program, work, explained, notes)
    found = job_lists.take(jobs, args)
    state = found.fullest()
    notes += weft_explained.tune_in(state, args.weft, work, explained)
    counts = next(iter(libraries.build([lib for lib in libs if lib.name == "weft-thread"], HERE / "counts/main.c",
                                       work).values()))
    figures = all_figures(args, state, explained, names, counts, notes, errors)
    notes += [f"failed: {name}: {reasons[0]}" for name, reasons in found.failures.items()]
    found.more = {"machine": explained.ask("allreduce", args.ranks[-1])["machine"], "rounds": args.rounds,
                  "paper": PAPER, "names": names, "ranks": args.ranks[-1], "notes": list(dict.fromkeys(notes)), "errors": errors,
                  "figures": [dataclasses.asdict(figure) for figure in figures]}
    return found


def print_report(found):
    """Geometric means over sizes of another library / weft, errors of the model, and what figures say."""
    more, state = found.more, found.fullest()
    print_means(state, more["names"], more["ranks"])
    for figure in more["figures"]:
        for note in figure["notes"]:
            print(f"figure {figure['number']}: {figure['title']}: {note}")
        if not figure["curves"]:
            print(f"figure {figure['number']}: {figure['title']}: no curve")
    if more["errors"]:
        print("\nmeasured / modelled, allreduce (figure 18):")
    for way in dict.fromkeys(way for way, _, _ in more["errors"]):
        ratios = [ratio for name, _, ratio in more["errors"] if name == way]
        print(f"  {way:24} median {statistics.median(ratios):6.2f}, from {min(ratios):.2f} to {max(ratios):.2f}; "
              f"relative error {statistics.mean(abs(r - 1) for r in ratios):.0%} on average")
    for note in more["notes"]:
        print(f"note: {note}")


def print_means(state, names, ranks):
    peers = [name for name in names if not name.startswith("weft")]
    print(f"\n{state.title()}\nother library / weft, {ranks} ranks, measured, geometric means over sizes (above 1: weft is faster)")
    print(f"{'':14}{'':14}" + "".join(f"{name:>16}" for name in [*peers, "OpenMP"]))
    for row in ("bcast", "reduce", "allreduce", "barrier"):
        for own in ("weft-process", "weft-thread"):
            mine = {p[0]: p[2] for p in state.curve(own, row, ranks)}
            line = f"{row:14}{own:14}"
            for name in [*peers, "OpenMP"]:
                ratios = [p[2] / mine[p[0]] for p in state.curve(name, row, ranks) if p[0] in mine]
                line += f"{statistics.geometric_mean(ratios):16.2f}" if ratios else f"{'-':>16}"
            print(line)
    for row, suffix in (("matvec", " sum"), ("barnes_hut", "")):
        for own in ("weft-process", "weft-thread"):
            mine = state.median(own + suffix, row, ranks, 0)
            line = f"{row:14}{own:14}"
            for name in peers:
                theirs = state.median(name + suffix, row, ranks, 0)
                line += f"{theirs / mine:16.2f}" if mine and theirs else f"{'-':>16}"
            print(line)
