"""Requests for JSON: text around the JSON is ignored, and an answer that does not fit is requested again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.responses import JSONResponse

from tests.prove.serving import Serve, Served, completion
from training_worker.core.trajectory import Message
from training_worker.endpoint import Endpoint
from training_worker.endpoint.structured_output import CUT, NOT_JSON, Answer, request_json, without_thoughts


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>a</think>b<think>c\n</think>d", "bd"),
        ("a<think>b<think>c</think>d</think>e", "ad</think>e"),
        ("a</think>b<think>c", "a</think>b<think>c"),
        ("<think>" * 20_000, "<think>" * 20_000),
    ],
)
def test_thoughts_are_left_out_where_they_begin_and_end(text: str, left: str) -> None:
    assert without_thoughts(text) == left


@dataclass(frozen=True)
class Age:
    years: int


def ask_age(there: Served, cache: Path, fault: Callable[[Age], str] = lambda age: "") -> Answer[Age]:
    with Endpoint(there.settings(cache)) as endpoint:
        return request_json(endpoint, [Message("user", "How old?")], Age, fault)


@pytest.mark.parametrize(
    "text",
    [
        '{"years": 7}',
        'Sure! Here it is:\n```json\n{"years": 7}\n```\nAnything else?',
        '<think>{"years": 8}? No.</think>{"years": 7}',
    ],
)
def test_the_object_is_found_in_what_a_model_writes(text: str, serve: Serve, tmp_path: Path) -> None:
    assert ask_age(serve(lambda body: text), tmp_path) == Answer(Age(7))


@pytest.mark.parametrize("text", ["", "seven", "{", '{"years": "old"}', "[7]", '{"years": ' + "[" * 50_000, "}{"])
def test_text_that_does_not_fit_is_requested_three_times_with_the_reason(
    text: str, serve: Serve, tmp_path: Path
) -> None:
    there = serve(lambda body: text)
    assert ask_age(there, tmp_path) == Answer(None, NOT_JSON)
    assert [len(body["messages"]) for body in there.requests] == [1, 3, 5]
    assert there.requests[1]["messages"][1] == {"role": "assistant", "content": text or "(nothing)"}
    assert NOT_JSON in there.requests[1]["messages"][2]["content"]


def test_what_is_cut_off_does_not_count_even_if_it_reads_well(serve: Serve, tmp_path: Path) -> None:
    there = serve(lambda body: JSONResponse(completion({"content": '{"years": 7}'}, "length")))
    assert ask_age(there, tmp_path) == Answer(None, CUT)


def test_a_fault_is_sent_to_the_model_until_it_is_gone(serve: Serve, tmp_path: Path) -> None:
    there = serve(lambda body: f'{{"years": {len(body["messages"])}}}')
    assert ask_age(there, tmp_path, lambda age: "" if age.years > 1 else f"too young: {age.years}") == Answer(Age(3))
    assert "too young: 1" in there.requests[1]["messages"][2]["content"]
