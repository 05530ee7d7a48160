"""Sweeps and forecasts for programs: what the pages launch, show and refuse, as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from prove_web.accounts.models import Organisation, Project, User
from prove_web.experiments.defaults import START
from prove_web.experiments.models import Run, Sweep
from prove_web.live.ingest import record
from prove_web.live.models import Job, Kind, State
from prove_web.trajectories.models import Dataset

from .api_operations import Program, program
from .examples import dataset_of
from .story import ended, event
from .trained import RESULT

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset(project: Project) -> Dataset:
    return dataset_of(project)


@pytest.fixture
def maries(mary: User, organisation: Organisation, dataset: Dataset) -> Program:
    return program(mary, organisation)


def sweep(dataset: Dataset, **other: Any) -> dict[str, Any]:
    settings = {"dataset": dataset.number, **other.pop("settings", {})}
    return {"name": "Mine", "vary": {"learning_rate": "1e-6, 3e-7", "seed": [0, 1]}, "settings": settings, **other}


def test_a_sweep_is_planned_then_launched_with_the_members_of_the_plan(
    maries: Program, dataset: Dataset, mary: User
) -> None:
    request = sweep(dataset, settings={"group": 4})
    plan = maries.post("/sweeps/plan", request)
    assert len(plan["members"]) == 4 and not Run.objects.exists()
    assert [one["seconds"] for one in plan["members"]] == [60 * START["minutes"]] * 4 and not plan["known"]
    assert plan["seconds"] == 240 * START["minutes"] and plan["done"] is None and "no training worker" in plan["why"]
    made = maries.post("/sweeps", request, 201)
    assert [one["varied"] for one in made["runs"]] == [one["varied"] for one in plan["members"]]
    assert [one["name"] for one in made["runs"]] == [one["name"] for one in plan["members"]]
    assert (made["number"], made["members"], made["active"], made["by"]) == (1, 4, 4, "mary")
    assert [run.config["seed"] for run in Run.objects.order_by("number")] == [0, 1, 0, 1]
    assert {run.config["group"] for run in Run.objects.all()} == {4}
    assert maries.get("/sweeps/1") == made


def test_draws_and_presets_are_as_on_the_page(maries: Program, dataset: Dataset) -> None:
    drawn = {"method": "random", "draws": 5, "seed": 3, "vary": {"learning_rate": "1e-6 to 1e-3, log"}}
    made = maries.post("/sweeps", sweep(dataset, **drawn), 201)
    assert (made["draws"], made["seed"], len({run["varied"]["learning_rate"] for run in made["runs"]})) == (5, 3, 5)
    seeds = maries.post("/sweeps", {"preset": "seeds", "settings": {"clone": 1, "dataset": dataset.number}}, 201)
    assert (seeds["name"], seeds["space"]) == ("Sweep 2", {"seed": "0, 1, 2"})


@pytest.mark.parametrize(
    ("wrong", "where", "said"),
    [
        ({"vary": {}}, "body.vary", "at least one setting to vary"),
        ({"vary": {"colour": "red"}}, "body.vary.colour", "colour is not one"),
        ({"vary": {"seed": "0, 1", "beta": ""}}, "body.vary.beta", "Enter values"),
        ({"vary": {"learning_rate": [1e-6, 5]}}, "body", "Learning rate '5'"),
        ({"method": "random", "draws": 101}, "body.draws", "less than or equal to 100"),
        ({"settings": {"dataset": 99}}, "body.settings.dataset", "Dataset 99 cannot be trained on"),
        ({"settings": {"clone": 99}}, "body.settings.clone", "Run 99 to clone does not exist"),
        ({"settings": {"group": 1}}, "body", "Group size"),
        ({"preset": "colours"}, "body.preset", "Input should be"),
    ],
)
def test_what_no_sweep_can_be_is_refused_where_it_is_wrong(
    wrong: dict[str, Any], where: str, said: str, maries: Program, dataset: Dataset
) -> None:
    for address in ("/sweeps", "/sweeps/plan"):
        error = maries.post(address, sweep(dataset) | wrong, 422)
        assert error["where"] == where and said in error["error"] and error["do"]
    assert not Sweep.objects.exists() and not Run.objects.exists()


def test_a_sweep_tells_how_its_members_ended_and_what_their_settings_explain(maries: Program, dataset: Dataset) -> None:
    maries.post("/sweeps", sweep(dataset, vary={"seed": list(range(8))}), 201)
    for place, run in enumerate(Run.objects.order_by("number")):
        result = RESULT | {"sampled": {**RESULT["sampled"], "after": place / 10}}  # type: ignore[dict-item]
        record(str(run.job_id), 1, [event(1, "started", host="here", pid=1), ended(2, **result)])
    found = maries.get("/sweeps/1")
    assert [run["after"] for run in found["runs"]] == [place / 10 for place in range(8)]
    assert [run["best"] for run in found["runs"]] == [False] * 7 + [True]
    assert (found["best"], found["done"], found["active"]) == (0.7, 8, 0)
    assert [(one["setting"], one["share"]) for one in found["importance"]] == [("Seed", pytest.approx(1))]
    assert maries.get("/sweeps")["items"][0]["best"] == 0.7


def test_lists_of_sweeps_come_in_pieces(maries: Program, dataset: Dataset) -> None:
    for _ in range(3):
        maries.post("/sweeps", sweep(dataset), 201)
    first = maries.get("/sweeps?limit=2")
    assert [one["number"] for one in first["items"]] == [3, 2]
    rest = maries.get(f"/sweeps?limit=2&cursor={first['next']}")
    assert [one["number"] for one in rest["items"]] == [1] and rest["next"] is None


def test_a_stop_of_a_sweep_stops_all_its_members(maries: Program, dataset: Dataset) -> None:
    maries.post("/sweeps", sweep(dataset), 201)
    Job.objects.filter(run__number=1).update(state=State.DONE)
    assert maries.post("/sweeps/1/stop", {"level": "now"}) == {"stopping": 3}
    assert {run["state"] for run in maries.get("/sweeps/1")["runs"]} == {"done", "stopped"}
    assert maries.post("/sweeps/1/stop", {"level": "now"}) == {"stopping": 0}


def test_a_forecast_tells_what_a_run_takes_and_how_it_differs(maries: Program, dataset: Dataset) -> None:
    maries.post("/runs", {"name": "First", "dataset": dataset.number}, 201)
    forecast = maries.post("/runs/forecast", {"clone": 1, "group": 4})
    assert [(one["label"], one["here"]) for one in forecast["differences"]] == [("Group size", "4")]
    assert "4 rollouts" in forecast["line"] and forecast["trial"] is None and Run.objects.count() == 1
    wrong = maries.post("/runs/forecast", {"dataset": dataset.number, "group": 1}, 422)
    assert wrong["where"] == "body.group"


def test_a_trial_is_begun_once_reported_with_the_forecast_and_stopped(maries: Program, dataset: Dataset) -> None:
    settings = {"dataset": dataset.number}
    assert maries.post("/runs/trial/stop", settings, 409)["error"] == "There is no dry run with these settings."
    begun = maries.post("/runs/trial", settings, 201)
    assert maries.post("/runs/trial", settings, 201) == begun and begun["dead"] is None
    assert Job.objects.get(kind=Kind.TRIAL).pk.hex == begun["job"]["id"].replace("-", "")
    assert maries.post("/runs/forecast", settings)["trial"] == begun
    assert maries.post("/runs/trial/stop", settings)["job"]["state"] == "stopped"
    refused = maries.post("/runs/trial", settings | {"kind": "sft"}, 422)
    assert refused["where"] == "body.kind"
