"""A run's page: its comparison with a baseline, the marks of its events, its lineage, settings and checkpoints."""

from __future__ import annotations

import csv
import io
import json
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from prove_web.accounts.models import Project, User
from prove_web.evaluations.models import Evaluation
from prove_web.experiments import config_display
from prove_web.experiments.baseline import choose_baseline
from prove_web.experiments.chance import Difference
from prove_web.experiments.chart_markers import KINDS, EventRow, marks, of_events
from prove_web.experiments.config_display import as_command, as_json, as_toml, iter_toml_lines
from prove_web.experiments.detail import shelf, title, waiting_before
from prove_web.experiments.exports import Export, make
from prove_web.experiments.lineage import lineage
from prove_web.experiments.metric_series import snapshot
from prove_web.experiments.models import Point, Run
from prove_web.experiments.summary_tiles import BY_NAME, Tile, figures, format_metric_value, tiles, values_of
from prove_web.live import message_broker
from prove_web.live.ingest import record
from prove_web.live.jobs import next_attempt
from prove_web.live.models import Job, Kind, State
from prove_web.live.priority import move

from .story import ended, event, story
from .trained import keep_checkpoint, measure, run_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data(settings: LazySettings, tmp_path: Path, broker: str) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def victors(victor: User, as_user: Callable[[User], Client]) -> Client:
    return as_user(victor)


@pytest.mark.parametrize("step", ["9" * 5_000, "-1", "²", "1e9", "\x00"])
def test_a_step_that_is_none_leaves_the_page_as_it_is(step: str, project: Project, victors: Client) -> None:
    page = victors.get(run_of(project).get_absolute_url(), {"step": step})
    assert page.status_code == 200


def rising(steps: int, by: float) -> list[float]:
    return [0.2 + by * step for step in range(steps)]


