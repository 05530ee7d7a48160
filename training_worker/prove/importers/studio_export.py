"""Lines that this studio wrote: examples and attempts, replayed on today's servers before they are taken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from pydantic import ValidationError

from ..chat import depth
from ..curation.rollout_dataset import Collected
from ..reward.prove_reward import COMPONENTS
from ..synthesis.replay import CAUSES, drift_of
from ..trajectory import Example, Rollout, loads
from .conversation import BadRow, loaded
from .rows import DEEPEST, Row

ID = re.compile(r"[-\w]{1,40}", re.ASCII)
MANIFEST = "manifest"
RESERVED = {"changes", "split", "faults", "session"}  # what pages beside a trajectory's are called
MOST_NUMBER = 2**31  # counts and places lie below it; a seed has eight bytes


def is_manifest(row: Row) -> bool:
    """Whether a row is the last line of an export, which tells the digest of those before it."""
    return set(row) == {MANIFEST} and isinstance(row[MANIFEST], dict)


def read(row: Row) -> Example | Collected:
    """The example or attempt of a row; a row of our Parquet has it as text. Raises BadRow."""
    packed = isinstance(row.get("record"), str) and "world" not in row
    told = loaded(row["record"], "its record") if packed else row
    if depth(told) > DEEPEST:
        raise BadRow(f"its record is nested deeper than {DEEPEST}")
    kind: Any = Collected if isinstance(told, dict) and "rollout" in told else Example
    try:
        found: Example | Collected = loads(kind, json.dumps(told))
    except (ValidationError, ValueError) as error:
        raise BadRow(fault_of(error)) from None
    example = found.example if isinstance(found, Collected) else found
    for wrong in (*faults(example), *(faults_of(found.rollout) if isinstance(found, Collected) else ())):
        raise BadRow(wrong)
    for id in (found.id, example.id):
        if not ID.fullmatch(id) or id in RESERVED:
            raise BadRow(f"the id {id[:60]!r} is none: letters, digits, - and _, at most 40")
    return found


def fault_of(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "no JSON"
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"]))[:100]
    return f"no trajectory of ours ({where}: {fault['msg'][:200]})" if where else "no trajectory of ours"


def faults(example: Example) -> Iterator[str]:
    """What keeps an example from being listed and shown, whatever a replay may say; of others' there is none."""
    numbers = [example.distractors, *(one for made in example.failures for one in (made.step, made.turn))]
    if not all(0 <= one < MOST_NUMBER for one in numbers) or not 0 <= example.world.seed < 2**63:
        yield "a number in it is too large, or below 0"
    if not any(turn.strip() for turn in example.turns[:1]):
        yield "the user says nothing"
    if not all(0 < one.turn < len(example.turns) and not example.source for one in example.arrivals):
        yield "a tool arrives in no later user turn, or is not of our servers"
    if example.source and not fits_others(example):
        yield "its turns, steps, calls and tools do not fit together"


def fits_others(example: Example) -> bool:
    """Whether an example that names a foreign source is such as our importers make."""
    known, calls = {tool.name for tool in example.tools}, [call for step in example.steps for call in step.calls]
    return (
        not example.world.servers
        and len(example.answers) == len(example.turns)
        and all(step.calls and 0 <= step.turn < len(example.turns) for step in example.steps)
        and all(call.name in known and call.arguments is not None for call in calls)
        and all(0 <= place < len(example.steps) for edge in example.edges for place in edge)
    )


def faults_of(rollout: Rollout) -> Iterator[str]:
    """What keeps an attempt from being listed and shown."""
    if not all(0 <= made.level <= 3 and 0 <= made.turn < MOST_NUMBER for made in rollout.calls):
        yield "a call of the attempt has a level or a turn that none can have"
    if (reward := rollout.reward) is None:
        return
    if not all(0 <= one.call < len(rollout.calls) for one in reward.evidence):
        yield "its reward speaks of a call that was not made"
    if not all(map(isfinite, (reward.total, *(getattr(reward, name) for name in COMPONENTS)))):
        yield "its reward is no number"


def replayed(example: Example) -> bool:
    """Whether it replays to the byte with the code that made it; False where only the servers' code is another.

    Raises BadRow for one that does not hold on today's servers.
    """
    if not example.runs_here:
        return True
    try:
        drift = drift_of(example)
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise BadRow(f"it cannot be replayed ({type(error).__name__}: {error})"[:200]) from None
    if drift and drift.cause != "code":
        raise BadRow(f"it does not hold in a replay: {CAUSES[drift.cause]} ({drift.reason[:200]})")
    return drift is None
