"""A field of queries."""

from __future__ import annotations

from dataclasses import dataclass

from .lookups import Rows

EQUAL, COMPARED = (":", "=", "!="), (":", "=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Field:
    """A field: `rows` returns the condition, `means` describes the field, and `example` shows its use."""

    means: str
    example: str
    rows: Rows
    compared: bool = False

    @property
    def ops(self) -> tuple[str, ...]:
        return COMPARED if self.compared else EQUAL
