# SPDX-License-Identifier: Apache-2.0
"""Near and far: which batches were taken while the CPUs were how far apart.

CPUs of a virtual machine move: a cache line's way between the same two takes 40 ns now and 170 ns a second
later, and whatever ranks do together is that much slower. Programs measure it before and after each batch
(distance.h: "line_ns"), so that like is compared with like.

Other guests of the host come and go on the other hardware thread of a core, too, within milliseconds: all but
one chain of dependent instructions takes up to twice as long meanwhile. Programs measure that as well ("work_ns"). It
is only told: with two cores next to no batch may be without it, and it should meet all libraries alike.
"""
import math
import statistics
from dataclasses import dataclass

UNKNOWN_NS = 1000  # no line takes so long: both ranks were on one CPU, or one of them did not run
FACTOR = 2  # ways that differ by less are one state
SHARED = 1.25  # work that takes so many times as long shares its core


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


def shared_part(samples):
    """Of the batches, on cores of which others had a part; None: not known."""
    found = [ns for sample in samples for ns in sample.get("work_ns", [])]
    if not found:
        return None
    shortest, _ = ends(found)
    return sum(ns > SHARED * shortest for ns in found) / len(found)


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
    us = [us for us, before, after in zip(sample["us"], line_ns, line_ns[1:]) if is_there(before) and is_there(after)]
    return {**sample, "us": us} if us else None


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
