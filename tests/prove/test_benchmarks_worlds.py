"""Held-out worlds and generalisation: which items there are, who passes, and which words name every other end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_servers.catalogue import TOOLS
from mcp_servers.core.rng import FIRST_HELD_OUT_SEED
from mcp_servers.world import Arguments, World
from tests.prove.known import NAMES
from tests.prove.serving import Serve
from training_worker.chat.protocol import ScriptedModel, write_calls
from training_worker.core.trajectory import Example, Message, ToolCall, dumps, loads
from training_worker.dataflow.leakage import identifiers
from training_worker.endpoint import Endpoint
from training_worker.environment.episode import demonstration
from training_worker.evaluation import results_text
from training_worker.evaluation.policies import endpoint_policy, silent
from training_worker.evaluation.protocol import (
    Item,
    NotRun,
    OutOfRoom,
    Policy,
    Result,
    Style,
    identity_of,
    select_items,
)
from training_worker.evaluation.registry import KNOWN, NotKnown, open_benchmark
from training_worker.evaluation.report import Report
from training_worker.evaluation.results import Results
from training_worker.evaluation.runner import evaluate
from training_worker.evaluation.worlds.benchmark import Conversations, worlds
from training_worker.evaluation.worlds.episode import attempt_of, result_of
from training_worker.evaluation.worlds.generalisation import HELD_OUT, SEEN, generalisation
from training_worker.evaluation.worlds.task_sampler import ABSTENTION, server_of

ROOT = Path(__file__).parents[2]
COUNT = 4
OPTIONS = {"seed": "40", "count": str(COUNT), "servers": ",".join(NAMES), "candidates": "24", "manner": "paper"}

FEW = {**OPTIONS, "count": "2", "servers": NAMES[0], "data": ""}


@pytest.fixture(scope="module")
def benchmark(graphs: Path) -> Conversations:
    return worlds({**OPTIONS, "data": ""}, graphs)


def speaking(benchmark: Conversations, rewrite: Callable[[Example, list[str]], list[str]], **more: Any) -> Policy:
    """Return a policy that says the ground truth's texts, rewritten."""

    def speak(item: Item) -> ScriptedModel:
        example = benchmark.by_id[item.task]
        return ScriptedModel(
            rewrite(example, [one.content for one in demonstration(example) if one.role == "assistant"])
        )

    return Policy(model="scripted", speak=speak, **more)


def results(benchmark: Conversations, policy: Policy) -> list[Result]:
    return [benchmark.attempt(item, policy) for item in benchmark.items()]


@pytest.mark.long
def test_every_category_has_as_many_conversations_as_were_requested(benchmark: Conversations) -> None:
    assert benchmark.categories == (*NAMES, ABSTENTION)
    assert [len(examples) for examples in benchmark.examples.values()] == [COUNT] * 4
    for item in benchmark.items():
        assert item.category == (server_of(benchmark.by_id[item.id]) or ABSTENTION)


def test_the_report_has_goal_success_and_acts_beside_the_score(benchmark: Conversations, tmp_path: Path) -> None:
    reports = []
    for most in (99, 0):
        policy, items = (
            speaking(benchmark, lambda _, texts, most=most: texts[:most]),
            select_items(benchmark.items(), (), 2),
        )
        with Results(tmp_path / str(most), identity_of(benchmark, policy)) as stored:
            reports.append(evaluate(benchmark, policy, items, stored))
    best, silence = reports
    assert {one.goal_success for one in best.categories} == {1.0}
    assert {one.goal_success for one in silence.categories} == {0.0}, "also where nothing is to be called"
    assert next(results_text.iter_report_rows(best))[5] == "100.0" and loads(Report, dumps(best)) == best
    bare = replace(best.categories[0], goal_success=None, act_accuracy=None)
    assert "goal_success" not in dumps(bare)
    assert next(results_text.iter_report_rows(replace(best, categories=(bare,))))[5:7] == ("-", "-")


