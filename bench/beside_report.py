# SPDX-License-Identifier: Apache-2.0
"""Tables and figures of `weft bench beside`, from its file of samples. A row is `operation neighbours[ got| computed]`."""
import statistics

import tables
from results import quartiles

OPERATIONS = {"round_trip": "there and back", "allreduce": "allreduce", "exchange": "compute, exchange", "phases": "compute, 50 allreduces"}
WIDTH = 52  # of a column


def measured(state):
    """[(operation, ranks, bytes)] and [neighbours to a CPU]"""
    split = [(row.split(), ranks, size) for row, ranks, size in state.cells]
    return (list(dict.fromkeys((words[0], ranks, size) for words, ranks, size in split)),
            sorted({int(words[1]) for words, _, _ in split}))


def digits(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def shown(by_round):
    low, middle, high = map(digits, quartiles(list(by_round.values())))
    return f"{middle} [{low} {high}]"


def cell(state, name, operation, n, ranks, size):
    """Time, shares, best peer / weft; -: not measured."""
    def rounds(what):
        return state.cells.get((f"{operation} {n}{what}", ranks, size), {}).get(name)
    time, got, computed = (rounds(what) for what in ("", " got", " computed"))
    if time is None:
        return "-"
    text = shown(time) + (f", {shown(got)}%" if got else "")
    text += f" + {statistics.median(computed.values()):.0f}%" if computed else ""
    ratio = name.startswith("weft") and tables.ratios(state.cells[f"{operation} {n}", ranks, size], name)
    return text + (f", {ratio[1]:.2f}" if ratio else "")


def neighbours(n):
    return f"{n} neighbour{'s' * (n != 1)} to a CPU" if n else "no neighbours"


def title(operation, ranks, size):
    return f"{OPERATIONS[operation]}, {tables.size_name(size)}, {ranks} ranks"


def print_means(state, names):
    """Of all operations: best peer / weft, and what neighbours got."""
    operations, numbers = measured(state)
    print("\nbest peer / weft, geometric means; neighbours got, means of %")
    for n in numbers:
        for name in names:
            cells = [state.cells.get((f"{operation} {n}", *key), {}) for operation, *key in operations]
            found = [tables.ratios(by_library, name) for by_library in cells] if name.startswith("weft") else []
            ratios = [ratio[1] for ratio in found if ratio]
            got = [state.median(name, f"{operation} {n} got", *key) for operation, *key in operations]
            got = [share for share in got if share is not None]
            print(f"{neighbours(n):24}{name:16}" + (f"{statistics.geometric_mean(ratios):8.2f}" if ratios else f"{'-':>8}") +
                  (f"{statistics.mean(got):8.0f}%" if got else ""))


def print_report(found):
    state, names = found.fullest(), list(found.about["libraries"])
    operations, numbers = measured(state)
    print("\nus of an operation, medians [quartiles] of rounds; what neighbours got meanwhile, and + what the ranks computed, in % of\n"
          "what all CPUs do for neighbours alone; best peer / weft (above 1: weft is faster)")
    for operation, ranks, size in operations:
        print(f"\n{title(operation, ranks, size)}\n{'':16}" + "".join(f" {neighbours(n):>{WIDTH}}" for n in numbers))
        for name in names:
            print(f"{name:16}" + "".join(f" {cell(state, name, operation, n, ranks, size):>{WIDTH}}" for n in numbers))
    print_means(state, names)
    alone = sorted({name for by_library in state.counts.values() for name, counts in by_library.items() if counts["own_session"]})
    if found.about.get("autogroup") and alone:
        print(f"note: this kernel shares its CPUs out by session; each rank of {', '.join(alone)} has one of its own")
    for name, reasons in found.failures.items():
        print(f"note: failed: {name}: {'; '.join(reasons)}")


def figures(found):
    """For plot_figures.py."""
    state, made = found.fullest(), []
    operations, numbers = measured(state)
    for operation, ranks, size in operations:
        for what, y in (("", "µs"), (" got", "% of neighbours alone")):
            points = {name: [[str(n), *quartiles] for n in numbers
                             for at, *quartiles in state.curve(name, f"{operation} {n}{what}", ranks) if at == size]
                      for name in found.about["libraries"]}
            curves = [{"kind": "measured", "label": name, "points": own} for name, own in points.items() if own]
            made.append({"number": "", "title": title(operation, ranks, size), "x": "neighbours to a CPU", "y": y, "curves": curves,
                         "notes": []})
    return [figure for figure in made if figure["curves"]]
