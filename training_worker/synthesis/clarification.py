"""Conversations of the kind missing_function: a value or a tool is missing, and the sort decides the correct act.

asked: the user leaves a required value open, and the assistant asks for it (level "missing" of any dialogue).
looked_up: a required value is unsaid, but a look-up shows the only one that fits, so asking would be wrong.
default: an optional value is unsaid, and the call omits it.
arrives: the tool of a wish is hidden at first and offered in a later turn, in which the user returns to the wish.
declined: the tool of the only wish is hidden.
partly: as declined, among other wishes that are served; it counts as declined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Draw
from mcp_servers.core.phrases import OPTIONAL, slots

from ..core.trajectory import Arrival, Split
from ..dataflow.speech import phrases_for
from ..graph.sampler import NothingFits, StepRefused
from .dialogue import Dialogue, ScriptedTurn
from .goals import Planner
from .knobs import Knobs, Sort
from .plan import Plan, Referent, Wish
from .replies import closing_text
from .state_machine import Lesson, Move

PLANS = 16  # tried per trial
PLANS_ABOUT = 4  # of these, about the tool in turn; few tools have what some sorts need
ABOUT = 0.5  # share of hidden tools that are the conversation's own, where it can be hidden
MOST_WISHES = 3  # of a conversation in two turns
LONGEST = 60  # characters in the description of an entity that the user need not name
RESTATED = 0.6  # share of users who repeat a wish that they first said as a clause
RETURNS = (
    "You have a new tool now. Please do what you could not do before.",
    "There is another tool for you now. Can you do it with that?",
    "I have added a tool for it. Please try again.",
    "That should be possible now, so please go ahead.",
    "I have updated the tools that you can use. What about now?",
    "One more tool is there for you now. If it helps, go ahead with what you had to leave.",
    "You should be able to do it now. Please take care of it.",
    "The tool for that was missing. It is there now, so please go on.",
    "Good news: you have been given the tool for that. Please do it now.",
    "Back to what you could not do: there is a tool for it now.",
)
RESTATEMENTS = (
    "You have a new tool now, so once more: {}",
    "I have given you one more tool. {}",
    "The tool that was missing is there now. {}",
    "There is another tool for you now. Back to what you could not do: {}",
    "Your tools have been updated. {}",
)


def draw_sort(knobs: Knobs, seed: int, split: Split, index: int) -> Sort:
    """Return the sort of the conversation of an index, for the kind missing_function."""
    return Draw("sort", seed, split, index).choose_weighted(tuple(knobs.sorts), tuple(knobs.sorts.values()))


class Clarification(Dialogue):
    """A dialogue in which a value or a tool is missing. Its features name its sort."""

    def __init__(self, lesson: Lesson):
        super().__init__(lesson)
        self.features |= {"declined", "partly"} if self.task.sort == "partly" else {self.task.sort}

    def draw_plan(self, planner: Planner) -> Plan:
        """Plan what the conversation is about, so that the plan fits the sort. Raises NothingFits or StepRefused."""
        fits = PLANS_THAT_FIT.get(self.task.sort)
        if fits is None:
            return super().draw_plan(planner)
        planner.unsaid = self.task.sort == "looked_up"
        planner.optional = 0.0 if self.task.sort == "default" else planner.optional
        opening, others = planner.mark(), [name for name in planner.names if may_fit(name, self.task.sort)]
        for attempt in range(PLANS):
            planner.back_to(opening)
            if attempt >= PLANS_ABOUT and others:
                self.task = replace(self.task, chain=(self.draw.choice(others),))
            with suppress(NothingFits, StepRefused):
                plan = super().draw_plan(planner)
                if fits(plan):
                    return plan
        raise NothingFits(f"No plan fits the sort {self.task.sort}.")

    def script(self) -> list[ScriptedTurn]:
        if self.task.sort not in ("arrives", "partly"):
            return super().script()
        turns = self.build_arrival_turns() if self.task.sort == "arrives" else self.declining_one()
        if sum(bool(move.calls) for turn in turns for move in turn.moves) + len(turns) > self.knobs.steps + max(
            self.knobs.turns
        ):
            raise NothingFits("The wishes take more steps than a rollout may.")
        return turns

    def build_arrival_turns(self) -> list[ScriptedTurn]:
        """Return turns in which a wish is declined, before the last turn, and served in the next turn."""
        wishes, numbers, turns = self.plan.wishes, dict[int, int](), list[ScriptedTurn]()
        at = self.hide(range(len(wishes)))
        count = self.draw.choose_weighted(tuple(self.knobs.turns), tuple(self.knobs.turns.values()))
        own = self.required_cuts()
        rest = [cut for cut in range(1, len(wishes)) if cut not in own]
        cuts = sorted([*own, *self.draw.sample(rest, max(0, max(count - 2, len(wishes) > MOST_WISHES) - len(own)))])
        for group in split(0, at + 1, cuts):
            turns.append(self.turn_without(at, group, not turns, numbers))
        arrival = Arrival(len(turns), (wishes[at].tool,))
        self.task = replace(self.task, arrivals=(arrival,))
        for group in split(at, len(wishes), [cut for cut in cuts if cut > at]):
            due = [wishes[one] for one in group]
            words = self.return_to(due) if group[0] == at else self.sentence(due, opening=False)
            turns.append(
                ScriptedTurn(words, [*self.moves_for(group, numbers), Move(text=self.write_closing_text(group))])
            )
        return turns

    def declining_one(self) -> list[ScriptedTurn]:
        """Return turns that ask for several things, all but one of which are done."""
        size, numbers, turns = len(self.plan.wishes), dict[int, int](), list[ScriptedTurn]()
        at = self.hide([one for one in range(size) if size > 1 and can_leave_out(self.plan, one)])
        for group in self.draw_groups():
            turns.append(self.turn_without(at, group, not turns, numbers))
        return self.with_leave(turns)

    def turn_without(self, at: int, group: Sequence[int], opening: bool, numbers: dict[int, int]) -> ScriptedTurn:
        """Return a turn that asks for some wishes, of which the one at a position is declined."""
        words = self.sentence([self.plan.wishes[one] for one in group], opening)
        served = [one for one in group if one != at]
        moves = self.moves_for(served, numbers)
        if at not in group:
            return ScriptedTurn(words, [*moves, Move(text=self.write_closing_text(served))])
        text = self.cannot(self.plan.wishes[at])
        if served:
            text = closing_text([self.reports(served), text], self.manner)
        return ScriptedTurn(words, [*moves, Move(text=text)], declines=True)

    def return_to(self, due: Sequence[Wish]) -> str:
        """Return the user's text when the tool of the first of some wishes, which was declined, has arrived."""
        if due[0].phrase[:1].islower() and self.manner.chance(RESTATED):
            words = self.manner.choice(RESTATEMENTS).format(self.request(due[0], 0, False, None))
        else:
            words = self.manner.choice(RETURNS)
        return " ".join([words, *(self.request(one, at, False, None) for at, one in enumerate(due[1:], 1))])

    def hide(self, positions: Sequence[int]) -> int:
        """Take the tool of one of some wishes from the candidates; return its position. Raises NothingFits."""
        wishes = self.plan.wishes
        fitting = [one for one in positions if can_hide(self.plan, one)]
        if not fitting:
            raise NothingFits("There is no wish whose tool could be hidden.")
        own = [one for one in fitting if wishes[one].tool == self.task.chain[0]]
        self.hidden = self.draw.choice(own if own and self.draw.chance(ABOUT) else fitting)
        candidates = tuple(name for name in self.task.candidates if name != wishes[self.hidden].tool)
        self.task = replace(self.task, candidates=self.limit_tools(candidates, {call.tool for call in self.plan.calls}))
        return self.hidden


