"""A language model as teacher: it rewrites proven conversations, and a text that it spoils stays as scripted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
from starlette.responses import JSONResponse, Response

from tests.prove.serving import Answering, RequestBody, Serve, rewriting
from training_worker.core.trajectory import Example, Kind
from training_worker.datasets.recipes import PLANS
from training_worker.endpoint import Endpoint, EndpointFailed
from training_worker.synthesis.conversation import make
from training_worker.synthesis.language_model import request, write_texts
from training_worker.synthesis.validate import require_valid
from training_worker.synthesis.wording_checks import Check

RECIPE = replace(PLANS["1k"].recipe, size="small")


@pytest.fixture(scope="module")
def scripted(graph: nx.DiGraph) -> list[Example]:
    """Return scripted conversations: six chains, and two in which no tool should be called."""
    kinds: tuple[Kind, ...] = (*("chain",) * 6, *("irrelevance",) * 2)
    drawn = (make(index, "train", graph, RECIPE, kind)[0] for index, kind in enumerate(kinds))
    return [example for example in drawn if example]


def texts(example: Example) -> list[str]:
    """Return the texts in the order of `Example.wording`."""
    return [text for pair in zip(example.turns, example.answers, strict=True) for text in pair]


def plan(example: Example) -> Example:
    """Return the example without its texts."""
    return replace(example, turns=(), answers=(), wording=())


def spoiling(change: Callable[[str, list[str]], str]) -> Answering:
    """Return a model that changes the draft; it also gets the values to keep."""

    def answer(body: RequestBody) -> str:
        prompt = body["messages"][1]["content"]
        keep = json.loads(prompt.split("Texts to keep: ")[1].split("\n")[0])
        return json.dumps({"text": change(prompt.split("Draft: ")[1], keep)}, ensure_ascii=False)

    return answer


@pytest.mark.parametrize("kind", ["chain", "missing_function", "irrelevance"])
def test_a_good_model_words_the_plan_of_the_programmatic_teacher(
    kind: Kind, graph: nx.DiGraph, serve: Serve, tmp_path: Path
) -> None:
    with Endpoint(serve(rewriting).settings(tmp_path)) as endpoint:
        found = 0
        for index in range(4):
            old, dropped = make(index, "train", graph, RECIPE, kind)
            new, also_dropped = make(index, "train", graph, RECIPE, kind, model=endpoint)
            assert dropped == also_dropped and bool(new) == bool(old)
            if old and new:
                assert plan(new) == plan(old)
                assert texts(new) == [f"Well, listen: {text}" for text in texts(old)]
                assert new.wording == ("user: model", "assistant: model") * len(old.turns)
                require_valid(new)
                found += 1
    assert found > 1


SPOILT: dict[str, tuple[Callable[[str, list[str]], str], str]] = {
    "drops a value": (lambda text, keep: text.replace(keep[0], "it") if keep else text, "a value is lost"),
    "names a tool": (lambda text, keep: f"{text} With transfer_money.", "the name of a tool or a field"),
    "says another amount": (lambda text, keep: f"{text} And 98765.40 euros.", "a value is new"),
    "says another name": (lambda text, keep: f"{text} And all to Zacharias.", "a value is new"),
}


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.long
def test_what_a_bad_model_words_stays_as_scripted_and_is_counted(
    how: str, scripted: list[Example], serve: Serve, tmp_path: Path
) -> None:
    change, reason = SPOILT[how]
    seen = Counter[str]()
    with Endpoint(serve(spoiling(change)).settings(tmp_path)) as endpoint:
        for old in scripted:
            new = write_texts(old, endpoint, tries=2)
            assert plan(new) == plan(old) and texts(new) == texts(old)
            seen.update(one.partition(": ")[2] for one in new.wording)
    assert seen.keys() <= {reason, "model"} and seen[reason] >= 8
    assert not seen["model"] or how == "drops a value", "a text without a value loses none"


@pytest.mark.parametrize("nonsense", ["", "Done.", '{"text": ""}', '{"text": 7}', '{"text": "Hello!"}', "{" * 500])
def test_nonsense_leaves_the_script(nonsense: str, scripted: list[Example], serve: Serve, tmp_path: Path) -> None:
    with Endpoint(serve(lambda body: nonsense).settings(tmp_path)) as endpoint:
        for old in scripted:
            new = write_texts(old, endpoint, tries=1)
            assert plan(new) == plan(old) and new.turns == old.turns
            assert "user: model" not in new.wording


def test_a_bad_text_is_requested_again_with_the_reason(scripted: list[Example], serve: Serve, tmp_path: Path) -> None:
    def clumsy(body: RequestBody) -> str:
        if len(body["messages"]) == 2:
            return '{"text": "Use transfer_money for 123456789."}'
        assert "That will not do: a value is" in body["messages"][3]["content"]
        return rewriting(body)

    with Endpoint(serve(clumsy).settings(tmp_path)) as endpoint:
        assert set(write_texts(scripted[0], endpoint).wording) == {"user: model", "assistant: model"}


def test_the_prompt_has_the_manner_the_history_and_the_replies_and_names_no_tool(scripted: list[Example]) -> None:
    example = next(one for one in scripted if one.steps and one.steps[-1].turn)
    turn = example.steps[-1].turn
    user, assistant = (request(Check(example, turn, who))[1].content for who in ("user", "assistant"))
    for prompt in (user, assistant):
        assert f"The user said before: {example.turns[0]}\nThe assistant answered: {example.answers[0]}" in prompt
        assert not any(name in prompt for name in example.candidates if "_" in name)
    assert f"Manner of the user: {example.persona}" in user and user.endswith(f"Draft: {example.turns[turn]}")
    assert "A tool replied" not in user, "a user does not see the tools' replies"
    assert f"A tool replied: {example.steps[-1].observations[0][:200]}" in assistant


@pytest.mark.parametrize("answer", [Response("gone", 503), JSONResponse({"error": "no such key"}, 401)])
def test_an_endpoint_that_fails_is_no_fallback(
    answer: Response, graph: nx.DiGraph, serve: Serve, tmp_path: Path
) -> None:
    with Endpoint(serve(lambda body: answer).settings(tmp_path)) as endpoint, pytest.raises(EndpointFailed):
        make(0, "train", graph, RECIPE, "chain", model=endpoint)


def test_a_conversation_longer_than_the_model_reads_stays_as_scripted(
    scripted: list[Example], serve: Serve, tmp_path: Path
) -> None:
    def short(body: RequestBody) -> Response:
        return JSONResponse({"error": {"message": "This model's maximum context length is 10 tokens"}}, 400)

    with Endpoint(serve(short).settings(tmp_path)) as endpoint:
        new = write_texts(scripted[0], endpoint)
    assert texts(new) == texts(scripted[0])
    assert set(new.wording) == {"user: more than the model reads", "assistant: more than the model reads"}


def test_imported_texts_stay_as_they_are(serve: Serve, abstention: Example, tmp_path: Path) -> None:
    imported, server = replace(abstention, source="when2call"), serve(rewriting)
    with Endpoint(server.settings(tmp_path)) as endpoint:
        assert write_texts(imported, endpoint) == imported
    assert not server.requests
