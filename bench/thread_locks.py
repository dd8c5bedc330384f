# SPDX-License-Identifier: Apache-2.0
"""weft's locks against each other: `weft bench threads` runs them after the libraries.

Each lock with selective reactivation (as the paper's -USC) and without, with one communication context
for all threads, as the paper has it; the mutex with sleeping in the kernel at once (the paper's MTX-KSC); and weft
as it is. 64 B and 1 MiB, counts beside times. thread_figures.py runs some of them with programs.
"""
import copy
import dataclasses
import statistics
import sys

import measure
import results

LOCKS = ("mtx", "ticket", "clh", "pclh", "clhub", "hclhub", "park")
KINDS = (("lat", 64, "latency, 64 B"), ("rate", 64, "rate, 64 B"),
         ("comms", 64, "rate, 64 B, a communicator per thread"), ("bw", 1 << 20, "bandwidth, 1 MiB"))


def configurations():
    """{name: weft's variables}"""
    one = {"WEFT_PT2PT_CONTEXTS": 1}
    found = {"auto": {}, "auto, 1 context": one}
    for lock in LOCKS:
        for name, servers in ((lock, 0), (f"{lock}-usc", 1)):
            found[name] = {"WEFT_SYNC_LOCK": lock, "WEFT_SYNC_SERVERS": servers, **one}
    found["mtx-ksc"] = {**found["mtx-usc"], "WEFT_SYNC_SPIN_US": 0, "WEFT_SYNC_YIELD_US": 0}
    return found


def variants(library, names=None, more=None):
    """The library in these configurations (default: each), with more variables."""
    return [dataclasses.replace(library, name=name, env={**library.env, **env, **(more or {})})
            for name, env in configurations().items() if names is None or name in names]


def measure_locks(args, library, program):
    """Results whose libraries are the configurations."""
    args = copy.copy(args)
    args.rows = ",".join(row for row in args.rows.split(",") if not row.endswith("_single"))
    args.sizes = ",".join(sorted({str(size) for _, size, _ in KINDS}))
    each = variants(library)
    print(f"{len(each)} configurations of {library.name}", file=sys.stderr)
    samples, failures = measure.rounds(each, {one.name: program for one in each}, {}, args)
    return results.collect({**args.about, "kind": "locks"}, samples, failures)


def table(state):
    """{(kind, threads, bytes): {configuration: (median us, {count: median})}}"""
    cells = {}
    for (row, ranks, size), by_name in state.cells.items():
        kind, threads = row.split("_")
        counts = state.counts.get((row, ranks, size), {})
        cells[kind, int(threads[:-1]), size] = {name: (statistics.median(own.values()), counts.get(name, {}))
                                                for name, own in by_name.items()}
    return cells


def print_tables(found):
    for state in found.states:
        print_state(table(state), state.title())


def print_state(cells, state):
    for kind, size, title in KINDS:
        threads = sorted(n for k, n, b in cells if (k, b) == (kind, size))
        if not threads:
            continue
        most = cells[kind, threads[-1], size]
        names = [name for name in next(iter(most.values()))[1] if not name.endswith("_ns")]
        print(f"\n{state}\n{title}, us per message; at {threads[-1]} threads, per message:")
        print(f"{'':16}" + "".join(f"{f'{n} threads':>11}" for n in threads) + "".join(f"{name:>16}" for name in names))
        for name in most:
            row = [cells[kind, n, size].get(name) for n in threads]
            print(f"{name:16}" + "".join(f"{cell[0]:11.4g}" if cell else f"{'-':>11}" for cell in row) +
                  "".join(f"{most[name][1].get(count, 0):16.3g}" for count in names))
