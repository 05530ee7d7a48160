"""What a program of somebody else may call its metrics, and how much it may tell at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from prove_web.servers.arguments import ZERO_BYTE
from training_worker.prove.metrics.names import LONGEST, RULE, TAKEN, fit

MOST_NAMES = 500  # metrics of a run that only its program knows
MOST_POINTS = 200_000  # steps of a run
LARGEST_CONFIG = 100_000  # characters of a configuration as JSON


class InvalidRunData(ValueError):
    """What cannot be taken of a run trained elsewhere; the message says why, `where` in what was sent."""

    def __init__(self, message: str, where: str = ""):
        super().__init__(message)
        self.where = where


def storable(told: Any) -> bool:
    """Whether the text in a dataclass is such as a database takes: no zero characters, and no halves of one."""
    try:
        return not ZERO_BYTE.search(json.dumps(asdict(told), ensure_ascii=False).encode().decode())
    except ValueError:
        return False


def check(names: Iterable[str], where: str) -> None:
    """Raises NotTold for the first name that does not fit."""
    for name in names:
        if not fit(name):
            what = "is reserved" if name in TAKEN else "is not a valid metric name"
            raise InvalidRunData(f"“{name[:LONGEST]}” {what}. {RULE}.", where)


def check_config(config: Mapping[str, Any], where: str = "config") -> None:
    if len(json.dumps(config)) > LARGEST_CONFIG:
        raise InvalidRunData(
            f"The configuration is longer than {LARGEST_CONFIG:,} characters of JSON. Remove some settings.", where
        )


def settings(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """A configuration that is nested, by names with dots; lists stay as they are."""
    found: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, dict) and value:
            found |= settings(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = value
    return found
