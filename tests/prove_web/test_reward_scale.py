"""Pages do not compare the training rewards of runs that were scored by different rewards, and a notice says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.comparisons.component_diff import components
from prove_web.comparisons.params import load_runs
from prove_web.experiments.models import Run, RunKind
from prove_web.experiments.reward_scale import build_rescore_query, definitions, same_reward
from prove_web.experiments.summary_tiles import figures
from prove_web.experiments.what_if.params import parse_params

from .compared import trained_run
from .trained import run_of

pytestmark = pytest.mark.django_db
OWN = {"reward": {"validity": 1.0, "coverage": 0.25}}
NOTICE = "different rewards"


@pytest.fixture
def paper(project: Project) -> Run:
    return run_of(project, [0.5 + step / 100 for step in range(20)], name="Paper's")


@pytest.fixture
def own(project: Project, paper: Run) -> Run:
    run = run_of(project, [0.1 + step / 100 for step in range(20)], name="Own weights", config=OWN)
    Run.objects.filter(pk=run.pk).update(base=paper)
    run.base = paper
    return run


@pytest.fixture
def client(victor: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(victor)


def test_rewards_are_the_same_where_what_is_left_out_is_the_default(project: Project, paper: Run, own: Run) -> None:
    written = run_of(project, config={"reward": {"form": "paper", "validity": 0.5}})
    outside = run_of(project)
    outside.kind = RunKind.OUTSIDE
    assert same_reward(paper, written) and not same_reward(paper, own) and same_reward(paper, None)
    assert not same_reward(paper, outside) and same_reward(outside, outside), "nobody knows its program's reward"
    assert [one.runs for one in definitions([paper, own, written])] == [(1, 3), (2,)]


def test_a_tile_shows_no_difference_to_a_run_of_another_reward_and_the_page_says_why(
    paper: Run, own: Run, client: Client
) -> None:
    tiles = {tile.metric.name: tile for tile in figures(own, paper)[0]}
    assert not tiles["reward"].base_text and tiles["tool_failures"].base_text, "only what the reward decides is not"
    page = client.get(own.get_absolute_url())
    text = " ".join(page.text.split())
    assert NOTICE in text and f"vs. run {paper.number}" not in text
    assert "data-base-without" in text and page.context["base"] == paper
    assert NOTICE not in client.get(paper.get_absolute_url()).text


def test_the_notice_leads_to_both_runs_under_one_reward(project: Project, paper: Run, own: Run) -> None:
    run_of(project, [0.5])  # the newest
    want = parse_params(project, dict(pair.split("=") for pair in build_rescore_query(own, paper).split("&")))
    assert (want.config.validity, want.config.coverage, want.fault) == (1.0, 0.25, "")
    assert build_rescore_query(paper, own).startswith(f"of=run-{own.number}&")


def test_a_comparison_of_different_rewards_says_so_and_takes_no_difference_of_them(
    project: Project, paper: Run, own: Run, client: Client
) -> None:
    address = reverse("run-compare", args=project.path)
    text = client.get(address, {"run": [paper.number, own.number]}).text
    assert NOTICE in text and "The paper" in text and "validity 1" in text
    rows = {row.name: row for row in components([paper, own], paper).rows}
    assert [cell.delta for cell in rows["reward"].cells] == [None, None]
    alike = run_of(project, [0.3] * 20)
    assert NOTICE not in client.get(address, {"run": [paper.number, alike.number]}).text
    rows = {row.name: row for row in components([paper, alike], paper).rows}
    assert rows["reward"].cells[1].delta is not None
    held_out = client.get(address, {"run": [paper.number, own.number], "metric": ["held_out.reward", "success"]}).text
    assert NOTICE not in held_out, "these are scored by the paper's reward, or by none"


def test_the_final_evaluation_is_compared_since_it_is_by_the_papers_reward(project: Project) -> None:
    first, second = trained_run(project, "A", steps=5), trained_run(project, "B", steps=5, lift=0.1, config=OWN)
    rows = {row.name: row for row in components(load_runs(project, [first.number, second.number]), first).rows}
    assert any(cell.delta is not None for cell in rows["reward"].cells)


def test_the_api_says_by_which_reward_a_run_was_scored(
    project: Project, paper: Run, own: Run, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(15):
        run_of(project, config=OWN)
    with django_assert_max_num_queries(20):
        rows = client.get(f"/api/v1/{project.organisation.slug}/{project.slug}/runs").json()["items"]
    rewards = {row["number"]: row["scored_by"] for row in rows}
    assert rewards[paper.number] == "The paper's reward" and "validity 1" in rewards[own.number]
