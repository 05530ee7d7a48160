"""The endpoint over real sockets: what is sent and read, what is never paid for twice, and every way it can fail."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from tests.prove.serving import MODEL, Answering, Serve, Served, completion
from training_worker.chat.protocol import MAX_DEPTH, write_calls
from training_worker.chat.schemas import tool_schema
from training_worker.core.trajectory import Message, ToolCall
from training_worker.endpoint import Endpoint, EndpointFailed, Settings, TooLong
from training_worker.endpoint.client import MOST_BYTES
from training_worker.endpoint.messages import Reply
from training_worker.endpoint.settings import from_environment

HELLO = [Message("user", "Hello")]
KEY = "sk-very-secret-key"
MALFORMED = ToolCall("", None)


def reply(there: Served, cache: Path, messages: list[Message] = HELLO, **more: Any) -> Reply:
    with Endpoint(there.settings(cache, **more)) as endpoint:
        return endpoint.chat(messages)


def after(failures: list[Response]) -> Answering:
    """Return an endpoint that fails in these ways and then answers."""
    left = iter(failures)
    return lambda request: next(left, "Good.")


def test_a_text_is_requested_and_returned(serve: Serve, tmp_path: Path) -> None:
    there = serve(lambda request: "Good day.")
    assert reply(there, tmp_path, key=KEY, answer=99) == Reply("Good day.")
    assert there.requests == [
        {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "max_completion_tokens": 99}
    ]
    assert there.headers[0]["authorization"] == f"Bearer {KEY}"


def test_tools_calls_and_their_answers_are_sent_in_the_form_of_the_api(serve: Serve, tmp_path: Path) -> None:
    called = {"content": None, "tool_calls": [called_by("get_balance", '{"account": "ACC-1"}')]}
    talk = [
        *HELLO,
        Message("assistant", "One moment. " + write_calls([ToolCall("list_accounts", {}), MALFORMED])),
        Message("tool", "[1]"),
        Message("tool", "[2]"),
    ]
    tools = [tool_schema("list_accounts")]
    there = serve(lambda request: called)
    with Endpoint(there.settings(tmp_path)) as endpoint:
        assert endpoint.chat(talk, tools) == Reply("", (ToolCall("get_balance", {"account": "ACC-1"}),))
    assert there.requests[0]["tools"] == tools
    assert there.requests[0]["messages"][1:] == [
        {
            "role": "assistant",
            "content": "One moment.",
            "tool_calls": [
                {"id": "call_1_0", "type": "function", "function": {"name": "list_accounts", "arguments": "{}"}},
                {"id": "call_1_1", "type": "function", "function": {"name": "malformed_call", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1_0", "content": "[1]"},
        {"role": "tool", "tool_call_id": "call_1_1", "content": "[2]"},
    ]


def called_by(name: Any, arguments: Any) -> dict[str, Any]:
    return {"id": "x", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    "call",
    [
        called_by("pay", "{not json"),
        called_by("pay", '{"amount": NaN}'),
        called_by("pay", '{"amount": 1e999}'),
        called_by("pay", "[1, 2]"),
        called_by("pay", '"text"'),
        called_by("pay", None),
        called_by("pay", '{"a": ' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + "}"),
        called_by("pay", "[" * 100_000),
        called_by("pay", '{"a": "\\ud800"}'),
        called_by(7, "{}"),
        {"function": "pay"},
        "pay",
        None,
    ],
)
def test_a_hostile_call_comes_back_as_a_malformed_one(serve: Serve, call: Any, tmp_path: Path) -> None:
    there = serve(lambda request: {"tool_calls": [call]})
    assert reply(there, tmp_path) == Reply("", (MALFORMED,))


def test_a_call_of_a_tool_that_was_not_offered_keeps_its_name_for_the_validator(serve: Serve, tmp_path: Path) -> None:
    there = serve(lambda request: {"tool_calls": [called_by("__import__", "{}"), called_by("pay", "")]})
    assert reply(there, tmp_path).calls == (ToolCall("__import__", {}), ToolCall("pay", {}))


def test_calls_that_a_server_leaves_in_the_text_are_read_there(serve: Serve, tmp_path: Path) -> None:
    calls = (ToolCall("pay", {"amount": 1}),)
    there = serve(lambda request: "So be it. " + write_calls(calls))
    assert reply(there, tmp_path) == Reply("So be it.", calls)


def test_an_answer_cut_by_the_limit_of_tokens_says_so(serve: Serve, tmp_path: Path) -> None:
    there = serve(lambda request: JSONResponse(completion({"content": "Half a"}, "length")))
    assert reply(there, tmp_path) == Reply("Half a", complete=False)


def test_nothing_is_paid_for_twice(serve: Serve, tmp_path: Path) -> None:
    numbers = count()
    there = serve(lambda request: f"Answer {next(numbers)}")
    first = reply(there, tmp_path)
    assert reply(there, tmp_path) == first and len(there.requests) == 1
    assert reply(there, tmp_path, model="another") != first
    assert reply(there, tmp_path, answer=100) != first
    assert reply(there, tmp_path, [Message("user", "Hello?")]) != first
    with Endpoint(there.settings(tmp_path)) as endpoint:
        assert endpoint.chat(HELLO, [tool_schema("list_accounts")]) != first
        assert endpoint.requests == 1 and endpoint.spent == 10
    assert len(there.requests) == 5


def test_threads_that_ask_the_same_get_the_same_answer(serve: Serve, tmp_path: Path) -> None:
    numbers = count()
    there = serve(lambda request: f"Answer {next(numbers)}")
    with Endpoint(there.settings(tmp_path)) as endpoint, ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: endpoint.chat(HELLO), range(8)))) == 1
    before = len(there.requests)
    reply(there, tmp_path)
    assert len(there.requests) == before


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
def test_a_temporary_failure_is_retried_when_the_server_says_and_each_try_counts_for_the_rate(
    serve: Serve, status: int, tmp_path: Path
) -> None:
    again = Response(status_code=status, headers={"Retry-After": "0.01"})
    there = serve(after([again, again]))
    with Endpoint(there.settings(tmp_path, retries=2, per_minute=1000)) as endpoint:
        assert endpoint.chat(HELLO) == Reply("Good.")
        assert endpoint.limiter is not None and endpoint.limiter.buckets()[0].count() == 3
    assert len(there.requests) == 3


async def never() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(0.02)


async def late() -> AsyncIterator[bytes]:
    await asyncio.sleep(30)
    yield b""


FAILURES = {
    "401": (lambda: Response(f"No such key: {KEY}", 401), r"refuses the key \(HTTP 401.*set PROVE_LLM_KEY"),
    "403": (lambda: Response(status_code=403), r"refuses the key \(HTTP 403"),
    "404": (lambda: Response("no model scripted", 404), r"HTTP 404: no model.*PROVE_LLM_MODEL"),
    "400": (lambda: Response("context too long", 400), r"HTTP 400: context too long"),
    "redirect": (lambda: RedirectResponse("http://example.org/"), r"HTTP 307"),
    "429": (
        lambda: Response(headers={"Retry-After": "0.01"}, status_code=429),
        r"rate-limiting requests, tried 2 times",
    ),
    "500": (lambda: Response(headers={"Retry-After": "0.01"}, status_code=500), r"HTTP 500: nothing"),
    "html": (lambda: Response("<html>\n\x1b[31mWelcome"), r"no chat completion: <html> \[31mWelcome"),
    "half": (lambda: Response('{"choices": [{"mess'), r"no chat completion"),
    "no choice": (lambda: JSONResponse({"choices": []}), r"no chat completion"),
    "another form": (lambda: JSONResponse(completion({"content": {"a": 1}})), r"no chat completion"),
    "deep": (lambda: Response("[" * 200_000), r"no chat completion"),
    "bytes": (lambda: Response(b"\xff\xfe\x00"), r"no chat completion"),
    "huge": (lambda: Response(b" " * (MOST_BYTES + 1)), rf"more than {MOST_BYTES:,} bytes"),
    "huge error": (lambda: Response(b" " * (MOST_BYTES + 1), 400), rf"more than {MOST_BYTES:,} bytes"),
    "bomb": (lambda: Response(gzip.compress(b" " * 99), headers={"Content-Encoding": "gzip"}), r"compresses"),
    "slow": (lambda: StreamingResponse(late()), r"did not answer within 0.2 s, 2 times; raise PROVE_LLM_TIMEOUT"),
    "trickle": (lambda: StreamingResponse(never()), r"did not answer within 0.2 s"),
}


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"code": "context_length_exceeded", "message": "Your input exceeds the context window."}},
        {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested"},
        {"error": {"message": "The input (9000 tokens) is longer than the model's context length (4096 tokens)."}},
        {"error": {"type": "exceed_context_size_error", "message": "the request exceeds the available context size"}},
        {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."},
    ],
)
def test_a_conversation_longer_than_the_model_reads_has_its_own_error(
    serve: Serve, said: object, tmp_path: Path
) -> None:
    there = serve(lambda request: JSONResponse(said, 400))
    with Endpoint(there.settings(tmp_path)) as endpoint, pytest.raises(TooLong, match="exceeds the context"):
        endpoint.chat([Message("user", "?")], [])
    there = serve(lambda request: JSONResponse(said, 500, headers={"Retry-After": "0.01"}))
    with Endpoint(there.settings(tmp_path, retries=0)) as endpoint:
        with pytest.raises(EndpointFailed) as raised:
            endpoint.chat([Message("user", "?")], [])
        assert not isinstance(raised.value, TooLong), "what fails on the other side is not the model's limit"


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_is_one_line_with_its_remedy_and_is_not_stored(serve: Serve, kind: str, tmp_path: Path) -> None:
    answer, message = FAILURES[kind]
    limit = {"timeout": 0.2} if kind in ("slow", "trickle") else {}
    there = serve(lambda request: answer())
    with Endpoint(there.settings(tmp_path, retries=1, key=KEY, **limit)) as endpoint:
        with pytest.raises(EndpointFailed, match=message) as failed:
            endpoint.chat(HELLO)
        assert endpoint.answers.table.execute("SELECT count(*) FROM answers").fetchone() == (0,)
    assert str(failed.value).isprintable() and len(str(failed.value)) < 600
    assert there.url in str(failed.value) and KEY not in str(failed.value)


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"


def test_an_endpoint_that_is_down_is_named(nobody: str, tmp_path: Path) -> None:
    message = rf"{nobody}: it cannot be reached, tried 2 times: .*is it running\?"
    down = Settings(url=nobody, model=MODEL, cache=tmp_path, retries=1)
    with Endpoint(down) as endpoint, pytest.raises(EndpointFailed, match=message):
        endpoint.chat(HELLO)


def test_the_budget_ends_the_work_and_a_larger_one_goes_on(serve: Serve, tmp_path: Path) -> None:
    there = serve(lambda request: "Good.")
    talks = [[Message("user", str(number))] for number in range(4)]
    with Endpoint(there.settings(tmp_path, tokens=15)) as endpoint:
        with pytest.raises(EndpointFailed, match=r"budget of 15 tokens is spent; raise PROVE_LLM_TOKENS"):
            [endpoint.chat(talk) for talk in talks]
        assert endpoint.spent == 20
        assert endpoint.chat(talks[0]) == Reply("Good."), "what was answered before costs nothing"
    with Endpoint(there.settings(tmp_path, tokens=25)) as endpoint:
        assert [endpoint.chat(talk) for talk in talks] == [Reply("Good.")] * 4
    assert len(there.requests) == 4


@pytest.mark.parametrize("usage", [None, {}, {"total_tokens": -5}, {"total_tokens": "many"}, []])
def test_tokens_are_estimated_where_a_server_does_not_count_them(serve: Serve, usage: Any, tmp_path: Path) -> None:
    body = completion({"content": "Good."}) | {"usage": usage}
    there = serve(lambda request: JSONResponse(body))
    with Endpoint(there.settings(tmp_path)) as endpoint:
        endpoint.chat(HELLO)
        assert endpoint.spent > 0


def test_a_spoiled_file_of_answers_is_named(tmp_path: Path) -> None:
    settings = Settings(url="http://127.0.0.1:9/v1", model=MODEL, cache=tmp_path)
    (tmp_path / "answers.sqlite3").write_bytes(b"no table at all, " * 99)
    with pytest.raises(EndpointFailed, match=r"answers.sqlite3 cannot be used .*PROVE_LLM_CACHE"):
        Endpoint(settings)
    with pytest.raises(EndpointFailed, match=r"PROVE_LLM_CACHE"):
        Endpoint(replace(settings, cache=tmp_path / "answers.sqlite3" / "below"))


def test_settings_come_from_the_environment(tmp_path: Path) -> None:
    given = {"PROVE_LLM_URL": "http://localhost:8000/v1", "PROVE_LLM_MODEL": "m", "PROVE_LLM_KEY": KEY}
    settings = from_environment({**given, "PROVE_LLM_PER_MINUTE": "30", "PROVE_LLM_TIMEOUT": ""}, tmp_path)
    assert settings == Settings(url="http://localhost:8000/v1", model="m", key=KEY, per_minute=30, cache=tmp_path)
    assert KEY not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("URL", "localhost:8000"),
        ("URL", "http://[::1/v1"),
        ("KEY", "schlüssel und mehr"),
        ("PER_MINUTE", "-1"),
        ("TOKENS", "many"),
        ("TIMEOUT", "nan"),
        ("TIMEOUT", "0"),
        ("PARALLEL", "0"),
        ("RETRIES", "1.5"),
    ],
)
def test_a_setting_that_makes_no_sense_names_itself(variable: str, value: str) -> None:
    given = {"PROVE_LLM_URL": "http://localhost/v1", "PROVE_LLM_MODEL": "m", f"PROVE_LLM_{variable}": value}
    with pytest.raises(EndpointFailed, match=f"PROVE_LLM_{variable} is invalid: it is the ") as failed:
        from_environment(given)
    assert "\n" not in str(failed.value) and "schlüssel" not in str(failed.value)


def test_without_an_address_or_a_model_there_is_no_endpoint() -> None:
    for given in ({}, {"PROVE_LLM_URL": "http://localhost/v1"}, {"PROVE_LLM_MODEL": "m"}):
        with pytest.raises(EndpointFailed, match=r"set PROVE_LLM_URL to its address and PROVE_LLM_MODEL"):
            from_environment(given)


def test_a_tool_message_that_answers_no_call_is_a_mistake_of_ours(tmp_path: Path) -> None:
    settings = Settings(url="http://127.0.0.1:9/v1", model=MODEL, cache=tmp_path)
    with Endpoint(settings) as endpoint, pytest.raises(ValueError, match="Message 1 answers no call"):
        endpoint.chat([*HELLO, Message("tool", "{}")])
