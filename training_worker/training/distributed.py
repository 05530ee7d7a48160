"""Communication between the processes of one run; a single process gets its own values back."""

from __future__ import annotations

import os
from typing import Any, TypeVar

from torch import distributed

T = TypeVar("T")


def rank() -> int:
    return int(os.environ.get("RANK", "0"))


def count() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Return whether this process reports events and writes files."""
    return rank() == 0


def gather_values(value: T) -> list[T]:
    """Return the values of all processes, by rank; every process has to call it."""
    if count() == 1:
        return [value]
    found: list[Any] = [None] * count()
    distributed.all_gather_object(found, value)
    return found


def of_first(value: T) -> T:
    """Return the first process's value on all of them: clocks differ, but decisions based on them must not."""
    if count() == 1:
        return value
    found = [value]
    distributed.broadcast_object_list(found)
    return found[0]
