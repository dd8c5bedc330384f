# SPDX-License-Identifier: Apache-2.0
"""Tables of `weft bench network`, from its file of samples."""
import copy

import tables
from results import quartiles

OWN = "fi_pingpong"


def without(results, name):
    """The results as if that had not run: it is no MPI library."""
    shown = copy.deepcopy(results)
    shown.about["libraries"].pop(name, None)
    for state in shown.states:
        for by_library in state.cells.values():
            by_library.pop(name, None)
    return shown


def against_own(results):
    """[(state, weft's series, bytes, quartiles of weft / libfabric's ping-pong)]"""
    found = []
    for state in results.states:
        for (row, _, size), by_library in state.cells.items():
            for name, own in by_library.items():
                if row != "lat" or not name.startswith("weft") or OWN not in by_library:
                    continue
                theirs = by_library[OWN]
                pairs = [own[r] / theirs[r] for r in own.keys() & theirs.keys()]
                if pairs:
                    found.append((state.name, name, size, quartiles(pairs)))
    return found


def print_report(results):
    print("\nby TCP between two nodes:")
    for name, lines in results.more.get("settings", {}).items():
        for line in lines:
            print(f"  {name:14}{line}")
    if results.more.get("congestion_control"):
        print(f"TCP's congestion control: {results.more['congestion_control']}")
    if results.more.get("prices"):
        print(f"weft chooses by what `weft tune --net` has measured before; {results.more['prices']}")
    mpi = without(results, OWN)
    tables.print_every_size(mpi)
    tables.print_compact(mpi)
    own = against_own(results)
    if own:
        print(f"\nhalf a round trip, weft / libfabric's {OWN} (1: weft adds nothing); in brackets the quartiles")
    for state, name, size, (low, middle, high) in own:
        print(f"  {state:6}{name:16}{tables.size_name(size):>10}  {middle:.2f} [{low:.2f} {high:.2f}]")
