"""The paraphrasing teacher: other words, the same conversation; and whatever is amiss with the words, the skeleton."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import networkx as nx
import pytest
from starlette.responses import Response

from mcp_servers.catalogue import TOOLS
from tests.prove.serving import Answering, Asked, Serve, rewriting
from training_worker.prove.synthesis import folder
from training_worker.prove.synthesis.conversation import make
from training_worker.prove.synthesis.endpoint import Endpoint, EndpointFailed
from training_worker.prove.synthesis.knobs import PAPER
from training_worker.prove.synthesis.language import leaks, long_day
from training_worker.prove.synthesis.paraphrase import (
    REPORT,
    Check,
    Paraphrased,
    Wording,
    paraphrase,
    paraphrase_all,
    paraphrase_folder,
    request,
    values_said,
)
from training_worker.prove.synthesis.recipes import PLANS
from training_worker.prove.synthesis.replay import verify
from training_worker.prove.synthesis.validate import holds
from training_worker.prove.trajectory import Example, loads


def turns_of(examples: tuple[Example, ...]) -> list[tuple[Example, int]]:
    return [(example, turn) for example in examples for turn in range(len(example.turns))]


@pytest.fixture(scope="module")
def people(graph: nx.DiGraph) -> tuple[Example, ...]:
    """Conversations as in the paper's recipe: other manners, days as people say them, values left open, failures."""
    recipe = replace(PLANS["1k"].recipe, knobs=replace(PAPER, dates=1.0, recovery=0.5))
    made = (make(index, "train", graph, recipe, "chain")[0] for index in range(60))
    return tuple(example for example in made if example)


def test_the_skeletons_own_words_are_without_fault_and_leak_nothing(
    examples: tuple[Example, ...], people: tuple[Example, ...]
) -> None:
    for example, turn in turns_of(examples + people):
        assert Check(example, turn).fault(Wording(example.turns[turn])) == ""
        assert leaks(example.turns[turn], said=" ".join(values_said(example, turn))) == set()


def test_a_value_that_is_lost_or_new_is_noticed(examples: tuple[Example, ...], people: tuple[Example, ...]) -> None:
    seen = 0
    for example, turn in turns_of(examples + people):
        check, old = Check(example, turn), example.turns[turn]
        for value in values_said(example, turn):
            without = re.sub(rf"(?<!\w)(?<!\w-){re.escape(value)}(?!\w)", "something", old)
            assert check.fault(Wording(without)).startswith("a value is lost"), (value, old)
            seen += 1
        assert check.fault(Wording(f"{old} Make it 987654."))[:14] == "a value is new"
        assert check.fault(Wording(f"{old} Tell eve@example.org."))[:14] == "a value is new"
    assert seen > len(examples)


def test_every_value_of_a_call_that_a_turn_says_is_to_be_kept(chains: list[Example]) -> None:
    for example in chains:
        for step in example.steps:
            for value in (step.calls[0].arguments or {}).values():
                if isinstance(value, str) and f" {value} " in example.turns[step.turn]:
                    assert value in values_said(example, step.turn)


def test_days_are_kept_as_the_user_says_them(people: tuple[Example, ...]) -> None:
    dated = [example for example in people if example.today]
    assert dated and all(long_day(date.fromisoformat(one.today)) in values_said(one, 0) for one in dated)
    kept = {value for example, turn in turns_of(people) for value in values_said(example, turn)}
    assert any("tomorrow" in value or "day at " in value for value in kept)


@pytest.mark.parametrize("text", ["", "  \n ", "\x00", "Look:\u202e"])
def test_words_that_are_none_are_refused(text: str, examples: tuple[Example, ...]) -> None:
    assert Check(examples[0], 0).fault(Wording(text)).startswith("empty")


def test_a_name_of_a_tool_or_field_or_a_flood_of_words_is_refused(examples: tuple[Example, ...]) -> None:
    check, old = Check(examples[0], 0), examples[0].turns[0]
    assert check.fault(Wording(f"{old} Use transfer_money.")) == "the name of a tool or a field: transfer_money"
    assert check.fault(Wording(old + " please" * 200)).startswith("too long")


def test_what_leaks_is_a_name_with_an_underscore_or_a_tools_whole_name() -> None:
    assert leaks("Pay from my account, then repost it.") == {"repost"}
    assert leaks("Call list_accounts with booking_id.") == {"list_accounts", "booking_id"}
    assert leaks("Open notes_old.txt and user_notes.txt", said="notes_old.txt") == {"user_notes"}
    assert all(leaks(f"Do {name} now") == {name} for name in TOOLS)


