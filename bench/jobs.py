# SPDX-License-Identifier: Apache-2.0
"""Jobs that take turns, each a series of its own: for figures.py, thread_figures.py and regret.py."""
import dataclasses
import subprocess
import sys
from pathlib import Path

import measure
import results


@dataclasses.dataclass
class Job:
    """One program of one library: its rows are samples of `series`."""
    series: str
    library: object
    ranks: int
    program: Path
    rows: str
    options: list = None  # None: those of the bench programs
    read: object = None   # text -> [{row, bytes, us: [us]}], for programs that print no JSON rows
    pinned: bool = True   # a core for every rank, where there are as many


def with_variables(library, **variables):
    return dataclasses.replace(library, env={**library.env, **variables})


def job_rows(job, args):
    """[{row, bytes, us: [us of a batch]}] and why there are none."""
    if job.read is None:
        options = job.options or ["-b", str(args.batches), "-t", str(args.batch_ms), "-l", str(args.limit_s),
                                  "-m", str(args.max_bytes)] + (["-r", job.rows] if job.rows else []) + \
            (["-s", args.sizes] if args.sizes else [])
        return measure.run_job(job.library, job.ranks, job.program, options, args.timeout_s)
    try:
        command = job.library.command(job.ranks, job.program, job.pinned) + job.options
        done = subprocess.run(command, capture_output=True, env=job.library.environment(), text=True,
                              stdin=subprocess.DEVNULL, timeout=args.timeout_s)
    except subprocess.TimeoutExpired:
        return [], f"longer than {args.timeout_s} s"
    if done.returncode != 0:
        return [], f"exit {done.returncode}: {done.stderr[-300:]}"
    try:
        return job.read(done.stdout), None
    except ValueError as error:
        return [], str(error)


def take(jobs, args):
    """Results whose libraries are the series. A job that failed is not run again."""
    samples, failures = [], {}
    others = measure.Others()
    for number in range(args.rounds):
        print(f"round {number + 1} of {args.rounds}: {len(jobs)} jobs", file=sys.stderr)
        turn = number * len(jobs) // args.rounds
        for job in jobs[turn:] + jobs[:turn]:
            name = f"{job.series}, {job.ranks} ranks"
            if name in failures:
                continue
            rows, reason = job_rows(job, args)
            if reason:
                failures[name] = [reason]
                print(f"  {name}: {reason}", file=sys.stderr)
            samples += [{**row, "library": job.series, "ranks": job.ranks, "round": number} for row in rows]
    others.note(args)
    return results.collect(args.about, results.some(samples), failures)
