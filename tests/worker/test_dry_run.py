"""A trial: one step of a run on a few prompts; only its figures stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from training_worker.jobs.dry_run import figures

from .conftest import done, of_kind

SMALL = {"policy": "warm", "prompts": 2, "group": 2, "threads": 1, "minutes": 6.0, "held_out": 3, "evaluate_every": 2}


def test_a_trial_tells_what_a_step_of_the_run_is_like_and_leaves_nothing(made: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    folder = made.parent / "00000000-0000-4000-8000-00000000000d"
    events = done(folder, "trial", {**SMALL, "dataset": made.name, "max_steps": 350})
    [end] = of_kind(events, "ended")
    assert (end["state"], end["error"]) == ("done", "")
    result = end["result"]
    assert len(result["groups"]) + result["unscored"] == 2 and result["rollouts"] == 4
    assert result["dead"] == sum(spread < 1e-9 for _, spread in result["groups"])
    assert result["tokens"] > 0 and result["seconds"] >= result["rollout_seconds"] > 0 and result["bytes"] > 0
    assert not (folder / "out").exists()
    assert not of_kind(events, "step"), "a trial is no run, and has no curve"


def test_groups_without_spread_or_score_are_counted_apart() -> None:
    groups = [
        {"reward": [1.0, 1.0], "model_tokens": [10, 20]},
        {"reward": [0.5, None], "model_tokens": [10, 20]},
        {"reward": [0.0, 1.0], "model_tokens": [10, 20]},
        {"reward": [None, None], "model_tokens": [0, 0]},
    ]
    step = {"event": "step", "step_s": 2.0, "rollout_s": 1.0}
    summary = figures([{"event": "rollouts", "groups": groups, "bytes": 800}, step])
    assert (summary["dead"], summary["unscored"], len(summary["groups"])) == (2, 1, 3)
    assert (summary["rollouts"], summary["bytes"], summary["tokens"]) == (8, 100.0, 11.25)
    assert summary["reward"] == (1.0 + 1.0 + 0.5 + 0.0 + 1.0) / 5
