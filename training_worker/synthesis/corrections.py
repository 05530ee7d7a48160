"""Corrections: the user replaces a value that was just written, and the tool that can change it is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Tool, minute_text
from mcp_servers.core.phrases import slots

from ..dataflow.provenance import instant_of, is_date
from ..dataflow.speech import forms, phrases_for
from ..graph.explicit_edges import as_taken
from .decline_proof import effect
from .goals import Planner, round_number
from .plan import PlannedCall, Referent, Wish

CORRECTED = 0.7  # share of correctable writes that are corrected
STEPS = (10_000, 5_000, 1_000, 500, 100, 50, 10, 5)
FACTORS = (0.5, 0.6, 0.75, 0.8, 1.2, 1.25, 1.5, 2.0)
FRAMES = {
    "number": (
        "Sorry, make that {new}.", "Wait, {new} rather than {old}.", "On second thoughts, {new} would be better.",
        "I meant {new}, not {old}.", "Oops, I got that wrong: {new}, please.", "Can you change that to {new}?",
        "Hmm, {old} was a slip; it should be {new}.", "Actually, {new} it is, not {old}.",
        "No, hold on. {new} instead of {old}, please.", "I misread my notes, it has to be {new}.",
        "Could you correct that to {new}? I mixed up the figures.", "That was the wrong figure. It has to be {new}.",
        "Not {old}, {new}: I mistyped.", "Let me correct myself: {new}.", "Did I say {old}? I wanted {new}.",
        "Scratch the {old}; {new} is right.", "One correction: it should have been {new}.",
        "After another look, {new} fits better than {old}.", "I've changed my mind about the {old}. Make it {new}.",
        "Just noticed my mistake. {new}, not {old}.", "Please turn that into {new} after all.",
    ),
    "day": (
        "Sorry, I mean {new}.", "Actually, not {old}: {new}.", "Make it {new} instead.", "Wait, {new}, not {old}.",
        "I mixed up the dates: {new}, please.", "On second thoughts, {new} suits me better.",
        "Can you change that to {new}?", "No, hold on. It has to be {new}.", "Oops, wrong date: {new} is right.",
        "I looked at the wrong page of my diary; it is {new}.", "Let me correct myself: {new}.",
        "Did I say {old}? I wanted {new}.", "{new} after all, not {old}.", "Could we say {new} instead of {old}?",
        "One correction: it should have been {new}.", "That date was wrong. Please put {new}.",
        "I've just seen that {old} won't do, so {new}, please.", "Not {old} but {new}; sorry for the muddle.",
    ),
    "choice": (
        "Sorry, I meant {new}, not {old}.", "Wait: {new} instead of {old}.", "On second thoughts, rather {new}.",
        "Let me correct myself: {new}.", "I should have said {new}.", "Actually, {new} after all, not {old}.",
        "Oops, wrong choice: {new}, please.", "No, hold on, {new}.", "Did I say {old}? I wanted {new}.",
        "Can you change that? It should be {new}.", "I've changed my mind: {new}.", "One correction: {new}, not {old}.",
        "My mistake, it ought to be {new}.", "Not {old}, please, but {new}.", "I got that wrong, it should be {new}.",
    ),
    "text": (
        "Sorry, it should be {new}.", "Wait, {new}, not {old}.", "Can you change that to {new}?",
        "On second thoughts, {new} is better than {old}.", "I got the wording wrong: {new}, please.",
        "Let me correct myself: {new}.", "Actually, {new} after all.", "Make that {new} instead of {old}.",
        "Not {old} but {new}, please.", "Hmm, {old} won't do. Use {new}.", "Did I say {old}? I wanted {new}.",
        "Oops, I meant {new}.", "Please put {new} there instead.", "One correction: {new} in place of {old}.",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Correction:
    """A new value for a parameter of the last write, with the call that corrects it and the call's referents."""

    parameter: str
    value: Any
    tool: str
    arguments: dict[str, Any]
    referents: dict[str, list[Referent]]


def correct(planner: Planner) -> bool:
    """Plan a wish that corrects a value of the write just made; return whether there is one."""
    wish, call = planner.wishes[-1], planner.calls[-1]
    plain = call.writes and wish.calls == [len(planner.calls) - 1] and not wish.condition
    if not plain or not wish.referents or "correction" in planner.features or not planner.draw.chance(CORRECTED):
        return False
    for name, kind in planner.draw.shuffle_items(list(correctable(planner.wishes))):
        new = choose_other_value(TOOLS[wish.tool][1], name, kind, wish.arguments[name], planner)
        ways = forms(phrases_for(wish.tool), name, new, planner.today, call.currency) if new is not None else ()
        for one in changes(planner, wish, name, new) if ways else ():
            if works(call, one, planner):
                words = {"new": planner.draw.choice(ways), "old": wish.words[name]}
                plan(planner, one, planner.draw.choice(FRAMES[kind]), words)
                return True
    return False


