# SPDX-License-Identifier: Apache-2.0
"""weft's locks against each other: `weft bench threads` runs them after the libraries.

Each lock with selective reactivation (as the paper's -USC) and without, with one communication context
for all threads, as the paper has it; and weft as it is. 64 B and 1 MiB, counts beside times.
"""
import copy
import dataclasses
import json
import statistics
import subprocess

import states

LOCKS = ("mtx", "ticket", "clh", "pclh", "clhub", "hclhub", "park")
KINDS = (("lat", 64, "latency, 64 B"), ("rate", 64, "rate, 64 B"),
         ("comms", 64, "rate, 64 B, a communicator per thread"), ("bw", 1 << 20, "bandwidth, 1 MiB"))


def parameters(weft):
    """The names of weft's variables."""
    done = subprocess.run([weft, "info", "--json"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def variants(library):
    """The library in each configuration."""
    known = parameters(library.launch(1, True)[0].with_name("weft"))
    one = {"WEFT_PT2PT_CONTEXTS": 1} if "WEFT_PT2PT_CONTEXTS" in known else {}
    found = {"auto": {}, **({"auto, 1 context": one} if one else {})}
    for lock in LOCKS:
        for name, value in ((lock, 0), (f"{lock}-usc", 1)):
            found[name] = {"WEFT_SYNC_LOCK": lock, "WEFT_SYNC_REACTIVATION": value, **one}
    return [dataclasses.replace(library, name=name, env={**library.env, **env}) for name, env in found.items()]


def measure(run, args, library, program):
    """[sample] as run.measure has them; "library" is the configuration."""
    args = copy.copy(args)
    args.rows = ",".join(row for row in args.rows.split(",") if not row.endswith("_single"))
    args.sizes = ",".join(sorted({str(size) for _, size, _ in KINDS}))
    configurations = variants(library)
    programs = {each.name: program for each in configurations}
    print(f"{len(configurations)} configurations of {library.name}", file=run.sys.stderr)
    return run.measure(configurations, programs, {}, args)


def table(samples):
    """{(kind, threads, bytes): {configuration: (median us, {count: median})}}"""
    cells = {}
    for s in samples:
        kind, threads = s["row"].split("_")
        cells.setdefault((kind, int(threads[:-1]), s["bytes"]), {}).setdefault(s["library"], []).append(s)

    def counts(all_of_one):
        names = all_of_one[0].get("counts", {})
        return {name: statistics.median(s["counts"][name] for s in all_of_one) for name in names}
    return {key: {name: (statistics.median(us for s in own for us in s["us"]), counts(own))
                  for name, own in by_name.items()} for key, by_name in cells.items()}


def print_tables(samples):
    for state in states.split(samples):
        print_state(table(state.samples), state.title())


def print_state(cells, state):
    for kind, size, title in KINDS:
        threads = sorted(n for k, n, b in cells if (k, b) == (kind, size))
        if not threads:
            continue
        most = cells[kind, threads[-1], size]
        names = next(iter(most.values()))[1]
        print(f"\n{state}\n{title}, us per message; at {threads[-1]} threads, per message:")
        print(f"{'':16}" + "".join(f"{f'{n} threads':>11}" for n in threads) + "".join(f"{name:>16}" for name in names))
        for name in most:
            row = [cells[kind, n, size].get(name) for n in threads]
            print(f"{name:16}" + "".join(f"{cell[0]:11.4g}" if cell else f"{'-':>11}" for cell in row) +
                  "".join(f"{most[name][1].get(count, 0):16.3g}" for count in names))


def save(path, about, samples):
    path.write_text(json.dumps({"about": about, "samples": samples}, separators=(",", ":")) + "\n")
    return path
