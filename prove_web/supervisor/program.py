"""A supervised program, and the exceptions that end a start or the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class ServiceError(Exception):
    """Error that prevents or ends the service: one line with the remedy."""


class StopRequested(Exception):
    """Interrupts a wait because a stop was requested."""


@dataclass(frozen=True)
class Program:
    """A command, and how to stop it."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path(".")
    grace: float = 5.0  # seconds between the stop request and the kill
    stop_order: int = 0  # programs of order 0 stop first, then those of 1, and so on
    noise: tuple[str, ...] = ()  # substrings of lines that are not shown
    stopped: Path | None = None  # the program does not run while this file exists
