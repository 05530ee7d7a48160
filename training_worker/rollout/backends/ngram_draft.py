"""N-gram drafting: guesses the tokens that followed the last time a row's newest tokens occurred.

This is prompt lookup, or "n-gram speculation" (Saxena 2023, Prompt Lookup Decoding): tool use is mostly copying.
"""

from __future__ import annotations

from collections.abc import Sequence

LENGTH = 3  # tokens that must occur again


class Lookup:
    """The tokens of one row, and where each run of three occurred last.

    `shared` maps each run to the token that last followed it in any of the rows that share it: all rows write the same
    JSON around their values.
    """

    def __init__(self, shared: dict[tuple[int, ...], int] | None = None) -> None:
        self.ids: list[int] = []
        self.after: dict[tuple[int, ...], int] = {}
        self.shared = shared

    def add(self, ids: Sequence[int]) -> None:
        for id in ids:
            if len(self.ids) >= LENGTH:
                run = tuple(self.ids[-LENGTH:])
                self.after[run] = len(self.ids)  # a run is known once something follows it
                if self.shared is not None:
                    self.shared[run] = id
            self.ids.append(id)

    def draft_tokens(self, most: int) -> list[int]:
        start = self.after.get(tuple(self.ids[-LENGTH:]))
        found = [] if start is None else self.ids[start : start + most]
        recent = [*self.ids[-LENGTH:], *found]
        while self.shared and len(found) < most and (id := self.shared.get(tuple(recent[-LENGTH:]))) is not None:
            found.append(id)
            recent.append(id)
        return found
