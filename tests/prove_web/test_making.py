"""Making a data set in the browser: what it will be like, more for some tools, and why trials are dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from prove_web.accounts.models import Project, User
from prove_web.live.models import Job, JobEvent, State
from prove_web.trajectories.forecast import NoForecast, forecast
from training_worker.datasets.recipes import PLANS

from .examples import dataset_of
from .test_datasets import GOOD, SignIn, at

SPEC = {"seed": 3, "train": 200, "held_out": 20, "candidates": 8, "servers": ["email"]}


@pytest.fixture
def with_graph(settings: Any, tmp_path: Path, graph_folder: Path) -> None:
    settings.PROVE_DATA = tmp_path
    (tmp_path / "graph").symlink_to(graph_folder)


def test_a_forecast_draws_a_few_and_estimates_all(with_graph: None) -> None:
    estimate = forecast(SPEC)
    assert 0 < estimate.trial.drawn <= 24 and estimate.conversations == round(220 * estimate.trial.yield_rate)
    assert estimate.seconds == pytest.approx(220 * estimate.trial.each / estimate.cores)
    assert 0 < estimate.about_each <= estimate.conversations and estimate.trial.again is None
    assert all(one.world.servers == ("email",) for one in estimate.trial.examples)


def test_a_forecast_about_some_tools_shows_conversations_about_them(with_graph: None) -> None:
    estimate = forecast({**SPEC, "tools": ["send_email"]})
    chains = [{call.name for step in one.steps for call in step.calls} for one in estimate.trial.examples if one.steps]
    assert chains and all("send_email" in chain for chain in chains if len(chain) > 1)
    assert estimate.about_each == estimate.conversations


def test_a_recipe_gives_exactly_as_many_as_it_says(with_graph: None) -> None:
    estimate = forecast({"recipe": "100"})
    plan = PLANS["100"]
    assert estimate.exact and estimate.conversations == sum(plan.train.values()) + sum(plan.held_out.values())
    assert estimate.trial.again is not None and estimate.trial.each == estimate.trial.again / estimate.trial.drawn, (
        "worlds are shared"
    )


def test_without_a_graph_there_is_no_forecast(settings: Any, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path
    with pytest.raises(NoForecast, match="not built yet"):
        forecast(SPEC)


def test_the_page_forecasts_the_form_as_it_stands(
    with_graph: None, project: Project, mary: User, as_user: SignIn
) -> None:
    client = as_user(mary)
    page = client.get(at("dataset-forecast", project), GOOD).text
    assert "Conversations" in page and "draws succeeded" in page
    assert "Correct the fields" in client.get(at("dataset-forecast", project), {**GOOD, "train": "many"}).text
    assert at("dataset-forecast", project) in client.get(at("dataset-new", project)).text


def test_more_is_requested_about_chosen_tools(project: Project, mary: User, as_user: SignIn) -> None:
    client = as_user(mary)
    address = at("dataset-new", project) + "?tools=send_email&tools=create_event,no_such_tool"
    form = client.get(address).context["form"]
    assert form.more_of == ("send_email", "create_event") and form["servers"].value() == ["calendar", "email"]

    fields = {**GOOD, "tools": "send_email,create_event", "servers": ["email", "calendar"]}
    client.post(at("dataset-new", project), fields)
    assert Job.objects.get().spec["tools"] == ["send_email", "create_event"]


@pytest.mark.parametrize(
    ("tools", "servers", "says"),
    [
        ("send_email,create_event", ["email"], "create_event is a tool of calendar: select that server too."),
        ("fly_to_the_moon", ["email"], "Unknown tool fly_to_the_moon."),
    ],
)
def test_tools_that_are_unknown_or_not_selected_are_refused_by_name(
    project: Project, mary: User, as_user: SignIn, tools: str, servers: list[str], says: str
) -> None:
    page = as_user(mary).post(at("dataset-new", project), {**GOOD, "tools": tools, "servers": servers})
    assert page.status_code == 422 and says in page.text and not Job.objects.exists()


def test_what_is_dropped_is_listed_by_reason_while_it_is_made(project: Project, mary: User, as_user: SignIn) -> None:
    dataset = dataset_of(project, state=State.RUNNING, spec=SPEC)
    data = {"done": 50, "total": 220, "line": "x", "seconds_left": 3.0}
    for seq, counts in enumerate(
        ({}, {"kept": 41, "dropped": {"StepRefused: <send_email>": 7, "NothingFits: x": 2}}), 1
    ):
        JobEvent.objects.create(
            job=dataset.job, attempt=1, seq=seq, kind="progress", at=timezone.now(), data=data | counts
        )
    page = as_user(mary).get(at("dataset", project, dataset.number)).text
    assert "41 conversations created so far" in page
    assert "A tool refused: &lt;send_email&gt;" in page and page.index("A tool refused") < page.index(
        "Nothing in the world fits"
    )


def test_a_tools_own_page_leads_to_more_data_about_it(project: Project, mary: User, bob: User, as_user: SignIn) -> None:
    page, leads = at("tool", project, "send_email"), at("dataset-new", project) + "?tools=send_email"
    assert leads in as_user(mary).get(page).text and leads not in as_user(bob).get(page).text