MAKE = """
import json, sys
from pathlib import Path
from training_worker.evaluation.worlds.benchmark import worlds
print(worlds(json.loads(sys.argv[2]), Path(sys.argv[1])).version)
"""


def test_the_same_seed_gives_the_same_items_in_any_process_and_another_seed_others(
    graphs: Path,
) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", MAKE, str(graphs), json.dumps(FEW)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    version = worlds(FEW, graphs).version
    assert done.stdout.strip() == version, done.stderr
    assert worlds({**FEW, "seed": "39"}, graphs).version != version


def test_its_worlds_are_held_out_and_share_no_name_with_training(
    benchmark: Conversations, examples: tuple[Example, ...]
) -> None:
    conversations = list(benchmark.by_id.values())
    assert {example.split for example in conversations} == {"held_out"}
    assert min(example.world.seed for example in conversations) >= FIRST_HELD_OUT_SEED
    assert identifiers(conversations) and not identifiers(conversations) & identifiers(examples)


@pytest.mark.parametrize("style", ["tools", "prompt"])
def test_the_ground_truth_passes_all_and_a_silent_model_only_where_nothing_is_due(
    benchmark: Conversations, style: Style
) -> None:
    attempts = results(benchmark, Policy(model="oracle", speak=benchmark.oracle, style=style))
    assert all(result.passed and result.score is None and result.rollout.digest for result in attempts)
    assert {result.rollout.reward.total for result in attempts if result.rollout.reward} == {1.3, 1.0}
    nothing = results(benchmark, Policy(model="silent", speak=silent, style=style))
    assert {(result.category == ABSTENTION, result.failure) for result in nothing} == {
        (True, ""),
        (False, "called_nothing"),
    }


def call_of(text: str) -> ToolCall:
    """Return the first call of a text."""
    first = json.loads(text.partition("<tool_call>")[2].partition("</tool_call>")[0])
    return ToolCall(first["name"], first["arguments"])


def without_the_last_call(example: Example, texts: list[str]) -> list[str]:
    place = max(place for place, text in enumerate(texts) if "<tool_call>" in text)
    return [*texts[:place], *texts[place + 1 :]]


def with_another_value(example: Example, texts: list[str]) -> list[str]:
    """Change a value in the first call that takes a free text or a number which no schema limits."""
    for place, text in enumerate(texts):
        call = call_of(text) if text.count("<tool_call>") == 1 else None
        for name, value in (call.arguments or {}).items() if call else ():
            if name in ("title", "subject", "body", "note", "text", "name", "nickname", "location"):
                changed = ToolCall(call.name, {**call.arguments, name: f"{value} and more"})  # type: ignore[union-attr,dict-item]
                return [*texts[:place], write_calls([changed]), *texts[place + 1 :]]
    return []


def with_an_unneeded_look(example: Example, texts: list[str]) -> list[str]:
    called_tools = {call.name for step in example.steps for call in step.calls}
    for name in example.candidates:
        tool = TOOLS[name][1]
        if not (tool.writes or tool.required or name in called_tools):
            return [write_calls([ToolCall(name, {})]), *texts]
    return []


def with_the_last_write_made_twice(example: Example, texts: list[str]) -> list[str]:
    writes = [text for text in texts if "<tool_call>" in text and TOOLS[call_of(text).name][1].writes]
    return [text for one in texts for text in ([one, one] if writes and one is writes[-1] else [one])] if writes else []


def with_half_a_call(example: Example, texts: list[str]) -> list[str]:
    return ['<tool_call>{"name": "li', *texts]


@pytest.mark.parametrize(
    ("rewrite", "kinds"),
    [
        (without_the_last_call, {"missed_step", "called_nothing"}),
        (with_another_value, {"wrong_argument"}),
        (with_an_unneeded_look, {"wrong_tool"}),
        (with_half_a_call, {"malformed_call"}),
    ],
)
def test_a_slip_from_the_ground_truth_fails_and_is_named(
    benchmark: Conversations, rewrite: Callable[[Example, list[str]], list[str]], kinds: set[str]
) -> None:
    policy, found = speaking(benchmark, rewrite), []
    for item in benchmark.items():
        example = benchmark.by_id[item.id]
        texts = [one.content for one in demonstration(example) if one.role == "assistant"]
        if example.steps and rewrite(example, texts):
            found.append(benchmark.attempt(item, policy))
    assert len(found) >= 3 and not any(result.passed for result in found)
    assert {result.failure for result in found} <= kinds and all(result.why for result in found)


