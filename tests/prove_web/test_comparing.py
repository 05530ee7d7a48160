"""Runs beside each other: curves agree with numpy, differences are real, and every response is bounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from itertools import permutations
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from django.conf import LazySettings
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries
from scipy import stats

from prove_web.accounts.models import Organisation, Project, User
from prove_web.comparisons.aggregate import Curve, align_curves, band
from prove_web.comparisons.component_diff import components, tools
from prove_web.comparisons.curves import build_chart_data, read
from prove_web.comparisons.differences import fields
from prove_web.comparisons.final_eval import finals
from prove_web.comparisons.groups import groups
from prove_web.comparisons.params import ComparisonParams, parse_comparison_params
from prove_web.experiments.charts import MOST_COMPARED
from prove_web.experiments.defaults import START
from prove_web.experiments.models import Point, Run
from prove_web.live.models import State
from prove_web.trajectories.models import Dataset
from training_worker.monitoring.metrics import TOOLS

from .compared import leave_held_out, right, trained_run, wrong_on
from .evaluated import Look, evaluation_of, fails_on, saying
from .examples import dataset_of
from .trained import run_of

SignIn = Callable[[User], Client]
STEPS = st.lists(st.integers(0, 60), min_size=1, max_size=12, unique=True).map(sorted)
VALUES = st.floats(-3, 3, allow_nan=False)
CURVES = st.lists(
    STEPS.flatmap(
        lambda steps: st.lists(VALUES, min_size=len(steps), max_size=len(steps)).map(lambda each: Curve(steps, each))
    ),
    min_size=1,
    max_size=5,
)


@given(CURVES, st.sampled_from(["sd", "range", "ci"]))
def test_a_band_is_what_numpy_says_of_the_curves_that_reach_a_step(curves: list[Curve], kind: str) -> None:
    found = band(curves, kind)
    assert found.steps == sorted({step for curve in curves for step in curve.steps})
    for at, step in enumerate(found.steps):
        there = [
            float(np.interp(step, one.steps, one.values)) for one in curves if one.steps[0] <= step <= one.steps[-1]
        ]
        assert found.count[at] == len(there)
        assert found.mean[at] == pytest.approx(np.mean(there), abs=1e-9)
        ends = (found.low[at], found.high[at])
        if len(there) < 2:
            assert ends == (None, None)
        elif kind == "range":
            assert ends == pytest.approx((min(there), max(there)), abs=1e-9)
        else:
            reach = np.std(there, ddof=1)
            reach *= stats.t.ppf(0.975, len(there) - 1) / np.sqrt(len(there)) if kind == "ci" else 1
            assert ends == pytest.approx((np.mean(there) - reach, np.mean(there) + reach), abs=1e-9)


@given(CURVES)
def test_at_its_own_steps_a_curve_is_itself_and_it_is_not_drawn_out_beyond_them(curves: list[Curve]) -> None:
    steps, rows = align_curves(curves)
    for curve, row in zip(curves, rows, strict=True):
        value_at = dict(zip(steps, row, strict=True))
        assert [value_at[step] for step in curve.steps] == pytest.approx(list(curve.values))
        assert all(np.isnan(value_at[step]) for step in steps if not curve.steps[0] <= step <= curve.steps[-1])


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Any) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def victors(victor: User, as_user: SignIn) -> Client:
    return as_user(victor)


def address(project: Project, *runs: Run, **query: Any) -> str:
    pairs = [("run", run.number) for run in runs] + list(query.items())
    return f"{reverse('run-compare', args=project.path)}?{urlencode(pairs, doseq=True)}"


def choose(project: Project, *runs: Run, **query: Any) -> ComparisonParams:
    return parse_comparison_params(project, QueryDict(address(project, *runs, **query).partition("?")[2]))


@pytest.mark.django_db
class TestWhichRuns:
    def test_the_address_says_the_choice_and_the_choice_the_address(self, project: Project) -> None:
        runs = [trained_run(project, f"Run {n}", 5) for n in range(4)]
        given = choose(
            project,
            *runs[::-1],
            base=2,
            metric=["kl", "held_out.reward"],
            axis="time",
            group="seed",
            band="none",
            all=1,
        )
        assert parse_comparison_params(project, QueryDict(given.address)) == given
        assert [run.number for run in given.runs] == [4, 3, 2, 1] and given.base == runs[1]

    def test_a_run_is_taken_out_moved_and_made_the_baseline(self, project: Project) -> None:
        one, two, three = (trained_run(project, f"Run {n}", 5) for n in range(3))
        given = choose(project, one, two, three)
        assert given.base == one
        assert given.remove_run(one).runs == (two, three) and given.remove_run(one).base == two
        assert given.move(three, -1).runs == (one, three, two) and given.move(three, -1).base == one
        assert given.replace_baseline(two).base == two and given.replace_baseline(two).runs == given.runs

    def test_what_is_no_run_of_the_project_is_named_and_nothing_of_another_is_seen(
        self, project: Project, organisation: Organisation, charlie: User, victors: Client
    ) -> None:
        mine = trained_run(project, "Mine", 5)
        other = Project.objects.create(organisation=organisation, slug="second", name="Second")
        for n in range(3):
            secret = trained_run(other, f"Secret {n}", 5, lift=0.1)
        text = unescape(victors.get(address(project, mine, secret)).content.decode())
        assert "This project has no run 3." in text and "Secret" not in text
        response = json.loads(victors.get(f"{address(project, mine, secret)}&part=curves").content)
        assert {number for chart in response["charts"] for line in chart["lines"] for number in line["runs"]} == {1}
        assert "Secret" not in victors.get(f"{address(project)}part=picker&q=Secret").content.decode()

    @pytest.mark.parametrize("query", ["run=x&run=-1&run=1e9&run=99999999999", "axis=up&band=x&metric=%00&base=q", ""])
    def test_nonsense_chooses_nothing(self, query: str, project: Project, victors: Client) -> None:
        for part in ("", "curves", "finals", "tools", "picker", "nothing"):
            answer = victors.get(f"{reverse('run-compare', args=project.path)}?{query}&part={part}")
            assert answer.status_code == 200

    def test_twenty_one_are_refused_in_words(self, project: Project, victors: Client) -> None:
        url = f"{reverse('run-compare', args=project.path)}?{'&'.join(f'run={n}' for n in range(1, MOST_COMPARED + 2))}"
        for part in ("", "&part=curves", "&part=finals"):
            answer = victors.get(url + part)
            assert answer.status_code == 400
            assert "21 runs are selected; at most 20 can be compared" in answer.content.decode()

    def test_runs_are_found_by_words_and_added(self, project: Project, victors: Client) -> None:
        one, two = trained_run(project, "Low rate", 5), trained_run(project, "High rate", 5)
        Run.objects.filter(pk=two.pk).update(tags=["keeper"])
        for words in ("high", "keeper", "#2", "2", "high rate"):
            text = unescape(victors.get(address(project, one, part="picker", q=words)).content.decode())
            assert "High rate" in text and "Low rate" not in text and "?run=1&run=2" in text
        assert "No other run matches" in victors.get(address(project, one, part="picker", q="nowhere")).content.decode()

    def test_without_runs_the_page_says_where_to_begin(self, project: Project, victors: Client) -> None:
        assert "A comparison needs at least two runs" in victors.get(address(project)).content.decode()
        one, two = trained_run(project, "One", 5), trained_run(project, "Two", 5)
        text = unescape(victors.get(address(project)).content.decode())
        assert f"?run={one.number}&run={two.number}" in text and "Newest 2 runs" in text

    @pytest.mark.parametrize("number", [7, 2**31, 99_999_999_999, 10**30])
    def test_a_number_that_no_run_has_is_named(self, project: Project, victors: Client, number: int) -> None:
        run = trained_run(project, "One", 5)
        text = victors.get(f"{address(project, run)}&run={number}").content.decode()
        assert f"This project has no run {number}." in text and "One" in text

    def test_deleted_runs_are_not_there(self, project: Project) -> None:
        run = trained_run(project, "Gone", 5)
        Run.objects.filter(pk=run.pk).update(deleted_at=run.created_at)
        assert choose(project, run).runs == () and choose(project, run).missing == (1,)


@pytest.mark.django_db
class TestCurves:
    def test_a_line_is_the_points_of_its_run(self, project: Project) -> None:
        run = run_of(project, [0.1, 0.25, 0.5])
        (line,) = build_chart_data(choose(project, run, metric="reward"))["charts"][0]["lines"]
        assert (line["x"], line["y"], line["runs"]) == ([1, 2, 3], [0.1, 0.25, 0.5], [1]) and "low" not in line

    def test_runs_that_differ_by_seed_alone_are_one_line_with_a_band(self, project: Project) -> None:
        runs = [trained_run(project, f"Seed {n}", 10, lift=n / 10, config={"seed": n}) for n in range(3)]
        other = trained_run(project, "Other", 10, config={"seed": 0, "learning_rate": 1e-5})
        given = choose(project, *runs, other, group="seed", metric="reward")
        first, second = build_chart_data(given)["charts"][0]["lines"]
        assert first["runs"] == [1, 2, 3] and second["runs"] == [4] and "3 seeds" in first["name"]
        at = [Point.objects.get(run=run, step=4).metrics["reward"] for run in runs]
        assert first["y"][3] == pytest.approx(np.mean(at), rel=1e-5)
        assert first["high"][3] == pytest.approx(np.mean(at) + np.std(at, ddof=1), rel=1e-5)
        assert first["count"] == [3] * 10 and "low" not in second
        assert [group.runs for group in groups(given.runs)] == [tuple(runs), (other,)]

    def test_along_tokens_a_point_lies_at_the_tokens_so_far(self, project: Project) -> None:
        run, mute = trained_run(project, "Counts", 5), run_of(project, [0.5, 0.6])
        charts = build_chart_data(choose(project, run, mute, axis="tokens", metric="reward"))
        (line,) = charts["charts"][0]["lines"]
        assert line["x"] == [1010, 2030, 3060, 4100, 5150] and charts["left_out"] == [mute.number]
        held = build_chart_data(choose(project, run, axis="time", metric="held_out.reward"))["charts"][0]["lines"][0]
        assert held["x"] == [2.0 * step for step in held["step"]]

    def test_long_runs_are_means_over_steps_and_exact_where_one_zooms_in(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prove_web.comparisons.curves.MOST_POINTS", 50)
        run = trained_run(project, "Long", 200)
        series = read([run], ["reward"])
        rewards = dict(run.points.values_list("step", "metrics__reward"))
        curve = series.curves[run.pk, "reward"]
        assert series.every == 4 and len(curve.steps) <= 51
        assert curve.values[1] == pytest.approx(np.mean([rewards[step] for step in (4, 5, 6, 7)]))
        near = read([run], ["reward"], 100, 120)
        assert near.every == 1 and near.curves[run.pk, "reward"].steps == [*range(100, 121)]

    def test_a_metric_that_no_run_logged_has_no_line(self, project: Project) -> None:
        run = trained_run(project, "Run", 5)
        assert build_chart_data(choose(project, run, metric="kl"))["charts"][0]["lines"] == []


@pytest.mark.django_db
class TestWhatDiffers:
    @given(
        given=st.fixed_dictionaries(
            {},
            optional={
                "seed": st.integers(0, 2),
                "learning_rate": st.sampled_from([1e-4, 2e-4]),
                "loss": st.sampled_from(["dapo", "grpo"]),
                "beta": st.sampled_from([0.0, 0.01]),
                "group": st.sampled_from([8, 16]),
            },
        )
    )
    def test_the_table_has_exactly_the_fields_that_differ(self, given: dict[str, Any]) -> None:
        data = Dataset(number=1, name="Data")
        runs = [Run(number=n, kind="grpo", config=config, dataset=data) for n, config in enumerate(({}, given))]
        differing = {one.name for one in fields(runs) if one.differs}
        assert differing == {name for name, value in given.items() if value != START[name]}

    def test_a_reward_by_name_is_listed_with_the_weight_that_differs(self, project: Project) -> None:
        plain = trained_run(project, "Whole", 5)
        other = trained_run(project, "Part", 5, config={"reward": {"name": 0.0}})
        differing = {one.name: one.values for one in fields([plain, other]) if one.differs}
        assert differing == {"reward_preset": ("The paper's", "Without name"), "reward_name": ("0.2", "0")}

    def test_other_data_is_a_difference_and_what_the_baseline_has_is_not_odd(self, project: Project) -> None:
        one = trained_run(project, "One", 5, dataset=dataset_of(project))
        two = trained_run(project, "Two", 5, dataset=dataset_of(project))
        (data,) = [each for each in fields([one, two], two) if each.differs]
        assert (data.name, data.odd) == ("dataset", (True, False))

    def test_the_page_shows_differences_and_on_demand_all(self, project: Project, victors: Client) -> None:
        runs = [trained_run(project, f"Run {n}", 5, config={"seed": n}) for n in range(2)]
        less, more = (victors.get(address(project, *runs, **query)).content.decode() for query in ({}, {"all": 1}))
        assert "Warmup" not in less.split('id="settings"')[1] and "Group size" in more.split('id="settings"')[1]


@pytest.mark.django_db
class TestResults:
    def test_a_difference_is_paired_by_conversation_and_has_an_interval(self, project: Project) -> None:
        runs = [trained_run(project, f"Run {n}", 5) for n in range(3)]
        for run, plays in zip(runs, (wrong_on(0, 1, 2), wrong_on(0), right), strict=True):
            leave_held_out(run, plays)
        first, second, third = finals(choose(project, *runs).runs, runs[0])
        assert first.against is None and second.against and third.against
        assert second.against.value == pytest.approx(2 * 1.3 / 6) and second.against.count == 6
        assert third.against.value == pytest.approx(3 * 1.3 / 6) and third.against.low > 0
        assert third.against.verdict == "better"

    def test_goal_success_stands_beside_the_reward(self, project: Project, victors: Client) -> None:
        runs = [trained_run(project, f"Run {n}", 5) for n in range(3)]
        for run, plays in zip(runs, (wrong_on(0, 1, 2), right), strict=False):
            leave_held_out(run, plays)
        rows = finals(choose(project, *runs).runs, runs[0])
        assert [row.goals for row in rows] == [0.5, 1.0, None]
        text = victors.get(address(project, *runs, part="finals")).content.decode()
        assert "Goal success" in text and "50.0" in text and "100.0" in text

    def test_what_cannot_be_paired_says_why(self, project: Project, victors: Client) -> None:
        here, gone, working = (trained_run(project, name, 5) for name in ("Here", "Gone", "Working"))
        working.job.state = State.RUNNING
        working.job.save()
        leave_held_out(here, right)
        text = unescape(victors.get(address(project, here, gone, working, part="finals")).content.decode())
        assert "The held-out rollouts of run 2 are not in this machine's data folder" in text
        assert "Run 3 has not ended" in text

    def test_evaluations_of_the_runs_stand_beside_each_other(self, project: Project, victors: Client) -> None:
        runs = [trained_run(project, f"Run {n}", 5) for n in range(3)]
        bench = Look(20)
        evaluation_of(project, saying(fails_on(*range(0, 20, 2)), "run 1"), bench, run=runs[0], checkpoint="last")
        evaluation_of(project, saying(fails_on(), "run 2"), bench, run=runs[1], checkpoint="last")
        page = victors.get(address(project, *runs, part="finals"))
        (board,) = page.context["boards"]
        assert [row.evaluation.number if row.evaluation else None for row in board.rows] == [1, 2, None]
        assert board.rows[1].against.value == pytest.approx(0.5) and board.rows[1].against.low > 0

    def test_components_and_tools_come_with_the_largest_difference_first(self, project: Project) -> None:
        one = trained_run(project, "One", 40, tools={"transfer_money": (10, 4), "list_accounts": (20, 1)})
        two = trained_run(project, "Two", 40, lift=0.1, tools={"transfer_money": (10, 1), "list_accounts": (20, 2)})
        given = choose(project, one, two)
        parts = components(given.runs, one)
        assert parts.held_out and parts.rows[0].name == "validity"
        assert parts.rows[0].cells[1].delta == pytest.approx(0.1) and parts.rows[0].cells[0].delta is None
        found = tools(given.runs, one)
        assert [row.name for row in found.rates] == ["transfer_money", "list_accounts"]
        assert [row.cells[1].delta for row in found.rates] == pytest.approx([-0.3, 0.05])
        assert found.rates[0].cells[1].count == 40 and found.steps == {1: 4, 2: 4}

    def test_a_run_without_a_result_leaves_its_training(self, project: Project) -> None:
        one, two = trained_run(project, "One", 40), trained_run(project, "Two", 40, state=State.RUNNING)
        parts = components(choose(project, one, two).runs, one)
        last = [Point.objects.get(run=one, step=step).metrics["coverage"] for step in range(37, 41)]
        (row,) = [row for row in parts.rows if row.name == "coverage"]
        assert not parts.held_out and row.cells[0].value == pytest.approx(np.mean(last))

    def test_the_order_of_runs_changes_nothing_that_is_said(self, project: Project) -> None:
        runs = [
            trained_run(project, f"Run {n}", 20, lift=n / 20, config={"seed": n}, tools={"list_accounts": (9, n)})
            for n in range(3)
        ]
        for run, plays in zip(runs, (wrong_on(0, 1), wrong_on(0), right), strict=True):
            leave_held_out(run, plays)

        def said(order: tuple[Run, ...]) -> Any:
            given = choose(project, *order, base=1)
            at = [given.runs.index(run) for run in runs]
            found = finals(given.runs, given.base)
            return (
                {one.name: [one.values[i] for i in at] for one in fields(given.runs, given.base) if one.differs},
                [(row.name, [row.cells[i] for i in at]) for row in components(given.runs, given.base).rows],
                [(row.name, [row.cells[i] for i in at]) for row in tools(given.runs, given.base).rates],
                [found[i].against for i in at],
                sorted((line["runs"], line["y"]) for line in build_chart_data(given)["charts"][0]["lines"]),
            )

        assert all(said(order) == said(tuple(runs)) for order in permutations(runs))

    def test_names_are_text(self, project: Project, victors: Client) -> None:
        run = trained_run(project, "<script>alert(1)</script>", 5, tools={"<img src=x>": (3, 1)})
        for part in ("", "finals", "tools", "picker"):
            chosen = () if part == "picker" else (run,)
            text = victors.get(address(project, *chosen, part=part)).content.decode()
            assert "<script>alert" not in text and "<img src=x" not in text


@pytest.mark.django_db
def test_twenty_long_runs_cost_as_few_questions_as_two_and_a_bounded_answer(
    project: Project, victors: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    data = dataset_of(project)
    tool_counts = {f"tool_{n}": (3, n % 3) for n in range(100)}
    runs = [run_of(project, dataset=data, config={"seed": n}) for n in range(MOST_COMPARED)]
    step = {"tokens": 100, "elapsed_s": 1.5, TOOLS: tool_counts, "success": 0.5}
    Point.objects.bulk_create(
        Point(run=run, step=at, metrics={**step, "reward": at / 350 + run.number / 100})
        for run in runs
        for at in range(1, 351)
    )
    for part, most in (("", 14), ("curves", 8), ("finals", 9), ("tools", 8), ("picker", 8)):
        with django_assert_max_num_queries(most):
            answer = victors.get(address(project, *runs, part=part, group="seed"))
        assert answer.status_code == 200 and len(answer.content) < 900_000


def test_the_baseline_is_the_run_that_the_others_declare(project: Project) -> None:
    first, second, third = (trained_run(project, name, steps=5) for name in ("First", "Second", "Third"))
    Run.objects.filter(pk=third.pk).update(base=first)
    for numbers in permutations((1, 2, 3)):
        choice = parse_comparison_params(project, QueryDict(urlencode([("run", number) for number in numbers])))
        assert choice.base == first and "base=" not in choice.address
        assert choice.replace_baseline(second).address.endswith("base=2"), "who chooses another one has it"
        assert parse_comparison_params(project, QueryDict(choice.replace_baseline(second).address)).base == second
        assert choice.remove_run(first).base == choice.remove_run(first).runs[0], "nobody declares one of these"
    Run.objects.filter(pk=second.pk).update(pinned=True)
    assert parse_comparison_params(project, QueryDict("run=3&run=2")).base == second, "a pinned one is next"
