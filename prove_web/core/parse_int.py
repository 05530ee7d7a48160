"""Parser of whole numbers in URLs and forms."""

from __future__ import annotations


def parse_digits(text: str, digits: int = 9) -> int | None:
    """Return the number of at most `digits` plain digits (nine fit every column); None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None
