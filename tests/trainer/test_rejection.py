"""Rejection-sampling fine-tuning learns from what succeeded, each success once, with the loss on what was written."""

from __future__ import annotations

from typing import Any

from training_worker.core.trajectory import Reward, Rollout
from training_worker.rollout.generate import Sample
from training_worker.training.rejection import select_successes


def sampled(ids: list[int], total: float) -> Sample:
    reward = Reward(total=total, abstention=True)
    rollout = Rollout(example="one", transcript=(), calls=(), end="answered", reward=reward)
    made: Any = Sample([7, 8], ids, [1, 0, 1][: len(ids)], [0.0] * len(ids), rollout, 0.0, 0.0)
    return made


def test_of_each_prompt_so_many_different_successes_are_taken() -> None:
    first = [sampled([1, 2, 3], 1.0), sampled([1, 2, 3], 1.0), sampled([1, 2], 0.0), sampled([4], 1.0)]
    second = [sampled([5], 1.0), sampled([6], 1.0), sampled([9], 1.0), sampled([9], 0.0)]
    chosen = [*select_successes([*first, *second], 4, 2)]
    assert [one.ids[2:] for one in chosen] == [(1, 2, 3), (4,), (5,), (6,)]
    assert all(one.ids[:2] == (7, 8) for one in chosen)
    assert chosen[0].mask == (0, 0, 1, 0, 1)
