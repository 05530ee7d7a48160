"""Data card of a dataset from its manifest: how it was created, and what was dropped and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training_worker.dataflow.quality import ROWS, format_target, format_value, is_target_met

FACTS = {
    "recipe": "Recipe",
    "seed": "Seed",
    "teacher": "Teacher",
    "servers": "Server fingerprint",
    "schemas": "Tool schemas",
    "code": "Synthesis code",
    "content": "Content (SHA-256)",
}


@dataclass(frozen=True)
class QualityLine:
    """A measure of a dataset: its definition, its value in each split and whether it meets the target."""

    label: str
    definition: str
    values: tuple[tuple[str, bool | None], ...]
    target: str
    bfcl: str


@dataclass(frozen=True)
class Card:
    """Contents of a data card.

    Facts by name; counts of drawn, accepted, duplicate and dropped (by reason) conversations; the recorded settings;
    and, if there are any, quality measures and counts of texts by their author.
    """

    facts: tuple[tuple[str, str], ...]
    drawn: int
    accepted: int
    duplicates: int
    dropped: tuple[tuple[str, int], ...]
    settings: Mapping[str, Any]
    splits: tuple[str, ...] = ()
    quality: tuple[QualityLine, ...] = ()
    wording: tuple[tuple[str, int], ...] = ()


def card(result: Mapping[str, Any]) -> Card | None:
    """Return the card of a job's result; None without a manifest."""
    manifest = result.get("manifest")
    if not isinstance(manifest, Mapping):
        return None
    splits = [one for one in (manifest.get("splits") or {}).values() if isinstance(one, Mapping)]
    dropped, wording = Counter[str](), Counter[str]()
    for one in splits:
        dropped.update(one.get("dropped") or {})
        wording.update(one.get("wording") or {})
    return Card(
        facts=tuple(facts(manifest)),
        drawn=sum(one.get("drawn", 0) for one in splits),
        accepted=sum(one.get("conversations", 0) for one in splits),
        duplicates=sum(one.get("duplicates", 0) for one in splits),
        dropped=tuple(dropped.most_common()),
        settings=manifest.get("settings") or {},
        splits=tuple(name.replace("_", "-") for name in manifest.get("splits") or {}),
        quality=tuple(quality(splits)) if any(one.get("quality") for one in splits) else (),
        wording=tuple(wording.most_common()),
    )


def quality(splits: Sequence[Mapping[str, Any]]) -> Iterator[QualityLine]:
    """Yield the measures of some splits, in the order of their definition."""
    for row in ROWS:
        values = [(one.get("quality") or {}).get(row.name) for one in splits]
        yield QualityLine(
            row.label,
            row.definition,
            tuple(
                (format_value(row, one), is_target_met(row, one)) if one is not None else ("", None) for one in values
            ),
            format_target(row),
            "" if row.bfcl is None else format_value(row, row.bfcl),
        )


def facts(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, title in FACTS.items():
        if (value := manifest.get(key)) not in (None, ""):
            yield title, str(value)
