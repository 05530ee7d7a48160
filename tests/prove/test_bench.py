"""The scripted rollouts that `make bench` times are complete: in real worlds, to the end, with a reward."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from training_worker.bench import rollouts
from training_worker.core.trajectory import Example


@pytest.mark.parametrize(("count", "together"), [(5, 1), (10, 2)])
def test_a_script_makes_as_many_calls_as_requested_and_is_scored(
    chains: list[Example], count: int, together: int
) -> None:
    for example in chains:
        made = rollouts.roll(*rollouts.script(example, count, together))
        assert made.valid and made.end == "answered" and len(made.calls) == count
        assert made.reward and 0 < made.reward.total <= 1.3 and made.digest


def test_the_light_conversation_is_one_that_earns_everything() -> None:
    made = rollouts.roll(*rollouts.script(rollouts.light(), rollouts.CALLS))
    assert made.reward and made.reward.total == pytest.approx(1.3)


def test_a_batch_takes_seconds_of_this_core_and_a_peer_is_left_its_worlds_and_calls(
    chains: list[Example], tmp_path: Path
) -> None:
    few = chains[:2]
    assert rollouts.batch(few) > 0
    tasks = [json.loads(line) for line in rollouts.leave_tasks(tmp_path, few).read_text("utf-8").splitlines()]
    assert [task["world"]["seed"] for task in tasks] == [example.world.seed for example in few]
    assert all(len(task["calls"]) == rollouts.CALLS for task in tasks)
