"""Sparklines for table cells as SVG polyline points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, MARGIN = 120, 28, 3


@dataclass(frozen=True)
class Sparkline:
    """SVG `points` and the position of the newest one, in a box of WIDTH by HEIGHT."""

    points: str
    x: float
    y: float

    @classmethod
    def from_values(cls, values: Sequence[float], between: tuple[float, float] | None = None) -> Sparkline:
        """Scale values to their own range, or to the range `between`."""
        low, high = between or (min(values), max(values))
        across = (WIDTH - 2 * MARGIN) / max(1, len(values) - 1)
        up = (HEIGHT - 2 * MARGIN) / ((high - low) or 1)
        placed = [
            (round(MARGIN + i * across, 1), round(HEIGHT - MARGIN - (value - low) * up, 1))
            for i, value in enumerate(values)
        ]
        return cls(" ".join(f"{x},{y}" for x, y in placed), *placed[-1])
