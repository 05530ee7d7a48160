"""The planner: binds each step to what earlier ones gave, and points only where one thing can be meant."""

from __future__ import annotations

import re
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_servers.kit import Draw
from mcp_servers.world import World
from tests.prove.known import SERVERS, TOOLS
from training_worker.prove.provenance import says, spoken
from training_worker.prove.shapes import Found
from training_worker.prove.synthesis.chains import draw_chain
from training_worker.prove.synthesis.knobs import Knobs
from training_worker.prove.synthesis.planner import (
    POINTER,
    Done,
    StepRefused,
    nameable,
    noun,
    run_chain,
)
from training_worker.prove.synthesis.sampler import NothingFits, sample
from training_worker.prove.synthesis.wording import implied, split_turns, word_turns


@pytest.fixture(scope="module")
def runs(graph: nx.DiGraph) -> list[list[Done]]:
    """Chains run live, some of each tool."""
    done = []
    for seed, name in enumerate(TOOLS):
        draw = Draw("teach", name)
        world = World.open(seed, tuple(SERVERS), "small")
        context = sample(world.fork(), draw)
        for _ in range(3):
            try:
                done.append(run_chain(draw_chain(graph, name, draw), graph, world.fork(), context, draw, Knobs()))
            except (NothingFits, StepRefused):
                continue
    assert len(done) > 80
    return done


def test_a_step_is_fed_what_the_step_named_for_it_gave(runs: list[list[Done]], graph: nx.DiGraph) -> None:
    for done in runs:
        for position, step in enumerate(done):
            for name, giver in step.fed_by.items():
                value = step.arguments[name]
                given_ids = {found.id for found in done[giver].found}
                assert giver < position and set(value if isinstance(value, list) else [value]) <= given_ids
                assert name in graph.edges[done[giver].tool, step.tool]["feeds"]


def test_the_words_for_what_an_earlier_step_gave_are_its_label_or_a_pointer(runs: list[list[Done]]) -> None:
    for done in runs:
        for step in done:
            assert set(step.words) == set(step.fed_by)
            for name, words in step.words.items():
                labels = [found.label for found in done[step.fed_by[name]].found]
                assert labels.count(words) == 1 or words == f"{POINTER}{noun(TOOLS[step.tool][1].ids[name])}"


def test_that_thing_is_said_only_right_after_the_step_that_gave_it(runs: list[list[Done]]) -> None:
    pointed = 0
    for done in runs:
        for position, step in enumerate(done):
            for name, words in step.words.items():
                if words.startswith(POINTER):
                    pointed += 1
                    of_type = [f for f in done[step.fed_by[name]].found if f.type == TOOLS[step.tool][1].ids[name]]
                    assert step.fed_by[name] == position - 1 and len(of_type) == 1
    assert pointed


def test_alone_a_step_is_asked_for_without_pointing(runs: list[list[Done]]) -> None:
    pointer = re.compile(r"\bthat (?:account|event|card|message|draft|thread|series|payee)\b")
    for done in runs:
        for step in done:
            assert not pointer.search(step.alone())
            for name, value in step.arguments.items():
                said = spoken(value) if step.words.get(name, POINTER).startswith(POINTER) else step.words[name]
                assert says(step.alone(), said)


def test_two_things_called_alike_are_not_told_apart_by_their_name(runs: list[list[Done]]) -> None:
    step = next(one for done in runs for one in done if one.tool == "list_accounts")
    alike = [Found("AccountId", "ACC-0001", "savings"), Found("AccountId", "ACC-0002", "savings")]
    other = Found("AccountId", "ACC-0003", "travel")
    assert nameable(replace(step, found=alike), "AccountId", set(), just_before=True) == []
    assert nameable(replace(step, found=[*alike, other]), "AccountId", set(), just_before=True) == [(other, "travel")]
    assert nameable(replace(step, found=[*alike, other]), "AccountId", {other.id}, just_before=True) == []


@given(st.integers(1, 5), st.integers(0, 5000))
def test_turns_split_a_chain_in_order_and_none_is_empty(length: int, key: int) -> None:
    steps = [Done("list_accounts", {}, "{}", "", {}, {}, "list my accounts")] * length
    turn_of = split_turns(steps, Draw("split", key))
    assert turn_of == sorted(turn_of) and len(turn_of) == length
    assert set(turn_of) == set(range(max(turn_of) + 1)) and max(turn_of) <= 2


def test_only_a_look_that_a_later_step_uses_goes_without_saying(runs: list[list[Done]]) -> None:
    left_out = 0
    for key, done in enumerate(runs):
        draw = Draw("word", key)
        turn_of = split_turns(done, draw)
        turns = word_turns(done, turn_of, draw)
        for position, step in enumerate(done):
            if not says(turns[turn_of[position]].lower(), step.clause.lower()):
                left_out += 1
                own = [place for place, turn in enumerate(turn_of) if turn == turn_of[position]]
                assert not TOOLS[step.tool][1].writes and implied(position, own, done)
    assert left_out


def test_a_refused_step_drops_the_chain_and_says_which(graph: nx.DiGraph) -> None:
    world = World.open(3, ("banking",), "small")
    context = sample(world.fork(), Draw("refused"))
    for id in context.ids["AccountId"]:
        world.call("close_account", {"account": id})
    refused = set()
    for time in range(30):
        try:
            run_chain(("freeze_card",), graph, world, context, Draw("refused", time), Knobs())
        except StepRefused as reason:
            refused.add(str(reason).split(":")[0])
    assert refused == {"freeze_card"}


@pytest.mark.parametrize(
    ("id_type", "words"), [("AccountId", "account"), ("ScheduledPaymentId", "scheduled payment"), ("Series", "series")]
)
def test_an_id_type_is_spoken_as_its_noun(id_type: str, words: str) -> None:
    assert noun(id_type) == words
