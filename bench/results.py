# SPDX-License-Identifier: Apache-2.0
"""The file behind a table or a plot: what one run measured, small enough to be kept.

    {"about": {...}, "failures": {...}, "more": {...}, "states": [{"name": "near", "line_ns": 26, "series": [
     {"row": "lat", "ranks": 2, "library": "mpich", "bytes": [8, 64],
      "quartiles_us": [[low, median, high], ...], "us": [[one median for each round, null: none], ...]}, ...]}]}

Programs print batches; `collect` sorts them by state (states.py) and keeps the median of each round.
Whatever is printed or drawn is made from this file again: `weft bench --from FILE`.
"""
import dataclasses
import json
import statistics
import sys
from pathlib import Path

import states

MOST_BYTES = 200 << 10  # of a file; a larger run is saved in one file for each number of ranks


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def shorten(value):
    """Four significant digits: rounds differ by a percent."""
    return float(f"{value:.4g}")


@dataclasses.dataclass
class State:
    """What was measured while cores were equally far apart."""
    name: str  # near, far; all: there was one state
    line_ns: float  # 0: not known
    cells: dict = dataclasses.field(default_factory=dict)  # {(row, ranks, bytes): {library: {round: us}}}
    counts: dict = dataclasses.field(default_factory=dict)  # {(row, ranks, bytes): {library: {name: median}}}

    def title(self):
        which = "" if self.name == "all" else f"{self.name} cores: "
        return f"{which}a cache line's way takes {self.line_ns:.0f} ns" if self.line_ns else ""

    def median(self, library, row, ranks, size):
        rounds = self.cells.get((row, ranks, size), {}).get(library)
        return statistics.median(rounds.values()) if rounds else None

    def curve(self, library, row, ranks):
        """[[bytes, lower quartile, median, upper quartile]]"""
        return sorted([size, *quartiles(list(by_library[library].values()))]
                      for (what, n, size), by_library in self.cells.items()
                      if (what, n) == (row, ranks) and library in by_library)

    def over_ranks(self, library, row):
        """[[ranks, lower quartile, median, upper quartile]]"""
        return sorted([n, *quartiles(list(by_library[library].values()))]
                      for (what, n, _), by_library in self.cells.items() if what == row and library in by_library)


@dataclasses.dataclass
class Results:
    about: dict     # machine, libraries, options
    states: list    # of State, near before far
    failures: dict  # {library: [what failed, and why]}
    more: dict      # what figures.py and regret.py made of it

    def fullest(self):
        """The state in which most was measured."""
        return max(self.states, key=lambda state: sum(len(by_library) for by_library in state.cells.values()))

    def complete(self, state):
        """The cells of a state where every peer that ran was met: only these have a best peer."""
        ran = {}
        for each in self.states:
            for key, by_library in each.cells.items():
                ran.setdefault(key, set()).update(by_library)
        return {key: by_library for key, by_library in state.cells.items()
                if all(name in by_library or name.startswith("weft") for name in ran[key])}


def some(samples):
    """They, or the end of the program if there are none."""
    if not samples:
        sys.exit("bench: no library ran")
    return samples


def collect(about, samples, failures, more=None):
    """samples: [{library, round, row, ranks, bytes, us: [of each batch], line_ns: [], work_ns: [], counts: {}}]"""
    found = []
    least, alone = states.shared_ns(samples), []
    for part in states.split(samples):
        state = State(part.name, shorten(part.line_ns))
        counted = {}
        if least is not None:
            part.samples, chosen = states.quiet(part.samples, least)
            alone.append(chosen)
        for sample in part.samples:
            key, library = (sample["row"], sample["ranks"], sample["bytes"]), sample["library"]
            state.cells.setdefault(key, {}).setdefault(library, {})[sample["round"]] = \
                shorten(statistics.median(sample["us"]))
            for name, count in sample.get("counts", {}).items():
                counted.setdefault((key, library, name), []).append(count)
        for (key, library, name), values in counted.items():
            state.counts.setdefault(key, {}).setdefault(library, {})[name] = shorten(statistics.median(values))
        found.append(state)
    if least is not None:
        about = {**about, "shared_percent": round(100 * states.shared_part(samples, least), 1),
                 "quiet_percent": round(100 * statistics.mean(alone), 1)}
    return Results(about, found, failures, more or {})


def series_of(state):
    """The cells of a state, one object for each row, number of ranks and library."""
    rounds = 1 + max((number for by_library in state.cells.values() for own in by_library.values() for number in own),
                     default=0)
    series = {}
    for (row, ranks, size), by_library in state.cells.items():
        for library, own in by_library.items():
            one = series.setdefault((row, ranks, library), {"row": row, "ranks": ranks, "library": library, "bytes": [],
                                                            "quartiles_us": [], "us": [], "counts": []})
            one["bytes"].append(size)
            one["quartiles_us"].append([shorten(us) for us in quartiles(list(own.values()))])
            one["us"].append([own.get(number) for number in range(rounds)])
            one["counts"].append(state.counts.get((row, ranks, size), {}).get(library))
    for one in series.values():
        if not any(one["counts"]):
            del one["counts"]
    return list(series.values())


def to_text(results):
    """JSON with a line for each series."""
    def dense(value):
        return json.dumps(value, separators=(",", ":"))
    parts = []
    for state in results.states:
        lines = ",\n".join(dense(one) for one in series_of(state))
        parts.append(f'{{"name":{dense(state.name)},"line_ns":{dense(state.line_ns)},"series":[\n{lines}]}}')
    return f'{{"about":{dense(results.about)},\n"failures":{dense(results.failures)},\n"more":{dense(results.more)},\n' \
           f'"states":[{",".join(parts)}]}}\n'


def from_text(text):
    data = json.loads(text)
    found = []
    for part in data["states"]:
        state = State(part["name"], part["line_ns"])
        for one in part["series"]:
            for at, size in enumerate(one["bytes"]):
                key = (one["row"], one["ranks"], size)
                state.cells.setdefault(key, {})[one["library"]] = \
                    {number: us for number, us in enumerate(one["us"][at]) if us is not None}
                if "counts" in one and one["counts"][at]:
                    state.counts.setdefault(key, {})[one["library"]] = one["counts"][at]
        found.append(state)
    return Results(data["about"], found, data["failures"], data["more"])


def load(path):
    return from_text(Path(path).read_text())


def by_ranks(results):
    """[(ending of the name, results)] for each number of ranks."""
    counts = sorted({ranks for state in results.states for _, ranks, _ in state.cells})
    return [(f"-{n}ranks", dataclasses.replace(results, states=[
        dataclasses.replace(state, cells={key: cell for key, cell in state.cells.items() if key[1] == n})
        for state in results.states])) for n in counts]


def save(results, folder, name):
    """The files written: <date>-<name>.json, with a number where that is there; each below MOST_BYTES if it can be."""
    whole = to_text(results)
    parts = [("", whole)] if len(whole) < MOST_BYTES else [(end, to_text(part)) for end, part in by_ranks(results)]
    stem = f"{results.about['date'][:10]}-{name}"
    taken = (f"-{number}" if number > 1 else "" for number in range(1, 1000))
    free = next(mark for mark in taken if not any((folder / f"{stem}{mark}{end}.json").exists() for end, _ in parts))
    paths = [folder / f"{stem}{free}{end}.json" for end, _ in parts]
    for path, (_, text) in zip(paths, parts):
        path.write_text(text)
    return paths