def split(start: int, end: int, cuts: Sequence[int]) -> list[list[int]]:
    """Return the numbers from `start` up to but excluding `end`, in groups that begin at the cuts."""
    inside = [cut for cut in cuts if start < cut < end]
    return [list(range(a, b)) for a, b in pairwise([start, *inside, end])]


def can_hide(plan: Plan, position: int) -> bool:
    """Return whether a wish is served by one call, unconditionally, and no other call is of its tool."""
    wish = plan.wishes[position]
    one_call = wish.done and not wish.condition and len(wish.calls) == 1
    return one_call and sum(call.tool == wish.tool for call in plan.calls) == 1


def can_leave_out(plan: Plan, position: int) -> bool:
    """Return whether all other calls have the same observations without those of a wish."""
    own = {at for at, call in enumerate(plan.calls) if call.wish == position}
    others = [call for at, call in enumerate(plan.calls) if at not in own and at > min(own, default=0)]
    if not own or any(call.rests_on & own for call in others):
        return False
    world = plan.calls[min(own)].before.fork()
    return all(world.call(call.tool, call.arguments).text == call.text for call in others)


def may_fit(tool: str, sort: Sort) -> bool:
    """Return whether a conversation of the sort looked_up or default may be about a tool."""
    return has_default(tool) if sort == "default" else bool(TOOLS[tool][1].consumes)


def names_nothing(plan: Plan) -> bool:
    """Return whether some wish is about an entity that it need not name: the only one that its own look-up lists."""
    return any(
        is_alone(plan, position, one)
        for position, wish in enumerate(plan.wishes)
        for many in wish.referents.values()
        for one in many
    )


def is_alone(plan: Plan, position: int, referent: Referent) -> bool:
    """Return whether a look-up for a wish lists one entity, which is the referent."""
    seen = referent.sighting
    if seen is None or referent.description.kind != "only" or len(seen.rows) != 1:
        return False
    if plan.wishes[position].condition or len(referent.description.text) > LONGEST:
        return False
    call = plan.calls[seen.call]
    return call.wish == position and not call.writes and seen.row in list_rows(json.loads(call.text))


def list_rows(data: Any) -> Iterator[Any]:
    """Yield the items of all lists in a result."""
    if isinstance(data, list):
        yield from data
    for value in data if isinstance(data, list) else data.values() if isinstance(data, dict) else ():
        yield from list_rows(value)


def relies_on_defaults(plan: Plan) -> bool:
    """Return whether some wish says no optional argument of its tool, although there are some."""
    return any(
        wish.calls and has_default(wish.tool) and wish.arguments.keys() <= set(TOOLS[wish.tool][1].required)
        for wish in plan.wishes
    )


def has_default(name: str) -> bool:
    """Return whether a tool has a parameter with a default, or writes and has an optional one in its phrases."""
    tool, said = TOOLS[name][1], phrases_for(name).tools[name]
    optional = [one for one in tool.input_schema["properties"] if one not in tool.required]
    if any(tool.input_schema["properties"][one].get("default") is not None for one in optional):
        return True
    brackets = [found for phrase in (*said.sentences, *said.clauses) for found in OPTIONAL.findall(phrase)]
    return tool.writes and any(one in slots(bracket) for bracket in brackets for one in optional)


PLANS_THAT_FIT: dict[Sort, Callable[[Plan], bool]] = {"looked_up": names_nothing, "default": relies_on_defaults}
