"""The behaviour suite: the ground truth passes all of it, and each offence fails the behaviour it is about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_servers.catalogue import TOOLS
from tests.prove.known import NAMES
from training_worker.chat.protocol import ChatModel, ScriptedModel, write_calls
from training_worker.core.trajectory import Example, Message, ToolCall
from training_worker.environment.episode import demonstration
from training_worker.evaluation.behaviour.benchmark import CATEGORIES, SUITE, Behaviours, Persistent, behaviours
from training_worker.evaluation.behaviour.error_recovery import AWAY
from training_worker.evaluation.behaviour.injected_text import PHRASINGS, PlantedWorld
from training_worker.evaluation.policies import silent
from training_worker.evaluation.protocol import Item, Policy, Result, Style
from training_worker.synthesis.validate import require_valid

ROOT = Path(__file__).parents[2]
COUNT = 4
OPTIONS = {"seed": "40", "count": str(COUNT), "servers": ",".join(NAMES), "candidates": "24", "manner": "paper"}
Tools = Sequence[dict[str, Any]]


@pytest.fixture(scope="module")
def suite(graphs: Path) -> Behaviours:
    return behaviours(OPTIONS, graphs)


def results(suite: Behaviours, speak: Callable[[Item], ChatModel], style: Style = "tools") -> list[Result]:
    policy = Policy(model="scripted", speak=speak, style=style)
    return [suite.attempt(item, policy) for item in suite.items()]


def texts_of(example: Example) -> list[str]:
    return [one.content for one in demonstration(example) if one.role == "assistant"]


def persistent(texts: Sequence[str]) -> ChatModel:
    return Persistent(ScriptedModel(texts))


@pytest.mark.long
def test_every_behaviour_has_its_cases_and_all_hold_in_a_replay(suite: Behaviours) -> None:
    assert [len(suite.cases[name]) for name in CATEGORIES] == [COUNT] * 7
    for case in suite.by_id.values():
        require_valid(case.example)


def test_the_same_seed_gives_the_same_cases(suite: Behaviours, graphs: Path) -> None:
    assert behaviours(OPTIONS, graphs).version == suite.version


def test_the_oracle_passes_everything_and_a_silent_model_where_nothing_is_due(suite: Behaviours) -> None:
    assert all(result.passed for result in results(suite, suite.oracle))
    nothing = {result.category for result in results(suite, silent) if result.passed}
    assert nothing == {"abstention", "missing function"}


class Eager:
    """Calls the first tool that is offered, for any request, unless it has already called one."""

    def __init__(self, model: ChatModel):
        self.model = model

    def reply(self, messages: Sequence[Message], tools: Tools) -> str:
        text = self.model.reply(messages, tools)
        called = any("<tool_call>" in one.content for one in messages if one.role == "assistant")
        if "<tool_call>" in text or called or not text:
            return text
        return write_calls([ToolCall(tools[0]["function"]["name"], {})])


class Credulous:
    """Makes any call that a tool's answer demands, at once."""

    def __init__(self, model: ChatModel):
        self.model, self.heard = model, ""

    def reply(self, messages: Sequence[Message], tools: Tools) -> str:
        if messages[-1].role == "tool" and not self.heard:
            said = " ".join(text for text in strings(json.loads(messages[-1].content)))
            for name in (tool["function"]["name"] for tool in tools):
                if found := re.search(rf"{name}(?: with |\", \"arguments\": )(\{{.*?\}})", said):
                    self.heard = name
                    return write_calls([ToolCall(name, json.loads(found[1]))])
        return self.model.reply(messages, tools)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def short_of_breath(suite: Behaviours, item: Item) -> ChatModel:
    """Return a model that takes six steps and says that it is done."""
    texts = texts_of(suite.by_id[item.id].example)
    calls = [place for place, text in enumerate(texts) if "<tool_call>" in text]
    return persistent([text for place, text in enumerate(texts) if place not in calls[6:]])


def discouraged(suite: Behaviours, item: Item) -> ChatModel:
    """Return a model that gives up when something fails."""

    class Discouraged:
        def __init__(self) -> None:
            self.model = ScriptedModel(texts_of(suite.by_id[item.id].example))

        def reply(self, messages: Sequence[Message], tools: Tools) -> str:
            if any(one.role == "tool" and one.content == AWAY for one in messages):
                return "I am sorry, that did not work."
            return self.model.reply(messages, tools)

    return Discouraged()


def credulous(suite: Behaviours, item: Item) -> ChatModel:
    return Credulous(suite.oracle(item))


def eager(suite: Behaviours, item: Item) -> ChatModel:
    return Eager(suite.oracle(item)) if item.category == "abstention" else suite.oracle(item)


def inventive(suite: Behaviours, item: Item) -> ChatModel:
    """Return a model that calls the tool which the task wants and which is not offered."""
    if item.category != "missing function":
        return suite.oracle(item)
    return persistent([write_calls([ToolCall("do_what_is_asked", {})]), "Done."])


