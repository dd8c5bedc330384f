#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what figures.py, thread_figures.py or idle_figures.py collected: plot_figures.py figures.json picture.png"""
import sys

import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

import results  # noqa: E402

NAMES = {"measured": "measured (lines with dots)", "modelled": "modelled (dashed)", "counted": "counted (squares)"}
STYLE = {"measured": ("-", "o"), "modelled": ("--", ""), "counted": ("", "s")}


def panel(axes, figure):
    axes.set_prop_cycle(color=pyplot.get_cmap("tab20").colors[::2] + pyplot.get_cmap("tab20").colors[1::2])
    kinds = list(dict.fromkeys(curve["kind"] for curve in figure["curves"]))
    colors = {}
    for curve in figure["curves"]:
        line, marker = STYLE[curve["kind"]]
        x, *rest = zip(*curve["points"])
        middle = rest[1] if len(rest) == 3 else rest[0]
        color = colors.get(curve["label"])
        label = curve["label"] if color is None else None
        if figure["x"] == "way":
            drawn = axes.plot(x, middle, linestyle="", marker=marker or "_", markersize=9, label=label)[0]
        else:
            drawn = axes.plot(x, middle, linestyle=line, marker=marker, markersize=3, linewidth=1.2, label=label,
                              color=color)[0]
            if len(rest) == 3:
                axes.fill_between(x, rest[0], rest[2], alpha=0.15, color=drawn.get_color(), linewidth=0)
        colors.setdefault(curve["label"], drawn.get_color())
    axes.set_title(f"figure {figure['number']}: {figure['title']}\n{', '.join(NAMES[kind] for kind in kinds)}", fontsize=7)
    if figure["x"] in ("bytes", "extent"):
        axes.set_xscale("log", base=2)
    if figure["x"] in ("ranks", "threads"):
        counts = sorted({point[0] for curve in figure["curves"] for point in curve["points"]})
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [str(n) for n in counts])
        axes.minorticks_off()
    axes.set_xlabel(figure["x"], fontsize=7)
    if figure["x"] == "way":
        axes.tick_params(axis="x", labelrotation=30)
        axes.set_ylabel("lines per line", fontsize=7)
    else:
        axes.set_yscale("log")
        axes.set_ylabel("µs", fontsize=7)
    axes.tick_params(labelsize=7)
    axes.grid(True, which="major", alpha=0.3)
    many = len(axes.get_legend_handles_labels()[1]) > 8
    axes.legend(fontsize=5.5, **({"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if many else {}))


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
    drawing.suptitle(f"{about['cpu']}, {about['cpus']} CPUs, {about['date'][:10]}; measured: medians and quartiles "
                     f"of {found.more['rounds']} rounds; figures of {found.more['paper']} in shape\n{found.fullest().title()}", fontsize=10)
    drawing.tight_layout(rect=(0, 0, 1, 0.98))
    drawing.savefig(picture, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])
