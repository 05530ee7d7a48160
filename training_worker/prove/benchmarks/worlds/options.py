"""What a benchmark on our own servers is made by: a seed, how many items, of which servers, with how many tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mcp_servers.catalogue import SERVERS

from ...synthesis.conversation import LAST_SEED

SEED = 40  # the data sets of runs hold out the worlds of recipe seed 0, and the best checkpoint is chosen on those
MOST_ITEMS = 3_000
FEWEST_SHOWN, MOST_SHOWN = 8, 64  # tools
MANNERS = ("paper", "plain")


class BadOption(ValueError):
    """An option that nothing can be made by; says which, and what it may be."""


@dataclass(frozen=True, kw_only=True)
class Making:
    """`seed` (0 to 40) names the worlds, `count` is how many items a category has, `candidates` the most tools that a
    conversation shows, `manner` how users speak: as in the paper's recipe, or as our small policy was shown."""

    seed: int
    count: int
    servers: tuple[str, ...]
    candidates: int
    manner: str = "paper"

    def settings(self) -> dict[str, Any]:
        """As JSON, for the identity of results."""
        return {**asdict(self), "servers": list(self.servers)}


def making_of(options: Mapping[str, str]) -> Making:
    """Raises BadOption."""
    return Making(
        seed=parse_int(options, "seed", 0, LAST_SEED),
        count=parse_int(options, "count", 1, MOST_ITEMS),
        servers=servers_of(options, "servers") or tuple(SERVERS),
        candidates=parse_int(options, "candidates", FEWEST_SHOWN, MOST_SHOWN),
        manner=one_of(options, "manner", MANNERS),
    )


def parse_int(options: Mapping[str, str], name: str, least: int, most: int) -> int:
    """An option that is a number. Raises BadOption."""
    text = options[name].strip()
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise BadOption(f"{name} is a number from {least} to {most:,}, not {text!r}.")
    return int(text)


def one_of(options: Mapping[str, str], name: str, words: tuple[str, ...]) -> str:
    """An option that is one of these words. Raises BadOption."""
    if options[name] not in words:
        raise BadOption(f"{name} is {' or '.join(words)}, not {options[name]!r}.")
    return options[name]


def servers_of(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    """An option that names servers with commas between, or all, in the catalogue's order. Raises BadOption."""
    if options[name].strip().lower() == "all":
        return tuple(SERVERS)
    named = [part.strip() for part in options[name].split(",") if part.strip()]
    if unknown := [one for one in named if one not in SERVERS]:
        raise BadOption(f"{name}: there is no server {unknown[0]!r}; there are {', '.join(SERVERS)}.")
    return tuple(one for one in SERVERS if one in named)
