"""The data card of a data set: what its manifest says of how it was made, what was dropped and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FACTS = {
    "recipe": "Recipe",
    "seed": "Seed",
    "teacher": "Teacher",
    "servers": "Fingerprint of the servers",
    "schemas": "Tool schemas",
    "code": "Synthesis code",
    "content": "Content (SHA-256)",
}


@dataclass(frozen=True)
class Card:
    """Facts by name; how many conversations were drawn, kept and dropped, by reason; settings as they were."""

    facts: tuple[tuple[str, str], ...]
    drawn: int
    kept: int
    duplicates: int
    dropped: tuple[tuple[str, int], ...]
    settings: Mapping[str, Any]


def card(result: Mapping[str, Any]) -> Card | None:
    """Of a job's result; None where it tells no manifest."""
    manifest = result.get("manifest")
    if not isinstance(manifest, Mapping):
        return None
    splits = [one for one in (manifest.get("splits") or {}).values() if isinstance(one, Mapping)]
    dropped = Counter[str]()
    for one in splits:
        dropped.update(one.get("dropped") or {})
    return Card(
        facts=tuple(facts(manifest)),
        drawn=sum(one.get("drawn", 0) for one in splits),
        kept=sum(one.get("conversations", 0) for one in splits),
        duplicates=sum(one.get("duplicates", 0) for one in splits),
        dropped=tuple(dropped.most_common()),
        settings=manifest.get("settings") or {},
    )


def facts(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, title in FACTS.items():
        if (value := manifest.get(key)) not in (None, ""):
            yield title, str(value)
