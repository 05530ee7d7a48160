"""Rewards of any form on the pages: the parts of a total, the ledger under custom weights, and a reward in words."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from prove_web.accounts.models import Project, User
from prove_web.experiments.credit import ledger
from prove_web.experiments.reward_config import compute_max_reward, describe_reward, scored_at, scored_by, short
from prove_web.experiments.reward_fields import TITLES
from prove_web.experiments.rollouts import groups_of
from prove_web.trajectories.breakdown import parts_of
from training_worker.core.trajectory import Example, Rollout, ToolCall
from training_worker.reward import PRESETS, RewardConfig, reward_of

from .examples import abstention, chain, dataset_of
from .trained import calling, good, keep_rollouts, run_of, saying

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
WEIGHT = st.floats(0, 2, width=16)
CONFIGS = st.builds(
    RewardConfig,
    form=st.sampled_from(["paper", "graduated", "trace_state", "final_state"]),
    validity=WEIGHT,
    efficiency=WEIGHT,
    alpha=WEIGHT,
    beta=WEIGHT,
    tau=st.floats(0, 1, width=16),
    final_state=WEIGHT,
    provenance=WEIGHT,
    repeats=WEIGHT,
)


def attempts(example: Example) -> list[Rollout]:
    """Return attempts: complete, a call left out, a wrong value, repeated calls, an unknown tool, and no call."""
    calls = [call for step in example.steps for call in step.calls]
    wrong = ToolCall(calls[0].name, dict.fromkeys(calls[0].arguments or {}, "other"))
    return [
        good(example),
        calling(example, *calls[1:]),
        calling(example, wrong, *calls),
        calling(example, *[calls[0]] * 6, *calls),
        calling(example, ToolCall("no_such_tool", {})),
        saying(example, *("Done." for _ in example.turns)),
    ]


def scored(example: Example, made: Rollout, config: RewardConfig) -> Rollout:
    return replace(made, reward=reward_of(example, made, config))


@settings(max_examples=60, deadline=None)
@given(config=CONFIGS, which=st.integers(0, 5))
def test_the_parts_of_a_reward_add_up_to_it_under_every_configuration(config: RewardConfig, which: int) -> None:
    example = chain()
    reward = scored(example, attempts(example)[which], config).reward
    assert reward is not None
    assert sum(part.adds for part in parts_of(reward, config)) == pytest.approx(reward.total, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(config=CONFIGS, which=st.integers(0, 5))
def test_the_ledger_of_the_papers_form_adds_up_under_any_weights(config: RewardConfig, which: int) -> None:
    example = chain()
    config = replace(config, form="paper", final_state=0.0, provenance=0.0, repeats=0.0)
    made = scored(example, attempts(example)[which], config)
    book = ledger(made, example, config)
    assert book is not None and made.reward is not None
    assert sum(points for _, points, _ in book.totals) == pytest.approx(made.reward.total, abs=1e-9)
    assert {name for name, _, _ in book.totals} == {
        name for name in ("validity", "coverage", "efficiency", "name", "arguments") if getattr(config, name)
    }
    for column, (name, points, _) in enumerate(book.totals):
        entries = [entry for line in book.lines if (entry := line.entries[column])]
        total = sum(e.earned for e in entries) - (sum(e.lost for e in entries) if name == "efficiency" else 0)
        assert total == pytest.approx(points, abs=1e-9), name


@pytest.mark.parametrize("step", [1, 3, 5])
def test_a_trace_weight_that_changes_has_its_value_at_the_step(project: Project, step: int) -> None:
    run = run_of(project, [0.5], config={"max_steps": 5, "reward": asdict(PRESETS["trace_state_linear"])})
    config, example = scored_at(run, step), chain()
    assert config.tau == pytest.approx(0.9 - 0.8 * (step - 1) / 5)
    for made in attempts(example):
        reward = scored(example, made, config).reward
        assert reward is not None
        assert sum(part.adds for part in parts_of(reward, config)) == pytest.approx(reward.total, abs=1e-9)


@pytest.mark.parametrize(
    "given, words",
    [
        (None, ""),
        ({}, ""),
        ({"form": "paper"}, ""),
        ({"coverage": 0}, "Without coverage"),
        ({"beta": 0.0}, "Flat budget"),
        ({"form": "trace_state", "tau": 0.9, "tau_end": 0.1}, "From trace to final state over the run"),
        ({"form": "trace_state", "validity": 0.1, "tau": 0.7}, "Trace and final state with trace weight 0.7"),
        ({"repeats": 0.2, "name": 0.3}, "The paper's with name 0.3, repeat penalty 0.2"),
        ({"coverag": 1}, "The reward is invalid: there is no coverag"),
    ],
)
def test_a_reward_is_described_by_its_name_or_its_differences(given: dict[str, object] | None, words: str) -> None:
    assert describe_reward(given).startswith(words) and bool(words) == bool(describe_reward(given))


def test_every_reward_with_a_name_is_called_by_it() -> None:
    assert {describe_reward(asdict(one)) for name, one in PRESETS.items() if name != "paper"} == {
        short(name) for name in TITLES if name != "paper"
    }


@pytest.fixture
def victors(victor: User, as_user: SignIn) -> Client:
    return as_user(victor)


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.PROVE_DATA = tmp_path


@pytest.mark.parametrize(
    "reward, words, absent",
    [
        (
            {"form": "trace_state", "tau": 0.9, "tau_end": 0.1},
            ("From trace to final state", "Trace", "State"),
            "ledger",
        ),
        ({"form": "graduated"}, ("Graduated", "Atomic", "Orchestration", "not part of this run"), "ledger"),
        ({"form": "final_state", "repeats": 0.5}, ("Final state with repeat penalty 0.5", "Repeats"), "ledger"),
        ({"repeats": 0.5}, ("repeat penalty 0.5", "Points by call", "Repeats"), "not part of this run"),
        ({"coverage": 0}, ("Without coverage", "Points by call"), "Reward component table"),
    ],
)
def test_pages_of_a_run_show_what_it_scores_by(
    project: Project, victors: Client, reward: dict[str, object], words: tuple[str, ...], absent: str
) -> None:
    example, config = chain(), {"group": 6, "reward": reward}
    run = run_of(project, [0.5], dataset=dataset_of(project, [example]), config=config)
    keep_rollouts(run, 1, [scored(example, made, scored_at(run, 1)) for made in attempts(example)])
    address = [*project.path, run.number, 1]
    for index in range(1, 7):
        text = victors.get(reverse("rollout", args=[*address, index])).content.decode()
        assert all(word in text for word in words) and absent not in text
    for name, args in (("rollouts", address), ("run", address[:-1]), ("runs", project.path)):
        assert words[0] in victors.get(reverse(name, args=args)).content.decode()
    assert "&#x27;form&#x27;" not in victors.get(run.get_absolute_url()).content.decode()


def test_the_strip_of_a_group_ends_at_the_most_a_rollout_of_the_run_can_earn(project: Project, victors: Client) -> None:
    example = chain()
    dataset = dataset_of(project, [example, abstention()])
    for reward, most in (({}, 1.3), ({"form": "graduated"}, 1.0), ({"final_state": 0.7}, 2.0), ({"coverage": 0}, 1.0)):
        run = run_of(project, [0.5], dataset=dataset, config={"group": 2, "reward": reward})
        made = [scored(example, one, scored_by(run)) for one in (good(example), attempts(example)[-1])]
        keep_rollouts(run, 1, made)
        (group,) = groups_of(run, 1)
        assert compute_max_reward(run) == group.top == pytest.approx(most)
        largest = scored_by(run).largest
        assert group.dots[0][0] == pytest.approx(100 * largest / max(largest, 1.0), abs=0.01)
        for name, last in (("rollouts", 1), ("run-example", example.id)):
            text = victors.get(reverse(name, args=[*project.path, run.number, last])).content.decode()
            assert f'text-anchor="end">{most:g}</text>' in text


def test_a_run_whose_reward_cannot_be_read_has_pages_all_the_same(project: Project, victors: Client) -> None:
    example = chain()
    config = {"group": 2, "reward": {"coverag": 1}}
    run = run_of(project, [0.5], dataset=dataset_of(project, [example]), config=config)
    keep_rollouts(run, 1, [good(example), good(example)])
    for name, rest in (("runs", []), ("run", [1]), ("rollouts", [1, 1]), ("rollout", [1, 1, 1])):
        text = victors.get(reverse(name, args=[*project.path, *rest])).content.decode()
        assert "there is no coverag" in text
