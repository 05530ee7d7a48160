"""Synthetic runs for load tests: random values, nothing trained, tagged as such."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice

from django.db import transaction
from django.utils import timezone

from prove_web.accounts.models import Project
from prove_web.live.models import Job, Kind, State
from prove_web.trajectories.load_dataset import row
from prove_web.trajectories.many import attempt, synthesize_examples
from prove_web.trajectories.models import Dataset, Trajectory
from prove_web.trajectories.versions import begin, mark_job_done
from training_worker.core.trajectory import Example, Rollout
from training_worker.monitoring.metrics import METRICS
from training_worker.reward.advantage import advantages
from training_worker.store.folder import RolloutFolder
from training_worker.store.record import RolloutRecord, Tokens

from .metric_summary import rebuild
from .models import HeldOut, Point, Run, RunKind, Sweep
from .rollout_index import record_rollouts

TAG = "load test"
NOTES = "Created by `load_runs` for load tests: its values are random, nothing was trained."
SEEDS = 5  # runs per sweep
GROUP = 16
DIFFERENT = 640  # number of distinct conversations in the rollouts
RATES = (1e-4, 2e-4, 5e-4)


def load(project: Project, runs: int, steps: int, metrics: int, rollouts: int, wide: int = 0) -> Iterator[int]:
    """Create `runs` runs in a project and yield the number created so far.

    Each step of the first run has `rollouts` rollouts; the second run has `wide` rollouts in its last step only.
    """
    names = [one.name for one in METRICS][:metrics]
    names += [f"drawn_{number}" for number in range(len(names), metrics)]
    examples = tuple(islice(synthesize_examples(), min(DIFFERENT, max(steps * rollouts, wide) // GROUP)))
    dataset = create_dataset(project, examples)
    begun = Run.objects.filter(project=project).order_by("-number").values_list("number", flat=True).first() or 0
    sweep = None
    for place in range(runs):
        if place % SEEDS == 0:
            last = project.sweeps.order_by("-number").values_list("number", flat=True).first() or 0
            sweep = Sweep.objects.create(
                project=project, number=last + 1, name=f"Load {last + 1}", space={"seed": "0-4"}
            )
        with transaction.atomic():
            run = create_synthetic_run(project, dataset, sweep, begun + place + 1, steps, names)
        if place == 0:
            write_rollouts(run, range(1, steps + 1), rollouts // GROUP, examples)
        if place == 1:
            write_rollouts(run, [steps], wide // GROUP, examples)
        yield place + 1


def create_dataset(project: Project, examples: Sequence[Example]) -> Dataset:
    """Create a dataset of the conversations in the rollouts."""
    with transaction.atomic():
        dataset = begin(project, None, "Load test", {}, holds=Dataset.ContentKind.DEMONSTRATIONS)
        Trajectory.objects.bulk_create(row(dataset, example) for example in examples)
        mark_job_done(dataset, {})
    return dataset


def create_synthetic_run(
    project: Project, dataset: Dataset, sweep: Sweep | None, number: int, steps: int, names: list[str]
) -> Run:
    draw = random.Random(number)
    seed, rate = number % SEEDS, RATES[number // SEEDS % len(RATES)]
    name, now = f"Load test {number}", timezone.now()
    took = {"started_at": now - timedelta(seconds=draw.randint(60, 9_000)), "ended_at": now}
    job = Job.objects.create(project=project, kind=Kind.RUN, title=name, state=State.DONE, **took)
    run = Run.objects.create(
        project=project,
        number=number,
        name=name,
        kind=RunKind.GRPO,
        dataset=dataset,
        sweep=sweep,
        varied={"seed": str(seed)},
        config={"learning_rate": rate, "seed": seed, "max_steps": steps, "policy": "warm"},
        notes=NOTES,
        tags=[TAG],
        job=job,
    )
    Point.objects.bulk_create(
        Point(run=run, step=step, metrics={name: value(draw, step, place) for place, name in enumerate(names)})
        for step in range(1, steps + 1)
    )
    HeldOut.objects.bulk_create(
        HeldOut(run=run, step=step, metrics={"reward": value(draw, step, 0)}) for step in range(0, steps + 1, 20)
    )
    rebuild(run)
    return run


def value(draw: random.Random, step: int, place: int) -> float:
    """Return a value on a saturating curve with noise."""
    return (1 + place) * (1 - math.exp(-step / 100)) + draw.gauss(0, 0.05)


def write_rollouts(run: Run, steps: Iterable[int], groups: int, examples: Sequence[Example]) -> None:
    """Write the rollouts of these steps as a trainer does: episodes of synthesized conversations."""
    folder = RolloutFolder(run.job.out / "rollouts")
    folder.path.mkdir(parents=True, exist_ok=True)
    for step in steps if groups else ():
        draw, records = random.Random(step), []
        for group in range(1, groups + 1):
            example = examples[(step * groups + group) % len(examples)]
            tried = [attempt(example, draw) for _ in range(GROUP)]
            earned = advantages([one.reward.total if one.reward else None for one in tried], GROUP, "none")
            records += [
                RolloutRecord(rollout=one, group=group, advantage=gain, tokens=encode_call_names(one))
                for one, gain in zip(tried, earned, strict=True)
            ]
        record_rollouts(run, {step: folder.store(step, records, "last", chr)})


def encode_call_names(rollout: Rollout) -> Tokens:
    """Return the names of a rollout's calls as tokens, one per character."""
    ids = [ord(letter) for call in rollout.calls for letter in call.call.name]
    return Tokens(prompt_ids=[0], completion_ids=ids, env_mask=[1] * len(ids), logprobs=[-0.5] * len(ids))
