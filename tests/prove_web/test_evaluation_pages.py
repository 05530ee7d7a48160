"""The pages of evaluations: reports, items, conversations, comparisons and leaderboards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from django.utils.http import urlencode
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.evaluations.comparison import find_call_divergence
from prove_web.evaluations.models import Evaluation
from prove_web.evaluations.paired_comparison import build_paired_comparison, rows_of
from prove_web.evaluations.ranking import Cell, boards, load_finished_evaluations
from prove_web.evaluations.storage import NoConversation, folder_of, result_of
from prove_web.live.models import State
from prove_web.trajectories.conversation import of_rollout
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import ExecutedCall, Message, Rollout, ToolCall
from training_worker.evaluation import published_scores
from training_worker.evaluation.compare import compare_shared_tasks
from training_worker.evaluation.protocol import Item
from training_worker.evaluation.results import ITEMS, results_in

from .evaluated import AWAY, Aimed, Look, evaluation_of, fails_on, out_of_reach, reads, saying
from .trained import run_of

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> Path:
    settings.PROVE_DATA = tmp_path
    return tmp_path


@pytest.fixture
def victors(victor: User, as_user: SignIn) -> Client:
    return as_user(victor)


def at(evaluation: Evaluation, *more: Any, page: str = "evaluation", **query: Any) -> str:
    address = reverse(page, args=[*evaluation.project.path, evaluation.number, *more])
    return address + (f"?{urlencode(query)}" if query else "")


def read(client: Client, url: str, status: int = 200, **more: Any) -> str:
    answer = client.get(url, **more)
    assert answer.status_code == status
    return answer.text


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def half(*, model: str = "half", **more: Any) -> Any:
    return saying(fails_on(0, 2, 4, 1, **more), model)


def test_a_report_has_every_category_with_intervals_and_the_silent_baseline(project: Project, victors: Client) -> None:
    made = evaluation_of(project, half())
    page = victors.get(at(made))
    lines = {line.name: line for line in [*page.context["lines"], page.context["overall"]]}
    for one in made.job.result["report"]["categories"]:
        line = lines[one["name"]]
        assert (line.asked, line.run, line.passed, line.silent) == (one["asked"], one["run"], one["passed"], 0.0)
        expected = [100 * one["score"][name] for name in ("accuracy", "low", "high")]
        assert [line.accuracy, line.low, line.high] == pytest.approx(expected, abs=0.01)
        assert f"95 % interval {line.low:.1f} to {line.high:.1f}" in page.text
    assert lines["overall"].accuracy == pytest.approx(100 * made.overall, abs=0.01)
    assert "silent baseline 0.0" in words(page.text) and "not run" not in page.text


def test_goal_success_stands_beside_the_score_where_it_was_measured(project: Project, victors: Client) -> None:
    wrong = write_calls([ToolCall("read", {"file": "another"})])
    made = evaluation_of(project, saying(fails_on(0, 2, 4, by=wrong), "detours"), Aimed())
    page = victors.get(at(made))
    assert [(line.accuracy, line.goal_success) for line in page.context["lines"]] == [(50.0, 100.0), (100.0, 100.0)]
    assert page.context["overall"].act_accuracy == 100.0
    text = words(page.text)
    assert "Goal success Act accuracy" in text and "Expected act Called Asked Text Call 12 0 0" in text
    assert "another file goal reached" in text
    item = made.items.get(item="look-0")
    assert "goal reached" in read(victors, at(made, item.line, page="evaluation-item"))
    before = words(read(victors, at(evaluation_of(project))))
    assert "Goal success" not in before and "goal missed" not in before, "measured before there was any"


def test_a_comparison_shows_the_goal_success_of_both_and_a_dash_where_it_is_unknown(
    project: Project, victors: Client
) -> None:
    old, new = evaluation_of(project), evaluation_of(project, half(), Aimed())
    overall = build_paired_comparison(rows_of(old), rows_of(new)).overall
    assert overall.goals == (None, pytest.approx(100 * 8 / 12))
    page = words(read(victors, at(new, page="evaluation-compare", **{"with": old.number})))
    assert "Goal success \N{EN DASH} → 66.7 %" in page
    plain = evaluation_of(project)
    assert "Goal success" not in read(victors, at(plain, page="evaluation-compare", **{"with": old.number}))


def test_what_was_not_run_stands_apart_and_counts_nowhere(project: Project, victors: Client) -> None:
    made = evaluation_of(project, out_of_reach(saying(reads), "look-3", "look-5"))
    page = victors.get(at(made))
    assert "2 items not run" in words(page.text) and f"2 {AWAY} look-3 look-5" in words(page.text)
    assert [line.accuracy for line in page.context["lines"]] == [100.0, 100.0]
    assert "4 of 6" in words(page.text)


def test_the_papers_figures_stand_beside_a_benchmark_of_the_paper(project: Project, victors: Client) -> None:
    benchmark = Look(8, published_scores.COLUMNS["bfcl"])
    made = evaluation_of(project, half(model="Qwen/Qwen3-8B"), benchmark, named="bfcl")
    for beside, model in (("", "Qwen3-8B"), ("Granite-4.1-8B", "Granite-4.1-8B"), (HOSTILE, "Qwen3-8B")):
        page = victors.get(at(made, beside=beside))
        base, prove = (one for one in published_scores.MAIN if (one.benchmark, one.model) == ("bfcl", model))
        for line in [*page.context["lines"], page.context["overall"]]:
            assert [mark.at for mark in line.paper] == [base.scores[line.name], prove.scores[line.name]]
            assert f"{base.scores[line.name]:.1f} → {prove.scores[line.name]:.1f}" in page.text
    assert "Paper reference" not in read(victors, at(evaluation_of(project)))


def test_trials_show_the_chance_that_all_pass(project: Project, victors: Client) -> None:
    first = replace(saying(reads), speak=lambda item: saying(reads if item.trial == 1 else lambda item: "").speak(item))
    made = evaluation_of(project, first, Look(4, ["even"]), trials=2)
    page = victors.get(at(made))
    assert [line.pass_hat for line in page.context["lines"]] == [(50.0, 0.0)]
    item = made.items.get(item="look-2#2")
    assert "Trials of this task" in read(victors, at(made, item.line, page="evaluation-item"))


def test_trials_of_a_task_are_a_tree_that_shows_where_those_that_pass_part_from_those_that_fail(
    project: Project, victors: Client
) -> None:
    second = replace(saying(reads), speak=lambda item: saying(reads if item.trial == 1 else other).speak(item))
    made = evaluation_of(project, second, Look(4, ["even"]), trials=3)
    item = made.items.get(item="look-2#2")
    assert at(made, item.line, page="evaluation-trials") in read(victors, at(made, item.line, page="evaluation-item"))
    page = victors.get(at(made, item.line, page="evaluation-trials"))
    tree = page.context["root"]
    assert [(len(way.members), way.mean) for way in tree.ways] == [(1, 1.0), (2, 0.0)]
    assert tree.first and page.context["parted"].share == 1.0 and page.context["passed"] == 1
    assert {end.row.item for end in page.context["ends"]} == {"look-2", "look-2#3"}
    failing = tree.ways[1].fork
    part = victors.get(at(made, item.line, page="evaluation-trials", node=failing, part="members"))
    assert [trial.row.item for trial in part.context["trials"]] == ["look-2#2", "look-2#3"]
    assert [
        way.of for way in victors.get(at(made, item.line, page="evaluation-trials", by="tool")).context["root"].ways
    ] == []


def test_a_task_that_was_run_once_says_how_it_is_run_more_often(project: Project, victors: Client) -> None:
    made = evaluation_of(project, half())
    assert "more trials" in read(victors, at(made, 0, page="evaluation-trials"))


def other(item: Item) -> str:
    return write_calls([ToolCall("read", {"file": "another"})])


@pytest.mark.parametrize("state", [State.RUNNING, State.STOPPED, State.FAILED, State.LOST])
def test_what_is_not_done_shows_counts_and_no_score(state: State, project: Project, victors: Client) -> None:
    page = victors.get(at(evaluation_of(project, half(), state=state)))
    text = words(page.text)
    assert "6 items finished" in text and "Counts only, no score" in text
    assert page.context["overall"] is None and [line.low for line in page.context["lines"]] == [None]
    assert "95 % interval" not in text


def test_an_evaluation_that_has_nothing_yet_says_so(project: Project, victors: Client) -> None:
    made = evaluation_of(project, state=State.QUEUED)
    made.items.all().delete()
    made.job.result, made.version = {}, ""
    made.job.save()
    text = words(read(victors, at(made)))
    assert "No items finished yet" in text and "Waiting for a worker" in text


def test_a_report_that_cannot_be_read_leaves_the_counts(project: Project, victors: Client) -> None:
    made = evaluation_of(project)
    for broken in ({}, [], {"identity": 3}, None):
        made.job.result = {**made.job.result, "report": broken}
        made.job.save()
        assert "12 items finished" in words(read(victors, at(made)))


def test_htmx_is_given_only_what_changes(project: Project, victors: Client) -> None:
    part = read(victors, at(evaluation_of(project)), headers={"HX-Request": "true"})
    assert "<html" not in part and "Results" in part and "Model lineage" not in part


def test_failures_lead_to_the_items_that_failed_so(project: Project, victors: Client) -> None:
    made = evaluation_of(project, half())
    page = victors.get(at(made))
    (failure,) = page.context["failures"]
    assert (failure.kind, failure.count, [cell.count for cell in failure.cells]) == ("nothing_read", 4, [3, 1])
    assert 'href="?failure=nothing_read#items"' in page.text
    found = victors.get(at(made, failure="nothing_read", category="even")).context["page"]
    assert sorted(row.item for row in found) == ["look-0", "look-2", "look-4"]


@pytest.mark.long
def test_every_filter_lists_the_items_that_match(project: Project, victors: Client) -> None:
    """Every combination of filters agrees with a plain filter of the rows."""
    made = evaluation_of(project, half())
    rows = list(made.items.all())
    for category, outcome, failure, q in product(
        ("", "even", "none"), ("", "passed", "failed"), ("", "nothing_read"), ("", "look 1", "LOOK-2")
    ):
        page = victors.get(at(made, category=category, outcome=outcome, failure=failure, q=q)).context["page"]
        assert {row.item for row in page} == {
            row.item
            for row in rows
            if category in ("", row.category)
            and outcome in ("", "passed" if row.passed else "failed")
            and failure in ("", row.failure)
            and all(word.lower() in row.item for word in q.split())
        }


@pytest.mark.parametrize("value", ["", "-", "-item", HOSTILE, "\0", "9" * 30, "-1", "%", "é" * 300])
def test_a_query_that_makes_no_sense_breaks_nothing(value: str, project: Project, victors: Client) -> None:
    made = evaluation_of(project, half())
    for name in ("q", "category", "outcome", "failure", "sort", "page", "beside", "other"):
        for url in (at(made), at(made, 0, page="evaluation-item")):
            assert victors.get(f"{url}?{urlencode({name: value})}").status_code == 200, url


@pytest.mark.parametrize("sort", ["item", "-value", "outcome", "-tokens", "seconds"])
def test_items_are_sorted_and_previous_and_next_follow(sort: str, project: Project, victors: Client) -> None:
    made = evaluation_of(project, half())
    rows = list(victors.get(at(made, sort=sort, category="even")).context["page"])
    key = {"outcome": "passed"}.get(sort, sort.removeprefix("-"))
    values = [getattr(row, key) for row in rows]
    assert values == sorted(values, reverse=sort.startswith("-")) and len(rows) == 6
    walked, line = [], rows[0].line
    while line is not None:
        page = victors.get(at(made, line, page="evaluation-item", sort=sort, category="even"))
        walked.append(line)
        line = page.context["later"]
    assert walked == [row.line for row in rows]


def test_the_list_alone_is_for_htmx_and_keeps_the_address(project: Project, victors: Client) -> None:
    made = evaluation_of(project, half())
    url = at(made, page="evaluation-items", outcome="failed", q="")
    answer = victors.get(url, headers={"HX-Request": "true"})
    assert answer.headers["HX-Push-Url"] == at(made, outcome="failed") and "<html" not in answer.text
    assert "4 found" in words(answer.text)
    assert victors.get(url).headers["Location"] == at(made, outcome="failed") + "#items"


def test_the_list_as_it_is_now_leaves_the_address_and_a_filter_keeps_the_model_beside(
    project: Project, victors: Client
) -> None:
    made = evaluation_of(project, half())
    quiet = victors.get(at(made, page="evaluation-items", now="1", sort="item"), headers={"HX-Request": "true"})
    assert "HX-Push-Url" not in quiet.headers and "now=1" not in quiet.text and "12 in total" in words(quiet.text)
    url = at(made, page="evaluation-items", beside="x", outcome="failed")
    beside = victors.get(url, headers={"HX-Request": "true"})
    assert beside.headers["HX-Push-Url"] == at(made, beside="x", outcome="failed")
    assert "?beside=x#items" in beside.text, "showing all again keeps it, too"


def test_an_item_shows_its_conversation_the_verdict_and_the_benchmarks_words(project: Project, victors: Client) -> None:
    wrong = write_calls([ToolCall("read", {"file": "another"})])
    made = evaluation_of(project, half(by=wrong))
    row = made.items.get(item="look-2")
    page = victors.get(at(made, row.line, page="evaluation-item"))
    text = words(page.text)
    assert "another file" in text and "expected look-2" in text and "What is in look-2?" in text
    (call,) = [call for turn in page.context["turns"] for call in turn.calls]
    assert (call.tool, call.arguments, call.server) == ("read", {"file": "another"}, "")
    assert json.loads(page.context["raw"])["item"] == "look-2"


def test_hostile_text_is_rendered_as_text(project: Project, victors: Client) -> None:
    made = evaluation_of(project, half(by=HOSTILE, model=HOSTILE.replace("/", "")))
    other = evaluation_of(project, half(by=HOSTILE * 200))
    Evaluation.objects.update(name=HOSTILE, model=HOSTILE, checkpoint=HOSTILE[:20])
    made.items.update(failure=HOSTILE)
    row = made.items.get(item="look-2")
    compare = {"page": "evaluation-compare", "with": other.number}
    for url in (
        at(made, failure=HOSTILE, q=HOSTILE),
        at(made, row.line, page="evaluation-item", q=HOSTILE),
        at(made, **compare),
        at(made, other.number, row.line, page="evaluation-beside"),
        reverse("leaderboard", args=[*project.path, "look"]) + f"?{urlencode({'sort': HOSTILE})}",
        reverse("leaderboards", args=project.path),
    ):
        page = read(victors, url)
        assert "<script>alert" not in page and "&lt;script&gt;" in page, url


@pytest.mark.parametrize("path", ["/etc", "..", "benchmarks/projects/../..", "benchmarks/projects/0", "", 3, None])
def test_only_the_projects_own_results_are_read(path: Any, project: Project, victors: Client) -> None:
    made = evaluation_of(project)
    made.job.result = {**made.job.result, "folder": path}
    made.job.save()
    assert "cannot be shown" in read(victors, at(made, 0, page="evaluation-item"))
    with pytest.raises(NoConversation):
        folder_of(made)


def test_a_link_out_of_the_project_is_not_followed(project: Project, folder: Path) -> None:
    made = evaluation_of(project)
    where = folder / made.job.result["folder"]
    elsewhere = folder / "elsewhere"
    where.rename(elsewhere)
    where.symlink_to(elsewhere)
    with pytest.raises(NoConversation, match="outside"):
        result_of(made.items.first())
    where.unlink()
    where.mkdir()
    (where / ITEMS).symlink_to(elsewhere / ITEMS)
    with pytest.raises(NoConversation, match="link"):
        result_of(made.items.first())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: path.unlink(), "is missing"),
        (lambda path: path.write_text(""), "cannot be read"),
        (lambda path: path.write_text(path.read_text()[:-9]), "cannot be read"),
        (lambda path: path.write_text("".join(sorted(path.read_text().splitlines(keepends=True)[1:]))), "another item"),
    ],
    ids=["gone", "empty", "cut", "another"],
)
def test_a_conversation_that_is_missing_or_changed_is_reported(
    change: Callable[[Path], Any], why: str, project: Project, victors: Client, folder: Path
) -> None:
    made = evaluation_of(project, benchmark=Look(1 if why != "another item" else 3, ["even"]))
    change(folder / made.job.result["folder"] / ITEMS)
    page = read(victors, at(made, 0, page="evaluation-item"))
    assert why in page and "look-0" in page


def test_every_item_is_read_from_its_own_line(project: Project, folder: Path) -> None:
    made = evaluation_of(project, half())
    there = results_in(folder / made.job.result["folder"])
    assert {row.item: result_of(row) for row in made.items.select_related("evaluation__job")} == there


def test_a_comparison_says_what_the_library_says(project: Project, victors: Client, folder: Path) -> None:
    first = evaluation_of(project, saying(fails_on(0, 1, 2, 3), "before"))
    second = evaluation_of(project, saying(fails_on(3, 5), "after"))
    sides = [results_in(folder / one.job.result["folder"]) for one in (first, second)]
    expected, found = compare_shared_tasks(*sides), build_paired_comparison(rows_of(first), rows_of(second))
    overall = found.overall
    assert (overall.items, overall.p) == (expected.items, expected.p)
    assert [overall.difference, overall.low, overall.high] == pytest.approx(
        [100 * number for number in (expected.difference, expected.low, expected.high)]
    )
    assert tuple(sorted(flip.task for flip in found.gained)) == expected.gained
    assert tuple(flip.task for flip in found.lost) == expected.lost == ("look-5",)
    assert [count for *_, count, _ in overall.parts] == [7, 3, 1, 1]
    assert sum(pair.items for pair in found.categories) == 12
    page = read(victors, at(second, page="evaluation-compare", **{"with": first.number}))
    assert "no clear difference" in page and "+16.7" in page
    for flip in (*found.gained, *found.lost):
        for one, row in ((first, flip.first), (second, flip.second)):
            assert at(one, row.line, page="evaluation-item") in page
        assert at(second, first.number, flip.second.line, page="evaluation-beside") in page


def test_graded_trials_flip_by_their_mean(project: Project) -> None:
    twice = saying(reads, "after")
    first = replace(twice, model="before", speak=lambda item: saying(reads if item.trial == 1 else str).speak(item))
    sides = [evaluation_of(project, one, Look(2, ["even"]), trials=2) for one in (first, twice)]
    found = build_paired_comparison(*map(rows_of, sides))
    assert [(flip.task, flip.before, flip.after, flip.second.item) for flip in found.gained] == [
        ("look-0", 0.5, 1.0, "look-0#2"),
        ("look-1", 0.5, 1.0, "look-1#2"),
    ]


def test_what_does_not_compare_says_why(project: Project, victors: Client) -> None:
    made = evaluation_of(project)
    for other, why in (
        (evaluation_of(project, benchmark=Look(version="2")), "evaluate both models on one version"),
        (evaluation_of(project, named="listen"), "are not comparable"),
        (made, "cannot be compared with itself"),
    ):
        assert why in read(victors, at(made, page="evaluation-compare", **{"with": other.number}))
    nothing = evaluation_of(project)
    nothing.items.all().delete()
    page = read(victors, at(made, page="evaluation-compare", **{"with": nothing.number}))
    assert "no item that both evaluations have run" in page
    for number in ("99", "no", "-1", "9" * 30):
        assert victors.get(at(made, page="evaluation-compare", **{"with": number})).status_code == 404


def test_the_base_model_of_its_run_is_offered_first(project: Project, victors: Client) -> None:
    run = run_of(project, [0.1], config={"policy": "models/tiny"})
    base = evaluation_of(project, saying(fails_on(1), "tiny"))
    evaluation_of(project, saying(reads, "newer"))
    evaluation_of(project, benchmark=Look(version="2"))
    made = evaluation_of(project, saying(reads, "run 1"), run=run, checkpoint="best")
    initial = evaluation_of(project, saying(fails_on(2), "called otherwise"), spec={"policy": "models/tiny"})
    page = victors.get(at(made, page="evaluation-compare"))
    first, *rest = page.context["choices"]
    assert (first.evaluation, first.note) == (initial, "initial model of the run")
    assert [bool(one.why_not) for one in rest] == [False, False, True] and base in [one.evaluation for one in rest]
    assert victors.get(at(base, page="evaluation-compare")).context["choices"][0].note == ""


@given(
    st.lists(st.sampled_from("ab"), max_size=5),
    st.lists(st.sampled_from("ab"), max_size=5),
    st.lists(st.sampled_from("ab"), max_size=3),
)
def test_calls_part_at_the_first_that_is_not_shared(first: list[str], second: list[str], shared: list[str]) -> None:
    sides = [[ExecutedCall(ToolCall(name, {}), 3) for name in shared + own] for own in (first, second)]
    found = find_call_divergence(*sides)
    names = [[made.call.name for made in side] for side in sides]
    if found is None:
        assert names[0] == names[1]
    else:
        assert found >= len(shared) and names[0][:found] == names[1][:found]
        assert names[0][found : found + 1] != names[1][found : found + 1]


def test_side_by_side_marks_where_the_calls_part(project: Project, victors: Client) -> None:
    wrong = write_calls([ToolCall("read", {"file": "look-2"}), ToolCall("read", {"file": "more"})])
    first, second = evaluation_of(project, saying(fails_on(2, 4, by=wrong), "before")), evaluation_of(project)
    row = second.items.get(item="look-2")
    page = victors.get(at(second, first.number, row.line, page="evaluation-beside"))
    assert page.context["parting"] == 1 and "First different call" in page.text
    cards = [[call for turn in side["turns"] for call in turn.calls] for side in page.context["sides"]]
    assert [[call.anchor for call in side] for side in cards] == [["a-call-1", "a-call-2"], ["b-call-1"]]
    assert [any(chip.text == "First difference" for chip in call.chips) for call in cards[0]] == [False, True]
    assert (page.context["place"], page.context["count"]) == (1, 2)
    unrun = evaluation_of(project, out_of_reach(saying(reads), "look-2"))
    assert victors.get(at(second, unrun.number, row.line, page="evaluation-beside")).status_code == 404


def board(client: Client, project: Project, benchmark: str = "look", **query: Any) -> Any:
    return client.get(reverse("leaderboard", args=[*project.path, benchmark]) + f"?{urlencode(query)}")


def test_versions_are_never_ranked_together(project: Project, victors: Client) -> None:
    evaluation_of(project, saying(fails_on(0), "a"))
    evaluation_of(project, saying(reads, "b"))
    evaluation_of(project, saying(reads, "a"), Look(version="2"))
    rankings = [one for one, _ in board(victors, project).context["boards"]]
    assert [(one.version, [row.evaluation.model for row in one.standings]) for one in rankings] == [
        ("1", ["b", "a"]),
        ("2", ["a"]),
    ]
    assert [row.rank for row in rankings[0].standings] == [1, 2]


def test_a_leaderboard_has_goal_success_where_it_was_measured(project: Project, victors: Client) -> None:
    wrong = write_calls([ToolCall("read", {"file": "another"})])
    evaluation_of(project, saying(fails_on(0, 2, 4, by=wrong), "detours"), Aimed())
    evaluation_of(project, saying(reads, "plain"))
    ranking, headings = board(victors, project).context["boards"][0]
    assert {row.evaluation.model: row.cells.get("goal_success") for row in ranking.standings} == {
        "plain": None,
        "detours": Cell(100.0, best=True),
    }
    assert [one["title"] for one in headings][-2:] == ["goal success", "overall"]


def test_the_best_of_each_model_stands_and_only_the_same_tasks_are_ranked(project: Project) -> None:
    evaluation_of(project, saying(fails_on(0, 1, 2), "a"))
    best = evaluation_of(project, saying(fails_on(0), "a"))
    few = evaluation_of(project, saying(reads, "few"), limit=2)
    cut = evaluation_of(project, out_of_reach(saying(reads, "cut"), "look-3"))
    truth = evaluation_of(project, saying(reads, "oracle"), spec={"source": "oracle"})
    evaluation_of(project, saying(reads, "running"), state=State.RUNNING)
    (one,) = boards(load_finished_evaluations(project, "look"))
    ranks = {row.evaluation: (row.rank, row.of, row.asked) for row in one.standings}
    assert ranks == {best: (1, 2, 12), few: (None, 1, 4), cut: (None, 1, 12), truth: (None, 1, 12)}
    assert [row.evaluation for row in one.standings] == [best, cut, few, truth]


def test_models_without_a_rank_stand_in_the_order_of_their_scores(project: Project, victors: Client) -> None:
    """Baselines, models that ran fewer tasks and the rows of the paper are sorted by score."""
    for wrong, source in (((0, 1, 2), "folder"), ((), "oracle"), ((0,), "folder")):
        evaluation_of(project, saying(fails_on(*wrong), f"fails-{len(wrong)}"), limit=2, spec={"source": source})
    complete = evaluation_of(project, saying(fails_on(0, 2, 4), "whole"))
    (one,) = boards(load_finished_evaluations(project, "look"))
    assert one.standings[0].evaluation == complete and [row.rank for row in one.standings] == [1, None, None, None]
    scores = [row.overall.accuracy for row in one.standings[1:]]
    assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1]
    rows = [each["row"].overall for each in board(victors, project, "bfcl").context["rows"]]
    assert rows == sorted(rows, reverse=True)


@pytest.mark.parametrize("sort", ["even", "-even", "odd", "-odd", "overall", "-overall", "model", "-model"])
def test_a_board_is_sorted_by_any_column(sort: str, project: Project, victors: Client) -> None:
    for model, wrong in (("a", (0, 2)), ("b", (1,)), ("c", (0, 1, 3, 5))):
        evaluation_of(project, saying(fails_on(*wrong), model))
    ((ranking, headings),) = board(victors, project, sort=sort).context["boards"]
    name = sort.removeprefix("-")
    values = [row.evaluation.model if name == "model" else row.cells[name].accuracy for row in ranking.standings]
    assert values == sorted(values, reverse=sort.startswith("-"))
    assert [one["title"] for one in headings] == ["even", "odd", "overall"]


def test_categories_that_count_as_one_stand_as_one_beside_the_papers(project: Project, victors: Client) -> None:
    benchmark = Look(8, ("plan_json", "plan_str", "review_str"))
    made = evaluation_of(project, benchmark=benchmark, named="teval")
    score = {"accuracy": 0.5, "low": 0.25, "high": 0.75}
    made.job.result["report"]["groups"] = [{"name": name, "score": score} for name in published_scores.COLUMNS["teval"]]
    made.job.save()
    page = board(victors, project, "teval")
    ((ranking, _),) = page.context["boards"]
    assert ranking.columns == (*published_scores.COLUMNS["teval"], "overall") and page.context["aligned"]
    assert ranking.standings[0].cells["plan"].accuracy == 50.0 and "plan_json" not in page.text


def test_the_papers_rows_are_marked_and_have_no_rank(project: Project, victors: Client) -> None:
    evaluation_of(project, saying(reads, "ours"), Look(8, published_scores.COLUMNS["bfcl"]), named="bfcl")
    page = board(victors, project, "bfcl")
    ((ranking, _),) = page.context["boards"]
    assert [row.evaluation.model for row in ranking.standings] == ["ours"]
    assert page.text.count('<span class="paper-badge">paper</span> ') == len(
        published_scores.list_published_rows("bfcl")
    )
    assert "states no version" in page.text and "no validity" in page.text
    assert [slope.change for slope in page.context["papers"]] == [10.2, 0.9, 3.7, 0.1]
    empty = board(victors, project, "teval")
    assert "No evaluations yet" in empty.text and "version unknown" in empty.text


def test_a_trained_model_is_drawn_from_its_base(project: Project, victors: Client) -> None:
    run = run_of(project, [0.1], config={"policy": "tiny"})
    base = evaluation_of(project, saying(fails_on(0, 1, 2), "tiny"))
    made = evaluation_of(project, saying(fails_on(0), "run 1"), run=run, checkpoint="last")
    (slope,) = board(victors, project).context["slopes"]
    assert (slope.before, slope.after) == (75.0, 91.67)
    assert slope.url == at(made, page="evaluation-compare", **{"with": base.number})


def test_a_benchmark_that_nobody_knows_has_no_board(project: Project, victors: Client) -> None:
    assert board(victors, project, "nothing").status_code == 404
    assert "No evaluations yet" in read(victors, reverse("leaderboards", args=project.path))


def test_another_teams_results_are_nowhere(project: Project, victors: Client, charlie: User, as_user: SignIn) -> None:
    theirs = Project.objects.exclude(pk=project.pk).get()
    made, secret = evaluation_of(project), evaluation_of(theirs, saying(reads, "their secret"))
    row = made.items.first()
    for url in (
        at(made),
        at(made, page="evaluation-compare"),
        at(made, row.line, page="evaluation-item"),
        reverse("leaderboard", args=[*project.path, "look"]),
        reverse("leaderboards", args=project.path),
    ):
        assert "their secret" not in read(victors, url)
        assert as_user(charlie).get(url).status_code == 404
    assert secret.number == made.number  # so that a number alone would find it
    made.job.result = {**made.job.result, "folder": secret.job.result["folder"]}
    made.job.save()
    assert "cannot be shown" in read(victors, at(made, row.line, page="evaluation-item"))


def test_pages_make_as_many_queries_for_few_evaluations_as_for_many(
    project: Project, victors: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = run_of(project, [0.1], config={"policy": "tiny"})

    def add(number: int) -> Evaluation:
        return evaluation_of(project, saying(fails_on(number), f"m{number}"), run=run, checkpoint=str(number))

    made, other = add(1), add(2)
    urls = {
        at(made): 14,
        at(made, 0, page="evaluation-item"): 11,
        at(made, page="evaluation-compare", **{"with": other.number}): 10,
        reverse("leaderboard", args=[*project.path, "look"]): 6,
        reverse("leaderboards", args=project.path): 6,
    }
    for _ in range(2):
        for url, queries in urls.items():
            with django_assert_num_queries(queries, info=url):
                victors.get(url)
        for number in range(3, 9):
            add(number)


def test_a_conversation_without_an_example_leaves_nothing_out() -> None:
    call = ToolCall("look", {"at": "it"})
    rollout = Rollout(
        example="x",
        transcript=(
            Message("system", "Be brief."),
            Message("user", "Look."),
            Message("tool", "what was there before"),
            Message("assistant", write_calls([call])),
            Message("tool", "seen"),
            Message("tool", "and more"),
            Message("assistant", "Seen."),
        ),
        calls=(ExecutedCall(call, 3, "seen", 0),),
        end="answered",
        reward=None,
    )
    turns = of_rollout(rollout)
    assert [(turn.role, turn.text) for turn in turns] == [
        ("system", "Be brief."),
        ("user", "Look."),
        ("tool", "what was there before"),
        ("assistant", ""),
        ("tool", "and more"),
        ("assistant", "Seen."),
    ]
    assert [call.result for turn in turns for call in turn.calls] == ["seen"]
