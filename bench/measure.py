# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of bench/ under each library, in turns, and collects the rows that they print."""
import json
import os
import platform
import re
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

STARTUP = {"startup": (2, None), "startup 64 threads": (64, "weft-thread")}


def cpu_model(cpuinfo):
    """What /proc/cpuinfo calls it. Virtual machines hide the model's name, so its numbers are there too."""
    found = dict(re.findall(r"(?m)^(model name|cpu family|model)\s*: (.*)$", cpuinfo))
    name = re.sub(r"\(.*?\)|CPU|Processor|@.*", "", found.get("model name", platform.machine()))
    numbers = "".join(f" {word} {found[key]}" for key, word in (("cpu family", "family"), ("model", "model"))
                      if key in found)
    return " ".join(name.split()) + numbers


def caches():
    """{"L2": "512K"} of the first CPU."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def machine():
    """What is measured on."""
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cpu": cpu_model(Path("/proc/cpuinfo").read_text()),
        "cpus": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "kernel": platform.release(),
        "compiler": subprocess.run(["cc", "--version"], capture_output=True, text=True).stdout.split("\n")[0],
        "load_before": os.getloadavg()[0],
    }


class Others:
    """What part of all CPUs' time others have had since this began: programs that this one has not
    started, and other guests of a virtual machine's host. Not known with --hosts: what agents start
    is not ours."""

    def __init__(self):
        self._begun = self._read()

    @staticmethod
    def _read():
        """Seconds of all CPUs, busy, stolen, and ours, so far."""
        user, nice, system, idle, iowait, irq, softirq, stolen = map(
            int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
        ticks = os.sysconf("SC_CLK_TCK")
        busy = user + nice + system + irq + softirq
        return (busy + idle + iowait + stolen) / ticks, busy / ticks, stolen / ticks, sum(os.times()[:4])

    def note(self, args):
        if args.hosts:
            return
        all_, busy, stolen, ours = (now - then for now, then in zip(self._read(), self._begun))
        if all_ > 0:
            args.about["others_percent"] = round(100 * max(0, busy - ours) / all_, 1)
            args.about["stolen_percent"] = round(100 * stolen / all_, 1)


def said_of_others(about):
    """[sentence] of who disturbed what was measured."""
    said = []
    if about.get("shared_percent", 0) >= 1:
        quiet = about.get("quiet_percent", 0)
        without = f"; {quiet:g} % of the figures are of batches without that" if quiet else ""
        said.append(f"during {about['shared_percent']:g} % of the batches others used a core's other hardware thread, or "
                    f"its clock was slower: times are up to twice as long, and need many rounds{without}")
    named = {"others_percent": "other programs", "stolen_percent": "other guests of its host"}
    had = [f"{who} had {about[key]:g} %" for key, who in named.items() if about.get(key, 0) >= 1]
    if had:
        said.append(f"{' and '.join(had)} of this machine's time meanwhile: much of this may be noise")
    return said


def slug(about):
    """The name of a machine's folder."""
    return re.sub(r"[^a-z0-9]+", "-", about["cpu"].lower()).strip("-") + f"-{about['cpus']}cpu"


def rows_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def known_rows(library, program):
    """{name of a row: ranks that it needs, 0 for any}, as the program says."""
    said = subprocess.run([program, "rows"], env=library.environment(), capture_output=True, text=True, timeout=60)
    return {name: int(ranks) for name, ranks in (line.split() for line in said.stdout.splitlines())}


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
    """us from starting an empty program's launcher to its end, and why it did not end well."""
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


def rounds(libs, programs, empty, args):
    """[{library, round, row, ranks, bytes, us: [batches], line_ns: [], counts: {}}], {library: [failures]}"""
    samples, failures = [], {}

    def keep(library, number, rows, reason, what):
        if reason:
            failures.setdefault(library.name, []).append(f"{what}: {reason}")
            print(f"  {library.name} {what}: {reason}", file=sys.stderr)
        for row in rows:
            samples.append({"library": library.name, "round": number, "row": row["row"],
                            "ranks": row["ranks"], "bytes": row["bytes"], "us": row["us"],
                            **{key: row[key] for key in ("counts", "line_ns", "work_ns") if key in row}})

    others = Others()
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
    others.note(args)
    return samples, failures
