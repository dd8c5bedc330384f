# SPDX-License-Identifier: Apache-2.0
"""What `weft bench posting` runs: rows of puts of 64 bytes from one rank to the ranks of another node, by one thread
while others are idle, and by several threads that have a window each; rows of sends; with weft and the others in turns.
Nodes are those of `weft bench network`: this machine pretends to be two, or --hosts names them."""
import dataclasses

import jobs as job_lists
import libraries
import network_jobs
from idle_jobs import ALONE, NEVER

WAYS = ("idle", "threads", "sends")  # of posting/main.c, and what --rows names
PUTS = (1000, 2000, 4000, 8000, 16000)  # the paper's are 1000 to 16,000


def runners(libs, args):
    return [library for library in libs if args.hosts or library.name != network_jobs.BY_MEMORY]


def placed(library, args, ranks):
    """On two nodes, bound to nothing: threads of a rank may use all CPUs."""
    there = network_jobs.placed(library, args, ranks)
    if not library.name.startswith("weft"):
        return there
    return dataclasses.replace(there, launch=lambda ranks, fits: [*there.launch(ranks, fits), "--bind-to", "none"])


def settings(libs, args):
    """{library: what it was told}"""
    return network_jobs.settings(runners(libs, args), args, args.ranks, placed)


def series(libs):
    """[(name, library, variables)]: weft also without a job for others."""
    found = [(library.name, library, {}) for library in libs]
    return found + [(library.name + ALONE, library, NEVER) for library in libs if library.name.startswith("weft")]


def plan(args, libs, work, here):
    """The jobs of a round; here: the folder of the sources. Threads need more than a core of their rank's own."""
    programs = libraries.build(libs, here / "posting/main.c", work, ("-O2", "-fopenmp"))
    puts = args.sizes or ",".join(str(n) for n in (PUTS[::2] if args.quick else PUTS))
    usual = ["-b", str(args.batches), "-l", str(args.limit_s), "-o", puts]
    jobs = []
    for name, library, variables in series(runners(libs, args)):
        for ranks in args.ranks:
            for way in args.rows.split(",") if args.rows else WAYS:
                for threads in args.threads:
                    if way == "threads" and (threads == 1 or variables):
                        continue  # one thread is `idle` with nobody idle, and several are not
                    there = placed(library, args, ranks)
                    # Or threads that look for work would keep the cores from the ranks that answer.
                    there = job_lists.with_variables(there, OMP_NUM_THREADS=threads, OMP_WAIT_POLICY="passive",
                                                     **variables)
                    jobs.append(job_lists.Job(name, there, ranks, programs[library.name], "",
                                              ["-w", way, "-n", str(threads), *usual], pinned=False))
    return jobs
