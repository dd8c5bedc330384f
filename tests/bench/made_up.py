# SPDX-License-Identifier: Apache-2.0
"""Made-up samples for the tests of bench/: no measurement."""
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
LIBRARIES = {"weft-process": "abc", "weft-thread": "abc", "mpich": "5.0.2", "impi": "2021.19.0"}


def about(kind="messages", date="2026-11-23T01:02:03Z", **options):
    return {"kind": kind, "date": date, "cpu": "AMD EPYC family 25 model 1", "cpus": 2, "caches": {"L2": "512K"},
            "libraries": LIBRARIES, "options": {"rounds": 3, "untouched": False, **options}}


def sample(library, number, us, line_ns, row="lat", ranks=2, size=8):
    return {"library": library, "round": number, "row": row, "ranks": ranks, "bytes": size, "us": us, "line_ns": line_ns}


def samples(factors, sizes=(8, 1024), line_ns=(26, 150), rounds=3, row="lat", ranks=2):
    """Rounds of each library at its factor of the size's time, in each state."""
    return [sample(library, number, [factor * (1 + size / 1000) * (1 + number / 100)] * 3, [ns] * 4, row, ranks, size)
            for ns in line_ns for number in range(rounds) for library, factor in factors.items() for size in sizes]
