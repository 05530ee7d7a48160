"""What an enrolled machine and the site agree on before they work together: versions of what training depends on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..jobs.environment import ROOMS, ROOT, code_digest

PINS = ("torch", "transformers", "trl", "peft", "accelerate", "pyarrow")
DIFFERS = "This machine has other versions than the site: {}. Bring both to the same version and join again."
MOST_SKEW = 300.0  # seconds that the clocks may differ
SKEWED = "This machine's clock differs from the site's by {:,.0f} seconds. Set it right and join again."


@cache
def versions() -> dict[str, str]:
    """The digest of the code, and of each package the version that is installed; "" for none.

    It is that which this process found when it first asked, before it could change on the disk.
    """
    return {"code": code_digest(ROOT, ROOMS), **{name: installed(name) for name in PINS}}


def skew(theirs: str) -> float:
    """Seconds between a time, in ISO 8601, and this machine's. Raises ValueError."""
    told = datetime.fromisoformat(theirs)
    return abs((datetime.now(UTC) - (told if told.tzinfo else told.replace(tzinfo=UTC))).total_seconds())


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def differences(theirs: Mapping[str, Any], ours: Mapping[str, str]) -> list[str]:
    """What is of another version there; a package that is not here does not matter, nor its build."""
    known = {name: one for name, one in ours.items() if one}
    there = {name: str(theirs.get(name) or "") for name in known}
    return [
        f"{name} {there[name][:20] or 'none'}, here {one[:20]}"
        for name, one in known.items()
        if there[name].partition("+")[0] != one.partition("+")[0]
    ]
