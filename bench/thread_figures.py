# SPDX-License-Identifier: Apache-2.0
"""Experiments of Dang, Seo, Amer, Balaji (Advanced Thread Synchronization for Multithreaded MPI Implementations,
CCGrid 2017) with weft's locks, in two ranks on this machine: `weft bench threads --figures`.

Figures 3, 9 and 14b, where the threads' time goes; 16, breadth-first search; 17, HPCCG. The paper has up to 256 nodes
for 16 and 17, here it is one: their shape over locks counts. threads/modelled.py has the figures that need more cores.
"""
import copy
import dataclasses
import re

import figures
import jobs as job_lists
import libraries
import thread_locks

PAPER = "Dang, Seo, Amer, Balaji (CCGrid 2017)"
BREAKDOWN = ("pclh", "pclh-usc", "hclhub-usc")
PROGRAM_LOCKS = ("mtx", "mtx-ksc", "pclh", "pclh-usc", "clhub-usc", "hclhub-usc", "auto")
PARTS = {"ISSUE": "issue_ns", "POLL": "poll_ns", "EMPTY CS": "empty_ns", "SYNC": "sync_ns"}
BASELINE = "pclh"  # the paper's


def timed(lock):
    """The series of a lock with WEFT_STATS=1, which costs time."""
    return f"{lock}, timed"


def searches(row, threads):
    """us of each search, from the lines of examples/bfs."""
    def read(text):
        found = re.findall(r"(?m)^bfs: .* edges in ([\d.]+) s, .*: ok$", text)
        return [{"row": row, "bytes": threads, "us": [float(seconds) * 1e6 for seconds in found]}] if found else []
    return read


def solution(threads):
    """us of the whole solution and in exchanges, from the line of examples/hpccg."""
    def read(text):
        found = re.search(r"(?m)^hpccg: .* in ([\d.]+) s \(([\d.]+) s in exchanges\), .*: ok$", text)
        return [{"row": row, "bytes": threads, "us": [float(seconds) * 1e6]}
                for row, seconds in zip(("hpccg", "exchanges"), found.groups() if found else ())]
    return read


def program_jobs(args, library, work):
    """Figures 16 and 17, with the threads of a rank in place of bytes; [] with a note where the examples are not
    (an installed tree)."""
    examples = figures.HERE.parent / "examples"
    if not (examples / "bfs/bfs.c").exists():
        return [], ["the programs of figures 16 and 17 are in examples/ of the source tree"]
    scale, cells, iterations = ("12", "16", "40") if args.quick else ("14", "32", "100")
    bfs, hpccg = (libraries.build([library], examples / source, work, ["-O2", "-lm", "-pthread"])[library.name]
                  for source in ("bfs/bfs.c", "hpccg/hpccg.c"))
    jobs = []
    for each in thread_locks.variants(library, PROGRAM_LOCKS):
        for n in args.threads:
            words = ["-s", scale, "-t", str(n), "-r", "3"]
            jobs.append(job_lists.Job(each.name, each, 2, bfs, "", words, searches("bfs", n)))
            if n % 2 == 0:
                jobs.append(job_lists.Job(each.name, each, 2, bfs, "", [*words, "-b"], searches("bfs_blocking", n)))
            words = ["-n", cells, "-t", str(n), "-i", iterations]
            jobs.append(job_lists.Job(each.name, each, 2, hpccg, "", words, solution(n)))
    return jobs, [f"bfs: scale {scale}, 3 searches; hpccg: {cells}^3 cells a rank, {iterations} iterations at most"]


def breakdown_jobs(args, library, program):
    """Figures 3, 9 and 14b: messages whose counts say where the time went."""
    rows = ",".join(f"{row}_{n}t" for row in ("lat", "rate") for n in args.threads)
    return [job_lists.Job(timed(each.name), each, 2, program, rows)
            for each in thread_locks.variants(library, BREAKDOWN, {"WEFT_STATS": 1})]


