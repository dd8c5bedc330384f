#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft's own code with up to 120 threads a rank, on declared machines: modelled.py [--out DIR] [--quick]

The figures 2 to 5, 8 to 11, 14 and 15 of Dang, Seo, Amer, Balaji: Advanced Thread Synchronization for
Multithreaded MPI Implementations. weft-threads-simulated (bench/threads/simulator) runs the library's locks,
its waiting and its message path, compiled from the same sources, with simulated threads; each access of a
cache line costs what the declared distance says. Counts are counted, times are modelled; the prices are
weft's built-in ones, so that order and shape mean something, not single numbers. The two ranks are halves of
one machine and talk through memory, not over a network.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAPER = "pack:4 numa:2 l3:1 core:9 pu:1"  # 36 cores in four memory domains for each rank
LARGE = "pack:4 numa:2 l3:3 core:10 pu:1"  # 120 for each rank
THREADS, LARGE_THREADS = (1, 2, 4, 9, 12, 18, 24, 30, 36), (1, 10, 30, 60, 120)
SIZES = (64, 1024, 8192)
KERNEL = {"WEFT_SYNC_SPIN_US": 0, "WEFT_SYNC_YIELD_US": 0}  # who waits sleeps at once
LOCKS = {"MTX": "mtx", "CLH": "clh", "P-CLH": "pclh", "CLHub": "clhub", "HCLHub": "hclhub"}
KINDS = {"latency": ("latency", {"bytes": 64}), "bandwidth": ("rate", {"bytes": 1 << 20, "window": 4, "rounds": 1}),
         "rate": ("rate", {"bytes": 64})}
PARTS = ("issue", "poll", "empty", "sync")


def curves():
    """{name: weft's variables}, as the paper names them: USC by user-level signals, KSC by the kernel's."""
    out = {}
    for name, lock in LOCKS.items():
        one = {"WEFT_PT2PT_CONTEXTS": 1, "WEFT_SYNC_LOCK": lock}
        out[name] = {**one, "WEFT_SYNC_SERVERS": 0}
        out[f"{name}-USC"] = {**one, "WEFT_SYNC_SERVERS": 1}
    out["MTX-KSC"] = {**out["MTX-USC"], **KERNEL}
    return out


@dataclasses.dataclass(frozen=True)
class Simulator:
    program: Path

    def run(self, program, machine=PAPER, variables=None, **options):
        """One run: what weft-threads-simulated printed."""
        words = [f"machine={machine}", *(f"{name}={value}" for name, value in options.items())]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
        done = subprocess.run([self.program, program, *words], capture_output=True, text=True,
                              env={**clean, **{name: str(value) for name, value in (variables or {}).items()}})
        if done.returncode != 0:
            raise RuntimeError(f"{program} {' '.join(words)}: {done.stderr.strip()}")
        return json.loads(done.stdout)


def find_simulator(weft=None):
    """In the tree of `weft` (built or installed), or in the one that this file belongs to."""
    places = [weft] if weft else [HERE.parents[1] / "build/release", HERE.parents[3]]
    for place in places:
        program = Path(place) / "libexec/weft/weft-threads-simulated"
        if program.exists():
            return Simulator(program)
    sys.exit(f"modelled.py: no weft-threads-simulated in {' or '.join(map(str, places))} (make build makes it)")


def observer(kind):
    """The rank whose threads wait: the answering one in the latency program, else the sending one."""
    return "rank 1" if kind == "latency" else "rank 0"


def parts(result, kind):
    """Where a rank's time in MPI went, us per message."""
    counters = result[observer(kind)]["counters"]
    return {part: counters.get(f"{part}_ns", 0) / 1000 for part in PARTS}


