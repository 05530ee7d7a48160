"""The validity component: three cumulative levels of equal weight that each call may reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.trajectory import ExecutedCall, ToolCall
from .json_types import compatible

LEVELS = 3


def validity(calls: Sequence[ExecutedCall]) -> float:
    """Return V = (1/N) sum over the N calls of level / 3 (paper, section 3, validity); 0 without calls.

    Level 1: the name is in the candidate schema. Level 2: all required parameters are present, with compatible JSON
    types. Level 3: live execution succeeded. A call that fails a level does not reach the later ones.
    """
    return sum(call.level for call in calls) / (LEVELS * len(calls)) if calls else 0.0


def form_level(call: ToolCall, schemas: Mapping[str, dict[str, Any]]) -> int:
    """Return the level a call reaches before execution (0 to 2); `schemas` has the input schemas by tool name."""
    if call.arguments is None or call.name not in schemas:
        return 0
    schema = schemas[call.name]
    return 2 if compatible(call.arguments, schema, schema) else 1
