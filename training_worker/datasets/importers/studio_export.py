"""The importer for PROVE Studio's own exports: examples and rollouts, replayed on the current servers before import."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from pydantic import ValidationError

from ...chat.protocol import depth
from ...core.trajectory import Example, Rollout, loads
from ...reward.prove_reward import COMPONENTS
from ..replay import CAUSES, drift_of
from ..rollout_dataset import DatasetRollout
from .conversation import BadRow, parse_json_value
from .rows import DEEPEST, Row

ID = re.compile(r"[-\w]{1,40}", re.ASCII)
MANIFEST = "manifest"
RESERVED = {"changes", "split", "faults", "session"}  # URL names of pages next to a trajectory's page
MOST_NUMBER = 2**31  # exclusive limit of counts and positions; a seed has eight bytes


def is_manifest(row: Row) -> bool:
    """Return whether a row is the last line of an export, which has the digest of the lines before it."""
    return set(row) == {MANIFEST} and isinstance(row[MANIFEST], dict)


def read(row: Row) -> Example | DatasetRollout:
    """Return the example or rollout of a row; a row of our Parquet has it as text. Raises BadRow."""
    packed = isinstance(row.get("record"), str) and "world" not in row
    record = parse_json_value(row["record"], "its record") if packed else row
    if depth(record) > DEEPEST:
        raise BadRow(f"its record is nested deeper than {DEEPEST} levels")
    kind: Any = DatasetRollout if isinstance(record, dict) and "rollout" in record else Example
    try:
        found: Example | DatasetRollout = loads(kind, json.dumps(record))
    except (ValidationError, ValueError) as error:
        raise BadRow(fault_of(error)) from None
    example = found.example if isinstance(found, DatasetRollout) else found
    for wrong in (*faults(example), *(faults_of(found.rollout) if isinstance(found, DatasetRollout) else ())):
        raise BadRow(wrong)
    for id in (found.id, example.id):
        if not ID.fullmatch(id) or id in RESERVED:
            raise BadRow(f"the id {id[:60]!r} is invalid: use at most 40 letters, digits, - and _")
    return found


def fault_of(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "not valid JSON"
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"]))[:100]
    return f"not a PROVE Studio record ({where}: {fault['msg'][:200]})" if where else "not a PROVE Studio record"


def faults(example: Example) -> Iterator[str]:
    """Yield what prevents an example from being listed and shown; imported examples are not replayed."""
    numbers = [example.distractors, *(one for made in example.failures for one in (made.step, made.turn))]
    if not all(0 <= one < MOST_NUMBER for one in numbers) or not 0 <= example.world.seed < 2**63:
        yield "a number in it is too large or negative"
    if not any(turn.strip() for turn in example.turns[:1]):
        yield "the first user message is empty"
    if not all(0 < one.turn < len(example.turns) and not example.source for one in example.arrivals):
        yield "a tool does not arrive in a later user turn, or the example is imported"
    if example.source and not fits_others(example):
        yield "its turns, steps, calls and tools are inconsistent"


def fits_others(example: Example) -> bool:
    """Return whether an example with an external source is consistent, as our importers create it."""
    known, calls = {tool.name for tool in example.tools}, [call for step in example.steps for call in step.calls]
    return (
        not example.world.servers
        and len(example.answers) == len(example.turns)
        and all(step.calls and 0 <= step.turn < len(example.turns) for step in example.steps)
        and all(call.name in known and call.arguments is not None for call in calls)
        and all(0 <= place < len(example.steps) for edge in example.edges for place in edge)
    )


def faults_of(rollout: Rollout) -> Iterator[str]:
    """Yield what prevents a rollout from being listed and shown."""
    if not all(0 <= made.level <= 3 and 0 <= made.turn < MOST_NUMBER for made in rollout.calls):
        yield "a call of the rollout has an invalid level or turn"
    if (reward := rollout.reward) is None:
        return
    if not all(0 <= one.call < len(rollout.calls) for one in reward.evidence):
        yield "its reward refers to a call that was not made"
    if not all(map(isfinite, (reward.total, *(getattr(reward, name) for name in COMPONENTS)))):
        yield "its reward is not a finite number"


def check_replay(example: Example) -> bool:
    """Return whether it replays byte for byte with unchanged server code; False if only the server code differs.

    Raises BadRow for an example whose replay on the current servers fails.
    """
    if not example.runs_here:
        return True
    try:
        drift = drift_of(example)
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise BadRow(f"it cannot be replayed ({type(error).__name__}: {error})"[:200]) from None
    if drift and drift.cause != "code":
        raise BadRow(f"its replay fails: {CAUSES[drift.cause]} ({drift.reason[:200]})")
    return drift is None
