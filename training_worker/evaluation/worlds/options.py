"""Options of benchmarks on our own servers: seed, number of items, servers and number of tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mcp_servers.catalogue import SERVERS

from ...synthesis.conversation import LAST_SEED

SEED = 40  # datasets of runs hold out the worlds of recipe seed 0, which select the best checkpoint
MOST_ITEMS = 3_000
FEWEST_CANDIDATES, MOST_CANDIDATES = 8, 64  # tools per conversation
MANNERS = ("paper", "plain")


class BadOption(ValueError):
    """An invalid option; the message says which, and what is valid."""


@dataclass(frozen=True, kw_only=True)
class WorldOptions:
    """Parsed options of a benchmark on our own servers.

    `seed` (0 to 40) selects the worlds, `count` is the number of items per category, `candidates` the maximum number of
    tools per conversation, `manner` the users' language: the paper's recipe, or the small policy's training language.
    """

    seed: int
    count: int
    servers: tuple[str, ...]
    candidates: int
    manner: str = "paper"

    def settings(self) -> dict[str, Any]:
        """Return the options as JSON, for the identity of results."""
        return {**asdict(self), "servers": list(self.servers)}


def making_of(options: Mapping[str, str]) -> WorldOptions:
    """Parse the options. Raises BadOption."""
    return WorldOptions(
        seed=parse_int(options, "seed", 0, LAST_SEED),
        count=parse_int(options, "count", 1, MOST_ITEMS),
        servers=servers_of(options, "servers") or tuple(SERVERS),
        candidates=parse_int(options, "candidates", FEWEST_CANDIDATES, MOST_CANDIDATES),
        manner=one_of(options, "manner", MANNERS),
    )


def parse_int(options: Mapping[str, str], name: str, least: int, most: int) -> int:
    """Parse an option that is a number. Raises BadOption."""
    text = options[name].strip()
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise BadOption(f"{name} must be a number from {least} to {most:,}, not {text!r}.")
    return int(text)


def one_of(options: Mapping[str, str], name: str, words: tuple[str, ...]) -> str:
    """Parse an option that is one of these words. Raises BadOption."""
    if options[name] not in words:
        raise BadOption(f"{name} must be {' or '.join(words)}, not {options[name]!r}.")
    return options[name]


def servers_of(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Parse an option that lists servers, comma-separated, or all; in the catalogue's order. Raises BadOption."""
    if options[name].strip().lower() == "all":
        return tuple(SERVERS)
    named = [part.strip() for part in options[name].split(",") if part.strip()]
    if unknown := [one for one in named if one not in SERVERS]:
        raise BadOption(f"{name}: there is no server {unknown[0]!r}; there are {', '.join(SERVERS)}.")
    return tuple(one for one in SERVERS if one in named)
