#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weft with other MPI libraries on this machine: messages, collectives, starting a job.

All libraries run the same program in alternating rounds, so that slow changes of the machine hit
all alike. Prints medians and the ratio best peer / weft (above 1: weft is faster) with quartiles
over the rounds; writes the raw samples and a description of the machine as JSON, and a plot.
"""
import itertools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import arguments
import figures
import libraries
import regret
import series
import states
import thread_locks

HERE = Path(__file__).resolve().parent
PROGRAMS = {"messages": "p2p_coll/main.c", "collectives": "collectives/main.c",
            "datatypes": "datatypes/main.c", "threads": "threads/main.c"}
STARTUP = {"startup": (2, None), "startup 64 threads": (64, "weft-thread")}


def machine():
    """What the samples were measured on."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.*)", cpuinfo)
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cpu": model[1] if model else platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "compiler": subprocess.run(["cc", "--version"], capture_output=True,
                                   text=True).stdout.split("\n")[0],
        "load_before": os.getloadavg()[0],
    }


def slug(about):
    words = re.sub(r"\(.*?\)|CPU|Processor|@.*", "", about["cpu"])
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") + f"-{about['cpus']}cpu"


def rows_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def run_job(library, ranks, program, options, timeout):
    """The rows that one job printed, and why it did not end well."""
    # A rank with several threads needs more than a core of its own.
    threads = program.name.startswith("threads-")
    command = library.command(ranks, program, pinned=not threads) + options
    try:
        done = subprocess.run(command, env=library.environment(), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout)
    except subprocess.TimeoutExpired as over:
        text = (over.stdout or b"").decode(errors="replace")
        return rows_of(text[:text.rfind("\n") + 1]), f"longer than {timeout:g} s"
    rows = rows_of(done.stdout)
    reason = None if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-300:]}"
    if any(row["errors"] for row in rows):
        reason = "wrong data in " + ", ".join(row["row"] for row in rows if row["errors"])
    return rows, reason


