# SPDX-License-Identifier: Apache-2.0
"""What `weft bench progress` runs: nonblocking operations behind a matrix product, by weft without progress threads, with
one for each rank, and with one that sits apart; by the other libraries, without and with theirs. On this node, and by
TCP between two processes of it: a network is driven by somebody's steps, too. And a product beside a loop of copies."""
import dataclasses
import os
from pathlib import Path

import jobs as job_lists
import libraries
import network_jobs

OPERATIONS = ("isend", "irecv", "ialltoall", "iallreduce", "ibcast", "iallgather")  # on this node
ROWS = (*OPERATIONS, "network", "caches")  # what --rows names
CPUS = len(os.sched_getaffinity(0))
# Two ranks on two CPUs: the thread of each on the CPU of the other. Else there are idle cores.
APART = "dedicated-core" if CPUS >= 4 else "1,0"
WAYS = {"thread": {"WEFT_PROGRESS": "rank"},
        "thread apart": {"WEFT_PROGRESS": "rank", "WEFT_PROGRESS_PLACEMENT": APART}}
THEIRS = {"mpich": {"MPICH_ASYNC_PROGRESS": 1}, "impi": {"I_MPI_ASYNC_PROGRESS": 1}}
SIZES = (4 << 10, 64 << 10, 512 << 10, 2 << 20, 8 << 20)
NETWORK_SIZES = (64 << 10, 2 << 20)
NETWORK_PRODUCT_US = 800  # for each million bytes: longer than a message takes


def wants(args, part):
    """Is this part (node, network, caches) among --rows?"""
    rows = args.rows.split(",") if args.rows else [*OPERATIONS, part]
    return any(row in OPERATIONS for row in rows) if part == "node" else part in rows


def add(jobs, args, name, library, program, options, **variables):
    args.about["libraries"][name] = library.version
    jobs.append(job_lists.Job(name, job_lists.with_variables(library, **variables), 2, program, "",
                              [str(word) for word in options]))


def all_ways(args, libs, programs, ways, sizes, more):
    """The jobs of a round: each library alone, weft in these ways, the others with their own threads."""
    jobs = []
    for library in libs:
        program = programs[library.name]
        words = ["-b", args.batches, "-s", ",".join(map(str, sizes)), *more]
        add(jobs, args, library.name, library, program, words)
        for way, variables in ways.items() if library.name.startswith("weft") else ():
            add(jobs, args, f"{library.name} {way}", library, program, words, **variables)
        if library.name in THEIRS:  # tens of ms for each sample, where their threads have no core
            words = ["-b", args.batches if CPUS >= 4 else 3, "-s", 2 << 20, *more]
            add(jobs, args, f"{library.name} thread", library, program, words, **THEIRS[library.name])
    return jobs


def plan(args, libs, work, source):
    """On this node."""
    rows = [row for row in (args.rows or "").split(",") if row in OPERATIONS]
    return all_ways(args, libs, libraries.build(libs, source, work), WAYS, SIZES[1::2] if args.quick else SIZES,
                    ["-r", ",".join(rows)] if rows else [])


def has_siblings():
    """Do cores have several hardware threads?"""
    found = Path(f"/sys/devices/system/cpu/cpu{min(os.sched_getaffinity(0))}/topology/thread_siblings_list")
    return found.exists() and any(mark in found.read_text() for mark in ",-")


def network_ways():
    """Where threads sit that take the network's steps."""
    seats = {"thread": "same-core", "thread apart": APART}
    if has_siblings():
        seats.update({"thread smt": "smt", "thread smt-sleep": "smt-sleep"})
    return {way: {"WEFT_PROGRESS": "rank", "WEFT_PROGRESS_PLACEMENT": "same-core", "WEFT_PROGRESS_PLACEMENT_NETWORK": seat}
            for way, seat in seats.items()}


def network_plan(args, libs, work, source):
    there = [network_jobs.by_network(library) for library in libs]
    return all_ways(args, there, libraries.build(there, source, work), network_ways(), NETWORK_SIZES,
                    ["-p", NETWORK_PRODUCT_US])


def network_settings(libs):
    """{library: what it was told so that it takes TCP}"""
    return {library.name: "--pretend-nodes 2" if library.name.startswith("weft") else
            " ".join(f"{name}={value}" for name, value in network_jobs.NETWORK[library.name].items()) for library in libs}


def cache_plan(args, libs, work, source):
    """One program that needs no library, and no launcher."""
    program = libraries.build(libs[:1], source, work, ("-O2", "-pthread"))[libs[0].name]
    alone = dataclasses.replace(libs[0], launch=lambda ranks, fits: [])
    return [job_lists.Job("product", alone, 1, program, "", ["-b", str(args.batches)])]
