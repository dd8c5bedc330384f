# SPDX-License-Identifier: Apache-2.0
"""Tables of a run, from its results: the compact one (means over sizes), and the times of every size.

A ratio is best peer / weft: above 1 weft is faster. The best peer of a row and size is the one with the
smallest median there."""
import itertools
import statistics

from results import quartiles

MODES = ("process", "thread")
LEAST_BYTES, MOST_BYTES = 8, 4 << 20  # of the compact table; 0: what has no size


def ratios(by_library, own):
    """Quartiles of best peer / own, over the rounds or, if no round has both, over all pairs; and who the best
    peer (by median) is."""
    peer_names = [name for name in by_library if not name.startswith("weft")]
    if own not in by_library or not peer_names:
        return None
    best = min(peer_names, key=lambda name: statistics.median(by_library[name].values()))
    theirs, ours = by_library[best], by_library[own]
    pairs = [(theirs[r], ours[r]) for r in theirs.keys() & ours.keys()] or \
        list(itertools.product(theirs.values(), ours.values()))
    return (*quartiles([them / us for them, us in pairs]), best)


def size_name(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def mean_and_worst(cells, own, row, ranks):
    """(geometric mean over sizes of best peer / own, worst ratio, its size), or None."""
    found = {size: ratios(by_library, own) for (what, n, size), by_library in cells.items()
             if (what, n) == (row, ranks) and (size == 0 or LEAST_BYTES <= size <= MOST_BYTES)}
    found = {size: ratio[1] for size, ratio in found.items() if ratio}
    if not found:
        return None
    worst = min(found, key=found.get)
    return statistics.geometric_mean(found.values()), found[worst], worst if len(found) > 1 else None


def show_mean(found):
    """`1.68, 1.00 at 256 KiB`; a row of one size has no worst one."""
    if found is None:
        return "-"
    mean, worst, size = found
    return f"{mean:.2f}" + (f", {worst:.2f} at {size_name(size)}" if size is not None else "")


def rows_and_ranks(cells):
    return list(dict.fromkeys((row, ranks) for row, ranks, _ in cells))


def buffers(results):
    return "untouched" if results.about["options"].get("untouched") else "touched"


def print_compact(results):
    """One line for each row and number of ranks: near and far, ranks as processes and as threads."""
    columns = [(state, f"weft-{mode}") for state in results.states for mode in MODES
               if any(f"weft-{mode}" in by_library for by_library in state.cells.values())]
    about = results.about
    print(f"\n{about['cpu']}, {about['cpus']} CPUs, {about['date'][:10]}, weft "
          f"{next((version for name, version in about['libraries'].items() if name.startswith('weft')), '-')}: "
          f"best peer / weft (above 1: weft is faster), geometric mean over {size_name(LEAST_BYTES)} to "
          f"{size_name(MOST_BYTES)}, worst size; buffers {buffers(results)}")
    for state in results.states:
        if state.title():
            print(state.title())
    print(f"{'row':<20}{'ranks':>6}" + "".join(f"{f'{state.name} ' * (state.name != 'all') + own:>28}" for state, own in columns))
    complete = {state.name: results.complete(state) for state in results.states}
    for row, ranks in dict.fromkeys(itertools.chain.from_iterable(rows_and_ranks(state.cells) for state in results.states)):
        print(f"{row:<20}{ranks:>6}" + "".join(
            f"{show_mean(mean_and_worst(complete[state.name], own, row, ranks)):>28}" for state, own in columns))


def print_every_size(results):
    """Medians of all libraries, and ratios with quartiles; near and far apart."""
    names = list(results.about["libraries"])
    owns = [name for name in names if name.startswith("weft")]
    for state in results.states:
        complete = results.complete(state)
        print(f"\n{state.title()}\n{'us per operation, medians':28}" + "".join(f"{name:>14}" for name in names) +
              "".join(f"{'peer/' + name:>30}" for name in owns))
        for (row, ranks, size), by_library in state.cells.items():
            line = f"{row:<14}{ranks:>4}{size:>10}"
            for name in names:
                value = state.median(name, row, ranks, size)
                line += f"{value:14.4g}" if value is not None else f"{'-':>14}"
            for own in owns:
                found = ratios(complete.get((row, ranks, size), {}), own)
                text = f"{found[1]:.2f} [{found[0]:.2f} {found[2]:.2f}] {found[3]}" if found else "-"
                line += f"{text:>30}"
            print(line)


def print_levels(results):
    """What one thread pays for MPI_THREAD_MULTIPLE: medians and quartiles over the rounds."""
    names = list(results.about["libraries"])
    for state in results.states:
        pairs = [(key, (key[0].replace("single", "1t"), *key[1:])) for key in state.cells if key[0].endswith("_single")]
        pairs = [(single, multiple) for single, multiple in pairs if multiple in state.cells]
        if pairs:
            print(f"\n{state.title()}\n{'MULTIPLE / SINGLE, 1 thread':28}" + "".join(f"{name:>22}" for name in names))
        for single, multiple in pairs:
            row, ranks, size = single
            line = f"{row.split('_')[0]:<14}{ranks:>4}{size:>10}"
            for name in names:
                one, more = state.cells[single].get(name, {}), state.cells[multiple].get(name, {})
                both = [more[r] / one[r] for r in one.keys() & more.keys()]
                low, middle, high = quartiles(both) if both else (0,) * 3
                line += f"{f'{middle:.2f} [{low:.2f} {high:.2f}]' if both else '-':>22}"
            print(line)
