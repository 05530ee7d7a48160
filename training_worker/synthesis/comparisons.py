"""Comparisons and sums: wishes about a number that a tool shows of several entities, and acts on the winner."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Draw
from mcp_servers.core.phrases import MeasurePhrases

from ..dataflow.speech import conjunction, forms, phrases_for, rank
from .exchange import find_another
from .plan import Comparison, PlannedCall, Referent, Wish
from .referents import NAMED, Description
from .replies import convert_to_second_person, sentence

if TYPE_CHECKING:
    from .goals import Planner

COMPARED = 0.55  # share of wishes about several entities, for tools that show a number to compare
SUMS = 0.95  # share of sums among these, where the numbers may be added up
ACTED_ON = 0.8  # share of comparisons and sums that are followed by an act on the winner
LEAST = 10  # smaller numbers may be in a row by chance
TRIED = 8  # tools tried for the act on the winner
COUNTS = {2: "two", 3: "three"}

QUESTIONS = (
    "Which has {rank}: {any}?", "Which of them has {rank}, {any}?", "Of {all}, which has {rank}?",
    "I wonder which has {rank}: {any}.", "Compare {all} for me. Which has {rank}?", "Does {any} have {rank}?",
    "I can't decide between {all}, so tell me which has {rank}.", "{all}: which has {rank}?",
    "Put {all} next to each other: which has {rank}?", "I'm comparing {all}. Which one has {rank}?",
    "Check {all} and name the one that has {rank}.", "I need to know whether {any} has {rank}.",
    "A question about {all}: which of these has {rank}?", "Help me weigh up {all}; which has {rank}?",
)  # fmt: skip
SUMS_OF_AMOUNTS = (
    "What do the {plural} of {all} come to together?", "Add up the {plural} of {all} for me.",
    "Taken together, what are the {plural} of {all}?", "I need the {plural} of {all} as one figure.",
    "If I add up the {plural} of {all}, what do I get?", "Give me one total for the {plural} of {all}.",
    "I'd like the sum of the {plural} of {all}.", "What is the sum if I take the {plural} of {all}?",
    "The {plural} of {all}: how much is that altogether?", "Work out what the {plural} of {all} make in all.",
    "Put the {plural} of {all} into one sum for me.", "Tot up the {plural} of {all}, please.",
)  # fmt: skip
SUMS_OF_COUNTS = (
    "How {many} {plural} do {all} have together?", "How {many} {plural} does that make in all for {all}?",
    "Between them, how {many} {plural} do {all} have?", "Add up the {plural} of {all} for me.",
    "I need the number of {plural} that {all} have in total.", "Count the {plural} of {all} together, please.",
    "Taken together, how {many} {plural} do {all} have?", "What is the total of {plural} for {all}?",
    "{all}: how {many} {plural} do they have between them?", "Give me one total for the {plural} of {all}.",
)  # fmt: skip
WINNERS = (
    "the one with {rank}",
    "the one that has {rank}",
    "whichever has {rank}",
    "the one of the {count} with {rank}",
)
SUM_ANSWERS = (
    "Together that makes {sum}: {items}.", "{items}, so {sum} in all.", "It comes to {sum} altogether: {items}.",
    "The sum is {sum}, made up of {items}.", "Added up: {items}, which is {sum} in total.",
    "{sum} in all, with {items}.", "I get {sum} in total: {items}.", "I found {items}. That adds up to {sum}.",
)  # fmt: skip
OF_SEVERAL = re.compile("The rest|Otherwise")
WINNER_ANSWERS = (
    "{winner} has {rank}, with {value}; I see {others}.", "{winner} has {rank}: {value}, against {others}.",
    "It is {winner} that has {rank}: {value}, compared with {others}.",
    "With {value}, {winner} has {rank}. The rest: {others}.", "{winner} has {rank}, {value}. Otherwise: {others}.",
    "I see {value} for {winner}, so that has {rank}. Otherwise: {others}.",
)  # fmt: skip


def measures(tool: str) -> Mapping[str, MeasurePhrases]:
    """Return by field the numbers of a tool's results that can be compared."""
    return phrases_for(tool).tools[tool].measures


def compare(planner: Planner, wish: Wish) -> None:
    """Turn a wish about several entities into one for a sum or a winner, where a number of each is shown."""
    draw, measurable = planner.draw, measures(wish.tool)
    if not wish.each or wish.arguments.keys() != wish.referents.keys():
        return
    fields = [name for name in measurable if values(planner.calls, wish, name)]
    if not fields:
        return
    name = draw.choice(fields)
    numbers, adds = values(planner.calls, wish, name), measurable[name].sum and draw.chance(SUMS)
    ends: dict[Literal["most", "least"], int] = {"most": max(numbers), "least": min(numbers)}
    kinds = [kind for kind, best in ends.items() if numbers.count(best) == 1]
    if not adds and not kinds:
        return
    wish.comparison = Comparison(name, "sum" if adds else draw.choice(kinds))
    wish.phrase, parameter = question(measurable[name], wish, draw), next(iter(wish.referents))
    texts = [one.description.text for one in wish.each.values()]
    wish.words = {parameter: conjunction(texts), "any": conjunction(texts, "or")}
    planner.features.add("sum" if adds else "comparison")


def values(calls: Sequence[PlannedCall], wish: Wish, name: str) -> list[int]:
    """Return the numbers that the calls of a wish show in a field, in one currency.

    The result is empty where an earlier look-up already shows them, one is missing, or at most one is not zero.
    """
    results = [json.loads(calls[position].text) for position in wish.calls]
    rows = [(one.sighting and one.sighting.row) or {} for one in wish.each.values()]
    found = [one.get(name) for one in results if isinstance(one, dict)]
    currencies = {one.get("currency") or calls[at].currency for one, at in zip(results, wish.calls, strict=True)}
    numbers = [one for one in found if type(one) is int]
    if len(numbers) < len(results) or len(currencies) > 1 or any(name in row for row in rows):
        return []
    if any(number in row.values() for number, row in zip(numbers, rows, strict=True) if number >= LEAST):
        return []
    return numbers if sum(map(bool, numbers)) > 1 else []