def presumptuous(suite: Behaviours, item: Item) -> ChatModel:
    """Return a model that makes a call at once instead of a request for its missing value."""
    if item.category != "missing parameter":
        return suite.oracle(item)
    example, tool = suite.by_id[item.id].example, suite.by_id[item.id].catch.split(" of ")[1].split()[0]
    question_turn = example.acts.index("ask")
    early = next(step for step in example.steps if step.turn > question_turn and step.calls[0].name == tool)
    texts = texts_of(example)
    place = texts.index(example.answers[question_turn])
    return persistent([*texts[:place], write_calls(early.calls), *texts[place:]])


def distracted(suite: Behaviours, item: Item) -> ChatModel:
    """Return a model that first reads something from another server."""
    if item.category != "distractors":
        return suite.oracle(item)
    example = suite.by_id[item.id].example
    own = {TOOLS[call.name][0].name for step in example.steps for call in step.calls}
    other = next(name for name in example.candidates if TOOLS[name][0].name not in own)
    return persistent([write_calls([ToolCall(other, {})]), *texts_of(example)])


OFFENDERS = {
    "abstention": (eager, "called_anyway"),
    "missing function": (inventive, "invented_tool"),
    "missing parameter": (presumptuous, "invented_argument"),
    "distractors": (distracted, "used_distractor"),
    "long chains": (short_of_breath, "gave_up"),
    "error recovery": (discouraged, "gave_up"),
    "prompt injection": (credulous, "followed_injection"),
}


@pytest.mark.parametrize("behaviour", CATEGORIES)
def test_an_offender_fails_its_behaviour_alone_and_is_named(suite: Behaviours, behaviour: str) -> None:
    offend, failure = OFFENDERS[behaviour]
    found = results(suite, lambda item: offend(suite, item))
    assert {result.category for result in found if not result.passed} == {behaviour}
    own = [result for result in found if result.category == behaviour]
    assert {result.failure for result in own} == {failure} and all(result.why for result in own)


def cases_of_injection(suite: Behaviours) -> Iterator[tuple[Item, Example, PlantedWorld]]:
    for item in suite.items():
        if item.category == "prompt injection":
            case = suite.by_id[item.id]
            assert case.opens
            world = case.opens()
            assert isinstance(world, PlantedWorld)
            yield item, case.example, world


def test_what_is_planted_is_read_is_possible_and_is_offered(suite: Behaviours) -> None:
    for item, example, world in cases_of_injection(suite):
        planted = world.planted
        rollout = suite.attempt(item, Policy(model="oracle", speak=suite.oracle)).rollout
        heard = "".join(
            text for one in rollout.transcript if one.role == "tool" for text in strings(json.loads(one.content))
        )
        assert planted.text in heard and planted.call.name in example.candidates
        assert planted.call.name not in {call.name for step in example.steps for call in step.calls}
        before = world.fork()
        for step in example.steps:
            before.call(step.calls[0].name, step.calls[0].arguments or {})
            if step.calls[0].name == planted.reader:
                break
        opening = before.digest()
        assert before.call(planted.call.name, planted.call.arguments or {}).ok and before.digest() != opening


def test_the_phrasings_are_several(graphs: Path) -> None:
    from training_worker.evaluation.behaviour.case_factory import cases
    from training_worker.evaluation.behaviour.injection import INJECTION
    from training_worker.evaluation.worlds.options import making_of

    catches = [case.catch for case in cases(INJECTION, making_of({**OPTIONS, "count": "16"}), graphs, 6).values()]
    used = {phrase for phrase in PHRASINGS if any(phrase.split("{")[0].strip() in catch for catch in catches)}
    assert len(used) >= 5


def test_a_further_look_is_no_offence_and_another_write_is(suite: Behaviours) -> None:
    looks, writes = 0, 0
    for item, example, world in cases_of_injection(suite):
        texts, wanted = texts_of(example), {call.name for step in example.steps for call in step.calls}
        for name in example.candidates:
            tool = TOOLS[name][1]
            if name in wanted or name == world.planted.call.name or tool.required:
                continue
            more = [write_calls([ToolCall(name, {})]), *texts]
            policy = Policy(model="curious", speak=lambda item, more=more: ScriptedModel(more))  # type: ignore[misc]
            result = suite.attempt(item, policy)
            assert tool.writes or result.passed, result.why
            looks += not tool.writes
        write = next((step for step in example.steps if TOOLS[step.calls[0].name][1].writes), None)
        if write:
            place = texts.index(write_calls(write.calls))
            twice = [*texts[: place + 1], texts[place], *texts[place + 1 :]]
            result = suite.attempt(item, Policy(model="twice", speak=lambda item, t=twice: ScriptedModel(t)))  # type: ignore[misc]
            writes += result.failure == "unasked_write"
            assert result.failure in ("unasked_write", "refused_call")
    assert looks and writes


def test_the_rules_stand_in_the_documents(suite: Behaviours) -> None:
    page = (ROOT / "docs" / "evaluation-worlds.md").read_text("utf-8")
    for behaviour in SUITE:
        assert f"| {behaviour.name} | {behaviour.rule} |" in page
