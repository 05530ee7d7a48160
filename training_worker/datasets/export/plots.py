"""The plots of a data card, drawn only from its manifest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from mcp_servers.catalogue import TOOLS

from ...core.plots import BLUE, GREY, ORANGE, finish
from ...core.trajectory import Split
from ..manifest import Manifest

SIDES: tuple[tuple[Split, str, str], ...] = (("train", "training", BLUE), ("held_out", "held out", ORANGE))
MOST_REASONS = 15
PROPERTIES = (("kinds", "kind"), ("levels", "information level"), ("knobs", "knob"), ("failures", "recovery"))


def draw(manifest: Manifest, folder: Path) -> list[tuple[str, str]]:
    """Draw each plot that has data; return the name and the title of each file."""
    folder.mkdir(parents=True, exist_ok=True)
    plots: tuple[tuple[str, str, Callable[[Manifest], Any]], ...] = (
        ("lengths.png", "Ground-truth steps and user turns", lengths),
        ("kinds.png", "Kinds, information levels, knobs and recoveries", kinds),
        ("servers.png", "Servers called", servers),
        ("tools.png", "Calls of each tool", tools),
        ("drops.png", "Why draws were dropped", drops),
    )
    drawn = []
    for name, title, plot in plots:
        (folder / name).unlink(missing_ok=True)
        if figure := plot(manifest):
            finish(figure, folder / name)
            drawn.append((name, title))
    return drawn


def get_split_counts(manifest: Manifest, name: str) -> dict[Split, Mapping[str, int]]:
    """Return a property's counts by split."""
    return {split: getattr(one, name) for split, one in manifest.splits.items()}


def bars(axes: Any, counts: Mapping[Split, Mapping[str, int]], labels: Iterable[str], *, across: bool = False) -> None:
    """Draw stacked bars of both splits, labelled with the sum."""
    labels = list(labels)
    below = [0] * len(labels)
    for split, name, colour in SIDES:
        values = [counts.get(split, {}).get(label, 0) for label in labels]
        if across:
            axes.barh(labels, values, left=below, color=colour, label=name)
        else:
            axes.bar(labels, values, bottom=below, color=colour, label=name)
        below = [a + b for a, b in zip(below, values, strict=True)]
    axes.bar_label(axes.containers[-1], labels=[f"{count:,}" for count in below], fontsize=8, padding=2)
    axes.margins(**{"x" if across else "y": 0.12})


def lengths(manifest: Manifest) -> Any:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for axes, name, title in ((left, "steps", "Ground-truth steps (0: call nothing)"), (right, "turns", "User turns")):
        counts = get_split_counts(manifest, name)
        bars(axes, counts, sorted({size for one in counts.values() for size in one}, key=int))
        axes.set(title=title, ylabel="conversations")
    left.legend(frameon=False)
    return figure


def kinds(manifest: Manifest) -> Any:
    found = [(get_split_counts(manifest, name), title) for name, title in PROPERTIES]
    charts = [(counts, title) for counts, title in found if any(counts.values())]
    figure, panels = plt.subplots(1, len(charts), figsize=(3.6 * len(charts), 4), layout="constrained", squeeze=False)
    for axes, (counts, title) in zip(panels[0], charts, strict=True):
        named = {split: {wrap_label(name): n for name, n in one.items()} for split, one in counts.items()}
        bars(axes, named, sorted({name for one in named.values() for name in one}))
        axes.set(title=title.capitalize())
        axes.tick_params(axis="x", labelsize=7)
    panels[0][0].legend(frameon=False, fontsize=8)
    return figure


def servers(manifest: Manifest) -> Any:
    counts = get_split_counts(manifest, "servers")
    total = Counter[str]()
    for one in counts.values():
        total.update(one)
    if not total:
        return None
    figure, axes = plt.subplots(figsize=(7, 0.28 * len(total) + 1), layout="constrained")
    bars(axes, counts, sorted(total, key=lambda name: (total[name], name)), across=True)
    axes.set(title="Conversations that call a server", xlabel="conversations")
    axes.legend(frameon=False, loc="lower right")
    return figure


def tools(manifest: Manifest) -> Any:
    """Draw a bar for each tool of the catalogue, most called first, with the most and the least called tool named."""
    counts = Counter[str]()
    for one in manifest.splits.values():
        counts.update(one.own_tools)
    if not counts:
        return None
    ordered = sorted(TOOLS, key=lambda name: (-counts[name], name))
    values = [counts[name] for name in ordered]
    figure, axes = plt.subplots(figsize=(11, 3.5), layout="constrained")
    axes.bar(range(len(ordered)), values, width=1.0, color=BLUE)
    axes.axhline(values[-1], color=GREY, linewidth=0.8, linestyle="--")
    axes.annotate(
        f"least: {ordered[-1]}, {values[-1]:,}",
        (len(ordered) - 1, values[-1]),
        xytext=(-6, 30),
        textcoords="offset points",
        ha="right",
        arrowprops={"arrowstyle": "-", "color": GREY},
    )
    axes.annotate(f"most: {ordered[0]}, {values[0]:,}", (0, values[0]), xytext=(8, -4), textcoords="offset points")
    axes.set(
        title=f"Ground-truth calls of each of {len(ordered)} tools", ylabel="calls", xlabel="tools, most called first"
    )
    return figure


def drops(manifest: Manifest) -> Any:
    found = Counter[str]()
    for one in get_split_counts(manifest, "dropped").values():
        for reason, count in one.items():
            found[general(reason)] += count
    if not found:
        return None
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    bars, rest = ordered[:MOST_REASONS], sum(count for _, count in ordered[MOST_REASONS:])
    if rest:
        bars.append((f"{len(ordered) - MOST_REASONS} other reasons", rest))
    figure, axes = plt.subplots(figsize=(9, 0.28 * len(bars) + 1), layout="constrained")
    drawn = axes.barh([reason[:70] for reason, _ in bars][::-1], [count for _, count in bars][::-1], color=GREY)
    axes.bar_label(drawn, fontsize=8, padding=2)
    axes.set(title="Why draws were dropped", xlabel="draws")
    return figure


def general(reason: str) -> str:
    """Return a drop reason without the id of a specific conversation."""
    return re.sub(r"\b(train|held_out)-\d+-\d+\b", "a conversation", reason)


def wrap_label(name: str) -> str:
    return name.replace("_", "\n")
