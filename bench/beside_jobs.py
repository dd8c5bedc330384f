# SPDX-License-Identifier: Apache-2.0
"""What `weft bench beside` runs: ranks beside busy programs, none, one and two to a CPU, all libraries in turns. A job
starts beside none and goes through all numbers of neighbours; beside/neighbours.c has these, and starts the launcher."""
import dataclasses
from pathlib import Path

import jobs as job_lists
import libraries

ROWS = ("round_trip", "allreduce", "exchange", "phases")  # of beside/main.c, and what --rows names
MOST = 2  # neighbours to a CPU


def has_autogroups():
    """Does the kernel share CPUs out among sessions?"""
    setting = Path("/proc/sys/kernel/sched_autogroup_enabled")
    return setting.exists() and setting.read_text().strip() == "1"


def beside_neighbours(library, neighbours):
    return dataclasses.replace(library, launch=lambda ranks, fits: [neighbours, MOST, *library.launch(ranks, fits)])


def plan(args, libs, work, here):
    """The jobs of a round; here: the folder of the sources."""
    programs = libraries.build(libs, here / "beside/main.c", work)
    neighbours = libraries.compile_with(["cc"], here / "beside/neighbours.c", work / "neighbours", ("-O2", "-pthread"))
    options = ["-b", str(args.batches), "-t", str(args.batch_ms), "-l", str(args.limit_s), "-r", args.rows or ",".join(ROWS)]
    return [job_lists.Job(library.name, beside_neighbours(library, neighbours), ranks, programs[library.name], "", options)
            for ranks in args.ranks for library in libs]
