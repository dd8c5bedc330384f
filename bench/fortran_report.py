# SPDX-License-Identifier: Apache-2.0
"""Tables of `weft bench fortran`, from its file of samples: what a call costs in C, and how much more in Fortran."""
from results import quartiles

WAYS = ("f08", "mpif", "made")


def times(results):
    """{(state, operation, ranks, bytes): {library: {way: {round: us}}}}"""
    found = {}
    for state in results.states:
        for (row, ranks, size), by_library in state.cells.items():
            operation, _, way = row.rpartition("_")
            for name, by_round in by_library.items():
                found.setdefault((state.name, operation, ranks, size), {}).setdefault(name, {})[way] = by_round
    return found


def over(ways, way):
    """ns more than C in the same round: lower quartile, median, upper quartile."""
    rounds = [1000 * (us - ways["c"][number]) for number, us in ways[way].items() if number in ways["c"]]
    return quartiles(rounds) if rounds else None


def print_report(results):
    for (state, operation, ranks, size), by_library in times(results).items():
        where = "" if state == "all" else f", {state} cores"
        print(f"\n{operation}, {ranks} rank{'s' * (ranks > 1)}, {size} B{where}: ns of a call in C; more than C, median (quartiles)")
        for name, ways in by_library.items():
            if "c" not in ways:
                continue
            text = f"  {name:18}{1000 * quartiles(list(ways['c'].values()))[1]:10.1f}"
            for way in WAYS:
                more = over(ways, way) if way in ways else None
                if more:
                    text += f"   {way} {more[1]:+.1f} ({more[0]:+.1f} to {more[2]:+.1f})"
            print(text)
