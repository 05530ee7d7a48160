"""The common style of plots, and their output as PNG, which is the same for the same figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#777777"
COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#56B4E9")


def finish(figure: Any, path: Path) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)
