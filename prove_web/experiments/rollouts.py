"""Stored rollouts of a step: groups of one prompt, with each rollout's advantage."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from training_worker.core.trajectory import Example, Rollout, ToolCall, UnreadableData, adapter, read_lines
from training_worker.store.folder import OLD, group_summaries, read_one
from training_worker.store.old import read_old
from training_worker.store.parquet import DamagedFile
from training_worker.store.query import StepTable
from training_worker.store.steps import read_span
from training_worker.store.storage import StorageFailed
from training_worker.store.tokens import TokenRow, read_tokens

from .forms import DEFAULTS
from .groups import Group, group_of
from .models import Run, RunKind
from .reward_config import compute_max_reward
from .rollout_storage import StoredRun

AWAY = (
    "The storage with this run's rollouts does not respond; its charts are still available. "
    "Try again later. Details are in the web server log."
)
log = logging.getLogger(__name__)


class NoRollouts(Exception):
    """Error for rollouts of a step that cannot be shown; the message says why."""


def size_of_groups(run: Run) -> int:
    return int(run.config.get("group", DEFAULTS["group"]))


def table_of(run: Run, step: int, *, every_column: bool = False) -> StepTable:
    """Return a step's rollouts with the columns for pages, or with all columns. Raises NoRollouts."""
    with convert_read_errors(run, step):
        file = StoredRun(run).file(step)
        if file.suffix == OLD:
            return StepTable.from_summaries(read_old(file, size_of_groups(run)))
        return StepTable.read(file, every_column=every_column)


def groups_of(run: Run, step: int) -> list[Group]:
    """Return the groups of a step in their original order. Raises NoRollouts."""
    return groups_in(table_of(run, step), run)


def groups_in(table: StepTable, run: Run) -> list[Group]:
    return [group_of(members, compute_max_reward(run)) for members in group_summaries(table.list_summaries())]


def rollouts_of(run: Run, step: int, group: Group) -> list[Rollout]:
    """Return all rollouts of a group, without transcripts where the file stores them separately. Raises NoRollouts."""
    first, count = group.members[0].index, len(group.members)
    with convert_read_errors(run, step):
        file = StoredRun(run).file(step)
        if file.suffix == OLD:
            return list(read_lines(Rollout, file))[first - 1 : first - 1 + count]
        return read_span(file, first, count)


def rollout_of(run: Run, step: int, index: int) -> Rollout | None:
    """Return one complete rollout, counted from 1; None if there are fewer. Raises NoRollouts."""
    with convert_read_errors(run, step):
        return read_one(StoredRun(run), step, index)


def tokens_of(run: Run, step: int, index: int) -> TokenRow | None:
    """Return the tokens of one rollout; None if they were not stored or have expired. Raises NoRollouts."""
    with convert_read_errors(run, step):
        try:
            return read_tokens(StoredRun(run).tokens(step), index)
        except FileNotFoundError:
            return None


@contextmanager
def convert_read_errors(run: Run, step: int) -> Iterator[None]:
    """Convert errors of reading a step's rollouts to NoRollouts with an explanation."""
    try:
        yield
    except FileNotFoundError:
        raise NoRollouts(why_missing(run, step)) from None
    except StorageFailed as error:
        log.warning("The rollouts of run %s, step %s: %s", run.pk, step, error)
        raise NoRollouts(AWAY) from error
    except DamagedFile as error:
        raise NoRollouts(str(error)) from error
    except (OSError, UnreadableData) as error:
        raise NoRollouts("The file of this step's rollouts cannot be read; it may be damaged.") from error


def why_missing(run: Run, step: int) -> str:
    if run.kind == RunKind.OUTSIDE and not run.stored_steps.filter(step=step).exists():
        return f"The training program of run {run.number} logged no rollouts of step {step}."
    reached = run.points.order_by("-step").values_list("step", flat=True).first() or 0
    if step > reached:
        return f"Run {run.number} has not reached step {step}; it is at step {reached}."
    if run.stored_steps.filter(step=step).exists():
        where = "the storage" if settings.PROVE_STORAGE else "the run's folder"
        return f"The rollout file of step {step} is not in {where}; its charts are still available."
    if not run.job.folder.exists():
        return "The run's folder with its rollouts is no longer in the data folder."
    return f"The run's folder has no rollout file of step {step}; its charts are still available."


def examples_of(run: Run, names: Sequence[str]) -> dict[str, Example]:
    """Return examples by id; those of a regenerated dataset may be missing."""
    found = run.conversations.filter(example__in=set(names)).values_list("example", "record")
    return {name: adapter(Example).validate_json(as_json(record)) for name, record in found}


def as_json(record: Any) -> bytes:
    return adapter(dict).dump_json(record)


def list_notable_steps(run: Run) -> list[tuple[str, int]]:
    """Return notable steps: first, newest, best, most failed calls, and highest reward standard deviation."""
    points: QuerySet[Any] = run.points.all()
    steps: QuerySet[Any] = points
    if run.kind == RunKind.OUTSIDE:
        steps = run.stored_steps.all()
        points = points.filter(step__in=steps.values("step"))
    ranked = {
        "First": steps.order_by("step"),
        "Newest": steps.order_by("-step"),
        "Best reward": points.order_by("-metrics__reward", "-step"),
        "Most failed calls": points.order_by("-metrics__tool_failures", "-step"),
        "Highest reward std": points.order_by("-metrics__reward_std", "-step"),
    }
    found: dict[int, str] = {}
    for name, order in ranked.items():
        step = order.values_list("step", flat=True).first()
        if step is not None:
            found.setdefault(step, name)
    return [(name, step) for step, name in found.items()]


@dataclass(frozen=True)
class TruthStep:
    """One step of the ground truth, and whether this rollout missed it; numbers count from 1."""

    number: int
    calls: tuple[ToolCall, ...]
    needs: tuple[int, ...]
    missed: bool


def truth(example: Example, rollout: Rollout) -> list[TruthStep]:
    missed = set(rollout.reward.missed_steps) if rollout.reward else set(range(len(example.steps)))
    return [
        TruthStep(at + 1, step.calls, tuple(j + 1 for j, g in example.edges if g == at), at in missed)
        for at, step in enumerate(example.steps)
    ]
