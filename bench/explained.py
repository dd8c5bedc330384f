# SPDX-License-Identifier: Apache-2.0
"""What weft says of itself: its prices (`weft tune`) and its ways (`weft explain`). For figures.py and regret.py."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import states

ACCESS_WAYS = 1.5  # the model's a, an access to a line that another core wrote, in ways of a line that distance.h times

COLLECTIVES = ["bcast", "reduce", "allreduce", "scan", "gather", "scatter", "allgather", "alltoall",
               "reduce_scatter", "barrier"]


def tune(prefix, folder):
    """Measures this machine now, for this run only: the model is compared with what else is measured now."""
    os.environ["XDG_CACHE_HOME"] = str((folder / "cache").resolve())
    done = subprocess.run([Path(prefix).resolve() / "bin/weft", "tune"], capture_output=True, text=True)
    print(done.stdout.rstrip(), done.stderr.rstrip(), sep="\n", file=sys.stderr)


def tune_net(prefix, folder, libfabric=None, hosts=(), agent=""):
    """Measures what messages between the first two hosts, or pretended nodes, cost, for this run only: with as many ranks
    on each as have cores where one machine is all of them, and with the libfabric of that folder (None: the system's)."""
    os.environ["XDG_CACHE_HOME"] = str((folder / "cache").resolve())
    binaries = Path(prefix).resolve() / "bin"
    each = max(1, len(os.sched_getaffinity(0)) // max(2, len(hosts)))
    where = ["--pretend-nodes", "2", "-n", str(2 * each)]
    if hosts:
        where = ["-H", ",".join(f"{host}:{each}" for host in hosts[:2]), *(["--launch-agent", agent] if agent else [])]
    env = {**os.environ, **({"LD_LIBRARY_PATH": str(libfabric)} if libfabric else {})}
    done = subprocess.run([binaries / "mpiexec", *where, binaries / "weft", "tune", "--net"], capture_output=True, text=True, env=env)
    print(done.stdout.rstrip(), done.stderr.rstrip(), sep="\n", file=sys.stderr)


def network_prices(prefix, on_hosts=False):
    """What a job on nodes of one machine, or on hosts, counts with, as variables, and in words."""
    done = subprocess.run([Path(prefix).resolve() / "bin/weft", "info", "--net", "--json"], capture_output=True, text=True)
    row = next(row for row in json.loads(done.stdout)["prices"] if ("machine" in row["nodes"]) != on_hosts)
    values = {"WEFT_NET_LATENCY": round(row["latency_ns"]), "WEFT_NET_GAP": round(row["gap_ns"]),
              "WEFT_NET_BANDWIDTH": round(row["bandwidth_mb_s"]), "WEFT_NET_PAIRS": round(row["pairs"])}
    words = f"network: latency {row['latency_ns']:.0f} ns, gap {row['gap_ns']:.0f} ns, {row['bandwidth_mb_s']:.0f} MB/s, " \
            f"pairs at once {row['pairs']:.0f} ({row['source']})"
    return {name: str(value) for name, value in values.items()}, words


def tune_in(state, prefix, folder, explained):
    """Tunes again until the prices are those of the state in which the samples were taken; says how it went."""
    if not state.line_ns:
        return []
    for attempt in range(20):
        explained.answers.clear()
        price = explained.ask("allreduce", 2)["machine"]["levels"][-1]["a_ns"]
        if state.line_ns / states.FACTOR < price / ACCESS_WAYS < state.line_ns * states.FACTOR:
            return [f"{state.title()}; prices were measured there too"]
        time.sleep(1)
        tune(prefix, folder)
    return [f"{state.title()}; prices were measured elsewhere (a = {price:.0f} ns): the model is not comparable"]


class Explained:
    """What `weft explain` says, asked once each."""

    def __init__(self, prefix, nodes=1, env=None):
        self.weft, self.answers = Path(prefix).resolve() / "bin/weft", {}
        self.nodes, self.env = nodes, env or {}

    def ask(self, call, ranks, mode="thread", topology=None, way=None):
        key = (call, ranks, mode, topology, way)
        if key not in self.answers:
            words = [self.weft, "explain", call, "-n", str(ranks), "--ranks", mode, "--json"]
            words += ["--topology", topology] if topology else []
            words += ["--nodes", str(self.nodes)] if self.nodes > 1 else []
            env = {**os.environ, **self.env, **({f"WEFT_COLL_{call.upper()}": way} if way else {})}
            done = subprocess.run(words, capture_output=True, text=True, env=env)
            if done.returncode != 0:
                sys.exit(f"bench: {done.stderr.strip()}")
            self.answers[key] = json.loads(done.stdout)
        return self.answers[key]

    def ways(self, call, ranks, mode="thread"):
        """Ways of this call that can be asked for."""
        return [c["name"] for c in self.ask(call, ranks, mode)["candidates"]]

    def taken(self, call, ranks, mode, size, way=None, what="chosen_over_size"):
        """The way that a call of this size goes (or is fastest by the model: fastest_over_size)."""
        answer = self.ask(call, ranks, mode, way=way)
        if call == "barrier":
            return answer[what.split("_", maxsplit=1)[0]]
        size = size * ranks if call == "reduce_scatter" else size  # the formulas count the whole vector
        return [r["name"] for r in answer[what] if r["from_bytes"] <= max(size, 1)][-1]

    def serves(self, way, call, ranks, mode, size):
        return self.taken(call, ranks, mode, size, way) == way

    def curve(self, name, call, ranks, mode="thread", topology=None):
        return self.ask(call, ranks, mode, topology)["predicted"].get(name, [])

    def at(self, name, call, ranks, mode, size):
        """Predicted us of one size: between points of the curve, on a line in logarithms."""
        points = self.curve(name, call, ranks, mode)
        exact = {point[0]: point[1] for point in points}
        size = size * ranks if call == "reduce_scatter" else size
        if size in exact:
            return exact[size]
        below = [p for p in points if p[0] < size]
        above = [p for p in points if p[0] > size]
        if not below or not above:
            return None
        (x0, y0), (x1, y1) = below[-1], above[0]
        return y0 * (y1 / y0) ** ((size - x0) / (x1 - x0))
