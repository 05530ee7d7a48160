"""Plan: all calls of a task, listed before any is made; F1 of the actions that match the ground truth's in order."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ...core.trajectory import Json
from .entries import Entry
from .parser import Unreadable, value_in
from .plan_similarity import longest_increasing, pair_by_similarity
from .score import Cosines, Verdict, build_malformed_verdict, verdict

NAME, ARGUMENTS = 0.75, 0.25  # the weights of their similarities
FINISH = "FinishAction"


@dataclass(frozen=True)
class Action:
    """One action of a plan; its arguments are compared as text."""

    id: int
    name: str
    args: str


Plan = tuple[Action, ...]


def score(entry: Entry, text: str, cosines: Cosines) -> Verdict:
    plan = plan_in(text) if entry.format == "json" else parse_plan_text(text, entry.apis)
    truth = plan_in(entry.truth)
    if not plan or not truth:
        return build_malformed_verdict(
            "no plan with id, name and args" if entry.format == "json" else "the answer names no API"
        )
    return score_plan(before_the_end(plan), before_the_end(truth), cosines)


def score_plan(plan: Plan, truth: Plan, cosines: Cosines) -> Verdict:
    """Score F1 of the actions in order. T-Eval counts one action as matched even where none is similar."""
    if not plan or not truth:
        return Verdict(0.0, "another_plan", "the plan has no actions")
    names = cosines([one.name for one in plan], [one.name for one in truth])
    arguments = cosines([one.args for one in plan], [one.args for one in truth])
    similar = [
        [NAME * max(0.0, name) + ARGUMENTS * max(0.0, args) for name, args in zip(*rows, strict=True)]
        for rows in zip(names, arguments, strict=True)
    ]
    paired = pair_by_similarity(similar)
    matched = max(1, longest_increasing([paired[row] for row in sorted(paired)]))
    score = 2 * matched / (len(plan) + len(truth))  # of precision matched / plan and recall matched / truth
    return verdict(score, "another_plan", f"{matched} of {len(truth)} actions in order, {len(plan)} planned")


def before_the_end(plan: Plan) -> Plan:
    """Return the actions in the order of their ids, without the final action that ends the plan."""
    actions = sorted(plan, key=lambda one: one.id)
    return tuple(actions[:-1] if actions[-1].name == FINISH else actions)


def plan_in(value: Json) -> Plan:
    """Return the plan in a list of objects, or in a text that contains one; empty where any object is invalid."""
    try:
        found = value_in(value, "[", "]") if isinstance(value, str) else value
        if not isinstance(found, list):
            return ()
        return tuple(Action(int(one["id"]), str(one["name"]), str(one["args"])) for one in found)
    except (Unreadable, KeyError, TypeError, ValueError, OverflowError):
        return ()


def parse_plan_text(text: str, apis: tuple[str, ...]) -> Plan:
    """Parse a plan in plain text: each sentence or line that names an API is an action, by the first API it names."""
    steps = text.replace(". ", "\n").split("\n")
    named = [(first_named(step, apis), step) for step in steps]
    return tuple(Action(id, name, step) for id, (name, step) in enumerate(one for one in named if one[0]))


def first_named(step: str, apis: tuple[str, ...]) -> str:
    """Return the API named first in a step, the one listed first among ties; "" where none is named."""
    places = [(place, api) for api in apis if (place := step.find(api)) >= 0]
    return min(places, key=lambda one: one[0], default=(0, ""))[1]


def format_truth(entry: Entry) -> str:
    """Return the ground truth as an answer; in plain text, a line per action with its name and arguments."""
    plan = plan_in(entry.truth)
    if entry.format == "json":
        return json.dumps([asdict(one) for one in plan], ensure_ascii=False)
    return "\n".join(f"{one.name} {one.args.replace('. ', ' ')}".replace("\n", " ") for one in plan)
