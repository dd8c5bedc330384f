# SPDX-License-Identifier: Apache-2.0
"""What copies cost a core that computes: `weft bench progress --rows caches`, as in Denis, Jaeger, Taboada (COLOC 2018),
figures 3 and 4. A matrix product alone and beside a loop of copies (progress/caches.c): its time and the copies' speed
are measured, misses counted where the kernel counts them, and modelled for a first-level cache that both share."""
import dataclasses

import cache_model
import figures
import jobs as job_lists
import progress_jobs

SERIES = "product"
PLACES = {"same core": "same core, CPU time", "another core": "another core", "sibling": "sibling hardware thread"}
BLOCKS = {4 << 10: "4 KiB", 128 << 10: "128 KiB", 2 << 20: "2 MiB"}
MISSES = ("L1D misses", "LLC misses")


def alone(state):
    return state.median(SERIES, "caches alone", 1, 0)


def counts(state, place, size):
    return state.counts.get((f"caches {place}", 1, size), {}).get(SERIES, {})


def speed(state, place, size):
    """Bytes that were copied in a us; 0: not measured."""
    return counts(state, place, size).get("copied", 0)


def model(state):
    """What a shared first-level cache would do at the speeds of a core for each."""
    level = cache_model.first_level()
    beside = {size: (speed(state, "another core", size) or speed(state, "same core", size)) * alone(state) for size in BLOCKS}
    return {"cache": list(level), "alone": cache_model.misses(level),
            "beside": {name: cache_model.misses(level, size, beside[size]) for size, name in BLOCKS.items()}}


def all_figures(state, modelled):
    times = figures.Figure("3", "matrix product beside a loop of copies", x="size", y="CPU time / alone")
    missed = figures.Figure("4", "first-level read misses of a product", x="size", y="misses")
    own = [["alone", n] for n in [counts(state, "alone", 0).get(MISSES[0])] if n is not None]
    for place, label in PLACES.items():
        times.add("measured", label, [[BLOCKS[size], *(us / alone(state) for us in quartiles)]
                                      for size, *quartiles in state.curve(SERIES, f"caches {place}", 1)])
        beside = [[name, counts(state, place, size)[MISSES[0]]] for size, name in BLOCKS.items()
                  if MISSES[0] in counts(state, place, size)]
        missed.add("counted", label, beside and own + beside)
    missed.add("modelled", "a cache that both share", [["alone", modelled["alone"]], *map(list, modelled["beside"].items())])
    return [figure for figure in (times, missed) if figure.curves]


def measure_curves(args, libs, work, source):
    """Results whose `more` has the figures."""
    found = job_lists.take(progress_jobs.cache_plan(args, libs, work, source), args)
    state = found.fullest()
    found.more = {"rounds": args.rounds, "figures": []}
    if alone(state) is not None:
        modelled = model(state)
        shown = [dataclasses.asdict(figure) for figure in all_figures(state, modelled)]
        found.more.update(modelled=modelled, figures=shown)
    return found


def line(label, cells):
    print(f"{label:34}" + "".join(f"{cell:>22}" for cell in cells))


def print_times(state):
    base = alone(state)
    line("", BLOCKS.values())
    for place, label in PLACES.items():
        cells = []
        for size in BLOCKS:
            us = state.median(SERIES, f"caches {place}", 1, size)
            cells.append("none here" if us is None else f"{us:.1f} ({100 * (us / base - 1):+.0f} %, "
                                                        f"{speed(state, place, size) / 1000:.0f} GB/s)")
        line(label, cells)
        if place == "same core":
            wall = [state.median(SERIES, f"caches {place} wall", 1, size) for size in BLOCKS]
            line("same core, from begin to end", [f"{us:.1f} ({100 * (us / base - 1):+.0f} %)" for us in wall])


def print_misses(state, modelled):
    for name in MISSES:
        rows = {label: [counts(state, place, size).get(name) for size in BLOCKS] for place, label in PLACES.items()}
        own = counts(state, "alone", 0).get(name)
        print(f"{name} of a product: " + ("not counted here" if own is None else f"counted, alone {own:.0f}; beside copies of"))
        for label, numbers in rows.items() if own is not None else ():
            line(label, ["-" if n is None else f"{n:.0f}" for n in numbers])
    size, ways, bytes_of_line = modelled["cache"]
    print(f"L1D misses of a product, modelled: copies go through its cache ({size >> 10} KiB, {ways} ways, lines of {bytes_of_line} B), as "
          f"fast as\nbeside it on another core: alone {modelled['alone']:.0f}; beside copies of")
    line("a cache that both share", [f"{n:.0f}" for n in modelled["beside"].values()])


def print_report(found):
    state = found.fullest()
    if alone(state) is None:
        return
    print(f"\na matrix product of {cache_model.N} x {cache_model.N} beside a loop of copies, measured; us of a product, alone {alone(state):.1f};\n"
          "in brackets how much longer than alone, and what was copied meanwhile; copies of")
    print_times(state)
    print()
    print_misses(state, found.more["modelled"])
