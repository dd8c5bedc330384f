# SPDX-License-Identifier: Apache-2.0
"""What of nonblocking operations is hidden, on this node and by TCP, and the parts of `weft bench progress`, as in Denis,
Jaeger, Taboada (COLOC 2018), figures 1 and 2. overlap = (comm + cpu - ovrl) / min(comm, cpu), between 0 and 1."""
import dataclasses
import math

import cache_figures
import figures
import jobs as job_lists
import progress_jobs

PAPER = "Denis, Jaeger, Taboada (COLOC 2018)"
PARTNERS = {"waits": "its partner waits", "computes": "both compute"}


def parts(state, series, operation, partner, size):
    """{part: median us}; {}: not measured."""
    found = {part: state.median(series, f"{operation} {partner} {part}", 2, size)
             for part in ("comm", "cpu", "ovrl", "product")}
    return {} if None in found.values() else found


def overlap(p):
    return max(0.0, min(1.0, (p["comm"] + p["cpu"] - p["ovrl"]) / min(p["comm"], p["cpu"])))


def measured(state):
    """operations, series, sizes of a state"""
    rows = {key[0].split()[0]: None for key in state.cells}
    series = {name: None for cell in state.cells.values() for name in cell}
    return list(rows), list(series), sorted({key[2] for key in state.cells})


def all_figures(state, where=""):
    out = []
    operations, series, sizes = measured(state)
    for partner, title in PARTNERS.items():
        for operation in operations:
            shown = figures.Figure("1", f"{operation}{where}, rank 0 computes, {title}", y="overlap")
            times = figures.Figure("2", f"{operation}{where}, {title}: begin, product, wait")
            for name in series:
                points = [(size, parts(state, name, operation, partner, size)) for size in sizes]
                shown.add("measured", name, [[size, overlap(p)] for size, p in points if p])
                times.add("measured", name, [[size, p["ovrl"]] for size, p in points if p])
            out += [shown, times]
    return [figure for figure in out if figure.curves]


def measure_curves(args, jobs, where="", **more):
    """Results whose `more` has the figures."""
    found = job_lists.take(jobs, args)
    shown = [dataclasses.asdict(figure) for figure in all_figures(found.fullest(), where)]
    found.more = {"paper": PAPER, "rounds": args.rounds, "figures": shown, **more}
    return found


def measure_parts(args, libs, work, folder):
    """(ending of the name, results) of each part that --rows wants; folder: where the programs' sources are."""
    kind, source = args.about["kind"], folder / "main.c"
    if progress_jobs.wants(args, "node"):
        yield "", measure_curves(args, progress_jobs.plan(args, libs, work, source))
    if progress_jobs.wants(args, "network"):
        args.about = {**args.about, "kind": f"{kind} network"}
        jobs = progress_jobs.network_plan(args, libs, work, source)
        yield "-network", measure_curves(args, jobs, " by TCP", settings=progress_jobs.network_settings(libs))
    if progress_jobs.wants(args, "caches"):
        args.about = {**args.about, "kind": f"{kind} caches"}
        found = cache_figures.measure_curves(args, libs, work, folder / "caches.c")
        found.more["paper"] = PAPER
        yield "-caches", found


def is_own(name):
    return name.startswith("weft")


def print_report(found):
    if "settings" in found.more:
        print("\nby TCP between two processes of this machine:")
        for name, words in found.more["settings"].items():
            print(f"  {name:20}{words}")
    for state in found.states:
        operations, series, sizes = measured(state)
        print(f"\n{state.title()}\nmeasured; us: begin, product, wait; in brackets what of it is not the product alone, "
              "how much longer the product took, and the overlap; last: best peer / weft")
        ratios = {}
        for partner, title in PARTNERS.items():
            for operation in operations:
                print(f"\n{operation}, rank 0 computes, {title}")
                print(f"{'':26}" + "".join(f"{size:>34}" for size in sizes))
                cells = {(name, size): parts(state, name, operation, partner, size)
                         for name in series for size in sizes}
                for name in series:
                    line = ""
                    for size in sizes:
                        p, text = cells[name, size], "-"
                        if p:
                            growth = 100 * (p["product"] / p["cpu"] - 1)
                            text = f"{p['ovrl']:.0f} ({p['ovrl'] - p['cpu']:.0f} us, {growth:+.0f} %, " \
                                f"{100 * overlap(p):.0f} %)"
                            peers = [q["ovrl"] for (peer, n), q in cells.items() if q and n == size and not is_own(peer)]
                            if is_own(name) and peers:
                                ratio = min(peers) / p["ovrl"]
                                ratios.setdefault((partner, name), []).append(ratio)
                                text += f" {ratio:.2f}"
                        line += f" {text:>33}"
                    print(f"{name:26}{line}")
        print()
        for (partner, name), values in ratios.items():
            mean = math.exp(sum(map(math.log, values)) / len(values))
            print(f"best peer / {name}, {PARTNERS[partner]}: mean {mean:.2f}, worst {min(values):.2f}")
