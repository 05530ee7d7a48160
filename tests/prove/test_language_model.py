"""A language model as teacher: what a good one says becomes a conversation that holds; what a bad one says is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from starlette.responses import Response

from tests.prove.serving import Answering, Asked, Serve
from training_worker.prove.chat import CALL, parse_calls
from training_worker.prove.rollout import demonstration
from training_worker.prove.synthesis.conversation import TRIES, make
from training_worker.prove.synthesis.endpoint import Endpoint, EndpointFailed
from training_worker.prove.synthesis.language_model import LanguageModel
from training_worker.prove.synthesis.recipes import PLANS
from training_worker.prove.synthesis.validate import holds
from training_worker.prove.trajectory import Example, Kind

# One persona: the programmatic teacher draws from the same stream as the model's lesson, so both get the same task.
RECIPE = replace(
    PLANS["1k"].recipe, size="small", knobs=replace(PLANS["1k"].recipe.knobs, recovery=0.0, dates=0.0, goals=False)
)


def taught(index: int, graph: nx.DiGraph, endpoint: Endpoint, kind: Kind = "chain") -> tuple[Example | None, list[str]]:
    return make(index, "train", graph, RECIPE, kind, teach=lambda lesson: LanguageModel(lesson, endpoint))


def call_sent(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": "call", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def playing(example: Example) -> Answering:
    """A model that plays a conversation over again, both its sides; it has no more to say than that."""
    said = [message.content for message in demonstration(example) if message.role == "assistant"]
    words, moves = iter(example.turns), iter(said)

    def answer(asked: Asked) -> dict[str, Any] | str:
        if "tools" not in asked:
            return json.dumps({"text": next(words, "Thanks, that is all.")})
        text = next(moves, "You are welcome.")
        calls = [call_sent(call.name, call.arguments or {}) for call in parse_calls(text)]
        return {"content": CALL.sub("", text).strip(), "tool_calls": calls}

    return answer


def conversations(graph: nx.DiGraph, kind: Kind) -> Iterator[tuple[int, Example]]:
    """Those that came of the first draw, so that a model gets the same task, world and length."""
    for index in range(400):
        example, dropped = make(index, "train", graph, RECIPE, kind)
        if example and not dropped and len(example.turns) >= 2 - example.abstains:
            yield index, example


@pytest.mark.parametrize("kind", ["chain", "missing_function", "irrelevance"])
def test_what_a_good_model_plays_is_a_conversation_that_holds(
    kind: Kind, graph: nx.DiGraph, serve: Serve, tmp_path: Path
) -> None:
    played = 0
    for (index, example), _ in zip(conversations(graph, kind), range(6), strict=False):
        served = serve(playing(example))
        with Endpoint(served.settings(tmp_path / str(index))) as endpoint:
            again, dropped = taught(index, graph, endpoint, kind)
        assert again is not None and not dropped
        holds(again)
        steps = len(again.steps)  # fewer than it could play where it was to have fewer turns
        assert again.steps == example.steps[:steps] and again.digests == example.digests[: steps + 1]
        assert again.turns[0] == example.turns[0] and again.level == example.level and again.kind == kind
        played += steps == len(example.steps)
    assert played >= 2


def test_users_are_told_of_entities_and_wishes_and_of_no_tool_by_name(
    graph: nx.DiGraph, serve: Serve, tmp_path: Path
) -> None:
    index, example = next(conversations(graph, "chain"))
    served = serve(playing(example))
    with Endpoint(served.settings(tmp_path)) as endpoint:
        taught(index, graph, endpoint)
    opening, first = served.asked[0]["messages"], served.asked[1]
    assert "What there is: {" in opening[1]["content"]
    assert not any(name in opening[1]["content"] for name in example.candidates if "_" in name)
    assert [tool["function"]["name"] for tool in first["tools"]] == list(example.candidates)
    assert first["messages"][-1] == {"role": "user", "content": example.turns[0]}


USELESS = [
    "I am a teapot",
    json.dumps({"text": ""}),
    json.dumps({"text": "Please call transfer_money for me."}),
    json.dumps({"text": "x" * 5_000}),
]


@pytest.mark.parametrize("text", USELESS)
def test_a_model_with_no_words_for_the_user_is_dropped_with_the_reason(
    text: str, graph: nx.DiGraph, serve: Serve, tmp_path: Path
) -> None:
    with Endpoint(serve(lambda asked: text).settings(tmp_path)) as endpoint:
        example, dropped = taught(0, graph, endpoint)
    assert example is None and len(dropped) == TRIES
    assert all(reason.startswith(("Stuck: The user's words are no good", "NothingFits")) for reason in dropped)


HOSTILE = [
    [call_sent("rm_rf", {})],
    [call_sent("list_accounts", {"limit": "NaN"})],
    [{"function": {"name": "list_accounts", "arguments": "{"}}],
    [{"function": {"name": None, "arguments": 7}}],
    ["not a call"],
    [call_sent("list_accounts", {"x": "[" * 50})] * 30,
]


@pytest.mark.parametrize("calls", HOSTILE)
def test_whatever_calls_a_model_makes_nothing_breaks(
    calls: list[Any], graph: nx.DiGraph, serve: Serve, tmp_path: Path
) -> None:
    def answer(asked: Asked) -> dict[str, Any] | str:
        return {"content": "", "tool_calls": calls} if "tools" in asked else json.dumps({"text": "List my accounts."})

    with Endpoint(serve(answer).settings(tmp_path)) as endpoint:
        example, dropped = taught(0, graph, endpoint)
    assert example is None and {reason.split(":")[0] for reason in dropped} <= {"Stuck", "Rejected", "NothingFits"}


def test_values_that_a_model_makes_up_drop_the_conversation(graph: nx.DiGraph, serve: Serve, tmp_path: Path) -> None:
    index, example = next(
        (index, example)
        for index, example in conversations(graph, "chain")
        if any(value.startswith("ACC-") for value in map(str, values(example)) if value in example.turns[0])
    )
    silent = replace(example, turns=tuple("Do what has to be done." for _ in example.turns))
    with Endpoint(serve(playing(silent)).settings(tmp_path)) as endpoint:
        again, dropped = taught(index, graph, endpoint)
    assert again is None and "that nobody gave" in dropped[0]


def values(example: Example) -> Iterator[Any]:
    return chain.from_iterable((call.arguments or {}).values() for step in example.steps for call in step.calls)


def test_an_endpoint_that_fails_is_no_fault_of_a_conversation(graph: nx.DiGraph, serve: Serve, tmp_path: Path) -> None:
    with (
        Endpoint(serve(lambda asked: Response("gone", 503)).settings(tmp_path)) as endpoint,
        pytest.raises(EndpointFailed, match="HTTP 503"),
    ):
        taught(0, graph, endpoint)
