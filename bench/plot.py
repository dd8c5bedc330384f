#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws messages and collectives: plot.py samples.json picture.png"""
import sys

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

import results  # noqa: E402
from results import quartiles  # noqa: E402

COLORS = {"weft-process": "tab:blue", "weft-thread": "tab:green", "weft-thread alone": "lightgreen",
          "mpich": "tab:orange", "openmpi": "tab:red", "impi": "tab:purple"}
TITLES = {"lat": "ping-pong, half a round trip", "bw": "window of 16, per message",
          "rate": "window of 64, per message", "barrier": "barrier", "allreduce": "allreduce",
          "startup": "start and end of an empty job", "reduce_scatter": "reduce_scatter_block",
          "partitioned": "one buffer by 8 threads: partitions", "sends": "8 messages", "one_send": "one message behind a barrier"}


def panel(axes, key, table, names):
    """One kind of operation at one number of ranks: lines over bytes, or bars for one size."""
    row, ranks = key
    cells = {size: rounds for (r, n, size), rounds in table.items() if (r, n) == key}
    for at, name in enumerate(names):
        points = [(size, *quartiles(list(rounds[name].values())))
                  for size, rounds in sorted(cells.items()) if name in rounds]
        if not points:
            continue
        sizes, low, middle, high = zip(*points)
        error = [[m - l for m, l in zip(middle, low)], [h - m for m, h in zip(middle, high)]]
        color = COLORS.get(name)
        if len(cells) > 2:
            axes.errorbar(sizes, middle, yerr=error, label=name, color=color, marker="o",
                          markersize=3, linewidth=1.2, capsize=2)
        else:
            places = [at + i * (len(names) + 1) for i in range(len(sizes))]
            axes.bar(places, middle, yerr=error, label=name, color=color, capsize=2)
    axes.set_title(f"{TITLES.get(row, row)}, {ranks} ranks", fontsize=9)
    axes.set_yscale("log")
    axes.set_ylabel("µs")
    if len(cells) > 2:
        axes.set_xscale("log", base=2)
        axes.set_xlabel("bytes")
    else:
        width = len(names) + 1
        axes.set_xticks([(len(names) - 1) / 2 + i * width for i in range(len(cells))],
                        [f"{size} B" if size else "" for size in sorted(cells)])
    axes.grid(True, which="major", alpha=0.3)


def main(source, picture):
    found = results.load(source)
    about, state = found.about, found.fullest()
    table, names = state.cells, list(about["libraries"])
    keys = list(dict.fromkeys((row, ranks) for row, ranks, _ in table))
    columns = min(3, len(keys))
    rows = -(-len(keys) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(4.6 * columns, 3.4 * rows),
                                   squeeze=False)
    for at, key in enumerate(keys):
        panel(axes[at // columns][at % columns], key, table, names)
    for spare in range(len(keys), rows * columns):
        axes[spare // columns][spare % columns].axis("off")
    axes[0][0].legend(fontsize=8)
    figure.suptitle(f"{about['cpu']}, {about['cpus']} CPUs, {about['date'][:10]}; medians and "
                    f"quartiles of {about['options']['rounds']} rounds; lower is better\n{state.title()}",
                    fontsize=10)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
