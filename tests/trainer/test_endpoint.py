"""The endpoint against a real one: `transformers serve` with the small model that comes with the project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from training_worker.chat.schemas import tool_schema
from training_worker.core.models import SHIPPED
from training_worker.core.trajectory import Message, ToolCall
from training_worker.endpoint import Endpoint, EndpointFailed, Settings
from training_worker.synthesis.language_model import write_texts

from .double import example

pytestmark = pytest.mark.long  # Transformers' server takes half a minute to start
UP = re.compile(r"running on (http://127\.0\.0\.1:\d+)")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the model is served; one process for all tests."""
    home = tmp_path_factory.mktemp("serving")
    command = [Path(sys.executable).with_name("transformers"), "serve", SHIPPED, "--host", "127.0.0.1"]
    command += ["--port", "0", "--device", "cpu"]
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    log = home / "log"
    with log.open("wb") as file, subprocess.Popen(command, env=environment, stderr=file, stdout=file) as process:
        try:
            yield f"{address(process, log)}/v1"
        finally:
            process.kill()


def address(process: subprocess.Popen[bytes], log: Path) -> str:
    """What it says when it is up; after two minutes it is taken to be broken."""
    for _ in range(1200):
        if found := UP.search(log.read_text("utf-8", "replace")):
            return found[1]
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            break
    raise AssertionError(log.read_text("utf-8", "replace"))


def settings(url: str, cache: Path, model: str = str(SHIPPED)) -> Settings:
    return Settings(url=url, model=model, cache=cache, answer=60, retries=1)


def test_a_real_model_calls_a_tool_and_is_not_queried_twice(url: str, tmp_path: Path) -> None:
    request = [Message("user", "List my accounts.")], [tool_schema("list_accounts"), tool_schema("list_cards")]
    with Endpoint(settings(url, tmp_path)) as endpoint:
        reply = endpoint.chat(*request)
        assert reply.calls == (ToolCall("list_accounts", {}),)
        assert endpoint.requests == 1 and endpoint.spent > 20
    with Endpoint(settings("http://127.0.0.1:9/v1", tmp_path)) as elsewhere, pytest.raises(EndpointFailed):
        elsewhere.chat(*request)
    with Endpoint(settings(url, tmp_path)) as endpoint:
        assert endpoint.chat(*request) == reply
        assert endpoint.requests == endpoint.spent == 0


def test_a_conversation_with_calls_and_answers_is_understood(url: str, tmp_path: Path) -> None:
    call = '<tool_call>\n{"name": "list_accounts", "arguments": {}}\n</tool_call>'
    talk = [Message("user", "List my accounts."), Message("assistant", call), Message("tool", "[]")]
    with Endpoint(settings(url, tmp_path)) as endpoint:
        reply = endpoint.chat(talk, [tool_schema("list_accounts")])
    assert reply.text or reply.calls


def test_a_real_model_that_cannot_write_leaves_the_script(url: str, tmp_path: Path) -> None:
    left = 0
    for scripted in map(example, range(6)):
        with Endpoint(
            settings(url, tmp_path / scripted.id)
        ) as endpoint:  # two of them ask the same, and replies are cached
            try:
                worded = write_texts(scripted, endpoint, tries=1)
            except EndpointFailed as failed:  # `transformers serve` fails at malformed calls
                assert "HTTP 500" in str(failed)
                continue
            assert endpoint.requests == len(worded.wording) == len(scripted.turns) + len(scripted.answers)
        assert replace(worded, wording=()) == scripted and not {"user: model", "assistant: model"} & {*worded.wording}
        left += 1
    assert left


def test_a_model_that_is_not_there_is_named(url: str, tmp_path: Path) -> None:
    with (
        Endpoint(settings(url, tmp_path, "no-such-model")) as endpoint,
        pytest.raises(EndpointFailed, match=r"HTTP 400: .*no-such-model.*PROVE_LLM_MODEL right"),
    ):
        endpoint.chat([Message("user", "Hello")])
