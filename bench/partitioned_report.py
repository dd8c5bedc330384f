# SPDX-License-Identifier: Apache-2.0
"""Tables of `weft bench partitioned`, from its file of samples."""
import tables
from results import quartiles

PARTITIONED, OTHERS = "partitioned", ("sends", "one_send")


def times(results):
    """{(state, bytes): {(library, row): {round: us}}}"""
    found = {}
    for state in results.states:
        for (row, _, size), by_library in state.cells.items():
            for name, by_round in by_library.items():
                found.setdefault((state.name, size), {})[name, row] = by_round
    return found


def median(by_round):
    return quartiles(list(by_round.values()))[1]


def print_report(results):
    for (state, size), cells in sorted(times(results).items()):
        print(f"\n{tables.size_name(size)} by 8 threads, {state}: us of a transfer, medians of rounds")
        names = sorted({name for name, _ in cells})
        print(f"  {'':16}" + "".join(f"{row:>14}" for row in (PARTITIONED, *OTHERS)))
        for name in names:
            shown = (f"{median(cells[name, row]):14.1f}" if (name, row) in cells else f"{'-':>14}"
                     for row in (PARTITIONED, *OTHERS))
            print(f"  {name:16}" + "".join(shown))
        for name in names:
            # Its own other ways, and the peers': not those of weft's other rank mode.
            others = [median(by_round) for (who, row), by_round in cells.items()
                      if row in OTHERS and (who == name or not who.startswith("weft"))]
            peers = [median(by_round) for (who, row), by_round in cells.items()
                     if row == PARTITIONED and not who.startswith("weft")]
            if not name.startswith("weft") or (name, PARTITIONED) not in cells or not others:
                continue
            own = median(cells[name, PARTITIONED])
            said = f"  best of the others' ways / {name}'s partitioned: {min(others) / own:.2f}"
            print(said + (f"; best peer's partitioned / it: {min(peers) / own:.2f}" if peers else ""))
