#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The paper's figures 2-5, 8-11, 14 and 15 on a simulated machine: modelled.py [--out DIR] [--quick]

36 cores in 4 memory domains (simulator.py; nothing here is measured). Prints a table, writes the numbers
as JSON and, where matplotlib is, a picture.
"""
import argparse
import json
import sys
from pathlib import Path

import simulator
from simulator import LOCKS, bandwidth, handover, latency, rate

THREADS = (1, 2, 4, 9, 12, 18, 24, 30, 36)
SIZES = (64, 1024, 8192, 65536, 1 << 20)
KINDS = {"latency": latency, "bandwidth": bandwidth, "rate": rate}


def name_of(lock, reactivation):
    return lock + (("-KSC" if lock == "MTX" else "-USC") if reactivation else "")


def compute(threads):
    """{kind: {curve: [(threads, result)]}}, and the rest by figure."""
    curves = {kind: {name_of(lock, r): [(n, run(lock, n, r)) for n in threads]
                     for lock in LOCKS for r in (False, True)} for kind, run in KINDS.items()}
    hops = {name: [(core, handover(lock, core)) for core in range(1, simulator.CORES)]
            for name, lock in (("MTX-KSC", "MTX"), ("CLH-USC", "CLH"))}
    sizes = {kind: {name_of(lock, r): [(size, run(lock, 16, r, size)["us"]) for size in SIZES]
                    for lock, r in (("P-CLH", False), ("HCLHub", True))}
             for kind, run in KINDS.items() if kind != "bandwidth"}
    return {"curves": curves, "handover": hops, "sizes": sizes}


def print_tables(data):
    for kind, curves in data["curves"].items():
        threads = [n for n, _ in next(iter(curves.values()))]
        print(f"\n{kind}, us (modelled){'':8}" + "".join(f"{n:>9}" for n in threads) + "   threads")
        for name, points in curves.items():
            print(f"{name:>28}" + "".join(f"{r['us']:9.2f}" for _, r in points))
    print("\nlooks per message, latency (modelled)")
    for name, points in data["curves"]["latency"].items():
        print(f"{name:>28}" + "".join(f"{r['polls']:9.1f}" for _, r in points))


def lines(axes, title, curves, value, ylabel, log=True):
    for name, points in curves.items():
        style = "-" if name.endswith("SC") else "--"
        color = f"C{list(LOCKS).index(name.removesuffix('-USC').removesuffix('-KSC'))}"
        axes.plot([n for n, _ in points], [value(r) for _, r in points], style, color=color,
                  label=name, linewidth=1.3, marker="o", markersize=2.5)
    axes.set_title(title, fontsize=9)
    axes.set_ylabel(ylabel)
    if log:
        axes.set_yscale("log")
    axes.grid(True, which="major", alpha=0.3)


def breakdown(axes, title, curves, names):
    """Figures 3 and 9: what critical sections cost, all threads together."""
    labels, at = [], 0
    for name in names:
        for n, result in curves[name]:
            bottom = 0
            for i, part in enumerate(("ISSUE", "POLL", "EMPTY CS")):
                us = result["time"][part] / result["messages"] / 1000
                axes.bar(at, us, bottom=bottom, color=f"C{i}", label=part if at == 0 else None)
                bottom += us
            labels.append(str(n))
            at += 1
        at += 1
        labels.append("")
    axes.set_xticks(range(len(labels)), labels, fontsize=6)
    axes.set_title(f"{title}: {' | '.join(names)}", fontsize=8)
    axes.set_ylabel("µs per message with the lock")
    axes.legend(fontsize=6)


def draw(data, picture):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, grid = pyplot.subplots(4, 3, figsize=(15, 17))
    curves = data["curves"]
    lines(grid[0][0], "figures 2a, 8a, 10a: latency of 64 B", curves["latency"], lambda r: r["us"], "µs")
    lines(grid[0][1], "2b, 8b, 10b: bandwidth of 1 MiB", curves["bandwidth"],
          lambda r: 1048576 / r["us"], "MB/s", log=False)
    lines(grid[0][2], "2c, 8c, 10c, 14a: rate of 64 B", curves["rate"], lambda r: 1 / r["us"],
          "million messages/s", log=False)
    for at, kind in enumerate(KINDS):
        last = "HCLHub-USC" if kind == "rate" else "P-CLH-USC"
        breakdown(grid[1][at], f"3, 9, 14b: {kind}", curves[kind], ("P-CLH", last))
    lines(grid[2][0], "4: looks per message, latency", curves["latency"], lambda r: r["polls"], "looks")
    for name, color in (("P-CLH", "C2"), ("HCLHub-USC", "C4")):
        for place, style in (("domain", "-"), ("far", ":")):
            moved = [sum(by[place] for by in r["lines"].values()) for _, r in curves["rate"][name]]
            grid[2][1].plot([n for n, _ in curves["rate"][name]], moved, style, color=color,
                            label=f"{name}, from {'the same domain' if place == 'domain' else 'another'}")
    grid[2][1].set_title("5, 14c: lines moved per message, rate", fontsize=9)
    grid[2][1].legend(fontsize=6)
    lines(grid[2][2], "11: signal from core 0 to another", data["handover"], lambda us: us, "µs")
    grid[2][2].set_xlabel("core")
    grid[2][2].legend(fontsize=6)
    for at, (kind, by_name) in enumerate(data["sizes"].items()):
        lines(grid[3][at], f"15: {kind}, 16 threads", by_name, lambda us: us, "µs per message")
        grid[3][at].set_xscale("log", base=2)
        grid[3][at].set_xlabel("bytes")
        grid[3][at].legend(fontsize=6)
    grid[3][2].axis("off")
    grid[3][2].legend(*grid[0][0].get_legend_handles_labels(), loc="center", title="curves", ncol=2)
    figure.suptitle("Modelled, not measured: 36 cores in 4 memory domains (bench/threads/simulator.py); "
                    "over the number of threads.\nDashed: every waiting thread looks. "
                    "Solid: selective reactivation (USC by user-level signals, KSC by the kernel's)", fontsize=10)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.savefig(picture, dpi=90)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("."), metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="three numbers of threads")
    args = parser.parse_args()
    data = compute((1, 9, 36) if args.quick else THREADS)
    print_tables(data)
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "threads-modelled.json"
    path.write_text(json.dumps(data) + "\n")
    print(f"\nnumbers: {path}")
    try:
        draw(data, path.with_suffix(".png"))
        print(f"picture: {path.with_suffix('.png')}")
    except ImportError:
        print("no picture: matplotlib is missing (`make peers` installs it)")


if __name__ == "__main__":
    sys.exit(main())
