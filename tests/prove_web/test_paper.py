"""The paper's tables with the team's own results: each number where it belongs, and nothing that was not measured."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.comparisons.aggregate import Curve
from prove_web.experiments.models import Run, RunKind
from prove_web.paper.ours import load_project_results
from prove_web.paper.pages import average_near_step
from prove_web.paper.tables import ABLATIONS, Row, Table
from training_worker.evaluation import published_scores
from training_worker.evaluation.published_scores import COLUMNS
from training_worker.reward import PRESETS

from .compared import trained_run
from .evaluated import Look, evaluation_of, fails_on, saying
from .examples import abstention, chain, dataset_of

SignIn = Callable[[User], Client]
BENCH = Look(40, COLUMNS["bfcl"])


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Any) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def marys(mary: User, as_user: SignIn) -> Client:
    return as_user(mary)


def tables(client: Client, project: Project, query: str = "") -> dict[str, Table]:
    page = client.get(f"{reverse('paper', args=project.path)}?{query}")
    assert page.status_code == 200
    return {table.key: table for table in page.context["tables"]}


def row(table: Table, name: str, note: str) -> Row:
    (found,) = [one for one in table.rows if one.ours and (one.name, one.note) == (name, note)]
    return found


@pytest.mark.django_db
class TestTables:
    def test_the_papers_numbers_are_the_papers(self, project: Project, marys: Client) -> None:
        found = tables(marys, project)
        assert [*found] == ["bfcl-tau2", "teval", "ablations", "supervised", "teachers"]
        for key, benchmarks in (("bfcl-tau2", ("bfcl", "tau2")), ("teval", ("teval",))):
            published = [one for one in found[key].rows if not one.ours]
            assert [(one.name, one.note) for one in published] == [
                (model, stage) for model in published_scores.MODELS for stage in ("base", "PROVE")
            ]
            for one in published:
                for part in one.parts:
                    (known,) = [
                        each
                        for each in published_scores.MAIN
                        if (each.benchmark, each.model, each.stage) == (part.benchmark, one.name, one.note)
                    ]
                    assert part.benchmark in benchmarks and part.cells == tuple(known.scores.values())
        ablated = [tuple(part.cells[0] for part in one.parts) for one in found["ablations"].rows if not one.ours]
        assert ablated == [*published_scores.ABLATIONS.values()]
        assert {*ABLATIONS} == {name for name, one in PRESETS.items() if one.form == "paper"} - {"paper"}
        assert [one.parts[0].cells for one in found["supervised"].rows if not one.ours] == [
            (numbers[0],) for numbers in published_scores.SUPERVISED.values()
        ]
        page = marys.get(reverse("paper", args=project.path)).content.decode()
        assert not re.search(r"Table \d", page), "which number a table has is not known for sure"
        assert "13,517" in page and "10,895" in page and sum(published_scores.TRAINING_SET.values()) == 13_517

    def test_without_results_every_row_of_ours_is_empty_and_says_what_to_launch(
        self, project: Project, marys: Client
    ) -> None:
        for table in tables(marys, project).values():
            for one in table.rows:
                if one.ours:
                    assert all(value is None for part in one.parts for value in part.cells)
                    assert all(part.launch and part.why for part in one.parts)
        text = unescape(marys.get(reverse("paper", args=project.path)).content.decode())
        assert "?recipe=paper&kind=grpo&reward=no_validity" in text and "?recipe=paper&kind=sft" in text

    def test_a_base_model_a_trained_one_and_a_supervised_one_stand_in_their_rows(
        self, project: Project, marys: Client
    ) -> None:
        start = {"policy": "Qwen/Qwen3-4B-Instruct-2507"}
        trained = trained_run(project, "Trained", 5, config=start)
        copied = trained_run(project, "Copied", 5, config=start)
        Run.objects.filter(pk=copied.pk).update(kind=RunKind.SFT)
        on = trained_run(
            project, "On", 5, config={"policy": f"run:{copied.job_id}/checkpoint-5", "reward": {"name": 0.0}}
        )
        wrong = ((None, 20, "Qwen3-4B-Instruct-2507"), (trained, 10, "run 1"), (copied, 30, "run 2"), (on, 12, "run 3"))
        for run, fails, model in wrong:
            evaluation_of(
                project, saying(fails_on(*range(fails)), model), BENCH, named="bfcl", run=run, checkpoint="last"
            )
        found = tables(marys, project)
        assert row(found["bfcl-tau2"], "Qwen3-4B", "base").parts[0].cells[-1] == 50.0
        assert row(found["bfcl-tau2"], "Qwen3-4B", "PROVE").parts[0].cells[-1] == 75.0
        assert row(found["supervised"], "Qwen3-4B", "SFT").parts[0].cells == (25.0,)
        assert row(found["ablations"], "Qwen3-4B", "no name").parts[0].cells == (-5.0,)
        assert (
            row(found["ablations"], "Qwen3-4B", "no name").run == on
            and row(found["supervised"], "Qwen3-4B", "SFT").run == copied
        )
        trained_row = row(found["bfcl-tau2"], "Qwen3-4B", "PROVE")
        assert trained_row.parts[1].launch and trained_row.parts[1].launch[0] == "Evaluate run 1"
        assert trained_row.parts[1].why == "run 1 was not evaluated on this benchmark"

    def test_a_row_is_of_one_run_and_another_evaluation_can_be_chosen(self, project: Project, marys: Client) -> None:
        one, two = (trained_run(project, name, 5, config={"policy": "warm"}) for name in ("One", "Two"))
        for run, named, fails in ((one, "bfcl", 10), (one, "tau2", 20), (two, "bfcl", 0)):
            bench = Look(40, COLUMNS[named])
            evaluation_of(project, saying(fails_on(*range(fails)), f"run {run.number}"), bench, named=named, run=run)
        part = row(tables(marys, project)["bfcl-tau2"], "warm", "PROVE").parts[0]
        assert part.standing and part.standing.evaluation.run == one
        assert [address for _, address in part.others] == ["pick=3"]
        picked = row(tables(marys, project, "pick=3")["bfcl-tau2"], "warm", "PROVE").parts
        assert picked[0].cells[-1] == 100.0 and picked[1].standing.evaluation.number == 2
        assert [address for _, address in picked[0].others] == ["pick=1"]

    def test_between_versions_no_change_is_reported(self, project: Project, marys: Client) -> None:
        full = trained_run(project, "Full", 5, config={"policy": "warm"})
        less = trained_run(project, "Less", 5, config={"policy": "warm", "reward": {"validity": 0.0}})
        for run, version in ((full, "1"), (less, "2")):
            bench = Look(8, COLUMNS["bfcl"], version=version)
            evaluation_of(project, saying(fails_on(), f"run {run.number}"), bench, named="bfcl", run=run)
        part = row(tables(marys, project)["ablations"], "warm", "no validity").parts[0]
        assert part.cells == (None,) and "are not comparable" in part.why

    def test_teachers_and_custom_rewards_are_distinguished(self, project: Project) -> None:
        dataset = dataset_of(project, result={"manifest": {"teacher": "Gemma"}})
        trained_run(project, "Taught", 5, config={"policy": "warm"}, dataset=dataset)
        trained_run(project, "Own", 5, config={"policy": "warm", "reward": {"name": 0.7}}, dataset=dataset)
        found = load_project_results(project)
        assert [(slot.model, slot.stage, slot.teacher) for slot in found.slots] == [("warm", "PROVE", "Gemma")]

    def test_the_training_set_is_counted_by_kind(self, project: Project, marys: Client) -> None:
        dataset_of(project, [chain(), abstention()])
        made = marys.get(reverse("paper", args=project.path)).context["made"]
        kinds = [chain().kind, abstention().kind]
        counts = [kinds.count(kind) for kind in published_scores.TRAINING_SET]
        assert [one.ours for one in made] == [*counts, 2] and sum(counts) == 2

    def test_who_may_only_look_is_offered_no_launch(self, project: Project, victor: User, as_user: SignIn) -> None:
        text = as_user(victor).get(reverse("paper", args=project.path)).content.decode().split("<main")[1]
        assert "/runs/new/" not in text and "/evaluations/new/" not in text and "no such run has ended" in text

    def test_it_makes_few_queries_for_many_runs(
        self, project: Project, marys: Client, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        data = dataset_of(project)
        for seed in range(12):
            run = trained_run(project, f"Run {seed}", 5, config={"seed": seed, "policy": "warm"}, dataset=data)
            evaluation_of(
                project, saying(fails_on(seed), f"run {seed}"), Look(4, COLUMNS["bfcl"]), named="bfcl", run=run
            )
        with django_assert_max_num_queries(16):
            marys.get(reverse("paper", args=project.path))


@pytest.mark.django_db
class TestFigures:
    def test_the_newest_run_by_the_papers_reward_is_drawn_unless_another_is_chosen(
        self, project: Project, marys: Client
    ) -> None:
        url = reverse("paper", args=project.path)
        assert "reward has finished yet" in marys.get(url).content.decode()
        one, two = trained_run(project, "One", 200), trained_run(project, "Two", 30)
        trained_run(project, "Other", 30, config={"reward": {"coverage": 0.0}})
        assert marys.get(url).context["figured"] == [two]
        page = marys.get(f"{url}?figure={one.number}")
        (bars,) = page.context["bars"]
        assert bars.run == one and [series["name"] for series in page.context["chart"]["series"]] == ["Run 1, One"]
        validity = dict(dict(bars.rows)["validity"])
        assert validity[0] and validity[150] and validity[350] is None
        assert "ended earlier" in page.content.decode()

    def test_a_value_near_a_step_is_the_mean_around_it(self) -> None:
        curve = Curve([*range(1, 21)], [float(step) for step in range(1, 21)])
        assert (
            average_near_step(curve, 0) == 3.0
            and average_near_step(curve, 10) == 10.0
            and average_near_step(curve, 26) is None
        )


@pytest.mark.django_db
def test_a_launch_link_fills_the_forms_in(project: Project, marys: Client) -> None:
    dataset_of(project)
    run = marys.get(f"{reverse('run-new', args=project.path)}?recipe=paper&reward=no_name&policy=warm").context["form"]
    assert (run["reward_preset"].value(), run["policy"].value()) == ("no_name", "warm")
    evaluation = marys.get(f"{reverse('evaluation-new', args=project.path)}?benchmark=worlds&policy=warm").context[
        "form"
    ]
    assert (evaluation.known.name, evaluation["policy"].value()) == ("worlds", "warm")
