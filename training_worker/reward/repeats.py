"""The repeats term: the share of calls that exactly repeat an earlier call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from ..core.trajectory import ExecutedCall, Step, ToolCall


def repeats(steps: Sequence[Step], calls: Sequence[ExecutedCall]) -> float:
    """Return (1/N) sum over the distinct calls of max(0, times made - max(1, times in the ground truth)).

    This term is our own. Two calls are the same if name and arguments are equal; unparseable calls are ignored. 0
    without calls.
    """
    due = count(call for step in steps for call in step.calls)
    made = count(one.call for one in calls if one.call.arguments is not None)
    return sum(max(0, times - max(1, due[call])) for call, times in made.items()) / len(calls) if calls else 0.0


def count(calls: Iterable[ToolCall]) -> Counter[tuple[str, str]]:
    return Counter((call.name, json.dumps(call.arguments or {}, sort_keys=True)) for call in calls)
