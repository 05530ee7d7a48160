"""The experiment of ablations: which rewards it trains by, and the table that it writes."""

from __future__ import annotations

import argparse
from typing import Any

from training_worker.ablations import ARMS, FULL, command, markdown
from training_worker.prove.reward import PAPER, PRESETS

GIVEN = argparse.Namespace(data="d", policy="p", steps=60, threads=1, seeds=[0, 1])


def result(reward: str, by: float = 0.0) -> dict[str, Any]:
    parts = {name: 0.5 for name in ("reward", "validity", "coverage", "efficiency", "name", "arguments")}
    gain = {"before": 1.0, "after": 1.0 + by, "difference": by, "low": by - 0.01, "high": by + 0.01, "examples": 9}
    return {"reward": reward, "means": parts, "calls": 2.5, "difference": gain}


def test_the_arms_are_the_whole_reward_and_ones_that_differ_from_it_in_one_number() -> None:
    assert ARMS[0] == FULL and len(ARMS) == 7
    for name in ARMS[1:]:
        changed = [field for field in vars(PAPER) if getattr(PRESETS[name], field) != getattr(PAPER, field)]
        assert len(changed) == 1, name


def test_the_table_has_a_line_for_each_arm_and_no_difference_of_the_whole_reward_to_itself() -> None:
    _, _, head, _, *lines = markdown([result(FULL), result("no_name", -0.02)], GIVEN).splitlines()
    assert {line.count("|") for line in (head, *lines)} == {10}
    assert [line.split(" | ")[0] for line in lines] == ["| the whole reward", "| no name"]
    assert "| -0.020 (-0.030 to -0.010) |" in lines[1] and "(" not in lines[0]


def test_an_arm_is_told_all_that_the_experiment_was_told() -> None:
    assert command("no_name", 1, GIVEN)[2:] == (
        "training_worker.ablations --arm no_name --seeds 1 --data d --policy p --steps 60 --threads 1".split()
    )
