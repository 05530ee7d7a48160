"""A whole number as an address or a form has it."""

from __future__ import annotations


def parse_digits(text: str, digits: int = 9) -> int | None:
    """What plain digits say, if there are at most so many: nine fit every column. None for all else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None
