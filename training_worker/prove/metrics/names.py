"""What a metric may be called: those of this site, and those of programs that only tell it something."""

from __future__ import annotations

import re

LONGEST = 80  # characters of a name
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./:@%+ -]*(?<! )")
TAKEN = ("step", "tools")  # what a point has beside its metrics
RULE = (
    f"A name begins with a letter or _, has at most {LONGEST} characters, and besides letters and digits only "
    "_ . / : @ % + - and single blanks"
)


def fit(name: str) -> bool:
    return len(name) <= LONGEST and name not in TAKEN and "  " not in name and NAME.fullmatch(name) is not None


def fitted(name: str) -> str:
    """A name of others as it is called here: what does not fit becomes _; "" where nothing is left."""
    name = re.sub(r"[^A-Za-z0-9_./:@%+ -]", "_", " ".join(name.split()))[:LONGEST].strip()
    name = name if re.match(r"[A-Za-z_]", name) or not name else f"_{name}"[:LONGEST].strip()
    name = f"{name}_" if name in TAKEN else name
    return name if fit(name) else ""
