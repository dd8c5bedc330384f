# SPDX-License-Identifier: Apache-2.0
"""How much slower what weft takes is than the fastest way it has: `weft bench collectives --regret`."""
import json
import statistics

import libraries
import series


def measure(args, libs, program, out):
    """Every way of every collective, in both modes; prints regrets, returns the exit code."""
    explained = series.Explained(args.weft)
    jobs = []
    calls = [call for call in series.COLLECTIVES if not args.rows or call in args.rows.split(",")]
    cases = [(library.name.removeprefix("weft-"), ranks, call) for library in libs
             if library.name.startswith("weft-") for ranks in args.ranks for call in calls]
    for mode, ranks, call in cases:
        library = next(lib for lib in libs if lib.name == f"weft-{mode}")
        for way in explained.ways(call, ranks, mode):
            jobs.append(series.Job(f"{mode} {way}", series.with_variables(library, **{
                f"WEFT_COLL_{call.upper()}": way}), ranks, program, call))
    samples = series.Samples()
    samples.take(jobs, args)
    print("\n".join(series.tune_in(samples.state, args.weft, out, explained)))

    machine = explained.ask("allreduce", args.ranks[0])["machine"]
    print(f"\nregret: what weft takes / the fastest of its ways - 1, measured (medians of {args.rounds} rounds); "
          f"beside it what the model would take, with prices {machine['prices']}")
    print(f"{'':34}{'taken':>10}{'worst':>24}{'by model':>12}{'worst':>24}")
    rows = []
    for mode, ranks, call in cases:
        sizes = sorted({size for (_, row, n, size) in samples.values if (row, n) == (call, ranks)})
        for size in sizes:
            times = {way: samples.median(f"{mode} {way}", call, ranks, size)
                     for way in explained.ways(call, ranks, mode)
                     if explained.serves(way, call, ranks, mode, size)}
            times = {way: us for way, us in times.items() if us}
            taken = explained.taken(call, ranks, mode, size)
            model = explained.taken(call, ranks, mode, size, what="fastest_over_size")
            if taken not in times or model not in times or len(times) < 2:
                continue
            best = min(times, key=times.get)
            rows.append({"mode": mode, "ranks": ranks, "call": call, "bytes": size, "us": times, "taken": taken,
                         "model": model, "best": best, "regret": times[taken] / times[best] - 1,
                         "regret_model": times[model] / times[best] - 1})
    for mode, ranks, call in cases:
        print_line(f"{mode:8}{ranks:4} ranks  {call:14}",
                   [r for r in rows if (r["mode"], r["ranks"], r["call"]) == (mode, ranks, call)])
    for mode in dict.fromkeys(mode for mode, _, _ in cases):
        print_line(f"{mode:8} all", [r for r in rows if r["mode"] == mode])
    print_line("all", rows)
    path = out / f"regret-{libraries.revision().rstrip('+')}.json"
    path.write_text(json.dumps({"rounds": args.rounds, "machine": machine, "rows": rows}) + "\n")
    print(f"\nevery size: {path}")
    for (name, ranks), reason in samples.failures.items():
        print(f"failed: {name}, {ranks} ranks: {reason}")
    return 1 if samples.failures else 0


def print_line(title, rows):
    if not rows:
        return
    text = f"{title:34}"
    for key, way in (("regret", "taken"), ("regret_model", "model")):
        worst = max(rows, key=lambda row: row[key])
        where = f"{worst[key]:.0%} {worst[way]} at {worst['bytes']}"
        text += f"{statistics.mean(row[key] for row in rows):{10 if way == 'taken' else 12}.1%}{where:>24}"
    print(text)