def test_a_write_made_twice_within_the_budget_of_calls_is_seen_by_the_final_state(benchmark: Conversations) -> None:
    attempts = results(benchmark, speaking(benchmark, with_the_last_write_made_twice))
    twice = [result for result in attempts if result.failure == "other_state"]
    assert twice and all(result.rollout.reward and result.rollout.reward.coverage == 1.0 for result in twice)


def test_a_call_where_none_is_due_is_named(benchmark: Conversations) -> None:
    item = next(item for item in benchmark.items() if item.category == ABSTENTION)
    policy = Policy(model="eager", speak=lambda item: ScriptedModel([write_calls([ToolCall("list_accounts", {})])]))
    assert benchmark.attempt(item, policy).failure == "called_anyway"


def test_one_that_never_ends_is_ended(benchmark: Conversations) -> None:
    class Endless:
        def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
            return write_calls([ToolCall("list_accounts", {})])

    result = benchmark.attempt(benchmark.items()[0], Policy(model="endless", speak=lambda item: Endless()))
    assert (result.failure, result.steps) == ("step_limit", 10)


def test_a_conversation_longer_than_the_model_reads_is_the_models_own_limit(benchmark: Conversations) -> None:
    class Full:
        def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
            raise OutOfRoom("the conversation has 9 tokens and the model reads 8")

    result = benchmark.attempt(benchmark.items()[0], Policy(model="full", speak=lambda item: Full()))
    assert (result.failure, result.why) == ("context_limit", "the conversation has 9 tokens and the model reads 8")


def test_a_server_that_breaks_is_no_failure_of_the_policy(benchmark: Conversations) -> None:
    class Broken(World):
        __slots__ = ()

        def call(self, name: str, arguments: Arguments) -> Any:
            raise RuntimeError("the disk is gone")

    item = benchmark.items()[0]
    policy = Policy(model="oracle", speak=benchmark.oracle)
    attempt = attempt_of(benchmark.by_id[item.id], policy)
    attempt.world = Broken.open(1, NAMES)
    with pytest.raises(NotRun, match="the disk is gone"):
        result_of(item, policy, attempt, lambda rollout: ("", ""))


def test_trials_of_a_conversation_give_pass_hat(benchmark: Conversations, tmp_path: Path) -> None:
    policy = Policy(model="once", speak=lambda item: benchmark.oracle(item) if item.trial == 1 else silent(item))
    items = select_items(benchmark.items(), [NAMES[0]], 4, trials=2)
    with Results(tmp_path, identity_of(benchmark, policy)) as stored:
        (category,) = evaluate(benchmark, policy, items, stored).categories
    assert category.pass_hat == (0.5, 0.0)


def test_an_endpoint_receives_the_tools_and_its_calls_are_run(
    benchmark: Conversations, serve: Serve, tmp_path: Path
) -> None:
    item = next(one for one in benchmark.items() if all(len(step.calls) == 1 for step in benchmark.by_id[one.id].steps))
    example = benchmark.by_id[item.id]
    texts = [one.content for one in demonstration(example) if one.role == "assistant"]

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        text = texts[sum(message["role"] == "assistant" for message in body["messages"])]
        if "<tool_call>" not in text:
            return {"content": text}
        call = call_of(text)
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        return {"content": "", "tool_calls": [{"function": function}]}

    served = serve(answer)
    with Endpoint(served.settings(tmp_path)) as endpoint:
        result = benchmark.attempt(item, endpoint_policy(endpoint))
    assert result.passed and result.tokens == 10 * len(texts)
    names = [tool["function"]["name"] for tool in served.requests[0]["tools"]]
    assert tuple(names) == example.candidates and any("tool_calls" in one for one in served.requests[-1]["messages"])


