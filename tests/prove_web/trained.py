"""Runs as training leaves them: curves in the database, rollouts and checkpoints in the job's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prove_web.accounts.models import Project, User
from prove_web.experiments.metric_summary import rebuild
from prove_web.experiments.models import HeldOut, Point, Run
from prove_web.experiments.rollout_index import record_rollouts
from prove_web.experiments.rollouts import size_of_groups
from prove_web.live.models import Job, Kind, State
from prove_web.trajectories.models import Dataset
from training_worker.chat.protocol import write_calls
from training_worker.core.trajectory import Example, Rollout, ToolCall, write_lines
from training_worker.environment.episode import Attempt, oracle
from training_worker.reward.advantage import Scale, advantages
from training_worker.store.folder import RolloutFolder
from training_worker.store.record import RolloutRecord, Tokens

from .examples import dataset_of

RESULT = {
    "before": [{"steps": "all", "examples": 8, "means": dict.fromkeys("reward validity".split(), 0.5), "calls": 1.0}],
    "after": [{"steps": "all", "examples": 8, "means": dict.fromkeys("reward validity".split(), 0.75), "calls": 1.0}],
    "sampled": {"before": 0.5, "after": 0.75, "difference": 0.25, "low": 0.125, "high": 0.375, "examples": 8},
    "greedy": {"before": 0.5, "after": 0.5, "difference": 0.0, "low": -0.1, "high": 0.1, "examples": 8},
}
for table in (RESULT["before"], RESULT["after"]):
    for part in ("coverage", "efficiency", "name", "arguments"):
        table[0]["means"][part] = 0.0  # type: ignore[index]


def run_of(
    project: Project,
    rewards: Sequence[float] = (),
    *,
    name: str = "",
    state: State = State.DONE,
    dataset: Dataset | None = None,
    config: Mapping[str, Any] | None = None,
    by: User | None = None,
    **job: Any,
) -> Run:
    """Make a run with one point per reward, from step 1."""
    number = Run.objects.filter(project=project).count() + 1
    name = name or f"Run {number}"
    made = Job.objects.create(project=project, kind=Kind.RUN, title=name, state=state, created_by=by, **job)
    run = Run.objects.create(
        project=project,
        number=number,
        name=name,
        dataset=dataset or Dataset.objects.filter(project=project).first() or dataset_of(project),
        config=dict(config or {}),
        job=made,
    )
    Point.objects.bulk_create(
        Point(run=run, step=step, metrics={"reward": reward, "tool_failures": 0.5 - reward / 4, "step_s": 2.0})
        for step, reward in enumerate(rewards, 1)
    )
    rebuild(run)
    return run


def measure(run: Run, **rewards: float) -> None:
    """Add held-out measurements: step_0=0.5, step_10=0.6."""
    for name, reward in rewards.items():
        HeldOut.objects.create(run=run, step=int(name.removeprefix("step_")), metrics={"reward": reward})
    rebuild(run)


def keep_rollouts(run: Run, step: int, rollouts: Sequence[Rollout], scale: Scale = "none") -> None:
    """Store rollouts as a trainer does, and record what its job reports."""
    folder = RolloutFolder(run.job.out / "rollouts")
    folder.path.mkdir(parents=True, exist_ok=True)
    size = size_of_groups(run)
    earned = advantages([one.reward.total if one.reward else None for one in rollouts], size, scale)
    records = [
        RolloutRecord(rollout=one, group=place // size + 1, advantage=earned[place], tokens=spoken(one))
        for place, one in enumerate(rollouts)
    ]
    record_rollouts(run, {step: folder.store(step, records, "last", chr)})


def spoken(rollout: Rollout) -> Tokens:
    """Make one token per character: the first message is the prompt, and assistant tokens have log-probability -0.5."""
    first, *rest = rollout.transcript
    said = [(ord(letter), one.role == "assistant") for one in rest for letter in one.content]
    return Tokens(
        prompt_ids=[ord(letter) for letter in first.content],
        completion_ids=[token for token, _ in said],
        env_mask=[int(model) for _, model in said],
        logprobs=[-0.5 if model else 0.0 for _, model in said],
    )


def keep_old_rollouts(run: Run, step: int, rollouts: Sequence[Rollout]) -> None:
    """Store rollouts as runs did before there was a store, without any event."""
    folder = run.job.out / "rollouts"
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / f"step-{step:06d}.jsonl", rollouts)


def keep_checkpoint(run: Run, step: int, weights: bytes = b"weights", *, complete: bool = True) -> None:
    folder = run.job.out / "checkpoints" / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(weights)
    if complete:
        (folder / "progress.json").write_text(f'{{"step": {step}}}\n', "utf-8")


def good(example: Example) -> Rollout:
    return oracle(example)


def saying(example: Example, *texts: str) -> Rollout:
    """Return the rollout of a policy that says only these texts."""
    attempt = Attempt(example)
    for text in texts:
        attempt.answer(text)
    return attempt.finish()


def calling(example: Example, *calls: ToolCall) -> Rollout:
    """Return the rollout of a policy that makes these calls one after another, then answers."""
    return saying(example, *(write_calls([call]) for call in calls), *("Done." for _ in example.turns))
