"""A policy in its own process gives the same answer at any time, and says when a conversation is too long."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from training_worker.chat.formats import HERMES
from training_worker.core.models import SHIPPED
from training_worker.core.trajectory import Message
from training_worker.evaluation.checkpoint_policy import Local, NoPolicy
from training_worker.evaluation.protocol import Item, NotRun, OutOfRoom
from training_worker.policy.models import weights_digest
from training_worker.policy.policy_folder import load_policy
from training_worker.training.policy_server import ChatRequest, PolicyServer, shorten_digest

PARAMETERS = {"type": "object", "properties": {"location": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather.", "parameters": PARAMETERS}}]
TALKS = [[Message("user", f"What is the weather in {city}?")] for city in ("Oslo", "Rome", "Bonn", "Nice", "Porto")]
PROMPT = TALKS[0]


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with Local(SHIPPED, temperature=1.0, answer=24) as local:
        yield local


def test_the_same_conversation_is_answered_alike_whatever_came_between(local: Local) -> None:
    policy = local.policy()
    first, again = (policy.speak(Item("a", "b")) for _ in range(2))
    said = first.reply(PROMPT, TOOLS)
    other = [*PROMPT, Message("assistant", said), Message("user", "And in Rome?")]
    assert first.reply(other, []) == again.reply(other, [])
    assert again.reply(PROMPT, TOOLS) == said
    assert first.tokens == again.tokens > 0
    assert policy.format is HERMES and policy.sampling["weights"] == shorten_digest(weights_digest(SHIPPED))


def test_a_conversation_that_is_longer_than_the_model_reads_is_its_own_limit(local: Local) -> None:
    model = local.policy().speak(Item("a", "b"))
    with pytest.raises(OutOfRoom, match="the model reads 4,096"):
        model.reply([Message("user", "weather " * 5000)], TOOLS)
    assert model.reply(PROMPT, TOOLS)  # it goes on with the next one


def test_further_trials_draw_otherwise_and_each_alike_every_time(local: Local) -> None:
    def said(trial: int) -> str:
        return local.policy().speak(Item("a", "b", trial)).reply([Message("user", "of of 7 the")], [])

    texts = [said(trial) for trial in range(1, 7)]
    assert len(set(texts)) > 1 and [said(trial) for trial in range(1, 7)] == texts


def test_those_that_wait_together_are_answered_as_each_alone(local: Local) -> None:
    model = local.policy().speak(Item("a", "b"))
    alone = [model.reply(messages, TOOLS) for messages in TALKS]
    with ThreadPoolExecutor(len(TALKS)) as pool:
        for _ in range(3):
            assert list(pool.map(lambda messages: model.reply(messages, TOOLS), TALKS)) == alone


def test_a_greedy_batch_is_answered_as_each_of_it_alone() -> None:
    speaking = PolicyServer(load_policy(SHIPPED), temperature=0.0, answer=24)
    requests = [ChatRequest(number, messages, TOOLS) for number, messages in enumerate(TALKS)]
    alone = [reply for one in requests for reply in speaking.replies([one])]
    assert sorted(speaking.replies(requests), key=lambda reply: reply["id"]) == alone


def test_a_folder_without_a_policy_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoPolicy, match="cannot be evaluated"):
        Local(tmp_path)


def test_an_adapter_is_known_by_its_own_weights_and_those_beneath_it(tmp_path: Path) -> None:
    found = {weights_digest(SHIPPED)}
    beneath = SHIPPED
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "adapter_model.safetensors").write_bytes(b"weights")
        (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(beneath)}))
        found.add(weights_digest(folder))
        beneath = folder
    assert len(found) == 3


def test_a_caller_gets_an_error_when_the_process_of_the_model_has_ended(local: Local) -> None:
    """The last of these tests, for there is one process for all."""
    model = local.policy().speak(Item("a", "b"))
    assert model.reply(PROMPT, TOOLS)
    local.process.kill()
    with pytest.raises(NotRun, match="ended unexpectedly"):
        model.reply(PROMPT, TOOLS)
