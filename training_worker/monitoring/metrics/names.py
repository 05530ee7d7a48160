"""Rules for metric names, both of this site and of external programs that log metrics."""

from __future__ import annotations

import re

LONGEST = 80  # characters of a name
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./:@%+ -]*(?<! )")
TAKEN = ("step", "tools")  # reserved: other keys of a step's record
RULE = (
    f"A name starts with a letter or _, has at most {LONGEST} characters and contains only letters, digits, "
    "_ . / : @ % + - and single spaces"
)


def is_valid_name(name: str) -> bool:
    return len(name) <= LONGEST and name not in TAKEN and "  " not in name and NAME.fullmatch(name) is not None


def sanitize_name(name: str) -> str:
    """Return an external name as a valid name: invalid characters become _; "" if nothing is left."""
    name = re.sub(r"[^A-Za-z0-9_./:@%+ -]", "_", " ".join(name.split()))[:LONGEST].strip()
    name = name if re.match(r"[A-Za-z_]", name) or not name else f"_{name}"[:LONGEST].strip()
    name = f"{name}_" if name in TAKEN else name
    return name if is_valid_name(name) else ""
