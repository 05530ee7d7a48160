"""Denormalised columns of a trajectory for lists and searches, derived from its record and its rollout."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from training_worker.graph.edges import longest_path

MOST_CHARACTERS = 200_000  # of text for the full-text index; PostgreSQL accepts at most a megabyte
TOKEN = re.compile(r"[^\W_]+")
FEATURE, MOST_FEATURES = re.compile(r"[a-z0-9_]{1,24}"), 16  # feature names, and how many a column holds


def derive_columns(record: Any, rollout: Any, origin: Any) -> dict[str, Any]:
    """Return the columns that are derived from a trajectory's JSON; those that can't be derived are empty."""
    record, rollout, origin = (each if isinstance(each, Mapping) else {} for each in (record, rollout, origin))
    calls, failures = calls_of(record, rollout), coerce_to_list(record.get("failures"))
    return {
        "level": text(record.get("level"), 8),
        "persona": text(record.get("persona"), 40),
        "knobs": ",".join(knobs(record)),
        "distractors": number(record.get("distractors")),
        "turns": len(coerce_to_list(record.get("turns"))),
        "length": len(calls),
        "features": ",".join(features(record)),
        "path": number(longest_path(len(coerce_to_list(record.get("steps"))), edges(record))),
        "errors": sum(one.get("level") != 3 for one in calls) if rollout else len(failures),
        "end": text(rollout.get("end"), 16),
        "run": number(origin.get("run")) or None,
    }


def calls_of(record: Mapping[str, Any], rollout: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tool calls of the rollout, or of the demonstration if there is none."""
    made = (
        coerce_to_list(rollout.get("calls"))
        if rollout
        else [c for s in coerce_to_list(record.get("steps")) for c in of_step(s)]
    )
    return [one for one in made if isinstance(one, Mapping)]


def of_step(step: Any) -> list[Any]:
    return coerce_to_list(step.get("calls")) if isinstance(step, Mapping) else []


def knobs(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the active robustness knobs, by their names in manifests."""
    if number(record.get("distractors")):
        yield "distractors"
    if record.get("enums_stripped") is True:
        yield "enums_stripped"
    if record.get("kind") in ("irrelevance", "missing_function"):
        yield str(record["kind"])


def features(record: Mapping[str, Any]) -> list[str]:
    """Return the kinds of difficulty that a record names, as many as a column holds."""
    found = sorted(
        {name for name in coerce_to_list(record.get("features")) if isinstance(name, str) and FEATURE.fullmatch(name)}
    )
    return found[:MOST_FEATURES]


def edges(record: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield the dependency edges of a record."""
    for edge in coerce_to_list(record.get("edges")):
        match edge:
            case [int(earlier), int(later)]:
                yield earlier, later


def build_search_text(example: str, record: Any, rollout: Any) -> str:
    """Return the tokens for full-text search, separated by spaces: id, user turns, calls with arguments, results."""
    record, rollout = (each if isinstance(each, Mapping) else {} for each in (record, rollout))
    parts = [record.get("turns"), record.get("steps"), record.get("failures"), record.get("answers")]
    parts += [rollout.get("transcript"), rollout.get("calls")]
    found = " ".join(token for part in (example, *parts) for said in iter_texts(part) for token in tokens(said))
    return found[:MOST_CHARACTERS].rpartition(" ")[0] if len(found) > MOST_CHARACTERS else found


def iter_texts(value: Any) -> Iterator[str]:
    """Yield every text and number in a value, in order, and argument names, but not the keys of the record format."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            if key == "arguments" and isinstance(one, Mapping):
                yield from one.keys()
            if key not in ("role", "recovery", "level", "turn", "step"):
                yield from iter_texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from iter_texts(one)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def tokens(said: str) -> list[str]:
    """Return the words of a text for comparison: letters and digits, without case and accents."""
    plain = unicodedata.normalize("NFKD", said.casefold())
    return TOKEN.findall("".join(one for one in plain if not unicodedata.combining(one)))


def coerce_to_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def text(value: Any, most: int) -> str:
    return value[:most] if isinstance(value, str) else ""


def number(value: Any) -> int:
    """Return a count within the range of a column; 0 for anything else."""
    return value if isinstance(value, int) and 0 <= value < 2**15 else 0