@pytest.mark.parametrize(("ours", "theirs"), [(40, 40), (40, 25), (12, 60), (1, 30), (30, 1)])
def test_both_runs_are_measured_at_the_newest_step_that_both_have(ours: int, theirs: int, project: Project) -> None:
    run, base = run_of(project, rising(ours, 0.01)), run_of(project, rising(theirs, 0.02))
    found, against = figures(run, base)
    assert against is not None and against.step == min(ours, theirs)
    window = min(10, max(1, ours // 2))
    span = slice(max(0, against.step - window), against.step)
    [tile] = [one for one in found if one.metric.name == "reward"]
    means = [sum(line[span]) / len(line[span]) for line in (rising(ours, 0.01), rising(theirs, 0.02))]
    assert [tile.then, tile.base] == pytest.approx(means)
    if ours == against.step:
        assert tile.then == pytest.approx(tile.now), "where it is the newest, it is what the tile shows"


def test_one_run_is_as_far_ahead_of_another_as_that_is_behind_it_and_even_with_its_like(project: Project) -> None:
    run, base, twin = (run_of(project, rising(30, by)) for by in (0.01, 0.015, 0.01))
    ahead = {one.metric.name: one.ahead for one in tiles(run, base)}
    behind = {one.metric.name: one.ahead for one in tiles(base, run)}
    assert ahead == pytest.approx({name: -value for name, value in behind.items()}) and ahead["reward"] < 0
    assert {one.baseline_tone for one in tiles(run, twin)} == {"even"}


@given(st.floats(-1e6, 1e6))
def test_a_figure_below_zero_has_the_minus_of_changes(value: float) -> None:
    text = format_metric_value(value, "nats")
    assert "-" not in text and float(text.replace("\N{MINUS SIGN}", "-")) == pytest.approx(value, abs=5.1e-4)


def test_less_is_better_of_what_should_be_little() -> None:
    less = Difference(-0.2, -0.3, -0.1, 10)
    assert Tile(BY_NAME["tool_failures"], now=0.1, then=0.1, base=0.3, against=less).baseline_tone == "good"
    assert Tile(BY_NAME["reward"], now=0.1, then=0.1, base=0.3, against=less).baseline_tone == "bad"
    assert Tile(BY_NAME["entropy"], now=0.1, then=0.1, base=0.3, against=less).baseline_tone == "even"
    assert Tile(BY_NAME["reward"], now=0.1, then=0.1, base=0.3).baseline_tone == "even", "a single value tells nothing"
    assert Tile(BY_NAME["reward"], now=0.1).base_text == ""


def test_the_held_out_reward_is_compared_where_both_were_measured(project: Project) -> None:
    run, base = run_of(project, [0.5] * 40), run_of(project, [0.5] * 40)
    measure(run, step_0=0.4, step_20=0.6, step_40=0.9)
    measure(base, step_0=0.4, step_20=0.7)
    tile = next(one for one in tiles(run, base) if one.metric.name == "held_out")
    assert (tile.now, tile.then, tile.base) == (0.9, 0.6, 0.7)


def test_the_baseline_is_the_requested_one_else_the_one_set_else_the_newest_pinned(project: Project) -> None:
    run, mine, pinned, other = (run_of(project, [0.5]) for _ in range(4))
    assert choose_baseline(run, "") is None
    Run.objects.filter(pk=pinned.pk).update(pinned=True)
    assert choose_baseline(run, "") == pinned and choose_baseline(pinned, "") is None, (
        "a run is not measured against itself"
    )
    run.base = mine
    assert choose_baseline(run, "") == mine
    assert choose_baseline(run, str(other.number)) == other
    assert choose_baseline(run, "none") is None
    assert choose_baseline(run, "999") == choose_baseline(run, "²") == choose_baseline(run, str(run.number)) == mine
    Run.objects.filter(pk=mine.pk).update(deleted_at=timezone.now())
    assert choose_baseline(run, "") == pinned, "one that is gone from sight is no baseline"


def test_no_run_of_another_project_can_be_chosen(project: Project, charlie: User) -> None:
    theirs = run_of(Project.objects.get(name="Theirs"), [0.5])
    run = run_of(project, [0.5])
    theirs.number = 77
    theirs.save()
    assert choose_baseline(run, "77") is None


def test_the_page_shows_the_baseline_and_hands_its_curves_to_the_charts(project: Project, victors: Client) -> None:
    base, run = run_of(project, rising(20, 0.01)), run_of(project, rising(20, 0.02))
    text = victors.get(run.get_absolute_url(), {"base": base.number}).text
    assert "vs. run 1" in text and f'data-base="{reverse("run-points", args=[*project.path, 1])}"' in text
    part = victors.get(run.get_absolute_url(), {"base": base.number}, headers={"HX-Request": "true"}).text
    assert "at step 20" in part, "what is shown live is measured against the same run"
    assert "data-base=" not in victors.get(run.get_absolute_url(), {"base": "none"}).text


EVENT = st.one_of(
    st.tuples(st.just("checkpoint"), st.integers(0, 12)),
    st.tuples(st.just("held_out"), st.integers(0, 12)),
    st.tuples(st.just("rewound"), st.integers(0, 12)),
)


@given(st.lists(EVENT, max_size=30))
def test_the_marks_are_the_events_that_no_later_rewind_made_void(events: list[tuple[str, int]]) -> None:
    attempt, rows = 1, list[EventRow]()
    for kind, step in events:
        attempt += kind == "rewound"
        rows.append((attempt, kind, step))
    expected = {
        ("resumed" if kind == "rewound" else kind, step)
        for place, (_, kind, step) in enumerate(rows)
        if not any(later == "rewound" and to < step for _, later, to in rows[place + 1 :])
    }
    found = of_events(rows)
    assert {(mark["kind"], mark["step"]) for mark in found} == expected
    assert len(found) == len(expected), "each once"
    assert {mark["kind"] for mark in found} <= {*KINDS}


def test_events_of_a_job_are_marked_in_the_snapshot_and_survive_a_resume(project: Project) -> None:
    run = run_of(project, state=State.QUEUED)
    events = [*story(0, 4), event(7, "checkpoint", step=2, bytes=1), event(8, "checkpoint", step=4, bytes=1)]
    record(str(run.job_id), 1, events)
    job = Job.objects.get(pk=run.job_id)
    next_attempt(job)
    job.save()
    record(str(run.job_id), 2, [event(1, "started"), event(2, "rewound", step=2)])
    Evaluation.objects.create(
        project=project, number=1, name="Bench", benchmark="bfcl", run=run, checkpoint="2", overall=0.5,
        job=Job.objects.create(project=project, kind=Kind.EVALUATE, title="Bench"),
    )  # fmt: skip
    found = [(mark["kind"], mark["step"]) for mark in snapshot(run)["marks"]]
    assert found == [("checkpoint", 2), ("benchmark", 2), ("resumed", 2)]
    assert marks(run)[1]["text"] == "Bench: 50.0 %"


def test_a_file_of_a_chart_has_all_its_values(project: Project, victors: Client) -> None:
    run = run_of(project)
    values = {1: 0.1, 2: None, 3: 1 / 3}
    Point.objects.bulk_create(
        Point(run=run, step=step, metrics={} if value is None else {"kl": value}) for step, value in values.items()
    )
    url = reverse("run-metric", args=[*project.path, run.number])
    answer = victors.get(url, {"names": "kl,reward", "format": "csv"})
    assert answer["Content-Type"] == "text/csv" and 'filename="run-1-kl-reward.csv"' in answer["Content-Disposition"]
    read = list(csv.DictReader(io.StringIO(answer.text)))
    assert {int(row["step"]): float(row["kl"]) if row["kl"] else None for row in read} == values
    assert {row["reward"] for row in read} == {""}
    few = victors.get(url, {"names": "kl", "format": "csv", "from": 2, "to": 3}).text
    assert [row["step"] for row in csv.DictReader(io.StringIO(few))] == ["2", "3"]


PLAIN = st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(-1e9, 1e9), st.text(max_size=20))
NAMES = st.text(min_size=1, max_size=12)
TABLES = st.recursive(PLAIN, lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=12)


@given(st.dictionaries(NAMES, TABLES, max_size=6))
def test_a_configuration_read_as_toml_is_the_same(config: dict[str, Any]) -> None:
    assert tomllib.loads("\n".join(iter_toml_lines(config))) == config


def test_the_texts_of_a_configuration_say_the_same_and_nothing_that_names_a_job(project: Project) -> None:
    config = {"dataset": "a-job", "learning_rate": 1e-4, "limits": {"turn": 8}, "reward": {"tau_end": None}}
    run = run_of(project, config=config)
    parsed = json.loads(as_json(run))
    assert parsed["dataset"] == run.dataset.number and parsed["limits"] == {"turn": 8}
    assert tomllib.loads(as_toml(run)) == {**parsed, "reward": {}}
    words = shlex.split(as_command(run))
    assert words[2:8] == ["launch_run", "acme/demo", "--as", "YOU", "--dataset", str(run.dataset.number)]
    assert {"name=Run 1", "kind=grpo", "learning_rate=0.0001", "limit_turn=8"} <= {*words[9:]}


def test_only_what_is_not_as_usual_stands_out_of_all_settings(project: Project, victors: Client) -> None:
    run = run_of(project, config={"learning_rate": 1e-4, "prompts": 8, "reward": {"name": 0.5}})
    found = {one.name: one for one in config_display.settings(run)}
    assert {name for name, one in found.items() if one.changed} == {"learning_rate", "reward_preset"}
    assert (found["learning_rate"].value, found["learning_rate"].usual) == ("0.0001", "0.0002")
    assert "epochs" not in found and "group" in found
    assert "The paper&#x27;s with name 0.5" in victors.get(run.get_absolute_url()).text


@pytest.mark.parametrize(
    ("config", "kind", "departs"),
    [
        ({}, "grpo", True),
        ({"credit": "branch"}, "grpo", True),
        ({"credit": "rollout"}, "grpo", False),
        ({}, "sft", False),
    ],
)
def test_the_page_of_a_run_names_its_departure_from_plain_grpo(
    config: dict[str, Any], kind: str, departs: bool, project: Project, victors: Client
) -> None:
    run = run_of(project, config=config)
    Run.objects.filter(pk=run.pk).update(kind=kind)
    assert ("Not plain GRPO" in victors.get(run.get_absolute_url()).text) == departs


def test_a_run_is_named_by_how_far_it_is(project: Project) -> None:
    run = run_of(project, state=State.RUNNING, done=21, total=50)
    assert title(run) == "42 % · Run 1"
    assert title(run_of(project, state=State.QUEUED)) == "Queued · Run 2"
    assert title(run_of(project, state=State.FAILED, done=1, total=2)) == "Failed · Run 3"


def test_a_run_that_waits_says_how_many_go_before_it(project: Project, victors: Client) -> None:
    first, second, urgent = (run_of(project, state=State.QUEUED) for _ in range(3))
    move(urgent.job, "first")
    Job.objects.create(project=project, kind=Kind.DATASET, title="In another queue")
    held = Job.objects.create(project=project, kind=Kind.SFT, title="Waits for the second", after=second.job)
    run_of(project, state=State.RUNNING)
    for job in (first.job, second.job, urgent.job, held):
        job.refresh_from_db()
    assert [waiting_before(one.job) for one in (urgent, first, second)] == [0, 1, 2]
    assert waiting_before(held) is None
    assert "2 jobs ahead" in victors.get(second.get_absolute_url()).text
    assert "next in the queue" in victors.get(urgent.get_absolute_url()).text


def test_the_lineage_leads_from_the_data_to_what_was_made_of_the_run(project: Project, victors: Client) -> None:
    parent = run_of(project, [0.5], name="Parent")
    run = run_of(project, [0.5], name="Child", config={"policy": f"run:{parent.job_id}/checkpoint-40"})
    keep_checkpoint(run, 20)
    grandchild = run_of(project, [0.5], name="Grandchild", config={"policy": f"run:{run.job_id}"})
    clone = run_of(project, [0.5], name="Clone")
    Run.objects.filter(pk=clone.pk).update(base=run)
    text = victors.get(run.get_absolute_url()).text
    chips = text[text.index('aria-label="Lineage"') : text.index("</nav>", text.index('aria-label="Lineage"'))]
    sources = ["Dataset", "Initial policy", "Parent #1, checkpoint 40"]
    places = [chips.index(words) for words in (*sources, "Child #2", "step 20", "Clone #4", "Grandchild #3")]
    assert places == sorted(places)
    for one in (parent, grandchild, clone, run.dataset):
        assert f'href="{one.get_absolute_url()}"' in chips
    parent.job.delete()
    assert "a deleted run" in victors.get(run.get_absolute_url()).text


def test_a_parent_of_another_project_is_not_named(project: Project, charlie: User) -> None:
    theirs = run_of(Project.objects.get(name="Theirs"), [0.5], name="Secret")
    run = run_of(project, [0.5], config={"policy": f"run:{theirs.job_id}"})
    assert "Secret" not in str(lineage(run, [])) and "Secret" not in str(lineage(theirs, []).uses)


def test_checkpoints_show_their_score_the_best_and_where_a_run_may_go_on(project: Project) -> None:
    run = run_of(project, [0.5] * 60)
    for at in (20, 40, 60):
        keep_checkpoint(run, at)
    measure(run, step_0=0.9, step_20=0.6, step_40=0.7)
    found = shelf(run)
    assert [(one.checkpoint.step, one.reward, one.best, one.newest) for one in found] == [
        (60, None, False, True), (40, 0.7, True, False), (20, 0.6, False, False)
    ]  # fmt: skip
    assert found[1].evaluate_url.endswith("?run=1&checkpoint=40")
    assert f"policy=run%3A{run.job_id}%2Fcheckpoint-40" in found[1].begin_url


def test_an_export_is_made_once_shows_its_progress_and_can_be_requested_again(
    project: Project,
    mary: User,
    victors: Client,
    as_user: Callable[[User], Client],
    settings: LazySettings,
    tmp_path: Path,
) -> None:
    run = run_of(project, [0.5] * 20)
    keep_checkpoint(run, 20)
    url, mine = reverse("checkpoint-export-make", args=[*project.path, run.number, 20]), as_user(mary)
    assert mine.post(url).status_code == 302
    assert ": exporting" in mine.get(run.get_absolute_url()).text
    assert waiting_in("files") == 1 and mine.post(url).status_code == 302 and waiting_in("files") == 1, "asked for once"
    assert waiting_in("web") == 0, "what the reconciler, alerts and checks wait in is not held up"
    export = Export(run.job, 20)
    settings.BASE_DIR = tmp_path  # where there is no code to do it
    make(export)
    text = mine.get(run.get_absolute_url()).text
    assert ": exporting" not in text and "No module named" in text and f'action="{url}"' in text
    assert str(tmp_path) not in export.why
    assert url not in victors.get(run.get_absolute_url()).text
    assert mine.get(reverse("checkpoint-export", args=[*project.path, run.number, 20])).status_code == 404
    assert mine.post(reverse("checkpoint-export-make", args=[*project.path, run.number, 30])).status_code == 404
    assert mine.post(url).status_code == 302 and export.at_work and not export.why


def test_an_export_that_meets_a_fault_of_ours_says_so_and_the_log_has_the_rest(
    project: Project, settings: LazySettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = run_of(project, [0.5])
    export = Export(run.job, 20)
    export.failed.parent.mkdir(parents=True)
    export.working.touch()
    settings.BASE_DIR = tmp_path / "gone"  # in which no child can be started
    make(export)
    assert not export.at_work and "FileNotFoundError" in export.why and str(tmp_path) not in export.why
    assert any(record.exc_info for record in caplog.records)


def test_a_tab_in_the_background_can_ask_how_the_run_stands(project: Project, victors: Client) -> None:
    run = run_of(project, [0.5], state=State.RUNNING)
    Job.objects.filter(pk=run.job_id).update(state=State.FAILED, error="It broke.")
    url = f"{reverse('job', args=[*project.path, run.job_id])}?part=state"
    assert url in victors.get(run.get_absolute_url()).text
    status = victors.get(url).json()
    assert (status["state"], status["state_name"], status["error"]) == ("failed", "Failed", "It broke.")


def waiting_in(queue: str) -> int:
    return int(message_broker.broker().llen(queue))


def test_a_clone_is_measured_against_the_run_it_was_cloned_from(
    project: Project, mary: User, as_user: Callable[[User], Client]
) -> None:
    source = run_of(project, [0.5])
    Job.objects.filter(pk=source.dataset.job_id).update(state=State.DONE)
    url = reverse("run-new", args=project.path)
    sent = {"name": "Clone", "kind": "grpo", "dataset": source.dataset_id, "policy": "warm"}
    assert as_user(mary).post(f"{url}?clone={source.number}", sent).status_code == 302
    assert Run.objects.get(name="Clone").base == source
    assert as_user(mary).post(url, {**sent, "name": "New"}).status_code == 302
    assert Run.objects.get(name="New").base is None


def test_the_page_shows_the_environment_of_the_newest_attempt(project: Project, victors: Client) -> None:
    run = run_of(project, state=State.QUEUED)
    assert "are recorded when the run starts" in victors.get(run.get_absolute_url()).text
    known = {"python": "3.11.7", "torch": "2.9.0", "cores": 64, "code": "0123456789abcdef"}
    started = event(1, "started", host="gpu-7", pid=1, device="NVIDIA H200", environment=known)
    record(str(run.job_id), 1, [started, ended(2)])
    text = victors.get(run.get_absolute_url()).text
    assert all(words in text for words in ("gpu-7", "NVIDIA H200", "2.9.0", "0123456789abcdef", "CPU cores"))


def test_a_run_of_a_worker_that_reported_no_environment_still_opens(project: Project, victors: Client) -> None:
    run = run_of(project, state=State.QUEUED)
    record(str(run.job_id), 1, story(0, 2))
    assert "here" in victors.get(run.get_absolute_url()).text


def test_a_metric_that_is_no_number_is_left_out_of_its_tile_and_its_curve(project: Project, victors: Client) -> None:
    run = run_of(project)
    lines = [{"reward": 0.5, "kl": None}, {"reward": None, "kl": None}, {"reward": 0.7, "kl": None}]
    Point.objects.bulk_create(Point(run=run, step=step, metrics=one) for step, one in enumerate(lines, 1))
    assert [tile.metric.name for tile in tiles(run)] == ["reward"]
    assert values_of("kl", lines) == []
    assert snapshot(run)["points"]["series"] == {"reward": {"at": [0, 2], "values": [0.5, 0.7]}}
    assert victors.get(run.get_absolute_url()).status_code == 200


def test_many_runs_and_many_children_take_no_more_queries(
    project: Project, victors: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = run_of(project, [0.5] * 30)
    for _ in range(30):
        child = run_of(project, [0.5], config={"policy": f"run:{run.job_id}"})
        Run.objects.filter(pk=child.pk).update(base=run)
    with django_assert_max_num_queries(48):
        assert victors.get(run.get_absolute_url(), {"base": 7}).status_code == 200
