"""Rollouts of a model behind a chat endpoint: a failure of the endpoint is not the policy's, a malformed call is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from tests.prove.serving import Serve, completion
from training_worker.core.trajectory import Rollout, ToolCall
from training_worker.endpoint import Endpoint
from training_worker.rollout.backends.endpoint import EndpointBackend
from training_worker.rollout.generate import generate_text_rollouts

from .live import EXAMPLE, LIST


def answering(*messages: Any) -> Callable[[dict[str, Any]], Any]:
    left = iter(messages)
    return lambda request: next(left, "Done.")


@pytest.fixture
def rollouts_and_requests(serve: Serve, tmp_path: Path) -> Iterator[Callable[..., tuple[list[Rollout], Any]]]:
    """Generate rollouts with an endpoint that gives these answers. Return them with the requests that it got."""
    opened = []

    def generate(answers: Callable[[dict[str, Any]], Any], n: int = 1, style: Any = "tools", **more: Any) -> Any:
        there = serve(answers)
        opened.append(Endpoint(there.settings(tmp_path, parallel=1, **more)))
        return generate_text_rollouts(EndpointBackend(opened[-1], style), [EXAMPLE], n)[0], there.requests

    yield generate
    for endpoint in opened:
        endpoint.close()


def called(name: str, arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}]}


def test_a_model_behind_an_endpoint_has_rollouts_in_the_live_world(rollouts_and_requests: Any) -> None:
    [one], requests = rollouts_and_requests(answering(called("list_accounts", "{}"), "Here they are."))
    assert [message.role for message in one.transcript] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert one.calls[0].level == 3 and one.end == "answered" and one.reward is not None
    assert [tool["function"]["name"] for tool in requests[0]["tools"]] == list(EXAMPLE.candidates)
    assert [message["role"] for message in requests[2]["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


def test_a_server_that_knows_no_tools_gets_them_in_the_system_message(rollouts_and_requests: Any) -> None:
    [one], requests = rollouts_and_requests(answering(f"One moment. {LIST}\n{LIST}"), style="prompt")
    assert [call.level for call in one.calls] == [3, 3] and "tools" not in requests[0]
    first, *rest = requests[1]["messages"]
    assert first["role"] == "system" and all(name in first["content"] for name in EXAMPLE.candidates)
    assert [message["role"] for message in rest] == ["user", "assistant", "user"]
    assert rest[2]["content"].count("<tool_response>") == 2


@pytest.mark.parametrize("call", [called("list_accounts", "{"), called("list_accounts", "[1]"), f"{LIST[:-15]}"])
def test_a_malformed_call_behind_an_endpoint_is_the_policys(call: Any, rollouts_and_requests: Any) -> None:
    [one], _ = rollouts_and_requests(answering(call))
    assert one.valid and one.calls[0].level == 0 and one.calls[0].call == ToolCall("", None)
    assert json.loads(one.calls[0].observation)["error"] == "malformed_call"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (JSONResponse({"error": "slow down"}, 429), "it is rate-limiting requests"),
        (JSONResponse({"error": "broken"}, 500), "it answers HTTP 500"),
        (Response("<html>", media_type="application/json"), "no chat completion"),
    ],
)
def test_an_endpoint_that_fails_ends_the_attempt_without_a_reward(
    answer: Response, reason: str, rollouts_and_requests: Any
) -> None:
    [one], _ = rollouts_and_requests(answering(called("list_accounts", "{}"), answer))
    assert (one.end, one.failed_at, one.reward) == ("infrastructure", "infrastructure", None)
    assert reason in one.error and len(one.calls) == 1


def test_a_turn_that_an_endpoint_cut_runs_no_call(rollouts_and_requests: Any) -> None:
    [one], _ = rollouts_and_requests(lambda request: JSONResponse(completion({"content": LIST}, "length")))
    assert (one.end, one.failed_at, [call.level for call in one.calls]) == ("tokens", "policy", [0])


def test_the_samples_of_one_example_are_requested_one_by_one_and_never_twice(rollouts_and_requests: Any) -> None:
    made, requests = rollouts_and_requests(answering("One.", "1", "Two.", "2", "Three.", "3"), n=3)
    said = sorted(one.transcript[1].content for one in made)
    assert len(requests) == 6 and len(set(said)) == 3
    again, requests = rollouts_and_requests(answering(), n=3)
    assert sorted(one.transcript[1].content for one in again) == said and requests == []
