"""What-if rewards: another reward over a run or a data set gives what rescoring gives, and can be saved for runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from prove_web.accounts.models import Project, User
from prove_web.experiments.forms import RunForm
from prove_web.experiments.models import Run, SavedReward
from prove_web.experiments.what_if import of_dataset, pages
from prove_web.experiments.what_if.comparison import chance, compare_rewards, groups
from prove_web.experiments.what_if.lot import Lot, Row
from prove_web.experiments.what_if.of_dataset import DatasetSource
from prove_web.experiments.what_if.of_run import RunSource, spread
from prove_web.experiments.what_if.params import parse_params
from prove_web.trajectories.models import Trajectory
from training_worker.core.trajectory import Example, Rollout
from training_worker.environment.reward_replay import Comparison, rescore
from training_worker.reward import PAPER, PRESETS, RewardConfig, reward_of

from .examples import abstention, chain, dataset_of, examples
from .judged import collected, queue_of, settle
from .test_reward_pages import attempts
from .trained import keep_rollouts, run_of

SignIn = Callable[[User], Client]
WEIGHT = st.floats(0, 2, width=16)
PLAIN = st.builds(
    RewardConfig,
    **{name: WEIGHT for name in ("validity", "coverage", "efficiency", "name", "arguments", "alpha", "beta")},
)
pytestmark = pytest.mark.django_db


@cache
def several() -> tuple[tuple[Example, Rollout], ...]:
    """Return attempts of every quality at two chains and at an abstention, scored by the paper."""
    long = next(one for one in examples() if len(one.steps) >= 2 and one.id != chain().id)
    made = [(example, one) for example in (chain(), long) for one in attempts(example)]
    silent = abstention()
    made += [(silent, one) for one in attempts(chain())[-2:]]
    return tuple((example, replace(one, example=example.id, reward=reward_of(example, one))) for example, one in made)


def rows(made: Sequence[tuple[Example, Rollout]]) -> list[Row]:
    return [
        Row(
            place=(1, at),
            example=example.id,
            group=(example.id,),
            reward=one.reward.total if one.reward else None,
            components={name: getattr(one.reward, name) for name in ("validity", "coverage", "name", "arguments")}
            if one.reward
            else {},
            calls=len(one.calls),
            needed=sum(len(step.calls) for step in example.steps),
        )
        for at, (example, one) in enumerate(made, 1)
    ]


@settings(max_examples=60, deadline=None)
@given(config=PLAIN)
def test_columns_give_what_scoring_each_rollout_gives(config: RewardConfig) -> None:
    lot = Lot.from_rows(rows(several()))
    exact = {(1, at): reward_of(example, one, config).total for at, (example, one) in enumerate(several(), 1)}
    assert lot.compute_plain_totals(config) == pytest.approx([exact[row.place] for row in lot.rows], abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(config=PLAIN, name=st.sampled_from(["validity", "coverage", "efficiency", "name", "arguments"]), more=WEIGHT)
def test_a_weight_moves_the_total_by_its_component(config: RewardConfig, name: str, more: float) -> None:
    lot = Lot.from_rows(rows(several()))
    moved = lot.compute_plain_totals(
        replace(config, **{name: getattr(config, name) + more})
    ) - lot.compute_plain_totals(config)
    assert moved == pytest.approx(np.where(lot.needed > 0, more * lot.parts(config)[name], 0.0), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(config=PLAIN)
def test_groups_are_counted_as_rescoring_counts_them(config: RewardConfig) -> None:
    made, known = [one for _, one in several()], {example.id: example for example, _ in several()}
    theirs = Comparison()
    theirs.add(made, [*rescore(known, made, config)])
    lot = Lot.from_rows(rows(several()))
    ours = groups(lot, lot.compute_plain_totals(config))
    for name in ("groups", "dead_before", "dead_after", "died", "revived", "pairs", "swapped", "reordered"):
        assert getattr(ours, name) == getattr(theirs, name), name


def test_the_reward_it_was_scored_by_changes_nothing() -> None:
    lot = Lot.from_rows(rows(several()))
    found = compare_rewards(lot, lot.compute_plain_totals(PAPER), (PAPER, PAPER), {}, (0.65, 0.65))
    assert found.mean[0] == pytest.approx(found.mean[1]) and found.moved == [] and found.rank == pytest.approx(1)
    assert [one.before for one in found.bins] == [one.after for one in found.bins]
    assert found.groups.swapped == found.groups.died == found.groups.revived == 0
    assert sum(one.before for one in found.bins) == found.rollouts == len(several())
    due = lot.needed > 0
    assert sum(one.adds[1] for one in found.means) == pytest.approx(lot.before[due].mean())


def test_a_group_with_a_rollout_without_reward_counts_in_no_figure_of_groups() -> None:
    made = rows(several())
    lot = Lot.from_rows([replace(made[0], reward=None), *made[1:]])
    assert lot.without == 1 and len(lot.rows) == len(made) - 1
    full, less = (groups(one, one.before) for one in (Lot.from_rows(made), lot))
    assert less.groups == full.groups - 1


def test_a_label_is_contradicted_by_a_threshold_and_the_order_by_none() -> None:
    lot = Lot.from_rows(rows(several()))
    verdicts = {
        row.place: "accept" if total > 0.81 else "reject" for row, total in zip(lot.rows, lot.before, strict=True)
    }
    same = compare_rewards(lot, lot.before, (PAPER, PAPER), verdicts, (0.81, 0.81)).labels
    assert (same.judged, same.before, same.after, same.auc) == (len(lot.rows), 0, 0, (1.0, 1.0))
    upside_down = compare_rewards(lot, -lot.before, (PAPER, PAPER), verdicts, (0.81, -0.81)).labels
    assert upside_down.auc[1] == 0.0 and upside_down.after == len(upside_down.contradicted) > 0
    assert not any(one.already for one in upside_down.contradicted)
    assert chance(np.array([1.0]), np.array([])) is None and chance(np.array([1.0, 0.0]), np.array([0.5])) == 0.5


@pytest.mark.parametrize("steps, rollouts, most", [(350, 89_600, 20_000), (10, 100, 1000), (7, 70, 1), (1, 500, 10)])
def test_a_large_run_is_looked_at_in_even_steps_and_in_its_last(steps: int, rollouts: int, most: int) -> None:
    found = spread(range(1, steps + 1), rollouts, most)
    assert found == sorted({*found}) and found[-1] == steps
    assert len(found) * rollouts / steps <= max(most, rollouts / steps)
    gaps = {b - a for a, b in pairwise(found)}
    assert not gaps or max(gaps) - min(gaps) <= 1


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.fixture
def run(project: Project) -> Run:
    """Return a run with two steps of two groups of six."""
    held = [one for one in examples() if one.steps][:4]
    run = run_of(project, [0.5, 0.6], dataset=dataset_of(project, held), config={"group": 6})
    for step in (1, 2):
        pair = held[2 * step - 2 : 2 * step]
        keep_rollouts(run, step, [replace(one, reward=reward_of(e, one)) for e in pair for one in attempts(e)])
    return run


def page(project: Project) -> str:
    return reverse("what-if", args=project.path)


def test_every_form_gives_a_run_what_rescoring_gives(run: Run) -> None:
    source = RunSource(run)
    lot = source.read(1000)
    assert len(lot.rows) == source.size() == 24
    assert lot.compute_plain_totals(PAPER) == pytest.approx(lot.before)
    for name, config in PRESETS.items():
        rescored = source.rescore(config, 1000)
        exact = [rescored.after[row.place] for row in lot.rows]
        assert not config.plain or lot.compute_plain_totals(config) == pytest.approx(exact), name
        assert rescored.stale == 0 and len(exact) == 24
    assert len(RunSource(run, 2, 2).read(1000).rows) == 12
    run.dataset.trajectories.filter(example=lot.rows[0].example).delete()
    less = RunSource(run)
    assert less.read(1000).without == 6 and len(less.rescore(PRESETS["graduated"], 1000).lot.rows) == 18
    assert len(source.read(12).rows) == 12


def test_a_data_set_of_collected_rollouts_is_scored_with_its_groups_and_labels(project: Project, run: Run) -> None:
    made = [(example, one) for example, one in several() if example.steps]
    dataset = collected(project, made, run=1, step=2)
    source = DatasetSource(dataset)
    lot = source.read(1000)
    assert lot.before == pytest.approx(lot.compute_plain_totals(PAPER)) and len({*lot.groups}) == 2
    for config in (PRESETS["graduated"], PRESETS["final_state"], RewardConfig(provenance=0.2, repeats=0.3)):
        after = source.rescore(config, 1000).after
        for at, (example, one) in enumerate(made, 1):
            assert after[dataset.number, f"{example.id}-{at}"] == pytest.approx(reward_of(example, one, config).total)
    queue = queue_of(project, dataset.trajectories.all()[:3])
    for item in queue.items.all():
        settle(item, "reject")
    assert [*source.verdicts(lot.rows).values()] == ["reject"] * 3
    assert {*RunSource(run).verdicts(())} == {(2, 1), (2, 2), (2, 3)}


def test_attempts_in_a_data_set_were_scored_by_the_reward_of_their_run(
    project: Project, run: Run, victor: User, as_user: SignIn
) -> None:
    own = RewardConfig(name=0.0)
    Run.objects.filter(pk=run.pk).update(config={**run.config, "reward": {"name": 0.0}})
    made = [(e, replace(one, reward=reward_of(e, one, own))) for e, one in several() if e.steps]
    source = DatasetSource(collected(project, made, run=1, step=2))
    assert source.config == own and not source.several
    assert source.read(1000).compute_plain_totals(source.config) == pytest.approx(source.read(1000).before)
    collected(project, made[:2], run=2, step=2)
    Trajectory.objects.filter(dataset=source.dataset, example__endswith="-1").update(run=None)
    again = DatasetSource(source.dataset)
    assert again.config == PAPER and again.several
    text = as_user(victor).get(page(project), {"of": again.name}).content.decode()
    assert "They were scored with different rewards" in text and "This is the original reward" not in text


def test_demonstrations_are_scored_as_attempts_of_their_own(project: Project) -> None:
    source = DatasetSource(dataset_of(project, examples()[:8]))
    lot = source.read(1000)
    assert lot.compute_plain_totals(PAPER) == pytest.approx(lot.before)
    assert set(source.rescore(PRESETS["final_state"], 1000).after.values()) == {1.0}
    assert len(source.read(4).rows) == 4


def test_a_world_of_other_server_code_is_reported_and_not_scored(
    project: Project, victor: User, as_user: SignIn
) -> None:
    dataset = dataset_of(project, [replace(one, fingerprint="of before") for one in examples()[:4] if one.steps])
    rescored = DatasetSource(dataset).rescore(PRESETS["final_state"], 100)
    assert rescored.stale == dataset.trajectories.count() and not rescored.after
    text = as_user(victor).get(page(project), {"form": "final_state"}).content.decode()
    assert "recorded with other server code" in text and "Use the form paper" in text


def test_the_page_shows_what_changes_and_its_links_lead_somewhere(
    project: Project, run: Run, victor: User, as_user: SignIn
) -> None:
    client = as_user(victor)
    text = client.get(page(project)).content.decode()
    assert "Scored all 24" in text and "change a weight to see a difference" in text and "No changes." in text
    answer = client.get(page(project), {"of": "run-1", "name": "0", "coverage": "2", "beta": "0"})
    text = answer.content.decode()
    assert "Largest changes" in text and "Zero-variance groups" in text and "/runs/1/rollouts/" in text
    assert answer["HX-Replace-Url"] == f"{page(project)}?of=run-1&coverage=2&name=0&beta=0"
    link = next(part.split('"')[0] for part in text.split('href="') if "/rollouts/" in part.split('"')[0])
    assert client.get(link).status_code == 200
    text = client.get(page(project), {"of": "run-1", "preset": "graduated", "first": "2"}).content.decode()
    assert "Scored all 12" in text
    text = client.get(page(project), {"of": "dataset-1", "most": "2000"}).content.decode()
    assert "no groups: one rollout each" in text


@pytest.mark.parametrize(
    "given, words",
    [
        ({"coverage": "-1"}, "coverage must be a finite number of at least 0"),
        ({"coverage": "much"}, "coverage"),
        ({"form": "magic"}, "form"),
        ({"tau": "2"}, "tau must be at most 1"),
        ({"validity": "1e308", "coverage": "1e308"}, "validity must be at most 10"),
        ({"beta": "1e308"}, "beta must be at most 10"),
    ],
)
def test_an_invalid_weight_is_named(
    project: Project, run: Run, victor: User, as_user: SignIn, given: dict[str, str], words: str
) -> None:
    text = as_user(victor).get(page(project), given).content.decode()
    assert words in text and "Scored all" not in text


def test_an_empty_project_and_a_run_without_rollouts_say_what_is_missing(
    project: Project, victor: User, as_user: SignIn
) -> None:
    client = as_user(victor)
    assert "Nothing to score yet" in client.get(page(project)).content.decode()
    run_of(project, [0.5])
    assert "They are stored as the run trains" in client.get(page(project), {"of": "run-1"}).content.decode()


@settings(max_examples=30, deadline=None)
@given(config=PLAIN)
def test_the_address_holds_the_configuration(config: RewardConfig) -> None:
    project = Project(pk=1)
    query = dict(part.split("=") for part in default_params(project).query(config).split("&") if part)
    assert parse_params(project, query).config == config


def default_params(project: Project) -> Any:
    return parse_params(project, {})


def test_a_saved_reward_is_offered_to_runs_and_named_by_them(
    project: Project, run: Run, mary: User, bob: User, as_user: SignIn
) -> None:
    client, config = as_user(mary), {**asdict(PAPER), "name": 0.4}
    sent = {"name": " Names  matter ", "config": json.dumps(config), "back": "of=run-1&name=0.4"}
    answer = client.post(reverse("reward-save", args=project.path), sent, follow=True)
    assert answer.redirect_chain[-1][0].endswith("what-if/?of=run-1&name=0.4")
    made = SavedReward.objects.get()
    assert (made.name, made.config, made.made_by) == ("Names matter", {"name": 0.4}, mary)
    text = client.get(reverse("run-new", args=project.path), {"reward": f"saved-{made.pk}"}).content.decode()
    assert f'<option value="saved-{made.pk}" selected>Names matter' in text
    form = RunForm(project, {"name": "x", "dataset": run.dataset_id, "reward_preset": f"saved-{made.pk}"})
    assert form.is_valid(), form.errors
    assert form.spec["reward"] == {"name": 0.4}
    Run.objects.filter(pk=run.pk).update(config={**run.config, "reward": form.spec["reward"]})
    assert "“Names matter”: The paper&#x27;s with name 0.4" in client.get(run.get_absolute_url()).content.decode()
    assert client.get(page(project), {"of": "run-1", "preset": f"saved-{made.pk}"}).status_code == 200
    remove = reverse("reward-remove", args=[*project.path, made.pk])
    assert client.post(remove).status_code == 302 and SavedReward.objects.exists()
    client.post(remove, {"sure": "yes"})
    assert not SavedReward.objects.exists() and not RunForm(project, form.data).is_valid()
    assert "The paper&#x27;s with name 0.4" in client.get(run.get_absolute_url()).content.decode()


@pytest.mark.parametrize(
    "name, config, words",
    [
        ("", {"name": 0.4}, "at most 60 characters"),
        ("x" * 61, {"name": 0.4}, "at most 60 characters"),
        ("Taken", {"name": 0.4}, "Choose another name"),
        ("Mine", {}, "already has a name"),
        ("Mine", {"beta": 0.0}, "already has a name: Flat budget"),
        ("Mine", {"coverage": -1}, "must be a finite number of at least 0"),
        ("Mine", {"alpha": 1e308}, "alpha must be at most 10"),
        ("Mine", {"luck": 1}, "there is no luck"),
    ],
)
def test_what_cannot_be_saved_is_refused_and_nothing_is_saved(
    project: Project, mary: User, as_user: SignIn, name: str, config: dict[str, float], words: str
) -> None:
    SavedReward.objects.create(project=project, name="Taken", config={"name": 0.1})
    sent = {"name": name, "config": json.dumps(config)}
    text = as_user(mary).post(reverse("reward-save", args=project.path), sent, follow=True).content.decode()
    assert "Reward not saved." in text and words in text and SavedReward.objects.count() == 1


@pytest.mark.parametrize("of", ["run", "dataset"])
def test_a_long_scoring_runs_in_pieces_shows_its_progress_and_can_be_stopped(
    of: str, project: Project, run: Run, victor: User, as_user: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [(example, one) for example, one in several() if example.steps]
    source = RunSource(run) if of == "run" else DatasetSource(collected(project, made, run=1, step=2))
    monkeypatch.setattr(pages, "AT_ONCE", 1)
    monkeypatch.setattr(of_dataset, "PIECE", 5)
    client, query = as_user(victor), {"of": source.name, "form": "graduated"}
    looked, asks = [], True
    while asks:
        answer = client.get(page(project), query)
        result = answer.context["answer"]
        asks = 'hx-trigger="load' in answer.content.decode()
        assert result.compared is not None and result.total == source.size() and asks == bool(result.left)
        looked.append(result.looked)
    assert looked == sorted({*looked}) and len(looked) > 1 and looked[-1] == source.size()
    config = source.config if source.config.form == "graduated" else replace(source.config, form="graduated")
    full = source.rescore(config, 1000)
    assert result.compared.mean[1] == pytest.approx(np.mean([*full.after.values()]))
    other = {**query, "tau": "0.3", "form": "trace_state", "stop": "1"}
    stopped = client.get(page(project), other)
    text = stopped.content.decode()
    assert stopped.context["answer"].left and 'hx-trigger="load' not in text and "Continue" in text
    assert stopped["HX-Replace-Url"].endswith("&stop=1")
