"""Plan: all calls of a task before any is made; F1 of the actions that pair with the ground truth's, in its order."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ...trajectory import Json
from .entries import Entry
from .matching import longest_increasing, pairing
from .parser import Unreadable, value_in
from .score import Cosines, Verdict, malformed, verdict

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
        return malformed("no plan with id, name and args" if entry.format == "json" else "it names no API")
    return compared(before_the_end(plan), before_the_end(truth), cosines)


def compared(plan: Plan, truth: Plan, cosines: Cosines) -> Verdict:
    """F1 of the actions in order. T-Eval counts one as matched even where none is alike."""
    if not plan or not truth:
        return Verdict(0.0, "another_plan", "nothing is done")
    names = cosines([one.name for one in plan], [one.name for one in truth])
    arguments = cosines([one.args for one in plan], [one.args for one in truth])
    similar = [
        [NAME * max(0.0, name) + ARGUMENTS * max(0.0, args) for name, args in zip(*rows, strict=True)]
        for rows in zip(names, arguments, strict=True)
    ]
    paired = pairing(similar)
    matched = max(1, longest_increasing([paired[row] for row in sorted(paired)]))
    score = 2 * matched / (len(plan) + len(truth))  # of precision matched / plan and recall matched / truth
    return verdict(score, "another_plan", f"{matched} of {len(truth)} actions in order, {len(plan)} planned")


def before_the_end(plan: Plan) -> Plan:
    """In the order of the ids, without the action that ends it."""
    actions = sorted(plan, key=lambda one: one.id)
    return tuple(actions[:-1] if actions[-1].name == FINISH else actions)


def plan_in(value: Json) -> Plan:
    """The plan that a list of objects describes, or a text that holds one; none where any of them is wrong."""
    try:
        found = value_in(value, "[", "]") if isinstance(value, str) else value
        if not isinstance(found, list):
            return ()
        return tuple(Action(int(one["id"]), str(one["name"]), str(one["args"])) for one in found)
    except (Unreadable, KeyError, TypeError, ValueError, OverflowError):
        return ()


def parse_plan_text(text: str, apis: tuple[str, ...]) -> Plan:
    """A plan in words: an action for each sentence or line that names an API, the first it names."""
    steps = text.replace(". ", "\n").split("\n")
    named = [(first_named(step, apis), step) for step in steps]
    return tuple(Action(id, name, step) for id, (name, step) in enumerate(one for one in named if one[0]))


def first_named(step: str, apis: tuple[str, ...]) -> str:
    """Of APIs that start at the same place, the one that is listed first; "" where none is named."""
    places = [(place, api) for api in apis if (place := step.find(api)) >= 0]
    return min(places, key=lambda one: one[0], default=(0, ""))[1]


def format_truth(entry: Entry) -> str:
    """The ground truth as an answer; in words, a line for each action with its name and arguments."""
    plan = plan_in(entry.truth)
    if entry.format == "json":
        return json.dumps([asdict(one) for one in plan], ensure_ascii=False)
    return "\n".join(f"{one.name} {one.args.replace('. ', ' ')}".replace("\n", " ") for one in plan)