def test_only_the_words_change_and_the_conversation_still_holds(
    serve: Serve, examples: tuple[Example, ...], people: tuple[Example, ...], tmp_path: Path
) -> None:
    some = (*examples[:30], *people[:20])
    with Endpoint(serve(rewriting).settings(tmp_path)) as endpoint:
        told, report = paraphrase_all(some, endpoint)
    for old, new in zip(some, told, strict=True):
        assert new == replace(old, turns=tuple(f"Well, listen: {turn}" for turn in old.turns))
        holds(new)
    turns = sum(len(example.turns) for example in told)
    assert report == Paraphrased(model="scripted", turns=turns, reworded=turns, kept={})


def test_the_model_is_shown_the_manner_what_was_said_before_and_what_to_keep(two_turns: Example) -> None:
    shown = request(replace(two_turns, persona="terse"), 1)[1].content
    assert shown.startswith(
        f"Manner of the user: terse\nThe user said before: {two_turns.turns[0]}\n"
        f"The assistant answered: {two_turns.answers[0]}\n"
    )
    assert shown.endswith(f"Message to rewrite: {two_turns.turns[1]}")
    assert json.dumps(values_said(two_turns, 1), ensure_ascii=False) in shown


def test_a_bad_answer_is_asked_for_again_with_the_reason(serve: Serve, two_turns: Example, tmp_path: Path) -> None:
    def clumsy(asked: Asked) -> str:
        if len(asked["messages"]) == 2:
            return '{"text": "Use transfer_money for 123456789."}'
        assert "a value is" in asked["messages"][3]["content"]
        return rewriting(asked)

    with Endpoint(serve(clumsy).settings(tmp_path)) as endpoint:
        told, kept = paraphrase(two_turns, endpoint)
    assert kept == [] and told.turns == tuple(f"Well, listen: {turn}" for turn in two_turns.turns)


@pytest.mark.parametrize("nonsense", ["", "Done.", '{"text": ""}', '{"text": 7}', '{"text": "transfer_money"}'])
def test_a_model_that_never_does_it_well_leaves_the_skeleton_and_is_counted(
    nonsense: str, serve: Serve, examples: tuple[Example, ...], tmp_path: Path
) -> None:
    with Endpoint(serve(lambda asked: nonsense).settings(tmp_path)) as endpoint:
        told, report = paraphrase_all(examples[:5], endpoint)
    assert told == list(examples[:5])
    assert report.reworded == 0 and sum(report.kept.values()) == report.turns


def failing_after(calls: int) -> Answering:
    left = iter(range(calls))
    return lambda asked: rewriting(asked) if next(left, None) is not None else Response(status_code=503)


def test_work_that_is_cut_off_goes_on_without_asking_twice_and_threads_change_nothing(
    serve: Serve, examples: tuple[Example, ...], tmp_path: Path
) -> None:
    some = examples[:40]
    with Endpoint(serve(rewriting).settings(tmp_path / "one", parallel=1)) as endpoint:
        whole = paraphrase_all(some, endpoint)
        needed = endpoint.asked
    first = serve(failing_after(25))
    with Endpoint(first.settings(tmp_path / "two", parallel=8)) as endpoint, pytest.raises(EndpointFailed):
        paraphrase_all(some, endpoint)
    second = serve(rewriting)
    with Endpoint(second.settings(tmp_path / "two", parallel=8)) as endpoint:
        assert paraphrase_all(some, endpoint) == whole
    assert needed <= 25 + len(second.asked) <= needed + 8, "two threads may ask the same thing at once"


@pytest.mark.long
def test_a_folder_becomes_another_one_that_holds_and_names_its_teacher(
    serve: Serve, data_set: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with Endpoint(serve(rewriting).settings(tmp_path)) as endpoint:
        report = paraphrase_folder(data_set, out, endpoint)
        with pytest.raises(folder.Taken):
            paraphrase_folder(data_set, out, endpoint)
    assert loads(Paraphrased, (out / REPORT).read_bytes()) == report and report.kept == {}
    found = verify(out)
    assert found.holds and found.held == 48
    before, after = folder.read(data_set), folder.read(out)
    assert before.teacher == "programmatic" and after.teacher == "paraphrase by scripted"
    assert after.settings["paraphrased"] == before.content != after.content
    for split in folder.SPLITS:
        ids = [one.id for one in folder.examples(data_set, split)]
        assert [one.id for one in folder.examples(out, split)] == ids


def test_the_words_of_others_are_kept(serve: Serve, abstention: Example, tmp_path: Path) -> None:
    imported = replace(abstention, source="when2call")
    server = serve(rewriting)
    with Endpoint(server.settings(tmp_path)) as endpoint:
        assert paraphrase(imported, endpoint) == (imported, ["imported"] * len(imported.turns))
    assert not server.asked
