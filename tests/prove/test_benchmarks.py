"""An evaluation: what it stores, how it resumes, what its report says, and how two of them compare."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prove_web.evaluations.management.commands.evaluate import Command
from tests.prove.serving import Serve
from training_worker.chat.protocol import ScriptedModel, parse_calls
from training_worker.core.trajectory import Message, Rollout, ToolCall, UnreadableData
from training_worker.endpoint import Endpoint
from training_worker.evaluation import results_text
from training_worker.evaluation.compare import NotComparable, compare_shared_tasks, mcnemar, require_comparable
from training_worker.evaluation.environment import NotInstalled, find_interpreter
from training_worker.evaluation.intervals import estimate_score, mean, wilson
from training_worker.evaluation.policies import endpoint_policy
from training_worker.evaluation.protocol import Item, NotRun, Policy, Result, identity_of, select_items
from training_worker.evaluation.report import pass_hat
from training_worker.evaluation.results import ITEMS, REPORT, Results, ResultsTaken, folder_of, results_in
from training_worker.evaluation.runner import IN_A_ROW, evaluate

ROOT = Path(__file__).parents[2]


class Echo:
    """A benchmark of 30 items in 2 categories: an item is passed by saying its id."""

    name, version, categories = "echo", "1", ("even", "odd")

    def items(self) -> Sequence[Item]:
        numbers = sorted(range(30), key=lambda number: number % 2)
        return [Item(f"item-{number}", self.categories[number % 2]) for number in numbers]

    def attempt(self, item: Item, policy: Policy) -> Result:
        said = policy.speak(item).reply([Message("user", item.id)], [])
        rollout = Rollout(
            example=item.id, transcript=(Message("assistant", said),), calls=(), end="answered", reward=None
        )
        passed, kind = said == item.id, "" if said == item.id else "another_word"
        return Result(item=item.id, category=item.category, passed=passed, failure=kind, rollout=rollout, steps=1)


def saying(text: str = "") -> Policy:
    """Return a policy that says a text, or by default the right one."""
    return Policy(model=text or "right", speak=lambda item: ScriptedModel([text or item.id]))


def evaluated(policy: Policy, folder: Path, **more: object) -> tuple[object, dict[str, Result]]:
    with Results(folder, identity_of(Echo(), policy)) as results:
        return evaluate(Echo(), policy, Echo().items(), results, **more), dict(results.done)  # type: ignore[arg-type]


def test_a_right_policy_scores_all_and_a_wrong_one_nothing(tmp_path: Path) -> None:
    for policy, share in ((saying(), 1.0), (saying("no"), 0.0)):
        report, done = evaluated(policy, tmp_path / policy.model)
        assert report.overall.accuracy == share and report.complete and len(done) == 30
        assert [one.passed for one in report.categories] == [15 * share] * 2
        assert report.failures == ({} if share else {"another_word": 30})


def test_a_second_evaluation_asks_nothing_and_reports_the_same(tmp_path: Path) -> None:
    first = evaluated(saying(), tmp_path)

    def never_called(item: Item) -> ScriptedModel:
        raise AssertionError("asked again")

    assert evaluated(replace(saying(), speak=never_called), tmp_path) == first


KILLED = """
import os, sys
from pathlib import Path
from tests.prove.test_benchmarks import evaluated, saying
evaluated(saying(), Path(sys.argv[1]), progress=lambda done, total: os.kill(os.getpid(), 9) if done == 12 else None)
"""


def test_killed_half_way_and_resumed_it_reports_the_same(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "killed")], cwd=ROOT, capture_output=True)
    assert done.returncode == -9, done.stderr
    assert len(results_in(tmp_path / "killed")) == 12
    assert evaluated(saying(), tmp_path / "killed") == evaluated(saying(), tmp_path / "whole")
    reports = [json.loads((tmp_path / name / REPORT).read_text()) for name in ("killed", "whole")]
    assert [report.pop("seconds") >= 0 for report in reports] == [True, True] and reports[0] == reports[1]


@pytest.mark.parametrize("lost", [1, 5, 40])
def test_a_torn_last_line_is_forgotten(tmp_path: Path, lost: int) -> None:
    complete = evaluated(saying(), tmp_path)
    lines = (tmp_path / ITEMS).read_bytes()
    (tmp_path / ITEMS).write_bytes(lines[:-lost])
    assert len(results_in(tmp_path)) >= 29  # a mere read changes nothing
    assert evaluated(saying(), tmp_path) == complete
    assert len((tmp_path / ITEMS).read_bytes().splitlines()) == 30


def test_a_broken_line_elsewhere_is_named(tmp_path: Path) -> None:
    evaluated(saying(), tmp_path)
    lines = (tmp_path / ITEMS).read_text().splitlines(keepends=True)
    (tmp_path / ITEMS).write_text("".join([*lines[:3], '{"item"\n', *lines[4:]]))
    with pytest.raises(UnreadableData, match="line 4"):
        evaluated(saying(), tmp_path)


def test_results_of_one_model_are_never_taken_for_another(tmp_path: Path) -> None:
    evaluated(saying(), tmp_path)
    with pytest.raises(ResultsTaken, match="another model"):
        evaluated(saying("no"), tmp_path)
    identity = identity_of(Echo(), saying())
    others = [replace(identity, **{name: "other"}) for name in ("benchmark", "version", "model", "style")]
    others.append(replace(identity, sampling={"temperature": 1.0}))
    assert len({folder_of(tmp_path, one) for one in (identity, *others)}) == 6


def test_two_evaluations_do_not_write_to_one_folder(tmp_path: Path) -> None:
    identity = identity_of(Echo(), saying())
    with Results(tmp_path, identity), pytest.raises(ResultsTaken, match="wait for it"), Results(tmp_path, identity):
        pass


def failing(*ids: str) -> Policy:
    """Return a policy that is right, except that it cannot reach these items."""

    def speak(item: Item) -> ScriptedModel:
        if item.id in ids:
            raise NotRun("the endpoint is away")
        return ScriptedModel([item.id])

    return replace(saying(), speak=speak)


def test_what_could_not_be_run_counts_in_no_score_and_is_tried_again(tmp_path: Path) -> None:
    report, done = evaluated(failing("item-0", "item-1", "item-3"), tmp_path)
    assert [(one.asked, one.run, one.score.accuracy) for one in report.categories] == [(15, 14, 1.0), (15, 13, 1.0)]
    assert len(done) == 27 and not report.complete and set(report.not_run) == {"item-0", "item-1", "item-3"}
    text = "\n".join(results_text.iter_report_notes(report))
    assert "3 were not run" in text and "the endpoint is away" in text
    assert evaluated(saying(), tmp_path)[0].complete


def test_an_endpoint_that_is_never_there_ends_the_evaluation_early(tmp_path: Path) -> None:
    report, done = evaluated(failing(*(item.id for item in Echo().items())), tmp_path, parallel=1)
    assert not done and len(report.not_run) == IN_A_ROW and report.overall is None
    assert all(one.score is None for one in report.categories)


def test_ctrl_c_keeps_what_is_finished_and_goes_on_to_the_caller(tmp_path: Path) -> None:
    def interrupted(done: int, total: int) -> None:
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluated(saying(), tmp_path, progress=interrupted)
    assert len(results_in(tmp_path)) == 7
    assert evaluated(saying(), tmp_path)[0].complete


def test_without_all_categories_there_is_no_overall_score(tmp_path: Path) -> None:
    items = select_items(Echo().items(), ["odd"], 4)
    assert [item.id for item in items] == ["item-1", "item-3", "item-5", "item-7"]
    with Results(tmp_path, identity_of(Echo(), saying())) as results:
        report = evaluate(Echo(), saying(), items, results)
    assert report.overall is None and "no overall score" in "\n".join(results_text.iter_report_notes(report))
    assert [row[:2] for row in results_text.iter_report_rows(report)] == [("odd", "4 of 4")]


@settings(max_examples=20)
@given(st.integers(1, 400).flatmap(lambda run: st.tuples(st.integers(0, run), st.just(run))))
def test_an_interval_holds_the_share_and_agrees_with_scipy(counts: tuple[int, int]) -> None:
    from scipy.stats import binomtest

    passed, run = counts
    score = wilson(passed / run, run)
    known = binomtest(passed, run).proportion_ci(method="wilson")
    assert score and 0 <= score.low <= score.accuracy <= score.high <= 1
    assert score.low == pytest.approx(known.low, abs=1e-9) and score.high == pytest.approx(known.high, abs=1e-9)


def test_the_overall_score_is_the_unweighted_mean_and_surer_than_its_parts() -> None:
    few, many = wilson(1 / 2, 2), wilson(1.0, 200)
    assert few and many and mean([few, many]).accuracy == 0.75
    same = mean([few] * 4)
    assert same.accuracy == few.accuracy and few.low < same.low < same.high < few.high
    assert wilson(0, 0) is None


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.randoms())
def test_the_interval_of_a_mean_holds_it_and_does_not_know_an_order(values: list[float], random: Random) -> None:
    score = estimate_score(values)
    assert score and -1e-9 <= score.low <= score.accuracy <= score.high <= 1 + 1e-9
    again = estimate_score(random.sample(values, len(values)))
    assert again and (again.low, again.high) == pytest.approx((score.low, score.high), abs=1e-9)
    assert estimate_score([]) is None


def test_where_all_are_alike_the_interval_is_that_of_a_share() -> None:
    assert estimate_score([0.0] * 20) == wilson(0.0, 20) and estimate_score([1.0] * 20) == wilson(1.0, 20)


@given(st.integers(0, 5), st.integers(2, 5))
def test_pass_hat_is_the_share_of_draws_that_all_pass(passed: int, trials: int) -> None:
    task = [number < passed for number in range(trials)]
    for k, chance in enumerate(pass_hat([task]), 1):
        draws = list(combinations(task, k))
        assert chance == pytest.approx(sum(map(all, draws)) / len(draws))
    assert pass_hat([[True]]) == () and len(pass_hat([task])) == trials


def test_trials_of_a_task_are_one_task_to_the_report(tmp_path: Path) -> None:
    items = select_items(Echo().items(), ["even"], 4, trials=3)
    assert [item.id for item in items[:4]] == ["item-0", "item-0#2", "item-0#3", "item-2"]
    assert {item.task for item in items} == {"item-0", "item-2", "item-4", "item-6"}
    first = replace(saying(), speak=lambda item: ScriptedModel([item.id if item.trial == 1 else "no"]))
    with Results(tmp_path, identity_of(Echo(), first)) as results:
        report = evaluate(Echo(), first, items, results)
    (even,) = report.categories
    assert even.pass_hat == (pytest.approx(1 / 3), 0.0, 0.0) and even.score.accuracy == pytest.approx(1 / 3)
    assert "even: pass^1 33.3%, pass^2 0.0%" in "\n".join(results_text.iter_report_notes(report))


def test_a_graded_comparison_gives_a_difference_with_its_interval(tmp_path: Path) -> None:
    _, done = evaluated(saying(), tmp_path)
    half = {id: replace(result, score=0.5, passed=False) for id, result in done.items()}
    mixed = {id: replace(result, score=0.5 + 0.01 * number) for number, (id, result) in enumerate(half.items())}
    found = compare_shared_tasks(half, mixed)
    assert found.low < found.difference < found.high and found.p < 0.001 and len(found.gained) == 29
    assert compare_shared_tasks(mixed, mixed).p == 1.0


@settings(max_examples=20)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6))
def test_any_two_graded_evaluations_compare_and_turn_round(scores: list[tuple[float, float]]) -> None:
    rollout = Rollout(example="", transcript=(), calls=(), end="answered", reward=None)

    def side(place: int) -> dict[str, Result]:
        graded = {f"item-{number}": one[place] for number, one in enumerate(scores)}
        return {
            id: Result(item=id, category="even", passed=score == 1, score=score, rollout=rollout, steps=1)
            for id, score in graded.items()
        }

    there, back = compare_shared_tasks(side(0), side(1)), compare_shared_tasks(side(1), side(0))
    assert 0 < there.p <= 1 and back.p == pytest.approx(there.p, abs=0.05)
    assert (there.gained, there.lost) == (back.lost, back.gained)
    assert there.low - 1e-9 <= there.difference <= there.high + 1e-9


def test_a_comparison_names_what_flipped_each_way(tmp_path: Path) -> None:
    _, right = evaluated(saying(), tmp_path / "a")
    _, wrong = evaluated(saying("no"), tmp_path / "b")
    mixed = {**wrong, "item-4": right["item-4"], "item-9": right["item-9"]}
    other = {**wrong, "item-5": right["item-5"]}
    found = compare_shared_tasks(mixed, other)
    assert (found.gained, found.lost) == (("item-5",), ("item-4", "item-9"))
    assert found.p == mcnemar(1, 2) == pytest.approx(1.0)
    assert compare_shared_tasks(right, right).p == 1.0
    assert compare_shared_tasks(wrong, right).p == pytest.approx(2 * 0.5**30)
    assert "30 gained: item-0" in "\n".join(results_text.format_comparison(compare_shared_tasks(wrong, right)))
    with pytest.raises(NotComparable):
        compare_shared_tasks(right, {})


def test_versions_of_a_benchmark_do_not_compare() -> None:
    identity = identity_of(Echo(), saying())
    require_comparable(identity, replace(identity, model="other"))
    with pytest.raises(NotComparable, match="one version"):
        require_comparable(identity, replace(identity, version="2"))
    with pytest.raises(NotComparable, match="different user"):
        require_comparable(identity, replace(identity, settings={"user": "other"}))


def test_a_benchmark_that_is_not_installed_is_reported_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match="evaluate bfcl --install"):
        find_interpreter(tmp_path, "bfcl")


def test_the_documents_name_the_options_that_there_are() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    Command().add_arguments(parser)
    page = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    named = [name for row in re.findall(r"^\| (`--.*?) \|", page, re.M) for name in re.findall(r"`(--\w+)`", row)]
    assert sorted(named) == sorted(name for action in parser._actions for name in action.option_strings)


@pytest.mark.parametrize("fields", [True, False])
def test_a_call_that_a_server_sends_twice_is_made_once(serve: Serve, tmp_path: Path, fields: bool) -> None:
    tagged = 'Let me see. <tool_call>{"name": "ls", "arguments": {"a": true}}</tool_call>'
    tool_calls = {"tool_calls": [{"function": {"name": "ls", "arguments": '{"a": true}'}}]} if fields else {}
    served = serve(lambda body: {"content": tagged, **tool_calls})
    with Endpoint(served.settings(tmp_path)) as endpoint:
        policy = endpoint_policy(endpoint, temperature=0.5)
        model = policy.speak(Item("a", "b"))
        text = model.reply([Message("user", "What is there?")], [])
    assert parse_calls(text) == (ToolCall("ls", {"a": True}),) and text.startswith("Let me see.")
    assert model.tokens == 10  # type: ignore[attr-defined]
    assert served.requests[0]["temperature"] == policy.sampling["temperature"] == 0.5
