# SPDX-License-Identifier: Apache-2.0
"""Near and far: which batches were taken while the CPUs were how far apart.

CPUs of a virtual machine move: a cache line's way between the same two takes 40 ns now and 170 ns a second
later, and whatever ranks do together is that much slower. Programs measure it before and after each batch
(distance.h: "line_ns"), so that like is compared with like.

Other guests of the host come and go on the other hardware thread of a core, too, within milliseconds: all but
one chain of dependent instructions takes up to twice as long meanwhile. Programs measure that as well ("work_ns").
Batches without it are compared where every library has some; with two cores next to none may be, and then all are.
"""
import math
import statistics
from dataclasses import dataclass

UNKNOWN_NS = 1000  # no line takes so long: both ranks were on one CPU, or one of them did not run
FACTOR = 2  # ways that differ by less are one state
SHARED = 1.25  # work that takes so many times as long shares its core
FEWEST_QUIET = 8  # batches of each library, in all rounds, that are enough for a comparison


@dataclass
class State:
    name: str  # near, far; all: there was one state
    line_ns: float  # 0: not known
    samples: list  # with the batches of this state only, and those of which it is not known

    def title(self):
        which = "" if self.name == "all" else f"{self.name} cores: "
        return f"{which}a cache line's way takes {self.line_ns:.0f} ns" if self.line_ns else ""


def known(line_ns):
    return [ns for ns in line_ns if 0 < ns < UNKNOWN_NS]


def ends(found):
    """The shortest and the longest time, but for stray looks."""
    few = len(found) // 50
    ordered = sorted(found)
    return ordered[few], ordered[-1 - few]


def shared_ns(samples):
    """What work takes at least on a core of which others have a part; None: not known."""
    found = [ns for sample in samples for ns in sample.get("work_ns", [])]
    return SHARED * ends(found)[0] if found else None


def shared_part(samples, least):
    """Of the batches, in which work took more than `least`."""
    found = [ns for sample in samples for ns in sample.get("work_ns", [])]
    return sum(ns > least for ns in found) / len(found)


def quiet(samples, least):
    """(samples, part of the cells): those of a row, number of ranks and size with only the batches in which work took
    less than `least`, if each library has enough of them; else as they are."""
    cells = {}
    for sample in samples:
        cells.setdefault((sample["row"], sample["ranks"], sample["bytes"]), []).append(sample)
    out, chosen = [], 0
    for own in cells.values():
        alone = [{**sample, "us": [us for us, ns in zip(sample["us"], sample["work_ns"]) if ns <= least]}
                 for sample in own if "work_ns" in sample]
        many = {sample["library"]: 0 for sample in own}
        for sample in alone:
            many[sample["library"]] += len(sample["us"])
        enough = min(many.values()) >= FEWEST_QUIET
        chosen += enough
        out += [sample for sample in alone if sample["us"]] if enough else own
    return out, chosen / max(1, len(cells))


def border_ns(found):
    """Between near and far ways; None: all are alike."""
    if not found:
        return None
    low, high = ends(found)
    return math.sqrt(low * high) if high > FACTOR * low else None


def batches(sample, is_there):
    """The sample with those batches before and after which the cores were there; None: with no batch."""
    line_ns = sample.get("line_ns", [])
    if not known(line_ns):
        return sample
    there = [is_there(before) and is_there(after) for before, after in zip(line_ns, line_ns[1:])]
    kept = {key: [value for value, is_one in zip(sample[key], there) if is_one] for key in ("us", "work_ns") if key in sample}
    return {**sample, **kept} if kept["us"] else None


def split(samples):
    """The samples by state, near before far."""
    every = [ns for sample in samples for ns in known(sample.get("line_ns", []))]
    border = border_ns(every)
    if border is None:
        return [State("all", statistics.median(every or [0]), samples)]
    states = []
    for name, is_there in (("near", lambda ns: 0 < ns < border), ("far", lambda ns: border < ns < UNKNOWN_NS)):
        own = [sample for sample in (batches(sample, is_there) for sample in samples) if sample is not None]
        states.append(State(name, statistics.median(filter(is_there, every)), own))
    return states
