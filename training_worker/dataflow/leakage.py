"""World identifiers (ids, e-mail addresses, full names) in what a model sees of an example, to detect leakage."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp_servers.shared.people import FIRST, LAST

from ..core.trajectory import Example, dumps

ID = re.compile(r"\b[A-Z]{2,5}-\d{3,}\b")
EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++\.[\w.]+\w")
NAME = re.compile(rf"\b(?:{'|'.join(FIRST)}) (?:{'|'.join(LAST)})\b")


def identifiers(examples: Iterable[Example]) -> set[str]:
    """Return every id, e-mail address and full name in the turns, calls and observations of these examples."""
    found: set[str] = set()
    for example in examples:
        text = dumps(example)
        found |= {match for pattern in (ID, EMAIL, NAME) for match in pattern.findall(text)}
    return found
