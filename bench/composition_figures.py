# SPDX-License-Identifier: Apache-2.0
"""Collectives across nodes, as in Li, Hoefler, Snir (HPDC 2013), figures 21 to 25, at that paper's 192 and 256 cores:
`weft bench composition`. Nothing is measured: `weft simulate` replays what weft's ranks would do on declared clusters.

The nodes are the paper's (2 x 6 and 4 x 8 cores) with weft's built-in prices; the paper says InfiniBand, not what a message
costs, so QDR of those years is assumed. The other MPI libraries of the paper cannot be simulated: in their place stand
weft's own ways by messages between all ranks, which know nothing of nodes, with ranks as processes."""
import dataclasses
import json
import statistics
import subprocess
import sys
from pathlib import Path

import figures
import results

PAPER = figures.PAPER
NETWORK = "latency=1.3us,gap=0.3us,bandwidth=3.2GB/s"  # assumed
SIZES = [8 << shift for shift in range(0, 20, 2)]
XEON = {"nodes": 16, "ppn": 12, "machine": figures.WESTMERE}
OPTERON = {"nodes": 8, "ppn": 32, "machine": figures.MAGNY_COURS}
ON_NODE = ("tree", "tiled_hierarchical", "tiled_naive")
PHASES = ("nodes", "nodes_parts", "nodes_segments")
CLAIMS = {"22": 2.3, "23": 1.8, "24": 1.4}  # the paper: speed-up over MVAPICH2 on average


class Simulated:
    """What `weft simulate` says, asked once each."""

    def __init__(self, prefix):
        self.weft, self.answers = Path(prefix).resolve() / "bin/weft", {}

    def rows(self, call, cluster, mode="thread", on_node=None, nodes=None):
        key = (call, cluster["machine"], mode, on_node, nodes)
        if key not in self.answers:
            words = [self.weft, "simulate", call, "--nodes", str(nodes or cluster["nodes"]), "--ppn", str(cluster["ppn"]),
                     "--machine", cluster["machine"], "--network", NETWORK, "--ranks", mode, "--json",
                     "--bytes", ",".join(map(str, SIZES))]
            words += ["--on-node", on_node] if on_node else []
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"bench: {done.stderr.strip()}")
            self.answers[key] = [row for row in json.loads(done.stdout)["rows"] if row["simulated"]]
        return self.answers[key]

    def curve(self, wanted, *case, **more):
        """[[bytes, us]] of the fastest of the rows that are wanted, at each size."""
        best = {}
        for row in self.rows(*case, **more):
            if wanted(row):
                best[row["bytes"]] = min(row["us"], best.get(row["bytes"], row["us"]))
        return sorted(map(list, best.items()))


def is_chosen(row):
    return row["chosen"]


def is_flat(row):
    return row["way"] not in PHASES


def algorithms(asked):
    """Figure 21: what is done on nodes, and what between them."""
    found = figures.Figure("21", "allreduce of 192 ranks, 16 nodes of 2 x 6 cores, algorithms")
    for way in ON_NODE:
        found.add("simulated", f"{way} on nodes", asked.curve(lambda row: row["way"] == "nodes", "allreduce", XEON, on_node=way))
    for way in PHASES[1:]:
        found.add("simulated", way, asked.curve(lambda row, way=way: row["way"] == way, "allreduce", XEON))
    for way in ("recursive_doubling", "rabenseifner"):
        found.add("simulated", f"{way}, all ranks", asked.curve(lambda row, way=way: row["way"] == way, "allreduce", XEON))
    found.add("simulated", "what weft takes", asked.curve(is_chosen, "allreduce", XEON))
    return found


def against_messages(number, title, call, cluster, asked):
    found = figures.Figure(number, title)
    weft = asked.curve(is_chosen, call, cluster)
    flat = asked.curve(is_flat, call, cluster, mode="process")
    found.add("simulated", "weft, threads", weft)
    found.add("simulated", "weft, processes", asked.curve(is_chosen, call, cluster, mode="process"))
    found.add("simulated", "messages between all ranks", flat)
    mine = dict(map(tuple, weft))
    ratio = statistics.geometric_mean(us / mine[size] for size, us in flat if size in mine)
    found.notes.append(f"simulated: messages between all ranks / weft with threads {ratio:.2f} on average"
                       f" (the paper, measured, MVAPICH2 / HMPI: {CLAIMS[number]})")
    return found


def barriers(asked):
    found = figures.Figure("25", "barrier, nodes of 2 x 6 cores", x="ranks")
    counts = [2, 4, 8, 16]
    for label, wanted, mode in (("weft, threads", is_chosen, "thread"), ("weft, processes", is_chosen, "process"),
                                ("messages between all ranks", is_flat, "process")):
        points = [[nodes * XEON["ppn"], asked.curve(wanted, "barrier", XEON, mode=mode, nodes=nodes)[0][1]] for nodes in counts]
        found.add("simulated", label, points)
    return found


def simulate_curves(args, about):
    """Results whose `more` has the figures."""
    asked = Simulated(args.weft)
    shown = [algorithms(asked),
             against_messages("22", "allreduce of 256 ranks, 8 nodes of 4 x 8 cores", "allreduce", OPTERON, asked),
             against_messages("23", "bcast of 192 ranks, 16 nodes of 2 x 6 cores", "bcast", XEON, asked),
             against_messages("24", "reduce of 192 ranks, 16 nodes of 2 x 6 cores", "reduce", XEON, asked),
             barriers(asked)]
    more = {"rounds": 0, "paper": PAPER, "network": NETWORK, "figures": [dataclasses.asdict(figure) for figure in shown]}
    return results.Results(about, [results.State("all", 0)], {}, more)


def print_report(found):
    print(f"simulated, network {found.more['network']} (assumed); us")
    for figure in found.more["figures"]:
        print(f"\nfigure {figure['number']}: {figure['title']}, simulated")
        xs = sorted({point[0] for curve in figure["curves"] for point in curve["points"]})
        print(f"{figure['x']:34}" + "".join(f"{x:>11}" for x in xs))
        for curve in figure["curves"]:
            at = dict(map(tuple, curve["points"]))
            print(f"{curve['label']:34}" + "".join(f"{at[x]:>11.1f}" if x in at else f"{'-':>11}" for x in xs))
        for note in figure["notes"]:
            print(f"  {note}")
