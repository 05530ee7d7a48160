"""The total reward: the worked cases to 1e-6, the presets, and rollouts of unusual size."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from training_worker.core.trajectory import ExecutedCall, Step, ToolCall
from training_worker.reward import PAPER, PRESETS, RewardConfig, score
from training_worker.reward.efficiency import budget

CASES = json.loads((Path(__file__).parent / "reward_vectors.json").read_text("utf-8"))["cases"]


def read(case: dict[str, Any]) -> tuple[list[Step], list[tuple[int, int]], list[ExecutedCall]]:
    steps = [Step(tuple(ToolCall(**call) for call in step)) for step in case["steps"]]
    calls = [ExecutedCall(ToolCall(call["name"], call["arguments"]), call["level"]) for call in case["calls"]]
    return steps, [(j, g) for j, g in case["edges"]], calls


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_the_worked_cases_score_what_they_say(case: dict[str, Any]) -> None:
    reward = asdict(score(*read(case)))
    assert {key: reward[key] for key in case["expected"]} == pytest.approx(case["expected"], abs=1e-6)


def test_the_presets_are_the_papers_weights_its_six_ablations_and_the_relatives_forms() -> None:
    ablations = ("no_validity", "no_coverage", "no_efficiency", "no_name", "no_arguments", "flat_budget")
    relatives = ("graduated", "trace_state", "trace_state_linear", "final_state")
    assert tuple(PRESETS) == ("paper", *ablations, *relatives)
    assert PRESETS["paper"] == PAPER == RewardConfig()


@pytest.mark.parametrize(("n_gt", "beta", "limit"), [(4, 0.5, 6), (1, 0.5, 2), (3, 0.5, 5), (25, 0.28, 32), (5, 0, 5)])
def test_the_budget_rounds_its_slack_up_once(n_gt: int, beta: float, limit: int) -> None:
    assert budget(n_gt, beta) == limit


def test_ten_thousand_calls_are_scored_like_any_other() -> None:
    steps = [Step((ToolCall("pay", {"amount": 10**400, "to": "x"}),)), Step((ToolCall("tell", {"to": "x"}),))]
    noise = [ExecutedCall(ToolCall("pay", {"amount": 1e308, "to": str(n)}), 2) for n in range(9_998)]
    reward = score(steps, [(0, 1)], [*noise, *(ExecutedCall(step.calls[0], 3) for step in steps)])
    assert (reward.coverage, reward.arguments, reward.name) == (1.0, 1.0, 1.0)
    assert reward.efficiency == pytest.approx(-0.5 * (10_000 - 3) / 3)
