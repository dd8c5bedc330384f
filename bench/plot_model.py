#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what `weft explain --json` says: plot_model.py answer.json picture.png"""
import json
import sys

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def main(data, picture):
    with open(data) as file:
        answer = json.load(file)
    built = {c["name"]: c["built"] for c in answer["candidates"]}
    colors = {}
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for name, points in answer["predicted"].items():
        sizes, times = zip(*points)
        known = built.get(name, True)
        curve, = axes.plot(sizes, times, label=f"{name} (modelled{'' if known else ', not in weft'})",
                           linewidth=1.2, linestyle="-" if known else ":")
        colors[name] = curve.get_color()
    rows = answer.get("measured", [])
    for name in dict.fromkeys(row["way"] for row in rows):
        own = [row for row in rows if row["way"] == name]
        axes.plot([row["bytes"] for row in own], [row["measured_us"] for row in own], "o", markersize=4,
                  color=colors.get(name, "black"), label=f"{name} (measured here)")
    for part in answer["chosen_over_size"][1:]:
        axes.axvline(part["from_bytes"], color="gray", linewidth=0.6)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes")
    axes.set_ylabel("µs")
    axes.set_title(f"{answer['collective']}, {answer['ranks']} ranks ({answer['mode']}), "
                   f"prices {answer['machine']['prices']}", fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(picture, dpi=130)


if __name__ == "__main__":
    main(*sys.argv[1:])