def start_job(library, ranks, program):
    """Seconds from starting an empty program's launcher to its end, in a row as run_job's."""
    before = time.perf_counter()
    done = subprocess.run(library.command(ranks, program), env=library.environment(),
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    us = (time.perf_counter() - before) * 1e6
    return us, None if done.returncode == 0 else f"exit {done.returncode}"


def level_words(args, number):
    """What the jobs of a round begin with: with threads, MPI_THREAD_SINGLE takes turns with MULTIPLE."""
    if args.what != "threads" or "single" not in args.rows:
        return [[]]
    return [[], ["single"]] if number % 2 == 0 else [["single"], []]


def measure(libs, programs, empty, args):
    """[{library, round, row, ranks, bytes, us: [batches]}], {library: [failures]}"""
    samples, failures = [], {}

    def keep(library, number, rows, reason, what):
        if reason:
            failures.setdefault(library.name, []).append(f"{what}: {reason}")
            print(f"  {library.name} {what}: {reason}", file=sys.stderr)
        for row in rows:
            samples.append({"library": library.name, "round": number, "row": row["row"],
                            "ranks": row["ranks"], "bytes": row["bytes"], "us": row["us"],
                            **{key: row[key] for key in ("counts", "line_ns") if key in row}})

    options = ["-b", str(args.batches), "-t", str(args.batch_ms), "-l", str(args.limit_s)]
    options += ["-m", str(args.max_bytes)] + (["-r", args.rows] if args.rows else [])
    options += ["-s", args.sizes] if args.sizes else []
    options += ["-u"] if args.untouched else []
    for number in range(args.rounds):
        turn = libs[number % len(libs):] + libs[:number % len(libs)]
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
        for ranks in args.ranks:
            for library in turn:
                for words in level_words(args, number):
                    rows, reason = run_job(library, ranks, programs[library.name], words + options,
                                           args.timeout_s)
                    keep(library, number, rows, reason, " ".join([f"{ranks} ranks", *words]))
        for name, (ranks, only) in STARTUP.items():
            if args.what != "messages" or args.rows and "startup" not in args.rows.split(","):
                continue
            for library in turn:
                if only in (None, library.name):
                    us, reason = start_job(library, ranks, empty[library.name])
                    row = {"row": name, "ranks": ranks, "bytes": 0, "us": [us]}
                    keep(library, number, [] if reason else [row], reason, name)
    return samples, failures


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def summarize(samples):
    """{(row, ranks, bytes): {library: {round: median of its batches}}}"""
    table = {}
    for s in samples:
        key = (s["row"], s["ranks"], s["bytes"])
        table.setdefault(key, {}).setdefault(s["library"], {})[s["round"]] = \
            statistics.median(s["us"])
    return table


def ratios(rounds, own):
    """Quartiles of best peer / own, over the rounds or, if no round has both, over all pairs; and who the best
    peer (by median) is."""
    peer_names = [name for name in rounds if not name.startswith("weft")]
    if own not in rounds or not peer_names:
        return None
    best = min(peer_names, key=lambda name: statistics.median(rounds[name].values()))
    theirs, ours = rounds[best], rounds[own]
    pairs = [(theirs[r], ours[r]) for r in theirs.keys() & ours.keys()] or \
        list(itertools.product(theirs.values(), ours.values()))
    return (*quartiles([them / us for them, us in pairs]), best)


def print_table(table, whole, names):
    """Times of `table`, ratios of those rows that are in `whole`."""
    owns = [name for name in names if name.startswith("weft")]
    print(f"\n{'us per operation, medians':28}" + "".join(f"{name:>14}" for name in names) +
          "".join(f"{'peer/' + name:>30}" for name in owns))
    for (row, ranks, size), rounds in table.items():
        line = f"{row:<14}{ranks:>4}{size:>10}"
        for name in names:
            value = statistics.median(rounds[name].values()) if name in rounds else None
            line += f"{value:14.4g}" if value is not None else f"{'-':>14}"
        for own in owns:
            found = ratios(whole.get((row, ranks, size), {}), own)
            text = f"{found[1]:.2f} [{found[0]:.2f} {found[2]:.2f}] {found[3]}" if found else "-"
            line += f"{text:>30}"
        print(line)


def print_means(table, owns):
    """Geometric means over the sizes of a row of best peer / weft, and its worst size."""
    print(f"\n{'geometric means over sizes':28}" + "".join(f"{'peer/' + own:>30}" for own in owns))
    for key in dict.fromkeys((row, ranks) for row, ranks, _ in table):
        line = f"{key[0]:<14}{key[1]:>4}{'':10}"
        for own in owns:
            found = {size: ratios(rounds, own)[1] for (row, ranks, size), rounds in table.items()
                     if (row, ranks) == key and ratios(rounds, own)}
            worst = min(found, key=found.get) if found else None
            text = f"{statistics.geometric_mean(found.values()):.2f} (worst " \
                   f"{found[worst]:.2f} at {worst})" if found else "-"
            line += f"{text:>30}"
        print(line)


def print_levels(table, names):
    """What one thread pays for MPI_THREAD_MULTIPLE: medians and quartiles over the rounds."""
    pairs = [(row, ranks, size) for row, ranks, size in table if row.endswith("_single")]
    pairs = [pair for pair in pairs if (pair[0].replace("single", "1t"), *pair[1:]) in table]
    if not pairs:
        return
    print(f"\n{'MULTIPLE / SINGLE, 1 thread':28}" + "".join(f"{name:>22}" for name in names))
    for row, ranks, size in pairs:
        single, multiple = table[row, ranks, size], table[row.replace("single", "1t"), ranks, size]
        line = f"{row.split('_')[0]:<14}{ranks:>4}{size:>10}"
        for name in names:
            both = single.get(name, {}).keys() & multiple.get(name, {}).keys()
            low, middle, high = quartiles([multiple[name][r] / single[name][r] for r in both]) if both else (0,) * 3
            line += f"{f'{middle:.2f} [{low:.2f} {high:.2f}]' if both else '-':>22}"
        print(line)


def print_states(samples, names):
    """All tables, of near and of far cores apart. No ratio where a peer that ran was not met in that state."""
    everywhere = summarize(samples)
    for state in states.split(samples):
        table = summarize(state.samples)
        whole = {key: rounds for key, rounds in table.items()
                 if all(name in rounds or name.startswith("weft") for name in everywhere[key])}
        print(f"\n{state.title()}")
        print_table(table, whole, names)
        print_means(whole, [name for name in names if name.startswith("weft")])
        print_levels(table, names)


def known_rows(library, program):
    """{name of a row: ranks that it needs, 0 for any}, as the program says."""
    said = subprocess.run([program, "rows"], env=library.environment(), capture_output=True, text=True, timeout=60)
    return {name: int(ranks) for name, ranks in (line.split() for line in said.stdout.splitlines())}


def plot(script, path, args):
    """A picture beside the samples, by the Python that `peers` installed."""
    plotter = Path(args.peers).resolve() / "plot/bin/python"
    python = plotter if plotter.exists() else sys.executable
    done = subprocess.run([python, HERE / script, path, path.with_suffix(".png")], capture_output=True, text=True)
    print(f"plot: {path.with_suffix('.png')}" if done.returncode == 0 else
          "no plot: matplotlib is missing (`make peers` installs it)"
          if "matplotlib" in done.stderr else f"no plot: {done.stderr}")


def main():
    args = arguments.parse(__doc__, PROGRAMS)
    libs = libraries.weft(args.weft) + libraries.peers(args.peers)
    arguments.check_libraries(args, [library.name for library in libs])
    if args.only:
        libs = [library for library in libs if library.name in args.only.split(",")]
    if not any(lib.abi_compiler for lib in libs) and not all(lib.own_compiler for lib in libs):
        sys.exit("bench: no compiler for the standard ABI: build weft (`make build`) first")
    if not libs:
        sys.exit("bench: nothing to run: build weft (`make build`), install peers (`make peers`)")

    about = machine()
    about["libraries"] = {library.name: library.version for library in libs}
    about["options"] = {key: value for key, value in vars(args).items()
                        if key not in ("weft", "peers", "out", "parser")}
    if about["load_before"] > 0.3:
        print(f"bench: other work is running here (load {about['load_before']:.2f}): "
              "times will be noise", file=sys.stderr)

    writable = os.access(HERE, os.W_OK) and (HERE.parent / "src").is_dir()
    out = Path(args.out) if args.out else \
        (HERE / "results" if writable else Path("weft-bench")) / slug(about)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"bench: results cannot be written to {out}: {error.strerror}; --out names another folder")
    programs = libraries.build(libs, HERE / PROGRAMS[args.what], out / "bin")
    arguments.check_rows(args, known_rows(libs[0], programs[libs[0].name]))
    empty = libraries.build(libs, HERE / "startup/empty.c", out / "bin")

    args.about = about
    if args.regret or args.figures:
        series.tune(args.weft, out)
    if args.regret:
        return regret.measure(args, libs, programs["weft-thread"], out)
    if args.figures:
        path, code = figures.measure(args, libs, programs, out)
        plot("plot_figures.py", path, args)
        return code
    samples, failures = measure(libs, programs, empty, args)
    about["load_after"] = os.getloadavg()[0]
    if not samples:
        sys.exit("bench: no library ran")
    print_states(samples, [library.name for library in libs])

    name = f"{args.what}{'-untouched' * args.untouched}-{about['date'][:10]}-{libraries.revision().rstrip('+')}"
    path = out / f"{name}.json"
    path.write_text(json.dumps({"about": about, "failures": failures, "samples": samples},
                               indent=None, separators=(",", ":")) + "\n")
    print(f"\nraw samples: {path}")
    plot("plot.py", path, args)
    own = [library for library in libs if library.name.startswith("weft")]
    if args.what == "threads" and own:
        locks, failed = thread_locks.measure(sys.modules[__name__], args, own[0], programs[own[0].name])
        failures.update(failed)
        thread_locks.print_tables(locks)
        plot("plot_threads.py", thread_locks.save(path.with_name(f"{path.stem}-locks.json"), about, locks), args)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