def breakdown(state):
    """[{lock, row, threads, parts: {part: us of all threads per message}, together, calls, threads_us}], medians."""
    found = []
    for (row, _, _), by_series in state.counts.items():
        kind, threads = row.split("_")
        for lock in BREAKDOWN:
            counts = by_series.get(timed(lock), {})
            if "call_ns" not in counts:
                continue
            parts = {part: counts.get(name, 0) / 1000 for part, name in PARTS.items()}
            found.append({"lock": lock, "row": kind, "threads": int(threads[:-1]), "parts": parts,
                          "together": sum(parts.values()), "calls": counts["call_ns"] / 1000,
                          "threads_us": counts["threads_ns"] / 1000})
    return found


def all_figures(state):
    out = []
    for number, row, title in (("16a", "bfs", "breadth-first search, nonblocking, us"),
                               ("16b", "bfs_blocking", "breadth-first search, blocking, us"),
                               ("17", "hpccg", "HPCCG, us"), ("17", "exchanges", "HPCCG, its exchanges, us")):
        figure = figures.Figure(number, f"{title}, 2 ranks", x="threads")
        for lock in PROGRAM_LOCKS:
            figure.add("measured", lock, state.curve(lock, row, 2))
        out.append(figure)
    return out


def measure_curves(args, libs, programs, work):
    """Results whose `more` has the figures."""
    args = copy.copy(args)
    args.sizes = "64"
    library = next(lib for lib in libs if lib.name == "weft-thread")
    jobs, notes = program_jobs(args, library, work)
    found = job_lists.take(jobs + breakdown_jobs(args, library, programs[library.name]), args)
    notes += [f"failed: {name}: {reason}" for name, reasons in found.failures.items() for reason in reasons]
    found.more = {"paper": PAPER, "rounds": args.rounds, "notes": list(dict.fromkeys(notes)),
                  "figures": [dataclasses.asdict(figure) for figure in all_figures(found.fullest())]}
    return found


def print_report(found):
    """The times of figures 16 and 17 beside the baseline's, the parts of figures 3, 9 and 14b."""
    state = found.fullest()
    if state.title():
        print(f"\n{state.title()}")
    for figure in found.more["figures"]:
        print_figure(figure)
    print_breakdown(breakdown(state))
    for note in found.more["notes"]:
        print(f"note: {note}")


def cell(us, base_us):
    """`10 (2.00)`: a time and how much longer the baseline takes."""
    if not us:
        return "-"
    return f"{us:.4g} " + (f"({base_us / us:4.2f})" if base_us else "( -  )")


def print_figure(figure):
    curves = {curve["label"]: {point[0]: point[2] for point in curve["points"]} for curve in figure["curves"]}
    if not curves:
        print(f"figure {figure['number']}: {figure['title']}: no curve")
        return
    base, threads = curves.get(BASELINE, {}), sorted({n for points in curves.values() for n in points})
    print(f"\nfigure {figure['number']}: {figure['title']}, measured; in brackets {BASELINE} / this (above 1: faster)")
    print(f"{'threads':12}" + "".join(f"{n:>18}" for n in threads))
    for lock, points in curves.items():
        print(f"{lock:12}" + "".join(f"{cell(points.get(n), base.get(n)):>18}" for n in threads))


def print_breakdown(found):
    print("\nfigures 3, 9, 14b: us per message of all threads of both ranks, 64 B, measured (WEFT_STATS=1); "
          "the parts are not\nnormalised: `together` is their sum, `in calls` what the entry points measured, "
          "`threads` the time that the program's threads had")
    print(f"{'row':8}{'threads':>8} {'lock':12}" + "".join(f"{part:>10}" for part in PARTS) +
          f"{'together':>10}{'in calls':>10}{'threads':>10}{'together/threads':>18}")
    for f in found:
        print(f"{f['row']:8}{f['threads']:8} {f['lock']:12}" + "".join(f"{us:10.3f}" for us in f["parts"].values()) +
              f"{f['together']:10.3f}{f['calls']:10.3f}{f['threads_us']:10.3f}{f['together'] / f['threads_us']:18.3f}")
