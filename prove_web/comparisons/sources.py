"""The sides of a behaviour comparison: a run before or after training, or an evaluation.

A query parameter names a side: `run-3`, `run-3-before`, `evaluation-5`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.http import Http404
from django.shortcuts import get_object_or_404

from prove_web.accounts.models import Project
from prove_web.evaluations.models import Evaluation
from prove_web.evaluations.querysets import evaluation_of, why_not
from prove_web.evaluations.storage import NoConversation, folder_of
from prove_web.experiments.models import Run
from prove_web.live.models import ENDED
from training_worker.core.trajectory import UnreadableData, read_lines
from training_worker.evaluation.protocol import Result
from training_worker.evaluation.results import ITEMS

from .eval_rollouts import FILES, LARGEST, Call, RolloutsUnavailable, calls_of, shorts
from .eval_rollouts import Side as When

NAME = re.compile(r"run-(?P<run>[0-9]{1,9})(?P<before>-before)?|evaluation-(?P<evaluation>[0-9]{1,9})")
OFFERED = 40  # runs and evaluations per list


@dataclass(frozen=True)
class Attempt:
    """The outcome of one conversation: its value and its calls.

    The value is 0 to 1 on a benchmark and the reward in a run's held-out evaluation. `goal_success` is None where it
    was not measured.
    """

    key: str
    category: str
    value: float | None
    passed: bool
    calls: tuple[Call, ...]
    line: int
    goal_success: bool | None = None


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a run before or after its training, or an evaluation."""

    name: str
    run: Run | None = None
    when: When = "after"
    evaluation: Evaluation | None = None

    @property
    def title(self) -> str:
        if self.run is None:
            return str(self.evaluation)
        start = "initial policy" if self.when == "before" else "after training"
        return f"{self.run.name}, {start}"

    @property
    def number(self) -> str:
        return (
            f"run {self.run.number}" if self.run else f"evaluation {self.evaluation.number if self.evaluation else ''}"
        )

    @property
    def url(self) -> str:
        thing = self.run or self.evaluation
        assert thing is not None
        return thing.get_absolute_url()

    def attempts(self) -> dict[str, Attempt]:
        """Return the greedy outcomes by conversation. Raises RolloutsUnavailable."""
        if self.run is not None:
            stored = shorts(self.run, self.when, "greedy")
            return {
                one.example: Attempt(one.example, "", one.total, one.success, one.calls, one.line, one.goal_success)
                for one in reversed(stored)
            }
        assert self.evaluation is not None
        return of_evaluation(self.evaluation)


def side_of(project: Project, name: str) -> Side:
    """Parse the name of a side. Raises Http404 for an invalid name or an object outside the project."""
    found = NAME.fullmatch(name)
    if found is None:
        raise Http404("A side is a run (run-3), its initial policy (run-3-before) or an evaluation (evaluation-5).")
    if number := found["evaluation"]:
        return Side(name, evaluation=evaluation_of(project, int(number)))
    rows = Run.objects.select_related("job", "dataset", "project__organisation").defer("job__result", "job__spec")
    run = get_object_or_404(rows, project=project, number=int(found["run"]), deleted_at=None)
    return Side(name, run=run, when="before" if found["before"] else "after")


def require_alike(first: Side, second: Side) -> None:
    """Raise RolloutsUnavailable for two sides that cannot have conversations in common."""
    if first.name == second.name:
        raise RolloutsUnavailable("Both sides are the same policy. Choose two different policies.")
    if (first.run is None) != (second.run is None):
        raise RolloutsUnavailable(
            "A run and an evaluation have no common conversations. Choose two runs or two evaluations."
        )
    if first.evaluation and second.evaluation and (why := why_not(first.evaluation, second.evaluation)):
        raise RolloutsUnavailable(why)


def of_evaluation(evaluation: Evaluation) -> dict[str, Attempt]:
    """Return an evaluation's outcomes by item. Raises RolloutsUnavailable."""
    try:
        path = folder_of(evaluation) / ITEMS
        about = path.lstat()
        if path.is_symlink() or about.st_size > LARGEST:
            raise RolloutsUnavailable(
                f"The conversations of evaluation {evaluation.number} are too large, or stored elsewhere."
            )
        calls = read(path, about.st_mtime_ns, about.st_size)
    except NoConversation as why:
        raise RolloutsUnavailable(str(why)) from None
    except (OSError, UnreadableData) as error:
        raise RolloutsUnavailable(
            f"The conversations of evaluation {evaluation.number} are missing or cannot be read."
        ) from error
    return {
        row.item: Attempt(row.item, row.category, row.value, row.passed, calls[row.item], row.line, row.goal_success)
        for row in evaluation.items.all()
        if row.item in calls
    }


@lru_cache(FILES)
def read(path: Path, written: int, size: int) -> Mapping[str, tuple[Call, ...]]:
    return {result.item: calls_of(result.rollout) for result in read_lines(Result, path)}


def list_source_choices(project: Project) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the sides to choose from, in groups: the newest ended runs and evaluations."""
    runs = Run.objects.filter(project=project, deleted_at=None, job__state__in=ENDED).only("number", "name")
    after = [(f"run-{run.number}", f"Run {run.number}, {run.name}") for run in runs.order_by("-number")[:OFFERED]]
    before = [(f"{name}-before", f"{title}: initial policy") for name, title in after]
    rows = Evaluation.objects.filter(project=project, job__state__in=ENDED).only("number", "name")[:OFFERED]
    evaluations = [(f"evaluation-{one.number}", f"#{one.number} {one.name}") for one in rows]
    groups = [("Runs, after training", after), ("Runs, before training", before), ("Evaluations", evaluations)]
    return [(title, choices) for title, choices in groups if choices]
