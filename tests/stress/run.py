#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the stress program for so long, in pieces with another seed, lock and way of waiting each."""
import argparse
import itertools
import os
import re
import subprocess
import sys
import time

PIECE = 60
# Every piece after the first has another one.
SETTINGS = ({}, {"WEFT_SYNC_LOCK": "hclhub", "WEFT_SYNC_BIAS": "2"}, {"WEFT_SYNC_SERVERS": "0"},
            {"WEFT_SYNC_LOCK": "park", "WEFT_SYNC_SPIN_US": "0", "WEFT_SYNC_YIELD_US": "0"},
            {"WEFT_SHM_RING_CELLS": "64", "WEFT_SHM_RING_BYTES": "16384"}, {"WEFT_SYNC_LOCK": "pclh"},
            {"WEFT_MEMORY_CMA": "0", "WEFT_PT2PT_EAGER_MAX": "256"}, {"WEFT_SYNC_LOCK": "mtx"})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--mode", choices=("process", "thread"), default="process")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first piece (default: the time)")
    args = parser.parse_args()
    left = args.seconds if args.seconds < PIECE else float(os.environ.get("STRESS_SECONDS", args.seconds))
    for seed, settings in zip(itertools.count(args.seed), itertools.cycle(SETTINGS)):
        if left <= 0:
            return 0
        piece = min(left, PIECE)
        left -= piece
        words = [args.mpiexec, f"--ranks={args.mode}", "--timeout", str(int(4 * piece + 120)), "-n", str(args.ranks),
                 args.program, str(piece), str(args.threads), str(seed)]
        done = subprocess.run(words, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        said = " ".join(f"{name}={value}" for name, value in settings.items())
        if done.returncode or not re.search(rf"^ok: \d+ checks, {args.ranks} ranks$", done.stdout, re.M):
            print(f"FAILED (exit {done.returncode}): {said} {' '.join(words)}\n{done.stdout}{done.stderr}")
            return 1
        print(f"ok: seed {seed} {said}: {done.stderr.strip()}", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