def jobs(quick):
    """{key: arguments of Simulator.run}"""
    threads = (1, 9, 36) if quick else THREADS
    out = {}
    for name, variables in curves().items():
        for kind, (program, options) in KINDS.items():
            for n in threads:
                out["curve", kind, name, n] = (program, PAPER, variables, {**options, "threads": n})
    for kind, names in (("latency", ("P-CLH", "P-CLH-USC")), ("bandwidth", ("P-CLH", "P-CLH-USC")),
                        ("rate", ("P-CLH", "P-CLH-USC", "HCLHub-USC"))):
        for name in names:
            for n in threads:
                program, options = KINDS[kind]
                out["parts", kind, name, n] = (program, PAPER, {**curves()[name], "WEFT_STATS": 1},
                                               {**options, "threads": n})
    for core in (1, 8, 9, 17, 18, 35) if quick else range(1, 36):
        for name, lock, program in (("MTX-KSC", "mtx", "handover-in-kernel"), ("CLH-USC", "clh", "handover")):
            out["handover", name, core] = (program, PAPER, {"WEFT_SYNC_LOCK": lock}, {"threads": core})
    for kind in ("latency", "rate"):
        for name in ("P-CLH", "HCLHub-USC"):
            for size in SIZES:
                out["sizes", kind, name, size] = (KINDS[kind][0], PAPER, curves()[name], {"bytes": size, "threads": 16})
    if not quick:
        for kind in ("latency", "rate"):
            for name in ("P-CLH", "P-CLH-USC", "HCLHub-USC"):
                for n in LARGE_THREADS:
                    program, options = KINDS[kind]
                    fewer = {"window": 16, "rounds": 1} if kind == "rate" else {}
                    out["large", kind, name, n] = (program, LARGE, curves()[name], {**options, **fewer, "threads": n})
    return out


def compute(simulator, quick, workers):
    """[{figure, kind, curve, x, result}]"""
    asked = jobs(quick)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        results = pool.map(lambda job: simulator.run(job[0], job[1], job[2], **job[3]), asked.values())
        return [{"key": key, "result": result} for key, result in zip(asked, results)]


def select(data, *first):
    """{curve: [(x, result)]} of the keys that begin so."""
    out = {}
    for entry in data:
        if tuple(entry["key"][:len(first)]) == first:
            *_, name, x = entry["key"]
            out.setdefault(name, []).append((x, entry["result"]))
    return out


def print_table(title, by_name, value, over):
    columns = sorted({x for points in by_name.values() for x, _ in points})
    print(f"\n{title}\n{over:>12}" + "".join(f"{x:>9}" for x in columns))
    for name, points in by_name.items():
        values = dict(points)
        print(f"{name:>12}" + "".join(f"{value(values[x]):9.2f}" if x in values else f"{'-':>9}" for x in columns))


def moved(result, kind, phase=None):
    """Lines per message that moved to the rank's cores from others of the rank: {level: lines}."""
    by_phase = result[observer(kind)]["lines"]
    out = {}
    for name in (phase,) if phase else by_phase:
        for level, count in by_phase[name].items():
            out[level] = out.get(level, 0) + count
    return out


def print_tables(data):
    for kind in KINDS:
        print_table(f"{kind}, us per message (modelled, weft's code, 2 x 36 declared cores)", select(data, "curve", kind),
                    lambda r: r["us"], "threads")
    print_table("4: looks per message, latency (counted)", select(data, "curve", "latency"),
                lambda r: r["rank 1"]["counters"]["polls"], "threads")
    for phase in ("issue", "wait"):
        print_table(f"5, 14c: lines moved per message, rate, {phase} (counted)", select(data, "curve", "rate"),
                    lambda r: sum(moved(r, "rate", phase).values()), "threads")
    for kind in KINDS:
        for part in PARTS:
            print_table(f"3, 9, 14b: {part.upper()}, {kind}, us per message, all threads (modelled)",
                        select(data, "parts", kind), lambda r: parts(r, kind)[part], "threads")
    print_table("11: half a round trip, us (modelled)", select(data, "handover"), lambda r: r["us"], "core")
    for kind in ("latency", "rate"):
        print_table(f"15: {kind}, 16 threads, us per message (modelled)", select(data, "sizes", kind),
                    lambda r: r["us"], "bytes")
        if select(data, "large", kind):
            print_table(f"{kind}, us per message (modelled, weft's code, 2 x 120 declared cores)",
                        select(data, "large", kind), lambda r: r["us"], "threads")


def lines(axes, title, by_name, value, ylabel, log=True):
    for name, points in by_name.items():
        style = {"USC": "-", "KSC": "-."}.get(name[-3:], "--")
        color = f"C{list(LOCKS).index(name.removesuffix('-USC').removesuffix('-KSC'))}"
        axes.plot([n for n, _ in points], [value(r) for _, r in points], style, color=color,
                  label=name, linewidth=1.3, marker="o", markersize=2.5)
    axes.set_title(title, fontsize=9)
    axes.set_ylabel(ylabel)
    if log:
        axes.set_yscale("log")
    axes.grid(True, which="major", alpha=0.3)


