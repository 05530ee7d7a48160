"""Compatibility of an enrolled machine with the site: versions of what training depends on, and clocks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..jobs.environment import CODE, ROOT, code_digest

PINS = ("torch", "transformers", "trl", "peft", "accelerate", "pyarrow")
DIFFERS = "This machine's versions differ from the site's: {}. Install the same versions on both and join again."
MOST_SKEW = 300.0  # seconds that the clocks may differ
SKEWED = "This machine's clock differs from the site's by {:,.0f} seconds. Correct it and join again."


@cache
def versions() -> dict[str, str]:
    """Return the digest of the code, and the installed version of each package; "" for none.

    The result of the first call is cached, because the code on disk may change while this process runs.
    """
    return {"code": code_digest(ROOT, CODE), **{name: get_package_version(name) for name in PINS}}


def measure_clock_skew(theirs: str) -> float:
    """Return the seconds between a time in ISO 8601 and this machine's clock. Raises ValueError."""
    time = datetime.fromisoformat(theirs)
    return abs((datetime.now(UTC) - (time if time.tzinfo else time.replace(tzinfo=UTC))).total_seconds())


def get_package_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def differences(theirs: Mapping[str, Any], ours: Mapping[str, str]) -> list[str]:
    """Return the versions that differ there; packages that are missing here and build tags are ignored."""
    known = {name: one for name, one in ours.items() if one}
    there = {name: str(theirs.get(name) or "") for name in known}
    return [
        f"{name} {there[name][:20] or 'none'}, here {one[:20]}"
        for name, one in known.items()
        if there[name].partition("+")[0] != one.partition("+")[0]
    ]