def test_an_endpoint_that_is_away_leaves_the_item_unrun(benchmark: Conversations, tmp_path: Path, serve: Serve) -> None:
    settings = replace(serve(lambda body: "").settings(tmp_path), url="http://127.0.0.1:9/v1")
    with Endpoint(settings) as endpoint, pytest.raises(NotRun):
        benchmark.attempt(benchmark.items()[0], endpoint_policy(endpoint))


def test_the_held_out_conversations_of_a_data_set_are_items_too(
    data_set: Path, held_out: tuple[Example, ...], graphs: Path
) -> None:
    made = worlds({**OPTIONS, "data": str(data_set)}, graphs)
    assert {item.id for item in made.items()} == {example.id for example in held_out[:8]}
    assert all(result.passed for result in results(made, Policy(model="oracle", speak=made.oracle)))
    assert worlds({**OPTIONS, "data": str(data_set / "held_out.jsonl")}, graphs).version == made.version


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("worlds", {"seed": "41"}, "seed must be a number from 0 to 40"),
        ("worlds", {"count": "many"}, "count must be a number"),
        ("worlds", {"servers": "banking,bank"}, "there is no server 'bank'"),
        ("worlds", {"candidates": "3"}, "candidates must be a number from 8"),
        ("worlds", {"manner": "rude"}, "manner must be paper or plain"),
        ("worlds", {"data": "/nowhere"}, "does not exist"),
        ("worlds", {"colour": "red"}, "has no option 'colour'"),
        ("generalisation", {"servers": "banking", "kept_out": "banking"}, "leaves at least one"),
        ("generalisation", {"servers": "banking", "kept_out": ""}, "names at least one server"),
        ("behaviour", {"servers": "banking"}, "name more servers"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_sentence(
    name: str, options: dict[str, str], message: str, graphs: Path
) -> None:
    with pytest.raises(NotKnown, match=message), open_benchmark(name, graphs / "benchmarks", {"count": "1", **options}):
        pass


SPLIT = {**OPTIONS, "kept_out": "email", "data": ""}


@pytest.mark.long
def test_no_conversation_has_a_tool_of_both_sides(graphs: Path) -> None:
    made = generalisation(SPLIT, graphs)
    assert [len(made.examples[side]) for side in (SEEN, HELD_OUT)] == [COUNT, COUNT]
    servers = {
        side: {name for one in examples for name in one.world.servers} for side, examples in made.examples.items()
    }
    assert servers == {SEEN: {"banking", "calendar"}, HELD_OUT: {"email"}}
    assert all(result.passed for result in results(made, Policy(model="oracle", speak=made.oracle)))
    assert made.settings["kept_out"] == ["email"] and made.settings["servers"] == ["banking", "calendar"]


def test_a_training_set_with_a_held_out_server_is_refused(data_set: Path, graphs: Path, tmp_path: Path) -> None:
    for path in (data_set, data_set / "manifest.json", data_set / "train.jsonl"):
        with pytest.raises(ValueError, match=r"email \([0-9]+ of 40\)"):
            generalisation({**SPLIT, "data": str(path)}, graphs)
    lines = (data_set / "train.jsonl").read_text("utf-8").splitlines(keepends=True)
    clean = [line for line in lines if "email" not in json.loads(line)["world"]["servers"]]
    (tmp_path / "train.jsonl").write_text("".join(clean), "utf-8")
    made = generalisation({**SPLIT, "data": str(tmp_path)}, graphs)
    assert clean and len(made.settings["data"]) == 16


def test_the_documents_name_every_option_and_category_of_ours() -> None:
    page = (ROOT / "docs" / "evaluation-worlds.md").read_text("utf-8")
    for name in ("worlds", "generalisation", "behaviour"):
        assert all(f"`{option.name}`" in page for option in KNOWN[name].options)
    assert SEEN in page and HELD_OUT in page and ABSTENTION in page