def question(measure: MeasurePhrases, wish: Wish, draw: Draw) -> str:
    """Return the user's question for a comparison, with a slot for its parameter."""
    assert wish.comparison
    parameter, count = next(iter(wish.referents)), len(wish.each)
    counted = measure.degree in ("many", "much")
    largest = wish.comparison.kind == "most"
    frames = QUESTIONS if wish.comparison.kind != "sum" else SUMS_OF_COUNTS if counted else SUMS_OF_AMOUNTS
    frame = draw.choice(frames)
    if TOOLS[wish.tool][1].ids[parameter] in NAMED:
        frame = re.sub(r"([Ww])hich has", r"\1ho has", frame)
    said = rank(measure, largest, count)
    plural = measure.noun[measure.degree != "much"]
    return frame.format(rank=said, plural=plural, many=measure.degree, all=f"{{{parameter}}}", any="{any}")


def choose_winner(planner: Planner) -> bool:
    """Plan a wish for the winner (most or least) of the entities just compared; return whether there is one."""
    last = planner.wishes[-1]
    others = [call for at, call in enumerate(planner.calls) if call.tool == last.tool and at not in last.calls]
    if last.comparison is None or others or not planner.draw.chance(ACTED_ON):
        return False
    numbers = [json.loads(planner.calls[at].text)[last.comparison.field] for at in last.calls]
    measure = measures(last.tool)[last.comparison.field]
    ends = [(best is max, best(numbers)) for best in (max, min) if numbers.count(best(numbers)) == 1]
    if not ends:
        return False
    largest, extreme = planner.draw.choice(ends)
    position = last.calls[numbers.index(extreme)]
    ways = WINNERS[: 2 if last.each[position].type in NAMED else None]
    text = planner.draw.choice(ways).format(rank=rank(measure, largest, len(numbers)), count=COUNTS[len(numbers)])
    winner = describe_winner(planner, last.each[position], position, text)
    if not another_wins(planner, last, winner, largest):
        return False
    taking = [
        name
        for name in planner.names
        if name not in planner.tools() and winner.type in TOOLS[name][1].consumes and TOOLS[name][1].writes
    ]
    return any(act(planner, name, winner) for name in planner.draw.sample(taking, TRIED))


def describe_winner(planner: Planner, one: Referent, position: int, text: str) -> Referent:
    """Return an entity described as the winner that the call at a position shows."""
    assert one.sighting
    sighting = planner.sightings[one.type].get(one.id, one.sighting)
    described = Description(text, "comparison")
    return replace(one, description=described, sighting=replace(sighting, call=position), name=one.description.text)


def another_wins(planner: Planner, wish: Wish, winner: Referent, largest: bool) -> bool:
    """Return whether another of the compared entities wins in a world in which it has the winner's place."""
    assert wish.comparison and winner.sighting
    field, ids = wish.comparison.field, [wish.each[at].id for at in wish.calls]

    def leads_to(texts: Sequence[str], id: str) -> bool:
        numbers = [json.loads(text).get(field) for text in texts]
        if not all(type(number) is int for number in numbers):
            return False
        best = (max if largest else min)(numbers)
        return numbers.count(best) == 1 and ids[numbers.index(best)] == id

    compared = replace(winner.sighting, rows=tuple({"id": id} for id in ids))
    return bool(find_another([planner.calls[at] for at in wish.calls], compared, leads_to))


def act(planner: Planner, name: str, winner: Referent) -> bool:
    """Plan a wish for a tool that takes the winner; return whether that works."""
    tool, mark = TOOLS[name][1], planner.mark()
    parameter = next(one for one in tool.required if tool.ids.get(one) == winner.type)
    first = len(planner.calls)
    if planner.try_to_achieve(name, "fed", {parameter: winner}) and all(
        planner.depends(at) for at in range(first, len(planner.calls))
    ):
        planner.features.add("comparison")
        return True
    planner.back_to(mark)
    return False


def verdict(calls: Sequence[PlannedCall], wish: Wish, draw: Draw) -> str:
    """Return the assistant's text on a sum or a winner: all numbers, and the conclusion."""
    assert wish.comparison
    name, kind = wish.comparison.field, wish.comparison.kind
    phrases = phrases_for(wish.tool)
    numbers = [json.loads(calls[at].text)[name] for at in wish.calls]
    currency = str(json.loads(calls[wish.calls[0]].text).get("currency") or calls[wish.calls[0]].currency)
    said = [forms(phrases, name, number, currency=currency)[0] for number in numbers]
    entities = [convert_to_second_person(one.description.text) for one in wish.each.values()]
    items = [f"{value} for {entity}" for value, entity in zip(said, entities, strict=True)]
    if kind == "sum":
        total = forms(phrases, name, sum(numbers), currency=currency)[0]
        return sentence(draw.choice(SUM_ANSWERS).format(sum=total, items=conjunction(items)))
    best = numbers.index((max if kind == "most" else min)(numbers))
    others = conjunction([item for at, item in enumerate(items) if at != best])
    ranked = rank(measures(wish.tool)[name], kind == "most", len(numbers))
    ways = [one for one in WINNER_ANSWERS if len(numbers) > 2 or not OF_SEVERAL.search(one)]
    text = draw.choice(ways).format(winner=entities[best], value=said[best], others=others, rank=ranked)
    return sentence(text)
