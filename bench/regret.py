# SPDX-License-Identifier: Apache-2.0
"""How much slower what weft takes is than the fastest way it has: `weft bench collectives --regret`, and between two
pretended nodes `weft bench network --regret`."""
import statistics

import explained
import jobs
import network_jobs


def cases_of(args, libs):
    """[(mode, ranks, collective)]"""
    calls = [call for call in explained.COLLECTIVES if not args.rows or call in args.rows.split(",")]
    return [(library.name.removeprefix("weft-"), ranks, call) for library in libs
            if library.name.startswith("weft-") for ranks in args.ranks for call in calls]


def measure_ways(args, libs, program, work):
    """Every way of every collective, in both modes: results whose `more` has a row for each size."""
    explained.tune(args.weft, work)
    across = args.what == "network"
    notes, prices = [], {}
    if across:
        explained.tune_net(args.weft, work, network_jobs.libfabric_of(args)[0])
        prices, words = explained.network_prices(args.weft)
        notes.append(words)
    weft = explained.Explained(args.weft, 2 if across else 1, prices)
    cases, todo = cases_of(args, libs), []
    for mode, ranks, call in cases:
        library = next(lib for lib in libs if lib.name == f"weft-{mode}")
        for way in weft.ways(call, ranks, mode):
            told = jobs.with_variables(library, **{f"WEFT_COLL_{call.upper()}": way}, **prices)
            todo.append(jobs.Job(f"{mode} {way}", network_jobs.by_network(told) if across else told, ranks, program, call))
    found = jobs.take(todo, args)
    state = found.fullest()
    notes += [] if across else explained.tune_in(state, args.weft, work, weft)
    found.more = {"notes": notes, "machine": weft.ask("allreduce", args.ranks[0])["machine"], "rounds": args.rounds,
                  "rows": [row for case in cases for row in compare(case, state, weft)]}
    return found


def compare(case, state, weft):
    """What each size of a case lost by the way that was taken, and by the one that the model would take."""
    mode, ranks, call = case
    rows = []
    for size in sorted({size for row, n, size in state.cells if (row, n) == (call, ranks)}):
        times = {way: state.median(f"{mode} {way}", call, ranks, size)
                 for way in weft.ways(call, ranks, mode) if weft.serves(way, call, ranks, mode, size)}
        times = {way: us for way, us in times.items() if us}
        taken = weft.taken(call, ranks, mode, size)
        model = weft.taken(call, ranks, mode, size, what="fastest_over_size")
        if taken not in times or model not in times or len(times) < 2:
            continue
        best = min(times, key=times.get)
        rows.append({"mode": mode, "ranks": ranks, "call": call, "bytes": size, "us": times, "taken": taken,
                     "model": model, "best": best, "regret": times[taken] / times[best] - 1,
                     "regret_model": times[model] / times[best] - 1})
    return rows


def print_report(found):
    rows, more = found.more["rows"], found.more
    print("\n".join(more["notes"]))
    print(f"\nregret: what weft takes / the fastest of its ways - 1, measured (medians of {more['rounds']} rounds); "
          f"beside it what the model would take, with prices {more['machine']['prices']}")
    print(f"{'':34}{'taken':>10}{'worst':>24}{'by model':>12}{'worst':>24}")
    for case in dict.fromkeys((row["mode"], row["ranks"], row["call"]) for row in rows):
        mode, ranks, call = case
        print_line(f"{mode:8}{ranks:4} ranks  {call:14}",
                   [r for r in rows if (r["mode"], r["ranks"], r["call"]) == case])
    for mode in dict.fromkeys(row["mode"] for row in rows):
        print_line(f"{mode:8} all", [r for r in rows if r["mode"] == mode])
    print_line("all", rows)
    for name, reasons in found.failures.items():
        print(f"failed: {name}: {reasons[0]}")


def print_line(title, rows):
    if not rows:
        return
    text = f"{title:34}"
    for key, way in (("regret", "taken"), ("regret_model", "model")):
        worst = max(rows, key=lambda row: row[key])
        where = f"{worst[key]:.0%} {worst[way]} at {worst['bytes']}"
        text += f"{statistics.mean(row[key] for row in rows):{10 if way == 'taken' else 12}.1%}{where:>24}"
    print(text)
