"""Collection of a run's rollouts into a dataset, to read, review and search like any trajectory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from prove_web.accounts.models import User
from prove_web.experiments.groups import Group, Member
from prove_web.experiments.models import Run
from prove_web.experiments.rollout_storage import StoredRun
from prove_web.experiments.rollouts import convert_read_errors, groups_of
from prove_web.live.models import CURATE
from training_worker.core.trajectory import Example, Rollout
from training_worker.datasets.rollout_dataset import DatasetRollout
from training_worker.store.folder import read_rollouts

from .load_dataset import attempt
from .models import Dataset, Trajectory
from .replay_score import example_of
from .row_selection import Progress
from .versions import InvalidDataset, chosen_for, launch

MOST_COLLECTED = 20_000
NO_EXAMPLE = "what it was asked is no longer in the run's data set, or cannot be read any more"


@dataclass(frozen=True)
class RolloutSelection:
    """Selection of rollouts by step. Rewards are from `low` to `high`; `failing` requires a failed call.

    `groups` are numbers within a step; none means all. A rollout without a reward, which failed for reasons outside the
    policy, is never selected.
    """

    steps: tuple[int, ...]
    groups: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    failing: bool = False

    def wants(self, group: Group, member: Member) -> bool:
        if member.reward is None or (self.groups and group.number not in self.groups):
            return False
        if self.failing and all(made.ok for made in member.calls):
            return False
        low = member.reward if self.low is None else self.low
        high = member.reward if self.high is None else self.high
        return low <= member.reward <= high

    @property
    def to_dict(self) -> dict[str, Any]:
        """The selection as stored in a dataset's origin."""
        found = {"groups": list(self.groups), "low": self.low, "high": self.high, "failing": self.failing}
        return {"steps": list(self.steps)} | {
            name: value for name, value in found.items() if value not in (None, [], False)
        }


def collect(run: Run, user: User | None, name: str, wanted: RolloutSelection) -> Dataset:
    """Create the dataset of these rollouts. Raises InvalidDataset, and NoRollouts if a step has none to show."""
    if run.dataset is None:
        raise InvalidDataset("An external run has no conversations here, so its rollouts cannot be collected.")
    chosen = [
        (step, member.index)
        for step in wanted.steps
        for group in groups_of(run, step)
        for member in group.members
        if wanted.wants(group, member)
    ]
    if not chosen:
        raise InvalidDataset("No rollout of these steps matches. Choose other steps or fewer conditions.")
    if len(chosen) > MOST_COLLECTED:
        raise InvalidDataset(
            f"{len(chosen):,} rollouts match; a dataset holds at most {MOST_COLLECTED:,}. Choose fewer steps."
        )
    spec = {CURATE: {"how": "collect", "run": run.pk}}
    origin = {"run": run.number, **wanted.to_dict}
    return launch(run.project, user, name, spec, chosen, holds=Dataset.ContentKind.ROLLOUTS, origin=origin)


class Attempts:
    """Rows of the chosen rollouts of a run. Raises InvalidDataset, and NoRollouts during iteration."""

    def __init__(self, dataset: Dataset, spec: dict[str, Any], progress: Progress):
        found = Run.objects.select_related("job", "dataset", "project").filter(pk=spec["run"]).first()
        if found is None:
            raise InvalidDataset("The run and its rollouts were deleted. Collect from another run.")
        self.run, self.dataset, self.progress = found, dataset, progress
        self.chosen: list[tuple[int, int]] = [(step, index) for step, index in chosen_for(dataset.job)]
        self.settings, self.seed = {"run": str(found.job_id)}, 0

    def iter_trajectories(self, dropped: Counter[str], doing: str) -> Iterator[Trajectory]:
        done = 0
        for step, pairs in groupby(self.chosen, key=lambda pair: pair[0]):
            self.progress(done, len(self.chosen), f"rollouts {doing}")
            wanted = [index for _, index in pairs]
            rollouts = self.rollouts(step, wanted)
            known = self.examples({rollout.example for _, rollout in rollouts})
            for index, rollout in rollouts:
                if rollout.example in known:
                    yield attempt(
                        self.dataset, self.build_dataset_rollout(step, index, rollout, known[rollout.example])
                    )
                else:
                    dropped[NO_EXAMPLE] += 1
            done += len(wanted)

    def rollouts(self, step: int, indices: Sequence[int]) -> list[tuple[int, Rollout]]:
        wanted = set(indices)
        with convert_read_errors(self.run, step):
            read = enumerate(read_rollouts(StoredRun(self.run), [step], transcripts=True), 1)
            return [(index, rollout) for index, rollout in read if index in wanted]

    def examples(self, names: set[str]) -> dict[str, Example]:
        found = self.run.conversations.filter(example__in=names)
        return {row.example: example for row in found if (example := example_of(row))}

    def build_dataset_rollout(self, step: int, index: int, rollout: Rollout, example: Example) -> DatasetRollout:
        origin = {"run": self.run.number, "step": step, "rollout": index}
        id = f"run{self.run.number}-step{step}-{index}"
        return DatasetRollout(id=id, example=example, rollout=rollout, origin=origin)
