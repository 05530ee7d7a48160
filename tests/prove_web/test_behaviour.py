"""What two policies do differently: aligned by conversation, split at the first different call, flips first."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Organisation, Project, User
from prove_web.comparisons.behaviour import FLIPS, KINDS, Filter, pairs
from prove_web.comparisons.sources import Attempt
from prove_web.core.divergence import find_divergence
from prove_web.experiments.models import Run
from training_worker.core.trajectory import Example, Rollout, ToolCall

from .compared import bad, held_out_examples, leave_held_out, right, trained_run, wrong_on
from .evaluated import Look, evaluation_of, fails_on, saying
from .examples import dataset_of
from .trained import calling, good

SignIn = Callable[[User], Client]
CALLS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["{}", "1"])), max_size=6).map(tuple)
ATTEMPTS = st.dictionaries(st.text("xyz", min_size=1, max_size=3), st.tuples(CALLS, st.booleans()), max_size=8)


@given(CALLS, CALLS)
def test_two_sequences_part_at_the_first_index_where_they_differ(first: Any, second: Any) -> None:
    at = find_divergence(first, second)
    assert (at is None) == (first == second)
    if at is not None:
        assert first[:at] == second[:at] and first[at : at + 1] != second[at : at + 1]
    assert find_divergence(second, first) == at


def attempts(results: Any) -> dict[str, Attempt]:
    return {key: Attempt(key, "", 1.0, passed, calls, at) for at, (key, (calls, passed)) in enumerate(results.items())}


@given(ATTEMPTS, ATTEMPTS)
def test_conversations_are_aligned_and_flips_come_first(one: Any, other: Any) -> None:
    found = pairs(attempts(one), attempts(other))
    assert {pair.first.key for pair in found} == one.keys() & other.keys()
    assert all(pair.first.key == pair.second.key for pair in found)
    assert [pair.flipped for pair in found] == sorted((pair.flipped for pair in found), reverse=True)
    swapped = {pair.first.key: pair for pair in pairs(attempts(other), attempts(one))}
    for pair in found:
        twin = swapped[pair.first.key]
        assert twin.parting == pair.parting and (pair.kind in FLIPS) == (twin.kind in FLIPS)
        assert pair.kind not in FLIPS or {pair.kind, twin.kind} == {*FLIPS}


@given(ATTEMPTS, ATTEMPTS)
def test_filters_take_apart_what_there_is(one: Any, other: Any) -> None:
    found = pairs(attempts(one), attempts(other))
    assert sum(len(Filter(kind=kind)(found)) for kind in KINDS) == len(found)
    assert Filter(kind="flipped")(found) == [pair for pair in found if pair.flipped]
    assert sum(len(Filter(length=str(n))(found)) for n in range(6)) == len(found)
    assert all("a" in pair.tools for pair in Filter(tool="a")(found))
    assert all(pair.parting is not None for pair in Filter(apart=True)(found))


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Any) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def victors(victor: User, as_user: SignIn) -> Client:
    return as_user(victor)


@pytest.fixture
def two(project: Project) -> tuple[Run, Run]:
    """Two runs: the second fails on the first two conversations, and on the third it makes one call too many."""
    held = held_out_examples()
    dataset = dataset_of(project, held)

    def plays(at: int, example: Example) -> Rollout:
        if at != 2:
            return wrong_on(0, 1)(at, example)
        calls = [call for step in example.steps for call in step.calls]
        return calling(example, *calls, ToolCall("list_accounts", {"odd": "<b>"}))

    runs = trained_run(project, "First", 5, dataset=dataset), trained_run(project, "Second", 5, dataset=dataset)
    leave_held_out(runs[0], right, held)
    leave_held_out(runs[1], plays, held)
    return runs


def address(project: Project, page: str = "run-behaviour", **query: Any) -> str:
    return f"{reverse(page, args=project.path)}?{urlencode(query)}"


@pytest.mark.django_db
class TestTwoRuns:
    def test_what_flipped_stands_first_and_is_counted(
        self, project: Project, two: tuple[Run, Run], victors: Client
    ) -> None:
        page = victors.get(address(project, a="run-1", b="run-2"))
        counts = {kind: count for kind, _, count in page.context["counts"]}
        assert counts["lost"] == 3 and counts["gained"] == 0 and counts["passed"] == 3
        first, second, third, *rest = page.context["page"]
        held = held_out_examples()
        assert {one.first.key for one in (first, second, third)} == {one.id for one in held[:3]}
        assert [one.place for one in (first, second)] == [1, 1]
        calls = sum(len(step.calls) for step in held[2].steps)
        assert (
            third.place == calls + 1
            and third.calls[0] is None
            and third.calls[1]
            == (
                "list_accounts",
                '{"odd": "<b>"}',
            )
        )
        assert all(pair.parting is None for pair in rest)

    def test_before_and_after_of_one_run_are_two_sides(
        self, project: Project, two: tuple[Run, Run], victors: Client
    ) -> None:
        page = victors.get(address(project, a="run-1-before", b="run-1"))
        assert {kind: count for kind, _, count in page.context["counts"]}["gained"] == 5, (
            "the one that takes no call was passed before"
        )
        assert ", initial policy" in page.content.decode()

    @pytest.mark.parametrize(
        ("query", "expected"),
        [({"kind": "lost"}, 3), ({"apart": "1"}, 3), ({"length": "0"}, 1), ({"tool": "nothing"}, 0)],
    )
    def test_the_list_is_narrowed(
        self, query: dict[str, str], expected: int, project: Project, two: tuple[Run, Run], victors: Client
    ) -> None:
        page = victors.get(address(project, a="run-1", b="run-2", **query))
        assert len(page.context["page"]) == expected
        assert expected or "No matching conversations" in page.content.decode()

    def test_one_conversation_stands_side_by_side_with_the_parting_marked(
        self, project: Project, two: tuple[Run, Run], victors: Client
    ) -> None:
        held = held_out_examples()
        page = victors.get(address(project, "run-beside", a="run-1", b="run-2", item=held[2].id))
        text = page.content.decode()
        calls = sum(len(step.calls) for step in held[2].steps)
        assert f'data-parting="{calls + 1}"' in text and text.count("First difference") == 1
        assert f'id="b-call-{calls + 1}"' in text and f'id="a-call-{calls + 1}"' not in text
        assert "<b>" not in text.split("<main")[1].replace("<b></b>", "")
        assert page.context["earlier"] and page.context["later"]

    def test_a_conversation_that_the_two_do_not_share_is_not_found(
        self, project: Project, two: tuple[Run, Run], victors: Client
    ) -> None:
        ask = {"a": "run-1", "b": "run-2"}
        assert victors.get(address(project, "run-beside", **ask, item="nowhere")).status_code == 404
        without = victors.get(address(project, "run-beside", **ask))
        assert without.status_code == 302 and without.url == address(project, **ask)

    def test_costs_few_questions(
        self,
        project: Project,
        two: tuple[Run, Run],
        victors: Client,
        django_assert_max_num_queries: DjangoAssertNumQueries,
    ) -> None:
        with django_assert_max_num_queries(12):
            victors.get(address(project, a="run-1", b="run-2"))
        with django_assert_max_num_queries(12):
            victors.get(address(project, "run-beside", a="run-1", b="run-2", item=held_out_examples()[0].id))

    def test_a_file_that_is_rewritten_is_read_again(
        self, project: Project, two: tuple[Run, Run], victors: Client
    ) -> None:
        url = address(project, a="run-1", b="run-2")
        assert victors.get(url).context["apart"] == 3
        leave_held_out(two[1], lambda at, example: bad(example), held_out_examples())
        assert victors.get(url).context["apart"] == 5

    @pytest.mark.parametrize("damage", ["{", '{"example": 3}\n', "\x00\n"])
    def test_a_damaged_file_is_reported(
        self, damage: str, project: Project, two: tuple[Run, Run], victors: Client
    ) -> None:
        (two[0].job.out / "evaluations" / "after-greedy" / "rollouts.jsonl").write_text(damage)
        text = victors.get(address(project, a="run-1", b="run-2")).content.decode()
        assert "The held-out rollouts of run 1 cannot be read" in text


@pytest.mark.django_db
class TestWhatCannotBeCompared:
    def test_where_rollouts_are_gone_evaluations_are_offered(
        self, project: Project, mary: User, as_user: SignIn
    ) -> None:
        runs = [trained_run(project, f"Run {n}", 5) for n in range(2)]
        url = address(project, a="run-1", b="run-2")
        text = unescape(as_user(mary).get(url).content.decode())
        assert "not in this machine's data folder" in text
        for number in (1, 2):
            assert f"/evaluations/new/?benchmark=worlds&run={number}&checkpoint=last" in text
        for run in runs:
            evaluation_of(project, saying(fails_on(run.number), f"run {run.number}"), Look(6), run=run)
        assert "?a=evaluation-1&b=evaluation-2" in unescape(as_user(mary).get(url).content.decode())

    def test_two_evaluations_are_compared_by_their_items(self, project: Project, victors: Client) -> None:
        for number, fails in ((1, fails_on(0, 1)), (2, fails_on(1, 2))):
            evaluation_of(project, saying(fails, f"m{number}"), Look(6))
        page = victors.get(address(project, a="evaluation-1", b="evaluation-2"))
        kinds = {pair.first.key: pair.kind for pair in page.context["page"]}
        assert kinds["look-0"] == "gained" and kinds["look-2"] == "lost" and kinds["look-1"] == "failed"
        text = page.content.decode()
        assert "/evaluations/2/compare/1/" in text and "/evaluations/2/compare/?with=1" in text

    @pytest.mark.parametrize(
        ("second", "said"),
        [("run-1", "Both sides are the same policy"), ("evaluation-1", "Choose two runs or two evaluations")],
    )
    def test_what_makes_no_sense_is_said(self, second: str, said: str, project: Project, victors: Client) -> None:
        run = trained_run(project, "Run", 5)
        leave_held_out(run, right)
        evaluation_of(project, benchmark=Look(2))
        assert said in victors.get(address(project, a="run-1", b=second)).content.decode()

    def test_runs_on_other_conversations_say_so(self, project: Project, victors: Client) -> None:
        for held in (held_out_examples()[:2], held_out_examples()[2:4]):
            leave_held_out(trained_run(project, "Run", 5), right, held)
        text = victors.get(address(project, a="run-1", b="run-2")).content.decode()
        assert "The two share no conversation" in text

    @pytest.mark.parametrize("name", ["run-9", "run-1-after", "evaluation-7", "../etc", "run-99999999999"])
    def test_what_is_no_side_is_not_found(self, name: str, project: Project, victors: Client) -> None:
        trained_run(project, "Run", 5)
        assert victors.get(address(project, a="run-1", b=name)).status_code == 404

    def test_another_projects_run_is_not_found(
        self, project: Project, organisation: Organisation, victors: Client
    ) -> None:
        other = Project.objects.create(organisation=organisation, slug="second", name="Second")
        trained_run(project, "Mine", 5)
        for n in range(2):
            leave_held_out(trained_run(other, f"Theirs {n}", 5), right)
        for page in ("run-behaviour", "run-beside"):
            assert (
                victors.get(address(project, page, a="run-1", b="run-2", item=held_out_examples()[0].id)).status_code
                == 404
            )

    def test_with_nothing_to_compare_the_page_says_what_leaves_something(
        self, project: Project, victors: Client
    ) -> None:
        assert "Nothing to compare yet" in victors.get(address(project)).content.decode()


def test_good_and_bad_are_what_they_are_called() -> None:
    for example in held_out_examples():
        assert good(example).reward.total >= 1 > bad(example).reward.total or example.abstains
