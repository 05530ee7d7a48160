"""Limits on external runs' metric names and data sizes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from prove_web.servers.arguments import ZERO_BYTE
from training_worker.monitoring.metrics.names import LONGEST, RULE, TAKEN, is_valid_name

MOST_NAMES = 500  # custom metrics per run
MOST_POINTS = 200_000  # steps per run
LARGEST_CONFIG = 100_000  # characters of the configuration as JSON


class InvalidRunData(ValueError):
    """Error for invalid data of an external run; the message says why, `where` names the field."""

    def __init__(self, message: str, where: str = ""):
        super().__init__(message)
        self.where = where


def storable(data: Any) -> bool:
    """Return whether a dataclass's text can be stored in a database: no null characters, no lone surrogates."""
    try:
        return not ZERO_BYTE.search(json.dumps(asdict(data), ensure_ascii=False).encode().decode())
    except ValueError:
        return False


def check(names: Iterable[str], where: str) -> None:
    """Raise InvalidRunData for the first invalid name."""
    for name in names:
        if not is_valid_name(name):
            what = "is reserved" if name in TAKEN else "is not a valid metric name"
            raise InvalidRunData(f"“{name[:LONGEST]}” {what}. {RULE}.", where)


def check_config(config: Mapping[str, Any], where: str = "config") -> None:
    if len(json.dumps(config)) > LARGEST_CONFIG:
        raise InvalidRunData(
            f"The configuration is longer than {LARGEST_CONFIG:,} characters of JSON. Remove some settings.", where
        )


def settings(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return a nested configuration with dotted names; lists are not flattened."""
    found: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, dict) and value:
            found |= settings(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = value
    return found
