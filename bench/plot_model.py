#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what `weft explain --json` says: plot_model.py answer.json picture.png (or .svg, .pdf)"""
import json
import sys

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def over_size(axes, answer):
    """Modelled lines, measured dots of the same color, and where the way that is taken changes."""
    colors = {}
    for name, points in answer["predicted"].items():
        sizes, times = zip(*points)
        curve, = axes.plot(sizes, times, linewidth=1.2, label=f"{name}, modelled")
        colors[name] = curve.get_color()
    rows = answer.get("measured", [])
    for name in dict.fromkeys(row["way"] for row in rows):
        own = sorted((row["bytes"], row["measured_us"]) for row in rows if row["way"] == name)
        axes.plot(*zip(*own), "o", markersize=4, color=colors.get(name, "black"), label=f"{name}, measured")
    for part in answer["chosen_over_size"]:
        axes.axvline(max(part["from_bytes"], 8), color="gray", linewidth=0.6)
        axes.annotate(f" {part['name']} taken from {part['from_bytes']} B", (max(part["from_bytes"], 8), 0.98),
                      xycoords=("data", "axes fraction"), rotation=90, va="top", ha="left", fontsize=6, color="gray")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("bytes")


def of_one_size(axes, answer):
    """A barrier has no size: bars."""
    modelled = {c["name"]: c["us"] for c in answer["candidates"]}
    measured = {row["way"]: row["measured_us"] for row in answer.get("measured", [])}
    axes.bar([at - 0.2 for at in range(len(modelled))], modelled.values(), 0.4, label="modelled")
    if measured:
        axes.bar([at + 0.2 for at in range(len(modelled))], [measured.get(name, 0) for name in modelled], 0.4,
                 label="measured")
    axes.set_xticks(range(len(modelled)), [f"{name}, taken" if name == answer["chosen"] else name for name in modelled])


def main(data, picture):
    with open(data) as file:
        answer = json.load(file)
    figure, axes = pyplot.subplots(figsize=(10, 5.5))
    if answer["predicted"]:
        over_size(axes, answer)
        axes.set_yscale("log")
    else:
        of_one_size(axes, answer)
    axes.set_ylabel("µs")
    machine = answer["machine"]
    axes.set_title(f"{answer['collective']}, {answer['ranks']} ranks ({answer['mode']}), {machine['topology']}"
                   f"{' (declared)' if machine['declared'] else ''}\nprices {machine['prices']}", fontsize=8)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))
    figure.tight_layout()
    figure.savefig(picture, dpi=130)


if __name__ == "__main__":
    main(*sys.argv[1:])
