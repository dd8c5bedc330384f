#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the figures in a file of samples: plot_figures.py figures.json picture.png"""
import sys

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

import results  # noqa: E402
from plot import COLORS  # noqa: E402

NAMES = {"measured": "measured (lines with dots)", "modelled": "modelled (dashed)", "counted": "counted (squares)",
         "simulated": "simulated (dotted)"}
CATEGORIES = ("way", "shape", "part", "size", "neighbours to a CPU")  # x is a word
STYLE = {"measured": ("-", "o"), "modelled": ("--", ""), "counted": ("", "s"), "simulated": (":", ".")}


def beside(axes, figure):
    """Words in place of x: the curves beside each other, bars for times."""
    words = list(dict.fromkeys(point[0] for curve in figure["curves"] for point in curve["points"]))
    width = 0.8 / len(figure["curves"])
    for at, curve in enumerate(figure["curves"]):
        name, *rest = zip(*curve["points"])
        low, middle, high = rest if len(rest) == 3 else (rest[0], rest[0], rest[0])
        x = [words.index(word) - 0.4 + width * (at + 0.5) for word in name]
        error = [[m - l for m, l in zip(middle, low)], [h - m for m, h in zip(middle, high)]]
        look = {"label": curve["label"], "color": COLORS.get(curve["label"])}
        if curve["kind"] == "measured":
            axes.bar(x, middle, width, yerr=error, error_kw={"linewidth": 0.6}, **look)
        else:
            marker = STYLE[curve["kind"]][1] or "_"
            axes.errorbar(x, middle, yerr=error, linestyle="", marker=marker, markersize=5, **look)
    axes.set_xticks(range(len(words)), words)


def lines(axes, figure):
    colors = dict(COLORS)
    for curve in figure["curves"]:
        line, marker = STYLE[curve["kind"]]
        x, *rest = zip(*curve["points"])
        drawn = axes.plot(x, rest[1] if len(rest) == 3 else rest[0], linestyle=line, marker=marker, markersize=3,
                          linewidth=1.2, label=curve["label"], color=colors.get(curve["label"]))[0]
        if len(rest) == 3:
            axes.fill_between(x, rest[0], rest[2], alpha=0.15, color=drawn.get_color(), linewidth=0)
        colors.setdefault(curve["label"], drawn.get_color())


def panel(axes, figure):
    tones = pyplot.get_cmap("tab20").colors
    known = any(curve["label"] in COLORS for curve in figure["curves"])  # their colours are not for others
    axes.set_prop_cycle(color=(tones[10:20:2] if known else tones[::2]) + tones[1::2])
    kinds = list(dict.fromkeys(curve["kind"] for curve in figure["curves"]))
    (beside if figure["x"] in CATEGORIES else lines)(axes, figure)
    looks = ", ".join(kind if figure["x"] in CATEGORIES else NAMES[kind] for kind in kinds)
    number = f"figure {figure['number']}: " if figure["number"] else ""
    axes.set_title(f"{number}{figure['title']}\n{looks}", fontsize=7)
    if figure["x"] in ("bytes", "extent", "puts"):
        axes.set_xscale("log", base=2)
    if figure["x"] in ("ranks", "threads", "workers"):
        counts = sorted({point[0] for curve in figure["curves"] for point in curve["points"]})
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [str(n) for n in counts])
        axes.minorticks_off()
    axes.set_xlabel(figure["x"], fontsize=7)
    if figure["x"] == "way":
        axes.tick_params(axis="x", labelrotation=30)
    measure = figure.get("y", "lines per line" if figure["x"] == "way" else "µs")
    if measure == "µs":
        axes.set_yscale("log")
    axes.set_ylabel(measure, fontsize=7)
    axes.tick_params(labelsize=7)
    axes.grid(True, which="major", alpha=0.3)
    named = dict(zip(*reversed(axes.get_legend_handles_labels())))  # a label once, for both of its kinds
    crowded = len(named) > 8 or figure["x"] in CATEGORIES
    beyond = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if crowded else {}
    axes.legend(named.values(), named.keys(), fontsize=5.5, **beyond)


def main(source, picture):
    found = results.load(source)
    about, figures = found.about, [figure for figure in found.more["figures"] if figure["curves"]]
    if not figures:
        sys.exit("no figure has a curve")
    columns = 3
    rows = -(-len(figures) // columns)
    drawing, axes = pyplot.subplots(rows, columns, figsize=(5.2 * columns, 3.4 * rows), squeeze=False)
    for at, figure in enumerate(figures):
        panel(axes[at // columns][at % columns], figure)
    for spare in range(len(figures), rows * columns):
        axes[spare // columns][spare % columns].axis("off")
    measured = f"; measured: medians and quartiles of {found.more['rounds']} rounds" if found.more["rounds"] else ""
    where = f"{about['cpu']}, {about['cpus']} CPUs, " if measured else "nothing is measured, "
    paper = f"; figures of {found.more['paper']} in shape" if "paper" in found.more else ""
    drawing.suptitle(f"{where}{about['date'][:10]}{measured}{paper}\n{found.fullest().title()}", fontsize=10)
    drawing.tight_layout(rect=(0, 0, 1, 0.98))
    drawing.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])
