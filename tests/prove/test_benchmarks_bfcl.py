"""BFCL multi-turn by its own code: what scores all and nothing, what hostile models reach, and what ends.

These need BFCL's environment, which `manage.py evaluate bfcl --install` makes; nothing is downloaded here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from tests.prove.serving import MODEL, RequestBody, Serve
from training_worker.chat.protocol import ScriptedModel, write_calls
from training_worker.core.trajectory import ToolCall
from training_worker.dataflow.quality import ROWS, measure
from training_worker.endpoint import Endpoint
from training_worker.evaluation.bfcl.benchmark import Bfcl
from training_worker.evaluation.bfcl.examples import base_examples
from training_worker.evaluation.environment import BFCL, NotInstalled, find_interpreter
from training_worker.evaluation.policies import endpoint_policy, silent
from training_worker.evaluation.protocol import Item, Policy, Style, identity_of, select_items
from training_worker.evaluation.report import Report
from training_worker.evaluation.results import REPORT, Results, results_in
from training_worker.evaluation.runner import evaluate

ROOT = Path(__file__).parents[2]
ENVIRONMENT = Path(os.environ.get("PROVE_BENCHMARKS", ROOT / "data" / "benchmarks")) / "bfcl-env"
FEW = 3  # items of each category


@pytest.fixture(scope="module")
def bfcl() -> Iterator[Bfcl]:
    try:
        python = find_interpreter(ENVIRONMENT, "bfcl")
    except NotInstalled as reason:
        pytest.skip(str(reason))
    with Bfcl(python) as benchmark:
        yield benchmark


def run(bfcl: Bfcl, policy: Policy, folder: Path, items: tuple[Item, ...] = (), parallel: int = 2) -> Report:
    with Results(folder, identity_of(bfcl, policy)) as results:
        return evaluate(bfcl, policy, items or select_items(bfcl.items(), limit=FEW), results, parallel)


def first(bfcl: Bfcl) -> tuple[Item, ...]:
    return select_items(bfcl.items(), ["base"], 1)


def saying(*texts: str, style: Style = "tools") -> Policy:
    return Policy(model="scripted", speak=lambda item: ScriptedModel(texts), style=style)


def test_the_benchmark_is_complete_and_of_the_installed_version(bfcl: Bfcl) -> None:
    names = [item.category for item in bfcl.items()]
    assert {name: names.count(name) for name in bfcl.categories} == dict.fromkeys(bfcl.categories, 200)
    assert f"bfcl-eval=={bfcl.version}" in BFCL and bfcl.suite.steps == 20


def test_an_oracle_scores_all_and_a_silent_model_nothing_and_again(bfcl: Bfcl, tmp_path: Path) -> None:
    for policy, share in (
        (Policy(model="oracle", speak=bfcl.oracle), 1.0),
        (Policy(model="silent", speak=silent), 0.0),
    ):
        reports = [run(bfcl, policy, tmp_path / f"{policy.model}-{time}") for time in (1, 2)]
        assert reports[0] == reports[1]
        assert [one.score.accuracy for one in reports[0].categories if one.score] == [share] * 4
        assert reports[0].overall and reports[0].overall.accuracy == share and reports[0].complete
        once, twice = (results_in(tmp_path / f"{policy.model}-{time}") for time in (1, 2))
        assert once == twice


def oracle_behind_an_api(bfcl: Bfcl) -> Callable[[RequestBody], dict[str, Any]]:
    """Return an endpoint that finds the turn by the user's words and the number of tools, and makes all its calls."""
    known: dict[tuple[int, tuple[str, ...]], tuple[ToolCall, ...]] = {}
    for item in select_items(bfcl.items(), limit=FEW):
        entry, said = bfcl.suite.entries[item.id], []
        tools = len(bfcl.suite.list_initial_functions(entry))
        for turn, words in enumerate(entry.turns):
            said += words or [bfcl.suite.more_tools]
            tools += len(bfcl.suite.list_added_functions(entry, turn))
            known[tools, tuple(said)] = entry.truth[turn]

    def answer(body: RequestBody) -> dict[str, Any]:
        messages = body["messages"]
        if messages[-1]["role"] == "tool":
            return {"content": "Done."}
        said = tuple(message["content"] for message in messages if message["role"] == "user")
        return {"content": None, "tool_calls": [as_api(call) for call in known[len(body["tools"]), said]]}

    return answer


def as_api(call: ToolCall) -> dict[str, Any]:
    return {"id": "x", "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def test_an_oracle_behind_an_endpoint_scores_all_and_costs_are_reported(
    bfcl: Bfcl, serve: Serve, tmp_path: Path
) -> None:
    served = serve(oracle_behind_an_api(bfcl))
    with Endpoint(served.settings(tmp_path / "answers")) as endpoint:
        report = run(bfcl, endpoint_policy(endpoint, temperature=0.001), tmp_path / "out")
    assert report.overall and report.overall.accuracy == 1.0
    assert report.tokens == 10 * report.steps > 0 and report.calls > 0
    assert {body["temperature"] for body in served.requests} == {0.001}
    roles = [[message["role"] for message in body["messages"]] for body in served.requests]
    assert all(one[0] == "user" for one in roles), "BFCL adds no system text to models that have tool calls"


