"""Reward replay of a run's rollouts, from summary columns or, for some reward forms, from complete rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from uuid import UUID

from django.db.models import QuerySet, Sum

from prove_web.trajectories.models import Trajectory
from training_worker.environment.reward_replay import rescore
from training_worker.reward import RewardConfig
from training_worker.store.folder import OLD
from training_worker.store.old import read_old
from training_worker.store.record import Summary
from training_worker.store.rollout_files import rollouts_in
from training_worker.store.steps import read_summaries

from ..defaults import DEFAULTS
from ..models import Run
from ..reward_config import compute_max_reward, scored_by
from ..rollout_storage import StoredRun
from ..rollouts import convert_read_errors, examples_of, size_of_groups
from .lot import Lot, Row
from .source import RescoringResult, Source

LOTS = 2  # cached in memory; 90,000 rollouts take about 60 MB
FILES = 1024  # files with cached totals
PLACE = ("trajectory__origin__step", "trajectory__origin__rollout")
File = tuple[int, Path, int]  # step, file and modification time


class RunSource(Source):
    """The steps of a run from `first` to `last`."""

    def __init__(self, run: Run, first: int | None = None, last: int | None = None):
        self.run, self.store = run, StoredRun(run)
        self.all_steps = self.store.steps()
        self.steps = [step for step in self.all_steps if (first or 0) <= step <= (last or step)]

    @property
    def name(self) -> str:
        return f"run-{self.run.number}"

    @property
    def title(self) -> str:
        return f"Run {self.run.number}: {self.run.name}"

    @property
    def config(self) -> RewardConfig:
        return scored_by(self.run)

    @property
    def most(self) -> float:
        return compute_max_reward(self.run)

    def size(self) -> int:
        counted = self.run.groups.filter(step__in=self.steps).aggregate(all=Sum("size"))["all"]
        return counted or len(self.steps) * int(self.run.config.get("prompts", DEFAULTS["prompts"])) * size_of_groups(
            self.run
        )

    def read(self, most: int) -> Lot:
        """Read whole, evenly spread steps with at most `most` rollouts in total. Raises NoRollouts."""
        return lot_of(self.run, tuple(self.files(most)), self.run.dataset.trajectories.count())

    def files(self, most: int) -> Iterator[File]:
        """Yield the selected steps' files. Raises NoRollouts."""
        for step in spread(self.steps, self.size(), most):
            with convert_read_errors(self.run, step):
                file = self.store.file(step)
                yield step, file, file.stat().st_mtime_ns

    def rescore(self, config: RewardConfig, most: int, at_once: int | None = None) -> RescoringResult:
        """Score step by step. Raises NoRollouts, StaleExample, UnknownExample."""
        files = tuple(self.files(most))
        after: dict[tuple[int, int | str], float] = {}
        limit = max(1, int(self.run.config.get("max_steps", DEFAULTS["max_steps"])))
        scored_now, scored = 0, list[File]()
        for step, file, stamp in files:
            if at_once is not None and scored_now >= at_once:
                break
            before = totals_in.cache_info().misses
            totals = totals_in(self.run, step, file, stamp, config.interpolate_tau((step - 1) / limit))
            scored_now += len(totals) if totals_in.cache_info().misses > before else 0
            scored.append((step, file, stamp))
            after |= {(step, index): total for index, total in enumerate(totals, 1) if total is not None}
        size = self.run.dataset.trajectories.count()
        lot = lot_of(self.run, files, size)
        done = {step for step, *_ in scored}
        some = Lot.from_rows([row for row in lot.rows if row.place[0] in done]) if len(scored) < len(files) else lot
        return RescoringResult(some, after, left=len(lot.rows) - len(some.rows), scored_now=scored_now)

    def places(self, trajectories: QuerySet) -> frozenset[tuple[int, int | str]]:
        here = Trajectory.objects.filter(pk__in=trajectories, run=self.run.number, origin__has_key="step")
        return frozenset(here.values_list("origin__step", "origin__rollout"))

    def verdicts(self, rows: Sequence[Row]) -> dict[tuple[int, int | str], str]:
        """Return the newest settled verdict of each collected and reviewed rollout by its place."""
        from prove_web.review.models import Item

        judged = Item.objects.filter(
            queue__project=self.run.project, state=Item.State.SETTLED, trajectory__origin__run=self.run.number
        ).exclude(verdict="")
        return {
            (step, rollout): verdict
            for step, rollout, verdict in judged.order_by("pk").values_list(*PLACE, "verdict")
            if isinstance(step, int) and isinstance(rollout, int)
        }


def spread(steps: Sequence[int], rollouts: int, most: int) -> list[int]:
    """Return evenly spread steps with at most `most` rollouts in total, including the last step; at least one."""
    if rollouts <= most or len(steps) < 2:
        return [*steps]
    keep = max(1, most * len(steps) // rollouts)
    return [steps[-1 - at * len(steps) // keep] for at in range(keep)][::-1]


def row(step: int, one: Summary, needed: dict[str, int]) -> Row:
    return Row(
        place=(step, one.index),
        example=one.example,
        group=(step, one.group),
        reward=one.reward if one.abstention or one.example in needed else None,
        components={name: value or 0.0 for name, value in one.components.items()},
        calls=len(one.levels),
        needed=0 if one.abstention else needed.get(one.example, 0),
    )


@lru_cache(LOTS)
def lot_of(run: Run, files: tuple[File, ...], size: int) -> Lot:
    """Load the rollouts of these files; rollouts of examples missing from the dataset have no reward."""
    needed, rows, group = needs(run.dataset.job_id, size), list[Row](), size_of_groups(run)
    for step, file, _ in files:
        with convert_read_errors(run, step):
            summaries = read_old(file, group) if file.suffix == OLD else read_summaries(file)
        rows += [row(step, one, needed) for one in summaries]
    return Lot.from_rows(rows)


@lru_cache(FILES)
def totals_in(run: Run, step: int, file: Path, stamp: int, config: RewardConfig) -> tuple[float | None, ...]:
    with convert_read_errors(run, step):
        rollouts = rollouts_in(file)
    examples = examples_of(run, [one.example for one in rollouts])
    known = (one if one.example in examples else None for one in rollouts)
    scored = (next(rescore(examples, [one], config)) if one else None for one in known)
    return tuple(reward.total if reward else None for reward in scored)


@lru_cache(16)
def needs(job: UUID, size: int) -> dict[str, int]:
    """Return the number of ground-truth calls by example; the job identifies the dataset (see of_dataset.py)."""
    known = Trajectory.objects.filter(dataset__job=job).values_list("example", "tools", "steps")
    return {example: len(tools.split(",")) if steps else 0 for example, tools, steps in known}