def breakdown(axes, title, kind, by_name):
    """Figures 3, 9 and 14b: all threads together."""
    labels, at = [], 0
    for points in by_name.values():
        for n, result in points:
            bottom = 0
            for i, (part, us) in enumerate(parts(result, kind).items()):
                axes.bar(at, us, bottom=bottom, color=f"C{i}", label=part.upper() if at == 0 else None)
                bottom += us
            labels.append(str(n))
            at += 1
        at += 1
        labels.append("")
    axes.set_xticks(range(len(labels)), labels, fontsize=6)
    axes.set_title(f"{title}: {' | '.join(by_name)}", fontsize=8)
    axes.set_ylabel("µs per message, all threads")
    axes.legend(fontsize=6)


def draw(data, picture):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, grid = pyplot.subplots(4, 3, figsize=(15, 17))
    of = {kind: select(data, "curve", kind) for kind in KINDS}
    lines(grid[0][0], "figures 2a, 8a, 10a: latency of 64 B", of["latency"], lambda r: r["us"], "µs")
    lines(grid[0][1], "2b, 8b, 10b: bandwidth of 1 MiB", of["bandwidth"], lambda r: 1048576 / r["us"], "MB/s", log=False)
    lines(grid[0][2], "2c, 8c, 10c, 14a: rate of 64 B", of["rate"], lambda r: 1 / r["us"], "million messages/s", log=False)
    for at, kind in enumerate(KINDS):
        breakdown(grid[1][at], f"3, 9, 14b: {kind}", kind, select(data, "parts", kind))
    lines(grid[2][0], "4: looks per message, latency", of["latency"], lambda r: r["rank 1"]["counters"]["polls"], "looks")
    for name, color in (("P-CLH", "C2"), ("HCLHub-USC", "C4")):
        for level, style in (("L3Cache", "-"), ("Package", "--"), ("Machine", ":")):
            points = [(n, moved(r, "rate").get(level, 0)) for n, r in of["rate"][name]]
            grid[2][1].plot(*zip(*points), style, color=color, label=f"{name}, over {level}")
    grid[2][1].set_title("5, 14c: lines moved per message, rate", fontsize=9)
    grid[2][1].legend(fontsize=6)
    lines(grid[2][2], "11: half a round trip, core 0 and another", select(data, "handover"), lambda r: r["us"], "µs")
    grid[2][2].set_xlabel("core")
    grid[2][2].legend(fontsize=6)
    for at, kind in enumerate(("latency", "rate")):
        lines(grid[3][at], f"15: {kind}, 16 threads", select(data, "sizes", kind), lambda r: r["us"], "µs per message")
        grid[3][at].set_xscale("log", base=2)
        grid[3][at].set_xlabel("bytes")
        grid[3][at].legend(fontsize=6)
    grid[3][2].axis("off")
    grid[3][2].legend(*grid[0][0].get_legend_handles_labels(), loc="center", title="curves", ncol=2)
    figure.suptitle("Counted and modelled, not measured: weft's code on 2 x 36 declared cores in 2 x 4 memory domains, "
                    "weft's built-in prices; over the number of threads.\nDashed: every waiting thread looks. "
                    "Solid: selective reactivation (USC by user-level signals, KSC, dash-dotted, by the kernel's)", fontsize=10)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.savefig(picture, dpi=90)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--weft", type=Path, metavar="DIR", help="where weft is built or installed")
    parser.add_argument("--out", type=Path, default=Path("."), metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="three numbers of threads, 36 cores only")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N", help="runs at a time")
    args = parser.parse_args()
    data = compute(find_simulator(args.weft), args.quick, args.workers)
    print_tables(data)
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "threads-modelled.json"
    path.write_text(json.dumps(data, separators=(",", ":")) + "\n")
    print(f"\nnumbers: {path}")
    try:
        draw(data, path.with_suffix(".png"))
        print(f"picture: {path.with_suffix('.png')}")
    except ImportError:
        print("no picture: matplotlib is missing (`make peers` installs it)")


if __name__ == "__main__":
    sys.exit(main())