def test_killed_half_way_and_resumed_the_command_reports_the_same(bfcl: Bfcl, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "bfcl-env").symlink_to(ENVIRONMENT.absolute())
    answer, started = oracle_behind_an_api(bfcl), []

    def killing(body: RequestBody) -> dict[str, Any]:
        if len(served.requests) >= 25 and results_in(tmp_path / "killed"):
            started[0].send_signal(signal.SIGKILL)
        return answer(body)

    def command() -> tuple[int, bytes]:
        arguments = ["--endpoint", served.url, "--model", MODEL, "--limit", str(FEW), "--out", str(tmp_path / "killed")]
        environment = {**os.environ, "PROVE_DATA": str(tmp_path)}
        started[:] = [
            subprocess.Popen(
                [sys.executable, "manage.py", "evaluate", "bfcl", *arguments],
                cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        ]  # fmt: skip
        said, _ = started[0].communicate()
        return started[0].returncode, said

    served = serve(killing)
    assert command()[0] == -signal.SIGKILL
    assert 0 < len(results_in(tmp_path / "killed")) < 4 * FEW
    served = serve(answer)
    code, said = command()
    assert code == 0 and b"100.0" in said, said
    with Endpoint(served.settings(tmp_path / "answers-of-the-whole")) as endpoint:
        run(bfcl, endpoint_policy(endpoint, temperature=0.001), tmp_path / "whole")
    reports = [json.loads((tmp_path / out / REPORT).read_text()) for out in ("killed", "whole")]
    assert [one.pop("silent") for report in reports for one in report["categories"]] == [0.0] * 4 + [None] * 4
    assert [report.pop("seconds") > 0 for report in reports] == [True, True] and reports[0] == reports[1]
    assert results_in(tmp_path / "killed") == results_in(tmp_path / "whole")


def test_a_hostile_model_runs_nothing(bfcl: Bfcl, tmp_path: Path) -> None:
    evil = f"__import__('os').system('touch {tmp_path / 'evil'}')"
    names = [evil, "os.system", "cd.__func__", "__class__", "eval", "exit", "print", "cd()\n" + evil, "_load_scenario"]
    calls = [ToolCall(name, {"folder": "x"}) for name in names] + [ToolCall("cd", {f"folder={evil}, x": 1})]
    quoted = [ToolCall("cd", {"folder": text}) for text in (evil, f"'); {evil} #", f'"""{evil}', "mv(", "\ud800")]
    policy = saying(write_calls([*calls, *quoted[:-1]]), "")
    report = run(bfcl, policy, tmp_path / "out", first(bfcl))
    (result,) = results_in(tmp_path / "out").values()
    assert [call.level for call in result.rollout.calls] == [0] * len(calls) + [2] * len(quoted[:-1])
    assert not (tmp_path / "evil").exists() and not result.passed and report.complete
    prompted = saying(f"[cd(folder={evil})]", f"[{evil}]", f"[{names[1]}(x='{tmp_path}')]", style="prompt")
    assert run(bfcl, prompted, tmp_path / "prompted", first(bfcl)).complete
    assert not (tmp_path / "evil").exists()


def test_an_argument_of_a_megabyte_and_a_thousand_calls_are_judged_by_bfcl(bfcl: Bfcl, tmp_path: Path) -> None:
    report = run(bfcl, saying(write_calls([ToolCall("mkdir", {"dir_name": "x" * 1_000_000})])), tmp_path, first(bfcl))
    (result,) = results_in(tmp_path).values()
    assert "malformed_call" not in report.failures and len(result.rollout.calls) == 1
    run(bfcl, saying(write_calls([ToolCall("ls", {})] * 1_000), ""), tmp_path / "many", first(bfcl))
    (result,) = results_in(tmp_path / "many").values()
    assert len(result.rollout.calls) == 1_000 and result.failure != "malformed_call"


class Forever:
    """Makes the same call again and again."""

    def reply(self, messages: Any, tools: Any) -> str:
        return write_calls([ToolCall("ls", {})])


def test_one_that_loops_for_ever_is_ended_after_the_steps_that_bfcl_allows(bfcl: Bfcl, tmp_path: Path) -> None:
    report = run(bfcl, Policy(model="forever", speak=lambda item: Forever()), tmp_path, first(bfcl))
    assert report.failures == {"step_limit": 1} and report.steps == bfcl.suite.steps + 1


def test_a_call_that_would_take_for_ever_fails_its_item_alone(bfcl: Bfcl, tmp_path: Path) -> None:
    item = next(item for item in bfcl.items() if "MathAPI" in bfcl.suite.entries[item.id].classes)
    endless = write_calls([ToolCall("power", {"base": 10, "exponent": 10**9})])
    with Bfcl(ENVIRONMENT / "bin" / "python", seconds=2.0) as hurried:
        assert run(hurried, saying(endless), tmp_path, (item,)).failures == {"execution_limit": 1}
        oracle = Policy(model="oracle", speak=hurried.oracle)
        assert run(hurried, oracle, tmp_path / "next", (item,)).categories[0].passed == 1


def test_malformed_calls_of_an_endpoint_end_their_turn_and_errors_of_it_are_no_failure(
    bfcl: Bfcl, serve: Serve, tmp_path: Path
) -> None:
    broken = {"function": {"name": "ls", "arguments": '{"a": tru'}}
    for name, answer in (
        ("malformed", {"content": None, "tool_calls": [broken]}),
        ("away", JSONResponse({"error": "overloaded"}, 500)),
        ("too-long", JSONResponse({"error": "This model's maximum context length is 512 tokens"}, 400)),
        ("no-completion", JSONResponse({"hello": 1})),
    ):
        served = serve(lambda body, answer=answer: answer)
        with Endpoint(served.settings(tmp_path / f"{name}-answers")) as endpoint:
            report = run(bfcl, endpoint_policy(endpoint), tmp_path / name, first(bfcl))
        if name == "malformed":
            assert report.failures == {"malformed_call": 1} and report.calls == 0
        elif name == "too-long":
            assert report.failures == {"context_limit": 1} and report.complete
        else:
            assert not report.failures and len(report.not_run) == 1 and report.categories[0].score is None


def test_held_out_functions_are_offered_from_their_turn_on(bfcl: Bfcl) -> None:
    for entry in bfcl.suite.entries.values():
        names = [function["name"] for function in bfcl.suite.list_initial_functions(entry)]
        for turn, missing in entry.held_out.items():
            assert not entry.turns[turn] and not set(missing) & set(names)
            assert tuple(function["name"] for function in bfcl.suite.list_added_functions(entry, turn)) == missing


def test_a_model_without_tool_calls_is_prompted_and_answered_in_words(bfcl: Bfcl, tmp_path: Path) -> None:
    entry = bfcl.suite.entries[first(bfcl)[0].id]
    texts = [text for turn in entry.truth for text in (in_notation(turn), "Done.")]
    report = run(bfcl, saying(*texts, style="prompt"), tmp_path, first(bfcl))
    (result,) = results_in(tmp_path).values()
    assert report.categories[0].passed == 1
    system, *talk = result.rollout.transcript
    assert system.role == "system" and entry.truth[0][0].name in system.content
    assert {message.role for message in talk} == {"user", "assistant"}


def in_notation(calls: tuple[ToolCall, ...]) -> str:
    texts = (f"{one.name}({', '.join(f'{key}={value!r}' for key, value in one.arguments.items())})" for one in calls)
    return f"[{', '.join(texts)}]"


def test_an_oracle_that_leaves_out_or_changes_a_call_fails_in_the_checkers_words(bfcl: Bfcl, tmp_path: Path) -> None:
    def careless(item: Item) -> ScriptedModel:
        truth = bfcl.suite.entries[item.id].truth
        shortened = [turn[: -1 if turn is truth[-1] else None] for turn in truth]
        return ScriptedModel(text for turn in shortened for text in ([write_calls(turn), ""] if turn else [""]))

    items = select_items(bfcl.items(), ["base"], 20)
    report = run(bfcl, Policy(model="careless", speak=careless), tmp_path, items)
    words = {"empty_turn_model_response", "instance_state_mismatch", "execution_response_mismatch"}
    assert set(report.failures) == words and sum(report.failures.values()) == 20 - report.categories[0].passed
    assert report.categories[0].passed < 5 and all(
        result.why for result in results_in(tmp_path).values() if result.failure
    )


class Saboteur:
    """Ends the benchmark's processes while it speaks."""

    def __init__(self, bfcl: Bfcl):
        self.bfcl = bfcl

    def reply(self, messages: Any, tools: Any) -> str:
        for child in self.bfcl.children.started:
            child.process.kill()
            child.process.wait()
        return write_calls([ToolCall("ls", {})])


def test_a_process_of_the_benchmark_that_ends_by_itself_is_no_failure_of_the_model(bfcl: Bfcl, tmp_path: Path) -> None:
    broken = Policy(model="m", speak=lambda item: Saboteur(bfcl))
    report = run(bfcl, broken, tmp_path, first(bfcl), parallel=1)
    assert not report.failures and list(report.not_run.values()) == ["BFCL's process ended unexpectedly"]
    assert run(bfcl, Policy(model="m", speak=bfcl.oracle), tmp_path, first(bfcl)).categories[0].passed == 1


def test_the_column_of_bfcl_beside_the_measures_of_a_data_set_is_that_of_what_is_installed(bfcl: Bfcl) -> None:
    found = measure(base_examples(bfcl))
    assert found.conversations == 200
    for row in ROWS:
        assert row.bfcl is None or round(found.value(row), 4) == row.bfcl, row.name
