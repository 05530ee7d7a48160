"""tau2-bench by its own code: what scores, what fails and how, whose fault it is, and what hostile models reach.

Most need tau2's environment, which `manage.py evaluate tau2 --install` makes; nothing is downloaded here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse, Response

from tests.prove.serving import MODEL, RequestBody, Serve
from training_worker.chat.protocol import ScriptedModel, parse_calls, write_calls
from training_worker.core.trajectory import ToolCall
from training_worker.endpoint import Endpoint, EndpointFailed
from training_worker.evaluation.confined.rpc_client import ChildFailed
from training_worker.evaluation.environment import TAU2, NotInstalled, find_interpreter
from training_worker.evaluation.policies import endpoint_policy
from training_worker.evaluation.protocol import Item, OutOfRoom, Policy, Result, identity_of, select_items
from training_worker.evaluation.registry import NotKnown, get_benchmark_spec, open_benchmark
from training_worker.evaluation.report import Report
from training_worker.evaluation.request import SILENT, have_done
from training_worker.evaluation.request import EvaluationRequest as Evaluation
from training_worker.evaluation.results import Results, results_in
from training_worker.evaluation.runner import evaluate
from training_worker.evaluation.tau2.benchmark import Tau2
from training_worker.evaluation.tau2.inside.arithmetic import evaluate_expression
from training_worker.evaluation.tau2.suite import Task, script
from training_worker.evaluation.tau2.user import TRIES, user_endpoint

ROOT = Path(__file__).parents[2]
ENVIRONMENT = Path(os.environ.get("PROVE_BENCHMARKS", ROOT / "data" / "benchmarks")) / "tau2-env"
USER = "user-model"


@pytest.fixture(scope="module")
def sound() -> Iterator[Tau2]:
    """The benchmark without a user."""
    try:
        python = find_interpreter(ENVIRONMENT, "tau2")
    except NotInstalled as reason:
        pytest.skip(str(reason))
    with Tau2(python) as benchmark:
        yield benchmark


WithUser = Callable[..., Tau2]


@pytest.fixture
def with_user(sound: Tau2, serve: Serve, tmp_path: Path) -> Iterator[WithUser]:
    """The benchmark with a user whose answers a test gives, one after another; the last one repeats."""
    opened: list[Endpoint] = []

    def made(*texts: str | dict[str, Any] | Response) -> Tau2:
        said = iter(texts)
        served = serve(lambda body: next(said, texts[-1]))
        opened.append(Endpoint(served.settings(tmp_path / f"answers-{len(opened)}", model=USER)))
        sound.user = opened[-1]
        return sound

    yield made
    sound.user = None
    for endpoint in opened:
        endpoint.close()


def run(tau2: Tau2, policy: Policy, folder: Path, items: tuple[Item, ...]) -> Report:
    with Results(folder, identity_of(tau2, policy)) as results:
        return evaluate(tau2, policy, items, results, 2)


def result_of(tau2: Tau2, policy: Policy, folder: Path, item: Item) -> Result:
    report = run(tau2, policy, folder, (item,))
    assert not report.not_run
    return results_in(folder)[item.id]


def first(tau2: Tau2, domain: str, wanted: Callable[[Task], bool] = lambda task: True) -> Item:
    tasks = (task for task in tau2.suite.tasks.values() if task.domain == domain and wanted(task))
    return Item(next(tasks).item, domain)


def saying(*texts: str) -> Policy:
    return Policy(model="scripted", speak=lambda item: ScriptedModel(texts))


def oracle(tau2: Tau2) -> Policy:
    return Policy(model="oracle", speak=tau2.oracle, kind="oracle")


def test_the_benchmark_is_complete_and_of_the_installed_version(sound: Tau2) -> None:
    names = [item.category for item in sound.items()]
    assert {name: names.count(name) for name in sound.categories} == {"airline": 50, "retail": 114, "telecom": 114}
    assert sound.suite.package.replace(" ", "==") in TAU2 and sound.suite.data in sound.version
    assert (sound.suite.steps, sound.suite.errors) == (200, 10)
    assert all(len(item.id) < 40 and "#" not in item.id for item in sound.items())


def changes(task: Task) -> bool:
    return any(call.name.startswith(("book_", "cancel_", "update_")) for _, call in task.actions)


def test_an_oracle_scores_and_a_silent_model_gets_what_asks_for_nothing_and_nobody_plays_a_user(
    sound: Tau2, tmp_path: Path
) -> None:
    idle = first(sound, "retail", lambda task: not task.actions and not task.infos)
    some = (*select_items(sound.items(), ["telecom"], 3), idle, first(sound, "airline", changes))
    assert [one.passed for one in run(sound, oracle(sound), tmp_path / "oracle", some).categories] == [1, 1, 3]
    report = run(sound, SILENT, tmp_path / "silent", some)
    assert [one.passed for one in report.categories] == [0, 1, 0] and report.steps == 0
    assert set(report.failures) == {"db_state_mismatch", "env_assertion"}


def both_behind_an_api(task: Task, stop: str) -> Callable[[RequestBody], dict[str, Any]]:
    """Return agent and user of the ground truth; each finds its next text by the number of its texts so far."""
    agent, user = script(task, stop)

    def answer(body: RequestBody) -> dict[str, Any]:
        own = [message for message in body["messages"] if message["role"] == "assistant"]
        text = user[len(own)] if body["model"] == USER else agent[len(own) - 1]  # tau2 greets for the agent
        calls = parse_calls(text)
        return {"content": None if calls else text, "tool_calls": [as_api(call) for call in calls]}

    return answer


def as_api(call: ToolCall) -> dict[str, Any]:
    return {"id": "x", "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def test_agent_and_user_behind_endpoints_both_use_their_tools_and_do_the_same_again(
    sound: Tau2, serve: Serve, tmp_path: Path
) -> None:
    item = first(sound, "telecom", lambda task: {who for who, _ in task.actions} == {"user", "assistant"})
    items, results = select_items([item], trials=2), []
    served = serve(both_behind_an_api(sound.suite.tasks[item.id], sound.suite.stop))
    for time in ("once", "again"):
        with (
            Endpoint(served.settings(tmp_path / time)) as agent,
            Endpoint(served.settings(tmp_path / time, model=USER)) as user,
        ):
            sound.user = user
            report = run(sound, endpoint_policy(agent, temperature=0.0), tmp_path / f"{time}-out", items)
            sound.user = None
        assert report.categories[0].pass_hat == (1.0, 1.0) and report.identity.settings["user"] == USER
        results.append(results_in(tmp_path / f"{time}-out"))
    assert results[0] == results[1]
    tools = {
        body["model"]: {tool["function"]["name"] for tool in body["tools"]}
        for body in served.requests
        if body["messages"][-1]["role"] != "tool"
    }
    assert "toggle_airplane_mode" in tools[USER] - tools[MODEL] and "get_customer_by_id" in tools[MODEL] - tools[USER]
    seeds = {(body["model"], body.get("seed"), body["temperature"]) for body in served.requests}
    assert seeds == {(model, seed, 0.0) for model in (USER, MODEL) for seed in (None, 2)}
    rollout, other = (result.rollout for result in results[0].values())
    assert rollout == other
    assert [one.role for one in rollout.transcript][:3] == ["system", "assistant", "user"]
    assert {one.level for one in rollout.calls} == {3}


def test_one_that_loops_for_ever_is_ended_by_the_limits_of_tau2(with_user: WithUser, tmp_path: Path) -> None:
    class Forever:
        def __init__(self, name: str):
            self.name = name

        def reply(self, messages: Any, tools: Any) -> str:
            return write_calls([ToolCall(self.name, {"customer_id": "C1001"})])

    tau2 = with_user("My phone does not work.")
    item = first(tau2, "telecom")
    for name, failure, steps in (
        ("get_customer_by_id", "step_limit", tau2.suite.steps // 2),
        ("no_such_tool", "too_many_errors", tau2.suite.errors),
    ):
        policy = Policy(model=name, speak=lambda item, name=name: Forever(name))
        result = result_of(tau2, policy, tmp_path / name, item)
        assert (result.failure, result.steps, len(result.rollout.calls)) == (failure, steps, steps)


HOSTILE = (
    *[ToolCall(name, {}) for name in ("__class__", "db", "use_tool", "get_db_hash", "tools.db.clear", "")],
    ToolCall("get_user_details", {"self": 1, "tool_name": "x", "requestor": "user", "__class__": []}),
    ToolCall("calculate", {"expression": "9**9**9**9"}),
    ToolCall("calculate", {"expression": "__import__('os').getpid()"}),
)


def test_a_hostile_model_changes_nothing(with_user: WithUser, tmp_path: Path) -> None:
    tau2 = with_user("Hello.", "###STOP###")
    item = first(tau2, "retail", lambda task: not task.actions and not task.infos)
    result = result_of(tau2, saying(write_calls(HOSTILE), "Well."), tmp_path, item)
    assert result.passed, "the state is as it was, which is what this task asks for"
    assert [one.level for one in result.rollout.calls] == [0] * 6 + [2] * 3
    assert result.rollout.transcript[-2].content == "Well."


def test_what_tau2_cannot_go_on_from_ends_the_conversation_as_a_failure_of_the_model(
    with_user: WithUser, tmp_path: Path
) -> None:
    tau2 = with_user("Hello.")
    item = first(tau2, "telecom")
    for number, (text, failure) in enumerate(
        [
            ('<tool_call>\n{"name": "get_data_usage", "arguments": [1]}\n</tool_call>', "malformed_call"),
            ("<tool_call>{", "malformed_call"),
            ("", "empty_answer"),
        ]
    ):
        result = result_of(tau2, saying(text), tmp_path / str(number), item)
        assert (result.failure, result.rollout.calls, result.steps) == (failure, (), 1)
        assert result.rollout.transcript[-1].content == text

    class Full:
        def reply(self, messages: Any, tools: Any) -> str:
            raise OutOfRoom("10 tokens of 5")

    result = result_of(tau2, Policy(model="full", speak=lambda item: Full()), tmp_path / "full", item)
    assert (result.failure, result.why) == ("context_limit", "10 tokens of 5")


def test_a_user_that_is_away_or_says_nothing_is_no_failure_of_the_model(with_user: WithUser, tmp_path: Path) -> None:
    broken = {"content": None, "tool_calls": [{"function": {"name": "toggle_data", "arguments": '{"a": tru'}}]}
    for number, answer in enumerate((JSONResponse({"error": "overloaded"}, 500), "", broken)):
        tau2 = with_user(answer)
        report = run(tau2, saying("Hello."), tmp_path / str(number), (first(tau2, "telecom"),))
        assert not report.failures and report.categories[0].score is None
        (why,) = report.not_run.values()
        assert why.startswith("the user's model")
        assert isinstance(answer, Response) or f"{TRIES} times" in why


def test_a_user_that_wakes_up_is_called_again(with_user: WithUser, tmp_path: Path) -> None:
    tau2 = with_user("", "", "Hello.", "###STOP###")
    result = result_of(tau2, saying("Well."), tmp_path, first(tau2, "telecom"))
    assert result.steps == 1 and result.failure == "env_assertion" and "assertion failed: assert_" in result.why


def test_what_cannot_be_run_is_reported_before_anything_runs(
    sound: Tau2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("URL", "MODEL"):
        monkeypatch.delenv(f"PROVE_LLM_{name}", raising=False)
    folder, item = ENVIRONMENT.parent.absolute(), first(sound, "telecom")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "tau2-env").symlink_to(folder / "tau2-env")
    evaluation = Evaluation(benchmark="tau2", source="endpoint", url="http://127.0.0.1:9/v1", model="m")
    with pytest.raises(EndpointFailed, match="user_model"):
        have_done(evaluation, tmp_path)
    assert [path.name for path in (tmp_path / "benchmarks").iterdir()] == ["tau2-env"]
    with pytest.raises(NotKnown, match="style tools"):
        sound.attempt(item, replace(oracle(sound), style="prompt"))


def test_an_oracle_that_leaves_something_out_fails_by_its_kind(sound: Tau2, tmp_path: Path) -> None:
    def without(calls: bool) -> Policy:
        def speak(item: Item) -> ScriptedModel:
            texts = script(sound.suite.tasks[item.id], sound.suite.stop)[0]
            return ScriptedModel([text for text in texts[:-1] if not calls or not parse_calls(text)] + ["Bye."])

        return replace(oracle(sound), model=f"without-{calls}", speak=speak)

    informing = first(sound, "retail", lambda task: bool(task.infos and task.actions))
    uninformed = result_of(sound, without(calls=False), tmp_path / "untold", informing)
    assert (uninformed.failure, uninformed.why[:9]) == ("communication_missing", "not told:")
    undone = result_of(sound, without(calls=True), tmp_path / "undone", informing)
    assert undone.failure in ("db_state_mismatch", "communication_missing") and not undone.rollout.calls


def test_a_process_that_ends_by_itself_is_no_failure_of_the_model(with_user: WithUser, tmp_path: Path) -> None:
    tau2 = with_user("Hello.")

    class Saboteur:
        def reply(self, messages: Any, tools: Any) -> str:
            for child in tau2.children.started:
                child.process.kill()
                child.process.wait()
            return "Hello."

    item = first(tau2, "telecom")
    report = run(tau2, Policy(model="m", speak=lambda item: Saboteur()), tmp_path / "killed", (item,))
    assert not report.failures and "ended unexpectedly" in report.not_run[item.id]
    assert result_of(tau2, oracle(tau2), tmp_path / "next", item).passed


NUMBERS = st.integers(-10_000, 10_000)


@given(NUMBERS, NUMBERS, st.floats(-1e6, 1e6), st.integers(1, 9))
def test_a_calculator_computes_as_python_does(one: int, two: int, three: float, four: int) -> None:
    text = f" ({one} + {two}) * {three:.3f} - -{four} / {four} "
    assert evaluate_expression(text) == (one + two) * float(f"{three:.3f}") - -four / four
    assert evaluate_expression(f"{four}**2 // {four}", {"__builtins__": None}, {}) == four


@pytest.mark.parametrize(
    "text",
    ["9**9**9", "2**(9**9)", "()", "1 2", "5(3)", "(1).real", "a", "[1]", "-" * 999 + "1)", "1+" * 600 + "1", ""],
)
def test_a_calculator_refuses_what_is_no_arithmetic(text: str) -> None:
    with pytest.raises(ValueError):
        evaluate_expression(text)


def test_a_key_goes_to_its_own_address_alone(tmp_path: Path) -> None:
    variables = {"PROVE_LLM_URL": "http://a/v1", "PROVE_LLM_MODEL": "big", "PROVE_LLM_KEY": "of-a"}

    def settings(url: str = "", model: str = "", **more: str) -> tuple[str, str, str]:
        options = {"user_url": url, "user_model": model}
        endpoint = user_endpoint(options, {**variables, **more}, tmp_path)
        assert endpoint
        endpoint.close()
        return endpoint.settings.url, endpoint.settings.model, endpoint.settings.key

    assert settings() == settings("http://a/v1") == ("http://a/v1", "big", "of-a")
    assert settings(model="small") == ("http://a/v1", "small", "of-a")
    assert settings("http://b/v1", "small") == ("http://b/v1", "small", "none")
    assert settings("http://b/v1", PROVE_USER_KEY="of-b") == ("http://b/v1", "big", "of-b")
    assert user_endpoint({"user_url": "http://b/v1", "user_model": ""}, {}, tmp_path) is None


def test_an_environment_without_what_is_needed_says_what_is_not_there() -> None:
    with pytest.raises(ChildFailed, match="tau2's own code failed: ModuleNotFoundError: No module named 'tau2'"):
        Tau2(Path(sys.executable))
    with pytest.raises(ChildFailed, match="nobody does not exist"):
        Tau2(Path("/nobody"))


def test_a_missing_environment_or_split_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match="evaluate tau2 --install"), open_benchmark("tau2", tmp_path, {}):
        pass
    with pytest.raises(NotKnown, match="base, train, test"), open_benchmark("tau2", tmp_path, {"split": "dev"}):
        pass


def test_the_documents_describe_every_option() -> None:
    page = (ROOT / "docs" / "evaluation-tau2.md").read_text("utf-8")
    for option in get_benchmark_spec("tau2").options:
        assert f"\n| `{option.name}` | " in page
