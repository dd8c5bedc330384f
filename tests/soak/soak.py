#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random legal programs (soak.c) with random ranks, sizes, depths and parameters until the time is over.

A run that hangs, crashes or finds a wrong byte fails; the command that repeats it is printed.
"""
import argparse
import os
import random
import subprocess
import sys
import time

# What moves messages from one protocol to another, or makes room scarce.
SETTINGS = {
    "WEFT_PT2PT_EAGER_MAX": ["", "0", "100", "8192", "300000"],
    "WEFT_PT2PT_UNEXPECTED_MAX": ["", "", "0", "10000"],
    "WEFT_PT2PT_KERNEL_COPY_MIN": ["", "0"],
    "WEFT_PT2PT_COOPERATE_MIN": ["", "0"],
    "WEFT_SHM_RING_CELLS": ["", "64"],
    "WEFT_SHM_RING_BYTES": ["", "16384"],
    "WEFT_MEMORY_CMA": ["", "", "0"],
    "WEFT_COLL_SHARED_MAX": ["", "", "0"],
    "WEFT_SYNC_SPIN_US": ["", "", "0"],
}
# Messages of a round, the longest in bytes, and how many rounds take about a second.
SHAPES = [(60, 1 << 20, 10), (1000, 40000, 8), (1000, 600, 40), (10000, 3000, 4), (100000, 100, 1), (100000, 1200, 1)]


def draw(seed, shapes):
    """The words of one run, and its environment."""
    chosen = random.Random(seed)
    depth, longest, rounds = chosen.choice(shapes)
    env = {name: value for name, values in SETTINGS.items() if (value := chosen.choice(values)) != ""}
    mode = chosen.choice(["process", "thread"])
    ranks = chosen.choice([1, 2, 2, 3, 4, 8])
    return ranks, mode, env, [str(seed), str(rounds), str(depth), str(longest)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", type=int, default=1 << 30, help="at most so many")
    parser.add_argument("--shallow", action="store_true", help="no more than 1,000 messages a round")
    parser.add_argument("--seed", type=int, default=None, help="of the first run; the next have the numbers after it")
    parser.add_argument("--limit", type=int, default=300, help="seconds that a run may take")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else int(time.time()) * 1000
    shapes = [shape for shape in SHAPES if shape[0] <= 1000 or not options.shallow]
    end, run = time.monotonic() + options.seconds, 0
    print(f"soak: first seed {first}", flush=True)
    while time.monotonic() < end and run < options.runs:
        ranks, mode, env, words = draw(first + run, shapes)
        command = [options.mpiexec, "--hang=abort", "--timeout", str(options.limit), f"--ranks={mode}", "-n", str(ranks)]
        command += [options.program] + words
        result = subprocess.run(command, env=os.environ | env, capture_output=True, text=True, errors="replace")
        if result.returncode != 0 or f", {ranks} ranks" not in result.stdout:
            settings = " ".join(f"{name}={value}" for name, value in env.items())
            print(f"FAILED with exit code {result.returncode}: {settings} {' '.join(command)}")
            print(result.stdout[-2000:] + result.stderr[-4000:])
            return 1
        run += 1
    print(f"soak: {run} programs passed")
    return run == 0


if __name__ == "__main__":
    sys.exit(main())
