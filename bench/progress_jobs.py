# SPDX-License-Identifier: Apache-2.0
"""What `weft bench progress` runs: nonblocking operations behind a matrix product, by weft without progress threads, with
one for each rank, and with one that sits apart; by the other libraries, without and with theirs."""
import os

import jobs as job_lists
import libraries

CPUS = len(os.sched_getaffinity(0))
# Two ranks on two CPUs: the thread of each on the CPU of the other. Else there are idle cores.
APART = "dedicated-core" if CPUS >= 4 else "1,0"
WAYS = {"thread": {"WEFT_PROGRESS": "rank"},
        "thread apart": {"WEFT_PROGRESS": "rank", "WEFT_PROGRESS_PLACEMENT": APART}}
THEIRS = {"mpich": {"MPICH_ASYNC_PROGRESS": 1}, "impi": {"I_MPI_ASYNC_PROGRESS": 1}}
SIZES = (4 << 10, 64 << 10, 512 << 10, 2 << 20, 8 << 20)


def plan(args, libs, work, source):
    """The jobs of a round."""
    programs = libraries.build(libs, source, work)
    sizes = SIZES[1::2] if args.quick else SIZES
    jobs = []

    def add(name, library, samples, of, **variables):
        options = ["-b", str(samples), "-s", ",".join(map(str, of))] + (["-r", args.rows] if args.rows else [])
        args.about["libraries"][name] = library.version
        each = job_lists.with_variables(library, **variables)
        jobs.append(job_lists.Job(name, each, 2, programs[library.name], "", options))

    for library in libs:
        add(library.name, library, args.batches, sizes)
        for way, variables in WAYS.items() if library.name.startswith("weft") else ():
            add(f"{library.name} {way}", library, args.batches, sizes, **variables)
        if library.name in THEIRS:  # tens of ms for each sample, where their threads have no core
            few = args.batches if CPUS >= 4 else 3
            add(f"{library.name} thread", library, few, (2 << 20,), **THEIRS[library.name])
    return jobs