def correctable(wishes: Sequence[Wish]) -> Iterator[tuple[str, str]]:
    """Yield the last wish's parameters, with kind, whose said value is the only one of its kind among all wishes."""
    kinds = [(name, kind) for wish in wishes for name, kind in said_kinds(wish)]
    for name, kind in said_kinds(wishes[-1]):
        if kind and [one for _, one in kinds].count(kind) == 1:
            yield name, kind


def said_kinds(wish: Wish) -> Iterator[tuple[str, str]]:
    """Yield the parameters whose plain values a wish says, each with the kind of its value."""
    tool = TOOLS[wish.tool][1]
    for name in slots(wish.phrase):
        if name in wish.arguments and name not in tool.ids and name not in tool.sensitive:
            yield name, kind_of(tool, name, wish.arguments[name])


def kind_of(tool: Tool, name: str, value: Any) -> str:
    """Return the kind of a plain value, a key of FRAMES; "" for a value that users do not correct briefly."""
    if isinstance(value, bool) or choices(tool, name):
        return "choice"
    if isinstance(value, int):
        return "number"
    if not isinstance(value, str):
        return ""
    return "day" if is_date(value) or instant_of(value) else "text" if examples(tool, name) else ""


def choices(tool: Tool, name: str) -> list[Any]:
    """Return the allowed values of a parameter that takes one of a few."""
    schema = tool.input_schema["properties"][name]
    return [one for part in (schema, *schema.get("anyOf", ())) for one in part.get("enum", ())]


def examples(tool: Tool, name: str) -> list[Any]:
    """Return the examples of a parameter's schema."""
    schema = tool.input_schema["properties"][name]
    return [one for part in (schema, *schema.get("anyOf", ())) for one in part.get("examples", ())]


def choose_other_value(tool: Tool, name: str, kind: str, old: Any, planner: Planner) -> Any:
    """Return another plausible value of the same kind; None where there is none."""
    draw = planner.draw
    if kind == "number":
        options = another_number(old)
    elif kind == "day":
        options = another_day(old, planner.world.now.date())
    elif isinstance(old, bool):
        options = [not old]
    else:
        options = choices(tool, name) or examples(tool, name)
    options = [one for one in options if one != old]
    return draw.choice(options) if options else None


def another_number(old: int) -> list[Any]:
    """Return numbers near an old one, rounded like it."""
    if old < 10:
        return [one for one in (old - 2, old - 1, old + 1, old + 2) if one > 0]
    step = next((step for step in STEPS if old % step == 0 and old >= 4 * step), 1)
    near = [round_number(old * factor) if step == 1 else round(old * factor / step) * step for factor in FACTORS]
    return [one for one in dict.fromkeys(near) if one not in (0, old)]


def another_day(old: str, today: date) -> list[Any]:
    """Return future days near an old one, or moments at the same time of day."""
    moment = instant_of(old)
    first = moment.date() if moment else date.fromisoformat(old)
    away = [timedelta(days=days) for days in (-2, -1, 1, 2, 3, 7) if first + timedelta(days=days) > today]
    return [minute_text(moment + days) if moment else str(first + days) for days in away]


def changes(planner: Planner, wish: Wish, name: str, new: Any) -> Iterator[Correction]:
    """Yield the calls that may replace a value just written.

    The same tool comes first, then the tools of its server that take the parameter for the entity just created.
    """
    yield Correction(name, new, wish.tool, wish.arguments | {name: new}, wish.referents)
    made = {one.type: one for kind in sorted(planner.sightings) for one in planner.list_created_entities(kind)}
    last = len(planner.calls) - 1
    for other in planner.draw.shuffle_items(planner.names):
        server, tool = TOOLS[other]
        if not tool.writes or other == wish.tool or server is not TOOLS[wish.tool][0] or name not in tool.taken:
            continue
        ids = [one for one in tool.required if one in tool.ids]
        found = made.get(tool.ids[ids[0]]) if len(ids) == 1 and {*tool.required} <= {*ids, name} else None
        if found and found.call == last and (described := planner.describe(found)):
            referent = Referent(found.id, found.type, described, found)
            yield Correction(
                name, new, other, {ids[0]: as_taken(tool, ids[0], found.id), name: new}, {ids[0]: [referent]}
            )


def works(call: PlannedCall, one: Correction, planner: Planner) -> bool:
    """Return whether a correction leaves the world as if the new value had been said at first."""
    right, corrected = call.before.fork(), planner.world.fork()
    if not right.call(call.tool, call.arguments | {one.parameter: one.value}).ok:
        return False
    return corrected.call(one.tool, one.arguments).ok and effect(call.before, corrected) == effect(call.before, right)


def plan(planner: Planner, one: Correction, phrase: str, words: dict[str, str]) -> None:
    """Plan the wish and the call of a correction that works."""
    wish = Wish(one.tool, phrase, words | {one.parameter: words["new"]}, [], "corrected", one.referents, one.arguments)
    planner.wishes.append(wish)
    planner.fulfil(wish, one.arguments, [referent for many in one.referents.values() for referent in many])
    planner.features.add("correction")
