"""One conversation of each step is written turn by turn for those who watch, and costs the run nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from training_worker.config.grpo import TokenLimits
from training_worker.core.trajectory import Example, Message, write_lines
from training_worker.environment import live_rollout
from training_worker.environment.live_rollout import LONGEST, LiveRollout
from training_worker.policy.policy_folder import save_policy
from training_worker.rollout.engine import Sample
from training_worker.training.grpo import GRPORun, train
from training_worker.training.live_rollout import Watch

from .double import Bank, example
from .run_output import rollouts_in

SEVENTH = example(7)


def said(folder: Path) -> list[str]:
    found = live_rollout.read(folder)
    assert found
    return [message.role for message in found.rollout.transcript]


def samples_of(one: Any, *, count: int = 1) -> list[Sample]:
    return [Sample([], [], [], [], one)] * count


def test_each_turn_is_there_when_it_has_ended(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    assert live_rollout.read(tmp_path) is None
    watch.begin(3)
    attempt = watch.wrap_episode_factory(Bank)(SEVENTH)
    assert said(tmp_path) == ["user"]
    attempt.answer("Which one?")
    assert said(tmp_path) == ["user", "assistant", "user"]
    found = live_rollout.read(tmp_path)
    assert found and (found.step, found.over, found.index) == (3, False, None)
    rollout = attempt.finish()
    assert live_rollout.read(tmp_path) == LiveRollout(3, rollout, over=True)
    watch.mark_stored([*samples_of(replace(rollout, example="another")), *samples_of(rollout)])
    assert live_rollout.read(tmp_path) == LiveRollout(3, rollout, over=True, index=2)


def test_only_the_first_attempt_of_a_step_is_watched_and_all_are_as_they_were(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    for step in (1, 2):
        watch.begin(step)
        made = watch.wrap_episode_factory(Bank)
        first, second = made(example(step)), made(example(9))
        for one, plain in ((first, Bank(example(step))), (second, Bank(example(9)))):
            one.shorten = str.upper
            assert (one.tools, one.opening, one.over, one.overdue()) == (plain.tools, plain.opening, False, False)
            assert one.answer("Done.") == plain.answer("Done.") and one.shorten("a") == "A"
            assert one.finish() == plain.finish()
        found = live_rollout.read(tmp_path)
        assert found and (found.step, found.rollout.example) == (step, f"bank-{step}")


def test_a_failure_that_is_not_the_policys_is_watched_too(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    watch.begin(1)
    attempt = watch.wrap_episode_factory(Bank)(SEVENTH)
    attempt.fail("infrastructure", "no more")
    attempt.finish()
    found = live_rollout.read(tmp_path)
    assert found and found.over and found.rollout.failed_at == "infrastructure"


def test_a_folder_that_cannot_be_written_costs_no_run(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "nowhere")
    watch.begin(1)
    attempt = watch.wrap_episode_factory(Bank)(SEVENTH)
    attempt.answer("Done.")
    assert attempt.finish() == watch.last.rollout  # type: ignore[union-attr]


def test_another_process_than_the_first_writes_nothing(tmp_path: Path) -> None:
    watch = Watch(tmp_path, on=False)
    watch.begin(1)
    watch.wrap_episode_factory(Bank)(SEVENTH).finish()
    watch.mark_stored([])
    assert not list(tmp_path.iterdir())


def test_the_file_stays_small_and_one_that_is_damaged_is_none(tmp_path: Path) -> None:
    long = replace(Bank(SEVENTH).finish(), transcript=(Message("user", "x" * 10**6),))
    live_rollout.write(tmp_path, LiveRollout(1, long))
    found = live_rollout.read(tmp_path)
    assert found and len(found.rollout.transcript[0].content) < 2 * LONGEST
    live_rollout.write(
        tmp_path, LiveRollout(2, replace(long, transcript=tuple(Message("user", "x" * 4000) for _ in range(300))))
    )
    assert live_rollout.read(tmp_path) == found, "what is too large still is not written"
    (tmp_path / live_rollout.NAME).write_text('{"step": 1')
    assert live_rollout.read(tmp_path) is None


def test_a_run_leaves_the_watched_rollout_of_its_last_step_as_it_was_stored(
    tmp_path: Path, taught: Any, tokenizer: Any, examples: list[Example]
) -> None:
    save_policy(tmp_path / "warm", taught, tokenizer, {"made_by": "test"})
    write_lines(tmp_path / "train.jsonl", examples)
    run = GRPORun(
        policy=tmp_path / "warm", data=tmp_path / "train.jsonl", out=tmp_path / "run", prompts=2, group=2,
        limits=TokenLimits(turn=40, completion=160), max_steps=2, checkpoint_every=2, threads=1,
    )  # fmt: skip
    train(run, lambda event: None, attempt=Bank)
    found, last = live_rollout.read(run.out), rollouts_in(run.out)[-1]
    assert found and found.step == 2 and found.index is not None
    assert last[found.index - 1] == found.rollout
