"""The state machine: whatever a teacher does, a conversation follows the table, and records what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.world import World
from training_worker.core.trajectory import Level, ToolCall
from training_worker.synthesis import diagram, state_machine
from training_worker.synthesis.state_machine import (
    GROUPS,
    TRANSITIONS,
    Move,
    State,
    Stuck,
    Talk,
    Task,
    run_conversation,
)

LIST, OTHER = ToolCall("list_accounts", {}), ToolCall("find_payees", {})
REFUSED = ToolCall("get_account", {"account": "ACC-0"})
ALSO_REFUSED = ToolCall("list_transactions", {"account": "ACC-0"})
ACCOUNT = World.open(7, ("banking",), "small").call("list_accounts", {}).data[0]["id"]
GOOD = ToolCall("get_account", {"account": ACCOUNT})
MALFORMED, UNKNOWN, INCOMPLETE = ToolCall("", None), ToolCall("fly_away", {}), ToolCall("get_account", {})
TASK = Task("chain", ("list_accounts",), ("list_accounts", "find_payees", "get_account", "list_transactions"))


class Playing:
    """A scripted teacher that says these turns and makes these moves."""

    today = ""

    def __init__(self, turns: Sequence[str], moves: Sequence[Move], level: Level = "complete"):
        self.task = replace(TASK, level=level)
        self.turns, self.moves, self.faults = iter(turns), iter(moves), list[str]()

    def generate_user_turn(self, talk: Talk) -> str | None:
        return next(self.turns, None)

    def move(self, talk: Talk, fault: str) -> Move:
        self.faults.append(fault)
        return next(self.moves, Move(text="That is all."))


def bank() -> World:
    return World.open(7, ("banking",), "small")


def do(*calls: ToolCall) -> Move:
    return Move(tuple(calls))


SAY, QUESTION = Move(text="Here you are."), Move(text="Which one?", asks=True)
MOVES = (
    do(LIST),
    do(OTHER),
    do(LIST, OTHER),
    do(LIST, REFUSED),
    do(GOOD, REFUSED),
    do(REFUSED),
    do(ALSO_REFUSED),
    do(MALFORMED),
    do(UNKNOWN),
    do(INCOMPLETE),
    SAY,
    QUESTION,
    Move(),
)


def test_each_state_belongs_to_one_of_five_groups() -> None:
    assert sorted(chain(*GROUPS.values())) == sorted(State) and len(GROUPS) == 5
    assert set(TRANSITIONS) == set(State)


def test_each_state_can_be_reached_from_a_query_and_leads_to_the_end() -> None:
    def from_(starts: Sequence[State], edges: Callable[[State], Iterator[State]]) -> set[State]:
        reached, waiting = set(starts), list(starts)
        while waiting:
            new = set(edges(waiting.pop())) - reached
            reached |= new
            waiting += new
        return reached

    assert from_(GROUPS["query"], lambda state: iter(TRANSITIONS[state])) == set(State)
    back = {state: [one for one, after in TRANSITIONS.items() if state in after] for state in State}
    assert from_([State.ENDED], lambda state: iter(back[state])) == set(State)


@given(
    st.lists(st.sampled_from(MOVES), max_size=25),
    st.integers(1, 7),
    st.sampled_from(get_args(Level)),
)
def test_a_conversation_keeps_to_the_table_and_holds_what_was_run(moves: list[Move], turns: int, level: Level) -> None:
    world = bank()
    try:
        talk = run_conversation(Playing([f"turn {number}" for number in range(turns)], moves, level), world)
    except Stuck:
        return
    assert talk.states[0] == level and talk.states[-1] == State.ENDED
    assert all(after in TRANSITIONS[before] for before, after in pairwise(talk.states))
    assert len(talk.answers) == len(talk.turns) == min(turns, state_machine.USER_TURNS)
    assert len(talk.digests) == len(talk.steps) + 1 and talk.digests[-1] == world.digest() and not talk.failing
    again = bank()
    for position in range(len(talk.steps) + 1):
        for failure in talk.failures:
            if failure.step == position:
                assert again.call(failure.call.name, failure.call.arguments or {}).text == failure.observation
        for step in talk.steps[position : position + 1]:
            assert [again.call(one.name, one.arguments or {}).text for one in step.calls] == list(step.observations)


@pytest.mark.long
def test_every_line_of_the_table_happens() -> None:
    seen = set()
    for level in get_args(Level):
        for first in MOVES:
            for second in MOVES:
                for third in (
                    do(LIST),
                    do(GOOD),
                    do(REFUSED),
                    do(LIST, REFUSED),
                    do(GOOD, REFUSED),
                    do(MALFORMED),
                    SAY,
                    QUESTION,
                ):
                    for fourth in (do(LIST), do(ALSO_REFUSED), SAY):
                        teacher = Playing(("one", "two"), (first, second, third, fourth), level)
                        try:
                            talk = run_conversation(teacher, bank())
                        except Stuck:
                            continue
                        seen |= set(pairwise(talk.states))
    assert seen == {(before, after) for before, afters in TRANSITIONS.items() for after in afters}


@pytest.mark.parametrize(
    ("next_move", "recovery"), [(do(REFUSED), "corrected"), (do(LIST), "other_tool"), (SAY, "gave_up")]
)
def test_a_failure_is_recorded_with_its_recovery(next_move: Move, recovery: str) -> None:
    talk = run_conversation(Playing(["Hello"], [do(LIST), do(REFUSED), next_move]), bank())
    assert (talk.failures[0].step, talk.failures[0].turn, talk.failures[0].call) == (1, 0, REFUSED)
    assert talk.failures[0].recovery == recovery and "ACC-0" in talk.failures[0].observation
    assert all(step.calls == (LIST,) for step in talk.steps)


def test_of_calls_made_together_those_that_succeed_are_a_step() -> None:
    talk = run_conversation(Playing(["Hello"], [do(LIST, REFUSED, OTHER)]), bank())
    assert [step.calls for step in talk.steps] == [(LIST, OTHER)]
    assert [failure.call for failure in talk.failures] == [REFUSED] and State.PARTIAL in talk.states


@pytest.mark.parametrize(
    ("move", "fault"),
    [
        (do(MALFORMED), "not a JSON object"),
        (do(UNKNOWN), "no tool 'fly_away'"),
        (do(INCOMPLETE), "get_account lack a required one"),
        (Move(text=" "), "neither a call nor a text"),
    ],
)
def test_an_invalid_proposal_is_made_again_with_the_fault_and_runs_nothing(move: Move, fault: str) -> None:
    world = bank()
    teacher = Playing(["Hello"], [move, do(LIST)])
    assert [step.calls for step in run_conversation(teacher, world).steps] == [(LIST,)]
    assert fault in teacher.faults[1] and teacher.faults[0] == teacher.faults[2] == ""
    with pytest.raises(Stuck, match="3 proposals in a row"):
        run_conversation(Playing(["Hello"], [move] * 3), world)


def test_a_conversation_without_a_beginning_or_an_end_is_stuck() -> None:
    with pytest.raises(Stuck, match="says nothing"):
        run_conversation(Playing([], []), bank())
    with pytest.raises(Stuck, match="did not come to an end"):
        run_conversation(Playing(["Hello"], [do(LIST)] * 50), bank())


def test_the_page_shows_the_table_as_it_is() -> None:
    page = diagram.PAGE.read_text("utf-8")
    assert diagram.replace_diagram(page) == page, "run make reference"
    for before, afters in TRANSITIONS.items():
        assert all(f"    {before} --> {after}\n" in page for after in afters)


def test_a_conversation_of_too_many_calls_is_stuck_before_they_are_made() -> None:
    world = bank()
    with pytest.raises(Stuck, match="more than 20 calls"):
        run_conversation(Playing(["Hello"], [do(*[LIST] * 19), do(LIST, LIST)]), world)
    assert len(world.sessions["banking"].history()) == 20
