"""Reason, retrieve, understand: the thought, the tool and the arguments of the next call, together or separately."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ...core.trajectory import Json
from .entries import Entry
from .parser import Unreadable, value_in
from .score import Cosines, Verdict, build_malformed_verdict, verdict

TOOLS = re.compile(r"\b\w+\.\w+|FinishAction")


@dataclass(frozen=True)
class Step:
    """One step of an agent. `args` is an object, or its text where the answer is plain text."""

    thought: str
    name: str
    args: Any


def score(entry: Entry, text: str, cosines: Cosines) -> Verdict:
    """Score the part of a step that the entry's dimension asks for; a plain-text answer is only that part."""
    truth = step_in(entry.truth, entry.format)
    step = step_in(text, "json") if entry.format == "json" else Step(text, text, text.strip("'").strip('"'))
    if truth is None or step is None:
        return build_malformed_verdict("no object with thought, name and args")
    match entry.dimension:
        case "reason":
            ((cosine,),) = cosines([step.thought], [truth.thought])
            return verdict(cosine, "another_thought", f"similarity {cosine:.3f}")
        case "retrieve":
            right = step.name == truth.name if entry.format == "json" else names(step.name, truth.name)
            return verdict(float(right), "wrong_tool")
    share = float(step.args == truth.args) if isinstance(truth.args, str) else share_of(step.args, truth.args)
    return verdict(share, "wrong_arguments")


def step_in(value: Json, format: str) -> Step | None:
    """Return the step in an object, or in a text that contains one; missing parts are empty. None for anything else."""
    try:
        found = value_in(value, "{", "}") if isinstance(value, str) else value
    except Unreadable:
        return None
    if not isinstance(found, dict):
        return None
    args = found.get("args", {} if format == "json" else "")
    plain = (args if isinstance(args, dict) else {}) if format == "json" else str(args)
    return Step(str(found.get("thought", "")), str(found.get("name", "")), plain)


def names(text: str, tool: str) -> bool:
    """Return whether a text names a tool and no other; a name is two words joined by a dot, or FinishAction."""
    return tool in text and all(found == tool for found in TOOLS.findall(text))


def share_of(given: dict[Any, Any], wanted: dict[Any, Any]) -> float:
    """Return the share of wanted arguments with the same value as text; with none wanted, none may be given."""
    if not wanted:
        return float(not given)
    return sum(key in given and str(given[key]) == str(value) for key, value in wanted.items()) / len(wanted)


def format_truth(entry: Entry) -> str:
    """Return the ground truth as an answer."""
    step = step_in(entry.truth, entry.format) or Step("", "", "")
    if entry.format == "json":
        return json.dumps({"thought": step.thought, "name": step.name, "args": step.args}, ensure_ascii=False)
    return str({"reason": step.thought, "retrieve": step.name, "understand": step.args}[entry.dimension])
