#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weft with other MPI libraries on this machine: messages, collectives, starting a job.

All libraries run the same program in alternating rounds, so that slow changes of the machine hit
all alike. The samples go into a file; a table of best peer / weft (above 1: weft is faster) and a
plot are made from it, and again later with --from.
"""
import os
import signal
import subprocess
import sys
from pathlib import Path

import arguments
import beside_jobs
import beside_report
import cache_figures
import channel_figures
import channel_jobs
import composition_figures
import explained
import figures
import fortran_jobs
import fortran_report
import idle_figures
import idle_jobs
import jobs as job_lists
import libraries
import measure
import network_jobs
import network_report
import partitioned_jobs
import partitioned_report
import posting_jobs
import posting_report
import progress_figures
import progress_jobs
import regret
import results
import tables
import thread_figures
import thread_locks

HERE = Path(__file__).resolve().parent
PROGRAMS = {"messages": "p2p_coll/main.c", "collectives": "collectives/main.c",
            "datatypes": "datatypes/main.c", "threads": "threads/main.c",
            "rma": "rma/main.c", "idle": "idle/main.c", "channels": "channels/main.c", "progress": "progress/main.c",
            "network": "p2p_coll/main.c", "partitioned": "partitioned/main.c", "fortran": "fortran/main.c", "posting": "posting/main.c",
            "beside": "beside/main.c", "composition": None}
NOT_KEPT = ("weft", "peers", "launch_agent", "out", "parser", "files", "name", "every_size")  # options that change no sample


def plot(path, kind, args):
    """A picture beside the samples, by the Python that `peers` installed."""
    drawn = ("figures", "thread figures", "channel figures", "idle", "progress", "progress network", "progress caches", "composition", "posting", "beside")
    script = {**dict.fromkeys(drawn, "plot_figures.py"), "locks": "plot_threads.py"}.get(kind, "plot.py")
    plotter = Path(args.peers).resolve() / "plot/bin/python"
    python = plotter if plotter.exists() else sys.executable
    done = subprocess.run([python, HERE / script, path, path.with_suffix(".png")], capture_output=True, text=True)
    print(f"plot: {path.with_suffix('.png')}" if done.returncode == 0 else
          "no plot: matplotlib is missing (`make peers` installs it)"
          if "matplotlib" in done.stderr else f"no plot: {done.stderr}")


def show(path, args):
    """Prints and draws one file of samples; 1 if a job of it had failed."""
    try:
        found = results.load(path)
        kind = found.about["kind"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"bench: {path} has no samples of weft bench: {error!r}")
    print(f"\nsamples: {path}")
    for sentence in measure.said_of_others(found.about):
        print(sentence)
    if kind == "regret":
        regret.print_report(found)
    elif kind == "figures":
        figures.print_report(found)
    elif kind == "thread figures":
        thread_figures.print_report(found)
    elif kind == "channel figures":
        channel_figures.print_report(found)
    elif kind == "idle":
        idle_figures.print_report(found)
    elif kind in ("progress", "progress network"):
        progress_figures.print_report(found)
    elif kind == "progress caches":
        cache_figures.print_report(found)
    elif kind == "composition":
        composition_figures.print_report(found)
    elif kind == "network":
        network_report.print_report(found)
    elif kind == "partitioned":
        partitioned_report.print_report(found)
    elif kind == "fortran":
        fortran_report.print_report(found)
    elif kind == "posting":
        posting_report.print_report(found)
    elif kind == "beside":
        beside_report.print_report(found)
    elif kind == "locks":
        thread_locks.print_tables(found)
    else:
        if args.every_size:
            tables.print_every_size(found)
        tables.print_levels(found)
        tables.print_compact(found)
    if kind != "regret":
        plot(path, kind, args)
    return 1 if found.failures else 0


def choose_libraries(args):
    libs = fortran_jobs.choose(args) if args.what == "fortran" else libraries.weft(args.weft) + libraries.peers(args.peers)
    arguments.check_libraries(args, [library.name for library in libs])
    if args.only:
        libs = [library for library in libs if library.name in args.only.split(",")]
    if not any(lib.abi_compiler for lib in libs) and not all(lib.own_compiler for lib in libs):
        sys.exit("bench: no compiler for the standard ABI: build weft (`make build`) first")
    if not libs:
        sys.exit("bench: nothing to run: build weft (`make build`), install peers (`make peers`)")
    return libs


def kind_of(args):
    """What a file of samples is, for those that print and draw it."""
    if args.figures:
        return {"threads": "thread figures", "channels": "channel figures"}.get(args.what, "figures")
    return "regret" if args.regret else args.what


def describe(args, libs):
    """The machine, the libraries and the options: what samples are worth nothing without."""
    about = {"kind": kind_of(args), **measure.machine()}
    about["libraries"] = {library.name: library.version for library in libs}
    about["options"] = {key: value for key, value in vars(args).items() if key not in NOT_KEPT}
    if about["load_before"] > 0.3 and args.what != "composition":
        print(f"bench: other work is running here (load {about['load_before']:.2f}): "
              "times will be noise", file=sys.stderr)
    return about


def make_folders(args):
    """Where samples go, and where programs are built."""
    writable = os.access(HERE, os.W_OK) and (HERE.parent / "src").is_dir()
    out = Path(args.out) if args.out else \
        (HERE / "results" if writable else Path("weft-bench")) / measure.slug(args.about)
    work = HERE.parent / "build/bench" if writable and not args.out else out / "work"
    try:
        out.mkdir(parents=True, exist_ok=True)
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"bench: results cannot be written to {out}: {error.strerror}; --out names another folder")
    return out, work


def run(args):
    """Measures; the files of samples."""
    libs = choose_libraries(args)
    args.about = describe(args, libs)
    out, work = make_folders(args)
    if args.what == "composition":
        return results.save(composition_figures.simulate_curves(args, args.about), out, args.name)
    if args.what == "idle":
        arguments.check_rows(args, dict.fromkeys(idle_jobs.PARTS, 0))
        return results.save(idle_figures.measure_curves(args, libs, work), out, args.name)
    if args.what == "channels" and args.figures:
        return results.save(channel_figures.measure_curves(args, libs, work), out, args.name)
    if args.what == "channels":
        jobs = channel_jobs.plan(args, libs, work, HERE / PROGRAMS["channels"])
        return results.save(job_lists.take(jobs, args), out, args.name)
    if args.what == "progress":
        arguments.check_rows(args, dict.fromkeys(progress_jobs.ROWS, 0))
        parts = progress_figures.measure_parts(args, libs, work, HERE / "progress")
        return [path for end, found in parts for path in results.save(found, out, args.name + end)]
    if args.what == "network" and args.regret:
        arguments.check_rows(args, dict.fromkeys(explained.COLLECTIVES, 0))
        programs = libraries.build(libs, HERE / PROGRAMS["collectives"], work)
        return results.save(regret.measure_ways(args, libs, programs["weft-thread"], work), out, args.name)
    if args.what == "network":
        arguments.check_rows(args, dict.fromkeys(network_jobs.PARTS, 0))
        prices = ""
        if any(library.name.startswith("weft") for library in libs):
            hosts = args.hosts.split(",") if args.hosts else []
            explained.tune_net(args.weft, work, network_jobs.libfabric_of(args)[0], hosts, args.launch_agent)
            prices = explained.network_prices(args.weft, bool(hosts))[1]
        found = job_lists.take(network_jobs.plan(args, libs, work, HERE), args)
        found.more = {"settings": network_jobs.settings(libs, args), "prices": prices,
                      "congestion_control": network_jobs.congestion_control()}
        return results.save(found, out, args.name)
    if args.what == "partitioned":
        arguments.check_rows(args, dict.fromkeys(partitioned_jobs.ROWS, 2))
        return results.save(job_lists.take(partitioned_jobs.plan(args, libs, work, HERE), args), out, args.name)
    if args.what == "posting":
        arguments.check_rows(args, dict.fromkeys(posting_jobs.WAYS, 0))
        found = job_lists.take(posting_jobs.plan(args, libs, work, HERE), args)
        found.more = {"paper": posting_report.PAPER, "rounds": args.rounds, "figures": posting_report.figures(found),
                      "settings": posting_jobs.settings(libs, args)}
        return results.save(found, out, args.name)
    if args.what == "beside":
        arguments.check_rows(args, dict.fromkeys(beside_jobs.ROWS, 0))
        args.about["autogroup"] = beside_jobs.has_autogroups()
        found = job_lists.take(beside_jobs.plan(args, libs, work, HERE), args)
        found.more = {"rounds": args.rounds, "figures": beside_report.figures(found)}
        return results.save(found, out, args.name)
    if args.what == "fortran":
        arguments.check_rows(args, dict.fromkeys(fortran_jobs.ROWS, 0))
        return results.save(job_lists.take(fortran_jobs.plan(args, libs, work, HERE), args), out, args.name)
    programs = libraries.build(libs, HERE / PROGRAMS[args.what], work)
    arguments.check_rows(args, measure.known_rows(libs[0], programs[libs[0].name]))
    if args.regret:
        return results.save(regret.measure_ways(args, libs, programs["weft-thread"], work), out, args.name)
    if args.figures:
        drawn = thread_figures if args.what == "threads" else figures
        return results.save(drawn.measure_curves(args, libs, programs, work), out, args.name)
    empty = libraries.build(libs, HERE / "startup/empty.c", work)
    samples, failures = measure.rounds(libs, programs, empty, args)
    args.about["load_after"] = os.getloadavg()[0]
    paths = results.save(results.collect(args.about, results.some(samples), failures), out, args.name)
    own = [library for library in libs if library.name.startswith("weft")]
    if args.what == "threads" and own:
        locks = thread_locks.measure_locks(args, own[0], programs[own[0].name])
        paths += results.save(locks, out, f"{args.name}-locks")
    return paths


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # who reads the tables may stop early
    args = arguments.parse(__doc__, PROGRAMS)
    paths = [Path(file) for file in args.files] if args.files else run(args)
    return max([show(path, args) for path in paths])


if __name__ == "__main__":
    sys.exit(main())
