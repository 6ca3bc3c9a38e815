#!/usr/bin/env python3
"""Draws what bench.py measured, on logarithmic scales: time against rows for a full export and a full import, and bytes against changed rows.

usage: plot.py FIGURES.json PLOT.svg

FIGURES.json is what `bench.py --json` writes. Needs matplotlib, which setup.sh installs beside the other libraries of Python.
"""
import json, statistics, sys

import matplotlib
matplotlib.use("svg")
# Text stays text, and the same figures give the same file.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "snapsync", "font.family": "sans-serif", "font.size": 9})
import matplotlib.pyplot as plt

OURS = "snapsync"
# Theirs: colours that people of any sight tell from ours and from each other.
THEIRS = ["#0072b2", "#e69f00", "#009e73", "#56b4e9"]


def times(rows, job):
    """Seconds by the number of rows, of us (the median over all competitors' pairs) and of each competitor."""
    lines = {OURS: {}}
    for row in (row for row in rows if row["job"] == job and row["competitor"]):
        lines[OURS].setdefault(row["rows"], []).append(row["ours_s"])
        lines.setdefault(row["competitor"], {}).setdefault(row["rows"], []).append(row["theirs_s"])
    return {name: {count: statistics.median(found) for count, found in line.items()} for name, line in lines.items()}


def sent(rows):
    """Bytes by the number of changed rows."""
    lines = {OURS: {}}
    for row in (row for row in rows if "changed" in row):
        lines[OURS][row["changed"]] = row["ours_bytes"]
        lines.setdefault(row["competitor"], {})[row["changed"]] = row["theirs_bytes"]
    return lines


def draw(axes, title, across, up, lines):
    axes.set(title=title, xlabel=across, ylabel=up, xscale="log", yscale="log")
    colours = iter(THEIRS)
    for name, line in lines.items():
        if line:
            points = sorted(line.items())
            style = {"color": "#c1121f", "linewidth": 2.4, "zorder": 3} if name == OURS else {"color": next(colours), "linewidth": 1.2}
            axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, label=name, **style)
    axes.grid(True, which="major", linewidth=0.4)
    axes.legend(fontsize=7)


def main():
    figures, plot = sys.argv[1:]
    with open(figures) as file:
        rows = json.load(file)
    sizes = [row["rows"] for row in rows if "changed" in row]
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    draw(axes[0], "a full export", "rows", "seconds", times(rows, "export, whole"))
    draw(axes[1], "a full import into an empty database", "rows", "seconds", times(rows, "import, into an empty database"))
    draw(axes[2], f"what a change in a table of {sizes[0]:,} rows sends" if sizes else "what a change sends", "changed rows", "bytes", sent(rows))
    figure.savefig(plot, metadata={"Date": None})


if __name__ == "__main__":
    main()
