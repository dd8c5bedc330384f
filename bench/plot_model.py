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
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for name, points in answer["predicted"].items():
        sizes, times = zip(*points)
        axes.plot(sizes, times, label=f"{name} (modelled)" if built.get(name, True) else f"{name} (modelled, not in weft)",
                  linewidth=1.2, linestyle="-" if built.get(name, True) else ":")
    rows = answer.get("measured", [])
    if rows:
        axes.plot([row["bytes"] for row in rows], [row["measured_us"] for row in rows], "ko",
                  markersize=4, label="measured here")
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
