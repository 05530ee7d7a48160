"""Guesses what a row says next: what followed the last time its newest tokens stood in the conversation.

Prompt lookup, as in "n-gram speculation" (Saxena 2023, Prompt Lookup Decoding): tool use is mostly copying.
"""

from __future__ import annotations

from collections.abc import Sequence

LENGTH = 3  # tokens that must stand there again


class Lookup:
    """The tokens of one row, and where each run of three stood last."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.after: dict[tuple[int, ...], int] = {}

    def add(self, ids: Sequence[int]) -> None:
        for id in ids:
            if len(self.ids) >= LENGTH:
                self.after[tuple(self.ids[-LENGTH:])] = len(self.ids)  # a run is known once something follows it
            self.ids.append(id)

    def guess(self, most: int) -> list[int]:
        start = self.after.get(tuple(self.ids[-LENGTH:]))
        return [] if start is None else self.ids[start : start + most]
