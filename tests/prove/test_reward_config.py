"""The reward configuration of a run, as JSON: what is accepted, and what is refused with which message."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_worker.reward import PAPER, PRESETS, BadReward, RewardConfig, preset, read_reward
from training_worker.reward.presets import SAYS

weights = st.floats(0, 10)
shares = st.floats(0, 1)
configs = st.builds(
    RewardConfig,
    form=st.sampled_from(["paper", "graduated", "trace_state", "final_state"]),
    **dict.fromkeys(("validity", "coverage", "efficiency", "name", "arguments", "alpha", "beta"), weights),
    **dict.fromkeys(("final_state", "provenance", "repeats"), weights),
    tau=shares,
    tau_end=st.none() | shares,
)


@given(configs)
def test_a_configuration_survives_its_json(config: RewardConfig) -> None:
    assert read_reward(json.dumps(asdict(config))) == config == read_reward(asdict(config))


def test_what_is_left_out_has_the_papers_weights() -> None:
    assert read_reward({}) == PAPER == RewardConfig()
    assert read_reward({"form": "graduated", "repeats": 1}) == RewardConfig(form="graduated", repeats=1.0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"coverag": 0.3}, "there is no coverag, only form, validity, coverage"),
        ({"coverage": math.nan}, "coverage must be a finite number of at least 0, not nan"),
        ({"coverage": math.inf}, "coverage must be a finite number of at least 0, not inf"),
        ({"repeats": -0.1}, "repeats must be a finite number of at least 0, not -0.1"),
        ({"tau": 1.5}, "tau must be at most 1, not 1.5"),
        ({"tau_end": -1}, "tau_end must be a finite number of at least 0, not -1"),
        ({"form": "papers"}, "form: input should be 'paper', 'graduated', 'trace_state' or 'final_state'"),
        ({"name": "much"}, "name: input should be a valid number"),
        ({"name": None}, "name: input should be a valid number"),
        ("[]", "The reward is invalid"),
        ("{", "The reward is invalid"),
        ({"name": {1}}, "must be a JSON object"),
    ],
)
def test_what_does_not_fit_is_refused_and_named(given: Any, said: str) -> None:
    with pytest.raises(BadReward) as caught:
        read_reward(given)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("fault", [{"form": "papers"}, {"beta": math.nan}, {"alpha": -1.0}])
def test_what_does_not_fit_is_refused_in_python_too(fault: dict[str, Any]) -> None:
    with pytest.raises(BadReward, match=next(iter(fault))):
        replace(PAPER, **fault)


def test_every_preset_has_a_description_and_an_unknown_one_is_refused_with_the_valid_names() -> None:
    assert set(PRESETS) == set(SAYS) and all(preset(name) is PRESETS[name] for name in PRESETS)
    with pytest.raises(BadReward, match=r"no reward preset 'ablation'\. Choose one of: paper, no_validity"):
        preset("ablation")


@given(configs, st.floats(-1, 2))
def test_tau_goes_from_its_beginning_to_its_end_and_no_further(config: RewardConfig, progress: float) -> None:
    now = config.interpolate_tau(progress)
    assert now.tau_end is None or now == config
    if config.tau_end is not None:
        low, high = sorted((config.tau, config.tau_end))
        assert low - 1e-9 <= now.tau <= high + 1e-9
        assert config.interpolate_tau(0) == replace(config, tau_end=None)
        assert config.interpolate_tau(1).tau == pytest.approx(config.tau_end)


def test_envfactorys_schedule_is_linear() -> None:
    linear = PRESETS["trace_state_linear"]
    assert [linear.interpolate_tau(progress).tau for progress in (0, 0.25, 0.5, 1)] == pytest.approx(
        [0.9, 0.7, 0.5, 0.1]
    )


def test_only_what_compares_final_states_needs_a_world() -> None:
    needing = {name for name, config in PRESETS.items() if config.needs_world}
    assert needing == {"trace_state", "trace_state_linear", "final_state"}
    assert replace(PAPER, final_state=0.1).needs_world and not replace(PAPER, provenance=0.1).needs_world
