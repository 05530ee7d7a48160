"""A program that is to be kept running, and the two ways a start or a service comes to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class Refused(Exception):
    """Why there is no start, or no going on: one line with the remedy."""


class StopRequested(Exception):
    """Somebody asked to stop while something was waited for."""


@dataclass(frozen=True)
class Program:
    """A command, and how it is to be stopped."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path(".")
    grace: float = 5.0  # seconds between being asked to stop and being killed
    stop_order: int = 0  # those of 0 are asked first, those of 1 once these are gone, and so on
    noise: tuple[str, ...] = ()  # what its lines contain when they are not worth showing
    stopped: Path | None = None  # while there is such a file, somebody wants it not to run
