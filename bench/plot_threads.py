#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what thread_locks.py measured: plot_threads.py samples.json picture.png"""
import sys

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

import results  # noqa: E402
from thread_locks import KINDS, LOCKS, table  # noqa: E402

COUNTS = (("lat", 64, "polls", "4: looks per message, latency"),
          ("lat", 64, "switches", "context switches per message, latency"),
          ("rate", 64, "lock_passed", "hand-overs to another thread per message, rate"),
          ("lat", 64, "lock_in_vain", "lock taken in vain per message, latency"))


def style(name):
    lock = name.removesuffix("-usc").removesuffix("-ksc")
    color = f"C{LOCKS.index(lock)}" if lock in LOCKS else "black"
    return {"color": color, "linestyle": "-." if name.endswith("-ksc") else "-" if name.endswith("-usc") or lock not in LOCKS else "--",
            "marker": "o", "markersize": 3, "linewidth": 2 if lock not in LOCKS else 1.2, "label": name}


def panel(axes, cells, kind, size, title, ylabel, value):
    threads = sorted(n for k, n, b in cells if (k, b) == (kind, size))
    for name in dict.fromkeys(name for n in threads for name in cells[kind, n, size]):
        points = [(n, value(cells[kind, n, size][name])) for n in threads if name in cells[kind, n, size]]
        points = [(n, v) for n, v in points if v]
        if points:
            axes.plot(*zip(*points), **style(name))
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("threads of each rank")
    axes.set_ylabel(ylabel)
    axes.set_yscale("log")
    axes.grid(True, which="major", alpha=0.3)


def main(source, picture):
    found = results.load(source)
    about, state = found.about, found.fullest()
    cells = table(state)
    figure, grid = pyplot.subplots(2, 4, figsize=(20, 9))
    for at, (kind, size, title) in enumerate(KINDS):
        panel(grid[0][at], cells, kind, size, title, "µs per message", lambda cell: cell[0])
    for at, (kind, size, count, title) in enumerate(COUNTS):
        panel(grid[1][at], cells, kind, size, title, "counted", lambda cell, c=count: cell[1].get(c))
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="lower center", ncol=8, fontsize=8)
    figure.suptitle(f"Measured and counted: {about['cpu']}, {about['cpus']} CPUs, {about['date'][:10]}; weft's locks "
                    f"(-usc, solid: with selective reactivation), medians\n{state.title()}", fontsize=10)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    main(*sys.argv[1:])
